"""Shapes follow from what a graph states and what is fed; what cannot be told is unknown, and nothing raises."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import FuncRef, GraphBuilder, arg_shapes, batch_feeds, close_over, infer_shapes, load_graph
from npu_reference.graphs.shaping import inference
from npu_reference.graphs.shaping.dims import broadcast, common, merged

pytestmark = [pytest.mark.oldest_at_night, pytest.mark.between_at_night, pytest.mark.newest_at_night]

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "graphs", "models")


def shape_of(op, inputs, slot=0, **attrs):
    """The shape an operator gives for inputs that are shapes of float placeholders, or lists of whole numbers."""
    g = GraphBuilder()
    made = [
        g.placeholder(f"x{k}", "float32", list(one) if one is not None else None)
        if one is None or isinstance(one, tuple)
        else g.const(f"c{k}", one, "int32")
        for k, one in enumerate(inputs)
    ]
    lists = {"ConcatV2": [made[:-1], made[-1]], "Pack": [made], "AddN": [made]}
    node = g.op(op, "out", lists.get(op, made), **attrs)
    graph = g.build()
    return infer_shapes(graph).of(graph.index[node.name], slot)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"),
    [
        ("AddV2", [(None, 1, 3), (4, 1)], {}, (None, 4, 3)),
        ("AddV2", [(None,), (None,)], {}, (None,)),
        ("AddV2", [None, (3,)], {}, None),
        ("AddN", [(None, 3), (2, None)], {}, (2, 3)),
        ("ReluGrad", [(None, 3), (2, 3)], {}, (2, 3)),
        ("MatMul", [None, (3, 4)], {}, (None, 4)),
        ("BatchMatMulV2", [(None, 2, 3), (3, 4)], {}, (None, 2, 4)),
        ("Conv2D", [(None, 7, None, 3), (3, 3, 3, 5)],
         {"strides": [1, 2, 2, 1], "padding": "SAME"}, (None, 4, None, 5)),
        ("Conv2D", [(1, 7, 7, 3), (3, 3, 3, 5)],
         {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 2, 0, 0, 0]}, (1, 7, 7, 5)),
        ("Conv2D", [(1, 3, 9, 9), (3, 3, 3, 5)],
         {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NCHW"}, (1, 5, 7, 7)),
        ("BiasAdd", [(None, 3, None), (5,)], {}, (None, 3, 5)),
        ("Reshape", [(None, 6), [-1, 3]], {}, (None, 3)),
        ("Reshape", [None, [4, -1, 2]], {}, (4, None, 2)),
        ("Transpose", [(None, 3, 4), [2, 0, 1]], {}, (4, None, 3)),
        ("Sum", [(None, 3), [1]], {}, (None,)),
        ("ExpandDims", [(None, 3), 0], {}, (1, None, 3)),
        ("Squeeze", [(None, 1, 3)], {"squeeze_dims": [1]}, (None, 3)),
        ("Squeeze", [(None, 1, 3)], {}, None),
        ("ConcatV2", [(None, 3), (2, 5), 1], {}, (2, 8)),
        ("ConcatV2", [(None, 3), (2, 3), 0], {}, (None, 3)),
        ("Pack", [(None, 3), (2, 3)], {"axis": -1}, (2, 3, 2)),
        ("Tile", [(None, 3), [2, 3]], {}, (None, 9)),
        ("StridedSlice", [(None, 7, 5), [0, 1], [0, 4], [1, 1]], {"begin_mask": 1, "end_mask": 1}, (None, 3, 5)),
        ("StridedSlice", [(5, 7, 9), [0, 0], [0, 4], [1, 2]], {"ellipsis_mask": 1}, (5, 7, 2)),
        ("StridedSlice", [(5,), [0, 0], [0, 0], [1, 1]], {"new_axis_mask": 1, "shrink_axis_mask": 2}, (1,)),
        ("StridedSlice", [(5,), [-1], [-9], [-2]], {}, (3,)),
        ("Slice", [(None, 7), [0, 2], [-1, 3]], {}, (None, 3)),
        ("Split", [0, (6, None)], {"num_split": 3}, (2, None)),
        ("Range", [2, 9, 3], {}, (3,)),
        ("L2Loss", [None], {}, ()),
        ("SparseSoftmaxCrossEntropyWithLogits", [(None, 10), [1, 2]], {}, (2,)),
        ("HcomAllReduce", [(None, 3)], {}, (None, 3)),
        ("HcomAllGather", [(2, None)], {"rank_size": 4}, (8, None)),
        ("HcomAllGather", [(None, 3)], {"_npu_rank_size": 4}, (None, 3)),
        ("HcomReduceScatter", [(8, 3)], {"rank_size": 4}, (2, 3)),
    ],
)  # fmt: skip
def test_an_operator_gives_what_is_known_of_its_shape(op, inputs, attrs, expected):
    assert shape_of(op, inputs, **attrs) == expected


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("AddV2", [(2,), (3,)], {}),
        ("MatMul", [(2, 3), (4, 5)], {}),
        ("MatMul", [(2,), (4, 5)], {}),
        ("Transpose", [(2, 3), [0, 7]], {}),
        ("Transpose", [(2, 3), [0, 0]], {}),
        ("Reshape", [(2, 3), [4, -1]], {}),
        ("Sum", [(2, 3), [5]], {}),
        ("ConcatV2", [(2, 3), (2,), 0], {}),
        ("StridedSlice", [(5,), [0], [5], [0]], {}),
        ("StridedSlice", [(), [0], [1], [1]], {}),
        ("Split", [0, (5, 2)], {"num_split": 3}),
        ("Tile", [(2, 3), [2]], {}),
        ("Tile", [(2, 3), [2**30, 2**30]], {"_repeated": 1}),
        ("Conv2D", [(1, 2, 2, 3), (5, 5, 3, 1)], {"strides": [1, 1, 1, 1], "padding": "VALID"}),
        ("Conv2D", [(1, 2, 2, 3), (1, 1, 3, 1)], {"strides": [1, 0, 0, 1], "padding": "SAME"}),
        ("Conv2D", [(1, 2, 2, 3), (1, 1, 3, 1)], {"strides": [1], "padding": "SAME"}),
        ("Pad", [(2, 3), [[1, 1]]], {}),
        ("Slice", [(5,), [4], [-3]], {}),
        ("HcomReduceScatter", [(9, 3)], {"rank_size": 4}),
        ("HcomAllGather", [(9, 3)], {}),
        ("HcomAllGather", [()], {"rank_size": 4}),
        ("HcomAllGather", [(9, 3)], {"rank_size": 2**62}),
    ],
)
def test_a_contradiction_is_unknown_rather_than_an_error(op, inputs, attrs):
    shape = shape_of(op, inputs, **attrs)
    assert shape is None or op == "Tile"


def test_sizes_computed_from_open_shapes_are_followed():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [None, 6])
    shape = g.op("Shape", "shape", [x])
    places = [g.const(name, [value], "int32") for name, value in (("b", 0), ("e", 1), ("s", 1))]
    rows = g.op("StridedSlice", "rows", [shape, *places], shrink_axis_mask=1)
    columns = g.op("FloorDiv", "columns", [g.const("six", 6, "int32"), g.const("two", 2, "int32")])
    wanted = g.op("Pack", "wanted", [[rows, columns, g.const("again", 2, "int32")]])
    g.op("Reshape", "out", [x, wanted])
    g.op("Fill", "zeros", [wanted, g.const("zero", 0.0, "float32")])
    graph = g.build()
    for name in ("out", "zeros"):
        assert infer_shapes(graph).of(graph.index[name]) == (None, 3, 2)
        assert infer_shapes(graph, feeds={"x": (5, 6)}).known(graph.index[name]) == (5, 3, 2)


def test_what_is_fed_holds_whatever_the_graph_says():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2, 3])
    g.op("Relu", "out", [x])
    graph = g.build()
    shapes = infer_shapes(graph, feeds={"x:0": (7, None, 1), "nowhere": (1,), "out:5": (1,)})
    assert shapes.of(graph.index["out"]) == (7, None, 1)
    assert shapes.known(graph.index["out"]) is None and shapes.bytes(graph.index["out"]) is None
    assert infer_shapes(graph).bytes(graph.index["out"]) == 24
    assert infer_shapes(graph).of(graph.index["out"], 9) is None


def test_a_batch_is_the_first_open_size_of_placeholders_alone():
    g = GraphBuilder()
    g.placeholder("images", "float32", [None, None, 3])
    g.placeholder("scalar", "float32", [])
    g.placeholder("fixed", "float32", [4, None])
    g.placeholder("any", "float32")
    assert batch_feeds(g.build(), 8) == {"images:0": (8, None, 3)}


def test_the_arguments_of_a_run_have_the_shapes_of_what_they_replace():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [None, 3])
    g.op("Relu", "out", [x])
    graph = g.build()
    closed = close_over(graph, ["x:0"], ["out:0"])
    shapes = infer_shapes(closed, feeds=arg_shapes(graph, ["x:0"], batch_feeds(graph, 4)))
    assert shapes.of(closed.index["out"]) == (4, 3)
    assert infer_shapes(closed).of(closed.index["out"]) is None


def test_a_variable_that_is_read_has_the_shape_behind_its_handle():
    g = GraphBuilder()
    handle = g.op("VarHandleOp", "v", [], dtype="float32", shape=(3, 4))
    g.op("ReadVariableOp", "read", [g.op("Identity", "same", [handle])], dtype="float32")
    graph = g.build()
    assert infer_shapes(graph).of(graph.index["read"]) == (3, 4)
    assert infer_shapes(graph).of(graph.index["v"]) == ()


def loop(body):
    """The shape that a loop leaves a tensor of shape [2, 3] with; each turn gives ``body`` the tensor."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2, 3])
    end = g.placeholder("end", "float32", [])
    row = g.placeholder("row", "float32", [1, 3])

    def go(n):
        return g.op("Less", None, [g.op("Sum", None, [n, g.const(None, [0, 1], "int32", control=[n])]), end])

    result = g.while_loop("w", [x], go, lambda n: [body(g, n, row)])[0]
    g.op("Identity", "out", [result])
    graph = g.build()
    return infer_shapes(graph).of(graph.index["out"])


