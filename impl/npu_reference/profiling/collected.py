"""What profiling options ask to be collected, and where it goes."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from npu_reference.options import Resolution

__all__ = ["Collected", "collected"]


class Collected(NamedTuple):
    """What is collected in a session.

    Attributes:
        output: the directory as given; relative ones begin where the program runs
            (session.profiling_options.output.relative).
        training_trace, task_trace, aicpu: which of the three kinds are on.
        fp_point, bp_point: operators where forward begins and backward ends; empty where they are to be found.
        aic_metrics: the group of metrics of AI Core kernels.
    """

    output: str
    training_trace: bool
    task_trace: bool
    aicpu: bool
    fp_point: str
    bp_point: str
    aic_metrics: str


def collected(resolution: Resolution) -> Optional[Collected]:
    """What a session collects; None where profiling is off or has nowhere to go (session.profiling_mode)."""
    if not resolution.values.get("profiling_mode"):
        return None
    options: Any = resolution.parsed.get("profiling_options")
    if options is None or not options.output:
        return None
    return Collected(
        options.output,
        options.training_trace,
        options.task_trace,
        options.aicpu,
        options.fp_point,
        options.bp_point,
        options.aic_metrics,
    )
