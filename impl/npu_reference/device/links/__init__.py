"""Several devices: which links join them, what collectives send over these, how they reduce, how long it takes."""

from __future__ import annotations

from npu_reference.device.links.algorithms import ALGORITHMS, KINDS, Message, choose, plan
from npu_reference.device.links.exchanging import REDUCTIONS, collective
from npu_reference.device.links.rank_table import RankTable
from npu_reference.device.links.times import Link, Passage, bytes_by_kind, passages, time
from npu_reference.device.links.topology import DevicePlace, Topology, topology

__all__ = [
    "ALGORITHMS", "KINDS", "REDUCTIONS", "Link", "Message", "Passage", "DevicePlace", "RankTable", "Topology",
    "bytes_by_kind", "choose", "collective", "passages", "plan", "time", "topology",
]  # fmt: skip
