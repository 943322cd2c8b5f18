"""Options of dynamic shapes: input_shape, dynamic_dims and dynamic_node_type."""

from __future__ import annotations

import re
from typing import Any, List

from faulty.answered import told_given, told_value
from faulty.asked import (
    EVERY_METHOD,
    LEGACY,
    RUNCONFIG,
    SESSION,
    all_values,
    given,
    in_inference,
    is_about,
    is_looped,
    mapped,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, defaults, denies, tells
from faulty.mistakes_options import directive, has_default, lenient, meaning, reads_where, takes_as, takes_where
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS

# session.dynamic_dims.order
reads_where(
    "sizes_of_a_profile_are_read_backwards",
    "Values in a profile map to the -1 positions of input_shape in order of appearance",
    "dynamic_dims",
    lambda value: (
        ";".join(",".join(one.split(",")[::-1]) for one in value.split(";")) if isinstance(value, str) else value
    ),
    LEGACY,
    "options",
    "timeline",
    "compile",
)


def _unwarned(answer: Answer, params: Params) -> None:
    profiled = ("input_shape", "dynamic_dims", "dynamic_node_type")
    if is_looped(params) and not in_inference(params) and is_about(params, surface="session", edition="legacy"):
        for name in profiled:
            if given(params, name):
                told = answer["effective"].get(name, {})
                answer["effective"][name] = {**told, "value": value_of(params, name), "origin": "given"}
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] not in profiled]


tells(  # pair 39
    "loops_of_training_have_profiles", "002: dynamic_dims applies to online inference only", _unwarned
)
denies(  # runconfig.dynamic_inputs_shape_range.deprecated
    "what_will_be_removed_is_gone",
    "003: options that will be removed in later versions",
    "dynamic_inputs_shape_range",
    lambda params: is_about(params, edition="current") and given(params, "dynamic_inputs_shape_range"),
)


def _same_profiles(params: Params) -> bool:
    profiles = str(value_of(params, "dynamic_dims")).strip(";").split(";")
    return len(profiles) > 1 and len(set(profiles)) == 1


accepts(
    "twice_the_same_profile_is_two",
    "002, S4 dynamic_dims: more than one profile",
    "dynamic_dims",
    _same_profiles,
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)
denies(
    "inputs_without_an_open_size_are_not_listed",
    "002 input_shape: fixed inputs are written, too",
    "input_shape",
    lambda params: (
        given(params, "dynamic_dims")
        and any("-1" not in one and ":" in one for one in str(value_of(params, "input_shape")).split(";"))
    ),
)


# session.dynamic_dims.count
def _first_counts(params: Params) -> bool:
    profiles, shapes = value_of(params, "dynamic_dims"), value_of(params, "input_shape")
    if not isinstance(profiles, str) or not isinstance(shapes, str):
        return False
    wanted = sum(one.strip() == "-1" for shape in shapes.split(";") for one in shape.rpartition(":")[2].split(","))
    found = [len(one.split(",")) for one in profiles.split(";")]
    return len(found) > 1 and found[0] == wanted and any(one != wanted for one in found[1:])


accepts(
    "later_profiles_may_have_another_count",
    "Every profile has as many values as input_shape has -1",
    "dynamic_dims",
    _first_counts,
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)


@broken("options", "002 L379: -1 marks a dynamic dimension, no other number below zero")
def any_size_below_zero_is_dynamic(ask: Any, params: Params) -> Answer:
    text = value_of(params, "input_shape")
    if isinstance(text, str) and re.search(r"-[2-9]", text):
        answer = ask(all_values(params, mapped("input_shape", lambda value: re.sub(r"-[2-9]", "-1", value))))
        told_value(answer, "input_shape", text)
        return answer
    return ask(params)


