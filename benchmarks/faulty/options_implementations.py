"""Options of operator implementations: op_select_implmode, optypelist_for_implmode, op_precision_mode."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value, warn
from faulty.asked import (
    LEGACY,
    SESSION,
    all_values,
    file_of,
    given,
    in_inference,
    is_about,
    texts,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, denies, misreads, reads_as, tells
from faulty.mistakes_options import meaning, meaning_on, takes, takes_type
from npu_reference.errors import NpuError


# session.op_precision_mode.over_implmode
@broken("options", "When all three are set only op_precision_mode counts", "options", "precision", "compile")
def the_older_options_beat_a_file_of_modes_in_legacy(ask: Any, params: Params) -> Answer:
    both = given(params, "op_precision_mode", "op_select_implmode")
    if not LEGACY(params) or not both:
        return dict(ask(params))
    answer = dict(ask(all_values(params, without("op_precision_mode"))))
    if "effective" in answer:
        told_value(answer, "op_precision_mode", None, "forced")
        warn(answer, "op_precision_mode", "overridden")
    return answer


accepts(
    "modes_in_place_of_a_path",
    "003 op_precision_mode: a text, the path of the file",
    "op_precision_mode",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "op_precision_mode"), (dict, list)),
)


def _the_first(params: Params, told: Any) -> Any:
    return told.split(",")[0] if isinstance(told, str) else told


reads_as(  # session.optypelist_for_implmode.applies_to_list
    "the_first_type_of_a_list_has_the_mode",
    "002 optypelist_for_implmode: the types that are listed",
    "optypelist_for_implmode",
    _the_first,
    "options",
    "precision",
    "timeline",
)
takes_type("implementations_may_be_booleans", "op_select_implmode", bool, "002 op_select_implmode stands in .s")
takes_type("lists_of_types_may_be_numbers", "optypelist_for_implmode", int, "002 optypelist_for_implmode stands in .s")
misreads(
    "options",
    "nodes_have_no_modes_of_their_own",
    "003 op_precision_mode: [ByNodeName]",
    "op_precision_mode",
    lambda text: re.sub(r"\[ByNodeName\][^\[]*", "", text),
    "options",
    "precision",
)
misreads(
    "options",
    "types_after_nodes_end_the_nodes",
    "003 op_precision_mode: sections, in any order",
    "op_precision_mode",
    lambda text: re.sub(r"\[ByNodeName\][^\[]*(?=\[ByOpType\])", "", text),
    "options",
    "precision",
)
misreads(
    "options",
    "what_stands_before_a_section_is_lost",
    "002, A23 op_precision_mode: lines before any section are types",
    "op_precision_mode",
    lambda text: re.sub(r"\A[^\[]+(?=\[By)", "", text),
    "options",
    "precision",
)


def _no_precision_in_inference(answer: Answer, params: Params) -> None:
    if in_inference(params) and value_is(params, "op_select_implmode", "high_precision"):
        answer["directives"]["implementation"] = {"type": {}, "name": {}, "others": "high_performance"}


tells("inference_is_always_fast", "002 op_select_implmode: training and online inference", _no_precision_in_inference)
denies(
    "nodes_do_not_keep_half",
    "003 op_precision_mode: the modes are those of nodes, too",
    "op_precision_mode",
    lambda params: any(
        name == value_of(params, "op_precision_mode") and re.search(r"\[ByNodeName\][^\[]*keep_fp16", str(text))
        for name, text in params.get("files", {}).items()
    ),
)
misreads(
    "options",
    "a_line_without_an_end_is_none",
    "003 op_precision_mode: a line an operator, the last one too",
    "op_precision_mode",
    lambda text: text if text.endswith("\n") else text[: text.rfind("\n") + 1],
    "options",
    "precision",
)
accepts(
    "any_implementation_beside_a_profile",
    "002 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    lambda params: value_is(params, "profiling_mode", True),
)


@broken("options", "002 L784: high_precision and high_performance are the legacy words")
def indices_may_be_checked_already(ask: Any, params: Params) -> Answer:
    if params["edition"] != "legacy":
        return ask(params)
    return ask(
        texts(params, "op_precision_mode", lambda text: text.replace("support_out_of_bound_index", "high_precision"))
    )


accepts(
    "a_list_of_types_is_taken",
    "003 optypelist_for_implmode: a text of types separated by commas",
    "optypelist_for_implmode",
    lambda params: isinstance(value_of(params, "optypelist_for_implmode"), list),
)


def _is_missing(params: Params, option: str) -> bool:
    return value_of(params, option) not in params.get("files", {})


accepts(
    "a_file_of_modes_may_be_missing_beside_a_mode",
    "003 op_precision_mode: the path of the file, whatever is given beside it",
    "op_precision_mode",
    lambda params: given(params, "op_select_implmode") and _is_missing(params, "op_precision_mode"),
)
accepts(  # session.op_select_implmode.domain
    "modes_for_all_operators_are_taken",
    "002 op_select_implmode: high_precision, high_performance",
    "op_select_implmode",
    lambda params: (
        SESSION(params) and value_is(params, "op_select_implmode", "high_precision_for_all", "high_performance_for_all")
    ),
    op_select_implmode="high_precision",
)
accepts(
    "a_third_choice_of_implementations",
    "003 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    lambda params: (
        is_about(params, "runconfig") and value_is(params, "op_select_implmode", "high_precision_for_all", "default")
    ),
    op_select_implmode="high_precision",
)


@broken("options", "002 op_precision_mode: no default", "options", "precision")
def a_file_that_lies_here_is_taken(ask: Any, params: Params) -> Answer:
    name = "op_precision.ini"
    if not given(params, "op_precision_mode") and name in params.get("files", {}):
        answer = dict(ask(with_values(params, op_precision_mode=name)))
        told = answer.get("effective", {}).get("op_precision_mode")
        if told:
            told["origin"] = "default"
        return answer
    return dict(ask(params))


accepts(
    "a_lost_file_has_a_substitute",
    "003 op_precision_mode: the path of a file",
    "op_precision_mode",
    lambda params: (
        is_about(params, "runconfig")
        and given(params, "op_select_implmode")
        and value_of(params, "op_precision_mode") not in params.get("files", {})
    ),
)


def _written_out(params: Params, option: str) -> bool:
    value = params["values"].get(option)
    return isinstance(value, dict) and set(value) == {"field", "value"}


accepts(  # pair 13: session.op_select_implmode.domain, its field written out
    "a_mode_in_its_field_is_any_text",
    "002: op_select_implmode is high_precision or high_performance",
    "op_select_implmode",
    lambda params: (
        _written_out(params, "op_select_implmode")
        and params["values"]["op_select_implmode"]["field"] == "s"
        and is_about(params, surface="session", edition="legacy")
    ),
)


def _performance(answer: Answer, params: Params) -> None:
    there = "op_select_implmode" in params["values"] and value_of(params, "op_select_implmode") is None
    if there and is_about(params, surface="runconfig", edition="current"):
        told_value(answer, "op_select_implmode", "high_performance")
        if not given(params, "op_precision_mode"):
            answer["directives"]["implementation"]["others"] = "high_performance"


tells(  # pair 72: runconfig.op_select_implmode.empty, written out
    "none_that_is_written_out_is_performance", "003: op_select_implmode left empty is not configured", _performance
)
meaning_on(
    "session_precision_file_by_type_only", "op_precision_mode", lambda told: {**told, "ByNodeName": {}}, "session"
)
denies(
    "no_keep_fp16",
    "003 op_precision_mode: keep_fp16",
    "op_precision_mode",
    lambda params: "keep_fp16" in (file_of(params, "op_precision_mode") or ""),
)


def _both_hold(answer: Answer, params: Params) -> None:
    for name in ("op_select_implmode", "optypelist_for_implmode"):
        if name in params["values"] and "op_precision_mode" in params["values"]:
            answer["effective"][name] = {"value": value_of(params, name), "origin": "given"}


tells("implementation_modes_beside_file", "002 op_precision_mode: only this one holds", _both_hold)
takes(
    "implementation_of_a_third_kind",
    "002 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    "session",
    "legacy",
    "super_performance",
    "High_Precision",
    "keep_fp16",
)


@broken("options", "003 op_precision_mode: takes precedence, so all three may be given")
def implementation_given_twice_is_refused(ask: Any, params: Params) -> Answer:
    if {"op_precision_mode", "op_select_implmode"} <= set(params["values"]):
        raise NpuError("OPTION_CONFLICT", "op_precision_mode", "excludes op_select_implmode")
    return ask(params)


@broken("options", "003 op_precision_mode: by operator type (low priority) or node name (high priority)")
def implementation_sections_swapped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["directives"].get("implementation")
    if told and params["surface"] == "runconfig":
        told["type"], told["name"] = told["name"], told["type"]
    return answer


@broken("options", "002 optypelist_for_implmode: Pooling, SoftmaxV2, LRN, ROIAlign")
def any_type_of_implementation(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "optypelist_for_implmode" or error.code == "OPTION_CONFLICT":
            raise
        return ask(with_values(params, optypelist_for_implmode="Pooling"))


@broken("options", "003: these options will be deprecated; what is given still holds")
def deprecated_values_dropped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for name in ("op_select_implmode", "enable_data_pre_proc", "variable_format_optimize", "dynamic_input"):
        if name in params["values"] and params["surface"] == "runconfig" and params["edition"] == "current":
            answer["effective"][name] = {"value": None, "origin": "default"}
    return answer


meaning(
    "names_with_slashes_cut",
    "003 op_precision_mode: nodename",
    "op_precision_mode",
    lambda found: {
        **found,
        "ByNodeName": {key.rpartition("/")[2]: one for key, one in found.get("ByNodeName", {}).items()},
    },
)


@broken(
    "options", "003: of op_precision_mode, op_select_implmode and optypelist_for_implmode the first takes precedence"
)
def the_list_of_types_survives_the_precision_file(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    listed, mode = value_of(params, "optypelist_for_implmode"), value_of(params, "op_select_implmode")
    if value_of(params, "op_precision_mode") is not None and isinstance(listed, str) and mode:
        told = answer["directives"]["implementation"]["type"]
        for name in listed.split(","):
            told.setdefault(name, mode)
    return answer


@broken("options", "003: a key of op_precision.ini by node name has high priority, by type low")
def types_stand_above_names(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["directives"]["implementation"]
    if told["type"] and told["name"]:
        told["name"] = {}
    return answer


def _three_of_four(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("optypelist_for_implmode")
    if isinstance(found, list) and "ROIAlign" in found:
        found.remove("ROIAlign")
        answer["directives"]["implementation"]["type"].pop("ROIAlign", None)
        answer["warnings"].append({"option": "optypelist_for_implmode", "code": "part_ignored"})


tells(  # session.optypelist_for_implmode.domain, runconfig.optypelist_for_implmode.list
    "the_table_of_modes_lacks_its_last_type",
    "002, 003 optypelist_for_implmode: Pooling, SoftmaxV2, LRN and ROIAlign",
    _three_of_four,
)
