"""Where every tensor lies in device memory and when: variables and constants apart, the rest reused by lifetime."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.compiler.inserting import MEMSET
from npu_reference.compiler.kernels import KernelTensor, Lowered
from npu_reference.device.timing.execution import Timeline
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options.typed import CompilerSettings

__all__ = ["Block", "MemoryPlan", "plan_memory"]

_SMALL = 16  # a tensor is small where the largest is so many times its size (assumed)
_SHOWN = 5  # tensors that a refusal names


class Block(NamedTuple):
    """A tensor in memory: its place among the tensors, offset and bytes as allocated, begin and end in nanoseconds."""

    tensor: int
    offset: int
    bytes: int
    start: int
    end: int


class MemoryPlan(NamedTuple):
    """What lies where.

    Attributes:
        fixed: bytes of variables and constants, which stay.
        variables: bytes of variables alone.
        arena: bytes that the rest needs at once, gaps included; blocks: where.
        peak: bytes of live tensors at their most, at ``peak_at`` nanoseconds, by GEOP in ``by_geop``.
        external: bytes of constants that lie in files and are loaded once for all models of a session, in ``fixed``.
        workspace: the most bytes of workspaces at once.
        lanes: steps that run beside each other, each with an arena of its own.
        reserved: bytes taken from the device, whatever is needed of them.
    """

    fixed: int
    variables: int
    arena: int
    peak: int
    peak_at: int
    blocks: Tuple[Block, ...]
    by_geop: Tuple[int, ...]
    external: int = 0
    workspace: int = 0
    lanes: int = 1
    reserved: int = 0

    @property
    def constants(self) -> int:
        """Bytes of constants in the graph."""
        return self.fixed - self.variables - self.external

    @property
    def total(self) -> int:
        """Bytes of device memory that the run needs."""
        return self.fixed + self.arena * self.lanes

    def alive_at(self, time: int) -> List[Block]:
        """Blocks that hold a tensor then, the largest first."""
        found = [block for block in self.blocks if block.start <= time < block.end]
        return sorted(found, key=lambda block: (-block.bytes, block.tensor))

    def curve(self) -> List[Tuple[int, int]]:
        """(time, bytes alive from then on), variables and constants included, at every change."""
        changes: Dict[int, int] = {}
        for block in self.blocks:
            changes[block.start] = changes.get(block.start, 0) + block.bytes
            changes[block.end] = changes.get(block.end, 0) - block.bytes
        alive, curve = self.fixed, [(0, self.fixed)]
        for time in sorted(changes):
            alive += changes[time]
            curve.append((time, alive))
        return curve


def plan_memory(
    lowered: Lowered, timeline: Timeline, device: Device, settings: CompilerSettings, lanes: int = 1
) -> MemoryPlan:
    """Lay out the tensors of a step. Lifetimes are those of the timeline, so that streams that overlap share nothing.

    Args:
        lanes: steps that run beside each other.

    Raises:
        NpuError: DEVICE_MEMORY where the step does not fit the device, or the session's own limits (legacy), with
            the largest tensors alive then, and what would help.
    """
    lives = _lives(lowered, timeline)
    constants, external = _constants(lowered, device, settings)
    variables = 0
    for tensor in lowered.tensors:
        if tensor.kind == "variable":
            variables += _allocated(tensor.bytes, device)
    fixed = variables + constants + external
    blocks, arena = _allocate(lives, lowered.tensors, device)
    scratch = {place for kernel in lowered.kernels for place in kernel.scratch}
    workspace, _ = _peak([block for block in blocks if block.tensor in scratch], 0)
    graph, variable = settings.memory
    static = int(graph or device.graph_memory) + int(variable or device.variable_memory)
    plan = MemoryPlan(
        fixed,
        variables,
        arena,
        *_peak(blocks, fixed),
        tuple(blocks),
        _by_geop(lowered, blocks),
        external=external,
        workspace=workspace,
        lanes=lanes,
        reserved=0,
    )
    plan = plan._replace(reserved=static if settings.static_memory else plan.total)
    _check(plan, lowered, device, settings)
    return plan


def _constants(lowered: Lowered, device: Device, settings: CompilerSettings) -> Tuple[int, int]:
    """Bytes of constants in the graphs of the GEOPs, and of those outside of them.

    A constant lies in every GEOP that has it or a copy of it. In files, equal ones are one, and all GEOPs load the
    same (runconfig.external_weight.sharing); what is computed as the graph is compiled stays in it.
    """
    inside, outside = 0, {}
    times: Dict[int, int] = {}
    for place in lowered.again:
        times[place] = times.get(place, 0) + 1
    for place, tensor in enumerate(lowered.tensors):
        if tensor.kind != "constant":
            continue
        size = _allocated(tensor.bytes, device)
        if settings.external_weights and place in lowered.content:
            outside[lowered.content[place]] = size
        else:
            inside += size * (1 + times.get(place, 0))
    return inside, sum(outside.values())


def _allocated(size: int, device: Device) -> int:
    """Bytes as the allocator gives them: padded, then up to the next aligned address."""
    if size == 0:
        return 0
    padding, alignment = int(device.padding), int(device.alignment)
    padded = (size + 2 * padding - 1) // padding * padding
    return -(-padded // alignment) * alignment


def _lives(lowered: Lowered, timeline: Timeline) -> Dict[int, Tuple[int, int]]:
    """By tensor, from its writer's begin to its last reader's end; an input from its copy's begin."""
    lives: Dict[int, Tuple[int, int]] = {}

    def touch(place: int, start: int, end: int) -> None:
        if lowered.tensors[place].kind in ("activation", "input") and lowered.tensors[place].bytes:
            known = lives.get(place)
            lives[place] = (start, end) if known is None else (min(known[0], start), max(known[1], end))

    for task, span in zip(timeline.tasks, timeline.spans):
        if task.kernel >= 0:
            kernel = lowered.kernels[task.kernel]
            for place in (*kernel.reads, *kernel.writes, *kernel.scratch):
                touch(place, span.start, span.end)
    copied: Dict[int, List[Tuple[int, int]]] = {}
    for task, span in zip(timeline.tasks, timeline.spans):
        if task.kind in ("h2d", "d2h") and not task.queued:
            copied.setdefault(task.geop, []).append((span.start, span.end))
    for geop, spans in copied.items():
        for place in lowered.inputs[geop]:
            touch(place, min(start for start, _ in spans), lives.get(place, (0, 0))[1])
        for place in lowered.outputs[geop]:
            touch(place, spans[-1][1], max(end for _, end in spans))
    for places in lowered.queues:
        for place in places:  # an element lies there all the time: the next one fills the place of the last
            touch(place, 0, timeline.end)
    for place in lowered.held:  # from the forward loop into the backward one: taken as the whole step (assumed)
        touch(place, 0, timeline.end)
    return {place: (start, max(end, start + 1)) for place, (start, end) in lives.items()}


