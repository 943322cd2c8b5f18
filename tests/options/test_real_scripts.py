"""What real training scripts set is taken, in both editions; what is odd about it is a warning, no refusal."""

from __future__ import annotations

import pytest

from npu_reference.options import resolve, run_config

_DUMP = {"/var/log/npu/dump/": None, "/dump.json": "{}", "/fusion.cfg": '{"Switch":{"GraphFusion":{"ALL":"off"}}}'}

#: Maps as scripts write them, by what is unusual about each.
SESSIONS = {
    "the plain one": {"use_off_line": True, "precision_mode": b"allow_mix_precision", "graph_run_mode": 0},
    "recompilation": {"use_off_line": True, "dynamic_input": True, "dynamic_graph_execute_mode": b"lazy_recompile"},
    "recompilation with a range": {
        "dynamic_input": True,
        "dynamic_graph_execute_mode": "lazy_recompile",
        "dynamic_inputs_shape_range": "data:[1~8, 224, 224, 3], [1~8]",
    },
    "fp16 in training": {"precision_mode": "force_fp16", "mix_compile_mode": True},
    "memory as a product": {"graph_memory_max_size": "16 * 1024 * 1024 * 1024", "variable_memory_max_size": "5*1024"},
    "blanks behind commas": {"auto_tune_mode": "RL, GA", "local_device_list": "0, 1", "local_rank_id": 0},
    "the text None": {"precision_mode": "None", "dump_step": "None", "modify_mixlist": "None"},
    "profiling that is off": {"profiling_mode": False, "profiling_options": b"task_trace"},
    "a dump that is off": {"enable_dump": False, "dump_path": "/home/nobody", "dump_step": "0|5", "dump_mode": "all"},
    "a dump": {"enable_dump": True, "dump_path": "/var/log/npu/dump", "dump_step": "0", "dump_mode": "all"},
    "overflow": {"enable_dump_debug": True, "dump_path": "/var/log/npu/dump", "dump_debug_mode": "all"},
    "loops": {"enable_data_pre_proc": True, "iterations_per_loop": 10, "hcom_parallel": True},
    "fusion off": {"fusion_switch_file": "/fusion.cfg", "mix_compile_mode": False},
    "training options in inference": {"graph_run_mode": 0, "hcom_parallel": False, "enable_exception_dump": 1},
    "keys nobody knows": {"min_group_size": 1, "variable_acquisition_strategy": "x", "enable_auto_mix_precision": True},
}


@pytest.mark.parametrize("edition", ["legacy", "current"])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_a_real_script_is_taken(name, edition):
    resolution = resolve(SESSIONS[name], edition=edition, files=_DUMP)
    assert not resolution.errors
    if name not in ("the plain one", "a dump", "loops", "fusion off", "fp16 in training"):
        assert resolution.warnings


@pytest.mark.parametrize("edition", ["legacy", "current"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"precision_mode": "allow_mix_precision", "iterations_per_loop": 100, "hcom_parallel": True},
        {"enable_data_pre_proc": True, "auto_tune_mode": "RL,GA", "horovod_mode": False},
        {"mix_compile_mode": False, "is_tailing_optimization": True, "graph_memory_max_size": str(20 * 1024**3)},
    ],
)
def test_a_run_config_of_a_real_script_is_taken(arguments, edition):
    run_config(arguments, edition=edition, files=_DUMP)


@pytest.mark.parametrize(
    "arguments",
    [
        {"dump_config": {"class": "DumpConfig", "arguments": {"enable_dump": False, "dump_path": "/x"}}},
        {"profiling_config": {"class": "ProfilingConfig", "arguments": {"profiling_options": "trace"}}},
    ],
)
def test_the_objects_of_a_real_script_are_taken_and_the_older_edition_says_which_has_them(arguments):
    run_config(arguments, edition="current", files=_DUMP)
    with pytest.raises(TypeError) as refused:
        run_config(arguments, edition="legacy", files=_DUMP)
    assert "The other edition has it." in str(refused.value)
    assert not resolve(arguments, surface="runconfig", edition="legacy", files=_DUMP).errors
