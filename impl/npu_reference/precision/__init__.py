"""Decides which dtype, engine and implementation mode every operator of the device gets, and where casts stand."""

from __future__ import annotations

from npu_reference.precision.api import assign
from npu_reference.precision.model import Assignment, Cast, NodePrecision, Note

__all__ = ["Assignment", "Cast", "NodePrecision", "Note", "assign"]
