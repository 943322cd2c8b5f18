"""The graph of one run: feeds and fetches rewritten, the rest pruned."""

from __future__ import annotations

from typing import Any, List

import pytest

from npu_reference import NpuError
from npu_reference.graphs import DType, Graph, GraphBuilder, close_over, frames, graph_from_def, leading_to


def _graph() -> Graph:
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    y = g.placeholder("l/y", "float32", [2])
    s = g.op("Split", "s", [g.const("axis", 0), x], num_split=2)
    g.op("AddV2", "l/b", [s[1], y], control=[x])
    g.op("NoOp", "effect", control=[s])
    g.op("Relu", "unused", [y])
    return g.build()


def _names(graph: Graph) -> List[str]:
    return [node.name for node in graph.nodes]


def test_feeds_become_args_and_fetches_retvals() -> None:
    closed = close_over(_graph(), ["x:0", "l/y"], ["l/b:0", "s:1"])
    assert _names(closed) == [
        "axis", "s", "l/b", "_arg_l/y_0_0", "_arg_x_0_1", "_retval_l/b_0_0", "_retval_s_1_1"
    ]  # fmt: skip
    assert closed.node("l/b").inputs == ("s:1", "_arg_l/y_0_0", "^_arg_x_0_1")
    assert closed.node("_retval_s_1_1").inputs == ("s:1",)


def test_args_and_retvals_carry_type_and_position_only() -> None:
    closed = close_over(_graph(), ["x", "l/y"], ["l/b"])
    arg, retval = closed.node("_arg_x_0_1"), closed.node("_retval_l/b_0_0")
    for node, index in ((arg, 1), (retval, 0)):
        assert dict(node.attrs) == {"T": DType.FLOAT, "index": index}


def test_the_order_of_feeds_and_fetches_does_not_matter() -> None:
    one = close_over(_graph(), ["x", "l/y"], ["s:1", "l/b"])
    two = close_over(_graph(), ["l/y:0", "x:0"], ["l/b:0", "s:1", "s:1"])
    assert one.to_bytes() == two.to_bytes()


def test_what_a_feed_makes_needless_is_left_out() -> None:
    closed = close_over(_graph(), ["s:1", "l/y", "x"], ["l/b"])
    assert _names(closed) == ["l/b", "_arg_l/y_0_0", "_arg_s_1_1", "_arg_x_0_2", "_retval_l/b_0_0"]


def test_an_arg_nobody_reads_is_left_out_and_keeps_its_number() -> None:
    assert _names(close_over(_graph(), ["axis", "l/y", "x"], ["unused"])) == [
        "unused", "_arg_l/y_0_1", "_retval_unused_0_0"
    ]  # fmt: skip


def test_control_edges_of_a_fed_operator_that_is_no_placeholder_stay() -> None:
    closed = close_over(_graph(), ["s:0", "x"], [], ["effect"])
    assert _names(closed) == ["axis", "s", "effect", "_arg_x_0_1"]


def test_targets_keep_what_they_need_without_a_retval() -> None:
    closed = close_over(_graph(), [], [], ["effect"])
    assert _names(closed) == ["x", "axis", "s", "effect"]


def test_a_reference_is_fetched_as_its_base_type() -> None:
    g = GraphBuilder()
    g.variable("v")
    assert close_over(g.build(), [], ["v"]).node("_retval_v_0_0").attr("T") is DType.FLOAT


def test_functions_and_versions_are_kept() -> None:
    g = GraphBuilder(producer=27)
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.args["a"])
    g.op("f", "call", [g.placeholder("x")])
    closed = close_over(g.build(), ["x"], ["call"])
    assert list(closed.functions) == ["f"] and closed.producer == 27


def test_what_leads_to_a_few_nodes_closes_as_the_whole_graph_does() -> None:
    g = GraphBuilder(producer=27)
    g.function("f", {"a": "float32"}, {"b": "float32"})
    x = g.placeholder("x")
    for number in range(9):
        g.op("Relu", f"beside_{number}", [x])
    y = g.op("Add", "y", [x, g.op("Relu", "z", [x], control=[g.const("c", 1.0)])])
    g.while_loop("w", [x], lambda n: g.op("Less", "less", [n, y]), lambda n: [g.op("AddV2", "add", [n, n])])
    graph = g.build()
    for feeds, fetches, targets in (([], ["y"], []), (["x"], ["y"], ["c"]), ([], ["w/Exit_0"], [])):
        part = leading_to(graph.to_def(), [*feeds, *fetches, *targets])
        if fetches == ["y"]:
            assert [node.name for node in part.node] == ["x", "c", "z", "y"]
        part = part or graph.to_def()
        assert (
            close_over(graph_from_def(part), feeds, fetches, targets).to_bytes()
            == close_over(graph, feeds, fetches, targets).to_bytes()
        )


def test_what_leads_to_more_than_half_of_a_graph_is_no_part() -> None:
    assert leading_to(_graph().to_def(), [node.name for node in _graph().nodes]) is None


def test_loops_stay_whole() -> None:
    g = GraphBuilder()
    x = g.placeholder("x", "int32", [])

    def cond(n: Any) -> Any:
        return g.op("Less", "less", [n, g.const("limit", 10, control=[n])])

    g.while_loop("w", [x], cond, lambda n: [g.op("AddV2", "add", [n, n])])
    closed = close_over(g.build(), ["x"], ["w/Exit_0"])
    inside = [node.name for node, frame in zip(closed.nodes, frames(closed)) if frame]
    assert {"w/Merge_0", "w/NextIteration_0", "add", "limit"} <= set(inside)


@pytest.mark.parametrize(
    ("feeds", "fetches", "targets", "text"),
    [
        (["absent"], ["s"], [], "feed 'absent': the graph has no such tensor"),
        (["x:1"], ["s"], [], "feed 'x:1': 'x' (Placeholder) has one output"),
        (["effect:0"], ["s"], [], "'effect' (NoOp) has no outputs"),
        (["x", "x:0"], ["s"], [], "feed 'x:0': the tensor is fed twice"),
        (["x"], ["x:0"], [], "fetch 'x:0': the tensor is fed as well"),
        ([], ["^x"], [], "fetch '^x': the graph has no such tensor"),
        ([], ["x:٣"], [], "fetch 'x:٣': the graph has no such tensor"),
        ([], ["x:-1"], [], "no such tensor"),
        ([], ["x:"], [], "no such tensor"),
        ([], [""], [], "no such tensor"),
        ([], [], ["absent"], "target 'absent': the graph has no such operator"),
        (["x"], [], [], "neither a fetch nor a target"),
    ],
)
def test_names_that_are_none_of_the_graph_are_refused(feeds: Any, fetches: Any, targets: Any, text: str) -> None:
    with pytest.raises(NpuError) as caught:
        close_over(_graph(), feeds, fetches, targets)
    assert caught.value.code == "GRAPH_FEED_FETCH"
    assert text in str(caught.value)
