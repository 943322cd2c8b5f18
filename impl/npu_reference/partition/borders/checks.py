"""Whether a division of a graph can run: what is checked of every answer, and what the repairs are for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.partition.borders.crossing import Copies
from npu_reference.partition.borders.deadness import Deadness
from npu_reference.partition.structure.scc import components
from npu_reference.partition.structure.wires import REF, RESOURCE, VARIANT, Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["STAYS", "Surroundings", "Violation", "keys_of_groups", "violations"]

#: What cannot cross a border but as a copy of its variable (M20), in words.
STAYS = {REF: "reference", RESOURCE: "resource", VARIANT: "variant"}

_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")


class Surroundings(NamedTuple):
    """What is known of a graph beside its edges.

    Attributes:
        frames: loop frames; None where it has none.
        deadness: what is known of dead tensors.
        hidden: orders of operators that wait for each other.
        entering: orders of loops, as :func:`entering` answers.
    """

    frames: Optional[Sequence]
    deadness: Deadness
    hidden: Sequence[Tuple[int, int]]
    entering: Sequence[Tuple[int, int]] = ()


class Violation(NamedTuple):
    """Why a division cannot run: "CYCLE", "FRAME", "LOOP", "DEAD", "QUEUE" or "REF", and a node it shows at."""

    code: str
    node: int
    message: str


def violations(
    graph: Graph, wires: Wires, group: Sequence[int], copies: Copies, around: Surroundings
) -> List[Violation]:
    """Everything that keeps a division from running, one of each kind. O(nodes + edges)."""
    found: List[Violation] = []
    found.extend(_references(graph, wires, group, copies))
    found.extend(_dead_tensors(graph, wires, group, around))
    cycle = _cycle(graph, wires, group, copies, ())
    if cycle is not None:
        found.append(Violation("CYCLE", cycle, f"{graph.nodes[cycle].name} would wait for its own GEOP"))
    else:
        for code, orders, what in (
            ("LOOP", around.entering, "a loop that waits for what it does"),
            ("QUEUE", around.hidden and [*around.hidden, *around.entering], "a queue it fills itself"),
        ):
            cycle = _cycle(graph, wires, group, copies, orders) if orders else None
            if cycle is not None:
                found.append(Violation(code, cycle, f"{graph.nodes[cycle].name} would wait for {what}"))
                break
    if around.frames is not None:
        found.extend(_frames(graph, wires, group, around.frames, around.hidden))
    return found


def _references(graph: Graph, wires: Wires, group: Sequence[int], copies: Copies) -> List[Violation]:
    for edge, kind in enumerate(wires.kind):
        if kind in STAYS:
            source, target = wires.src[edge], wires.dst[edge]
            if group[source] != group[target] and (source, group[target]) not in copies:
                name = graph.nodes[target].name
                word = STAYS[kind]
                return [Violation("REF", target, f"{name} takes the {word} of {graph.nodes[source].name}")]
    return []


def _dead_tensors(graph: Graph, wires: Wires, group: Sequence[int], around: Surroundings) -> List[Violation]:
    for edge in around.deadness.edges:
        source, target = wires.src[edge], wires.dst[edge]
        if group[source] != group[target]:
            names = graph.nodes[source].name, graph.nodes[target].name
            return [Violation("DEAD", source, f"what {names[0]} gives to {names[1]} may be dead")]
    return []


def _cycle(
    graph: Graph, wires: Wires, group: Sequence[int], copies: Copies, hidden: Sequence[Tuple[int, int]]
) -> Optional[int]:
    """A node on a cycle of the quotient graph, loops' back edges aside; None where it is acyclic."""
    nodes = graph.nodes
    count = max(group, default=-1) + 1
    successors: List[List[int]] = [[] for _ in range(count + len(nodes))]
    vertex = [home if home >= 0 else count + node for node, home in enumerate(group)]
    back = {node.id for node in nodes if node.op in _NEXT_ITERATIONS}
    for source, target in zip(wires.src, wires.dst):
        a, b = vertex[source], vertex[target]
        if a != b and source not in back:
            successors[a].append(b)
    for source, target in hidden:
        if vertex[source] != vertex[target]:
            successors[vertex[source]].append(vertex[target])
    component = components(successors)
    size = Counter(component)
    # Operators of the host may wait for each other, as both ends of a queue do; a GEOP may be on no cycle.
    return next((node for node, v in enumerate(vertex) if v < count and size[component[v]] > 1), None)


