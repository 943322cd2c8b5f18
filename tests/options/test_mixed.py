"""Options of mixed computing, as documents 000 to 003 and the readings have them."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.options import parse_assignments, resolve
from npu_reference.options.grammars import GrammarError, in_out_pair


def codes(resolution):
    return [(error.subject, error.code) for error in resolution.errors]


def warned(resolution):
    return [(warning.option, warning.code) for warning in resolution.warnings]


def test_nothing_given_means_full_offload_to_the_device():
    values = resolve({}).values
    assert values["use_off_line"] is True
    assert values["mix_compile_mode"] is False
    assert values["iterations_per_loop"] == 1
    assert values["in_out_pair_flag"] is True
    assert values["in_out_pair"] is None


def test_runconfig_implies_the_device_and_knows_no_ranges():  # A38
    resolution = resolve({"use_off_line": False, "in_out_pair": "x"}, surface="runconfig")
    assert resolution.effective["use_off_line"] == (True, "forced", "A38")
    assert warned(resolution) == [("use_off_line", "not_on_surface"), ("in_out_pair", "not_on_surface")]


def test_a_name_of_the_other_edition_alone_is_not_sent_to_a_surface_that_lacks_it_too():
    (warning,) = resolve({"precision_mode_v2": "fp16"}, edition="legacy").warnings
    assert warning.message.endswith("In the current one it is an argument of NPURunConfig.")
    (warning,) = resolve({"in_out_pair": "x"}, surface="runconfig").warnings
    assert "does not exist on the runconfig surface" in warning.message


def test_getnext_offload_has_a_default_for_each_surface():  # A17
    assert resolve({}).values["enable_data_pre_proc"] is False
    assert resolve({}, surface="runconfig").values["enable_data_pre_proc"] is True


@pytest.mark.parametrize("surface", ["session", "runconfig"])
def test_mixed_computing_needs_one_iteration_per_loop(surface):
    refused = resolve({"mix_compile_mode": True, "iterations_per_loop": 10}, surface=surface)
    assert codes(refused) == [("iterations_per_loop", "OPTION_CONFLICT")]
    assert "mix_compile_mode" in refused.errors[0].message
    assert not resolve({"mix_compile_mode": True, "iterations_per_loop": 1}, surface=surface).errors


def test_ranges_need_mixed_computing():  # M11
    assert codes(resolve({"in_out_pair": "[[['a'], ['b']]]"})) == [("in_out_pair", "OPTION_CONFLICT")]


def test_ranges_in_training_are_warned_about_and_kept():  # A37
    resolution = resolve({"mix_compile_mode": True, "in_out_pair": "[[['a'], ['b']]]"})
    assert warned(resolution) == [("in_out_pair", "inference_only")]
    assert resolution.parsed["in_out_pair"] == ((("a",), ("b",)),)
    assert resolution.effective["in_out_pair"].origin == "given"
    quiet = resolve({"mix_compile_mode": True, "in_out_pair": "[[['a'], ['b']]]", "graph_run_mode": 0})
    assert not quiet.warnings


def test_host_variables_need_mixed_computing():  # T21
    assert codes(resolve({"variable_placement": "Host"}, surface="runconfig")) == [
        ("variable_placement", "OPTION_CONFLICT")
    ]
    kept = resolve({"variable_placement": "Host", "mix_compile_mode": True})
    assert kept.values["variable_placement"] == "Host"
    assert warned(kept) == [("variable_placement", "reserved")]


@pytest.mark.parametrize(
    "name, value",
    [
        ("mix_compile_mode", "True"),
        ("mix_compile_mode", 1),
        ("in_out_pair_flag", {"field": "s", "value": "False"}),
        ("iterations_per_loop", True),
        ("iterations_per_loop", 1.0),
        ("in_out_pair", [[["a"], ["b"]]]),
    ],
)
def test_a_value_in_the_wrong_field_is_refused(name, value):  # G2, G12
    resolution = resolve({name: value})
    assert codes(resolution) == [(name, "OPTION_TYPE")]
    assert resolution.effective[name].origin == "default"
    with pytest.raises(NpuError):
        resolution.raise_first()


def test_an_unknown_key_is_warned_about_with_the_nearest_spelling():  # G1
    for name in ("mix_compile_mod", "mix_compile"):  # nearer to jit_compile, letter by letter
        (warning,) = resolve({name: True}).warnings
        assert warning[:2] == (name, "unknown")
        assert "mix_compile_mode?" in warning.message


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_value_is_unset(value):  # G9
    resolution = resolve({"in_out_pair": value})
    assert resolution.effective["in_out_pair"] == (None, "default", "")
    assert not resolution.errors and not resolution.warnings


@pytest.mark.parametrize("iterations", [0, -1, -(10**4000)])
def test_iterations_per_loop_is_positive(iterations):
    assert codes(resolve({"iterations_per_loop": iterations})) == [("iterations_per_loop", "OPTION_VALUE")]


@pytest.mark.parametrize(
    "text, position",
    [
        ("[]", 2),
        ("[[]]", 3),
        ("[['a'], ['b']]", 3),
        ("[[['a'], ['b']]", 16),
        ("[[['a'], ['b']]] x", 18),
        ("[[['a']]]", 8),
        ("[[[], ['b']]]", 3),
        ("[[['a'], ['b'], ['c']]]", 17),
        ("[[[a], ['b']]]", 4),
        ("[[['a'], ('b')]]", 10),
        ("[[['a' 'b'], ['c']]]", 8),
        ("[[[''], ['c']]]", 4),
        ("__import__('os')", 1),
        ("[" * 100000, 4),
    ],
)
def test_a_malformed_range_is_refused_where_it_goes_wrong(text, position):  # M23
    (error,) = resolve({"mix_compile_mode": True, "in_out_pair": text}).errors
    assert error.code == "OPTION_SYNTAX"
    assert f"at character {position}:" in error.reason
    assert repr(text[:20])[:-1] in error.reason


def test_ranges_are_read_with_either_quote_and_once_each():
    read = in_out_pair.parse("""[[["a", 'a'],['it\\'s']] , [['c'], ['d', "e"]],]""")
    assert read == ((("a",), ("it's",)), (("c",), ("d", "e")))
    assert in_out_pair.parse(in_out_pair.write(read)) == read


def test_half_a_surrogate_is_no_name():
    with pytest.raises(GrammarError):
        in_out_pair.parse(r"[[['\ud800'], ['b']]]")


def test_the_command_line_reads_values_by_the_type_of_their_option():
    with pytest.raises(NpuError, match='the key "dump_path" stands twice'):
        parse_assignments(['dump_config={"dump_path": "a", "dump_path": "b"}'])
    assert parse_assignments(
        ["mix_compile_mode=true", "iterations_per_loop=1", "variable_placement=Host", "iterations_per_loop.s=1"]
    ) == {"mix_compile_mode": True, "iterations_per_loop": {"field": "s", "value": "1"}, "variable_placement": "Host"}
    assert parse_assignments(["in_out_pair=[[['a'],['b=c']]]"]) == {"in_out_pair": "[[['a'],['b=c']]]"}


@pytest.mark.parametrize("text", ["mix_compile_mode", "=1", ""])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(NpuError) as refused:
        parse_assignments([text])
    assert refused.value.code == "USAGE"
