"""An order of nodes in which every edge points forward, and what edges lead to."""

from __future__ import annotations

from typing import Callable, Iterable, List, Sequence, Set

from npu_reference.errors import NpuError

__all__ = ["orderable", "reached", "topological_order"]


def reached(edges_of: Callable[[int], Iterable[int]], ends: Sequence[int], starts: Iterable[int]) -> Set[int]:
    """Some nodes with all that is behind them, by out edges and heads, or before them, by in edges and tails.

    Args:
        edges_of: the edges of a node in the direction; ends: by edge, the node that it leads to.
    """
    seen = set(starts)
    pending = list(seen)
    while pending:
        for edge in edges_of(pending.pop()):
            if ends[edge] not in seen:
                seen.add(ends[edge])
                pending.append(ends[edge])
    return seen


def orderable(successors: Sequence[Iterable[int]]) -> List[int]:
    """A topological order of the nodes; those on a cycle or behind one are left out. O(nodes + edges)."""
    missing = [0] * len(successors)
    for heads in successors:
        for head in heads:
            missing[head] += 1
    ready = [node for node in range(len(successors) - 1, -1, -1) if not missing[node]]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for head in successors[node]:
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    return order


def topological_order(successors: Sequence[Iterable[int]]) -> List[int]:
    """A topological order of the nodes; NpuError GRAPH_CYCLE where there is none. O(nodes + edges)."""
    order = orderable(successors)
    if len(order) != len(successors):
        raise NpuError("GRAPH_CYCLE", "", "the graph has a cycle that is not a while loop.")
    return order
