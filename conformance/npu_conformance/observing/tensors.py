"""Decides how a tensor is written in a case, sent over the wire, and shown as bits; without NumPy."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import os
import struct
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.files import descriptors, reading
from npu_reference.errors import NpuError

__all__ = [
    "DTYPES",
    "INLINE_BYTES",
    "from_case",
    "encode",
    "decode_bytes",
    "values",
    "parts",
    "bits",
    "element_count",
    "BadTensor",
    "MAX_RANK",
    "ANSWER_BYTES",
]

#: Tensors above this size travel as a file (worker protocol 1).
INLINE_BYTES = 64 << 10
#: Dimensions of a tensor; TensorFlow's own bound.
MAX_RANK = 254
#: Bytes of one tensor of an answer (assumed: a thousand times the largest that a case asks for).
ANSWER_BYTES = 256 << 20
_MAX_BYTES = 1 << 30  # assumed bound of one tensor in a case
_PART = 1 << 20  # bytes of a long tensor looked at together; a multiple of every size
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
    descriptors.write(path, raw)
    head["file"] = path
    return head


def decode_bytes(tensor: Mapping[str, Any], folder: Optional[str] = None, most: int = ANSWER_BYTES) -> bytes:
    """The little-endian content of a tensor from the wire.

    Args:
        tensor: ``{dtype, shape, b64}`` or ``{dtype, shape, file}``.
        folder: what a relative ``file`` is relative to.
        most: bytes that it may have.
    Raises:
        BadTensor: the content does not fit dtype and shape.
    """
    dtype = str(tensor.get("dtype"))
    if dtype not in DTYPES:
        raise BadTensor(f"{dtype!r} is no dtype")
    count = _bounded_count(dtype, tensor["shape"], most)
    size = None if dtype == "string" else count * DTYPES[dtype][0]
    if "file" in tensor:
        raw = _file_bytes(tensor["file"], folder or "", size, most)
    else:
        try:
            raw = base64.b64decode(tensor["b64"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise BadTensor("has neither valid b64 nor a file") from None
    if size is None:
        strings = _string_count(raw)
        if strings != count:
            raise BadTensor(f"holds {strings} strings, its shape {count}")
    elif len(raw) != size:
        raise BadTensor(f"holds {len(raw)} bytes, its shape needs {size}")
    return raw


def _bounded_count(dtype: str, shape: Sequence[int], bound: int) -> int:
    """Number of elements; found without ever multiplying beyond the bound."""
    if len(shape) > MAX_RANK:
        raise BadTensor(f"has {len(shape)} dimensions, the bound is {MAX_RANK}")
    if 0 in shape:
        return 0
    count, most = 1, bound // (DTYPES[dtype][0] or 4)  # a string takes four bytes for its length alone
    for size in shape:
        count *= size
        if count > most:
            raise BadTensor(f"needs more than {f'{bound >> 20} MiB' if bound >> 20 else f'{bound} bytes'}")
    return count


def _file_bytes(name: str, folder: str, size: Optional[int], most: int) -> bytes:
    """The content of a regular file inside ``folder``, of exactly ``size`` bytes where that is known.

    A backend names the file: nothing is waited for, followed out of the folder, or read beyond what is needed.
    """
    try:
        inside = os.path.realpath(folder or os.curdir)
        path = os.path.realpath(os.path.join(inside, name))
        if os.path.commonpath([inside, path]) != inside:
            raise BadTensor("has a file outside the worker's folder")
        # What is a link from now on was put there since.
        return reading.content(os.path.join(folder or os.curdir, os.path.relpath(path, inside)), most, size)
    except reading.Unfit as error:
        raise BadTensor(f"has a file {error}") from None
    except BadTensor:
        raise
    except OSError as error:
        raise BadTensor(f"has a file that cannot be read: {error.strerror or error}") from None
    except ValueError:  # a NUL or half a character in its name
        raise BadTensor("has a file whose name is none") from None


def _string_count(raw: bytes) -> int:
    return sum(1 for _ in _strings(raw))


def _strings(raw: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise BadTensor("has a string whose length is cut off")
        length = struct.unpack_from("<I", raw, at)[0]
        if at + 4 + length > len(raw):
            raise BadTensor("has a string that is cut off")
        yield raw[at + 4 : at + 4 + length]
        at += 4 + length


def values(dtype: str, raw: bytes) -> List[Any]:
    """The elements as Python numbers (complex as two floats), or bytes for strings."""
    if dtype == "string":
        return list(_strings(raw))
    if dtype == "bfloat16":
        words = struct.unpack(f"<{len(raw) // 2}H", raw)
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    size, code, components = DTYPES[dtype]
    return list(struct.unpack(f"<{len(raw) // size * components}{code}", raw))


def parts(dtype: str, raw: bytes) -> Iterator[List[Any]]:
    """The elements as :func:`values` has them, some at a time: a long tensor is never all Python numbers."""
    if dtype == "string":
        yield list(_strings(raw))
        return
    for at in range(0, len(raw), _PART):
        yield values(dtype, raw[at : at + _PART])


def bits(dtype: str, raw: bytes) -> str:
    """The elements as hexadecimal of their stored bits, most significant first; a digest for long tensors."""
    count = _string_count(raw) if dtype == "string" else len(raw) // DTYPES[dtype][0]
    if count > _SHOWN_ELEMENTS:
        return "sha256:" + hashlib.sha256(raw).hexdigest()
    if dtype == "string":
        return " ".join(element.hex() or "''" for element in _strings(raw))
    size = DTYPES[dtype][0]
    return " ".join(raw[at : at + size][::-1].hex() for at in range(0, len(raw), size))
