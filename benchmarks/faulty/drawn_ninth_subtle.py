"""A ninth list: requirement and condition are drawn by a seed, and the first thirty that make a mistake are taken."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, Set
from unittest import mock

from faulty.drawn_eighth import gray_convolutions, patched
from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asked_values,
    asks,
    broken,
    edited,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    mapped,
    node_change,
    regraphed,
    tells,
    texts,
    value_is,
    value_of,
    with_env,
    without,
)
from npu_reference.compiler import scopes
from npu_reference.errors import NpuError


def _gives(params: Params, *options: str) -> bool:
    """Whether one of these options is given, in whatever turn or variant."""
    return any(given({"values": one}, option) for one in asked_values(params) for option in options)


def _trains(params: Params) -> bool:
    """Whether training is asked for in so many words."""
    return any(value_is({"values": one}, "graph_run_mode", 1) for one in asked_values(params))


def _is_half(params: Params) -> bool:
    """Whether something of float16 is fed."""
    nodes = graph_of(params).nodes if "graph" in params else ()
    return any(node.op in ("Placeholder", "_Arg") and "float16" in _types(node) for node in nodes)


def _types(node: Any) -> Set[str]:
    return {getattr(value, "name", "") for value in node.attrs.values()}


def _in_text(options: Mapping[str, Callable[[str], str]], values: Dict[str, Any]) -> Dict[str, Any]:
    """Values with texts changed; of an object those among its arguments."""
    found = dict(values)
    for option, change in options.items():
        if isinstance(found.get(option), dict) and "arguments" in found[option]:
            found[option] = {**found[option], "arguments": _in_text(options, found[option]["arguments"])}
        elif found.get(option) is not None:
            found[option] = edited(found[option], lambda one, to=change: to(one) if isinstance(one, str) else one)
    return found


def _lacks(variable: str) -> Callable[[Params], Dict[str, Any]]:
    return lambda params: with_env(params, lambda env: {name: one for name, one in env.items() if name != variable})


# Options


def _untuned(answer: Answer, params: Params) -> None:
    if given(params, "enable_dump_debug"):
        answer["directives"]["tuning"] = {**answer["directives"]["tuning"], "auto_tune": []}


tells("dumps_of_overflow_leave_nothing_to_tune", "002 auto_tune_mode: operators are tuned by Auto Tune", _untuned)
accepts(
    "training_takes_ranges_backwards",
    "002 dynamic_inputs_shape_range: low~high",
    "dynamic_inputs_shape_range",
    lambda params: (
        value_is(params, "graph_run_mode", 1)
        and any(
            int(low) > int(high)
            for low, high in re.findall(r"(\d+)\s*~\s*(\d+)", str(value_of(params, "dynamic_inputs_shape_range")))
        )
    ),
)
accepts(
    "steps_backwards_beside_a_flag",
    "002 dump_step: a range from the lower to the higher step",
    "dump_step",
    lambda params: (
        given(params, "in_out_pair_flag")
        and any(
            int(low) > int(high) for low, high in re.findall(r"(\d+)\s*-\s*(\d+)", str(value_of(params, "dump_step")))
        )
    ),
)
accepts(
    "any_implementation_beside_a_profile",
    "002 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    lambda params: value_is(params, "profiling_mode", True),
)


@broken("options", "002 profiling_options: online inference supports task_trace, in a launched rank too")
def no_task_trace_of_launched_inference(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    text = value_of(params, "profiling_options")
    if in_inference(params) and "RANK_SIZE" in params.get("env", {}) and "task_trace" in str(text):
        raise NpuError("OPTION_VALUE", "profiling_options", "is not of online inference")
    return answer


@broken("options", "002 precision_mode: force_fp32 is one of its values, whatever the channels")
def small_channels_are_not_forced(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "enable_small_channel", 1) and value_is(params, "precision_mode", "force_fp32"):
        raise NpuError("OPTION_VALUE", "precision_mode", "is not supported beside enable_small_channel")
    return answer


# Partition


def _is_channels_first(params: Params) -> bool:
    nodes = graph_of(params).nodes if "graph" in params else ()
    return any(node.has_attr("data_format") and node.text("data_format").startswith("NC") for node in nodes)


asks(
    "variables_beside_channels_first_are_of_the_device",
    "003 variable_placement Host: variables are on the host",
    "partition",
    lambda params: all_values(params, without("variable_placement")) if _is_channels_first(params) else params,
    "partition",
    "timeline",
    "run",
)
asks(
    "checks_of_kernels_end_mixed_computing",
    "003 mix_compile_mode: the argument means what the session's key means",
    "partition",
    lambda params: (
        all_values(params, without("mix_compile_mode"))
        if is_about(params, "runconfig") and _gives(params, "op_debug_config")
        else params
    ),
    "partition",
)


@broken("partition", "002 enable_scope_fusion_passes: general rules cannot be switched off", "compile", "timeline")
def listed_passes_are_all_in_mixed_computing(ask: Any, params: Params) -> Answer:
    if not is_mixed(params) or not _gives(params, "enable_scope_fusion_passes"):
        return dict(ask(params))
    named = tuple(one._replace(general=False) for one in scopes.SCOPE_PASSES)
    return patched(ask, params, mock.patch.object(scopes, "SCOPE_PASSES", named))


def _no_marks(graph: Any) -> None:
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            node.attr.pop("_without_npu_compile", None)


asks(
    "launched_ranks_see_no_marks",
    "000 without_npu_compile_scope: more operators that are not offloaded",
    "partition",
    lambda params: regraphed(params, _no_marks) if "RANK_SIZE" in params.get("env", {}) else params,
    "partition",
)

# Precision


def _by_default(values: Dict[str, Any]) -> Dict[str, Any]:
    told = {"values": values}
    if given(told, "precision_mode") or given(told, "precision_mode_v2") or value_is(told, "graph_run_mode", 0):
        return values
    return (
        {**values, "precision_mode": "must_keep_origin_dtype"} if given(told, "enable_scope_fusion_passes") else values
    )


asks(
    "passes_of_scopes_keep_types",
    "002 precision_mode: allow_fp32_to_fp16 by default",
    "precision",
    lambda params: all_values(params, _by_default),
    "precision",
)
asks(
    "a_device_of_the_environment_forces_nothing",
    "002 precision_mode force_fp16: float16 where float16 and float32 are supported",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode", lambda one: "allow_fp32_to_fp16" if one == "force_fp16" else one))
        if "ASCEND_DEVICE_ID" in params.get("env", {})
        else params
    ),
    "precision",
)


def _types_alone(text: str) -> str:
    if "\r\n" not in text or "[ByOpType]" not in text:
        return text
    return re.sub(r"(?s)\[ByNodeName\][^\[]*", "", text)


asks(
    "names_give_way_in_files_of_other_systems",
    "002 op_precision_mode: [ByNodeName] goes before [ByOpType]",
    "precision",
    lambda params: texts(params, "op_precision_mode", _types_alone),
    "precision",
    "options",
)


@broken("precision", "002 modify_mixlist: what it does not list stays as it is built in")
def lists_beside_dumps_of_overflow_are_whole(ask: Any, params: Params) -> Answer:
    if given(params, "enable_dump_debug") and given(params, "modify_mixlist"):
        return gray_convolutions(ask, params)
    return dict(ask(params))


def _stays(node: Dict[str, Any], params: Params, op: Any) -> None:
    if given(params, "local_device_list") and node.get("list") == "graylist":
        for side in ("inputs", "outputs"):
            node[side] = ["float32" if one == "float16" else one for one in node[side]]


node_change("gray_operators_of_servers_stay", "002 precision_reduce: a gray operator follows the one before", _stays)

# Files


def _in_place(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "mix_compile_mode", True) or "ASCEND_WORK_PATH" in asked["env"]:
        return files
    return {re.sub(r"\Atmp_weight_[^/]*/", "", name): file for name, file in files.items()}


leaves("weights_of_mixed_computing_have_no_folder", "003 external_weight: in ./tmp_weight_<pid>_<sessionid>", _in_place)
asks(
    "halves_have_the_common_cache",
    "003 op_compiler_cache_dir: where the cache is",
    "artifacts",
    lambda params: all_values(params, without("op_compiler_cache_dir")) if _is_half(params) else params,
    "compile",
)
asks(
    "quantised_dumps_are_not_collected",
    "003 NPU_COLLECT_PATH: exception dumps there, no oom, and kernel_meta at level 0",
    "artifacts",
    lambda params: _lacks("NPU_COLLECT_PATH")(params) if _gives(params, "quant_dumpable") else params,
    "compile",
    "timeline",
    "run",
)
asks(
    "caches_of_streams_are_common",
    '003 op_compiler_cache_dir="/home/test/kernel_cache"',
    "artifacts",
    lambda params: (
        all_values(params, without("op_compiler_cache_dir")) if _gives(params, "stream_max_parallel_num") else params
    ),
    "compile",
    "options",
)


def _few(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "op_debug_level", 2):
        return files
    mappings = sorted(name for name in files if name.endswith("_loc.json"))
    return {name: file for name, file in files.items() if name not in mappings[3:]}


leaves("three_kernels_have_mappings", "002 op_debug_level 2: .cce, _loc.json, .o and .json of each kernel", _few)


@broken("artifacts", '003 fusion_switch_file: "on" or "off", of graphs of float16 too', "compile", "timeline")
def halves_are_fused_whatever_the_file_says(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "fusion_switch_file" or not _is_half(params):
            raise
        return dict(ask(all_values(params, without("fusion_switch_file"))))


asks(
    "nothing_is_something_for_training",
    "003 op_debug_level: left empty is off",
    "artifacts",
    lambda params: (
        all_values(
            params,
            lambda values: (
                {**values, "op_debug_level": 1}
                if value_is({"values": values}, "graph_run_mode", 1) and not given({"values": values}, "op_debug_level")
                else values
            ),
        )
        if is_about(params, edition="current")
        else params
    ),
    "compile",
    "timeline",
    "options",
)


def _one_name(text: str) -> str:
    return re.sub(r'("tune_ops_name"\s*:\s*\[\s*"[^"]*")[^\]]*', r"\1", text)


asks(
    "training_tunes_one_named_operator",
    "003 aoe_config_file: tune_ops_name lists names of operators",
    "artifacts",
    lambda params: texts(params, "aoe_config_file", _one_name) if _trains(params) else params,
    "compile",
    "timeline",
)


def _away(files: Files, asked: Mapping[str, Any]) -> Files:
    if not given(asked, "hccl_timeout") or given(asked, "debug_dir") or "ASCEND_WORK_PATH" in asked["env"]:
        return files
    return {f"var/{name}" if name.startswith("kernel_meta/") else name: file for name, file in files.items()}


leaves("kernel_files_of_collectives_lie_elsewhere", "002 debug_dir: the current execution path by default", _away)

# Time and runs


def _dumps(values: Mapping[str, Any]) -> bool:
    config = values.get("dump_config")
    arguments = config.get("arguments", {}) if isinstance(config, dict) else values
    return value_is({"values": arguments}, "enable_dump", True)


asks(
    "dumps_are_compiled_for_each_shape",
    "002 dynamic_graph_execute_mode dynamic_execute: compiled with the ranges",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            mapped("dynamic_graph_execute_mode", lambda one: "lazy_recompile")(values) if _dumps(values) else values
        ),
    ),
    "timeline",
    "run",
    "compile",
)
asks(
    "a_device_of_two_variables_is_none",
    "003 ASCEND_DEVICE_ID: the logical device",
    "timeline",
    lambda params: _lacks("ASCEND_DEVICE_ID")(params) if "DEVICE_ID" in params.get("env", {}) else params,
    "timeline",
    "run",
)
asks(
    "quantised_ranges_have_no_bounds",
    "003 dynamic_inputs_shape_range: data sets and placeholders, each with its range",
    "timeline",
    lambda params: (
        all_values(
            params,
            mapped("dynamic_inputs_shape_range", lambda text: re.sub(r"\d+\s*~\s*\d+", "-1", str(text))),
        )
        if _gives(params, "quant_dumpable")
        else params
    ),
    "timeline",
    "run",
)
asks(
    "reduced_profiles_are_of_pipes",
    "003 aic_metrics ArithmeticUtilization: the share of each class of computation",
    "timeline",
    lambda params: (
        all_values(params, lambda values: _in_text({"profiling_options": _piped, "profiling_config": _piped}, values))
        if _gives(params, "enable_reduce_precision")
        else params
    ),
    "timeline",
    "run",
)


def _piped(text: str) -> str:
    return text.replace("ArithmeticUtilization", "PipeUtilization")


asks(
    "debugging_is_free_beside_exceptions",
    "002 op_debug_level: levels 1 and 2 lower the performance",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            without("op_debug_level")(values) if given({"values": values}, "enable_exception_dump") else values
        ),
    ),
    "timeline",
)


@broken("run", "003 enable_exception_dump 1: below the current execution path", "run")
def exceptions_of_several_inputs_lie_elsewhere(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if answer.get("files") and (len(params.get("feeds", ())) > 1) and _gives(params, "enable_exception_dump"):
        answer["files"] = {name.replace("extra-info/", "extra/"): file for name, file in answer["files"].items()}
    return answer
