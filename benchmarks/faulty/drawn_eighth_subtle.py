"""An eighth list, by requirement, over all areas, of mistakes that need one more condition to show."""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from typing import Any, Dict, List, Mapping
from unittest import mock

from faulty.drawn_eighth import gray_convolutions, mixes_as_before, one_stream, patched, reordered, rewritten
from faulty.making import (
    Answer,
    Files,
    Params,
    all_values,
    asks,
    broken,
    given,
    has_function,
    in_inference,
    is_about,
    leaves,
    mapped,
    node_change,
    ops_of,
    place,
    plain,
    regraphed,
    retyped,
    steps,
    to_device,
    turn_values,
    value_is,
    value_of,
    with_pairs,
    with_values,
    without,
)
from npu_reference import profiling
from npu_reference.artifacts import weights
from npu_reference.errors import NpuError
from npu_reference.runtime.agreement import memory

# Profiles and files


@broken("run", "002 profiling_mode False: profiling is off, in a second session too")
def a_profile_goes_on_in_the_next_session(ask: Any, params: Params) -> Answer:
    if "script" not in params:
        return dict(ask(params))
    kept: List[Any] = []
    collected = profiling.collected

    def again(resolution: Any) -> Any:
        kept[:] = [collected(resolution)] if collected(resolution) is not None else kept
        return kept[0] if kept else None

    return patched(ask, params, mock.patch.object(profiling, "collected", again))


@broken("artifacts", "003 aoe_config_file: only what it names is tuned, whatever says the mode", "compile", "timeline")
def the_variable_tunes_everything(ask: Any, params: Params) -> Answer:
    if given(params, "aoe_mode") or "AOE_MODE" not in params.get("env", {}):
        return dict(ask(params))
    return dict(ask(all_values(params, without("aoe_config_file"))))


turn_values(
    "a_directory_switches_the_cache_on",
    "003 op_compiler_cache_mode disable: off, whatever its directory",
    lambda values: (
        {**values, "op_compiler_cache_mode": "enable"}
        if plain(values.get("op_compiler_cache_mode")) == "disable" and plain(values.get("op_compiler_cache_dir"))
        else values
    ),
)


@broken("artifacts", "003 external_weight: models of a session share weights", "compile")
def each_graph_has_its_weights(ask: Any, params: Params) -> Answer:
    if not params.get("models"):
        return dict(ask(params))
    made = itertools.count()
    add, sha256 = weights.Weights.add, hashlib.sha256

    def of_the_next(self: Any, partition: Any) -> Any:
        with mock.patch.object(weights, "hashlib", mock.Mock(sha256=functools.partial(sha256, bytes(next(made))))):
            return add(self, partition)

    return patched(ask, params, mock.patch.object(weights.Weights, "add", of_the_next))


def _mappings(files: Files, asked: Mapping[str, Any]) -> Files:
    if not given(asked, "debug_dir", "op_debug_config"):
        return files
    return {
        "kernel_meta/" + name.rpartition("/")[2] if name.endswith("_loc.json") else name: file
        for name, file in files.items()
    }


leaves("mappings_stay_where_the_script_is", "003 op_debug_config dump_loc: debug_dir says where", _mappings)


def _before_quantisation(values: Dict[str, Any]) -> Dict[str, Any]:
    config = values.get("dump_config")
    arguments = config.get("arguments", {}) if isinstance(config, dict) else values
    return without("quant_dumpable")(values) if plain(arguments.get("dump_mode")) == "input" else values


asks(
    "inputs_before_quantisation_are_lost",
    "003 quant_dumpable 1: what was before quantisation can be dumped",
    "run",
    lambda params: all_values(params, _before_quantisation),
    "run",
    "timeline",
)

# Time


def _generalised(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if (
        plain(values.get("ac_parallel_enable")) == "1"
        and plain(values.get("compile_dynamic_mode")) is True
        and "rejected" not in step
    ):
        one_stream(step)


steps(
    "generalised_graphs_have_one_stream",
    "003 ac_parallel_enable: streams of their own in graphs that compile_dynamic_mode makes dynamic",
    _generalised,
)


def _natural(names: List[str]) -> List[str]:
    def key(name: str) -> List[Any]:
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]

    return sorted(names, key=key)


asks(
    "numbers_in_names_are_numbers",
    "002 dynamic_inputs_shape_range: named placeholders in the order of the letters, x_10 before x_2",
    "timeline",
    lambda params: reordered(params, _natural),
    "timeline",
    "run",
    "compile",
)
asks(
    "device_nought_is_no_device",
    "002 session_device_id: goes before ASCEND_DEVICE_ID, 0 too",
    "timeline",
    lambda params: (
        all_values(
            params,
            lambda values: (
                without("session_device_id")(values) if plain(values.get("session_device_id")) == 0 else values
            ),
        )
        if "ASCEND_DEVICE_ID" in params.get("env", {})
        else params
    ),
    "timeline",
    "run",
)