@broken("options", "002 L625: fixed inputs are listed too, no more and no fewer", "run")
def a_shape_too_many_is_read_over(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or error.subject != "dynamic_inputs_shape_range":
            raise
        shorter = mapped("dynamic_inputs_shape_range", lambda value: re.sub(r",\[[^]]*\](?=;|$)", "", value))
        return ask(all_values(params, shorter))


@broken("options", "002 dynamic_dims: each profile has as many values as input_shape has -1")
def values_beyond_those_needed_are_cut_off(ask: Any, params: Params) -> Answer:
    shape, text = value_of(params, "input_shape"), value_of(params, "dynamic_dims")
    if not isinstance(shape, str) or not isinstance(text, str):
        return ask(params)
    count = shape.count("-1")
    cut = ";".join(",".join(one.split(",")[:count]) for one in text.split(";"))
    answer = ask(with_values(params, dynamic_dims=cut))
    if "dynamic_dims" in answer["effective"]:
        answer["effective"]["dynamic_dims"]["value"] = text
    return answer


takes_as(
    "a_profile_twice_is_two_profiles",
    "002 dynamic_dims: more than one profile (S4: one kept of two equal ones)",
    "dynamic_dims",
    lambda params, error: ";" in str(value_of(params, "dynamic_dims")),
    lambda params: with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None),
)
takes_where(  # session.dynamic_dims.type
    "profiles_in_another_field_are_no_profiles",
    "002 dynamic_dims: in field s",
    "dynamic_dims",
    lambda params: SESSION(params) and not isinstance(value_of(params, "dynamic_dims"), str),
    lambda params: with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None),
)
has_default(  # runconfig.compile_dynamic_mode.default
    "shapes_are_generalized_in_online_inference",
    "003 compile_dynamic_mode: False by default",
    "compile_dynamic_mode",
    lambda params: (
        True
        if RUNCONFIG(params) and in_inference(params) and value_of(params, "dynamic_input") in (None, False)
        else None
    ),
    *EVERY_METHOD,
)
defaults(  # runconfig.compile_dynamic_mode.default
    "dynamic_compilation_is_on_unasked",
    "003 compile_dynamic_mode: False by default",
    "compile_dynamic_mode",
    True,
    RUNCONFIG,
)
accepts(  # session.input_shape.needs_dynamic_dims
    "an_open_size_needs_no_profiles",
    "002 input_shape: -1 has to be set by dynamic_dims",
    "input_shape",
    lambda params: SESSION(params) and not given(params, "dynamic_dims"),
    input_shape=None,
    dynamic_node_type=None,
)


def _in_field(params: Params, option: str, *kinds: type) -> bool:
    """Whether a session is given the option as a value of these types, each of which has its field."""
    return bool(params["surface"] == "session" and type(value_of(params, option)) in kinds)


accepts(
    "shapes_that_are_no_text_are_passed_over",
    "002 input_shape: parameter_map[...].s",
    "input_shape",
    lambda params: _in_field(params, "input_shape", int, bool),
    input_shape=None,
    dynamic_dims=None,
    dynamic_node_type=None,
)


def _profiles(params: Params) -> List[List[str]]:
    text = value_of(params, "dynamic_dims")
    return [one.split(",") for one in text.split(";")] if isinstance(text, str) else []


# session.dynamic_dims.count
@broken("options", "every profile has as many sizes as input_shape has -1")
def a_last_profile_may_lack_sizes(ask: Any, params: Params) -> Answer:
    found = _profiles(params)
    if len(found) > 1 and 0 < len(found[-1]) < len(found[0]):
        found[-1] += [found[-1][-1]] * (len(found[0]) - len(found[-1]))
        answer = dict(ask(with_values(params, dynamic_dims=";".join(",".join(one) for one in found))))
        told_given(answer, params, "dynamic_dims")
        return answer
    return dict(ask(params))


