"""Laws about how many GEOPs there are."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from npu_conformance.strength.laws.partitions.parts import in_order
from npu_conformance.strength.laws.partitions.reading import HOST, LawReading
from npu_reference.graphs import Graph

__all__ = ["counted", "least_needed"]


def counted(reading: LawReading) -> List[str]:
    """minimum <= GEOPs <= contracted: no two neighbours are left that could have been one; full offload keeps one."""
    count = len(reading.answer["geops"])
    least = reading.answer.get("min_geops")
    faults = []
    if least is not None and not 0 <= least <= count:
        faults.append(f"at least {least} GEOPs are said to be needed, and there are {count}")
    if least == 0 and count:
        faults.append(f"no GEOP is said to be needed, and there are {count}")
    if not reading.question.mixed and count > 1:
        faults.append(f"full offload gives {count} GEOPs")
    apart = reading.question.mixed and not reading.question.ranged
    return faults + (_uncontracted(reading) if apart else [])


_PLAIN = frozenset(
    ["Relu", "Identity", "Neg", "AddV2", "AddN", "IdentityN", "PyFunc", "Const", "NoOp", "_Arg", "_Retval"]
)
_BRANCHING = ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch")


def _plain(graph: Graph) -> bool:
    """Whether operators wait for each other by edges alone: no state, no branches, no functions, no handles."""
    return all(node.op in _PLAIN or _is_plain(graph, node.id) for node in graph.nodes)


def _is_plain(graph: Graph, node: int) -> bool:
    op, op_def = graph.nodes[node].op, graph.op_def(node)
    if op_def.is_stateful or op in graph.functions or op.endswith(_BRANCHING):
        return False
    return all(
        not dtype.is_ref and dtype.name not in ("resource", "variant", "string")
        for dtype in (*graph.input_dtypes(node), *graph.output_dtypes(node))
    )


def _uncontracted(reading: LawReading) -> List[str]:
    """Two neighbouring GEOPs of a plain graph with no other way between them: contraction makes one of them."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    if not _plain(graph):
        return []  # variables, loops and branches keep neighbours apart for reasons of their own
    count = len(reading.answer["geops"])
    vertex = [home if home >= 0 else count + node for node, home in sorted(reading.home.items())]
    after: List[Set[int]] = [set() for _ in range(count + len(vertex))]
    pairs: Dict[Tuple[int, int], int] = {}
    for edge, (source, target) in enumerate(zip(edges.src, edges.dst)):
        a, b = vertex[source], vertex[target]
        if a != b:
            after[a].add(b)
            if a < count and b < count and graph.nodes[source].op != "Const":
                pairs.setdefault((a, b), edge)
    for (a, b), edge in sorted(pairs.items()):
        if not _reaches(after, after[a] - {b}, b):
            ends = reading.name(edges.src[edge]), reading.name(edges.dst[edge])
            return [f"{ends[0]} and {ends[1]} are neighbours in two GEOPs, and nothing stands between them"]
    return []


def _reaches(after: Sequence[Set[int]], starts: Set[int], goal: int) -> bool:
    seen, pending = set(starts), list(starts)
    while pending:
        v = pending.pop()
        if v == goal:
            return True
        for w in after[v]:
            if w not in seen:
                seen.add(w)
                pending.append(w)
    return False


def least_needed(reading: LawReading) -> List[str]:
    """Of a plain graph the least number of GEOPs is the most that one path must visit, the host in between."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    if not reading.question.mixed or not _plain(graph):
        return []
    reads: List[List[int]] = [[] for _ in graph.nodes]
    for source, target in zip(edges.src, edges.dst):
        reads[target].append(source)
    visits = [0] * len(graph.nodes)  # GEOPs on the longest way to a node, its own among them
    after_host = [0] * len(graph.nodes)  # those that a host operator is behind
    for node in in_order(reads):
        on_device = reading.home[node] != HOST
        for source in reads[node]:
            if graph.nodes[source].op == "Const" and on_device and not reads[source]:
                continue  # a copy of it may lie in any GEOP; one that waits for something has its place behind that
            after_host[node] = max(after_host[node], after_host[source])
            if reading.home[source] == HOST or not on_device:
                after_host[node] = max(after_host[node], visits[source])
        visits[node] = after_host[node] + (1 if on_device else 0)
    expected = max(visits, default=0)
    least = reading.answer.get("min_geops")
    if least is not None and least != expected:
        return [f"at least {least} GEOPs are said to be needed; a path has to visit {expected}"]
    return []
