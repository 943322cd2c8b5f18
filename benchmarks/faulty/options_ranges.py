"""Options of ranges: dynamic_input, dynamic_inputs_shape_range, and in_out_pair as a value."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import SESSION, all_values, given, is_about, mapped, value_of, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, defaults, denies, reads_as

fault(
    "dynamic_by_a_word",
    "runconfig.dynamic_input.type",
    accepts("dynamic_input", dynamic_input=True),
    lambda params: type(value_of(params, "dynamic_input")) is str,
)
fault(
    "profiles_and_ranges_are_not_both",
    "runconfig.dynamic_inputs_shape_range.dynamic_dims_wins",
    denies("dynamic_inputs_shape_range"),
    lambda params: given(params, "dynamic_dims", "dynamic_inputs_shape_range"),
)


@mistake("runconfig.dynamic_graph_execute_mode.effect", ("options", "run"))
def ranges_alone_make_an_input_dynamic(ask: Any, params: Params) -> Answer:
    if not given(params, "dynamic_inputs_shape_range") or given(params, "dynamic_input"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, lambda values: {**values, "dynamic_input": True})))
    if "effective" in answer:
        told_value(answer, "dynamic_input", False, "default")
    return answer


fault(
    "a_scalar_after_other_inputs_is_refused",
    "session.dynamic_inputs_shape_range.scalar",
    denies("dynamic_inputs_shape_range"),
    lambda params: bool(re.search(r"\][,;].*\[\]", str(value_of(params, "dynamic_inputs_shape_range")))),
)


@mistake("session.dynamic_input.false")
def a_range_alone_makes_inputs_dynamic(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "dynamic_input") is False:
        found = ask(with_values(params, dynamic_input=True))
        told_value(found, "dynamic_input", False)
        return found
    return ask(params)


fault(
    "a_mode_of_fixed_inputs_is_refused",
    "runconfig.dynamic_graph_execute_mode.effect",
    denies("dynamic_graph_execute_mode"),
    lambda params: value_of(params, "dynamic_input") is False and given(params, "dynamic_graph_execute_mode"),
)


def _sorted_shapes(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("dynamic_inputs_shape_range")
    if isinstance(told, dict) and params["surface"] == "runconfig" and "getnext" in told:
        told["getnext"] = sorted(told["getnext"])


fault("elements_of_a_data_set_are_sorted", "runconfig.dynamic_inputs_shape_range.order", changed(_sorted_shapes))
fault(
    "no_type_of_inputs_is_zero",
    "session.dynamic_node_type.0",
    denies("dynamic_node_type"),
    lambda params: is_about(params, "session", "current") and value_of(params, "dynamic_node_type") == 0,
)
fault(
    "a_scalar_cannot_be_the_first_input",
    "session.dynamic_inputs_shape_range.scalar",
    denies("dynamic_inputs_shape_range"),
    lambda params: re.search(r"(getnext|data):\[\]", str(value_of(params, "dynamic_inputs_shape_range"))) is not None,
)


def _groups_in_order(params: Params, told: Any) -> Any:
    if not is_about(params, edition="legacy") or not re.match(r"\s*data\s*:.*;\s*getnext\s*:", str(told)):
        return told
    first, second = str(told).split(";")[:2]
    return f"getnext:{first.split(':', 1)[1]};data:{second.split(':', 1)[1]}"


fault(
    "the_data_set_comes_first",
    "session.dynamic_inputs_shape_range.keywords",
    reads_as("dynamic_inputs_shape_range", _groups_in_order),
    methods=("options", "timeline", "run", "compile"),
)
fault(
    "a_dynamic_dataset_counts_as_not_chosen",
    "session.dynamic_node_type.example",
    denies("dynamic_node_type"),
    lambda params: SESSION(params) and value_of(params, "dynamic_node_type") == 0,
)
fault(
    "inputs_are_neither_dynamic_nor_not",
    "session.dynamic_input.default",
    defaults("dynamic_input", None),
    lambda params: is_about(params, "session", "legacy"),
)
fault(
    "other_names_of_inputs",
    "session.dynamic_inputs_shape_range.keywords",
    accepts("dynamic_inputs_shape_range"),
    lambda params: bool(re.match("(?!getnext|data)[A-Za-z_]+:", str(value_of(params, "dynamic_inputs_shape_range")))),
)


@mistake("runconfig.dynamic_inputs_shape_range.keywords")
def dataset_and_placeholder_name_inputs(ask: Any, params: Params) -> Answer:
    def renamed(value: Any) -> Any:
        return (
            value.replace("dataset:", "getnext:").replace("placeholder:", "data:") if isinstance(value, str) else value
        )

    return ask(all_values(params, mapped("dynamic_inputs_shape_range", renamed)))


@mistake("in_out_pair.grammar")
def a_third_list_of_a_pair_is_read_over(ask: Any, params: Params) -> Answer:
    text = value_of(params, "in_out_pair")
    if isinstance(text, str):
        two = re.sub(r"(\[\s*\[[^]]*\]\s*,\s*\[[^]]*\])\s*,\s*\[[^]]*\]\s*\]", r"\1]", text)
        if two != text:
            return ask(all_values(params, mapped("in_out_pair", lambda value: two)))
    return ask(params)


fault(
    "without_ranges_there_is_no_flag",
    "session.in_out_pair_flag.default",
    defaults("in_out_pair_flag", None),
    lambda params: is_about(params, "session", "legacy") and not given(params, "in_out_pair"),
)
fault(
    "no_operator_twice",
    "in_out_pair.duplicate_names",
    denies("in_out_pair"),
    lambda params: bool(re.search(r"('[^']+'),(?: '[^']+',)* \1", str(value_of(params, "in_out_pair")))),
    ("partition",),
)
