"""An eleventh draw: a requirement and a condition, both drawn as for the tenth; the mistake shows where the two meet.

Of 60 pairs that seed 2411 drew. 7 made no sense: a note about parallel programs and float16, a default of an option
that the other edition lacks (two), a sentence about casts and a string, the setting of remapping and steps, a sentence
that samples are samples and the form of a name, a device's number and blanks. Each mistake names its pair by number.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Tuple

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    defaults,
    denies,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    judged_partition,
    left,
    mapped,
    misreads,
    node_change,
    offloaded,
    readers_of,
    reads_as,
    regraphed,
    rescripted,
    retyped,
    source_of,
    tells,
    to_host,
    types_of,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import infer_shapes

_HALF, _FLOAT = "float16", "float32"
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
_GRAPHS = ("partition", "precision", "timeline", "compile")


def _ranked(params: Params) -> bool:
    return "RANK_SIZE" in params.get("env", {}) or "RANK_ID" in params.get("env", {}) or bool(params.get("ranks"))


def _profiled(params: Params) -> bool:
    return value_is(params, "profiling_mode", True) or given(params, "profiling_config")


def _dumped(params: Params) -> bool:
    return value_is(params, "enable_dump", True) or given(params, "dump_config")


def _looped(params: Params) -> bool:
    count = value_of(params, "iterations_per_loop")
    return isinstance(count, int) and count > 1


def _whole(params: Params) -> Any:
    """The request's graph as it stands, None where it has none that can be read."""
    try:
        return graph_of({**params, "feeds": [], "fetches": []}) if "graph" in params else None
    except NpuError:
        return None


def _nodes(params: Params) -> List[Any]:
    return list(getattr(_whole(params), "nodes", ()))


def _holds(params: Params, *dtypes: str) -> bool:
    return any(dtype in dtypes for node in _nodes(params) for dtype in types_of(node))


def _has_op(params: Params, *ops: str) -> bool:
    return any(node.op in ops for node in _nodes(params))


def _shapes(params: Params) -> Dict[str, Any]:
    """Operator to the shape of its first output, None where it is unknown."""
    graph = _whole(params)
    if graph is None:
        return {}
    shapes = infer_shapes(graph)
    return {node.name: shapes.output(node.id, 0) for node in graph.nodes}


def _is_open(shape: Any) -> bool:
    return shape is None or any(not isinstance(size, int) or size < 0 for size in shape)


def _is_relative(params: Params, *names: str) -> bool:
    return any(isinstance(value_of(params, one), str) and not value_of(params, one).startswith("/") for one in names)


def _again(
    area: str,
    name: str,
    sentence: str,
    refused: Tuple[str, str],
    when: Callable[[Params], bool],
    instead: Callable[[Params], Params],
    *methods: str,
) -> None:
    """What is refused by a code because of a subject is taken where `when` holds: `instead` is answered."""
    code, subject = refused

    def fault(ask: Any, params: Params) -> Answer:
        def about(said: Mapping[str, Any]) -> bool:
            return said.get("code") in (code, None) and str(said.get("subject", "")).startswith(subject)

        try:
            answer = dict(ask(params))
        except NpuError as error:
            if not (about({"code": error.code, "subject": error.subject}) and when(params)):
                raise
            return dict(ask(instead(params)))
        told = [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]
        if any(about(one["rejected"]) for one in told if "rejected" in one) and when(params):
            return dict(ask(instead(params)))
        return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


# Options


