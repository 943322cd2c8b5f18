"""What comes to mind first of requirements that a seed drew (20261126), over all areas: files, time and runs too.

Written from the documents and the inventory without a look at cases, laws or graphs of the suite. A comment at each
names its requirement. What an earlier list has is left out.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    decoded,
    defaults,
    denies,
    encoded,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    left,
    mapped,
    misreads,
    named_by,
    node_change,
    offloaded,
    ops_of,
    place,
    plain,
    reads_as,
    rescripted,
    tells,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_pairs,
    with_settings,
    with_values,
    without,
)
from npu_reference.errors import NpuError

_HALF, _FLOAT = "float16", "float32"


# Options: what is taken and what is refused


def _is_no_text(option: str, surface: str = "", edition: str = "") -> Callable[[Params], bool]:
    return lambda params: is_about(params, surface, edition) and not isinstance(value_of(params, option), str)


accepts(  # session.auto_tune_mode.type
    "the_field_of_a_tuning_mode_is_not_looked_at",
    "002 auto_tune_mode: parameter_map[...].s",
    "auto_tune_mode",
    _is_no_text("auto_tune_mode", "session"),
)
accepts(  # session.enable_scope_fusion_passes.type
    "the_field_of_scope_passes_is_not_looked_at",
    "002 enable_scope_fusion_passes: parameter_map[...].s",
    "enable_scope_fusion_passes",
    _is_no_text("enable_scope_fusion_passes", "session"),
)
accepts(  # runconfig.stream_max_parallel_num.type
    "one_number_of_streams_may_be_an_int",
    '003 stream_max_parallel_num: "DNN_VM_AICPU:10,AIcoreEngine:1", a text',
    "stream_max_parallel_num",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "stream_max_parallel_num"), int),
)
accepts(  # runconfig.work_path.type
    "whatever_is_given_is_a_work_path",
    "003 work_path: a path",
    "work_path",
    _is_no_text("work_path", "runconfig"),
)
accepts(  # runconfig.external_weight.type
    "nought_and_one_switch_external_weights",
    "003 external_weight: True or False",
    "external_weight",
    lambda params: is_about(params, "runconfig") and value_of(params, "external_weight") in (0, 1),
)
accepts(  # runconfig.enable_small_channel.type
    "a_bool_is_an_int_of_small_channels",
    "003 enable_small_channel: 0 or 1",
    "enable_small_channel",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "enable_small_channel"), bool),
)


@broken("options", "003 input_fusion_size: an int", "options")
def digits_are_a_size_of_fused_inputs(ask: Any, params: Params) -> Answer:
    """runconfig.input_fusion_size.type."""
    told = value_of(params, "input_fusion_size")
    if not is_about(params, "runconfig") or not isinstance(told, str) or not told.isdigit():
        return dict(ask(params))
    return dict(ask(with_values(params, input_fusion_size=int(told))))


def _is_no(kind: str, option: str) -> Callable[[Params], bool]:
    def wanted(params: Params) -> bool:
        told = value_of(params, option)
        return not isinstance(told, dict) or told.get("class", "") != kind

    return wanted


accepts(  # runconfig.dump_config.class
    "any_object_is_a_configuration_of_dumps",
    "003 dump_config: a DumpConfig that is made beforehand",
    "dump_config",
    _is_no("DumpConfig", "dump_config"),
)
accepts(  # runconfig.profiling_config.class
    "any_object_is_a_configuration_of_profiles",
    "003 profiling_config: a ProfilingConfig that is made beforehand",
    "profiling_config",
    _is_no("ProfilingConfig", "profiling_config"),
)
accepts(  # runconfig.quant_dumpable.domain
    "any_text_says_whether_quantised_data_are_dumped",
    '003 quant_dumpable: "0" or "1"',
    "quant_dumpable",
    lambda params: isinstance(value_of(params, "quant_dumpable"), str),
)
accepts(  # precision.domain
    "words_of_the_second_version_are_modes_of_the_first",
    "003 precision_mode: its values",
    "precision_mode",
    lambda params: (
        is_about(params, edition="current")
        and value_is(params, "precision_mode", "fp16", "origin", "mixed_float16", "cube_fp16in_fp32out")
    ),
)
accepts(  # runconfig.op_debug_config.is_file
    "a_configuration_of_debugging_that_is_not_there_is_empty",
    "003 op_debug_config: the path of a file",
    "op_debug_config",
    lambda params: value_of(params, "op_debug_config") not in params.get("files", {}),
)


denies(  # session.session_device_id.example
    "the_eighth_device_is_out_of_range",
    '002 session_device_id: custom_op.parameter_map["session_device_id"].i = 7',
    "session_device_id",
    lambda params: is_about(params, "session") and (value_of(params, "session_device_id") or 0) >= 7,
)


def _without_key(key: str) -> Callable[[Params], bool]:
    def wanted(params: Params) -> bool:
        told = value_of(params, "profiling_options")
        try:
            found = json.loads(told) if isinstance(told, str) else {key: ""}
        except ValueError:
            return False
        return isinstance(found, dict) and key not in found

    return wanted


denies(  # session.profiling_options.training_trace.optional
    "a_profile_says_whether_it_traces_training",
    "002 profiling_options: training_trace is optional",
    "profiling_options",
    _without_key("training_trace"),
)
denies(  # session.profiling_options.example
    "a_profile_says_whether_it_traces_tasks",
    "002 profiling_options: the example has output, training_trace, fp_point and bp_point",
    "profiling_options",
    _without_key("task_trace"),
)
denies(  # runconfig.input_fusion_size.example
    "the_default_is_the_least_size_of_fused_inputs",
    "003 input_fusion_size: NPURunConfig(input_fusion_size=25600)",
    "input_fusion_size",
    lambda params: 0 <= (value_of(params, "input_fusion_size") or 131072) < 131072,
)
denies(  # runconfig.iterations_per_loop.example
    "turns_of_a_loop_have_a_byte",
    "003 iterations_per_loop: NPURunConfig(iterations_per_loop=1000)",
    "iterations_per_loop",
    lambda params: is_about(params, "runconfig") and (value_of(params, "iterations_per_loop") or 0) > 255,
)


def _of_two_kinds(params: Params) -> bool:
    told = value_of(params, "dynamic_inputs_shape_range")
    return is_about(params, "runconfig") and isinstance(told, str) and ";" in told


denies(  # runconfig.dynamic_inputs_shape_range.example
    "ranges_are_of_a_dataset_or_of_placeholders",
    '003 dynamic_inputs_shape_range: "getnext:[...];data:[...]"',
    "dynamic_inputs_shape_range",
    _of_two_kinds,
)
denies(  # runconfig.dynamic_inputs_shape_range.deprecated
    "what_will_be_removed_is_gone",
    "003: options that will be removed in later versions",
    "dynamic_inputs_shape_range",
    lambda params: is_about(params, edition="current") and given(params, "dynamic_inputs_shape_range"),
)
denies(  # runconfig.ac_parallel_enable.example
    "cpu_operators_are_parallel_by_a_number",
    '003 ac_parallel_enable: NPURunConfig(ac_parallel_enable="1")',
    "ac_parallel_enable",
    lambda params: value_is(params, "ac_parallel_enable", "1"),
)


denies(  # runconfig.precision_mode.example
    "mixed_precision_names_its_type",
    '003 precision_mode: NPURunConfig(precision_mode="allow_mix_precision")',
    "precision_mode",
    lambda params: (
        is_about(params, "runconfig", "current") and value_is(params, "precision_mode", "allow_mix_precision")
    ),
)
denies(  # precision.g.session_same
    "a_session_keeps_no_dtypes",
    "004: precision modes of a session are those of an Estimator",
    "precision_mode",
    lambda params: is_about(params, "session") and value_is(params, "precision_mode", "must_keep_origin_dtype"),
)
denies(  # runconfig.op_debug_level.example
    "what_is_not_advised_in_training_is_refused",
    "003 op_debug_level: NPURunConfig(op_debug_level=1)",
    "op_debug_level",
    lambda params: (
        is_about(params, "runconfig") and not in_inference(params) and value_of(params, "op_debug_level") in (1, 2, 4)
    ),
)
denies(  # runconfig.hccl_timeout.example
    "a_timeout_of_collectives_is_a_multiple_of_68",
    "003 hccl_timeout: NPURunConfig(hccl_timeout=1800)",
    "hccl_timeout",
    lambda params: is_about(params, "runconfig") and (value_of(params, "hccl_timeout") or 0) % 68 != 0,
)
denies(  # session.hccl_timeout.example
    "a_session_waits_as_long_as_a_config_at_least",
    '002 hccl_timeout: custom_op.parameter_map["hccl_timeout"].i = 600',
    "hccl_timeout",
    lambda params: is_about(params, "session") and 0 < (value_of(params, "hccl_timeout") or 1836) < 1836,
)


# Options: what they are and mean


def _thousands(answer: Answer, params: Params) -> None:
    if is_about(params, "session", "legacy") and not given(params, "graph_memory_max_size"):
        told_value(answer, "graph_memory_max_size", str(26 * 10**9))
        if "graph_memory_max_size" in answer.get("meaning", {}):
            answer["meaning"]["graph_memory_max_size"] = 26 * 10**9
        answer["directives"]["memory"]["graph_bytes"] = 26 * 10**9


tells(  # session.graph_memory_max_size.default
    "a_gigabyte_of_graphs_has_a_thousand_megabytes", "002 graph_memory_max_size: 26 x 1024 x 1024 x 1024", _thousands
)


defaults(  # files.cache.default_size
    "a_cache_has_1024_megabytes",
    "003 op_compiler_cache_mode: 500 MB by default",
    "max_op_cache_size",
    1024,
    lambda params: (
        "ASCEND_MAX_OP_CACHE_SIZE" not in params.get("env", {})
        and not any(name.endswith("op_cache.ini") for name in params.get("files", {}))
    ),
)
defaults(  # files.aoe.work_path_default
    "findings_of_tuning_lie_at_home",
    "003 work_path: the current directory by default",
    "work_path",
    "$HOME",
    lambda params: is_about(params, edition="current"),
)


def _main_by_default(values: Dict[str, Any]) -> Dict[str, Any]:
    if plain(values.get("local_device_list")) is None or plain(values.get("local_rank_id")) is not None:
        return values
    return {**values, "local_rank_id": {"field": "i", "value": 0} if _in_fields(values) else 0}


def _in_fields(values: Mapping[str, Any]) -> bool:
    return isinstance(values.get("local_device_list"), dict)


@broken("options", "003 local_device_list: used with local_rank_id", "options", "timeline")
def who_has_a_list_of_devices_is_the_main_process(ask: Any, params: Params) -> Answer:
    """runconfig.local_device_list.pair."""
    return dict(ask(all_values(params, _main_by_default)))


@broken("options", "002 op_debug_level: training and online inference", "options", "compile")
def inference_is_not_debugged(ask: Any, params: Params) -> Answer:
    """session.op_debug_level.scope."""
    if not is_about(params, "session", "legacy") or not in_inference(params):
        return dict(ask(params))
    return dict(ask(all_values(params, without("op_debug_level"))))


def _the_first(params: Params, told: Any) -> Any:
    return told.split(",")[0] if isinstance(told, str) else told


reads_as(  # runconfig.enable_scope_fusion_passes.list
    "the_first_scope_pass_alone",
    "003 enable_scope_fusion_passes: names, separated by commas",
    "enable_scope_fusion_passes",
    _the_first,
    "options",
    "timeline",
    "compile",
)
reads_as(  # session.optypelist_for_implmode.applies_to_list
    "the_first_type_of_a_list_has_the_mode",
    "002 optypelist_for_implmode: the types that are listed",
    "optypelist_for_implmode",
    _the_first,
    "options",
    "precision",
    "timeline",
)


# Files


def _single_rules(text: str) -> str:
    try:
        told = json.loads(text)
    except ValueError:
        return text
    sections = told.get("Switch") if isinstance(told, dict) else None
    if not isinstance(sections, dict):
        return text
    kept = {
        name: {key: value for key, value in rules.items() if key == "ALL"} if isinstance(rules, dict) else rules
        for name, rules in sections.items()
    }
    return json.dumps({**told, "Switch": kept})


misreads(  # session.fusion_switch_file.selective_off
    "artifacts",
    "rules_are_switched_all_at_once_alone",
    "002 fusion_switch_file: single rules can be switched off",
    "fusion_switch_file",
    _single_rules,
    "compile",
    "timeline",
    when=lambda params: is_about(params, "session"),
)


def _names_alone(text: str) -> str:
    def kept(found: re.Match[str]) -> str:
        entries = [one for one in found.group(2).split(",") if "::" not in one]
        return found.group(1) + (",".join(entries) or "nothing")

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)(.+)$", kept, text)


misreads(  # files.op_debug_cfg.list.entries
    "artifacts",
    "a_list_of_debugging_has_names_alone",
    "003 op_debug_list: names and opType::typeName, also mixed",
    "op_debug_config",
    _names_alone,
    "compile",
)


def _after_the_slash(text: str) -> str:
    return re.sub(r"(?m)^[^#\n]*/([^/\n:]+::)", r"\1", text)


misreads(  # files.customize_dtypes.name_with_slash
    "precision",
    "customised_names_begin_behind_the_slash",
    "003 customize_dtypes: resnet_v1_50/block1/unit_3/bottleneck_v1/Relu::InputDtype",
    "customize_dtypes",
    _after_the_slash,
    "precision",
)


def _all_the_first(text: str) -> str:
    def same(found: re.Match[str]) -> str:
        dtypes = [one.strip() for one in found.group(2).strip(" ,").split(",")]
        return found.group(1) + ",".join([dtypes[0]] * len(dtypes))

    parted = re.sub(r",?\s*(OutputDtype:)", r"\n\1", text)
    parted = re.sub(r"(InputDtype:|OutputDtype:)([^\n]+)", same, parted)
    return re.sub(r"\n(OutputDtype:)", r",\1", parted)


misreads(  # files.customize_dtypes.multi_dtypes
    "precision",
    "one_customised_dtype_is_for_all_inputs",
    "003 customize_dtypes: InputDtype:dtype1,dtype2, one for each input",
    "customize_dtypes",
    _all_the_first,
    "precision",
)


def _headed(text: str) -> str:
    return text if "[" in text else "[op_compiler_cache]\n" + text


@broken("artifacts", "003 op_cache.ini: [op_compiler_cache] is required", "options", "compile")
def settings_of_a_cache_need_no_section(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.section."""
    answer = dict(ask(with_settings(params, _headed)))
    for turn in answer.get("turns", ()):
        for key in ("files", "left"):
            for name in turn.get(key, {}):
                told = params.get("files", {}).get("/" + name)
                if name.endswith("op_cache.ini") and isinstance(told, str):
                    turn[key][name] = encoded(told)
    return answer


