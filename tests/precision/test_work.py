"""Operations are counted from shapes: those the graph states, those given, and what follows from both."""

from __future__ import annotations

import os
from typing import Any, Dict, Tuple

import pytest

from npu_reference.graphs import GraphBuilder, load_graph
from npu_reference.graphs.shaping.inference import infer_shapes
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import assign
from npu_reference.precision.flops import work_of

_MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "graphs", "models")


def _shape(op: str, inputs: Any, *, slot: int = 0, **attrs: Any) -> Any:
    """The shape an operator gives for inputs that are shapes of float placeholders or lists of whole numbers."""
    g = GraphBuilder()
    made = [
        g.placeholder(f"x{k}", "float32", list(one)) if isinstance(one, tuple) else g.const(f"c{k}", one, "int32")
        for k, one in enumerate(inputs)
    ]
    node = g.op(op, "out", [made[:-1], made[-1]] if op == "ConcatV2" else made, **attrs)
    graph = g.build()
    return infer_shapes(graph).known(graph.index[node.name], slot)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"),
    [
        ("AddV2", [(2, 1, 3), (4, 1)], {}, (2, 4, 3)),
        ("MatMul", [(3, 2), (3, 4)], {"transpose_a": True}, (2, 4)),
        ("BatchMatMulV2", [(5, 2, 3), (4, 3)], {"adj_y": True}, (5, 2, 4)),
        ("Conv2D", [(1, 7, 8, 3), (3, 3, 3, 5)], {"strides": [1, 2, 2, 1], "padding": "SAME"}, (1, 4, 4, 5)),
        ("Conv2D", [(1, 7, 8, 3), (3, 3, 3, 5)], {"strides": [1, 2, 2, 1], "padding": "VALID"}, (1, 3, 3, 5)),
        ("DepthwiseConv2dNative", [(1, 4, 4, 3), (1, 1, 3, 2)], {"strides": [1] * 4, "padding": "SAME"}, (1, 4, 4, 6)),
        ("MaxPool", [(1, 5, 5, 2)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}, (1, 2, 2, 2)),
        ("Reshape", [(2, 6), [3, -1]], {}, (3, 4)),
        ("Transpose", [(2, 3, 4), [2, 0, 1]], {}, (4, 2, 3)),
        ("Sum", [(2, 3, 4), [-1, 0]], {}, (3,)),
        ("Mean", [(2, 3), [1]], {"keep_dims": True}, (2, 1)),
        ("ExpandDims", [(2, 3), -1], {}, (2, 3, 1)),
        ("ConcatV2", [(2, 3), (2, 5), 1], {}, (2, 8)),
        ("Pad", [(2, 3), [[1, 0], [2, 2]]], {}, (3, 7)),
        ("Tile", [(2, 3), [2, 3]], {}, (4, 9)),
        ("GatherV2", [(5, 7), [1, 2, 3], 0], {}, (3, 7)),
        ("Slice", [(5, 7), [1, 2], [2, -1]], {}, (2, 5)),
        ("StridedSlice", [(5, 7), [1, 0], [4, 0], [2, 1]], {"end_mask": 2, "shrink_axis_mask": 0}, (2, 7)),
        ("StridedSlice", [(5, 7), [1], [2], [1]], {"shrink_axis_mask": 1}, (7,)),
    ],
)
def test_the_shape_an_operator_gives(op: str, inputs: Any, attrs: Dict[str, Any], expected: Tuple[int, ...]) -> None:
    assert _shape(op, inputs, **attrs) == expected


def test_what_does_not_fit_is_unknown_rather_than_an_error() -> None:
    assert _shape("Transpose", [(2, 3), [5, 0]]) is None
    assert _shape("Reshape", [(2, 3), [0, -1]]) is None
    assert _shape("MatMul", [(), (3,)]) is None


def test_shapes_computed_from_shapes_are_followed() -> None:
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4, 6])
    shape = g.op("Shape", "shape", [x])
    places = [g.const(name, [value], "int32") for name, value in (("b", 0), ("e", 1), ("s", 1))]
    rows = g.op("StridedSlice", "rows", [shape, *places], shrink_axis_mask=1)
    wanted = g.op("Pack", "wanted", [rows, g.const("three", 3, "int32"), g.const("two", 2, "int32")])
    g.op("Reshape", "out", [x, wanted])
    graph = g.build()
    assert infer_shapes(graph).known(graph.index["out"]) == (4, 3, 2)


#: Model, shapes of its inputs; operators of the cube unit, all of which are counted.
_COUNTED = [
    ("resnet50", {"images": (8, 224, 224, 3), "labels": (8,)}, 162, (1.7e11, 2.0e11)),
    ("yolo", {"images": (8, 224, 224, 3)}, 75, (1.5e11, 1.55e11)),
]


@pytest.mark.parametrize(("model", "shapes", "cube", "bounds"), _COUNTED)
def test_all_work_of_the_cube_unit_is_counted(
    model: str, shapes: Dict[str, Tuple[int, ...]], cube: int, bounds: Tuple[float, float]
) -> None:
    options = resolve({"precision_mode": "allow_mix_precision"}, env={})
    divided = partition(load_graph(os.path.join(_MODELS, model + ".pb.gz")), options)
    work = work_of(divided, assign(divided, options), shapes)
    assert (work.cube_known, work.cube_unknown) == (cube, 0)
    assert work.unknown <= 0.01 * work.known
    # ResNet-50 takes 4.1e9 products for an image of 224 x 224 forward, and twice that backward; YOLOv3 takes 65.9e9
    # operations for one of 416 x 416.
    assert bounds[0] < sum(work.by_dtype.values()) < bounds[1]
    assert (work.share("float16") or 0) > 0.99


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        # Seven steps, two sequences, input 3, state 5.
        ("DynamicRnnV2", [(7, 2, 3), (8, 20), (20,), (1, 2, 5), (1, 2, 5)], 2 * 7 * 2 * 8 * 20),
        ("BasicLSTMCell", [(2, 3), (2, 5), (2, 5), (8, 20), (20,)], 2 * 2 * 8 * 20),
        ("BasicLSTMCellWeightGrad", [(2, 3), (2, 5), (2, 20)], 2 * 2 * 8 * 20),
        ("BasicLSTMCellInputGrad", [(2, 20), (8, 20)], 2 * 2 * 8 * 20),
    ],
)
def test_recurrent_operators_meet_every_weight_at_every_step(op: str, inputs: Any, expected: int) -> None:
    g = GraphBuilder()
    g.op(op, "out", [g.placeholder(f"x{k}", "float32", list(shape)) for k, shape in enumerate(inputs)])
    options = resolve({"mix_compile_mode": True})
    parts = partition(g.build(), options)
    assert work_of(parts, assign(parts, options)).by_dtype == {"float16": expected}
