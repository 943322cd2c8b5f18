"""Which tensors of a v1 conditional may be dead, and so must not cross the border of a GEOP.

Every output of a Switch is dead in one of its branches, and so is whatever depends on it, up to the Merge that joins
the branches. A dead tensor cannot be an argument or a return of a function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, FrozenSet, List, NamedTuple, Tuple

from npu_reference.partition.structure.topology import topological_order
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["Deadness", "find_dead"]

_SWITCHES = ("Switch", "RefSwitch")
_MERGES = ("Merge", "RefMerge")
_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")

#: Conditions that must hold for a tensor to be alive: (predicate node, predicate slot, branch).
_Guards = FrozenSet[Tuple[int, int, int]]
_ALIVE: _Guards = frozenset()


class Deadness(NamedTuple):
    """`edges` may carry a dead tensor; `region[node]` numbers the conditional regions that such edges hold together."""

    edges: List[int]
    region: Dict[int, int]


def find_dead(graph: Graph, wires: Wires) -> Deadness:
    """Regions between Switch and Merge. O(nodes + edges) times the depth of nesting; at once where there is no Switch.

    A Switch by LoopCond is the loop's own and belongs to its frame, not to a conditional.
    """
    nodes = graph.nodes
    switches = [node.id for node in nodes if node.op in _SWITCHES and _decides(graph, wires, node.id)]
    if not switches:
        return Deadness([], {})
    guards = _guards(graph, wires, set(switches))
    branch = set(switches)
    dead = []
    for edge, source in enumerate(wires.src):
        if guards[source] or (source in branch and wires.src_slot[edge] >= 0):
            dead.append(edge)
    return Deadness(dead, _regions(wires, dead))


def _predicate(graph: Graph, wires: Wires, switch: int) -> Tuple[int, int]:
    for edge in graph.in_edges(switch):
        if wires.dst_slot[edge] == 1:
            return wires.src[edge], wires.src_slot[edge]
    return -1, 0


def _decides(graph: Graph, wires: Wires, switch: int) -> bool:
    source, _ = _predicate(graph, wires, switch)
    return source < 0 or graph.nodes[source].op != "LoopCond"


def _guards(graph: Graph, wires: Wires, switches: set) -> List[_Guards]:
    """What must hold for each node to run (for a Switch: for its inputs to be alive)."""
    nodes = graph.nodes
    successors: List[List[int]] = [[] for _ in nodes]
    for source, target in zip(wires.src, wires.dst):
        if nodes[source].op not in _NEXT_ITERATIONS:
            successors[source].append(target)
    guards: List[_Guards] = [_ALIVE] * len(nodes)
    for node in topological_order(successors):
        arriving = []
        for edge in graph.in_edges(node):
            source, slot = wires.src[edge], wires.src_slot[edge]
            if nodes[source].op in _NEXT_ITERATIONS:
                continue
            if nodes[node].op in _MERGES and slot < 0:
                continue
            found = guards[source]
            if source in switches and slot >= 0:
                found = found | {(*_predicate(graph, wires, source), slot)}
            arriving.append(found)
        if not arriving:
            continue
        if nodes[node].op in _MERGES:
            guards[node] = frozenset.intersection(*arriving)
        else:
            guards[node] = frozenset.union(*arriving) if any(arriving) else _ALIVE
    return guards


def _regions(wires: Wires, dead: List[int]) -> Dict[int, int]:
    parent: Dict[int, int] = {}

    def find(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for edge in dead:
        a, b = find(wires.src[edge]), find(wires.dst[edge])
        if a != b:
            parent[max(a, b)] = min(a, b)
    return {node: find(node) for node in sorted(parent)}
