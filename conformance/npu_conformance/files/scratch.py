"""Folders and files that last no longer than this process: made beside others', removed at its end or by a later one.

Each is held by a lock as long as its maker lives, whatever process ids, containers or restarts do to tell the living
from the dead. What has no lock of ours is not ours, and is left alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from typing import Any, List, Optional, Set, Tuple

from npu_reference.errors import NpuError

fcntl: Any
try:
    import fcntl
except ImportError:  # no POSIX system: nothing is locked, and nothing is swept
    fcntl = None

__all__ = ["Scratch", "empty", "folder", "remove", "temporary_file"]

_LOCK = ".npu-lock"
_INSIDE = "folder"
_KEPT = "kept"  # what must be put back if its owner dies
_PART = ".part"
_MODE = 0o700
_swept: Set[Tuple[str, str]] = set()


class Scratch:
    """A new folder, ``path``, inside one of its own that is locked.

    Args:
        prefix: of the outer folder's name.
        parent: where to make it; default is the place for temporary files.
    Raises:
        NpuError: ENVIRONMENT when it cannot be made among temporary files, OUTPUT when not in ``parent``.
    """

    def __init__(self, prefix: str, parent: Optional[str] = None) -> None:
        given = parent is not None
        try:
            parent = os.path.abspath(parent if parent is not None else tempfile.gettempdir())
            _sweep(parent, prefix)
            self.outer = tempfile.mkdtemp(prefix=prefix, dir=parent)
            self._lock = _locked(os.path.join(self.outer, _LOCK))
            self.path = os.path.join(self.outer, _INSIDE)
            os.mkdir(self.path, 0o700)
        except OSError as error:
            reason = f"no folder can be made there: {error.strerror or error}"
            if given:
                raise NpuError("OUTPUT", str(parent), reason) from None
            remedy = "Name a folder that can be written in TMPDIR."
            raise NpuError("SYSTEM", "temporary files", reason, remedy) from None

    def set_aside(self, path: str) -> None:
        """Moves what stands at ``path``, beside the outer folder, inside; it is put back if this process dies."""
        with open(os.path.join(self.outer, "name"), "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(os.path.basename(path))
        os.replace(path, os.path.join(self.outer, _KEPT))

    def close(self) -> None:
        """Removes the folder with all that is in it."""
        remove(self.outer)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(path: str) -> Optional[int]:
    """The descriptor that holds a new lock file; it has its name only once it is locked."""
    new = path + ".new"
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.replace(new, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def temporary_file(directory: str) -> Any:
    """The path and descriptor of a new file in ``directory`` that is removed at the end, unless it was moved away.

    Raises:
        OSError: it cannot be made.
    """
    _sweep(directory, ".npu-")
    handle, new = tempfile.mkstemp(prefix=".npu-", suffix=".new", dir=directory)
    path = new[: -len(".new")] + _PART
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.replace(new, path)
        yield path, handle
    finally:
        os.close(handle)
        for name in (new, path):
            with contextlib.suppress(OSError):
                os.unlink(name)


def folder(path: str) -> None:
    """Makes sure that a folder of ours stands at ``path``, whatever a backend has put there.

    Raises:
        OSError: it cannot be made.
    """
    try:
        found = os.lstat(path)
    except OSError:
        found = None
    if found is not None and not stat.S_ISDIR(found.st_mode):
        remove(path)
        found = None
    if found is None:
        os.makedirs(path, 0o700, exist_ok=True)
    elif found.st_mode & 0o700 != 0o700:
        os.chmod(path, 0o700)


def empty(path: str) -> None:
    """Makes sure that an empty folder of ours stands at ``path``, whatever a backend has put there.

    Raises:
        OSError: it cannot be made.
    """
    try:
        # By its descriptor: a backend may put a link in its place at any moment, whose files are none of ours.
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(folder).st_mode & 0o7777 == _MODE:
                for name in os.listdir(folder):  # files alone, mostly: a folder costs more to remove and make
                    os.unlink(name, dir_fd=folder)
                return
        finally:
            os.close(folder)
    except OSError:
        pass
    remove(path)
    os.mkdir(path, _MODE)
    os.chmod(path, _MODE)  # whatever the mask


def remove(path: str) -> None:
    """Removes a file, link or folder, however deep it is; what cannot be removed is left."""
    try:
        found = os.lstat(path)
    except OSError:
        return
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(path)
            return
        os.chmod(path, 0o700)
    try:
        shutil.rmtree(path)
    except (OSError, RecursionError):
        _flatten(path)


def _flatten(path: str) -> None:
    """Removes a folder too deep, or too shut, for shutil: inner folders are moved up before they are emptied."""
    numbers = iter(range(1 << 40))
    waiting: List[str] = [path]
    while waiting:
        current = waiting[-1]
        before = len(waiting)
        try:
            os.chmod(current, 0o700)
            names = os.listdir(current)
        except OSError:
            names = []
        for name in names:
            inner = os.path.join(current, name)
            try:
                if not stat.S_ISDIR(os.lstat(inner).st_mode):
                    os.unlink(inner)
                elif current == path:
                    waiting.append(inner)
                else:
                    above = os.path.join(path, f".npu-{next(numbers)}")
                    os.replace(inner, above)
                    waiting.append(above)
            except OSError:
                continue
        if len(waiting) == before:
            waiting.pop()
            with contextlib.suppress(OSError):
                os.rmdir(current)


def _sweep(parent: str, prefix: str) -> None:
    """Removes what processes that have died left in ``parent``; once a process for each prefix."""
    if fcntl is None or (parent, prefix) in _swept:
        return
    _swept.add((parent, prefix))
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        if name.startswith(prefix):
            with contextlib.suppress(OSError):
                _sweep_one(os.path.join(parent, name))


def _sweep_one(path: str) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        return
    is_folder = stat.S_ISDIR(found.st_mode)
    if not is_folder and not (stat.S_ISREG(found.st_mode) and path.endswith(_PART)):
        return
    lock = os.path.join(path, _LOCK) if is_folder else path
    descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its maker lives
        if is_folder:
            _put_back(path)
        remove(path)
    finally:
        os.close(descriptor)


def _put_back(path: str) -> None:
    kept = os.path.join(path, _KEPT)
    if not os.path.isdir(kept):
        return
    with open(os.path.join(path, "name"), encoding="utf-8", errors="surrogateescape") as stream:
        name = stream.read()
    place = os.path.join(os.path.dirname(path), os.path.basename(name))
    if os.path.lexists(place):
        return  # the new one came into its place
    os.rename(kept, place)