def _other_file(params: Params) -> Params:
    """Operators that the file does not name have no colour of their own."""
    named = set(re.findall(r'"([A-Za-z0-9_]+)"', " ".join(str(text) for text in _mixlists(params))))
    graph = graph_of(params)
    kinds: Set[str] = {node.op for node in graph.nodes} - named
    told = json.loads(params["ops_info"]) if isinstance(params.get("ops_info"), str) else {}
    return {**params, "ops_info": json.dumps({**{kind: {} for kind in sorted(kinds)}, **told})}


def _mixlists(params: Params) -> List[Any]:
    return [params.get("files", {}).get(name, "") for name in named_by(params, "modify_mixlist")]


asks(  # files.mixlist.current.others_untouched
    "a_list_of_ones_own_replaces_the_built_in_one",
    "003 modify_mixlist: operators that are not listed stay as they are",
    "precision",
    lambda params: _other_file(params) if given(params, "modify_mixlist") else params,
    "precision",
)


def _without_soc(answer: Answer, params: Params) -> None:
    for file in answer["files"]:
        file["path"] = re.sub(r"/config/[^/]+/", "/config/", file["path"])


changed(  # precision.mixlist.query_path
    "artifacts",
    "the_library_lies_beside_the_folder_of_its_chip",
    "003 modify_mixlist: config/${soc_version}/aic-${soc_version}-ops-info.json",
    _without_soc,
    "library",
)


