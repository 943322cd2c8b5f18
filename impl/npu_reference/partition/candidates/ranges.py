"""Which operators the ranges of in_out_pair hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Set, Tuple

from npu_reference.options.grammars.in_out_pair import Range
from npu_reference.partition.model import Note
from npu_reference.partition.structure.topology import reached
from npu_reference.partition.structure.wires import Wires
from npu_reference.spelling import did_you_mean

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["Selection", "select", "select_as_adapter"]


class Selection(NamedTuple):
    """The nodes of all ranges, each with the number of the first entry that holds it; and what matched nothing."""

    entry: Dict[int, int]
    notes: Tuple[Note, ...]


def select(graph: Graph, wires: Wires, ranges: Sequence[Range]) -> Selection:
    """Every node on a directed path, control edges included, from an in node to an out node of one entry (M5-M10).

    Both ends belong to the range, entries are united, and neither the order of entries nor of names matters. O(entries
    · edges).
    """
    entry: Dict[int, int] = {}
    notes: List[Note] = []
    for number, item in enumerate(ranges):
        missing_out = [name for name in item.out_nodes if name not in graph.index]
        for name in missing_out:
            notes.append(_unknown(graph, name, number, "out node", "the entry is skipped"))  # M10
        if missing_out:
            continue
        starts = []
        for name in item.in_nodes:
            if name in graph.index:
                starts.append(graph.index[name])
            else:
                notes.append(_unknown(graph, name, number, "in node", "it is skipped"))  # M9
        ends = [graph.index[name] for name in item.out_nodes]
        inside = reached(graph.out_edges, wires.dst, starts) & reached(graph.in_edges, wires.src, ends)
        for node in sorted(inside):
            entry.setdefault(node, number)
        notes.extend(_lonely(graph, item, number, starts, ends, inside))
    return Selection(entry, tuple(notes))


def _lonely(
    graph: Graph, item: Range, number: int, starts: Sequence[int], ends: Sequence[int], inside: Set[int]
) -> List[Note]:
    """Notes on ends that no path joins (M8)."""
    notes = []
    for role, nodes, other in (("in node", starts, "out node"), ("out node", ends, "in node")):
        for node in nodes:
            if node not in inside:
                name = graph.nodes[node].name
                notes.append(
                    Note(
                        "RANGE_NO_PATH",
                        f"in_out_pair entry {number}: no path joins the {role} {name} to any {other} of the entry.",
                        name,
                        "error",
                    )
                )
    return notes


def _unknown(graph: Graph, name: str, number: int, role: str, consequence: str) -> Note:
    hint = did_you_mean(name, graph.index)
    return Note(
        "RANGE_UNKNOWN_NODE",
        f"in_out_pair entry {number}: the {role} {name} is not in this graph; {consequence}. "
        f"Names are matched whole, without an output number. {hint}".rstrip(),
        name,
        "error",
    )


def select_as_adapter(graph: Graph, wires: Wires, ranges: Sequence[Range]) -> Selection:
    """The nodes that the adapter's own search selects: depth first, so that the order of entries and edges matters.

    A path ends at the first out node it meets, or at any node an earlier pair has selected; so an out node behind
    another needs a path of its own.
    """
    entry: Dict[int, int] = {}
    notes: List[Note] = []
    for number, item in enumerate(ranges):
        missing = [name for name in (*item.in_nodes, *item.out_nodes) if name not in graph.index]
        missing_out = [name for name in item.out_nodes if name not in graph.index]
        for name in missing:
            notes.append(_unknown(graph, name, number, "node", "the adapter logs an error and drops it"))
        if missing_out:
            continue
        ends = {graph.index[name] for name in item.out_nodes}
        for name in item.in_nodes:
            if name in graph.index:
                for node in _search(graph.index[name], ends, set(entry), graph, wires):
                    entry.setdefault(node, number)
    return Selection(entry, tuple(notes))


def _search(start: int, ends: Set[int], selected: Set[int], graph: Graph, wires: Wires) -> Set[int]:
    """Nodes on paths from `start` that stop at the first end or selected node."""
    stops = ends | selected
    order: List[int] = []
    seen = {start}
    pending = [start]
    while pending:
        node = pending.pop()
        order.append(node)
        if node in stops:
            continue
        for edge in graph.out_edges(node):
            other = wires.dst[edge]
            if other not in seen:
                seen.add(other)
                pending.append(other)
    keep = {node for node in order if node in stops}
    pending = list(keep)
    while pending:
        for edge in graph.in_edges(pending.pop()):
            other = wires.src[edge]
            if other in seen and other not in stops and other not in keep:
                keep.add(other)
                pending.append(other)
    return keep
