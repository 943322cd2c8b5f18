"""Mutants of the timing plane: copies, engines, streams, loops and kernels otherwise than the documents say."""

from __future__ import annotations

from typing import Any, Dict, List

from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.mutants.timing_edits import (
    always,
    engine_is,
    given,
    has,
    hearing,
    moved,
    scaled,
    telling,
    value_of,
)

__all__: List[str] = []

# ---------------------------------------------------------------------------------------------------------------------
# Copies of inputs


def _split_fused(step: Answer, params: Params) -> None:
    """No copy carries more than two inputs."""
    found: List[Dict[str, Any]] = []
    for copy in step["transfers"]:
        names = copy["tensors"]
        if copy["direction"] == "h2d" and len(names) > 2:
            half = copy["bytes"] // 2
            found.append({**copy, "tensors": names[:2], "bytes": half})
            found.append({**copy, "tensors": names[2:], "bytes": copy["bytes"] - half})
        else:
            found.append(copy)
    step["transfers"] = found


def _fused_results(step: Answer, params: Params) -> None:
    back = [copy for copy in step["transfers"] if copy["direction"] == "d2h"]
    rest = [copy for copy in step["transfers"] if copy["direction"] != "d2h"]
    if len(back) > 1:
        names = [name for copy in back for name in copy["tensors"]]
        back = [{"direction": "d2h", "bytes": sum(copy["bytes"] for copy in back), "tensors": names}]
    step["transfers"] = rest + back


hearing(
    "inputs-never-fused",
    "runconfig.input_fusion_size.le_fused",
    "Copies every input on its own, whatever the threshold.",
    always,
    input_fusion_size=0,
)
hearing(
    "inputs-fused-below-the-threshold-only",
    "runconfig.input_fusion_size.boundary_equal",
    "Copies an input that is as large as the threshold on its own.",
    has("input_fusion_size"),
    input_fusion_size=lambda size: max(size - 1, 0),
)
hearing(
    "inputs-fused-whatever-their-size",
    "runconfig.input_fusion_size.gt_not_fused",
    "Fuses inputs that are larger than the threshold.",
    lambda params: bool(value_of(params, "input_fusion_size")),
    input_fusion_size=33554432,
)
hearing(
    "inputs-zero-is-the-default",
    "runconfig.input_fusion_size.zero_off",
    "Takes a threshold of 0 for none given.",
    has("input_fusion_size", 0),
    input_fusion_size=None,
)
hearing(
    "inputs-small-ones-fused-at-zero",
    "runconfig.input_fusion_size.example_0kb",
    "Fuses inputs of at most 50 KB although the threshold is 0.",
    has("input_fusion_size", 0),
    input_fusion_size=51200,
)
telling(
    "inputs-fused-in-twos",
    "runconfig.input_fusion_size.example_100kb",
    "Fuses no more than two inputs to one copy.",
    _split_fused,
)
telling(
    "inputs-and-results-fused",
    "runconfig.input_fusion_size.h2d_only",
    "Fuses the copies back to the host too.",
    _fused_results,
    lambda params: value_of(params, "input_fusion_size") != 0,
)

# ---------------------------------------------------------------------------------------------------------------------
# Engines and streams


def _one_stream(step: Answer, params: Params) -> None:
    core = [task["stream"] for task in step["tasks"] if engine_is("cube", "vector")(task)]
    for task in step["tasks"]:
        if core and engine_is("aicpu")(task):
            task["stream"] = core[0]


def _all_at_once(step: Answer, params: Params) -> None:
    """Kernels begin together, whatever they need."""
    kernels = [task for task in step["tasks"] if engine_is("cube", "vector", "aicpu")(task)]
    for task in kernels:
        moved(task, min(one["start_ns"] for one in kernels))


def _steps_together(step: Answer, params: Params) -> None:
    """Every step begins when the first does."""
    begins: Dict[int, int] = {}
    for task in step["tasks"]:
        begins[task["step"]] = min(task["start_ns"], begins.get(task["step"], task["start_ns"]))
    for task in step["tasks"]:
        moved(task, task["start_ns"] - begins[task["step"]])


