"""Writes dumps so that no reader ever meets half of one: aside first, then a rename puts a whole step in place."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import shutil
import socket
import stat
import threading
import time
import weakref
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence

from npu_reference.dumps.form import Bytes
from npu_reference.dumps.names import LONGEST, MAPPING, mapped, mapping_lines, safe
from npu_reference.errors import NpuError

__all__ = ["ASIDE", "Clock", "StepFiles", "Target", "write_alone"]

#: What a folder that is being filled begins with; readers pass over names that begin with a dot.
ASIDE = ".npu-dump-"

#: Instants tried before giving up on a folder of one's own (assumed: a day of one process a second).
_MOST_TRIES = 86400

#: Parts of one file that the system takes at once (IOV_MAX of POSIX is at least 16, of Linux 1024).
_MOST_PARTS = 64

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)

_NO_TURN = contextlib.nullcontext()

#: Told of the bytes of every file before they are written; raises OSError for a full disk.
Disk = Callable[[int], None]


class Clock:
    """Microseconds since 1970, never the same twice. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._last = 0
        self._lock = threading.Lock()

    def stamp(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, int(self._now() * 1_000_000))
            return self._last

    def seconds(self) -> float:
        return self._now()


#: Of the process, so that files of all sessions have an order.
PROCESS_CLOCK = Clock()


_OPEN: weakref.WeakSet[Target] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """The program ends: sessions that nobody closed leave nothing aside."""
    for target in list(_OPEN):
        target.close()


class Target:
    """A folder into which the dumps of one session go: ``{path}/{time}/{device}/{model}/{model id}/{step}/``.

    ``{time}`` is made when the first step is complete, and made anew: two sessions, or two processes, never share one.

    Args:
        path: absolute; it must exist.
        device: number of the device.
        disk: None for one without a limit of its own.
        option: that named the path, for errors.
    """

    def __init__(
        self,
        path: str,
        device: int = 0,
        clock: Clock = PROCESS_CLOCK,
        disk: Optional[Disk] = None,
        *,
        option: str = "dump_path",
    ) -> None:
        self.path = path
        self.option = option
        self.device = device
        self.clock = clock
        self._disk = disk
        self._lock = threading.Lock()
        self._home = ""
        self._steps = 0
        self._aside = ""
        self._process = 0

    def open(self) -> None:
        """See that the folder can be written, and take away what dead processes of this machine left aside there.

        Raises:
            NpuError: OUTPUT.
        """
        try:
            for name in os.listdir(self.path):
                if name.startswith(ASIDE) and _abandoned(name):
                    _remove(os.path.join(self.path, name))
            self._aside = self._own_folder()
        except (OSError, ValueError) as error:
            raise cannot(self.option, self.path, error) from None
        self._process = os.getpid()
        _OPEN.add(self)

    def _own_folder(self) -> str:
        for number in range(_MOST_TRIES):
            place = os.path.join(self.path, f"{ASIDE}{_host()}-{os.getpid()}-{number}")
            try:
                os.mkdir(place)
                return place
            except FileExistsError:
                continue
        raise OSError(errno.EEXIST, "too many dumps at once")

    def step(self, model: str, model_id: int, step: int) -> StepFiles:
        """The files of one step of one model, to be written and then published.

        Raises:
            NpuError: OUTPUT.
        """
        with self._lock:
            self._steps += 1
            place = os.path.join(self._aside, str(self._steps))
        try:
            os.mkdir(place)
            return StepFiles(self, place, os.path.join(safe(model), str(model_id), str(step)), self._disk)
        except (OSError, ValueError) as error:
            raise cannot(self.option, self.path, error) from None

    def home(self) -> str:
        """``{path}/{time}/{device}``, made at the first call. Raises OSError."""
        with self._lock:
            if not self._home:
                at = int(self.clock.seconds())
                for instant in range(at, at + _MOST_TRIES):
                    place = os.path.join(self.path, time.strftime("%Y%m%d%H%M%S", time.localtime(instant)))
                    try:
                        os.mkdir(place)
                        break
                    except FileExistsError:
                        continue
                else:
                    raise OSError(errno.EEXIST, "no instant is free")
                self._home = os.path.join(place, str(self.device))
            return self._home

    def close(self) -> None:
        """Take away what lies aside; what was published stays. The end of the process does it, too."""
        _OPEN.discard(self)
        if self._aside and self._process == os.getpid():  # a process that was forked leaves it to its parent
            shutil.rmtree(self._aside, ignore_errors=True)
            self._aside = ""


