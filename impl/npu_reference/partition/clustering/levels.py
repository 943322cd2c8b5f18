"""Groups that can run: contraction and merging with loops and conditionals kept whole, one loop level at a time.

The adapter's way ignores what a loop's back edges, dead tensors and queues mean for order. Here a level is the nodes
of one frame; a loop inside of it is one vertex, on the device or on the host as a whole, and so is a conditional that
can be offloaded. Hidden orders bind like edges. Within a level contraction and merging are the adapter's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Set

from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.borders.checks import Surroundings
from npu_reference.partition.clustering.contract import contract
from npu_reference.partition.clustering.merge import Clusters, cluster_of, keep_largest_group, merge_pairs
from npu_reference.partition.reasons import Cause, Reason
from npu_reference.partition.structure.scc import components
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["Runnable", "group_by_levels"]

_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")


class Runnable(NamedTuple):
    """`group[node]` as in a plan; `evicted` are candidates that had to go to the host for it."""

    group: List[int]
    evicted: Dict[int, Cause]


class _Level(NamedTuple):
    """One frame's nodes. `vertex[node]` is the smallest node of the vertex a node belongs to, for nodes at this level
    and inside its loops; `members` lists each vertex's nodes."""

    frame: Optional[object]
    vertex: Dict[int, int]
    members: Dict[int, List[int]]
    src: List[int]
    dst: List[int]
    bound: Set[int]  # edges that bind but are not contracted: hidden orders


def group_by_levels(
    graph: Graph, wires: Wires, candidate: bytearray, settings: PartitionSettings, flavour: str, around: Surroundings
) -> Runnable:
    """Group candidates so that the result can run. `candidate` is updated where nodes have to be evicted."""
    evicted: Dict[int, Cause] = {}
    solved = []
    frames = around.frames or [None] * len(graph.nodes)
    for frame in _levels(frames, candidate):
        solved.append(_solve(graph, wires, candidate, settings, flavour, around, frames, frame, evicted))
    if not settings.mix and not settings.lazy_recompile:
        solved = [max(solved, key=lambda groups: max((len(members) for members in groups), default=0))]
    group = [-1] * len(graph.nodes)
    members = sorted((found for groups in solved for found in groups), key=min)
    for number, nodes in enumerate(members):
        for node in nodes:
            group[node] = number
    return Runnable(group, evicted)


def _levels(frames: Sequence, candidate: bytearray) -> List[Optional[object]]:
    """The graph itself, and every frame with candidates that is not on the device as a whole."""
    whole = _whole(frames, candidate)
    found: Dict[object, None] = {None: None}
    for node, frame in enumerate(frames):
        if frame is not None and candidate[node]:
            outer = frame
            while outer is not None and outer in whole:
                outer = outer.parent
            found[outer] = None
    return list(found)


def _whole(frames: Sequence, candidate: bytearray) -> Set[object]:
    """Frames that, with all loops inside, hold only candidates."""
    every: Dict[object, bool] = {}
    for node, frame in enumerate(frames):
        while frame is not None:
            every[frame] = every.get(frame, True) and bool(candidate[node])
            frame = frame.parent
    return {frame for frame, flag in every.items() if flag}


def _solve(
    graph: Graph,
    wires: Wires,
    candidate: bytearray,
    settings: PartitionSettings,
    flavour: str,
    around: Surroundings,
    frames: Sequence,
    frame: Optional[object],
    evicted: Dict[int, Cause],
) -> List[List[int]]:
    """The groups of one level, as lists of nodes."""
    while True:
        level = _level(graph, wires, candidate, around, frames, frame)
        broken = _break_cycles(graph, level, candidate)
        if not broken:
            break
        evicted.update(broken)
        for node in broken:
            candidate[node] = 0
    vertices = sorted(level.members)
    number = {vertex: position for position, vertex in enumerate(vertices)}
    offload = [int(all(candidate[node] for node in level.members[vertex])) for vertex in vertices]
    weights = [len(level.members[vertex]) for vertex in vertices]
    contraction = contract(
        len(vertices),
        [number[a] for a in level.src],
        [number[b] for b in level.dst],
        offload,
        flavour=flavour,
        untried=sorted(level.bound),
    )
    clusters = Clusters(contraction, offload, weights)
    keep = keep_largest_group if not settings.mix and not settings.lazy_recompile else merge_pairs
    groups: Dict[int, List[int]] = {}
    for position, home in enumerate(cluster_of(clusters, keep(clusters), offload)):
        if home >= 0:
            groups.setdefault(home, []).extend(level.members[vertices[position]])
    return list(groups.values())


