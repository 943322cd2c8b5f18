"""Tells serialized protocol buffers apart by their top-level fields, and finds where one is broken."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Tuple

__all__ = ["Field", "BrokenWire", "fields", "broken_at"]

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)


class Field(NamedTuple):
    """A field of a message: number, wire type, and where its value stands."""

    number: int
    wire_type: int
    start: int
    end: int


class BrokenWire(Exception):
    """The bytes are no message; ``offset`` is where, the text says how."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    """Value of the varint at ``at`` and the position behind it."""
    value = shift = 0
    for position in range(at, min(at + 10, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    if at + 10 <= len(data):
        raise BrokenWire(at, "a number is longer than 64 bits")
    raise BrokenWire(at, "it ends within a number")


def fields(data: bytes) -> Iterator[Field]:
    """The top-level fields of a message in order; Broken where they end."""
    at = 0
    while at < len(data):
        tag, start = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise BrokenWire(at, "a field has the number 0")
        if wire_type == _VARINT:
            _, end = _varint(data, start)
        elif wire_type in (_FIXED64, _FIXED32):
            end = start + (8 if wire_type == _FIXED64 else 4)
        elif wire_type == _BYTES:
            length, start = _varint(data, start)
            end = start + length
        else:
            raise BrokenWire(at, f"field {number} has the wire type {wire_type}, which no graph has")
        if end > len(data):
            raise BrokenWire(at, f"field {number} is {end - len(data)} bytes longer than the file")
        yield Field(number, wire_type, start, end)
        at = end


def broken_at(data: bytes) -> Optional[BrokenWire]:
    """Where the top level of ``data`` is broken; None where it is whole, though a field within may not be."""
    try:
        for _ in fields(data):
            pass
    except BrokenWire as broken:
        return broken
    return None
