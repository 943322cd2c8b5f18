"""Decides how a report has a long value of an answer: as JSON where it is short, else compressed."""

from __future__ import annotations

import base64
import zlib
from typing import Any

from npu_reference import strict_json

__all__ = ["Room", "pack", "unpack"]

_SHORT = 1024  # characters of JSON that are left as they are (assumed)
_GZIP = 31  # zlib's window bits of a gzip stream, which `gunzip` reads
_SYSTEM = 9  # place in its header of the system that wrote it, which is to change no report
_NAME = "gzip"


def pack(text: str) -> str:
    """JSON text as a report has it: as it is, or ``{"gzip": BASE64}`` where that is shorter.

    Args:
        text: ASCII.
    """
    if len(text) <= _SHORT:
        return text
    packer = zlib.compressobj(wbits=_GZIP)
    data = bytearray(packer.compress(text.encode("ascii")) + packer.flush())
    data[_SYSTEM] = 255
    packed = f'{{"{_NAME}": "{base64.b64encode(data).decode("ascii")}"}}'
    return packed if len(packed) < len(text) else text


class Room:
    """Bytes that values may still take once they are unpacked."""

    def __init__(self, size: int) -> None:
        self._size = self.left = size

    def take(self, data: bytes) -> bytes:
        """The content of a gzip stream.

        Raises:
            ValueError: it is none, or larger than what is left.
        """
        reader = zlib.decompressobj(wbits=_GZIP)
        try:
            content = reader.decompress(data, self.left + 1)
        except zlib.error as error:
            raise ValueError(f"what is compressed cannot be read: {error}") from None
        if len(content) > self.left:
            raise ValueError(f"what is compressed takes more than {self._size >> 20} MiB")
        if not reader.eof or reader.unused_data:
            raise ValueError("what is compressed is cut off, or goes on behind its end")
        self.left -= len(content)
        return content


def unpack(value: Any, room: Room) -> Any:
    """A value of a report as it was before :func:`pack`.

    Raises:
        ValueError: it cannot be read, or takes more than there is room.
    """
    if not isinstance(value, dict) or set(value) != {_NAME}:
        return value
    if not isinstance(value[_NAME], str):
        raise ValueError("what is compressed is no text")
    return strict_json.finite(room.take(base64.b64decode(value[_NAME], validate=True)).decode("ascii"))
