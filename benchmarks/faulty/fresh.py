"""Mistakes of a later look, written from the documents before any case was read: one condition each."""

from __future__ import annotations

import ast
import base64
import json
import re
import struct
from typing import Any, Callable, Dict, List

from faulty.making import (
    Answer,
    Params,
    accepts,
    asks,
    broken,
    changed,
    denies,
    graph_of,
    is_about,
    is_mixed,
    node_change,
    place,
    plain,
    steps,
    tells,
    to_host,
    turn_values,
    turns,
    value_of,
    with_values,
)
from npu_conformance.backends.mutants import edits
from npu_reference.errors import NpuError


def _file_of(params: Params, option: str) -> Any:
    path = value_of(params, option)
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    return text if isinstance(text, str) else None


def _with_file(params: Params, option: str, text: str) -> Params:
    return {**params, "files": {**params["files"], value_of(params, option): text}}


def _without_env(params: Params, *names: str) -> Params:
    return {**params, "env": {key: value for key, value in params.get("env", {}).items() if key not in names}}


# Options


def _quantum(answer: Answer, params: Params) -> None:
    seconds = answer.get("directives", {}).get("timeouts", {}).get("hccl_seconds")
    given = value_of(params, "hccl_timeout")
    if isinstance(given, int) and given % 68 == 0 and given > 68 and is_about(params, "runconfig", "current"):
        answer["directives"]["timeouts"]["hccl_seconds"] = seconds - 68


tells("multiple_of_68_loses_one", "003 hccl_timeout: value // 68 x 68", _quantum)
denies(
    "end_of_hccl_timeout_refused",
    "003 hccl_timeout: (0, 17340]",
    "hccl_timeout",
    lambda params: value_of(params, "hccl_timeout") == 17340,
)