def _level(
    graph: Graph, wires: Wires, candidate: bytearray, around: Surroundings, frames: Sequence, frame: Optional[object]
) -> _Level:
    vertex = _vertices(candidate, around, frames, frame)
    src: List[int] = []
    dst: List[int] = []
    nodes = graph.nodes
    for source, target in zip(wires.src, wires.dst):
        a, b = vertex.get(source), vertex.get(target)
        if a is None or b is None or a == b:
            continue
        if nodes[source].op not in _NEXT_ITERATIONS or frames[source] is not frame:
            src.append(a)
            dst.append(b)
    first_hidden = len(src)
    for put, take in around.hidden:
        a, b = vertex.get(put), vertex.get(take)
        if a is not None and b is not None and a != b:
            src.append(a)
            dst.append(b)
    _join_pure_cycles(vertex, src, dst, candidate)
    members: Dict[int, List[int]] = {}
    for node, home in vertex.items():
        members.setdefault(home, []).append(node)
    kept = [i for i in range(len(src)) if vertex[src[i]] != vertex[dst[i]]]
    bound = {position for position, i in enumerate(kept) if i >= first_hidden}
    return _Level(frame, vertex, members, [vertex[src[i]] for i in kept], [vertex[dst[i]] for i in kept], bound)


def _vertices(candidate: bytearray, around: Surroundings, frames: Sequence, frame: Optional[object]) -> Dict[int, int]:
    """Each node at this level or inside its loops, with the smallest node that shares its vertex."""
    parent: Dict[int, int] = {}

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(a: int, b: int) -> None:
        a, b = find(a), find(b)
        parent[max(a, b)] = min(a, b)

    loop_start: Dict[object, int] = {}
    for node, own in enumerate(frames):
        loop = _loop_at(own, frame)
        if loop is _ELSEWHERE:
            continue
        parent[node] = node
        if loop is not None:
            join(loop_start.setdefault(loop, node), node)
    whole: Dict[int, bool] = {}
    for node, region in around.deadness.region.items():
        whole[region] = whole.get(region, True) and bool(candidate[node])
    start: Dict[int, int] = {}
    for node, region in around.deadness.region.items():
        if whole[region] and node in parent:
            join(start.setdefault(region, node), node)
    return {node: find(node) for node in parent}


_ELSEWHERE = object()


def _loop_at(own: Optional[object], frame: Optional[object]) -> Optional[object]:
    """None for a node at the level of `frame`, the outermost loop within it for one inside, else _ELSEWHERE."""
    loop = None
    while own is not frame:
        if own is None:
            return _ELSEWHERE
        loop, own = own, own.parent  # type: ignore[attr-defined]
    return loop


def _join_pure_cycles(vertex: Dict[int, int], src: List[int], dst: List[int], candidate: bytearray) -> None:
    """Vertices on one cycle that could all be offloaded become one vertex, and so do those that all cannot."""
    for members in _cycles(vertex, src, dst):
        if len({bool(candidate[node]) for node in members}) == 1:
            first = min(members)
            chosen = {vertex[node] for node in members}
            for node, home in vertex.items():
                if home in chosen:
                    vertex[node] = first


def _cycles(vertex: Dict[int, int], src: Sequence[int], dst: Sequence[int]) -> List[List[int]]:
    """The nodes of every strongly connected component of more than one vertex."""
    vertices = sorted(set(vertex.values()))
    number = {home: position for position, home in enumerate(vertices)}
    successors: List[List[int]] = [[] for _ in vertices]
    for a, b in zip(src, dst):
        if vertex[a] != vertex[b]:
            successors[number[vertex[a]]].append(number[vertex[b]])
    component = components(successors)
    size: Dict[int, int] = {}
    for found in component:
        size[found] = size.get(found, 0) + 1
    if len(size) == len(vertices):
        return []
    cycles: Dict[int, List[int]] = {}
    for node, home in vertex.items():
        found = component[number[home]]
        if size[found] > 1:
            cycles.setdefault(found, []).append(node)
    return list(cycles.values())


def _break_cycles(graph: Graph, level: _Level, candidate: bytearray) -> Dict[int, Cause]:
    """What must go to the host because it would wait for a host operator that waits for it.

    Loops and conditionals first, single operators only where there are none on the cycle.
    """
    causes: Dict[int, Cause] = {}
    for members in _cycles(level.vertex, level.src, level.dst):
        host = next(node for node in sorted(members) if not candidate[node])
        name, op = graph.nodes[host].name, graph.nodes[host].op
        offered = [node for node in members if candidate[node]]
        shared = [node for node in offered if len(level.members[level.vertex[node]]) > 1]
        for node in shared or offered:
            detail = f"its loop or conditional would wait for {name} ({op}), which waits for it"
            causes[node] = Cause(Reason.CONDITIONAL, detail, host)
    return causes
