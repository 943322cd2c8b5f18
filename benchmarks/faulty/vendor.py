"""A third list, written blind: what an engineer elsewhere misreads, forgets, or leaves undone."""

from __future__ import annotations

import base64
import copy
import json
import re
import struct
from typing import Any, Callable, Dict, List

from faulty.making import (
    OPTIONS,
    REFERENCE,
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    denies,
    facets,
    graph_of,
    is_mixed,
    judged_partition,
    mapped,
    node_change,
    offloaded,
    ops_of,
    plain,
    steps,
    texts,
    to_device,
    to_host,
    told_value,
    turn_values,
    turns,
    types_of,
    value_of,
    with_env,
    with_pairs,
    with_values,
    without,
)
from npu_reference.errors import NpuError

Values = Dict[str, Any]


def _unseen(area: str, name: str, sentence: str, option: str, *methods: str) -> None:
    """An option is checked and told, and has no effect in these methods."""

    def fault(ask: Any, params: Params) -> Answer:
        return ask(all_values(params, without(option)))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


# Options: what an engineer misreads


@broken("options", "003 L20-31: session_device_id takes precedence over ASCEND_DEVICE_ID, device 0 too")
def device_zero_is_no_device(ask: Any, params: Params) -> Answer:
    if value_of(params, "session_device_id") == 0 and "ASCEND_DEVICE_ID" in params.get("env", {}):
        return ask(with_values(params, session_device_id=None))
    return ask(params)


@broken("options", "003 L88-99: a threshold of 0 switches fusing off; it is no missing value")
def threshold_zero_is_the_default(ask: Any, params: Params) -> Answer:
    return (
        ask(with_values(params, input_fusion_size=None)) if value_of(params, "input_fusion_size") == 0 else ask(params)
    )


@broken("options", "003: a timeout of 0 seconds that is given is a value")
def any_zero_timeout_is_the_default(ask: Any, params: Params) -> Answer:
    found = dict(params)
    for name in ("op_wait_timeout", "op_execute_timeout", "stream_sync_timeout", "event_sync_timeout"):
        if value_of(params, name) == 0:
            found = with_values(found, **{name: None})
    return ask(found)