# Partition


def _once(pairs: List[Any]) -> List[Any]:
    found = [pair for pair in pairs if all(len(set(side)) == len(side) for side in pair)]
    return found or pairs


asks(  # in_out_pair.duplicate_names
    "a_range_that_repeats_a_name_is_left_out",
    "001: a name may be listed twice",
    "partition",
    lambda params: with_pairs(params, _once),
    "partition",
)


def _no_ranges(answer: Answer, params: Params) -> Any:
    if in_inference(params) and is_about(params, "session") and not given(params, "in_out_pair"):
        return to_host(answer, offloaded(answer), "RANGE_OUTSIDE")
    return None


place("no_range_is_an_empty_one", "002 in_out_pair: has no default", _no_ranges)  # session.in_out_pair.default
asks(  # session.mix_compile_mode.scope
    "inference_is_not_mixed",
    "002 mix_compile_mode: training and online inference",
    "partition",
    lambda params: with_values(params, mix_compile_mode=None) if in_inference(params) else params,
    "partition",
)


def _calls_with_resources(params: Params) -> List[str]:
    return [
        name
        for name, op in ops_of(params).items()
        if op.op in ("While", "StatelessWhile", "If", "StatelessIf", "Case") and "resource" in _inputs_of(op)
    ]


def _several(found: Any) -> List[Any]:
    return list(found) if isinstance(found, (list, tuple)) else []


