"""Every call and every option file that documents 002 and 003 print is accepted, or refused where a reading says so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from npu_conformance.files import resources
from npu_reference.options import OPTIONS, resolve
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

EXAMPLES = Path(resources.fixtures()) / "examples"
CALLS = [line for line in (EXAMPLES / "003" / "calls.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]

#: Names in the calls to the objects they stand for.
OBJECTS = {
    "strategy": {"class": "ParameterServerStrategy", "arguments": {}},
    "dump_config": {"class": "DumpConfig", "arguments": {"enable_dump": False}},
    "profiling_config": {"class": "ProfilingConfig", "arguments": {"enable_profiling": False}},
}

#: File to the option that names it, what that option needs beside it, the edition, and the reading that refuses it.
FILES = {
    "002/ops_info.json": ("modify_mixlist", {"precision_mode": "allow_mix_precision"}, "legacy", ""),
    "002/fusion_switch.cfg": ("fusion_switch_file", {}, "legacy", ""),
    "002/fusion_switch_all_off.cfg": ("fusion_switch_file", {}, "legacy", ""),
    "002/fusion_switch_all_off_but_two.cfg": ("fusion_switch_file", {}, "legacy", ""),
    "002/op_precision.ini": ("op_precision_mode", {}, "legacy", ""),
    "003/ops_info.json": ("modify_mixlist", {"precision_mode": "allow_mix_precision"}, "current", ""),
    "003/fusion_switch.cfg": ("fusion_switch_file", {}, "current", ""),
    "003/fusion_switch_all_off.cfg": ("fusion_switch_file", {}, "current", ""),
    "003/fusion_switch_all_off_but_two.cfg": ("fusion_switch_file", {}, "current", ""),
    "003/op_precision.ini": ("op_precision_mode", {}, "current", ""),
    "003/customize_dtypes.cfg": ("customize_dtypes", {}, "current", ""),
    "003/test0.cfg": ("op_debug_config", {}, "current", "B2"),
    "003/test0_op_debug_list.cfg": ("op_debug_config", {}, "current", ""),
    "003/tuning_config.cfg": ("aoe_config_file", {"aoe_mode": "2"}, "current", "B10"),
}

#: What the documents demand beside an example: a scenario, a mode it belongs to.
BESIDE = {
    "modify_mixlist": {"precision_mode": "allow_mix_precision"},
    "quant_dumpable": {"graph_run_mode": 0},
    "graph_max_parallel_model_num": {"graph_run_mode": 0},
    "aoe_config_file": {"aoe_mode": "2"},
    "dynamic_graph_execute_mode": {"dynamic_input": True},
    "dynamic_inputs_shape_range": {"dynamic_input": True},
}

#: Contents for the paths in the calls. The two samples that are defects are left out of what they would break.
CONTENTS = {
    "/root/test0.cfg": "003/test0_op_debug_list.cfg",
    "/home/test/ops_info.json": "003/ops_info.json",
    "/home/test/customize_dtypes.cfg": "003/customize_dtypes.cfg",
    "/home/test/fusion_switch.cfg": "003/fusion_switch.cfg",
    "/home/test/op_precision.ini": "003/op_precision.ini",
}


def text(name):
    return (EXAMPLES / name).read_text(encoding="utf-8")


def arguments(line):
    """The keyword arguments of a printed call; ``...`` stands for others."""
    call = ast.parse(line.replace("..., ", "").replace(", ...", "")).body[0].value
    assert call.func.id == "NPURunConfig"
    return {
        one.arg: OBJECTS[one.value.id] if isinstance(one.value, ast.Name) else ast.literal_eval(one.value)
        for one in call.keywords
    }


@pytest.mark.parametrize("line", CALLS)
def test_a_call_of_document_003_is_accepted_and_takes_effect(line):
    given = arguments(line)
    files = {path: text(name) for path, name in CONTENTS.items()}
    files["/home/test/cfg/tuning_config.cfg"] = '{"tune_ops_type":["Add","Mul"],"feature":["deeper_opat"]}'
    beside = {key: value for name in given for key, value in BESIDE.get(name, {}).items()}
    resolution = resolve({**beside, **given}, surface="runconfig", edition="current", files=files)
    assert not resolution.errors
    assert {name: resolution.effective[name].origin for name in given} == dict.fromkeys(given, "given")


#: Options that document 003 prints an example of.
PRINTED = 52


def test_every_option_that_document_003_prints_an_example_of_is_called():
    called = {name for line in CALLS for name in arguments(line)}
    places = {name: option.facets.get(("runconfig", "current")) for name, option in OPTIONS.items()}
    shown = {name for name, facet in places.items() if facet is not None and facet.listed}
    listed = {name for name in shown if "runconfig" in OPTIONS[name].surfaces}
    without = {"memory_config", "experimental_config", "enable_reduce_precision"}
    without |= {"graph_memory_max_size", "variable_memory_max_size"}
    assert called <= listed - without
    # Of an option that was added since, the cases of the tables show the example (fixtures/programs/option_tables).
    assert len(called) == PRINTED


@pytest.mark.parametrize("name", FILES)
def test_a_printed_file_is_accepted_or_refused_as_its_reading_says(name):
    option, beside, edition, reading = FILES[name]
    resolution = resolve({**beside, option: "/f"}, surface="runconfig", edition=edition, files={"/f": text(name)})
    assert [error.subject for error in resolution.errors] == ([option] if reading else [])


def test_the_printed_cache_limits_take_effect():
    files = {"/c/op_cache.ini": text("003/op_cache.ini")}
    resolution = resolve({"op_compiler_cache_dir": "/c"}, surface="runconfig", files=files)
    assert [resolution.effective[name].value for name in ("max_op_cache_size", "remain_cache_size_ratio")] == [500, 80]


def test_every_printed_file_is_in_a_case_or_in_this_test():
    stored = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/*") if path.name not in ("calls.txt",)}
    assert stored == set(FILES) | {"003/op_cache.ini", "004/aic-ascend910-ops-info.json"}
    used = {
        content
        for case in corpus().cases.values()
        for content in case.params.get("files", {}).values()
        if isinstance(content, str)
    }
    used |= {case.params["ops_info"] for case in corpus().cases.values() if "ops_info" in case.params}
    same = {"002/fusion_switch_all_off.cfg", "003/fusion_switch_all_off_but_two.cfg"}  # the other document's, again
    assert not [name for name in stored - same if text(name) not in used]
