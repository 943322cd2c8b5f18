"""Decides what the data types of TensorFlow are called, how large their elements are and which are references."""

from __future__ import annotations

from typing import Dict, List, Optional, Union

__all__ = ["DType"]

#: Reference types have the number of their base type plus this (TensorFlow, types.proto).
_REF_OFFSET = 100

# number, enum name without DT_, name, bytes of an element (None: not fixed), from types.proto
_TABLE = [
    (0, "INVALID", "invalid", None),
    (1, "FLOAT", "float32", 4),
    (2, "DOUBLE", "float64", 8),
    (3, "INT32", "int32", 4),
    (4, "UINT8", "uint8", 1),
    (5, "INT16", "int16", 2),
    (6, "INT8", "int8", 1),
    (7, "STRING", "string", None),
    (8, "COMPLEX64", "complex64", 8),
    (9, "INT64", "int64", 8),
    (10, "BOOL", "bool", 1),
    (11, "QINT8", "qint8", 1),
    (12, "QUINT8", "quint8", 1),
    (13, "QINT32", "qint32", 4),
    (14, "BFLOAT16", "bfloat16", 2),
    (15, "QINT16", "qint16", 2),
    (16, "QUINT16", "quint16", 2),
    (17, "UINT16", "uint16", 2),
    (18, "COMPLEX128", "complex128", 16),
    (19, "HALF", "float16", 2),
    (20, "RESOURCE", "resource", None),
    (21, "VARIANT", "variant", None),
    (22, "UINT32", "uint32", 4),
    (23, "UINT64", "uint64", 8),
    (24, "FLOAT8_E5M2", "float8_e5m2", 1),
    (25, "FLOAT8_E4M3FN", "float8_e4m3fn", 1),
    (26, "FLOAT8_E4M3FNUZ", "float8_e4m3fnuz", 1),
    (27, "FLOAT8_E4M3B11FNUZ", "float8_e4m3b11fnuz", 1),
    (28, "FLOAT8_E5M2FNUZ", "float8_e5m2fnuz", 1),
    (29, "INT4", "int4", 1),
    (30, "UINT4", "uint4", 1),
    (31, "INT2", "int2", 1),
    (32, "UINT2", "uint2", 1),
    (33, "FLOAT4_E2M1FN", "float4_e2m1fn", 1),
]


class DType:
    """A data type of a tensor; one object for each type, so ``is`` and ``==`` agree.

    Attributes:
        number: as in ``types.proto``; a reference type's is its base's plus 100.
        name: TensorFlow's Python name, ``float32``; references end in ``_ref``.
        base: the type referred to; of any other type, itself.
        is_ref: whether it is a reference, as ``VariableV2`` gives.
        size: bytes of an element, None where elements have no fixed size (string, resource, variant).
    """

    __slots__ = ("base", "enum_name", "is_ref", "name", "number", "size")

    INVALID: DType
    FLOAT: DType
    DOUBLE: DType
    INT32: DType
    UINT8: DType
    INT16: DType
    INT8: DType
    STRING: DType
    COMPLEX64: DType
    INT64: DType
    BOOL: DType
    QINT8: DType
    QUINT8: DType
    QINT32: DType
    BFLOAT16: DType
    QINT16: DType
    QUINT16: DType
    UINT16: DType
    COMPLEX128: DType
    HALF: DType
    RESOURCE: DType
    VARIANT: DType
    UINT32: DType
    UINT64: DType

    def __init__(self, number: int, name: str, size: Optional[int], enum_name: str, base: Optional[DType]) -> None:
        self.number = number
        self.name = name
        self.size = size
        self.enum_name = enum_name
        self.base = self if base is None else base
        self.is_ref = base is not None

    @staticmethod
    def of(value: Union[DType, int, str]) -> DType:
        """The type with this number, name (``float32``) or enum name (``DT_FLOAT``); ValueError when there is none."""
        if isinstance(value, DType):
            return value
        found = _BY_NUMBER.get(value) if isinstance(value, int) else _BY_NAME.get(value)
        if found is None:
            raise ValueError(f"no data type {value!r}")
        return found

    @property
    def ref(self) -> DType:
        """The reference to this type."""
        return _BY_NUMBER[self.base.number + _REF_OFFSET]

    @staticmethod
    def all() -> List[DType]:
        """Every type that is no reference, by number, ``invalid`` left out."""
        return [_BY_NUMBER[number] for number, *_ in _TABLE[1:]]

    def __repr__(self) -> str:
        return f"DType.{self.enum_name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self):
        return DType.of, (self.number,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


_BY_NUMBER: Dict[int, DType] = {}
_BY_NAME: Dict[str, DType] = {}


def _register(dtype: DType) -> None:
    _BY_NUMBER[dtype.number] = dtype
    for name in (dtype.name, "DT_" + dtype.enum_name):
        _BY_NAME[name] = dtype


for _number, _enum, _name, _size in _TABLE:
    _base = DType(_number, _name, _size, _enum, None)
    _register(_base)
    _register(DType(_number + _REF_OFFSET, _name + "_ref", _size, _enum + "_REF", _base))
    setattr(DType, _enum, _base)
