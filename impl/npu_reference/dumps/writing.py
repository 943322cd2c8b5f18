"""Writes dumps so that no reader ever meets half of one: aside first, then a rename puts a whole step in place."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import stat
import threading
import time
from typing import Callable, Dict, List, Optional, Sequence

from npu_reference.dumps.form import Bytes
from npu_reference.dumps.names import MAPPING, mapped, mapping_lines, safe
from npu_reference.errors import NpuError

__all__ = ["ASIDE", "Clock", "StepFiles", "Target", "write_alone"]

#: What a folder that is being filled begins with; readers pass over names that begin with a dot.
ASIDE = ".npu-dump-"

#: Instants tried before giving up on a folder of one's own (assumed: a day of one process a second).
_MOST_TRIES = 86400

Disk = Callable[[int], None]


def _unlimited(size: int) -> None:
    del size


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


class Target:
    """A folder into which the dumps of one session go: ``{path}/{time}/{device}/{model}/{model id}/{step}/``.

    ``{time}`` is made when the first step is complete, and made anew: two sessions, or two processes, never share one.

    Args:
        path: absolute; it must exist.
        device: number of the device.
        disk: told of the bytes of every file before they are written; raises OSError for a full disk.
        option: that named the path, for errors.
    """

    def __init__(
        self,
        path: str,
        device: int = 0,
        clock: Clock = PROCESS_CLOCK,
        disk: Disk = _unlimited,
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
        except (OSError, ValueError) as error:
            raise cannot(self.option, self.path, error) from None
        return StepFiles(self, place, os.path.join(safe(model), str(model_id), str(step)), self._disk)

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
        """Take away what lies aside; what was published stays."""
        if self._aside:
            shutil.rmtree(self._aside, ignore_errors=True)
            self._aside = ""


class StepFiles:
    """The files of one step, written aside until :meth:`publish`. Thread-safe."""

    def __init__(self, target: Target, place: str, goal: str, disk: Disk = _unlimited) -> None:
        self._target = target
        self._place = place
        self._goal = goal
        self._disk = disk
        self._long: List[str] = []
        self.count = 0

    def write(self, name: str, parts: Sequence[Bytes]) -> None:
        """One file.

        Raises:
            NpuError: OUTPUT.
        """
        short = mapped(name)
        try:
            self._disk(sum(len(part) for part in parts))
            _write(os.path.join(self._place, short), parts)
        except OSError as error:
            raise cannot(self._target.option, self._target.path, error) from None
        self.count += 1
        if short != name:
            self._long.append(name)

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
                _write(os.path.join(self._place, MAPPING), [mapping_lines(self._long).encode("utf-8")])
            goal = os.path.join(self._target.home(), self._goal)
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            os.rename(self._place, goal)
            return goal
        except OSError as error:
            self.discard()
            raise cannot(self._target.option, self._target.path, error) from None

    def discard(self) -> None:
        """Take away what was written."""
        shutil.rmtree(self._place, ignore_errors=True)


def write_alone(
    base: str,
    folders: Sequence[str],
    name: str,
    parts: Sequence[Bytes],
    disk: Disk = _unlimited,
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
            disk(sum(len(part) for part in parts))
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


def _write(path: str, parts: Sequence[Bytes]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        for part in parts:
            view = memoryview(part)
            while len(view):  # a write may take a part of it
                view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


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
