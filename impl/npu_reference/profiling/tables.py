"""The tables of a profile: which rows and columns the field's profiler gives, from steps in virtual time.

Columns, their order and what they mean are msprof's: docs/en/user_guide/profile_data_file_references.md, and
analysis/msconfig/msprof_export_data_config.py. Where versions differ, those are taken that CANN 8.1 writes for this
device, which has neither a Mix Block Dim nor a Context ID (docs/profiling.md).
"""

from __future__ import annotations

import csv
import io
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import Kernel
from npu_reference.compiler.tasks import Task
from npu_reference.device.timing import Profile, Span
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.profiling import metrics
from npu_reference.profiling.points import Points, points

__all__ = ["Moments", "ProfiledRun", "Table", "iterations", "moments", "tables", "unit_of", "us"]

UNKNOWN = metrics.UNKNOWN
_COLLECTIVES = ("hccl", "collective")
_UNITS = {"cube": "AI_CORE", "vector": "AI_CORE", "aicpu": "AI_CPU"}
_KERNELS = {"AI_CORE": "KERNEL_AICORE", "AI_CPU": "KERNEL_AICPU"}
#: Names of dtypes as msprof writes them (analysis/common_func/ms_constant/ge_enum_constant.py); others in capitals.
_DTYPES = {"float32": "FLOAT", "float64": "DOUBLE", "bfloat16": "DT_BF16", "variant": "DT_VARIANT"}
_MOST_ITERATIONS = 1000  # of one run that are told one by one (assumed)


class ProfiledRun(NamedTuple):
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


class TablePart(NamedTuple):
    """The tasks of one iteration of a run, each with its number in the step and its time; spans: time by that number;
    end: of what belongs to this iteration (copies into a queue are for a later one)."""

    tasks: Tuple[Tuple[int, Task, Span], ...]
    spans: Mapping[int, Span]
    end: int


class Iteration(NamedTuple):
    """One step of a run: its number over all runs, from 1, its tasks, and the virtual nanosecond that their times count
    from."""

    run: ProfiledRun
    number: int
    start: int
    part: TablePart

    @property
    def end(self) -> int:
        return self.start + self.part.end


def iterations(runs: Sequence[ProfiledRun]) -> List[Iteration]:
    """The steps of all runs, in order; a run that loops on the device makes several."""
    found: List[Iteration] = []
    known: Dict[int, Tuple[Tuple[TablePart, ...], int]] = {}  # of a profile: its runs are many
    for run in runs:
        if id(run.profile) not in known:
            known[id(run.profile)] = _parts(run.profile)
        parts, period = known[id(run.profile)]
        count = min(run.profile.iterations, _MOST_ITERATIONS)
        for position in range(count):
            shown = min(position, len(parts) - 2)
            start = run.start + (position - shown) * period
            part = parts[-1 if position == run.profile.iterations - 1 else shown]
            found.append(Iteration(run, len(found) + 1, start, part))
    return found


def _parts(profile: Profile) -> Tuple[Tuple[TablePart, ...], int]:
    """The iterations that a run works out one by one, the last of them as one in the middle and as the one that ends
    the run (a loop on the device copies its results once), and the nanoseconds by which each after them is later."""
    if profile.iterations < 2:
        alone = _part([(number, *one) for number, one in enumerate(zip(*profile.timeline[:2]))])
        return (alone, alone), 0
    made = profile.run
    numbers = {_same(task): number for number, task in enumerate(profile.timeline.tasks)}
    shown: List[List[Tuple[int, Task, Span]]] = []
    for task, span in zip(made.timeline.tasks, made.timeline.spans):
        while len(shown) <= task.iteration:
            shown.append([])
        shown[task.iteration].append((numbers[_same(task)], task, span))
    ended = shown[-1]
    shown[-1] = [one for one in ended if one[1].kind != "d2h" or len(profile.partition.geops) > 1]
    more = made.iterations - len(shown)
    period = (made.nanoseconds - made.timeline.end) // more if more > 0 else 0
    return tuple(_part(tasks) for tasks in (*shown, ended)), period


def _same(task: Task) -> Tuple[object, ...]:
    """What tells a task of a step from its others, whichever iteration it is in."""
    return task.geop, task.kernel, task.kind, task.name, task.stream


def _part(tasks: Sequence[Tuple[int, Task, Span]]) -> TablePart:
    ends = [span.end for _, task, span in tasks if not task.queued] or [span.end for _, _, span in tasks]
    return TablePart(tuple(tasks), {number: span for number, _, span in tasks}, max(ends, default=0))


class Moments(NamedTuple):
    """An iteration in time, in virtual nanoseconds: ``began`` is when the one before has ended, and the first run's
    begin for the first; forward and backward are None where the step computes no such operator."""

    step: Iteration
    began: int
    forward: Optional[int]
    backward: Optional[int]
    end: int


