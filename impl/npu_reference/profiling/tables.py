"""The tables of a profile: which rows and columns the field's profiler gives, from steps in virtual time."""

from __future__ import annotations

import csv
import io
from typing import Dict, Iterable, List, NamedTuple, Sequence, Tuple

from npu_reference.compiler.kernels import Kernel
from npu_reference.compiler.tasks import Task
from npu_reference.device.timing import Profile
from npu_reference.profiling import metrics
from npu_reference.profiling.collected import Collected
from npu_reference.profiling.points import Points, points

__all__ = ["Run", "Table", "iterations", "tables", "us"]

UNKNOWN = metrics.UNKNOWN
_COLLECTIVES = ("hccl", "collective")
_UNITS = {"cube": "AI_CORE", "vector": "AI_CORE", "aicpu": "AI_CPU"}
_MOST_ITERATIONS = 1000  # of one run that are told one by one (assumed)


class Run(NamedTuple):
    """One run of a model on the device: what it did, when it began in virtual nanoseconds, and which model it is.

    Attributes:
        model: number of the compiled graph in its session, from 1; name: what it is called.
    """

    profile: Profile
    start: int = 0
    model: int = 1
    name: str = "graph"


class Table(NamedTuple):
    """A table of a profile; ``name`` is what its file's name begins with."""

    name: str
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[str, ...], ...]

    def text(self, device: str) -> str:
        """The table as CSV; its last column says that nothing here was measured."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*self.columns, "Simulated"])
        writer.writerows([*row, device] for row in self.rows)
        return out.getvalue()


class Iteration(NamedTuple):
    """One step of a run: its number over all runs, from 1, and when it begins in virtual nanoseconds."""

    run: Run
    number: int
    start: int


def iterations(runs: Sequence[Run]) -> List[Iteration]:
    """The steps of all runs, in order; a run that loops on the device makes several."""
    found: List[Iteration] = []
    for run in runs:
        step = run.profile.step  # worked out each time it is asked for
        for position in range(min(run.profile.iterations, _MOST_ITERATIONS)):
            found.append(Iteration(run, len(found) + 1, run.start + position * step))
    return found


def us(nanoseconds: float) -> str:
    """Nanoseconds as the microseconds of a table."""
    return f"{nanoseconds / 1000:.3f}"


def tables(runs: Sequence[Run], wanted: Collected, device: int) -> List[Table]:
    """The tables that these options ask for (session.profiling_options.*), those without rows left out.

    Args:
        device: number of the device.
    """
    found: List[Table] = []
    if wanted.task_trace:
        found += [
            _summary(runs, wanted.aic_metrics), _statistic(runs, device), _task_time(runs, device),
            _communication(runs, device),
        ]  # fmt: skip
    if wanted.training_trace:
        found.append(_step_trace(runs, wanted, device))
    if wanted.aicpu:
        found.append(_aicpu(runs))
    return [table for table in found if table.rows]


class _Task(NamedTuple):
    """A kernel in time, over all runs."""

    run: Run
    iteration: int
    number: int
    start: int
    end: int
    wait: int

    @property
    def task(self) -> Task:
        return self.run.profile.timeline.tasks[self.number]

    @property
    def kernel(self) -> Kernel:
        return self.run.profile.compiled.fused.kernels[self.task.kernel]

    @property
    def unit(self) -> str:
        return "HCCL" if self.task.kind in _COLLECTIVES else _UNITS.get(self.kernel.engine, "AI_CORE")


def _kernels(runs: Sequence[Run]) -> Iterable[_Task]:
    for step in iterations(runs):
        timeline = step.run.profile.timeline
        for number, (task, span) in enumerate(zip(timeline.tasks, timeline.spans)):
            if task.kernel >= 0:
                yield _Task(
                    step.run, step.number, number, step.start + span.start, step.start + span.end,
                    span.start - span.called,
                )  # fmt: skip


def _summary(runs: Sequence[Run], group: str) -> Table:
    columns = (
        "Model Name", "Model ID", "Task ID", "Stream ID", "Infer ID", "Op Name", "OP Type", "OP State", "Task Type",
        "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Dim", "Mix Block Dim",
        "HF32 Eligible", "Input Shapes", "Input Data Types", "Output Shapes", "Output Data Types",
        *metrics.columns(group),
    )  # fmt: skip
    rows = []
    # What is the same in every run of a step: steps are run thousands of times.
    known: Dict[Tuple[int, int], Tuple[str, ...]] = {}
    for one in _kernels(runs):
        step, kernel = one.run.profile, one.kernel
        place = (id(step), one.task.kernel)
        if place not in known:
            cost = step.compiled.costs[one.task.kernel]
            known[place] = (*_described(step, kernel.node), *metrics.values(group, kernel, cost, step.compiled.device))
        blocks = int(step.compiled.device.ai_core) if one.unit == "AI_CORE" else 0
        rows.append(
            (
                one.run.name, str(one.run.model), str(one.number), str(one.task.stream), str(one.iteration),
                kernel.node, kernel.type, "dynamic" if step.settings.dynamic else "static", one.unit, us(one.start),
                us(one.end - one.start), us(one.wait), str(blocks), "0", "NO", *known[place],
            )
        )  # fmt: skip
    return Table("op_summary", columns, tuple(rows))


def _described(step: Profile, name: str) -> Tuple[str, str, str, str]:
    """Shapes and dtypes of an operator's inputs and outputs, as the graph states them."""
    graph = step.partition.graph
    if name not in graph.index:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    node = graph.index[name]
    ends = [(graph.edges.src[edge], graph.edges.src_slot[edge]) for edge in graph.in_edges(node)]
    taken = [end for end in ends if end[1] >= 0]
    made = [(node, slot) for slot in range(len(graph.output_dtypes(node)))]
    kinds = (graph.input_dtypes(node), graph.output_dtypes(node))
    shapes = [";".join(_shape(graph.static_shape(*end)) for end in side) for side in (taken, made)]
    dtypes = [";".join(dtype.base.name.upper() for dtype in side) for side in kinds]
    return shapes[0], dtypes[0], shapes[1], dtypes[1]


