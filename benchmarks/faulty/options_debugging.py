"""Options of operator debugging: op_debug_level, op_debug_config and debug_dir."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import (
    RUNCONFIG,
    given,
    given_as,
    has_type,
    in_inference,
    is_about,
    texts,
    value_is,
    value_of,
    where,
    with_env,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, asks, changed, defaults, denies, says, takes_refused

fault(
    "a_cached_kernel_checks_memory_while_collecting",
    "runconfig.op_debug_config.npu_collect_no_oom",
    takes_refused(
        "OPTION_CONFLICT",
        "op_debug_config",
        lambda params: with_env(
            params, lambda env: {name: value for name, value in env.items() if name != "NPU_COLLECT_PATH"}
        ),
    ),
    lambda params: (
        bool(params.get("env", {}).get("NPU_COLLECT_PATH"))
        and (given(params, "op_compiler_cache_mode") or given(params, "op_compiler_cache_dir"))
    ),
    ("options", "compile", "timeline"),
)
fault(
    "a_configuration_of_debugging_that_is_not_there_is_empty",
    "runconfig.op_debug_config.is_file",
    accepts("op_debug_config"),
    lambda params: value_of(params, "op_debug_config") not in params.get("files", {}),
)
fault(
    "what_is_not_advised_in_training_is_refused",
    "runconfig.op_debug_level.example",
    denies("op_debug_level"),
    lambda params: (
        is_about(params, "runconfig") and not in_inference(params) and value_of(params, "op_debug_level") in (1, 2, 4)
    ),
)
fault(
    "a_fifth_debug_level",
    "session.op_debug_level.domain",
    accepts("op_debug_level"),
    lambda params: is_about(params, "session") and value_of(params, "op_debug_level") == 5,
)
fault(
    "debug_files_have_a_folder_by_default",
    "session.debug_dir.default",
    defaults("debug_dir", "./debug"),
    lambda params: is_about(params, "session", "legacy"),
)
fault(
    "minus_one_is_a_level_of_inference",
    "session.op_debug_level.domain",
    accepts("op_debug_level"),
    lambda params: in_inference(params) and value_is(params, "op_debug_level", -1),
)


def _here(answer: Answer, params: Params) -> None:
    if "ASCEND_WORK_PATH" in params.get("env", {}) and not given(params, "debug_dir"):
        told_value(answer, "debug_dir", ".")


fault("debug_files_know_no_work_path", "runconfig.debug_dir.priority", changed(_here))
fault(
    "a_debug_dir_of_another_type_passes_at_level_zero",
    "session.debug_dir.type",
    accepts("debug_dir"),
    lambda params: value_is(params, "op_debug_level", 0) and not isinstance(value_of(params, "debug_dir"), str),
)
fault(
    "a_list_before_its_options_is_lost",
    "files.op_debug_cfg.list.same_file",
    asks(
        lambda params: texts(
            params,
            "op_debug_config",
            lambda text: re.sub(r"\A\s*op_debug_list\s*=.*\n(?=\s*op_debug_config)", "", text),
        )
    ),
)
fault(
    "blanks_beside_equals_are_two_or_none",
    "files.op_debug_cfg.example2",
    denies("op_debug_config"),
    lambda params: any(
        isinstance(text, str) and re.search(r"^op_debug_config= ", text, re.M)
        for text in params.get("files", {}).values()
    ),
)


@mistake("runconfig.op_debug_config.oom.boundary", ("timeline",))
def the_last_byte_is_out_of_bounds(ask: Any, params: Params) -> Answer:
    faults = [{**one, "past": 1} if one.get("past") == 0 else one for one in params.get("faults", [])]
    return ask({**params, "faults": faults}) if "faults" in params else ask(params)


def _no_level(answer: Answer, params: Params) -> None:
    if RUNCONFIG(params) and given(params, "op_debug_level"):
        told_value(answer, "op_debug_level", None, "default")


fault("a_deprecated_level_of_debugging_is_forgotten", "runconfig.op_debug_level.example", changed(_no_level))
fault(
    "a_string_in_the_graph_forbids_debugging",
    "runconfig.op_debug_level.1",
    denies("op_debug_level"),
    lambda params: value_is(params, "op_debug_level", 1) and has_type(params, "string"),
    ("partition",),
)
fault(
    "takes_op_debug_level_session_current",
    "session.op_debug_level.domain",
    accepts("op_debug_level"),
    given_as("op_debug_level", "session", "current", 5, -1, 4711),
)
fault(
    "no_compiler_switches",
    "runconfig.op_debug_level.2",
    says("directives", "ccec", lambda told: []),
    where("runconfig", ""),
)
fault(
    "debug_level_four_is_unknown",
    "session.op_debug_level.domain",
    denies("op_debug_level"),
    given_as("op_debug_level", "session", "legacy", 4),
)


@mistake("runconfig.op_compiler_cache_mode.debug_cfg_with_list")
def no_cache_with_a_list(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "op_debug_config" in params["values"] and params["surface"] == "runconfig":
        answer["effective"]["op_compiler_cache_mode"] = {"value": "disable", "origin": "forced"}
    return answer