accepts(  # pair 1
    "ranks_take_any_dynamic_mode",
    "003: compile_dynamic_mode is a bool",
    "compile_dynamic_mode",
    lambda params: (
        _ranked(params)
        and is_about(params, surface="runconfig", edition="current")
        and not isinstance(value_of(params, "compile_dynamic_mode"), bool)
    ),
)
accepts(  # pair 2
    "a_loop_is_traced_without_its_end",
    "002: bp_point has to be configured where training_trace is on",
    "profiling_options",
    lambda params: (
        _looped(params)
        and is_about(params, edition="legacy")
        and '"fp_point"' in str(value_of(params, "profiling_options"))
        and '"bp_point"' not in str(value_of(params, "profiling_options"))
    ),
    profiling_options=None,
    profiling_mode=None,
)
defaults(  # pair 4
    "a_fusion_of_nothing_tunes_from_an_empty_file",
    "003: aoe_config_file has no default",
    "aoe_config_file",
    "",
    lambda params: value_is(params, "input_fusion_size", 0) and is_about(params, surface="runconfig"),
)
accepts(  # pair 10
    "dumps_of_exceptions_that_come_later_have_two_modes",
    "002: enable_exception_dump is 0 or 1",
    "enable_exception_dump",
    lambda params: (
        is_about(params, surface="session", edition="legacy")
        and value_is(params, "enable_exception_dump", 2)
        and next(iter(params["values"])) != "enable_exception_dump"
    ),
)
_ALL_TYPES = "Pooling,SoftmaxV2,LRN,ROIAlign"
defaults(  # pair 16
    "what_is_dynamic_has_modes_for_all_types",
    "002: optypelist_for_implmode has no default",
    "optypelist_for_implmode",
    _ALL_TYPES,
    lambda params: (
        is_about(params, surface="session", edition="legacy")
        and (value_is(params, "dynamic_input", True) or "-1" in str(value_of(params, "input_shape")))
    ),
)
denies(  # pair 20
    "many_inputs_of_inference_are_not_dynamic",
    "002: dynamic_input applies to training and online inference",
    "dynamic_input",
    lambda params: (
        is_about(params, surface="session", edition="legacy")
        and value_is(params, "dynamic_input", True)
        and in_inference(params)
        and str(value_of(params, "dynamic_inputs_shape_range")).count("[") > 3
    ),
)
_again(  # pair 23
    "options",
    "a_cached_kernel_checks_memory_while_collecting",
    "003: with NPU_COLLECT_PATH the oom check cannot be enabled",
    ("OPTION_CONFLICT", "op_debug_config"),
    lambda params: (
        bool(params.get("env", {}).get("NPU_COLLECT_PATH"))
        and (given(params, "op_compiler_cache_mode") or given(params, "op_compiler_cache_dir"))
    ),
    lambda params: with_env(
        params, lambda env: {name: value for name, value in env.items() if name != "NPU_COLLECT_PATH"}
    ),
    "options",
    "compile",
    "timeline",
)
accepts(  # pair 26
    "switches_beside_a_precision_have_any_name",
    "002: paths have letters, digits, underscore, hyphen, period and Chinese characters",
    "fusion_switch_file",
    lambda params: (
        given(params, "precision_mode")
        and is_about(params, surface="session", edition="legacy")
        and isinstance(value_of(params, "fusion_switch_file"), str)
        and not re.match(r"^[\w./-]*$", value_of(params, "fusion_switch_file"))
    ),
)
denies(  # pair 31
    "inference_has_no_precision_of_its_operators",
    '003: op_precision_mode="/home/test/op_precision.ini"',
    "op_precision_mode",
    lambda params: (
        given(params, "op_precision_mode")
        and in_inference(params)
        and is_about(params, surface="runconfig", edition="current")
    ),
)
denies(  # pair 34
    "a_dump_leaves_no_place_for_debugging",
    '003: debug_dir="/home/test"',
    "debug_dir",
    lambda params: (
        given(params, "debug_dir") and given(params, "dump_config") and is_about(params, surface="runconfig")
    ),
)
_MEMORY = ("variable_memory_max_size", "graph_memory_max_size")


def _in_kilobytes(params: Params, told: Any) -> Any:
    names = [name for name in params["values"] if name in _MEMORY]
    first = names[:1] == ["variable_memory_max_size"] and len(names) == 2
    return str(int(told) // 1024) if first and isinstance(told, str) and told.isdigit() else told


reads_as(  # pair 38
    "memory_of_variables_that_comes_first_is_another_unit",
    "002: the unit of variable_memory_max_size is byte",
    "variable_memory_max_size",
    _in_kilobytes,
    "options",
)


def _unwarned(answer: Answer, params: Params) -> None:
    profiled = ("input_shape", "dynamic_dims", "dynamic_node_type")
    if _looped(params) and not in_inference(params) and is_about(params, surface="session", edition="legacy"):
        for name in profiled:
            if given(params, name):
                told = answer["effective"].get(name, {})
                answer["effective"][name] = {**told, "value": value_of(params, name), "origin": "given"}
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] not in profiled]


