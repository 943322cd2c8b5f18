"""Graphs as text are what protobuf's own printer writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import load_graph, message_class
from npu_reference.graphs.textout import graph_to_text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
GRAPHS = sorted((FIXTURES / "graphs" / "cases").glob("*.pbtxt"))[::6] + [
    FIXTURES / "graphs" / "models" / "text_pipeline_tiny.pb.gz",
    FIXTURES / "graphs" / "models" / "text_pipeline_tiny_tf221.pb.gz",
]


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name)
def test_a_stored_graph_is_printed_as_protobuf_prints_it(path):
    graph = load_graph(path).to_def()
    assert graph_to_text(graph) == text_format.MessageToString(graph)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=6), min_size=4, max_size=8), st.binary(max_size=6), st.floats(width=32))
def test_any_text_is_escaped_as_protobuf_escapes_it(texts, content, number):
    graph = message_class("GraphDef")()
    node = graph.node.add(name=texts[0], op=texts[1], device=texts[2])
    node.input.extend(texts[3:])
    node.attr[texts[0]].s = content
    node.attr["f"].f = number
    node.attr["empty"].SetInParent()
    graph.node.add()
    graph.versions.producer = 27
    assert graph_to_text(graph) == text_format.MessageToString(graph)


def test_fields_that_are_rare_are_printed_too():
    graph = message_class("GraphDef")()
    graph.node.add(name="a").experimental_debug_info.original_node_names.append("b")
    graph.library.function.add().signature.name = "f"
    assert graph_to_text(graph) == text_format.MessageToString(graph)
