"""How much a run of the tests asks, by the variable NPU_TESTS_DEPTH.

`first`: what is quick, for whoever writes a change. Nothing: what a change must pass. `nightly`: everything.
Tests marked `nightly` repeat, on more inputs, what a test that stays checks. Tests that draw from many inputs draw
fewer of them for a change; hypothesis draws half of its examples. `benchmarks/ci.py --slow` writes `slow.txt`, which
lists what `first` leaves out.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, TypeVar

import pytest

__all__ = ["FILES_LEFT_OUT", "NIGHTLY", "at_night", "left_out", "share"]

_DEPTH = os.environ.get("NPU_TESTS_DEPTH", "")
if _DEPTH not in ("", "first", "nightly"):
    raise pytest.UsageError(f"NPU_TESTS_DEPTH={_DEPTH}: not one of first, nightly, and nothing")

NIGHTLY = _DEPTH == "nightly"
_SLOW = frozenset(pathlib.Path(__file__).with_name("slow.txt").read_text("utf-8").splitlines())
#: Files of this folder that are not even collected.
FILES_LEFT_OUT = [name[len("tests/") :] for name in sorted(_SLOW) if "::" not in name and _DEPTH == "first"]

Value = TypeVar("Value")


def share(of_a_change: Value, of_a_night: Value) -> Value:
    """The number, or list, of inputs that this run draws."""
    return of_a_night if NIGHTLY else of_a_change


def at_night(*values: Any, **named: Any) -> Any:
    """Parameters of a test that only the nightly run asks; arguments as of :func:`pytest.param`."""
    return pytest.param(*values, marks=pytest.mark.nightly, **named)


def left_out(item: pytest.Item) -> bool:
    """Whether this run leaves a test out."""
    if item.get_closest_marker("nightly"):
        return not NIGHTLY
    return _DEPTH == "first" and not _SLOW.isdisjoint((item.nodeid, item.nodeid.partition("[")[0]))
