"""Rules between options of dumps, debugging and profiles, one sentence each."""

from __future__ import annotations

import pytest

from npu_reference.options import resolve
from tests.options.resolving import codes, legacy, runconfig, warned

# Dump and debug files


def dumping(files=None, **values):
    return resolve({"enable_dump": True, **values}, edition="legacy", files=files or {})


def test_dump_needs_a_path():  # G9
    assert codes(dumping()) == [("dump_path", "OPTION_CONFLICT")]
    assert codes(dumping(dump_path="")) == [("dump_path", "OPTION_CONFLICT")]
    assert codes(dumping(dump_path=None)) == [("dump_path", "OPTION_CONFLICT")]


@pytest.mark.parametrize(
    "files, reason",
    [
        ({}, "does not exist"),
        ({"/out": "x"}, "is not a directory"),
        ({"/out/": {"access": "r"}}, "cannot be read and written"),
        ({"/out/": {"access": "w"}}, "cannot be read and written"),
    ],
)
def test_the_dump_path_is_a_directory_that_can_be_used(files, reason):
    (error,) = dumping(files, dump_path="/out").errors
    assert (error.subject, error.code) == ("dump_path", "OPTION_FILE")
    assert reason in error.reason


@pytest.mark.parametrize("path, place", [("/out", "/out/"), ("out", "out/"), ("./a/../out", "out/")])
def test_a_dump_path_is_absolute_or_relative(path, place):
    resolution = dumping({place: None}, dump_path=path, dump_step="0|3-5", dump_mode="all")
    assert not resolution.errors and not resolution.warnings
    assert resolution.values["dump_path"] == path


@pytest.mark.parametrize("value", [{"dump_path": "/nowhere"}, {"dump_step": "1"}, {"dump_mode": "all"}])
def test_dump_settings_without_dump_have_no_effect(value):
    resolution = resolve(value, files={})
    assert warned(resolution) == [(next(iter(value)), "no_effect")]
    assert not resolution.errors


def test_dump_steps_hold_in_inference_too():  # D7: else every iteration would be dumped
    resolution = dumping({"/out/": None}, dump_path="/out", dump_step="0", graph_run_mode=0)
    assert warned(resolution) == [("dump_step", "training_only")]
    assert resolution.values["dump_step"] == "0" and 0 in resolution.parsed["dump_step"]


def test_oom_excludes_debug_level_2():  # D16
    files = {"/d.cfg": "op_debug_config=oom"}
    assert codes(runconfig(files=files, op_debug_config="/d.cfg", op_debug_level=2)) == [
        ("op_debug_config", "OPTION_CONFLICT")
    ]
    assert not runconfig(files=files, op_debug_config="/d.cfg", op_debug_level=1).errors


def test_oom_excludes_collecting():
    files = {"/d.cfg": "op_debug_config=oom", "/e.cfg": "op_debug_config=dump_cce"}
    env = {"NPU_COLLECT_PATH": "/collect"}
    assert codes(runconfig(env, files, op_debug_config="/d.cfg")) == [("op_debug_config", "OPTION_CONFLICT")]
    assert not runconfig(env, files, op_debug_config="/e.cfg").errors


@pytest.mark.parametrize("level, advised", [(0, False), (1, True), (2, True), (3, False), (4, True)])
def test_slow_debug_levels_are_advised_against_in_training(level, advised):
    assert (("op_debug_level", "advice") in warned(legacy(op_debug_level=level))) == advised
    assert ("op_debug_level", "advice") not in warned(legacy(op_debug_level=level, graph_run_mode=0))


# Profiling


def profiling(text, edition="legacy", files=None, **values):
    values = {"profiling_mode": True, "profiling_options": text, **values}
    return resolve(values, edition=edition, files={"/out/": None} if files is None else files)


def test_a_profile_needs_an_output():  # D10
    assert codes(profiling("{}")) == [("profiling_options", "OPTION_CONFLICT")]
    assert codes(profiling(None)) == [("profiling_options", "OPTION_CONFLICT")]
    assert warned(profiling("{}", "current")) == [("profiling_options", "incomplete")]
    assert not profiling('{"output":"/out"}').errors
    assert not resolve({"profiling_options": '{"output":"/nowhere"}'}, files={}).errors


@pytest.mark.parametrize("files", [{}, {"/out": "file"}, {"/out/": {"access": "r"}}])
def test_the_output_of_a_profile_is_a_directory_that_can_be_used(files):
    assert codes(profiling('{"output":"/out"}', files=files)) == [("profiling_options", "OPTION_FILE")]


def test_a_training_trace_needs_its_points():  # D12
    lacking = '{"output":"/out","training_trace":"on","fp_point":"a"}'
    (error,) = profiling(lacking).errors
    assert (error.code, "bp_point" in error.reason, "fp_point" in error.reason) == ("OPTION_CONFLICT", True, False)
    assert warned(profiling(lacking, "current")) == [("profiling_options", "incomplete")]
    assert not profiling('{"output":"/out","training_trace":"on","fp_point":"a","bp_point":"b"}').errors
    empty = profiling('{"output":"/out","training_trace":"on","fp_point":"","bp_point":""}')
    assert not empty.errors and ("profiling_options", "incomplete") in [warning[:2] for warning in empty.warnings]


def test_inference_has_no_training_trace():
    text = '{"output":"/out","training_trace":"on","task_trace":"on"}'
    resolution = profiling(text, graph_run_mode=0)
    assert warned(resolution) == [("profiling_options", "training_only")]
    parsed = resolution.parsed["profiling_options"]
    assert (parsed.training_trace, parsed.task_trace) == (False, True)
