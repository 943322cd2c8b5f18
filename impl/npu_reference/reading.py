"""Reads the files that a user names: regular ones only, no more than is bearable, UTF-8 with a mark or without."""

from __future__ import annotations

import os
import stat

__all__ = ["MISSING", "FileProblem", "content", "decoded", "reason", "text"]

#: What is said of a path where nothing is.
MISSING = "does not exist"


class FileProblem(Exception):
    """Why a path cannot be used; the text is a clause about it."""

    @property
    def missing(self) -> bool:
        """Whether there is nothing at that path."""
        return str(self) == MISSING


def content(path: str, largest: int) -> bytes:
    """What is in a file; one byte more than ``largest`` where it has more.

    Raises:
        FileProblem: it is missing, unreadable or no regular file.
    """
    try:
        # A pipe or device would block or never end, so only regular files are opened.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileProblem("is not a file")
        with open(path, "rb") as stream:
            return stream.read(largest + 1)
    except (OSError, ValueError) as problem:
        raise FileProblem(reason(problem)) from None


def decoded(data: bytes, largest: int) -> str:
    """The text of what was read, with the line ends of POSIX.

    Raises:
        FileProblem: it is more than ``largest`` bytes, or no UTF-8.
    """
    if len(data) > largest:
        raise FileProblem(f"has more than {largest} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        raise FileProblem(f"is not UTF-8 at byte {problem.start}") from None


def text(path: str, largest: int) -> str:
    """The text of a file. Raises as :func:`content` and :func:`decoded`."""
    return decoded(content(path, largest), largest)


def reason(problem: Exception) -> str:
    """Why the system refuses a path, as a clause."""
    if isinstance(problem, FileNotFoundError):
        return MISSING
    if isinstance(problem, OSError) and problem.strerror:
        return f"cannot be used: {problem.strerror}"
    return "is no path"
