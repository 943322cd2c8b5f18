"""What is said of options that are no error: what real scripts set, notes and advice."""

from __future__ import annotations

import pytest

from npu_conformance.library import inventory
from npu_reference.options import OPTIONS, resolve, run_config
from tests.options.resolving import runconfig, warned

# What real scripts set


@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_lazy_recompile_is_taken_with_a_warning_and_uses_no_range(edition):  # S16
    values = {"dynamic_input": True, "dynamic_graph_execute_mode": "lazy_recompile"}
    resolution = resolve(values, edition=edition, files={})
    assert not resolution.errors
    assert resolution.values["dynamic_graph_execute_mode"] == "lazy_recompile"
    assert ("dynamic_graph_execute_mode", "undocumented") in warned(resolution)
    ranged = resolve({**values, "dynamic_inputs_shape_range": "data:[1]"}, edition=edition, files={})
    assert ("dynamic_inputs_shape_range", "overridden") in warned(ranged)
    assert "dynamic_inputs_shape_range" not in ranged.parsed


@pytest.mark.parametrize("name", ["precision_mode", "dump_step", "aoe_mode", "modify_mixlist"])
def test_the_text_none_is_as_good_as_nothing(name):  # G9
    resolution = resolve({name: "None"}, files={})
    assert not resolution.errors
    assert warned(resolution) == [(name, "undocumented")]
    assert resolution.effective[name] == resolve({}).effective[name]


@pytest.mark.parametrize("text", ["", "output=/tmp", "{'output': '/tmp'}"])
def test_profiling_options_are_not_read_while_profiling_is_off(text):  # D27
    for values in ({}, {"profiling_mode": False}):
        resolution = resolve({**values, "profiling_options": text}, files={})
        assert not resolution.errors
        assert warned(resolution) == ([("profiling_options", "no_effect")] if text else [])
    assert resolve({"profiling_mode": True, "profiling_options": text or "x"}, files={}).errors
    arguments = {"enable_profiling": False, "profiling_options": text}
    assert not runconfig(profiling_config={"class": "ProfilingConfig", "arguments": arguments}).errors


@pytest.mark.parametrize(
    "name, value",
    [("auto_tune_mode", "RL,GA"), ("horovod_mode", True), ("HCCL_algorithm", "level0:fullmesh;level1:pairwise")],
)
@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_keywords_that_real_scripts_give_npu_run_config_are_taken_with_a_warning(name, value, edition):  # G19
    resolution = run_config({name: value}, edition=edition)
    assert [warning.option for warning in resolution.warnings] == [name]


# What the documents say and nobody has to do anything about


@pytest.mark.parametrize(
    "edition, values, told",
    [
        ("current", {"stream_max_parallel_num": "AIcoreEngine:1"}, "NMT"),
        ("legacy", {"stream_max_parallel_num": "DNN_V100:1"}, ""),
        ("current", {"is_tailing_optimization": True}, "BERT"),
        ("current", {"is_tailing_optimization": False}, ""),
        ("current", {"hcom_parallel": True}, "ResNet-18"),
        ("current", {"precision_mode": "allow_mix_precision"}, "Loss scaling"),
        ("current", {"precision_mode": "allow_mix_precision", "graph_run_mode": 0}, "precision_mode_v2"),
        ("current", {"op_compiler_cache_mode": "enable"}, "published"),
        ("current", {"jit_compile": "true"}, "recommendation"),
        ("current", {"dynamic_input": True}, "every dimension"),
    ],
)
def test_what_the_documents_say_about_an_option_is_a_note(edition, values, told):
    resolution = resolve(values, edition=edition, files={})
    notes = " ".join(note.message for note in resolution.notes)
    assert (told in notes) if told else not notes
    assert all(note.rule for note in resolution.notes)


def test_notes_are_about_what_was_given_alone():
    assert not resolve({}).notes and not resolve({}, surface="runconfig").notes


def test_every_advice_cites_a_requirement_of_the_inventory():
    known = inventory.load()
    cited = [(name, one.requirement) for name, option in OPTIONS.items() for one in option.advice]
    assert len(cited) > 20
    assert not [(name, one) for name, one in cited if one not in known]


@pytest.mark.parametrize(
    "values, option",
    [
        ({"op_debug_level": 2, "dynamic_input": True}, "op_debug_level"),
        ({"op_debug_config": "/d", "compile_dynamic_mode": True}, "op_debug_config"),
        ({"enable_small_channel": 1}, "enable_small_channel"),
        ({"op_debug_level": 4}, "op_debug_level"),
    ],
)
def test_what_is_not_recommended_is_said(values, option):
    resolution = resolve(values, files={"/d": "op_debug_config=ccec_g\n"})
    assert (option, "advice") in warned(resolution)


@pytest.mark.parametrize(
    "values, option",
    [
        ({"op_compiler_cache_dir": "/c", "op_compiler_cache_mode": "disable"}, "op_compiler_cache_dir"),
        ({"aoe_config_file": "/a"}, "aoe_config_file"),
        ({"use_off_line": False, "precision_mode": "force_fp32"}, "use_off_line"),
    ],
)
def test_what_has_no_effect_is_said(values, option):
    resolution = resolve(values, files={"/a": "{}"})
    assert (option, "no_effect") in warned(resolution)


def test_a_timeout_that_is_counted_in_steps_says_so():
    assert warned(runconfig(hccl_timeout=600)) == [("hccl_timeout", "adjusted")]
    assert not warned(runconfig(hccl_timeout=544))
