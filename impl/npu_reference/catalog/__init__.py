"""The operator library of the simulated device."""

from __future__ import annotations

from npu_reference.catalog.catalog import Catalog
from npu_reference.catalog.descriptor import Column, Descriptor, Fused
from npu_reference.catalog.entries import Unmatched, names_operators, unmatched
from npu_reference.catalog.op_list import OpEntry, OpList
from npu_reference.catalog.ops_info import is_ops_info

__all__ = [
    "Catalog", "Column", "Descriptor", "OpEntry", "Fused", "OpList", "Unmatched", "is_ops_info", "names_operators",
    "unmatched",
]  # fmt: skip
