"""Decides how answers are compressed: one alone, on its way between processes, and all of a report in one file.

In one file what answers have in common is kept once: it has a fifth of the size of answers compressed one by one.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any, BinaryIO, Iterable, Iterator, List

from npu_reference import strict_json
from npu_reference.errors import NpuError

__all__ = ["Room", "check", "compressed", "lines", "pack", "plain", "unpack"]

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


def plain(packed: str) -> str:
    """The JSON text that :func:`pack` was given."""
    start = f'{{"{_NAME}": "'
    if not packed.startswith(start):
        return packed
    return zlib.decompress(base64.b64decode(packed[len(start) : -2]), wbits=_GZIP).decode("ascii")


# All of a report

_FILTERS = {"preset": 1, "dict_size": 8 << 20}  # of answers of 55 MB a second of work, and 2 % of their size (measured)
_MEMORY = 64 << 20  # assumed: what reading may take, six times what our own files need
_CHUNK, _PIECE = 1 << 16, 1 << 20


def check() -> None:
    """Refuses to begin what could not be written in the end.

    Raises:
        NpuError: SYSTEM, where Python has no lzma.
    """
    try:
        import lzma  # noqa: F401  some builds of Python lack it
    except ImportError:
        remedy = "Take a Python that was built with liblzma, as those of all distributions are."
        raise NpuError("SYSTEM", "lzma", "this Python has no module of this name", remedy) from None


def compressed(texts: Iterable[str]) -> bytes:
    """An .xz file of lines; nothing for none.

    Args:
        texts: ASCII, each without its line end.
    Raises:
        NpuError: SYSTEM, as :func:`check`.
    """
    check()
    import lzma

    filters: List[Any] = [{"id": lzma.FILTER_LZMA2, **_FILTERS}]
    packer = lzma.LZMACompressor(format=lzma.FORMAT_XZ, filters=filters)
    parts = [packer.compress(f"{text}\n".encode("ascii")) for text in texts]
    return b"".join([*parts, packer.flush()]) if parts else b""


def lines(stream: BinaryIO, most: int, longest: int) -> Iterator[bytes]:
    """The lines of an .xz file, each with its line end.

    Args:
        most: bytes that all may have together; longest: that one may have.
    Raises:
        ValueError: it is none, is cut off, goes on behind its end, or has more. NpuError: SYSTEM, as :func:`check`.
    """
    check()
    import lzma

    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY)
    parts: List[bytes] = []
    size = 0
    while not reader.eof:
        chunk = stream.read(_CHUNK) if reader.needs_input else b""
        if reader.needs_input and not chunk:
            raise ValueError("what is compressed is cut off")
        try:
            piece = reader.decompress(chunk, _PIECE)
        except (lzma.LZMAError, EOFError) as error:
            raise ValueError(f"what is compressed cannot be read: {error}") from None
        most -= len(piece)
        if most < 0:
            raise ValueError("what is compressed takes more than is read")
        first, *others = piece.split(b"\n")
        parts.append(first)
        size += len(first)
        for other in (*others, None):
            if size > longest:
                raise ValueError("a line is too long")
            if other is not None:
                yield b"".join([*parts, b"\n"])
                parts, size = [other], len(other)
    if reader.unused_data or stream.read(1):
        raise ValueError("what is compressed goes on behind its end")
    if any(parts):
        raise ValueError("the last line has no end")
