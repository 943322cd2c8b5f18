"""Decides how Python values become constants of a graph, without numpy."""

from __future__ import annotations

import struct
from typing import Any, List, Optional, Sequence, Tuple

from .dtypes import DType
from .proto import message_class

__all__ = ["shape_proto", "small_integers", "tensor_proto"]

#: struct's letter for the little-endian form of each element type.
_STRUCT = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "int8": "b",
    "qint8": "b",
    "int16": "h",
    "qint16": "h",
    "int32": "i",
    "qint32": "i",
    "int64": "q",
    "uint8": "B",
    "quint8": "B",
    "uint16": "H",
    "quint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "bool": "?",
}


def shape_proto(shape: Optional[Sequence[Optional[int]]]) -> Any:
    """A TensorShapeProto; None stands for an unknown rank, a None dimension for an unknown one."""
    proto = message_class("TensorShapeProto")()
    if shape is None:
        proto.unknown_rank = True
    else:
        for dim in shape:
            proto.dim.add(size=-1 if dim is None else dim)
    return proto


def small_integers(tensor: Any, most: int) -> Optional[Tuple[int, ...]]:
    """The elements of an int32 or int64 TensorProto that has at most ``most`` of them; None for any other."""
    kind = {3: "i", 9: "q"}.get(tensor.dtype)
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if kind is None or any(size < 0 for size in sizes):
        return None
    count = 0 if 0 in sizes else 1
    for size in sizes:
        count *= size
        if count > most:
            return None
    if tensor.tensor_content:
        form = f"<{count}{kind}"
        content = tensor.tensor_content
        return struct.unpack(form, content) if struct.calcsize(form) == len(content) else None
    listed = tuple(tensor.int_val if kind == "i" else tensor.int64_val)
    if len(listed) > count:
        return None
    # The last element stands for those that are not listed, none at all for zeros.
    return (*listed, *[listed[-1] if listed else 0] * (count - len(listed)))


def tensor_proto(value: Any, dtype: Any = None, shape: Optional[Sequence[int]] = None) -> Any:
    """A TensorProto of a scalar or (nested) list.

    Without ``dtype`` floats are float32, ints int32, bools bool, str and bytes string. With ``shape`` a single value
    fills the whole tensor, stored once. ValueError for ragged lists and values the type cannot hold.
    """
    flat, own_shape = _flatten(value)
    kind = DType.of(dtype) if dtype is not None else _guess(flat)
    proto = message_class("TensorProto")(dtype=kind.number)
    dims = own_shape if shape is None else tuple(shape)
    size = 1
    for dim in dims:
        size *= dim
    if len(flat) not in (1, size):
        raise ValueError(f"{len(flat)} values do not fill shape {dims}")
    proto.tensor_shape.CopyFrom(shape_proto(dims))
    if kind is DType.STRING:
        proto.string_val.extend(item.encode("utf-8") if isinstance(item, str) else item for item in flat)
    elif len(flat) == size:
        proto.tensor_content = _pack(flat, kind)
    else:
        _fill(proto, flat[0], kind)
    return proto


def _flatten(value: Any) -> Tuple[List[Any], Tuple[int, ...]]:
    if not isinstance(value, (list, tuple)):
        return [value], ()
    parts = [_flatten(item) for item in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise ValueError("the lists of a constant must have equal lengths")
    inner = shapes.pop() if shapes else ()
    return [item for flat, _ in parts for item in flat], (len(parts), *inner)


def _guess(flat: List[Any]) -> DType:
    kinds = {type(item) for item in flat}
    if kinds <= {bool} and kinds:
        return DType.BOOL
    if kinds <= {int} and kinds:
        return DType.INT32
    if kinds <= {str, bytes} and kinds:
        return DType.STRING
    return DType.FLOAT


def _bfloat16(value: float) -> int:
    """The bits of the nearest bfloat16, ties to even."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _pack(flat: List[Any], kind: DType) -> bytes:
    try:
        if kind is DType.BFLOAT16:
            return struct.pack(f"<{len(flat)}H", *[_bfloat16(item) for item in flat])
        if kind in (DType.COMPLEX64, DType.COMPLEX128):
            parts = [part for item in flat for part in (complex(item).real, complex(item).imag)]
            return struct.pack(f"<{len(parts)}{'f' if kind is DType.COMPLEX64 else 'd'}", *parts)
        return struct.pack(f"<{len(flat)}{_STRUCT[kind.name]}", *flat)
    except KeyError:
        raise ValueError(f"no constants of type {kind} are written here") from None
    except (struct.error, OverflowError, TypeError) as error:
        raise ValueError(f"a value does not fit {kind}: {error}") from None


_INT_FIELD = {"int64": "int64_val", "uint32": "uint32_val", "uint64": "uint64_val", "bool": "bool_val"}


def _fill(proto: Any, value: Any, kind: DType) -> None:
    packed = _pack([value], kind)  # also checks that the value fits
    if kind is DType.FLOAT:
        proto.float_val.append(value)
    elif kind is DType.DOUBLE:
        proto.double_val.append(value)
    elif kind in (DType.HALF, DType.BFLOAT16):
        proto.half_val.append(struct.unpack("<H", packed)[0])
    elif kind is DType.COMPLEX64:
        proto.scomplex_val.extend(struct.unpack("<2f", packed))
    elif kind is DType.COMPLEX128:
        proto.dcomplex_val.extend(struct.unpack("<2d", packed))
    else:
        getattr(proto, _INT_FIELD.get(kind.name, "int_val")).append(value)