def entered(g, value):
    return g.op("Enter", None, [value], frame_name="w", is_constant=True)


def test_a_tensor_of_a_loop_has_the_shape_it_has_in_every_turn():
    def grown(g, n, row):
        return g.op("ConcatV2", None, [[n, entered(g, row)], g.const(None, 0, "int32", control=[n])])

    assert loop(lambda g, n, row: g.op("AddV2", None, [n, entered(g, row)])) == (2, 3)
    assert loop(grown) == (None, 3)
    assert loop(lambda g, n, row: g.op("ExpandDims", None, [n, g.const(None, 0, "int32", control=[n])])) is None


def called(op, build, **attrs):
    """The shape of the first result of a call of functions, of a tensor of shape [2, 3] and a row of [1, 3]."""
    g = GraphBuilder()
    x, row = g.placeholder("x", "float32", [2, 3]), g.placeholder("row", "float32", [1, 3])
    flag = g.placeholder("flag", "bool", [])
    build(g)
    types = {"Tin": ["float32"] * 2, "Tout": ["float32"] * 2}
    if op in ("StatelessWhile",):
        node = g.op(op, "out", [[x, row]], T=["float32"] * 2, **attrs)
    elif op == "StatelessIf":
        node = g.op(op, "out", [flag, [x, row]], Tcond="bool", **types, **attrs)
    else:
        node = g.op(op, "out", [[x, row]], **types, **attrs)
    graph = g.build()
    return infer_shapes(graph).of(graph.index[node.name])


