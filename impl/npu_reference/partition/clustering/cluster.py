"""From candidates to groups: which nodes share a GEOP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, FrozenSet, List, Mapping, NamedTuple, Sequence, Set

from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.clustering.contract import Contraction, contract
from npu_reference.partition.clustering.merge import (
    Clusters,
    Marks,
    cluster_of,
    keep_largest_group,
    merge_pairs,
    merge_pairs_loosely,
)
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["Grouping", "group"]

_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")


class Grouping(NamedTuple):
    """`group[node]` numbers the GEOPs from 0 in order of their first node, -1 on the host; `contracted` counts the
    clusters before merging; `isolated` says that lone NoOps and Identities were sent to the host."""

    group: List[int]
    contracted: int
    isolated: bool
    contraction: Contraction


def group(graph: Graph, wires: Wires, candidate: Sequence[int], settings: PartitionSettings, flavour: str) -> Grouping:
    """Contract and merge as the adapter does. O(E log E) beside the merging of clusters."""
    nodes = graph.nodes
    untied = [edge for edge, source in enumerate(wires.src) if nodes[source].op in _NEXT_ITERATIONS]
    untried: List[int] = []
    if settings.lazy_recompile and settings.data_pre_proc:
        untried = [edge for edge, source in enumerate(wires.src) if nodes[source].op == "IteratorGetNext"]
    marks = _start_names(graph, candidate, settings)
    contraction = contract(
        len(nodes), wires.src, wires.dst, candidate, flavour=flavour, untied=untied, untried=untried, marks=marks
    )
    clusters = Clusters(contraction, candidate)
    if len(clusters) and max(clusters.sizes) == 1:
        return _lone_operators(graph, candidate, settings, clusters, marks)
    into = _merge(clusters, settings, _united(clusters, marks))
    return Grouping(_number(cluster_of(clusters, into, candidate)), len(clusters), False, contraction)


def _merge(clusters: Clusters, settings: PartitionSettings, marks: Marks) -> List[int]:
    if settings.mix:
        return merge_pairs(clusters, marks)
    if settings.lazy_recompile:
        return merge_pairs_loosely(clusters)
    return keep_largest_group(clusters)


def _start_names(graph: Graph, candidate: Sequence[int], settings: PartitionSettings) -> Dict[int, FrozenSet[str]]:
    """Of every candidate that has any the start nodes in `_StartNodeName`, which ends each with a semicolon.

    Jobs of several processes mark the operators behind each start node; in mixed computing, in any job but localhost,
    clusters that share one stay apart. Full offload heeds no mark.
    """
    found: Dict[int, FrozenSet[str]] = {}
    if settings.mix and settings.job != "localhost":
        for node in graph.nodes:
            if candidate[node.id] and node.has_attr("_StartNodeName"):
                found[node.id] = frozenset(name for name in node.text("_StartNodeName").split(";") if name)
    return found


def _united(clusters: Clusters, marks: Mapping[int, FrozenSet[str]]) -> Marks:
    """For every cluster the marks of all its members; empty where there are none."""
    if not marks:
        return ()
    names: List[Set[str]] = [set() for _ in range(len(clusters))]
    for node, found in marks.items():
        position = clusters.position.get(clusters.contraction.root[node])
        if position is not None:
            names[position] |= found
    return [frozenset(one) for one in names]


def _lone_operators(
    graph: Graph,
    candidate: Sequence[int],
    settings: PartitionSettings,
    clusters: Clusters,
    marks: Mapping[int, FrozenSet[str]],
) -> Grouping:
    """No two candidates are neighbours: NoOps and Identities stay on the host (M27), the others are merged."""
    kept = [int(bool(flag) and node.op not in ("NoOp", "Identity")) for flag, node in zip(candidate, graph.nodes)]
    remaining = Clusters(clusters.contraction, kept)
    into = _merge(remaining, settings, _united(remaining, marks))
    return Grouping(_number(cluster_of(remaining, into, kept)), len(remaining), True, clusters.contraction)


def _number(groups: Sequence[int]) -> List[int]:
    """Groups renumbered by first member."""
    numbers: dict = {}
    return [-1 if found < 0 else numbers.setdefault(found, len(numbers)) for found in groups]
