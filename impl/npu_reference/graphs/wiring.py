"""Decides in which order the operators of a graph can be looked at, and where each gets its tensors from."""

from __future__ import annotations

from collections import deque
from typing import Deque, List, Tuple

from .graph import Graph

__all__ = ["Wiring"]

_BACK = ("NextIteration", "RefNextIteration")


class Wiring:
    """Data inputs and consumers of every node of a graph.

    Attributes:
        inputs: by node, its data inputs in order as (node, slot).
        consumers: by node, the nodes that read any of its outputs.
        order: all nodes, every one after its producers, loop back edges aside (P4). O(V + E).
    """

    __slots__ = ("consumers", "inputs", "order")

    def __init__(self, graph: Graph) -> None:
        count = len(graph.nodes)
        edges = graph.edges
        self.inputs: List[List[Tuple[int, int]]] = [[] for _ in range(count)]
        self.consumers: List[List[int]] = [[] for _ in range(count)]
        back = [node.op in _BACK for node in graph.nodes]
        ordered = True
        found: List[List[Tuple[int, int, int]]] = [[] for _ in range(count)]
        for src, src_slot, dst, dst_slot in zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot):
            if dst_slot >= 0:
                found[dst].append((dst_slot, src, src_slot))
                self.consumers[src].append(dst)
                if src >= dst and not back[src]:
                    ordered = False
        for node, reads in enumerate(found):
            reads.sort()
            self.inputs[node] = [(src, slot) for _, src, slot in reads]
        self.order = list(range(count)) if ordered else self._sorted(back)

    def _sorted(self, back: List[bool]) -> List[int]:
        waiting = [sum(not back[src] for src, _ in reads) for reads in self.inputs]
        ready: Deque[int] = deque(node for node, count in enumerate(waiting) if count == 0)
        order: List[int] = []
        while ready:
            node = ready.popleft()
            order.append(node)
            if back[node]:
                continue
            for consumer in self.consumers[node]:
                waiting[consumer] -= 1
                if waiting[consumer] == 0:
                    ready.append(consumer)
        return order
