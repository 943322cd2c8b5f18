"""Decides how the attributes of a node read in Python, without decoding any before it is asked for."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

from .dtypes import DType

__all__ = ["FuncRef", "Placeholder", "Attrs", "decode_attr", "decode_shape", "UNKNOWN_RANK"]


class FuncRef(NamedTuple):
    """A function named by an attribute, with the attributes given for it."""

    name: str
    attrs: Attrs


class Placeholder(str):
    """An attribute value a function body leaves to its caller, by the name of the caller's attribute."""


class _UnknownRank:
    """The shape of which not even the number of dimensions is known; one object, false, prints as itself."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNKNOWN_RANK"

    def __reduce__(self) -> str:
        return "UNKNOWN_RANK"


UNKNOWN_RANK = _UnknownRank()


def decode_shape(proto: Any) -> Any:
    """A TensorShapeProto as a tuple of int, None for an unknown dimension; UNKNOWN_RANK where the rank is unknown."""
    if proto.unknown_rank:
        return UNKNOWN_RANK
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


def _decode_type(number: int) -> Any:
    try:
        return DType.of(number)
    except ValueError:
        return DType.INVALID


def _decode_func(proto: Any) -> FuncRef:
    return FuncRef(proto.name, Attrs(proto.attr))


def _decode_list(proto: Any) -> Tuple[Any, ...]:
    for descriptor, values in proto.ListFields():
        decode = _DECODERS.get(descriptor.name)
        return tuple(values) if decode is None else tuple(decode(value) for value in values)
    return ()


_DECODERS: Dict[str, Any] = {
    "type": _decode_type,
    "shape": decode_shape,
    "func": _decode_func,
    "placeholder": Placeholder,
    "list": _decode_list,
}


def decode_attr(proto: Any) -> Any:
    """An AttrValue as a Python value.

    ``s`` gives bytes, ``i`` int, ``f`` float, ``b`` bool, ``type`` DType (INVALID for a number no version defines),
    ``shape`` a tuple or UNKNOWN_RANK, ``tensor`` the TensorProto, ``func`` a FuncRef, ``placeholder`` a Placeholder,
    ``list`` a tuple of such values. None where no field is set.
    """
    field = proto.WhichOneof("value")
    if field is None:
        return None
    value = getattr(proto, field)
    decode = _DECODERS.get(field)
    return value if decode is None else decode(value)


class Attrs(Mapping[str, Any]):
    """A node's attributes by name; in sorted order, since protocol buffer maps have none. Decodes on access."""

    __slots__ = ("_map",)

    def __init__(self, protos: Any) -> None:
        self._map = protos

    def __getitem__(self, name: str) -> Any:
        # A protocol buffer map makes an entry for a name it is asked for, so ask first.
        if name not in self._map:
            raise KeyError(name)
        return decode_attr(self._map[name])

    def __contains__(self, name: object) -> bool:
        return name in self._map

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._map))

    def __len__(self) -> int:
        return len(self._map)

    def proto(self, name: str) -> Optional[Any]:
        """The AttrValue message itself, or None."""
        return self._map.get(name, None)

    def __repr__(self) -> str:
        return f"Attrs({', '.join(self)})"