def function(g, name, make):
    f = g.function(name, {"a": "float32", "b": "float32"}, {"c": "float32", "d": "float32"})
    f.returns(c=make(f, f.args["a"], f.args["b"]), d=f.op("Identity", "d", [f.args["b"]]))
    return name


def test_calls_and_loops_of_functions_are_followed():
    def grown(f, a, b):
        return f.op("ConcatV2", "grown", [[a, b], f.const("axis", 0, "int32")])

    def added(f, a, b):
        return f.op("AddV2", "added", [a, b])

    def go(g):
        f = g.function("go", {"a": "float32", "b": "float32"}, {"go": "bool"})
        f.returns(go=f.const("yes", True))

    def both(g):
        function(g, "grown", grown)
        function(g, "added", added)
        go(g)

    assert called("PartitionedCall", both, f=FuncRef("grown", {})) == (3, 3)
    assert called("StatelessWhile", both, cond=FuncRef("go", {}), body=FuncRef("grown", {})) == (None, 3)
    assert called("StatelessWhile", both, cond=FuncRef("go", {}), body=FuncRef("added", {})) == (2, 3)
    branches = {"then_branch": FuncRef("grown", {}), "else_branch": FuncRef("added", {})}
    assert called("StatelessIf", both, **branches) == (None, 3)


