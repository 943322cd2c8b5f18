"""Mistakes in options: domains, types, priorities, defaults, rules between options, texts and files."""

from __future__ import annotations

import json
import re
from typing import Any, Callable

from faulty.making import Answer, Params, broken, changed, facets, plain, with_values
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS

_EDITIONS = {"session": ("legacy", "current"), "runconfig": ("legacy", "current")}


def _here(params: Params, surface: str, edition: str) -> bool:
    return surface in ("", params["surface"]) and edition in ("", params["edition"])


def takes(name: str, sentence: str, option: str, surface: str, edition: str, *values: Any) -> None:
    """These values of an option are taken as they are, as if the domain were wider."""

    def fault(ask: Any, params: Params) -> Answer:
        given = plain(params["values"].get(option))
        if not _here(params, surface, edition) or not any(given == one and type(given) is type(one) for one in values):
            return ask(params)
        answer = ask(with_values(params, **{option: None}))
        answer["effective"][option] = {"value": given, "origin": "given"}
        return answer

    fault.__name__ = name
    broken("options", sentence)(fault)


def refuses(name: str, sentence: str, option: str, surface: str, edition: str, *values: Any) -> None:
    """These values of an option, which a document allows, are refused."""

    def fault(ask: Any, params: Params) -> Answer:
        given = plain(params["values"].get(option))
        if _here(params, surface, edition) and any(given == one and type(given) is type(one) for one in values):
            raise NpuError("OPTION_VALUE", option, f"{given!r} is out of range")
        return ask(params)

    fault.__name__ = name
    broken("options", sentence)(fault)


def effective(name: str, sentence: str, change: Callable[[Any, Params], Any]) -> None:
    """`change` edits the effective values of an answer."""
    changed("options", name, sentence, lambda answer, params: change(answer["effective"], params))


