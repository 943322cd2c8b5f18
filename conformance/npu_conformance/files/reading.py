"""Reads files that others made or named: regular ones only, without waiting, and no more than is bearable."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import BinaryIO, Iterator, Optional

__all__ = ["Unfit", "content", "opened"]


class Unfit(ValueError):
    """What stands there is not what is wanted; the text goes behind "has a file"."""


def content(path: str, most: int, size: Optional[int] = None) -> bytes:
    """The content of a regular file.

    Args:
        most: bytes it may have.
        size: bytes it must have, where that is known.
    Raises:
        Unfit: no regular file, or not of this size. OSError: it cannot be read. ValueError: its name is none.
    """
    with opened(path) as stream:
        found = os.fstat(stream.fileno())
        if size is not None and found.st_size != size:
            raise Unfit(f"of {found.st_size} bytes, its shape needs {size}")
        if found.st_size > most:
            raise Unfit(f"of more than {most >> 20} MiB")
        return stream.read(found.st_size)


@contextlib.contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A regular file, open for reading; no link at the end of the path is followed.

    Raises:
        Unfit: no regular file. OSError: it cannot be read. ValueError: its name is none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unfit("that is no regular file")
        yield stream