hearing(
    "ac-parallel-ignored",
    "runconfig.ac_parallel_enable.1",
    'Runs AI CPU and AI Core operators one after the other although ac_parallel_enable is "1".',
    has("ac_parallel_enable", "1"),
    ac_parallel_enable="0",
)
hearing(
    "ac-parallel-always",
    "runconfig.ac_parallel_enable.0",
    'Dispatches AI CPU operators apart although ac_parallel_enable is "0".',
    lambda params: value_of(params, "ac_parallel_enable") != "1",
    ac_parallel_enable="1",
)
hearing(
    "ac-parallel-static-too",
    "runconfig.ac_parallel_enable.dynamic_only",
    "Applies ac_parallel_enable to graphs of static shape.",
    lambda params: has("ac_parallel_enable", "1")(params) and not value_of(params, "compile_dynamic_mode"),
    stream_max_parallel_num="DNN_VM_AICPU:4,AIcoreEngine:1",
)
telling(
    "ac-parallel-on-one-stream",
    "runconfig.ac_parallel_enable.streams",
    "Puts operators of both engines on one stream.",
    _one_stream,
    has("ac_parallel_enable", "1"),
)
telling(
    "ac-parallel-without-order",
    "runconfig.ac_parallel_enable.auto_detect",
    "Runs operators beside each other that need each other.",
    _all_at_once,
    has("ac_parallel_enable", "1"),
)
for _surface, _wide in (("runconfig", "DNN_VM_AICPU:13,AIcoreEngine:1"), ("session", "DNN_VM_TF:13,DNN_V100:1")):
    hearing(
        f"streams-{_surface}-ignored",
        f"{_surface}.stream_max_parallel_num.effect",
        f"Takes no notice of stream_max_parallel_num of surface {_surface}.",
        given(_surface, "stream_max_parallel_num"),
        stream_max_parallel_num=None,
    )
    hearing(
        f"streams-{_surface}-unbounded",
        f"{_surface}.stream_max_parallel_num.effect",
        f"Takes the numbers of stream_max_parallel_num of surface {_surface} for a switch, and runs as many as it can.",
        given(_surface, "stream_max_parallel_num"),
        stream_max_parallel_num=_wide,
    )

hearing(
    "models-never-parallel",
    "runconfig.graph_max_parallel_model_num.effect",
    "Executes the steps of a model one after the other whatever graph_max_parallel_model_num says.",
    has("graph_max_parallel_model_num"),
    graph_max_parallel_model_num=None,
)
telling(
    "models-all-parallel",
    "runconfig.graph_max_parallel_model_num.effect",
    "Executes all steps that are asked for at once beside each other.",
    _steps_together,
    has("graph_max_parallel_model_num", 4),
)
hearing(
    "models-parallel-by-default",
    "runconfig.graph_max_parallel_model_num.default",
    "Executes two steps beside each other where nothing is said of it.",
    lambda params: "concurrent" in params and not has("graph_max_parallel_model_num")(params),
    graph_max_parallel_model_num=2,
)

# ---------------------------------------------------------------------------------------------------------------------
# Loops


def _launched_each(step: Answer, params: Params) -> None:
    step["launches"] *= step["iterations"]


def _loop_of_the_map(step: Answer, params: Params) -> None:
    step["iterations"] = value_of(params, "iterations_per_loop")


hearing(
    "loop-not-sunk",
    "runconfig.iterations_per_loop.effect",
    "Makes one iteration a call whatever iterations_per_loop says.",
    given("runconfig", "iterations_per_loop"),
    iterations_per_loop=1,
)
telling(
    "loop-launched-each-time",
    "runconfig.iterations_per_loop.effect",
    "Goes back to the host after each iteration of a loop.",
    _launched_each,
    given("runconfig", "iterations_per_loop"),
)
telling(
    "loop-of-the-map-entry",
    "session.iterations_per_loop.set_by_api",
    "Loops on the device because of the map entry alone.",
    _loop_of_the_map,
    given("session", "iterations_per_loop"),
)

# ---------------------------------------------------------------------------------------------------------------------
# Kernels

