"""Laws of every graph, on random ones."""

from __future__ import annotations

from typing import Any, Dict

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import Graph, frames, graph_from_def, load_graph, parse_graph, write_graph
from tests.strategies import KINDS, Step, build, closed_graphs, graphs, reordered


def _named_edges(graph: Graph) -> Any:
    names = [node.name for node in graph.nodes]
    return sorted((names[s], k, names[d], m) for s, k, d, m in graph.edges)


@settings(max_examples=60)
@given(graph=graphs())
def test_bytes_round_trip(graph: Graph) -> None:
    again = parse_graph(graph.to_bytes())
    assert again.to_bytes() == graph.to_bytes()
    assert list(again.edges) == list(graph.edges)


@settings(max_examples=15)
@given(graph=graphs(), ending=st.sampled_from(["pb", "pbtxt", "pb.gz", "pbtxt.gz"]))
def test_files_round_trip(tmp_path_factory: Any, graph: Graph, ending: str) -> None:
    path = tmp_path_factory.mktemp("graphs") / f"g.{ending}"
    write_graph(graph, path)
    assert load_graph(path).to_bytes() == graph.to_bytes()


@settings(max_examples=80)
@given(graph=closed_graphs())
def test_edges_are_the_inputs_and_agree_in_type(graph: Graph) -> None:
    count = 0
    for node in graph.nodes:
        data = [edge for edge in graph.in_edges(node.id) if not graph.edges.is_control(edge)]
        types = graph.input_dtypes(node.id)
        assert sorted(graph.edges.dst_slot[edge] for edge in data) == list(range(len(types)))
        for edge in data:
            source, slot, _, position = graph.edges[edge]
            assert graph.output_dtypes(source)[slot].base is types[position].base
        count += len(graph.in_edges(node.id))
    assert count == len(graph.edges) == sum(len(graph.out_edges(i)) for i in range(len(graph)))


@settings(max_examples=80)
@given(graph=closed_graphs())
def test_edges_come_after_the_edges_of_their_source_but_back_edges(graph: Graph) -> None:
    back = [graph.nodes[source].op == "NextIteration" for source in graph.edges.src]
    for edge, source in enumerate(graph.edges.src):
        assert all(earlier < edge for earlier in graph.in_edges(source) if not back[earlier])


@settings(max_examples=60)
@given(data=st.data())
def test_another_order_of_nodes_gives_the_same_edges_and_frames(data: Any) -> None:
    graph = data.draw(closed_graphs())
    other = data.draw(reordered(graph))
    assert _named_edges(graph) == _named_edges(other)
    assert _frame_names(graph) == _frame_names(other)


def _frame_names(graph: Graph) -> Dict[str, Any]:
    found = frames(graph)
    return {node.name: frame and (frame.name, frame.depth) for node, frame in zip(graph.nodes, found)}


@settings(max_examples=60)
@given(graph=closed_graphs())
def test_edges_change_frames_only_at_enters_and_exits(graph: Graph) -> None:
    found = frames(graph)
    for source, _, target, _ in graph.edges:
        given_in = found[source].parent if graph.nodes[source].op == "Exit" else found[source]
        read_in = found[target].parent if graph.nodes[target].op == "Enter" else found[target]
        assert given_in is read_in


@settings(max_examples=40)
@given(graph=graphs())
def test_every_function_s_body_is_a_graph(graph: Graph) -> None:
    for function in graph.functions.values():
        body = function.body
        assert [node.op for node in body.nodes].count("_Arg") == len(function.arg_names)
        assert graph_from_def(body.to_def().__class__.FromString(graph.to_bytes())).to_bytes() == graph.to_bytes()


def test_every_kind_of_step_makes_a_graph_alone() -> None:
    for kind in KINDS:
        for picks in [(0, 0, 0), (1, 1, 1), (2, 2, 2)]:
            assert len(build([Step(kind, picks)]).build()) > 1