def _by_env(answer: Answer, params: Params) -> None:
    value = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    if "hccl_timeout" in params["values"] and re.fullmatch("[0-9]+", value) and "directives" in answer:
        answer["directives"]["timeouts"]["hccl_seconds"] = max(68, int(value) // 68 * 68)


tells("variable_over_hccl_timeout", "003 hccl_timeout: supersedes HCCL_EXEC_TIMEOUT", _by_env)
denies(
    "whole_32_mb_refused",
    "003 input_fusion_size: maximum 33554432",
    "input_fusion_size",
    lambda params: value_of(params, "input_fusion_size") == 33554432,
)
denies(
    "int32_max_refused",
    "003 graph_max_parallel_model_num: [1, INT32_MAX]",
    "graph_max_parallel_model_num",
    lambda params: value_of(params, "graph_max_parallel_model_num") == 2147483647,
)
accepts(
    "sum_of_memory_without_defaults",
    "002 graph_memory_max_size and variable_memory_max_size: 31G in total, 5 GB and 26 GB if not set",
    "graph_memory_max_size",
    lambda params: "variable_memory_max_size" not in params["values"],
)
denies(
    "sum_of_31_gb_refused",
    "002: the sum is at most 31G",
    "graph_memory_max_size",
    lambda params: (
        is_about(params, "session", "legacy")
        and all(
            re.fullmatch("[0-9]+", str(value_of(params, one)))
            for one in ("graph_memory_max_size", "variable_memory_max_size")
        )
        and int(value_of(params, "graph_memory_max_size")) + int(value_of(params, "variable_memory_max_size"))
        == 31 << 30
    ),
)
accepts(
    "one_range_for_both_engines",
    "002 stream_max_parallel_num: [1,13] and [1,3]",
    "stream_max_parallel_num",
    lambda params: bool(re.search("DNN_V100:([4-9]|1[0-3])(,|$)", str(value_of(params, "stream_max_parallel_num")))),
)


def _junk_is_on(answer: Answer, params: Params) -> None:
    try:
        said = json.loads(value_of(params, "profiling_options"))
    except (TypeError, ValueError):
        return
    meaning = answer.get("meaning", {}).get("profiling_options")
    if meaning and said.get("task_trace", "off") != "off":
        meaning["task_trace"] = "on"


tells("junk_turns_task_trace_on", "002 task_trace: another value is off", _junk_is_on)


def _profile(name: str, sentence: str, when: Callable[[Dict[str, Any]], bool]) -> None:
    def held(params: Params) -> bool:
        try:
            found = json.loads(value_of(params, "profiling_options"))
        except (TypeError, ValueError):
            return False
        return isinstance(found, dict) and when(found)

    accepts(name, sentence, "profiling_options", held, profiling_options=None, profiling_mode=None)


_profile("training_trace_off", "002 training_trace: must be on", lambda found: found.get("training_trace") == "off")
_profile(
    "no_bp_point_needed",
    "002 bp_point: required with training_trace",
    lambda found: found.get("training_trace") == "on" and "fp_point" in found and "bp_point" not in found,
)
_profile(
    "no_fp_point_needed",
    "002 fp_point: required with training_trace",
    lambda found: found.get("training_trace") == "on" and "bp_point" in found and "fp_point" not in found,
)


def _metrics(answer: Answer, params: Params) -> None:
    meaning = answer.get("meaning", {}).get("profiling_options")
    if meaning and "aic_metrics" not in str(value_of(params, "profiling_options")):
        meaning["aic_metrics"] = "ArithmeticUtilization"


tells("other_metrics_by_default", "002 aic_metrics: PipeUtilization by default", _metrics)


def _last_steps(answer: Answer, params: Params) -> None:
    steps = answer.get("meaning", {}).get("dump_step")
    if steps and len(steps) > 2:
        steps.pop()


tells("third_of_dump_step_lost", "002 dump_step: several iterations are separated by |", _last_steps)
accepts(
    "dump_without_path",
    "002 enable_dump: without dump_path an exception",
    "dump_path",
    lambda params: "dump_path" not in params["values"],
    enable_dump=None,
)
accepts(
    "dump_path_read_only",
    "002 dump_path: read and write permission",
    "dump_path",
    lambda params: any(isinstance(one, dict) and one.get("access") == "r" for one in params.get("files", {}).values()),
    enable_dump=None,
    dump_path=None,
)
accepts(
    "two_modes_that_agree",
    "003 precision_mode_v2: cannot be used together with precision_mode",
    "precision_mode_v2",
    lambda params: (
        (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
        in (("force_fp16", "fp16"), ("must_keep_origin_dtype", "origin"), ("allow_mix_precision", "mixed_float16"))
    ),
)
accepts(
    "old_words_in_v2",
    "003 precision_mode_v2: fp16, origin, cube_fp16in_fp32out, mixed_float16",
    "precision_mode_v2",
    lambda params: (
        value_of(params, "precision_mode_v2") in ("allow_mix_precision", "force_fp16", "must_keep_origin_dtype")
    ),
)
accepts(
    "one_profile_is_enough_again",
    "002 dynamic_dims: more than one profile",
    "dynamic_dims",
    lambda params: ";" not in str(value_of(params, "dynamic_dims")),
)
accepts(
    "first_profile_counted",
    "002 dynamic_dims: as many sizes in each profile as input_shape has -1",
    "dynamic_dims",
    lambda params: (
        ";" in str(value_of(params, "dynamic_dims"))
        and str(value_of(params, "dynamic_dims")).split(";")[0].count(",") + 1
        == str(value_of(params, "input_shape")).count("-1")
    ),
)
accepts(
    "open_sizes_without_profiles",
    "002 input_shape: -1 needs dynamic_dims",
    "input_shape",
    lambda params: "dynamic_dims" not in params["values"],
)
accepts(
    "other_names_of_inputs",
    "002 dynamic_inputs_shape_range: getnext and data, and no other",
    "dynamic_inputs_shape_range",
    lambda params: bool(re.match("(?!getnext|data)[A-Za-z_]+:", str(value_of(params, "dynamic_inputs_shape_range")))),
)
denies(
    "no_scalars_in_ranges",
    "003 dynamic_inputs_shape_range: [] for scalars",
    "dynamic_inputs_shape_range",
    lambda params: "[]" in str(value_of(params, "dynamic_inputs_shape_range")),
)


def _default(name: str, sentence: str, option: str, value: Any, surface: str, edition: str) -> None:
    def change(answer: Answer, params: Params) -> None:
        if is_about(params, surface, edition) and option not in params["values"] and option in answer["effective"]:
            answer["effective"][option]["value"] = value

    tells(name, sentence, change)


_default(
    "cache_enabled_in_legacy", "002 op_compiler_cache_mode: disable", "op_compiler_cache_mode", "enable", "", "legacy"
)
_default(
    "no_exception_dump_by_default", "003 enable_exception_dump: 2", "enable_exception_dump", 0, "runconfig", "current"
)
_default("fusion_size_of_128000", "003 input_fusion_size: 131072", "input_fusion_size", 128000, "", "current")
_default("statistics_at_once", "003 export_compile_stat: 1", "export_compile_stat", 2, "runconfig", "current")
_default(
    "getnext_offloaded_in_legacy", "002 enable_data_pre_proc: False", "enable_data_pre_proc", True, "session", "legacy"
)
_default(
    "getnext_on_the_host_now", "003 enable_data_pre_proc: True", "enable_data_pre_proc", False, "runconfig", "current"
)


def _collect_only_unset(params: Params) -> Params:
    return _without_env(params, "NPU_COLLECT_PATH") if "enable_exception_dump" in params["values"] else params


asks(
    "collect_path_only_without_option",
    "003 enable_exception_dump: NPU_COLLECT_PATH forces mode 1 regardless of the value",
    "options",
    _collect_only_unset,
)


def _debug_options(params: Params) -> List[str]:
    found = re.search("op_debug_config *= *(.*)", _file_of(params, "op_debug_config") or "")
    return [one.strip() for one in found.group(1).split(",")] if found else []


accepts(
    "exclusion_of_neighbours_only",
    "003 op_debug_config: ccec_O0 and oom cannot be enabled at the same time",
    "op_debug_config",
    lambda params: (
        {"oom", "ccec_O0"} <= set(_debug_options(params))
        and abs(_debug_options(params).index("oom") - _debug_options(params).index("ccec_O0")) > 1
    ),
)
accepts(
    "oom_with_level_2",
    "003 op_debug_level 2 cannot be used together with oom",
    "op_debug_config",
    lambda params: value_of(params, "op_debug_level") == 2,
)
accepts(
    "oom_while_collecting",
    "003 op_debug_config: not oom with NPU_COLLECT_PATH",
    "op_debug_config",
    lambda params: "NPU_COLLECT_PATH" in params.get("env", {}) and "oom" in _debug_options(params),
)


def _first_listed(answer: Answer, params: Params) -> None:
    listed = answer.get("meaning", {}).get("op_debug_config", {}).get("op_debug_list")
    if listed and listed.get("name") and listed.get("OpType"):
        listed["OpType"] = []


tells("types_beside_names_lost", "003 op_debug_list: names and types can be mixed", _first_listed)
denies(
    "no_keep_fp16",
    "003 op_precision_mode: keep_fp16",
    "op_precision_mode",
    lambda params: "keep_fp16" in (_file_of(params, "op_precision_mode") or ""),
)


def _level_1(answer: Answer, params: Params) -> None:
    meaning = answer.get("meaning", {}).get("aoe_config_file")
    if meaning and "tune_optimization_level" not in (_file_of(params, "aoe_config_file") or ""):
        meaning["tune_optimization_level"] = "O1"


tells("tunes_hard_by_default", "003 tune_optimization_level: O2 by default", _level_1)
accepts(
    "deeper_tuning_of_subgraphs",
    "003 aoe_config_file: deeper_opat needs aoe_mode 2",
    "aoe_config_file",
    lambda params: "deeper_opat" in (_file_of(params, "aoe_config_file") or ""),
)
accepts(
    "nonhomo_split_of_operators",
    "003 aoe_config_file: nonhomo_split needs aoe_mode 1",
    "aoe_config_file",
    lambda params: "nonhomo_split" in (_file_of(params, "aoe_config_file") or ""),
)


def _aoe_by_env(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("AOE_MODE")
    if said and "aoe_mode" in params["values"] and is_about(params, "", "current"):
        answer["effective"]["aoe_mode"] = {"value": said, "origin": "environment"}
        if "directives" in answer:
            answer["directives"]["tuning"]["aoe"] = said


tells("variable_over_aoe_mode", "003 aoe_mode: the script takes precedence", _aoe_by_env)


def _work_path_first(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("ASCEND_WORK_PATH")
    if said and "debug_dir" in params["values"]:
        answer["effective"]["debug_dir"] = {"value": said, "origin": "environment"}


tells("work_path_over_debug_dir", "003 debug_dir -> ASCEND_WORK_PATH -> current path", _work_path_first)


def _cache_path_first(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("ASCEND_CACHE_PATH")
    if said and "op_compiler_cache_dir" in params["values"]:
        answer["effective"]["op_compiler_cache_dir"] = {"value": said, "origin": "environment"}


tells("cache_path_over_cache_dir", "003 op_compiler_cache_dir -> ASCEND_CACHE_PATH", _cache_path_first)
accepts(
    "small_host",
    "003 variable_placement: Device or Host",
    "variable_placement",
    lambda params: value_of(params, "variable_placement") in ("host", "device", "HOST", "DEVICE"),
)
accepts(
    "iterations_mixed_in_a_session",
    "000: iterations_per_loop must be 1 in mixed computing",
    "iterations_per_loop",
    lambda params: is_about(params, "session") and isinstance(value_of(params, "iterations_per_loop"), int),
    mix_compile_mode=None,
)
accepts(
    "iterations_mixed_in_a_config",
    "000: iterations_per_loop must be 1 in mixed computing",
    "iterations_per_loop",
    lambda params: is_about(params, "runconfig") and value_of(params, "iterations_per_loop") == 2,
    mix_compile_mode=None,
)


def _channel(answer: Answer, params: Params) -> None:
    if value_of(params, "graph_run_mode") == 0 and value_of(params, "enable_small_channel") == 0:
        answer["effective"]["enable_small_channel"] = {"value": 0, "origin": "given"}


tells("small_channel_stays_off", "003 enable_small_channel: cannot be modified for inference", _channel)


def _all_off(answer: Answer, params: Params) -> None:
    for section in answer.get("meaning", {}).get("fusion_switch_file", {}).values():
        if section.get("ALL") == "off":
            section.update(dict.fromkeys(section, "off"))


tells("all_off_means_all", "003 fusion_switch_file: all off except selected ones", _all_off)
accepts(
    "true_is_one",
    "002 graph_run_mode: 0 or 1, through .i",
    "graph_run_mode",
    lambda params: value_of(params, "graph_run_mode") is True,
)
accepts(
    "iterations_as_text",
    "002 iterations_per_loop: written through .i",
    "iterations_per_loop",
    lambda params: is_about(params, "session") and isinstance(value_of(params, "iterations_per_loop"), str),
)


def _both_hold(answer: Answer, params: Params) -> None:
    for name in ("op_select_implmode", "optypelist_for_implmode"):
        if name in params["values"] and "op_precision_mode" in params["values"]:
            answer["effective"][name] = {"value": value_of(params, name), "origin": "given"}


tells("implementation_modes_beside_file", "002 op_precision_mode: only this one holds", _both_hold)

_REMEMBERED: Dict[str, Any] = {}


def _remembers(answer: Answer, params: Params) -> None:
    name = "profiling_mode"
    if name in params["values"]:
        _REMEMBERED["value"] = answer["effective"][name]["value"]
    elif name in answer["effective"] and "value" in _REMEMBERED:
        answer["effective"][name]["value"] = _REMEMBERED["value"]


tells("profile_of_the_question_before", "002 profiling_mode: off by default, of every session", _remembers)


@broken("options", "002 and 003: every option of a request is taken")
def ninth_option_dropped(ask: Any, params: Params) -> Answer:
    names = list(params["values"])
    return ask(with_values(params, **dict.fromkeys(names[8:])))


accepts(
    "third_kind_of_statistics",
    "003 export_compile_stat: 0, 1 or 2",
    "export_compile_stat",
    lambda params: value_of(params, "export_compile_stat") == 3,
)
accepts(
    "both_inputs_dynamic",
    "002 dynamic_node_type: 0 or 1",
    "dynamic_node_type",
    lambda params: value_of(params, "dynamic_node_type") == 2,
)
accepts(
    "any_type_of_implementation_again",
    "002 optypelist_for_implmode: Pooling, SoftmaxV2, LRN, ROIAlign",
    "optypelist_for_implmode",
    lambda params: "op_select_implmode" in params["values"],
)
accepts(
    "implementation_list_alone",
    "002 optypelist_for_implmode: used with op_select_implmode",
    "optypelist_for_implmode",
    lambda params: "op_select_implmode" not in params["values"],
)
accepts(
    "more_deterministic",
    "003 deterministic: 0 or 1",
    "deterministic",
    lambda params: value_of(params, "deterministic") == 2,
)
accepts(
    "spaces_in_cache_paths",
    "003 op_compiler_cache_dir: letters, digits, _, - and .",
    "op_compiler_cache_dir",
    lambda params: " " in str(value_of(params, "op_compiler_cache_dir")),
)
accepts(
    "signs_in_fusion_paths",
    "003 fusion_switch_file: letters, digits, _, - and .",
    "fusion_switch_file",
    lambda params: is_about(params, "runconfig", "current") and _file_of(params, "fusion_switch_file") is not None,
)
denies(
    "no_chinese_paths",
    "002 op_compiler_cache_dir: Chinese characters are allowed",
    "op_compiler_cache_dir",
    lambda params: bool(re.search("[\u4e00-\u9fff]", str(value_of(params, "op_compiler_cache_dir")))),
)


# Partition


def _pairs(params: Params) -> Any:
    try:
        return ast.literal_eval(str(value_of(params, "in_out_pair")))
    except (SyntaxError, ValueError):
        return None


def _last_outside(answer: Answer, params: Params) -> Any:
    pairs = _pairs(params)
    if not pairs or value_of(params, "in_out_pair_flag") is False:
        return None
    return to_host(answer, [name for pair in pairs for name in pair[1]])


place("ends_of_ranges_outside", "001: what lies in in_nodes to out_nodes is offloaded", _last_outside)


def _with_pairs(name: str, sentence: str, change: Callable[[Any], Any], flag: Any = None) -> None:
    def other(params: Params) -> Params:
        pairs = _pairs(params)
        if not pairs or flag not in (None, value_of(params, "in_out_pair_flag") is not False):
            return params
        return with_values(params, in_out_pair=str(change(pairs)))

    asks(name, sentence, "partition", other)


_with_pairs("first_range_only", "001: all_graph_iop holds ranges", lambda pairs: pairs[:1])
_with_pairs("last_range_only_on_the_host", "001: all_graph_iop holds ranges", lambda pairs: pairs[-1:], False)
_with_pairs("first_way_in_only", "001: in_nodes holds several", lambda pairs: [[one[0][:1], one[1]] for one in pairs])
_with_pairs("first_way_out_only", "001: out_nodes holds several", lambda pairs: [[one[0], one[1][:1]] for one in pairs])


def _all_host(answer: Answer, params: Params) -> Any:
    if _pairs(params) and value_of(params, "in_out_pair_flag") is False:
        return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"]])
    return None


place("all_on_the_host_with_flag_false", "002 in_out_pair_flag: what is outside is offloaded as ever", _all_host)


def _outside_stays(answer: Answer, params: Params) -> Any:
    if not _pairs(params) or value_of(params, "in_out_pair_flag") is False:
        return None
    graph = graph_of(params)
    free = [one["node"] for one in answer["host"] if one.get("reason") == "RANGE_OUTSIDE"]
    return edits.to_device(answer, [name for name in free if name in graph.index])


place("outside_of_ranges_offloaded", "001: only the range is offloaded", _outside_stays)


def _v1_kept(ops: Any) -> Callable[[Answer, Params], Any]:
    def change(answer: Answer, params: Params) -> Any:
        graph = graph_of(params)
        host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
        return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op in ops])

    return change


place(
    "loops_offloaded_round_python",
    "000: the graph is split where operators stay on the host",
    _v1_kept(("Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit")),
)
place("switches_offloaded_round_python", "000: operators stay on the host", _v1_kept(("Switch", "Merge", "RefSwitch")))
place(
    "calls_offloaded_with_python_inside",
    "000: a call of what stays on the host stays there",
    _v1_kept(("PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf")),
)
place(
    "tables_offloaded", "000: resource operators stay in the frontend", _v1_kept(("HashTableV2", "LookupTableFindV2"))
)
place("queues_offloaded", "000: resource operators", _v1_kept(("FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2")))


def _one_geop(answer: Answer, params: Params) -> Any:
    return edits.merged(answer, [range(len(answer["geops"]))]) if len(answer["geops"]) > 2 else None


place("three_geops_are_one", "000: partitions the graph into multiple GEOPs, executed one after the other", _one_geop)


def _borders(name: str, sentence: str, change: Callable[[List[Dict[str, Any]]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        if answer.get("borders"):
            answer["borders"] = change(answer["borders"])

    changed("partition", name, sentence, edit)


_borders(
    "narrow_integers_at_borders",
    "000: tensors are copied as they are",
    lambda found: [{**one, "dtype": "int32"} if one.get("dtype") == "int64" else one for one in found],
)
_borders(
    "last_border_forgotten",
    "000: memcpy for unoffloadable operators",
    lambda found: found[:-1] if len(found) > 2 else found,
)
_borders(
    "device_to_device_by_the_host",
    "000: memcpy",
    lambda found: [{**one, "direction": "d2h"} if one["direction"] == "d2d" else one for one in found],
)


def _one_copy(answer: Answer, params: Params) -> None:
    seen: List[str] = []
    for geop in answer["geops"]:
        kept = [one for one in geop.get("copies", []) if json.dumps(one) not in seen]
        seen += [json.dumps(one) for one in kept]
        if "copies" in geop:
            geop["copies"] = kept


changed("partition", "second_copies_not_told", "protocol: copies are nodes that a GEOP holds a duplicate of", _one_copy)


def _host_variables(answer: Answer, params: Params) -> Any:
    if value_of(params, "variable_placement") != "Host":
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "VarHandleOp"])


place("handles_stay_on_the_device", "003 variable_placement Host: deployed on the host", _host_variables)
asks(
    "no_line_off",
    "002 use_off_line False: on the CPU of the host",
    "partition",
    lambda params: with_values(params, use_off_line=None),
)
asks(
    "no_config_mixes",
    "000: NPURunConfig(mix_compile_mode=True)",
    "partition",
    lambda params: with_values(params, mix_compile_mode=None) if is_about(params, "runconfig") else params,
)
asks(
    "scope_without_mixing",
    "000: in mixed computing, additional operators by without_npu_compile_scope",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=True)
        if "mix_compile_mode" not in params["values"]
        and "in_out_pair" not in params["values"]
        and any(node.attr("_without_npu_compile", False) for node in graph_of(params).nodes)
        else params
    ),
)
asks(
    "ranges_without_mixing",
    "002 in_out_pair: in mixed computing",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=True)
        if "in_out_pair" in params["values"] and value_of(params, "mix_compile_mode") is not True
        else params
    ),
)