# Partition


def _offloads_data(values: Dict[str, Any]) -> Dict[str, Any]:
    mixes = plain(values.get("mix_compile_mode")) is True
    return mapped("enable_data_pre_proc", lambda value: True)(values) if mixes else values


asks(
    "data_are_offloaded_in_mixed_computing",
    "002 enable_data_pre_proc False: getnext is not offloaded, in mixed computing too",
    "partition",
    lambda params: all_values(params, _offloads_data) if is_about(params, "session", "legacy") else params,
    "partition",
    "run",
    "timeline",
)


def _looked_up(answer: Answer, params: Params) -> Any:
    graph, ops = params, ops_of(params)
    bodies = _bodies(graph)
    moved = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "FUNCTION"
        and one["node"] in ops
        and any("LookupTable" in inside for inside in bodies.get(_called(ops[one["node"]]), ()))
    ]
    return to_device(answer, moved) if moved else None


def _called(op: Any) -> str:
    for key in ("f", "then_branch", "body"):
        if op.has_attr(key):
            return str(op.proto.attr[key].func.name)
    return ""


def _bodies(params: Params) -> Dict[str, List[str]]:
    from faulty.making import graph_of

    return {
        function.signature.name: [node.op for node in function.node_def]
        for function in graph_of(params).to_def().library.function
    }


place("tables_in_functions_are_offloaded", "000: resource operators stay in the framework", _looked_up)


def _no_mark_inside(graph: Any) -> None:
    branches = set()
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            if node.op in ("If", "StatelessIf", "Case", "StatelessCase"):
                branches |= {node.attr[key].func.name for key in ("then_branch", "else_branch") if key in node.attr}
                branches |= {one.name for one in node.attr["branches"].list.func} if "branches" in node.attr else set()
    for one in graph.library.function:
        if one.signature.name in branches:
            for node in one.node_def:
                node.attr.pop("_without_npu_compile", None)


asks(
    "marks_in_branches_are_not_seen",
    "000 without_npu_compile_scope: operators that are not offloaded, in a branch too",
    "partition",
    lambda params: regraphed(params, _no_mark_inside) if "graph" in params else params,
    "partition",
    "run",
)


def _first_arguments(pairs: List[Any]) -> List[Any]:
    return [
        [[re.sub(r"\A(_arg_.*_[1-9]\d*)\Z", r"\1/unknown", str(name)) for name in ins], outs] for ins, outs in pairs
    ]


asks(
    "the_first_argument_begins_alone",
    "001 in_out_pair: _arg_ nodes begin a range, whatever their number",
    "partition",
    lambda params: with_pairs(params, _first_arguments) if is_about(params, edition="legacy") else params,
    "partition",
    "run",
)

# Precision


def _halved_inside(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = value_of(params, "precision_mode") in (None, "None", "allow_fp32_to_fp16")
    trains = modes and is_about(params, edition="legacy") and not in_inference(params)
    if trains and has_function(node, params) and node["engine"] == "vector":
        retyped(node, "float32", "float16")


node_change(
    "functions_are_half",
    "002 allow_fp32_to_fp16: float32 where it is supported, in functions too",
    _halved_inside,
)


@broken("precision", "003 precision_mode_v2 origin: without an AI CPU operator an error is reported")
def the_origin_is_given_up(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or not value_is(params, "precision_mode_v2", "origin"):
            raise
        kept = all_values(params, without("precision_mode_v2"))
        return dict(ask(with_values(kept, precision_mode="allow_fp32_to_fp16")))


@broken("precision", "002 Conv2D: precision_reduce is true, whatever the layout")
def convolutions_with_channels_first_are_gray(ask: Any, params: Params) -> Answer:
    layouts = {op.text("data_format") for op in ops_of(params).values() if op.op == "Conv2D"}
    return gray_convolutions(ask, params) if mixes_as_before(params) and layouts == {"NCHW"} else dict(ask(params))


# Runs


_LARGEST = rewritten(memory, "need", "sum(sizes.values())", "max(sizes.values(), default=0)")


@broken("run", "002 variable_memory_max_size: the memory of all variables", "run")
def the_largest_variable_alone_counts(ask: Any, params: Params) -> Answer:
    return patched(ask, params, mock.patch.object(memory, "need", _LARGEST))


@broken("run", "003 variable_placement Host: where variables are changes no result, of any dtype")
def counters_of_the_host_begin_anew(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "variable_placement", "Host") and params.get("steps", 1) > 1:
        first = ask({**params, "steps": 1})
        answer["fetches"] = {
            name: first["fetches"].get(name, one) if one["dtype"] != "float32" else one
            for name, one in answer["fetches"].items()
        }
    return answer
