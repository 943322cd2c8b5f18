"""A tensor written in a case arrives bit for bit, and a malformed one is refused."""

from __future__ import annotations

import math
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.observing import tensors
from npu_reference.errors import NpuError


def of(dtype: str, data: object, shape: object = None) -> dict:
    entry = {"dtype": dtype, "data": data, "shape": [len(data)] if shape is None else shape}  # type: ignore[arg-type]
    return tensors.from_case(entry, "here")


@pytest.mark.parametrize(
    "dtype, data, bits",
    [
        ("bool", [True, False], "01 00"),
        ("int8", [-1], "ff"),
        ("uint16", [258], "0102"),
        ("int64", [-2], "fffffffffffffffe"),
        ("float16", [1.0, -2.0], "3c00 c000"),
        ("bfloat16", [1.0, 1.00390625, 1.01171875], "3f80 3f80 3f82"),
        ("bfloat16", [math.inf, math.nan], "7f80 7fc0"),
        ("float32", [1.0, math.inf], "3f800000 7f800000"),
        ("float64", [1.0], "3ff0000000000000"),
        ("complex64", [[1.0, 2.0]], "400000003f800000"),
        ("string", ["ab", "", "\u00e9"], "6162 '' c3a9"),
    ],
)
def test_bits_are_those_of_the_stored_type(dtype: str, data: list, bits: str) -> None:
    assert tensors.bits(dtype, of(dtype, data)["raw"]) == bits


@settings(max_examples=80)
@given(st.sampled_from(["float32", "float64"]), st.lists(st.floats(width=32), max_size=20))
def test_floats_survive_the_wire(dtype: str, data: list) -> None:
    wire = tensors.encode(of(dtype, data))
    assert tensors.values(dtype, tensors.decode_bytes(wire)) == pytest.approx(data, rel=0, abs=0, nan_ok=True)


@settings(max_examples=80)
@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=9), max_size=9))
def test_strings_survive_the_wire(data: list) -> None:
    wire = tensors.encode(of("string", data))
    assert [one.decode() for one in tensors.values("string", tensors.decode_bytes(wire))] == data


def test_a_large_tensor_travels_as_a_file(tmp_path) -> None:
    tensor = tensors.from_case({"dtype": "float32", "shape": [100, 200], "fill": "ramp"}, "here")
    wire = tensors.encode(tensor, str(tmp_path))
    assert "b64" not in wire
    assert tensors.decode_bytes(wire, str(tmp_path)) == tensor["raw"]
    assert tensors.decode_bytes({**wire, "file": os.path.basename(wire["file"])}, str(tmp_path)) == tensor["raw"]
    assert tensors.bits("float32", tensor["raw"]).startswith("sha256:")


def test_one_number_fills_a_shape() -> None:
    assert of("int32", 7, [2, 2])["raw"] == struct.pack("<4i", 7, 7, 7, 7)


@pytest.mark.parametrize(
    "entry, reason",
    [
        ({"dtype": "float8", "data": [1]}, "no dtype"),
        ({"dtype": "int8", "shape": [-1], "data": 1}, "list of sizes"),
        ({"dtype": "int8", "shape": [2], "data": [1]}, "has 1 elements"),
        ({"dtype": "int8", "shape": [1], "data": [300]}, "does not fit"),
        ({"dtype": "int8", "shape": [1], "data": ["a"]}, "does not fit"),
        ({"dtype": "bool", "shape": [1], "data": [1]}, "does not fit"),
        ({"dtype": "int8", "shape": [1]}, "either data or fill"),
        ({"dtype": "int8", "shape": [1], "fill": "noise"}, "not 'ramp'"),
        ({"dtype": "string", "shape": [1], "fill": "ramp"}, "no ramp"),
        ({"dtype": "int8", "shape": [1 << 40], "data": 1}, "larger than"),
        ({"dtype": "int8", "data": 1, "colour": 1}, "unknown key"),
        (3, "is a table"),
    ],
)
def test_a_malformed_tensor_of_a_case_is_refused(entry: object, reason: str) -> None:
    with pytest.raises(NpuError) as caught:
        tensors.from_case(entry, "here")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "wire",
    [
        {"dtype": "float32", "shape": [2], "b64": "AAAA"},
        {"dtype": "float32", "shape": [1], "b64": "!"},
        {"dtype": "float32", "shape": [1]},
        {"dtype": "string", "shape": [1], "b64": "/////w=="},
        {"dtype": "string", "shape": [2], "b64": "AAAAAA=="},
        {"dtype": "float32", "shape": [1], "file": "/no/such/file"},
    ],
)
def test_a_malformed_tensor_of_an_answer_is_refused(wire: dict) -> None:
    with pytest.raises(tensors.BadTensor):
        tensors.decode_bytes(wire)