def moments(runs: Sequence[ProfiledRun], wanted: ProfilingOptions) -> List[Moments]:
    """When each iteration began and ended, and when its points were (session.profiling_options.fp_point, bp_point)."""
    at: Dict[int, Points] = {}
    for run in runs:
        if run.model not in at:
            at[run.model] = points(run.profile, wanted.fp_point, wanted.bp_point)
    found: List[Moments] = []
    for step in iterations(runs):
        spans, (first, last) = step.part.spans, at[step.run.model]
        forward = None if first is None else step.start + spans[first.task].start
        backward = None if last is None else step.start + spans[last.task].end
        began = found[-1].end if found else step.start
        found.append(Moments(step, began, forward, backward, step.end))
    return found


def us(nanoseconds: float) -> str:
    """Nanoseconds as the microseconds of a table."""
    return f"{nanoseconds / 1000:.3f}"


def tables(runs: Sequence[ProfiledRun], wanted: ProfilingOptions, device: int) -> List[Table]:
    """The tables that these options ask for (session.profiling_options.*), those without rows left out.

    Args:
        device: number of the device.
    """
    found: List[Table] = []
    if wanted.task_trace:
        found += [
            _summary(runs, wanted.aic_metrics, device), _statistic(runs, device), _task_time(runs, device),
            _communication(runs, device),
        ]  # fmt: skip
    if wanted.training_trace:
        found.append(_step_trace(runs, wanted, device))
    if wanted.aicpu:
        found.append(_aicpu(runs, device))
    return [table for table in found if table.rows]


class _Task(NamedTuple):
    """A kernel in time, over all runs."""

    run: ProfiledRun
    iteration: int
    number: int
    start: int
    end: int

    @property
    def task(self) -> Task:
        return self.run.profile.timeline.tasks[self.number]

    @property
    def kernel(self) -> Kernel:
        return self.run.profile.compiled.fused.kernels[self.task.kernel]

    @property
    def unit(self) -> str:
        return unit_of(self.task, self.kernel)


def unit_of(task: Task, kernel: Kernel) -> str:
    """What computes a kernel, as tables call it: AI_CORE, AI_CPU or HCCL."""
    return "HCCL" if task.kind in _COLLECTIVES else _UNITS.get(kernel.engine, "AI_CORE")


def _kernels(runs: Sequence[ProfiledRun]) -> Iterable[_Task]:
    for step in iterations(runs):
        for number, task, span in step.part.tasks:
            if task.kernel >= 0:
                yield _Task(step.run, step.number, number, step.start + span.start, step.start + span.end)


def _summary(runs: Sequence[ProfiledRun], group: str, device: int) -> Table:
    """Kernels in the order of their begin. A collective is many tasks on the device, so that it has no task or stream
    of its own, no state, and no cores."""
    columns = (
        "Device_id", "Model Name", "Model ID", "Task ID", "Stream ID", "Infer ID", "Op Name", "OP Type", "OP State",
        "Task Type", "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Dim", "HF32 Eligible",
        "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats",
        *metrics.columns(group),
    )  # fmt: skip
    rows = []
    # What is the same in every run of a step: steps are run thousands of times.
    known: Dict[Tuple[int, int], Tuple[str, ...]] = {}
    ended = -1
    for one in sorted(_kernels(runs), key=lambda one: (one.start, one.iteration, one.number)):
        step, kernel = one.run.profile, one.kernel
        place = (id(step), one.task.kernel)
        if place not in known:
            cost = step.compiled.costs[one.task.kernel]
            known[place] = (*_described(step, kernel), *metrics.values(group, kernel, cost, step.compiled.device))
        together = one.unit == "HCCL"
        blocks = int(step.compiled.device.ai_core) if one.unit == "AI_CORE" else 0
        state = "dynamic" if step.settings.dynamic else "static"
        wait = max(one.start - ended, 0) if ended >= 0 else 0
        ended = one.end
        rows.append(
            (
                str(device), one.run.name, str(one.run.model), UNKNOWN if together else str(one.number),
                UNKNOWN if together else str(one.task.stream), str(one.iteration), kernel.node, kernel.type,
                UNKNOWN if together else state, one.unit, us(one.start), us(one.end - one.start), us(wait),
                UNKNOWN if together else str(blocks), UNKNOWN if together else "NO", *known[place],
            )
        )  # fmt: skip
    return Table("op_summary", columns, tuple(rows))


def _described(step: Profile, kernel: Kernel) -> Iterable[str]:
    """Shapes, dtypes and layouts of what a kernel reads and writes, as it is executed: after fusion, and in the dtypes
    it computes in. Layouts are those that the graph states: the device's own are not modelled."""
    tensors = step.compiled.fused.tensors
    layout = _layout(step, kernel)
    read = [(one.shape, one.dtype) for one in kernel.inputs]
    written = [(tensors[place].shape, tensors[place].dtype) for place in kernel.writes]
    for side in (read, written):
        yield ";".join(_shape(shape) for shape, _ in side)
        yield ";".join(_DTYPES.get(dtype, dtype.upper()) or UNKNOWN for _, dtype in side)
        yield ";".join(layout if shape is not None and len(shape) == 4 else "ND" for shape, _ in side)


