"""How dump files and the folders they lie in are named, and what a name says."""

from __future__ import annotations

import hashlib
import os
import re
from typing import List, NamedTuple, Optional

__all__ = ["MAPPING", "FileName", "exception_name", "file_name", "mapped", "parse", "safe"]

#: Where files with names too long for a file system are told: lines ``name in the folder,name it stands for``.
MAPPING = "mapping.csv"

#: Longest name of a file, in bytes (Linux).
LONGEST = 255

_UNSAFE = re.compile(r"[/\\.\s]")
_NUMBERS = re.compile(r"(?P<type>[^.]+)\.(?P<name>[^.]+)\.(?P<task>\d+)\.(?:(?P<stream>\d+)\.)?(?P<time>\d+)\Z")


class FileName(NamedTuple):
    """What a file's name says: names as :func:`safe` leaves them; stream None in the older and the exception form."""

    op_type: str
    op_name: str
    task: int
    stream: Optional[int]
    time: int


def safe(name: str) -> str:
    """A name with ``/``, ``\\``, ``.`` and blanks as ``_``."""
    return _UNSAFE.sub("_", name)


def file_name(op_type: str, op_name: str, task: int, stream: int, time: int) -> str:
    """``{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}`` (reading D1)."""
    return f"{safe(op_type)}.{safe(op_name)}.{task}.{stream}.{time}"


def exception_name(op_type: str, op_name: str, task: int, time: int) -> str:
    """``{op_type}.{op_name}.{task_id}.{timestamp}``."""
    return f"{safe(op_type)}.{safe(op_name)}.{task}.{time}"


def mapped(name: str) -> str:
    """The name itself, or what stands for one that is too long: digits, told in :data:`MAPPING`."""
    if len(os.fsencode(name)) <= LONGEST:
        return name
    return str(int.from_bytes(hashlib.sha256(os.fsencode(name)).digest()[:8], "big"))


def parse(name: str) -> Optional[FileName]:
    """What a name says; None for a file that is no dump's."""
    found = _NUMBERS.match(name)
    if found is None:
        return None
    stream = found["stream"]
    at = None if stream is None else int(stream)
    return FileName(found["type"], found["name"], int(found["task"]), at, int(found["time"]))


def mapping_lines(pairs: List[str]) -> str:
    """The text of a :data:`MAPPING` file."""
    return "".join(f"{mapped(name)},{name}\n" for name in pairs)
