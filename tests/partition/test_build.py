"""The partitioned graph: one function and one call a GEOP, and nothing lost on the way."""

from __future__ import annotations

import re

from npu_reference.graphs import GraphBuilder, graph_from_def
from npu_reference.partition import build
from tests.partition.graphs_for_tests import chain, closed, divide, mixed


def functions(built):
    return {function.signature.name: function for function in built.library.function}


def nodes(built):
    return {node.name: node for node in built.node}


def test_a_geop_is_a_function_of_its_name_and_one_call():
    graph = chain("dhd")
    built = build(graph, mixed(graph))
    assert set(functions(built)) == {"GeOp_0", "GeOp_1"}
    call = nodes(built)["GeOp_1"]
    assert (call.op, list(call.input), call.attr["f"].func.name) == ("StatefulPartitionedCall", ["b"], "GeOp_1")
    assert list(nodes(built)["b"].input) == ["GeOp_0"]
    assert [node.name for node in functions(built)["GeOp_0"].node_def] == ["a"]


def test_calls_may_be_of_another_operator():
    graph = chain("d")
    assert nodes(build(graph, mixed(graph), op="PartitionedCall"))["GeOp_0"].op == "PartitionedCall"


def test_names_that_the_graph_has_already_are_avoided():
    g = GraphBuilder()
    g.op("Relu", "GeOp_0", [g.placeholder("x", "float32", [2])])
    graph = closed(g, ["x"], ["GeOp_0:0"])
    built = build(graph, mixed(graph))
    assert "GeOp_0_1" in functions(built)
    graph_from_def(built)


def test_arguments_and_returns_have_legal_names_and_base_types():
    g = GraphBuilder()
    v = g.variable("Scope.1/V-x", shape=[2])
    x = g.placeholder("x", "float32", [2])
    g.op("PyFunc", "read", [[v]], Tout=["float32"], token="t")
    g.op("AssignAdd", "Up", [v, x])
    graph = closed(g, ["x"], ["read:0"], ["Up"])
    result = mixed(graph)
    function = functions(build(graph, result))["GeOp_0"]
    for argument in (*function.signature.input_arg, *function.signature.output_arg):
        assert re.match(r"[a-z][a-z0-9_]*\Z", argument.name)
        assert argument.type == 1
    inner = {node.name: node for node in function.node_def}
    assert inner["Scope.1/V-x_dummyIdentity"].op == "Identity"
    assert inner["Scope.1/V-x"].attr["shared_name"].s == b"Scope.1/V-x"


def test_a_reference_from_the_host_is_read_before_it_enters():
    g = GraphBuilder()
    v = g.op("VariableV2", "v", dtype="float32", shape=[2], attrs_={"_without_npu_compile": True})
    g.op("Relu", "a", [v])
    graph = closed(g, [], ["a:0"])
    built = build(graph, mixed(graph))
    assert list(nodes(built)["GeOp_0"].input) == ["v_dummyIdentity"]
    assert list(nodes(built)["v_dummyIdentity"].input) == ["v"]


def test_what_runs_for_its_effect_is_a_control_output():
    g = GraphBuilder()
    v = g.resource_variable("v", shape=[2])
    g.op("AssignVariableOp", "up", [v, g.placeholder("x", "float32", [2])], dtype="float32")
    graph = closed(g, ["x"], [], ["up"])
    function = functions(build(graph, divide(graph)))["GeOp_0"]
    assert list(function.control_ret.values()) == ["up"]
    assert list(function.signature.control_output) == list(function.control_ret)


def test_control_edges_over_a_border_become_edges_of_the_call_once():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    h = g.py_func("h", [x], ["float32"])
    a = g.op("Relu", "a", [x], control=["h"])
    b = g.op("Exp", "b", [a], control=["h"])
    g.py_func("k", [h[0]], ["float32"], control=[a, b])
    graph = closed(g, ["x"], ["k:0", "b:0"])
    built = build(graph, mixed(graph))
    assert list(nodes(built)["GeOp_0"].input) == ["_arg_x_0_0", "^h"]
    assert list(nodes(built)["k"].input) == ["h", "^GeOp_0"]


def test_functions_of_the_graph_are_carried_along_and_colocation_with_moved_operators_is_dropped():
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("Neg", "neg", [f.args["a"]]))
    call = g.op("StatefulPartitionedCall", "call", [[g.placeholder("x", "float32", [2])]], Tout=["float32"], f="f")
    g.op("PyFunc", "h", [[call[0]]], Tout=["float32"], token="t", attrs_={"_class": [b"loc:@call"]})
    graph = closed(g, ["x"], ["h:0"])
    built = build(graph, mixed(graph))
    assert set(functions(built)) == {"f", "GeOp_0"}
    assert "_class" not in nodes(built)["h"].attr
