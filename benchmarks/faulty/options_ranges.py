"""Options of ranges: dynamic_input, dynamic_inputs_shape_range, and in_out_pair as a value."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import (
    CURRENT,
    EVERY_METHOD,
    LEGACY,
    RUNCONFIG,
    SESSION,
    WHOLE_NUMBERS,
    all_values,
    given,
    in_inference,
    is_about,
    joined_groups,
    mapped,
    nodes_of,
    range_groups,
    types_of,
    value_is,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, defaults, denies, reads_as, tells
from faulty.mistakes_options import defaults_to, meaning, refuses_where, takes_type


# runconfig.dynamic_inputs_shape_range.order
def _backwards(answer: Answer, params: Params) -> None:
    told = [answer.get("meaning", {}).get("dynamic_inputs_shape_range"), answer.get("directives", {}).get("shapes")]
    for one in told:
        if CURRENT(params) and isinstance(one, dict) and isinstance(one.get("getnext"), list):
            one["getnext"] = one["getnext"][::-1]


tells("ranges_of_a_dataset_are_read_backwards", "The first range is of x, the second of y", _backwards)


@broken("options", "002 dynamic_node_type 1: the placeholder input is dynamic", "options", "run", "timeline")
def data_sets_and_placeholders_are_exchanged(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session", "legacy"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("dynamic_node_type", lambda value: {0: 1, 1: 0}.get(value, value)))))
    if "effective" in answer and given(params, "dynamic_node_type"):
        answer["effective"]["dynamic_node_type"]["value"] = value_of(params, "dynamic_node_type")
    return answer


denies(  # pair 40, and the methods that know the graph
    "whole_numbers_are_not_dynamic",
    "002: dynamic_input True",
    "dynamic_input",
    lambda params: (
        value_is(params, "dynamic_input", True)
        and is_about(params, surface="session", edition="legacy")
        and any(
            node.op == "Placeholder" and set(types_of(node)) & {*WHOLE_NUMBERS, "float64"} for node in nodes_of(params)
        )
    ),
    "timeline",
)
takes_type("dynamic_by_a_word", "dynamic_input", str, "003 dynamic_input is a bool", dynamic_input=True)
denies(
    "profiles_and_ranges_are_not_both",
    "003: with dynamic_dims dynamic_inputs_shape_range does not take effect",
    "dynamic_inputs_shape_range",
    lambda params: given(params, "dynamic_dims", "dynamic_inputs_shape_range"),
)


@broken("options", "003: dynamic_graph_execute_mode takes effect when dynamic_input is True", "options", "run")
def ranges_alone_make_an_input_dynamic(ask: Any, params: Params) -> Answer:
    if not given(params, "dynamic_inputs_shape_range") or given(params, "dynamic_input"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, lambda values: {**values, "dynamic_input": True})))
    if "effective" in answer:
        told_value(answer, "dynamic_input", False, "default")
    return answer


denies(
    "a_scalar_after_other_inputs_is_refused",
    "002: a scalar's range is []",
    "dynamic_inputs_shape_range",
    lambda params: bool(re.search(r"\][,;].*\[\]", str(value_of(params, "dynamic_inputs_shape_range")))),
)


@broken("options", "002 L589: False: the inputs are fixed")
def a_range_alone_makes_inputs_dynamic(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "dynamic_input") is False:
        found = ask(with_values(params, dynamic_input=True))
        told_value(found, "dynamic_input", False)
        return found
    return ask(params)


denies(
    "a_mode_of_fixed_inputs_is_refused",
    "003 L1089: the option takes effect when dynamic_input is True, and is nothing otherwise",
    "dynamic_graph_execute_mode",
    lambda params: value_of(params, "dynamic_input") is False and given(params, "dynamic_graph_execute_mode"),
)


def _sorted_shapes(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("dynamic_inputs_shape_range")
    if isinstance(told, dict) and params["surface"] == "runconfig" and "getnext" in told:
        told["getnext"] = sorted(told["getnext"])


tells("elements_of_a_data_set_are_sorted", "003 L1111: the order of inputs is kept", _sorted_shapes)
denies(
    "no_type_of_inputs_is_zero",
    "002 L406: 0: the data set's inputs are dynamic",
    "dynamic_node_type",
    lambda params: is_about(params, "session", "current") and value_of(params, "dynamic_node_type") == 0,
)
denies(
    "a_scalar_cannot_be_the_first_input",
    "002, 003 dynamic_inputs_shape_range: a scalar is []",
    "dynamic_inputs_shape_range",
    lambda params: re.search(r"(getnext|data):\[\]", str(value_of(params, "dynamic_inputs_shape_range"))) is not None,
)
refuses_where(  # runconfig.dynamic_graph_execute_mode.example
    "a_dynamic_mode_needs_ranges",
    '003 dynamic_graph_execute_mode: NPURunConfig(dynamic_graph_execute_mode="dynamic_execute")',
    "dynamic_graph_execute_mode",
    lambda params: (
        RUNCONFIG(params)
        and value_is(params, "dynamic_graph_execute_mode", "dynamic_execute")
        and value_is(params, "dynamic_input", True)
        and not given(params, "dynamic_inputs_shape_range")
    ),
)


# session.dynamic_graph_execute_mode.scope
@broken("options", "002 dynamic_graph_execute_mode: training and online inference", *EVERY_METHOD)
def the_dynamic_mode_is_for_online_inference(ask: Any, params: Params) -> Answer:
    if not SESSION(params) or in_inference(params) or not given(params, "dynamic_graph_execute_mode"):
        return dict(ask(params))
    if "script" in params or "graph" in params:
        return dict(ask(with_values(params, dynamic_graph_execute_mode=None, dynamic_inputs_shape_range=None)))
    answer = ask(params)
    told_value(answer, "dynamic_graph_execute_mode", None, "default")
    return dict(answer)


def _groups_in_order(params: Params, told: Any) -> Any:
    if not is_about(params, edition="legacy") or not re.match(r"\s*data\s*:.*;\s*getnext\s*:", str(told)):
        return told
    first, second = str(told).split(";")[:2]
    return f"getnext:{first.split(':', 1)[1]};data:{second.split(':', 1)[1]}"


reads_as(
    "the_data_set_comes_first",
    "002 dynamic_inputs_shape_range: each group is what its name says",
    "dynamic_inputs_shape_range",
    _groups_in_order,
    "options",
    "timeline",
    "run",
    "compile",
)
reads_as(  # session.dynamic_node_type.0
    "nought_means_that_placeholders_are_dynamic",
    "002 dynamic_node_type: 0: the dataset input is dynamic",
    "dynamic_node_type",
    lambda params, told: 1 if SESSION(params) and told == 0 else told,
    "options",
    "timeline",
    "run",
)
denies(  # session.dynamic_node_type.example
    "a_dynamic_dataset_counts_as_not_chosen",
    'session: parameter_map["dynamic_node_type"].i = 0',
    "dynamic_node_type",
    lambda params: SESSION(params) and value_of(params, "dynamic_node_type") == 0,
)


def _first_group_alone(params: Params, value: Any) -> Any:
    groups = str(value).split(";")
    if len(groups) != 2 or re.match(r"\s*(getnext|data)\s*:", groups[1]):
        return None
    other = "data" if groups[0].strip().startswith("getnext") else "getnext"
    return groups[0] + ";" + re.sub(r"^[^:\[]*", other, groups[1])


reads_as(
    "the_second_group_has_any_name",
    "002 dynamic_inputs_shape_range: getnext and data, and nothing else",
    "dynamic_inputs_shape_range",
    _first_group_alone,
)
defaults(  # session.dynamic_input.default
    "inputs_are_neither_dynamic_nor_not",
    "002 dynamic_input: False by default",
    "dynamic_input",
    None,
    lambda params: is_about(params, "session", "legacy"),
)


@broken("options", "003: dynamic_dims goes first, and dynamic_inputs_shape_range has no effect", "options")
def ranges_widen_profiles(ask: Any, params: Params) -> Answer:
    """runconfig.dynamic_inputs_shape_range.dynamic_dims_wins."""
    answer = dict(ask(params))
    if given(params, "dynamic_dims", "dynamic_inputs_shape_range") and answer["directives"]["shapes"].get("source"):
        other = ask(
            with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None, dynamic_input=True)
        )
        found = other["directives"]["shapes"]
        answer["directives"]["shapes"].update({key: value for key, value in found.items() if key != "kind"})
    return answer


accepts(
    "other_names_of_inputs",
    "002 dynamic_inputs_shape_range: getnext and data, and no other",
    "dynamic_inputs_shape_range",
    lambda params: bool(re.match("(?!getnext|data)[A-Za-z_]+:", str(value_of(params, "dynamic_inputs_shape_range")))),
)
meaning(
    "placeholders_lost_beside_datasets",
    "002 dynamic_inputs_shape_range: getnext and data",
    "dynamic_inputs_shape_range",
    lambda found: {"getnext": found["getnext"]} if "getnext" in found else found,
)
meaning(
    "second_dataset_lost",
    "002 dynamic_inputs_shape_range: two dataset inputs",
    "dynamic_inputs_shape_range",
    lambda found: {key: one[:1] for key, one in found.items()},
)


@broken("options", "003: getnext and data are the only names of inputs")
def dataset_and_placeholder_name_inputs(ask: Any, params: Params) -> Answer:
    def renamed(value: Any) -> Any:
        return (
            value.replace("dataset:", "getnext:").replace("placeholder:", "data:") if isinstance(value, str) else value
        )

    return ask(all_values(params, mapped("dynamic_inputs_shape_range", renamed)))


def _without_scalars(params: Params, told: Any) -> Any:
    groups = range_groups(told)
    if not any("[]" in ranges for ranges in groups.values()):
        return None
    kept = {name: [one for one in ranges if one != "[]"] for name, ranges in groups.items()}
    return joined_groups({name: ranges for name, ranges in kept.items() if ranges}) or None


reads_as(  # runconfig.dynamic_inputs_shape_range.scalar, session.dynamic_inputs_shape_range.scalar
    "an_empty_range_is_dropped_from_the_list",
    "002, 003 dynamic_inputs_shape_range: scalars have a shape range, too: []",
    "dynamic_inputs_shape_range",
    _without_scalars,
    "options",
    "timeline",
)
# in_out_pair.session.default_true
defaults_to(
    "ranges_stay_on_the_host_by_default",
    "in_out_pair_flag is True when unset",
    "in_out_pair_flag",
    False,
    LEGACY,
    "options",
    "partition",
)


@broken("options", "001 L89: a pair is a list of two lists")
def a_third_list_of_a_pair_is_read_over(ask: Any, params: Params) -> Answer:
    text = value_of(params, "in_out_pair")
    if isinstance(text, str):
        two = re.sub(r"(\[\s*\[[^]]*\]\s*,\s*\[[^]]*\])\s*,\s*\[[^]]*\]\s*\]", r"\1]", text)
        if two != text:
            return ask(all_values(params, mapped("in_out_pair", lambda value: two)))
    return ask(params)


defaults(  # session.in_out_pair_flag.default
    "without_ranges_there_is_no_flag",
    "002 in_out_pair_flag: True by default",
    "in_out_pair_flag",
    None,
    lambda params: is_about(params, "session", "legacy") and not given(params, "in_out_pair"),
)
denies(
    "no_operator_twice",
    "001: the sample names an operator twice",
    "in_out_pair",
    lambda params: bool(re.search(r"('[^']+'),(?: '[^']+',)* \1", str(value_of(params, "in_out_pair")))),
    "partition",
)
