"""Writes results aside and puts them in place whole, so that nothing half-written is ever found."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from typing import Any, Iterator

from npu_conformance.files import scratch
from npu_reference.errors import NpuError

__all__ = ["check_writable", "dumps", "write_bytes", "write_file", "filled_folder", "replaced_folder", "MARK"]

#: The file by which a report folder is known to be ours.
MARK = "results.jsonl"


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False)


def dumps(value: Any) -> str:
    """JSON as every file of ours has it: sorted keys, ASCII, one line."""
    return _ENCODER.encode(value)


def write_file(path: str, text: str) -> None:
    """Writes a whole file or none; what cannot be encoded (a name that is no text) is escaped.

    Raises:
        NpuError: OUTPUT.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, content: bytes) -> None:
    """Writes a whole file or none.

    Raises:
        NpuError: OUTPUT.
    """
    try:
        # One that is there keeps its permissions, and a link stays one.
        target = os.path.realpath(path)
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~_umask()
        with scratch.temporary_file(os.path.dirname(target)) as (aside, handle):
            with os.fdopen(os.dup(handle), "wb") as stream:
                stream.write(content)
            os.chmod(aside, mode)
            os.replace(aside, target)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise NpuError("OUTPUT", path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None


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
def replaced_folder(path: str, mark: str = MARK) -> Iterator[str]:
    """A folder to fill that becomes ``path`` at the end; an earlier one of ours there, known by `mark`, is replaced.

    Raises:
        NpuError: OUTPUT when ``path`` exists and is no report of ours, or cannot be written.
    """
    try:
        target = os.path.abspath(path)
        ours = not os.path.lexists(target) or _ours(target, mark)
        if ours:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _check_writable(os.path.dirname(target))
    except (OSError, ValueError) as error:
        raise NpuError("OUTPUT", path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if not ours:
        what = "report" if mark == MARK else f"result of this command: it has no {mark}"
        raise NpuError("OUTPUT", path, f"exists and is no earlier {what}", "Name another folder with --out.")
    aside = scratch.Scratch(".npu-report-", os.path.dirname(target))
    try:
        yield aside.path  # what fails in here has nothing to do with where the report is to lie
        try:
            os.chmod(aside.path, 0o777 & ~_umask())
            if os.path.isdir(target):
                aside.set_aside(target)
            os.replace(aside.path, target)
        except OSError as error:
            raise NpuError("OUTPUT", path, f"cannot be written: {error.strerror}") from None
    finally:
        aside.close()


@contextlib.contextmanager
def filled_folder(path: str) -> Iterator[str]:
    """A folder to fill, whose content stands in ``path`` at the end: a folder that is empty, or absent.

    An empty one stays the same folder, for somebody may be in it.

    Raises:
        NpuError: OUTPUT when ``path`` is anything else, or cannot be written; nothing is left there then.
    """
    try:
        target = os.path.abspath(path)
        there = os.path.lexists(target)
        if there and (os.path.islink(target) or not os.path.isdir(target)):
            raise NpuError("OUTPUT", path, "is no folder", _EMPTY)
        if there and not _is_empty(target):
            raise NpuError("OUTPUT", path, "is not empty", _EMPTY)
        parent = target if there else os.path.dirname(target)
        os.makedirs(parent, exist_ok=True)
        _check_writable(parent)
    except (OSError, ValueError) as error:
        raise NpuError("OUTPUT", path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None
    aside = scratch.Scratch(".npu-filled-", parent)
    try:
        yield aside.path
        try:
            os.chmod(aside.path, 0o777 & ~_umask())
            if there:
                _move_all(aside.path, target)
            else:
                os.rename(aside.path, target)
        except (OSError, ValueError) as error:
            raise NpuError("OUTPUT", path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        aside.close()


_EMPTY = "Name a folder that is empty or absent."


def _is_empty(folder: str) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _move_all(source: str, target: str) -> None:
    """Moves what lies in one folder into another; all of it, or with an OSError nothing."""
    moved = []
    try:
        for name in sorted(os.listdir(source)):
            if os.path.lexists(os.path.join(target, name)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(os.path.join(source, name), os.path.join(target, name))
            moved.append(name)
    except OSError:
        for name in moved:
            os.rename(os.path.join(target, name), os.path.join(source, name))
        raise


def _check_writable(folder: str) -> None:
    """OSError where nothing can be made in a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _ours(path: str, mark: str) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    names = os.listdir(path)
    return not names or mark in names
