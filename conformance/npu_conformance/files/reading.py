"""Reads files that others made or named: regular ones only, without waiting, and no more than is bearable."""

from __future__ import annotations

import os
import stat
from typing import Optional

__all__ = ["Unfit", "content"]


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
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Unfit("that is no regular file")
        if size is not None and found.st_size != size:
            raise Unfit(f"of {found.st_size} bytes, its shape needs {size}")
        if found.st_size > most:
            raise Unfit(f"of more than {most >> 20} MiB")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(found.st_size)
    finally:
        os.close(descriptor)