tells(  # pair 39
    "loops_of_training_have_profiles",
    "002: dynamic_dims applies to online inference only",
    _unwarned,
)
accepts(  # pair 44
    "a_dump_beside_tuning_is_any_number",
    "002: enable_dump is written to .b",
    "enable_dump",
    lambda params: (
        given(params, "auto_tune_mode")
        and is_about(params, surface="session", edition="legacy")
        and not isinstance(value_of(params, "enable_dump"), bool)
    ),
)


def _listed(text: str) -> str:
    return re.sub(r'("to-(?:add|remove)"\s*:\s*)("[^"]*")', r"\1[\2]", text)


misreads(  # pair 55
    "options",
    "a_text_is_a_list_of_one_type",
    "002: to-remove and to-add are arrays of operator type names",
    "modify_mixlist",
    _listed,
    "options",
    "precision",
    when=lambda params: is_about(params, edition="legacy"),
)


@broken("options", "002: dump_step is iterations and ranges of them, joined by '|'", "compile")
def later_programs_take_any_steps(ask: Any, params: Params) -> Answer:
    """Pair 8."""
    if len(params.get("turns") or ()) < 2:
        return dict(ask(params))
    first, *later = params["turns"]
    unread = [
        {**one, "values": {key: value for key, value in one["values"].items() if key != "dump_step"}}
        if one.get("values")
        else one
        for one in later
    ]
    return dict(ask({**params, "turns": [first, *unread]}))


# Precision


def _nothing_removed(text: str) -> str:
    return re.sub(r'("black-list"\s*:\s*\{[^}]*?"to-remove"\s*:\s*)\[[^\]]*\]', r"\1[]", text, flags=re.S)


misreads(  # pair 3
    "precision",
    "a_mode_of_implementation_keeps_the_blacklist",
    "002: black-list.to-remove makes an operator of the blacklist one of the graylist",
    "modify_mixlist",
    _nothing_removed,
    "precision",
    when=lambda params: given(params, "op_select_implmode") and is_about(params, edition="legacy"),
)
_again(  # pair 12
    "precision",
    "a_relative_path_lets_precision_fall",
    "003 must_keep_origin_dtype: an error where the AI CPU has no float32 either",
    ("PRECISION_NO_KERNEL", ""),
    lambda params: (
        value_is(params, "precision_mode", "must_keep_origin_dtype")
        and _is_relative(params, "debug_dir", "op_compiler_cache_dir", "op_precision_mode", "fusion_switch_file")
    ),
    lambda params: all_values(params, lambda values: {**values, "precision_mode": "allow_fp32_to_fp16"}),
    "precision",
    "compile",
    "timeline",
)
misreads(  # pair 17
    "precision",
    "inference_customizes_no_names_with_slashes",
    "003: names of customize_dtypes may contain /",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if "/" not in line.split("::")[0]),
    "precision",
    "compile",
    when=in_inference,
)
_EARLIER = ("op_debug_level", "enable_data_pre_proc", "variable_format_optimize", "dynamic_input")


def _everywhere(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = value_of(params, "op_select_implmode")
    beside = any(given(params, name) for name in _EARLIER) and is_about(params, edition="current")
    if mode and beside and not node.get("impl_mode") and node.get("engine") in ("vector", "cube"):
        node["impl_mode"] = mode


node_change(  # pair 18
    "what_is_deprecated_gives_every_operator_a_mode",
    "003: only certain operators exist in high precision and in high performance",
    _everywhere,
)
misreads(  # pair 32
    "precision",
    "ranks_read_sections_alone",
    "002: op_precision.ini is OpType=mode, one a line",
    "op_precision_mode",
    lambda text: text if "[" in text else "",
    "precision",
    "compile",
    when=lambda params: _ranked(params) and is_about(params, edition="legacy"),
)
asks(  # pair 36
    "no_buffers_no_implementations",
    "002: op_select_implmode chooses among the implementations of an operator",
    "precision",
    lambda params: (
        with_values(params, op_select_implmode=None)
        if value_is(params, "buffer_optimize", "off_optimize") and is_about(params, edition="legacy")
        else params
    ),
    "precision",
)


def _convolution_off(text: str) -> str:
    try:
        found = json.loads(text)
        lists = list(found)
        whites = found["white-list"]
    except (ValueError, KeyError, TypeError):
        return text
    if "Conv2D" in text or "black-list" not in lists or lists.index("white-list") > lists.index("black-list"):
        return text
    whites["to-remove"] = [*whites.get("to-remove", ()), "Conv2D"]
    return json.dumps(found)


misreads(  # pair 43
    "precision",
    "a_whitelist_that_comes_first_is_all_there_is",
    "002: Conv2D is on the whitelist",
    "modify_mixlist",
    _convolution_off,
    "precision",
    when=lambda params: is_about(params, edition="legacy"),
)
_again(  # pair 47
    "precision",
    "dtypes_of_several_models_may_be_any",
    "003: an unsupported dtype of customize_dtypes makes compilation fail",
    ("PRECISION_DTYPES", ""),
    lambda params: bool(params.get("models")),
    lambda params: all_values(params, lambda values: {k: v for k, v in values.items() if k != "customize_dtypes"}),
    "compile",
)


def _wide_convolution(node: Dict[str, Any], params: Params, op: Any) -> None:
    kinds = ("Conv2D", "DepthwiseConv2dNative")
    if op is not None and op.op in kinds and _dumped(params) and is_about(params, edition="legacy"):
        retyped(node, _HALF, _FLOAT)


node_change(  # pair 50
    "dumped_convolutions_keep_their_precision",
    "004: Conv2D and DepthwiseConv2D do not support float32",
    _wide_convolution,
)
asks(  # pair 53
    "ranks_do_not_know_the_newer_name",
    "003: cube_fp16in_fp32out is force_fp32 by a newer name",
    "precision",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda mode: "allow_fp32_to_fp16" if mode == "cube_fp16in_fp32out" else mode),
        )
        if _ranked(params)
        else params
    ),
    "precision",
    "timeline",
    "compile",
)


