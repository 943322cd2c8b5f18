"""Decides what the page of one partition shows: the quotient graph by phase, name scopes, reasons and borders.

The page is one self-contained HTML file. It draws groups; one that is opened shows its operators, folded by name scope
where they are many, so that a graph of 50 000 nodes stays readable.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from npu_conformance.report.page import Made, render_page
from npu_reference.graphs import Graph
from npu_reference.partition.structure.topology import orderable

__all__ = ["page", "page_data"]

#: Boxes drawn in one phase before the rest is folded into one ("… 58 more"): what fits a screen's height.
BOXES_PER_PHASE = 10

#: Notes on constants that float16 cannot hold; they have a table of their own.
_HALF = ("FP16_OVERFLOW", "FP16_UNDERFLOW")


def page(
    graph: Graph,
    answer: Mapping[str, Any],
    *,
    title: str,
    options: Mapping[str, Any],
    precise: Sequence[Mapping[str, Any]] = (),
    made: Optional[Made] = None,
) -> str:
    """The HTML text for `answer` (the protocol's answer of ``partition`` for `graph`).

    Args:
        graph: the graph that was partitioned, as the partitioner saw it.
        answer: ``geops``, ``host``, ``borders``, ``min_geops`` and ``notes``; where there are any, ``blame``,
            ``separations``, ``checks``, ``conclusion`` and ``proposals`` as the command answers them.
        title: what the reader calls the graph, its file's name.
        options: the effective options that differ from their defaults.
        precise: ``nodes`` of the answer of ``precision``, for colours by engine and dtype; empty: engines are unknown,
            and dtypes those of the graph.
        made: how the page was made; None inside another page.
    """
    data = page_data(graph, answer, precise)
    return render_page("partition.html", title=title, made=made, data=data, options=dict(options))


def page_data(graph: Graph, answer: Mapping[str, Any], precise: Sequence[Mapping[str, Any]] = ()) -> Dict[str, Any]:
    """The data the page embeds; every list in a canonical order, so that equal partitions give equal pages."""
    vertex_of, kinds = _vertices(graph, answer)
    successors = _quotient(graph, vertex_of, len(kinds))
    phase = _phases(successors, kinds)
    group_of, groups = _groups(graph, vertex_of, kinds, phase)
    reasons = Counter(entry["reason"] for entry in answer["host"])
    return {
        "names": [node.name for node in graph.nodes],
        "inputs": _inputs(graph),
        **_looks(graph, answer, precise),
        "ops": [node.op for node in graph.nodes],
        "group": group_of,
        "groups": groups,
        "links": _links(graph, group_of, answer["borders"]),
        **_host(graph, answer["host"]),
        "geops": [{key: geop.get(key, []) for key in ("name", "args", "rets", "copies")} for geop in answer["geops"]],
        "reasons": reasons.most_common(),
        "borders": answer["borders"],
        "notes": [note for note in answer["notes"] if note["code"] not in _HALF],
        "half": [note for note in answer["notes"] if note["code"] in _HALF],
        "minimum": answer["min_geops"],
        "blame": list(answer.get("blame", [])),
        "separations": [[one["before"], list(one["path"]), one["after"]] for one in answer.get("separations", [])],
        "checks": [
            {key: check[key] for key in ("demand", "passed", "summary", "lines")} for check in answer.get("checks", [])
        ],
        "conclusion": answer.get("conclusion", {}).get("line", ""),
        "proposals": [one["command"] for one in answer.get("proposals", [])],
        "boxes_per_phase": BOXES_PER_PHASE,
    }


class _Table:
    """Values numbered in the order they are first met, so that what repeats is embedded once."""

    def __init__(self) -> None:
        self.number: Dict[Any, int] = {}

    def __getitem__(self, value: Any) -> int:
        return self.number.setdefault(value, len(self.number))

    def values(self) -> List[Any]:
        return list(self.number)


def _inputs(graph: Graph) -> List[List[int]]:
    """How many places before each operator those stand that it reads or waits for; negative over a loop's back edge."""
    found: List[set] = [set() for _ in graph.nodes]
    edges = graph.edges
    for source, target in zip(edges.src, edges.dst):
        found[target].add(target - source)
    return [sorted(distances) for distances in found]


def _looks(graph: Graph, answer: Mapping[str, Any], precise: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Engine and dtype of every operator, as places in two tables."""
    engines, dtypes = _Table(), _Table()
    rows = {row["node"]: row for row in precise}
    host = {entry["node"] for entry in answer["host"]}
    engine, dtype = [], []
    for position, node in enumerate(graph.nodes):
        row = rows.get(node.name) if node.name not in host else None
        engine.append(engines["host" if node.name in host else row["engine"] if row else "unknown"])
        outputs = row["outputs"] if row else [one.base.name for one in graph.output_dtypes(position)]
        dtype.append(dtypes[outputs[0] if outputs else "none"])
    return {"engine": engine, "engines": engines.values(), "dtype": dtype, "dtypes": dtypes.values()}


def _host(graph: Graph, entries: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Host operators as [position, reason, remedy, steps of the witness], the texts in tables beside them.

    The witnesses of neighbours share most of their chains: written out, those of 50 000 operators fill a page of
    30 MB.
    """
    remedies, whys, steps = _Table(), _Table(), _Table()
    rows = []
    for entry in entries:
        chain = []
        for step in entry.get("witness") or ():
            node: Union[int, str] = graph.index.get(step["node"], step["node"])
            chain.append(steps[node, whys[step["why"]]])
        rows.append([graph.index[entry["node"]], entry["reason"], remedies[entry.get("remedy", "")], chain])
    return {"host": rows, "remedies": remedies.values(), "whys": whys.values(), "steps": steps.values()}


def _vertices(graph: Graph, answer: Mapping[str, Any]) -> Tuple[List[int], List[str]]:
    """Quotient vertex of every node, and each vertex' kind: GEOPs first, then one vertex a host operator."""
    kinds = ["geop"] * len(answer["geops"])
    vertex_of = [-1] * len(graph.nodes)
    for number, geop in enumerate(answer["geops"]):
        for name in geop["nodes"]:
            position = graph.index.get(name)
            if position is not None:  # a copied constant is no node of the graph
                vertex_of[position] = number
    for position, vertex in enumerate(vertex_of):
        if vertex < 0:
            vertex_of[position] = len(kinds)
            kinds.append("host")
    return vertex_of, kinds


def _quotient(graph: Graph, vertex_of: Sequence[int], count: int) -> List[List[int]]:
    successors: List[set] = [set() for _ in range(count)]
    edges = graph.edges
    for source, target in zip(edges.src, edges.dst):
        if graph.nodes[source].op in ("NextIteration", "RefNextIteration"):
            continue  # the back edge of a loop orders nothing
        a, b = vertex_of[source], vertex_of[target]
        if a != b:
            successors[a].add(b)
    return [sorted(targets) for targets in successors]


def _phases(successors: Sequence[Sequence[int]], kinds: Sequence[str]) -> List[int]:
    """Number of changes between host and device on the way to each vertex; the page's columns."""
    phase = [0] * len(kinds)
    for vertex in orderable(successors):
        for target in successors[vertex]:
            # Two GEOPs in sequence stand in different columns too.
            step = 0 if kinds[vertex] == kinds[target] == "host" else 1
            phase[target] = max(phase[target], phase[vertex] + step)
    fed = {target for targets in successors for target in targets}
    for vertex, targets in enumerate(successors):
        if kinds[vertex] == "host" and vertex not in fed and targets:
            # A constant or feed stands beside what reads it, not at the far left.
            nearest = min(phase[target] - (kinds[target] == "geop") for target in targets)
            phase[vertex] = max(0, nearest)
    return phase


def _groups(
    graph: Graph, vertex_of: Sequence[int], kinds: Sequence[str], phase: Sequence[int]
) -> Tuple[List[int], List[Dict[str, Any]]]:
    """Host operators of one phase that read each other form one group; every GEOP is its own."""
    parent = list(range(len(kinds)))

    def find(vertex: int) -> int:
        while parent[vertex] != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = parent[vertex]
        return vertex

    edges = graph.edges
    for source, target in zip(edges.src, edges.dst):
        a, b = vertex_of[source], vertex_of[target]
        if kinds[a] == kinds[b] == "host" and phase[a] == phase[b]:
            a, b = find(a), find(b)
            if a != b:
                parent[max(a, b)] = min(a, b)
    members: Dict[int, List[int]] = defaultdict(list)
    for position, vertex in enumerate(vertex_of):
        members[find(vertex)].append(position)
    roots = sorted(members)
    number = {root: index for index, root in enumerate(roots)}
    groups = []
    for root in roots:
        operators = Counter(graph.nodes[position].op for position in members[root])
        groups.append(
            {
                "kind": kinds[root],
                "geop": root if kinds[root] == "geop" else None,
                "phase": phase[root],
                "size": len(members[root]),
                "ops": sorted(operators.items(), key=lambda item: (-item[1], item[0]))[:12],
                "first": members[root][0],
            }
        )
    return [number[find(vertex)] for vertex in vertex_of], groups


def _links(graph: Graph, group_of: Sequence[int], borders: Sequence[Mapping[str, Any]]) -> List[List[Any]]:
    """[from group, to group, tensors, bytes or null] for every two groups with a data edge between them."""
    tensors: Dict[Tuple[int, int], set] = defaultdict(set)
    edges = graph.edges
    for start, output, target in zip(edges.src, edges.src_slot, edges.dst):
        a, b = group_of[start], group_of[target]
        if a != b:
            tensors[a, b].add((start, output))
    size: Dict[Tuple[Optional[int], int], Optional[int]] = {}
    for border in borders:
        source = border.get("source")
        if isinstance(source, str):
            name, _, slot = source.rpartition(":")
            size[graph.index.get(name), int(slot) if slot.isdigit() else 0] = border.get("bytes")
    links = []
    for (a, b), items in sorted(tensors.items()):
        sizes = [size.get(item) for item in items if item[1] >= 0]
        known = [value for value in sizes if value is not None]
        links.append([a, b, len(sizes), sum(known) if known and len(known) == len(sizes) else None])
    return links
