"""Options of tuning: aoe_mode, aoe_config_file, auto_tune_mode and work_path."""

from __future__ import annotations

from typing import Any

from faulty.asked import SESSION, file_of, given, given_as, is_about, is_no_text, value_is, value_of
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, defaults, denies, misreads, reads_as, says

fault(
    "the_file_of_what_is_tuned_need_not_be_there",
    "runconfig.aoe_config_file.type",
    accepts("aoe_config_file"),
    lambda params: (
        isinstance(value_of(params, "aoe_config_file"), str)
        and value_of(params, "aoe_config_file") not in params.get("files", {})
    ),
)
fault(
    "levels_of_tuning_go_on_to_three",
    "files.aoe_cfg.level_domain",
    misreads("aoe_config_file", lambda text: text.replace('"O3"', '"O2"')),
    methods=("options", "compile", "timeline"),
)
fault(
    "a_fusion_of_nothing_tunes_from_an_empty_file",
    "runconfig.aoe_config_file.default",
    defaults("aoe_config_file", ""),
    lambda params: value_is(params, "input_fusion_size", 0) and is_about(params, surface="runconfig"),
)
fault(
    "whatever_is_given_is_a_work_path",
    "runconfig.work_path.type",
    accepts("work_path"),
    is_no_text("work_path", "runconfig"),
)
fault(
    "findings_of_tuning_lie_at_home",
    "files.aoe.work_path_default",
    defaults("work_path", "$HOME"),
    lambda params: is_about(params, edition="current"),
)
fault(
    "features_are_checked_against_the_script",
    "files.aoe_cfg.deeper_opat_needs_2",
    accepts("aoe_config_file"),
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)
fault(
    "a_directory_to_write_into_will_do",
    "runconfig.work_path.permission",
    accepts("work_path"),
    lambda params: params.get("files", {}).get(f"{value_of(params, 'work_path')}/") == {"access": "w"},
)


def _tuned_by_script(answer: Answer, params: Params) -> None:
    if not given(params, "aoe_mode") and given(params, "work_path") and "AOE_MODE" in params.get("env", {}):
        answer["directives"]["tuning"]["aoe"] = None


fault("a_place_of_work_hides_the_variable", "env.AOE_MODE.fallback", changed(_tuned_by_script))


@mistake("files.aoe_cfg.level_default")
def deep_tuning_is_of_the_high_level(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("aoe_config_file")
    if isinstance(told, dict) and told.get("feature") and "tune_optimization_level" not in str(params.get("files")):
        told["tune_optimization_level"] = "O1"
    return answer


fault(
    "the_bank_may_be_missing_for_the_variable",
    "runconfig.work_path.precreated",
    accepts("work_path"),
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)
fault(
    "a_bool_switches_tuning",
    "session.auto_tune_mode.type",
    accepts("auto_tune_mode"),
    lambda params: SESSION(params) and isinstance(value_of(params, "auto_tune_mode"), bool),
)
fault(
    "takes_aoe_mode_session_current",
    "runconfig.aoe_mode.domain",
    accepts("aoe_mode"),
    given_as("aoe_mode", "session", "current", "3", "0", "5"),
)
fault(
    "deeper_tuning_of_subgraphs",
    "files.aoe_cfg.deeper_opat_needs_2",
    accepts("aoe_config_file"),
    lambda params: "deeper_opat" in (file_of(params, "aoe_config_file") or ""),
)
fault(
    "nonhomo_split_of_operators",
    "files.aoe_cfg.nonhomo_split_needs_1",
    accepts("aoe_config_file"),
    lambda params: "nonhomo_split" in (file_of(params, "aoe_config_file") or ""),
)
fault(
    "tuning_mode_three",
    "runconfig.aoe_mode.domain",
    accepts("aoe_mode"),
    given_as("aoe_mode", "runconfig", "current", "3", "0", "5"),
)
fault(
    "no_gradient_splitting",
    "runconfig.aoe_mode.4",
    denies("aoe_mode"),
    given_as("aoe_mode", "runconfig", "current", "4"),
)
fault(
    "third_level_of_tuning",
    "files.aoe_cfg.level_domain",
    accepts("aoe_config_file"),
    lambda params: any('"O3"' in str(one) or '"O0"' in str(one) for one in params.get("files", {}).values()),
)
fault(
    "first_tuner_only",
    "session.auto_tune_mode.list",
    says("meaning", "auto_tune_mode", lambda found: found[:1]),
    lambda params: "auto_tune_mode" in params["values"],
)
fault(
    "work_path_read_only",
    "runconfig.work_path.permission",
    accepts("work_path"),
    lambda params: any(
        isinstance(one, dict) and "w" not in one.get("access", "w") for one in params.get("files", {}).values()
    ),
)
fault(
    "deep_tuning_needs_no_mode",
    "files.aoe_cfg.deeper_opat_needs_2",
    accepts("aoe_config_file", aoe_mode="2"),
    lambda params: value_of(params, "aoe_mode") is None,
)
fault(
    "relative_paths_of_files_are_refused",
    "runconfig.work_path.relative",
    denies("work_path"),
    lambda params: isinstance(value_of(params, "work_path"), str) and not value_of(params, "work_path").startswith("/"),
)
fault(
    "modes_of_tuning_may_have_blanks",
    "runconfig.aoe_mode.domain",
    reads_as("aoe_mode", lambda params, told: told.strip() if isinstance(told, str) else told),
)
