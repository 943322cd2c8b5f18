"""When every run of a session takes place on the device's virtual clock, what it costs there, and what ends it.

A device has one clock, which goes on from run to run and from session to session; the host takes no time.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler import Compiled
from npu_reference.device.faults import Fault, Faults
from npu_reference.device.timing import Profile
from npu_reference.device.watchdogs import Endured, endure
from npu_reference.errors import NpuError
from npu_reference.options import Resolution
from npu_reference.partition import Partition
from npu_reference.runtime.execution.compiling import Compiling, Timed
from npu_reference.runtime.observing import account
from npu_reference.runtime.observing.trace import TracedCopy

__all__ = ["Clocking", "RunTime", "Turn", "restart"]

_NOTHING = NpuError("DEVICE_MODEL", "", "nothing of it runs on the device.")

#: Runs without faults that are remembered (assumed).
_KEPT = 256

#: Limits of a session's own; a step that needs more than the device has is only told, since its values are computed.
_LIMITS = ("graph_memory_max_size", "variable_memory_max_size")


class RunTime(NamedTuple):
    """One run on the device.

    Attributes:
        device: its number.
        start_ns, end_ns: on its clock; equal where the model knows no time of the run.
        iterations: steps the run made, all of them by its launches.
        profile: the step; None where the model knows none, and why in ``reason``.
        late_ns: what faults that were asked for added.
        notes: what came of such faults that the device does not notice.
        to_be_told: whether the reason is worth a warning: more memory than the device has, or a defect of the model.
        shapes: what the step was compiled for, beside what the graph states.
    """

    device: int
    start_ns: int
    end_ns: int
    iterations: int
    profile: Optional[Profile]
    reason: str = ""
    late_ns: int = 0
    notes: Tuple[str, ...] = ()
    to_be_told: bool = False
    shapes: Mapping[str, Tuple[Optional[int], ...]] = {}

    @property
    def compiled(self) -> Optional[Compiled]:
        return None if self.profile is None else self.profile.compiled

    @property
    def launches(self) -> int:
        """How often the host starts something in the whole run."""
        if self.profile is None:
            return 0
        launches = sum(task.kind == "launch" for task in self.profile.timeline.tasks)
        return launches if len(self.profile.partition.geops) == 1 else launches * self.iterations

    def to_json(self) -> Dict[str, Any]:
        """For the trace: moments, counts and bytes, without tasks."""
        body: Dict[str, Any] = {"device": self.device, "start_ns": self.start_ns, "end_ns": self.end_ns}
        if self.profile is None:
            return {**body, "reason": self.reason}
        transfers = self.profile.compiled.transfers
        body.update(
            iterations=self.iterations,
            launches=self.launches,
            transfers={
                direction: [copy.bytes for copy in transfers if copy.direction == direction]
                for direction in ("h2d", "d2h")
            },
            peak_bytes=self.profile.memory.peak,
        )
        return {**body, **({"late_ns": self.late_ns} if self.late_ns else {})}


class Turn(NamedTuple):
    """A run between its begin and its end."""

    timed: Timed
    endured: Endured
    iterations: int
    executed: Dict[Optional[str], int]


class Clocking:
    """The runs of one session in virtual time. Thread-safe.

    Args:
        compiling: what the model makes of its signatures.
        faults: what its device was asked to suffer.
        rank: of its device.
        device: its number; None for what the options say.
    """

    def __init__(
        self, compiling: Compiling, resolution: Resolution, faults: Faults, rank: int = 0, device: Optional[int] = None
    ) -> None:
        self._compiling, self._resolution, self._faults, self._rank = compiling, resolution, faults, rank
        self._device = (resolution.typed.ranks.device or 0) if device is None else device  # T14
        self._lock = threading.Lock()
        self._executed: Dict[Optional[str], int] = {}
        self._endured: Dict[Tuple[int, int], Endured] = {}

    def begin(self, signature: Any, parts: Partition, feeds: Mapping[str, Any], iterations: int) -> Turn:
        """What a run will be, before anything of it is computed.

        Raises:
            DeviceError: the run ends in an error of the device: see :func:`npu_reference.device.watchdogs.endure`.
            NpuError: DEVICE_MEMORY where it needs more than the session's options allow; FAULT_VALUE.
        """
        timed = self._compiling.of(signature, parts, feeds) if parts.geops else Timed(None, _NOTHING)
        self._refuse(timed)
        with self._lock:
            before = dict(self._executed)
            for node in (None, *dict.fromkeys(self._faults.nodes())):
                if node is None or _computes(parts, node):
                    self._executed[node] = self._executed.get(node, 0) + iterations
        if self._faults.items and parts.geops:
            account.faced(self._faced(parts, before, iterations))
        return Turn(timed, self._endure(timed, parts, iterations, before), iterations, before)

    def end(
        self, turn: Turn, signature: Any, parts: Partition, feeds: Mapping[str, Any], copies: Sequence[TracedCopy]
    ) -> RunTime:
        """The record of a run that came to its end.

        Raises:
            DeviceError, NpuError: as :meth:`begin`, where only the run told the sizes of its tensors.
        """
        timed, endured = turn.timed, turn.endured
        if timed.profile is None and timed.error is not None and timed.error.code == "DEVICE_SIZES":
            timed = self._compiling.of(signature, parts, feeds, copies)
            self._refuse(timed)
            if timed.profile is not None:
                endured = self._endure(timed, parts, turn.iterations, turn.executed)
        start, end = _advance(self._device, endured.run_ns or 0)
        to_be_told = timed.error is not None and timed.error.code in ("DEVICE_MEMORY", "INTERNAL")
        return RunTime(
            self._device,
            start,
            end,
            turn.iterations,
            endured.profile,
            timed.reason,
            endured.late,
            endured.notes,
            to_be_told,
            timed.shapes,
        )

    def _faced(self, parts: Partition, before: Mapping[Optional[str], int], iterations: int) -> List[Fault]:
        """Faults that happen in a run, as far as it is the run of an operator that decides."""
        found = []
        for fault in self._faults.items:
            done = before.get(fault.node, 0)
            here = fault.node is None or _computes(parts, fault.node)
            if here and fault.of(self._rank) and fault.during(done + 1, done + iterations):
                found.append(fault)
        return found

    def warnings(self, time: RunTime) -> Tuple[str, ...]:
        """What is to be told of a run beside its record: that it would not fit the device, or that its model failed."""
        return (time.reason,) if time.to_be_told else ()

    def _endure(
        self, timed: Timed, parts: Partition, iterations: int, executed: Mapping[Optional[str], int]
    ) -> Endured:
        key = (id(timed.profile), iterations)
        found = self._endured.get(key)
        if found is not None and found.profile is timed.profile:
            return found
        found = endure(
            timed.profile,
            parts,
            self._resolution,
            self._faults,
            executed=executed,
            rank=self._rank,
            iterations=iterations,
        )
        if not self._faults.items and timed.profile is not None:
            if len(self._endured) >= _KEPT:
                self._endured.clear()
            self._endured[key] = found  # without faults every such run is the same
        return found

    def _refuse(self, timed: Timed) -> None:
        error = timed.error
        if error is not None and error.code == "DEVICE_MEMORY" and error.subject in _LIMITS:
            raise error


def _computes(parts: Partition, node: str) -> bool:
    at = parts.graph.index.get(node)
    return at is not None and parts.assignment[at] >= 0


_NOW: Dict[int, int] = {}
_LOCK = threading.Lock()


def _advance(device: int, nanoseconds: int) -> Tuple[int, int]:
    """Begin and end of the next run of a device."""
    with _LOCK:
        start = _NOW.get(device, 0)
        _NOW[device] = start + nanoseconds
        return start, start + nanoseconds


def restart() -> None:
    """Set the clocks of all devices of this process to zero."""
    with _LOCK:
        _NOW.clear()
