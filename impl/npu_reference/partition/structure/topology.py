"""An order of nodes in which every edge points forward."""

from __future__ import annotations

from typing import Iterable, List, Sequence

from npu_reference.errors import NpuError

__all__ = ["topological_order"]


def topological_order(count: int, successors: Sequence[Iterable[int]]) -> List[int]:
    """A topological order of the nodes; NpuError GRAPH_CYCLE where there is none. O(nodes + edges)."""
    missing = [0] * count
    for heads in successors:
        for head in heads:
            missing[head] += 1
    ready = [node for node in range(count - 1, -1, -1) if not missing[node]]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for head in successors[node]:
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    if len(order) != count:
        raise NpuError("GRAPH_CYCLE", "", "the graph has a cycle that is not a while loop.")
    return order