telling(
    "deterministic-is-faster",
    "runconfig.deterministic.perf",
    "Is faster with deterministic computing than without.",
    scaled(0.1),
    has("deterministic", 1),
)
telling(
    "debug-level-2-is-free",
    "session.op_debug_level.perf",
    "Takes no longer at debug level 2, where compilers do not optimise.",
    scaled(0.1),
    has("op_debug_level", 2),
)
telling(
    "debug-level-1-is-faster",
    "session.op_debug_level.perf",
    "Is faster at debug level 1 than without debugging.",
    scaled(0.1),
    has("op_debug_level", 1),
)
telling(
    "exception-dump-costs",
    "session.enable_exception_dump.no_perf_cost",
    "Takes longer with an exception dump that nothing sets off.",
    scaled(1.1),
    has("enable_exception_dump", 1),
)
hearing(
    "small-channel-always",
    "session.enable_small_channel.0",
    "Optimises for small channels although enable_small_channel is 0.",
    given("session", "enable_small_channel", 0),
    enable_small_channel=1,
)
hearing(
    "small-channel-never",
    "session.enable_small_channel.1",
    "Takes no notice of enable_small_channel.",
    given("session", "enable_small_channel", 1),
    enable_small_channel=0,
)
for _surface in ("session", "runconfig"):
    telling(
        f"small-channel-{_surface}-whatever-the-channels",
        f"{_surface}.enable_small_channel.threshold",
        f"Gains by enable_small_channel of surface {_surface} in convolutions of five channels.",
        scaled(0.1),
        given(_surface, "enable_small_channel", 1),
    )
    telling(
        f"l2-{_surface}-slows",
        f"{_surface}.buffer_optimize.l2",
        f"Is slower with the shared cache of surface {_surface} than without.",
        scaled(10),
        given(_surface, "buffer_optimize", "l2_optimize"),
    )
    telling(
        f"l2-{_surface}-off-is-faster",
        f"{_surface}.buffer_optimize.off",
        f"Is faster with off_optimize of surface {_surface}.",
        scaled(0.1),
        given(_surface, "buffer_optimize", "off_optimize"),
    )
hearing(
    "small-channel-run-config-never",
    "runconfig.enable_small_channel.threshold",
    "Takes no notice of NPURunConfig's enable_small_channel.",
    given("runconfig", "enable_small_channel", 1),
    enable_small_channel=0,
)
telling(
    "high-performance-is-slower",
    "session.op_select_implmode.high_performance",
    "Is slower with the high_performance implementation.",
    scaled(10),
    given("session", "op_select_implmode", "high_performance"),
)


def _file_says(word: str) -> Any:
    return lambda params: word in str(params.get("files", {}).get(value_of(params, "op_precision_mode"), ""))


telling(
    "super-performance-is-slower",
    "runconfig.op_precision_mode.super_performance",
    "Is slower with super_performance than with high_performance.",
    scaled(10),
    _file_says("super_performance"),
)
telling(
    "bounds-checked-for-less",
    "runconfig.op_precision_mode.support_out_of_bound_index.perf",
    "Is faster when indices are checked.",
    scaled(0.1),
    _file_says("support_out_of_bound_index"),
)
hearing(
    "prebuilt-kernels-joined",
    "runconfig.jit_compile.false",
    "Compiles kernels for the graph, and fuses them, although prebuilt ones are preferred.",
    has("jit_compile", "false"),
    jit_compile="true",
)
hearing(
    "kernels-never-joined",
    "runconfig.jit_compile.true",
    "Takes prebuilt kernels, that nothing fuses, although all are to be compiled for the graph.",
    has("jit_compile", "true"),
    jit_compile="false",
)
telling(
    "passes-off-by-default",
    "runconfig.fusion_switch_file.default_on",
    "Fuses nothing unless a file switches a pass on.",
    lambda step, params: step["fusion"].clear(),
    lambda params: params["surface"] == "runconfig" and not has("fusion_switch_file")(params),
)
telling(
    "passes-off-are-faster",
    "runconfig.fusion_switch_file.selective",
    "Is faster without the passes that are switched off.",
    scaled(0.1),
    given("runconfig", "fusion_switch_file"),
)
telling(
    "legacy-passes-off-by-default",
    "session.fusion_switch_file.default_on",
    "Fuses nothing on a session unless a file switches a pass on.",
    lambda step, params: step["fusion"].clear(),
    lambda params: params["surface"] == "session" and not has("fusion_switch_file")(params),
)
hearing(
    "legacy-passes-stay-on",
    "session.fusion_switch_file.selective_off",
    "Takes no notice of a session's fusion switch file.",
    given("session", "fusion_switch_file"),
    fusion_switch_file=None,
)

