"""Options of operator debugging: op_debug_level, op_debug_config and debug_dir."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List

from faulty.answered import told_value
from faulty.asked import (
    RUNCONFIG,
    SESSION,
    all_values,
    debug_options,
    given,
    has_type,
    in_inference,
    is_about,
    plain,
    text_of,
    texts,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, asks, changed, defaults, denies, misreads, tells
from faulty.mistakes_graphs import takes_refused
from faulty.mistakes_options import directive, kindly, lenient, refuses, refuses_where
from npu_reference.errors import NpuError


@broken("options", "003 op_debug_config: op_debug_config = oom, with blanks as in the example", "options", "compile")
def no_blank_before_the_sign(ask: Any, params: Params) -> Answer:
    found = texts(params, "op_debug_config", lambda text: re.sub(r"(?m)^\s*op_debug_config[ \t]+=.*$", "", text))
    if found == params:
        return dict(ask(params))
    try:
        return dict(ask(found))
    except NpuError as error:
        if error.subject != "op_debug_config":
            raise
        return dict(ask(all_values(params, without("op_debug_config"))))


takes_refused(  # pair 23
    "options",
    "a_cached_kernel_checks_memory_while_collecting",
    "003: with NPU_COLLECT_PATH the oom check cannot be enabled",
    ("OPTION_CONFLICT", "op_debug_config"),
    lambda params: (
        bool(params.get("env", {}).get("NPU_COLLECT_PATH"))
        and (given(params, "op_compiler_cache_mode") or given(params, "op_compiler_cache_dir"))
    ),
    lambda params: with_env(
        params, lambda env: {name: value for name, value in env.items() if name != "NPU_COLLECT_PATH"}
    ),
    "options",
    "compile",
    "timeline",
)
accepts(  # runconfig.op_debug_config.is_file
    "a_configuration_of_debugging_that_is_not_there_is_empty",
    "003 op_debug_config: the path of a file",
    "op_debug_config",
    lambda params: value_of(params, "op_debug_config") not in params.get("files", {}),
)
denies(  # runconfig.op_debug_level.example
    "what_is_not_advised_in_training_is_refused",
    "003 op_debug_level: NPURunConfig(op_debug_level=1)",
    "op_debug_level",
    lambda params: (
        is_about(params, "runconfig") and not in_inference(params) and value_of(params, "op_debug_level") in (1, 2, 4)
    ),
)


@broken("options", "002 op_debug_level: training and online inference", "options", "compile")
def inference_is_not_debugged(ask: Any, params: Params) -> Answer:
    """session.op_debug_level.scope."""
    if not is_about(params, "session", "legacy") or not in_inference(params):
        return dict(ask(params))
    return dict(ask(all_values(params, without("op_debug_level"))))


accepts(
    "a_fifth_debug_level",
    "002 op_debug_level: 0 to 4",
    "op_debug_level",
    lambda params: is_about(params, "session") and value_of(params, "op_debug_level") == 5,
)


def _names_alone(answer: Answer, params: Params) -> None:
    found = (answer.get("meaning", {}).get("op_debug_config") or {}).get("op_debug_list")
    if isinstance(found, dict) and found.get("OpType"):
        found["name"] = sorted([*found.get("name", []), *found.pop("OpType")])


tells("types_are_names", "003 op_debug_list: OpType::typeName is a type", _names_alone)
defaults(
    "debug_files_have_a_folder_by_default",
    "002 debug_dir: the current script execution path",
    "debug_dir",
    "./debug",
    lambda params: is_about(params, "session", "legacy"),
)
accepts(
    "minus_one_is_a_level_of_inference",
    "002 op_debug_level: 0 to 4, in training and inference",
    "op_debug_level",
    lambda params: in_inference(params) and value_is(params, "op_debug_level", -1),
)
accepts(
    "checked_and_unoptimised",
    "003: ccec_O0 and oom cannot be enabled at the same time, in any order",
    "op_debug_config",
    lambda params: any(re.search(r"oom\b.*ccec_O0", str(text)) for text in params.get("files", {}).values()),
)


def _here(answer: Answer, params: Params) -> None:
    if "ASCEND_WORK_PATH" in params.get("env", {}) and not given(params, "debug_dir"):
        told_value(answer, "debug_dir", ".")


tells("debug_files_know_no_work_path", "003 debug_dir: ASCEND_WORK_PATH before the script's path", _here)
# session.debug_dir.type
accepts(
    "a_debug_dir_of_another_type_passes_at_level_zero",
    "debug_dir is a text, whatever is debugged",
    "debug_dir",
    lambda params: value_is(params, "op_debug_level", 0) and not isinstance(value_of(params, "debug_dir"), str),
)
# files.op_debug_cfg.options
_DEBUG = {"oom", "dump_bin", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag"}


def _first_is_known(params: Params) -> bool:
    found = debug_options(text_of(params, "op_debug_config"))
    return len(found) > 1 and found[0] in _DEBUG and bool(set(found) - _DEBUG)


accepts(
    "an_unknown_debug_option_passes_behind_a_known_one",
    "Every option of op_debug_config is one of those that are known",
    "op_debug_config",
    _first_is_known,
)
asks(
    "a_list_before_its_options_is_lost",
    "003 L247: op_debug_list stands in the file, wherever",
    "options",
    lambda params: texts(
        params, "op_debug_config", lambda text: re.sub(r"\A\s*op_debug_list\s*=.*\n(?=\s*op_debug_config)", "", text)
    ),
)
denies(
    "blanks_beside_equals_are_two_or_none",
    "003 L263: the sample reads `op_debug_config= ccec_g,oom`",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and re.search(r"^op_debug_config= ", text, re.M)
        for text in params.get("files", {}).values()
    ),
)


@broken("options", "003 L190: an access that ends where the buffer does is legal", "timeline")
def the_last_byte_is_out_of_bounds(ask: Any, params: Params) -> Answer:
    faults = [{**one, "past": 1} if one.get("past") == 0 else one for one in params.get("faults", [])]
    return ask({**params, "faults": faults}) if "faults" in params else ask(params)


accepts(
    "oom_and_no_optimisation_in_listed_operators",
    "003 L263: ccec_O0 and oom cannot be enabled at the same time, of some operators neither",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and "op_debug_list" in text and "ccec_O0" in text and "oom" in text
        for text in params.get("files", {}).values()
    ),
)


def _words(params: Params, option: str) -> List[str]:
    """What the line op_debug_config of a file says."""
    found = re.search(r"(?m)^\s*op_debug_config\s*=(.*)$", text_of(params, option))
    return [one.strip() for one in found[1].split(",")] if found else []


refuses_where(  # files.op_debug_cfg.example1
    "debugging_information_and_memory_checks_exclude_each_other",
    "003 op_debug_config: ccec_g and oom are a sample, ccec_O0 and oom are not to be together",
    "op_debug_config",
    lambda params: {"ccec_g", "oom"} <= set(_words(params, "op_debug_config")),
)


def _no_level(answer: Answer, params: Params) -> None:
    if RUNCONFIG(params) and given(params, "op_debug_level"):
        told_value(answer, "op_debug_level", None, "default")


tells(  # runconfig.op_debug_level.example
    "a_deprecated_level_of_debugging_is_forgotten", "003 op_debug_level: NPURunConfig(op_debug_level=1)", _no_level
)


def _unset_by_nought(answer: Answer, params: Params) -> None:
    if (
        SESSION(params)
        and value_is(params, "op_debug_level", 0)
        and not isinstance(value_of(params, "op_debug_level"), bool)
    ):
        told_value(answer, "op_debug_level", 0, "default")


tells(  # session.op_debug_level.example
    "level_nought_of_debugging_counts_as_not_given", 'session: parameter_map["op_debug_level"].i = 0', _unset_by_nought
)
misreads(
    "options",
    "compiled_with_optimisation_after_all",
    "003 op_debug_config: ccec_O0 compiles with -O0",
    "op_debug_config",
    lambda text: re.sub(r"\bccec_O0\b", "ccec_g", text),
    "options",
    "compile",
)
denies(  # pair 15
    "a_string_in_the_graph_forbids_debugging",
    "003: op_debug_level=1",
    "op_debug_level",
    lambda params: value_is(params, "op_debug_level", 1) and has_type(params, "string"),
    "partition",
)


# runconfig.op_compiler_cache_mode.debug_level_gate
@broken("options", "any op_debug_level but 0 switches the cache off", "options", "compile")
def level_3_caches_in_the_current_edition_too(ask: Any, params: Params) -> Answer:
    found = ask(params)
    if not is_about(params, "", "current"):
        return dict(found)
    if "effective" in found:
        if value_of(params, "op_debug_level") == 3:
            plain_one = ask(with_values(params, op_debug_level=None))
            told = plain_one["effective"]["op_compiler_cache_mode"]
            told_value(found, "op_compiler_cache_mode", told["value"], told["origin"])
            found["warnings"] = [
                one
                for one in found["warnings"]
                if (one["option"], one["code"]) != ("op_compiler_cache_mode", "overridden")
            ]
        return dict(found)

    def free(values: Dict[str, Any]) -> Dict[str, Any]:
        return {k: v for k, v in values.items() if k != "op_debug_level" or plain(v) != 3}

    cached = ask(all_values(params, free))
    for turn, one in zip(found["turns"], cached["turns"]):
        if "rejected" in turn or "rejected" in one:
            continue
        for key in ("files", "left"):
            one[key] = {**one[key], **turn[key]}
    return dict(cached)


lenient("op_debug_level", "current", "session", 5, -1, 4711)
directive("no_compiler_switches", lambda told: [], "ccec")
accepts(
    "oom_with_level_2",
    "003 op_debug_level 2 cannot be used together with oom",
    "op_debug_config",
    lambda params: value_of(params, "op_debug_level") == 2,
)


def _work_path_first(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("ASCEND_WORK_PATH")
    if said and "debug_dir" in params["values"]:
        answer["effective"]["debug_dir"] = {"value": said, "origin": "environment"}


tells("work_path_over_debug_dir", "003 debug_dir -> ASCEND_WORK_PATH -> current path", _work_path_first)
refuses("debug_level_four_is_unknown", "002 op_debug_level: 4", "op_debug_level", "session", "legacy", 4)


def _uncached(wanted: Callable[[Params], bool], sentence: str, name: str) -> None:
    def change(answer: Answer, params: Params) -> None:
        mode = plain(params["values"].get("op_compiler_cache_mode"))
        if wanted(params) and mode is not None:
            answer["effective"]["op_compiler_cache_mode"] = {"value": mode, "origin": "given"}

    changed("options", name, sentence, change)


_uncached(
    lambda params: plain(params["values"].get("op_debug_level")) in (1, 2, 3, 4) and params["edition"] == "current",
    "003: with a non-zero op_debug_level, op_compiler_cache_mode is ignored",
    "cache_while_debugging",
)
_uncached(
    lambda params: "op_debug_config" in params["values"],
    "003: with op_debug_config and no list, op_compiler_cache_mode is ignored",
    "cache_with_checks_of_all_operators",
)


@broken("options", "003: with op_debug_list the cache is enabled for operators that are not in it")
def no_cache_with_a_list(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "op_debug_config" in params["values"] and params["surface"] == "runconfig":
        answer["effective"]["op_compiler_cache_mode"] = {"value": "disable", "origin": "forced"}
    return answer


# runconfig.op_debug_level.2_oom_exclusive
accepts(
    "level_two_and_oom_go_together_where_operators_are_listed",
    "op_debug_level 2 cannot be used together with oom in op_debug_config",
    "op_debug_config",
    lambda params: (
        value_is(params, "op_debug_level", 2)
        and "op_debug_list" in text_of(params, "op_debug_config")
        and "ccec_O0" not in text_of(params, "op_debug_config")
        and "NPU_COLLECT_PATH" not in params.get("env", {})
    ),
    op_debug_level=None,
)


def _checks_of(text: str) -> List[str]:
    found = re.search(r"^\s*op_debug_config\s*=([^\n]*)", text, re.M)
    return [one.strip() for one in found.group(1).split(",")] if found else []


def without_oom(text: str) -> str:
    kept = ",".join(one for one in _checks_of(text) if one != "oom")
    return re.sub(r"^(\s*op_debug_config\s*=)[^\n]*", lambda found: found.group(1) + kept, text, flags=re.M)


def oom_told(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("op_debug_config")
    if told:
        told["op_debug_config"] = _checks_of(text_of(params, "op_debug_config"))


# runconfig.op_debug_config.O0_oom_exclusive, .npu_collect_no_oom, runconfig.op_debug_level.2_oom_exclusive
kindly(
    "oom_is_looked_for_at_the_head_of_the_list",
    "The oom check excludes -O0, level 2 and NPU_COLLECT_PATH.",
    ("op_debug_config",),
    lambda params: "oom" in _checks_of(text_of(params, "op_debug_config"))[1:],
    lambda params: texts(params, "op_debug_config", without_oom),
    oom_told,
)