def _inside(frame: object, key: object) -> bool:
    """Whether `frame` is `key` or a loop inside of it."""
    while frame is not None and frame is not key:
        frame = frame.parent  # type: ignore[attr-defined]
    return frame is key


def keys_of_groups(group: Sequence[int], frames: Sequence) -> List[object]:
    """For every group the frame it runs in: the innermost one around all frames of its members that it enters."""
    count = max(group, default=-1) + 1
    members: List[Set[object]] = [set() for _ in range(count)]
    for node, home in enumerate(group):
        if home >= 0:
            members[home].add(frames[node])
    whole = _whole_frames(group, frames)
    keys: List[object] = []
    for home in range(count):
        outer = {_outside(frame, home, whole) for frame in members[home]}
        keys.append(next(iter(outer)) if len(outer) == 1 else _MIXED)
    return keys


_MIXED = object()


def _outside(frame: object, home: int, whole: dict) -> object:
    while frame is not None and whole.get(frame) == home:
        frame = frame.parent  # type: ignore[attr-defined]
    return frame


def _whole_frames(group: Sequence[int], frames: Sequence) -> dict:
    """Frames all of whose nodes, and those of the loops inside, are in one group: frame -> group."""
    homes: dict = {}
    for node, frame in enumerate(frames):
        while frame is not None:
            homes.setdefault(frame, set()).add(group[node])
            frame = frame.parent
    return {frame: next(iter(found)) for frame, found in homes.items() if len(found) == 1 and -1 not in found}


def _frames(
    graph: Graph, wires: Wires, group: Sequence[int], frames: Sequence, hidden: Sequence[Tuple[int, int]]
) -> List[Violation]:
    keys = keys_of_groups(group, frames)
    for node, home in enumerate(group):
        if home < 0 or frames[node] is None or graph.nodes[node].op == "Const":
            continue
        # A loop is on the device whole or not at all: what is at the very level where the GEOP runs is in no loop.
        if keys[home] is _MIXED or keys[home] is frames[node]:
            name = graph.nodes[node].name
            return [Violation("FRAME", node, f"{name} is in a loop of which its GEOP holds only a part")]
    return _loops(graph, wires, group, frames, keys, hidden)


def _loops(
    graph: Graph,
    wires: Wires,
    group: Sequence[int],
    frames: Sequence,
    keys: Sequence[object],
    hidden: Sequence[Tuple[int, int]],
) -> List[Violation]:
    """A GEOP on a cycle over a loop's back edge, hidden orders among the edges, must lie within that loop.

    What it waits for by way of the back edge of a loop around it, it waits for in another turn.
    """
    nodes = graph.nodes
    count = len(keys)
    vertex = [home if home >= 0 else count + node for node, home in enumerate(group)]
    edges = [(a, b) for a, b in (*zip(wires.src, wires.dst), *hidden) if vertex[a] != vertex[b]]
    component = _components(count + len(nodes), ((vertex[a], vertex[b]) for a, b in edges))
    geops: dict = {}
    for home in range(count):
        geops.setdefault(component[home], []).append(home)
    suspects: dict = {}
    for node, v in enumerate(vertex):
        for home in geops.get(component[v], ()):
            if v == home:
                continue
            if keys[home] is None or not _inside(frames[node] if v >= count else keys[v], keys[home]):
                suspects.setdefault(keys[home], []).append((home, node))
    for key, found in suspects.items():
        within = component
        if key is not None:
            wanted = {component[home] for home, _ in found}
            within = _components(
                count + len(nodes),
                (
                    (vertex[a], vertex[b])
                    for a, b in edges
                    if component[vertex[a]] in wanted
                    and not (nodes[a].op in _NEXT_ITERATIONS and _inside(key, frames[a]))
                ),
            )
        for home, node in found:
            if within[vertex[node]] == within[home]:
                name = nodes[node].name
                return [Violation("LOOP", node, f"{name} and a GEOP outside of its loop would wait for each other")]
    return []


def _components(count: int, edges: Iterable[Tuple[int, int]]) -> List[int]:
    successors: List[List[int]] = [[] for _ in range(count)]
    for a, b in edges:
        successors[a].append(b)
    return components(successors)
