"""The adapter's own operators: as a real adapter's graphs have them, and as functions that TensorFlow can run."""

from __future__ import annotations

from typing import Any

import pytest

from npu_reference.graphs import OPERATOR_MARK, Graph, GraphBuilder, graph_from_def, in_creation_order, infer_shapes
from npu_reference.graphs.private_ops import PRIVATE_OPS
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.partition.reasons import Reason
from npu_reference.precision import assign


def called(mark: str = "DropOutDoMask", *, mask: str = "uint8", second: bool = False) -> Graph:
    """A graph with a function that holds an operator no device has, and a call of it between two products."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4, 3])
    bits = g.placeholder("mask", mask, [16])
    args = {"x": "float32", "mask": mask, "keep_prob": "float32"}
    rets = {"y": "float32", "z": "float32"} if second else {"y": "float32"}
    f = g.function("DropOutDoMask_0123", args, rets)
    body = f.op("PyFunc", "inside", [[f.args["x"]]], Tout=["float32"], token="none")[0]
    f.returns(**dict.fromkeys(rets, body))
    before = g.op("Mul", "before", [x, x])
    y = g.op("DropOutDoMask_0123", "drop", [before, bits, g.const("keep", 0.5)])
    g.op("Mul", "after", [y[0], y[0]] if second else [y, y])
    return marked(g, mark)


def shape_in(graph: Graph, node: str, slot: int = 0) -> Any:
    return infer_shapes(graph).of(graph.index[node], slot)


def marked(g: GraphBuilder, mark: str) -> Graph:
    graph_def = g.to_def()
    for function in graph_def.library.function:
        function.attr[OPERATOR_MARK].s = mark.encode()
    return graph_from_def(graph_def)


def test_a_call_of_a_marked_function_is_the_operator_it_computes() -> None:
    graph = called()
    node = graph.node("drop")
    assert node.op == "DropOutDoMask" and node.proto.op == "DropOutDoMask_0123"
    assert [dtype.name for dtype in graph.input_dtypes(node.id)] == ["float32", "uint8", "float32"]
    assert [dtype.name for dtype in graph.output_dtypes(node.id)] == ["float32"]


def test_what_is_written_reads_as_the_same_again() -> None:
    again = graph_from_def(called().to_def())
    assert again.node("drop").op == "DropOutDoMask"
    assert again.to_bytes() == called().to_bytes()


@pytest.mark.parametrize("mark", ["Conv2D", "Nonsense", "", "DropOutGenMask\n"])
def test_a_mark_that_names_none_of_the_adapters_operators_says_nothing(mark: str) -> None:
    assert called(mark).node("drop").op == "DropOutDoMask_0123"


def test_a_mark_with_other_arguments_than_the_operators_says_nothing() -> None:
    assert called("GeluGrad", second=True).node("drop").op == "DropOutDoMask_0123"
    assert called("HcomAllToAllV").node("drop").op == "DropOutDoMask_0123"


def test_a_mark_may_leave_out_how_many_tensors_a_list_has() -> None:
    assert called("HcomBroadcast").node("drop").op == "HcomBroadcast"


def test_a_marked_function_in_a_body_is_the_operator_there() -> None:
    g = GraphBuilder()
    inner = g.function("Gelu_0", {"x": "float32"}, {"y": "float32"})
    inner.returns(y=inner.op("PyFunc", "inside", [[inner.args["x"]]], Tout=["float32"], token="none")[0])
    outer = g.function("outer", {"a": "float32"}, {"b": "float32"})
    outer.returns(b=outer.op("Gelu_0", "gelu", [outer.args["a"]]))
    g.op("outer", "call", [g.placeholder("x")])
    graph_def = g.to_def()
    graph_def.library.function[0].attr[OPERATOR_MARK].s = b"Gelu"
    graph = graph_from_def(graph_def)
    assert graph.functions["outer"].body.node("gelu").op == "Gelu"
    # The function is judged by the operator, not by the PyFunc that TensorFlow runs in its place.
    parts = partition(graph, resolve({"mix_compile_mode": True}))
    assert [graph.nodes[node].name for node in parts.geops[0].nodes] == ["call"]


def test_it_is_placed_by_its_operator_and_not_by_what_the_function_holds() -> None:
    parts = partition(called(), resolve({"mix_compile_mode": True}))
    assert len(parts.geops) == 1
    assert {parts.graph.nodes[node].op for node in parts.geops[0].nodes} == {"Mul", "DropOutDoMask", "Const"}
    unmarked = partition(called("Nonsense"), resolve({"mix_compile_mode": True}))
    reasons = {entry.node: entry.reason for entry in unmarked.host}
    assert reasons["drop"] == Reason.FUNCTION


def test_an_operator_that_the_device_lacks_stays_on_the_host_by_its_own_name() -> None:
    g = GraphBuilder()
    f = g.function("LARS_0", {"w": "float32", "g": "float32", "d": "float32"}, {"y": "float32"})
    f.returns(y=f.op("Mul", "inside", [f.args["w"], f.args["g"]]))
    x = g.placeholder("x")
    g.op("LARS_0", "lars", [x, x, x])
    parts = partition(marked(g, "LARS"), resolve({"mix_compile_mode": True}))
    entry = next(entry for entry in parts.host if entry.node == "lars")
    assert (entry.op, entry.reason) == ("LARS", Reason.NOT_SUPPORTED)


def test_its_dtypes_are_those_of_its_kernel() -> None:
    options = resolve({"mix_compile_mode": True, "precision_mode": "force_fp16", "graph_run_mode": 0})
    assignment = assign(partition(called(), options), options)
    node = assignment.by_name()["drop"]
    assert (node.op, node.kernel, node.engine) == ("DropOutDoMask", "DropOutDoMask", "vector")
    assert (node.inputs, node.outputs) == (("float16", "uint8", "float16"), ("float16",))
    assert all(entry.function is None for entry in assignment.nodes), "what TensorFlow runs is no operator of its own"


def lstm(lengths: bool) -> Graph:
    g = GraphBuilder()
    x, w, b = g.placeholder("x", shape=[7, 2, 3]), g.placeholder("w", shape=[8, 20]), g.placeholder("b", shape=[20])
    state = g.placeholder("state", shape=[1, 2, 5])
    inputs = [x, w, b, *([g.placeholder("lengths", "int32", [2])] if lengths else []), state, state]
    g.op("DynamicRnn" if lengths else "DynamicRnnV2", "lstm", inputs)
    return g.build()


@pytest.mark.parametrize("lengths", [True, False])
def test_a_real_adapters_lstm_is_known_to_shapes_partition_and_precision(lengths: bool) -> None:
    graph = lstm(lengths)

    assert [shape_in(graph, "lstm", slot) for slot in range(8)] == [(7, 2, 5)] * 8
    options = resolve({"mix_compile_mode": True, "precision_mode": "allow_mix_precision"})
    node = assign(partition(graph, options), options).by_name()["lstm"]
    assert (node.kernel, node.engine, node.list) == ("DynamicRNN", "cube", "trustlist")
    assert list(node.inputs) == ["float16"] * 3 + ["int32"] * lengths + ["float16"] * 2
    assert list(node.outputs) == ["float16"] * 8


def shapes_of(op: str, inputs: Any, count: int, **attrs: Any) -> Any:
    g = GraphBuilder()
    given = [g.placeholder(f"x{k}", dtype, shape) for k, (dtype, shape) in enumerate(inputs)]
    g.op(op, "node", given, **attrs)
    graph = g.build()
    return [shape_in(graph, "node", slot) for slot in range(count)]


def f(*shape: Any) -> Any:
    return "float32", list(shape)


@pytest.mark.parametrize(
    "op, inputs, expected",
    [
        ("DropOutDoMask", [f(4, None), ("uint8", [16]), f()], [(4, None)]),
        ("Gelu", [f(2, 3)], [(2, 3)]),
        ("GeluGrad", [f(2, None), f(2, 3), f(2, 3)], [(2, 3)]),
        ("PReluGrad", [f(2, 3), f(2, 3), f(3)], [(2, 3), (3,)]),
        ("BasicLSTMCell", [f(2, 3), f(2, 5), f(2, 5), f(8, 20), f(20)], [(2, 5)] * 7),
        ("BasicLSTMCellInputGrad", [f(2, 20), f(8, 20)], [(2, 3), (2, 5)]),
        ("BasicLSTMCellWeightGrad", [f(2, 3), f(2, 5), f(2, 20)], [(8, 20), (20,)]),
        ("BasicLSTMCellCStateGrad", [f(2, 5)] * 8, [(2, 20), (2, 5)]),
        ("DynamicGruV2", [f(7, 2, 3), f(3, 15), f(5, 15), f(15), f(15), ("int32", [2]), f(2, 5)], [(7, 2, 5)] * 6),
        (
            "DynamicAUGRU",
            [f(7, 2, 3), f(3, 15), f(5, 15), f(7, 2), f(15), f(15), ("int32", [2]), f(2, 5)],
            [(7, 2, 5)] * 7,
        ),
    ],
)
def test_shapes_of_own_operators(op: str, inputs: Any, expected: Any) -> None:
    assert shapes_of(op, inputs, len(expected)) == expected


@pytest.mark.parametrize("sizes, bits", [([100], 128), ([128], 128), ([3, 43], 256), ([0, 5], 0)])
def test_a_mask_has_a_bit_for_each_element_in_blocks_of_128(sizes: Any, bits: int) -> None:
    g = GraphBuilder()
    g.op("DropOutGenMask", "mask", [g.const("shape", sizes, "int32"), g.const("keep", 0.5)])
    assert shape_in(g.build(), "mask") == (bits // 8,)


def test_operators_are_declared_once() -> None:
    names = [declared.name for declared in PRIVATE_OPS]
    assert len(names) == len(set(names))


def test_an_operator_of_the_adapter_stays_one_where_nodes_are_numbered_anew() -> None:
    graph_def = called().to_def()
    nodes = list(graph_def.node)[::-1]
    del graph_def.node[:]
    graph_def.node.extend(nodes)
    graph = in_creation_order(graph_from_def(graph_def))
    assert graph.index["before"] < graph.index["drop"] and graph.node("drop").op == "DropOutDoMask"