def test_a_function_that_calls_itself_ends():
    def itself(f, a, b):
        types = {"Tin": ["float32"] * 2, "Tout": ["float32"] * 2}
        return f.op("PartitionedCall", "again", [[b, a]], f=FuncRef("itself", {}), **types)[0]

    assert called("PartitionedCall", lambda g: function(g, "itself", itself), f=FuncRef("itself", {})) is None


MODEL_NAMES = sorted(name[: -len(".pb.gz")] for name in os.listdir(MODELS) if name.endswith(".pb.gz"))

#: Kinds of operators whose outputs no shape of the inputs tells: what runs decides, or a file, or Python.
OPEN = frozenset(
    [
        "FusedBatchNormV3",  # its last output, which a kernel keeps to itself
        "NonMaxSuppressionV3",
        "PyFunc",
        "PyFuncStateless",
        "RestoreV2",
        "TensorArrayGatherV3",
        "TensorArrayReadV3",
        "TensorListGetItem",
        "TensorListStack",
        "Unique",
        "Where",
    ]
)


@pytest.mark.parametrize("name", [name for name in MODEL_NAMES if "tiny" in name])
def test_in_a_model_whose_inputs_are_known_only_what_a_run_decides_begins_to_be_unknown(name):
    graph = load_graph(os.path.join(MODELS, name + ".pb.gz"))
    with open(os.path.join(MODELS, name + ".toml"), encoding="utf-8") as stream:
        feeds = fed(stream.read())
    shapes = infer_shapes(graph, feeds=feeds)
    for node in graph.nodes:
        unknown = [k for k in range(len(graph.output_dtypes(node.id))) if shapes.known(node.id, k) is None]
        sources = {graph.edges.src[edge] for edge in graph.in_edges(node.id) if graph.edges.src_slot[edge] >= 0}
        if unknown and all(
            shapes.known(graph.edges.src[edge], graph.edges.src_slot[edge]) is not None
            for edge in graph.in_edges(node.id)
            if graph.edges.src_slot[edge] >= 0
        ):
            behind = {graph.nodes[source].op for source in sources}
            assert node.op in OPEN or behind & OPEN or node.op in BY_VALUE, (node.name, node.op)


#: Operators whose outputs have sizes that are values of their inputs.
BY_VALUE = frozenset(["Fill", "Pad", "PadV2", "Range", "Reshape", "Slice", "StackPopV2", "StridedSlice", "Sum"])


def fed(text):
    """Shapes of what a sidecar's first table of feeds feeds, by tensor."""
    tables = re.findall(r'\[\[feeds\]\]\ntensor = "([^"]+)"\n(?:.*\n)*?run_shape = \[([^\]]*)\]', text)
    return {name: tuple(int(size) for size in sizes.split(",") if size.strip()) for name, sizes in tables}


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 0, 0, 0), (None,) * 5, (2**40, 2**40, 2**40)])
def test_shapes_that_no_model_takes_are_no_error(shape):
    for name in ("lstm_tiny", "lstm_tiny_tf221", "yolo_tiny", "bert_base_tiny", "resnet50_tiny_tf221"):
        graph = load_graph(os.path.join(MODELS, name + ".pb.gz"))
        sources = [node.name for node in graph.nodes if node.op == "Placeholder"]
        shapes = infer_shapes(graph, feeds=dict.fromkeys(sources, shape))
        for node in graph.nodes:
            for size in shapes.of(node.id) or ():
                assert size is None or 0 <= size < 2**63


