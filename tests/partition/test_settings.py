"""How options become settings: the documents' way, and the adapter's own way of reading a parameter map."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.options import resolve
from npu_reference.options.adapter_reading import adapter_ranges, settings_of_adapter
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition import partition
from tests.partition.graphs_for_tests import chain


def test_nothing_given_is_full_offload_of_one_iteration():
    assert resolve({}).typed.partition == PartitionSettings() == settings_of_adapter({})


def test_the_first_error_of_the_options_is_raised():
    with pytest.raises(NpuError) as caught:
        partition(chain("dd"), resolve({"mix_compile_mode": "yes"}))
    assert caught.value.subject == "mix_compile_mode"


@pytest.mark.parametrize("value", ["True", 1, {"field": "s", "value": "True"}])
def test_the_adapter_reads_a_value_of_the_wrong_kind_as_false(value):
    assert not settings_of_adapter({"mix_compile_mode": value}).mix


def test_the_adapter_reads_a_field_by_its_name():
    assert settings_of_adapter({"mix_compile_mode": {"field": "b", "value": True}}).mix


@pytest.mark.parametrize(
    "values, words",
    [
        ({"iterations_per_loop": 0}, "iterator_per_loop should be int and must >= 1"),
        ({"iterations_per_loop": "2"}, "iterator_per_loop should be int and must >= 1"),
        ({"task_index": -1}, "task_index should be int and must >= 0"),
        ({"variable_placement": "Disk"}, "variable placement should be one of the list:[Host, Device]"),
        (
            {"mix_compile_mode": True, "input_shape": "x:1,-1", "dynamic_dims": "1;2"},
            "dynamic config can not use with mix compile.",
        ),
    ],
)
def test_some_wrong_values_end_the_adapters_process(values, words):
    with pytest.raises(NpuError) as caught:
        settings_of_adapter(values)
    assert caught.value.code == "ADAPTER_ABORT"
    assert caught.value.reason == words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[[['a'], ['b', 'c']]]", [(("a",), ("b", "c"))]),
        ("[[[a],[b]],[[c],[d]]]", [(("a",), ("b",)), (("c",), ("d",))]),
        ("[[['a b'], ['c\td']]]", [(("ab",), ("cd",))]),
        ('[[["a"], ["b"]]]', [(('"a"',), ('"b"',))]),
        ("[[['a'], ['b'], ['ignored']]]", [(("a",), ("b",))]),
        ("[[['a'], ['b']]]]", [(("a",), ("b",))]),
        ("[[['a'], ['b'],],]", [(("a",), ("b",))]),
        ("x[[['a'], ['b']]]", [(("xa",), ("b",))]),
        ("[[['a'],\n['b']]]", [(("a",), ("\nb",))]),
        ("x, [[['a'], ['b']]]", [(("a",), ("b",))]),
        ("[]", []),
        ("['b','d']", []),
        ("[['b'],['d']]", []),
        ("[[['a'], ['b']]", []),
        ("text", []),
        ("[[[], ['b']]]", []),
    ],
)
def test_the_adapters_parser_knows_brackets_and_commas_only(text, expected):
    assert adapter_ranges(text) == expected


@pytest.mark.parametrize(
    "values, words",
    [
        ({"in_out_pair": "[[['a'],['b']]]"}, "mix_compile_mode must be True when use in_out_pair."),
        ({"in_out_pair": "[]", "mix_compile_mode": True}, "in_out_pair: [] is invalid."),
    ],
)
def test_the_adapter_refuses_ranges_in_its_own_words(values, words):
    with pytest.raises(NpuError) as caught:
        partition(chain("dd"), values, policy="adapter")
    assert caught.value.reason == words


def test_a_raw_parameter_map_is_for_policy_adapter_only():
    with pytest.raises(NpuError) as caught:
        partition(chain("dd"), {"mix_compile_mode": True})
    assert caught.value.code == "USAGE"