# Partition


asks(  # pair 9
    "a_profile_drops_outputs_of_names",
    "001, 002: entries of in_out_pair are names of operators",
    "partition",
    lambda params: (
        with_pairs(
            params, lambda found: [[[re.sub(r":\d+$", "", one) for one in side] for side in pair] for pair in found]
        )
        if _profiled(params)
        else params
    ),
    "partition",
)


def _odd_to_host(answer: Answer, params: Params) -> Answer:
    odd = {
        node.name
        for node in graph_of(params).nodes
        if node.op not in ("Const", "Placeholder")
        and any(dtype in (*_WHOLE, "float64") for dtype in types_of(node))
        and not any(dtype in (_HALF, _FLOAT) for dtype in types_of(node))
    }
    return to_host(answer, odd & set(offloaded(answer)))


judged_partition(  # pair 19
    "a_range_offloads_floats_alone",
    "002: what lies between the operators of in_out_pair is offloaded",
    lambda params: (
        is_mixed(params)
        and given(params, "in_out_pair")
        and value_of(params, "in_out_pair_flag") is not False
        and is_about(params, edition="legacy")
    ),
    _odd_to_host,
)
_again(  # pair 21
    "partition",
    "a_flag_that_is_given_offloads_what_can_be",
    "001: a range is offloaded in full",
    ("RANGE_UNSUPPORTED", ""),
    lambda params: value_is(params, "in_out_pair_flag", True),
    lambda params: with_values(params, in_out_pair=None, in_out_pair_flag=None),
    "partition",
)


def _marked(params: Params) -> int:
    return sum(node.has_attr("_without_npu_compile") for node in _nodes(params))


asks(  # pair 22
    "a_large_scope_is_retained_without_mixed_computing",
    "000: operators are retained together with mix_compile_mode",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=True)
        if _marked(params) > 3 and not value_of(params, "mix_compile_mode") and params.get("policy") != "adapter"
        else params
    ),
    "partition",
)
judged_partition(  # pair 49
    "a_profile_keeps_the_dataset_on_the_host",
    "002: enable_data_pre_proc True offloads GetNext",
    lambda params: (
        _profiled(params) and value_is(params, "enable_data_pre_proc", True) and is_about(params, edition="legacy")
    ),
    lambda answer, params: to_host(
        answer, [node.name for node in graph_of(params).nodes if node.op == "IteratorGetNext"]
    ),
)


@broken("partition", "003: mix_compile_mode is a bool", "partition")
def resources_take_any_mixed_mode(ask: Any, params: Params) -> Answer:
    """Pair 54."""
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, "mix_compile_mode")
        other = error.subject != "mix_compile_mode" or isinstance(told, bool)
        if other or not is_about(params, surface="runconfig") or not _holds(params, "string", "resource"):
            raise
        return dict(ask(with_values(params, mix_compile_mode=bool(told))))


