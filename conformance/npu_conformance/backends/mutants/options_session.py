"""Mutants of a session's options: one for every must of document 002 beside type, default, example, domain and rule."""

from __future__ import annotations

import posixpath
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants.edits import Params
from npu_conformance.backends.mutants.option_faults import (
    Fault,
    accepts,
    declare,
    default_is,
    does,
    given,
    means,
    refuses,
    together,
    unbounded,
    untyped,
    wrong_default,
)

__all__: List[str] = []

Meaning = Dict[str, Any]


def _is(option: str, *values: Any) -> Callable[[Params], bool]:
    return lambda params: given(params, option) in values


def _holds(option: str, piece: str) -> Callable[[Params], bool]:
    return lambda params: piece in str(given(params, option))


def _lacks(option: str, piece: str) -> Callable[[Params], bool]:
    return lambda params: piece not in str(given(params, option))


def _access(params: Params) -> bool:
    return any(isinstance(entry, dict) for entry in params.get("files", {}).values())


def _part(option: str, key: str, change: Callable[[Any], Any]) -> Fault:
    """Misreads one part of what an option says."""

    def misread(meaning: Meaning) -> Meaning:
        return {**meaning, key: change(meaning[key])} if key in meaning else meaning

    return means(option, misread)


def _below_here(ask: Any, params: Params) -> Any:
    """Every directory of the request stands at the root as well."""
    files = dict(params.get("files", {}))
    for path, content in list(files.items()):
        files.setdefault(posixpath.join("/", path), content)
    return ask({**params, "files": files})


# Dumps and profiling

_POINTS = ("fp_point", "bp_point")
_DUMPS: List[Tuple[str, str, Fault]] = [
    ("dump_path.required", "Refuses a dump that has its path.", refuses("enable_dump", _holds("dump_path", "/"))),
    ("dump_path.permission", "Takes a dump_path it cannot use.", accepts("dump_path", _access)),
    (
        "dump_path.not_a_dir",
        "Takes a file for a directory of dumps.",
        accepts("dump_path", lambda params: given(params, "dump_path") in params.get("files", {})),
    ),
    ("dump_path.absolute", "Takes an absolute dump_path for a relative one.", _below_here),
    ("dump_step.range_order", "Takes steps from high to low.", unbounded("dump_step", _holds("dump_step", "5-3"))),
    (
        "profiling_options.output.permission",
        "Takes an output directory of profiles it cannot use.",
        accepts("profiling_options", _access),
    ),
    (
        "profiling_options.output.absolute",
        "Takes an absolute output of profiling_options for a relative one.",
        _below_here,
    ),
    (
        "profiling_options.training_trace.optional",
        "Demands training_trace.",
        refuses("profiling_options", _lacks("profiling_options", "training_trace"), "OPTION_SYNTAX"),
    ),
    (
        "profiling_options.training_trace.only_on",
        "Takes training_trace off.",
        unbounded("profiling_options", _holds("profiling_options", '"training_trace":"off"')),
    ),
    (
        "profiling_options.bp_point.required",
        "Traces training without its last backward operator.",
        accepts("profiling_options", _lacks("profiling_options", "bp_point")),
    ),
    (
        "profiling_options.aic_metrics.domain",
        "Takes metrics it does not know.",
        unbounded("profiling_options", _holds("profiling_options", "Foo")),
    ),
    (
        "profiling_options.aic_metrics.default",
        "Measures Memory unless told otherwise.",
        means(
            "profiling_options",
            lambda meaning: {**meaning, "aic_metrics": "Memory"},
            _lacks("profiling_options", "aic_metrics"),
        ),
    ),
    (
        "profiling_options.example_values",
        "Reads the names of fp_point and bp_point up to their first slash.",
        together(
            *[_part("profiling_options", key, lambda name: name.split("/")[0] if name else name) for key in _POINTS]
        ),
    ),
]

# Memory and tuning

