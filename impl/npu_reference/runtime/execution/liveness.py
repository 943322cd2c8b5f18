"""Which tensors of a graph do not have exactly one value in a run: those of v1 branches not taken, and of loops."""

from __future__ import annotations

from typing import FrozenSet, List, Optional, Tuple

from npu_reference.graphs import Graph, frames
from npu_reference.partition.structure.topology import orderable

__all__ = ["conditions", "predicate", "unsteady"]

_SWITCHES = ("Switch", "RefSwitch", "_SwitchN")
_MERGES = ("Merge", "RefMerge")
_ENTERS = ("Enter", "RefEnter")
_EXITS = ("Exit", "RefExit")
_BACK = ("NextIteration", "RefNextIteration")

#: What a node runs under: the Switch's predicate (node, slot) and the side.
_Condition = Tuple[int, int, int]
_Conditions = FrozenSet[_Condition]

_NONE: _Conditions = frozenset()


def unsteady(graph: Graph) -> Optional[List[bool]]:
    """For every node whether its outputs may be dead or come several times in one run; None if nothing can. O(V + E).

    A condition begins at a Switch and ends at the Merge that joins its two sides. Where a graph is not built the way
    cond and while_loop build it, the answer errs on the unsteady side.
    """
    if not any(node.op in _SWITCHES or node.op in _ENTERS for node in graph.nodes):
        return None
    known = conditions(graph)
    frame = frames(graph)
    result = []
    for node in graph.nodes:
        found = known[node.id]
        inside = frame[node.id]
        if inside is not None and node.op in _EXITS:
            inside = inside.parent
        result.append(found is None or bool(found) or node.op in _SWITCHES or inside is not None)
    return result


def conditions(graph: Graph) -> List[Optional[_Conditions]]:
    """What each node runs under: the sides of Switches, whatever decides a loop. None where that is not known."""
    known: List[Optional[_Conditions]] = [None] * len(graph.nodes)
    forward = [_forward_edges(graph, i) for i in range(len(graph.nodes))]
    successors: List[List[int]] = [[] for _ in graph.nodes]
    for reader, edges in enumerate(forward):
        for edge in edges:
            successors[graph.edges.src[edge]].append(reader)
    for i in orderable(successors):
        known[i] = _conditions_of(graph, i, forward[i], known)
    return known


def _forward_edges(graph: Graph, i: int) -> List[int]:
    return [edge for edge in graph.in_edges(i) if graph.nodes[graph.edges.src[edge]].op not in _BACK]


def _conditions_of(graph: Graph, i: int, edges: List[int], known: List[Optional[_Conditions]]) -> _Conditions:
    if graph.nodes[i].op in _MERGES:
        return _joined([_along(graph, edge, known) for edge in edges if graph.edges.dst_slot[edge] >= 0])
    every = [_along(graph, edge, known) for edge in edges]
    return _NONE.union(*every)


def _along(graph: Graph, edge: int, known: List[Optional[_Conditions]]) -> _Conditions:
    """The conditions under which something arrives along an edge."""
    source = graph.edges.src[edge]
    found = known[source] or _NONE
    if graph.nodes[source].op not in _SWITCHES:
        return found
    decides = predicate(graph, source)
    if decides is None or graph.nodes[decides[0]].op == "LoopCond":
        return found
    return found | {(decides[0], decides[1], graph.edges.src_slot[edge])}


def predicate(graph: Graph, switch: int) -> Optional[Tuple[int, int]]:
    """The tensor that decides a Switch, looked up through Identity: each cond makes one of its predicate."""
    at = _input(graph, switch, 1)
    while at is not None and graph.nodes[at[0]].op == "Identity":
        above = _input(graph, at[0], 0)
        if above is None:
            break
        at = above
    return at


def _input(graph: Graph, i: int, slot: int) -> Optional[Tuple[int, int]]:
    for edge in graph.in_edges(i):
        if graph.edges.dst_slot[edge] == slot:
            return graph.edges.src[edge], graph.edges.src_slot[edge]
    return None


def _joined(arriving: List[_Conditions]) -> _Conditions:
    """What still has to hold after a Merge."""
    if len(arriving) != 2:
        return _NONE.union(*arriving)
    first, second = arriving
    for node, slot, side in first - second:
        if (node, slot, 1 - side) in second and first - {(node, slot, side)} == second - {(node, slot, 1 - side)}:
            return first & second
    return first | second