class StepFiles:
    """The files of one step, written aside until :meth:`publish`. Thread-safe.

    A step may have thousands of small files: each costs three calls of the system and few steps in Python.
    """

    def __init__(self, target: Target, place: str, goal: str, disk: Optional[Disk] = None) -> None:
        self._target = target
        self._place = place
        self._goal = goal
        self._disk = disk
        self._long: List[str] = []
        self._folder = os.open(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        self._using = 0
        self._lock = threading.Condition(threading.Lock())
        self._making = threading.Lock()
        self._open = True
        self.count = 0

    def write(self, name: str, parts: Sequence[Bytes]) -> None:
        """One file; nothing once the step is in place or gone.

        Raises:
            NpuError: OUTPUT.
        """
        # A name of this length has no more bytes than a file system takes, whatever its characters are.
        short = name if 4 * len(name) <= LONGEST else mapped(name)
        with self._lock:
            if not self._open:
                return
            self._using += 1
        try:
            if self._disk is not None:
                self._disk(sum(map(_size, parts)))
            _write(short, parts, self._folder, self._making)
        except OSError as error:
            raise cannot(self._target.option, self._target.path, error) from None
        else:
            with self._lock:
                self.count += 1
                if short != name:
                    self._long.append(name)
        finally:
            self._release()

    def publish(self) -> Optional[str]:
        """Put all files in place at once; answers the folder, None where there are none.

        Raises:
            NpuError: OUTPUT; then none are in place.
        """
        if not self.count:
            self.discard()
            return None
        try:
            if self._long:
                _write(MAPPING, [mapping_lines(self._long).encode("utf-8")], self._folder)
            self._close()
            goal = os.path.join(self._target.home(), self._goal)
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            os.rename(self._place, goal)
            return goal
        except OSError as error:
            self.discard()
            raise cannot(self._target.option, self._target.path, error) from None

    def discard(self) -> None:
        """Take away what was written."""
        self._close()
        shutil.rmtree(self._place, ignore_errors=True)

    def _close(self) -> None:
        """Wait for files that another run of the same GEOP is writing: the step must not have half of one."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            while self._using:
                self._lock.wait()
        os.close(self._folder)

    def _release(self) -> None:
        with self._lock:
            self._using -= 1
            if not self._open:
                self._lock.notify_all()


def write_alone(
    base: str,
    folders: Sequence[str],
    name: str,
    parts: Sequence[Bytes],
    disk: Optional[Disk] = None,
    *,
    option: str = "the exception dump",
) -> str:
    """One whole file below ``base``, whose folders are made where they are missing; answers its path.

    A link among the folders is not followed: it leads out of the folder that was named.

    Args:
        option: option or variable that named ``base``, for errors.

    Raises:
        NpuError: OUTPUT.
    """
    place = base
    try:
        for folder in folders:
            place = os.path.join(place, folder)
            if os.path.islink(place):
                reason = "it is a link, and leads out of the folder that was named."
                raise NpuError("OUTPUT", f"{option}, {place}", reason, "Remove it.")
            if not os.path.isdir(place):
                os.mkdir(place)
        aside = os.path.join(place, f"{ASIDE}{_host()}-{os.getpid()}-{threading.get_ident()}")
        goal = os.path.join(place, mapped(name))
        try:
            if disk is not None:
                disk(sum(map(_size, parts)))
            _write(aside, parts)
            os.replace(aside, goal)
        except OSError:
            if os.path.lexists(aside):
                os.unlink(aside)
            raise
        if mapped(name) != name:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(os.path.join(place, MAPPING), flags, 0o666), "ab") as stream:
                stream.write(mapping_lines([name]).encode("utf-8"))
        return goal
    except (OSError, ValueError) as error:
        raise cannot(option, place, error) from None


def cannot(option: str, path: str, error: Exception) -> NpuError:
    """The one error of everything that cannot be written. A ValueError is of a path that is none."""
    number = getattr(error, "errno", None)
    full = number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "Make room, or dump fewer steps." if full else "Name a directory that exists and that you may write to."
    why = getattr(error, "strerror", None) or ("it is no path" if isinstance(error, ValueError) else str(error))
    return NpuError("OUTPUT", f"{option}, {path}", f"the dump cannot be written: {why}.", remedy)


def _write(
    path: str, parts: Sequence[Bytes], folder: Optional[int] = None, turn: ContextManager[Any] = _NO_TURN
) -> None:
    """A new file; a name without a folder is one in ``folder``, which is open.

    Args:
        turn: taken while the file is made. Two made at once in one folder wait for each other in the system anyway, and
            there it costs the processor that the step needs.
    """
    with turn:
        handle = os.open(path, _FLAGS, 0o666, dir_fd=folder)
    try:
        left = list(parts)
        while left:
            # At most 2 GiB go at a time, wherever in a part that ends: what is left of it is copied.
            written = os.writev(handle, left[:_MOST_PARTS])
            while left and written >= _size(left[0]):
                written -= _size(left.pop(0))
            if written:
                left[0] = memoryview(left[0]).tobytes()[written:]
    finally:
        os.close(handle)


def _size(part: Bytes) -> int:
    return len(part) if isinstance(part, (bytes, bytearray)) else int(part.nbytes)


_ASIDE_NAME = re.compile(re.escape(ASIDE) + r"(?P<host>.+)-(?P<pid>\d+)-\d+\Z")


def _abandoned(name: str) -> bool:
    """Whether the process that filled a folder is known to be dead: one of this machine that is no longer there."""
    found = _ASIDE_NAME.match(name)
    if found is None or found["host"] != _host():
        return False
    try:
        os.kill(int(found["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _remove(path: str) -> None:
    # A link of this name is not ours: it is left alone, and so is what it leads to.
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path, ignore_errors=True)


_HOST: Dict[str, str] = {}


def _host() -> str:
    if "name" not in _HOST:
        _HOST["name"] = safe(socket.gethostname()) or "localhost"
    return _HOST["name"]
