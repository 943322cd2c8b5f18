"""Decides which tensors go in and out of a node: how many, and of which types, from its operator and attributes."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from .dtypes import DType
from .limits import MAX_OUTPUTS
from .ops import ArgDef, OpDef, value_field

__all__ = ["AttrProblem", "arg_dtypes", "count_args", "check_required", "attr_proto"]


class AttrProblem(Exception):
    """An attribute is missing, or not what its operator says; the text is the sentence about it."""


def attr_proto(op_def: OpDef, attrs: Any, name: str, field: str) -> Any:
    """The AttrValue of ``name``, of the node or else the operator's default; AttrProblem unless it holds ``field``."""
    value = attrs.get(name)
    if value is None:
        declared = op_def.attrs.get(name)
        if declared is None or declared.default is None:
            raise AttrProblem(f"attribute {name!r} is missing")
        value = declared.default
    if not value.HasField(field):
        raise AttrProblem(f"attribute {name!r} must hold {_kind(field)} and holds {_kind(value.WhichOneof('value'))}")
    return value


_KINDS = {"s": "a string", "i": "an int", "f": "a float", "b": "a bool", "type": "a data type", "func": "a function"}


def _kind(field: Optional[str]) -> str:
    return "nothing" if field is None else _KINDS.get(field, f"a {field}")


def check_required(op_def: OpDef, attrs: Any) -> None:
    """Raise AttrProblem unless every attribute without a default is there, in the right field."""
    for name, field in op_def.required:
        value = attrs.get(name)
        if value is None:
            raise AttrProblem(f"attribute {name!r} is missing")
        # A function body may leave any attribute to its caller.
        if not value.HasField(field) and not value.HasField("placeholder"):
            found = _kind(value.WhichOneof("value"))
            raise AttrProblem(f"attribute {name!r} must hold {_kind(field)} and holds {found}")


def count_args(op_def: OpDef, args: Tuple[ArgDef, ...], attrs: Any) -> int:
    """How many tensors ``args`` stand for; AttrProblem where an attribute that decides it is missing or absurd."""
    count = 0
    for arg in args:
        count += _length(op_def, arg, attrs)
    return count


def _length(op_def: OpDef, arg: ArgDef, attrs: Any) -> int:
    if arg.type_list_attr:
        return len(attr_proto(op_def, attrs, arg.type_list_attr, "list").list.type)
    if arg.number_attr:
        count = attr_proto(op_def, attrs, arg.number_attr, "i").i
        if not 0 <= count <= MAX_OUTPUTS:
            raise AttrProblem(f"attribute {arg.number_attr!r} is {count}, and must be from 0 to {MAX_OUTPUTS}")
        return int(count)
    return 1


def arg_dtypes(op_def: OpDef, args: Tuple[ArgDef, ...], attrs: Any) -> Tuple[DType, ...]:
    """The types of the tensors ``args`` stand for, in order; AttrProblem as in :func:`count_args`."""
    result: List[DType] = []
    for arg in args:
        if arg.type_list_attr:
            listed = attr_proto(op_def, attrs, arg.type_list_attr, "list").list.type
            types = [_dtype(number, arg.type_list_attr) for number in listed]
        elif arg.dtype is not None:
            types = [arg.dtype] * _length(op_def, arg, attrs)
        else:
            number = attr_proto(op_def, attrs, arg.type_attr, value_field("type")).type
            types = [_dtype(number, arg.type_attr)] * _length(op_def, arg, attrs)
        result.extend(dtype.ref for dtype in types) if arg.is_ref else result.extend(types)
    return tuple(result)


def _dtype(number: int, name: str) -> DType:
    try:
        dtype = DType.of(number)
    except ValueError:
        raise AttrProblem(f"attribute {name!r} holds {number}, which is no data type") from None
    if dtype is DType.INVALID:
        raise AttrProblem(f"attribute {name!r} holds no data type")
    return dtype
