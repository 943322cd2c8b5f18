"""What a CI demands of a partition, and whether it is met: operators that must be offloaded, the most GEOPs."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.partition import HostNode, Partition, Reason
from npu_reference.partition.model import Separation

__all__ = ["EVERYTHING", "Check", "max_geops", "require_offload"]

#: The word that demands every operator that computes anything.
EVERYTHING = "all"

#: Operators that stay on the host for these reasons are nobody's loss: feeds, fetches, and what needs no device.
_NO_LOSS = (Reason.FEED, Reason.FETCH, Reason.HOST_CONST, Reason.ISOLATED)

#: Operators, and host paths, named before the rest is counted.
NAMED = 20


class Check(NamedTuple):
    """One demand and its outcome: `lines` say in words what stands against it."""

    demand: str
    passed: bool
    summary: str
    lines: Tuple[str, ...]

    def to_json(self) -> Dict[str, Any]:
        return {"demand": self.demand, "passed": self.passed, "summary": self.summary, "lines": list(self.lines)}


def require_offload(found: Partition, wanted: str) -> Check:
    """Whether every operator called `wanted`, or of that type, is in a GEOP; "all": every one that computes anything.

    Raises:
        NpuError: USAGE when the graph holds no such operator: nothing would be checked.
    """
    demand = f"--require-offload {wanted}"
    graph = found.graph
    if wanted == EVERYTHING and wanted not in graph.index:
        asked = len(graph.nodes)
        left = [entry for entry in found.host if entry.reason not in _NO_LOSS]
    else:
        asked = sum(1 for node in graph.nodes if wanted in (node.name, node.op))
        left = [entry for entry in found.host if wanted in (entry.node, entry.op)]
    if not asked and wanted != EVERYTHING:
        raise NpuError("USAGE", demand, "the graph holds no operator of this name or type.", _suggestion(found, wanted))
    if not left:
        what = "no operator that computes anything" if wanted == EVERYTHING else f"none of {asked}"
        return Check(demand, True, f"{what} stays on the host", ())
    types = Counter(entry.reason.value for entry in left)
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(types.items(), key=lambda row: (-row[1], row)))
    what = f"{len(left)} of {asked} stay on the host" if wanted != EVERYTHING else f"{len(left)} stay on the host"
    remedies = sorted({(entry.reason.value, entry.remedy) for entry in left})
    lines = _named([_because(entry) for entry in left], "operators")
    lines += tuple(f"remedy for {reason}: {remedy}" for reason, remedy in remedies)
    return Check(demand, False, f"{what}: {reasons}", lines)


def _suggestion(found: Partition, wanted: str) -> str:
    known = sorted({node.op for node in found.graph.nodes})
    near = difflib.get_close_matches(wanted, known, 1) or difflib.get_close_matches(wanted, found.graph.index, 1)
    return f"Did you mean {near[0]}?" if near else "Names stand without an output number."


def _because(entry: HostNode) -> str:
    chain = [entry.witness[0].why, *(f"{step.node}: {step.why}" for step in entry.witness[1:])]
    return f"{entry.node} ({entry.op}): {entry.reason.value}, {' <- '.join(chain)}"


def max_geops(found: Partition, most: int, apart: Sequence[Separation]) -> Check:
    """Whether there are at most `most` GEOPs; `apart`, what separates them, is told where there are more."""
    demand = f"--max-geops {most}"
    count = len(found.geops)
    if count <= most:
        return Check(demand, True, f"{count} GEOPs", ())
    summary = f"{count} GEOPs; with these host operators at least {found.min_geops} are needed"
    ops = {entry.node: entry.op for entry in found.host}
    lines = []
    for one in apart:
        path = " -> ".join(f"{name} ({ops[name]})" if name in ops else name for name in one.path)
        lines.append(f"{one.before} and {one.after} are separated by {path}")
    if not lines:
        lines.append("no path over the host separates them: the adapter's own merging leaves them apart")
    return Check(demand, False, summary, _named(lines, "pairs"))


def _named(lines: List[str], what: str) -> Tuple[str, ...]:
    if len(lines) <= NAMED:
        return tuple(lines)
    return (*lines[:NAMED], f"and {len(lines) - NAMED} more {what}")
