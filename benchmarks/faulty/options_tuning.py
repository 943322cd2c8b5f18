"""Options of tuning: aoe_mode, aoe_config_file, auto_tune_mode and work_path."""

from __future__ import annotations

import json
import re
from typing import Any

from faulty.answered import told_given
from faulty.asked import (
    RUNCONFIG,
    SESSION,
    all_values,
    file_of,
    given,
    is_about,
    is_no_text,
    mapped,
    text_of,
    texts,
    value_is,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, asks, defaults, denies, misreads, reads_as, tells
from faulty.mistakes_options import directive, lenient, meaning, refuses, takes
from npu_reference.errors import NpuError

# runconfig.aoe_config_file.type
accepts(
    "the_file_of_what_is_tuned_need_not_be_there",
    "aoe_config_file is the path and name of a file",
    "aoe_config_file",
    lambda params: (
        isinstance(value_of(params, "aoe_config_file"), str)
        and value_of(params, "aoe_config_file") not in params.get("files", {})
    ),
)
# files.aoe_cfg.level_domain
misreads(
    "options",
    "levels_of_tuning_go_on_to_three",
    "tune_optimization_level is O1 or O2",
    "aoe_config_file",
    lambda text: text.replace('"O3"', '"O2"'),
    "options",
    "compile",
    "timeline",
)
defaults(  # pair 4
    "a_fusion_of_nothing_tunes_from_an_empty_file",
    "003: aoe_config_file has no default",
    "aoe_config_file",
    "",
    lambda params: value_is(params, "input_fusion_size", 0) and is_about(params, surface="runconfig"),
)
accepts(  # session.auto_tune_mode.type
    "the_field_of_a_tuning_mode_is_not_looked_at",
    "002 auto_tune_mode: parameter_map[...].s",
    "auto_tune_mode",
    is_no_text("auto_tune_mode", "session"),
)
accepts(  # runconfig.work_path.type
    "whatever_is_given_is_a_work_path", "003 work_path: a path", "work_path", is_no_text("work_path", "runconfig")
)
defaults(  # files.aoe.work_path_default
    "findings_of_tuning_lie_at_home",
    "003 work_path: the current directory by default",
    "work_path",
    "$HOME",
    lambda params: is_about(params, edition="current"),
)


@broken("options", "003: aoe_mode by the script goes before AOE_MODE", "options", "timeline")
def the_variable_of_tuning_goes_first(ask: Any, params: Params) -> Answer:
    mode = params.get("env", {}).get("AOE_MODE")
    return ask(all_values(params, mapped("aoe_mode", lambda value: mode))) if mode in ("1", "2", "4") else ask(params)


denies(
    "a_mode_of_the_environment_has_no_features",
    "003 aoe_mode: the script or AOE_MODE",
    "aoe_config_file",
    lambda params: (
        not given(params, "aoe_mode")
        and params.get("env", {}).get("AOE_MODE") == "2"
        and any("deeper_opat" in str(one) for one in params.get("files", {}).values())
    ),
)
accepts(
    "features_are_checked_against_the_script",
    "003 L789: a feature needs its mode, from the variable too",
    "aoe_config_file",
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)


def _capital_level(text: str) -> str:
    return re.sub(r'"o([12])"', r'"O\1"', text)


asks(
    "levels_of_tuning_in_small_letters",
    "003 L788: the levels are O1 and O2",
    "options",
    lambda params: texts(params, "aoe_config_file", _capital_level),
)
accepts(
    "a_directory_to_write_into_will_do",
    "003 L761: the user needs to read and to write",
    "work_path",
    lambda params: params.get("files", {}).get(f"{value_of(params, 'work_path')}/") == {"access": "w"},
)


def _tuned_by_script(answer: Answer, params: Params) -> None:
    if not given(params, "aoe_mode") and given(params, "work_path") and "AOE_MODE" in params.get("env", {}):
        answer["directives"]["tuning"]["aoe"] = None


tells(
    "a_place_of_work_hides_the_variable", "003 L745: AOE_MODE says the mode where the script does not", _tuned_by_script
)


@broken("options", "003 tune_optimization_level: O2 by default")
def deep_tuning_is_of_the_high_level(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("aoe_config_file")
    if isinstance(told, dict) and told.get("feature") and "tune_optimization_level" not in str(params.get("files")):
        told["tune_optimization_level"] = "O1"
    return answer


@broken("options", "003 tune_ops_name, tune_ops_type: lists of names and of types")
def one_name_needs_no_list(ask: Any, params: Params) -> Answer:
    pattern = r'("(?:tune_ops_name|tune_ops_type|feature)"\s*:\s*)("[^"]*")'
    return ask(texts(params, "aoe_config_file", lambda text: re.sub(pattern, r"\1[\2]", text)))


accepts(
    "the_bank_may_be_missing_for_the_variable",
    "003 work_path: created beforehand",
    "work_path",
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)
accepts(  # session.auto_tune_mode.type
    "a_bool_switches_tuning",
    "002 auto_tune_mode: parameter_map[...].s",
    "auto_tune_mode",
    lambda params: SESSION(params) and isinstance(value_of(params, "auto_tune_mode"), bool),
)


def _has_other_feature(params: Params) -> bool:
    try:
        told = json.loads(text_of(params, "aoe_config_file")).get("feature")
    except (ValueError, AttributeError):
        return False
    return isinstance(told, list) and not set(map(str, told)) <= {"deeper_opat", "nonhomo_split"}


accepts(  # files.aoe_cfg.feature_domain
    "any_word_is_a_feature_of_tuning",
    "003 aoe_config_file: feature: deeper_opat or nonhomo_split",
    "aoe_config_file",
    lambda params: RUNCONFIG(params) and _has_other_feature(params),
)


# files.aoe_cfg.nonhomo_split_needs_1
@broken("options", "the feature nonhomo_split needs aoe_mode 1")
def nonhomo_split_tunes_operators_as_well(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "aoe_config_file" or "nonhomo_split" not in text_of(params, "aoe_config_file"):
            raise
        if value_of(params, "aoe_mode") != "2":
            raise
        answer = dict(ask(with_values(params, aoe_mode="1")))
        told_given(answer, params, "aoe_mode")
        answer["directives"]["tuning"]["aoe"] = "2"
        return answer


lenient("aoe_mode", "current", "session", "3", "0", "5")
directive("no_tuning", lambda told: {**told, "aoe": None}, "tuning")


def _level_1(answer: Answer, params: Params) -> None:
    meaning = answer.get("meaning", {}).get("aoe_config_file")
    if meaning and "tune_optimization_level" not in (file_of(params, "aoe_config_file") or ""):
        meaning["tune_optimization_level"] = "O1"


tells("tunes_hard_by_default", "003 tune_optimization_level: O2 by default", _level_1)
accepts(
    "deeper_tuning_of_subgraphs",
    "003 aoe_config_file: deeper_opat needs aoe_mode 2",
    "aoe_config_file",
    lambda params: "deeper_opat" in (file_of(params, "aoe_config_file") or ""),
)
accepts(
    "nonhomo_split_of_operators",
    "003 aoe_config_file: nonhomo_split needs aoe_mode 1",
    "aoe_config_file",
    lambda params: "nonhomo_split" in (file_of(params, "aoe_config_file") or ""),
)


def _aoe_by_env(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("AOE_MODE")
    if said and "aoe_mode" in params["values"] and is_about(params, "", "current"):
        answer["effective"]["aoe_mode"] = {"value": said, "origin": "environment"}
        if "directives" in answer:
            answer["directives"]["tuning"]["aoe"] = said


tells("variable_over_aoe_mode", "003 aoe_mode: the script takes precedence", _aoe_by_env)


@broken("options", "002 and 003: every option of a request is taken")
def ninth_option_dropped(ask: Any, params: Params) -> Answer:
    names = list(params["values"])
    return ask(with_values(params, **dict.fromkeys(names[8:])))


takes("tuning_mode_three", "003 aoe_mode: 1, 2 or 4", "aoe_mode", "runconfig", "current", "3", "0", "5")
refuses("no_gradient_splitting", "003 aoe_mode: 4: gradient splitting tuning", "aoe_mode", "runconfig", "current", "4")
accepts(
    "third_level_of_tuning",
    "003 tune_optimization_level: O1 or O2",
    "aoe_config_file",
    lambda params: any('"O3"' in str(one) or '"O0"' in str(one) for one in params.get("files", {}).values()),
)
meaning("first_tuner_only", "002 auto_tune_mode: RL,GA", "auto_tune_mode", lambda found: found[:1])
accepts(
    "work_path_read_only",
    "003 work_path: read and write permissions",
    "work_path",
    lambda params: any(
        isinstance(one, dict) and "w" not in one.get("access", "w") for one in params.get("files", {}).values()
    ),
)
accepts(
    "work_path_of_a_file",
    "003 work_path: a directory created in advance",
    "work_path",
    lambda params: not any(name.endswith("/") for name in params.get("files", {})),
)
accepts(
    "deep_tuning_needs_no_mode",
    "003: deeper_opat needs aoe_mode 2",
    "aoe_config_file",
    lambda params: value_of(params, "aoe_mode") is None,
    aoe_mode="2",
)
denies(
    "relative_paths_of_files_are_refused",
    "003: a path is absolute or relative to where the script is executed",
    "work_path",
    lambda params: isinstance(value_of(params, "work_path"), str) and not value_of(params, "work_path").startswith("/"),
)
reads_as(  # env.AOE_MODE.fallback, runconfig.aoe_mode.over_env
    "modes_of_tuning_may_have_blanks",
    '003 aoe_mode: "1", "2" or "4"',
    "aoe_mode",
    lambda params, told: told.strip() if isinstance(told, str) else told,
    "options",
)
