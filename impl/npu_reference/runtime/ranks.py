"""Which rank asks, among how many, and in which groups: what launch scripts say in the environment, or its thread.

A rank is a process (RANK_ID), a thread that :func:`acting` made one, or, where RANK_SIZE is above 1 and RANK_ID unset,
a session: its device is its rank.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.collectives import Split
from npu_reference.device.links import rank_table
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.options.typed import Ranks
from npu_reference.runtime.exchange.joining import AnyMeeting, meeting_of_process, topology_of
from npu_reference.runtime.exchange.meeting import Meeting
from npu_reference.runtime.execution.shared_datasets import Distribution

__all__ = [
    "RankPlace", "WORLD", "acting", "as_ranks", "create_group", "destroy_group", "device_of", "distribution",
    "forget_groups", "group_rank_of", "local_rank_id", "local_rank_size", "members", "nobody_else", "place_of_session",
    "rank_id", "rank_size", "parts_of", "running", "set_split_by_index", "set_split_by_size", "together",
    "world_rank_of",
]  # fmt: skip

#: The group of all ranks (HCCL).
WORLD = "hccl_world_group"

#: Devices of a server where no rank table tells; assumed, as of an Atlas 800.
_DEVICES = 8

#: Longest name of a group, in bytes, without the end character (HCCL).
_LONGEST_NAME = 127

#: Groups of this process: name -> its ranks among all, in the group's order.
_GROUPS: Dict[str, Tuple[int, ...]] = {}

#: Splits of this process, by group.
_SPLITS: Dict[str, Split] = {}

#: Largest job that is simulated (assumed).
_MOST_RANKS = 4096


class RankPlace(NamedTuple):
    """One rank of a job.

    Attributes:
        rank: among all.
        size: how many there are.
        meet: gives the meeting of the job when it is first needed; Broken or NpuError where it cannot be reached.
        here: whether all ranks are sessions of this process; else each is a process, or a thread.
    """

    rank: int
    size: int
    meet: Callable[[], AnyMeeting]
    here: bool = False


class _Acting(NamedTuple):
    place: RankPlace
    groups: Dict[str, Tuple[int, ...]]
    splits: Dict[str, Split]


_THREAD = threading.local()

#: Threads of scripts that are in runs, and whether each of these only waits: they can do nothing else meanwhile.
_RUNNING: Dict[int, List[Callable[[], bool]]] = {}
_RUNNING_LOCK = threading.Lock()


@contextlib.contextmanager
def acting(place: RankPlace) -> Iterator[None]:
    """Let this thread be a rank: what asks for ranks in it, and sessions made in it, are told so."""
    before = getattr(_THREAD, "acting", None)
    _THREAD.acting = _Acting(place, {}, {})
    try:
        yield
    finally:
        _THREAD.acting = before


def as_ranks(size: int, work: Callable[[int], Any]) -> List[Any]:
    """Run a function as each of several ranks, each in a thread of its own.

    Args:
        size: how many ranks.
        work: takes the rank.

    Returns:
        What it returned, by rank.

    Raises:
        BaseException: what the first rank to fail raised; all have ended.
    """
    meeting = Meeting(topology_of(size, os.environ), nobody_else)
    results: List[Any] = [None] * size
    failures: List[Tuple[int, BaseException]] = []

    def act(rank: int) -> None:
        try:
            with acting(RankPlace(rank, size, lambda: meeting)):
                results[rank] = work(rank)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            failures.append((rank, error))
            meeting.leave(rank, "has failed")
        else:
            meeting.leave(rank)

    for rank in range(size):
        meeting.join(rank)
    threads = [threading.Thread(target=act, args=(rank,), name=f"rank {rank}") for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0][1]
    return results


def place_of_session(device: Any, env: Any = None) -> Optional[RankPlace]:
    """The rank whose session is made now; None where there is one rank only.

    Args:
        device: what session_device_id says, None where it says nothing.
        env: the environment; the process's own without it.
    """
    acts = _acts()
    if acts is not None:
        return acts.place
    size = rank_size()
    if size == 1:
        return None
    env = dict(os.environ) if env is None else env
    process = rank_id() if os.environ.get("RANK_ID") else None
    rank: int = (device or 0) if process is None else process
    if rank >= size:
        where = "session_device_id" if process is None else "RANK_ID"
        raise OptionValueError("OPTION_VALUE", where, f"there is no rank {rank} among {size}.", "See RANK_SIZE.")
    return RankPlace(rank, size, lambda: meeting_of_process(process, size, env, nobody_else), process is None)


def together(place: Optional[RankPlace]) -> Dict[str, Any]:
    """The ranks of a session's job, as ``device.timing.profile`` takes them; nothing for one alone.

    Raises:
        OptionValueError: a rank table that is none, or has another number of ranks.
    """
    if place is None or place.size < 2:
        return {}
    return {"ranks": topology_of(place.size, os.environ), "split": dict(_splits()), "groups": dict(_groups())}


def device_of(device: Any, place: Optional[RankPlace]) -> int:
    """The logical id of the device that a session runs on.

    Args:
        device: what session_device_id, or without it ASCEND_DEVICE_ID, says; None where neither does.
        place: the session's rank.

    Raises:
        OptionValueError: there is no such device (T13).
    """
    if device is None:
        return 0 if place is None else place.rank % _DEVICES
    number = int(device)
    devices = max(_DEVICES, 0 if place is None else place.size)
    if number >= devices:
        reason = f"there is no device {device}."
        raise OptionValueError("OPTION_VALUE", "session_device_id", reason, f"Give a number from 0 to {devices - 1}.")
    return number


def distribution(asked: Ranks, place: RankPlace) -> Optional[Distribution]:
    """Who reads data sets for a session (``local_rank_id``, ``local_device_list``); None where it does so itself.

    Args:
        asked: what the session's options say.
        place: the session's rank.

    Raises:
        OptionValueError: a device of the list is none of this server's ranks.
    """
    if asked.rank is None or not asked.devices:
        return None
    by_device = _devices_on_server(place)
    for device in asked.devices:
        if device not in by_device:
            reason = f"no rank of this server is on device {device}."
            raise OptionValueError("OPTION_VALUE", "local_device_list", reason, f"Ranks are on {sorted(by_device)}.")
    main = sorted(by_device.values())[0]
    receivers = [by_device[device] for device in asked.devices]
    if asked.rank != 0 and place.rank not in receivers:
        reason = f"the main process sends nothing to rank {place.rank}, which does not read for itself."
        raise OptionValueError("OPTION_VALUE", "local_device_list", reason, "Name its device, too.")
    return Distribution(place.rank, place.rank if asked.rank == 0 else main, tuple(dict.fromkeys([main, *receivers])))


def _devices_on_server(place: RankPlace) -> Dict[int, int]:
    """Rank by device, of the server of a rank."""
    path = os.environ.get("RANK_TABLE_FILE", "")
    server = rank_table.read(path).server_of(place.rank) if path else None
    if server is not None:
        return {device.device: device.rank for device in server.devices}
    first = place.rank - place.rank % _DEVICES
    return {rank - first: rank for rank in range(first, min(first + _DEVICES, place.size))}


@contextlib.contextmanager
def running(waits: Callable[[], bool]) -> Iterator[None]:
    """Around a run of a session: its thread can do nothing else meanwhile.

    Args:
        waits: whether the run does nothing but wait for other ranks.
    """
    ident = threading.get_ident()
    with _RUNNING_LOCK:
        _RUNNING.setdefault(ident, []).append(waits)
    try:
        yield
    finally:
        with _RUNNING_LOCK:
            _RUNNING[ident].pop()
            if not _RUNNING[ident]:
                del _RUNNING[ident]


#: Where threads stand that wait for other threads.
_BLOCKED_IN = {threading.__file__, queue.__file__}


def nobody_else() -> Optional[Tuple[Any, ...]]:
    """Whether all that this process does is wait: each run for other ranks, each other thread for some thread.

    Returns:
        None where it does something else; else where each thread stands that is in no run.
    """
    with _RUNNING_LOCK:
        busy = {ident: list(runs) for ident, runs in _RUNNING.items()}
    if not all(waits() for runs in busy.values() for waits in runs[-1:]):
        return None
    frames = sys._current_frames()
    stand: List[Any] = []
    for thread in threading.enumerate():
        if thread.ident in busy or thread.ident == threading.get_ident() or isinstance(thread, threading._DummyThread):
            continue
        frame = frames.get(thread.ident or 0)
        if thread.name.startswith("npu_reference") or frame is None:
            continue
        if frame.f_code.co_filename not in _BLOCKED_IN:
            return None
        stand.append((thread.ident, id(frame), frame.f_lasti))
    return None if stand and _could_go_on() else tuple(stand)


def _could_go_on() -> bool:
    """Whether another thread of this process runs, or waits for nothing but a processor or a disk.

    On a machine with much to do a thread may stand at one place for seconds though nothing holds it. False where the
    system does not tell.
    """
    ready = 0
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/stat", "rb") as stream:
                ready += stream.read().rpartition(b") ")[2][:1] in (b"R", b"D")
    return ready > 1  # this thread runs


def members(group: str = WORLD) -> Tuple[int, ...]:
    """The ranks of a group, among all, in the group's order."""
    return tuple(range(rank_size())) if group == WORLD else _members(group)


