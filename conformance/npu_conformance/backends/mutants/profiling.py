"""Mutants of profiles: files elsewhere, kinds and columns otherwise than the documents say."""

from __future__ import annotations

import base64
import csv
import io
import json
import posixpath
from typing import Any, Callable, Dict, List

from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.mutants.timing_edits import Edit, When, always, hearing, telling, value_of

__all__: List[str] = []

_OPTIONS = "session.profiling_options."


def _options(params: Params) -> Dict[str, Any]:
    given = value_of(params, "profiling_options")
    return json.loads(given) if isinstance(given, str) else {}


def _asks(key: str, *values: str) -> When:
    """Whether profiling_options give this key, with one of these values."""
    return lambda params: key in _options(params) and (not values or _options(params)[key] in values)


def _with(**changes: Any) -> Callable[[Any], str]:
    """profiling_options with other values of keys; None takes a key away."""

    def change(given: Any) -> str:
        options = {**json.loads(given), **changes}
        return json.dumps({key: value for key, value in options.items() if value is not None})

    return change


def _no_files(step: Answer, params: Params) -> None:
    step.pop("files", None)


def _without(*tables: str) -> Edit:
    """Leaves files of these tables away."""

    def edit(step: Answer, params: Params) -> None:
        files = step.get("files", {})
        step["files"] = {name: told for name, told in files.items() if not posixpath.basename(name).startswith(tables)}

    return edit


def _moved(place: Callable[[str], str]) -> Edit:
    def edit(step: Answer, params: Params) -> None:
        step["files"] = {place(name): told for name, told in step.get("files", {}).items()}

    return edit


def _rows(table: str, change: Callable[[List[Dict[str, str]]], List[Dict[str, str]]]) -> Edit:
    """Changes the rows of a table."""

    def edit(step: Answer, params: Params) -> None:
        for name, told in step.get("files", {}).items():
            if posixpath.basename(name).startswith(table) and "b64" in told:
                reader = csv.DictReader(io.StringIO(base64.b64decode(told["b64"]).decode("utf-8")))
                rows = change([dict(row) for row in reader])
                out = io.StringIO()
                writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
                told["b64"] = base64.b64encode(out.getvalue().encode("utf-8")).decode("ascii")

    return edit


def _put(column: str, value: Callable[[Dict[str, str]], str]) -> Callable[[List[Dict[str, str]]], List[Dict[str, str]]]:
    return lambda rows: [{**row, column: value(row)} for row in rows]


telling("profile-left-away", _OPTIONS + "output.dest", "Leaves no profile.", _no_files)
telling(
    "profile-in-the-current-directory",
    "files.profiling_output",
    "Leaves the profile in the current directory.",
    _moved(lambda name: name[name.index("PROF_") :]),
)
telling(
    "profile-relative-to-the-root",
    _OPTIONS + "output.relative",
    "Takes the last part of a relative output for the whole.",
    _moved(lambda name: posixpath.join(name.split("/PROF_")[0].rpartition("/")[2], name[name.index("PROF_") :])),
    lambda params: not str(_options(params).get("output", "/")).startswith("/"),
)
hearing(
    "profile-whatever-the-mode",
    "session.profiling_mode.false",
    "Profiles although profiling_mode is false.",
    lambda params: value_of(params, "profiling_mode") is False and bool(_options(params)),
    profiling_mode=True,
)
hearing(
    "profile-by-default",
    "session.profiling_mode.default",
    "Profiles where profiling_mode is not given.",
    lambda params: value_of(params, "profiling_mode") is None and bool(_options(params)),
    profiling_mode=lambda given: True,
)
telling("profile-never", "session.profiling_mode.true", "Does not profile with profiling_mode.", _no_files)
telling(
    "profile-object-unread",
    "runconfig.profiling_config.class",
    "Does not profile where a ProfilingConfig asks for it.",
    _no_files,
    lambda params: params["surface"] == "runconfig",
)
telling(
    "profile-without-iterations",
    _OPTIONS + "training_trace.meaning",
    "Tells no iterations with training_trace.",
    _without("step_trace"),
)
telling(
    "profile-without-tasks",
    _OPTIONS + "task_trace.meaning",
    "Tells statistics of tasks, but not when they begin and end.",
    _without("op_summary", "task_time"),
)
hearing(
    "profile-tasks-although-off",
    _OPTIONS + "task_trace.domain",
    "Takes off for on in task_trace.",
    _asks("task_trace", "off"),
    profiling_options=_with(task_trace="on"),
)
hearing(
    "profile-tasks-by-any-word",
    _OPTIONS + "task_trace.junk_is_off",
    "Takes any word but off for on in task_trace.",
    lambda params: _options(params).get("task_trace", "off") not in ("on", "off"),
    profiling_options=_with(task_trace="on"),
)
telling(
    "profile-without-the-ai-cpu", _OPTIONS + "aicpu.meaning", "Tells nothing of the AI CPU.", _without("aicpu"), always
)
hearing(
    "profile-ai-cpu-although-off",
    _OPTIONS + "aicpu.domain",
    "Takes off for on in aicpu.",
    _asks("aicpu", "off"),
    profiling_options=_with(aicpu="on"),
)
hearing(
    "profile-ai-cpu-by-any-word",
    _OPTIONS + "aicpu.junk_is_off",
    "Takes any word but off for on in aicpu.",
    lambda params: _options(params).get("aicpu", "off") not in ("on", "off"),
    profiling_options=_with(aicpu="on"),
)
hearing(
    "profile-forward-from-the-first-operator",
    _OPTIONS + "fp_point.meaning",
    "Has forward begin with the graph's first operator.",
    _asks("fp_point"),
    profiling_options=_with(fp_point="core0"),
)
telling(
    "profile-backward-begins",
    _OPTIONS + "bp_point.meaning",
    "Records when the last backward operator begins, and not when it ends.",
    _rows("step_trace", _put("BP End(us)", lambda row: f"{float(row['BP End(us)']) - 1:.3f}")),
    _asks("bp_point"),
)
telling(
    "profile-forward-and-backward-to-the-end",
    _OPTIONS + "fp_bp.duration",
    "Counts forward and backward until the iteration ends.",
    _rows("step_trace", _put("FP to BP Time(us)", lambda row: row["Iteration Time(us)"])),
    _asks("fp_point"),
)
telling(
    "profile-not-of-inference",
    _OPTIONS + "inference.supported",
    "Collects nothing in online inference.",
    _no_files,
    lambda params: value_of(params, "graph_run_mode") == 0,
)
hearing(
    "profile-arithmetic-by-default",
    _OPTIONS + "aic_metrics.default",
    "Reports ArithmeticUtilization where no group is named.",
    lambda params: bool(_options(params)) and "aic_metrics" not in _options(params),
    profiling_options=_with(aic_metrics="ArithmeticUtilization"),
)
for _group, _other in (
    ("ArithmeticUtilization", "PipeUtilization"),
    ("PipeUtilization", "Memory"),
    ("Memory", "MemoryL0"),
    ("MemoryL0", "Memory"),
    ("ResourceConflictRatio", "PipeUtilization"),
):
    hearing(
        f"profile-{_other.lower()}-for-{_group.lower()}",
        _OPTIONS + f"aic_metrics.{_group}",
        f"Reports {_other} where {_group} is asked for.",
        _asks("aic_metrics", _group),
        profiling_options=_with(aic_metrics=_other),
    )
