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
    has_deprecated,
    in_inference,
    is_about,
    is_mixed,
    is_profiled,
    mapped,
    plain,
    value_is,
    value_of,
    where,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, asks, defaults, denies, tells
from faulty.mistakes_options import defaults_to, is_narrow, lenient, refuses_where, takes, takes_where

# mixed.iterations.must_be_one
accepts(
    "mixed_computing_loops_without_preprocessing",
    "In mixed computing iterations_per_loop is 1, whatever enable_data_pre_proc says",
    "iterations_per_loop",
    lambda params: is_mixed(params) and value_of(params, "enable_data_pre_proc") is False,
)


@broken("options", "003 L576: steps are a multiple of iterations_per_loop", "run")
def the_rest_of_a_loop_is_dropped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["output"] = re.sub(r"(?m)^(25 .*)refused.*$", r"\1step 20", answer.get("output", ""))
    return answer


takes_where(  # runconfig.iterations_per_loop.type
    "a_whole_float_is_a_number_of_iterations",
    "003 iterations_per_loop: an int",
    "iterations_per_loop",
    lambda params: (
        RUNCONFIG(params)
        and isinstance(value_of(params, "iterations_per_loop"), float)
        and value_of(params, "iterations_per_loop") >= 1
    ),
    lambda params: with_values(params, iterations_per_loop=int(value_of(params, "iterations_per_loop"))),
)
defaults(
    "no_loops_in_inference",
    "003 iterations_per_loop: 1 by default",
    "iterations_per_loop",
    None,
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
)


def _mixed_later(params: Params) -> bool:
    names = list(params["values"])
    both = "iterations_per_loop" in names and "mix_compile_mode" in names
    return both and names.index("iterations_per_loop") < names.index("mix_compile_mode")


accepts(  # pair 51: mixed.iterations.must_be_one, another order
    "iterations_before_mixing_are_not_looked_at",
    "000, 004: iterations_per_loop is 1 in mixed computing",
    "iterations_per_loop",
    _mixed_later,
)
takes(
    "no_iteration_is_one",
    "003 iterations_per_loop: number of iterations",
    "iterations_per_loop",
    "runconfig",
    "current",
    0,
    -1,
)


@broken("options", "000: iterations_per_loop must retain the default value 1, it is not set to it")
def loops_silently_one(ask: Any, params: Params) -> Answer:
    if plain(params["values"].get("mix_compile_mode")) is True and "iterations_per_loop" in params["values"]:
        return ask(with_values(params, iterations_per_loop=1))
    return ask(params)


accepts(
    "iterations_are_checked_on_a_session_only",
    "000, 003: in mixed computing iterations_per_loop must be 1",
    "iterations_per_loop",
    lambda params: params["surface"] == "runconfig",
)
# mixed.session.use_off_line_implicit
defaults_to(
    "a_session_has_to_ask_for_the_device",
    "The snippets never set use_off_line, so device execution is the default",
    "use_off_line",
    False,
    where("session", "current"),
    "options",
    "partition",
)
defaults(
    "small_channels_are_off_for_all",
    "003 enable_small_channel: 1 in online inference",
    "enable_small_channel",
    0,
    lambda params: is_about(params, "runconfig", "current"),
)
accepts(
    "small_channels_have_three_ways",
    "002 enable_small_channel: 0 or 1",
    "enable_small_channel",
    lambda params: value_is(params, "enable_small_channel", 2),
)
defaults(
    "loops_read_their_data_on_the_device",
    "002 enable_data_pre_proc: False by default",
    "enable_data_pre_proc",
    True,
    lambda params: is_about(params, "session", "legacy") and (value_of(params, "iterations_per_loop") or 1) != 1,
)


def _legacy_forced(answer: Answer, params: Params) -> None:
    if is_about(params, "session", "legacy") and in_inference(params) and value_of(params, "enable_small_channel") == 0:
        told_value(answer, "enable_small_channel", 1)


tells("small_channels_are_always_on_in_inference", "002 L455: 0 switches it off; the user decides", _legacy_forced)
accepts(
    "what_is_overridden_is_not_checked",
    "003 L682: 0 and 1 are the values, in inference too",
    "enable_small_channel",
    lambda params: in_inference(params) and params["edition"] == "current",
)


def _offloaded_for_loops(answer: Answer, params: Params) -> None:
    loops = value_of(params, "iterations_per_loop")
    if isinstance(loops, int) and loops > 1 and value_of(params, "enable_data_pre_proc") is False:
        told_value(answer, "enable_data_pre_proc", True)


