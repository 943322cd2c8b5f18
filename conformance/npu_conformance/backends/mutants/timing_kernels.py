"""Mutants of kernels: which of two steps is the slower one."""

from __future__ import annotations

from typing import Any, List

from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.mutants.timing_edits import given, has, hearing, scaled, telling, value_of
from npu_reference.errors import NpuError

__all__: List[str] = []

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


def _four_channels(params: Params) -> bool:
    return has("enable_small_channel", 1)(params) and params["graph"].endswith("four_channels.pbtxt")


hearing(
    "small-channel-up-to-three",
    "session.enable_small_channel.threshold",
    "Gains in convolutions of three channels, and no longer of four.",
    _four_channels,
    enable_small_channel=0,
)


for _surface in ("session", "runconfig"):
    telling(
        f"variable-format-{_surface}-slows",
        f"{_surface}.variable_format_optimize.true",
        f"Is slower with variables in the device's format, on surface {_surface}.",
        scaled(10),
        given(_surface, "variable_format_optimize", True),
    )
    hearing(
        f"variable-format-{_surface}-never",
        f"{_surface}.variable_format_optimize.true",
        f"Leaves variables as they are although variable_format_optimize of surface {_surface} is True.",
        given(_surface, "variable_format_optimize", True),
        variable_format_optimize=False,
    )
    hearing(
        f"variable-format-{_surface}-always",
        f"{_surface}.variable_format_optimize.false",
        f"Converts variables although variable_format_optimize of surface {_surface} is False.",
        given(_surface, "variable_format_optimize", False),
        variable_format_optimize=True,
    )


hearing(
    "variable-format-by-default",
    "runconfig.variable_format_optimize.default",
    "Converts variables although variable_format_optimize is not given.",
    lambda params: params["surface"] == "runconfig" and "variable_format_optimize" not in params["values"],
    variable_format_optimize=True,
)


telling(
    "small-channel-off-in-inference",
    "runconfig.enable_small_channel.inference_fixed",
    "Lets enable_small_channel 0 switch off what online inference always has.",
    scaled(2),
    lambda params: given("runconfig", "enable_small_channel", 0)(params) and has("graph_run_mode", 0)(params),
)


def _every_pass(step: Any, params: Params) -> None:
    for one in step.get("fusion", []):
        one["effective"] = max(1, one["effective"])


telling(
    "passes-always-effective",
    "files.fusion_result.effect_times",
    "Says of every pass it has that it had an effect.",
    _every_pass,
)
hearing(
    "steps-with-every-pass",
    "files.fusion_switch.current.all_off",
    "Fuses in a step whatever fusion_switch_file switches off.",
    has("fusion_switch_file"),
    fusion_switch_file=None,
)


def _without_scope_passes(step: Answer, params: Params) -> None:
    step["fusion"] = [one for one in step.get("fusion", ()) if one["section"] != "ScopeFusion"]


telling(
    "scope-passes-of-a-step-are-those-named",
    "runconfig.enable_scope_fusion_passes.general",
    "Joins nothing by a general scope fusion pass in a step where another one is named.",
    _without_scope_passes,
    has("enable_scope_fusion_passes", "ScopeClipBoxesPass"),
)
hearing(
    "scope-passes-of-a-step-alone",
    "session.enable_scope_fusion_passes.nongeneral_on",
    "Reads one name of enable_scope_fusion_passes where a step is made, the first.",
    lambda params: "," in str(value_of(params, "enable_scope_fusion_passes")),
    enable_scope_fusion_passes=lambda names: names.split(",")[0],
)


def _refuses_a_scope(step: Answer, params: Params) -> None:
    raise NpuError("INTERNAL", "LayerNorm", "one operator of the scope waits for another that waits for it.")


telling(
    "scope-passes-join-what-waits-for-itself",
    "runconfig.enable_scope_fusion_passes.general",
    "Joins the operators of a scope though another one lies between them, and refuses what it has made of them.",
    _refuses_a_scope,
    lambda params: params.get("fetches") == ["relu:0"],
)
hearing(
    "lower-precision-in-as-much-memory",
    "precision.g.memory",
    "Lays a step out for float32 whatever its precision mode lowers.",
    has("precision_mode", "force_fp16", "allow_mix_precision"),
    precision_mode="force_fp32",
)
