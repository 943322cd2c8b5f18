"""Options of fusion: fusion_switch_file, scope fusion, buffers, and statistics of compilation."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import first_key, told_value
from faulty.asked import (
    EVERY_METHOD,
    SESSION,
    given,
    given_as,
    in_inference,
    is_about,
    is_no_text,
    value_is,
    value_of,
    where,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, defaults, denies, reads_as, says


def _dropped(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig", "current") and value_is(params, "variable_format_optimize", True):
        told_value(answer, "variable_format_optimize", None, "default")


fault("formats_are_deprecated_at_once", "runconfig.variable_format_optimize.example", changed(_dropped))
fault(
    "the_field_of_scope_passes_is_not_looked_at",
    "session.enable_scope_fusion_passes.type",
    accepts("enable_scope_fusion_passes"),
    is_no_text("enable_scope_fusion_passes", "session"),
)
fault(
    "optimised_by_true",
    "runconfig.buffer_optimize.domain",
    accepts("buffer_optimize", buffer_optimize="l2_optimize"),
    lambda params: value_of(params, "buffer_optimize") is True,
)
fault(
    "formats_stay_in_inference",
    "session.variable_format_optimize.default",
    defaults("variable_format_optimize", False),
    lambda params: is_about(params, "session", "legacy") and in_inference(params),
)
fault(
    "one_scope_fusion_pass_is_on_in_inference",
    "runconfig.enable_scope_fusion_passes.nongeneral",
    reads_as(
        "enable_scope_fusion_passes",
        lambda params, value: value.split(",")[0] if in_inference(params) and isinstance(value, str) else value,
    ),
)
fault(
    "a_fusion_switch_file_has_any_name",
    "session.fusion_switch_file.charset",
    accepts("fusion_switch_file"),
    lambda params: is_about(params, edition="legacy") and "/" in str(value_of(params, "fusion_switch_file")),
)


@mistake("runconfig.fusion_switch_file.default")
def a_switch_file_beside_the_script_counts(ask: Any, params: Params) -> Answer:
    names = [name for name in params.get("files", {}) if name.endswith("fusion_switch.cfg")]
    if names and not given(params, "fusion_switch_file") and params["surface"] == "runconfig":
        return ask(with_values(params, fusion_switch_file=names[0]))
    return ask(params)


def _no_general(answer: Answer, params: Params) -> None:
    if value_of(params, "enable_scope_fusion_passes") == "ScopeLayerNormPass":
        told_value(answer, "enable_scope_fusion_passes", None)
        answer.get("meaning", {}).pop("enable_scope_fusion_passes", None)


fault("general_passes_alone_are_no_list", "runconfig.enable_scope_fusion_passes.list", changed(_no_general))
fault(
    "the_other_buffer_is_optimised_too",
    "session.buffer_optimize.domain",
    accepts("buffer_optimize"),
    lambda params: value_of(params, "buffer_optimize") in ("l1_optimize", "l1_and_l2_optimize"),
)


fault(
    "relative_switch_files_may_be_missing",
    "session.fusion_switch_file.selective_off",
    accepts("fusion_switch_file", lambda params: with_values(params, fusion_switch_file=None), said="does not exist"),
    lambda params: not str(value_of(params, "fusion_switch_file")).startswith("/"),
)
fault(
    "the_name_of_a_switch_file_has_one_period",
    "session.fusion_switch_file.example",
    denies("fusion_switch_file"),
    lambda params: (
        SESSION(params) and str(value_of(params, "fusion_switch_file") or "").rsplit("/", 1)[-1].count(".") > 1
    ),
    EVERY_METHOD,
)
fault(
    "a_fourth_way_to_export_statistics",
    "runconfig.export_compile_stat.domain",
    accepts("export_compile_stat"),
    lambda params: is_about(params, "runconfig", "current") and value_of(params, "export_compile_stat") in (3, "3"),
)


def _buffers_are_off(answer: Answer, params: Params) -> None:
    if value_is(params, "buffer_optimize", "l2_optimize") and value_is(params, "deterministic", 1):
        told_value(answer, "buffer_optimize", "off_optimize")
        if "directives" in answer:
            answer["directives"]["buffer_optimize"] = "off"


fault("determinism_has_no_buffers", "runconfig.buffer_optimize.example", changed(_buffers_are_off))
fault(
    "no_switches_for_what_is_compiled_beforehand",
    "runconfig.fusion_switch_file.example",
    denies("fusion_switch_file"),
    lambda params: given(params, "fusion_switch_file") and value_is(params, "jit_compile", "false"),
)


def _buffered_in_inference(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and in_inference(params):
        answer["directives"]["buffer_optimize"] = "on"


fault("inference_has_buffers_whatever_is_said", "runconfig.buffer_optimize.off", changed(_buffered_in_inference))
fault(
    "passes_come_as_a_list",
    "runconfig.enable_scope_fusion_passes.type",
    accepts("enable_scope_fusion_passes"),
    lambda params: (
        is_about(params, "runconfig", "current") and isinstance(value_of(params, "enable_scope_fusion_passes"), list)
    ),
)
fault(
    "a_file_without_a_name_switches",
    "runconfig.fusion_switch_file.default",
    defaults("fusion_switch_file", ""),
    lambda params: is_about(params, "runconfig", "current"),
)
fault(
    "passes_may_be_separated_by_semicolons",
    "session.enable_scope_fusion_passes.grammar",
    reads_as(
        "enable_scope_fusion_passes",
        lambda params, told: (
            told.replace(";", ",") if isinstance(told, str) and is_about(params, edition="legacy") else told
        ),
    ),
)
fault(
    "switches_lie_beside_the_script_or_are_absolute",
    "runconfig.fusion_switch_file.type",
    denies("fusion_switch_file"),
    lambda params: (
        "/" in str(value_of(params, "fusion_switch_file") or "").lstrip("/")
        and not str(value_of(params, "fusion_switch_file")).startswith("/")
        and is_about(params, surface="runconfig")
    ),
)


def _tuned(params: Params) -> bool:
    return any(given(params, name) for name in ("aoe_mode", "auto_tune_mode", "mstune_mode"))


fault(
    "tuning_keeps_formats_of_variables",
    "runconfig.variable_format_optimize.empty_off",
    defaults("variable_format_optimize", False),
    lambda params: _tuned(params) and is_about(params, surface="runconfig", edition="current"),
)
fault(
    "session_switches_of_graph_fusion_only",
    "files.fusion_switch.legacy.sections_independent",
    says("meaning", "fusion_switch_file", first_key),
    where("session", ""),
)
fault(
    "passes_of_one",
    "runconfig.enable_scope_fusion_passes.list",
    says("meaning", "enable_scope_fusion_passes", lambda told: told[:1]),
    where("runconfig", ""),
)
fault(
    "whole_32_mb_refused",
    "runconfig.input_fusion_size.range",
    denies("input_fusion_size"),
    lambda params: value_of(params, "input_fusion_size") == 33554432,
)


def _all_off(answer: Answer, params: Params) -> None:
    for section in answer.get("meaning", {}).get("fusion_switch_file", {}).values():
        if section.get("ALL") == "off":
            section.update(dict.fromkeys(section, "off"))


fault("all_off_means_all", "files.fusion_switch.current.all_off_except", changed(_all_off))
fault(
    "third_kind_of_statistics",
    "runconfig.export_compile_stat.domain",
    accepts("export_compile_stat"),
    lambda params: value_of(params, "export_compile_stat") == 3,
)
fault(
    "fusion_size_of_64_megabytes",
    "runconfig.input_fusion_size.range",
    changed(
        lambda answer, params: told_value(answer, "input_fusion_size", value_of(params, "input_fusion_size"), "given")
    ),
    given_as("input_fusion_size", "runconfig", "current", 33554433, 67108864, 40000000),
)
fault(
    "switches_in_capitals",
    "files.fusion_switch.current.grammar",
    accepts("fusion_switch_file"),
    lambda params: any(re.search('"(ON|OFF|On|Off)"', str(one)) for one in params.get("files", {}).values()),
)


@mistake("runconfig.input_fusion_size.zero_off")
def threshold_zero_is_the_default(ask: Any, params: Params) -> Answer:
    return (
        ask(with_values(params, input_fusion_size=None)) if value_of(params, "input_fusion_size") == 0 else ask(params)
    )
