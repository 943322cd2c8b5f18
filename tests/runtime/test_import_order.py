"""Nodes, and with them edges, are numbered as TensorFlow's own importer numbers them."""

from __future__ import annotations

from typing import Any, List

import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import Graph
from tests.strategies import KINDS, graphs, reordered


def _in_order_of_edges(graph: Graph) -> List[str]:
    """The nodes that have inputs, by their first edge that closes no loop."""
    names = [
        graph.nodes[target].name
        for source, target in zip(graph.edges.src, graph.edges.dst)
        if graph.nodes[source].op != "NextIteration"
    ]
    return list(dict.fromkeys(names))


def _in_order_of_import(graph: Graph) -> List[str]:
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(graph.to_bytes())
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph_def, name="")
    return [op.name for op in imported.get_operations() if op.inputs or op.control_inputs]


@settings(max_examples=60)
@given(data=st.data())
def test_edges_are_numbered_in_the_order_of_import(data: Any) -> None:
    # Calls are left out: importing functions goes through shape inference, which is beside the point.
    graph = data.draw(graphs([kind for kind in KINDS if kind != "call"], kept=False))
    for other in (graph, data.draw(reordered(graph))):
        assert _in_order_of_edges(other) == _in_order_of_import(other)