def _layout(step: Profile, kernel: Kernel) -> str:
    """What the operator that a kernel is named by says of tensors of four dimensions."""
    graph = step.partition.graph
    at = graph.index.get(kernel.node)
    return (graph.nodes[at].text("data_format", "") if at is not None else "") or "ND"


def _shape(shape: Optional[Tuple[int, ...]]) -> str:
    return UNKNOWN if shape is None else ",".join(str(size) for size in shape)


def _grouped(tasks: Iterable[Tuple[Tuple[str, ...], int]]) -> List[Tuple[Tuple[str, ...], List[int]]]:
    found: Dict[Tuple[str, ...], List[int]] = {}
    for key, duration in tasks:
        found.setdefault(key, []).append(duration)
    return sorted(found.items(), key=lambda entry: (-sum(entry[1]), entry[0]))


def _statistics(groups: Sequence[Tuple[Tuple[str, ...], List[int]]], device: int) -> Iterable[Tuple[str, ...]]:
    """Rows of one model, or of all collectives; the shares are of the total of these groups."""
    total = sum(sum(times) for _, times in groups)
    for key, times in groups:
        share = 100 * sum(times) / total if total else 0.0
        yield (
            str(device), *key, str(len(times)), us(sum(times)), us(min(times)), us(sum(times) / len(times)),
            us(max(times)), f"{share:.3f}",
        )  # fmt: skip


def _statistic(runs: Sequence[ProfiledRun], device: int) -> Table:
    columns = (
        "Device_id", "Model Name", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
        "Max Time(us)", "Ratio(%)",
    )  # fmt: skip
    groups = _grouped(((one.run.name, one.kernel.type, one.unit), one.end - one.start) for one in _kernels(runs))
    models = sorted({run.name: run.model for run in runs}.items(), key=lambda entry: entry[1])
    rows = [
        row for name, _ in models for row in _statistics([group for group in groups if group[0][0] == name], device)
    ]
    return Table("op_statistic", columns, tuple(rows))


def _communication(runs: Sequence[ProfiledRun], device: int) -> Table:
    columns = (
        "Device_id", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)", "Ratio(%)",
    )  # fmt: skip
    groups = _grouped(((one.kernel.type,), one.end - one.start) for one in _kernels(runs) if one.unit == "HCCL")
    return Table("communication_statistic", columns, tuple(_statistics(groups, device)))


def _task_time(runs: Sequence[ProfiledRun], device: int) -> Table:
    columns = (
        "Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
        "task_stop(us)",
    )  # fmt: skip
    rows = [
        (
            str(device), one.kernel.node, _KERNELS.get(one.unit, one.unit), str(one.task.stream), str(one.number),
            us(one.end - one.start), us(one.start), us(one.end),
        )
        for one in _kernels(runs)
    ]  # fmt: skip
    return Table("task_time", columns, tuple(rows))


def _aicpu(runs: Sequence[ProfiledRun], device: int) -> Table:
    columns = (
        "Device_id", "Timestamp(us)", "Node", "Compute_time(us)", "Memcpy_time(us)", "Task_time(us)",
        "Dispatch_time(us)", "Total_time(us)", "Stream ID", "Task ID",
    )  # fmt: skip
    rows = []
    for one in _kernels(runs):
        if one.unit == "AI_CPU":
            duration = one.end - one.start
            rows.append(
                (
                    str(device), us(one.start), one.kernel.node, us(duration), us(0), us(duration),
                    us(one.task.before), us(duration + one.task.before), str(one.task.stream), str(one.number),
                )
            )  # fmt: skip
    return Table("aicpu", columns, tuple(rows))


def _step_trace(runs: Sequence[ProfiledRun], wanted: ProfilingOptions, device: int) -> Table:
    """Of every iteration: forward's begin, backward's end, its own end, and collectives between.

    The first has no data augmentation bound, since none has ended before it.
    """
    steps = moments(runs, wanted)
    most = max((len(_reductions(one.step.part)) for one in steps), default=0)
    columns = [
        "Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
        "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID",
    ]  # fmt: skip
    for _ in range(most):
        columns += ["Reduce Start(us)", "Reduce Duration(us)"]
    rows: List[Tuple[str, ...]] = []
    for step, began, forward, backward, end in steps:
        between = UNKNOWN if forward is None or backward is None else us(backward - forward)
        cells = [
            str(device), str(step.number), _at(forward), _at(backward), us(end), us(end - began), between,
            UNKNOWN if backward is None else us(end - backward),
            UNKNOWN if forward is None or not rows else us(max(forward - began, 0)), str(step.run.model),
        ]  # fmt: skip
        for start, stop in _reductions(step.part):
            cells += [us(step.start + start), us(stop - start)]
        cells += [UNKNOWN] * (len(columns) - len(cells))
        rows.append(tuple(cells))
    return Table("step_trace", tuple(columns), tuple(rows))


def _reductions(part: TablePart) -> List[Tuple[int, int]]:
    return [(span.start, span.end) for _, task, span in part.tasks if task.kernel >= 0 and task.kind in _COLLECTIVES]


def _at(moment: object) -> str:
    return us(moment) if isinstance(moment, int) else UNKNOWN
