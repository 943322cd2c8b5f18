"""Options of fusion: fusion_switch_file, scope fusion, buffers, and statistics of compilation."""

from __future__ import annotations

import os
import re
from typing import Any

from faulty.answered import first_key, told_value
from faulty.asked import (
    SESSION,
    file_of,
    given,
    in_inference,
    is_about,
    is_no_text,
    texts,
    value_is,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, defaults, denies, reads_as, tells
from faulty.mistakes_options import meaning, meaning_on, refuses_where, takes, takes_as
from npu_reference.errors import NpuError


def _dropped(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig", "current") and value_is(params, "variable_format_optimize", True):
        told_value(answer, "variable_format_optimize", None, "default")


tells("formats_are_deprecated_at_once", "003 variable_format_optimize: True as in the example", _dropped)
accepts(  # session.enable_scope_fusion_passes.type
    "the_field_of_scope_passes_is_not_looked_at",
    "002 enable_scope_fusion_passes: parameter_map[...].s",
    "enable_scope_fusion_passes",
    is_no_text("enable_scope_fusion_passes", "session"),
)
accepts(
    "optimised_by_true",
    "003 buffer_optimize is l2_optimize or off_optimize",
    "buffer_optimize",
    lambda params: value_of(params, "buffer_optimize") is True,
    buffer_optimize="l2_optimize",
)


def _always_buffered(answer: Answer, params: Params) -> None:
    answer["directives"]["buffer_optimize"] = "on"


tells("buffers_are_always_optimised", "003 buffer_optimize off_optimize: disabled", _always_buffered)
defaults(
    "formats_stay_in_inference",
    "002, G13 variable_format_optimize: True by default; outside of training the value stays",
    "variable_format_optimize",
    False,
    lambda params: is_about(params, "session", "legacy") and in_inference(params),
)
# runconfig.enable_scope_fusion_passes.nongeneral
reads_as(
    "one_scope_fusion_pass_is_on_in_inference",
    "Every pattern that is listed is on",
    "enable_scope_fusion_passes",
    lambda params, value: value.split(",")[0] if in_inference(params) and isinstance(value, str) else value,
)
accepts(
    "a_fusion_switch_file_has_any_name",
    "002 L473: letters, digits, underscore, hyphen, period and Chinese characters",
    "fusion_switch_file",
    lambda params: is_about(params, edition="legacy") and "/" in str(value_of(params, "fusion_switch_file")),
)


@broken("options", "003 L492: without fusion_switch_file no file is read")
def a_switch_file_beside_the_script_counts(ask: Any, params: Params) -> Answer:
    names = [name for name in params.get("files", {}) if name.endswith("fusion_switch.cfg")]
    if names and not given(params, "fusion_switch_file") and params["surface"] == "runconfig":
        return ask(with_values(params, fusion_switch_file=names[0]))
    return ask(params)


def _no_general(answer: Answer, params: Params) -> None:
    if value_of(params, "enable_scope_fusion_passes") == "ScopeLayerNormPass":
        told_value(answer, "enable_scope_fusion_passes", None)
        answer.get("meaning", {}).pop("enable_scope_fusion_passes", None)


tells("general_passes_alone_are_no_list", "003 L633: the value is a list of passes, whichever", _no_general)
accepts(
    "the_other_buffer_is_optimised_too",
    "002 L442: l2_optimize and off_optimize",
    "buffer_optimize",
    lambda params: value_of(params, "buffer_optimize") in ("l1_optimize", "l1_and_l2_optimize"),
)


@broken("options", "002, 003 fusion_switch_file: on or off, in quotation marks")
def switches_may_be_true_or_false(ask: Any, params: Params) -> Answer:
    return ask(
        texts(
            params,
            "fusion_switch_file",
            lambda text: re.sub(r":\s*false\b", ': "off"', re.sub(r":\s*true\b", ': "on"', text)),
        )
    )


takes_as(
    "relative_switch_files_may_be_missing",
    "002, 003 fusion_switch_file: the file that is named is read",
    "fusion_switch_file",
    lambda params, error: (
        "does not exist" in str(error) and not str(value_of(params, "fusion_switch_file")).startswith("/")
    ),
    lambda params: with_values(params, fusion_switch_file=None),
)
refuses_where(  # session.fusion_switch_file.example
    "the_name_of_a_switch_file_has_one_period",
    "002 fusion_switch_file: letters, digits, underscores, hyphens and periods",
    "fusion_switch_file",
    lambda params: (
        SESSION(params) and str(value_of(params, "fusion_switch_file") or "").rsplit("/", 1)[-1].count(".") > 1
    ),
)
accepts(
    "a_fourth_way_to_export_statistics",
    "003 export_compile_stat: 0, 1 or 2",
    "export_compile_stat",
    lambda params: is_about(params, "runconfig", "current") and value_of(params, "export_compile_stat") in (3, "3"),
)


def _folder_is_odd(params: Params) -> bool:
    path = value_of(params, "fusion_switch_file")
    if not isinstance(path, str) or not is_about(params, edition="legacy"):
        return False
    return re.fullmatch(r"[\w.-]+", os.path.basename(path)) is not None and re.search(r"[^\w./-]", path) is not None


accepts(
    "only_the_name_of_the_switch_file_is_looked_at",
    "002 fusion_switch_file: letters, digits, _, -, . and Chinese characters in the path and in the name",
    "fusion_switch_file",
    lambda params: _folder_is_odd(params) and value_of(params, "fusion_switch_file") in params.get("files", {}),
)


def _buffers_are_off(answer: Answer, params: Params) -> None:
    if value_is(params, "buffer_optimize", "l2_optimize") and value_is(params, "deterministic", 1):
        told_value(answer, "buffer_optimize", "off_optimize")
        if "directives" in answer:
            answer["directives"]["buffer_optimize"] = "off"


tells(
    "determinism_has_no_buffers",
    "003 buffer_optimize: l2_optimize as in the example is what is effective",
    _buffers_are_off,
)
denies(
    "no_switches_for_what_is_compiled_beforehand",
    "003 fusion_switch_file: /home/test/fusion_switch.cfg as in the example",
    "fusion_switch_file",
    lambda params: given(params, "fusion_switch_file") and value_is(params, "jit_compile", "false"),
)
denies(
    "buffers_of_inference_are_not_optimised",
    "003 buffer_optimize: the sample is l2_optimize",
    "buffer_optimize",
    lambda params: in_inference(params) and value_is(params, "buffer_optimize", "l2_optimize"),
)


def _buffered_in_inference(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and in_inference(params):
        answer["directives"]["buffer_optimize"] = "on"


tells("inference_has_buffers_whatever_is_said", "003 buffer_optimize off_optimize: disabled", _buffered_in_inference)
accepts(  # runconfig.enable_scope_fusion_passes.type
    "passes_come_as_a_list",
    "003 enable_scope_fusion_passes: a str, separated by commas",
    "enable_scope_fusion_passes",
    lambda params: (
        is_about(params, "runconfig", "current") and isinstance(value_of(params, "enable_scope_fusion_passes"), list)
    ),
)
defaults(  # runconfig.fusion_switch_file.default
    "a_file_without_a_name_switches",
    "003 fusion_switch_file: no default",
    "fusion_switch_file",
    "",
    lambda params: is_about(params, "runconfig", "current"),
)
reads_as(  # session.enable_scope_fusion_passes.grammar
    "passes_may_be_separated_by_semicolons",
    "002 enable_scope_fusion_passes: names are separated by commas",
    "enable_scope_fusion_passes",
    lambda params, told: (
        told.replace(";", ",") if isinstance(told, str) and is_about(params, edition="legacy") else told
    ),
)
denies(  # pair 59: runconfig.fusion_switch_file.type, a name with a slash
    "switches_lie_beside_the_script_or_are_absolute",
    "003: fusion_switch_file is a path",
    "fusion_switch_file",
    lambda params: (
        "/" in str(value_of(params, "fusion_switch_file") or "").lstrip("/")
        and not str(value_of(params, "fusion_switch_file")).startswith("/")
        and is_about(params, surface="runconfig")
    ),
)


def _tuned(params: Params) -> bool:
    return any(given(params, name) for name in ("aoe_mode", "auto_tune_mode", "mstune_mode"))


defaults(  # pair 21
    "tuning_keeps_formats_of_variables",
    "003: variable_format_optimize has no default but off",
    "variable_format_optimize",
    False,
    lambda params: _tuned(params) and is_about(params, surface="runconfig", edition="current"),
)
meaning_on("session_switches_of_graph_fusion_only", "fusion_switch_file", first_key, "session")
meaning_on("passes_of_one", "enable_scope_fusion_passes", lambda told: told[:1], "runconfig")
denies(
    "whole_32_mb_refused",
    "003 input_fusion_size: maximum 33554432",
    "input_fusion_size",
    lambda params: value_of(params, "input_fusion_size") == 33554432,
)


def _default(name: str, sentence: str, option: str, value: Any, surface: str, edition: str) -> None:
    def change(answer: Answer, params: Params) -> None:
        if is_about(params, surface, edition) and option not in params["values"] and option in answer["effective"]:
            answer["effective"][option]["value"] = value

    tells(name, sentence, change)


_default("fusion_size_of_128000", "003 input_fusion_size: 131072", "input_fusion_size", 128000, "", "current")
_default("statistics_at_once", "003 export_compile_stat: 1", "export_compile_stat", 2, "runconfig", "current")


def _all_off(answer: Answer, params: Params) -> None:
    for section in answer.get("meaning", {}).get("fusion_switch_file", {}).values():
        if section.get("ALL") == "off":
            section.update(dict.fromkeys(section, "off"))


tells("all_off_means_all", "003 fusion_switch_file: all off except selected ones", _all_off)
accepts(
    "third_kind_of_statistics",
    "003 export_compile_stat: 0, 1 or 2",
    "export_compile_stat",
    lambda params: value_of(params, "export_compile_stat") == 3,
)
accepts(
    "signs_in_fusion_paths",
    "003 fusion_switch_file: letters, digits, _, - and .",
    "fusion_switch_file",
    lambda params: is_about(params, "runconfig", "current") and file_of(params, "fusion_switch_file") is not None,
)
takes(
    "fusion_size_of_64_megabytes",
    "003 input_fusion_size: the maximum value is 33554432",
    "input_fusion_size",
    "runconfig",
    "current",
    33554433,
    67108864,
    40000000,
)
takes(
    "statistics_of_any_kind", "003 export_compile_stat: 0, 1 or 2", "export_compile_stat", "runconfig", "current", 3, -1
)
accepts(
    "switches_in_capitals",
    "003 fusion_switch_file: on or off",
    "fusion_switch_file",
    lambda params: any(re.search('"(ON|OFF|On|Off)"', str(one)) for one in params.get("files", {}).values()),
)
meaning(
    "first_scope_pass_only",
    "002 enable_scope_fusion_passes: several",
    "enable_scope_fusion_passes",
    lambda found: found[:1],
)


@broken("options", "003 L88-99: a threshold of 0 switches fusing off; it is no missing value")
def threshold_zero_is_the_default(ask: Any, params: Params) -> Answer:
    return (
        ask(with_values(params, input_fusion_size=None)) if value_of(params, "input_fusion_size") == 0 else ask(params)
    )


@broken(  # runconfig.fusion_switch_file.charset, runconfig.op_compiler_cache_dir.charset
    "options", "003 fusion_switch_file, op_compiler_cache_dir: letters, digits, underscores, hyphens and periods"
)
def letters_of_a_path_are_those_of_unicode(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, error.subject) if error.subject in params["values"] else None
        wanted = error.subject in ("fusion_switch_file", "op_compiler_cache_dir") and is_about(params, "runconfig")
        if not wanted or not isinstance(told, str) or not re.fullmatch(r"[\w\-./]+", told):
            raise
        plainer = re.sub(r"[^\x00-\x7f]", "u", told)
        files = {name.replace(told, plainer): text for name, text in params.get("files", {}).items()}
        answer = dict(ask({**with_values(params, **{error.subject: plainer}), "files": files}))
        told_value(answer, error.subject, told)
        return answer
