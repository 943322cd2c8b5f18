"""Decides when the garbage collector looks: not while graphs are built, seldom where many questions are answered."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import contextmanager
from typing import Iterator

__all__ = ["collect_no_more", "collect_seldom", "no_collection", "set_apart"]

#: Objects that are new, and looks at them before the older and the oldest are looked at (assumed). What questions leave
#: is next to no garbage, and each look at a process that has TensorFlow walks half a million objects.
_SELDOM = (50_000, 20, 10)


class _Pause:
    """What threads that build at the same time have in common: the last one to end lets the collector look again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.enabled = False


_PAUSE = _Pause()


@contextmanager
def no_collection() -> Iterator[None]:
    """Building makes millions of objects and next to no garbage; the collector would walk them again and again."""
    pause = _PAUSE  # a process forked within has one of its own
    with pause.lock:
        if not pause.inside:
            pause.enabled = gc.isenabled()
            gc.disable()
        pause.inside += 1
    try:
        yield
    finally:
        with pause.lock:
            pause.inside -= 1
            if not pause.inside and pause.enabled:
                gc.enable()


def _begin_anew() -> None:
    """In a process that was forked the threads that were building are gone, and the lock may be one of theirs."""
    global _PAUSE
    if _PAUSE.inside and _PAUSE.enabled:
        gc.enable()
    _PAUSE = _Pause()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def collect_seldom() -> None:
    """For processes of ours that answer, judge or report: the collector looks less often from now on."""
    gc.set_threshold(*_SELDOM)


@contextmanager
def set_apart() -> Iterator[None]:
    """In processes forked within, the collector never looks at what is there now: it writes to whatever it walks, and
    memory that nobody writes to is shared."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def collect_no_more() -> None:
    """For a process of ours that is about to end: Python would walk all there is once more, and the system takes it
    back in any case. What functions registered for the end is done."""
    gc.freeze()
