"""Effective options by subject, each in its own type: the one module that reads values by the options' names."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Tuple

from npu_reference.options.files.aoe_config import AoeConfig
from npu_reference.options.files.customize_dtypes import CustomDtypes
from npu_reference.options.files.fusion_switch import FusionSwitch
from npu_reference.options.files.mixlist import Mixlist
from npu_reference.options.files.op_debug import OpDebug
from npu_reference.options.files.op_precision import OpPrecision
from npu_reference.options.grammars.dump_step import Steps
from npu_reference.options.grammars.in_out_pair import Range
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.options.grammars.shapes import InputShape, Profiles, Ranges
from npu_reference.options.outcome import Effective

__all__ = [
    "UNITS", "ArtifactOptions", "CacheOptions", "CompilerSettings", "DataDump", "EffectiveOptions", "Implementation",
    "PartitionSettings", "PrecisionOptions", "Ranks", "ShapeOptions", "Timeouts", "TuningOptions", "typed",
]  # fmt: skip


class PartitionSettings(NamedTuple):
    """What partitioning asks of the options; the defaults are those of a session that sets nothing."""

    use_off_line: bool = True
    mix: bool = False
    data_pre_proc: bool = False
    iterations: int = 1
    variables_on_host: bool = False
    ranges: Tuple[Range, ...] = ()
    ranges_text: Optional[str] = None  # what was given for in_out_pair, where it was given
    offload_ranges: bool = True
    lazy_recompile: bool = False
    job: str = "localhost"


class PrecisionOptions(NamedTuple):
    """The precision mode, whether ``precision_mode_v2`` says it, and the files that change what it does."""

    mode: str
    v2: bool
    mixlist: Optional[Mixlist]
    dtypes: Optional[CustomDtypes]


class Implementation(NamedTuple):
    """Which variant of operators is compiled: a file alone, else a mode, which may be for some types only (P24)."""

    file: Optional[OpPrecision]
    mode: Optional[str]
    types: Optional[Tuple[str, ...]]


class CompilerSettings(NamedTuple):
    """What compilation is told.

    Attributes:
        switch: fusion passes by section (``GraphFusion``, ``UBFusion``) that a file switches on and off.
        ub_fusion: whether kernels are compiled for this graph at all; prebuilt ones are not fused (jit_compile).
        l2: whether what fits the shared cache is read from there (buffer_optimize).
        dynamic: whether shapes are found only when the graph runs.
        parallel: streams of the AI CPU and of the AI Core; (0, 0) where all tasks share one.
        collectives_parallel: whether collectives have a stream of their own (hcom_parallel).
        fused_inputs: inputs up to this size in bytes share a transfer; 0 for none.
        deterministic: one order of accumulation (deterministic).
        small_channel: convolutions of few channels have kernels of their own.
        variable_format: variables have the device's layout since their initialisation (variable_format_optimize).
        clean_apart: memory that kernels add into is cleared piece by piece (atomic_clean_policy 1), not at once.
        static_memory: memory is taken as a whole, as large as it is allowed to be (static_memory_policy 1).
        external_weights: constants lie in files and not in the graph (external_weight).
        debug_level: op_debug_level.
        loops: iterations that one launch makes (iterations_per_loop, set_iteration_per_loop).
        models: steps that online inference runs beside each other (graph_max_parallel_model_num).
        mixed: whether a precision mode lowers what it can.
        memory: bytes for feature maps and for variables that the session allows; None without a limit.
        tailing: whether computation goes on beside the last AllReduce (is_tailing_optimization).
        receives: whether data comes from the main process of the server and no dataset is read here (local_rank_id
            above 0).
        sends: devices of other processes that this one, the main process, sends data to (local_device_list).
        scope_passes: scope fusion passes that are switched on by name (enable_scope_fusion_passes).
        tiles: of products of matrices that were tuned, instead of the compiler's own (aoe_mode).
    """

    switch: Optional[FusionSwitch]
    ub_fusion: bool
    l2: bool
    dynamic: bool
    parallel: Tuple[int, int]
    collectives_parallel: bool
    fused_inputs: int
    deterministic: bool
    small_channel: bool
    variable_format: bool
    clean_apart: bool
    static_memory: bool
    external_weights: bool
    debug_level: int
    loops: int
    models: int
    mixed: bool
    memory: Tuple[Optional[int], Optional[int]]
    tailing: bool
    receives: bool
    sends: Tuple[int, ...]
    scope_passes: Tuple[str, ...]
    tiles: Mapping[Any, Any] = {}

    def is_on(self, section: str, name: str) -> bool:
        """Whether a fusion pass may work (files.fusion_switch)."""
        return self.switch is None or self.switch.is_on(section, name)


class ShapeOptions(NamedTuple):
    """Shapes of inputs: ``listed`` ones with ``profiles``, of placeholders or a dataset; else ``dynamic`` ones, which
    may be ``recompiled`` and have ``ranges``."""

    listed: Optional[InputShape]
    profiles: Optional[Profiles]
    of_placeholders: bool
    dynamic: bool
    recompiled: bool
    ranges: Optional[Ranges]

    @property
    def kind(self) -> str:
        """``profiles``, ``fixed``, ``recompiled`` (S16), ``dynamic`` (S8) or ``ranges``."""
        if self.listed is not None and self.profiles is not None:
            return "profiles"
        if not self.dynamic:
            return "fixed"
        if self.recompiled:
            return "recompiled"
        return "dynamic" if self.ranges is None else "ranges"


class CacheOptions(NamedTuple):
    """The cache of kernels.

    Attributes:
        mode: enable or force.
        directory: as options or the environment name it; origin: who named it.
        limits: MB and percentage; at_limit: whether a cache of just that size is too large already (B33).
        given_limits: whether a variable of the environment set one of them, so that no file is generated (C13).
    """

    mode: str
    directory: str
    origin: str
    limits: Tuple[int, int]
    at_limit: bool
    given_limits: bool


class ArtifactOptions(NamedTuple):
    """What compilation leaves.

    Attributes:
        debug: what kernels are compiled with beside op_debug_level.
        debug_dir: of kernel files; debug_dir_of_environment: whether a variable named it.
        cache: of kernels; None where nothing is cached.
        statistics: of fusion: 0 never, 1 at the end of the program, 2 at once; statistics_asked: no default.
    """

    debug: Optional[OpDebug]
    debug_dir: str
    debug_dir_of_environment: bool
    cache: Optional[CacheOptions]
    statistics: int
    statistics_asked: bool


class DataDump(NamedTuple):
    """What is dumped while a session runs.

    Attributes:
        path: as given; relative to the current directory at session creation (D8).
        steps: iterations from 0; None: every one.
        mode: ``input``, ``output`` or ``all``.
        overflow: only operators whose results overflow: ``aicore_overflow``, ``atomic_overflow`` or ``all``; empty for
            every operator.
        before_quantisation: whether tensors that only a quantisation reads are kept (quant_dumpable).
        option: that names the path.
    """

    path: str
    steps: Optional[Steps]
    mode: str
    overflow: str = ""
    before_quantisation: bool = True
    option: str = "dump_path"

    def wants(self, step: int) -> bool:
        """Whether an iteration is dumped."""
        return self.steps is None or step in self.steps


#: Of the timeouts, in their order: documents 002 and 003 give seconds to the first three.
UNITS = ("seconds", "seconds", "seconds", "milliseconds", "milliseconds")


class Timeouts(NamedTuple):
    """The timeouts, as numbers of their :data:`UNITS`; None: none, or no such option."""

    hccl: Optional[int]
    op_wait: Optional[int]
    op_execute: Optional[int]
    stream_sync: Optional[int]
    event_sync: Optional[int]


class Ranks(NamedTuple):
    """The device of a session, its rank in the server, and the devices that the main process sends data to."""

    device: Optional[int]
    rank: Optional[int]
    devices: Tuple[int, ...]


class TuningOptions(NamedTuple):
    """What is tuned: the mode of aoe_mode and its file, auto_tune_mode's algorithms, and where results lie."""

    mode: Optional[str]
    config: Optional[AoeConfig]
    algorithms: Tuple[str, ...]
    work_path: str


