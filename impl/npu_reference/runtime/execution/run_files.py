"""What a session's runs leave when they are profiled or tuned: files in the directories that the options name."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from npu_reference import profiling, tuning
from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import Tile
from npu_reference.device.faults import Faults
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options import Resolution
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.runtime.execution.virtual_clock import RunTime

__all__ = ["Recording", "end", "recording"]

#: Tasks of all runs that one profile tells; runs after so many are counted, not told (assumed).
_MOST_TASKS = 200000

_LOCK = threading.RLock()
_OPEN: List[Recording] = []


def end() -> None:
    """The program ends: sessions that nobody closed leave their files now."""
    with _LOCK:
        for one in list(_OPEN):
            one.close()


atexit.register(end)


def recording(
    resolution: Resolution,
    place: Callable[[str], str],
    device: Device,
    number: int,
    faults: Faults,
    tell: Callable[[str, str], None],
) -> Optional[Recording]:
    """What records a session; None where it is neither profiled nor tuned.

    Args:
        place: where a directory that an option names lies.
        number: of the device in the machine.
        tell: hears the option and what somebody should know of it.
    """
    wanted, plan = resolution.typed.profiling, tuning.plan_of(resolution)
    bank: Mapping[Gemm, Tile] = {}
    if resolution.of_run_config:
        bank, complaint = tuning.read(place(resolution.typed.tuning.work_path), device)
        if complaint is not None:
            tell("work_path", complaint)
    if wanted is None and plan is None and not bank:
        return None
    made = Recording(wanted, plan, bank, place, device, number, faults, tell)
    with _LOCK:
        _OPEN.append(made)
    return made


class Recording:
    """The runs of one session. Thread-safe.

    Attributes:
        tiles: that earlier tuning found; compilation takes them.
    """

    def __init__(
        self,
        wanted: Optional[ProfilingOptions],
        plan: Optional[tuning.TuningPlan],
        bank: Mapping[Gemm, Tile],
        place: Callable[[str], str],
        device: Device,
        number: int,
        faults: Faults,
        tell: Callable[[str, str], None],
    ) -> None:
        self.tiles = bank
        self._wanted, self._plan, self._place, self._device, self._number = wanted, plan, place, device, number
        self._disk, self._tell = faults.disk(), tell
        self._lock = threading.Lock()
        self._runs: List[profiling.ProfiledRun] = []
        self._models: Dict[Any, int] = {}
        self._steps: Dict[int, Any] = {}
        self._tasks = self._left_out = 0
        self._unknown: Dict[str, None] = {}
        self._closed = False

    def ran(self, signature: Any, time: Optional[RunTime]) -> None:
        """A run has ended."""
        if time is None or self._closed:
            return
        with self._lock:
            if time.profile is None:
                if time.reason:
                    self._unknown.setdefault(time.reason)
                return
            model = self._models.setdefault(signature, len(self._models) + 1)
            self._steps.setdefault(model, time.profile.compiled)
            self._tasks += len(time.profile.timeline.tasks) * max(time.iterations, 1)
            if self._tasks > _MOST_TASKS and self._runs:
                self._left_out += 1
                return
            self._runs.append(profiling.ProfiledRun(time.profile, time.start_ns, model, f"graph_{model}"))

    def close(self) -> None:
        """Leave the files, once; what cannot be written is told."""
        with _LOCK:
            if self._closed:
                return
            self._closed = True
            if self in _OPEN:
                _OPEN.remove(self)
        try:
            self._leave()
        except NpuError as error:
            self._tell(error.subject, error.message)

    def _leave(self) -> None:
        if self._wanted is not None:
            for reason in self._unknown:
                self._tell("profiling_options", f"a run is not in the profile: {reason}")
            if self._left_out:
                self._tell("profiling_options", f"{self._left_out} runs after the first are not in the profile.")
            content = profiling.files(self._runs, self._wanted, device=self._number)
            if content:
                profiling.write(self._place(self._wanted.output), content, self._disk)
        if self._plan is not None and self._steps:
            tuned = tuning.tune(self._steps.values(), self._plan)
            folder = self._place(self._plan.work_path)
            for name, data in tuning.result_files(self._plan, tuned, self._device, self.tiles).items():
                tuning.write(os.path.join(folder, name), data, self._disk)
