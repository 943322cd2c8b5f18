"""Decides which part of a selection a machine of several runs: whole cases, prerequisites beside what needs them."""

from __future__ import annotations

import heapq
import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

from npu_conformance.library.case import COSTS, Instance
from npu_reference.errors import NpuError

__all__ = ["Shard", "parse", "share"]

_MOST = 10000  # shards (assumed)
_TEXT = re.compile(r"([0-9]{1,5})/([0-9]{1,5})\Z")
_UNIT = min(COSTS.values())


class Shard(NamedTuple):
    """The part ``number`` of ``parts``, counted from 1."""

    number: int
    parts: int

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"


def parse(text: str) -> Shard:
    """The shard that ``3/8`` says.

    Raises:
        NpuError: USAGE.
    """
    found = _TEXT.match(text)
    number, count = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not 1 <= number <= count <= _MOST:
        raise NpuError("USAGE", f"--shard {text[:40]}", "is no part of a whole", "Write 3/8 for the third of eight.")
    return Shard(number, count)


def share(instances: Sequence[Instance], shard: Shard, seconds: Optional[Mapping[str, float]] = None) -> List[Instance]:
    """The instances of one shard, in their order; all shards together have each instance once.

    The heaviest cases are dealt first, each to the shard that has least. All laws are one part, dealt last: where
    cases go does not depend on them.

    Args:
        seconds: what instances took in an earlier run, by id; others count as the mean. Without it every case
            counts what it declares as its cost.
    """
    weights = _weights(instances, seconds)
    first = _first_of_family(instances)
    units: Dict[str, int] = {}
    laws = 0
    for instance in instances:
        if _is_law(instance):
            laws += weights[instance.id]
        else:
            name = first[instance.case.id]
            units[name] = units.get(name, 0) + weights[instance.id]
    loads = [(0, number) for number in range(1, shard.parts + 1)]
    dealt: Dict[str, int] = {}
    for name in sorted(units, key=lambda name: (-units[name], name)):
        load, number = loads[0]
        dealt[name] = number
        heapq.heapreplace(loads, (load + units[name], number))
    lawful = loads[0][1]
    return [
        instance
        for instance in instances
        if (lawful if _is_law(instance) else dealt[first[instance.case.id]]) == shard.number
    ]


def _is_law(instance: Instance) -> bool:
    return instance.case.topic == "laws"


def _weights(instances: Sequence[Instance], seconds: Optional[Mapping[str, float]]) -> Dict[str, int]:
    """Milliseconds an instance, or what its cost is in the cheapest one's."""
    if not seconds:
        return {instance.id: round(instance.case.seconds / _UNIT) for instance in instances}
    known = {instance.id: round(seconds[instance.id] * 1000) for instance in instances if instance.id in seconds}
    mean = sum(known.values()) // len(known) if known else 1
    return {instance.id: max(1, known.get(instance.id, mean)) for instance in instances}


def _first_of_family(instances: Sequence[Instance]) -> Dict[str, str]:
    """Case id -> the first id of all cases that need each other: a case is judged by whether another passed."""
    parent = {instance.case.id: instance.case.id for instance in instances}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for instance in instances:
        for needed in instance.case.requires:
            if needed in parent:
                low, high = sorted((root(instance.case.id), root(needed)))
                parent[high] = low
    return {name: root(name) for name in parent}
