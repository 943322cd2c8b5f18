"""Where in a step forward begins and backward ends: the operators named, or the ones the profiler finds."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from npu_reference.device.timing import Profile

__all__ = ["Point", "Points", "points"]

_COLLECTIVES = ("hccl", "collective")


class Point(NamedTuple):
    """A task of the step, and the operator it stands for."""

    operator: str
    task: int


class Points(NamedTuple):
    """Both points of a step; None where the step computes no such operator."""

    forward: Optional[Point]
    backward: Optional[Point]


def points(step: Profile, fp_point: str, bp_point: str) -> Points:
    """The points of a step (session.profiling_options.fp_point, bp_point).

    A name that fusion has given a suffix (``…FusedBatchNormV3_Reduce``) stands for the operator it was made of.
    Without names, forward begins at the first kernel that reads an input, and backward ends at the last collective, or
    else at the last kernel.
    """
    homes = _homes(step)
    forward = _named(homes, fp_point) if fp_point else _first(step)
    backward = _named(homes, bp_point) if bp_point else _last(step)
    return Points(forward, backward)


def _homes(step: Profile) -> Dict[str, int]:
    kernels = step.compiled.fused.kernels
    found: Dict[str, int] = {}
    for number, task in enumerate(step.timeline.tasks):
        if task.kernel >= 0:
            found.update(dict.fromkeys(kernels[task.kernel].members, number))
            found.setdefault(kernels[task.kernel].node, number)
    return found


def _named(homes: Dict[str, int], name: str) -> Optional[Point]:
    stem = name
    while stem:
        if stem in homes:
            return Point(stem, homes[stem])
        stem = stem.rpartition("_")[0]
    return None


def _first(step: Profile) -> Optional[Point]:
    kernels, tensors = step.compiled.fused.kernels, step.compiled.fused.tensors
    computed = [number for number, task in enumerate(step.timeline.tasks) if task.kernel >= 0]
    readers = [
        number
        for number in computed
        if any(tensors[place].kind == "input" for place in kernels[step.timeline.tasks[number].kernel].reads)
    ]
    return _point(
        step, min(readers or computed, key=lambda number: (step.timeline.spans[number].start, number), default=-1)
    )


def _last(step: Profile) -> Optional[Point]:
    tasks, spans = step.timeline.tasks, step.timeline.spans
    computed = [number for number, task in enumerate(tasks) if task.kernel >= 0]
    reduced = [number for number in computed if tasks[number].kind in _COLLECTIVES]
    return _point(step, max(reduced or computed, key=lambda number: (spans[number].end, number), default=-1))


def _point(step: Profile, number: int) -> Optional[Point]:
    if number < 0:
        return None
    return Point(step.compiled.fused.kernels[step.timeline.tasks[number].kernel].node, number)
