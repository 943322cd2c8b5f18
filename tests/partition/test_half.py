"""Constants that float16 cannot hold are found where a GEOP uses them, and nowhere else."""

from __future__ import annotations

import importlib.util
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.graphs import GraphBuilder, message_class
from npu_reference.partition.explaining.half import LARGEST, SMALLEST, misfit
from tests.partition.graphs_for_tests import closed, divide, mixed

pytestmark = pytest.mark.oldest_at_night

INFINITY = float("inf")


def tensor(*values, content=False):
    """A float32 TensorProto of `values`, packed in bytes or listed."""
    found = message_class("TensorProto")()
    found.dtype = 1
    if content:
        found.tensor_content = struct.pack(f"<{len(values)}f", *values)
    else:
        found.float_val.extend(values)
    return found


def added(g, name, source, value):
    return g.op("AddV2", name, [source, g.const(f"{name}/c", value, "float32")])


def half(result):
    return [(note.code, note.subject) for note in result.notes if note.code.startswith("FP16")]


@pytest.mark.parametrize("value", [65505.0, -1e9, 3.4e38])
def test_a_number_beyond_65504_is_an_overflow(value):
    found = misfit(tensor(value))
    assert (found.overflows, found.underflows) == (1, 0)


@pytest.mark.parametrize("value", [1e-8, -(2.0**-25), 1e-40])
def test_a_number_that_rounds_to_zero_is_an_underflow(value):
    found = misfit(tensor(value))
    assert (found.overflows, found.underflows) == (0, 1)


@pytest.mark.parametrize("value", [0.0, -0.0, 65504.0, 2.0**-24, 2.0**-25 * 1.001, INFINITY, -INFINITY, float("nan")])
def test_what_float16_has_fits(value):
    assert misfit(tensor(value)) is None


def _fits(value):
    """By the conversion of Python's own struct, which rounds to nearest even and refuses what is too large."""
    if abs(value) in (0.0, INFINITY) or value != value:
        return True
    if abs(value) > LARGEST:
        return False
    return struct.unpack("<e", struct.pack("<e", value))[0] != 0.0


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.floats(width=32) | st.floats(-2 * SMALLEST, 2 * SMALLEST, width=32), max_size=6), st.booleans())
def test_the_count_is_that_of_a_conversion_element_by_element(values, content):
    found = misfit(tensor(*values, content=content))
    lost = sum(not _fits(value) for value in values)
    assert (found.overflows + found.underflows if found else 0) == lost


def test_large_tensors_are_counted_the_same_with_numpy_and_without(monkeypatch):
    values = [1.0, -1e9, 1e-9, float("nan"), INFINITY, 0.0, 3e38, -1e-30] * 2000
    whole = tensor(*values, content=True)
    monkeypatch.setitem(sys.modules, "numpy", None)
    alone = misfit(whole)
    monkeypatch.undo()
    if importlib.util.find_spec("numpy") is not None:
        importlib.import_module("numpy")
    assert misfit(whole) == alone
    assert (alone.elements, alone.overflows, alone.underflows) == (16000, 4000, 4000)
    assert (alone.largest, alone.smallest) == (struct.unpack("<f", struct.pack("<f", 3e38))[0], pytest.approx(-1e-30))


def test_other_types_and_damaged_contents_have_nothing_to_lose():
    whole = tensor(1.0, content=True)
    whole.tensor_content = whole.tensor_content[:3]
    assert misfit(whole) is None
    integers = message_class("TensorProto")()
    integers.dtype = 3
    integers.int_val.append(100000)
    assert misfit(integers) is None


@pytest.mark.parametrize("content", [True, False])
def test_bfloat16_is_read_by_its_bits(content):
    found = message_class("TensorProto")()
    found.dtype = 14
    if content:
        found.tensor_content = struct.pack("<2H", 0x4780, 0x3F80)  # 65536, 1
    else:
        found.half_val.extend([0x4780, 0x3F80])
    assert misfit(found).largest == 65536.0


def test_a_constant_of_a_geop_is_noted_with_its_value():
    g = GraphBuilder()
    added(g, "masked", g.placeholder("x", "float32", [2]), -1e9)
    result = divide(closed(g, ["x"], ["masked:0"]))
    assert half(result) == [("FP16_OVERFLOW", "masked/c")]
    assert "-1e+09" in next(note.message for note in result.notes if note.code == "FP16_OVERFLOW")


def test_a_constant_that_stays_on_the_host_is_not():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    kept = g.py_func("kept", [x, g.const("c", 1e9, "float32")], ["float32"])
    g.op("Relu", "after", [kept])
    assert half(mixed(closed(g, ["x"], ["after:0"]))) == []


def test_one_constant_in_two_geops_is_noted_once():
    g = GraphBuilder()
    c = g.const("c", [1e9, 1e-9, 1.0], "float32")
    before = g.op("AddV2", "before", [g.placeholder("x", "float32", [3]), c])
    g.op("AddV2", "after", [g.py_func("host", [before], ["float32"]), c])
    result = mixed(closed(g, ["x"], ["after:0"]))
    assert len(result.geops) == 2
    assert half(result) == [("FP16_OVERFLOW", "c"), ("FP16_UNDERFLOW", "c")]
    assert "1 of 3 elements" in result.notes[-1].message


def test_constants_of_functions_that_a_geop_calls_are_looked_at():
    g = GraphBuilder()
    f = g.function("body", {"x": "float32"}, {"y": "float32"})
    f.returns(y=f.op("Mul", "product", [f.args["x"], f.const("big", 1e6, "float32")]))
    x = g.placeholder("x", "float32", [2])
    g.op("StatefulPartitionedCall", "call", [[x]], Tout=["float32"], f="body")
    assert half(divide(closed(g, ["x"], ["call:0"]))) == [("FP16_OVERFLOW", "body/big")]
