"""Decides which dtype, engine and implementation mode every operator of the device gets, and where casts stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npu_reference.precision.model import Assignment, Cast, NodePrecision, PrecisionNote

if TYPE_CHECKING:
    from npu_reference.precision.api import assign

__all__ = ["Assignment", "Cast", "NodePrecision", "PrecisionNote", "assign"]


def __getattr__(name: str) -> Any:
    """``assign`` is loaded when it is asked for: to count operations needs the classes alone."""
    if name != "assign":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from npu_reference.precision.api import assign

    globals()[name] = assign
    return assign