def _inputs_of(op: Any) -> List[str]:
    return [getattr(one, "name", "") for key in ("T", "Tin") for one in _several(op.attrs.get(key))]


@broken("partition", "003 variable_placement: new control flow with resource variables on the host", "partition")
def new_control_flow_fails_on_the_host_as_well(ask: Any, params: Params) -> Answer:
    """runconfig.variable_placement.host_workaround."""
    answer = dict(ask(params))
    if value_is(params, "variable_placement", "Host") and is_mixed(params) and _calls_with_resources(params):
        raise NpuError("REF_BORDER", "variable_placement", "control flow reads a variable of the host")
    return answer


# Precision


asks(  # precision.force_fp16.both_supported
    "vectors_are_not_forced_to_half",
    "003 precision_mode: force_fp16, of operators that support both",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode", lambda value: "allow_fp32_to_fp16"))
        if is_about(params, edition="current") and value_is(params, "precision_mode", "force_fp16")
        else params
    ),
    "precision",
)


@broken("precision", "004: a Conv2D of float16 is what the hardware has", "precision")
def every_convolution_is_refused_where_dtypes_are_kept(ask: Any, params: Params) -> Answer:
    """precision.g.must_keep_conv_fp16_ok."""
    answer = dict(ask(params))
    are_kept = is_about(params, edition="legacy") and value_is(params, "precision_mode", "must_keep_origin_dtype")
    for node in answer["nodes"]:
        if are_kept and node.get("op") == "Conv2D":
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "a Conv2D keeps no dtype")
    return answer


