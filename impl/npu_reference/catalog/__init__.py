"""The operator library of the simulated device."""

from __future__ import annotations

from npu_reference.catalog.op_list import Entry, OpList

__all__ = ["Entry", "OpList"]
