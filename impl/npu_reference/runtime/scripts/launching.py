"""How one program becomes several ranks: processes with the environment of a launch script, ended together.

The processes are forked from one that has imported TensorFlow and done nothing with it, so that eight cost little more
than one. What started them holds their meeting, and sees at once when one of them ends.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference.collection import set_apart
from npu_reference.errors import NpuError
from npu_reference.runtime import ranks
from npu_reference.runtime.exchange import joining
from npu_reference.runtime.exchange.meeting import Meeting
from npu_reference.runtime.exchange.remote import Host
from npu_reference.runtime.scripts import meeting_folders
from npu_reference.runtime.scripts.forked import act_and_leave

__all__ = ["Ended", "environment", "launch"]

#: Real seconds that the other ranks have, once one has failed, to say what they have to say (assumed), and those
#: between asking one to end and ending it.
_LAST_WORDS, _PATIENCE = 2.0, 2.0

#: Bytes read at once, and of a line before it is passed on without an end.
_BLOCK, _LONGEST_LINE = 1 << 16, 1 << 20

_OUT, _ERR = "out", "err"


class Ended(NamedTuple):
    """How the ranks ended.

    Attributes:
        statuses: exit status of each rank; negative: the signal that ended it.
        first: the rank that failed first, None if none did.
    """

    statuses: Tuple[int, ...]
    first: Optional[int]

    @property
    def status(self) -> int:
        """The exit status of the whole: that of the first rank to fail, as a shell has it."""
        if self.first is None:
            return 0
        status = self.statuses[self.first]
        return 128 - status if status < 0 else status


class _Child:
    def __init__(self, rank: int, pid: int, streams: Dict[int, str]) -> None:
        self.rank, self.pid, self.streams = rank, pid, streams
        self.partial: Dict[str, bytes] = {_OUT: b"", _ERR: b""}
        self.status: Optional[int] = None


def environment(rank: int, size: int, address: str, env: Mapping[str, str]) -> Dict[str, str]:
    """What a launch script sets for one rank; JOB_ID, RANK_TABLE_FILE and a DEVICE_ID of one's own stay as they are."""
    device = str(rank % 8)
    made = {"RANK_SIZE": str(size), "RANK_ID": str(rank), joining.ADDRESS: address}
    made.update(dict.fromkeys(("DEVICE_ID", "ASCEND_DEVICE_ID"), device))
    made["JOB_ID"] = env.get("JOB_ID") or "10087"
    return made


def launch(
    size: int,
    act: Callable[[int], int],
    hear: Callable[[int, str, bytes], None],
    *,
    lines: bool = True,
    seconds: Optional[float] = None,
) -> Ended:
    """Run a function as each of several ranks, each a process of its own, and wait for all.

    Once one fails the others are ended. If this process dies they end, too.

    Args:
        size: how many ranks.
        act: takes the rank; returns the exit status of its process. It runs in that process.
        hear: takes the rank, ``out`` or ``err``, and a line that it has written there.
        lines: whether what is written is passed on line by line, or as it comes.
        seconds: real time that all have together; None for any.

    Raises:
        NpuError: SYSTEM, where no process or socket can be had; OPTION_VALUE for a number of ranks that cannot be.
    """
    if not hasattr(os, "fork") or sys.platform == "darwin":
        raise NpuError("SYSTEM", "ranks", "this system cannot copy a process.", "Start each rank by a launch script.")
    where = joining.topology_of(size, os.environ)
    with meeting_folders.room(joining.meeting_place()) as folder:
        address = os.path.join(folder, meeting_folders.ADDRESS)
        listener = joining.listen(address)
        alive = os.pipe()
        with _terminable():
            with set_apart():
                children = [_fork(rank, size, address, act, alive, listener) for rank in range(size)]
            os.close(alive[0])
            meeting = Meeting(where)
            host = Host(listener, meeting)
            try:
                return _Watch(children, meeting, hear, lines, seconds).until_all_ended()
            finally:
                for child in children:
                    _end(child, signal.SIGKILL)
                os.close(alive[1])
                host.close()


