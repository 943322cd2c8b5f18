"""Prices collectives: which ranks take part, the algorithm, and how long its messages take on the links."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence, Tuple, Union

from npu_reference.compiler.collectives import WORLD, Collective, Exchange, Network, Split
from npu_reference.device.links import Link, Message, Passage, Topology, bytes_by_kind, choose, passages, plan
from npu_reference.errors import NpuError
from npu_reference.hardware import Device

__all__ = ["network_of"]

#: Kinds of links, the slowest last.
_KINDS = ("hccs", "pcie", "roce")

#: Kinds that have algorithms of their own.
_WITHOUT = ("alltoallv", "send", "receive")

#: Elements are counted in bytes: that chunks then may differ by less than an element changes no order of anything.
_WIDTH = 1


def network_of(
    where: Topology,
    device: Device,
    *,
    split: Union[Split, Mapping[str, Split], None] = None,
    groups: Optional[Mapping[str, Sequence[int]]] = None,
    algorithm: Optional[str] = None,
) -> Network:
    """The ranks of a topology, joined by a device's links.

    Args:
        split: of gradients, or by group; HCCL's own by default.
        groups: ranks of groups other than that of all, by name.
        algorithm: of every collective that has it; without it the one that fits best.

    Raises:
        OptionValueError: there is no such algorithm, or these ranks do not have it.
    """
    if algorithm is not None:
        plan("allreduce", algorithm, where, 0, 1)
    members = {WORLD: tuple(range(where.size)), **{name: tuple(ranks) for name, ranks in (groups or {}).items()}}
    known: Dict[Tuple[Collective, int], Exchange] = {}

    def price(collective: Collective, size: int) -> Exchange:
        key = (collective._replace(apart=False), size)
        if key not in known:
            known[key] = _exchange(collective, size, where, members, device, algorithm)
        return known[key]

    return Network(where.size, {WORLD: split} if isinstance(split, Split) else dict(split or {}), price)


def _exchange(
    one: Collective,
    size: int,
    where: Topology,
    groups: Mapping[str, Tuple[int, ...]],
    device: Device,
    wanted: Optional[str],
) -> Exchange:
    if one.group not in groups:
        reason = f"the ranks of the group {one.group!r} are not known."
        raise NpuError("DEVICE_MODEL", one.kind, reason, f"Give them: --group {one.group}:0,1.")
    ranks = groups[one.group]
    if not ranks or not 0 <= min(ranks) <= max(ranks) < where.size or len(set(ranks)) != len(ranks):
        reason = f"the group {one.group!r} is {list(ranks)}, and there are {where.size} ranks."
        raise NpuError("DEVICE_MODEL", one.kind, reason, "Name each of its ranks once.")
    if one.ranks and one.ranks != len(ranks):
        reason = f"its operator says {one.ranks} ranks, and the group {one.group!r} has {len(ranks)}."
        raise NpuError("DEVICE_MODEL", one.kind, reason, "Profile with as many ranks as the graph was made for.")
    part = where.of(ranks)
    if part.size < 2:
        return Exchange("local", "sdma", 0, 0, ())
    algorithm = wanted if wanted and one.kind not in _WITHOUT else choose(one.kind, size, part)
    messages = _messages(one, algorithm, size, part)
    passed = tuple(_named(passage, ranks) for passage in passages(messages, device, part))
    moved = bytes_by_kind(messages, part)
    engine = max(moved, key=_KINDS.index) if moved else "sdma"
    duration = max([passage.arrived for passage in passed] or [0])
    return Exchange(algorithm, engine, duration, len(messages), tuple(sorted(moved.items())), passed)


def _named(passage: Passage, ranks: Sequence[int]) -> Passage:
    """A passage of a group with its ranks among all."""
    message = passage.message
    links = tuple(
        Link(link.kind, *(rank if rank < 0 else ranks[rank] for rank in (link.src, link.dst))) for link in passage.links
    )
    return passage._replace(message=message._replace(src=ranks[message.src], dst=ranks[message.dst]), links=links)


def _messages(one: Collective, algorithm: str, size: int, part: Topology) -> Tuple[Message, ...]:
    if one.kind == "alltoallv":
        # Values decide how much goes to whom; as much to each is assumed.
        counts = [[size // part.size] * part.size for _ in range(part.size)]
        return plan(one.kind, algorithm, part, 0, _WIDTH, counts=counts)
    if one.kind in ("send", "receive"):
        # Every rank runs the same graph: it sends to the one named, or the next one where that is itself.
        other = one.peer if one.kind == "send" else one.root
        other = other if 0 < other < part.size else 1
        return plan(one.kind, algorithm, part, size, _WIDTH, root=0, peer=other)
    whole = size * part.size if one.kind == "allgather" else size
    root = one.root if one.root < part.size else 0
    return plan(one.kind, algorithm, part, whole, _WIDTH, root=root)