_MEMORY: List[Tuple[str, str, Fault]] = [
    (
        "memory.sum_with_defaults",
        "Adds up only the memory sizes that are given.",
        accepts("graph_memory_max_size", lambda params: "variable_memory_max_size" not in params["values"]),
    ),
    (
        "memory.default_sum_ok",
        "Has 32 GiB of graph memory by default, for more than there is.",
        default_is("graph_memory_max_size", str(32 * 1024**3)),
    ),
    ("auto_tune_mode.effect", "Tunes by one algorithm.", does("auto_tune_mode", "tuning", lambda told: _first(told))),
    (
        "auto_tune_mode.unset_off",
        "Tunes unless told otherwise.",
        does(
            "auto_tune_mode",
            "tuning",
            lambda told: {**told, "auto_tune": ["GA", "RL"]},
            lambda params: "auto_tune_mode" not in params["values"],
        ),
    ),
]


def _first(told: Meaning) -> Meaning:
    return {**told, "auto_tune": told["auto_tune"][:1]}


for _name, _key in (("graph_memory_max_size", "graph_bytes"), ("variable_memory_max_size", "variable_bytes")):
    _MEMORY += [
        (
            f"{_name}.unit",
            f"Takes {_name} for a number of KB.",
            does(
                _name,
                "memory",
                lambda told, key=_key: {**told, key: told[key] * 1024},
                lambda params, name=_name: given(params, name) is not None,
            ),
        ),
        (
            f"{_name}.bytes_of_decimal",
            f"Takes a number in .i for {_name}.",
            untyped(_name, lambda params, name=_name: isinstance(given(params, name), int)),
        ),
    ]

# Engines and compilation


def _engines(change: Callable[[Dict[str, int]], Dict[str, int]], when: Any) -> Fault:
    return does("stream_max_parallel_num", "engines", change, when)


def _swapped(engines: Dict[str, int]) -> Dict[str, int]:
    return {"AI_CPU": engines["AI_Core"], "AI_Core": engines["AI_CPU"]}


