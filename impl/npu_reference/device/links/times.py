"""How long messages take: every link sends one after the other, and a rank sends what it has received."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.device.links.algorithms import Message
from npu_reference.device.links.topology import Topology
from npu_reference.hardware import Device

__all__ = ["Link", "Passage", "bytes_by_kind", "passages", "time"]


class Link(NamedTuple):
    """One way of a link. HCCS joins two ranks; PCIe and RoCE have a way out of each rank and one into it (-1: any)."""

    kind: str
    src: int
    dst: int


class Passage(NamedTuple):
    """One message on its links: nanoseconds from when they are occupied to when they are free, and when it is there."""

    message: Message
    links: Tuple[Link, ...]
    start: int
    free: int
    arrived: int


def passages(messages: Sequence[Message], device: Device, where: Topology) -> Tuple[Passage, ...]:
    """When every message passes.

    A message leaves when all that its sender receives in earlier steps has arrived, and its links are free of those
    before it in the order of messages; it occupies them for its bytes at the link's rate, and arrives a latency later.
    So the whole is a longest path: a faster link makes nothing later. O(messages).

    Args:
        messages: in order of steps, as :func:`npu_reference.device.links.plan` gives them.
    """
    rates = {"hccs": device.hccs, "pcie": device.pcie, "roce": device.roce}  # GB/s are bytes a nanosecond
    waits = {"hccs": device.hccs_latency, "pcie": device.pcie_latency, "roce": device.roce_latency}
    known: Dict[int, int] = {}  # rank -> when all of earlier steps has arrived
    coming: Dict[int, int] = {}
    free: Dict[Link, int] = {}
    found: List[Passage] = []
    step = 0
    for message in messages:
        if message.step != step:
            for rank, at in coming.items():
                known[rank] = max(known.get(rank, 0), at)
            coming, step = {}, message.step
        kind = where.link(message.src, message.dst)
        links = _links(kind, message.src, message.dst)
        start = max([known.get(message.src, 0), *(free.get(link, 0) for link in links)])
        end = start + _whole(message.bytes / rates[kind])
        for link in links:
            free[link] = end
        arrived = end + _whole(waits[kind] * 1000)
        coming[message.dst] = max(coming.get(message.dst, 0), arrived)
        found.append(Passage(message, links, start, end, arrived))
    return tuple(found)


def time(messages: Sequence[Message], device: Device, where: Topology) -> int:
    """Nanoseconds until the last message has arrived; 0 without any."""
    return max([passage.arrived for passage in passages(messages, device, where)] or [0])


def bytes_by_kind(messages: Sequence[Message], where: Topology) -> Dict[str, int]:
    """Bytes over each kind of link."""
    found: Dict[str, int] = {}
    for message in messages:
        kind = where.link(message.src, message.dst)
        found[kind] = found.get(kind, 0) + message.bytes
    return found


def _links(kind: str, src: int, dst: int) -> Tuple[Link, ...]:
    return (Link(kind, src, dst),) if kind == "hccs" else (Link(kind, src, -1), Link(kind, -1, dst))


def _whole(nanoseconds: float) -> int:
    return int(-(-nanoseconds // 1))