def _allocate(
    lives: Dict[int, Tuple[int, int]], tensors: Sequence[KernelTensor], device: Device
) -> Tuple[List[Block], int]:
    """Where tensors lie: in one arena, or small ones in an arena of their own where that takes less, since they would
    lie in gaps that large ones need. O(n log n) but for gaps."""
    sizes = {place: _allocated(tensors[place].bytes, device) for place in lives}
    most = max(sizes.values(), default=0)
    small = {place for place, size in sizes.items() if size * _SMALL <= most}
    whole, arena = _best_fit(lives, sizes)
    if not small or len(small) == len(sizes):
        return whole, arena
    large, reach = _best_fit({place: life for place, life in lives.items() if place not in small}, sizes)
    rest, more = _best_fit({place: lives[place] for place in small}, sizes)
    if reach + more >= arena:
        return whole, arena
    moved = [block._replace(offset=block.offset + reach) for block in rest]
    return sorted(large + moved, key=lambda block: (block.start, -block.bytes, block.tensor)), reach + more


def _best_fit(lives: Dict[int, Tuple[int, int]], sizes: Dict[int, int]) -> Tuple[List[Block], int]:
    """Best fit in the order of time; ends before begins, then larger tensors first."""
    events: List[Tuple[int, int, int, int]] = []
    for place, (start, end) in lives.items():
        events.append((end, 0, 0, place))
        events.append((start, 1, -sizes[place], place))
    events.sort()
    free = _Free()
    offset: Dict[int, int] = {}
    arena = 0
    blocks = []
    for _, begins, size, place in events:
        if begins:
            offset[place] = free.take(-size)
            arena = max(arena, offset[place] - size)
            blocks.append(Block(place, offset[place], -size, *lives[place]))
        else:
            free.give(offset[place], sizes[place])
    return blocks, arena


