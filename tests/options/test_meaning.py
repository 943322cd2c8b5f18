"""What option texts and files mean, as answers tell it: JSON, of one form, for given values and for defaults."""

from __future__ import annotations

import json

import pytest

from npu_conformance.observing import observe
from npu_reference.options import OPTIONS, resolve
from npu_reference.options.domains import Path, Text
from npu_reference.options.meaning import meanings
from tests.options import strategies

BESIDE = {
    "graph_run_mode": 0,
    "mix_compile_mode": True,
    "in_out_pair": "[[['a'], ['b']]]",
    "dynamic_input": True,
    "precision_mode": "allow_mix_precision",
    "op_select_implmode": "high_precision",
}

#: Options whose example is refused alone: profiles come together, and two memory sizes share 31 GiB.
NOT_ALONE = ("input_shape", "dynamic_dims", "variable_memory_max_size")


@pytest.mark.parametrize("surface, edition", [(s, e) for s in ("session", "runconfig") for e in ("legacy", "current")])
def test_every_text_with_a_grammar_has_a_meaning(surface, edition):
    for name, option in OPTIONS.items():
        facet = option.facet(surface, edition)
        if (
            facet is None
            or not isinstance(facet.domain, Text)
            or facet.domain.parse is None
            or not facet.domain.example
        ):
            continue
        for mode in (0, 1):
            beside = {**BESIDE, "graph_run_mode": mode}
            beside = {
                key: value for key, value in beside.items() if key in OPTIONS and surface in OPTIONS[key].surfaces
            }
            resolution = resolve({**beside, name: facet.domain.example}, surface=surface, edition=edition)
            if name in resolution.parsed:
                told = meanings(resolution)[name]
                assert told == json.loads(json.dumps(told))
                break
        else:
            assert facet.status in ("removed", "ignored") or name in NOT_ALONE, name


def test_a_text_nobody_gave_is_told_as_well():
    assert meanings(resolve({}))["stream_max_parallel_num"] == {"DNN_VM_AICPU": 1, "AIcoreEngine": 1}
    assert "op_precision_mode" not in meanings(resolve({}))


def test_names_without_an_order_are_told_sorted():
    files = {"/f": '{"black-list":{"to-add":["Mul","Add"]}}'}
    one = meanings(resolve({"precision_mode": "allow_mix_precision", "modify_mixlist": "/f"}, files=files))
    assert one["modify_mixlist"]["black-list"] == {"to-remove": [], "to-add": ["Add", "Mul"]}


def test_every_file_an_option_names_has_a_meaning():
    texts = {
        **strategies.SAMPLES,
        "fusion_switch_file": '{"Switch":{"UBFusion":{"ALL":"off"}}}',
        "modify_mixlist": "{}",
        "op_precision_mode": "Add=high_precision",
        "customize_dtypes": "a::InputDtype:int8,OutputDtype:int8",
        "op_debug_config": "op_debug_config = oom",
        "aoe_config_file": "{}",
    }
    readable = {
        name
        for name, option in OPTIONS.items()
        for facet in option.facets.values()
        if isinstance(facet.domain, Path) and facet.domain.read is not None
    }
    assert readable == set(texts)
    for name, text in texts.items():
        beside = {"precision_mode": "allow_mix_precision"}
        resolution = resolve({**beside, name: "/f"}, surface="runconfig", files={"/f": text})
        assert name in meanings(resolution)


def test_a_meaning_is_one_fact_a_leaf():
    told = {"a": {"b c": ["y", "x"], "d": {}}, "e": None}
    answer = {"effective": {}, "warnings": [], "meaning": {"option": told, "list": [1]}}
    assert observe.facts("options", answer) == [
        "meaning list = [1]",
        'meaning option a b c = ["y", "x"]',
        "meaning option a d = {}",
        "meaning option e = null",
    ]
