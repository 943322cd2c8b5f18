"""What is said of a script to the person who runs it: entries of the log as they come, and at the end what ran."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Callable, Container, Set, TextIO, Union

from npu_reference.device.faults import Faults
from npu_reference.runtime.config import OPTIMIZER
from npu_reference.runtime.observing.account import Account
from npu_reference.runtime.observing.log import LogEntry
from npu_reference.runtime.observing.trace import Totals, process_trace
from npu_reference.runtime.scripts import final_summary

__all__ = ["flush_output", "hearer", "report", "speaker"]

#: Notes for who asks about a saved graph; a script's runs name their feeds and fetches themselves.
_FOR_SAVED_GRAPHS = ("PLACEHOLDER_AS_FEED",)

#: Warnings that say why a session was not taken over.
_NOT_TAKEN_OVER = ("remote_target", "near_spelling")


def speaker(log: Union[Callable[[str], None], TextIO, None]) -> Callable[[str], None]:
    if callable(log):
        return log

    def write(line: str) -> None:
        stream = log or sys.stderr
        flush_output()
        stream.write(line + "\n")
        stream.flush()

    return write


def hearer(say: Callable[[str], None], codes: Set[str]) -> Callable[[LogEntry], None]:
    """Says every entry once, whichever session it comes from first, and none that is for another reader.

    ``codes`` takes those of all that was heard.
    """
    said = set()

    def hear(entry: LogEntry) -> None:
        codes.add(entry.code)
        key = (entry.level, entry.code, entry.subject, entry.said)
        if entry.code not in _FOR_SAVED_GRAPHS and key not in said:
            said.add(key)
            say(f"{entry.level}: {entry.text}")

    return hear


def flush_output() -> None:
    """What the script has printed comes before what we say; a script may have closed its stdout, or put it away."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def report(say: Callable[[str], None], before: Totals, account: Account, faults: Faults, heard: Container[str]) -> None:
    totals = process_trace().totals
    # What stopped a script has been said, or a session from being taken over; a script that came this far without a
    # session, or a run, deserves a hint.
    if account.failure is not None or any(code in heard for code in _NOT_TAKEN_OVER):
        pass
    elif totals.sessions == before.sessions:
        say(
            "warning: no session was taken over, so nothing ran on the simulated NPU. A session's config must name"
            f" {OPTIMIZER} (custom_optimizers.add().name = '{OPTIMIZER}'); TensorFlow ignores every other name"
            " silently. npu-conformance lint --diff --unsafe-fixes shows the lines to add."
        )
    elif totals.runs == before.runs:
        say(
            "warning: no session that was taken over ran anything, so nothing ran on the simulated NPU. Keras runs in a"
            " session of its own unless it is given one: tf.keras.backend.set_session(session), of the tf.keras that"
            " the model is made of."
        )
    for fault in faults.items:
        if fault.kind in final_summary.TOLD_FAULTS and fault not in account.faced:
            say(f"warning: the fault {fault.text} was asked for and did not happen: no run computed what it names.")
    for line in final_summary.lines(account):
        say(line)
    say(totals.summary())
