"""One step of a graph on a simulated device: compiled, scheduled, run in virtual time, laid out in memory."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from npu_reference.catalog import Catalog
from npu_reference.collection import no_collection
from npu_reference.compiler import Compiled, compile_graph, settings_of
from npu_reference.compiler.collectives import Split
from npu_reference.compiler.kernels import GETNEXT_OPERATORS, Gemm
from npu_reference.compiler.lowering.idle import idle_reductions
from npu_reference.compiler.lowering.unfolding import unfold
from npu_reference.compiler.tasks import schedule
from npu_reference.compiler.tiles import Tile
from npu_reference.device.links import RankTable, Topology, topology
from npu_reference.device.timing.execution import Timeline, execute
from npu_reference.device.timing.known import error_of, least_known
from npu_reference.device.timing.memory import MemoryPlan, plan_memory
from npu_reference.device.timing.network import network_of
from npu_reference.device.timing.pipeline import pipeline_of
from npu_reference.device.timing.runs import Run, run
from npu_reference.device.timing.shapes import sizes_of
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options import Resolution
from npu_reference.options.typed import CompilerSettings
from npu_reference.partition import Partition
from npu_reference.precision import assign

__all__ = ["Profile", "profile"]

#: What an answer calls the servers of the schedule; kernels have the unit that computes them.
_SERVERS = {"pcie_h2d": "pcie", "pcie_d2h": "pcie"}

_COMPUTES = ("aicore", "aicpu")


class Profile(NamedTuple):
    """A step: what was compiled, how long it takes in nanoseconds, and what it needs.

    Attributes:
        streams: of the AI CPU and the AI Core, as chosen among those allowed; (0, 0) where both share one.
        timeline: of one step, from its launch to its last copy.
        concurrent: steps that are asked for at once (online inference).
        profiles: name, nanoseconds of a step and peak of memory by profile of dynamic_dims, where the sizes of the
            inputs are open; the step is that of the slowest.
        overflowed: iterations whose update loss scaling left out.
    """

    partition: Partition
    compiled: Compiled
    streams: Tuple[int, int]
    timeline: Timeline
    memory: MemoryPlan
    concurrent: int = 1
    profiles: Tuple[Tuple[str, int, int], ...] = ()
    overflowed: int = 0

    @property
    def settings(self) -> CompilerSettings:
        return self.compiled.settings

    @property
    def run(self) -> Run:
        """What one run makes of the step: its loop on the device, or the steps that are asked for at once."""
        sunk = len(self.partition.geops) == 1
        return run(
            self.timeline, iterations=self.settings.loops, sunk=sunk, steps=self.concurrent, lanes=self.settings.models
        )

    @property
    def step(self) -> int:
        """Nanoseconds of one step; what a run does once is shared by its iterations."""
        return self.run.each

    def engines(self) -> Dict[str, Dict[str, Any]]:
        """By engine: tasks, nanoseconds of work and their part of the step."""
        busy = self.timeline.busy()
        counts: Dict[str, int] = {}
        for task in self.timeline.tasks:
            counts[task.engine] = counts.get(task.engine, 0) + 1
        end = max(self.timeline.end, 1)
        return {
            engine: {"tasks": counts[engine], "busy_ns": busy[engine], "share": busy[engine] / end}
            for engine in sorted(busy, key=lambda name: (-busy[name], name))
        }

    def types(self) -> List[Dict[str, Any]]:
        """By type of kernel: how often, nanoseconds with and without launch, bytes and operations; dearest first."""
        found: Dict[Tuple[str, str], List[int]] = {}
        for task in self.timeline.tasks:
            if task.kernel < 0:
                continue
            kernel, cost = self.compiled.fused.kernels[task.kernel], self.compiled.costs[task.kernel]
            row = found.setdefault((kernel.type, task.kind), [0, 0, 0, 0, 0])
            for position, value in enumerate(
                (1, cost.duration, cost.launch, cost.hbm_read + cost.hbm_write, cost.operations)
            ):
                row[position] += value
        names = ("count", "busy_ns", "launch_ns", "hbm_bytes", "operations")
        rows = [{"type": key[0], "engine": key[1], **dict(zip(names, row))} for key, row in found.items()]
        return sorted(rows, key=lambda row: (-(row["busy_ns"] + row["launch_ns"]), row["type"], row["engine"]))

    def dearest(self, most: int = 10) -> List[Dict[str, Any]]:
        """The kernels that take longest, and what bounds them."""
        ranked = sorted(
            (task for task in self.timeline.tasks if task.kernel >= 0),
            key=lambda task: (-(task.duration + task.before), task.kernel),
        )
        rows = []
        for task in ranked[:most]:
            kernel, cost = self.compiled.fused.kernels[task.kernel], self.compiled.costs[task.kernel]
            rows.append(
                {
                    "node": kernel.node,
                    "type": kernel.type,
                    "engine": kernel.engine,
                    "busy_ns": cost.duration,
                    "launch_ns": cost.launch,
                    "bound": cost.bound,
                    "members": list(kernel.members),
                    "passes": list(kernel.passes),
                }
            )
        return rows

    @property
    def launches(self) -> int:
        """How often the host starts something on the device in one run."""
        launches = sum(task.kind == "launch" for task in self.timeline.tasks)
        loops = 1 if len(self.partition.geops) == 1 else self.settings.loops
        return launches * loops * self.concurrent

    @property
    def iterations(self) -> int:
        """Steps that one run makes on the device (iterations_per_loop)."""
        return self.settings.loops

    @property
    def ranks(self) -> int:
        """How many devices run the graph together."""
        return 1 if self.compiled.network is None else self.compiled.network.size

    def communication(self) -> Dict[str, Any]:
        """Collectives in the order of their begin, bytes over each kind of link, and how long computing stands still.

        ``bytes`` of a collective are what this rank gives, those of links what all ranks send.
        """
        lowered, timeline = self.compiled.fused, self.timeline
        found = []
        over: Dict[str, int] = {}
        for task, span in zip(timeline.tasks, timeline.spans):
            if task.kind != "collective":
                continue
            kernel, exchange = lowered.kernels[task.kernel], self.compiled.exchanges.get(task.kernel)
            moved = dict(exchange.bytes) if exchange is not None else {}
            for link, count in moved.items():
                over[link] = over.get(link, 0) + count
            found.append(
                {
                    "type": kernel.type,
                    "nodes": list(kernel.members),
                    "algorithm": "local" if exchange is None else exchange.algorithm,
                    "engine": task.engine,
                    "bytes": task.bytes,
                    "start_ns": span.start,
                    "busy_ns": task.duration,
                    "messages": 0 if exchange is None else exchange.messages,
                    "links": moved,
                }
            )
        found.sort(key=lambda one: (one["start_ns"], one["nodes"]))
        told = {"ranks": self.ranks, "collectives": found, "links": dict(sorted(over.items()))}
        return {**told, "alone_ns": timeline.alone("collective", _COMPUTES), "dataset": self.dataset() or None}

    def dataset(self) -> Dict[str, Any]:
        """How many elements this process takes of its dataset in a run, one for each GetNext in each iteration, and
        which devices it sends the data to; empty without one.

        With local_rank_id the main process reads and sends, and others receive what it sends
        (session.local_rank_id.main_dedup, session.local_rank_id.others_receive).
        """
        lowered, settings = self.compiled.fused, self.settings
        taken = {place for places in (*lowered.queues, *lowered.datasets) for place in places}
        if not taken:
            return {}
        operators = {lowered.tensors[place].name.rpartition(":")[0] for place in taken}
        turns = len(operators) * self.settings.loops * self.concurrent
        sent = [
            {"device": copy.device, "bytes": copy.bytes, "times": copy.times * self.concurrent}
            for copy in self.compiled.transfers
            if copy.device >= 0
        ]
        return {"reads": 0 if settings.receives else turns, "receives": turns if settings.receives else 0, "sent": sent}

    def control(self) -> Dict[str, Any]:
        """What was counted of loops and conditionals, and which tensors as large as they can be."""
        lowered = self.compiled.lowered
        return {
            "loops": [loop._asdict() for loop in lowered.loops],
            "conditionals": [{"name": name, "taken": side} for name, side in sorted(lowered.taken.items())],
            "largest": list(lowered.bounded),
        }

    def _profiles(self) -> List[Dict[str, Any]]:
        return [{"name": name, "step_ns": step, "peak": peak} for name, step, peak in self.profiles]

    def timeline_json(self) -> Dict[str, Any]:
        """The step as the protocol's ``timeline`` answers it: every task in time, copies, launches, memory, fusion."""
        plan, made = self.memory, self.run
        return {
            "step_ns": made.each,
            "run_ns": made.nanoseconds,
            "tasks": [_task_json(self, made.timeline, number) for number in range(len(made.timeline.tasks))],
            "transfers": [
                {
                    "direction": copy.direction,
                    "bytes": copy.bytes,
                    "tensors": list(copy.tensors),
                    "times": copy.times * self.concurrent,
                    **({"device": copy.device} if copy.device >= 0 else {}),
                }
                for copy in self.compiled.transfers
            ],
            **({"dataset": self.dataset()} if self.dataset() else {}),
            "launches": self.launches,
            "iterations": self.iterations,
            "counted": self.iterations - min(self.overflowed, self.iterations),
            "concurrent": {"steps": made.steps, "at_once": made.lanes},
            "memory": {
                "peak": plan.peak,
                "total": plan.total,
                "variables": plan.variables,
                "constants": plan.constants,
                "external": plan.external,
                "arena": plan.arena,
                "workspace": plan.workspace,
                "reserved": plan.reserved,
            },
            "control": self.control(),
            "profiles": self._profiles(),
            "fusion": [
                {
                    "section": count.section,
                    "name": count.name,
                    "matched": count.match_times,
                    "effective": count.effect_times,
                }
                for count in self.compiled.fusion
            ],
        }

    def to_json(self) -> Dict[str, Any]:
        """The answer of ``profile``."""
        made = self.run
        plan, tensors = self.memory, self.compiled.fused.tensors
        path = self.timeline.critical_path()
        on_path: Dict[str, int] = {}
        for number in path:
            task, span = self.timeline.tasks[number], self.timeline.spans[number]
            on_path[task.kind] = on_path.get(task.kind, 0) + span.end - span.called
        return {
            "simulated": True,
            "step_ns": made.each,
            "error": error_of(self.compiled),
            "least_known": least_known(self.compiled),
            "pipeline": pipeline_of(self.partition, self.compiled, made.each),
            "timeline_ns": self.timeline.end,
            "run_ns": made.nanoseconds,
            "concurrent": {"steps": made.steps, "at_once": made.lanes},
            "loops": self.settings.loops,
            "streams": {"ai_cpu": self.streams[0], "ai_core": self.streams[1]},
            "engines": self.engines(),
            "types": self.types(),
            "dearest": self.dearest(),
            "critical_path": {"tasks": len(path), "ns_by_kind": dict(sorted(on_path.items()))},
            "memory": {
                "total": plan.total,
                "fixed": plan.fixed,
                "variables": plan.variables,
                "external": plan.external,
                "arena": plan.arena,
                "workspace": plan.workspace,
                "reserved": plan.reserved,
                "peak": plan.peak,
                "peak_at_ns": plan.peak_at,
                "by_geop": list(plan.by_geop),
                "largest": [
                    {"tensor": tensors[block.tensor].name, "bytes": block.bytes}
                    for block in plan.alive_at(plan.peak_at)[:10]
                ],
            },
            "control": self.control(),
            "profiles": self._profiles(),
            "communication": self.communication(),
            **self.compiled.to_json(),
        }


