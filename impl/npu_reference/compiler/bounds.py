"""How large tensors are at most whose sizes depend on values: a step is planned for the largest they can be."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from npu_reference.compiler.control import Control
from npu_reference.graphs import Graph
from npu_reference.graphs.shaping.inference import Shapes

__all__ = ["bounds_of"]

_Shape = Optional[Tuple[Optional[int], ...]]
_PASS = ("Identity", "IdentityN", "NextIteration", "Switch", "Merge", "Exit")
_MOST_STEPS = 64  # operators between a list and the loop that fills it (assumed)


def bounds_of(graph: Graph, shapes: Shapes, control: Control, assignment: Any) -> Dict[str, Tuple[int, ...]]:
    """Sizes by ``node:slot`` for outputs on the device whose sizes are open though those of their inputs are known."""
    found: Dict[str, Tuple[int, ...]] = {}
    turns = {loop.name: loop.turns for loop in control.loops}
    for node in graph.nodes:
        rule = _RULES.get(node.op)
        if rule is None or assignment[node.id] < 0:
            continue
        try:
            made = rule(_Asked(graph, shapes, control, turns, node.id))
        except (IndexError, TypeError):
            continue  # what it needs is not known either
        for slot, shape in enumerate(made):
            if shape is not None and None not in shape and shapes.known(node.id, slot) is None:
                found[f"{node.name}:{slot}"] = tuple(size for size in shape if size is not None)
    return found


class _Asked:
    """One operator with what is known of its inputs."""

    def __init__(self, graph: Graph, shapes: Shapes, control: Control, turns: Dict[str, int], node: int) -> None:
        self.graph, self.shapes, self.control, self.turns, self.node = graph, shapes, control, turns, node

    def input(self, position: int) -> Tuple[int, ...]:
        known = self.shapes.known_input(self.node, position)
        if known is None:
            raise TypeError("its shape is open")
        return known

    def own(self, slot: int = 0) -> Tuple[Optional[int], ...]:
        known = self.shapes.of(self.node, slot)
        if known is None:
            raise TypeError("its rank is open")
        return known

    def number(self, position: int) -> int:
        reads = self.shapes.sources(self.node)
        known = self.shapes.value(*reads[position])
        if not known or known[0] is None:
            raise TypeError("its value is open")
        return known[0]

    def filled_by(self) -> int:
        """Turns of the loop that the list it reads comes out of."""
        at = self.shapes.sources(self.node)[0]
        for _ in range(_MOST_STEPS):
            op, reads = self.graph.nodes[at[0]].op, self.shapes.sources(at[0])
            if op == "Exit":
                return self.turns[self.control.frame[at[0]]]
            if op not in _PASS or not reads:
                break
            at = reads[at[1] if op == "IdentityN" else 0]
        raise TypeError("no loop fills it")


def _unique(one: _Asked) -> List[_Shape]:
    count = one.input(0)[0]
    return [(count,), (count,), (count,)]


def _where(one: _Asked) -> List[_Shape]:
    shape, total = one.input(0), 1
    for size in shape:
        total *= size
    return [(total, len(shape))]


def _suppressed(one: _Asked) -> List[_Shape]:
    kept = min(one.input(0)[0], one.number(2))
    return [(kept,), (kept,)]


def _list_length(one: _Asked) -> List[_Shape]:
    """All elements of a list or array that a loop fills, one a turn."""
    shape = one.own()
    return [(one.filled_by(), *shape[1:])]


def _segments(one: _Asked) -> List[_Shape]:
    """At most as many segments as rows."""
    rows, shape = one.input(0), one.own()
    return [(rows[0], *shape[1:])]


_RULES: Dict[str, Callable[[_Asked], List[_Shape]]] = {
    "Unique": _unique,
    "UniqueV2": _unique,
    "UniqueWithCounts": _unique,
    "Where": _where,
    "NonMaxSuppression": _suppressed,
    "NonMaxSuppressionV2": _suppressed,
    "NonMaxSuppressionV3": _suppressed,
    "NonMaxSuppressionV4": _suppressed,
    "NonMaxSuppressionV5": _suppressed,
    "TensorListStack": _list_length,
    "UnsortedSegmentSum": _segments,
    "SegmentSum": _segments,
    "SegmentMean": _segments,
    "SegmentMax": _segments,
}
