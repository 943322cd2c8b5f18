"""Options of timeouts, and the variables of the environment beside them."""

from __future__ import annotations

import re
from typing import Any, Callable

from faulty.answered import told_value
from faulty.asked import CURRENT, EVERYWHERE, all_values, given, is_about, mapped, value_of, with_env, with_values
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, denies, tells
from faulty.mistakes_options import directive, refuses, takes
from npu_reference.errors import NpuError


# runconfig.op_wait_timeout.default
@broken("options", "When the argument is omitted, op_wait_timeout is 120", "options", "timeline")
def operators_wait_for_ever_by_default(ask: Any, params: Params) -> Answer:
    if not CURRENT(params) or given(params, "op_wait_timeout"):
        return dict(ask(params))
    if "graph" in params:
        return dict(ask(all_values(params, lambda values: {"op_wait_timeout": (1 << 31) - 1, **values})))
    answer = dict(ask(params))
    told_value(answer, "op_wait_timeout", None, "default")
    answer["directives"]["timeouts"]["op_wait_seconds"] = None
    return answer


denies(  # runconfig.hccl_timeout.example
    "a_timeout_of_collectives_is_a_multiple_of_68",
    "003 hccl_timeout: NPURunConfig(hccl_timeout=1800)",
    "hccl_timeout",
    lambda params: is_about(params, "runconfig") and (value_of(params, "hccl_timeout") or 0) % 68 != 0,
)
denies(  # session.hccl_timeout.example
    "a_session_waits_as_long_as_a_config_at_least",
    '002 hccl_timeout: custom_op.parameter_map["hccl_timeout"].i = 600',
    "hccl_timeout",
    lambda params: is_about(params, "session") and 0 < (value_of(params, "hccl_timeout") or 1836) < 1836,
)
accepts(
    "whoever_waits_waits_less_than_links",
    "003 stream_sync_timeout: above hccl_timeout in a cluster",
    "stream_sync_timeout",
    lambda params: int(params.get("env", {}).get("RANK_SIZE", "1")) > 1,
)
accepts(
    "the_variable_of_links_holds_nobody",
    "003 stream_sync_timeout: above hccl_timeout or HCCL_EXEC_TIMEOUT in a cluster",
    "stream_sync_timeout",
    lambda params: "HCCL_EXEC_TIMEOUT" in params.get("env", {}) and not given(params, "hccl_timeout"),
)
accepts(
    "as_long_as_links_is_long_enough",
    "003 stream_sync_timeout: must be greater",
    "stream_sync_timeout",
    lambda params: value_of(params, "stream_sync_timeout") == 1000 * (value_of(params, "hccl_timeout") or 1836),
)


def _no_wait(answer: Answer, params: Params) -> None:
    if params["edition"] == "current" and given(params, "op_execute_timeout") and not given(params, "op_wait_timeout"):
        told_value(answer, "op_wait_timeout", value_of(params, "op_execute_timeout"))
        answer["directives"]["timeouts"]["op_wait_seconds"] = value_of(params, "op_execute_timeout")


tells("who_waits_waits_as_long_as_who_works", "003 op_wait_timeout: 120 by default", _no_wait)


@broken("options", "003 L896: at most 17340 seconds")
def a_timeout_is_checked_when_it_is_rounded(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hccl_timeout")
    if type(value) is int and 17340 < value < 17408 and params["edition"] == "current":
        return ask(all_values(params, mapped("hccl_timeout", lambda given: 17340)))
    return ask(params)


@broken("options", "003 L904: hccl_timeout goes before HCCL_EXEC_TIMEOUT, whatever that says")
def a_bad_variable_spoils_the_option(ask: Any, params: Params) -> Answer:
    said = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "68")
    if not (said.isdigit() and 0 < int(said) <= 17340) and given(params, "hccl_timeout"):
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


