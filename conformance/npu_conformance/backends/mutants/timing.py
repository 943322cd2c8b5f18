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
