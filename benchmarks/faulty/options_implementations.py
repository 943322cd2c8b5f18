"""Options of operator implementations: op_select_implmode, optypelist_for_implmode, op_precision_mode."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import SESSION, given, given_as, in_inference, is_about, texts, value_is, value_of, where, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, misreads, says
from npu_reference.errors import NpuError

fault(
    "modes_in_place_of_a_path",
    "runconfig.op_precision_mode.type",
    accepts("op_precision_mode"),
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "op_precision_mode"), (dict, list)),
)
fault(
    "implementations_may_be_booleans",
    "session.op_select_implmode.type",
    accepts("op_select_implmode"),
    lambda params: type(value_of(params, "op_select_implmode")) is bool,
)
fault(
    "lists_of_types_may_be_numbers",
    "session.optypelist_for_implmode.type",
    accepts("optypelist_for_implmode"),
    lambda params: type(value_of(params, "optypelist_for_implmode")) is int,
)
fault(
    "types_after_nodes_end_the_nodes",
    "files.op_precision_ini.sections",
    misreads("op_precision_mode", lambda text: re.sub(r"\[ByNodeName\][^\[]*(?=\[ByOpType\])", "", text)),
    methods=("options", "precision"),
)
fault(
    "what_stands_before_a_section_is_lost",
    "files.op_precision_ini.flat",
    misreads("op_precision_mode", lambda text: re.sub(r"\A[^\[]+(?=\[By)", "", text)),
    methods=("options", "precision"),
)


def _no_precision_in_inference(answer: Answer, params: Params) -> None:
    if in_inference(params) and value_is(params, "op_select_implmode", "high_precision"):
        answer["directives"]["implementation"] = {"type": {}, "name": {}, "others": "high_performance"}


fault("inference_is_always_fast", "session.op_select_implmode.scope", changed(_no_precision_in_inference))
fault(
    "a_line_without_an_end_is_none",
    "files.op_precision_ini.sections",
    misreads("op_precision_mode", lambda text: text if text.endswith("\n") else text[: text.rfind("\n") + 1]),
    methods=("options", "precision"),
)


@mistake("files.op_precision_ini.flat.values")
def indices_may_be_checked_already(ask: Any, params: Params) -> Answer:
    if params["edition"] != "legacy":
        return ask(params)
    return ask(
        texts(params, "op_precision_mode", lambda text: text.replace("support_out_of_bound_index", "high_precision"))
    )


fault(
    "a_list_of_types_is_taken",
    "runconfig.optypelist_for_implmode.type",
    accepts("optypelist_for_implmode"),
    lambda params: isinstance(value_of(params, "optypelist_for_implmode"), list),
)
fault(
    "modes_for_all_operators_are_taken",
    "session.op_select_implmode.domain",
    accepts("op_select_implmode", op_select_implmode="high_precision"),
    lambda params: (
        SESSION(params) and value_is(params, "op_select_implmode", "high_precision_for_all", "high_performance_for_all")
    ),
)
fault(
    "a_third_choice_of_implementations",
    "runconfig.op_select_implmode.domain",
    accepts("op_select_implmode", op_select_implmode="high_precision"),
    lambda params: (
        is_about(params, "runconfig") and value_is(params, "op_select_implmode", "high_precision_for_all", "default")
    ),
)


@mistake("session.op_precision_mode.default", ("options", "precision"))
def a_file_that_lies_here_is_taken(ask: Any, params: Params) -> Answer:
    name = "op_precision.ini"
    if not given(params, "op_precision_mode") and name in params.get("files", {}):
        answer = dict(ask(with_values(params, op_precision_mode=name)))
        told = answer.get("effective", {}).get("op_precision_mode")
        if told:
            told["origin"] = "default"
        return answer
    return dict(ask(params))


fault(
    "a_lost_file_has_a_substitute",
    "runconfig.op_precision_mode.file",
    accepts("op_precision_mode"),
    lambda params: (
        is_about(params, "runconfig")
        and given(params, "op_select_implmode")
        and value_of(params, "op_precision_mode") not in params.get("files", {})
    ),
)


def _written_out(params: Params, option: str) -> bool:
    value = params["values"].get(option)
    return isinstance(value, dict) and set(value) == {"field", "value"}


fault(
    "a_mode_in_its_field_is_any_text",
    "session.op_select_implmode.domain",
    accepts("op_select_implmode"),
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


fault("none_that_is_written_out_is_performance", "runconfig.op_select_implmode.empty", changed(_performance))
fault(
    "session_precision_file_by_type_only",
    "files.op_precision_ini.sections",
    says("meaning", "op_precision_mode", lambda told: {**told, "ByNodeName": {}}),
    where("session", ""),
)


def _both_hold(answer: Answer, params: Params) -> None:
    for name in ("op_select_implmode", "optypelist_for_implmode"):
        if name in params["values"] and "op_precision_mode" in params["values"]:
            answer["effective"][name] = {"value": value_of(params, name), "origin": "given"}


fault("implementation_modes_beside_file", "session.op_precision_mode.over_implmode", changed(_both_hold))
fault(
    "implementation_of_a_third_kind",
    "session.op_select_implmode.domain",
    accepts("op_select_implmode"),
    given_as("op_select_implmode", "session", "legacy", "super_performance", "High_Precision", "keep_fp16"),
)


@mistake("session.optypelist_for_implmode.domain")
def any_type_of_implementation(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "optypelist_for_implmode" or error.code == "OPTION_CONFLICT":
            raise
        return ask(with_values(params, optypelist_for_implmode="Pooling"))


@mistake("files.op_precision_ini.sections.priority")
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


fault("the_table_of_modes_lacks_its_last_type", "session.optypelist_for_implmode.domain", changed(_three_of_four))
