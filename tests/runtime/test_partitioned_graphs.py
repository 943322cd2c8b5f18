"""A partitioned graph computes in TensorFlow what the graph itself computes, whatever the graph."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import close_over, graph_from_def
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition import build, partition
from tests import strategies

#: Assignments are left out: where nothing orders them with reads, the value read is a matter of chance.
KINDS = [kind for kind in strategies.KINDS if "assign" not in kind]


def runnable(graph):
    """The graph with DebugIdentity, which the device has not either, for every PyFunc: it needs no registration."""
    graph_def = graph.to_def()
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op == "PyFunc":
                node.op = "DebugIdentity"
                for name in ("Tin", "Tout", "token"):
                    del node.attr[name]
                node.attr["T"].type = 1
                node.attr["tensor_name"].s = b"host:0"
    return graph_from_def(graph_def)


def importable(graph_def):
    """TensorFlow's own message, feeds as placeholders and fetches as Identities: it refuses names that begin with _."""
    result = tf.GraphDef.FromString(graph_def.SerializeToString())
    names = {node.name: "outer" + node.name for node in result.node if node.name.startswith("_")}
    for node in result.node:
        node.name = names.get(node.name, node.name)
        for position, text in enumerate(node.input):
            mark = "^" if text.startswith("^") else ""
            node.input[position] = mark + names.get(text[len(mark) :], text[len(mark) :])
        if node.op == "_Arg":
            node.op = "Placeholder"
            node.attr["dtype"].type = node.attr["T"].type
            for name in list(node.attr):
                if name != "dtype":
                    del node.attr[name]
        elif node.op == "_Retval":
            node.op = "Identity"
            del node.attr["index"]
    return result


def values(graph_def, feeds):
    """What the fetches give: {name: value or the error's class}."""
    message = importable(graph_def)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        # The nodes first and the functions behind them: TensorFlow 1.15 may crash on shapes of functions with loops.
        functions = tf.GraphDef(versions=message.versions, library=message.library)
        tf.import_graph_def(functions, name="")
        tf.import_graph_def(message, name="")
        initialise(graph, session, message)
        chosen = {}
        for node in message.node:
            if node.op == "Placeholder":
                tensor = graph.get_tensor_by_name(node.name + ":0")
                chosen[tensor] = feeds["bool" if tensor.dtype == tf.bool else "float"]
        fetches = sorted(node.name for node in message.node if node.name.startswith("outer_retval"))
        return dict(zip(fetches, session.run([name + ":0" for name in fetches], chosen)))


def initialise(graph, session, message):
    """Give every variable, wherever it is, a value of its own name."""
    nodes = [*message.node, *(node for function in message.library.function for node in function.node_def)]
    with graph.as_default():
        ops = {}
        for node in nodes:
            if node.op not in ("VariableV2", "VarHandleOp"):
                continue
            name = node.attr["shared_name"].s.decode()
            if node.op == "VariableV2":
                name = name or node.name
            start = np.full([2], len(name), np.float32)
            if node.op == "VariableV2":
                handle = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, shared_name=name)
                ops[name] = tf.raw_ops.Assign(ref=handle, value=start).op
            else:
                handle = tf.raw_ops.VarHandleOp(shape=[2], dtype=tf.float32, shared_name=name)
                ops[name] = tf.raw_ops.AssignVariableOp(resource=handle, value=start)
    session.run([ops[name] for name in sorted(ops)])


@settings(max_examples=15)
@given(
    strategies.closed_graphs(KINDS, max_size=12),
    st.tuples(st.booleans(), st.booleans()).map(lambda f: PartitionSettings(mix=f[0], variables_on_host=f[1])),
    st.booleans(),
)
def test_the_partitioned_graph_gives_the_same_values(graph, options, predicate):
    graph = runnable(graph)
    feeds = {"float": np.array([0.5, -1.5], np.float32), "bool": np.array(predicate)}
    expected = values(graph.to_def(), feeds)
    got = values(build(graph, partition(graph, options)), feeds)
    assert sorted(expected) == sorted(got)
    for name in expected:
        np.testing.assert_array_equal(expected[name], got[name], err_msg=name)


STATE = ("Assign", "AssignAdd", "AssignAddVariableOp", "ReadVariableOp", "VariableV2", "VarHandleOp")