@broken("options", "003: hccl_timeout below 68 is 68 s")
def short_collective_timeouts_stay_short(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if params["surface"] == "runconfig" and isinstance(given, int) and 0 < given < 68:
        told_value(answer, "hccl_timeout", given)
        answer["directives"]["timeouts"]["hccl_seconds"] = given
    return answer


@broken("options", "003: the interval is hccl_timeout // 68 x 68, rounded down, never up")
def collective_timeouts_round_up(ask: Any, params: Params) -> Answer:
    answer, given = ask(params), value_of(params, "hccl_timeout")
    if isinstance(given, int) and 68 < given <= 17340 and given % 68:
        told_value(answer, "hccl_timeout", (given // 68 + 1) * 68)
        answer["directives"]["timeouts"]["hccl_seconds"] = (given // 68 + 1) * 68
    return answer


@broken("options", "003: what HCCL_EXEC_TIMEOUT says is the interval where hccl_timeout is not given")
def the_environment_wins_over_a_longer_timeout(ask: Any, params: Params) -> Answer:
    env, given = params.get("env", {}), value_of(params, "hccl_timeout")
    longer = env.get("HCCL_EXEC_TIMEOUT", "")
    if isinstance(given, int) and longer.isdigit() and int(longer) > given:
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


def _milliseconds_as_seconds(params: Params) -> bool:
    given = value_of(params, "stream_sync_timeout")
    return isinstance(given, int) and given > (value_of(params, "hccl_timeout") or 1836)


accepts(
    "timeouts_are_compared_without_units",
    "003: stream_sync_timeout (ms) must be greater than the collective timeout (s)",
    "stream_sync_timeout",
    _milliseconds_as_seconds,
)
accepts(
    "an_equal_stream_timeout_will_do",
    "003: stream_sync_timeout must be greater than the collective timeout",
    "stream_sync_timeout",
    lambda params: value_of(params, "stream_sync_timeout") in (1836000, 544000, 68000, 600000),
)


@broken("options", "003: precision_mode and precision_mode_v2 cannot be used together")
def modes_that_agree_may_stand_together(ask: Any, params: Params) -> Answer:
    pairs = {("force_fp16", "fp16"), ("must_keep_origin_dtype", "origin"), ("allow_mix_precision", "mixed_float16"),
             ("allow_mix_precision_fp16", "mixed_float16"), ("cube_fp16in_fp32out", "cube_fp16in_fp32out"),
             ("force_fp32", "cube_fp16in_fp32out")}  # fmt: skip
    if (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2")) in pairs:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken(
    "options", "002: the two memory sizes are at most 31 GB together, one that is not given counts with its default"
)
def one_memory_size_alone_is_not_summed(ask: Any, params: Params) -> Answer:
    names = ("graph_memory_max_size", "variable_memory_max_size")
    try:
        return ask(params)
    except NpuError as error:
        given = [name for name in names if value_of(params, name) is not None]
        if error.code != "OPTION_CONFLICT" or len(given) != 1 or error.subject not in names:
            raise
        answer = ask(with_values(params, **{given[0]: None}))
        told_value(answer, given[0], value_of(params, given[0]), "given")
        return answer


@broken("options", "002: DNN_VM_TF from 1 to 13, DNN_V100 from 1 to 3")
def both_engines_have_the_wider_range(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    if isinstance(text, str) and params["edition"] == "legacy":
        wide = re.sub(r"(DNN_V100:)([4-9]|1[0-3])\b", r"\g<1>3", text)
        if wide != text:
            answer = ask(all_values(params, mapped("stream_max_parallel_num", lambda value: wide)))
            told_value(answer, "stream_max_parallel_num", text)
            return answer
    return ask(params)


@broken("options", "002, 003: an engine that the text does not name keeps a parallelism of 1")
def an_engine_that_is_left_out_takes_the_other_ones_number(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told, text = answer["directives"]["engines"], value_of(params, "stream_max_parallel_num")
    if isinstance(text, str) and text.count(":") == 1:
        answer["directives"]["engines"] = dict.fromkeys(told, max(told.values()))
    return answer


@broken("options", "003: names of engines are the current ones there, DNN_VM_AICPU and AIcoreEngine")
def legacy_engine_names_are_still_known(ask: Any, params: Params) -> Answer:
    def renamed(value: Any) -> Any:
        return value.replace("DNN_VM_TF", "DNN_VM_AICPU").replace("DNN_V100", "AIcoreEngine")

    if params["edition"] == "current" and isinstance(value_of(params, "stream_max_parallel_num"), str):
        return ask(all_values(params, mapped("stream_max_parallel_num", renamed)))
    return ask(params)


@broken("options", "003: getnext and data are the only names of inputs")
def dataset_and_placeholder_name_inputs(ask: Any, params: Params) -> Answer:
    def renamed(value: Any) -> Any:
        return (
            value.replace("dataset:", "getnext:").replace("placeholder:", "data:") if isinstance(value, str) else value
        )

    return ask(all_values(params, mapped("dynamic_inputs_shape_range", renamed)))


@broken("options", "003: no space is allowed before [] of a scalar")
def spaces_before_a_scalars_brackets(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("dynamic_inputs_shape_range",
                                           lambda value: re.sub(r"\s+\[\]", "[]", value)
                                           if isinstance(value, str) else value)))  # fmt: skip


@broken("options", "002: there are more than one profile")
def a_single_profile_will_do(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" not in text:
        answer = ask(all_values(params, mapped("dynamic_dims", lambda value: f"{value};{value.replace('1', '2')}")))
        told_value(answer, "dynamic_dims", text)
        return answer
    return ask(params)


@broken("options", "002: every profile has as many sizes as input_shape has -1")
def later_profiles_are_not_counted(ask: Any, params: Params) -> Answer:
    text = value_of(params, "dynamic_dims")
    if isinstance(text, str) and ";" in text:
        first = text.split(";")[0].split(",")
        rest = [(part.split(",") + first)[: len(first)] for part in text.split(";")[1:]]
        return ask(
            all_values(params, mapped("dynamic_dims", lambda value: ";".join(",".join(one) for one in [first, *rest])))
        )
    return ask(params)


@broken("options", "002, 003: the last step of a range is dumped, too")
def ranges_of_steps_end_before_their_end(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("dump_step")
    if isinstance(told, list) and len(told) > 1:
        answer["meaning"]["dump_step"] = [[a, b - 1] if b > a else [a, b] for a, b in told]
    return answer


@broken("options", "002: task_trace and aicpu other than on and off count as off")
def capital_on_counts_as_on(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("profiling_options",
                                           lambda value: re.sub(r'("(?:task_trace|aicpu)"\s*:\s*)"(?:ON|On|true|1)"',
                                                                r'\1"on"', value)
                                           if isinstance(value, str) else value)))  # fmt: skip


@broken("options", "002, 003: PipeUtilization is the default of aic_metrics")
def metrics_default_to_the_first_of_the_list(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("profiling_options")
    if isinstance(told, dict) and "aic_metrics" not in str(value_of(params, "profiling_options")):
        told["aic_metrics"] = "ArithmeticUtilization"
    return answer


@broken("options", "003: in online inference enable_small_channel is 1 and cannot be modified")
def small_channels_can_be_switched_off_in_inference(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "current" and value_of(params, "enable_small_channel") == 0:
        told_value(answer, "enable_small_channel", 0, "given")
    return answer


accepts(
    "oom_and_no_optimisation_only_clash_side_by_side",
    "003: ccec_O0 and oom cannot be enabled at the same time",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and "ccec_O0" in text and "oom" in text and "ccec_O0,oom" not in text
        for text in params.get("files", {}).values()
    ),
)


@broken("options", "003: operator types are written OpType::, in the sample opType::")
def the_prefix_of_types_in_the_sample_is_a_name(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer.get("meaning", {}).get("op_debug_config")
    if isinstance(told, dict) and any("opType::" in str(text) for text in params.get("files", {}).values()):
        listed = told.get("op_debug_list", {})
        listed["name"] = sorted([*listed.get("name", []), *(f"opType::{one}" for one in listed.pop("OpType", []))])
    return answer


@broken("options", "003: op_cache.ini takes effect only when both values are valid")
def each_value_of_the_cache_file_stands_alone(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for path, text in params.get("files", {}).items():
        if path.endswith("op_cache.ini") and isinstance(text, str):
            found = re.search(r"max_op_cache_size\s*=\s*(\d+)", text)
            if found:
                told_value(answer, "max_op_cache_size", int(found.group(1)), "file")
    return answer


@broken("options", "003: 100 per cent may be kept, 0 may not")
def a_ratio_of_nothing_is_taken(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_REMAIN_CACHE_SIZE_RATIO") == "0":
        answer = ask(with_env(params, lambda env: {**env, "ASCEND_REMAIN_CACHE_SIZE_RATIO": "1"}))
        told_value(answer, "remain_cache_size_ratio", 0)
        return answer
    return ask(params)


@broken("options", "003: aoe_mode in the script takes precedence over AOE_MODE")
def the_variable_decides_the_tuning_mode(ask: Any, params: Params) -> Answer:
    mode = params.get("env", {}).get("AOE_MODE")
    if mode and value_of(params, "aoe_mode") is not None and params["edition"] == "current":
        return ask(all_values(params, mapped("aoe_mode", lambda value: mode)))
    return ask(params)


accepts(
    "deep_tuning_needs_no_mode",
    "003: deeper_opat needs aoe_mode 2",
    "aoe_config_file",
    lambda params: value_of(params, "aoe_mode") is None,
    aoe_mode="2",
)
accepts(
    "mixed_computing_may_iterate_twice",
    "000: in mixed computing iterations_per_loop must keep 1",
    "iterations_per_loop",
    lambda params: value_of(params, "iterations_per_loop") == 2,
)
accepts(
    "iterations_are_checked_on_a_session_only",
    "000, 003: in mixed computing iterations_per_loop must be 1",
    "iterations_per_loop",
    lambda params: params["surface"] == "runconfig",
)
accepts(
    "variables_on_the_host_need_no_mixed_computing_on_a_session",
    "003: variable_placement Host needs mix_compile_mode",
    "variable_placement",
    lambda params: params["surface"] == "session",
)


@broken("options", "003: Host and Device, in these letters")
def places_in_any_letters(ask: Any, params: Params) -> Answer:
    def capital(value: Any) -> Any:
        return value.capitalize() if isinstance(value, str) else value

    return ask(all_values(params, mapped("variable_placement", capital)))


@broken(
    "options", "003: of op_precision_mode, op_select_implmode and optypelist_for_implmode the first takes precedence"
)
def the_list_of_types_survives_the_precision_file(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    listed, mode = value_of(params, "optypelist_for_implmode"), value_of(params, "op_select_implmode")
    if value_of(params, "op_precision_mode") is not None and isinstance(listed, str) and mode:
        told = answer["directives"]["implementation"]["type"]
        for name in listed.split(","):
            told.setdefault(name, mode)
    return answer


@broken("options", "003: a key of op_precision.ini by node name has high priority, by type low")
def types_stand_above_names(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["directives"]["implementation"]
    if told["type"] and told["name"]:
        told["name"] = {}
    return answer


@broken("options", "002: training has allow_fp32_to_fp16 by default, online inference force_fp16")
def inference_defaults_as_training_does(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_of(params, "precision_mode") is None:
        told_value(answer, "precision_mode", "allow_fp32_to_fp16")
    return answer


@broken("options", "002: a bool is written to .b, an int to .i")
def an_int_of_one_is_true(ask: Any, params: Params) -> Answer:
    def changed_values(values: Values) -> Values:
        bools = {name for name, facet in facets(params).items() if name in values and facet.default in (True, False)}
        return {
            name: {"field": "b", "value": bool(plain(value))}
            if name in bools and isinstance(value, dict) and value.get("field") == "i" and plain(value) in (0, 1)
            else value
            for name, value in values.items()
        }

    return ask(all_values(params, changed_values)) if params["surface"] == "session" else ask(params)


_BEFORE: Dict[str, Any] = {}


@broken("options", "002: an option that is not given has its default, whatever an earlier session had")
def an_option_keeps_the_value_of_the_question_before(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    kept = _BEFORE.get("deterministic")
    if kept is not None and value_of(params, "deterministic") is None:
        told_value(answer, "deterministic", kept)
    _BEFORE["deterministic"] = answer["effective"].get("deterministic", {}).get("value")
    return answer


denies(
    "relative_paths_of_files_are_refused",
    "003: a path is absolute or relative to where the script is executed",
    "work_path",
    lambda params: isinstance(value_of(params, "work_path"), str) and not value_of(params, "work_path").startswith("/"),
)
denies(
    "chinese_names_are_refused",
    "002: names of cache directories may have Chinese characters",
    "op_compiler_cache_dir",
    lambda params: any(ord(sign) > 127 for sign in str(value_of(params, "op_compiler_cache_dir") or "")),
)
denies(
    "two_options_with_a_dump_are_too_many",
    "002: profiling and dumps are options of their own",
    "enable_dump",
    lambda params: value_of(params, "enable_dump") is True and value_of(params, "profiling_mode") is True,
)


# Partition


judged_partition(
    "what_stands_behind_the_fiftieth_stays_on_the_host",
    "000: operators that can be offloaded are, in large graphs too",
    lambda params: is_mixed(params) and len(graph_of(params).nodes) > 50,
    lambda answer, params: to_host(answer, offloaded(answer)[50:]),
)
judged_partition(
    "doubles_stay_on_the_host",
    "000: operators of the device's list are offloaded, whatever they compute on",
    is_mixed,
    lambda answer, params: to_host(
        answer, [n for n in offloaded(answer) if n in ops_of(params) and "float64" in types_of(ops_of(params)[n])]
    ),
)
judged_partition(
    "geops_of_one_operator_are_not_worth_it",
    "000: what can be offloaded is, one operator too",
    lambda params: is_mixed(params) and value_of(params, "in_out_pair") is None,
    lambda answer, params: to_host(
        answer, [g["nodes"][0] for g in answer["geops"] if len(g["nodes"]) == 1 and len(answer["geops"]) > 1]
    ),
)
judged_partition(
    "nothing_is_offloaded_under_python_functions",
    "000: operators behind a py_func are offloaded again",
    is_mixed,
    lambda answer, params: (
        to_host(answer, [n for g in answer["geops"][1:] for n in g["nodes"]])
        if any(one.get("op") == "PyFunc" for one in answer["host"])
        else None
    ),
)
judged_partition(
    "eager_python_functions_are_offloaded",
    "000: operators that the device does not have stay on the host",
    is_mixed,
    lambda answer, params: to_device(
        answer, [one["node"] for one in answer["host"] if one.get("op") in ("EagerPyFunc", "PyFuncStateless")]
    ),
)


def _one_geop(answer: Answer, params: Params) -> None:
    if len(answer["geops"]) > 1:
        first = answer["geops"][0]
        first["nodes"] = sorted(name for geop in answer["geops"] for name in geop["nodes"])
        answer["geops"] = [first]


judged_partition(
    "branches_around_the_host_are_one_geop",
    "000: GEOPs and host operators make no circle",
    lambda params: is_mixed(params) and len(graph_of(params).nodes) > 12,
    _one_geop,
)


def _last_split(answer: Answer, params: Params) -> None:
    for geop in answer["geops"]:
        if len(geop["nodes"]) > 3:
            names = sorted(geop["nodes"])
            extra = {**copy.deepcopy(geop), "name": "GeOp_more", "nodes": names[2:]}
            geop["nodes"] = names[:2]
            answer["geops"].append(extra)
            return


judged_partition(
    "geops_larger_than_three_are_split",
    "000: the graph is cut where operators cannot be offloaded, nowhere else",
    lambda params: is_mixed(params) and not params.get("op_list"),
    _last_split,
)


asks(
    "only_the_first_pair_counts",
    "001: all pairs of the list are ranges",
    "partition",
    lambda params: with_pairs(params, lambda found: found[:1]),
)
asks(
    "only_the_last_out_node_counts",
    "001: a pair may have several out_nodes",
    "partition",
    lambda params: with_pairs(params, lambda found: [[one[0], one[1][-1:]] for one in found]),
)
asks(
    "the_flag_counts_in_inference_only",
    "001: in_out_pair_flag False keeps the range on the host",
    "partition",
    lambda params: params if value_of(params, "graph_run_mode") == 0 else with_values(params, in_out_pair_flag=None),
)


def _range_ends(answer: Answer, params: Params) -> Any:
    found: List[str] = []
    text = value_of(params, "in_out_pair")
    for name in re.findall(r"'([^']+)'", text)[-1:]:
        found.append(name)
    if value_of(params, "in_out_pair_flag") is False:
        return to_device(answer, [one["node"] for one in answer["host"] if one["node"] in found])
    return to_host(answer, found)


judged_partition(
    "the_last_of_a_range_is_outside",
    "001: first and last operators belong to the range",
    lambda params: is_mixed(params) and isinstance(value_of(params, "in_out_pair"), str),
    _range_ends,
)


def _scoped(params: Params) -> List[str]:
    return [name for name, node in ops_of(params).items() if "_without_npu_compile" in node.attrs]


judged_partition(
    "only_the_first_operator_of_a_scope_stays",
    "000: operators of without_npu_compile_scope are not offloaded",
    is_mixed,
    lambda answer, params: to_device(
        answer, [one["node"] for one in answer["host"] if one["node"] in _scoped(params)[1:]]
    ),
)
judged_partition(
    "a_scope_holds_what_it_feeds",
    "000: what is outside the scope is offloaded",
    is_mixed,
    lambda answer, params: to_host(
        answer,
        [
            name
            for name in offloaded(answer)
            if name in ops_of(params)
            and any(
                str(one).split(":")[0].lstrip("^") in _scoped(params)
                for one in getattr(ops_of(params)[name], "inputs", ())
            )
        ],
    ),
)
judged_partition(
    "the_fifth_output_of_a_normalisation_does_not_matter",
    "000: the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    is_mixed,
    lambda answer, params: to_device(
        answer, [one["node"] for one in answer["host"] if one.get("op") == "FusedBatchNormV3"]
    ),
)
judged_partition(
    "copies_of_a_second_reader_are_not_told",
    "000: every tensor between host and GEOP is copied",
    lambda params: is_mixed(params),
    lambda answer, params: answer.update(
        borders=[one for n, one in enumerate(answer["borders"]) if one["direction"] != "d2h" or n % 2 == 0]
    ),
)
judged_partition(
    "sizes_of_half_floats_are_those_of_floats",
    "000: a copy has the bytes of its tensor",
    is_mixed,
    lambda answer, params: answer.update(
        borders=[
            {**one, "bytes": one["bytes"] * 2} if one.get("bytes") and one.get("dtype") == "float16" else one
            for one in answer["borders"]
        ]
    ),
)
judged_partition(
    "dtypes_of_copies_back_are_float32",
    "000: a copy has the dtype of its tensor",
    is_mixed,
    lambda answer, params: answer.update(
        borders=[{**one, "dtype": "float32"} if one["direction"] == "d2h" else one for one in answer["borders"]]
    ),
)


@broken("partition", "000: the same graph is cut the same way, in whatever order its operators are written")
def the_order_of_the_file_decides(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    names = list(ops_of(params)) if params.get("policy") != "adapter" and is_mixed(params) else []
    if names and names != sorted(names) and len(names) > 9:
        there = [name for name in names if name in set(offloaded(answer))]
        return to_host(answer, there[-1:])
    return answer


# Precision

node_change(
    "doubles_are_lowered_with_floats",
    "004: only float32 is lowered",
    lambda node, params, op: (
        node.update(inputs=["float16" if d == "float64" else d for d in node["inputs"]])
        if "mix" in str(value_of(params, "precision_mode"))
        else None
    ),
)
node_change(
    "gray_operators_without_upstream_are_lowered",
    "004: a gray operator follows the one before it",
    lambda node, params, op: (
        node.update(
            inputs=["float16" if d == "float32" else d for d in node["inputs"]],
            outputs=["float16" if d == "float32" else d for d in node["outputs"]],
        )
        if node.get("list") == "graylist" and "no producer" in str(node.get("why"))
        else None
    ),
)
node_change(
    "depthwise_convolutions_keep_float32",
    "004: DepthwiseConv2D does not support float32",
    lambda node, params, op: (
        node.update(inputs=["float32" for _ in node["inputs"]], outputs=["float32"])
        if op is not None and op.op == "DepthwiseConv2dNative"
        else None
    ),
)
node_change(
    "gradients_of_convolutions_keep_float32",
    "004: convolution operators do not support float32",
    lambda node, params, op: (
        node.update(inputs=["float32" if d == "float16" else d for d in node["inputs"]], outputs=["float32"])
        if op is not None and op.op.startswith("Conv2DBackprop")
        else None
    ),
)
node_change(
    "batched_products_are_vector_operators",
    "003: products are cube operators",
    lambda node, params, op: node.update(engine="vector") if op is not None and op.op == "BatchMatMulV2" else None,
)
node_change(
    "cubes_give_float16_under_the_new_name",
    "003: cube_fp16in_fp32out prefers float32 as the output",
    lambda node, params, op: (
        node.update(outputs=["float16" if d == "float32" else d for d in node["outputs"]])
        if node.get("engine") == "cube" and value_of(params, "precision_mode_v2") == "cube_fp16in_fp32out"
        else None
    ),
)
node_change(
    "half_floats_stay_under_force_fp32",
    "003: vector operators that support both are forced to float32, even from float16",
    lambda node, params, op: (
        node.update(inputs=["float16" for _ in node["inputs"]], outputs=["float16" for _ in node["outputs"]])
        if node.get("engine") == "vector"
        and value_of(params, "precision_mode") == "force_fp32"
        and params["edition"] == "current"
        and op is not None
        and "float16" in types_of(op)
        else None
    ),
)


def _mixlist(params: Params, change: Callable[[Any], Any]) -> Dict[str, Any]:
    def edit(text: str) -> str:
        try:
            return json.dumps(change(json.loads(text)))
        except (ValueError, AttributeError, TypeError):
            return text

    return texts(params, "modify_mixlist", edit)


def _to_remove_turns_over(content: Any) -> Any:
    black, white = content.get("black-list", {}), content.get("white-list", {})
    return {
        "black-list": {"to-add": [*black.get("to-add", []), *white.get("to-remove", [])]},
        "white-list": {"to-add": [*white.get("to-add", []), *black.get("to-remove", [])]},
    }


asks(
    "removed_from_one_list_is_added_to_the_other",
    "003: what is removed from a list is on the graylist",
    "precision",
    lambda params: _mixlist(params, _to_remove_turns_over),
)
asks(
    "a_mixlist_only_adds_to_the_trustlist",
    "003: both lists of the file count",
    "precision",
    lambda params: _mixlist(params, lambda content: {"white-list": content.get("white-list", {})}),
)
asks(
    "types_of_a_mixlist_are_known_in_any_letters",
    "003: the file names operator types",
    "precision",
    lambda params: _mixlist(
        params, lambda c: {k: {n: [t[:1].upper() + t[1:] for t in v] for n, v in one.items()} for k, one in c.items()}
    ),
)


def _swapped_entries(text: str) -> str:
    lines = text.splitlines()
    types = [line for line in lines if line.lower().startswith("optype::")]
    return "\n".join(types or lines) + "\n"


asks(
    "entries_of_types_win_over_names",
    "003: where name and type are customised, the name applies",
    "precision",
    lambda params: texts(params, "customize_dtypes", _swapped_entries),
)
asks(
    "customised_dtypes_hold_under_must_keep_too",
    "003: under must_keep_origin_dtype customize_dtypes has no effect",
    "precision",
    lambda params: (
        with_values(params, precision_mode="allow_fp32_to_fp16")
        if value_of(params, "customize_dtypes") and value_of(params, "precision_mode") == "must_keep_origin_dtype"
        else params
    ),
)
asks(
    "the_users_operator_file_only_counts_in_its_flags",
    "003: the information file says which dtypes an operator has",
    "precision",
    lambda params: (
        {
            **params,
            "ops_info": json.dumps(
                {
                    n: {k: v for k, v in one.items() if k == "precision_reduce"}
                    for n, one in json.loads(params["ops_info"]).items()
                }
            ),
        }
        if params.get("ops_info", "").lstrip().startswith("{")
        else params
    ),
)
_unseen("precision", "implementation_modes_are_taken_and_forgotten", "003: the mode selects the implementation",
        "op_select_implmode", "precision")  # fmt: skip
_unseen("precision", "the_implementation_list_is_for_all", "002: the listed types use the mode, others do not",
        "optypelist_for_implmode", "precision")  # fmt: skip
asks(
    "inference_is_computed_as_training",
    "002: online inference has force_fp16 by default",
    "precision",
    lambda params: (
        with_values(params, graph_run_mode=None)
        if params["edition"] == "legacy" and value_of(params, "precision_mode") is None
        else params
    ),
)


def _kept(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        "/" in node["node"]
        and op is None
        and value_of(params, "precision_mode") in ("force_fp16", "allow_mix_precision")
    ):
        node["inputs"] = ["float32" if d == "float16" else d for d in node["inputs"]]
        node["outputs"] = ["float32" if d == "float16" else d for d in node["outputs"]]


node_change(
    "bodies_of_functions_keep_the_graphs_dtypes", "004: a mode holds for the whole network, functions too", _kept
)
changed(
    "precision",
    "casts_before_fetches_are_left_out",
    "004: what is fetched has the graph's dtype",
    lambda answer, params: answer.update(casts=answer["casts"][:-1]) if len(answer.get("casts", [])) > 2 else None,
)
changed(
    "precision",
    "one_cast_serves_all_but_is_told_once",
    "004: a cast stands wherever the ends of an edge disagree",
    lambda answer, params: answer.update(casts=list({one["source"]: one for one in answer.get("casts", [])}.values())),
)


# Timeline and tuning

_unseen("timeline", "threads_of_inference_are_taken_and_forgotten", "003: so many threads run at once",
        "graph_max_parallel_model_num", "timeline")  # fmt: skip
_unseen("timeline", "small_inputs_are_never_fused", "003: input_fusion_size fuses small inputs",
        "input_fusion_size", "timeline")  # fmt: skip
_unseen("timeline", "tailing_is_taken_and_forgotten",
        "002: what does not depend on the last gradients runs beside their aggregation",
        "is_tailing_optimization", "timeline")  # fmt: skip
_unseen("timeline", "the_place_of_variables_is_taken_and_forgotten", "003: Host deploys variables on the host",
        "variable_placement", "timeline")  # fmt: skip
_unseen("timeline", "weights_outside_cost_the_same", "003: external weights reduce memory",
        "external_weight", "timeline")  # fmt: skip
_unseen("timeline", "generalised_shapes_change_nothing_on_the_device", "003: all shapes become -1",
        "compile_dynamic_mode", "timeline")  # fmt: skip
_unseen("timeline", "the_rank_of_a_process_is_ignored", "002: others take what the main process prepared",
        "local_rank_id", "timeline")  # fmt: skip
_unseen("timeline", "the_main_process_sends_to_nobody", "002: local_device_list names who gets data",
        "local_device_list", "timeline")  # fmt: skip
_unseen("timeline", "tuning_ignores_its_file", "003: only the operators of the file are tuned",
        "aoe_config_file", "timeline", "compile")  # fmt: skip
_unseen("timeline", "tuning_leaves_its_results_here", "003: work_path stores the results",
        "work_path", "timeline", "compile")  # fmt: skip
asks(
    "equal_to_the_threshold_is_too_large",
    "003: an input as large as the threshold is fused",
    "timeline",
    lambda params: all_values(
        params, mapped("input_fusion_size", lambda size: size - 1 if isinstance(size, int) and size > 0 else size)
    ),
)
asks(
    "the_threshold_is_in_kilobytes",
    "003: the unit of input_fusion_size is byte",
    "timeline",
    lambda params: all_values(
        params, mapped("input_fusion_size", lambda size: min(size * 1024, 33554432) if isinstance(size, int) else size)
    ),
)
asks(
    "wait_and_execution_timeouts_are_swapped",
    "003: op_wait_timeout is for waiting, op_execute_timeout for executing",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: {
            {"op_wait_timeout": "op_execute_timeout", "op_execute_timeout": "op_wait_timeout"}.get(name, name): value
            for name, value in values.items()
        },
    ),
)
asks(
    "event_timeouts_are_those_of_streams",
    "003: event_sync_timeout is for events, stream_sync_timeout for streams",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: {
            **values,
            **({"stream_sync_timeout": values["event_sync_timeout"]} if "event_sync_timeout" in values else {}),
        },
    ),
)
steps(
    "iterations_of_the_device_are_launched_one_by_one",
    "002: iterations_per_loop iterations are made for one call",
    lambda step, params, values: (
        step.update(launches=step["launches"] * max(1, step["iterations"])) if step.get("launches") else None
    ),
)
steps(
    "transfers_tell_no_times",
    "003: data are read in every iteration",
    lambda step, params, values: [one.update(times=1) for one in step.get("transfers", [])] and None,
)
steps(
    "the_second_device_is_the_first",
    "002: session_device_id is the device",
    lambda step, params, values: step.update(device=min(step["device"], 1)) if "device" in step else None,
)
steps(
    "gradients_wait_for_the_backward_pass",
    "002: hcom_parallel runs AllReduce beside forward and backward",
    lambda step, params, values: _later(step) if plain(values.get("hcom_parallel")) is True else None,
)


def _later(step: Dict[str, Any]) -> None:
    if not step.get("tasks"):
        return
    end = max(one["end_ns"] for one in step["tasks"])
    for one in step["tasks"]:
        if one["kind"] == "collective":
            long = one["end_ns"] - one["start_ns"]
            one["start_ns"], one["end_ns"], end = end, end + long, end + long


steps(
    "tuning_takes_names_and_types_together",
    "003: names and types are used as a union",
    lambda step, params, values: step.update(tuned=step["tuned"][:1]) if len(step.get("tuned", [])) > 1 else None,
)
steps(
    "profiles_tell_one_iteration",
    "002: every iteration is told",
    lambda step, params, values: (
        step.update(
            files={
                path: {
                    "b64": base64.b64encode(b"\n".join(base64.b64decode(one["b64"]).split(b"\n")[:2]) + b"\n").decode()
                }
                if "step_trace" in path and "b64" in one
                else one
                for path, one in step["files"].items()
            }
        )
        if step.get("files")
        else None
    ),
)


# Compilation, library


turn_values(
    "any_debug_level_leaves_the_cache_on",
    "003: with op_debug_level other than 0 the cache is off",
    lambda values: {
        **values,
        **({"op_debug_level": {"field": "i", "value": 0}} if plain(values.get("op_debug_level")) == 3 else {}),
    },
)
_unseen(
    "artifacts",
    "debug_files_lie_where_they_always_lay",
    "003: debug_dir is where debug files lie",
    "debug_dir",
    "compile",
)
_unseen(
    "artifacts", "weights_stay_inside", "003: external_weight writes weights to files", "external_weight", "compile"
)
_unseen("artifacts", "scope_passes_are_taken_and_forgotten", "003: listed scope passes take effect",
        "enable_scope_fusion_passes", "compile")  # fmt: skip
_unseen("artifacts", "buffers_are_optimised_anyway", "003: off_optimize switches buffer optimisation off",
        "buffer_optimize", "options")  # fmt: skip


def _compile_env(name: str, sentence: str, *variables: str) -> None:
    asks(
        name,
        sentence,
        "artifacts",
        lambda params: with_env(params, lambda env: {key: one for key, one in env.items() if key not in variables}),
        "compile",
    )


_compile_env("the_work_path_is_not_read", "003: ASCEND_WORK_PATH is where files lie", "ASCEND_WORK_PATH")
_compile_env(
    "the_cache_path_is_not_read", "003: ASCEND_CACHE_PATH/kernel_cache_host holds the cache", "ASCEND_CACHE_PATH"
)
_compile_env(
    "the_collect_path_is_not_read", "003: with NPU_COLLECT_PATH kernel_meta is there at level 0", "NPU_COLLECT_PATH"
)
_compile_env(
    "the_size_of_the_cache_is_fixed", "003: ASCEND_MAX_OP_CACHE_SIZE limits the cache", "ASCEND_MAX_OP_CACHE_SIZE"
)
_compile_env("half_of_the_cache_is_kept_always", "003: ASCEND_REMAIN_CACHE_SIZE_RATIO is what is kept",
             "ASCEND_REMAIN_CACHE_SIZE_RATIO")  # fmt: skip


def _files(name: str, sentence: str, change: Callable[[Dict[str, Any], Dict[str, Any]], Any]) -> None:
    """The files of every turn are changed, those there before it ends and after."""

    def edit(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
        for key in ("files", "left"):
            if turn.get(key):
                found = change(turn[key], asked)
                turn[key] = turn[key] if found is None else found

    turns(name, sentence, edit)


_files(
    "levels_four_and_one_leave_the_same",
    "003: level 4 leaves a fusion description",
    lambda files, asked: {path: one for path, one in files.items() if not path.endswith("_compute.json")},
)
_files(
    "level_three_leaves_sources_too",
    "003: level 3 leaves .o and .json",
    lambda files, asked: (
        {
            **files,
            **{path[:-2] + ".cce": {"b64": "Ly8K"} for path in files if path.endswith(".o") and "kernel_meta" in path},
        }
        if plain(asked["values"].get("op_debug_level")) == 3
        else None
    ),
)
_files(
    "weights_are_numbered",
    "003: a weight file is named weight_ and a hash value",
    lambda files, asked: {
        re.sub(r"weight_[0-9a-f]+$", f"{number}.bin", path): one for number, (path, one) in enumerate(files.items())
    },
)
_files(
    "the_result_of_fusion_has_the_process_behind",
    "003: the file is called fusion_result.json in the execution directory",
    lambda files, asked: {
        path.replace("fusion_result.json", "fusion_result_1.json") if "/" not in path else path: one
        for path, one in files.items()
    },
)


def _json_edit(files: Dict[str, Any], ending: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    found = dict(files)
    for path, one in files.items():
        if path.endswith(ending) and "b64" in one:
            content = change(json.loads(base64.b64decode(one["b64"])))
            found[path] = {"b64": base64.b64encode(json.dumps(content).encode()).decode()}
    return found


def _counts(content: Any) -> Any:
    for graph in content.values():
        for section in ("graph_fusion", "ub_fusion"):
            for one in graph.get(section, {}).values():
                one["effect_times"] = one["match_times"]
    return content


_files(
    "what_matches_takes_effect",
    "003: effect_times counts how often a pattern took effect",
    lambda files, asked: _json_edit(files, "fusion_result.json", _counts),
)
_files(
    "only_the_first_graph_is_told",
    "003: fusion results belong to a session and a graph",
    lambda files, asked: _json_edit(files, "fusion_result.json", lambda content: dict(list(content.items())[:1])),
)
_files(
    "the_cache_file_is_not_made",
    "003: op_cache.ini is generated after operators are compiled",
    lambda files, asked: {path: one for path, one in files.items() if not path.endswith("op_cache.ini")},
)


def _kept_weights(answer: Answer, params: Params) -> None:
    for turn in answer["turns"]:
        weights = {path: one for path, one in (turn.get("files") or {}).items() if "tmp_weight_" in path}
        if weights and "left" in turn:
            turn["left"].update(weights)


changed("artifacts", "weights_stay_after_the_program", "003: tmp_weight_ is deleted when the model is uninstalled",
        _kept_weights, "compile")  # fmt: skip
turns(
    "a_switched_off_pass_is_only_not_told",
    "003: a pattern that is off has no effect",
    lambda turn, asked: (
        turn.update(
            fusion=[
                {**one, "effective": one["matched"]} if one["name"].startswith("MatMul") else one
                for one in turn["fusion"]
            ]
        )
        if turn.get("fusion")
        else None
    ),
)
turns(
    "everything_is_compiled_anew",
    "003: with the cache enabled operators of the same options are reused",
    lambda turn, asked: (
        turn.update(
            kernels=[{**one, "origin": "compiled"} for one in turn["kernels"]],
            misses=turn.get("misses", 0) + turn.get("hits", 0),
            hits=0,
        )
        if turn.get("kernels")
        else None
    ),
)
turns(
    "debugging_only_switches_optimisation_off",
    "003: level 2 sets -O0 -g",
    lambda turn, asked: (
        turn.update(
            kernels=[{**one, "switches": [s for s in one.get("switches", []) if s != "-g"]} for one in turn["kernels"]]
        )
        if turn.get("kernels")
        else None
    ),
)


def _library_text(answer: Answer, change: Callable[[Any], Any]) -> None:
    for one in answer.get("files", ()):  # of precision there are none
        if one["path"].endswith(".json"):
            one["text"] = json.dumps(change(json.loads(one["text"])))


changed(
    "artifacts",
    "the_library_tells_no_flag_of_gray_operators_as_false",
    "003: an operator without precision_reduce is on the graylist",
    lambda answer, params: _library_text(
        answer,
        lambda content: {
            name: {"precision_reduce": {"flag": "false"}, **one} if isinstance(one, dict) else one
            for name, one in content.items()
        },
    ),
    "library",
    "precision",
)
changed(
    "artifacts",
    "the_library_can_be_written_from_the_start",
    "004: write permission is granted first",
    lambda answer, params: answer.update(files=[{**one, "mode": "0644"} for one in answer["files"]]),
    "library",
)
changed(
    "artifacts",
    "the_legacy_library_lies_where_the_current_one_does",
    "004: opp/op_impl/built-in/ai_core",
    lambda answer, params: answer.update(
        files=[{**one, "path": one["path"].replace("op_impl/built-in", "built-in/op_impl")} for one in answer["files"]]
    ),
    "library",
)


# Runs: values, dumps, ranks


def _tensors(answer: Answer) -> Dict[str, Any]:
    found: Dict[str, Any] = answer.get("fetches", {})
    return found


def _turned(tensor: Dict[str, Any], form: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    data = base64.b64decode(tensor.get("b64", ""))
    size = struct.calcsize(form)
    values = [change(one) for (one,) in struct.iter_unpack("<" + form, data[: len(data) // size * size])]
    return {**tensor, "b64": base64.b64encode(b"".join(struct.pack("<" + form, one) for one in values)).decode()}


def _run(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("run", name, sentence, change)


def _each(dtype: str, form: str, change: Callable[[Any], Any]) -> Callable[[Answer, Params], Any]:
    def edit(answer: Answer, params: Params) -> None:
        for name, one in _tensors(answer).items():
            if one.get("dtype") == dtype:
                _tensors(answer)[name] = _turned(one, form, change)

    return edit


def _narrowed(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value


_run("doubles_come_back_as_floats_would", "000: splitting changes no result", _each("float64", "d", _narrowed))
_run(
    "long_integers_lose_their_upper_half",
    "000: splitting changes no result",
    _each("int64", "q", lambda value: ((value + (1 << 31)) % (1 << 32)) - (1 << 31)),
)
_run("minus_zero_is_zero", "000: splitting changes no result", _each("float32", "f", lambda value: value + 0.0))
_run("what_is_no_number_is_zero", "000: splitting changes no result",
     _each("float32", "f", lambda value: 0.0 if value != value else value))  # fmt: skip
_run("booleans_are_true_or_lost", "000: splitting changes no result", _each("bool", "B", lambda value: 1))
_run(
    "empty_tensors_have_no_shape",
    "000: splitting changes no result",
    lambda answer, params: [one.update(shape=[0]) for one in _tensors(answer).values() if 0 in one["shape"]] and None,
)


def _dumped(answer: Answer, params: Params, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    if answer.get("files") and (value_of(params, "enable_dump") or "dump" in json.dumps(params["values"])):
        answer["files"] = change(answer["files"])


_STEP = re.compile(r"^(.*/\d{14}/[^/]+/[^/]+/[^/]+/)(\d+)(/.*)$")

_run(
    "dumped_steps_are_counted_from_one",
    "002: dump_step counts from 0",
    lambda answer, params: _dumped(
        answer,
        params,
        lambda files: {
            _STEP.sub(lambda m: f"{m.group(1)}{int(m.group(2)) + 1}{m.group(3)}", path): one
            for path, one in files.items()
        },
    ),
)
_unseen("run", "every_step_is_dumped", "002: dump_step says which iterations are dumped", "dump_step", "run")
_unseen("run", "outputs_are_dumped_whatever_the_mode", "002: dump_mode says what is dumped", "dump_mode", "run")
_run(
    "dumps_lose_the_last_operator",
    "002: a dump has the data of operators, all of them",
    lambda answer, params: _dumped(
        answer, params, lambda files: dict(sorted(files.items())[:-1]) if len(files) > 3 else files
    ),
)
_unseen("run", "exceptions_leave_what_they_left_by_default", "003: it says what a failing operator leaves",
        "enable_exception_dump", "run")  # fmt: skip
_unseen("run", "a_session_runs_on_device_zero", "002: session_device_id is the device", "session_device_id", "run")
_unseen(
    "run",
    "the_host_can_be_asked_to_run_and_does_not",
    "002: use_off_line False runs on the host",
    "use_off_line",
    "run",
)
_unseen("run", "scripts_run_without_mixed_computing", "000: mixed computing leaves operators on the host",
        "mix_compile_mode", "run")  # fmt: skip
_run(
    "nothing_is_copied_between_host_and_device",
    "000: tensors between host and GEOPs are copied",
    lambda answer, params: [one.update(copies=[]) for one in answer.get("trace") or []] and None,
)
_run(
    "every_second_run_is_not_traced",
    "000: a session runs GEOPs on the device each time",
    lambda answer, params: [one.update(engine=None, geops=[]) for one in (answer.get("trace") or [])[1::2]] and None,
)


def _ranks(change: Callable[[List[Any]], List[Any]]) -> Callable[[Answer, Params], Any]:
    def edit(answer: Answer, params: Params) -> None:
        if isinstance(answer.get("ranks"), list):
            answer["ranks"] = change(answer["ranks"])

    return edit


_run("every_rank_is_the_first", "002: processes have a rank each", _ranks(lambda ranks: [ranks[0]] * len(ranks)))
_run("ranks_come_in_the_other_order", "002: processes have a rank each", _ranks(lambda ranks: ranks[::-1]))
_run(
    "collectives_of_ranks_leave_out_the_last",
    "002: AllReduce adds up what all ranks have",
    _ranks(
        lambda ranks: [
            {
                **one,
                "ok": {
                    **one["ok"],
                    "trace": [
                        {**r, "collectives": (r.get("collectives") or [])[:-1]} for r in one["ok"].get("trace") or []
                    ],
                },
            }
            if "ok" in one
            else one
            for one in ranks
        ]
    ),
)


# Lazy ones, and several at once


def _constant(method: str) -> None:
    seen: Dict[str, Answer] = {}

    def fault(ask: Any, params: Params) -> Answer:
        key = f"{params.get('surface')} {params.get('edition')}"
        if key not in seen:
            seen[key] = _reference_answer(method, params)
        return copy.deepcopy(seen[key])

    fault.__name__ = f"{method}_repeats_the_answer_of_the_question_before"
    broken("vendor", "the protocol: a request is answered by what it asks", method)(fault)


def _reference_answer(method: str, params: Params) -> Answer:
    found: Answer = json.loads(json.dumps(getattr(REFERENCE, method)(params)))
    return found


for _method in ("options", "partition", "precision"):
    _constant(_method)


@broken("vendor", "000: what the device does not have stays on the host", "partition")
def all_operators_are_offloaded(ask: Any, params: Params) -> Answer:
    names = [node.name for node in graph_of(params).nodes]
    return {"geops": [{"name": "GeOp_0", "nodes": names, "args": [], "rets": [], "copies": []}], "host": [],
            "borders": [], "min_geops": 1, "notes": []}  # fmt: skip


@broken("vendor", "000: operators are offloaded by default", "partition")
def no_operator_is_offloaded(ask: Any, params: Params) -> Answer:
    host = [{"node": node.name, "op": node.op, "reason": "NOT_SUPPORTED"} for node in graph_of(params).nodes]
    return {"geops": [], "host": host, "borders": [], "min_geops": 0, "notes": []}


@broken("vendor", "003: values are checked", "options")
def nothing_is_ever_refused(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError:
        answer = ask({**params, "values": {}})
        for name in params["values"]:
            answer["effective"][name] = {"value": value_of(params, name), "origin": "given"}
        return answer


@broken("vendor", "003: what is allowed is taken", "options")
def every_second_option_is_refused(ask: Any, params: Params) -> Answer:
    for name in params["values"]:
        if sorted(OPTIONS).index(name) % 2 if name in OPTIONS else False:
            raise NpuError("OPTION_VALUE", name, "is not supported")
    return ask(params)


@broken("vendor", "003: the options of an object have an effect", "timeline", "compile", "precision")
def options_are_checked_and_nothing_else(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, lambda values: {}))


@broken("vendor", "003: variables of the environment have an effect", "timeline", "compile", "options")
def the_environment_is_never_read(ask: Any, params: Params) -> Answer:
    return ask(with_env(params, lambda env: {}))


@broken("vendor", "002 and 003 differ", "options", "partition", "precision", "timeline", "compile")
def a_run_config_is_read_as_a_session(ask: Any, params: Params) -> Answer:
    if params["surface"] != "runconfig" or params["edition"] != "current":
        return ask(params)
    try:
        return ask({**params, "surface": "session"})
    except NpuError as error:
        if error.code not in ("OPTION_TYPE",):
            raise
        return ask(params)


@broken("vendor", "002 and 003 differ", "options", "precision", "timeline", "compile")
def the_legacy_edition_is_read_as_the_current_one(ask: Any, params: Params) -> Answer:
    if params["edition"] == "current":
        return ask(params)
    try:
        return ask({**params, "edition": "current"})
    except NpuError:
        return ask(params)
