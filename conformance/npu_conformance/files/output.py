"""Writes results aside and puts them in place whole, so that nothing half-written is ever found."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
from typing import Any, Iterator

from npu_reference.errors import NpuError

__all__ = ["check_writable", "dumps", "write_bytes", "write_file", "replaced_folder", "MARK"]

#: The file by which a report folder is known to be ours.
MARK = "results.jsonl"


def dumps(value: Any) -> str:
    """JSON as every file of ours has it: sorted keys, ASCII, one line."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False)


def write_file(path: str, text: str) -> None:
    """Writes a whole file or none.

    Raises:
        NpuError: OUTPUT.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str, data: bytes) -> None:
    """Writes a whole file or none; one that is there keeps its permissions, a link stays one.

    Raises:
        NpuError: OUTPUT.
    """
    target = os.path.realpath(path)
    aside = ""
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~_umask()
        handle, aside = tempfile.mkstemp(prefix=".npu-", dir=os.path.dirname(target))
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(aside, mode)
        os.replace(aside, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise NpuError("OUTPUT", path, f"cannot be written: {error.strerror}") from None


def check_writable(path: str) -> None:
    """Refuses a path that cannot be written, before the work that would be lost.

    Raises:
        NpuError: OUTPUT.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise NpuError("OUTPUT", path, "is a folder", "Name a file.")
    if not os.path.isdir(folder):
        raise NpuError("OUTPUT", path, "its folder does not exist", "Create it first.")
    if not os.access(folder, os.W_OK):
        raise NpuError("OUTPUT", path, "its folder cannot be written")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def replaced_folder(path: str) -> Iterator[str]:
    """A folder to fill that becomes ``path`` at the end; an earlier report of ours there is replaced.

    Raises:
        NpuError: OUTPUT when ``path`` exists and is no report of ours, or cannot be written.
    """
    target = os.path.abspath(path)
    if os.path.lexists(target) and not _ours(target):
        raise NpuError("OUTPUT", path, "exists and is no earlier report", "Name another folder with --out.")
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".npu-report-", dir=os.path.dirname(target))
    except OSError as error:
        raise NpuError("OUTPUT", path, f"cannot be written: {error.strerror}") from None
    try:
        yield aside
        os.chmod(aside, 0o777 & ~_umask())
        _swap(aside, target)
    except OSError as error:
        raise NpuError("OUTPUT", path, f"cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    names = os.listdir(path)
    return not names or MARK in names


def _swap(aside: str, target: str) -> None:
    if os.path.isdir(target):
        old = tempfile.mkdtemp(prefix=".npu-old-", dir=os.path.dirname(target))
        os.replace(target, os.path.join(old, "report"))
        os.replace(aside, target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(aside, target)
