"""Functions of a graph: signatures, bodies, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from npu_reference import NpuError
from npu_reference.graphs import DType, Graph, GraphBuilder, graph_from_def, message_class


def _with_function() -> GraphBuilder:
    g = GraphBuilder()
    f = g.function("f", {"a": "float32", "n": "int32"}, {"first": "float32", "second": "float32"})
    split = f.op("Split", "split", [f.args["n"], f.args["a"]], num_split=2)
    f.returns(first=split[0], second=f.op("Relu", "relu", [split[1]], control=[split]))
    return g


def test_a_function_tells_its_arguments_and_returns() -> None:
    g = _with_function()
    g.op("f", "call", [g.placeholder("x"), g.const("n", 0)])
    graph = g.build()
    function = graph.functions["f"]
    assert (function.arg_names, function.ret_names) == (("a", "n"), ("first", "second"))
    assert function.arg_dtypes == (DType.FLOAT, DType.INT32)
    assert graph.output_dtypes(2) == function.ret_dtypes == (DType.FLOAT, DType.FLOAT)
    assert list(graph.functions) == ["f"] and "f" in graph.functions and "g" not in graph.functions


def test_a_body_is_a_graph_with_args_and_retvals() -> None:
    body = _with_function().build().functions["f"].body
    assert [(node.name, node.op, node.inputs) for node in body.nodes] == [
        ("a", "_Arg", ()),
        ("n", "_Arg", ()),
        ("split", "Split", ("n", "a")),
        ("relu", "Relu", ("split:1", "^split")),
        ("first_RetVal", "_Retval", ("split",)),
        ("second_RetVal", "_Retval", ("relu",)),
    ]
    assert [body.nodes[i].attr("index") for i in (0, 1, 4, 5)] == [0, 1, 0, 1]
    assert body is body.functions["f"].body


def test_a_body_is_made_only_when_asked_for() -> None:
    graph_def = _with_function().to_def()
    graph_def.library.function[0].node_def[0].op = "NoSuchOperator"
    graph = graph_from_def(graph_def, subject="g.pb")
    with pytest.raises(NpuError) as caught:
        graph.functions["f"].body  # noqa: B018
    assert (caught.value.code, caught.value.subject) == ("GRAPH_UNKNOWN_OP", "g.pb: function 'f': node 'split'")


def test_a_function_may_call_itself() -> None:
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("f", "again", [f.args["a"]]))
    graph = g.build()
    assert graph.functions["f"].body.functions["f"].body.nodes[1].op == "f"


def test_list_arguments_of_operators_are_numbered_within_their_name() -> None:
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "int32"})
    p = f.op("PyFunc", "p", [[f.args["a"]]], Tout=["float32", "int32"], token="t")
    f.returns(b=p[1])
    assert g.to_def().library.function[0].ret["b"] == "p:output:1"
    assert g.build().functions["f"].body.nodes[-1].inputs == ("p:1",)


def _polymorphic(number: bool = False) -> Graph:
    graph_def = message_class("GraphDef")()
    function = graph_def.library.function.add()
    signature = function.signature
    signature.name = "twice"
    signature.attr.add(name="T", type="type")
    arg = signature.input_arg.add(name="a", type_attr="T")
    ret = signature.output_arg.add(name="b", type_attr="T")
    if number:
        signature.attr.add(name="N", type="int")
        arg.number_attr = "N"
        ret.number_attr = "N"
        function.ret["b"] = "many:output"
        node = function.node_def.add(name="many", op="IdentityN", input=["a:0", "a:1"])
        node.attr["T"].list.type.extend([1, 1])
    else:
        function.ret["b"] = "add:z:0"
        function.node_def.add(name="add", op="AddV2", input=["a", "a"]).attr["T"].placeholder = "T"
    return graph_from_def(graph_def)


def _given(**attrs: int) -> Any:
    result = {}
    for name, value in attrs.items():
        result[name] = message_class("AttrValue")(**({"type": value} if name == "T" else {"i": value}))
    return result


def test_a_function_of_any_type_is_made_for_the_caller_s() -> None:
    function = _polymorphic().functions["twice"]
    body = function.instantiate(_given(T=DType.HALF.number))
    assert body.output_dtypes(body.index["add"]) == (DType.HALF,)
    with pytest.raises(NpuError, match=r"GRAPH_ATTR.*function 'twice'.*'T' is missing"):
        function.body  # noqa: B018


def test_lists_of_arguments_and_returns_are_counted_out() -> None:
    body = _polymorphic(number=True).functions["twice"].instantiate(_given(T=1, N=2))
    assert [node.name for node in body.nodes] == ["a_0", "a_1", "many", "b_0_RetVal", "b_1_RetVal"]
    assert body.nodes[-1].inputs == ("many:1",)


def _refusal(change: Any) -> NpuError:
    graph_def = _with_function().to_def()
    change(graph_def.library.function[0])
    with pytest.raises(NpuError) as caught:
        graph_from_def(graph_def, subject="g.pb").functions["f"].body  # noqa: B018
    return caught.value


def test_inputs_that_are_not_in_the_body_are_refused() -> None:
    for text in ["absent", "split:absent:0", "split:output:2", "split:1", "a:1", "^absent", "split:output:x", ""]:
        error = _refusal(lambda f, text=text: f.node_def[1].input.__setitem__(0, text))
        assert (error.code, error.subject) == ("GRAPH_INPUT", "g.pb: function 'f'")
        assert f"node 'relu' reads '{text}'" in error.reason


def test_a_return_nobody_gives_is_refused() -> None:
    assert "nothing is returned as 'second'" in str(_refusal(lambda f: f.ret.pop("second")))


def test_a_cycle_within_a_body_is_refused() -> None:
    error = _refusal(lambda f: f.node_def[1].input.__setitem__(0, "relu:activations:0"))
    assert (error.code, error.subject) == ("GRAPH_CYCLE", "g.pb: function 'f': node 'relu'")


def test_a_body_that_names_an_argument_twice_is_refused() -> None:
    assert _refusal(lambda f: setattr(f.node_def[1], "name", "a")).code == "GRAPH_DUPLICATE_NODE"


def test_a_missing_attribute_within_a_body_is_refused() -> None:
    error = _refusal(lambda f: f.node_def[0].attr.pop("num_split"))
    assert (error.code, error.subject) == ("GRAPH_ATTR", "g.pb: function 'f': node 'split'")


def test_two_functions_of_one_name_are_refused() -> None:
    graph_def = _with_function().to_def()
    graph_def.library.function.add().CopyFrom(graph_def.library.function[0])
    with pytest.raises(NpuError, match="function 'f': it is defined twice"):
        graph_from_def(graph_def)


def test_control_inputs_from_an_argument_come_from_its_node() -> None:
    graph_def = _with_function().to_def()
    graph_def.library.function[0].node_def[1].input.append("^n")
    assert graph_from_def(graph_def).functions["f"].body.node("relu").inputs[-1] == "^n"


def test_the_library_stays_in_what_is_written() -> None:
    graph = _with_function().build()
    assert graph_from_def(graph.to_def()).functions["f"].body.to_bytes() == graph.functions["f"].body.to_bytes()


def test_a_builder_lets_the_caller_say_a_type():
    g = GraphBuilder()
    f = g.function("f", {"v": "float32"}, {"r": "float16"})
    f.op("Cast", "cast", [f.args["v"]], DstT="float16")
    f.returns(r=f.later("cast", "float16"))
    f.declare("Told", "type", {"cast": "DstT"})
    g.op("f", "call", [g.placeholder("x")], Told="float16")
    graph = g.build()
    call = graph.nodes[graph.index["call"]]
    body = graph.functions["f"].instantiate(call.proto.attr)
    assert body.output_dtypes(body.index["cast"]) == (DType.HALF,)
    assert graph.functions["f"].proto.node_def[0].attr["DstT"].placeholder == "Told"