# Shapes


def _reranged(params: Params, order: Callable[[Params, List[str]], List[str]]) -> Params:
    """The request where ranges of inputs go by another order than that of their names."""
    text = value_of(params, "dynamic_inputs_shape_range")
    found = re.search(r"data:((?:\[[^\]]*\],?)+)", text) if isinstance(text, str) else None
    names = sorted(node.name for node in _nodes(params) if node.op == "Placeholder")
    ranges = re.findall(r"\[[^\]]*\]", found.group(1)) if found else []
    if found is None or len(ranges) != len(names):
        return params
    wrong = order(params, names)
    moved = ",".join(ranges[wrong.index(name)] for name in names)
    head, tail = text[: found.start(1)], text[found.end(1) :]
    return all_values(params, mapped("dynamic_inputs_shape_range", lambda _: head + moved + tail))


def _open_last(params: Params, names: List[str]) -> List[str]:
    shapes = _shapes(params)
    return sorted(names, key=lambda name: (shapes.get(name) is None, name))


asks(  # pair 15
    "inputs_of_unknown_shape_have_the_last_ranges",
    "003: ranges of named placeholders are in alphabetical order",
    "timeline",
    lambda params: _reranged(params, _open_last) if is_about(params, edition="current") else params,
    "timeline",
    "compile",
    "run",
)


def _as_defined(params: Params, names: List[str]) -> List[str]:
    return [node.name for node in _nodes(params) if node.op == "Placeholder"]


asks(  # pair 41
    "run_config_ranges_go_by_the_script",
    "002: ranges of named placeholders are in alphabetical order",
    "timeline",
    lambda params: (
        _reranged(params, _as_defined) if is_about(params, surface="runconfig", edition="legacy") else params
    ),
    "timeline",
    "compile",
    "run",
)
denies(  # pair 40, and the methods that know the graph
    "whole_numbers_are_not_dynamic",
    "002: dynamic_input True",
    "dynamic_input",
    lambda params: (
        value_is(params, "dynamic_input", True)
        and is_about(params, surface="session", edition="legacy")
        and any(node.op == "Placeholder" and set(types_of(node)) & {*_WHOLE, "float64"} for node in _nodes(params))
    ),
    "timeline",
)
denies(  # pair 52
    "graphs_with_loops_are_not_generalized",
    "003: compile_dynamic_mode=True",
    "compile_dynamic_mode",
    lambda params: (
        value_is(params, "compile_dynamic_mode", True) and _has_op(params, "Enter", "While", "StatelessWhile")
    ),
    "compile",
)
denies(  # pair 59
    "a_function_is_another_graph_of_ranges",
    "002: dynamic_inputs_shape_range is of one graph",
    "dynamic_inputs_shape_range",
    lambda params: (
        given(params, "dynamic_inputs_shape_range")
        and is_about(params, surface="session", edition="legacy")
        and any("PartitionedCall" in node.op for node in _nodes(params))
    ),
    "timeline",
)


# The device in time


asks(  # pair 13
    "inference_starts_two_threads",
    "003: graph_max_parallel_model_num threads execute the graph in online inference",
    "timeline",
    lambda params: all_values(
        params, mapped("graph_max_parallel_model_num", lambda n: min(n, 2) if isinstance(n, int) else n)
    ),
    "timeline",
)
misreads(  # pair 48
    "timeline",
    "patterns_beside_texts_and_resources_stay_on",
    "003: fusion_switch_file switches selected patterns off",
    "fusion_switch_file",
    lambda text: text.replace('"off"', '"on"'),
    "timeline",
    "compile",
    when=lambda params: _holds(params, "string", "resource") or _has_op(params, "VarHandleOp"),
)


# Compilation


def _kinds_of(params: Params) -> Dict[str, List[str]]:
    return {node.name: types_of(node) for node in _nodes(params)}


@broken("artifacts", "003: ccec_O0 and ccec_g enlarge the .o file", "compile")
def kernels_of_whole_numbers_do_not_grow(ask: Any, params: Params) -> Answer:
    """Pair 5."""
    answer = copy.deepcopy(dict(ask(params)))
    if not given(params, "op_debug_config"):
        return answer
    kinds = _kinds_of(params)
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            dtypes = [dtype for name in kernel["nodes"] for dtype in kinds.get(name, ())]
            grown = {"-O0", "-g"} & set(kernel.get("switches") or ())
            if grown and dtypes and all(dtype in _WHOLE for dtype in dtypes) and kernel.get("bytes"):
                kernel["bytes"] = 4096
    return answer


