"""The builder: what it infers, and what it does not let through."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from npu_reference.graphs import DType, GraphBuilder
from npu_reference.graphs.tensors import tensor_proto


def test_types_and_numbers_come_from_the_inputs() -> None:
    g = GraphBuilder()
    x = g.placeholder("x", "float16")
    n = g.op("AddN", "n", [x, x, x])
    node = g.build().node("n")
    assert (node.attr("T"), node.attr("N"), n.dtype) == (DType.HALF, 3, DType.HALF)


def test_an_operator_of_several_arguments_takes_lists_as_lists() -> None:
    g = GraphBuilder()
    x = g.placeholder("x")
    g.op("ConcatV2", "c", [[x, x], g.const("axis", 0)])
    assert g.build().node("c").inputs == ("x", "x", "axis")


def test_defaults_are_written_out() -> None:
    g = GraphBuilder()
    g.op("MatMul", "m", [g.placeholder("a"), g.placeholder("b")])
    assert g.build().node("m").attr("transpose_a") is False


def test_names_are_made_up_where_none_is_given() -> None:
    g = GraphBuilder()
    names = [g.op("NoOp").name, g.op("NoOp", "NoOp_1").name, g.op("NoOp").name, g.op("NoOp").name]
    assert names == ["NoOp", "NoOp_1", "NoOp_2", "NoOp_3"]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda g, x: g.op("NoSuch", "n"), "no operator 'NoSuch'"),
        (lambda g, x: g.op("Relu", "n", [x, x]), "takes 1 arguments"),
        (lambda g, x: g.op("Relu", "n", [[x]]), "takes one tensor"),
        (lambda g, x: g.op("ConcatV2", "n", [x, x]), "'values' takes a list"),
        (lambda g, x: g.op("AddV2", "n", [x, g.const("i", 1)]), "takes float32"),
        (lambda g, x: g.op("Assign", "n", [x, x]), "takes a reference"),
        (lambda g, x: g.op("Cast", "n", [x]), "'DstT' is missing"),
        (lambda g, x: g.op("Relu", "n", [g.op("NoOp")]), "has no outputs"),
        (lambda g, x: g.op("Relu", "n", ["x"]), "must be an output"),
        (lambda g, x: g.op("NoOp", "n", attrs_={"_a": object()}), "cannot hold"),
    ],
)
def test_what_the_operator_does_not_accept_is_refused(use: Any, text: str) -> None:
    g = GraphBuilder()
    with pytest.raises(ValueError, match=text):
        use(g, g.placeholder("x"))


class TestConstants:
    @pytest.mark.parametrize(
        ("value", "dtype", "content"),
        [
            ([1.5, -2.0], DType.FLOAT, struct.pack("<2f", 1.5, -2.0)),
            ([[1], [2]], DType.INT32, struct.pack("<2i", 1, 2)),
            ([True, False], DType.BOOL, b"\x01\x00"),
            ([], DType.FLOAT, b""),
        ],
    )
    def test_types_are_guessed_from_the_values(self, value: Any, dtype: DType, content: bytes) -> None:
        proto = tensor_proto(value)
        assert (DType.of(proto.dtype), proto.tensor_content) == (dtype, content)

    @pytest.mark.parametrize(("value", "bits"), [(1.0, 0x3F80), (1.00390625, 0x3F80), (1.01171875, 0x3F82)])
    def test_bfloat16_rounds_to_nearest_even(self, value: float, bits: int) -> None:
        assert tensor_proto([value], "bfloat16").tensor_content == struct.pack("<H", bits)

    def test_bfloat16_keeps_nan(self) -> None:
        bits = struct.unpack("<H", tensor_proto([float("nan")], "bfloat16").tensor_content)[0]
        assert bits & 0x7F80 == 0x7F80 and bits & 0x7F

    def test_strings_stay_strings(self) -> None:
        proto = tensor_proto(["é", b"\xff"])
        assert list(proto.string_val) == [b"\xc3\xa9", b"\xff"]
        assert [dim.size for dim in proto.tensor_shape.dim] == [2]

    @pytest.mark.parametrize("dtype", [d for d in DType.all() if d.number < 24 and d.size])
    def test_one_value_fills_a_shape(self, dtype: DType) -> None:
        if dtype.name in ("bool",):
            value: Any = True
        else:
            value = 3
        proto = tensor_proto(value, dtype, [2, 3])
        assert [dim.size for dim in proto.tensor_shape.dim] == [2, 3]
        fields = [field.name for field, _ in proto.ListFields() if field.name.endswith("_val")]
        assert len(fields) == 1 and not proto.tensor_content

    @pytest.mark.parametrize(
        ("value", "dtype", "shape"),
        [
            ([[1], [2, 3]], None, None),
            (300, "int8", None),
            ([1, 2], None, [3]),
            (1.5, "int32", None),
            (1, "resource", None),
        ],
    )
    def test_what_does_not_fit_is_refused(self, value: Any, dtype: Any, shape: Any) -> None:
        with pytest.raises(ValueError):
            tensor_proto(value, dtype, shape)


def test_the_builder_may_go_on_after_build() -> None:
    g = GraphBuilder()
    x = g.placeholder("x")
    first = g.build()
    g.op("Relu", "y", [x])
    assert (len(first), len(g.build())) == (1, 2)
