"""What of a graph is one part to every law: loops, conditionals, what shares a reference."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from npu_conformance.strength.laws.partitions.reading import LawReading
from npu_reference.graphs import Graph
from npu_reference.graphs.frames import frames

__all__ = ["BACK", "FLOW", "conditionals", "homes_of_loops", "in_order", "loops_of", "on_cycles", "sharing_edges"]

BACK = ("NextIteration", "RefNextIteration")

#: What a loop of version 1 is made of.
_FLOW = ("Enter", "Exit", "Merge", "Switch", "NextIteration")
FLOW = frozenset({"LoopCond", *_FLOW, *(f"Ref{op}" for op in _FLOW)})


@functools.lru_cache(maxsize=8)
def loops_of(graph: Graph) -> Optional[Sequence[Any]]:
    """The loop of every node; None where there is none."""
    return frames(graph) if any(node.op in ("Enter", "RefEnter") for node in graph.nodes) else None


def homes_of_loops(reading: LawReading, loops: Sequence[Any]) -> Dict[object, Optional[int]]:
    """Loop to where all of it is, loops inside as well; None where it is in several places."""
    found: Dict[object, Optional[int]] = {}
    for node, frame in enumerate(loops):
        while frame is not None:
            if reading.question.graph.nodes[node].op != "Const":
                place = found.setdefault(frame, reading.home[node])
                found[frame] = place if place == reading.home[node] else None
            frame = frame.parent
    return found


def on_cycles(after: Sequence[Set[int]]) -> Set[int]:
    """Vertices on a cycle or behind one, none where there is no cycle. O(V + E)."""
    before: List[List[int]] = [[] for _ in after]
    for v, heads in enumerate(after):
        for head in heads:
            before[head].append(v)
    return set(range(len(after))).difference(in_order(before))


def in_order(reads: Sequence[Sequence[int]]) -> List[int]:
    """Nodes behind all that they read, but for those on a cycle or behind one; O(V + E)."""
    missing = [len(sources) for sources in reads]
    readers: List[List[int]] = [[] for _ in reads]
    for node, sources in enumerate(reads):
        for source in sources:
            readers[source].append(node)
    order = [node for node, count in enumerate(missing) if not count]
    for node in order:
        for reader in readers[node]:
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    return order


_KINDS_THAT_STAY = ("resource", "variant")
_SWITCHES, _MERGES = ("Switch", "RefSwitch"), ("Merge", "RefMerge")


@functools.lru_cache(maxsize=8)
def sharing_edges(graph: Graph, *more: str) -> Sequence[int]:
    """The edges that carry what cannot cross a border: a reference, a handle, a variant (M20); types `more`."""
    edges, found = graph.edges, []
    special = {
        node.id: dtypes
        for node in graph.nodes
        for dtypes in [graph.output_dtypes(node.id)]
        if any(dtype.is_ref or dtype.name in (*_KINDS_THAT_STAY, *more) for dtype in dtypes)
    }
    if not special:
        return []
    for edge, (source, slot, target, place) in enumerate(zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot)):
        if slot < 0 or source not in special:
            continue
        given = special[source][slot]
        if given.base.name in (*_KINDS_THAT_STAY, *more) or (given.is_ref and graph.input_dtypes(target)[place].is_ref):
            found.append(edge)
    return found


@functools.lru_cache(maxsize=8)
def conditionals(graph: Graph) -> Mapping[int, int]:
    """Nodes of conditionals, from each Switch up to its Merge, with one number for each conditional.

    What a loop's own Switch gives is no branch.
    """
    edges, nodes = graph.edges, graph.nodes
    if not any(node.op in _SWITCHES for node in nodes):
        return {}
    reads: List[List[int]] = [[] for _ in nodes]
    tests = {source for source, slot in zip(edges.src, edges.src_slot) if nodes[source].op == "LoopCond"}
    own = {target for source, target in zip(edges.src, edges.dst) if source in tests}
    for edge, (source, target) in enumerate(zip(edges.src, edges.dst)):
        if nodes[source].op not in BACK:
            reads[target].append(edge)
    parent = list(range(len(nodes)))

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    inside, dead = set(), set()
    for node in in_order([[edges.src[edge] for edge in found] for found in reads]):
        for edge in reads[node]:
            source = edges.src[edge]
            cut = nodes[source].op in _SWITCHES and source not in own and edges.src_slot[edge] >= 0
            if cut or source in dead:
                inside |= {source, node}
                parent[find(node)] = find(source)
                if nodes[node].op not in _MERGES:
                    dead.add(node)
    return {node: find(node) for node in inside}