_COMPILATION: List[Tuple[str, str, Fault]] = [
    (
        "stream_max_parallel_num.engine_aicpu",
        "Takes DNN_VM_TF for the AI Core.",
        _engines(_swapped, _holds("stream_max_parallel_num", "DNN_VM_TF:10")),
    ),
    (
        "stream_max_parallel_num.engine_aicore",
        "Takes DNN_V100 for the AI CPU.",
        _engines(_swapped, _holds("stream_max_parallel_num", "DNN_V100:3")),
    ),
    (
        "stream_max_parallel_num.range_aicpu",
        "Takes any number of streams for the AI CPU.",
        unbounded("stream_max_parallel_num", _holds("stream_max_parallel_num", "DNN_VM_TF")),
    ),
    (
        "stream_max_parallel_num.range_aicore",
        "Takes any number of streams for the AI Core.",
        unbounded("stream_max_parallel_num", _holds("stream_max_parallel_num", "DNN_V100")),
    ),
    (
        "stream_max_parallel_num.partial",
        "Gives an engine that is not listed the streams of the one that is.",
        _engines(
            lambda engines: dict.fromkeys(engines, max(engines.values())),
            lambda params: "," not in str(given(params, "stream_max_parallel_num")),
        ),
    ),
    (
        "op_debug_level.2.compiler",
        "Compiles kernels with -O0 -g at level 1.",
        does("op_debug_level", "ccec", lambda told: ["-O0", "-g"], _is("op_debug_level", 1)),
    ),
    (
        "buffer_optimize.l2",
        "Reads l2_optimize as off_optimize.",
        does("buffer_optimize", "buffer_optimize", lambda told: "off", _is("buffer_optimize", "l2_optimize")),
    ),
    (
        "buffer_optimize.off",
        "Reads off_optimize as l2_optimize.",
        does("buffer_optimize", "buffer_optimize", lambda told: "on", _is("buffer_optimize", "off_optimize")),
    ),
    (
        "optypelist_for_implmode.applies_to_list",
        "Gives every operator the mode that is restricted to a list.",
        does(
            "optypelist_for_implmode",
            "implementation",
            lambda told: {**told, "others": "high_precision"},
            _is("optypelist_for_implmode", "Pooling"),
        ),
    ),
    (
        "op_precision_mode.effect",
        "Gives every operator the first mode of the file.",
        does("op_precision_mode", "implementation", lambda told: _for_all(told)),
    ),
    (
        "hccl_timeout.unit",
        "Takes hccl_timeout for milliseconds.",
        does("hccl_timeout", "timeouts", lambda told: {**told, "hccl_seconds": (told["hccl_seconds"] or 0) // 1000}),
    ),
    (
        "graph_run_mode.0",
        "Takes online inference for training where precision is concerned.",
        default_is("precision_mode", "allow_fp32_to_fp16", _is("graph_run_mode", 0)),
    ),
    (
        "graph_run_mode.1",
        "Switches small channels on in training.",
        default_is("enable_small_channel", 1, _is("graph_run_mode", 1)),
    ),
]


def _for_all(told: Meaning) -> Meaning:
    return {**told, "type": {}, "others": next(iter(told["type"].values()), None)} if told.get("type") else told


# Shapes


def _shape(change: Callable[[Meaning], Meaning], when: Any) -> Fault:
    """Misreads input_shape, and compiles what it read."""

    def profiles(told: Meaning) -> Meaning:
        return {
            key: change(value) if key.startswith("profile ") and isinstance(value, dict) else value
            for key, value in told.items()
        }

    return together(means("input_shape", change, when), does("input_shape", "shapes", profiles, when))


def _profile(number: int) -> Fault:
    """Compiles one of the documented profiles with twice the size of its last input."""

    def larger(told: Meaning) -> Meaning:
        shapes = dict(told[f"profile {number}"])
        name = list(shapes)[-1]
        return {**told, f"profile {number}": {**shapes, name: [2 * size for size in shapes[name]]}}

    return does("dynamic_dims", "shapes", larger, _holds("dynamic_dims", "20,20,1,1;40,40,2,2;80,60,4,4"))


def _by_name(told: Meaning) -> Meaning:
    if "profile 0" not in told or not {"a", "b"} <= set(told["profile 0"]):
        return told
    return {**told, "profile 0": {"a": [2, 3], "b": [5]}, "profile 1": {"a": [2, 7], "b": [11]}}


def _groups(key: str, change: Callable[[Any], Any], when: Any) -> Fault:
    """Misreads the shapes of one group of dynamic_inputs_shape_range."""

    def misread(meaning: Meaning) -> Meaning:
        return {**meaning, key: change(meaning[key])} if key in meaning else meaning

    return means("dynamic_inputs_shape_range", misread, when)


def _ranged(shape: List[str]) -> bool:
    return any("~" in dim or dim == "-1" for dim in shape)


_RANGES = "dynamic_inputs_shape_range"
_SHAPES: List[Tuple[str, str, Fault]] = [
    (
        "input_shape.dynamic_dim",
        "Takes -1 for a dimension of size 1.",
        _shape(
            lambda shapes: {name: [abs(size) for size in dims] for name, dims in shapes.items()},
            _holds("input_shape", "mask:-1,-1"),
        ),
    ),
    (
        "input_shape.scalar_zero",
        "Takes 0 for a dimension of size 0.",
        _shape(lambda shapes: {name: dims or [0] for name, dims in shapes.items()}, _holds("input_shape", ":0")),
    ),
    (
        "input_shape.static_inputs_listed",
        "Passes over inputs that are static altogether.",
        means(
            "input_shape",
            lambda shapes: {name: dims for name, dims in shapes.items() if -1 in dims},
            _holds("input_shape", "data:1,1,40,1"),
        ),
    ),
    (
        "dynamic_dims.order",
        "Counts dynamic dimensions by the names of inputs.",
        does("dynamic_dims", "shapes", _by_name),
    ),
    (
        "dynamic_dims.min_two",
        "Takes a single profile.",
        unbounded("dynamic_dims", lambda params: ";" not in str(given(params, "dynamic_dims"))),
    ),
    (
        "dynamic_dims.mismatch_exit",
        "Goes on with profiles that do not match input_shape.",
        accepts("dynamic_dims", _is("dynamic_dims", "20,20,1;40,40,2")),
    ),
    *[
        (
            f"dynamic_dims.example.profile{number}",
            f"Computes profile {number} of the documented example wrongly.",
            fault,
        )
        for number, fault in enumerate(map(_profile, range(3)))
    ],
    (
        "dynamic_node_type.0",
        "Takes type 0 for placeholders.",
        does(
            "dynamic_node_type", "shapes", lambda told: {**told, "source": "placeholder"}, _is("dynamic_node_type", 0)
        ),
    ),
    (
        "dynamic_node_type.1",
        "Takes type 1 for datasets.",
        does("dynamic_node_type", "shapes", lambda told: {**told, "source": "dataset"}, _is("dynamic_node_type", 1)),
    ),
    (
        "dynamic_input.false",
        "Compiles for any shape whatever is given.",
        does("dynamic_input", "shapes", lambda told: {"kind": "dynamic"}, _is("dynamic_input", False)),
    ),
    (
        "dynamic_graph_execute_mode.dynamic_execute",
        "Compiles for any shape where ranges are given.",
        does(
            "dynamic_graph_execute_mode",
            "shapes",
            lambda told: {"kind": "dynamic"},
            _is("dynamic_graph_execute_mode", "dynamic_execute"),
        ),
    ),
    (
        f"{_RANGES}.keywords",
        "Takes other keywords than getnext and data.",
        unbounded(_RANGES, _holds(_RANGES, "iterator")),
    ),
    (f"{_RANGES}.range_tilde", "Takes any sign between two bounds.", unbounded(_RANGES, _holds(_RANGES, "3-5"))),
    (
        f"{_RANGES}.fixed",
        "Takes a number for the upper bound of a range.",
        _groups(
            "data",
            lambda shapes: [[f"1~{dim}" if dim.isdigit() else dim for dim in shape] for shape in shapes],
            _holds(_RANGES, "128,3~5,-1"),
        ),
    ),
    (
        f"{_RANGES}.fixed_inputs_listed",
        "Passes over inputs of fixed shape.",
        _groups("getnext", lambda shapes: [shape for shape in shapes if _ranged(shape)], _holds(_RANGES, "[3,3,4,10]")),
    ),
    (f"{_RANGES}.scalar", "Has no scalars.", refuses(_RANGES, _holds(_RANGES, "[]"), "OPTION_SYNTAX")),
    (
        f"{_RANGES}.example_counts",
        "Keeps one dataset input.",
        _groups("getnext", lambda shapes: shapes[:1], _holds(_RANGES, "[64 ")),
    ),
    (
        "enable_scope_fusion_passes.grammar",
        "Switches on the first of several passes only.",
        means("enable_scope_fusion_passes", lambda names: names[:1]),
    ),
    (f"{_RANGES}.spaces", "Takes no blanks.", refuses(_RANGES, _holds(_RANGES, " "), "OPTION_SYNTAX")),
]

for _requirement, _sentence, _fault in _DUMPS + _MEMORY + _COMPILATION + _SHAPES:
    declare(f"options.session.{_requirement}", f"session.{_requirement}", _sentence, _fault)

declare(
    "options.session.stream_max_parallel_num.wrong_default",
    "session.stream_max_parallel_num.default",
    "Has two streams for the AI CPU by default.",
    together(
        wrong_default("stream_max_parallel_num", "s"),
        does(
            "stream_max_parallel_num",
            "engines",
            lambda engines: {**engines, "AI_CPU": 2},
            lambda params: "stream_max_parallel_num" not in params["values"],
        ),
    ),
)
declare(
    "options.session.optypelist_for_implmode.skipped_domain",
    "session.optypelist_for_implmode.domain",
    "Implements types by mode that have no choice.",
    does(
        "optypelist_for_implmode",
        "implementation",
        lambda told: {**told, "type": {**told["type"], "Conv2D": "high_precision"}},
        _holds("optypelist_for_implmode", "Conv2D"),
    ),
    kind="skipped_domain",
)