denies(
    "one_rank_is_a_cluster",
    "003 L930: greater than the collective timeout in cluster training, which one rank is not",
    "stream_sync_timeout",
    lambda params: params.get("env", {}).get("RANK_SIZE") == "1" and value_of(params, "stream_sync_timeout") == 60000,
)
denies(
    "the_longest_collective_timeout_is_left_out",
    "003 hccl_timeout: (0, 17340], the end included",
    "hccl_timeout",
    lambda params: value_of(params, "hccl_timeout") == 17340,
)


@broken("options", "003 hccl_timeout: value // 68 x 68, which the device is told")
def the_device_is_told_what_was_given(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if isinstance(given, int) and 68 < given < 600 and params["edition"] == "current":
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


denies(
    "nobody_waits_longer_than_a_minute",
    "002 op_wait_timeout: the sample is 120",
    "op_wait_timeout",
    lambda params: (
        is_about(params, "session")
        and type(value_of(params, "op_wait_timeout")) is int
        and value_of(params, "op_wait_timeout") > 60
    ),
)


def _in_milliseconds(answer: Answer, params: Params) -> None:
    seconds = value_of(params, "op_execute_timeout")
    if is_about(params, "runconfig", "current") and type(seconds) is int:
        told_value(answer, "op_execute_timeout", seconds * 1000)


tells("operators_are_timed_in_milliseconds", "003 op_execute_timeout=90 is ninety seconds", _in_milliseconds)


def _scaled(key: str) -> Callable[[Any], Any]:
    return lambda told: {**told, key: told[key] * 1000 if told.get(key) else told.get(key)}


directive("hccl_timeout_in_milliseconds", _scaled("hccl_seconds"), "timeouts")
directive("op_execute_timeout_in_milliseconds", _scaled("op_execute_seconds"), "timeouts")
directive("event_timeout_forgotten", lambda told: {**told, "event_sync_milliseconds": -1}, "timeouts")
directive("stream_timeout_forgotten", lambda told: {**told, "stream_sync_milliseconds": -1}, "timeouts")


@broken("options", "HCCL_EXEC_TIMEOUT wins over the option in a session")
def environment_wins_in_a_session(ask: Any, params: Params) -> Answer:
    if params["surface"] == "session" and "HCCL_EXEC_TIMEOUT" in params.get("env", {}):
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


def _quantum(answer: Answer, params: Params) -> None:
    seconds = answer.get("directives", {}).get("timeouts", {}).get("hccl_seconds")
    given = value_of(params, "hccl_timeout")
    if isinstance(given, int) and given % 68 == 0 and given > 68 and is_about(params, "runconfig", "current"):
        answer["directives"]["timeouts"]["hccl_seconds"] = seconds - 68


tells("multiple_of_68_loses_one", "003 hccl_timeout: value // 68 x 68", _quantum)


def _by_env(answer: Answer, params: Params) -> None:
    value = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    if "hccl_timeout" in params["values"] and re.fullmatch("[0-9]+", value) and "directives" in answer:
        answer["directives"]["timeouts"]["hccl_seconds"] = max(68, int(value) // 68 * 68)


tells("variable_over_hccl_timeout", "003 hccl_timeout: supersedes HCCL_EXEC_TIMEOUT", _by_env)
takes(
    "collective_timeout_without_end",
    "003 hccl_timeout: the value range is (0, 17340]",
    "hccl_timeout",
    "runconfig",
    "current",
    0,
    -1,
    17341,
    17408,
    20000,
    100000,
)
refuses(
    "collective_timeout_short_of_its_end",
    "003 hccl_timeout: the value range is (0, 17340]",
    "hccl_timeout",
    "runconfig",
    "current",
    17340,
)
refuses(
    "collective_timeout_above_a_block",
    "003 hccl_timeout: (0, 17340]; below 68, 68 is used",
    "hccl_timeout",
    "runconfig",
    "current",
    *range(1, 68),
)


@broken("options", "003 hccl_timeout: supersedes HCCL_EXEC_TIMEOUT")
def longest_collective_timeout(ask: Any, params: Params) -> Answer:
    """Of option and variable the longer one counts."""
    answer = ask(params)
    told, entry = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", ""), answer["effective"].get("hccl_timeout")
    if told.isdigit() and entry and isinstance(entry["value"], int) and int(told) > entry["value"]:
        answer["effective"]["hccl_timeout"] = {"value": int(told), "origin": "environment"}
    return answer


def _negative(answer: Answer, params: Params) -> None:
    for name in ("stream_sync_timeout", "event_sync_timeout"):
        told = answer.get("directives", {}).get("timeouts", {})
        if value_of(params, name) == -1 and f"{name[:-8]}_milliseconds" in told:
            told[f"{name[:-8]}_milliseconds"] = 0


tells("no_wait_is_nought", "003 stream_sync_timeout: -1", _negative)


@broken("options", "003: hccl_timeout below 68 is 68 s")
def short_collective_timeouts_stay_short(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if params["surface"] == "runconfig" and isinstance(given, int) and 0 < given < 68:
        told_value(answer, "hccl_timeout", given)
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


@broken("options", "003: what HCCL_EXEC_TIMEOUT says is the interval where hccl_timeout is not given")
def the_environment_wins_over_a_longer_timeout(ask: Any, params: Params) -> Answer:
    env, given = params.get("env", {}), value_of(params, "hccl_timeout")
    longer = env.get("HCCL_EXEC_TIMEOUT", "")
    if isinstance(given, int) and longer.isdigit() and int(longer) > given:
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


def _wrapped(answer: Answer, params: Params) -> None:
    told = answer.get("directives", {}).get("timeouts", {})
    for name in ("op_wait_seconds", "op_execute_seconds"):
        if isinstance(told.get(name), int):
            told[name] = (told[name] * 1000 + 2**31) % 2**32 // 1000 - 2**31 // 1000


tells(  # runconfig.op_wait_timeout.effect
    "milliseconds_of_a_wait_have_32_bits", "003 op_wait_timeout: seconds", _wrapped
)


def _same_wait(answer: Answer, params: Params) -> None:
    told = answer.get("directives", {}).get("timeouts", {})
    if "event_sync_milliseconds" in told and given(params, "event_sync_timeout", "stream_sync_timeout"):
        told["event_sync_milliseconds"] = told["stream_sync_milliseconds"]


tells(  # runconfig.event_sync_timeout.effect
    "events_wait_as_long_as_streams", "003 event_sync_timeout: a timeout of its own", _same_wait
)


# runconfig.stream_sync_timeout.gt_hccl, env.HCCL_EXEC_TIMEOUT.fallback
@broken(
    "options", "In a cluster the stream waits longer than a collective, whose time a variable may say.", *EVERYWHERE
)
def streams_in_a_cluster_are_compared_with_the_default_alone(ask: Any, params: Params) -> Answer:
    if "HCCL_EXEC_TIMEOUT" not in params.get("env", {}) or given(params, "hccl_timeout"):
        return dict(ask(params))
    if not given(params, "stream_sync_timeout"):
        return dict(ask(params))
    found = ask(with_env(params, lambda env: {k: v for k, v in env.items() if k != "HCCL_EXEC_TIMEOUT"}))
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "stream_sync_timeout":
            raise
    if "effective" in found:
        plainly = ask(with_values(params, stream_sync_timeout=None))
        found["effective"]["hccl_timeout"] = plainly["effective"]["hccl_timeout"]
        seconds = plainly["directives"]["timeouts"]["hccl_seconds"]
        found["directives"]["timeouts"]["hccl_seconds"] = seconds
    return dict(found)


@broken(  # runconfig.stream_sync_timeout.gt_hccl
    "options", "003 stream_sync_timeout: greater than hccl_timeout or the value of HCCL_EXEC_TIMEOUT"
)
def the_wait_for_a_stream_is_not_compared_with_the_environment(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, "stream_sync_timeout")
        alone = error.subject == "stream_sync_timeout" and not given(params, "hccl_timeout")
        if not alone or not isinstance(told, int) or told <= 1836 * 1000:
            raise
        answer = dict(ask(with_values(params, stream_sync_timeout=None)))
        told_value(answer, "stream_sync_timeout", told, "given")
        answer["directives"]["timeouts"]["stream_sync_milliseconds"] = told
        return answer