def _shape(shape: object) -> str:
    if not isinstance(shape, tuple) or any(size is None for size in shape):
        return UNKNOWN
    return ",".join(str(size) for size in shape)


def _grouped(tasks: Iterable[Tuple[Tuple[str, ...], int]]) -> List[Tuple[Tuple[str, ...], List[int]]]:
    found: Dict[Tuple[str, ...], List[int]] = {}
    for key, duration in tasks:
        found.setdefault(key, []).append(duration)
    return sorted(found.items(), key=lambda entry: (-sum(entry[1]), entry[0]))


def _statistics(groups: Sequence[Tuple[Tuple[str, ...], List[int]]], device: int) -> Iterable[Tuple[str, ...]]:
    total = sum(sum(times) for _, times in groups)
    for key, times in groups:
        share = 100 * sum(times) / total if total else 0.0
        yield (
            str(device), *key, str(len(times)), us(sum(times)), us(min(times)), us(sum(times) / len(times)),
            us(max(times)), f"{share:.3f}",
        )  # fmt: skip


def _statistic(runs: Sequence[Run], device: int) -> Table:
    columns = (
        "Device_id", "Model Name", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
        "Max Time(us)", "Ratio(%)",
    )  # fmt: skip
    groups = _grouped(((one.run.name, one.kernel.type, one.unit), one.end - one.start) for one in _kernels(runs))
    return Table("op_statistic", columns, tuple(_statistics(groups, device)))


def _communication(runs: Sequence[Run], device: int) -> Table:
    columns = (
        "Device_id", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)", "Ratio(%)",
    )  # fmt: skip
    groups = _grouped(((one.kernel.type,), one.end - one.start) for one in _kernels(runs) if one.unit == "HCCL")
    return Table("communication_statistic", columns, tuple(_statistics(groups, device)))


def _task_time(runs: Sequence[Run], device: int) -> Table:
    columns = (
        "Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
        "task_stop(us)",
    )  # fmt: skip
    rows = [
        (
            str(device), one.kernel.node, one.unit, str(one.task.stream), str(one.number), us(one.end - one.start),
            us(one.start), us(one.end),
        )
        for one in _kernels(runs)
    ]  # fmt: skip
    return Table("task_time", columns, tuple(rows))


def _aicpu(runs: Sequence[Run]) -> Table:
    columns = (
        "Timestamp(us)", "Node", "Compute_time(us)", "Memcpy_time(us)", "Task_time(us)", "Dispatch_time(us)",
        "Total_time(us)", "Stream ID", "Task ID",
    )  # fmt: skip
    rows = []
    for one in _kernels(runs):
        if one.unit == "AI_CPU":
            duration = one.end - one.start
            rows.append(
                (
                    us(one.start), one.kernel.node, us(duration), us(0), us(duration), us(one.task.before),
                    us(duration + one.task.before), str(one.task.stream), str(one.number),
                )
            )  # fmt: skip
    return Table("aicpu", columns, tuple(rows))


def _step_trace(runs: Sequence[Run], wanted: Collected, device: int) -> Table:
    """Of every iteration: forward's begin, backward's end, its own end, and collectives between."""
    steps = iterations(runs)
    found: Dict[int, Points] = {}
    for run in runs:
        if run.model not in found:
            found[run.model] = points(run.profile, wanted.fp_point, wanted.bp_point)
    reduced = {run.model: _reductions(run.profile) for run in runs}
    most = max((len(parts) for parts in reduced.values()), default=0)
    columns = [
        "Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
        "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID",
    ]  # fmt: skip
    for _ in range(most):
        columns += ["Reduce Start(us)", "Reduce Duration(us)"]
    rows: List[Tuple[str, ...]] = []
    ended = steps[0].start if steps else 0
    for step in steps:
        spans = step.run.profile.timeline.spans
        at = found[step.run.model]
        forward = None if at.forward is None else step.start + spans[at.forward.task].start
        backward = None if at.backward is None else step.start + spans[at.backward.task].end
        end = step.start + step.run.profile.timeline.end
        between = UNKNOWN if forward is None or backward is None else us(backward - forward)
        cells = [
            str(device), str(step.number), _at(forward), _at(backward), us(end), us(end - ended), between,
            UNKNOWN if backward is None else us(end - backward),
            UNKNOWN if forward is None else us(max(forward - ended, 0)), str(step.run.model),
        ]  # fmt: skip
        for start, stop in reduced[step.run.model]:
            cells += [us(step.start + start), us(stop - start)]
        cells += [UNKNOWN] * (len(columns) - len(cells))
        rows.append(tuple(cells))
        ended = end
    return Table("step_trace", tuple(columns), tuple(rows))


def _reductions(step: Profile) -> List[Tuple[int, int]]:
    pairs = zip(step.timeline.tasks, step.timeline.spans)
    return [(span.start, span.end) for task, span in pairs if task.kernel >= 0 and task.kind in _COLLECTIVES]


def _at(moment: object) -> str:
    return us(moment) if isinstance(moment, int) else UNKNOWN
