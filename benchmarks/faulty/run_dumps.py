"""Runs: dumps of data and of exceptions."""

from __future__ import annotations

import re
from typing import Any, Dict

from faulty.asked import (
    SESSION,
    TIMED,
    all_values,
    dumped,
    given,
    gives_any,
    in_inference,
    in_values,
    is_about,
    mapped,
    value_is,
    value_of,
    where,
    with_env,
    with_values,
    without,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, of_files, of_ranks


@mistake("runconfig.enable_exception_dump.npu_collect_forces_1")
def what_is_off_is_not_collected(ask: Any, params: Params) -> Answer:
    if value_is(params, "enable_exception_dump", 0):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        )
    return ask(params)


@mistake("runconfig.enable_exception_dump.1.dir")
def exceptions_of_several_inputs_lie_elsewhere(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if answer.get("files") and (len(params.get("feeds", ())) > 1) and gives_any(params, "enable_exception_dump"):
        answer["files"] = {name.replace("extra-info/", "extra/"): file for name, file in answer["files"].items()}
    return answer


@mistake("session.enable_dump.true")
def large_dumps_are_cut(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for file in answer.get("files", {}).values():
        if file.get("bytes", 0) > 65536:
            file["bytes"] = 65536
    return answer


def _first_steps(files: Files, params: Params) -> Files:
    if not is_about(params, edition="legacy") or not value_is(params, "dump_mode", "all") or given(params, "dump_step"):
        return files
    kept = re.compile(r"(.*/)?\d{14}/\d+/[^/]+/\d+/(\d+)/[^/]+$")
    return {name: file for name, file in files.items() if not kept.match(name) or int(kept.match(name)[2]) == 0}  # type: ignore


fault("all_of_the_first_step_alone", "session.dump_step.all", of_files(_first_steps), methods=TIMED)
fault(
    "a_dump_of_outputs_has_inputs_too",
    "session.dump_mode.output",
    asks(
        lambda params: (
            all_values(params, mapped("dump_mode", lambda told: "all" if told == "output" else told))
            if SESSION(params)
            else params
        )
    ),
)


@mistake("session.enable_exception_dump.0")
def a_folder_asks_for_the_dump(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and params.get("env", {}).get("NPU_COLLECT_PATH"):
        return ask({**params, "values": {**params["values"], "enable_exception_dump": 1}})
    return ask(params)


@mistake("session.dump_step.all")
def inference_is_dumped_once(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        asked = values.get("enable_dump") and not values.get("dump_step")
        return {**values, "dump_step": "0"} if asked else values

    return ask(all_values(params, lambda values: dumped(values, change)) if in_inference(params) else params)


fault(
    "dumps_one_range_short",
    "session.dump_step.range",
    asks(
        lambda params: (
            with_values(
                params,
                dump_step=re.sub("([0-9]+)-([0-9]+)", lambda found: found.group(1), value_of(params, "dump_step")),
            )
            if isinstance(value_of(params, "dump_step"), str)
            else params
        )
    ),
)
fault("no_data_dump", "session.enable_dump.true", asks(in_values(without("enable_dump", "dump_path"))))
fault(
    "kernels_left_by_default",
    "session.op_debug_level.0",
    of_ranks(
        lambda answer, params: (
            answer.setdefault("files", {}).update({"kernel_meta/te_abs.json": {"b64": "e30="}})
            if not params.get("values")
            else None
        )
    ),
)


def _to_work_path(files: Files, asked: Params) -> Files:
    env = asked.get("env", {})
    collect, work = (str(env.get(name, "")).strip("/") for name in ("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"))
    if not collect or not work or asked.get("edition") != "current":
        return files
    found = collect + "/extra-info/"
    return {work + name[len(collect) :] if name.startswith(found) else name: one for name, one in files.items()}


fault(
    "the_work_path_goes_before_the_collect_path",
    "runconfig.enable_exception_dump.npu_collect_dir",
    of_files(_to_work_path),
)
fault(
    "failures_are_always_dumped",
    "runconfig.enable_exception_dump.0",
    asks(in_values(mapped("enable_exception_dump", lambda value: value or 1))),
)
fault(
    "old_failures_are_dumped_by_default",
    "session.enable_exception_dump.default",
    asks(in_values(lambda values: {"enable_exception_dump": 1, **values})),
    where("", "legacy"),
)