def in_turn(graph):
    """The graph with its variables' operators one after the other, so that what each reads is no matter of chance.

    Fetches of references are left out: they are read at some moment of the run. Floor reads a reference in place of
    Identity, whose result would be the variable's own memory, to be read at some moment as well.
    """
    graph_def = graph.to_def()
    refs = {node.name for node in graph.nodes if any(d.is_ref for d in graph.output_dtypes(node.id))}
    kept = [node for node in graph_def.node if not (node.op == "_Retval" and node.input[0] in refs)]
    last = ""
    for node in (graph_def.node[i] for i in graph.creation):
        if node.op == "_Retval" and node.input[0] in refs:
            continue
        takes_ref = any(text.partition(":")[0] in refs for text in node.input)
        if node.op in STATE or takes_ref:
            node.op = "Floor" if node.op == "Identity" else node.op
            if last and "^" + last not in node.input:
                node.input.append("^" + last)
            last = node.name
    nodes = [type(node).FromString(node.SerializeToString()) for node in kept]
    del graph_def.node[:]
    graph_def.node.extend(nodes)
    return graph_from_def(graph_def)


def states(graph_def, feeds):
    """What the fetches give, and what every variable holds after two runs of all operators."""
    message = importable(graph_def)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(tf.GraphDef(versions=message.versions, library=message.library), name="")
        tf.import_graph_def(message, name="")
        initialise(graph, session, message)
        chosen = {}
        for node in message.node:
            if node.op == "Placeholder":
                tensor = graph.get_tensor_by_name(node.name + ":0")
                chosen[tensor] = feeds["bool" if tensor.dtype == tf.bool else "float"]
        fetches = sorted(node.name for node in message.node if node.name.startswith("outer_retval"))
        everything = [graph.get_operation_by_name(node.name) for node in message.node if node.op != "Placeholder"]
        seen = {}
        for turn in range(2):
            values_, _ = session.run([[name + ":0" for name in fetches], everything], chosen)
            seen.update({f"{name}#{turn}": value for name, value in zip(fetches, values_)})
        nodes = [*message.node, *(node for function in message.library.function for node in function.node_def)]
        for node in nodes:
            name = node.attr["shared_name"].s.decode() or node.name
            if node.op == "VariableV2":
                seen[name] = session.run(tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, shared_name=name))
            elif node.op == "VarHandleOp" and node.attr["shared_name"].s:
                handle = tf.raw_ops.VarHandleOp(shape=[2], dtype=tf.float32, shared_name=name)
                seen[name] = session.run(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))
        return seen


def named_state(graph):
    """The graph in which every variable has its own name as the name of its state."""
    graph_def = graph.to_def()
    for node in graph_def.node:
        if node.op in ("VariableV2", "VarHandleOp") and not node.attr["shared_name"].s:
            node.attr["shared_name"].s = node.name.encode()
    return graph_from_def(graph_def)


WITH_STATE = ("unary", "binary", "host", "const", "outputs", "ref_variable", "assign", "resource_variable",
              "resource_assign")  # fmt: skip


@settings(max_examples=15)
@given(
    strategies.closed_graphs(WITH_STATE, max_size=12),
    st.tuples(st.booleans(), st.booleans()).map(lambda f: PartitionSettings(mix=f[0], variables_on_host=f[1])),
)
def test_the_partitioned_graph_assigns_the_same_values(graph, options):
    graph = named_state(in_turn(runnable(graph)))
    feeds = {"float": np.array([0.5, -1.5], np.float32)}
    expected = states(graph.to_def(), feeds)
    got = states(build(graph, partition(graph, options)), feeds)
    assert sorted(expected) == sorted(got)
    for name in expected:
        np.testing.assert_array_equal(expected[name], got[name], err_msg=name)


def test_a_training_step_in_a_geop_updates_the_variable_it_shares_with_the_host():
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", initializer=np.float32(1.0), use_resource=False)
        x = tf.placeholder(tf.float32, [], name="x")
        tf.assign_add(v, x * 2.0, name="step")
        step = close_over(graph_from_def(graph.as_graph_def()), ["x"], [], ["step"])
    result = partition(step, PartitionSettings())
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(importable(build(step, result)), name="")
        handle = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, shared_name="v")
        session.run(tf.raw_ops.Assign(ref=handle, value=1.0).op)
        call = graph.get_operation_by_name(result.geops[0].name)
        session.run(call, {"outer_arg_x_0_0:0": 3.0})
        assert session.run(handle) == pytest.approx(7.0)
