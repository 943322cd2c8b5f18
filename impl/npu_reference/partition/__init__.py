"""Divides a graph between the device (GEOPs) and the host, and says why."""

from __future__ import annotations

from npu_reference.partition.api import FLAVOURS, POLICIES, partition
from npu_reference.partition.building.build import build
from npu_reference.partition.explain import blame, only_initialises, separations
from npu_reference.partition.explaining.annotate import annotate
from npu_reference.partition.model import Border, Geop, HostNode, Note, Partition
from npu_reference.partition.reasons import Reason

__all__ = [
    "FLAVOURS", "POLICIES", "Border", "Geop", "HostNode", "Note", "Partition", "Reason", "annotate", "blame", "build",
    "only_initialises", "partition", "separations",
]  # fmt: skip