def _implemented(node: Dict[str, Any], params: Params, op: Any) -> None:
    told = value_of(params, "op_select_implmode")
    if (
        isinstance(told, str)
        and node.get("engine") in ("cube", "vector")
        and not given(params, "optypelist_for_implmode")
    ):
        node["impl_mode"] = node.get("impl_mode") or re.sub(r"_for_all$", "", told)


node_change(  # runconfig.op_select_implmode.some_ops
    "every_operator_has_both_implementations", "003 op_select_implmode: certain operators have both", _implemented
)


# Time, memory and copies


asks(  # session.enable_small_channel.0
    "small_channels_are_on_where_they_are_named",
    "002 enable_small_channel: 0, off",
    "timeline",
    lambda params: all_values(params, mapped("enable_small_channel", lambda value: 1)),
    "timeline",
)
asks(  # session.variable_format_optimize.false
    "formats_of_variables_are_always_optimised",
    "002 variable_format_optimize: False, off",
    "timeline",
    lambda params: all_values(params, mapped("variable_format_optimize", lambda value: True)),
    "timeline",
)


def _gather_and_scatter(text: str) -> str:
    return re.sub(r"(?mi)^[^\n]*segment[^\n]*support_out_of_bound_index\s*$", "", text)


misreads(  # runconfig.op_precision_mode.support_out_of_bound_index
    "precision",
    "indices_of_segments_are_not_checked",
    "003 op_precision_mode: support_out_of_bound_index, of gather, scatter and segment operators",
    "op_precision_mode",
    _gather_and_scatter,
    "precision",
    "timeline",
)


def _as_they_are_made(params: Params) -> Params:
    """Ranges of placeholders in the order of the graph, where nobody feeds them."""
    told = value_of(params, "dynamic_inputs_shape_range")
    if not isinstance(told, str) or "graph" not in params:
        return params
    made = [node.name for node in graph_of(params).nodes if node.op == "Placeholder"]

    def change(value: Any) -> Any:
        parts = str(value).split(";")
        for at, part in enumerate(parts):
            kind, _, rest = part.partition(":")
            ranges = re.findall(r"\[[^\]]*\]", rest)
            if kind.strip() == "data" and len(ranges) == len(made):
                parts[at] = f"{kind}:" + ",".join(ranges[made.index(name)] for name in sorted(made))
        return ";".join(parts)

    return all_values(params, mapped("dynamic_inputs_shape_range", change))


