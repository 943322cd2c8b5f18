"""What a CI demands of a partition, and whether it is met: operators that must be offloaded, the most GEOPs."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from npu_conformance.models.advice import NO_LOSS
from npu_reference.errors import NpuError
from npu_reference.partition import HostNode, Partition, Reason
from npu_reference.partition.model import Separation
from npu_reference.partition.reasons import REMEDIES
from npu_reference.printing import counted
from npu_reference.spelling import did_you_mean

__all__ = ["EVERYTHING", "PASTES", "DemandCheck", "Group", "max_geops", "require_offload"]

#: The word that demands every operator that computes anything.
EVERYTHING = "all"

#: The words of the command line that would apply the remedy of a reason, where an option does.
PASTES = {
    Reason.MODE_OFF: "-o use_off_line=true",
    Reason.SMALLER_REGION: "-o mix_compile_mode=true",
    Reason.GRAY: "-o mix_compile_mode=false",
    Reason.VARIABLE_PLACEMENT: "-o variable_placement=Device",
}

#: Operators, and host paths, named before the rest is counted.
NAMED = 20


class Group(NamedTuple):
    """Operators of one type that stay on the host for one reason: why the first of them does, the remedy, and the
    words of the command line that would apply it (empty where no option does)."""

    reason: str
    op: str
    nodes: Tuple[str, ...]
    why: str
    remedy: str
    paste: str

    def to_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "nodes": list(self.nodes)}


class DemandCheck(NamedTuple):
    """One demand and its outcome: `lines` say in words what stands against it, `groups` name every operator."""

    demand: str
    passed: bool
    summary: str
    lines: Tuple[str, ...]
    groups: Tuple[Group, ...] = ()

    def to_json(self) -> Dict[str, Any]:
        return {
            "demand": self.demand,
            "passed": self.passed,
            "summary": self.summary,
            "lines": list(self.lines),
            "groups": [group.to_json() for group in self.groups],
        }


def require_offload(found: Partition, wanted: str) -> DemandCheck:
    """Whether every operator called `wanted`, or of that type, is in a GEOP; "all": every one that computes anything.

    Raises:
        NpuError: USAGE when the graph holds no such operator: nothing would be checked.
    """
    demand = f"--require-offload {wanted}"
    graph = found.graph
    if wanted == EVERYTHING and wanted not in graph.index:
        asked = len(graph.nodes)
        left = [entry for entry in found.host if entry.reason not in NO_LOSS]
    else:
        asked = sum(1 for node in graph.nodes if wanted in (node.name, node.op))
        left = [entry for entry in found.host if wanted in (entry.node, entry.op)]
    if not asked and wanted != EVERYTHING:
        raise NpuError("USAGE", demand, "the graph holds no operator of this name or type.", _suggestion(found, wanted))
    if not left:
        what = "no operator that computes anything" if wanted == EVERYTHING else f"none of {asked}"
        return DemandCheck(demand, True, f"{what} stays on the host", ())
    types = Counter(entry.reason.value for entry in left)
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(types.items(), key=lambda row: (-row[1], row)))
    what = f"{len(left)} of {asked} stay on the host" if wanted != EVERYTHING else f"{len(left)} stay on the host"
    groups = _grouped(left)
    return DemandCheck(
        demand, False, f"{what}: {reasons}", tuple(line for group in groups for line in _told(group)), groups
    )


def _grouped(left: Sequence[HostNode]) -> Tuple[Group, ...]:
    """By reason, operator and remedy, the largest group first."""
    found: Dict[Tuple[str, str, str], List[HostNode]] = {}
    for entry in left:
        found.setdefault((entry.reason.value, entry.op, entry.remedy), []).append(entry)
    return tuple(
        Group(
            reason, op, tuple(entry.node for entry in entries), _because(entries[0]), remedy,
            PASTES.get(entries[0].reason, "") if remedy == REMEDIES[entries[0].reason] else "",
        )
        for (reason, op, remedy), entries in sorted(found.items(), key=lambda row: (-len(row[1]), row[0]))
    )  # fmt: skip


def _told(group: Group) -> List[str]:
    lines = [group.why]
    if len(group.nodes) > 1:
        named = ", ".join(group.nodes[1:NAMED])
        more = f" and {counted(len(group.nodes) - NAMED, 'more operator')}" if len(group.nodes) > NAMED else ""
        lines.append(f"likewise {len(group.nodes) - 1} {group.op}: {named}{more}")
    lines.append(f"remedy for {group.reason}: {group.remedy}")
    return [*lines, f"paste: {group.paste}"] if group.paste else lines


def _suggestion(found: Partition, wanted: str) -> str:
    operators = did_you_mean(wanted, {node.op for node in found.graph.nodes})
    return operators or did_you_mean(wanted, found.graph.index, "Names stand without an output number.")


def _because(entry: HostNode) -> str:
    chain = [entry.witness[0].why, *(f"{step.node}: {step.why}" for step in entry.witness[1:])]
    return f"{entry.node} ({entry.op}): {entry.reason.value}, {' <- '.join(chain)}"


def max_geops(found: Partition, most: int, apart: Sequence[Separation]) -> DemandCheck:
    """Whether there are at most `most` GEOPs; `apart`, what separates them, is told where there are more."""
    demand = f"--max-geops {most}"
    count = len(found.geops)
    if count <= most:
        return DemandCheck(demand, True, counted(count, "GEOP"), ())
    summary = f"{counted(count, 'GEOP')}; these host operators make at least {found.min_geops} necessary"
    ops = {entry.node: entry.op for entry in found.host}
    lines = []
    for one in apart:
        path = " -> ".join(f"{name} ({ops[name]})" if name in ops else name for name in one.path)
        lines.append(f"{one.before} and {one.after} are separated by {path}")
    if not lines:
        lines.append("no path over the host separates them: the adapter's own merging leaves them apart")
    return DemandCheck(demand, False, summary, _named(lines, "pairs"))


def _named(lines: List[str], what: str) -> Tuple[str, ...]:
    if len(lines) <= NAMED:
        return tuple(lines)
    return (*lines[:NAMED], f"and {len(lines) - NAMED} more {what}")
