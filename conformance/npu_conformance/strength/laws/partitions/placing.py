"""Laws about where operators are."""

from __future__ import annotations

from typing import Any, List, Mapping, Set

from npu_conformance.strength.laws.partitions.parts import conditionals, loops_of, sharing_edges
from npu_conformance.strength.laws.partitions.reading import COPIED, ENDS, HOST, VARIABLES, LawReading
from npu_reference.graphs import Graph

__all__ = ["offloaded", "only_device_operators", "placed_once", "reasoned"]

#: Functions of Python, which no device has.
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def placed_once(reading: LawReading) -> List[str]:
    faults = list(reading.faults)
    for entry in reading.answer["host"]:
        node = reading.question.graph.index.get(entry["node"])
        if node is not None and entry.get("op") not in (None, reading.question.graph.nodes[node].op):
            faults.append(f"{entry['node']} is said to be a {entry['op']}")
    return faults


def only_device_operators(reading: LawReading) -> List[str]:
    graph, operators, mixed = reading.question[:3]
    faults = []
    for node, home in reading.home.items():
        if home == HOST:
            continue
        op = graph.nodes[node].op
        if op in ENDS:
            faults.append(f"{reading.name(node)} stands for a feed or a fetch, which the host gives and takes")
        elif mixed and graph.nodes[node].attr("_without_npu_compile") is True and op != "Const":
            faults.append(f"{reading.name(node)} ({op}) was built inside without_npu_compile_scope")
        elif op in graph.functions or op == "Const":
            continue
        elif op in _PYTHON or (operators is not None and op not in operators):
            faults.append(f"{reading.name(node)} is a {op}, which the device does not have")
        elif mixed and operators is not None and operators[op].get("isGray"):
            faults.append(f"{reading.name(node)} is a {op}, which stays on the host in mixed computing")
    return faults


def reasoned(reading: LawReading) -> List[str]:
    return [f"{entry['node']} is on the host without a reason" for entry in reading.answer["host"]
            if not entry.get("reason")]  # fmt: skip


def offloaded(reading: LawReading) -> List[str]:
    """What no sentence keeps on the host is on the device; in full offload, where nothing is kept there at all."""
    graph, operators, mixed, _, kept_variables = reading.question
    if operators is None:
        return []
    kept = {node.id for node in graph.nodes if _stays(graph, node.id, operators, mixed)}
    variables = {node.id for node in graph.nodes if node.op in VARIABLES}
    if kept_variables or (mixed and any(reading.home.get(node) == HOST for node in variables)):
        kept |= variables  # in mixed computing they may stay on the host (M20)
    if any(graph.nodes[node].op not in ENDS for node in kept):
        kept |= _handed_on(graph)
    kept = _spread(graph, kept)
    if not mixed and any(graph.nodes[node].op not in ENDS for node in kept):
        return []  # the largest region is on the device, and which that is depends on how regions are made (M2)
    free = ("Const", "NoOp", "Identity")  # constants follow who reads them (M13), and tiny regions may stay (M27)
    return [
        f"{reading.name(node)} ({graph.nodes[node].op}) is on the host, and nothing keeps it there"
        for node, home in sorted(reading.home.items())
        if home == HOST and node not in kept and graph.nodes[node].op not in free
    ]


def _stays(graph: Graph, node: int, operators: Mapping[str, Mapping[str, bool]], mixed: bool) -> bool:
    """Whether an operator, or what it calls, stays on the host for what it is (M1, M22)."""
    own = graph.nodes[node]
    if own.op == "Const":
        return False
    if own.op in ENDS or (mixed and own.attr("_without_npu_compile") is True):
        return True
    pending, seen = [own.op], set()
    function = own.attr("f")
    if function is not None:
        pending.append(function.name)
    while pending:
        name = pending.pop()
        if name not in graph.functions:
            if name not in operators or (mixed and operators[name].get("isGray")):
                return True
        elif name not in seen:
            seen.add(name)
            pending += [inner.op for inner in graph.functions[name].proto.node_def]
    return False


def _spread(graph: Graph, kept: Set[int]) -> Set[int]:
    """With all that shares a reference, a handle, a variant or a text with them, and whole loops and conditionals."""
    found = set(kept)
    loops, branches, edges = loops_of(graph) or [None] * len(graph.nodes), conditionals(graph), graph.edges
    shared = [(edges.src[edge], edges.dst[edge]) for edge in sharing_edges(graph, "string")]
    while True:
        before = len(found)
        for source, target in shared:
            if source in found or target in found:
                found |= {source, target}
        touched = set()
        for node in found:
            frame = loops[node]
            while frame is not None:
                touched.add(frame)
                frame = frame.parent
        cut = {branches[node] for node in found if node in branches}
        # Of a loop inside of one that is kept no reading says where it is.
        found |= {node for node, frame in enumerate(loops) if frame is not None and _among(frame, touched)}
        found |= {node for node, branch in branches.items() if branch in cut}
        if len(found) == before:
            return found


def _among(frame: Any, touched: Set[Any]) -> bool:
    while frame is not None:
        if frame in touched:
            return True
        frame = frame.parent
    return False


def _handed_on(graph: Graph) -> Set[int]:
    """Operators that hand a reference on: where the host is between such, which of them stay depends on how regions
    are made. What takes it from the variable itself is apart: each GEOP may have a copy of that."""
    edges = graph.edges
    ends = [(edges.src[edge], edges.dst[edge]) for edge in sharing_edges(graph)]
    return {node for pair in ends if graph.nodes[pair[0]].op not in COPIED for node in pair}
