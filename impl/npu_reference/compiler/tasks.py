"""From kernels to tasks in streams: launches, transfers, kernels and collectives, and what each waits for."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.compiler.collectives import Exchange, Network
from npu_reference.compiler.costs import Cost, cost
from npu_reference.compiler.kernels import Kernel, Lowered
from npu_reference.compiler.orders import smallest_first
from npu_reference.hardware import Device
from npu_reference.options.typed import CompilerSettings

__all__ = ["ENGINES", "Task", "Transfer", "costs_of", "exchanges_of", "schedule", "transfers_of"]

#: What tasks run on. Each stream of the AI Core or the AI CPU works through its tasks in order.
ENGINES = ("host", "pcie_h2d", "aicore", "aicpu", "sdma", "hccs", "pcie", "roce", "pcie_d2h")


class Task(NamedTuple):
    """One thing that happens on one engine.

    Attributes:
        name, kind: kind is ``launch``, ``h2d``, ``d2h``, ``cube``, ``vector``, ``aicpu``, ``collective``, or ``send``
            of data to another device.
        engine: one of :data:`ENGINES`; slot: which of its servers.
        stream: number of the stream; tasks of one stream run in order.
        before: nanoseconds in the stream before the engine is needed; duration: on the engine.
        waits: tasks that end before it begins, all with smaller numbers.
        geop: index in the partition; kernel: place among the kernels, or -1.
        bytes: moved by a transfer, or given to a collective.
        queued: whether it fills the queue that GetNext takes from, beside the step before.
        iteration, step: of a run that makes several, on the device or beside each other.
    """

    name: str
    kind: str
    engine: str
    slot: int
    stream: int
    before: int
    duration: int
    waits: Tuple[int, ...]
    geop: int
    kernel: int
    bytes: int
    queued: bool = False
    iteration: int = 0
    step: int = 0

    @property
    def thread(self) -> int:
        """The stream as timelines number it: none is negative, which their viewers do not take."""
        return self.stream if self.stream >= 0 else _BESIDE - self.stream


class Transfer(NamedTuple):
    """One copy between host and device: the tensors it carries, their bytes, the direction, and the GEOP.

    ``times`` it is made in one run; ``queued`` where it fills the queue that GetNext takes from; ``device`` where the
    main process sends it to the device of another process, else -1.
    """

    tensors: Tuple[str, ...]
    bytes: int
    direction: str
    geop: int
    times: int = 1
    queued: bool = False
    device: int = -1


def transfers_of(lowered: Lowered, settings: CompilerSettings) -> Tuple[Transfer, ...]:
    """The copies of one step (runconfig.input_fusion_size).

    Inputs of a GEOP that are not larger than the threshold share one copy, whatever their number; larger ones go
    alone, as does everything copied back. The main process sends each element of the dataset to other devices, too
    (session.local_rank_id.main_dedup).
    """
    found: List[Transfer] = []
    for geop, places in enumerate(lowered.inputs):
        tensors = [lowered.tensors[place] for place in places]
        # 0 switches it off, also for what has no bytes (runconfig.input_fusion_size.zero_off).
        small = [tensor for tensor in tensors if settings.fused_inputs and tensor.bytes <= settings.fused_inputs]
        if len(small) > 1:
            names = tuple(tensor.name for tensor in small)
            found.append(Transfer(names, sum(tensor.bytes for tensor in small), "h2d", geop))
        alone = [tensor for tensor in tensors if len(small) < 2 or tensor.bytes > settings.fused_inputs]
        found.extend(Transfer((tensor.name,), tensor.bytes, "h2d", geop) for tensor in alone)
    for geop, places in enumerate(lowered.queues):
        if places:  # an element of the dataset is one copy, whatever it consists of
            names = tuple(lowered.tensors[place].name for place in places)
            size = sum(lowered.tensors[place].bytes for place in places)
            found.append(Transfer(names, size, "h2d", geop, settings.loops, True))
    for geop, pair in enumerate(zip(lowered.queues, lowered.datasets)):
        for queued, places in zip((True, False), pair):
            tensors = [lowered.tensors[place] for place in places]
            names, size = tuple(tensor.name for tensor in tensors), sum(tensor.bytes for tensor in tensors)
            times = settings.loops if queued else 1
            if tensors:
                found.extend(Transfer(names, size, "h2d", geop, times, queued, device) for device in settings.sends)
    for geop, places in enumerate(lowered.outputs):
        tensors = [lowered.tensors[place] for place in places]
        found.extend(Transfer((tensor.name,), tensor.bytes, "d2h", geop) for tensor in tensors)
    return tuple(found)


def exchanges_of(lowered: Lowered, network: Optional[Network]) -> Dict[int, Exchange]:
    """How every collective goes over the links, by number of its kernel; none among one rank."""
    if network is None or network.size < 2:
        return {}
    found = {}
    for number, kernel in enumerate(lowered.kernels):
        if kernel.collective is not None:
            found[number] = network.price(kernel.collective, _given(lowered, kernel))
    return found


def _given(lowered: Lowered, kernel: Kernel) -> int:
    """Bytes that a rank gives to a collective; of what is received, those that come."""
    kind = "" if kernel.collective is None else kernel.collective.kind
    places = kernel.writes if kind == "receive" else kernel.reads[:1] if kind == "alltoallv" else kernel.reads
    return sum(lowered.tensors[place].bytes for place in places)


def costs_of(
    lowered: Lowered, device: Device, settings: CompilerSettings, exchanges: Optional[Mapping[int, Exchange]] = None
) -> Tuple[Cost, ...]:
    """The cost of every kernel, in order; what was written last is still in the shared cache.

    Args:
        exchanges: of collectives, by number of their kernel; without one a collective copies in device memory.
    """
    written_at: Dict[int, int] = {}  # tensor -> bytes written before it
    written = 0
    found = []
    kept = _kept(lowered, device)
    tensors = lowered.tensors
    for number, kernel in enumerate(lowered.kernels):
        near = sum(
            tensors[place].bytes
            for place in kernel.reads
            if place in written_at and written - written_at[place] <= device.l2
        )
        touched = [tensors[place] for place in (*kernel.reads, *kernel.writes)]
        stays = sum(tensors[place].bytes for place in kernel.writes if place in kept)
        price = cost(kernel, touched, near, device, settings, stays)
        if exchanges and number in exchanges:
            price = price._replace(duration=exchanges[number].duration * kernel.turns, bound="link")
        found.append(price)
        for place in kernel.writes:
            written_at[place] = written
            written += tensors[place].bytes
    return tuple(found)


def _kept(lowered: Lowered, device: Device) -> Set[int]:
    """Tensors that the shared cache holds until their last reader: they never reach device memory, since what is
    written next takes their addresses (derived: the cache writes back, and memory is reused by lifetime)."""
    made: Dict[int, int] = {}  # tensor -> bytes written before it
    read: Dict[int, int] = {}  # tensor -> bytes written before its last reader
    written = 0
    for kernel in lowered.kernels:
        read.update(dict.fromkeys(kernel.reads, written))
        for place in kernel.writes:
            made.setdefault(place, written)
            written += lowered.tensors[place].bytes
    leaves = {place for places in lowered.outputs for place in places}
    stay = (place for place in made if lowered.tensors[place].kind == "activation" and place not in leaves)
    return {place for place in stay if 0 <= read.get(place, -1) - made[place] <= device.l2}


def schedule(
    lowered: Lowered,
    costs: Sequence[Cost],
    device: Device,
    settings: CompilerSettings,
    streams: Tuple[int, int],
    exchanges: Optional[Mapping[int, Exchange]] = None,
) -> Tuple[Task, ...]:
    """The tasks of one step.

    A GEOP begins with its inputs' copies and its launch, when all GEOPs it needs have ended; what it gives back is
    copied when it has ended. Numbers of tasks are an order in which they can run.

    Args:
        streams: of the AI CPU and of the AI Core; (0, 0) where both share one.
        exchanges: of collectives, by number of their kernel.
    """
    return _Schedule(lowered, costs, device, settings, streams, exchanges or {}).run()


class _Schedule:
    def __init__(
        self,
        lowered: Lowered,
        costs: Sequence[Cost],
        device: Device,
        settings: CompilerSettings,
        streams: Tuple[int, int],
        exchanges: Mapping[int, Exchange],
    ) -> None:
        self.lowered, self.costs, self.device, self.settings = lowered, costs, device, settings
        self.exchanges = exchanges
        self.aicpu_streams, self.core_streams = streams
        self.tasks: List[Task] = []
        self.of_kernel: Dict[int, int] = {}
        self.last_of: Dict[int, List[int]] = {}  # GEOP -> its copies back, and its kernels that no other follows
        self.turn = {"aicpu": 0, "aicore": 0}

    def run(self) -> Tuple[Task, ...]:
        copies = transfers_of(self.lowered, self.settings)
        kernels: List[List[int]] = [[] for _ in self.lowered.inputs]
        for number, kernel in enumerate(self.lowered.kernels):
            kernels[kernel.geop].append(number)
        for geop in smallest_first(self.lowered.needs):
            ended = [task for need in self.lowered.needs[geop] for task in self.last_of.get(need, ())]
            inputs = [
                self._add(", ".join(copy.tensors), "h2d", "pcie_h2d", _H2D, copy, ended)
                for copy in copies
                if copy.geop == geop and copy.direction == "h2d" and not copy.queued and copy.device < 0
            ]
            for copy in copies:
                if copy.geop == geop and copy.device >= 0:  # over that device's own PCIe: nothing here waits for it
                    self._add(", ".join(copy.tensors), "send", "pcie_h2d", _SENDS - copy.device, copy, ended)
                elif copy.geop == geop and copy.queued:  # for the step after: nothing of this one waits for it
                    self._add(", ".join(copy.tensors), "h2d", "pcie_h2d", _QUEUE, copy, ())
            launch = self._task(
                f"GEOP {geop}", "launch", "host", 0, _HOST, 0, round(self.device.graph_launch * 1000),
                ended + inputs, geop,
            )  # fmt: skip
            open_ends = {launch}
            for number in kernels[geop]:
                task = self._kernel(number, launch)
                open_ends.difference_update(self.tasks[task].waits)
                open_ends.add(task)
            ends = sorted(open_ends)
            # What follows over the host needs the results there, not only computed.
            self.last_of[geop] = ends + [
                self._add(", ".join(copy.tensors), "d2h", "pcie_d2h", _D2H, copy, ends)
                for copy in copies
                if copy.geop == geop and copy.direction == "d2h"
            ]
        return tuple(self.tasks)

    def _kernel(self, number: int, launch: int) -> int:
        kernel, price = self.lowered.kernels[number], self.costs[number]
        waits = [launch] + [self.of_kernel[before] for before in kernel.after if before in self.of_kernel]
        engine, slot, stream = self._place(number)
        together = kernel.engine == "hccl"
        size = _given(self.lowered, kernel) if together else 0
        kind = "collective" if together else kernel.engine
        task = self._task(
            kernel.node, kind, engine, slot, stream, price.launch, price.duration, waits, kernel.geop, number, size
        )
        self.of_kernel[number] = task
        return task

    def _place(self, number: int) -> Tuple[str, int, int]:
        """Engine, server and stream. Streams of one engine take turns by the order of tasks, never by time, so that
        a faster engine can not make anything later."""
        kernel = self.lowered.kernels[number]
        if kernel.engine == "hccl":
            apart = kernel.collective is not None and kernel.collective.apart
            engine = self.exchanges[number].engine if number in self.exchanges else "sdma"
            return engine, 0, _HCCL if apart else _DEVICE
        if kernel.engine == "aicpu":
            if not self.aicpu_streams:
                return "aicpu", 0, _DEVICE
            self.turn["aicpu"] += 1
            number = self.turn["aicpu"] % self.aicpu_streams
            return "aicpu", number % int(self.device.ai_cpu), _AICPU + 2 * number
        if self.core_streams < 2:
            return "aicore", 0, _DEVICE
        self.turn["aicore"] += 1
        return "aicore", 0, _DEVICE + 2 * (self.turn["aicore"] % self.core_streams)

    def _add(self, name: str, kind: str, engine: str, stream: int, copy: Transfer, waits: Sequence[int]) -> int:
        duration = copy.bytes / self.device.pcie + self.device.transfer_latency * 1000
        task = self._task(
            name, kind, engine, copy.device + 1, stream, 0, -int(-duration // 1), waits, copy.geop, -1, copy.bytes
        )
        self.tasks[task] = self.tasks[task]._replace(queued=copy.queued)
        return task

    def _task(
        self,
        name: str,
        kind: str,
        engine: str,
        slot: int,
        stream: int,
        before: int,
        duration: int,
        waits: Sequence[int],
        geop: int,
        kernel: int = -1,
        size: int = 0,
    ) -> int:
        found = tuple(dict.fromkeys(waits))
        self.tasks.append(Task(name, kind, engine, slot, stream, before, duration, found, geop, kernel, size))
        return len(self.tasks) - 1


#: Streams by number: those of the AI Core are even and those of the AI CPU odd, from here on.
_HOST, _H2D, _D2H, _HCCL, _DEVICE, _AICPU = 0, 1, 2, 3, 4, 5
_SENDS = -2  # to other devices, a stream for each
_BESIDE = 1 << 20  # more than a device has streams
_QUEUE = 1023  # what fills the queue comes when there is room, in no order with other copies