asks(  # runconfig.dynamic_inputs_shape_range.order_named
    "ranges_go_by_the_order_of_definition",
    "003 dynamic_inputs_shape_range: named placeholders, in alphabetical order",
    "timeline",
    _as_they_are_made,
    "timeline",
    "compile",
)


# Compilation


def _scalars_inline(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    gone: Set[str] = set()
    for one in turn.get("constants", ()):
        if one.get("file") and one.get("bytes", 0) <= 8:
            gone.add(one["file"])
            one.update(file="", bytes=0, op="Const")
    for key in ("files", "left"):
        for name in [name for name in turn.get(key, {}) if name.rpartition("/")[2] in gone]:
            del turn[key][name]


turns(  # runconfig.external_weight.true_all_const
    "scalars_stay_in_the_graph", "003 external_weight: of all Const and Constant nodes", _scalars_inline
)


@broken("artifacts", "003 external_weight: weights are shared by models of a session", "compile")
def every_model_has_weights_of_its_own(ask: Any, params: Params) -> Answer:
    """runconfig.external_weight.sharing."""
    answer = dict(ask(params))
    if not params.get("models"):
        return answer
    alone = ask({key: value for key, value in params.items() if key != "models"})
    for turn, first in zip(answer["turns"], alone["turns"]):
        for one in turn.get("constants", [])[len(first.get("constants", [])) :]:
            before = one.get("file")
            if not before:
                continue
            one["file"] = "weight_" + before[len("weight_") :][::-1]
            for key in ("files", "left"):
                for name in [name for name in turn.get(key, {}) if name.endswith(before)]:
                    turn[key][name[: -len(before)] + one["file"]] = turn[key][name]
    return answer


def _whether(found: Any) -> Any:
    if isinstance(found, dict):
        return {
            key: ("1" if value != "0" else "0") if key == "match_times" else _whether(value)
            for key, value in found.items()
        }
    return found


def _once_at_most(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        name: encoded(json.dumps(_whether(json.loads(decoded(file)))))
        if name.endswith("fusion_result.json") and "b64" in file
        else file
        for name, file in files.items()
    }


leaves(  # files.fusion_result.match_times
    "a_match_is_a_yes_or_no", "003 export_compile_stat: match_times, how often a pattern matched", _once_at_most
)
asks(  # session.op_debug_level.3.files
    "the_third_level_keeps_sources_too",
    "002 op_debug_level: 3, .o and .json are kept",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda value: 4 if value == 3 else value))
        if is_about(params, "session", "legacy")
        else params
    ),
    "compile",
)


# Runs


def _where_the_script_runs(files: Dict[str, Any], params: Params) -> Dict[str, Any]:
    """Folders of dumps lie in the current directory."""
    return {re.sub(r"^.*?(?=[0-9]{14}/)", "", name): file for name, file in files.items()}


left(  # session.enable_dump.true
    "dumps_lie_where_the_script_runs", "002 enable_dump: to the path of dump_path", _where_the_script_runs, "run"
)


def _rounded(answer: Answer, params: Params) -> None:
    if not value_is(params, "variable_placement", "Host"):
        return
    for tensor in answer.get("fetches", {}).values():
        if tensor.get("dtype") == _FLOAT and "b64" in tensor:
            data = base64.b64decode(tensor["b64"])
            numbers = struct.unpack(f"<{len(data) // 4}f", data)
            kept = [struct.unpack("<e", struct.pack("<e", min(max(one, -65504.0), 65504.0)))[0] for one in numbers]
            tensor["b64"] = base64.b64encode(struct.pack(f"<{len(kept)}f", *kept)).decode()


changed(  # runconfig.variable_placement.numerics
    "run",
    "what_comes_of_variables_of_the_host_is_half",
    "003 variable_placement: where variables lie, not what they are",
    _rounded,
    "run",
)
asks(  # session.register.call_example
    "a_star_imports_nothing",
    "002: from npu_bridge.npu_init import *",
    "run",
    lambda params: rescripted(
        params, lambda text: text.replace("from npu_bridge.npu_init import *", "import npu_bridge.npu_init")
    ),
    "run",
)
