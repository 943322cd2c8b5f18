"""Which of the options decide what is compiled and scheduled, as one value."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_reference.graphs import ITERATIONS_MARK, Graph
from npu_reference.options.directives import directives
from npu_reference.options.outcome import Resolution

__all__ = ["CompilerSettings", "settings_of"]


class CompilerSettings(NamedTuple):
    """What compilation is told.

    Attributes:
        switched: fusion pass names by section (``GraphFusion``, ``UBFusion``), ``ALL`` for those not named, to
            whether they are on.
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

    switched: Mapping[str, Mapping[str, bool]]
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
    memory: Tuple[Any, Any]
    tailing: bool = False
    receives: bool = False
    sends: Tuple[int, ...] = ()
    scope_passes: Tuple[str, ...] = ()
    tiles: Mapping[Any, Any] = {}

    def is_on(self, section: str, name: str) -> bool:
        """Whether a fusion pass may work (files.fusion_switch): its own entry, else ALL's, else on."""
        entries = self.switched.get(section, {})
        return entries.get(name, entries.get("ALL", True))


def settings_of(resolution: Resolution, graph: Optional[Graph] = None) -> CompilerSettings:
    """The settings that effective options stand for, for a graph that may say how often it runs in a launch."""
    values = resolution.values
    told: Dict[str, Any] = directives(resolution)
    switch: Any = resolution.parsed.get("fusion_switch_file")
    sections: Dict[str, Mapping[str, bool]] = {}
    if switch is not None:
        sections = {"GraphFusion": switch.graph_fusion, "UBFusion": switch.ub_fusion}
    shapes: Any = told["shapes"]
    dynamic = shapes["kind"] in ("dynamic", "ranges") or bool(values.get("compile_dynamic_mode"))
    engines: Any = told["engines"]
    memory: Any = values.get("memory_config") or {}
    parallel = (0, 0)
    if any(number > 1 for number in engines.values()):
        parallel = (engines.get("AI_CPU", 1), engines.get("AI_Core", 1))
    if dynamic and str(values.get("ac_parallel_enable")) == "1":  # runconfig.ac_parallel_enable.dynamic_only
        parallel = (max(parallel[0], 1), max(parallel[1], 1))
    jit = str(values.get("jit_compile"))
    return CompilerSettings(
        switched=sections,
        # runconfig.jit_compile: prebuilt kernels where they are preferred, in dynamic graphs by auto too
        ub_fusion=jit != "false" and not (jit == "auto" and dynamic),
        l2=told["buffer_optimize"] == "on",
        dynamic=dynamic,
        parallel=parallel,
        collectives_parallel=bool(values.get("hcom_parallel")),
        fused_inputs=_number(values.get("input_fusion_size")),
        deterministic=str(values.get("deterministic")) == "1",
        small_channel=str(values.get("enable_small_channel")) == "1",
        variable_format=bool(values.get("variable_format_optimize")),
        clean_apart=memory.get("atomic_clean_policy") == 1,
        static_memory=memory.get("static_memory_policy") == 1,
        external_weights=bool(values.get("external_weight")),
        debug_level=_number(values.get("op_debug_level")),
        loops=_loops(resolution, graph),
        models=max(_number(values.get("graph_max_parallel_model_num")), 1) if not resolution.run_mode else 1,
        mixed=any("mix" in str(values.get(name)) for name in ("precision_mode", "precision_mode_v2")),
        memory=(told["memory"]["graph_bytes"], told["memory"]["variable_bytes"]),
        tailing=bool(values.get("is_tailing_optimization")),
        receives=_number(values.get("local_rank_id")) > 0,
        sends=_sends(resolution),
        scope_passes=tuple(getattr(resolution.parsed.get("enable_scope_fusion_passes"), "names", ())),
    )


def _sends(resolution: Resolution) -> Tuple[int, ...]:
    """Devices beside its own that the main process sends data to (session.local_rank_id.main_dedup; T15: without
    either option it keeps its data)."""
    listed: Any = resolution.parsed.get("local_device_list")
    rank, device = (resolution.values.get(name) for name in ("local_rank_id", "session_device_id"))
    if rank != 0 or listed is None:
        return ()
    own = device if isinstance(device, int) and device >= 0 else 0
    return tuple(number for number in listed.devices if number != own)


def _loops(resolution: Resolution, graph: Optional[Graph]) -> int:
    """Iterations that one launch makes.

    On the session surface set_iteration_per_loop alone makes a loop, by a mark on the operation that it returns; the
    option is there to verify it (session.iterations_per_loop.set_by_api).
    """
    asked = (
        [] if graph is None else [node.attr(ITERATIONS_MARK) for node in graph.nodes if node.has_attr(ITERATIONS_MARK)]
    )
    marked = [number for number in asked if isinstance(number, int)]
    if marked:
        return max(*marked, 1)
    return 1 if resolution.surface == "session" else max(_number(resolution.values.get("iterations_per_loop")), 1)


def _number(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
