"""Decides how a file is left behind: whole or not at all, in real folders below the one named, never through a link."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from typing import Callable, Iterator, List, NamedTuple, Optional

from npu_reference.device.faults import DiskFault
from npu_reference.errors import NpuError

__all__ = ["Folder", "Found", "FolderPlace"]

_PART = re.compile(r"\.npu-[0-9a-f]{16}\.part\Z")
#: What a writer that was killed leaves is removed after so many seconds; no write takes as long (assumed).
_STALE = 1800
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
#: Largest file that is read back (assumed; our own are far smaller).
_LARGEST = 64 << 20


class FolderPlace(NamedTuple):
    """Where names of directories count from.

    root: put before absolute names, for programs that must stay inside a folder; empty for the machine itself.
    current: the directory the program runs in.
    """

    root: str
    current: str

    def path(self, name: str) -> str:
        """The path a name stands for; inside ``root`` no ``..`` leads out of it."""
        if not self.root:
            return os.path.join(self.current, name)
        inside = name if os.path.isabs(name) else os.path.join(os.sep, os.path.relpath(self.current, self.root), name)
        return os.path.join(self.root, os.path.normpath(inside).lstrip(os.sep))


class Found(NamedTuple):
    """A regular file of a folder: its name, its bytes, when it was last used (seconds since the epoch)."""

    name: str
    size: int
    used: float


class Folder:
    """A directory that files are left in.

    The directory a user names may be a link, and is made where it is missing. What lies below it is ours, and must be
    real directories: a link there could lead anywhere.

    Args:
        named: the directory as named, a path of the machine.
        option: the option or variable that named it, for errors.
        below: names of directories inside.
        shown: what the named directory is called in errors; itself, if nothing else is said.
    """

    def __init__(self, named: str, option: str, *below: str, disk: Optional[DiskFault] = None, shown: str = "") -> None:
        self.named, self.option, self.below = named, option, below
        self.path = os.path.join(named, *below)
        self.shown = shown or named
        self.disk = disk or DiskFault()
        self._made = False

    def inside(self, *names: str) -> Folder:
        """A folder further down."""
        return Folder(self.named, self.option, *self.below, *names, disk=self.disk, shown=self.shown)

    def make(self) -> Folder:
        """Makes the folder where it is missing.

        Raises:
            NpuError: FILES_LEFT, when something else stands there, or it cannot be made.
        """
        if self._made:
            return self
        with self._told("cannot be made"), _made_whole(self.named):
            if os.path.lexists(self.named) and not os.path.isdir(self.named):
                raise self._problem(f"{self.shown} is no directory but {_kind(self.named)}.")
            os.makedirs(self.named, exist_ok=True)
            path = self.named
            for number, name in enumerate(self.below, 1):
                path = os.path.join(path, name)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path)
                if not stat.S_ISDIR(os.lstat(path).st_mode):
                    place = os.path.join(self.shown, *self.below[:number])
                    raise self._problem(f"{place} is no directory but {_kind(path)}.")
            if not os.access(self.path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        self._made = True
        self._sweep()
        return self

    def is_there(self) -> bool:
        """Whether the folder exists, each part of it below the named one a real directory."""
        path = self.named
        if not os.path.isdir(path):
            return False
        for name in self.below:
            path = os.path.join(path, name)
            try:
                if not stat.S_ISDIR(os.lstat(path).st_mode):
                    return False
            except OSError:
                return False
        return True

    def write(self, name: str, pieces: Iterator[bytes]) -> None:
        """Leaves a file: written aside, then put in its place, so that nobody ever sees a part of it.

        Raises:
            NpuError: FILES_LEFT; the file is then as it was before, or not there.
        """
        self.make()
        target = os.path.join(self.path, name)
        aside = os.path.join(self.path, f".npu-{os.urandom(8).hex()}.part")
        try:
            with self._told(f"cannot take {name}"):
                if os.path.isdir(target) and not os.path.islink(target):
                    raise self._problem(f"{os.path.join(self.shown, *self.below, name)} is a directory.")
                handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o666)
                with os.fdopen(handle, "wb") as stream:
                    for piece in pieces:
                        self.disk.write(stream, piece)
                os.replace(aside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise

    def append(self, name: str, line: bytes) -> int:
        """Adds a line to a regular file here, which is made where it is missing; the file's size then.

        Raises:
            OSError: it cannot be written. NpuError: FILES_LEFT.
        """
        self.make()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _NOFOLLOW
        with os.fdopen(os.open(os.path.join(self.path, name), flags, 0o666), "ab", buffering=0) as stream:
            before = os.fstat(stream.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            try:
                self.disk.write(stream, line)
                size = os.fstat(stream.fileno()).st_size
                if size < before.st_size + len(line):  # what fitted was written
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(stream.fileno(), before.st_size)
                if not before.st_size:
                    self.remove(name)
                raise
            return size

    def read(self, name: str) -> Optional[bytes]:
        """The content of a regular file here; None where there is none that can be read."""
        if not self.is_there():
            return None
        try:
            handle = os.open(os.path.join(self.path, name), os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW)
        except (OSError, ValueError):
            return None
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            os.close(handle)
            return None
        with os.fdopen(handle, "rb") as stream, contextlib.suppress(OSError):
            return stream.read(_LARGEST)
        return None

    def files(self) -> List[Found]:
        """The regular files here, by name; none where the folder is not there."""
        found: List[Found] = []
        if not self.is_there():
            return found
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # it may be gone by now
                    if entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        found.append(Found(entry.name, about.st_size, about.st_mtime))
        return sorted(found)

    def touch(self, name: str, when: float) -> None:
        """Records that a file was used; what cannot be recorded is not."""
        with contextlib.suppress(OSError, NotImplementedError):
            os.utime(os.path.join(self.path, name), (when, when), follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Removes a file or link here, never what a link leads to; what cannot be removed is left."""
        if self.is_there():
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.path, name))

    def drop(self) -> None:
        """Removes this folder if it is empty."""
        if self.is_there():
            with contextlib.suppress(OSError):
                os.rmdir(self.path)

    def _sweep(self, clock: Callable[[], float] = time.time) -> None:
        """Removes what writers that were killed left aside, long after."""
        for one in self.files():
            if _PART.match(one.name) and clock() - one.used > _STALE:
                self.remove(one.name)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            where, why = os.path.join(self.shown, *self.below), str(problem.strerror or problem).rstrip(".")
            raise self._problem(f"{where} {what}: {why}.") from None
        except ValueError:
            raise self._problem("it is no path.") from None

    def _problem(self, reason: str) -> NpuError:
        remedy = "Name a directory that can be written and has room, with nothing else of these names in it."
        return NpuError("FILES_LEFT", self.option, reason, remedy)


def _kind(path: str) -> str:
    if os.path.islink(path):
        return "a link" if os.path.exists(path) else "a link that leads nowhere"
    return "a file"


@contextlib.contextmanager
def _made_whole(path: str) -> Iterator[None]:
    """Directories above and with ``path`` that are made in here go again where it fails, as far as they are empty."""
    missing: List[str] = []
    while path and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        yield
    except BaseException:
        for one in missing:
            with contextlib.suppress(OSError, ValueError):
                os.rmdir(one)
        raise