class EffectiveOptions(NamedTuple):
    """What the options of a session say, by subject.

    Attributes:
        engines: parallel streams of the AI CPU and of the AI Core.
        iterations_given: iterations_per_loop, where it was given.
        dump: data that is dumped; None for nothing.
        exception_dump: enable_exception_dump; exception_dump_asked: whether it is no default.
        profiling: what is collected; None where profiling is off or has nowhere to go (session.profiling_mode).
        trace_points: operators that profiling_options names, while profiling is on.
    """

    partition: PartitionSettings
    precision: PrecisionOptions
    implementation: Implementation
    compiler: CompilerSettings
    shapes: ShapeOptions
    artifacts: ArtifactOptions
    timeouts: Timeouts
    ranks: Ranks
    tuning: TuningOptions
    engines: Tuple[int, int]
    iterations_given: Optional[int]
    dump: Optional[DataDump]
    exception_dump: int
    exception_dump_asked: bool
    profiling: Optional[ProfilingOptions]
    trace_points: Tuple[str, ...]


def typed(
    effective: Mapping[str, Effective], meanings: Mapping[str, Any], *, training: bool, session: bool, carried: bool
) -> EffectiveOptions:
    """The options of a resolution.

    Args:
        meanings: of texts, files and objects, by option.
        training: the graph run mode; session: the surface; carried: whether an NPURunConfig gave them.
    """
    values: Mapping[str, Any] = {name: one.value for name, one in effective.items()}
    get, meaning = values.get, meanings.get
    shapes = ShapeOptions(
        meaning("input_shape"),
        meaning("dynamic_dims"),
        get("dynamic_node_type") == 1,
        bool(get("dynamic_input")),
        bool(get("dynamic_input")) and get("dynamic_graph_execute_mode") == "lazy_recompile",
        meaning("dynamic_inputs_shape_range"),
    )
    partition = PartitionSettings(
        use_off_line=get("use_off_line") is not False,
        mix=bool(get("mix_compile_mode")),
        data_pre_proc=bool(get("enable_data_pre_proc")),
        iterations=get("iterations_per_loop") or 1,
        variables_on_host=get("variable_placement") == "Host",
        ranges=meaning("in_out_pair", ()),
        ranges_text=get("in_out_pair"),
        offload_ranges=get("in_out_pair_flag") is not False,
        lazy_recompile=shapes.recompiled,
    )
    engines: Any = tuple(meanings["stream_max_parallel_num"].engines.values())
    devices = meaning("local_device_list")
    ranks = Ranks(get("session_device_id"), get("local_rank_id"), () if devices is None else devices.devices)
    v2 = get("precision_mode_v2")
    mode = v2 or get("precision_mode") or "allow_fp32_to_fp16"  # precision.s.none_alias
    types, algorithms = meaning("optypelist_for_implmode"), meaning("auto_tune_mode")
    given = effective.get("iterations_per_loop")
    profiled = meaning("profiling_options") if get("profiling_mode") else None
    return EffectiveOptions(
        partition,
        PrecisionOptions(mode, bool(v2), meaning("modify_mixlist"), meaning("customize_dtypes")),
        Implementation(meaning("op_precision_mode"), get("op_select_implmode"), None if types is None else types.names),
        _compiler(
            get,
            meaning,
            shapes,
            ranks,
            engines,
            mixed="mix" in mode,
            loops=1 if session else partition.iterations,
            models=1 if training else get("graph_max_parallel_model_num") or 1,
        ),
        shapes,
        ArtifactOptions(
            meaning("op_debug_config"),
            values["debug_dir"],
            effective["debug_dir"].origin == "environment",
            _cache(effective),
            get("export_compile_stat") or 0,
            "export_compile_stat" in effective and effective["export_compile_stat"].origin != "default",
        ),
        Timeouts(*(get(f"{name}_timeout") for name in Timeouts._fields)),
        ranks,
        TuningOptions(
            get("aoe_mode"),
            meaning("aoe_config_file") if get("aoe_mode") else None,  # T35
            () if algorithms is None else algorithms.names,
            get("work_path") or ".",
        ),
        engines,
        partition.iterations if given is not None and given.origin == "given" else None,
        _dump(get, meanings, training=training, carried=carried),
        values["enable_exception_dump"] or 0,
        effective["enable_exception_dump"].origin != "default",
        profiled if profiled and profiled.output else None,
        tuple(filter(None, (profiled.fp_point, profiled.bp_point))) if profiled else (),
    )


