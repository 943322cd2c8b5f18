"""Laws about what no border cuts, and about GEOPs that would wait for themselves."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Set, Tuple

from npu_conformance.strength.laws.partitions.parts import (
    BACK,
    FLOW,
    conditionals,
    homes_of_loops,
    loops_of,
    on_cycles,
    sharing_edges,
)
from npu_conformance.strength.laws.partitions.reading import HOST, LawReading

__all__ = ["acyclic", "whole_parts"]


def acyclic(reading: LawReading) -> List[str]:
    graph = reading.question.graph
    count = len(reading.answer["geops"])
    vertex = [home if home >= 0 else count + node for node, home in sorted(reading.home.items())]
    after: List[Set[int]] = [set() for _ in range(count + len(vertex))]
    edges = graph.edges
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        if graph.nodes[source].op in BACK or (slot >= 0 and reading.copied(source, reading.home[target])):
            continue
        if vertex[source] != vertex[target]:
            after[vertex[source]].add(vertex[target])
    rest = on_cycles(after)
    for number in range(count):
        if number in rest:
            member = next(node for node, home in sorted(reading.home.items()) if home == number)
            return [f"the GEOP of {reading.name(member)} would wait for itself: a path leaves it and comes back"]
    return _around_loops(reading)


def _around_loops(reading: LawReading) -> List[str]:
    """Every turn of a loop on the host needs what the loop is given, and what is behind it needs the last turn."""
    graph, home = reading.question.graph, reading.home
    loops = loops_of(graph)
    if loops is None:
        return []
    inside = {frame for frame, place in homes_of_loops(reading, loops).items() if place is not None and place != HOST}
    vertices: Dict[object, int] = {}
    vertex = []
    for node in range(len(graph.nodes)):
        outer, frame = None, loops[node]
        while frame is not None:
            outer, frame = outer if frame in inside else frame, frame.parent
        key = ("loop", outer) if outer is not None else ("geop", home[node]) if home[node] != HOST else ("node", node)
        vertex.append(vertices.setdefault(key, len(vertices)))
    after: List[Set[int]] = [set() for _ in vertices]
    edges = graph.edges
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        copied = slot >= 0 and reading.copied(source, home[target])
        if vertex[source] != vertex[target] and not copied:
            after[vertex[source]].add(vertex[target])
    rest = on_cycles(after)
    for node, number in enumerate(vertex):
        if number in rest and home[node] != HOST and loops[node] is None:
            return [f"the GEOP of {reading.name(node)} would wait for a loop that waits for it in every turn"]
    return []


def whole_parts(reading: LawReading) -> List[str]:
    """Loops and conditionals are in one place each (M21); references, handles and variants cross no border (M20)."""
    graph, home = reading.question.graph, reading.home
    faults = []
    for edge in sharing_edges(graph):
        source, target = graph.edges.src[edge], graph.edges.dst[edge]
        if home[source] != home[target] and not reading.copied(source, home[target]):
            faults.append(f"{reading.name(target)} takes over a border what {reading.name(source)} has")
    first: Dict[object, int] = {}
    loops = loops_of(graph)
    faults += _levels(reading, loops) if loops is not None else []
    inside = [(node, frame) for node, frame in enumerate(loops or ()) if frame is not None]
    for node, frame in sorted(inside, key=lambda one: graph.nodes[one[0]].op not in FLOW):
        op, one = graph.nodes[node].op, first.setdefault(frame, node)
        # What a loop of the host computes with may be on the device (M21).
        if home[one] != home[node] and op != "Const" and (op in FLOW or home[one] != HOST):
            words = f"{reading.name(one)} is elsewhere than {reading.name(node)}"
            faults.append(f"the loop {frame.name} is cut: {words}")
    for node, branch in sorted(conditionals(graph).items()):
        one = first.setdefault(branch, node)
        if home[one] != home[node] and "Const" not in (graph.nodes[node].op, graph.nodes[one].op):
            faults.append(f"a conditional is cut: {reading.name(one)} is elsewhere than {reading.name(node)}")
    return faults


def _levels(reading: LawReading, loops: Sequence[Any]) -> List[str]:
    """A GEOP runs at one level, in the graph itself or in the turns of one loop: the loops it holds, it holds whole."""
    whole = homes_of_loops(reading, loops)
    found: Dict[int, Tuple[int, object]] = {}
    for node, frame in enumerate(loops):
        home = reading.home[node]
        if home == HOST or reading.question.graph.nodes[node].op == "Const":
            continue
        while frame is not None and whole[frame] == home:
            frame = frame.parent
        one, level = found.setdefault(home, (node, frame))
        if level is not frame:
            return [f"{reading.name(one)} and {reading.name(node)} are in one GEOP, and not in the same loops"]
    return []