class _Watch:
    """Reads what the ranks write, and sees them end."""

    def __init__(
        self, children: List[_Child], meeting: Meeting, hear: Callable[[int, str, bytes], None], lines: bool,
        seconds: Optional[float],
    ) -> None:  # fmt: skip
        self._children = children
        self._meeting = meeting
        self._hear = hear
        self._lines = lines
        self._first: Optional[int] = None
        self._end = None if seconds is None else time.monotonic() + seconds

    def until_all_ended(self) -> Ended:
        while any(child.status is None for child in self._children):
            streams = {stream: child for child in self._children for stream in child.streams}
            wait = 0.5 if self._first is None else 0.1
            ready = select.select(list(streams), [], [], wait if streams else 0.05)[0]
            # Who went first says first why.
            order = {rank: position for position, rank in enumerate(self._meeting.gone)}
            for child in sorted(self._children, key=lambda one: order.get(one.rank, len(order))):
                for stream in [one for one in child.streams if one in ready or child.rank in order]:
                    self._read(child, stream)
                if child.status is None and (not child.streams or child.rank in order or not ready):
                    self._reap(child)
            if self._end is not None and time.monotonic() > self._end:
                self._end_all()
        return Ended(tuple(child.status or 0 for child in self._children), self._first)

    def _read(self, child: _Child, stream: int) -> None:
        kind = child.streams[stream]
        while select.select([stream], [], [], 0)[0]:
            block = os.read(stream, _BLOCK)
            if not block:
                os.close(stream)
                del child.streams[stream]
                self._tell(child, kind, b"", last=True)
                return
            self._tell(child, kind, block)

    def _tell(self, child: _Child, kind: str, block: bytes, last: bool = False) -> None:
        if not self._lines:
            if block:
                self._hear(child.rank, kind, block)
            return
        *whole, rest = (child.partial[kind] + block).split(b"\n")
        for line in whole:
            self._hear(child.rank, kind, line)
        if rest and (last or len(rest) > _LONGEST_LINE):
            self._hear(child.rank, kind, rest)
            rest = b""
        child.partial[kind] = rest

    def _reap(self, child: _Child) -> None:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if not pid:
            return
        for stream in list(child.streams):
            self._read(child, stream)
        for stream in child.streams:  # something that the rank has started still holds it
            os.close(stream)
        child.streams = {}
        child.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        _end(child, signal.SIGKILL)
        if child.status and self._first is None:
            gone = [rank for rank, why in self._meeting.gone.items() if why != "has ended"]
            self._first = gone[0] if gone else child.rank
            if child.status < 0:
                self._hear(child.rank, _ERR, f"this rank was ended by signal {-child.status}".encode())
            limit = time.monotonic() + _LAST_WORDS
            self._end = limit if self._end is None else min(self._end, limit)

    def _end_all(self) -> None:
        for signum in (signal.SIGTERM, signal.SIGKILL):
            for child in self._children:
                if child.status is None:
                    _end(child, signum)
            limit = time.monotonic() + _PATIENCE
            while time.monotonic() < limit and any(child.status is None for child in self._children):
                for child in self._children:
                    for stream in list(child.streams):
                        self._read(child, stream)
                    if child.status is None:
                        self._reap(child)
                select.select([], [], [], 0.02)
        if self._first is None:
            self._first = next(child.rank for child in self._children if child.status)


def _fork(
    rank: int, size: int, address: str, act: Callable[[int], int], alive: Tuple[int, int], listener: Any
) -> _Child:
    out, err = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads may be there: none of them holds a lock of ours
        pid = os.fork()
    if pid == 0:

        def be_a_rank() -> int:
            os.setpgid(0, 0)
            listener.close()
            os.close(alive[1])
            return _in_child(rank, size, address, act, alive[0], (out[1], err[1]))

        act_and_leave(be_a_rank)
    with suppress(OSError):
        os.setpgid(pid, pid)
    os.close(out[1])
    os.close(err[1])
    return _Child(rank, pid, {out[0]: _OUT, err[0]: _ERR})


def _in_child(
    rank: int, size: int, address: str, act: Callable[[int], int], alive: int, streams: Tuple[int, int]
) -> int:
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_DFL)
    os.dup2(streams[0], 1)
    os.dup2(streams[1], 2)
    for stream in streams:
        os.close(stream)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]
    atexit._clear()  # what the copied process has to do at its end is not for us
    threading.Thread(target=_die_with, args=(alive,), name="npu_reference lifeline", daemon=True).start()
    joining.forget()
    os.environ.update(environment(rank, size, address, os.environ))
    place = ranks.place_of_session(None)
    if place is not None:
        place.meet()
    status = act(rank)
    sys.stdout.flush()
    sys.stderr.flush()
    if status:
        joining.part("has failed")
    getattr(threading, "_shutdown", lambda: None)()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _die_with(alive: int) -> None:
    """Wait for the end of what started this process; then end, with all that came of it."""
    while os.read(alive, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _end(child: _Child, signum: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signum)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end this process as an interrupt does: with what it has started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(signum: int, frame: Any) -> None:
        raise SystemExit(128 + signum)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
