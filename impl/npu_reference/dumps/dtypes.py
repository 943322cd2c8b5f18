"""Which number and which bytes each element type has in a dump."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple

__all__ = ["BY_NAME", "BY_NUMBER", "FORMATS", "FORMAT_NUMBERS", "Element"]


class Element(NamedTuple):
    """One element type: TensorFlow's name, the dump's number, bytes an element, NumPy's little-endian type.

    numpy: empty where NumPy has none; such a tensor is bytes.
    """

    name: str
    number: int
    size: int
    numpy: str


_ELEMENTS = (
    Element("float32", 1, 4, "<f4"),
    Element("float16", 2, 2, "<f2"),
    Element("int8", 3, 1, "|i1"),
    Element("uint8", 4, 1, "|u1"),
    Element("int16", 5, 2, "<i2"),
    Element("uint16", 6, 2, "<u2"),
    Element("int32", 7, 4, "<i4"),
    Element("int64", 8, 8, "<i8"),
    Element("uint32", 9, 4, "<u4"),
    Element("uint64", 10, 8, "<u8"),
    Element("bool", 11, 1, "|b1"),
    Element("float64", 12, 8, "<f8"),
    Element("complex64", 16, 8, "<c8"),
    Element("complex128", 17, 16, "<c16"),
    Element("bfloat16", 27, 2, ""),
)

#: What a dump of ours can hold. The numbers are those of the dumps of the field's tools (DT_FLOAT 1, ...).
BY_NAME: Mapping[str, Element] = {element.name: element for element in _ELEMENTS}
BY_NUMBER: Mapping[int, Element] = {element.number: element for element in _ELEMENTS}

#: Number of a memory layout to its name.
FORMATS: Dict[int, str] = {0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z"}
FORMAT_NUMBERS: Dict[str, int] = {name: number for number, name in FORMATS.items()}