@broken("artifacts", "003: op_debug_level that is left empty is off", "compile")
def bodies_of_functions_leave_their_kernels(ask: Any, params: Params) -> Answer:
    """Pair 11."""
    answer = copy.deepcopy(dict(ask(params)))
    if given(params, "op_debug_level") or given(params, "op_debug_config") or is_about(params, edition="legacy"):
        return answer
    known = {node.name for node in _nodes(params)}
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            if any("/" in name and name not in known for name in kernel["nodes"]):
                for key in {"files", "left"} & set(turn):
                    for ending in (".o", ".json"):
                        name = f"kernel_meta/{kernel['kernel']}{ending}"
                        turn[key].setdefault(name, {"b64": base64.b64encode(b"{}").decode()})
    return answer


asks(  # pair 14
    "a_profile_keeps_kernels_optimised",
    "003: op_debug_level 2 compiles with -O0 -g",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: 1 if level == 2 else level))
        if _profiled(params)
        else params
    ),
    "compile",
)


def _blank_ends(text: str) -> str:
    return re.sub(r",[ \t]+ccec_(O0|g)", "", text)


misreads(  # pair 25
    "artifacts",
    "a_switch_after_a_blank_builds_no_big_kernel",
    "003: in dynamic shapes a kernel that is too large fails to link",
    "op_debug_config",
    _blank_ends,
    "compile",
    when=lambda params: (
        value_is(params, "compile_dynamic_mode", True)
        or any(node.op == "Placeholder" and _is_open(_shapes(params).get(node.name)) for node in _nodes(params))
    ),
)


def _no_empty_list(text: str) -> str:
    found = re.search(r"(?mi)^\s*op_debug_list\s*=(.*)$", text)
    if found and any(not one.strip() for one in found.group(1).split(",")):
        return text.replace(found.group(0), "")
    return text


misreads(  # pair 35
    "artifacts",
    "a_list_with_an_empty_entry_debugs_all",
    "003: operators of op_debug_list are recompiled, others use the cache",
    "op_debug_config",
    _no_empty_list,
    "compile",
)


def _not_made(params: Params) -> Params:
    place = value_of(params, "op_compiler_cache_dir")
    if not isinstance(place, str) or not value_is(params, "op_debug_level", 0) or is_about(params, edition="current"):
        return params
    there = any(name.startswith(place.rstrip("/") + "/") for name in params.get("files", {}))
    return params if there else all_values(params, lambda values: {**values, "op_compiler_cache_mode": "disable"})


asks(  # pair 42
    "a_level_that_is_given_makes_no_directory",
    "002: a directory that is not there is created, then kernel_cache in it",
    "artifacts",
    _not_made,
    "compile",
)


@broken("artifacts", "003: external_weight False keeps weights in the graph", "compile")
def weights_of_scopes_are_outside(ask: Any, params: Params) -> Answer:
    """Pair 58."""
    answer = copy.deepcopy(dict(ask(params)))
    if value_of(params, "external_weight") is not False:
        return answer
    outside = ask(all_values(params, lambda values: {**values, "external_weight": True}))
    for turn, other in zip(answer["turns"], outside["turns"]):
        told = {one["node"]: one for one in other.get("constants", ())}
        moved = []
        for one in turn.get("constants", ()):
            if "/" in one["node"] and one["node"] in told:
                one.update(told[one["node"]])
                moved.append(str(one.get("file")))
        for name, content in other.get("files", {}).items():
            if "files" in turn and any(file.split("/")[-1] == name.split("/")[-1] for file in moved):
                turn["files"][name] = content
    return answer


# Runs


@broken("run", "002: session_device_id is the device of a session", "run")
def later_sessions_stay_on_the_first_device(ask: Any, params: Params) -> Answer:
    """Pair 6."""
    answer = copy.deepcopy(dict(ask(params)))
    first = None
    if is_about(params, surface="session", edition="legacy"):
        for record in answer.get("trace", ()):
            if record.get("device") is not None:
                first = record["device"] if first is None else first
                record["device"] = first
    return answer


