"""Processes forked off a warm one, which end with what was asked of them."""

from __future__ import annotations

import os
import signal
import traceback
from typing import Any

from changes import DROP_IN

__all__ = ["HUNG", "STUMBLED", "forked", "limit"]

HUNG = 5  # times as long by the clock nothing takes but what waits for ever, however loaded the machine is (assumed)
STUMBLED = "the suite itself: "  # before an error of the suite's own: a fault of ours, and not of the one asked


def forked(call: Any) -> str:
    """What a call says in a process of its own, or how that ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            if os.environ.get("NPU_MUTATION_TRACE") is None:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 1)  # scripts print, and TensorFlow logs
                os.dup2(nothing, 2)
            said = call().encode("utf-8")
        except BaseException as error:  # noqa: BLE001  whatever a mutant does shows that it is one
            said = _ended(error).encode()
        while said:
            said = said[os.write(write, said) :]
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        found = stream.read()
    _, status = os.waitpid(child, 0)
    return found.decode("utf-8") if status == 0 else "ended without a word"


def limit(seconds: int) -> None:
    """Let this process die once it has used so much processor time from here on, or hangs; 0: let it live.

    The clock would count what others do on the machine.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(HUNG * seconds)


def _ended(error: BaseException) -> str:
    """How a change ended its process; an error of the suite's own is none that a verdict would show."""
    rooms = {"npu_reference", *DROP_IN}
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, MemoryError) or any(rooms & set(frame.filename.split(os.sep)) for frame in frames):
        return f"ended: {type(error).__name__}"
    last = frames[-1]
    return f"{STUMBLED}{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"
