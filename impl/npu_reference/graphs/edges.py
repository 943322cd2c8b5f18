"""Decides the order of a graph's nodes and edges, on which the adapter's contraction and merging depend."""

from __future__ import annotations

import heapq
from typing import Container, List, Sequence, Tuple

__all__ = ["Edges", "creation_order", "CONTROL"]

#: The slot of both ends of a control edge, as in TensorFlow.
CONTROL = -1


class Edges:
    """A graph's edges as four columns of equal length; the position in them is the edge's id.

    ``src`` and ``dst`` are node ids, ``src_slot`` and ``dst_slot`` output and input numbers, -1 for control edges.
    TensorFlow's own source and sink nodes have no edges here.
    """

    __slots__ = ("dst", "dst_slot", "src", "src_slot")

    def __init__(self, src: List[int], src_slot: List[int], dst: List[int], dst_slot: List[int]) -> None:
        self.src = src
        self.src_slot = src_slot
        self.dst = dst
        self.dst_slot = dst_slot

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, edge: int) -> Tuple[int, int, int, int]:
        """``(src, src_slot, dst, dst_slot)`` of one edge."""
        return self.src[edge], self.src_slot[edge], self.dst[edge], self.dst_slot[edge]

    def is_control(self, edge: int) -> bool:
        return self.src_slot[edge] == CONTROL


def creation_order(
    sources: Sequence[Sequence[int]], controls: Sequence[int], merges: Container[int], next_iterations: Container[int]
) -> List[int]:
    """The order in which TensorFlow's importer makes the nodes of a GraphDef, and thereby numbers nodes and edges.

    A node is made once all its inputs are, of those ready the first in the GraphDef. A Merge with a data input from a
    NextIteration is ready with its control inputs and one other; whatever a NextIteration gives to a Merge, a control
    edge included, makes none ready. Edges are numbered as their destination is made, its inputs in order; an input not
    made by then is a loop's back edge and numbered after all others.

    Args:
        sources: for each node the ids of its inputs' nodes, control inputs last, in order.
        controls: for each node how many of its inputs are control inputs.
        merges: the nodes that are Merges.
        next_iterations: the nodes that are NextIterations.

    Returns: node ids; fewer than there are nodes when a cycle holds the rest. O(E + V log V).
    """
    count = len(sources)
    pending = [len(inputs) for inputs in sources]
    readers: List[List[int]] = [[] for _ in range(count)]
    for i, inputs in enumerate(sources):
        if i in merges and any(source in next_iterations for source in inputs[: len(inputs) - controls[i]]):
            pending[i] = controls[i] + 1
        for source in inputs:
            if not (i in merges and source in next_iterations):
                readers[source].append(i)
    ready = [i for i in range(count) if pending[i] == 0]
    order: List[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for reader in readers[i]:
            pending[reader] -= 1
            if pending[reader] == 0:
                heapq.heappush(ready, reader)
    return order