def _acts() -> Optional[_Acting]:
    acts: Optional[_Acting] = getattr(_THREAD, "acting", None)
    return acts


def _groups() -> Dict[str, Tuple[int, ...]]:
    acts = _acts()
    return _GROUPS if acts is None else acts.groups


def _splits() -> Dict[str, Split]:
    acts = _acts()
    return _SPLITS if acts is None else acts.splits


def rank_size(group: str = WORLD) -> int:
    """How many ranks a group has: of all, ``RANK_SIZE``, 1 where it is unset."""
    if group != WORLD:
        return len(_members(group))
    acts = _acts()
    if acts is not None:
        return acts.place.size
    size = _number("RANK_SIZE", 1)
    if not 1 <= size <= _MOST_RANKS:
        reason = f"there are 1 to {_MOST_RANKS} ranks."
        raise OptionValueError("OPTION_VALUE", "RANK_SIZE", reason, "Set such a number, or unset it.")
    return size


def rank_id(group: str = WORLD) -> int:
    """The rank of this process in a group: among all, ``RANK_ID``, 0 where it is unset."""
    acts = _acts()
    rank = _number("RANK_ID", 0) if acts is None else acts.place.rank
    return rank if group == WORLD else _place(group, rank)


def local_rank_id(group: str = WORLD) -> int:
    """The rank of this process inside its server (document 002, local_rank_id): 0 is the main process.

    ``RANK_TABLE_FILE`` lists the servers; without it each has 8 devices. In a group only its members count.

    Raises:
        OptionValueError: a variable that is no rank, or a table that cannot be read or does not list the rank.
    """
    rank = rank_id()
    if group != WORLD:
        _place(group, rank)
    return _on_server(group, rank).index(rank)


