"""What one run makes of a step: iterations in a loop on the device, steps of online inference beside each other."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.compiler.tasks import Task
from npu_reference.device.timing.execution import Timeline, execute

__all__ = ["Run", "run"]

#: Iterations of a loop that are worked out one by one; after them each takes as long as the last of them.
SHOWN = 3

#: Numbers of streams that one step may use; those of the next lane come after them.
_LANE = 4096


class Run(NamedTuple):
    """A run of one or more steps.

    Attributes:
        timeline: all its tasks, of at most :data:`SHOWN` iterations of a loop.
        iterations: of its loop; steps: that were asked for at once; lanes: how many of them ran beside each other.
        nanoseconds: from its begin to its end, all iterations and steps.
    """

    timeline: Timeline
    iterations: int
    steps: int
    lanes: int
    nanoseconds: int

    @property
    def each(self) -> int:
        """Nanoseconds for each step or iteration of it, rounded up."""
        return -(-self.nanoseconds // max(self.iterations * self.steps, 1))


def run(step: Timeline, *, iterations: int = 1, sunk: bool = True, steps: int = 1, lanes: int = 1) -> Run:
    """The run that makes of a step.

    Args:
        step: one step from its launch to its last copy.
        iterations: that one session.run asks for.
        sunk: whether they are a loop on the device, with one launch; else the host starts each.
        steps: that are asked for at once; lanes: how many threads may run them (the fastest number is taken, so that
            more threads are never slower).
    """
    if iterations > 1:
        return _loop(step.tasks, iterations, sunk)
    if steps <= 1:
        return Run(step, 1, 1, 1, step.end)
    found = []
    for count in _doubled(min(lanes, steps)):
        timeline = execute(_beside(step.tasks, steps, count))
        found.append((timeline.end, count, timeline))
    _, count, timeline = min(found, key=lambda entry: entry[:2])
    return Run(timeline, 1, steps, count, timeline.end)


def _doubled(most: int) -> List[int]:
    return [1 << power for power in range(most.bit_length())]


def _loop(tasks: Sequence[Task], iterations: int, sunk: bool) -> Run:
    """One launch and inputs copied in once; results copied back once, after the last iteration.

    Only the first iterations are worked out; from then on each ends as much later as the last of them did.
    """
    shown = min(iterations, SHOWN)
    timelines = [execute(_iterations(tasks, count, sunk)) for count in (shown - 1, shown)]
    period = timelines[1].end - timelines[0].end
    return Run(timelines[1], iterations, 1, 1, timelines[1].end + (iterations - shown) * period)


def _iterations(tasks: Sequence[Task], count: int, sunk: bool) -> Tuple[Task, ...]:
    found: List[Task] = []
    once: Dict[int, int] = {}  # task of the step -> its number, of what is done once
    ended: List[int] = []  # what the next iteration waits for
    filled: List[List[int]] = []  # by iteration, the copies into the queue
    for iteration in range(count):
        now: Dict[int, int] = {}
        fills: List[int] = []
        taken: List[int] = []
        for number, task in enumerate(tasks):
            first = sunk and _is_first(task)
            last = sunk and task.kind == "d2h"
            if (first and iteration) or (last and iteration < count - 1):
                continue
            waits = [now.get(wait, once.get(wait, -1)) for wait in task.waits]
            waits = [wait for wait in waits if wait >= 0]
            if task.queued:
                waits += ended  # one element is in use, one on its way: room comes as the iteration before ends
            elif not any(wait in now for wait in task.waits):
                waits += ended
                waits += filled[iteration - 1] if iteration and task.kind != "h2d" else []
            now[number] = len(found)
            found.append(task._replace(waits=tuple(dict.fromkeys(waits)), iteration=iteration))
            if first:
                once[number] = now[number]
            if task.queued and task.kind != "send":
                fills.append(now[number])
            elif task.kernel >= 0:
                taken.append(now[number])
        filled.append(fills)
        ended = _open(found, taken)
    return tuple(found)


def _is_first(task: Task) -> bool:
    """Whether a loop on the device does it before its first iteration only."""
    return task.kind == "launch" or (task.kind == "h2d" and not task.queued)


def _open(tasks: Sequence[Task], numbers: Sequence[int]) -> List[int]:
    """Those of some tasks that no other of them waits for."""
    followed = {wait for number in numbers for wait in tasks[number].waits}
    return [number for number in numbers if number not in followed]


def _beside(tasks: Sequence[Task], steps: int, lanes: int) -> Tuple[Task, ...]:
    """Steps in threads of the host: each thread runs one after the other, all share the engines of the device."""
    found: List[Task] = []
    ended: List[List[int]] = [[] for _ in range(lanes)]
    for begin in range(0, steps, lanes):
        wave = range(begin, min(begin + lanes, steps))
        numbers: List[Dict[int, int]] = [{} for _ in wave]
        for number, task in enumerate(tasks):
            for lane, step in enumerate(wave):
                own = numbers[lane]
                waits = tuple(own[wait] for wait in task.waits) or tuple(ended[lane])
                own[number] = len(found)
                slot = task.slot + lane if task.engine == "host" else task.slot
                stream = task.stream + lane * _LANE
                found.append(task._replace(slot=slot, stream=stream, waits=waits, step=step))
        for lane, own in enumerate(numbers):
            ended[lane] = _open(found, list(own.values()))
    return tuple(found)
