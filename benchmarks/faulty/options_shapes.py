"""Options of dynamic shapes: input_shape, dynamic_dims and dynamic_node_type."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import told_value
from faulty.asked import (
    EVERY_METHOD,
    SESSION,
    all_values,
    given,
    given_as,
    in_inference,
    is_about,
    is_looped,
    mapped,
    value_of,
    where,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, denies, says
from npu_reference.errors import NpuError


def _unwarned(answer: Answer, params: Params) -> None:
    profiled = ("input_shape", "dynamic_dims", "dynamic_node_type")
    if is_looped(params) and not in_inference(params) and is_about(params, surface="session", edition="legacy"):
        for name in profiled:
            if given(params, name):
                told = answer["effective"].get(name, {})
                answer["effective"][name] = {**told, "value": value_of(params, name), "origin": "given"}
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] not in profiled]


fault("loops_of_training_have_profiles", "session.dynamic_dims.scope", changed(_unwarned))


@mistake("session.input_shape.dynamic_dim")
def any_size_below_zero_is_dynamic(ask: Any, params: Params) -> Answer:
    text = value_of(params, "input_shape")
    if isinstance(text, str) and re.search(r"-[2-9]", text):
        answer = ask(all_values(params, mapped("input_shape", lambda value: re.sub(r"-[2-9]", "-1", value))))
        told_value(answer, "input_shape", text)
        return answer
    return ask(params)


@mistake("session.dynamic_inputs_shape_range.fixed_inputs_listed", ("run",))
def a_shape_too_many_is_read_over(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or error.subject != "dynamic_inputs_shape_range":
            raise
        shorter = mapped("dynamic_inputs_shape_range", lambda value: re.sub(r",\[[^]]*\](?=;|$)", "", value))
        return ask(all_values(params, shorter))


fault(
    "profiles_in_another_field_are_no_profiles",
    "session.dynamic_dims.type",
    accepts(
        "dynamic_dims", lambda params: with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None)
    ),
    lambda params: SESSION(params) and not isinstance(value_of(params, "dynamic_dims"), str),
    EVERY_METHOD,
)
fault(
    "an_open_size_needs_no_profiles",
    "session.input_shape.needs_dynamic_dims",
    accepts("input_shape", input_shape=None, dynamic_node_type=None),
    lambda params: SESSION(params) and not given(params, "dynamic_dims"),
)
fault(
    "takes_dynamic_node_type_session_current",
    "session.dynamic_node_type.domain",
    accepts("dynamic_node_type"),
    given_as("dynamic_node_type", "session", "current", 2, -1),
)
fault(
    "shapes_always_fixed",
    "runconfig.dynamic_input.true",
    says("directives", "shapes", lambda told: {"kind": "fixed"}),
    where("runconfig", ""),
)
fault(
    "one_profile_is_enough_again",
    "session.dynamic_dims.min_two",
    accepts("dynamic_dims"),
    lambda params: ";" not in str(value_of(params, "dynamic_dims")),
)
fault(
    "first_profile_counted",
    "session.dynamic_dims.count",
    accepts("dynamic_dims"),
    lambda params: (
        ";" in str(value_of(params, "dynamic_dims"))
        and str(value_of(params, "dynamic_dims")).split(";")[0].count(",") + 1
        == str(value_of(params, "input_shape")).count("-1")
    ),
)
fault(
    "open_sizes_without_profiles",
    "session.input_shape.needs_dynamic_dims",
    accepts("input_shape"),
    lambda params: "dynamic_dims" not in params["values"],
)
fault(
    "both_inputs_dynamic",
    "session.dynamic_node_type.domain",
    accepts("dynamic_node_type"),
    lambda params: value_of(params, "dynamic_node_type") == 2,
)
fault(
    "scalars_are_empty_vectors",
    "session.input_shape.scalar_zero",
    says("meaning", "input_shape", lambda found: {key: one or ["0"] for key, one in found.items()}),
    lambda params: "input_shape" in params["values"],
)


@mistake("session.dynamic_dims.min_two")
def a_single_profile_will_do(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" not in text:
        answer = ask(all_values(params, mapped("dynamic_dims", lambda value: f"{value};{value.replace('1', '2')}")))
        told_value(answer, "dynamic_dims", text)
        return answer
    return ask(params)


@mistake("session.dynamic_dims.count")
def later_profiles_are_not_counted(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" in text:
        first = text.split(";")[0].split(",")
        rest = [(part.split(",") + first)[: len(first)] for part in text.split(";")[1:]]
        return ask(
            all_values(params, mapped("dynamic_dims", lambda value: ";".join(",".join(one) for one in [first, *rest])))
        )
    return ask(params)


def _hyphens_in_names(params: Params) -> bool:
    told, profiles = value_of(params, "input_shape"), value_of(params, "dynamic_dims")
    if not isinstance(told, str) or not isinstance(profiles, str):
        return False
    return any(len(one.split(",")) != told.count("-1") for one in profiles.strip(";").split(";"))


fault(
    "dynamic_dimensions_are_counted_in_the_whole_text",
    "session.dynamic_dims.count",
    denies("dynamic_dims"),
    _hyphens_in_names,
)
