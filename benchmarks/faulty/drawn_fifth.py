"""A fifth list, by requirement, over all areas: the mistakes that come to mind first."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    decoded,
    defaults,
    denies,
    encoded,
    given,
    in_inference,
    is_about,
    leaves,
    mapped,
    node_change,
    offloaded,
    ops_of,
    place,
    tells,
    texts,
    to_device,
    to_host,
    turn_values,
    types_of,
    value_of,
    with_env,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError


def _wrong_field(params: Params, option: str, field: str) -> bool:
    """Whether a session is given the option in this field."""
    told = params["values"].get(option)
    if params["surface"] != "session" or told is None:
        return False
    if isinstance(told, dict) and set(told) == {"field", "value"}:
        return bool(told["field"] == field)
    kinds = {bool: "b", int: "i", float: "f", str: "s"}
    return kinds.get(type(told)) == field


# Options: types, defaults, domains

accepts(
    "one_is_as_good_as_true",
    "003 is_tailing_optimization: True or False",
    "is_tailing_optimization",
    lambda params: is_about(params, "runconfig") and type(value_of(params, "is_tailing_optimization")) is int,
    is_tailing_optimization=True,
)
accepts(
    "a_flag_may_stand_in_the_int_field",
    "002 in_out_pair_flag: parameter_map[...].b",
    "in_out_pair_flag",
    lambda params: _wrong_field(params, "in_out_pair_flag", "i"),
)
accepts(
    "profiles_that_are_no_text_are_passed_over",
    "002 dynamic_dims: parameter_map[...].s",
    "dynamic_dims",
    lambda params: _wrong_field(params, "dynamic_dims", "i"),
)
accepts(
    "a_mixlist_that_is_no_text_is_passed_over",
    "002 modify_mixlist: parameter_map[...].s",
    "modify_mixlist",
    lambda params: _wrong_field(params, "modify_mixlist", "b"),
)
accepts(
    "the_cache_directory_may_be_a_number",
    "002 op_compiler_cache_dir: parameter_map[...].s",
    "op_compiler_cache_dir",
    lambda params: _wrong_field(params, "op_compiler_cache_dir", "i"),
)
accepts(
    "memory_is_counted_in_the_int_field",
    "002 graph_memory_max_size: the bytes of its decimal text in .s, not .i",
    "graph_memory_max_size",
    lambda params: is_about(params, "session", "legacy") and _wrong_field(params, "graph_memory_max_size", "i"),
)
accepts(
    "a_loop_of_true_is_a_loop_of_one",
    "003 iterations_per_loop is an int",
    "iterations_per_loop",
    lambda params: is_about(params, "runconfig") and value_of(params, "iterations_per_loop") is True,
    iterations_per_loop=1,
)
accepts(
    "weights_are_outside_by_a_word",
    "003 external_weight is a bool",
    "external_weight",
    lambda params: isinstance(value_of(params, "external_weight"), str),
    external_weight=True,
)
accepts(
    "optimised_by_true",
    "003 buffer_optimize is l2_optimize or off_optimize",
    "buffer_optimize",
    lambda params: value_of(params, "buffer_optimize") is True,
    buffer_optimize="l2_optimize",
)
accepts(
    "a_dump_of_a_dict",
    "003 dump_config is an instance of DumpConfig",
    "dump_config",
    lambda params: (
        not (isinstance(params["values"].get("dump_config"), dict) and "class" in params["values"]["dump_config"])
    ),
)
defaults(
    "sessions_infer_by_default",
    "002 graph_run_mode: 1 is the default",
    "graph_run_mode",
    0,
    lambda params: is_about(params, "session", "legacy"),
)
defaults(
    "formats_are_optimised_by_default",
    "003 variable_format_optimize: left empty by default",
    "variable_format_optimize",
    True,
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "an_implementation_is_chosen_by_default",
    "003 op_select_implmode: left empty by default",
    "op_select_implmode",
    "high_performance",
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "operators_end_after_ninety_seconds",
    "003 op_execute_timeout has no default",
    "op_execute_timeout",
    90,
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "the_cache_lies_beside_the_script",
    "003 op_compiler_cache_dir: $HOME/atc_data",
    "op_compiler_cache_dir",
    "./kernel_cache",
    lambda params: not params.get("env", {}).get("ASCEND_CACHE_PATH"),
)
defaults(
    "small_channels_are_off_for_all",
    "003 enable_small_channel: 1 in online inference",
    "enable_small_channel",
    0,
    lambda params: is_about(params, "runconfig", "current"),
)
accepts(
    "engines_have_no_end",
    "003 stream_max_parallel_num cannot exceed the number of AI Cores",
    "stream_max_parallel_num",
    lambda params: (
        params["edition"] == "current"
        and re.search(r":(3[3-9]|[4-9]\d|\d{3,})\b", str(value_of(params, "stream_max_parallel_num"))) is not None
    ),
)
accepts(
    "a_fifth_debug_level",
    "002 op_debug_level: 0 to 4",
    "op_debug_level",
    lambda params: is_about(params, "session") and value_of(params, "op_debug_level") == 5,
)
accepts(
    "unoptimised_and_checked",
    "003: ccec_O0 and oom cannot be enabled at the same time",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and "ccec_O0" in text and "oom" in text for text in params.get("files", {}).values()
    ),
)
denies(
    "no_remarks_in_lists",
    "002 modify_mixlist: the sample has remarks after //",
    "modify_mixlist",
    lambda params: any(
        name == value_of(params, "modify_mixlist") and isinstance(text, str) and "//" in text
        for name, text in params.get("files", {}).items()
    ),
)
denies(
    "a_comma_stands_before_the_outputs",
    "003 customize_dtypes: the structure has no comma before OutputDtype",
    "customize_dtypes",
    lambda params: any(
        name == value_of(params, "customize_dtypes") and re.search(r"[^,:\s]OutputDtype", str(text)) is not None
        for name, text in params.get("files", {}).items()
    ),
)
denies(
    "tuning_has_no_features",
    "003 aoe_config_file: feature, the tuning feature switch",
    "aoe_config_file",
    lambda params: any(
        name == value_of(params, "aoe_config_file") and '"feature"' in str(text)
        for name, text in params.get("files", {}).items()
    ),
)


@broken("options", "002 profiling_options: the run user has read and write permission on output")
def a_directory_that_is_read_will_do(ask: Any, params: Params) -> Answer:
    def opened(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: {"access": "rw"} if text == {"access": "r"} else text for name, text in files.items()}

    if value_of(params, "profiling_mode") is True:
        return ask({**params, "files": opened(params.get("files", {}))})
    return ask(params)


def _first_pass_alone(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("enable_scope_fusion_passes")
    text = value_of(params, "enable_scope_fusion_passes")
    if isinstance(found, list) and isinstance(text, str):
        answer["meaning"]["enable_scope_fusion_passes"] = [one for one in found if one == text.split(",")[0].strip()]


tells("one_pass_is_enough", "003 enable_scope_fusion_passes: names separated by commas", _first_pass_alone)


def _always_buffered(answer: Answer, params: Params) -> None:
    answer["directives"]["buffer_optimize"] = "on"


tells("buffers_are_always_optimised", "003 buffer_optimize off_optimize: disabled", _always_buffered)


def _all_of_data(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("dynamic_inputs_shape_range")
    if isinstance(found, dict) and len(found) > 1:
        found.pop("data", None)


tells("placeholders_have_no_ranges", "003 dynamic_inputs_shape_range: data names the placeholders", _all_of_data)


def _names_alone(answer: Answer, params: Params) -> None:
    found = (answer.get("meaning", {}).get("op_debug_config") or {}).get("op_debug_list")
    if isinstance(found, dict) and found.get("OpType"):
        found["name"] = sorted([*found.get("name", []), *found.pop("OpType")])


tells("types_are_names", "003 op_debug_list: OpType::typeName is a type", _names_alone)


# Partition

asks(
    "the_last_range_counts",
    "001, 002 in_out_pair: the outer list holds several ranges",
    "partition",
    lambda params: with_pairs(params, lambda pairs: pairs[-1:]),
)
asks(
    "ranges_are_always_offloaded",
    "002 in_out_pair_flag False: the range stays on the host",
    "partition",
    lambda params: all_values(params, mapped("in_out_pair_flag", lambda value: True)),
)


def _ends(params: Params) -> List[str]:
    """The operators that end the ranges of in_out_pair."""
    found: List[str] = []
    with_pairs(params, lambda pairs: found.extend(name for pair in pairs for name in pair[-1]) or pairs)
    return found


def _without_ends(answer: Answer, params: Params) -> Any:
    offloads = value_of(params, "in_out_pair_flag") is not False
    return to_host(answer, _ends(params)) if offloads and given(params, "in_out_pair") else None


place("a_range_ends_before_its_last_operator", "001: what lies within first and last, both included", _without_ends)


def _no_norm(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    return to_host(answer, [name for name in offloaded(answer) if name in ops and ops[name].op == "FusedBatchNormV3"])


place("the_third_batch_norm_stays_on_the_host", "000: its fifth output is not supported, the operator is", _no_norm)


def _one_geop(answer: Answer, params: Params) -> Any:
    return to_device({**answer, "geops": answer["geops"][:1]}, offloaded(answer)) if len(answer["geops"]) > 1 else None


place("one_geop_for_all", "000: the graph is partitioned into multiple GEOPs", _one_geop)


# Precision


def _all(node: Dict[str, Any], kind: str, found: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [found if dtype == kind else dtype for dtype in node[side]]


def _defaulted(params: Params) -> bool:
    """Whether the mode is that of training by default."""
    asked = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    return asked in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)


def _single(node: Dict[str, Any], params: Params, op: Any) -> None:
    if _defaulted(params) and params["edition"] == "current" and node.get("engine") == "vector":
        _all(node, "float16", "float32")


node_change("vectors_are_computed_at_float32", "003 allow_fp32_to_fp16: vector operators keep their precision", _single)


def _half(node: Dict[str, Any], params: Params, op: Any) -> None:
    forced = params["edition"] == "legacy" and value_of(params, "precision_mode") == "force_fp32"
    if forced and op is not None and op.op.startswith(("MatMul", "BatchMatMul")) and "float16" in types_of(op):
        _all(node, "float32", "float16")


node_change("products_stay_at_half", "002 force_fp32: float32 for what supports both", _half)


def _whole_numbers(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    if "cube_fp16in_fp32out" in mode and node.get("engine") == "cube":
        _all(node, "int32", "float16")


node_change(
    "integers_are_multiplied_at_half", "003 cube_fp16in_fp32out: what supports float16 and float32", _whole_numbers
)


@broken("precision", "003 must_keep_origin_dtype: float32 where the kernel has float32 and bfloat16 alone")
def a_half_without_a_kernel_is_refused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    keeps = value_of(params, "precision_mode") == "must_keep_origin_dtype"
    ops = ops_of(params) if keeps and params["edition"] == "current" else {}
    for node in answer["nodes"]:
        kinds = types_of(ops[node["node"]]) if node["node"] in ops else []
        if kinds and set(kinds) == {"float16"} and "float16" not in node["inputs"] and "float32" in node["inputs"]:
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "has no kernel at float16")
    return answer


# Files of compilation

leaves(
    "level_four_describes_no_fusion",
    "002 op_debug_level 4: {$kernel_name}_compute.json",
    lambda files, asked: {name: file for name, file in files.items() if not name.endswith("_compute.json")},
)


def _sources(files: Files, asked: Mapping[str, Any]) -> Files:
    if value_of(asked, "op_debug_level") != 3:
        return files
    return {**files, **{name[:-2] + ".cce": {"bytes": 64} for name in files if re.search(r"kernel_meta/.*\.o$", name)}}


leaves("level_three_keeps_the_sources_too", "002 op_debug_level 3: .o and .json", _sources)
leaves(
    "kernel_meta_has_another_name",
    "002: the kernel_meta folder in the directory the script is executed from",
    lambda files, asked: {name.replace("kernel_meta/", "kernel_meta_0/"): file for name, file in files.items()},
)
leaves(
    "the_cache_has_no_folder",
    "002 op_compiler_cache_dir: the sub-directory kernel_cache",
    lambda files, asked: {re.sub(r"(^|/)kernel_cache/", r"\1", name): file for name, file in files.items()},
)
turn_values(
    "weights_are_always_outside",
    "003 external_weight False: saved in graphs",
    lambda values: {**values, "external_weight": True},
)


@broken("artifacts", "003 op_debug_list: only the operators of the list are compiled so", "compile")
def the_list_is_not_read(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "op_debug_config", lambda text: re.sub(r"(?m)^\s*op_debug_list.*$", "", text)))


@broken("artifacts", "003 ASCEND_MAX_OP_CACHE_SIZE -1: nothing ages", "options", "compile")
def minus_one_is_the_default_limit(ask: Any, params: Params) -> Answer:
    name = "ASCEND_MAX_OP_CACHE_SIZE"
    return ask(with_env(params, lambda env: {**env, name: "500"} if env.get(name) == "-1" else env))


@broken("artifacts", "003: op_compiler_cache_dir goes before ASCEND_CACHE_PATH", "compile")
def the_variable_of_the_cache_goes_first(ask: Any, params: Params) -> Answer:
    if "ASCEND_CACHE_PATH" in params.get("env", {}):
        return ask(all_values(params, without("op_compiler_cache_dir")))
    return ask(params)


@broken("artifacts", "003 fusion_switch_file: ALL off closes what can be switched", "compile", "timeline")
def all_is_the_name_of_no_pass(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "fusion_switch_file", lambda text: re.sub(r'"ALL"\s*:\s*"off"', '"ALL":"on"', text)))


def _hits_of_all(text: str) -> str:
    if "session_and_graph_id_" not in text:
        return text
    found = json.loads(text)
    for one in found.values():
        for entry in one.get("graph_fusion", {}).values():
            entry["repository_hit_times"] = "0"
    return json.dumps(found)


def _fusion_results(change: Callable[[str], str]) -> Callable[[Files, Mapping[str, Any]], Files]:
    def edit(files: Files, asked: Mapping[str, Any]) -> Files:
        return {
            name: encoded(change(decoded(file))) if name.endswith("fusion_result.json") and "b64" in file else file
            for name, file in files.items()
        }

    return edit


leaves(
    "graph_fusion_counts_its_repository",
    "003 repository_hit_times: during UB fusion",
    _fusion_results(_hits_of_all),
)
leaves(
    "fusion_results_have_no_graph",
    "003: session_and_graph_id_xx_xx",
    _fusion_results(lambda text: re.sub(r"(session_and_graph_id_\d+)_\d+", r"\1", text)),
)


@broken("artifacts", "003 jit_compile false: a prebuilt binary is preferred", "compile")
def nothing_is_prebuilt(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("jit_compile", lambda value: "true" if value == "false" else value)))


# Time


@broken("timeline", "003 input_fusion_size: an input of the threshold itself is fused")
def the_threshold_itself_is_too_large(ask: Any, params: Params) -> Answer:
    return ask(
        all_values(
            params, mapped("input_fusion_size", lambda value: value - 1 if type(value) is int and value else value)
        )
    )


@broken("timeline", "003 ac_parallel_enable 1: operators of another engine are on a stream of their own")
def engines_share_a_stream(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, without("ac_parallel_enable")))


@broken("timeline", "002, 003 hccl_timeout: seconds")
def links_wait_for_milliseconds(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for step in (answer["base"], *answer.get("variants", {}).values()):
        if step.get("rejected", {}).get("code") == "COLLECTIVE_TIMEOUT":
            step["rejected"]["after_ns"] //= 1000
    return answer


# Runs


@broken("run", "003 enable_exception_dump 0: disabled")
def failures_are_always_dumped(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("enable_exception_dump", lambda value: value or 1)))


def _outputs(values: Dict[str, Any]) -> Dict[str, Any]:
    found = mapped("dump_mode", lambda value: "output" if value == "all" else value)(values)
    config = found.get("dump_config")
    if isinstance(config, dict) and config.get("arguments", {}).get("dump_mode") == "all":
        found["dump_config"] = {**config, "arguments": {**config["arguments"], "dump_mode": "output"}}
    return found


@broken("run", "002 dump_mode all: inputs and outputs")
def all_means_outputs(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _outputs))


@broken("run", "003 session_device_id: the logical device that a session runs on", "run", "timeline")
def every_session_is_on_device_zero(ask: Any, params: Params) -> Answer:
    answer = copy.deepcopy(ask(params))
    told = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]
    records = [record for one in told for record in one.get("trace", ())]
    for one in (*records, answer.get("base", {}), *answer.get("variants", {}).values()):
        if one.get("device"):
            one["device"] = 0
    return answer


@broken("run", "000, 003 mix_compile_mode: operators that are left execute in the frontend framework", "run")
def the_host_knows_no_failure(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "RUN_FAILED" or "graph" not in params:
            raise
    return {"fetches": {}}


@broken("run", "003 enable_exception_dump 2: extra-info/data-dump/<device_id>", "run")
def exceptions_lie_in_no_device(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["files"] = {
        re.sub(r"data-dump/\d+/", "data-dump/", name): file for name, file in answer.get("files", {}).items()
    }
    return answer
