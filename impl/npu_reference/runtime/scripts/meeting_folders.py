"""Decides where the ranks of one launch meet: a folder that is theirs alone, and goes even if all of them are killed.

The folder is locked as long as the process that made it, or a rank that it has started, lives. What has no lock, is
not young and answers no connection was left by processes that were killed; the next launch takes it away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import tempfile
import time
from typing import Any, Iterator

from npu_reference.errors import NpuError

fcntl: Any
try:
    import fcntl
except ImportError:  # no POSIX system: no ranks are launched there
    fcntl = None

__all__ = ["ADDRESS", "PREFIX", "room", "sweep"]

PREFIX = "npu_reference-ranks-"

#: The socket in a room.
ADDRESS = "exchange"

#: Seconds after which a room may be taken for left behind: longer than it takes to lock and to listen (assumed).
_YOUNG = 60


@contextlib.contextmanager
def room(parent: str) -> Iterator[str]:
    """A new folder below ``parent``, removed at the end.

    Raises:
        NpuError: SYSTEM, when it cannot be made.
    """
    sweep(parent)
    try:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    except OSError as error:
        reason = f"no folder can be made there: {error.strerror or error}."
        raise NpuError("SYSTEM", parent, reason, "Name a folder that can be written in TMPDIR.") from None
    held = None
    try:
        held = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path
    finally:
        _clear(path)
        if held is not None:
            os.close(held)


def sweep(parent: str, now: float = 0.0) -> None:
    """Removes the rooms of this user in which nobody lives any more; what is not surely one of them is left alone.

    Args:
        now: seconds since the epoch; 0 for the present.
    """
    try:
        names = [name for name in os.listdir(parent) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            _sweep_one(os.path.join(parent, name), now or time.time())


def _sweep_one(path: str, now: float) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        about = os.fstat(handle)
        if about.st_uid != os.geteuid() or now - about.st_mtime < _YOUNG:
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _answers(os.path.join(path, ADDRESS)):
            _clear(path)
    finally:
        os.close(handle)


def _answers(address: str) -> bool:
    """Whether somebody listens there: a room of a file system without locks. When in doubt, somebody does."""
    try:
        if not stat.S_ISSOCK(os.lstat(address).st_mode):
            return True
    except FileNotFoundError:
        return False
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asked:
        asked.settimeout(1)
        try:
            asked.connect(address)
        except OSError as refused:
            return refused.errno not in (errno.ECONNREFUSED, errno.ENOENT)
    return True


def _clear(path: str) -> None:
    """Removes the socket and the folder, and nothing that is neither."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(path, ADDRESS))
    with contextlib.suppress(OSError):
        os.rmdir(path)
