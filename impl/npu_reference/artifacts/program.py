"""Decides what a program leaves as it compiles models, unloads them and ends: every file by one class, in one order."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.artifacts import fusions, weights
from npu_reference.artifacts.binaries import Binary, CoreKernels, content
from npu_reference.artifacts.cache import KernelCache
from npu_reference.artifacts.folder import Folder, FolderPlace
from npu_reference.artifacts.places import ArtifactPlan, Named, is_recompiled, kinds_of, plan_of
from npu_reference.compiler import Compiled
from npu_reference.compiler.fusion import FusionCount
from npu_reference.device.faults import NONE, Faults
from npu_reference.errors import DeviceError, NpuError
from npu_reference.options.directives import ccec_switches
from npu_reference.options.resolution import Resolution
from npu_reference.partition import Partition
from npu_reference.precision import Assignment

__all__ = ["KernelRecord", "Left", "Model", "Program", "ProgramRemark"]

#: The chip in paths of the cache and of the operator library.
SOC = "ascend910"


class Model(NamedTuple):
    """A compiled model with what it was compiled from."""

    partition: Partition
    assignment: Assignment
    compiled: Compiled
    shapes: Mapping[str, Sequence[Any]]


class KernelRecord(NamedTuple):
    """A kernel of a model: its name in files, its type, engine and operators, whether it was ``compiled`` or ``reused``
    (from the cache, or since an equal one was compiled before), bytes of its .o, and what it was compiled with."""

    kernel: str
    type: str
    engine: str
    nodes: Tuple[str, ...]
    origin: str
    bytes: int
    switches: Tuple[str, ...]


class ProgramRemark(NamedTuple):
    """What somebody should know, and nothing stopped for: a code, what it is about, a sentence."""

    code: str
    subject: str
    message: str


class Left(NamedTuple):
    """What compiling one model gave.

    hits: different kernels taken from the cache; misses: compiled. removed: names that the cache let go of.
    """

    kernels: Tuple[KernelRecord, ...]
    hits: int
    misses: int
    fusion: Tuple[FusionCount, ...]
    constants: Tuple[weights.Constant, ...]
    removed: Tuple[str, ...]
    notes: Tuple[ProgramRemark, ...]


class Program:
    """One program, from its first compilation to its end.

    Args:
        place: where names of directories count from.
        process: its id, as file names have it.
        asked_only: whether only what an option or a variable asks for is left, and nothing by default (D28).
        faults: what the device suffers: a disk that is full, kernels that cannot be compiled.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        place: Optional[FolderPlace] = None,
        *,
        process: str = "",
        asked_only: bool = False,
        faults: Faults = NONE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = place or FolderPlace("", os.getcwd())
        self._process = process or str(os.getpid())
        self._asked_only, self._faults, self._clock = asked_only, faults, clock
        self._disk = faults.disk()
        self._graphs: Dict[int, int] = {}  # session -> graphs compiled in it
        self._fusion: Dict[str, Tuple[Folder, int, Dict[str, Any]]] = {}  # path -> folder, when, entries
        self._weights: Dict[int, weights.Weights] = {}
        self._cleared: Set[str] = set()

    def compile(
        self,
        model: Model,
        resolution: Resolution,
        env: Mapping[str, str],
        session: int = 0,
        place: Optional[FolderPlace] = None,
    ) -> Left:
        """Leaves what compiling a model leaves.

        Args:
            env: the environment that the options were resolved with; session: the session's number, from 0.
            place: where its names count from; the program's own where there is none.
        Raises:
            NpuError: FILES_LEFT, where a directory that was asked for cannot take a file; KERNEL_FAILURE, where a fault
                says so: kernels compiled before are cached then.
        """
        plan = plan_of(resolution, env, self._process, session)
        place = place or self._place
        notes: List[ProgramRemark] = []
        kernels = CoreKernels(
            model.compiled, model.partition, model.assignment, model.shapes, SOC, _options(resolution, model)
        )
        cache = self._cache(plan, place, notes)
        records, fresh, removed = self._kernels(kernels, resolution, env, plan, place, cache, notes)
        constants = self._constants(model.partition, plan, place, session)
        self._fusion_result(model, plan, session)
        hits = len({one.kernel for one in records if one.origin == "reused"} - fresh)
        core = tuple(records) + _others(model.compiled)
        return Left(core, hits, len(fresh), model.compiled.fusion, constants, tuple(removed), tuple(notes))

    def unload(self, session: int = 0) -> None:
        """A session is closed: its weight files go (D26)."""
        found = self._weights.pop(session, None)
        if found is not None:
            found.unload()

    def end(self) -> Tuple[ProgramRemark, ...]:
        """The program ends normally: what it still has loaded is unloaded, and what it counted is written.

        Returns: remarks on what could not be written. The results of a program do not depend on it, and it is too late
            for an error to help.
        """
        for session in sorted(self._weights):
            self.unload(session)
        notes = []
        for folder, when, entries in self._fusion.values():
            if when == 1:
                try:
                    folder.write(fusions.NAME, iter([fusions.text(entries)]))
                except NpuError as problem:
                    notes.append(ProgramRemark("NOT_WRITTEN", fusions.NAME, problem.message))
        self._fusion.clear()
        return tuple(notes)

    # -- kernels --------------------------------------------------------------------------------------------------

    def _kernels(
        self,
        kernels: CoreKernels,
        resolution: Resolution,
        env: Mapping[str, str],
        plan: ArtifactPlan,
        place: FolderPlace,
        cache: Optional[KernelCache],
        notes: List[ProgramRemark],
    ) -> Tuple[List[KernelRecord], FrozenSet[str], List[str]]:
        meta = self._folder(plan.kernel_meta, place)
        if meta is not None:
            meta.make()
        done: Dict[str, bool] = {}  # stem -> whether it was compiled
        stores = True
        written: Set[str] = set()
        records = []
        for kernel in kernels:
            members, types = frozenset(kernel.members), kernels.types(kernel)
            kinds, words = kinds_of(resolution, env, members, types)
            binary = kernels.binary(kernel, ccec_switches(resolution.typed.compiler.debug_level, words), words)
            origin = "reused" if binary.stem in done else "compiled"
            if binary.stem not in done:
                usable = cache if not is_recompiled(resolution, members, types) else None
                done[binary.stem] = True
                if usable is not None:
                    refusal = usable.get(binary)
                    if refusal is None:
                        origin, done[binary.stem] = "reused", False
                    elif refusal:
                        notes.append(ProgramRemark("CACHE_ENTRY", binary.stem, f"not taken from the cache: {refusal}"))
                if done[binary.stem]:
                    self._compiling(kernel.members)
                if done[binary.stem] and usable is not None and stores:
                    stores = self._store(usable, binary, notes)
            if meta is not None:
                for kind in kinds:
                    if binary.stem + kind not in written:  # operators compiled alike share their files
                        meta.write(binary.stem + kind, iter([content(binary, kind)]))
                        written.add(binary.stem + kind)
            told = tuple(word for word in ("oom", "check_flag") if word in words)
            records.append(
                KernelRecord(
                    binary.stem, kernel.type, kernel.engine, kernels.operators(kernel), origin, binary.bytes,
                    (*binary.switches, *told),
                )
            )  # fmt: skip
        removed: List[str] = []
        if cache is not None:
            taken = {one.kernel for one in records if one.origin == "reused"}
            fresh = {stem for stem, compiled in done.items() if compiled}
            cache.record(len(taken - fresh), len(fresh))
            self._settle(cache, plan, notes)
            removed = cache.age()
        return records, frozenset(stem for stem, compiled in done.items() if compiled), removed

    def _compiling(self, members: Sequence[str]) -> None:
        for fault in self._faults.of("kernel_failure"):
            if fault.node is None or fault.node in members:
                node = fault.node or (members[0] if members else "kernel")
                raise DeviceError(
                    "KERNEL_FAILURE", node, f"compiling its kernel failed (E40021). {fault.asked}", number="E40021"
                )

    def _cache(self, plan: ArtifactPlan, place: FolderPlace, notes: List[ProgramRemark]) -> Optional[KernelCache]:
        if plan.cache is None or (self._asked_only and not plan.cache.asked):
            return None
        data, home = self._folder(plan.cache, place), self._folder(plan.ini, place)
        assert data is not None and plan.caching is not None
        try:
            data.make()
            data = data.inside(SOC).make()
        except NpuError as problem:
            if plan.cache.asked:
                raise
            # Nobody named it: the kernels are compiled all the same, and nothing is kept.
            notes.append(ProgramRemark("CACHE_OFF", "op_compiler_cache_dir", f"nothing is cached: {problem.reason}"))
            return None
        cache = KernelCache(data, home, plan.caching.limits, at_limit=plan.caching.at_limit, clock=self._clock)
        if plan.caching.mode == "force" and data.path not in self._cleared:  # C7
            self._cleared.add(data.path)
            cache.clear()
        return cache

    @staticmethod
    def _store(cache: KernelCache, binary: Binary, notes: List[ProgramRemark]) -> bool:
        """Keeps a kernel, or says that it cannot: a disk that is full keeps nobody from compiling (C14)."""
        try:
            cache.put(binary)
        except NpuError as problem:
            notes.append(ProgramRemark("CACHE_FULL", problem.subject, f"not kept in the cache: {problem.reason}"))
            return False
        return True

    @staticmethod
    def _settle(cache: KernelCache, plan: ArtifactPlan, notes: List[ProgramRemark]) -> None:
        # C13: a file with defaults would overrule the variables from then on
        if plan.caching is None or plan.caching.given_limits:
            return
        try:
            cache.settle()
        except NpuError as problem:
            notes.append(ProgramRemark("CACHE_FULL", problem.subject, f"no op_cache.ini is left: {problem.reason}"))

    # -- the rest -------------------------------------------------------------------------------------------------

    def _constants(
        self, partition: Partition, plan: ArtifactPlan, place: FolderPlace, session: int
    ) -> Tuple[weights.Constant, ...]:
        folder = self._folder(plan.weights, place)
        if folder is None:
            return tuple(weights.constants(partition))
        if session not in self._weights:
            self._weights[session] = weights.Weights(folder)
        return tuple(self._weights[session].add(partition))

    def _fusion_result(self, model: Model, plan: ArtifactPlan, session: int) -> None:
        first = self._graphs.get(session, 0)
        self._graphs[session] = first + len(model.partition.geops)
        folder = self._folder(plan.fusion_result, self._place)  # of the program
        if folder is None or plan.fusion_result is None or (self._asked_only and not plan.fusion_result.asked):
            return
        if folder.path not in self._fusion:
            self._fusion[folder.path] = (folder, plan.fusion_when, {})
            fusions.drop_stale(folder)
        entries = self._fusion[folder.path][2]
        # What is written at once is on disk; what a session before or behind adds is still to be written at the end.
        self._fusion[folder.path] = (folder, plan.fusion_when, entries)
        for geop in range(len(model.partition.geops)):
            entries[f"session_and_graph_id_{session}_{first + geop}"] = fusions.entry(model.compiled, geop)
        if plan.fusion_when == 2:  # D19
            folder.write(fusions.NAME, iter([fusions.text(entries)]))

    def _folder(self, named: Optional[Named], place: FolderPlace) -> Optional[Folder]:
        if named is None:
            return None
        path = place.path(named.name)
        return Folder(path, named.option, *named.below, disk=self._disk, shown=named.name)


def _options(resolution: Resolution, model: Model) -> Dict[str, Any]:
    """Options that a kernel's code depends on, whatever it computes (C1)."""
    settings = model.compiled.settings
    return {
        "precision": model.assignment.mode,
        "deterministic": settings.deterministic,
        "buffer_optimize": settings.l2,
        "dynamic": settings.dynamic,
        "small_channel": settings.small_channel,
        "device": model.compiled.device.name,
    }


def _others(compiled: Compiled) -> Tuple[KernelRecord, ...]:
    """Kernels that come with the device: of the AI CPU and of collectives."""
    return tuple(
        KernelRecord("", kernel.type, kernel.engine, kernel.members, "built_in", 0, ())
        for kernel in compiled.fused.kernels
        if kernel.engine not in ("cube", "vector")
    )