def _task_json(step: Profile, timeline: Timeline, number: int) -> Dict[str, Any]:
    task, span = timeline.tasks[number], timeline.spans[number]
    told: Dict[str, Any] = {"name": task.name, "engine": _SERVERS.get(task.engine, task.engine), "stream": task.stream}
    told.update(kind=task.kind, start_ns=span.start, end_ns=span.end, iteration=task.iteration, step=task.step)
    if task.kernel >= 0:
        kernel = step.compiled.fused.kernels[task.kernel]
        together = task.kind == "collective"
        told.update(name=kernel.type, node=kernel.node, nodes=list(kernel.members))
        told.update(kind="collective", bytes=task.bytes) if together else told.update(kind="kernel")
        told["engine"] = task.engine if together else kernel.engine
    elif task.kind in ("h2d", "d2h"):
        told["bytes"] = task.bytes
    return told


def profile(
    partition: Partition,
    resolution: Resolution,
    device: Device,
    shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
    *,
    catalog: Optional[Catalog] = None,
    concurrent: int = 1,
    ranks: Union[int, Topology] = 1,
    table: Optional[RankTable] = None,
    split: Union[Split, Mapping[str, Split], None] = None,
    groups: Optional[Mapping[str, Sequence[int]]] = None,
    algorithm: Optional[str] = None,
    tiles: Optional[Mapping[Gemm, Tile]] = None,
) -> Profile:
    """Profile one step of a partition under some options.

    Args:
        concurrent: steps that are asked for at once, of which graph_max_parallel_model_num may run beside each other.
        ranks: how many run the graph together, or their topology; the step is rank 0's, and all are alike.
        table: where they are; without it on servers of eight, one after the other.
        split: how gradients are split into segments, or how by group; groups: ranks of groups by name; algorithm: of
            all collectives.
        tiles: that tuning found for products of matrices.

    Raises:
        NpuError: PRECISION_*, DEVICE_SIZES, DEVICE_MODEL, DEVICE_MEMORY, INPUT_SHAPE; OPTION_VALUE for ranks or a split
            that cannot be; OPTION_CONFLICT for a loop on the device that the options do not allow.
    """
    where = ranks if isinstance(ranks, Topology) else _where(ranks, table, device)
    network = network_of(where, device, split=split, groups=groups, algorithm=algorithm)
    with no_collection():
        settings = settings_of(resolution, partition.graph)._replace(tiles=tiles or {})
        _check_loop(partition, settings)
        found = []
        for sizes in sizes_of(partition.graph, resolution, shapes):
            idle = idle_reductions(unfold(partition, sizes.shapes))
            assignment = assign(partition, resolution, catalog=catalog, entries=(), idle=idle)
            compiled = compile_graph(partition, assignment, device, settings, sizes.shapes, network=network)
            streams, timeline = _best(compiled)
            made = run(timeline, steps=max(concurrent, 1), lanes=settings.models)
            memory = plan_memory(compiled.fused, timeline, device, settings, made.lanes)
            step = Profile(partition, compiled, streams, timeline, memory, max(concurrent, 1))
            found.append((sizes.name, step))
        if len(found) == 1:
            return found[0][1]
        told = tuple((name, step.step, step.memory.peak) for name, step in found)
        return max(found, key=lambda one: one[1].step)[1]._replace(profiles=told)


