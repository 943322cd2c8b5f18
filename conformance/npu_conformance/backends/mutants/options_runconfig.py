"""Mutants of NPURunConfig's options: one for every must beside type, default, example, domain and rule."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend
from npu_conformance.backends.mutants.option_faults import (
    Fault,
    accepts,
    declare,
    default_is,
    effective_is,
    given,
    ignores,
    means,
    out_of_scenario,
    refuses,
    silent,
    texts,
    untyped,
)

__all__: List[str] = []

# One of its own for every other must


def _is(option: str, value: Any) -> Any:
    return lambda params: given(params, option) == value


def _value(option: str, wanted: Any, instead: Any) -> Fault:
    return effective_is(option, lambda value: instead, _is(option, wanted))


def _in_mode(mode: int, option: str, value: Any) -> Fault:
    """Another default of ``option`` where graph_run_mode is given as ``mode``."""
    return default_is(option, value, _is("graph_run_mode", mode))


def _shapes(group: str, change: Any) -> Fault:
    """Misreads the shapes of one group of dynamic_inputs_shape_range."""

    def misread(meaning: Dict[str, Any]) -> Dict[str, Any]:
        return {**meaning, group: change(meaning[group])} if group in meaning else meaning

    return means("dynamic_inputs_shape_range", misread)


def _below(option: str, first: str) -> Any:
    return lambda params: str(given(params, option)).startswith(first)


def _debug(change: Any) -> Fault:
    """Misreads the options of an op_debug_config file."""
    return means(
        "op_debug_config", lambda meaning: {**meaning, "op_debug_config": sorted(change(meaning["op_debug_config"]))}
    )


def _without(word: str) -> Any:
    return lambda words: [one for one in words if one != word]


def _read_only(params: Params) -> bool:
    return any(isinstance(entry, dict) for entry in params.get("files", {}).values())


_ONES: List[Tuple[str, str, Fault]] = [
    ("graph_run_mode.0", "Leaves small channels off in online inference.", _in_mode(0, "enable_small_channel", 0)),
    ("graph_run_mode.1", "Switches small channels on in training.", _in_mode(1, "enable_small_channel", 1)),
    (
        "enable_small_channel.training_default",
        "Forces float16 where training is asked for.",
        _in_mode(1, "precision_mode", "force_fp16"),
    ),
    (
        "input_fusion_size.unit",
        "Takes input_fusion_size for a number of KB.",
        effective_is("input_fusion_size", lambda value: value * 1024),
    ),
    ("input_fusion_size.default_kb", "Takes 128 KB for 128000 bytes.", default_is("input_fusion_size", 128000)),
    (
        "compile_dynamic_mode.false",
        "Generalises shapes whatever is given.",
        _value("compile_dynamic_mode", False, True),
    ),
    ("op_debug_config.oom.effect", "Has no oom check.", _debug(_without("oom"))),
    ("op_debug_config.ccec_O0", "Does not pass ccec_O0 on.", _debug(_without("ccec_O0"))),
    (
        "op_debug_config.ccec_g",
        "Takes ccec_g for -O0 as well.",
        _debug(lambda words: {*words, "ccec_O0"} if "ccec_g" in words else words),
    ),
    (
        "op_debug_config.default_all_ops",
        "Restricts debug options to matrix multiplications unless a list says otherwise.",
        means(
            "op_debug_config",
            lambda meaning: {**meaning, "op_debug_list": {"name": [], "OpType": ["MatMul"]}},
            lambda params: "op_debug_list" not in texts(params),
        ),
    ),
    (
        "op_debug_config.O0_oom_exclusive",
        "Takes ccec_O0 beside oom.",
        accepts("op_debug_config", lambda params: "ccec_O0" in texts(params) and "oom" in texts(params)),
    ),
    ("quant_dumpable.inference_only", "Dumps before quantization in training.", out_of_scenario("quant_dumpable")),
    (
        "graph_max_parallel_model_num.inference",
        "Runs graphs in parallel in training.",
        out_of_scenario("graph_max_parallel_model_num"),
    ),
    (
        "buffer_optimize.l2",
        "Reads l2_optimize as off_optimize.",
        _value("buffer_optimize", "l2_optimize", "off_optimize"),
    ),
    (
        "buffer_optimize.off",
        "Reads off_optimize as l2_optimize.",
        _value("buffer_optimize", "off_optimize", "l2_optimize"),
    ),
    (
        "op_precision_mode.name_over_type",
        "Reads no entries by node name.",
        means("op_precision_mode", lambda meaning: {**meaning, "ByNodeName": {}}),
    ),
    (
        "enable_scope_fusion_passes.list",
        "Switches on the first of several patterns only.",
        means("enable_scope_fusion_passes", lambda names: names[:1]),
    ),
    (
        "stream_max_parallel_num.engine_aicpu",
        "Takes the number of the AI CPU engine for both engines.",
        means("stream_max_parallel_num", lambda engines: dict.fromkeys(engines, engines["DNN_VM_AICPU"])),
    ),
    (
        "stream_max_parallel_num.engine_aicore",
        "Leaves the AI Core engine at 1.",
        means("stream_max_parallel_num", lambda engines: {**engines, "AIcoreEngine": 1}),
    ),
    ("aoe_mode.1", "Tunes operators where subgraphs are asked for.", _value("aoe_mode", "1", "2")),
    ("aoe_mode.2", "Tunes subgraphs where operators are asked for.", _value("aoe_mode", "2", "1")),
    ("aoe_mode.4", "Has no gradient splitting.", _value("aoe_mode", "4", None)),
    ("work_path.permission", "Takes a work_path it cannot use.", accepts("work_path", _read_only)),
    (
        "work_path.absolute",
        "Takes an absolute work_path for a relative one.",
        accepts("work_path", _below("work_path", "/")),
    ),
    (
        "work_path.relative",
        "Takes a relative work_path for an absolute one.",
        accepts("work_path", _below("work_path", "output")),
    ),
    (
        "aoe_config_file.purpose",
        "Tunes all operators whatever the file names.",
        means("aoe_config_file", lambda meaning: {**meaning, "tune_ops_name": [], "tune_ops_type": []}),
    ),
    (
        "hccl_timeout.floor68",
        "Lets timeouts below 68 s take effect as given.",
        effective_is("hccl_timeout", lambda value: 67, lambda params: given(params, "hccl_timeout") < 68),
    ),
    (
        "hccl_timeout.example600",
        "Computes the formula as printed, 600 // 6 * 68.",
        effective_is("hccl_timeout", lambda value: 600 // 6 * 68, _is("hccl_timeout", 600)),
    ),
    (
        "hccl_timeout.boundary",
        "Rounds the collective timeout up to a whole step.",
        effective_is(
            "hccl_timeout", lambda value: value + 68, lambda params: given(params, "hccl_timeout") in (135, 1800)
        ),
    ),
    ("hccl_timeout.purpose", "Bounds no collective communication.", effective_is("hccl_timeout", lambda value: None)),
    (
        "op_wait_timeout.effect",
        "Takes op_wait_timeout for minutes.",
        effective_is("op_wait_timeout", lambda value: value * 60),
    ),
    (
        "op_execute_timeout.effect",
        "Takes op_execute_timeout for minutes.",
        effective_is("op_execute_timeout", lambda value: value * 60),
    ),
    (
        "stream_sync_timeout.effect",
        "Takes stream_sync_timeout for seconds.",
        effective_is("stream_sync_timeout", lambda value: value * 1000),
    ),
    (
        "event_sync_timeout.effect",
        "Takes event_sync_timeout for seconds.",
        effective_is("event_sync_timeout", lambda value: value * 1000),
    ),
    (
        "jit_compile.auto.static",
        "Takes auto for false: looks for binaries first.",
        _value("jit_compile", "auto", "false"),
    ),
    ("jit_compile.auto.dynamic", "Takes auto for true: always compiles.", _value("jit_compile", "auto", "true")),
    ("jit_compile.true", "Takes true for auto.", _value("jit_compile", "true", "auto")),
    ("jit_compile.false", "Takes false for auto.", _value("jit_compile", "false", "auto")),
    (
        "variable_format_optimize.empty_off",
        "Keeps the legacy default of variable_format_optimize.",
        default_is("variable_format_optimize", True, lambda params: params["edition"] == "current"),
    ),
    (
        "op_select_implmode.high_performance",
        "Takes high_performance for high_precision.",
        _value("op_select_implmode", "high_performance", "high_precision"),
    ),
    (
        "optypelist_for_implmode.list",
        "Knows nothing of ROIAlign.",
        means("optypelist_for_implmode", lambda names: [name for name in names if name != "ROIAlign"]),
    ),
    (
        "optypelist_for_implmode.empty",
        "Restricts the mode to Pooling unless a list says otherwise.",
        default_is("optypelist_for_implmode", "Pooling"),
    ),
    (
        "op_compiler_cache_mode.debug_cfg_with_list",
        "Switches the operator cache off beside a file with op_debug_list.",
        effective_is(
            "op_compiler_cache_mode", lambda value: "disable", lambda params: "op_debug_list" in texts(params)
        ),
    ),
    (
        "dynamic_inputs_shape_range.keywords",
        "Takes other keywords than getnext and data.",
        accepts("dynamic_inputs_shape_range", _below("dynamic_inputs_shape_range", "iterator")),
    ),
    (
        "dynamic_inputs_shape_range.scalar",
        "Takes blanks before a bracket.",
        accepts("dynamic_inputs_shape_range", lambda params: " [" in str(given(params, "dynamic_inputs_shape_range"))),
    ),
    (
        "dynamic_inputs_shape_range.dims",
        "Takes a bounded dimension for its lower bound.",
        _shapes("data", lambda shapes: [[dim.split("~")[0] for dim in shape] for shape in shapes]),
    ),
    (
        "dynamic_inputs_shape_range.static_listed",
        "Passes over inputs of static shape.",
        _shapes("getnext", lambda shapes: [shape for shape in shapes if any("~" in d or d == "-1" for d in shape)]),
    ),
    ("dynamic_inputs_shape_range.order", "Binds dataset inputs last to first.", _shapes("getnext", lambda s: s[::-1])),
    (
        "dynamic_inputs_shape_range.order_unnamed",
        "Binds placeholders last to first.",
        _shapes("data", lambda shapes: shapes[::-1]),
    ),
    (
        "dynamic_inputs_shape_range.order_named",
        "Sorts the ranges of placeholders.",
        _shapes("data", lambda shapes: sorted(shapes)),
    ),
    (
        "dynamic_inputs_shape_range.more_than_10",
        "Moves the range of index 10 behind that of index 9.",
        _shapes("data", lambda shapes: shapes[:2] + shapes[3:] + shapes[2:3] if len(shapes) > 10 else shapes),
    ),
    (
        "dynamic_inputs_shape_range.example_counts",
        "Keeps one dataset input.",
        _shapes("getnext", lambda shapes: shapes[:1]),
    ),
]
for _requirement, _sentence, _fault in _ONES:
    declare(f"options.runconfig.{_requirement}", f"runconfig.{_requirement}", _sentence, _fault)

for _name in ("graph_memory_max_size", "variable_memory_max_size"):
    declare(
        f"options.runconfig.{_name}.out_of_range_refused",
        f"runconfig.{_name}.no_effect",
        f"Refuses a {_name} that the older edition would.",
        refuses(_name, lambda params: params["edition"] == "current", "OPTION_VALUE"),
    )


_SILENCES = (
    ("experimental_config", "experimental", "experiment.not_commercial", "an object for experiments"),
    ("jit_compile", "experimental", "experiment.not_commercial", "an option for experiments"),
)
for _name, _code, _requirement, _what in _SILENCES:
    declare(
        f"options.runconfig.{_name}.silent_{_code}",
        f"runconfig.{_requirement}",
        f"Does not tell that {_name} is {_what}.",
        silent(_name, _code),
    )


# Precision, on both surfaces

for _what, _requirement, _sentence, _fault in (
    ("any_type", "precision.s.type_string", "Takes a precision_mode of any type.", untyped("precision_mode")),
    ("ignored", "precision.g.session", "Takes no notice of a session's precision_mode.", ignores("precision_mode")),
    (
        "ignored",
        "precision.g.estimator",
        "Takes no notice of NPURunConfig's precision_mode.",
        ignores("precision_mode"),
    ),
    ("any_file", "precision.s.mixlist.path", "Takes a modify_mixlist that is not there.", accepts("modify_mixlist")),
):
    declare(f"options.{_requirement}.{_what}", _requirement, _sentence, _fault)


# What training checks


@mutant(
    "options.runconfig.iterations_per_loop.multiple",
    "runconfig.iterations_per_loop.multiple",
    options=("iterations_per_loop",),
    surface="runconfig",
    kind="dropped_rule",
)
class BrokenLoops(ReferenceBackend):
    """Trains a number of steps that fills no whole loops."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        return {**answer, "output": re.sub("(25 steps.*: )refused.*", r"\1step 30", answer.get("output", ""))}


@mutant(
    "options.runconfig.is_tailing_optimization.pair",
    "runconfig.is_tailing_optimization.pair",
    options=("is_tailing_optimization",),
    surface="runconfig",
    kind="dropped_rule",
)
class TailingInOnePlace(ReferenceBackend):
    """Trains with tailing optimization in one place only."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        return {**answer, "output": re.sub("(alone with it: )refused.*", r"\1step 2", answer.get("output", ""))}
