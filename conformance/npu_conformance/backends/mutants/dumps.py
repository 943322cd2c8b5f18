"""Mutants of what runs leave: dumps, exception dumps, profiles; their cases run something, so they need TensorFlow."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Tuple

from npu_conformance.backends.mutants.edits import Answer, Params, altered, with_values

__all__: List[str] = []

Run = Callable[[Params], Answer]
Fault = Callable[[Run, Params], Answer]

_STEP = re.compile(r"/(\d+)/([^/]+)\Z")


#: An operator in the body of a function of the case's graph.
_CALLED = re.compile(r"\.(?:branch|called|unmarked|loop)_[^.]+\.\d+\.\d+\.\d+\Z")


def _asks(**changes: Any) -> Fault:
    """Runs as if other values had been given."""
    return lambda run, params: run(with_values(params, **changes))


def _keeps(which: Callable[[str], bool]) -> Fault:
    """Leaves only some of the files."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        return {**answer, "files": {name: one for name, one in answer.get("files", {}).items() if which(name)}}

    return fault


def _moves(pattern: str, instead: str) -> Fault:
    """Leaves the files under other names."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        files = {re.sub(pattern, instead, name): one for name, one in answer.get("files", {}).items()}
        return {**answer, "files": files}

    return fault


def _step(name: str) -> int:
    found = _STEP.search(name)
    return -1 if found is None else int(found[1])


def _from_one(run: Run, params: Params) -> Answer:
    answer = run(params)
    files = {
        _STEP.sub(lambda found: f"/{int(found[1]) + 1}/{found[2]}", name): one
        for name, one in answer.get("files", {}).items()
    }
    return {**answer, "files": files}


def _without_environment(run: Run, params: Params) -> Answer:
    return run({**params, "env": {}})


def _one_file_each(run: Run, params: Params) -> Answer:
    """The lite dump where the environment asks for the common one."""
    return _lite_in_place(run, params) if params.get("env", {}).get("NPU_COLLECT_PATH") else run(params)


def _lite_in_place(run: Run, params: Params) -> Answer:
    """What mode 2 writes, under the names that were asked for."""
    answer = run(params)
    if not answer.get("files"):
        return answer
    lite = run({**with_values(params, enable_exception_dump=2), "env": {}})
    contents: Dict[str, Mapping[str, Any]] = dict(zip(answer["files"], lite["files"].values()))
    return {**answer, "files": contents}


def _common_in_place(run: Run, params: Params) -> Answer:
    """What mode 1 writes, under the names that were asked for."""
    answer = run(params)
    if not answer.get("files") or "env" in params:
        return answer
    common = run(with_values(params, enable_exception_dump=1))
    return {**answer, "files": dict(zip(answer["files"], common["files"].values()))}


def _dumps_for_quantisation(run: Run, params: Params) -> Answer:
    if params["values"].get("quant_dumpable") != "1" or "dump_config" in params["values"]:
        return run(params)
    config = {"class": "DumpConfig", "arguments": {"enable_dump": True, "dump_path": "/"}}
    return run(with_values({**params, "files": {"/": ""}}, dump_config=config))


def _nothing_at_all(run: Run, params: Params) -> Answer:
    values = params["values"]
    answer = run(params)
    return {**answer, "files": {}} if values.get("quant_dumpable") == "0" else answer


_MUTANTS: List[Tuple[str, str, Fault]] = [
    ("session.enable_dump.true", "Takes enable_dump and dumps nothing.", _keeps(lambda name: False)),
    ("files.dump_output", "Writes dumps beside dump_path.", _moves(r"\A", "beside/")),
    (
        "session.enable_dump.false",
        "Dumps wherever there is a dump_path.",
        lambda run, params: run(with_values(params, enable_dump=True) if "dump_path" in params["values"] else params),
    ),
    ("session.dump_path.relative", "Takes only the last part of a relative path.", _moves(r"\Asome/", "")),
    ("session.dump_path.absolute", "Takes an absolute path from the current directory.", _moves(r"\Aabs/", "")),
    (
        "session.dump_step.all",
        "Without dump_step dumps the first iteration alone.",
        _keeps(lambda name: _step(name) < 1),
    ),
    ("session.dump_step.list", "Dumps the first iteration of a list alone.", _keeps(lambda name: _step(name) < 1)),
    ("session.dump_step.range", "Ends a range before its last iteration.", _keeps(lambda name: _step(name) != 5)),
    ("session.dump_step.zero_based", "Counts iterations from one.", _from_one),
    ("session.dump_mode.input", "Dumps outputs as well where inputs are asked for.", _asks(dump_mode="all")),
    ("session.dump_mode.output", "Dumps inputs where outputs are asked for.", _asks(dump_mode="input")),
    ("session.dump_mode.all", "Dumps outputs alone where both are asked for.", _asks(dump_mode="output")),
    ("session.enable_exception_dump.0", "Dumps what failed though it is off.", _asks(enable_exception_dump=1)),
    (
        "session.enable_exception_dump.1",
        "Takes enable_exception_dump and dumps nothing.",
        _asks(enable_exception_dump=0),
    ),
    ("runconfig.enable_exception_dump.0", "Dumps what failed though it is off.", _asks(enable_exception_dump=2)),
    (
        "runconfig.enable_exception_dump.1.contents",
        "Leaves descriptions of tensors out of the common dump.",
        _lite_in_place,
    ),
    (
        "runconfig.enable_exception_dump.1.dir",
        "Writes the common dump outside of the folder where the script runs.",
        _keeps(lambda name: False),
    ),
    ("runconfig.enable_exception_dump.2.contents", "Leaves tiling out of the lite dump.", _common_in_place),
    ("runconfig.enable_exception_dump.2.dir", "Writes the lite dump where the script runs.", _moves(r"\A.*/", "")),
    ("files.exception_dump.lite_dir", "Leaves the device out of the lite dump's folder.", _moves("/0/", "/")),
    (
        "runconfig.enable_exception_dump.2.work_path",
        "Writes the lite dump below the current directory though ASCEND_WORK_PATH is set.",
        _without_environment,
    ),
    ("env.ASCEND_WORK_PATH.uses", "Does not look at ASCEND_WORK_PATH.", _without_environment),
    (
        "runconfig.enable_exception_dump.npu_collect_dir",
        "Writes the common dump below the current directory though NPU_COLLECT_PATH is set.",
        _moves(r"\Acollected/", ""),
    ),
    (
        "runconfig.enable_exception_dump.npu_collect_forces_1",
        "Writes the lite dump though NPU_COLLECT_PATH is set.",
        _one_file_each,
    ),
    ("env.NPU_COLLECT_PATH.uses", "Does not look at NPU_COLLECT_PATH.", _without_environment),
    ("runconfig.quant_dumpable.0", "Dumps nothing of a quantised graph.", _nothing_at_all),
    (
        "runconfig.quant_dumpable.1",
        "Fuses what a quantisation reads whatever quant_dumpable says.",
        _asks(quant_dumpable="0"),
    ),
    ("runconfig.quant_dumpable.needs_dump", "Dumps because quant_dumpable is 1.", _dumps_for_quantisation),
]


def _forward_earlier(run: Run, params: Params) -> Answer:
    """Forward begins with the first operator, whatever fp_point says."""
    options = str(params["values"].get("profiling_options", "")).replace('"fp_point":"core1"', '"fp_point":"core0"')
    return run(with_values(params, profiling_options=options)) if options else run(params)


#: Of profiles that runs leave.
_OF_PROFILES: List[Tuple[str, str, Fault]] = [
    ("session.profiling_mode.true", "Profiles no session that computes.", _keeps(lambda name: "PROF_" not in name)),
    ("session.profiling_mode.false", "Profiles wherever there are profiling_options.", _asks(profiling_mode=True)),
    (
        "session.profiling_options.training_trace.meaning",
        "Leaves iterations out of the profile of a run.",
        _keeps(lambda name: "/step_trace_" not in name),
    ),
    (
        "session.profiling_options.aicpu.meaning",
        "Leaves the AI CPU out of the profile of a run.",
        _keeps(lambda name: "/aicpu_" not in name),
    ),
    ("session.profiling_options.fp_point.meaning", "Takes the first operator for fp_point.", _forward_earlier),
    (
        "session.profiling_options.output.relative",
        "Puts the profile of a run into the root.",
        _moves(r"\Aresults/", ""),
    ),
]


def _declare(requirement: str, sentence: str, fault: Fault, name: str = "") -> None:
    altered(name or f"run.files.{requirement}", requirement, sentence, "run", fault)


for _requirement, _sentence, _fault in _MUTANTS:
    _declare(_requirement, _sentence, _fault)
for _requirement, _sentence, _fault in _OF_PROFILES:
    _declare(_requirement, _sentence, _fault, f"run.profile.{_requirement}")
_declare(
    "session.enable_exception_dump.1",
    "Leaves nothing of an operator that failed in a function.",
    _keeps(lambda name: "_branch" not in name),
    "run.files.exception_dumps_in_functions",
)
_declare(
    "session.enable_dump.true",
    "Dumps nothing of functions that are called.",
    _keeps(lambda name: not _CALLED.search(name)),
    "run.files.dumps_called_operators",
)