class _Free:
    """Gaps of an arena that grows at its end."""

    def __init__(self) -> None:
        self._by_size: List[Tuple[int, int]] = []  # (size, offset)
        self._starts: Dict[int, int] = {}
        self._ends: Dict[int, int] = {}
        self._top = 0

    def take(self, size: int) -> int:
        at = bisect_left(self._by_size, (size, -1))
        if at == len(self._by_size):
            # Grow: from the gap at the end, if there is one.
            if self._top in self._ends:
                start = self._ends[self._top]
                self._remove(start, self._top - start)
                self._top = start
            offset = self._top
            self._top += size
            return offset
        found, offset = self._by_size[at]
        self._remove(offset, found)
        if found > size:
            self._add(offset + size, found - size)
        return offset

    def give(self, offset: int, size: int) -> None:
        end = offset + size
        if end in self._starts:
            more = self._starts[end]
            self._remove(end, more)
            size += more
        if offset in self._ends:
            start = self._ends[offset]
            self._remove(start, offset - start)
            size += offset - start
            offset = start
        self._add(offset, size)

    def _add(self, offset: int, size: int) -> None:
        self._starts[offset] = size
        self._ends[offset + size] = offset
        insort(self._by_size, (size, offset))

    def _remove(self, offset: int, size: int) -> None:
        del self._starts[offset]
        del self._ends[offset + size]
        del self._by_size[bisect_left(self._by_size, (size, offset))]


def _peak(blocks: Sequence[Block], fixed: int) -> Tuple[int, int]:
    events = sorted([(block.end, 0, -block.bytes) for block in blocks] + [(b.start, 1, b.bytes) for b in blocks])
    alive = peak = at = 0
    for time, _, change in events:
        alive += change
        if alive > peak:
            peak, at = alive, time
    return fixed + peak, at


def _by_geop(lowered: Lowered, blocks: Sequence[Block]) -> Tuple[int, ...]:
    """By GEOP, the most bytes of its own tensors that are alive at once."""
    owner: Dict[int, int] = {}
    for kernel in lowered.kernels:
        for place in (*kernel.reads, *kernel.writes, *kernel.scratch):
            owner.setdefault(place, kernel.geop)
    groups: List[List[Block]] = [[] for _ in lowered.inputs]
    for block in blocks:
        if block.tensor in owner:
            groups[owner[block.tensor]].append(block)
    return tuple(_peak(group, 0)[0] for group in groups)


def _check(plan: MemoryPlan, lowered: Lowered, device: Device, settings: CompilerSettings) -> None:
    graph, variable = settings.memory
    limits = (
        ("graph_memory_max_size", plan.arena * plan.lanes, graph),
        ("variable_memory_max_size", plan.variables, variable),
        (f"the memory of {device.name}", max(plan.total, plan.reserved), int(device.hbm)),
    )
    for name, needed, limit in limits:
        if limit is not None and needed > limit:
            raise NpuError(
                "DEVICE_MEMORY",
                name,
                f"{needed:,} bytes are needed, and there are {limit:,}. {_largest(name, plan, lowered)}",
                f"{_advice(name, plan, lowered, settings)}.",
            )


def _largest(name: str, plan: MemoryPlan, lowered: Lowered) -> str:
    """The largest tensors of what is limited: variables have a limit of their own, and a device holds them all."""
    held = [(block.bytes, lowered.tensors[block.tensor].name) for block in plan.alive_at(plan.peak_at)]
    stays = [(tensor.bytes, tensor.name) for tensor in lowered.tensors if tensor.kind == "variable"]
    alive = {"graph_memory_max_size": held, "variable_memory_max_size": stays}.get(name, held + stays)
    alive = sorted(alive, key=lambda one: (-one[0], one[1]))
    return "Largest alive: " + ", ".join(f"{tensor} {size:,}" for size, tensor in alive[:_SHOWN]) + "."


def _advice(name: str, plan: MemoryPlan, lowered: Lowered, settings: CompilerSettings) -> str:
    """What would need less, what helps most first; never what the options have already."""
    found = []
    if name.endswith("_max_size"):
        found.append(f"raise {name}")
    if name != "variable_memory_max_size":
        if settings.static_memory and plan.reserved > plan.total:
            found.append("take static_memory_policy 0")
        if plan.lanes > 1:
            found.append("lower graph_max_parallel_model_num")
        found.append("take a smaller batch")
        if not settings.mixed:
            found.append("take a mixed precision mode")
        if not settings.clean_apart and any(kernel.type == MEMSET for kernel in lowered.kernels):
            found.append("set atomic_clean_policy to 1")
        if not settings.external_weights and lowered.again:
            found.append("set external_weight, as GEOPs have copies of constants")
    if plan.variables and name != "graph_memory_max_size":
        found.append("set variable_placement to Host with mix_compile_mode")
    text = ", or ".join(found) or "divide the variables among several devices"
    return text[0].upper() + text[1:]
