"""Where ranks meet: who is there, what each has brought to which collective, and when one can never be completed."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

from npu_reference.device.links import Topology
from npu_reference.runtime.exchange.parts import BrokenExchange, Part, described, differs
from npu_reference.runtime.exchange.values import results

__all__ = ["END", "Meeting"]

#: Real seconds between two looks at whether a collective that is waited for can still be completed (assumed).
_LOOK = 1.0

#: Looks in a row at which all other threads stand where they stood before (assumed: who waits for others stands still).
_LOOKS = 3

#: Real seconds that a rank may take to come for the first time, as HCCL_CONNECT_TIMEOUT is by default.
CONNECT_SECONDS = 120.0

#: Real seconds after which ranks that all wait are taken to wait for each other, where that cannot be told (assumed).
_STANDSTILL_SECONDS = 60.0

#: Elements of a data set, and their bytes, that wait for one rank before the main process waits, too (assumed).
_AHEAD, _AHEAD_BYTES = 100, 256 << 20

#: What is handed out in place of elements once a data set has ended.
END = "end"


class _Round:
    """One collective: what its members have brought so far."""

    def __init__(self, members: Sequence[int]) -> None:
        self.members = tuple(members)
        self.parts: Dict[int, Part] = {}
        self.arrays: Dict[int, Sequence[Any]] = {}
        self.answers: Dict[int, List[Any]] = {}
        self.broken: Optional[BrokenExchange] = None
        self.complete = False
        self.done = False
        self.begun = time.monotonic()
        self.waiters: List[Tuple[int, Part, Callable[[int], None]]] = []
        #: Where other threads stood at the last looks, and at how many in a row.
        self.stood: Tuple[Optional[Tuple[Any, ...]], int] = (None, 0)

    def missing(self) -> List[int]:
        return [rank for rank in self.members if rank not in self.parts]


class Meeting:
    """The ranks of one job. Thread-safe; every call blocks its thread alone, and sleeps while it waits.

    Args:
        where: the ranks of the job, and the links between them.
        nobody_else: for ranks of this process: None where something runs in it that could let one of them come, else
            where each thread stands that waits for another thread.
        connect_seconds: how long a rank may take to come for the first time.
    """

    def __init__(
        self,
        where: Topology,
        nobody_else: Callable[[], Optional[Tuple[Any, ...]]] = lambda: None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.size = where.size
        self._where = where
        self._nobody_else = nobody_else
        self._connect_seconds = connect_seconds
        self._changed = threading.Condition()
        self._there: Dict[int, int] = {}
        #: Ranks that will not come any more, and why, in the order of their going.
        self._gone: Dict[int, str] = {}
        self._counts: Dict[Tuple[int, Any], int] = {}
        self._rounds: Dict[Any, _Round] = {}
        self._waiting: Dict[int, List[Part]] = {}
        self._moved = time.monotonic()
        #: Collectives that all have come to and whose results are being computed.
        self._computed = 0
        self._elements: Dict[Tuple[str, int], Deque[Any]] = {}

    # -- who is there --------------------------------------------------------------------------------------------

    def join(self, rank: int) -> None:
        """A rank has come; as often as it is said, so often it must leave."""
        with self._changed:
            if not self._there and len(self._gone) < self.size:
                self._gone.clear()
            self._there[rank] = self._there.get(rank, 0) + 1
            self._gone.pop(rank, None)
            self._changed.notify_all()

    def leave(self, rank: int, why: str = "has ended") -> None:
        """A rank will bring nothing any more: whoever waits for it is told so."""
        with self._changed:
            self._there[rank] = self._there.get(rank, 1) - 1
            if self._there[rank] > 0:
                return
            del self._there[rank]
            self._gone.setdefault(rank, why)
            for one in list(self._rounds.values()):
                if rank in one.missing():
                    self._break(one, self._lost(one))
            if not self._there:
                # Whoever comes now begins anew, as the ranks of a new job.
                self._counts.clear()
                self._rounds.clear()
                self._elements.clear()
            self._changed.notify_all()

    def wait_until_fetched(self) -> None:
        """Return once no element waits for a rank that has not come yet, or that rank has had its time to come.

        Who ends before the others have begun takes nothing away that it has handed out.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._expected(), self._connect_seconds)

    def _expected(self) -> List[int]:
        waited = {to for (_, to), queue in self._elements.items() if queue}
        return sorted(waited - set(self._there) - set(self._gone))

    @property
    def present(self) -> List[int]:
        """Ranks that are there now."""
        with self._changed:
            return sorted(self._there)

    @property
    def gone(self) -> Dict[int, str]:
        """Ranks that have left, and why, the first one first."""
        with self._changed:
            return dict(self._gone)

    # -- collectives ---------------------------------------------------------------------------------------------

    def take_part(
        self, rank: int, part: Part, arrays: Sequence[Any], waits: Callable[[int], None] = lambda change: None
    ) -> List[Any]:
        """Bring a part, wait for those of all other members, and take what comes of them.

        Args:
            rank: whose it is, among all.
            part: what it is.
            arrays: its tensors; they must not change before this returns.
            waits: told 1 when the rank begins to wait, -1 as soon as it need not any more.

        Returns:
            The tensors that this rank gets; nobody else has their memory.

        Raises:
            Broken: it cannot be completed; every other member is told the same.
        """
        with self._changed:
            one = self._enter(rank, part, arrays)
            complete = not one.missing() and one.broken is None and not one.complete
            one.complete = one.complete or complete
            self._computed += complete
        if complete:
            self._compute(one)
        with self._changed:
            self._wait(rank, part, one, waits)
            if one.broken is not None:
                # Its step ends here: nothing else of it will be completed.
                for other in list(self._rounds.values()):
                    if rank in other.parts and not other.done:
                        self._break(other, one.broken)
                raise one.broken
            return one.answers.pop(rank)

    def absent(self, rank: int, part: Part, why: str) -> None:
        """A rank stays away from a collective that it ought to take part in."""
        with self._changed:
            one = self._enter(rank, part, ())
            broken = BrokenExchange("lost", [rank], f"rank {rank} {why}.")
            if one.broken is None:
                self._break(one, broken)
            raise broken

    def _enter(self, rank: int, part: Part, arrays: Sequence[Any]) -> _Round:
        key = part.key()
        count = self._counts.get((rank, key), 0)
        self._counts[rank, key] = count + 1
        one = self._rounds.get((key, count))
        if one is None:
            one = self._rounds[key, count] = _Round(part.members)
        for other, theirs in one.parts.items():
            if one.broken is None:
                broken = differs(part, rank, theirs, other)
                if broken is not None:
                    self._break(one, broken)
        one.parts[rank] = part
        one.arrays[rank] = arrays
        self._moved = time.monotonic()
        if not one.missing():
            self._rounds.pop((key, count), None)
        elif one.broken is None and any(other in self._gone for other in one.missing()):
            self._break(one, self._lost(one))
        return one

    def _compute(self, one: _Round) -> None:
        answers: Dict[int, List[Any]] = {}
        broken = None
        try:
            brought = [one.arrays[rank] for rank in one.members]
            made = results([one.parts[rank] for rank in one.members], brought, self._where)
            answers = dict(zip(one.members, made))
        except BrokenExchange as error:
            broken = error
        except Exception as error:  # noqa: BLE001 - else the other ranks would wait for ever
            broken = BrokenExchange("value", one.members, f"{described(one.parts[one.members[0]])}: {error}.")
        with self._changed:
            self._computed -= 1
            one.answers, one.broken = answers, broken
            one.arrays.clear()
            self._finish(one)

    def _wait(self, rank: int, part: Part, one: _Round, waits: Callable[[int], None]) -> None:
        if one.done:
            return
        one.waiters.append((rank, part, waits))
        self._waiting.setdefault(rank, []).append(part)
        waits(1)
        while not one.done:
            if not one.complete:
                self._look(one)
            if not one.done:
                self._changed.wait(_LOOK)

    def _finish(self, one: _Round) -> None:
        """Whoever waits goes on; from now on, not only once its thread has woken up."""
        one.done = True
        self._moved = time.monotonic()
        for rank, part, waits in one.waiters:
            self._waiting[rank].remove(part)
            if not self._waiting[rank]:
                del self._waiting[rank]
            waits(-1)
        one.waiters.clear()
        self._changed.notify_all()

    def _break(self, one: _Round, broken: BrokenExchange) -> None:
        """It will never be completed. The first reason stays: who was told it and left is the cause of nothing."""
        if one.complete or one.done:
            return
        one.broken = broken
        self._finish(one)

    def _lost(self, one: _Round) -> BrokenExchange:
        lost = [rank for rank in one.missing() if rank in self._gone]
        first = next(iter(rank for rank in self._gone if rank in lost))
        return BrokenExchange("lost", lost, f"rank {first} {self._gone[first]}, and {_awaited(one)} waits for it.")

    def _look(self, one: _Round) -> None:
        """Whether this one can still be completed, as far as can be told now."""
        missing = one.missing()
        never = [rank for rank in missing if rank not in self._there]
        now = time.monotonic()
        if never:
            if self._stands_still(one) or now - one.begun > self._connect_seconds:
                text = f"rank {never[0]} has not come, and {_awaited(one)} waits for it."
                self._break(one, BrokenExchange("absent", never, text))
            return
        if any(rank not in self._waiting for rank in missing) and self._stands_still(one):
            late = [rank for rank in missing if rank not in self._waiting]
            text = f"rank {late[0]} does not come, and {_awaited(one)} waits for it."
            self._break(one, BrokenExchange("absent", late, text))
            return
        if not all(rank in self._waiting for rank in self._there) or len(self._there) + len(self._gone) < self.size:
            return
        if self._computed:
            return  # whoever waits for what is being computed goes on
        sure = all(part.alone for parts in self._waiting.values() for part in parts)
        if sure or now - self._moved > _STANDSTILL_SECONDS:
            self._stand_still()

    def _stands_still(self, one: _Round) -> bool:
        """Whether nothing of this process could let a rank come, as seen often enough."""
        state = self._nobody_else()
        before, count = one.stood
        one.stood = (state, count + 1 if state is not None and state == before else 1)
        return state is not None and (not state or one.stood[1] >= _LOOKS)

    def _stand_still(self) -> None:
        held = {rank: parts[0] for rank, parts in self._waiting.items()}
        first = sorted(held)[:2]
        text = "; ".join(f"rank {rank} waits in {described(held[rank])}" for rank in first)
        more = f"; {len(held) - 2} more wait" if len(held) > 2 else ""
        broken = BrokenExchange("mismatch", sorted(held), f"{text}{more}.")
        for other in self._rounds.values():
            if not other.done:
                self._break(other, broken)

    # -- data sets -----------------------------------------------------------------------------------------------

    def hand_out(self, rank: int, channel: str, to: int, arrays: Any) -> None:
        """An element of a data set, or :data:`END`, for another rank; waits while too many wait for it.

        Raises:
            Broken: ``lost``, the other rank is gone.
        """
        with self._changed:
            queue = self._elements.setdefault((channel, to), deque())
            begun = time.monotonic()
            while arrays is not END and _is_full(queue):
                if to in self._gone:
                    raise BrokenExchange(
                        "lost", [to], f"rank {to} {self._gone[to]}, and {channel} has elements for it."
                    )
                if self._check_coming(to, channel, begun):
                    break
                self._changed.wait(_LOOK)
            queue.append(arrays)
            self._moved = time.monotonic()
            self._changed.notify_all()

    def receive(self, rank: int, channel: str, source: int) -> Any:
        """The next element of a data set that another rank reads, or :data:`END`.

        Raises:
            Broken: ``lost`` or ``absent``, the other rank will not hand out any.
        """
        with self._changed:
            queue = self._elements.setdefault((channel, rank), deque())
            begun = time.monotonic()
            while not queue:
                if source in self._gone:
                    text = f"rank {source} {self._gone[source]}, and {channel} waits for elements of its data set."
                    raise BrokenExchange("lost", [source], text)
                if self._check_coming(source, channel, begun):
                    text = f"rank {source} does not run, and {channel} waits for elements of its data set."
                    raise BrokenExchange("absent", [source], text)
                self._changed.wait(_LOOK)
            self._moved = time.monotonic()
            self._changed.notify_all()
            return queue.popleft()

    def _check_coming(self, rank: int, channel: str, begun: float) -> bool:
        """Whether nobody but this thread could let a rank go on."""
        if rank not in self._there and time.monotonic() - begun > self._connect_seconds:
            raise BrokenExchange("absent", [rank], f"rank {rank} has not come, and {channel} waits for it.")
        return self._nobody_else() == ()


def _is_full(queue: Deque[Any]) -> bool:
    held = sum(array.nbytes for arrays in queue if arrays is not END for array in arrays)
    return len(queue) >= _AHEAD or held > _AHEAD_BYTES


def _awaited(one: _Round) -> str:
    return described(next(iter(one.parts.values()))) if one.parts else "a collective"