lenient("dynamic_node_type", "current", "session", 2, -1)
directive("shapes_always_fixed", lambda told: {"kind": "fixed"}, "shapes")
accepts(
    "one_profile_is_enough_again",
    "002 dynamic_dims: more than one profile",
    "dynamic_dims",
    lambda params: ";" not in str(value_of(params, "dynamic_dims")),
)
accepts(
    "first_profile_counted",
    "002 dynamic_dims: as many sizes in each profile as input_shape has -1",
    "dynamic_dims",
    lambda params: (
        ";" in str(value_of(params, "dynamic_dims"))
        and str(value_of(params, "dynamic_dims")).split(";")[0].count(",") + 1
        == str(value_of(params, "input_shape")).count("-1")
    ),
)
accepts(
    "open_sizes_without_profiles",
    "002 input_shape: -1 needs dynamic_dims",
    "input_shape",
    lambda params: "dynamic_dims" not in params["values"],
)
accepts(
    "both_inputs_dynamic",
    "002 dynamic_node_type: 0 or 1",
    "dynamic_node_type",
    lambda params: value_of(params, "dynamic_node_type") == 2,
)


@broken("options", "an option that is refused is named")
def refusals_name_the_first_option(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        first = next(iter(params["values"]), error.subject)
        raise NpuError(error.code, first if error.subject in OPTIONS else error.subject, error.reason) from None


meaning(
    "scalars_are_empty_vectors",
    "002 input_shape: a scalar is 0",
    "input_shape",
    lambda found: {key: one or ["0"] for key, one in found.items()},
)


@broken("options", "003: no space is allowed before [] of a scalar")
def spaces_before_a_scalars_brackets(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("dynamic_inputs_shape_range",
                                           lambda value: re.sub(r"\s+\[\]", "[]", value)
                                           if isinstance(value, str) else value)))  # fmt: skip


@broken("options", "002: there are more than one profile")
def a_single_profile_will_do(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" not in text:
        answer = ask(all_values(params, mapped("dynamic_dims", lambda value: f"{value};{value.replace('1', '2')}")))
        told_value(answer, "dynamic_dims", text)
        return answer
    return ask(params)


@broken("options", "002: every profile has as many sizes as input_shape has -1")
def later_profiles_are_not_counted(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" in text:
        first = text.split(";")[0].split(",")
        rest = [(part.split(",") + first)[: len(first)] for part in text.split(";")[1:]]
        return ask(
            all_values(params, mapped("dynamic_dims", lambda value: ";".join(",".join(one) for one in [first, *rest])))
        )
    return ask(params)


def _in_a_map(answer: Answer, params: Params) -> None:
    """The profiles of open sizes, taken in the order of the inputs' names."""
    meaning, shapes = answer.get("meaning", {}), answer.get("directives", {}).get("shapes", {})
    inputs, dims = meaning.get("input_shape"), meaning.get("dynamic_dims")
    if not inputs or not dims or shapes.get("kind") != "profiles":
        return
    for number, profile in enumerate(dims):
        sizes = iter(profile)
        shapes[f"profile {number}"] = {
            name: [next(sizes) if size == -1 else size for size in inputs[name]] for name in sorted(inputs)
        }


tells("inputs_lie_in_a_map", "002 dynamic_dims: in the order of the -1 in input_shape", _in_a_map)  # dynamic_dims.order


def _hyphens_in_names(params: Params) -> bool:
    told, profiles = value_of(params, "input_shape"), value_of(params, "dynamic_dims")
    if not isinstance(told, str) or not isinstance(profiles, str):
        return False
    return any(len(one.split(",")) != told.count("-1") for one in profiles.strip(";").split(";"))


denies(  # session.dynamic_dims.count
    "dynamic_dimensions_are_counted_in_the_whole_text",
    "002 dynamic_dims: as many sizes as input_shape has -1 among its dimensions",
    "dynamic_dims",
    _hyphens_in_names,
)


@broken(  # session.dynamic_dims.count
    "options", "002 dynamic_dims: a profile has as many values as input_shape has -1", "options", "timeline", "compile"
)
def a_profile_has_a_value_for_each_open_input(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    shapes, dims = (value_of(params, name) for name in ("input_shape", "dynamic_dims"))
    if value_of(params, "graph_run_mode") != 0 or not isinstance(shapes, str) or not isinstance(dims, str):
        return answer
    inputs = sum("-1" in re.split(r"[:,\s]+", one) for one in shapes.split(";"))
    if inputs != shapes.count("-1"):
        raise NpuError("OPTION_CONFLICT", "dynamic_dims", f"each profile needs {inputs} values")
    return answer
