"""Where the ranks of a job meet: in this process, at what started them, or at rank 0, by what the environment says."""

from __future__ import annotations

import atexit
import hashlib
import os
import socket
import stat
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from npu_reference.device.links import Topology, rank_table, topology
from npu_reference.errors import NpuError
from npu_reference.runtime.exchange.meeting import CONNECT_SECONDS, Meeting
from npu_reference.runtime.exchange.parts import BrokenExchange
from npu_reference.runtime.exchange.remote import ENDED, Host, RemoteMeeting

__all__ = ["ADDRESS", "AnyMeeting", "forget", "listen", "meeting_of_process", "meeting_place", "part", "topology_of"]

#: Environment variable with the socket of the process that the ranks meet at; ``simulate --ranks`` sets it.
ADDRESS = "NPU_REFERENCE_EXCHANGE"

AnyMeeting = Union[Meeting, RemoteMeeting]

#: Real seconds between two attempts to reach a rank 0 that has not come yet (assumed), the first and the longest.
_FIRST_WAIT, _LONGEST_WAIT = 0.02, 0.5

_LOCK = threading.Lock()
_MEETINGS: Dict[str, AnyMeeting] = {}
#: What is to be done when this process ends.
_ENDINGS: List[Callable[[str], None]] = []


def meeting_of_process(
    rank: Optional[int], size: int, env: Mapping[str, str], nobody_else: Callable[[], Optional[Tuple[Any, ...]]]
) -> AnyMeeting:
    """The meeting of the job that this process belongs to, the same at every call.

    Args:
        rank: of this process; None where the ranks are sessions of this process.
        size: how many ranks the job has.
        env: tells the job: :data:`ADDRESS`, or JOB_ID and RANK_TABLE_FILE; HCCL_CONNECT_TIMEOUT bounds the wait.
        nobody_else: see :class:`Meeting`.

    Raises:
        Broken: ``absent``, rank 0 has not come in time; ``value``, the job is none of this rank's.
        NpuError: SYSTEM, where no socket can be had.
    """
    with _LOCK:
        key = "" if rank is None else env.get(ADDRESS) or _folder_of(env)
        key = f"{key} {rank} {size}"
        if key not in _MEETINGS:
            if not _ENDINGS:
                atexit.register(part)
            if rank is None:
                _MEETINGS[key] = Meeting(topology_of(size, env), nobody_else, _seconds(env))
            else:
                _MEETINGS[key] = _join(rank, size, env)
        return _MEETINGS[key]


def listen(path: str) -> socket.socket:
    """A listening socket.

    Raises:
        NpuError: SYSTEM.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        reason = f"no socket can be made for the ranks to meet: {error.strerror or error}."
        raise NpuError("SYSTEM", path, reason) from None
    return listener


def part(why: str = "") -> None:
    """Leave every meeting, as a process does that ends; where this one holds it, the others end first.

    Args:
        why: told to those who wait for this rank; without it that it has ended, or failed if Python says so.
    """
    if not why:
        why = "has failed" if getattr(sys, "last_value", None) is not None else ENDED
    with _LOCK:
        endings = list(reversed(_ENDINGS))
        del _ENDINGS[:]
        _MEETINGS.clear()
    for end in endings:
        end(why)


def forget() -> None:
    """Know of no meeting, as a new process does; for one that was forked."""
    with _LOCK:
        del _ENDINGS[:]
        _MEETINGS.clear()


def _join(rank: int, size: int, env: Mapping[str, str]) -> AnyMeeting:
    address = env.get(ADDRESS) or None
    if not hasattr(socket, "AF_UNIX"):
        raise NpuError("SYSTEM", "ranks", "processes meet at a socket of Unix, which this system does not have.")
    if address is not None:
        known: str = address
        return _remote(RemoteMeeting(rank, size, lambda: _connected(known)))
    folder = _folder_of(env)
    path = os.path.join(folder, "exchange")
    if rank:
        bound = _seconds(env)
        return _remote(RemoteMeeting(rank, size, lambda: _connected(path), lambda: _when_there(path, bound)))
    return _hosted(path, folder, size, env)


#: An address of a socket has 107 bytes (sys/un.h); this many are left for the folder above those of a job.
_LONGEST_FOLDER = 56


def topology_of(size: int, env: Mapping[str, str]) -> Topology:
    """The ranks of a job: as RANK_TABLE_FILE has them, else one server after the other.

    Raises:
        OptionValueError: the table is none, or has another number of ranks.
    """
    path = env.get("RANK_TABLE_FILE", "")
    return topology(size, rank_table.read(path) if path else None)


def _remote(meeting: RemoteMeeting) -> RemoteMeeting:
    _ENDINGS.append(meeting.close)
    return meeting


def _hosted(address: str, folder: str, size: int, env: Mapping[str, str]) -> Meeting:
    _own(folder)
    if os.path.exists(address):
        with suppress(OSError):
            _connected(address).close()
            reason = "another rank 0 of this job is running."
            raise NpuError("OPTION_VALUE", "RANK_ID", reason, "Give each job a JOB_ID, and each process a rank.")
        os.unlink(address)  # left by a process that was killed
    meeting = Meeting(topology_of(size, env), connect_seconds=_seconds(env))
    host = Host(listen(address), meeting)
    meeting.join(0)

    def end(why: str) -> None:
        if why == ENDED:
            meeting.wait_until_fetched()
        meeting.leave(0, why)
        host.wait_until_left()
        with suppress(OSError):
            os.unlink(address)
            os.rmdir(folder)
        host.close()

    _ENDINGS.append(end)
    return meeting


def _folder_of(env: Mapping[str, str]) -> str:
    """A folder for the job: what launch scripts give all its processes alike tells it from others."""
    job = "\0".join((env.get("JOB_ID", ""), env.get("RANK_TABLE_FILE", ""), env.get("RANK_SIZE", "")))
    digest = hashlib.sha256(job.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(meeting_place(), f"npu_reference-{os.getuid()}-{digest}")


def meeting_place() -> str:
    """The folder for temporary files, or /tmp where its name is too long for a socket's address in it."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= _LONGEST_FOLDER or not os.path.isdir("/tmp") else "/tmp"


def _own(folder: str) -> None:
    """See that the folder is there and that nobody else may write to it."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise NpuError(
            "SYSTEM", folder, "the ranks cannot meet here: it is no folder of this user alone.", "Remove it."
        )


def _connected(address: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _when_there(address: str, bound: float) -> socket.socket:
    """A connection to rank 0, once it is there."""
    end, wait = time.monotonic() + bound, _FIRST_WAIT
    while True:
        try:
            return _connected(address)
        except OSError:
            left = end - time.monotonic()
            if left <= 0:
                text = f"rank 0 has not come within {bound:g} s, and the ranks meet there."
                raise BrokenExchange("absent", [0], text) from None
            time.sleep(min(wait, left))
            wait = min(2 * wait, _LONGEST_WAIT)


def _seconds(env: Mapping[str, str]) -> float:
    text: Any = env.get("HCCL_CONNECT_TIMEOUT", "")
    return float(text) if text.isdigit() and len(text) < 8 else CONNECT_SECONDS
