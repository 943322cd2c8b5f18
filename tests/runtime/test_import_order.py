"""Nodes and edges are numbered as TensorFlow itself numbers them: by its importer, and once more by its sessions."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.strength.laws.graphs import request
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph, as_session_gives, close_over, graph_from_def, in_creation_order
from tests.strategies import DEVICE_KINDS, KINDS, graphs, reordered, steps


def _imported(graph_def: Any) -> List[str]:
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph_def, name="")
    return [op.name for op in imported.get_operations()]


def _theirs(graph: Graph) -> Any:
    return tf.GraphDef.FromString(graph.to_bytes())


def _in_order_of_edges(graph: Graph) -> List[str]:
    """The nodes that have inputs, by their first edge that closes no loop."""
    names = [
        graph.nodes[target].name
        for source, target in zip(graph.edges.src, graph.edges.dst)
        if graph.nodes[source].op != "NextIteration"
    ]
    return list(dict.fromkeys(names))


@settings(max_examples=40)
@given(data=st.data())
def test_nodes_and_edges_are_numbered_in_the_order_of_import(data: Any) -> None:
    graph = data.draw(graphs(KINDS, kept=False))
    for other in (graph, data.draw(reordered(graph))):
        imported = _imported(_theirs(other))
        assert [other.nodes[i].name for i in other.creation] == imported
        assert [node.name for node in in_creation_order(other).nodes] == imported
        assert _in_order_of_edges(other) == [name for name in imported if other.in_edges(other.index[name])]


_LOOP = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "enter" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "frame_name" value { s: "f" } } }
node { name: "next" op: "NextIteration" input: "enter" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "early" op: "Relu" input: "enter" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "late" op: "Relu" input: "next" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "merge" op: "Merge" input: "enter" input: "next" %s attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
versions { producer: 27 }
"""


@pytest.mark.parametrize("control", ["", "early", "late", "next"])
def test_a_merge_is_made_with_one_value_that_no_next_iteration_gives(control: str) -> None:
    # Here the NextIteration is made before its Merge may be, which no loop of TensorFlow's own shows.
    graph_def = text_format.Parse(_LOOP % (f'input: "^{control}"' if control else ""), tf.GraphDef())
    nodes = list(graph_def.node)
    for order in itertools.permutations(range(1, len(nodes))):
        other = tf.GraphDef(node=[nodes[0], *(nodes[i] for i in order)], versions=graph_def.versions)
        if control == "next":
            with pytest.raises(ValueError, match="in a cycle"):
                _imported(other)
            with pytest.raises(NpuError) as caught:
                graph_from_def(other)
            assert caught.value.code == "GRAPH_CYCLE"
            break
        graph = graph_from_def(other)
        assert [graph.nodes[i].name for i in graph.creation] == _imported(other)


def _runnable(graph: Graph) -> Graph:
    """The graph with operators that need nothing of the process it runs in."""
    graph_def = graph.to_def()
    for node in graph_def.node:
        if node.op == "PyFunc":
            node.op = "IdentityN"
            node.attr["T"].CopyFrom(node.attr["Tin"])
            for name in ("Tin", "Tout", "token"):
                del node.attr[name]
    return graph_from_def(graph_def)


def _in_session(graph: Graph, feeds: Dict[str, Any], fetches: List[str]) -> List[Any]:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(_theirs(graph), name="")
    metadata = tf.RunMetadata()
    with tf.Session(graph=imported, config=config) as session:
        options = tf.RunOptions(output_partition_graphs=True)
        session.run(fetches, feeds, options=options, run_metadata=metadata)
    (only,) = metadata.partition_graphs
    return list(only.node)


@settings(max_examples=15)
@given(data=st.data())
def test_a_session_gives_passes_nodes_as_made_and_control_inputs_by_name(data: Any) -> None:
    found = request(data.draw(steps((*DEVICE_KINDS, "condition", "while"), kept=False)))
    if found is None:
        return
    tensors = [fetch for fetch in found.fetches if ":" in fetch]
    targets = [fetch for fetch in found.fetches if ":" not in fetch]
    graph = data.draw(reordered(_runnable(found.graph)))
    feeds = {}
    for name in found.feeds:
        pred = graph.node(name.partition(":")[0]).attr("dtype").name == "bool"
        feeds[name] = np.array(True) if pred else np.ones([2], np.float32)
    given_back = _in_session(graph, feeds, found.fetches)
    ours = as_session_gives(close_over(in_creation_order(graph), found.feeds, tensors, targets))
    assert [node.name for node in ours.nodes] == [node.name for node in given_back]
    assert [node.inputs for node in ours.nodes] == [tuple(node.input) for node in given_back]
