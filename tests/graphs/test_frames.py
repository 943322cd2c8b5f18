"""Frames of v1 while loops."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from npu_reference import NpuError
from npu_reference.graphs import Graph, GraphBuilder, frames
from npu_reference.graphs import frames as frames_function
from npu_reference.graphs.frames import Frame


def _loop(g: GraphBuilder, name: str, start: Any, body: Any = None) -> Any:
    def cond(n: Any) -> Any:
        return g.op("Less", f"{name}/less", [n, g.const(f"{name}/limit", 10, control=[n])])

    return g.while_loop(name, [start], cond, body or (lambda n: [g.op("AddV2", f"{name}/add", [n, n])]))[0]


def _by_name(graph: Graph) -> Dict[str, Optional[Frame]]:
    return {node.name: frame for node, frame in zip(graph.nodes, frames_function(graph))}


def test_a_graph_without_loops_has_no_frames() -> None:
    g = GraphBuilder()
    g.op("Relu", "y", [g.placeholder("x")])
    assert frames(g.build()) == [None, None]


def test_a_loop_s_nodes_are_in_its_frame_and_what_its_exit_feeds_is_not() -> None:
    g = GraphBuilder()
    g.op("Neg", "after", [_loop(g, "w", g.const("start", 0))])
    found = _by_name(g.build())
    inside = {name for name, frame in found.items() if frame is not None}
    assert inside == {name for name in found if name.startswith("w/")}
    assert len({id(found[name]) for name in inside}) == 1
    assert (found["w/Exit_0"].name, found["w/Exit_0"].parent, found["w/Exit_0"].depth) == ("w", None, 1)


def test_nested_loops_have_nested_frames() -> None:
    g = GraphBuilder()
    _loop(g, "outer", g.const("start", 0), lambda n: [_loop(g, "inner", n)])
    found = _by_name(g.build())
    inner, outer = found["inner/add"], found["outer/less"]
    assert inner.parent is outer and inner.depth == 2
    assert found["inner/Exit_0"] is inner
    assert found["outer/NextIteration_0"] is outer


def test_the_order_of_nodes_does_not_matter() -> None:
    g = GraphBuilder()
    _loop(g, "outer", g.const("start", 0), lambda n: [_loop(g, "inner", n)])
    graph_def = g.to_def()
    nodes = list(graph_def.node)
    names = {name: frame and frame.name for name, frame in _by_name(g.build()).items()}
    from npu_reference.graphs import graph_from_def

    del graph_def.node[:]
    graph_def.node.extend(reversed(nodes))
    again = {name: frame and frame.name for name, frame in _by_name(graph_from_def(graph_def)).items()}
    assert names == again


def _refusal(g: GraphBuilder) -> str:
    with pytest.raises(NpuError) as caught:
        frames(g.build())
    return str(caught.value)


def test_inputs_from_different_frames_are_refused() -> None:
    g = GraphBuilder()
    x = g.placeholder("x")
    g.op("AddV2", "mixed", [x, g.op("Enter", "e", [x], frame_name="f")])
    text = _refusal(g)
    assert "[GRAPH_FORMAT]" in text and "node 'mixed'" in text and "frame 'f'" in text


def test_leaving_a_loop_one_is_not_in_is_refused() -> None:
    g = GraphBuilder()
    g.op("Exit", "out", [g.placeholder("x")])
    g.op("Neg", "after", ["out"] and [g.later("out", "float32")])
    assert "leaves a while loop and is in none" in _refusal(g)


def test_a_frame_entered_from_two_frames_is_refused() -> None:
    g = GraphBuilder()
    x = g.placeholder("x")
    g.op("Enter", "one", [x], frame_name="f")
    g.op("Enter", "two", [g.op("Enter", "other", [x], frame_name="g")], frame_name="f")
    assert "frame 'f' is entered from outside of all loops and from frame 'g'" in _refusal(g)


def test_loops_nested_beyond_the_bound_are_refused() -> None:
    g = GraphBuilder()
    x = g.placeholder("x")
    for depth in range(1001):
        x = g.op("Enter", f"e{depth}", [x], frame_name=f"f{depth}")
    assert "[GRAPH_LIMIT]" in _refusal(g)
