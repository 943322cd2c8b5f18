"""Orders that no edge shows: what takes from a queue waits for what puts into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Set, Tuple

from npu_reference.partition.structure.scc import components
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["hidden_edges"]

_PUTS = ("QueueEnqueue", "QueueEnqueueMany", "BarrierInsertMany", "Stage", "MapStage", "OrderedMapStage",
         "AccumulatorApplyGradient", "SparseAccumulatorApplyGradient", "ResourceAccumulatorApplyGradient")  # fmt: skip
_TAKES = ("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "BarrierTakeMany", "Unstage", "MapUnstage",
          "MapUnstageNoKey", "OrderedMapUnstage", "OrderedMapUnstageNoKey", "AccumulatorTakeGradient",
          "SparseAccumulatorTakeGradient", "ResourceAccumulatorTakeGradient")  # fmt: skip
_STAGING = ("Stage", "Unstage")


def hidden_edges(graph: Graph, wires: Wires) -> List[Tuple[int, int]]:
    """(put, take) for every two operators of one queue, barrier, accumulator or staging area.

    Left out where the graph itself orders them the other way round. O(nodes + edges) beside the pairs.
    """
    puts: Dict[object, List[int]] = {}
    takes: Dict[object, List[int]] = {}
    for node in graph.nodes:
        op = node.op[:-2] if node.op.endswith("V2") else node.op
        if op in _PUTS:
            puts.setdefault(_store(graph, wires, node.id), []).append(node.id)
        elif op in _TAKES:
            takes.setdefault(_store(graph, wires, node.id), []).append(node.id)
    found: List[Tuple[int, int]] = []
    for store in puts:
        for take in takes.get(store, ()):
            before = _after(graph, wires, take)
            found.extend((put, take) for put in puts[store] if put not in before)
    return _without_cycles(graph, wires, found)


def _without_cycles(graph: Graph, wires: Wires, pairs: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """The pairs that the graph leaves a choice: two queues that fill each other order nothing."""
    if not pairs:
        return pairs
    successors: List[List[int]] = [[] for _ in graph.nodes]
    for source, target in zip(wires.src, wires.dst):
        successors[source].append(target)
    for put, take in pairs:
        successors[put].append(take)
    component = components(successors)
    return [(put, take) for put, take in pairs if component[put] != component[take]]


def _store(graph: Graph, wires: Wires, node: int) -> object:
    """What names the queue: the operator its handle comes from, or for staging areas the shared name."""
    if any(word in graph.nodes[node].op for word in _STAGING):
        return "staging", graph.nodes[node].text("container"), graph.nodes[node].text("shared_name")
    for edge in graph.in_edges(node):
        if wires.dst_slot[edge] == 0:
            source = wires.src[edge]
            shared = graph.nodes[source].text("shared_name")
            return ("shared", shared) if shared else ("node", source)
    return "node", node


def _after(graph: Graph, wires: Wires, node: int) -> Set[int]:
    seen = {node}
    pending = [node]
    while pending:
        for edge in graph.out_edges(pending.pop()):
            target = wires.dst[edge]
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen
