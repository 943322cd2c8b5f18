"""What ends a step that takes too long, and after exactly which time of the virtual clock; and what comes of faults.

Nothing waits: a timeline is worked out with what the faults make of its tasks, and the first limit that is exceeded
ends it. Limits are those of the timeout options; they hold for every step, with and without faults.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import Kernel
from npu_reference.compiler.tasks import Task
from npu_reference.device.faults import NONE, Fault, Faults
from npu_reference.device.timing import Profile, Span, Timeline, execute
from npu_reference.device.timing.runs import run
from npu_reference.errors import DeviceError, NpuError
from npu_reference.options import Resolution
from npu_reference.options.typed import UNITS, Timeouts
from npu_reference.partition import Partition

__all__ = ["Endured", "endure"]

_SECOND = 10**9
_MILLISECOND = 10**6

#: Longer than any limit and any step: what never ends, ends then. 2 ** 62 ns are 146 years.
_NEVER = 1 << 62

#: Operators that read whether anything overflowed: a graph that has one scales its loss.
_FLOAT_STATUS = ("NpuGetFloatStatus", "NpuGetFloatStatusV2")

_HOST_KINDS = ("launch", "h2d", "d2h", "send")
_COLLECTIVES = ("collective",)


class Endured(NamedTuple):
    """A run that came to its end.

    Attributes:
        profile: the step with its timeline as the faults left it; None where the model knows none.
        run_ns: of the whole run, all iterations of it; None where the model knows none.
        late: nanoseconds that the faults added to it.
        notes: what came of faults that nobody on the device notices.
        overflows: operators whose overflow was asked for, and in which iteration from 0; None: in each.
    """

    profile: Optional[Profile]
    run_ns: Optional[int] = None
    late: int = 0
    notes: Tuple[str, ...] = ()
    overflows: Tuple[Tuple[str, Optional[int]], ...] = ()


def _nanoseconds(timeouts: Timeouts) -> Timeouts:
    """The limits of timeouts; -1 is none (B18), hccl_timeout counts in whole steps already (A24)."""
    units = {"seconds": _SECOND, "milliseconds": _MILLISECOND}
    return Timeouts(*(n * units[unit] if n is not None and n > 0 else None for n, unit in zip(timeouts, UNITS)))


def endure(
    step: Optional[Profile],
    partition: Partition,
    resolution: Resolution,
    faults: Faults = NONE,
    *,
    executed: Optional[Mapping[Optional[str], int]] = None,
    rank: int = 0,
    collectives: int = 0,
    iterations: int = 0,
) -> Endured:
    """Run a step in virtual time with faults and under the timeouts of its options.

    Args:
        step: what the model makes of the step; None where it knows none, and only what faults do takes time.
        partition: of the step.
        executed: how often the device has executed each operator that a fault names before; under None, iterations.
        rank: of the device.
        collectives: how many the device has had before.
        iterations: of this run; without it those of the step's settings.

    Raises:
        DeviceError: DEVICE_TIMEOUT, COLLECTIVE_TIMEOUT, DEVICE_FAULT or KERNEL_FAILURE; DEVICE_ENDLESS where nothing
            would end the wait, since a simulation that waited for ever would tell nobody anything.
        NpuError: FAULT_VALUE for a fault of an operator that runs on the host, or that has no kernel.
    """
    return _Watch(step, partition, resolution, faults, executed or {}, rank, collectives, iterations).run()


class _End(NamedTuple):
    """A limit that was exceeded: when, and what to say."""

    at: int
    error: DeviceError


class _Watch:
    def __init__(
        self,
        step: Optional[Profile],
        partition: Partition,
        resolution: Resolution,
        faults: Faults,
        executed: Mapping[Optional[str], int],
        rank: int,
        collectives: int,
        iterations: int,
    ) -> None:
        self.step, self.partition, self.resolution = step, partition, resolution
        self.faults, self.rank, self.collectives = faults, rank, collectives
        self.limits = _nanoseconds(resolution.typed.timeouts)
        self.iterations = iterations or (step.settings.loops if step is not None else 1)
        self.executed = executed
        self.tasks = _plain_tasks(partition) if step is None else list(step.timeline.tasks)
        self.notes: List[str] = []
        self.overflows: List[Tuple[str, Optional[int]]] = []
        self.cause: Dict[int, Fault] = {}  # task -> what delays it
        self.stalled: Dict[str, Fault] = {}  # kind -> what stalls the host
        self._run_ns: Optional[int] = None
        if step is not None:
            sunk = len(partition.geops) == 1
            self._run_ns = run(step.timeline, iterations=self.iterations, sunk=sunk).nanoseconds

    def run(self) -> Endured:
        if not self.faults.items and self.step is not None and self._in_time():
            return Endured(self.step, self._run_ns)
        self._compile_failures()
        changed: Dict[int, Task] = {}
        struck = list(self._struck())
        for fault, task, iteration in struck:
            if fault.kind == "overflow":
                self.overflows.append((self._node(fault, task), None if fault.at is None else iteration))
            else:
                self._strike(fault, task, changed)
        before = self.step.timeline if self.step is not None else execute(self.tasks)
        after = execute([changed.get(number, task) for number, task in enumerate(self.tasks)]) if changed else before
        self._end(after, min([iteration for _, _, iteration in struck] or [0]) * self._turn)
        profile, late = self.step, 0
        if changed or self.stalled:
            after = after._replace(end=after.end + sum(fault.nanoseconds or 0 for fault in self.stalled.values()))
            profile = None if self.step is None else self.step._replace(timeline=after)
            # A fault without a number strikes every iteration.
            every = any(fault.at is None for fault in (*self.cause.values(), *self.stalled.values()))
            late = (after.end - before.end) * (self.iterations if every else 1)
        known = self._run_ns if self._run_ns is not None or not late else 0
        run_ns = None if known is None else known + late
        if profile is not None and self.overflows:
            profile = profile._replace(overflowed=self._overflowed())
        return Endured(profile, run_ns, late, tuple(self.notes), tuple(self.overflows))

    def _overflowed(self) -> int:
        """Iterations whose update loss scaling leaves out, so that they do not count as steps (003 L580)."""
        if not any(node.op in _FLOAT_STATUS for node in self.partition.graph.nodes):
            return 0
        found = {iteration for _, iteration in self.overflows}
        return self.iterations if None in found else len(found)

    @property
    def _turn(self) -> int:
        """Nanoseconds by which a loop is longer for each iteration."""
        if self.step is None or self.iterations == 1 or self._run_ns is None:
            return 0
        return max(self._run_ns - self.step.timeline.end, 0) // (self.iterations - 1)

    def _in_time(self) -> bool:
        """Whether the whole run is shorter than every limit, so that none can be exceeded."""
        shortest = min([limit for limit in self.limits if limit is not None] or [_NEVER])
        return (self._run_ns or 0) <= shortest

    # -- faults ---------------------------------------------------------------------------------------------------

    def _compile_failures(self) -> None:
        for fault in self.faults.of("kernel_failure", rank=self.rank):
            task = self._task_of(fault)
            if task is not None:
                node = self._node(fault, task)
                raise DeviceError(
                    "KERNEL_FAILURE", node, f"compiling its kernel failed (E40021). {fault.asked}", number="E40021"
                )

    def _struck(self) -> Iterator[Tuple[Fault, int, int]]:
        """Faults of this run, the tasks they strike (-1 for those of the host), and in which iteration, from 0."""
        kinds = ("hang", "unmatched_flag", "lost_event", "out_of_bounds", "overflow", "stalled_stream", "stalled_event")
        for fault in self.faults.of(*kinds, rank=self.rank):
            before = self.executed.get(fault.node, 0)
            if not fault.during(before + 1, before + self.iterations):
                continue
            if fault.kind.startswith("stalled_"):
                if self.tasks:
                    yield fault, -1, self.iterations - 1
                continue
            task = self._task_of(fault)
            if task is not None:
                yield fault, task, 0 if fault.at is None else fault.at - before - 1
        # What a rank does alone, on its own copy engine, waits for nobody.
        found = [n for n, task in enumerate(self.tasks) if task.kind in _COLLECTIVES and task.engine != "sdma"]
        for fault in self.faults.items:
            # The peer is another rank: this one waits for it.
            if fault.kind == "lost_peer" and fault.rank != self.rank:
                skipped = max(0, (fault.after or 0) - self.collectives)
                if skipped < len(found) * self.iterations:
                    yield fault, found[skipped % len(found)], skipped // len(found)

    def _task_of(self, fault: Fault) -> Optional[int]:
        """The task of a fault's operator, in a function that is called, too; of none, the first kernel. None where this
        step has no such operator."""
        kernels = [number for number, task in enumerate(self.tasks) if _on_device(task)]
        if fault.node is None:
            return kernels[0] if kernels else None
        for number in kernels:
            if fault.node in self._members(number):
                return number
        if fault.node not in self.partition.graph.index:
            return None
        at = self.partition.assignment[self.partition.graph.index[fault.node]]
        where = "it runs on the host" if at < 0 else "it has no kernel: compilation leaves nothing of it to run"
        raise NpuError("FAULT_VALUE", fault.text, f"{where}.", "Name an operator that the device computes.")

    def _kernel(self, task: int) -> Optional[Kernel]:
        number = self.tasks[task].kernel
        return None if self.step is None or number < 0 else self.step.compiled.fused.kernels[number]

    def _members(self, task: int) -> Sequence[str]:
        kernel = self._kernel(task)
        return (self.tasks[task].name,) if kernel is None else kernel.members

    def _node(self, fault: Fault, task: int) -> str:
        return fault.node or self.tasks[task].name

    def _strike(self, fault: Fault, task: int, changed: Dict[int, Task]) -> None:
        late = _NEVER if fault.nanoseconds is None else fault.nanoseconds
        if fault.kind.startswith("stalled_"):
            self.stalled[fault.kind] = fault
            return
        if fault.kind == "out_of_bounds":
            self._out_of_bounds(fault, task)
            return
        if fault.kind == "unmatched_flag" and not self._compiled_with("check_flag", fault, task):
            self.notes.append(
                f"{self._node(fault, task)}: a signal is set that nobody waits for; without check_flag in"
                f" op_debug_config nothing notices. {fault.asked}"
            )
            return
        one = changed.get(task, self.tasks[task])
        longer = "before" if fault.kind == "lost_event" else "duration"
        changed[task] = one._replace(**{longer: min(getattr(one, longer) + late, _NEVER)})
        self.cause[task] = fault

    def _compiled_with(self, option: str, fault: Fault, task: int) -> bool:
        """Whether op_debug_config compiles this kernel with an option (files.op_debug_cfg)."""
        debug = self.resolution.typed.artifacts.debug
        if debug is None or option not in debug.options:
            return False
        if not debug.has_list:  # kernels that compilation has put in are compiled with it, too
            return True
        graph = self.partition.graph
        nodes = [graph.nodes[graph.index[name]] for name in self._members(task) if name in graph.index]
        return any(debug.covers(node.name, node.op, graph.index) for node in nodes)

    def _out_of_bounds(self, fault: Fault, task: int) -> None:
        past = 1 if fault.past is None else fault.past
        node = self._node(fault, task)
        if past == 0:
            self.notes.append(f"{node}: its write ends exactly at the end of its buffer, which is legal. {fault.asked}")
        elif self._compiled_with("oom", fault, task):
            start = 0 if self.step is None else self.step.timeline.spans[task].start
            # Which of the two codes means a write is not documented: as the errors 507042 (read) and 507043 (assumed).
            raise DeviceError(
                "DEVICE_FAULT",
                node,
                f"EZ9999: it writes {past} bytes past the end of its buffer: trap 0X5A5A0002, error 507043."
                f" {fault.asked}",
                rule="runconfig.op_debug_config.oom.error_code",
                number="EZ9999",
                option="op_debug_config",
                after_ns=start,
            )
        else:
            self.notes.append(
                f"{node}: it writes {past} bytes past the end of its buffer, {self._neighbour(task, past)}; without oom"
                f" in op_debug_config nothing notices. {fault.asked}"
            )

    def _neighbour(self, task: int, past: int) -> str:
        """What lies behind the output of a kernel."""
        kernel = self._kernel(task)
        if self.step is None or kernel is None or not kernel.writes:
            return "into what nobody knows"
        place = kernel.writes[0]
        blocks = self.step.memory.blocks
        own = next((block for block in blocks if block.tensor == place), None)
        if own is None or past <= own.bytes - self.step.compiled.fused.tensors[place].bytes:
            return "into the padding behind it"
        time = self.step.timeline.spans[task].start
        for block in blocks:
            if block.offset == own.offset + own.bytes and block.start <= time < block.end:
                return f"into {self.step.compiled.fused.tensors[block.tensor].name}"
        return "into memory that is free then"

    # -- limits ---------------------------------------------------------------------------------------------------

    def _end(self, timeline: Timeline, offset: int) -> None:
        """Raise the first error of a run; ``offset`` is when its iteration that is looked at begins."""
        ends = [_End(end.at + offset, end.error) for end in self._of_tasks(timeline)]
        ends.extend(self._of_host(timeline))
        if ends:
            first = min(ends, key=lambda end: end.at)
            first.error.after_ns = first.at
            raise first.error
        if timeline.end < _NEVER and all(fault.nanoseconds is not None for fault in self.stalled.values()):
            return
        fault = next(fault for fault in (*self.cause.values(), *self.stalled.values()) if fault.nanoseconds is None)
        task = next((task for task, one in self.cause.items() if one is fault), -1)
        options = ", ".join(_OPTIONS_OF[fault.kind])
        if fault.kind == "unmatched_flag":
            raise self._unmatched(fault, task, None)
        raise DeviceError(
            "DEVICE_ENDLESS",
            self._node(fault, task) if task >= 0 else fault.kind,
            f"the run would wait for ever: no timeout is set that would end it. {fault.asked}",
            f"Set {options}, or give the fault `seconds` after which it ends.",
        )

    def _of_tasks(self, timeline: Timeline) -> Iterator[_End]:
        limits = self.limits
        reached: Dict[int, int] = {}  # stream -> the end of its last task
        for task, span in zip(timeline.tasks, timeline.spans):
            if not _on_device(task):
                continue
            turn = reached.get(task.stream, 0)
            reached[task.stream] = span.end
            if task.kind in _COLLECTIVES:
                if limits.hccl is not None and self._longest(span.task, task) > limits.hccl:
                    yield _End(span.start + limits.hccl, self._collective(span.task, limits.hccl))
            elif limits.op_execute is not None and self._longest(span.task, task) > limits.op_execute:
                yield _End(span.start + limits.op_execute, self._executes(span.task, limits.op_execute))
            if limits.op_wait is not None:
                begun, ended = _waited(timeline, span, turn, self.cause.get(span.task))
                if ended - begun > limits.op_wait:
                    yield _End(begun + limits.op_wait, self._waits(span.task, limits.op_wait))

    def _longest(self, number: int, task: Task) -> int:
        """Nanoseconds of a kernel's longest turn: its task stands for all turns of a loop, and a fault delays one."""
        kernel, plain = self._kernel(number), self.tasks[number].duration
        turns = 1 if kernel is None else max(kernel.turns, 1)
        return plain // turns + task.duration - plain

    def _of_host(self, timeline: Timeline) -> Iterator[_End]:
        """What the host waits for: the stream of each GEOP from its launch on, then the event behind its copies."""
        limits = self.limits
        launched = {task.geop: span.end for task, span in zip(timeline.tasks, timeline.spans) if task.kind == "launch"}
        ended: Dict[int, int] = dict(launched)
        copied: Dict[int, int] = {}
        for task, span in zip(timeline.tasks, timeline.spans):
            if _on_device(task):
                ended[task.geop] = max(ended.get(task.geop, 0), span.end)
            elif task.kind == "d2h":
                copied[task.geop] = max(copied.get(task.geop, 0), span.end)
        stream, event = self.stalled.get("stalled_stream"), self.stalled.get("stalled_event")
        for geop, begun in launched.items():
            # Iterations of a loop follow each other on the device; the host waits for the last one.
            more = (self.iterations - 1) * self._turn
            end = ended[geop] + more + (0 if stream is None else _late(stream))
            if limits.stream_sync is not None and end - begun > limits.stream_sync:
                yield _End(
                    begun + limits.stream_sync, self._synchronises(geop, limits.stream_sync, stream, ended[geop])
                )
            before = ended[geop] + more
            after = max(copied.get(geop, 0) + more, before) + (0 if event is None else _late(event))
            if limits.event_sync is not None and before < _NEVER and after - before > limits.event_sync:
                text = f"synchronising an event failed after {limits.event_sync // _MILLISECOND} ms"
                error = _timeout("event_sync_timeout", "507047", text, event, "runconfig.event_sync_timeout.effect")
                yield _End(before + limits.event_sync, error)

    def _executes(self, task: int, limit: int) -> DeviceError:
        fault, node = self.cause.get(task), self.tasks[task].name
        if fault is not None and fault.kind == "unmatched_flag":
            return self._unmatched(fault, task, limit)
        number, engine = ("507017", "AI CPU") if self.tasks[task].engine == "aicpu" else ("507014", "AI Core")
        return _timeout(
            "op_execute_timeout", number, f"{node} still ran on the {engine} after {limit // _SECOND} s", fault,
            "runconfig.op_execute_timeout.effect",
        )  # fmt: skip

    def _unmatched(self, fault: Fault, task: int, limit: Optional[int]) -> DeviceError:
        """runconfig.op_debug_config.check_flag.error; without a limit the device's own watchdog ends it (assumed)."""
        node = self._node(fault, task)
        after = "" if limit is None else f" after {limit // _MILLISECOND} ms"
        return DeviceError(
            "DEVICE_TIMEOUT",
            node,
            f"Aicore kernel execute failed, fault kernel_name={node}: a signal between its pipes is not matched;"
            f" rtStreamSynchronizeWithTimeout execute failed{after}, error 507014. {fault.asked}",
            rule="runconfig.op_debug_config.check_flag.error",
            number="507014",
            option="op_debug_config",
        )

    def _waits(self, task: int, limit: int) -> DeviceError:
        text = f"the stream of {self.tasks[task].name} still waited for an event after {limit // _SECOND} s"
        cause = self.cause.get(task) or next(iter(self.cause.values()), None)
        return _timeout("op_wait_timeout", "107019", text, cause, "runconfig.op_wait_timeout.effect")

    def _synchronises(self, geop: int, limit: int, stalled: Optional[Fault], ended: int) -> DeviceError:
        hung = [(task, fault) for task, fault in self.cause.items() if self.tasks[task].geop == geop]
        if hung and hung[0][1].kind == "unmatched_flag":
            return self._unmatched(hung[0][1], hung[0][0], limit)
        fault = hung[0][1] if hung else stalled
        at = f", at {self._node(hung[0][1], hung[0][0])}" if hung else ""
        text = f"synchronising the stream failed after {limit // _MILLISECOND} ms{at}"
        return _timeout("stream_sync_timeout", "507046", text, fault, "runconfig.stream_sync_timeout.effect")

    def _collective(self, task: int, limit: int) -> DeviceError:
        fault = self.cause.get(task)
        who = "a rank" if fault is None or fault.rank is None else f"rank {fault.rank}"
        return DeviceError(
            "COLLECTIVE_TIMEOUT",
            "hccl_timeout",
            f"{self.tasks[task].name} still waited for {who} after {limit // _SECOND} s (EI0002)."
            + ("" if fault is None else f" {fault.asked}"),
            rule="runconfig.hccl_timeout.purpose",
            number="EI0002",
            option="hccl_timeout",
        )


#: Options that would end the wait that a fault makes.
_OPTIONS_OF: Mapping[str, Tuple[str, ...]] = {
    "hang": ("op_execute_timeout", "stream_sync_timeout"),
    "unmatched_flag": ("op_execute_timeout", "stream_sync_timeout"),
    "lost_event": ("op_wait_timeout", "stream_sync_timeout"),
    "stalled_stream": ("stream_sync_timeout",),
    "stalled_event": ("event_sync_timeout",),
    "lost_peer": ("hccl_timeout",),
}


def _timeout(option: str, number: str, text: str, fault: Optional[Fault], rule: str) -> DeviceError:
    reason = f"{text} (error {number})." + ("" if fault is None else f" {fault.asked}")
    return DeviceError("DEVICE_TIMEOUT", option, reason, rule=rule, number=number, option=option)


def _on_device(task: Task) -> bool:
    return task.kind not in _HOST_KINDS


def _late(fault: Fault) -> int:
    return _NEVER if fault.nanoseconds is None else fault.nanoseconds


def _waited(timeline: Timeline, span: Span, turn: int, cause: Optional[Fault]) -> Tuple[int, int]:
    """From when to when a task's stream waits for events of other streams of the device; its turn comes at ``turn``."""
    task = timeline.tasks[span.task]
    if cause is not None and cause.kind == "lost_event":
        return span.called, span.called + _late(cause)
    waits = [(timeline.tasks[other], timeline.spans[other].end) for other in task.waits]
    # hccl_timeout bounds what waits for a collective.
    others = [
        end for other, end in waits
        if _on_device(other) and other.stream != task.stream and other.kind not in _COLLECTIVES
    ]  # fmt: skip
    launched = [end for other, end in waits if other.kind == "launch"]
    return max([turn, *launched]), max(others or [0])


def _plain_tasks(partition: Partition) -> List[Task]:
    """A launch and a task without duration for every operator of the device, where no time is known of them."""
    tasks: List[Task] = []
    for number, geop in enumerate(partition.geops):
        launch = len(tasks)
        tasks.append(Task(geop.name, "launch", "host", 0, 0, 0, 0, (), number, -1, 0))
        for member in geop.nodes:
            name = partition.graph.nodes[member].name
            tasks.append(Task(name, "vector", "aicore", 0, 4, 0, 0, (launch,), number, -1, 0))
    return tasks
