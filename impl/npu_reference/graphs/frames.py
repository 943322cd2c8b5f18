"""Decides in which while-loop frame each node of a graph with v1 control flow runs, as TensorFlow assigns them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ..errors import NpuError
from .graph import Graph, where
from .limits import MAX_FRAME_DEPTH
from .names import shorten

__all__ = ["CONTROL_FLOW", "Frame", "frames"]

#: Operators that make loops and conditionals of TensorFlow 1, beside a loop's LoopCond.
CONTROL_FLOW = frozenset(
    f"{ref}{name}" for ref in ("", "Ref") for name in ("Enter", "Exit", "Merge", "NextIteration", "Switch")
)

_ENTERS = ("Enter", "RefEnter")
_EXITS = ("Exit", "RefExit")


class Frame:
    """The frame of one while loop: its name, the frame it is entered from (None: the graph itself), its depth."""

    __slots__ = ("depth", "name", "parent")

    def __init__(self, name: str, parent: Optional[Frame]) -> None:
        self.name = name
        self.parent = parent
        self.depth: int = 1 if parent is None else parent.depth + 1

    def __repr__(self) -> str:
        return f"Frame({self.name!r}, depth {self.depth})"


class _Unset:
    """Stands for a node no input has reached yet, None being the frame of the graph itself."""


_UNSET: Any = _Unset()


def frames(graph: Graph) -> List[Optional[Frame]]:
    """The frame of every node, None outside loops; nodes of one frame share one Frame object. O(V + E).

    An Enter and an Exit are in the loop's frame; what an Exit feeds is in the frame around it. Control edges count.
    Raises NpuError GRAPH_FORMAT where a node has inputs from different frames, a frame is entered from two frames or
    an Exit stands in none; GRAPH_LIMIT where loops nest too deeply.
    """
    result: List[Any] = [_UNSET] * len(graph.nodes)
    known: Dict[str, Frame] = {}
    waiting: List[int] = []
    for node in graph.nodes:
        if not graph.in_edges(node.id):
            result[node.id] = _enter(graph, node, None, known) if node.op in _ENTERS else None
            waiting.append(node.id)
    position = 0
    while position < len(waiting):
        i = waiting[position]
        position += 1
        inside = _after(graph, i, result[i])
        for edge in graph.out_edges(i):
            reader = graph.nodes[graph.edges.dst[edge]]
            frame = _enter(graph, reader, inside, known) if reader.op in _ENTERS else inside
            if result[reader.id] is _UNSET:
                result[reader.id] = frame
                waiting.append(reader.id)
            elif result[reader.id] is not frame:
                raise _mismatch(graph, reader, i, inside, result[reader.id])
    return result


def _after(graph: Graph, i: int, frame: Optional[Frame]) -> Optional[Frame]:
    """The frame that what node ``i`` feeds is in."""
    node = graph.nodes[i]
    if node.op not in _EXITS:
        return frame
    if frame is None:
        raise NpuError("GRAPH_FORMAT", where(graph.subject, node), "it leaves a while loop and is in none")
    return frame.parent


def _enter(graph: Graph, node: Any, parent: Optional[Frame], known: Dict[str, Frame]) -> Frame:
    name = node.text("frame_name")
    frame = known.get(name)
    if frame is None:
        frame = known[name] = Frame(name, parent)
        if frame.depth > MAX_FRAME_DEPTH:
            raise NpuError("GRAPH_LIMIT", where(graph.subject, node), f"while loops nest deeper than {MAX_FRAME_DEPTH}")
    elif frame.parent is not parent:
        raise NpuError(
            "GRAPH_FORMAT",
            where(graph.subject, node),
            f"frame '{shorten(name)}' is entered from {_called(frame.parent)} and from {_called(parent)}",
        )
    return frame


def _called(frame: Optional[Frame]) -> str:
    return "outside of all loops" if frame is None else f"frame '{shorten(frame.name)}'"


def _mismatch(graph: Graph, node: Any, source: int, got: Optional[Frame], had: Optional[Frame]) -> NpuError:
    return NpuError(
        "GRAPH_FORMAT",
        where(graph.subject, node),
        f"it has inputs from different frames: '{shorten(graph.nodes[source].name)}' gives it one from "
        f"{_called(got)}, another comes from {_called(had)}",
        "A tensor enters a loop through an Enter and leaves it through an Exit.",
    )
