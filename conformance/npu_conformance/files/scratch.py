"""Folders and files that last no longer than this process: made beside others', removed at its end or by a later one.

Each is held by a lock as long as its maker lives, whatever process ids, containers or restarts do to tell the living
from the dead. What has no lock of ours is not ours, and is left alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from typing import Any, Iterator, List, Optional, Set, Tuple

from npu_conformance.files import descriptors
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
_LONGEST_NAME = 4096
_PLACE = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC  # a place that the user named, by links perhaps
_swept: Set[Tuple[str, str]] = set()


class Scratch:
    """A new folder, ``path``, inside one of its own that is locked. All of it is reached by descriptor.

    Args:
        prefix: of the outer folder's name.
        parent: where to make it; default is the place for temporary files.
    Raises:
        NpuError: ENVIRONMENT when it cannot be made among temporary files, OUTPUT when not in ``parent``.
    """

    def __init__(self, prefix: str, parent: Optional[str] = None) -> None:
        given = parent is not None
        self._lock: Optional[int] = None
        self._open: List[int] = []
        try:
            parent = os.path.abspath(parent if parent is not None else tempfile.gettempdir())
            _sweep(parent, prefix)
            self._parent = self._held(os.open(parent, _PLACE))
            self._name = _new_folder(prefix, self._parent)
            self.outer = os.path.join(parent, self._name)
            self._folder = self._held(descriptors.opened(self._name, self._parent))
            self._lock = _locked(self._folder)
            os.mkdir(_INSIDE, _MODE, dir_fd=self._folder)
        except OSError as error:
            self._give_up()
            reason = f"no folder can be made there: {error.strerror or error}"
            if given:
                raise NpuError("OUTPUT", str(parent), reason) from None
            remedy = "Name a folder that can be written in TMPDIR."
            raise NpuError("SYSTEM", "temporary files", reason, remedy) from None
        self.path = os.path.join(self.outer, _INSIDE)
        descriptors.hold(self.outer, self._folder)

    def _held(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def _give_up(self) -> None:
        while self._open:
            os.close(self._open.pop())
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def set_aside(self, path: str) -> None:
        """Moves what stands at ``path``, beside the outer folder, inside; it is put back if this process dies."""
        name = os.path.basename(path)
        descriptors.write(os.path.join(self.outer, "name"), os.fsencode(name))
        os.rename(name, _KEPT, src_dir_fd=self._parent, dst_dir_fd=self._folder)

    def close(self) -> None:
        """Removes the folder with all that is in it."""
        if self._open:
            descriptors.let_go(self.outer)
            descriptors.clear(self._folder)
            descriptors.remove(self._name, self._parent)
            self._give_up()


def _new_folder(prefix: str, parent: int) -> str:
    """The name of a new folder in an open one."""
    while True:
        name = prefix + secrets.token_hex(6)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, _MODE, dir_fd=parent)
            return name


def _locked(folder: int) -> Optional[int]:
    """The descriptor that holds a new lock file; it has its name only once it is locked."""
    new = _LOCK + ".new"
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.replace(new, _LOCK, src_dir_fd=folder, dst_dir_fd=folder)
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
    above, name = os.path.split(path)
    with descriptors.descend(above) as parent:
        os.close(descriptors.make(name, parent))


def empty(path: str) -> None:
    """Makes sure that an empty folder of ours stands at ``path``, whatever a backend has put there.

    Raises:
        OSError: it cannot be made.
    """
    above, name = os.path.split(path)
    with descriptors.descend(above) as parent:
        if not _emptied_of_files(name, parent):
            descriptors.remove(name, parent)
            os.mkdir(name, _MODE, dir_fd=parent)
            os.close(descriptors.make(name, parent))  # with our permissions, whatever the mask


def _emptied_of_files(name: str, parent: int) -> bool:
    """Whether a folder of ours held files alone, as most do, which are gone: it costs more to remove it and make it."""
    try:
        folder = descriptors.opened(name, parent)
        try:
            if os.fstat(folder).st_mode & 0o7777 != _MODE:
                return False
            for one in os.listdir(folder):
                os.unlink(one, dir_fd=folder)
            return True
        finally:
            os.close(folder)
    except OSError:
        return False


def remove(path: str) -> None:
    """Removes a file, link or folder, however deep it is; what cannot be removed is left."""
    above, name = os.path.split(os.path.abspath(path))
    with contextlib.suppress(OSError), descriptors.descend(above) as parent:
        descriptors.remove(name, parent)


def _sweep(parent: str, prefix: str) -> None:
    """Removes what processes that have died left in ``parent``; once a process for each prefix."""
    if fcntl is None or (parent, prefix) in _swept:
        return
    _swept.add((parent, prefix))
    with contextlib.suppress(OSError):
        place = os.open(parent or os.curdir, _PLACE)
        try:
            for name in os.listdir(place):
                if name.startswith(prefix):
                    with contextlib.suppress(OSError):
                        _sweep_one(name, place)
        finally:
            os.close(place)


def _sweep_one(name: str, place: int) -> None:
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    if found.st_uid != os.geteuid():
        return
    if stat.S_ISDIR(found.st_mode):
        folder = descriptors.opened(name, place)
        try:
            with _lock_of(_LOCK, folder):
                _put_back(folder, place)
                descriptors.clear(folder)
                descriptors.remove(name, place)
        finally:
            os.close(folder)
    elif stat.S_ISREG(found.st_mode) and name.endswith(_PART):
        with _lock_of(name, place):
            descriptors.remove(name, place)


@contextlib.contextmanager
def _lock_of(name: str, folder: int) -> Iterator[None]:
    """Holds the lock of what a dead process left. Raises OSError: its maker lives, or it is no lock."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no regular file")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _put_back(folder: int, place: int) -> None:
    if not descriptors.is_folder(_KEPT, folder):
        return
    with os.fdopen(os.open("name", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as stream:
        name = os.path.basename(os.fsdecode(stream.read(_LONGEST_NAME)))
    try:
        os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:  # else the new one came into its place
        os.rename(_KEPT, name, src_dir_fd=folder, dst_dir_fd=place)