def _where(ranks: int, table: Optional[RankTable], device: Device) -> Topology:
    return topology(ranks if table is None or ranks > 1 else None, table, group=int(device.hccs_group))


def _check_loop(partition: Partition, settings: CompilerSettings) -> None:
    """Refuse iterations on the device that read a dataset on the host (session.enable_data_pre_proc.loop_prerequisite,
    T19)."""
    if settings.loops < 2:
        return
    for node in partition.graph.nodes:
        if node.op in GETNEXT_OPERATORS and partition.assignment[node.id] < 0:
            raise NpuError(
                "OPTION_CONFLICT", "enable_data_pre_proc",
                f"a loop of {settings.loops} iterations needs GetNext on the device.",
                "Switch enable_data_pre_proc on.",
            )  # fmt: skip


def _best(compiled: Compiled) -> Tuple[Tuple[int, int], Timeline]:
    """The fastest of the numbers of streams that are allowed; of equal ones the fewest that keep engines apart, where
    any may be kept apart (runconfig.ac_parallel_enable.streams).

    Candidates double, and fewer are always among those of more, so that allowing more never makes a step longer.
    """
    found = []
    for streams in _candidates(compiled.settings.parallel):
        tasks = schedule(
            compiled.fused, compiled.costs, compiled.device, compiled.settings, streams, compiled.exchanges
        )
        timeline = execute(tasks)
        found.append((timeline.end, streams == (0, 0), streams, timeline))
    *_, streams, timeline = min(found, key=lambda entry: entry[:3])
    return streams, timeline


def _candidates(allowed: Tuple[int, int]) -> List[Tuple[int, int]]:
    doubled = [[1 << power for power in range(number.bit_length())] for number in allowed]
    return [(0, 0)] + [(cpu, core) for cpu in doubled[0] for core in doubled[1]]
