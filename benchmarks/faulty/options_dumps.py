"""Options of dumps: which steps, which data, and exception dumps."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import (
    EVERY_METHOD,
    RUNCONFIG,
    SESSION,
    given,
    given_as,
    in_inference,
    is_about,
    plain,
    value_is,
    value_of,
    where,
    with_option,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, asks, changed, defaults, denies, has_default, reads_as

fault(
    "dumps_of_exceptions_that_come_later_have_two_modes",
    "session.enable_exception_dump.domain",
    accepts("enable_exception_dump"),
    lambda params: (
        is_about(params, surface="session", edition="legacy")
        and value_is(params, "enable_exception_dump", 2)
        and next(iter(params["values"])) != "enable_exception_dump"
    ),
)
fault(
    "modes_of_dumps_may_be_numbers",
    "session.dump_mode.type",
    accepts("dump_mode"),
    lambda params: type(value_of(params, "dump_mode")) is int,
)


def _env(params: Params, name: str) -> str:
    return str(params.get("env", {}).get(name, ""))


fault(
    "a_work_path_stands_for_the_dump_path",
    "session.dump_path.required",
    accepts("dump_path", enable_dump=None),
    lambda params: bool(_env(params, "ASCEND_WORK_PATH")) and not given(params, "dump_path"),
)
fault(
    "steps_backwards_beside_a_flag",
    "session.dump_step.range_order",
    accepts("dump_step"),
    lambda params: (
        given(params, "in_out_pair_flag")
        and any(
            int(low) > int(high) for low, high in re.findall(r"(\d+)\s*-\s*(\d+)", str(value_of(params, "dump_step")))
        )
    ),
)
fault(
    "a_dictionary_is_a_dump_config",
    "runconfig.dump_config.type",
    accepts("dump_config", lambda params: with_values(params, dump_config=None)),
    lambda params: dict(value_of(params, "dump_config") or {}).get("class") == "dict",
)
fault(
    "a_directory_only_to_write_to_will_do",
    "session.dump_path.permission",
    accepts("dump_path", lambda params: with_values(params, enable_dump=None, dump_path=None)),
    lambda params: any(isinstance(one, dict) and one.get("access") == "w" for one in params.get("files", {}).values()),
)
fault(
    "the_common_exception_dump_has_become_the_lite_one",
    "runconfig.enable_exception_dump.example",
    asks(
        with_option("enable_exception_dump", lambda value: 2 if value == 1 and value is not True else value, RUNCONFIG)
    ),
    methods=EVERY_METHOD,
)
fault(
    "a_dump_without_a_mode_has_inputs_and_outputs",
    "session.dump_mode.default",
    has_default(
        "dump_mode", lambda params: "all" if SESSION(params) and value_is(params, "enable_dump", True) else None
    ),
    methods=("options", "timeline", "run"),
)
fault(
    "an_empty_path_of_a_dump_is_the_current_directory",
    "session.enable_dump.path_none",
    accepts(
        "dump_path",
        lambda params: {**with_values(params, dump_path="dump"), "files": {**params.get("files", {}), "dump/": ""}},
    ),
    lambda params: SESSION(params) and value_is(params, "dump_path", ""),
    EVERY_METHOD,
)
fault(
    "steps_may_be_separated_by_commas",
    "session.dump_step.grammar",
    accepts("dump_step"),
    lambda params: "," in str(value_of(params, "dump_step")),
)


@mistake("session.dump_path.absolute")
def dumps_of_inference_lie_below_the_script(ask: Any, params: Params) -> Answer:
    path = value_of(params, "dump_path")
    if in_inference(params) and isinstance(path, str) and path.startswith("/") and len(path) > 1:
        answer = dict(ask(with_values(params, dump_path=path.lstrip("/"))))
        told_value(answer, "dump_path", path)
        return answer
    return dict(ask(params))


def _activated(answer: Answer, params: Params) -> None:
    if value_is(params, "profiling_mode", True) and given(params, "dump_debug_mode"):
        told_value(answer, "enable_dump", True)


fault("a_mode_of_debugging_beside_profiling_dumps", "session.dump_debug_mode.unsupported", changed(_activated))
fault(
    "nobody_looks_who_may_use_the_directory_of_dumps",
    "session.dump_path.permission",
    accepts("dump_path", enable_dump=None, dump_path=None),
    lambda params: (
        {"access": ""} in [params.get("files", {}).get(f"{str(value_of(params, 'dump_path')).rstrip('/')}/")]
    ),
)
fault(
    "directories_of_dumps_are_numbered",
    "session.dump_path.type",
    accepts("dump_path", enable_dump=None, dump_path=None),
    lambda params: isinstance(value_of(params, "dump_path"), int) and is_about(params, "session", "legacy"),
)
fault(
    "an_inference_dumps_outputs_where_all_is_asked",
    "session.dump_mode.all",
    reads_as("dump_mode", lambda params, told: "output" if told == "all" and in_inference(params) else told),
    methods=("run",),
)
fault(
    "takes_dump_mode_session_current",
    "session.dump_mode.domain",
    accepts("dump_mode"),
    given_as("dump_mode", "session", "current", "both", "ALL", "Output", "unknown", "none"),
)
fault(
    "default_of_dump_mode_session_current",
    "session.dump_mode.default",
    defaults("dump_mode", "all"),
    where("session", "current"),
)
fault(
    "dump_path_read_only",
    "session.dump_path.permission",
    accepts("dump_path", enable_dump=None, dump_path=None),
    lambda params: any(isinstance(one, dict) and one.get("access") == "r" for one in params.get("files", {}).values()),
)
fault(
    "exception_dump_of_one_kind",
    "runconfig.enable_exception_dump.domain",
    denies("enable_exception_dump"),
    given_as("enable_exception_dump", "runconfig", "current", 2),
)
fault(
    "exception_dump_of_three_kinds",
    "runconfig.enable_exception_dump.domain",
    accepts("enable_exception_dump"),
    given_as("enable_exception_dump", "runconfig", "current", 3, -1),
)


@mistake("runconfig.enable_exception_dump.npu_collect_forces_1")
def a_given_dump_mode_beats_the_collect_path(ask: Any, params: Params) -> Answer:
    given = plain(params["values"].get("enable_exception_dump"))
    answer = ask(params)
    if params.get("env", {}).get("NPU_COLLECT_PATH") and given is not None:
        answer["effective"]["enable_exception_dump"] = {"value": given, "origin": "given"}
    return answer


def _text_order(params: Params) -> bool:
    found = re.findall("([0-9]+)-([0-9]+)", str(value_of(params, "dump_step")))
    return any(first > last for first, last in found)


fault("ranges_compared_as_text", "session.dump_step.range", denies("dump_step"), _text_order)
fault(
    "path_without_dump",
    "session.dump_path.required",
    denies("dump_path"),
    lambda params: value_of(params, "enable_dump") is False and "dump_path" not in params["values"],
)