def local_rank_size(group: str = WORLD) -> int:
    """How many ranks of a group are on this process's server."""
    return len(_on_server(group, rank_id()))


def create_group(group: str, rank_num: int, rank_ids: Sequence[int]) -> None:
    """Remember a group.

    Args:
        group: its name, at most 127 bytes.
        rank_num: how many ranks it has.
        rank_ids: their ranks among all, in the group's order.

    Raises:
        OptionTypeError, OptionValueError: no such group can be.
    """
    if not isinstance(group, str) or not group or len(group.encode("utf-8")) > _LONGEST_NAME:
        raise OptionTypeError(
            "OPTION_TYPE", "group", f"{str(group)[:80]!r} is no name.", "Give 1 to 127 bytes of text."
        )
    if group == WORLD or group in _groups():
        raise OptionValueError("OPTION_VALUE", "group", f"there is a group {group!r} already.", "Give another name.")
    ranks = _ranks("rank_ids", rank_ids)
    if rank_num != len(ranks) or not ranks or len(set(ranks)) != len(ranks):
        reason = f"{rank_num} ranks cannot be {list(ranks)}."
        raise OptionValueError("OPTION_VALUE", "rank_ids", reason, "Give rank_num different ranks.")
    _groups()[group] = ranks


def destroy_group(group: str) -> None:
    """Forget a group; that of all ranks stays."""
    if group == WORLD:
        raise OptionValueError("OPTION_VALUE", "group", "the group of all ranks stays.", "Name one of your own.")
    _members(group)
    del _groups()[group]


