"""Reads files that others made or named: regular ones only, without waiting, and no more than is bearable."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import BinaryIO, Iterator, Optional

from npu_conformance.files import descriptors

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
    """A regular file, open for reading; no link at the end of the path is followed, nor one on the way to it in a
    folder that a backend can write.

    Raises:
        Unfit: no regular file. OSError: it cannot be read. ValueError: its name is none.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with descriptors.descend(folder) as parent:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=parent)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unfit("that is no regular file")
        stream = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with stream:
        yield stream
