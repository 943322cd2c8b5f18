"""How operators that stay on the host take others with them: along references and handles, and over loop frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.reasons import Cause, Reason
from npu_reference.partition.structure.wires import CONTROL, PLAIN, REF, RESOURCE, STRING, VARIANT, Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["add_constants", "constants_behind_controls", "spread", "spread_over_frames", "spread_over_regions"]

_EDGE_REASON = {
    REF: (Reason.REF_EDGE, "reference"),
    RESOURCE: (Reason.RESOURCE_EDGE, "resource"),
    VARIANT: (Reason.VARIANT_EDGE, "variant"),
    STRING: (Reason.STRING_EDGE, "string"),
}


def spread(
    graph: Graph,
    wires: Wires,
    settings: PartitionSettings,
    candidate: bytearray,
    cause: Dict[int, Cause],
    sources: Iterable[int],
    variants: bool,
) -> List[int]:
    """Evict what shares a reference, resource or string, and where `variants` says so a variant, with `sources`.

    Level by level from `sources`, so that each chain recorded is a shortest one; of several the choice is by what is
    shared and by name, so that the order of nodes and edges does not show. `candidate` and `cause` are updated;
    answers the evicted nodes. Each edge is looked at twice at most.
    """
    if not wires.outputs and not wires.ref_inputs:
        return []
    kind, nodes = wires.kind, graph.nodes
    touched = _touched(wires)
    level = [node for node in sources if node in touched]
    evicted: List[int] = []
    while level:
        found: Dict[int, Tuple[int, str, int]] = {}
        for node in level:
            if nodes[node].op == "Const":
                continue
            for edge, other in _neighbours(graph, wires, node):
                sort = kind[edge]
                if sort in (PLAIN, CONTROL) or not candidate[other]:
                    continue
                if sort == STRING and _pre_processed(graph, wires, edge, settings):
                    continue
                if sort == VARIANT and not variants:
                    continue
                if nodes[other].op == "Assert" or nodes[other].has_attr("_op_max_size"):
                    continue
                choice = sort, nodes[node].name, node
                if other not in found or choice < found[other]:
                    found[other] = choice
        for other, (sort, name, node) in found.items():
            candidate[other] = 0
            reason, word = _EDGE_REASON[sort]
            cause[other] = Cause(reason, f"it shares a {word} with {name} ({nodes[node].op})", node)
        level = list(found)
        evicted.extend(level)
    return evicted


def _touched(wires: Wires) -> Set[int]:
    """Nodes at either end of an edge that eviction can go along."""
    touched: Set[int] = set()
    for edge, sort in enumerate(wires.kind):
        if sort > CONTROL:
            touched.add(wires.src[edge])
            touched.add(wires.dst[edge])
    return touched


def _neighbours(graph: Graph, wires: Wires, node: int) -> List[Tuple[int, int]]:
    found = [(edge, wires.src[edge]) for edge in graph.in_edges(node)]
    found.extend((edge, wires.dst[edge]) for edge in graph.out_edges(node))
    return found


def _pre_processed(graph: Graph, wires: Wires, edge: int, settings: PartitionSettings) -> bool:
    return settings.data_pre_proc and graph.nodes[wires.src[edge]].op == "IteratorGetNext"


def spread_over_frames(
    graph: Graph, frames: Sequence, candidate: bytearray, cause: Dict[int, Cause], sources: Iterable[int]
) -> List[int]:
    """Evict all candidates of every loop frame that holds one of `sources`, and of the frames around it (M21).

    Frames inside are left alone. Constants are evicted as well. Answers the evicted nodes.
    """
    culprit: Dict[object, int] = {}
    for node in sorted((node for node in sources if frames[node] is not None), key=lambda i: graph.nodes[i].name):
        frame = frames[node]
        while frame is not None and frame not in culprit:
            culprit[frame] = node
            frame = frame.parent
    if not culprit:
        return []
    evicted = []
    for node, frame in enumerate(frames):
        if frame is not None and frame in culprit and candidate[node]:
            other = culprit[frame]
            candidate[node] = 0
            cause[node] = Cause(
                Reason.FRAME, f"in loop {frame.name} with {graph.nodes[other].name} ({graph.nodes[other].op})", other
            )
            evicted.append(node)
    return evicted


def constants_behind_controls(graph: Graph, wires: Wires, supported_op: Mapping[str, Optional[Cause]]) -> List[int]:
    """Constants with a control input from an operator whose type could be offloaded."""
    nodes = graph.nodes
    found = []
    for node in nodes:
        if node.op == "Const" and node.inputs:
            sources = (nodes[wires.src[edge]].op for edge in graph.in_edges(node.id))
            if any(supported_op.get(op, True) is None for op in sources):
                found.append(node.id)
    return found


def add_constants(graph: Graph, wires: Wires, candidate: bytearray) -> None:
    """Every constant with a candidate among its readers becomes a candidate, whatever marks it carries."""
    constants = bytearray(node.op == "Const" for node in graph.nodes)
    for source, target in zip(wires.src, wires.dst):
        if constants[source] and candidate[target] and not constants[target]:
            candidate[source] = 1
    for source, target in zip(wires.src, wires.dst):  # a constant that another constant waits for
        if constants[source] and candidate[target]:
            candidate[source] = 1


def spread_over_regions(
    graph: Graph, region: Mapping[int, int], candidate: bytearray, cause: Dict[int, Cause], sources: Iterable[int]
) -> List[int]:
    """Evict all candidates of every conditional that holds one of `sources` (M21). Answers the evicted nodes."""
    culprit: Dict[int, int] = {}
    for node in sorted((node for node in sources if node in region), key=lambda i: graph.nodes[i].name):
        culprit.setdefault(region[node], node)
    evicted = []
    for node, found in region.items():
        if found in culprit and candidate[node]:
            other = culprit[found]
            candidate[node] = 0
            detail = f"in a conditional with {graph.nodes[other].name} ({graph.nodes[other].op})"
            cause[node] = Cause(Reason.CONDITIONAL, detail, other)
            evicted.append(node)
    return evicted