def forget_groups() -> None:
    """Forget all groups and splits, as a new process has none."""
    _splits().clear()
    _groups().clear()


def world_rank_of(group: str, group_rank_id: int) -> int:
    """The rank among all of a rank of a group."""
    members = tuple(range(rank_size())) if group == WORLD else _members(group)
    if isinstance(group_rank_id, bool) or not isinstance(group_rank_id, int) or not 0 <= group_rank_id < len(members):
        reason = f"{group_rank_id!r} is no rank of {group!r}, which has {len(members)}."
        raise OptionValueError("OPTION_VALUE", "group_rank_id", reason)
    return members[group_rank_id]


def group_rank_of(world_rank_id: int, group: str) -> int:
    """The rank in a group of a rank among all."""
    if group != WORLD:
        return _place(group, world_rank_id)
    return world_rank_of(WORLD, world_rank_id)


def set_split_by_index(idxList: Sequence[int], group: str = WORLD) -> None:
    """Split gradients for communication: after which ones, ascending.

    Raises:
        OptionTypeError, OptionValueError: no such split can be.
    """
    _check_group(group)
    _splits()[group] = Split.by_index(idxList)


def set_split_by_size(dataSizeList: Sequence[float], group: str = WORLD) -> None:
    """Split gradients for communication: in which percentages of their size.

    Raises:
        OptionTypeError, OptionValueError: no such split can be.
    """
    _check_group(group)
    _splits()[group] = Split.by_size(dataSizeList)


def parts_of(sizes: Sequence[int], group: str = WORLD) -> List[int]:
    """Which part each gradient is communicated with, from 0.

    Args:
        sizes: bytes of each gradient, in the order in which they are computed.
    """
    split = _splits().get(group, Split())
    if split.indices:
        # What lies behind the last index that is named is a part of its own.
        return [sum(position > end for end in split.indices) for position in range(len(sizes))]
    numbers, parts = split.shares, []
    whole, done = sum(sizes), 0
    ends = [sum(numbers[: count + 1]) for count in range(len(numbers))]
    for size in sizes:
        # A gradient belongs where its first byte lies.
        share = 100.0 * done / whole if whole else 0.0
        parts.append(min(sum(share >= end for end in ends), len(ends) - 1))
        done += size
    return parts


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable, "") or str(default)
    if not (text.isdigit() and len(text) < 10):
        kind = "rank" if variable == "RANK_ID" else "number of ranks"
        raise OptionValueError(
            "OPTION_VALUE", variable, f"{text[:80]!r} is no {kind}.", f"Set a number from {default} on."
        )
    return int(text)


def _check_group(group: str) -> None:
    if group != WORLD:
        _members(group)


def _members(group: str) -> Tuple[int, ...]:
    if group not in _groups():
        raise OptionValueError(
            "OPTION_VALUE", "group", f"there is no group {str(group)[:80]!r}.", "Call create_group first."
        )
    return _groups()[group]


def _place(group: str, rank: int) -> int:
    members = _members(group)
    if rank not in members:
        raise OptionValueError("OPTION_VALUE", "group", f"rank {rank} is not in {group!r}, which is {list(members)}.")
    return members.index(rank)


def _ranks(argument: str, given: Any) -> Tuple[int, ...]:
    if not isinstance(given, (list, tuple, range)) or any(
        isinstance(rank, bool) or not isinstance(rank, int) or rank < 0 for rank in given
    ):
        reason = f"{str(given)[:80]} is no list of ints from 0 on."
        raise OptionTypeError("OPTION_TYPE", argument, reason, "Give such a list.")
    return tuple(given)


def _on_server(group: str, rank: int) -> List[int]:
    """The ranks of a group that share the server of ``rank``."""
    path = os.environ.get("RANK_TABLE_FILE", "")
    if path:
        server = _server_of(path, rank)
    else:
        first = rank - rank % _DEVICES
        server = list(range(first, max(min(first + _DEVICES, rank_size()), rank + 1)))
    return server if group == WORLD else [member for member in _members(group) if member in server]


def _server_of(path: str, rank: int) -> List[int]:
    server = rank_table.read(path).server_of(rank)
    if server is None:
        raise OptionValueError("OPTION_VALUE", "RANK_TABLE_FILE", f"no server of {path!r} has the rank {rank}.")
    return server.ranks