def _compiler(
    get: Any, meaning: Any, shapes: ShapeOptions, ranks: Ranks, engines: Tuple[int, int], **more: Any
) -> CompilerSettings:
    dynamic = shapes.kind in ("dynamic", "ranges") or bool(get("compile_dynamic_mode"))
    parallel = engines if max(engines) > 1 else (0, 0)
    if dynamic and get("ac_parallel_enable") == "1":  # runconfig.ac_parallel_enable.dynamic_only
        parallel = (max(parallel[0], 1), max(parallel[1], 1))
    jit, memory, passes = get("jit_compile"), meaning("memory_config", {}), meaning("enable_scope_fusion_passes")
    sizes = (meaning("graph_memory_max_size"), meaning("variable_memory_max_size"))
    # Devices beside its own that the main process sends data to (session.local_rank_id.main_dedup; T15: without either
    # option it keeps its data).
    own, receivers = max(ranks.device or 0, 0), ranks.devices if ranks.rank == 0 else ()
    return CompilerSettings(
        switch=meaning("fusion_switch_file"),
        # runconfig.jit_compile: prebuilt kernels where they are preferred, in dynamic graphs by auto too
        ub_fusion=jit != "false" and not (jit == "auto" and dynamic),
        l2=get("buffer_optimize") != "off_optimize",
        dynamic=dynamic,
        parallel=parallel,
        collectives_parallel=bool(get("hcom_parallel")),
        fused_inputs=get("input_fusion_size") or 0,
        deterministic=get("deterministic") == 1,
        small_channel=get("enable_small_channel") == 1,
        variable_format=bool(get("variable_format_optimize")),
        clean_apart=memory.get("atomic_clean_policy") == 1,
        static_memory=memory.get("static_memory_policy") == 1,
        external_weights=bool(get("external_weight")),
        debug_level=get("op_debug_level") or 0,
        memory=(sizes[0] and sizes[0].size, sizes[1] and sizes[1].size),
        tailing=bool(get("is_tailing_optimization")),
        receives=(ranks.rank or 0) > 0,
        sends=tuple(number for number in receivers if number != own),
        scope_passes=() if passes is None else passes.names,
        **more,
    )


