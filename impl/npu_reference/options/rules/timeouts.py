"""Rules of timeouts and of the device."""

from __future__ import annotations

import re

from npu_reference.options.domains import echo
from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["LONGEST_HCCL", "RULES", "STEP_HCCL", "in_steps"]

RULES = RuleBook()

#: The device counts collective timeouts in steps of this many seconds, at least one and at most 255 of them.
STEP_HCCL = 68
LONGEST_HCCL = 17340

_NUMBER = re.compile(r"[0-9]{1,18}")


def in_steps(seconds: int) -> int:
    """The collective timeout the device really uses, in seconds (B6): 600 becomes 544, anything below 68 is 68."""
    return max(seconds // STEP_HCCL, 1) * STEP_HCCL


@RULES.rule("env.HCCL_EXEC_TIMEOUT.fallback", "HCCL_EXEC_TIMEOUT", editions=("current",))
def _collective_timeout_of_the_environment(state: State) -> None:
    """Without hccl_timeout, HCCL_EXEC_TIMEOUT holds, with the same range and steps (T2, B7)."""
    text = state.env.get("HCCL_EXEC_TIMEOUT", "")
    if not text or state.has("hccl_timeout"):
        return
    if _NUMBER.fullmatch(text) and 1 <= int(text) <= LONGEST_HCCL:
        state.fall_back("hccl_timeout", in_steps(int(text)), "environment", "env.HCCL_EXEC_TIMEOUT.fallback")
    else:
        message = f"HCCL_EXEC_TIMEOUT is {echo(text)}, which is ignored; it should be 1 to {LONGEST_HCCL} seconds."
        state.warn("HCCL_EXEC_TIMEOUT", "environment", message)


@RULES.rule("runconfig.hccl_timeout.quantize", "hccl_timeout", editions=("current",))
def _collective_timeout_in_steps(state: State) -> None:
    """hccl_timeout takes effect in whole steps of 68 seconds, at least one (A24, B6)."""
    seconds = state.value("hccl_timeout")
    if not state.has("hccl_timeout") or not isinstance(seconds, int):
        return
    steps = in_steps(seconds)
    if steps != seconds:
        message = f"hccl_timeout {seconds} takes effect as {steps} s, a multiple of {STEP_HCCL}."
        state.warn("hccl_timeout", "adjusted", message)
    state.adjust("hccl_timeout", steps, "runconfig.hccl_timeout.quantize")


def _collective_seconds(state: State) -> int:
    """The collective timeout as it was written, in seconds, before the device counts it in steps."""
    if state.has("hccl_timeout"):
        return int(str(state.given["hccl_timeout"]))
    text = state.env.get("HCCL_EXEC_TIMEOUT", "")
    in_force = state.effective["hccl_timeout"]
    return int(text) if in_force.origin == "environment" else int(str(in_force.value))


@RULES.rule(
    "runconfig.stream_sync_timeout.gt_hccl", "stream_sync_timeout", editions=("current",), about=("hccl_timeout",)
)
def _streams_outlast_collectives(state: State) -> None:
    """In a cluster stream_sync_timeout is longer than the collective timeout; -1 is endless (B17, T6, T33)."""
    milliseconds = state.value("stream_sync_timeout")
    if not isinstance(milliseconds, int):
        return
    seconds = _collective_seconds(state)  # as written: document 003 compares with the value of hccl_timeout
    if milliseconds == -1 or milliseconds > seconds * 1000:
        return
    reason = f"{milliseconds} ms is not longer than the collective timeout of {seconds} s."
    ranks = state.env.get("RANK_SIZE", "")
    if _NUMBER.fullmatch(ranks) and int(ranks) > 1:
        remedy = f"Give more than {seconds * 1000} ms, or -1 for no limit."
        state.error("stream_sync_timeout", "OPTION_CONFLICT", reason, remedy)
    else:
        state.warn("stream_sync_timeout", "advice", f"stream_sync_timeout {reason} In a cluster that is an error.")


@RULES.rule("env.ASCEND_DEVICE_ID.lower", "ASCEND_DEVICE_ID")
def _device_of_the_environment(state: State) -> None:
    """Without session_device_id, ASCEND_DEVICE_ID chooses the device."""
    text = state.env.get("ASCEND_DEVICE_ID", "")
    if not text or state.has("session_device_id"):
        return
    if _NUMBER.fullmatch(text):
        state.fall_back("session_device_id", int(text), "environment", "env.ASCEND_DEVICE_ID.lower")
    else:
        state.error("ASCEND_DEVICE_ID", "OPTION_VALUE", f"{echo(text)} is no device.", "Give a number from 0 on.")
