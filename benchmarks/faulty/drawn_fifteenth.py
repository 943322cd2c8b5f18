"""What comes to mind first of requirements that a seed drew (20261126), over all areas: files, time and runs too.

Written from the documents and the inventory without a look at cases, laws or graphs of the suite. A comment at each
names its requirement.
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
    retyped,
    tells,
    texts,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_env,
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


@broken("options", "002 variable_memory_max_size: str(5 * 1024 * 1024 * 1024), in .s", "options")
def a_number_of_bytes_of_variables_is_taken_as_it_is(ask: Any, params: Params) -> Answer:
    """session.variable_memory_max_size.bytes_of_decimal."""
    told = value_of(params, "variable_memory_max_size")
    if not isinstance(told, int) or isinstance(told, bool):
        return dict(ask(params))
    return dict(ask(with_values(params, variable_memory_max_size=str(told))))


accepts(  # runconfig.dump_config.class
    "any_object_is_a_configuration_of_dumps",
    "003 dump_config: a DumpConfig that is made beforehand",
    "dump_config",
    lambda params: (
        not isinstance(value_of(params, "dump_config"), dict)
        or value_of(params, "dump_config").get("class", "") != "DumpConfig"
    ),
)
accepts(  # runconfig.profiling_config.class
    "any_object_is_a_configuration_of_profiles",
    "003 profiling_config: a ProfilingConfig that is made beforehand",
    "profiling_config",
    lambda params: (
        not isinstance(value_of(params, "profiling_config"), dict)
        or value_of(params, "profiling_config").get("class", "") != "ProfilingConfig"
    ),
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


@broken("options", "002 op_precision_mode: high_precision or high_performance", "options")
def new_modes_stand_in_old_settings(ask: Any, params: Params) -> Answer:
    """files.op_precision_ini.flat.values."""
    if not is_about(params, edition="legacy"):
        return dict(ask(params))

    def known(text: str) -> str:
        return re.sub(r"=\s*(super_performance|support_out_of_bound_index|enable_\w+)", "=high_precision", text)

    return dict(ask(texts(params, "op_precision_mode", known)))


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


def _has_blanks(params: Params) -> bool:
    told = value_of(params, "dynamic_inputs_shape_range")
    return is_about(params, "session") and isinstance(told, str) and " " in told


denies(  # session.dynamic_inputs_shape_range.example
    "ranges_of_shapes_have_no_blanks",
    '002 dynamic_inputs_shape_range: "getnext:[128 ,3~5, 2~128, -1],..."',
    "dynamic_inputs_shape_range",
    _has_blanks,
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


def _odd_character(params: Params) -> bool:
    told = value_of(params, "op_compiler_cache_dir")
    return is_about(params, "session") and isinstance(told, str) and not told.isascii()


denies(  # session.op_compiler_cache_dir.charset
    "directories_of_a_cache_are_of_ascii",
    "002 op_compiler_cache_dir: letters, digits, _, -, . and Chinese characters",
    "op_compiler_cache_dir",
    _odd_character,
)


def _fixed_beside_open(params: Params) -> bool:
    told = value_of(params, "input_shape")
    parts = told.split(";") if isinstance(told, str) else []
    return any("-1" in one for one in parts) and any("-1" not in one for one in parts)


denies(  # session.input_shape.static_inputs_listed
    "every_input_that_is_listed_is_open",
    "002 input_shape: fixed inputs are listed, too",
    "input_shape",
    _fixed_beside_open,
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


def _off_line_if_asked(answer: Answer, params: Params) -> None:
    if is_about(params, "session", "legacy") and not given(params, "use_off_line"):
        told_value(answer, "use_off_line", False)


tells(
    "the_device_is_used_if_asked_for", "002 use_off_line: True by default", _off_line_if_asked
)  # use_off_line.default
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


@broken("options", "003 ASCEND_DEVICE_ID: session_device_id goes before it", "options", "timeline")
def the_variable_of_a_device_goes_first(ask: Any, params: Params) -> Answer:
    """env.ASCEND_DEVICE_ID.lower."""
    if "ASCEND_DEVICE_ID" not in params.get("env", {}):
        return dict(ask(params))
    return dict(ask(all_values(params, without("session_device_id"))))


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


reads_as(  # runconfig.enable_scope_fusion_passes.list
    "the_first_scope_pass_alone",
    "003 enable_scope_fusion_passes: names, separated by commas",
    "enable_scope_fusion_passes",
    lambda params, told: told.split(",")[0] if isinstance(told, str) else told,
    "options",
    "timeline",
    "compile",
)
reads_as(  # session.optypelist_for_implmode.applies_to_list
    "the_first_type_of_a_list_has_the_mode",
    "002 optypelist_for_implmode: the types that are listed",
    "optypelist_for_implmode",
    lambda params, told: told.split(",")[0] if isinstance(told, str) else told,
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


def _removed_ratio(env: Dict[str, str]) -> Dict[str, str]:
    told = env.get("ASCEND_REMAIN_CACHE_SIZE_RATIO", "")
    if not told.isdigit() or not 1 <= int(told) < 100:
        return env
    return {**env, "ASCEND_REMAIN_CACHE_SIZE_RATIO": str(100 - int(told))}


asks(  # env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect
    "the_variable_of_a_ratio_says_what_is_removed",
    "003 ASCEND_REMAIN_CACHE_SIZE_RATIO: the ratio of the cache to be reserved",
    "artifacts",
    lambda params: with_env(params, _removed_ratio),
    "compile",
)


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


def _all_in_one(answer: Answer, params: Params) -> None:
    if len(answer["geops"]) > 1:
        first = answer["geops"][0]
        for other in answer["geops"][1:]:
            first["nodes"] = [*first["nodes"], *other["nodes"]]
        answer["geops"] = [first]


place(  # mixed.partition.geop_split
    "what_is_offloaded_is_a_single_geop", "000: a graph may be partitioned into several GEOPs", _all_in_one
)


def _unflagged(params: Params) -> Params:
    return with_values(params, in_out_pair=None) if value_is(params, "in_out_pair_flag", False) else params


asks(  # in_out_pair.session.example_false
    "ranges_that_are_flagged_false_are_off",
    "002 in_out_pair_flag: False, the range runs in the frontend",
    "partition",
    _unflagged,
    "partition",
)


def _without_port(pairs: List[Any]) -> List[Any]:
    return [[[re.sub(r":\d+$", "", name) for name in side] for side in pair] for pair in pairs]


asks(  # in_out_pair.names_no_port
    "ends_of_a_range_may_be_tensors",
    "001 in_out_pair: names of operators",
    "partition",
    lambda params: with_pairs(params, _without_port),
    "partition",
)


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
asks(  # runconfig.variable_placement.host
    "variables_stay_on_the_device_whatever_is_said",
    "003 variable_placement: Host, the variable is deployed on the host",
    "partition",
    lambda params: all_values(params, mapped("variable_placement", lambda value: "Device")),
    "partition",
    "timeline",
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


def _other_mode(before: str, after: str) -> Callable[[Params], Params]:
    def change(params: Params) -> Params:
        found = value_of(params, "precision_mode")
        if not is_about(params, edition="current") or given(params, "precision_mode_v2"):
            return params
        if found is None and before == "allow_fp32_to_fp16" and not in_inference(params):
            return with_values(params, precision_mode=after)
        return all_values(params, mapped("precision_mode", lambda value: after)) if found == before else params

    return change


asks(  # precision.force_fp16.both_supported
    "vectors_are_not_forced_to_half",
    "003 precision_mode: force_fp16, of operators that support both",
    "precision",
    _other_mode("force_fp16", "allow_fp32_to_fp16"),
    "precision",
)
asks(  # precision.allow_fp32_to_fp16.vector_keep
    "vectors_become_half_where_that_is_allowed",
    "003 precision_mode: allow_fp32_to_fp16, vector operators keep their precision",
    "precision",
    _other_mode("allow_fp32_to_fp16", "force_fp16"),
    "precision",
)


def _half_out(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("engine") == "cube" and value_is(params, "precision_mode_v2", "cube_fp16in_fp32out"):
        retyped(node, _FLOAT, _HALF, "outputs")


node_change(  # precision.v2.cube
    "a_cube_gives_what_it_takes", "003 precision_mode_v2: cube_fp16in_fp32out, float32 out", _half_out
)


@broken("precision", "003 precision_mode_v2: origin, the AI CPU computes at float16", "precision")
def no_half_on_the_core_is_an_error(ask: Any, params: Params) -> Answer:
    """precision.v2.origin.fp16_aicpu."""
    answer = dict(ask(params))
    told = params.get("ops_info") or ""
    for node in answer["nodes"]:
        listed = f'"{node.get("kernel")}"' in told or f'"{node.get("op")}"' in told
        is_moved = node.get("engine") == "aicpu" and _HALF in node["inputs"]
        if value_is(params, "precision_mode_v2", "origin") and listed and is_moved:
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "no kernel of the AI Core computes at float16")
    return answer


@broken("precision", "004: a Conv2D of float16 is what the hardware has", "precision")
def every_convolution_is_refused_where_dtypes_are_kept(ask: Any, params: Params) -> Answer:
    """precision.g.must_keep_conv_fp16_ok."""
    answer = dict(ask(params))
    are_kept = is_about(params, edition="legacy") and value_is(params, "precision_mode", "must_keep_origin_dtype")
    for node in answer["nodes"]:
        if are_kept and node.get("op") == "Conv2D":
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "a Conv2D keeps no dtype")
    return answer


@broken(
    "precision", "003 precision_mode: must_keep_origin_dtype, an error where no operator has the dtype", "precision"
)
def what_cannot_be_kept_is_cast(ask: Any, params: Params) -> Answer:
    """precision.must_keep.fp32_only_fp16_error."""
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or not value_is(params, "precision_mode", "must_keep_origin_dtype"):
            raise
        return dict(ask(with_values(params, precision_mode=None)))


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


def _always_serial(values: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if name != "stream_max_parallel_num"}


asks(  # session.stream_max_parallel_num.effect
    "engines_take_turns_whatever_is_said",
    "002 stream_max_parallel_num: AI CPU and AI Core operators run in parallel",
    "timeline",
    lambda params: all_values(params, _always_serial) if is_about(params, "session") else params,
    "timeline",
)
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
    """Ranges of placeholders in the order of the graph."""
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


asks(  # runconfig.jit_compile.false
    "kernels_are_compiled_whatever_binaries_there_are",
    "003 jit_compile: false, a compiled binary is used first",
    "artifacts",
    lambda params: all_values(params, mapped("jit_compile", lambda value: "true" if isinstance(value, str) else True)),
    "compile",
    "timeline",
)


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
asks(  # session.op_compiler_cache_mode.with_dir
    "a_cache_lies_where_it_lies_by_default",
    "002 op_compiler_cache_mode: with op_compiler_cache_dir",
    "artifacts",
    lambda params: all_values(params, without("op_compiler_cache_dir")) if is_about(params, "session") else params,
    "compile",
)


def _is_configured(values: Mapping[str, Any]) -> bool:
    return plain(values.get("op_debug_config")) is not None


asks(  # runconfig.op_debug_config.debug_dir
    "the_folder_of_debugging_is_for_levels_alone",
    "003 op_debug_config: debug_dir, where files of dump_cce and dump_loc lie",
    "artifacts",
    lambda params: all_values(params, without("debug_dir")) if named_by(params, "op_debug_config") else params,
    "compile",
)


def _never_read(params: Params) -> Params:
    found = all_values(params, mapped("op_compiler_cache_mode", lambda value: "force" if value == "enable" else value))
    if not given(params, "op_compiler_cache_mode") and is_about(params, edition="current"):
        found["values"] = {**found["values"], "op_compiler_cache_mode": "force"}
    return found


asks(  # runconfig.op_compiler_cache_mode.enable
    "what_is_cached_is_never_read",
    "003 op_compiler_cache_mode: enable, reused by operators with the same options",
    "artifacts",
    _never_read,
    "compile",
)


# Runs


asks(  # session.profiling_mode.false
    "options_of_a_profile_switch_it_on",
    "002 profiling_mode: False, off",
    "run",
    lambda params: (
        all_values(params, lambda values: {**values, "profiling_mode": True})
        if given(params, "profiling_options") and is_about(params, "session")
        else params
    ),
    "run",
    "timeline",
)


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