# ---------------------------------------------------------------------------------------------------------------------
# Timeouts


hearing(
    "wait-for-minutes",
    "runconfig.op_wait_timeout.effect",
    "Takes NPURunConfig's op_wait_timeout for minutes.",
    given("runconfig", "op_wait_timeout"),
    op_wait_timeout=lambda seconds: seconds * 60,
)
hearing(
    "wait-never-long-enough",
    "runconfig.op_wait_timeout.effect",
    "Ends a wait after a second, whatever the limit.",
    given("runconfig", "op_wait_timeout"),
    op_wait_timeout=1,
)
hearing(
    "wait-for-a-minute-by-default",
    "runconfig.op_wait_timeout.default",
    "Waits for 60 seconds where no op_wait_timeout is given.",
    lambda params: params["surface"] == "runconfig" and not has("op_wait_timeout")(params),
    op_wait_timeout=60,
)
hearing(
    "legacy-wait-for-minutes",
    "session.op_wait_timeout.unit",
    "Takes a session's op_wait_timeout for minutes.",
    given("session", "op_wait_timeout"),
    op_wait_timeout=lambda seconds: seconds * 60,
)
hearing(
    "kernel-hangs-for-ever",
    "runconfig.op_execute_timeout.effect",
    "Lets a kernel run as long as it will.",
    given("runconfig", "op_execute_timeout"),
    op_execute_timeout=None,
)
hearing(
    "kernel-ended-at-once",
    "runconfig.op_execute_timeout.effect",
    "Ends a kernel after a second, whatever the limit.",
    given("runconfig", "op_execute_timeout"),
    op_execute_timeout=1,
)
for _kind in ("stream", "event"):
    _option = f"{_kind}_sync_timeout"
    hearing(
        f"{_kind}-sync-in-seconds",
        f"runconfig.{_option}.effect",
        f"Takes {_option} for seconds.",
        lambda params, option=_option: (value_of(params, option) or 0) > 0,  # type: ignore[misc]
        **{_option: lambda milliseconds: milliseconds * 1000},
    )
    hearing(
        f"{_kind}-sync-minus-one-is-a-limit",
        f"runconfig.{_option}.minus_one",
        f"Limits a synchronisation to half an hour although {_option} is -1.",
        has(_option, -1),
        **{_option: 1900000},
    )
    hearing(
        f"{_kind}-sync-limited-by-default",
        f"runconfig.{_option}.default",
        f"Limits a synchronisation to half an hour where no {_option} is given.",
        lambda params, option=_option: value_of(params, option) is None,  # type: ignore[misc]
        **{_option: 1900000},
    )

# ---------------------------------------------------------------------------------------------------------------------
# Memory


def _more(measure: str, factor: int) -> Any:
    def edit(step: Answer, params: Params) -> None:
        step["memory"][measure] *= factor

    return edit


hearing(
    "host-variables-fill-the-device",
    "runconfig.variable_placement.host",
    "Keeps variables on the device although they are to lie on the host.",
    has("variable_placement", "Host"),
    variable_placement="Device",
)
hearing(
    "device-variables-on-the-host",
    "runconfig.variable_placement.device",
    "Puts variables on the host although they are to lie on the device.",
    has("variable_placement", "Device"),
    variable_placement="Host",
)
for _kind in ("graph", "variable"):
    _option = f"{_kind}_memory_max_size"
    hearing(
        f"legacy-{_kind}-memory-unbounded",
        f"session.{_option}.meaning",
        f"Takes no notice of {_option}.",
        given("session", _option),
        **{_option: None},
    )
    telling(
        f"{_kind}-memory-reserved",
        f"runconfig.{_option}.no_effect",
        f"Reserves device memory for {_option} of NPURunConfig.",
        _more("total", 2),
        given("runconfig", _option),
    )
