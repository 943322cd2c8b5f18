"""Options of timeouts, and the variables of the environment beside them."""

from __future__ import annotations

from typing import Any

from faulty.answered import told_value
from faulty.asked import all_values, given, given_as, is_about, mapped, value_of, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, denies
from npu_reference.errors import NpuError

fault(
    "a_session_waits_as_long_as_a_config_at_least",
    "session.hccl_timeout.example",
    denies("hccl_timeout"),
    lambda params: is_about(params, "session") and 0 < (value_of(params, "hccl_timeout") or 1836) < 1836,
)
fault(
    "as_long_as_links_is_long_enough",
    "runconfig.stream_sync_timeout.gt_hccl",
    accepts("stream_sync_timeout"),
    lambda params: value_of(params, "stream_sync_timeout") == 1000 * (value_of(params, "hccl_timeout") or 1836),
)


@mistake("runconfig.hccl_timeout.range")
def a_timeout_is_checked_when_it_is_rounded(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hccl_timeout")
    if type(value) is int and 17340 < value < 17408 and params["edition"] == "current":
        return ask(all_values(params, mapped("hccl_timeout", lambda given: 17340)))
    return ask(params)


@mistake("runconfig.hccl_timeout.over_env")
def a_bad_variable_spoils_the_option(ask: Any, params: Params) -> Answer:
    said = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "68")
    if not (said.isdigit() and 0 < int(said) <= 17340) and given(params, "hccl_timeout"):
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


fault(
    "one_rank_is_a_cluster",
    "runconfig.stream_sync_timeout.gt_hccl",
    denies("stream_sync_timeout"),
    lambda params: params.get("env", {}).get("RANK_SIZE") == "1" and value_of(params, "stream_sync_timeout") == 60000,
)


@mistake("runconfig.hccl_timeout.quantize")
def the_device_is_told_what_was_given(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if isinstance(given, int) and 68 < given < 600 and params["edition"] == "current":
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


fault(
    "nobody_waits_longer_than_a_minute",
    "session.op_wait_timeout.example",
    denies("op_wait_timeout"),
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


fault("operators_are_timed_in_milliseconds", "runconfig.op_execute_timeout.effect", changed(_in_milliseconds))


@mistake("runconfig.hccl_timeout.over_env")
def environment_wins_in_a_session(ask: Any, params: Params) -> Answer:
    if params["surface"] == "session" and "HCCL_EXEC_TIMEOUT" in params.get("env", {}):
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


fault(
    "collective_timeout_short_of_its_end",
    "runconfig.hccl_timeout.range",
    denies("hccl_timeout"),
    given_as("hccl_timeout", "runconfig", "current", 17340),
)
fault(
    "collective_timeout_above_a_block",
    "runconfig.hccl_timeout.floor68",
    denies("hccl_timeout"),
    given_as("hccl_timeout", "runconfig", "current", *range(1, 68)),
)


@mistake("runconfig.hccl_timeout.over_env")
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


fault("no_wait_is_nought", "runconfig.stream_sync_timeout.minus_one", changed(_negative))


@mistake("runconfig.hccl_timeout.over_env")
def the_environment_wins_over_a_longer_timeout(ask: Any, params: Params) -> Answer:
    env, given = params.get("env", {}), value_of(params, "hccl_timeout")
    longer = env.get("HCCL_EXEC_TIMEOUT", "")
    if isinstance(given, int) and longer.isdigit() and int(longer) > given:
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


def _same_wait(answer: Answer, params: Params) -> None:
    told = answer.get("directives", {}).get("timeouts", {})
    if "event_sync_milliseconds" in told and given(params, "event_sync_timeout", "stream_sync_timeout"):
        told["event_sync_milliseconds"] = told["stream_sync_milliseconds"]


fault("events_wait_as_long_as_streams", "runconfig.event_sync_timeout.effect", changed(_same_wait))


@mistake("runconfig.stream_sync_timeout.gt_hccl")
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