tells("loops_take_getnext_along", "003 L986: a value that is given is not replaced", _offloaded_for_loops)


def _off_line(answer: Answer, params: Params) -> None:
    if value_of(params, "mix_compile_mode") is False and not given(params, "use_off_line"):
        told_value(answer, "use_off_line", False)


tells("no_mixing_is_no_device", "002 L20: use_off_line is True when unset", _off_line)
accepts(
    "only_a_mode_that_is_off_forbids_the_host",
    "003 L701: Host needs mix_compile_mode = True",
    "variable_placement",
    lambda params: not given(params, "mix_compile_mode"),
)
refuses_where(  # runconfig.mix_compile_mode.example
    "mixed_computing_wants_to_be_told_of_single_iterations",
    "003 mix_compile_mode: NPURunConfig(mix_compile_mode=True); iterations_per_loop is 1 by default",
    "iterations_per_loop",
    lambda params: (
        RUNCONFIG(params)
        and value_is(params, "mix_compile_mode", True)
        and not given(params, "iterations_per_loop")
        and not in_inference(params)
    ),
)
takes_where(  # runconfig.enable_small_channel.domain
    "small_channels_below_nought_are_off",
    "003 enable_small_channel: 0 and 1",
    "enable_small_channel",
    lambda params: (
        RUNCONFIG(params)
        and type(value_of(params, "enable_small_channel")) is int
        and value_of(params, "enable_small_channel") < 0
    ),
    lambda params: with_values(params, enable_small_channel=0),
)
refuses_where(  # runconfig.enable_data_pre_proc.example
    "the_queue_is_not_offloaded_in_mixed_computing",
    "003 enable_data_pre_proc: NPURunConfig(enable_data_pre_proc=True)",
    "enable_data_pre_proc",
    lambda params: (
        RUNCONFIG(params)
        and value_is(params, "enable_data_pre_proc", True)
        and value_is(params, "mix_compile_mode", True)
    ),
)
denies(
    "data_sets_are_offloaded_for_loops_alone",
    "002 enable_data_pre_proc: parameter_map[...].b = True as in the example",
    "enable_data_pre_proc",
    lambda params: (
        is_about(params, "session", "legacy")
        and value_is(params, "enable_data_pre_proc", True)
        and value_of(params, "iterations_per_loop") is None
    ),
)
accepts(  # runconfig.variable_placement.type
    "whatever_is_given_places_variables",
    '003 variable_placement: a text, "Device" or "Host"',
    "variable_placement",
    lambda params: RUNCONFIG(params) and not isinstance(value_of(params, "variable_placement"), str),
)
defaults(  # runconfig.variable_placement.default
    "mixed_computing_leaves_variables_on_the_host",
    "003 variable_placement: Device by default",
    "variable_placement",
    "Host",
    lambda params: RUNCONFIG(params) and value_is(params, "mix_compile_mode", True),
)
takes(
    "host_in_small_letters",
    "003 variable_placement: Device or Host",
    "variable_placement",
    "runconfig",
    "current",
    "host",
    "device",
    "HOST",
    "DEVICE",
    "CPU",
)


@broken("options", "what is given of NPURunConfig is not the default")
def given_false_is_the_default(ask: Any, params: Params) -> Answer:
    """The usual `if value:` where None was meant."""
    falsy = {
        name for name, value in params["values"].items() if plain(value) in (False, 0, "") and name in facets(params)
    }
    return ask({**params, "values": {name: value for name, value in params["values"].items() if name not in falsy}})


accepts(
    "host_variables_without_mixing",
    "003 variable_placement Host: mixed computing must be enabled",
    "variable_placement",
    lambda params: value_of(params, "variable_placement") == "Host",
)


@broken("options", "003: Host and Device, in these letters")
def places_in_any_letters(ask: Any, params: Params) -> Answer:
    def capital(value: Any) -> Any:
        return value.capitalize() if isinstance(value, str) else value

    return ask(all_values(params, mapped("variable_placement", capital)))


# runconfig.quant_dumpable.inference_only
def _quant_in_training(answer: Answer, params: Params) -> None:
    value = value_of(params, "quant_dumpable")
    if CURRENT(params) and not in_inference(params) and value is not None:
        told_value(answer, "quant_dumpable", value, "given")
        hush(answer, "quant_dumpable", "inference_only")