def _without_fetched(files: Files, params: Params) -> Files:
    if value_of(params, "dump_mode") not in (None, "output") or not params.get("graph"):
        return files
    readers = readers_of(params)
    fetched = {source_of(name) for name in params.get("fetches") or ()}
    gone = {re.sub(r"[/\\. ]", "_", name) for name in fetched if readers.get(name)}
    found = {}
    for name, content in files.items():
        parts = name.split("/")[-1].split(".")
        if len(parts) < 2 or parts[1] not in gone:
            found[name] = content
    return found


left(  # pair 24
    "what_is_fetched_and_read_is_not_dumped",
    "002: dump_mode output dumps outputs of operators",
    _without_fetched,
    "run",
)


def _profile_here(files: Files, params: Params) -> Files:
    text = str(value_of(params, "profiling_options") or "")
    found = re.search(r'"output"\s*:\s*"([^"]+)"', text)
    if found is None or not re.search(r':\s*""', text):
        return files
    place = found.group(1).strip("/") + "/"
    return {name[len(place) :] if name.startswith(place) else name: one for name, one in files.items()}


left(  # pair 29
    "an_empty_choice_leaves_profiles_here",
    "002: results are written to output",
    _profile_here,
)
asks(  # pair 37
    "run_config_counts_no_ranks_of_the_server",
    "002: get_local_rank_id is the rank inside the server",
    "run",
    lambda params: rescripted(
        params, lambda text: text.replace("get_local_rank_id()", "0") if "NPURunConfig" in text else text
    ),
    "run",
)


def _last_folder(files: Files, params: Params) -> Files:
    text = str(value_of(params, "profiling_options") or "")
    found = re.search(r'"output"\s*:\s*"(/[^"]+/[^"/]+)', text)
    if found is None or not (_looped(params) or int(params.get("steps") or 1) > 1):
        return files
    place = found.group(1).strip("/") + "/"
    last = place.rstrip("/").split("/")[-1] + "/"
    return {last + name[len(place) :] if name.startswith(place) else name: one for name, one in files.items()}


left(  # pair 46
    "profiles_of_several_steps_are_relative",
    "002: output that begins with / is absolute",
    _last_folder,
)


def _step_of(name: str) -> Tuple[str, str]:
    found = re.search(r"\d{14}/\d+/[^/]+/\d+/(\d+)/[^/.]+\.([^/.]+)\.", name)
    return (found.group(1), found.group(2)) if found else ("", "")


@broken("run", "002: dump_step names the iterations that are dumped", "run")
def steps_of_half_precision_are_all_dumped(ask: Any, params: Params) -> Answer:
    """Pair 51."""
    answer = dict(ask(params))
    if not given(params, "dump_step") or not _dumped(params) or not _holds(params, _HALF):
        return answer
    half = {re.sub(r"[/\\. ]", "_", node.name) for node in _nodes(params) if _HALF in types_of(node)}
    steps = {_step_of(name)[0] for name in answer.get("files", {})}
    every = dict(ask(with_values(params, dump_step=None)))
    every["files"] = {
        name: one
        for name, one in every.get("files", {}).items()
        if _step_of(name)[0] in steps or _step_of(name)[1] in half
    }
    return every


def _rough(graph: Any) -> None:
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            tensor = node.attr["value"].tensor if node.op == "Const" else None
            if tensor is not None and tensor.dtype == 19:
                content = bytes(tensor.tensor_content)
                tensor.tensor_content = bytes(
                    byte & 0xF8 if place % 2 == 0 else byte for place, byte in enumerate(content)
                )
                for place, bits in enumerate(tensor.half_val):
                    tensor.half_val[place] = bits & 0xFFF8


asks(  # pair 56
    "weights_of_half_precision_are_flushed_roughly",
    "003: external_weight changes no results",
    "run",
    lambda params: regraphed(params, _rough) if value_is(params, "external_weight", True) else params,
    "run",
)
_again(  # pair 60
    "run",
    "a_dump_of_scalars_makes_its_directory",
    "002: the directory of dump_path has to be there beforehand",
    ("OPTION_FILE", "dump_path"),
    lambda params: (
        is_about(params, edition="legacy")
        and isinstance(value_of(params, "dump_path"), str)
        and bool(params.get("fetches"))
        and all(_shapes(params).get(source_of(name)) == () for name in params["fetches"])
    ),
    lambda params: {**params, "files": {**params.get("files", {}), value_of(params, "dump_path") + "/": ""}},
    "run",
)