def test_nodes_of_nested_loops_are_looked_at_a_bounded_number_of_times(monkeypatch):
    looks = []
    find = inference._Inference._find
    monkeypatch.setattr(inference._Inference, "_find", lambda self, node: looks.append(node) or find(self, node))
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2, 3])
    row = g.placeholder("row", "float32", [1, 3])
    go = g.op("Identity", "go", [g.placeholder("p", "bool", [])])

    def nested(depth, value):
        name = f"w{depth}"

        def body(n):
            axis = g.const(None, 0, "int32", control=[n])
            grown = g.op("ConcatV2", None, [[n, g.op("ExpandDims", None, [n, axis])], axis])
            return [nested(depth - 1, grown) if depth else grown]

        return g.while_loop(name, [value], lambda n: g.op("IsFinite", None, [g.op("L2Loss", None, [n])]), body)[0]

    g.op("Identity", "out", [nested(12, value)])
    g.op("AddV2", "unused", [row, row], control=[go])
    graph = g.build()
    assert infer_shapes(graph).of(graph.index["out"]) is None
    assert len(looks) <= (inference._MOST_VISITS + 1) * len(graph)


SHAPES = st.none() | st.lists(st.none() | st.integers(1, 3), max_size=3).map(tuple)


def allows(shape, actual):
    """Whether a tensor of shape ``actual`` may be one of which ``shape`` is known."""
    return shape is None or (len(shape) == len(actual) and all(size in (None, one) for size, one in zip(shape, actual)))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.data(), st.lists(st.integers(1, 3), max_size=3), st.lists(st.integers(1, 3), max_size=3))
def test_what_is_known_of_operands_never_rules_out_the_result(data, a, b):
    def blurred(shape):
        kept = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        return tuple(size if keep else None for size, keep in zip(shape, kept))

    a, b = tuple(a), tuple(b)
    known_a, known_b = blurred(a), blurred(b)
    assert allows(common(known_a, known_b), a) and allows(common(known_a, known_b), b)
    assert allows(merged(known_a, blurred(a)), a)
    try:
        result = broadcast(a, b)
    except ValueError:
        return
    assert allows(broadcast(known_a, known_b), result)


def test_what_tile_s_gradient_computes_of_shapes_is_followed():
    """Lists stacked, transposed and laid flat: the sizes that a tiled tensor is summed over."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [6, 4])
    lists = [g.const("multiples", [3, 2], "int32"), g.const("shape", [2, 2], "int32")]
    stacked = g.op("Pack", "stacked", [lists], axis=0)
    turned = g.op("Transpose", "turned", [stacked, g.const("perm", [1, 0], "int32")])
    flat = g.op("Reshape", "flat", [turned, g.const("flat/shape", [-1], "int32")])
    g.op("Reshape", "split", [x, flat])
    shapes = infer_shapes(g.build())
    assert shapes.of(shapes.graph.index["split"]) == (3, 2, 2, 2)


def test_what_slice_s_gradient_computes_of_shapes_is_followed():
    """Two columns side by side: how much is padded before and behind each axis."""
    g = GraphBuilder()
    columns = [g.const("before", [[1], [0]], "int32"), g.const("behind", [[2], [3]], "int32")]
    paddings = g.op("ConcatV2", "paddings", [columns, g.const("axis", 1, "int32")])
    g.op("Pad", "padded", [g.placeholder("x", "float32", [2, 2]), paddings])
    shapes = infer_shapes(g.build())
    assert shapes.of(shapes.graph.index["padded"]) == (5, 5)