tells("quant_dumpable_is_for_training_too", "It applies to online inference only", _quant_in_training)
accepts(  # runconfig.quant_dumpable.domain
    "any_text_says_whether_quantised_data_are_dumped",
    '003 quant_dumpable: "0" or "1"',
    "quant_dumpable",
    lambda params: isinstance(value_of(params, "quant_dumpable"), str),
)


# runconfig.graph_run_mode.default
@broken("options", "Without graph_run_mode the mode is training")
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


def _jit(answer: Answer, params: Params) -> None:
    if not given(params, "jit_compile"):
        told_value(answer, "jit_compile", "true")


tells("operators_are_compiled_online_by_default", "003: jit_compile is auto by default", _jit)
accepts(
    "less_than_nothing_is_off",
    "003 L46: 0 and 1",
    "deterministic",
    lambda params: value_of(params, "deterministic") == -1,
)
asks(  # runconfig.quant_dumpable.inference_only
    "quantized_data_is_dumped_in_training_and_not_in_inference",
    "003 quant_dumpable: online inference only",
    "options",
    lambda params: (
        with_values(params, quant_dumpable=None)
        if RUNCONFIG(params) and in_inference(params) and value_is(params, "quant_dumpable", "1")
        else params
    ),
    *EVERY_METHOD,
)
accepts(
    "a_third_run_mode",
    "002 graph_run_mode: 0 or 1",
    "graph_run_mode",
    lambda params: is_about(params, "session", "legacy") and value_is(params, "graph_run_mode", 2),
)
denies(  # pair 24
    "quantised_dumps_need_what_is_not_deprecated",
    '003: quant_dumpable="1"',
    "quant_dumpable",
    lambda params: value_is(params, "quant_dumpable", "1") and has_deprecated(params),
)


@broken("options", "003: graph_run_mode is an int, and 0 is one of them", "options")
def nought_is_not_given(ask: Any, params: Params) -> Answer:
    """Pair 15: runconfig.graph_run_mode.type, at the border of its range."""
    if is_about(params, surface="runconfig", edition="current") and in_inference(params):
        return dict(ask(with_values(params, graph_run_mode=None)))
    return dict(ask(params))


accepts(  # pair 30: runconfig.quant_dumpable.domain, profiling
    "profiles_quantize_as_they_like",
    "003: quant_dumpable is 0 or 1",
    "quant_dumpable",
    lambda params: is_profiled(params) and is_about(params, surface="runconfig"),
)
lenient("jit_compile", "current", "session", "yes", "True", "AUTO")
lenient("graph_run_mode", "current", "session", 2, -1, 3)
accepts(
    "more_deterministic",
    "003 deterministic: 0 or 1",
    "deterministic",
    lambda params: value_of(params, "deterministic") == 2,
)
takes("any_graph_run_mode", "003 graph_run_mode: 0 or 1", "graph_run_mode", "runconfig", "current", 2, -1, 3, 7)
takes("deterministic_is_a_bool", "003 deterministic: 0 or 1", "deterministic", "runconfig", "current", 2, -1)
_BEFORE: Dict[str, Any] = {}


@broken("options", "002: an option that is not given has its default, whatever an earlier session had")
def an_option_keeps_the_value_of_the_question_before(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    kept = _BEFORE.get("deterministic")
    if kept is not None and value_of(params, "deterministic") is None:
        told_value(answer, "deterministic", kept)
    _BEFORE["deterministic"] = answer["effective"].get("deterministic", {}).get("value")
    return answer


# session.graph_run_mode.domain, runconfig.graph_run_mode.domain
is_narrow("run_mode_is_kept_in_32_bits", "graph_run_mode is 0 or 1", "graph_run_mode", lambda number: number in (0, 1))


@broken("options", "a bool is an int on the session surface")
def bool_is_an_int(ask: Any, params: Params) -> Answer:
    declared = facets(params)
    found = {}
    for name, value in params["values"].items():
        told = plain(value)
        if (
            params["surface"] == "session"
            and name in declared
            and declared[name].field == "i"
            and told in (True, False)
        ):
            value = int(told)
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "a float without a fraction is an int")
def whole_float_is_an_int(ask: Any, params: Params) -> Answer:
    found = {}
    for name, value in params["values"].items():
        told = plain(value)
        if type(told) is float and told == int(told) and params["surface"] == "session":
            value = int(told)
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "the environment is never looked at on the session surface")
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


asks(  # session.table.unlisted_reserved
    "keys_of_a_session_are_read_in_any_case",
    "002: what the table does not list is reserved, and nobody's concern",
    "options",
    _any_case,
    *EVERYWHERE,
)