def _cache(effective: Mapping[str, Effective]) -> Optional[CacheOptions]:
    mode, directory = str(effective["op_compiler_cache_mode"].value), effective["op_compiler_cache_dir"]
    name = str(directory.value)
    if mode not in ("enable", "force") or "$" in name:  # HOME is not set: there is no default place
        return None
    unset = Effective(None, "")
    size, ratio = effective.get("max_op_cache_size", unset), effective.get("remain_cache_size_ratio", unset)
    limits: Any = (-1 if size.value is None else size.value, 100 if ratio.value is None else ratio.value)
    at_limit = size.origin == "environment"
    return CacheOptions(mode, name, directory.origin, limits, at_limit, at_limit or ratio.origin == "environment")


def _dump(get: Any, meanings: Mapping[str, Any], *, training: bool, carried: bool) -> Optional[DataDump]:
    """What ``enable_dump`` or ``DumpConfig`` asks for; None for nothing."""
    config, overflow = meanings.get("dump_config", {}), ""
    if config.get("enable_dump_debug") or (carried and get("enable_dump_debug")):
        overflow = str(config.get("dump_debug_mode") or get("dump_debug_mode") or "all")
    if not get("dump_path") or not (get("enable_dump") or overflow):
        return None
    # 003: before quantisation something may be optimised away unless quant_dumpable is 1; it is about inference only.
    kept = training or get("quant_dumpable") == "1"
    mode = get("dump_mode") or config.get("dump_mode") or "output"
    return DataDump(get("dump_path"), meanings.get("dump_step"), mode, overflow, kept)
