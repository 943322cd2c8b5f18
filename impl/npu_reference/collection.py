"""Decides when the garbage collector looks: not while graphs are built, seldom where many questions are answered."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator

__all__ = ["collect_no_more", "collect_seldom", "no_collection", "set_apart"]

#: Objects that are new, and looks at them before the older and the oldest are looked at (assumed). What questions leave
#: is next to no garbage, and each look at a process that has TensorFlow walks half a million objects.
_SELDOM = (50_000, 20, 10)


@contextmanager
def no_collection() -> Iterator[None]:
    """Building makes millions of objects and next to no garbage; the collector would walk them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
