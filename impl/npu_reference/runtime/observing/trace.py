"""What ran where: one record per session.run, and totals over the life of the process."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.printing import counted

__all__ = ["TracedCopy", "RunRecord", "Totals", "Trace", "process_trace"]

#: Runs kept in full; older ones live on in the totals only. assumed: enough to look at, small enough to forget.
KEPT_RUNS = 1000


class TracedCopy(NamedTuple):
    """A tensor that crossed a border in one run (M24: once per tensor, direction and run).

    Attributes:
        tensor: its name in the user's graph.
        direction: ``h2d``, ``d2h``, or ``d2d`` between two GEOPs.
        bytes: size of the value; of all values together where a loop made it cross several times. None: unknown.
        times: how often it crossed; 0 when the branch that holds it was not taken.
    """

    tensor: str
    direction: str
    bytes: Optional[int]
    times: int = 1

    def to_json(self) -> Dict[str, object]:
        body: Dict[str, object] = {"tensor": self.tensor, "direction": self.direction, "bytes": self.bytes}
        if self.times != 1:
            body["times"] = self.times
        return body


class RunRecord(NamedTuple):
    """One session.run.

    Attributes:
        session: number of the session in this process, from 1.
        run: number of the run in its session, from 1.
        geops: GEOPs of the partition that served this run.
        host: host operators of that partition.
        copies: border transfers.
        partition: the :class:`npu_reference.partition.Partition`; shared by all runs of the same signature.
        notes: what did not run as a GEOP although it looks as if it should, or differs from TensorFlow, and why.
        time: the :class:`npu_reference.runtime.execution.virtual_clock.RunTime`; None where no clock is kept.
        device: logical id of the device.
        rank: of the session, among all.
        collectives: in which it took part, in their order: ``kind``, ``tensor``, ``group``, ``ranks``, ``bytes``.
    """

    session: int
    run: int
    geops: int
    host: int
    copies: Tuple[TracedCopy, ...]
    partition: Any
    notes: Tuple[str, ...] = ()
    engine: str = "simulated"
    device: int = 0
    rank: int = 0
    collectives: Tuple[Any, ...] = ()
    time: Any = None

    def bytes(self, direction: str) -> int:
        """Bytes copied in one direction; tensors of unknown size count nothing."""
        return sum(copy.bytes or 0 for copy in self.copies if copy.direction == direction)

    def to_json(self) -> Dict[str, object]:
        body: Dict[str, object] = {
            "session": self.session,
            "run": self.run,
            "engine": self.engine,
            "device": self.device,
            "rank": self.rank,
            "geops": self.geops,
            "host": self.host,
            "copies": [copy.to_json() for copy in self.copies],
            "collectives": [one.to_json() for one in self.collectives],
            "notes": list(self.notes),
            "partition": None if self.partition is None else self.partition.to_json(),
        }
        return body if self.time is None else {**body, "time": self.time.to_json()}


class Totals(NamedTuple):
    """Sums over every run since the process began or the trace was cleared."""

    sessions: int
    runs: int
    geop_launches: int
    geops: int
    host: int
    h2d: int
    d2h: int
    d2d: int
    unsized: int

    def summary(self) -> str:
        """One line for a person."""
        text = (
            f"simulated NPU: {counted(self.runs, 'run')}, {counted(self.geops, 'GEOP')},"
            f" {counted(self.host, 'host operator')}, {self.h2d} bytes copied h2d, {self.d2h} bytes copied d2h"
        )
        return f"{text} ({counted(self.unsized, 'copy')} of unknown size)" if self.unsized else text


class Trace:
    """Records of runs, bounded: the last :data:`KEPT_RUNS` in full, all of them in the totals. Thread-safe."""

    def __init__(self, kept: int = KEPT_RUNS) -> None:
        self._lock = threading.Lock()
        self._runs: Deque[RunRecord] = deque(maxlen=kept)
        self._sums = dict.fromkeys(("runs", "launches", "h2d", "d2h", "d2d", "unsized"), 0)
        self._opened = 0
        self._forgotten = 0
        self._geops: Set[Tuple[int, str]] = set()
        self._host: Set[Tuple[int, str]] = set()

    def open_session(self) -> int:
        """Number of a session newly taken over."""
        with self._lock:
            self._opened += 1
            return self._opened

    def add_partition(self, session: int, geops: Sequence[str], host: Sequence[str]) -> None:
        """Count the GEOPs and host operators of a partition; those counted before in this session count once."""
        with self._lock:
            self._geops.update((session, name) for name in geops)
            self._host.update((session, name) for name in host)

    def add(self, record: RunRecord) -> None:
        """Keep a record, forgetting the oldest beyond the bound."""
        with self._lock:
            self._runs.append(record)
            sums = self._sums
            sums["runs"] += 1
            sums["launches"] += record.geops
            for copy in record.copies:
                sums[copy.direction] += copy.bytes or 0
                sums["unsized"] += copy.bytes is None

    @property
    def runs(self) -> List[RunRecord]:
        """The runs kept in full, oldest first."""
        with self._lock:
            return list(self._runs)

    @property
    def totals(self) -> Totals:
        with self._lock:
            sums = self._sums
            return Totals(
                self._opened - self._forgotten, sums["runs"], sums["launches"], len(self._geops), len(self._host),
                sums["h2d"], sums["d2h"], sums["d2d"], sums["unsized"],
            )  # fmt: skip

    def clear(self) -> None:
        """Forget all runs and totals; sessions keep counting."""
        with self._lock:
            self._runs.clear()
            self._sums = dict.fromkeys(self._sums, 0)
            self._geops.clear()
            self._host.clear()
            self._forgotten = self._opened

    def restart(self) -> None:
        """Forget everything, the count of sessions too; for when no session of before is open any more."""
        self.clear()
        with self._lock:
            self._opened = self._forgotten = 0

    def to_json(self) -> Dict[str, object]:
        return {"totals": self.totals._asdict(), "runs": [record.to_json() for record in self.runs]}


_PROCESS = Trace()


def process_trace() -> Trace:
    """The trace of this process."""
    return _PROCESS
