"""Options of the run mode, mixed computing, iterations and placement, and what holds for every option."""

from __future__ import annotations

import re
from typing import Any, Dict

from faulty.answered import hush, told_value
from faulty.asked import (
    CURRENT,
    EVERY_METHOD,
    EVERYWHERE,
    RUNCONFIG,
    all_values,
    facets,
    given,
    given_as,
    has_deprecated,
    in_inference,
    is_about,
    is_mixed,
    is_profiled,
    mapped,
    narrowed,
    plain,
    value_is,
    value_of,
    where,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, asks, changed, defaults, denies, has_default

fault(
    "mixed_computing_loops_without_preprocessing",
    "mixed.iterations.must_be_one",
    accepts("iterations_per_loop"),
    lambda params: is_mixed(params) and value_of(params, "enable_data_pre_proc") is False,
)


@mistake("runconfig.iterations_per_loop.multiple", ("run",))
def the_rest_of_a_loop_is_dropped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["output"] = re.sub(r"(?m)^(25 .*)refused.*$", r"\1step 20", answer.get("output", ""))
    return answer


fault(
    "no_loops_in_inference",
    "runconfig.iterations_per_loop.default",
    defaults("iterations_per_loop", None),
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
)


def _mixed_later(params: Params) -> bool:
    names = list(params["values"])
    both = "iterations_per_loop" in names and "mix_compile_mode" in names
    return both and names.index("iterations_per_loop") < names.index("mix_compile_mode")


fault(
    "iterations_before_mixing_are_not_looked_at",
    "mixed.iterations.must_be_one",
    accepts("iterations_per_loop"),
    _mixed_later,
)
fault(
    "no_iteration_is_one",
    "runconfig.iterations_per_loop.positive",
    accepts("iterations_per_loop"),
    given_as("iterations_per_loop", "runconfig", "current", 0, -1),
)
fault(
    "a_session_has_to_ask_for_the_device",
    "mixed.session.use_off_line_implicit",
    has_default("use_off_line", lambda params: False),
    where("session", "current"),
    ("options", "partition"),
)
fault(
    "small_channels_are_off_for_all",
    "runconfig.enable_small_channel.inference_fixed",
    defaults("enable_small_channel", 0),
    lambda params: is_about(params, "runconfig", "current"),
)
fault(
    "small_channels_have_three_ways",
    "session.enable_small_channel.domain",
    accepts("enable_small_channel"),
    lambda params: value_is(params, "enable_small_channel", 2),
)
fault(
    "loops_read_their_data_on_the_device",
    "session.enable_data_pre_proc.default",
    defaults("enable_data_pre_proc", True),
    lambda params: is_about(params, "session", "legacy") and (value_of(params, "iterations_per_loop") or 1) != 1,
)


def _legacy_forced(answer: Answer, params: Params) -> None:
    if is_about(params, "session", "legacy") and in_inference(params) and value_of(params, "enable_small_channel") == 0:
        told_value(answer, "enable_small_channel", 1)


fault("small_channels_are_always_on_in_inference", "session.enable_small_channel.0", changed(_legacy_forced))
fault(
    "what_is_overridden_is_not_checked",
    "runconfig.enable_small_channel.domain",
    accepts("enable_small_channel"),
    lambda params: in_inference(params) and params["edition"] == "current",
)


def _offloaded_for_loops(answer: Answer, params: Params) -> None:
    loops = value_of(params, "iterations_per_loop")
    if isinstance(loops, int) and loops > 1 and value_of(params, "enable_data_pre_proc") is False:
        told_value(answer, "enable_data_pre_proc", True)


fault("loops_take_getnext_along", "runconfig.enable_data_pre_proc.false", changed(_offloaded_for_loops))


def _off_line(answer: Answer, params: Params) -> None:
    if value_of(params, "mix_compile_mode") is False and not given(params, "use_off_line"):
        told_value(answer, "use_off_line", False)


fault("no_mixing_is_no_device", "session.use_off_line.default", changed(_off_line))
fault(
    "only_a_mode_that_is_off_forbids_the_host",
    "runconfig.variable_placement.host_needs_mix",
    accepts("variable_placement"),
    lambda params: not given(params, "mix_compile_mode"),
)
fault(
    "mixed_computing_wants_to_be_told_of_single_iterations",
    "runconfig.mix_compile_mode.example",
    denies("iterations_per_loop"),
    lambda params: (
        RUNCONFIG(params)
        and value_is(params, "mix_compile_mode", True)
        and not given(params, "iterations_per_loop")
        and not in_inference(params)
    ),
    EVERY_METHOD,
)
fault(
    "small_channels_below_nought_are_off",
    "runconfig.enable_small_channel.domain",
    accepts("enable_small_channel", lambda params: with_values(params, enable_small_channel=0)),
    lambda params: (
        RUNCONFIG(params)
        and type(value_of(params, "enable_small_channel")) is int
        and value_of(params, "enable_small_channel") < 0
    ),
    EVERY_METHOD,
)
fault(
    "data_sets_are_offloaded_for_loops_alone",
    "session.enable_data_pre_proc.example",
    denies("enable_data_pre_proc"),
    lambda params: (
        is_about(params, "session", "legacy")
        and value_is(params, "enable_data_pre_proc", True)
        and value_of(params, "iterations_per_loop") is None
    ),
)
fault(
    "whatever_is_given_places_variables",
    "runconfig.variable_placement.type",
    accepts("variable_placement"),
    lambda params: RUNCONFIG(params) and not isinstance(value_of(params, "variable_placement"), str),
)
fault(
    "mixed_computing_leaves_variables_on_the_host",
    "runconfig.variable_placement.default",
    defaults("variable_placement", "Host"),
    lambda params: RUNCONFIG(params) and value_is(params, "mix_compile_mode", True),
)
fault(
    "host_variables_without_mixing",
    "runconfig.variable_placement.host_needs_mix",
    accepts("variable_placement"),
    lambda params: value_of(params, "variable_placement") == "Host",
)


@mistake("runconfig.variable_placement.domain")
def places_in_any_letters(ask: Any, params: Params) -> Answer:
    def capital(value: Any) -> Any:
        return value.capitalize() if isinstance(value, str) else value

    return ask(all_values(params, mapped("variable_placement", capital)))


def _quant_in_training(answer: Answer, params: Params) -> None:
    value = value_of(params, "quant_dumpable")
    if CURRENT(params) and not in_inference(params) and value is not None:
        told_value(answer, "quant_dumpable", value, "given")
        hush(answer, "quant_dumpable", "inference_only")


fault("quant_dumpable_is_for_training_too", "runconfig.quant_dumpable.inference_only", changed(_quant_in_training))
fault(
    "any_text_says_whether_quantised_data_are_dumped",
    "runconfig.quant_dumpable.domain",
    accepts("quant_dumpable"),
    lambda params: isinstance(value_of(params, "quant_dumpable"), str),
)


@mistake("runconfig.graph_run_mode.default")
def a_quantized_dump_makes_inference_the_default(ask: Any, params: Params) -> Answer:
    if (
        not is_about(params, "runconfig")
        or value_of(params, "quant_dumpable") != "1"
        or given(params, "graph_run_mode")
    ):
        return dict(ask(params))
    answer = ask(with_values(params, graph_run_mode=0))
    told_value(answer, "graph_run_mode", 0, "default")
    return dict(answer)


fault(
    "less_than_nothing_is_off",
    "runconfig.deterministic.domain",
    accepts("deterministic"),
    lambda params: value_of(params, "deterministic") == -1,
)
fault(
    "a_third_run_mode",
    "session.graph_run_mode.domain",
    accepts("graph_run_mode"),
    lambda params: is_about(params, "session", "legacy") and value_is(params, "graph_run_mode", 2),
)
fault(
    "quantised_dumps_need_what_is_not_deprecated",
    "runconfig.quant_dumpable.example",
    denies("quant_dumpable"),
    lambda params: value_is(params, "quant_dumpable", "1") and has_deprecated(params),
)
fault(
    "profiles_quantize_as_they_like",
    "runconfig.quant_dumpable.domain",
    accepts("quant_dumpable"),
    lambda params: is_profiled(params) and is_about(params, surface="runconfig"),
)
fault(
    "takes_jit_compile_session_current",
    "runconfig.jit_compile.domain",
    accepts("jit_compile"),
    given_as("jit_compile", "session", "current", "yes", "True", "AUTO"),
)
fault(
    "takes_graph_run_mode_session_current",
    "session.graph_run_mode.domain",
    accepts("graph_run_mode"),
    given_as("graph_run_mode", "session", "current", 2, -1, 3),
)
fault(
    "more_deterministic",
    "runconfig.deterministic.domain",
    accepts("deterministic"),
    lambda params: value_of(params, "deterministic") == 2,
)
fault(
    "any_graph_run_mode",
    "runconfig.graph_run_mode.domain",
    accepts("graph_run_mode"),
    given_as("graph_run_mode", "runconfig", "current", 2, -1, 3, 7),
)
fault(
    "deterministic_is_a_bool",
    "runconfig.deterministic.domain",
    accepts("deterministic"),
    given_as("deterministic", "runconfig", "current", 2, -1),
)
_BEFORE: Dict[str, Any] = {}


@mistake("runconfig.deterministic.default")
def an_option_keeps_the_value_of_the_question_before(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    kept = _BEFORE.get("deterministic")
    if kept is not None and value_of(params, "deterministic") is None:
        told_value(answer, "deterministic", kept)
    _BEFORE["deterministic"] = answer["effective"].get("deterministic", {}).get("value")
    return answer


fault(
    "run_mode_is_kept_in_32_bits",
    "session.graph_run_mode.domain",
    asks(narrowed("graph_run_mode", lambda number: number in (0, 1))),
)


@mistake("session.graph_run_mode.type")
def whole_float_is_an_int(ask: Any, params: Params) -> Answer:
    found = {}
    for name, value in params["values"].items():
        told = plain(value)
        if type(told) is float and told == int(told) and params["surface"] == "session":
            value = int(told)
        found[name] = value
    return ask({**params, "values": found})


@mistake("env.HCCL_EXEC_TIMEOUT.fallback")
def session_ignores_environment(ask: Any, params: Params) -> Answer:
    return ask({**params, "env": {}} if params["surface"] == "session" else params)


def _any_case(params: Params) -> Params:
    if not is_about(params, "session"):
        return params
    known = facets(params)
    values: Dict[str, Any] = {}
    for name, told in params["values"].items():
        lower = name.lower()
        values[lower if name not in known and lower in known and lower not in params["values"] else name] = told
    return {**params, "values": values}


fault("keys_of_a_session_are_read_in_any_case", "session.table.unlisted_reserved", asks(_any_case), methods=EVERYWHERE)