def tolerates(name: str, sentence: str, codes: str, dropped: str, *together: str) -> None:
    """A conflict is not seen: where the request is refused for `codes`, it is answered without `dropped`."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.code != codes or not all(one in params["values"] for one in (dropped, *together)):
                raise
            answer = ask(with_values(params, **{dropped: None}))
            answer["effective"][dropped] = {"value": plain(params["values"][dropped]), "origin": "given"}
            return answer

    fault.__name__ = name
    broken("options", sentence)(fault)


# Domains

takes(
    "any_letters_of_precision_mode",
    "003 precision_mode: the modes are written in small letters",
    "precision_mode",
    "",
    "",
    "Force_FP16",
    "FORCE_FP16",
    "Force_fp16",
    "ALLOW_MIX_PRECISION",
    "Allow_Mix_Precision",
    "MUST_KEEP_ORIGIN_DTYPE",
    "Must_Keep_Origin_Dtype",
    "ALLOW_FP32_TO_FP16",
    "Allow_Fp32_To_Fp16",
    "FORCE_FP32",
)
takes("one_point_nought_is_one", "003 graph_run_mode: 0 or 1", "graph_run_mode", "runconfig", "current", 1.0, 0.0)
takes("any_graph_run_mode", "003 graph_run_mode: 0 or 1", "graph_run_mode", "runconfig", "current", 2, -1, 3, 7)
takes(
    "no_iteration_is_one",
    "003 iterations_per_loop: number of iterations",
    "iterations_per_loop",
    "runconfig",
    "current",
    0,
    -1,
)
takes(
    "collective_timeout_without_end",
    "003 hccl_timeout: the value range is (0, 17340]",
    "hccl_timeout",
    "runconfig",
    "current",
    0,
    -1,
    17341,
    17408,
    20000,
    100000,
)
refuses(
    "collective_timeout_short_of_its_end",
    "003 hccl_timeout: the value range is (0, 17340]",
    "hccl_timeout",
    "runconfig",
    "current",
    17340,
)
refuses(
    "collective_timeout_above_a_block",
    "003 hccl_timeout: (0, 17340]; below 68, 68 is used",
    "hccl_timeout",
    "runconfig",
    "current",
    *range(1, 68),
)
refuses(
    "fusion_size_short_of_its_end",
    "003 input_fusion_size: the maximum value is 33554432",
    "input_fusion_size",
    "runconfig",
    "current",
    33554432,
)
refuses(
    "no_fusion_size_of_nought",
    "003 input_fusion_size: the minimum value is 0 byte",
    "input_fusion_size",
    "runconfig",
    "current",
    0,
)
takes(
    "fusion_size_of_64_megabytes",
    "003 input_fusion_size: the maximum value is 33554432",
    "input_fusion_size",
    "runconfig",
    "current",
    33554433,
    67108864,
    40000000,
)
takes(
    "models_beyond_32_bits",
    "003 graph_max_parallel_model_num: [1, INT32_MAX]",
    "graph_max_parallel_model_num",
    "runconfig",
    "current",
    2147483648,
    0,
    -1,
)
refuses(
    "models_short_of_32_bits",
    "003 graph_max_parallel_model_num: [1, INT32_MAX]",
    "graph_max_parallel_model_num",
    "runconfig",
    "current",
    2147483647,
)
takes(
    "a_number_allows_engines_in_parallel",
    '003 ac_parallel_enable: "1" or "0"',
    "ac_parallel_enable",
    "runconfig",
    "current",
    "2",
    "true",
    "yes",
    "on",
)
takes(
    "host_in_small_letters",
    "003 variable_placement: Device or Host",
    "variable_placement",
    "runconfig",
    "current",
    "host",
    "device",
    "HOST",
    "DEVICE",
    "CPU",
)
takes(
    "cache_is_on_or_off",
    "003 op_compiler_cache_mode: enable, force, disable",
    "op_compiler_cache_mode",
    "runconfig",
    "current",
    "on",
    "off",
    "Enable",
    "enabled",
    "true",
    "",
)
takes("tuning_mode_three", "003 aoe_mode: 1, 2 or 4", "aoe_mode", "runconfig", "current", "3", "0", "5")
refuses("no_gradient_splitting", "003 aoe_mode: 4: gradient splitting tuning", "aoe_mode", "runconfig", "current", "4")
refuses(
    "no_new_name_of_mixed_precision",
    "003 precision_mode: allow_mix_precision_fp16",
    "precision_mode",
    "runconfig",
    "current",
    "allow_mix_precision_fp16",
)
refuses(
    "no_new_name_of_force_fp32",
    "003 precision_mode: cube_fp16in_fp32out",
    "precision_mode",
    "runconfig",
    "current",
    "cube_fp16in_fp32out",
)
refuses(
    "exception_dump_of_one_kind",
    "003 enable_exception_dump: 2: LiteExceptionDump",
    "enable_exception_dump",
    "runconfig",
    "current",
    2,
)
takes(
    "exception_dump_of_three_kinds",
    "003 enable_exception_dump: 0, 1 or 2",
    "enable_exception_dump",
    "runconfig",
    "current",
    3,
    -1,
)
refuses("debug_level_four_is_unknown", "002 op_debug_level: 4", "op_debug_level", "session", "legacy", 4)
takes(
    "statistics_of_any_kind", "003 export_compile_stat: 0, 1 or 2", "export_compile_stat", "runconfig", "current", 3, -1
)
takes("deterministic_is_a_bool", "003 deterministic: 0 or 1", "deterministic", "runconfig", "current", 2, -1)
takes(
    "graph_memory_beyond_256_gigabytes",
    "002 graph_memory_max_size: [0, 274877906944]",
    "graph_memory_max_size",
    "session",
    "legacy",
    "274877906945",
    "-1",
    "26GB",
    "26*1024*1024*1024",
)
takes(
    "dynamic_mode_by_another_name",
    "003 dynamic_graph_execute_mode: dynamic_execute",
    "dynamic_graph_execute_mode",
    "runconfig",
    "current",
    "lazy_recompile",
    "static_execute",
    "Dynamic_Execute",
    "dynamic",
)
takes(
    "implementation_of_a_third_kind",
    "002 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    "session",
    "legacy",
    "super_performance",
    "High_Precision",
    "keep_fp16",
)


# Between options


@broken("options", "003 mix_compile_mode: iterations_per_loop must be set to 1")
def loops_with_mixed_computing(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and plain(params["values"].get("mix_compile_mode")) is True:
        loops = plain(params["values"].get("iterations_per_loop"))
        if type(loops) is int and loops > 1:
            answer = ask(with_values(params, iterations_per_loop=None))
            answer["effective"]["iterations_per_loop"] = {"value": loops, "origin": "given"}
            return answer
    return ask(params)


@broken("options", "000: iterations_per_loop must retain the default value 1, it is not set to it")
def loops_silently_one(ask: Any, params: Params) -> Answer:
    if plain(params["values"].get("mix_compile_mode")) is True and "iterations_per_loop" in params["values"]:
        return ask(with_values(params, iterations_per_loop=1))
    return ask(params)


tolerates(
    "two_precision_modes",
    "003: cannot be used together with precision_mode_v2",
    "OPTION_CONFLICT",
    "precision_mode",
    "precision_mode_v2",
)
tolerates(
    "variables_on_the_host_without_mixing",
    "003 variable_placement: Host needs mix_compile_mode",
    "OPTION_CONFLICT",
    "variable_placement",
)
tolerates(
    "memory_check_while_debugging",
    "003 op_debug_level 2 cannot be used together with oom",
    "OPTION_CONFLICT",
    "op_debug_config",
    "op_debug_level",
)
tolerates(
    "profiles_of_other_sizes",
    "002: input_shape and dynamic_dims have to match, otherwise an error",
    "OPTION_CONFLICT",
    "dynamic_dims",
    "input_shape",
)


@broken("options", "003 op_precision_mode: if they are all specified, op_precision_mode takes precedence")
def implementation_by_the_older_option(ask: Any, params: Params) -> Answer:
    if {"op_precision_mode", "op_select_implmode"} <= set(params["values"]):
        other = ask(with_values(params, op_precision_mode=None))
        answer = ask(params)
        answer["directives"]["implementation"] = other["directives"]["implementation"]
        return answer
    return ask(params)


@broken("options", "003 op_precision_mode: takes precedence, so all three may be given")
def implementation_given_twice_is_refused(ask: Any, params: Params) -> Answer:
    if {"op_precision_mode", "op_select_implmode"} <= set(params["values"]):
        raise NpuError("OPTION_CONFLICT", "op_precision_mode", "excludes op_select_implmode")
    return ask(params)


@broken("options", "003 op_precision_mode: by operator type (low priority) or node name (high priority)")
def implementation_sections_swapped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["directives"].get("implementation")
    if told and params["surface"] == "runconfig":
        told["type"], told["name"] = told["name"], told["type"]
    return answer


@broken("options", "003 enable_exception_dump: NPU_COLLECT_PATH makes it mode 1 regardless of the value")
def a_given_dump_mode_beats_the_collect_path(ask: Any, params: Params) -> Answer:
    given = plain(params["values"].get("enable_exception_dump"))
    answer = ask(params)
    if params.get("env", {}).get("NPU_COLLECT_PATH") and given is not None:
        answer["effective"]["enable_exception_dump"] = {"value": given, "origin": "given"}
    return answer


@broken("options", "003 enable_small_channel: 1 cannot be modified for online inference")
def small_channels_as_given(ask: Any, params: Params) -> Answer:
    given = plain(params["values"].get("enable_small_channel"))
    try:
        answer = ask(params)
    except NpuError:
        if given is None:
            raise
        answer = ask(with_values(params, enable_small_channel=None))
    if given is not None:
        answer["effective"]["enable_small_channel"] = {"value": given, "origin": "given"}
    return answer


def _uncached(wanted: Callable[[Params], bool], sentence: str, name: str) -> None:
    def change(answer: Answer, params: Params) -> None:
        mode = plain(params["values"].get("op_compiler_cache_mode"))
        if wanted(params) and mode is not None:
            answer["effective"]["op_compiler_cache_mode"] = {"value": mode, "origin": "given"}

    changed("options", name, sentence, change)


_uncached(
    lambda params: plain(params["values"].get("op_debug_level")) in (1, 2, 3, 4) and params["edition"] == "current",
    "003: with a non-zero op_debug_level, op_compiler_cache_mode is ignored",
    "cache_while_debugging",
)
_uncached(
    lambda params: "op_debug_config" in params["values"],
    "003: with op_debug_config and no list, op_compiler_cache_mode is ignored",
    "cache_with_checks_of_all_operators",
)


@broken("options", "003: with op_debug_list the cache is enabled for operators that are not in it")
def no_cache_with_a_list(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "op_debug_config" in params["values"] and params["surface"] == "runconfig":
        answer["effective"]["op_compiler_cache_mode"] = {"value": "disable", "origin": "forced"}
    return answer


@broken("options", "002 op_compiler_cache_mode: op_debug_level 0 or 3 leave the cache on")
def legacy_level_three_without_cache(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and plain(params["values"].get("op_debug_level")) == 3:
        answer["effective"]["op_compiler_cache_mode"] = {"value": "disable", "origin": "forced"}
    return answer


@broken("options", "003 dynamic_inputs_shape_range: together with dynamic_dims, dynamic_dims has the priority")
def ranges_beat_profiles(ask: Any, params: Params) -> Answer:
    if {"dynamic_inputs_shape_range", "dynamic_dims"} <= set(params["values"]):
        answer = ask(params)
        answer["directives"]["shapes"] = ask(
            with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None)
        )["directives"]["shapes"]
        return answer
    return ask(params)


# Priority of the environment


@broken("options", "003 aoe_mode: the script takes precedence over AOE_MODE")
def tuning_mode_of_the_environment(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("AOE_MODE"):
        return ask(with_values(params, aoe_mode=None))
    return ask(params)


def _blind(variable: str, sentence: str, name: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        env = {key: value for key, value in params.get("env", {}).items() if key != variable}
        return ask({**params, "env": env} if "env" in params else params)

    fault.__name__ = name
    broken("options", sentence)(fault)


_blind("AOE_MODE", "003 aoe_mode: AOE_MODE may configure it", "never_sees_aoe_mode")
_blind("HCCL_EXEC_TIMEOUT", "003 hccl_timeout: HCCL_EXEC_TIMEOUT is used where it is not given", "never_sees_hccl_time")
_blind("NPU_COLLECT_PATH", "003 enable_exception_dump: mode 1 where NPU_COLLECT_PATH is set", "never_sees_collect_path")
_blind("ASCEND_DEVICE_ID", "002 session_device_id: comes before ASCEND_DEVICE_ID", "never_sees_the_device")


@broken("options", "003 hccl_timeout: supersedes HCCL_EXEC_TIMEOUT")
def longest_collective_timeout(ask: Any, params: Params) -> Answer:
    """Of option and variable the longer one counts."""
    answer = ask(params)
    told, entry = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", ""), answer["effective"].get("hccl_timeout")
    if told.isdigit() and entry and isinstance(entry["value"], int) and int(told) > entry["value"]:
        answer["effective"]["hccl_timeout"] = {"value": int(told), "origin": "environment"}
    return answer


@broken("options", "002 session_device_id: a logical id, an int")
def device_of_the_environment_is_a_text(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    entry = answer["effective"].get("session_device_id")
    if entry and entry["origin"] == "environment":
        entry["value"] = str(entry["value"])
    return answer


# Defaults


def _defaults(name: str, sentence: str, surface: str, edition: str, **values: Any) -> None:
    def change(told: Any, params: Params) -> None:
        if _here(params, surface, edition):
            for option, value in values.items():
                if option in told and told[option]["origin"] == "default":
                    told[option]["value"] = value

    effective(name, sentence, change)


_defaults(
    "data_pre_processing_on_in_002",
    "002 enable_data_pre_proc: False by default",
    "session",
    "legacy",
    enable_data_pre_proc=True,
)
_defaults(
    "data_pre_processing_off_in_003",
    "003 enable_data_pre_proc: True by default",
    "runconfig",
    "current",
    enable_data_pre_proc=False,
)
_defaults(
    "fusion_size_in_kilobytes",
    "003 input_fusion_size: 131072 by default",
    "runconfig",
    "current",
    input_fusion_size=128,
)
_defaults(
    "stream_waits_for_nothing", "003 stream_sync_timeout: -1 by default", "runconfig", "current", stream_sync_timeout=0
)
_defaults(
    "collective_timeout_of_002_in_003", "003 hccl_timeout: 1836 by default", "runconfig", "current", hccl_timeout=1800
)
_defaults(
    "exception_dump_of_002_in_003",
    "003 enable_exception_dump: 2 by default",
    "runconfig",
    "current",
    enable_exception_dump=0,
)
_defaults(
    "statistics_after_compilation",
    "003 export_compile_stat: 1 by default",
    "runconfig",
    "current",
    export_compile_stat=2,
)
_defaults(
    "mixed_by_default",
    "003 precision_mode: allow_fp32_to_fp16 by default",
    "runconfig",
    "current",
    precision_mode="allow_mix_precision",
)
_defaults("host_by_default", "002 use_off_line: True by default", "session", "legacy", use_off_line=False)
_defaults("pairs_stay_by_default", "002 in_out_pair_flag: True by default", "session", "legacy", in_out_pair_flag=False)
_defaults(
    "legacy_formats_stay",
    "002 variable_format_optimize: on by default",
    "session",
    "legacy",
    variable_format_optimize=False,
)


@broken("options", "002 precision_mode: force_fp16 is the default of online inference")
def inference_defaults_to_training(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    entry = answer["effective"].get("precision_mode")
    if entry and entry["origin"] == "default" and entry["value"] == "force_fp16":
        entry["value"] = "allow_fp32_to_fp16"
    return answer


# Texts and files


@broken("options", "002 dynamic_dims: there have to be more than one profile")
def one_profile_is_enough(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("dynamic_dims"))
    if isinstance(text, str) and text and ";" not in text:
        larger = ",".join(str(int(one) + 1) if one.strip().isdigit() else one for one in text.split(","))
        answer = ask(with_values(params, dynamic_dims=f"{text};{larger}"))
        answer["effective"]["dynamic_dims"]["value"] = text
        return answer
    return ask(params)


@broken("options", "002 dynamic_inputs_shape_range: getnext and data, no other names")
def any_name_of_inputs(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("dynamic_inputs_shape_range"))
    if isinstance(text, str):
        mended = re.sub(r"\b(?!getnext:|data:)[A-Za-z]\w*:", "data:", text)
        return ask(with_values(params, dynamic_inputs_shape_range=mended))
    return ask(params)


@broken("options", "002 dump_step: ranges by -, steps apart by |")
def dump_steps_by_commas(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("dump_step"))
    if isinstance(text, str) and "," in text:
        return ask(with_values(params, dump_step=text.replace(",", "|")))
    return ask(params)


@broken("options", "002 dump_step: 3-5 is steps 3 to 5")
def dump_ranges_without_their_end(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("dump_step")
    if told:
        answer["meaning"]["dump_step"] = [[a, b - 1 if b > a else b] for a, b in told]
    return answer


@broken("options", "002 stream_max_parallel_num: [1,13] and [1,3]")
def engines_without_limits(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "stream_max_parallel_num" or params["edition"] != "legacy":
            raise
        return ask(with_values(params, stream_max_parallel_num=None))


@broken("options", "003 stream_max_parallel_num: DNN_VM_AICPU and AIcoreEngine are the engines")
def engines_of_002_in_003(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("stream_max_parallel_num"))
    if params["edition"] == "current" and isinstance(text, str):
        text = text.replace("DNN_VM_TF", "DNN_VM_AICPU").replace("DNN_V100", "AIcoreEngine")
        return ask(with_values(params, stream_max_parallel_num=text))
    return ask(params)


@broken("options", "002 optypelist_for_implmode: Pooling, SoftmaxV2, LRN, ROIAlign")
def any_type_of_implementation(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "optypelist_for_implmode" or error.code == "OPTION_CONFLICT":
            raise
        return ask(with_values(params, optypelist_for_implmode="Pooling"))


@broken("options", "002 profiling_options: any other text than on and off is off")
def profiling_switches_are_checked(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("profiling_options"))
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        found = {}
    for key in ("task_trace", "aicpu"):
        if isinstance(found, dict) and found.get(key, "on") not in ("on", "off"):
            raise NpuError("OPTION_VALUE", "profiling_options", f"{key} is on or off")
    return ask(params)


@broken("options", "002 profiling_options: aic_metrics is PipeUtilization by default")
def metrics_of_arithmetic(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("profiling_options")
    text = plain(params["values"].get("profiling_options"))
    if isinstance(told, dict) and isinstance(text, str) and "aic_metrics" not in text and "aic_metrics" in told:
        told["aic_metrics"] = "ArithmeticUtilization"
    return answer


@broken("options", "003 aoe_config_file: tune_optimization_level is O2 by default")
def tuning_level_one(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("aoe_config_file")
    if told and "tune_optimization_level" not in str(params.get("files")):
        told["tune_optimization_level"] = "O1"
    return answer


@broken("options", "003 aoe_config_file: deeper_opat needs aoe_mode 2, nonhomo_split needs 1")
def tuning_features_in_any_mode(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code == "OPTION_CONFLICT" and "aoe_config_file" in params["values"]:
            answer = ask(with_values(params, aoe_config_file=None))
            answer["effective"]["aoe_config_file"] = {
                "value": plain(params["values"]["aoe_config_file"]),
                "origin": "given",
            }
            return answer
        raise


@broken("options", "003 fusion_switch_file: on or off")
def switches_in_any_letters(ask: Any, params: Params) -> Answer:
    path = plain(params["values"].get("fusion_switch_file"))
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    if isinstance(text, str):
        for word in ("On", "ON", "Off", "OFF", "true", "false"):
            text = text.replace(f'"{word}"', '"on"' if word in ("On", "ON", "true") else '"off"')
        return ask({**params, "files": {**params["files"], path: text}})
    return ask(params)


@broken("options", "002 fusion_switch_file, op_compiler_cache_dir: Chinese characters are allowed")
def paths_in_ascii_only(ask: Any, params: Params) -> Answer:
    for name, value in params["values"].items():
        if isinstance(plain(value), str) and not plain(value).isascii():
            raise NpuError("OPTION_VALUE", name, "has characters that are not ASCII")
    return ask(params)


@broken("options", "003 modify_mixlist: white-list to-remove moves an operator to the graylist")
def removed_is_added(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("modify_mixlist")
    for entry in (told or {}).values():
        if isinstance(entry, dict) and set(entry) >= {"to-remove", "to-add"}:
            entry["to-remove"], entry["to-add"] = entry["to-add"], entry["to-remove"]
    return answer


# What comes with an answer


@broken("options", "003: these options will be deprecated; what is given still holds")
def deprecated_values_dropped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for name in ("op_select_implmode", "enable_data_pre_proc", "variable_format_optimize", "dynamic_input"):
        if name in params["values"] and params["surface"] == "runconfig" and params["edition"] == "current":
            answer["effective"][name] = {"value": None, "origin": "default"}
    return answer


@broken("options", "003: these options will be deprecated, users are advised not to use them")
def deprecated_without_a_word(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["warnings"] = [one for one in answer["warnings"] if "DEPRECATED" not in one["code"].upper()]
    return answer


@broken("options", "002: these options are not supported in the current version")
def unsupported_without_a_word(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["warnings"] = [one for one in answer["warnings"] if "UNSUPPORTED" not in one["code"].upper()]
    return answer


@broken("options", "an option that is refused is named")
def refusals_name_the_first_option(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        first = next(iter(params["values"]), error.subject)
        raise NpuError(error.code, first if error.subject in OPTIONS else error.subject, error.reason) from None


@broken("options", "a conflict of two options is no value out of range")
def conflicts_are_values(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        code = "OPTION_VALUE" if error.code == "OPTION_CONFLICT" else error.code
        raise NpuError(code, error.subject, error.reason) from None


@broken("options", "003 graph_memory_max_size: does not take effect in the current version")
def memory_limits_still_hold(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for option, key in (("graph_memory_max_size", "graph_bytes"), ("variable_memory_max_size", "variable_bytes")):
        given = plain(params["values"].get(option))
        if params["surface"] == "runconfig" and params["edition"] == "current" and given is not None:
            text = str(given)
            answer["directives"]["memory"][key] = int(text) if text.isdigit() else 1
    return answer


@broken("options", "a text is kept whole")
def long_texts_cut(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for entry in answer["effective"].values():
        if isinstance(entry["value"], str) and len(entry["value"]) > 63:
            entry["value"] = entry["value"][:63]
    return answer


@broken("options", "what is given of NPURunConfig is not the default")
def given_false_is_the_default(ask: Any, params: Params) -> Answer:
    """The usual `if value:` where None was meant."""
    falsy = {
        name for name, value in params["values"].items() if plain(value) in (False, 0, "") and name in facets(params)
    }
    return ask({**params, "values": {name: value for name, value in params["values"].items() if name not in falsy}})