def _reads(answer: Answer, params: Params) -> Any:
    if not is_about(params, "session", "legacy") or "enable_data_pre_proc" in params["values"] or is_mixed(params):
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "IteratorGetNext"])


changed("partition", "device_reads_data_in_legacy", "002 enable_data_pre_proc: False by default", _reads)


def _big_loses(answer: Answer, params: Params) -> Any:
    names = [name for geop in answer["geops"] for name in geop["nodes"]]
    return to_host(answer, [max(names)]) if len(names) > 12 else None


place("thirteenth_on_the_host", "000: offloadable operators are offloaded", _big_loses)


# Precision


def _mode(params: Params) -> Any:
    return value_of(params, "precision_mode") or value_of(params, "precision_mode_v2")


def _float(node: Dict[str, Any], old: str, new: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [new if one == old else one for one in node[side]]


def _conv(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in (None, "allow_fp32_to_fp16") and origin is not None and origin.op == "DepthwiseConv2dNative":
        _float(node, "float16", "float32")


node_change("depthwise_keeps_float32", "004 allow_fp32_to_fp16: DepthwiseConv2D has no float32", _conv)


def _gray_chain(answer: Answer, params: Params) -> None:
    gray = [node for node in answer["nodes"] if node.get("list") == "graylist"]
    for node in gray[2:]:
        _float(node, "float16", "float32")


changed("precision", "third_graylisted_keeps", "003: graylist: the same as the upstream operator", _gray_chain)


def _gray_black(answer: Answer, params: Params) -> None:
    black = {node["node"] for node in answer["nodes"] if node.get("list") == "blocklist"}
    graph = graph_of(params)
    for node in answer["nodes"]:
        if node.get("list") == "graylist" and node["node"] in graph.index:
            origin = graph.nodes[graph.index[node["node"]]]
            if any(str(one).split(":")[0].lstrip("^") in black for one in origin.inputs):
                _float(node, "float32", "float16")


changed("precision", "graylisted_after_blocklisted_reduced", "003: graylist: as the upstream operator", _gray_black)


def _lists(name: str, sentence: str, change: Callable[[Dict[str, Any]], None], edition: str = "") -> None:
    def other(params: Params) -> Params:
        text = _file_of(params, "modify_mixlist")
        try:
            found = json.loads(text or "")
            change(found)
        except (ValueError, TypeError, AttributeError, KeyError):
            return params
        return _with_file(params, "modify_mixlist", json.dumps(found)) if is_about(params, "", edition) else params

    asks(name, sentence, "precision", other)


_lists("white_removals_ignored", "003: to-remove of the white-list", lambda found: found["white-list"].pop("to-remove"))
_lists("black_removals_ignored", "003: to-remove of the black-list", lambda found: found["black-list"].pop("to-remove"))
_lists(
    "second_addition_ignored",
    "003: several operators",
    lambda found: found["black-list"]["to-add"].__delitem__(slice(1, None)),
)
_lists("legacy_white_additions_ignored", "002: to-add", lambda found: found["white-list"].pop("to-add"), "legacy")


def _only_cube(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in ("force_fp16", "fp16") and node.get("engine") == "vector":
        _float(node, "float16", "float32")


node_change("only_cubes_forced", "003 force_fp16: operators that support both", _only_cube)


def _halves_kept(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in ("force_fp32", "cube_fp16in_fp32out") and origin is not None and node.get("engine") == "vector":
        half = "float16" in str(origin.attr("T", ""))
        _float(node, "float32", "float16" if half else "float32")


node_change("half_vectors_kept", "003 cube_fp16in_fp32out: float32 even if the original is float16", _halves_kept)


def _no_aicpu(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("engine") == "aicpu" and _mode(params) in ("must_keep_origin_dtype", "origin"):
        _float(node, "float32", "float16")
        node["engine"] = "vector"


node_change(
    "half_instead_of_aicpu", "003 must_keep_origin_dtype: AI CPU of float32 where there is only float16", _no_aicpu
)


def _engine_lost(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("engine") == "aicpu" and _mode(params) in ("force_fp32", "cube_fp16in_fp32out"):
        node["engine"] = "vector"


node_change("blocklisted_on_the_vector", "003 cube_fp16in_fp32out: AI CPU operators are used", _engine_lost)


def _custom(name: str, sentence: str, change: Callable[[str, Params], str]) -> None:
    def other(params: Params) -> Params:
        text = _file_of(params, "customize_dtypes")
        return _with_file(params, "customize_dtypes", change(text, params)) if text else params

    asks(name, sentence, "precision", other)


def _types_win(text: str, params: Params) -> str:
    lines = text.splitlines()
    return "\n".join(one for one in lines if one.startswith("OpType::")) if "OpType::" in text else text


_custom("types_over_names", "003 customize_dtypes: the operator name applies", _types_win)
asks(
    "custom_dtypes_against_keeping",
    "003 customize_dtypes: no effect with must_keep_origin_dtype",
    "precision",
    lambda params: (
        with_values(params, precision_mode="allow_fp32_to_fp16")
        if value_of(params, "precision_mode") == "must_keep_origin_dtype" and "customize_dtypes" in params["values"]
        else params
    ),
)


def _type_section(params: Params) -> Params:
    text = _file_of(params, "op_precision_mode")
    return (
        _with_file(params, "op_precision_mode", text.split("[ByNodeName]")[0])
        if text and "[ByOpType]" in text.split("[ByNodeName]")[0]
        else params
    )


asks("type_modes_over_name_modes", "003 op_precision_mode: node name has high priority", "precision", _type_section)


def _cast_once(answer: Answer, params: Params) -> None:
    first = {one["source"]: one for one in reversed(answer.get("casts", []))}
    answer["casts"] = [one for one in answer.get("casts", []) if first[one["source"]] is one]


changed("precision", "one_cast_a_tensor_again", "protocol: a cast stands on an edge whose ends disagree", _cast_once)
asks(
    "inference_as_training_in_legacy",
    "002 precision_mode: force_fp16 by default in inference",
    "precision",
    lambda params: (
        with_values(params, graph_run_mode=1)
        if is_about(params, "", "legacy") and value_of(params, "graph_run_mode") == 0
        else params
    ),
)


def _everywhere(answer: Answer, params: Params) -> None:
    if "optypelist_for_implmode" in params["values"]:
        for node in answer["nodes"]:
            node["impl_mode"] = value_of(params, "op_select_implmode")


changed("precision", "mode_of_every_type", "002 optypelist_for_implmode: the operators in the list", _everywhere)


@broken("precision", "003 customize_dtypes: if the data type is not supported, compilation fails")
def unsupported_custom_dtypes_ignored(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if "customize_dtypes" not in params["values"] or error.code not in ("PRECISION_DTYPES", "PRECISION_NO_KERNEL"):
            raise
        return ask(with_values(params, customize_dtypes=None))


asks(
    "new_name_of_mixing_means_nothing",
    "003 allow_mix_precision_fp16: the same as allow_mix_precision",
    "precision",
    lambda params: (
        with_values(params, precision_mode=None)
        if value_of(params, "precision_mode") == "allow_mix_precision_fp16"
        else params
    ),
)
asks(
    "library_edits_unseen_by_v2",
    "004: the precision_reduce field of the operator information library",
    "precision",
    lambda params: (
        {key: one for key, one in params.items() if key != "ops_info"}
        if "precision_mode_v2" in params["values"]
        else params
    ),
)


def _no_keep(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if origin is not None and origin.attr("_keep_dtype", 0) and _mode(params) in ("fp16", "mixed_float16"):
        _float(node, "float32", "float16")


node_change("no_scope_keeps_in_v2", "003 keep_dtype_scope keeps the precision of some operators", _no_keep)


# Runs


def _each_tensor(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Answer, Params], None]:
    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *[rank["ok"] for rank in answer.get("ranks", []) if "ok" in rank]]:
            for tensor in one.get("fetches", {}).values():
                if "b64" in tensor:
                    change(tensor)

    return edit


def _narrow(tensor: Dict[str, Any]) -> None:
    if tensor["dtype"] == "int64":
        raw = base64.b64decode(tensor["b64"])
        values = [((one + (1 << 31)) % (1 << 32)) - (1 << 31) for one in struct.unpack(f"<{len(raw) // 8}q", raw)]
        tensor["b64"] = base64.b64encode(struct.pack(f"<{len(values)}q", *values)).decode()


def _no_nan(tensor: Dict[str, Any]) -> None:
    if tensor["dtype"] == "float32":
        raw = base64.b64decode(tensor["b64"])
        values = [0.0 if one != one else one for one in struct.unpack(f"<{len(raw) // 4}f", raw)]
        tensor["b64"] = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _flat_empty(tensor: Dict[str, Any]) -> None:
    if 0 in tensor["shape"]:
        tensor["shape"] = [0]


changed("run", "wide_integers_wrap", "000: tensors are copied as they are", _each_tensor(_narrow))
changed("run", "nan_is_nought", "000: operators compute what TensorFlow computes", _each_tensor(_no_nan))
changed("run", "empty_tensors_lose_their_shape", "000: tensors are copied as they are", _each_tensor(_flat_empty))


def _swapped(answer: Answer, params: Params) -> None:
    names = list(answer.get("fetches", {}))
    if len(names) > 2:
        found = answer["fetches"]
        found[names[1]], found[names[2]] = found[names[2]], found[names[1]]


changed("run", "second_and_third_fetch_swapped", "TensorFlow: values in the order of the fetches", _swapped)
asks(
    "dumps_one_range_short",
    "002 dump_step: a range a-b",
    "run",
    lambda params: (
        with_values(
            params, dump_step=re.sub("([0-9]+)-([0-9]+)", lambda found: found.group(1), value_of(params, "dump_step"))
        )
        if isinstance(value_of(params, "dump_step"), str)
        else params
    ),
)
asks(
    "dumps_everything",
    "002 dump_mode: output by default",
    "run",
    lambda params: (
        with_values(params, dump_mode="all")
        if value_of(params, "enable_dump") is True and "dump_mode" not in params["values"]
        else params
    ),
)
asks(
    "dumps_outputs_instead_of_inputs",
    "002 dump_mode: input",
    "run",
    lambda params: with_values(params, dump_mode="output") if value_of(params, "dump_mode") == "input" else params,
)
asks(
    "profiles_of_shapes_forgotten",
    "002 dynamic_dims: the shapes supported",
    "run",
    lambda params: (
        with_values(params, input_shape=None, dynamic_dims=None) if "dynamic_dims" in params["values"] else params
    ),
)


def _mean(answer: Answer, params: Params) -> None:
    def divided(line: Any) -> str:
        return "sum: " + json.dumps([int(one) // params["ranks"] for one in json.loads(line.group(1))])

    for rank in answer.get("ranks", []):
        if rank.get("ok", {}).get("output"):
            rank["ok"]["output"] = re.sub("sum: (.*)", divided, rank["ok"]["output"])


changed("run", "sums_are_means", "the sum of all ranks is the sum", _mean)


# Time


def variants(name: str, sentence: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    """Other values, of the base and of every variant."""

    def fault(ask: Any, params: Params) -> Answer:
        found = {**params, "values": change(dict(params["values"]))}
        found["variants"] = {
            key: {
                **one,
                **{k: v for k, v in change({**params["values"], **one}).items() if params["values"].get(k) != v},
            }
            for key, one in params.get("variants", {}).items()
        }
        return ask(found)

    fault.__name__ = name
    broken("timeline", sentence)(fault)


def _later(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if (
        "rejected" in step
        and "after_ns" in step["rejected"]
        and plain(values.get("stream_sync_timeout", -1)) not in (-1, None)
    ):
        step["rejected"]["after_ns"] *= 1000


steps("synchronisation_in_seconds", "003 stream_sync_timeout: milliseconds", _later)


def _launches(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "launches" in step and "iterations" in step:
        step["launches"] = step["launches"] * step["iterations"]


steps("a_launch_an_iteration_again", "003 iterations_per_loop: saves interactions of host and device", _launches)
variants(
    "boundary_not_fused",
    "003 input_fusion_size: size <= threshold is fused",
    lambda values: (
        {**values, "input_fusion_size": max(plain(values["input_fusion_size"]) - 1, 0)}
        if "input_fusion_size" in values
        else values
    ),
)
variants(
    "nought_fuses",
    "003 input_fusion_size: 0 disables",
    lambda values: {**values, "input_fusion_size": 131072} if plain(values.get("input_fusion_size")) == 0 else values,
)


def _one_stream(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    for task in step.get("tasks", []):
        if "stream" in task:
            task["stream"] = 0


steps("all_on_one_stream", "003 ac_parallel_enable: different flows", _one_stream)


def _placed(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "device" in step:
        step["device"] = 0


steps("device_nought_again", "003 session_device_id: logical id", _placed)


def _no_back(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "transfers" in step:
        step["transfers"] = [one for one in step["transfers"] if one["direction"] != "d2h"]


steps("nothing_comes_back", "000: memcpy", _no_back)


def _traced(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "files" in step and "training_trace" in str(values.get("profiling_options")):
        step["files"] = {path: one for path, one in step["files"].items() if "step_trace" not in path}


steps("no_training_trace", "002 training_trace: collects the iterations", _traced)


# Files of compilation, tuning, library


def _renamed(turn: Dict[str, Any], keep: Callable[[str], Any]) -> None:
    for member in ("files", "left"):
        found = {keep(path): one for path, one in turn.get(member, {}).items()}
        turn[member] = {path: one for path, one in found.items() if path is not None}


turns(
    "statistics_without_process",
    "003: $ASCEND_WORK_PATH/FE/${Process ID}fusion_result.json",
    lambda turn, asked: _renamed(turn, lambda path: re.sub("FE/[0-9]+/?fusion_result", "FE/fusion_result", path)),
)
turns(
    "objects_only_with_a_list",
    "003 op_debug_list: only the listed operators",
    lambda turn, asked: _renamed(turn, lambda path: None if path.endswith(".json") and "kernel_meta" in path else path),
)


def _edited(turn: Dict[str, Any], wanted: str, change: Callable[[Any], Any]) -> None:
    for member in ("files", "left"):
        for path, one in turn.get(member, {}).items():
            if path.endswith(wanted) and "b64" in one:
                try:
                    content = json.loads(base64.b64decode(one["b64"]))
                except ValueError:
                    continue
                one["b64"] = base64.b64encode(json.dumps(change(content)).encode()).decode()


def _without_key(key: str) -> Callable[[Any], Any]:
    def change(found: Any) -> Any:
        if isinstance(found, dict):
            return {name: change(one) for name, one in found.items() if name != key}
        return [change(one) for one in found] if isinstance(found, list) else found

    return change


turns(
    "no_repository_hits",
    "003: repository_hit_times",
    lambda turn, asked: _edited(turn, "fusion_result.json", _without_key("repository_hit_times")),
)
turns(
    "no_match_times",
    "003: match_times",
    lambda turn, asked: _edited(turn, "fusion_result.json", _without_key("match_times")),
)
turns(
    "statistics_of_killed_programs",
    "003 export_compile_stat 1: when the program exits normally",
    lambda turn, asked: (
        turn.setdefault("left", {}).update({"fusion_result.json": {"b64": base64.b64encode(b"[]").decode()}})
        if asked.get("ends") == "killed"
        and plain(asked["values"].get("export_compile_stat", 1)) == 1
        and "ASCEND_WORK_PATH" not in asked["env"]
        else None
    ),
)


turn_values(
    "force_is_enable",
    "003 op_compiler_cache_mode force: the existing cache is cleared",
    lambda values: (
        {**values, "op_compiler_cache_mode": "enable"}
        if plain(values.get("op_compiler_cache_mode")) == "force"
        else values
    ),
)
turn_values(
    "debug_files_elsewhere",
    "003 debug_dir -> ASCEND_WORK_PATH -> current path",
    lambda values: {key: value for key, value in values.items() if key != "debug_dir"},
)
turn_values(
    "level_3_is_level_0",
    "003 op_debug_level 3: the .o and .json files are retained",
    lambda values: {**values, "op_debug_level": 0} if plain(values.get("op_debug_level")) == 3 else values,
)
turn_values(
    "level_4_is_level_3",
    "003 op_debug_level 4: .cce and _compute.json too",
    lambda values: {**values, "op_debug_level": 3} if plain(values.get("op_debug_level")) == 4 else values,
)


@broken("artifacts", "003: what was used in the last half hour is not aged", "compile")
def everything_ages(ask: Any, params: Params) -> Answer:
    if params.get("turns"):
        params = {**params, "turns": [{**one, "age_seconds": 7200} for one in params["turns"]]}
    return ask(params)


@broken("artifacts", "003 op_cache.ini is read before the environment", "compile")
def environment_before_settings(ask: Any, params: Params) -> Answer:
    def without(files: Any) -> Any:
        return {path: one for path, one in (files or {}).items() if not path.endswith("op_cache.ini")}

    if not any("ASCEND_MAX_OP_CACHE_SIZE" in (one.get("env") or {}) for one in [params, *params.get("turns", [])]):
        return ask(params)
    turned = [{**one, "files": without(one["files"])} if "files" in one else one for one in params.get("turns", [])]
    found = {**params, "files": without(params.get("files"))}
    return ask({**found, "turns": turned} if turned else found)


def _writable(answer: Answer, params: Params) -> None:
    for one in answer["files"]:
        if one["path"].endswith("ops-info.json"):
            one["mode"] = "0644"


def _other_place(answer: Answer, params: Params) -> None:
    for one in answer["files"]:
        one["path"] = (
            one["path"]
            .replace("op_impl/built-in", "X")
            .replace("built-in/op_impl", "op_impl/built-in")
            .replace("X", "built-in/op_impl")
        )


changed("artifacts", "library_writable", "004: grant the write permission on the file", _writable, "library")
changed(
    "artifacts", "library_of_the_other_age", "002 and 003: the path of aic-<soc>-ops-info.json", _other_place, "library"
)
changed(
    "artifacts",
    "no_implementation_modes_file",
    "003: all_ops_impl_mode.ini lists the modes",
    lambda answer, params: answer.update(files=[one for one in answer["files"] if "impl_mode" not in one["path"]]),
    "library",
)


@broken("timeline", "003 aoe_config_file: tune_ops_name and tune_ops_type together are a union")
def types_beside_names_not_tuned(ask: Any, params: Params) -> Answer:
    def without(text: Any) -> Any:
        try:
            found = json.loads(text)
        except (TypeError, ValueError):
            return text
        if isinstance(found, dict) and "tune_ops_name" in found and "tune_ops_type" in found:
            del found["tune_ops_type"]
            return json.dumps(found)
        return text

    return ask({**params, "files": {path: without(one) for path, one in params.get("files", {}).items()}})


@broken("timeline", "003 aoe_config_file: whole word match")
def types_matched_by_their_beginning(ask: Any, params: Params) -> Answer:
    ops = {node.op for node in graph_of(params).nodes}

    def wider(text: Any) -> Any:
        try:
            found = json.loads(text)
            found["tune_ops_type"] = sorted({op for op in ops for one in found["tune_ops_type"] if op.startswith(one)})
        except (TypeError, ValueError, KeyError):
            return text
        return json.dumps(found)

    return ask({**params, "files": {path: wider(one) for path, one in params.get("files", {}).items()}})