telling(
    "external-weights-twice",
    "runconfig.external_weight.advice",
    "Keeps externalised weights in the graph too.",
    _more("total", 2),
    has("external_weight", True),
)
hearing(
    "shapes-generalised-anyway",
    "runconfig.compile_dynamic_mode.false",
    "Generalises shapes although compile_dynamic_mode is False.",
    has("compile_dynamic_mode", False),
    compile_dynamic_mode=True,
)
hearing(
    "shapes-stay-static",
    "runconfig.compile_dynamic_mode.true",
    "Leaves graphs static although compile_dynamic_mode is True.",
    has("compile_dynamic_mode", True),
    compile_dynamic_mode=None,
)


def _four_channels(params: Params) -> bool:
    return has("enable_small_channel", 1)(params) and params["graph"].endswith("four_channels.pbtxt")


hearing(
    "small-channel-up-to-three",
    "session.enable_small_channel.threshold",
    "Gains in convolutions of three channels, and no longer of four.",
    _four_channels,
    enable_small_channel=0,
)

# ---------------------------------------------------------------------------------------------------------------------
# Collectives

for _surface in ("runconfig", "session"):
    hearing(
        f"allreduce-{_surface}-apart",
        f"{_surface}.hcom_parallel.true",
        f"Keeps collectives apart from computing although hcom_parallel of surface {_surface} is True.",
        given(_surface, "hcom_parallel", True),
        hcom_parallel=False,
    )
    hearing(
        f"allreduce-{_surface}-beside",
        f"{_surface}.hcom_parallel.false",
        f"Runs collectives beside computing although hcom_parallel of surface {_surface} is False.",
        given(_surface, "hcom_parallel", False),
        hcom_parallel=True,
    )
hearing(
    "tail-never",
    "runconfig.is_tailing_optimization.effect",
    "Takes no notice of NPURunConfig's is_tailing_optimization.",
    given("runconfig", "is_tailing_optimization", True),
    is_tailing_optimization=False,
)
hearing(
    "tail-always",
    "runconfig.is_tailing_optimization.values",
    "Optimises the tail unless is_tailing_optimization is True.",
    lambda params: params["surface"] == "runconfig" and not has("is_tailing_optimization", True)(params),
    is_tailing_optimization=True,
)
hearing(
    "legacy-tail-never",
    "session.is_tailing_optimization.true",
    "Takes no notice of a session's is_tailing_optimization.",
    given("session", "is_tailing_optimization", True),
    is_tailing_optimization=False,
)
hearing(
    "legacy-tail-always",
    "session.is_tailing_optimization.false",
    "Optimises the tail of a session although is_tailing_optimization is False.",
    given("session", "is_tailing_optimization", False),
    is_tailing_optimization=True,
)
telling(
    "legacy-tail-of-one-device",
    "session.is_tailing_optimization.distributed_only",
    "Orders the step of one device otherwise for is_tailing_optimization.",
    scaled(1.1),
    lambda params: given("session", "is_tailing_optimization", True)(params) and params.get("ranks", 1) == 1,
)
hearing(
    "collectives-wait-by-default",
    "runconfig.hccl_timeout.purpose",
    "Waits for a lost rank as long as by default, whatever hccl_timeout says.",
    given("runconfig", "hccl_timeout"),
    hccl_timeout=None,
)
hearing(
    "collectives-wait-a-step-less-by-default",
    "runconfig.hccl_timeout.default",
    "Waits for a lost rank for 1768 seconds where no hccl_timeout is given.",
    lambda params: params["surface"] == "runconfig" and not has("hccl_timeout")(params),
    hccl_timeout=1800,
)
hearing(
    "legacy-collectives-wait-in-steps",
    "session.hccl_timeout.unit",
    "Takes a session's hccl_timeout for minutes.",
    given("session", "hccl_timeout"),
    hccl_timeout=lambda seconds: seconds * 60,
)
