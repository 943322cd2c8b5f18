"""Decides how a tensor is written in a case, sent over the wire, and shown as bits; without NumPy."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import os
import struct
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from npu_reference.errors import NpuError

__all__ = [
    "DTYPES",
    "INLINE_BYTES",
    "from_case",
    "encode",
    "decode_bytes",
    "values",
    "bits",
    "element_count",
    "BadTensor",
]

#: Tensors above this size travel as a file (worker protocol 1).
INLINE_BYTES = 64 << 10
_MAX_BYTES = 1 << 30  # assumed bound of one tensor in a case
_SHOWN_ELEMENTS = 64  # longer tensors are facts by their digest

#: dtype -> (bytes an element, struct code of one component, components an element)
DTYPES: Mapping[str, Tuple[int, str, int]] = {
    "bool": (1, "?", 1),
    "int8": (1, "b", 1),
    "uint8": (1, "B", 1),
    "int16": (2, "h", 1),
    "uint16": (2, "H", 1),
    "int32": (4, "i", 1),
    "uint32": (4, "I", 1),
    "int64": (8, "q", 1),
    "uint64": (8, "Q", 1),
    "float16": (2, "e", 1),
    "bfloat16": (2, "", 1),
    "float32": (4, "f", 1),
    "float64": (8, "d", 1),
    "complex64": (8, "f", 2),
    "complex128": (16, "d", 2),
    "string": (0, "", 1),
}


class BadTensor(ValueError):
    """A tensor on the wire that does not follow the protocol."""


def element_count(shape: Sequence[int]) -> int:
    """Number of elements of a tensor of this shape."""
    count = 1
    for size in shape:
        count *= size
    return count


def from_case(entry: Any, where: str) -> Dict[str, Any]:
    """The wire form of a tensor written in a case file (``dtype``, ``shape``, ``data`` or ``fill``).

    Raises:
        NpuError: CASE_FILE at ``where``.
    """
    if not isinstance(entry, dict):
        raise NpuError("CASE_FILE", where, "a tensor is a table with dtype, shape and data")
    unknown = sorted(set(entry) - {"dtype", "shape", "data", "fill", "atol", "rtol"})
    if unknown:
        raise NpuError("CASE_FILE", f"{where}: {unknown[0]}", "unknown key of a tensor")
    dtype, shape = str(entry.get("dtype")), entry.get("shape", [])
    if dtype not in DTYPES:
        raise NpuError("CASE_FILE", f"{where}: dtype", f"{dtype!r} is no dtype", f"Known are {', '.join(DTYPES)}.")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise NpuError("CASE_FILE", f"{where}: shape", "must be a list of sizes")
    count = element_count(shape)
    if count * max(DTYPES[dtype][0], 1) > _MAX_BYTES:
        raise NpuError("CASE_FILE", f"{where}: shape", "the tensor is larger than 1 GiB")
    try:
        return {"dtype": dtype, "shape": shape, "raw": _pack(dtype, _elements(entry, dtype, count, where))}
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        raise NpuError("CASE_FILE", f"{where}: data", f"does not fit {dtype}: {error}") from None


def _elements(entry: Mapping[str, Any], dtype: str, count: int, where: str) -> List[Any]:
    if ("data" in entry) == ("fill" in entry):
        raise NpuError("CASE_FILE", where, "a tensor has either data or fill")
    if "fill" in entry:
        if entry["fill"] != "ramp":
            raise NpuError("CASE_FILE", f"{where}: fill", f"{entry['fill']!r} is not 'ramp'")
        if dtype.startswith(("float", "bfloat", "complex")):
            return [index / count for index in range(count)]
        if dtype in ("bool", "string"):
            raise NpuError("CASE_FILE", f"{where}: fill", f"there is no ramp of {dtype}")
        return [index % 127 for index in range(count)]
    data = entry["data"]
    if not isinstance(data, list):
        return [data] * count
    if len(data) != count:
        raise NpuError("CASE_FILE", f"{where}: data", f"has {len(data)} elements, the shape has {count}")
    return data


def _pack(dtype: str, elements: Sequence[Any]) -> bytes:
    if dtype == "string":
        encoded = [element.encode("utf-8") if isinstance(element, str) else bytes(element) for element in elements]
        return b"".join(struct.pack("<I", len(element)) + element for element in encoded)
    if dtype == "bfloat16":
        return b"".join(struct.pack("<H", _bfloat16(float(element))) for element in elements)
    if dtype == "bool" and not all(isinstance(element, bool) for element in elements):
        raise TypeError("expected true or false")
    if dtype.startswith("complex"):
        pairs = [element if isinstance(element, list) else [element, 0.0] for element in elements]
        elements = [part for pair in pairs for part in pair]
    _, code, _ = DTYPES[dtype]
    return struct.pack(f"<{len(elements)}{code}", *elements)


def _bfloat16(value: float) -> int:
    """Bits of the nearest bfloat16, ties to even."""
    word = struct.unpack("<I", struct.pack("<f", value))[0]
    if math.isnan(value):
        return (word >> 16) | 0x40
    return min((word + 0x7FFF + ((word >> 16) & 1)) >> 16, 0xFFFF)


def encode(tensor: Mapping[str, Any], folder: Optional[str] = None, name: str = "tensor") -> Dict[str, Any]:
    """The JSON form of ``{dtype, shape, raw}``: inline, or as a file in ``folder`` above 64 KiB."""
    head = {"dtype": tensor["dtype"], "shape": list(tensor["shape"])}
    raw = tensor["raw"]
    if len(raw) <= INLINE_BYTES or folder is None:
        head["b64"] = base64.b64encode(raw).decode("ascii")
        return head
    path = os.path.join(folder, f"{name}.bin")
    with open(path, "wb") as stream:
        stream.write(raw)
    head["file"] = path
    return head


def decode_bytes(tensor: Mapping[str, Any], folder: Optional[str] = None) -> bytes:
    """The little-endian content of a tensor from the wire.

    Args:
        tensor: ``{dtype, shape, b64}`` or ``{dtype, shape, file}``.
        folder: what a relative ``file`` is relative to.
    Raises:
        BadTensor: the content does not fit dtype and shape.
    """
    dtype = str(tensor.get("dtype"))
    if dtype not in DTYPES:
        raise BadTensor(f"{dtype!r} is no dtype")
    if "file" in tensor:
        try:
            with open(os.path.join(folder or "", tensor["file"]), "rb") as stream:
                raw = stream.read(_MAX_BYTES + 1)
        except OSError as error:
            raise BadTensor(f"its file cannot be read: {error.strerror}") from None
    else:
        try:
            raw = base64.b64decode(tensor["b64"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise BadTensor("has neither valid b64 nor a file") from None
    count = element_count(tensor["shape"])
    if dtype == "string":
        if len(_strings(raw)) != count:
            raise BadTensor(f"holds {len(_strings(raw))} strings, its shape {count}")
    elif len(raw) != count * DTYPES[dtype][0]:
        raise BadTensor(f"holds {len(raw)} bytes, its shape needs {count * DTYPES[dtype][0]}")
    return raw


def _strings(raw: bytes) -> List[bytes]:
    found, at = [], 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise BadTensor("a string's length is cut off")
        length = struct.unpack_from("<I", raw, at)[0]
        if at + 4 + length > len(raw):
            raise BadTensor("a string is cut off")
        found.append(raw[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def values(dtype: str, raw: bytes) -> List[Any]:
    """The elements as Python numbers (complex as two floats), or bytes for strings."""
    if dtype == "string":
        return list(_strings(raw))
    if dtype == "bfloat16":
        words = struct.unpack(f"<{len(raw) // 2}H", raw)
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    size, code, components = DTYPES[dtype]
    return list(struct.unpack(f"<{len(raw) // size * components}{code}", raw))


def bits(dtype: str, raw: bytes) -> str:
    """The elements as hexadecimal of their stored bits, most significant first; a digest for long tensors."""
    if dtype == "string":
        elements = [element.hex() or "''" for element in _strings(raw)]
    else:
        size = DTYPES[dtype][0]
        elements = [raw[at : at + size][::-1].hex() for at in range(0, len(raw), size)]
    if len(elements) > _SHOWN_ELEMENTS:
        return "sha256:" + hashlib.sha256(raw).hexdigest()
    return " ".join(elements)
