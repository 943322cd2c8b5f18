"""Opens, writes and removes by descriptor in folders that a backend can write: whatever it puts in place of what, and
when, no link is followed, so that nothing elsewhere is read, written or removed.

A path is walked from a folder that this process holds open (:func:`hold`), one name at a time.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Dict, Iterator, List

__all__ = ["clear", "descend", "hold", "is_folder", "let_go", "make", "opened", "remove", "write"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o700
_ROUNDS = 3  # in which a folder is emptied, if somebody goes on filling it
_MOST_FOLDERS = 1 << 20  # that are emptied for one (assumed: a backend could make them for ever)

#: Folders that this process holds open, by their path.
_held: Dict[str, int] = {}


def hold(path: str, descriptor: int) -> None:
    """Lets paths below ``path`` begin at a folder that is open."""
    _held[path] = descriptor


def let_go(path: str) -> None:
    """Undoes :func:`hold`."""
    _held.pop(path, None)


def opened(name: str, parent: int) -> int:
    """The descriptor of a folder in an open one. Raises OSError where there is none, or a link."""
    return os.open(name, _FOLDER, dir_fd=parent)


@contextlib.contextmanager
def descend(path: str) -> Iterator[int]:
    """The descriptor of the folder at ``path``: below a folder that is held, no link on the way is followed.

    Elsewhere links are followed: there the path is the user's own.
    Raises:
        OSError: it is none, or cannot be opened. ValueError: its name is none.
    """
    path = os.path.abspath(path)
    start, names = path, []
    while start not in _held and os.path.dirname(start) != start:
        start, name = os.path.split(start)
        names.append(name)
    if start in _held:
        current = os.dup(_held[start])
    else:
        current, names = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), []
    try:
        while names:
            inner = opened(names.pop(), current)
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


def write(path: str, content: bytes) -> None:
    """Writes a new file, in place of whatever stands there.

    Raises:
        OSError: it cannot be written. ValueError: its name is none.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with descend(folder) as parent:
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=parent, follow_symlinks=False)
            remove(name, parent)
        with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=parent), "wb") as stream:
            stream.write(content)


def is_folder(name: str, parent: int) -> bool:
    """Whether there is a folder of this name in an open one; a link is none."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def make(name: str, parent: int) -> int:
    """The descriptor of a folder of ours in an open one, whatever stood there before.

    Raises:
        OSError: it cannot be made.
    """
    if not is_folder(name, parent):
        remove(name, parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, _MODE, dir_fd=parent)
    _allow(name, parent)
    return opened(name, parent)


def remove(name: str, parent: int) -> None:
    """Removes a file, link or folder from an open folder, however deep it is; what cannot be removed is left."""
    with contextlib.suppress(OSError):
        if not is_folder(name, parent):
            os.unlink(name, dir_fd=parent)
            return
        for _ in range(_ROUNDS):
            _allow(name, parent)
            folder = opened(name, parent)
            try:
                clear(folder)
            finally:
                os.close(folder)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=parent)
                return


def clear(folder: int) -> None:
    """Removes all that is in an open folder. Two descriptors do, however deep it is: what lies in an inner folder is
    moved up before it is emptied."""
    moved = 0
    waiting = _emptied(folder)
    while waiting and moved < _MOST_FOLDERS:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            _allow(name, folder)
            inner = opened(name, folder)
            try:
                for deeper in _emptied(inner):
                    moved += 1
                    above = f".npu-{moved}"
                    with contextlib.suppress(OSError):
                        _allow(deeper, inner)
                        os.rename(deeper, above, src_dir_fd=inner, dst_dir_fd=folder)
                        waiting.append(above)
            finally:
                os.close(inner)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=folder)


def _emptied(folder: int) -> List[str]:
    """The names of the folders in an open one, from which everything else is removed."""
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        if is_folder(name, folder):
            found.append(name)
            continue
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)
    return found


def _allow(name: str, parent: int) -> None:
    """Lets us read and change a folder in an open one, which its maker may have shut. Raises OSError."""
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & _MODE == _MODE:
        return
    if hasattr(os, "O_PATH"):  # opened without reading it, and changed by what was opened: it is no link
        folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{folder}", _MODE)
        finally:
            os.close(folder)
    else:
        os.chmod(name, _MODE, dir_fd=parent, follow_symlinks=False)
