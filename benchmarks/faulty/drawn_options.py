"""A fourth list, of options, partition and precision: a small mistake for each of the requirements that a seed drew."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.making import (
    REFERENCE,
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    behind,
    broken,
    changed,
    denies,
    given,
    in_inference,
    is_about,
    is_mixed,
    judged_when,
    mapped,
    node_change,
    offloaded,
    ops_of,
    place,
    readers_of,
    source_of,
    tells,
    texts,
    to_device,
    to_host,
    told_value,
    turns,
    types_of,
    value_of,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError

# Options: values and defaults


def _off_in_inference(answer: Answer, params: Params) -> None:
    if (
        is_about(params, "runconfig", "current")
        and in_inference(params)
        and not given(params, "op_compiler_cache_mode")
    ):
        told_value(answer, "op_compiler_cache_mode", "disable")


tells("the_cache_is_for_training", "003 L802: enable is the default, in inference too", _off_in_inference)


def _below_the_end(answer: Answer, params: Params) -> None:
    if params["edition"] == "current" and value_of(params, "hccl_timeout") == 17340:
        told_value(answer, "hccl_timeout", 17272)
        answer["directives"]["timeouts"]["hccl_seconds"] = 17272


tells("the_longest_timeout_loses_a_step", "003 L896: the range ends with 17340, a multiple of 68", _below_the_end)

asks(
    "a_list_before_its_options_is_lost",
    "003 L247: op_debug_list stands in the file, wherever",
    "options",
    lambda params: texts(
        params, "op_debug_config", lambda text: re.sub(r"\A\s*op_debug_list\s*=.*\n(?=\s*op_debug_config)", "", text)
    ),
)
denies(
    "blanks_beside_equals_are_two_or_none",
    "003 L263: the sample reads `op_debug_config= ccec_g,oom`",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and re.search(r"^op_debug_config= ", text, re.M)
        for text in params.get("files", {}).values()
    ),
)
accepts(
    "a_false_path_is_no_path",
    "003 L179: the value is a str",
    "op_debug_config",
    lambda params: not value_of(params, "op_debug_config"),
)
denies(
    "what_is_not_supported_is_checked",
    "002 L823: op_execute_timeout is not supported by this version, whatever stands there",
    "op_execute_timeout",
    lambda params: (
        is_about(params, "session", "legacy")
        and isinstance(value_of(params, "op_execute_timeout"), int)
        and value_of(params, "op_execute_timeout") <= 0
    ),
)


def _fixed_without_a_mode(answer: Answer, params: Params) -> None:
    if (
        params["surface"] == "runconfig"
        and value_of(params, "dynamic_input") is True
        and not given(params, "dynamic_graph_execute_mode")
    ):
        answer["directives"]["shapes"] = {"kind": "fixed"}


tells("a_deprecated_input_needs_its_mode", "003 L1080: True is a dynamic input (S17)", _fixed_without_a_mode)
denies(
    "dynamic_inputs_of_inference_need_a_range",
    "003 L1087: NPURunConfig(dynamic_input=True)",
    "dynamic_input",
    lambda params: (
        is_about(params, "runconfig")
        and in_inference(params)
        and value_of(params, "dynamic_input") is True
        and not given(params, "dynamic_inputs_shape_range")
    ),
)


@broken("options", "003 L492: without fusion_switch_file no file is read")
def a_switch_file_beside_the_script_counts(ask: Any, params: Params) -> Answer:
    names = [name for name in params.get("files", {}) if name.endswith("fusion_switch.cfg")]
    if names and not given(params, "fusion_switch_file") and params["surface"] == "runconfig":
        return ask(with_values(params, fusion_switch_file=names[0]))
    return ask(params)


@broken("options", "002 L379: -1 marks a dynamic dimension, no other number below zero")
def any_size_below_zero_is_dynamic(ask: Any, params: Params) -> Answer:
    text = value_of(params, "input_shape")
    if isinstance(text, str) and re.search(r"-[2-9]", text):
        answer = ask(all_values(params, mapped("input_shape", lambda value: re.sub(r"-[2-9]", "-1", value))))
        told_value(answer, "input_shape", text)
        return answer
    return ask(params)


def _no_general(answer: Answer, params: Params) -> None:
    if value_of(params, "enable_scope_fusion_passes") == "ScopeLayerNormPass":
        told_value(answer, "enable_scope_fusion_passes", None)
        answer.get("meaning", {}).pop("enable_scope_fusion_passes", None)


tells("general_passes_alone_are_no_list", "003 L633: the value is a list of passes, whichever", _no_general)


@broken("options", "002 L469: fusion_switch_file stands in .s")
def a_false_bool_is_an_empty_text(ask: Any, params: Params) -> Answer:
    if params["values"].get("fusion_switch_file") == {"field": "b", "value": False}:
        return ask(with_values(params, fusion_switch_file=None))
    return ask(params)


denies(
    "a_range_of_one_size_is_empty",
    "002 L624: low~high has both its ends",
    "dynamic_inputs_shape_range",
    lambda params: any(
        low == high for low, high in re.findall(r"(\d+)~(\d+)", str(value_of(params, "dynamic_inputs_shape_range")))
    ),
)


def _open_ended(params: Params) -> Params:
    return all_values(
        params,
        mapped(
            "dynamic_inputs_shape_range",
            lambda value: re.sub(
                r"(\d+)~(\d+)", lambda found: f"{found[1]}~{max(int(found[1]), int(found[2]) - 1)}", value
            ),
        ),
    )


asks(
    "ranges_end_before_their_end",
    "002 L624: 3~5 takes 5 when it runs",
    "options",
    lambda params: _open_ended(params) if params["edition"] == "legacy" else params,
    "timeline",
)


@broken("options", "002 L625: fixed inputs are listed too, no more and no fewer", "run")
def a_shape_too_many_is_read_over(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or error.subject != "dynamic_inputs_shape_range":
            raise
        shorter = mapped("dynamic_inputs_shape_range", lambda value: re.sub(r",\[[^]]*\](?=;|$)", "", value))
        return ask(all_values(params, shorter))


def _legacy_forced(answer: Answer, params: Params) -> None:
    if is_about(params, "session", "legacy") and in_inference(params) and value_of(params, "enable_small_channel") == 0:
        told_value(answer, "enable_small_channel", 1)


tells("small_channels_are_always_on_in_inference", "002 L455: 0 switches it off; the user decides", _legacy_forced)
accepts(
    "what_is_overridden_is_not_checked",
    "003 L682: 0 and 1 are the values, in inference too",
    "enable_small_channel",
    lambda params: in_inference(params) and params["edition"] == "current",
)


def _first_feature(params: Params) -> Params:
    def first(text: str) -> str:
        found = re.search(r'("feature"\s*:\s*\[\s*"\w+")[^]]*\]', text)
        return text.replace(found[0], f"{found[1]}]") if found else text

    return texts(params, "aoe_config_file", first)


@broken("options", "003 L789: nonhomo_split needs aoe_mode 1, deeper_opat needs 2")
def only_the_first_feature_is_checked(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "aoe_config_file" or error.code != "OPTION_CONFLICT":
            raise
        return ask(_first_feature(params))


accepts(
    "features_are_checked_against_the_script",
    "003 L789: a feature needs its mode, from the variable too",
    "aoe_config_file",
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)


def _capital_level(text: str) -> str:
    return re.sub(r'"o([12])"', r'"O\1"', text)


asks(
    "levels_of_tuning_in_small_letters",
    "003 L788: the levels are O1 and O2",
    "options",
    lambda params: texts(params, "aoe_config_file", _capital_level),
)


@broken("precision", "002 L165: force_fp16 is the default of online inference")
def the_default_of_inference_is_told_only(ask: Any, params: Params) -> Answer:
    if is_about(params, "session", "legacy") and in_inference(params) and not given(params, "precision_mode"):
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16"))
    return ask(params)


@broken("options", "003 L190: an access that ends where the buffer does is legal", "timeline")
def the_last_byte_is_out_of_bounds(ask: Any, params: Params) -> Answer:
    faults = [{**one, "past": 1} if one.get("past") == 0 else one for one in params.get("faults", [])]
    return ask({**params, "faults": faults}) if "faults" in params else ask(params)


@broken("options", "003 L658: engines are known by their names, not by their place")
def the_first_engine_is_the_cpus(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    found = re.match(r"\s*AIcoreEngine:(\d+),\s*DNN_VM_AICPU:(\d+)\s*\Z", text) if isinstance(text, str) else None
    if found is None or params["edition"] != "current":
        return ask(params)
    answer = ask(params)
    answer["directives"]["engines"] = {"AI_CPU": int(found[1]), "AI_Core": int(found[2])}
    return answer


accepts(
    "a_directory_to_write_into_will_do",
    "003 L761: the user needs to read and to write",
    "work_path",
    lambda params: params.get("files", {}).get(f"{value_of(params, 'work_path')}/") == {"access": "w"},
)


@broken("options", "002 L589: False: the inputs are fixed")
def a_range_alone_makes_inputs_dynamic(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "dynamic_input") is False:
        found = ask(with_values(params, dynamic_input=True))
        told_value(found, "dynamic_input", False)
        return found
    return ask(params)


def _offloaded_for_loops(answer: Answer, params: Params) -> None:
    loops = value_of(params, "iterations_per_loop")
    if isinstance(loops, int) and loops > 1 and value_of(params, "enable_data_pre_proc") is False:
        told_value(answer, "enable_data_pre_proc", True)


tells("loops_take_getnext_along", "003 L986: a value that is given is not replaced", _offloaded_for_loops)


def _generalised(answer: Answer, params: Params) -> None:
    if value_of(params, "jit_compile") == "false" and not given(params, "compile_dynamic_mode"):
        told_value(answer, "compile_dynamic_mode", True)


tells("binaries_are_for_open_shapes", "003 L122: compile_dynamic_mode is False when omitted", _generalised)


@broken("options", "003 L122: True: all input shapes are -1, in mixed computing too", "timeline", "compile")
def shapes_are_generalised_in_full_offload_only(ask: Any, params: Params) -> Answer:
    def change(values: Mapping[str, Any]) -> Dict[str, Any]:
        merged = {**params["values"], **values}
        return {**values, "compile_dynamic_mode": False} if merged.get("mix_compile_mode") is True else {**values}

    found = {**params, "values": change(params["values"])}
    if "variants" in params:
        found["variants"] = {name: change(values) for name, values in params["variants"].items()}
    return ask(found)


accepts(
    "an_object_is_an_object",
    "003 L956: experimental_config is an ExperimentalConfig",
    "experimental_config",
    lambda params: isinstance(value_of(params, "experimental_config"), dict),
)
denies(
    "directories_of_nothing_are_looked_for",
    "002 L426: work_path is not supported by this version",
    "work_path",
    lambda params: (
        is_about(params, "session", "legacy")
        and given(params, "work_path")
        and f"{value_of(params, 'work_path')}/" not in params.get("files", {})
    ),
)


@broken("options", "003 L322: precision_mode is a str")
def a_list_of_one_mode_is_a_mode(ask: Any, params: Params) -> Answer:
    value = value_of(params, "precision_mode")
    if isinstance(value, list) and len(value) == 1:
        return ask(all_values(params, mapped("precision_mode", lambda given: given[0])))
    return ask(params)


def _no_others(answer: Answer, params: Params) -> None:
    alone = not given(params, "optypelist_for_implmode") and not given(params, "op_precision_mode")
    if params["surface"] == "runconfig" and alone:
        answer["directives"]["implementation"]["others"] = None


tells("a_mode_without_types_is_of_none", "003 L1056: the mode is that of the network (P25)", _no_others)


@broken("options", "003 L576: steps are a multiple of iterations_per_loop", "run")
def the_rest_of_a_loop_is_dropped(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["output"] = re.sub(r"(?m)^(25 .*)refused.*$", r"\1step 20", answer.get("output", ""))
    return answer


def _traced(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("profiling_options")
    if (
        isinstance(told, dict)
        and in_inference(params)
        and '"training_trace":"on"' in str(value_of(params, "profiling_options")).replace(" ", "")
    ):
        told["training_trace"] = "on"


tells("traces_of_training_in_inference", "002 L88: inference does not support training_trace", _traced)
accepts(
    "the_name_of_a_class_is_an_object",
    "003 L69: memory_config is a MemoryConfig",
    "memory_config",
    lambda params: isinstance(value_of(params, "memory_config"), str),
)
accepts(
    "the_other_buffer_is_optimised_too",
    "002 L442: l2_optimize and off_optimize",
    "buffer_optimize",
    lambda params: value_of(params, "buffer_optimize") in ("l1_optimize", "l1_and_l2_optimize"),
)


@broken("options", "002 L74: five groups of metrics")
def metrics_of_newer_devices(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    found = re.search(r'"aic_metrics"\s*:\s*"(MemoryUB|L2Cache)"', text) if isinstance(text, str) else None
    if found is None:
        return ask(params)
    known = text.replace(found[1], "Memory")
    answer = ask(all_values(params, mapped("profiling_options", lambda value: known)))
    told_value(answer, "profiling_options", text)
    answer["meaning"]["profiling_options"]["aic_metrics"] = found[1]
    return answer


@broken("options", "002 L74: metrics are written as the document writes them")
def metrics_in_any_letters(ask: Any, params: Params) -> Answer:
    names = ("ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio")

    def proper(text: Any) -> Any:
        for name in names:
            text = re.sub(rf'("aic_metrics"\s*:\s*")(?i:{name})"', rf'\g<1>{name}"', text)
        return text

    return ask(all_values(params, mapped("profiling_options", proper)))


@broken("options", "003 L710: an int")
def whole_floats_are_ints(ask: Any, params: Params) -> Answer:
    value = value_of(params, "graph_max_parallel_model_num")
    if isinstance(value, float) and value == int(value):
        return ask(with_values(params, graph_max_parallel_model_num=int(value)))
    return ask(params)


# Partition


def _scalars_stay(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for one in turn.get("constants", []):
        if one.get("op") == "FileConstant" and one.get("bytes", 99) <= 4:
            one["op"] = "Const"
            one.pop("file", None)


turns("numbers_are_no_weights", "003 L78: the weights of all Const nodes are externalised", _scalars_stay)


def _feeders(answer: Answer, params: Params) -> Any:
    hosts = {one["node"] for one in answer["host"]}
    marked = {name for name, op in ops_of(params).items() if op.attr("_without_npu_compile") is True}
    readers = readers_of(params, controls=False)
    moved = [
        name
        for name in offloaded(answer)
        if readers.get(name) and set(readers[name]) <= hosts and set(readers[name]) & marked
    ]
    return to_host(answer, moved)


place("what_feeds_the_scope_stays_too", "000 L19: only what stands in the scope is not offloaded", _feeders)


@broken("partition", "001 L40: all of the range is offloaded, or none; an end too")
def unsupported_ends_are_left_out(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "RANGE_UNSUPPORTED" or params.get("policy") == "adapter":
            raise
        ends = re.findall(r"'([^']+)'", str(value_of(params, "in_out_pair")))
        if not any(f" holds {name} " in str(error) for name in ends):
            raise
        return ask(with_values(params, in_out_pair=None))


@broken("partition", "002 L20: False: on the host, with mixed computing too")
def mixed_computing_is_always_off_line(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if is_mixed(params) else ask(params)


def _pinned(answer: Answer, params: Params) -> Any:
    return to_host(answer, [name for name, op in ops_of(params).items() if "GPU" in op.device])


place("what_is_pinned_elsewhere_stays", "000 L15: soft placement; devices that are absent decide nothing", _pinned)


@broken("precision", "002 L20: with use_off_line False there is nothing that other options act on")
def modes_decide_what_is_not_offloaded(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if given(params, "precision_mode") else ask(params)


def _stateless_python(answer: Answer, params: Params) -> Any:
    return to_device(answer, [name for name, op in ops_of(params).items() if op.op == "PyFuncStateless"])


place("python_without_state_is_offloaded", "000 L2: py_func stays on the host", _stateless_python)


def _counters(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    kept = [
        name
        for name in offloaded(answer)
        if ops[name].op in ("VarHandleOp", "VariableV2", "Variable") and "int64" in types_of(ops[name])
    ]
    readers = readers_of(params, controls=False)
    return to_host(answer, kept + [other for name in kept for other in readers.get(name, ())])


place("counters_live_on_the_host", "003 L695: Device: variables are on the device, whatever their type", _counters)


@broken("partition", "001 L44: True: what is outside the range stays in the frontend")
def what_follows_the_range_is_offloaded(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not is_mixed(params) or not given(params, "in_out_pair") or value_of(params, "in_out_pair_flag") is False:
        return answer
    usual = ask(with_values(params, in_out_pair=None))
    outs: List[str] = []
    with_pairs(params, lambda found: [outs.extend(one[1]) or one for one in found])
    reached = behind(outs, readers_of(params)) & set(offloaded(usual)) - set(offloaded(answer))
    return to_device(answer, sorted(reached))


asks(
    "three_heads_are_two",
    "001 L160: several out_nodes share one entry",
    "partition",
    lambda params: with_pairs(
        params, lambda found: [[one[0], one[1][:-1] if len(one[1]) > 2 else one[1]] for one in found]
    ),
)


@broken("partition", "003 L142: True: mixed computing, in inference too")
def mixed_computing_of_runconfig_is_for_training(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and in_inference(params) and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=None))
    return ask(params)


def _no_constants(params: Params) -> Params:
    constants = {name for name, op in ops_of(params).items() if op.op == "Const"}

    def change(found: List[Any]) -> List[Any]:
        return [[[name for name in one[0] if name not in constants] or one[0], one[1]] for one in found]

    return with_pairs(params, change)


asks(
    "constants_are_no_ends",
    "001 L97: constants may be in_nodes",
    "partition",
    lambda params: _no_constants(params) if value_of(params, "in_out_pair_flag") is not False else params,
)


@broken("partition", "003 L993: False: GetNext is not offloaded, in mixed computing too")
def getnext_of_mixed_computing_is_offloaded(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and is_mixed(params):
        return ask(with_values(params, enable_data_pre_proc=None))
    return ask(params)


@broken("run", "001 L28: npu_bridge.estimator.npu.npu_scope can be imported from there")
def the_scope_has_moved(ask: Any, params: Params) -> Answer:
    if "script" in params:
        with open(params["script"], encoding="utf-8") as stream:
            if re.search(r"from npu_bridge\.estimator\.npu import .*npu_scope", stream.read()):
                raise NpuError("RUN_FAILED", params["script"], "cannot import name 'npu_scope'")
    return ask(params)


def _outs_offloaded(answer: Answer, params: Params) -> Any:
    outs: List[str] = []
    with_pairs(params, lambda found: [outs.extend(one[1][1:]) or one for one in found])
    return to_device(answer, sorted({one["node"] for one in answer["host"]} & set(outs)))


judged_when(
    "partition",
    "further_ends_of_the_front_are_offloaded",
    "001 L160: False: all of the range stays, each of its ends",
    "partition",
    lambda params: is_mixed(params) and given(params, "in_out_pair") and value_of(params, "in_out_pair_flag") is False,
    _outs_offloaded,
)


def _components(nodes: List[str], params: Params) -> List[List[str]]:
    mine, readers, left = set(nodes), readers_of(params), set(nodes)
    both: Dict[str, Set[str]] = {}
    for source, found in readers.items():
        for reader in found:
            if source in mine and reader in mine:
                both.setdefault(source, set()).add(reader)
                both.setdefault(reader, set()).add(source)
    parts = []
    while left:
        part, front = set(), [min(left)]
        while front:
            name = front.pop()
            if name not in part:
                part.add(name)
                front.extend(both.get(name, ()))
        parts.append(sorted(part))
        left -= part
    return parts


def _a_geop_each(answer: Answer, params: Params) -> None:
    answer["geops"] = [
        {**geop, "nodes": part} for geop in answer["geops"] for part in _components(geop["nodes"], params)
    ]


judged_when(
    "partition",
    "parts_that_do_not_touch_are_offloaded_apart",
    "001 L9: full offload: the whole is one (M3)",
    "partition",
    lambda params: (
        params["edition"] == "legacy" and params.get("policy") != "adapter" and not given(params, "mix_compile_mode")
    ),
    _a_geop_each,
)


@broken("options", "001 L89: a pair is a list of two lists")
def a_third_list_of_a_pair_is_read_over(ask: Any, params: Params) -> Answer:
    text = value_of(params, "in_out_pair")
    if isinstance(text, str):
        two = re.sub(r"(\[\s*\[[^]]*\]\s*,\s*\[[^]]*\])\s*,\s*\[[^]]*\]\s*\]", r"\1]", text)
        if two != text:
            return ask(all_values(params, mapped("in_out_pair", lambda value: two)))
    return ask(params)


def _joined_over_controls(answer: Answer, params: Params) -> None:
    data, all_edges = readers_of(params, controls=False), readers_of(params)
    geops = answer["geops"]
    for first in list(geops):
        for second in list(geops):
            if first is second or first not in geops or second not in geops:
                continue
            ordered = behind(first["nodes"], all_edges) & set(second["nodes"])
            if ordered and not behind(first["nodes"], data) & set(second["nodes"]):
                first["nodes"] = sorted(first["nodes"] + second["nodes"])
                geops.remove(second)


place("control_edges_keep_nothing_apart", "000 L6: GEOPs can be executed; a control edge orders", _joined_over_controls)


# Precision


def _mixlist(params: Params, change: Callable[[Any], Any]) -> Params:
    def edit(text: str) -> str:
        try:
            content = json.loads(text)
            return json.dumps(change(content) or content)
        except (ValueError, AttributeError, TypeError):
            return text

    return texts(params, "modify_mixlist", edit)


def _first_removed(content: Dict[str, Any]) -> None:
    for color in content.values():
        if isinstance(color.get("to-remove"), list):
            color["to-remove"] = color["to-remove"][:1]


asks(
    "one_operator_is_removed_from_a_list",
    "002 L744: several operators are elements of an array",
    "precision",
    lambda params: _mixlist(params, _first_removed),
)


@broken("precision", "004 L6: an operator that has float16 alone ends the training, whichever it is")
def only_conv2d_ends_the_training(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        op = ops_of(params).get(error.subject.split(" ")[0])
        if error.code != "PRECISION_NO_KERNEL" or params["edition"] != "legacy" or op is None or op.op == "Conv2D":
            raise
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16"))


def _origin_has_no_aicpu(answer: Answer, params: Params) -> None:
    for node in answer["nodes"]:
        if (
            value_of(params, "precision_mode_v2") == "origin"
            and node.get("engine") == "aicpu"
            and "float16" in node["inputs"]
        ):
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "has no kernel of float16")


changed(
    "precision",
    "origin_knows_no_kernels_of_the_cpu",
    "003 L359: float16 that the AI Core lacks is computed by the AI CPU",
    _origin_has_no_aicpu,
)


def _depthwise_in_full(answer: Answer, params: Params) -> None:
    if params["edition"] == "legacy":
        for one in answer["files"]:
            try:
                content = json.loads(one["text"])
            except ValueError:
                continue
            for name in content:
                if name.startswith("DepthwiseConv2D") and "Backprop" not in name:
                    for part in content[name].values():
                        if isinstance(part, dict) and "float16" in str(part.get("dtype")):
                            part["dtype"] = "float16,float"
            one["text"] = json.dumps(content)


changed(
    "precision",
    "depthwise_convolutions_in_full",
    "004 L4: DepthwiseConv2D does not support float32",
    _depthwise_in_full,
    "library",
)


def _flags_of(edition: str) -> Mapping[str, Any]:
    found: Dict[str, Any] = {}
    for one in REFERENCE.library({"edition": edition})["files"]:
        if one["path"].endswith("ops-info.json"):
            found.update({name: part.get("precision_reduce") for name, part in json.loads(one["text"]).items()})
    return found


@broken("precision", "004 L13: the field is modified or added")
def flags_are_changed_not_added(ask: Any, params: Params) -> Answer:
    if not isinstance(params.get("ops_info"), str) or params["edition"] != "legacy":
        return ask(params)
    flags, content = _flags_of("legacy"), json.loads(params["ops_info"])
    for name, part in content.items():
        if flags.get(name) is None and isinstance(part, dict):
            part.pop("precision_reduce", None)
    return ask({**params, "ops_info": json.dumps(content)})


def _half(node: Dict[str, Any], old: str = "float32", new: str = "float16") -> None:
    for side in ("inputs", "outputs"):
        node[side] = [new if dtype == old else dtype for dtype in node[side]]


def _between_halves(answer: Answer, params: Params) -> None:
    if params["edition"] != "legacy":
        return
    ops, told = ops_of(params), {node["node"]: node for node in answer["nodes"]}
    for node in answer["nodes"]:
        sources = [
            told[source_of(text)] for text in (ops[node["node"]].inputs if node["node"] in ops else ())
            if source_of(text) in told
        ]  # fmt: skip
        if node.get("list") == "blocklist" and sources and all("float16" in one["outputs"] for one in sources):
            _half(node)


changed(
    "precision",
    "no_casts_for_one_operator",
    "004 L16: false forbids lowering, whatever is around",
    _between_halves,
)


def _second_mode_keeps_halves(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        value_of(params, "precision_mode_v2") == "cube_fp16in_fp32out"
        and node.get("engine") == "vector"
        and op is not None
        and "float16" in types_of(op)
    ):
        _half(node, "float32", "float16")


node_change(
    "halves_of_the_graph_stay_under_the_second_mode",
    "003 L334, L370: vector operators are forced to float32, even if the graph has float16",
    _second_mode_keeps_halves,
)


@broken("options", "003 L327: force_fp16 applies to inference only: what is not taken is told")
def forced_halves_fall_back_without_a_word(ask: Any, params: Params) -> Answer:
    training = not in_inference(params) and is_about(params, "session", "current")
    if training and value_of(params, "precision_mode") == "force_fp16":
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken("options", "003 L441: each operator occupies a line")
def entries_of_a_line_are_split(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "customize_dtypes", lambda text: text.replace(";", "\n")))


@broken("precision", "004 L4: allow_fp32_to_fp16 is the default")
def without_a_mode_runconfig_keeps_what_is(ask: Any, params: Params) -> Answer:
    if is_about(params, "runconfig", "legacy") and not given(params, "precision_mode"):
        return ask(with_values(params, precision_mode="force_fp32"))
    return ask(params)


def _cube_not_kept(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        value_of(params, "precision_mode_v2") == "mixed_float16"
        and op is not None
        and op.has_attr("_keep_dtype")
        and node.get("engine") == "cube"
    ):
        _half(node)


node_change("products_are_not_kept", "003 L381: keep_dtype_scope holds under precision_mode_v2", _cube_not_kept)
asks(
    "lists_are_of_the_first_mode",
    "003 L388: mixed precision by either of the modes",
    "precision",
    lambda params: with_values(params, modify_mixlist=None) if given(params, "precision_mode_v2") else params,
)


def _words_are_lists(text: str) -> str:
    return re.sub(r'("to-(?:add|remove)"\s*:\s*)("[^"]*")', r"\1[\2]", text)


asks(
    "one_type_needs_no_array",
    "002 L744: to-add and to-remove are arrays",
    "options",
    lambda params: texts(params, "modify_mixlist", _words_are_lists),
    "options",
    "precision",
)


def _floats_only(node: Dict[str, Any], params: Params, op: Any) -> None:
    whole = [dtype for dtype in node["inputs"] if not dtype.startswith(("float", "bfloat"))]
    if params["edition"] == "legacy" and node.get("list") == "trustlist" and whole and "float32" in types_of(op):
        _half(node, "float16", "float32")


node_change("what_reads_indices_is_not_lowered", "002 L772: true: float32 may be lowered to float16", _floats_only)


def _products_give_full(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        is_about(params, "session", "current")
        and not given(params, "precision_mode")
        and not given(params, "precision_mode_v2")
        and not in_inference(params)
        and op is not None
        and op.op == "MatMul"
    ):
        node["outputs"] = ["float32" if dtype == "float16" else dtype for dtype in node["outputs"]]


node_change("products_accumulate_in_full", "003 L343: the default is allow_fp32_to_fp16", _products_give_full)


def _later_type_wins(params: Params) -> Params:
    ops = ops_of(params)

    def edit(text: str) -> str:
        lines = text.split("\n")
        kept = []
        for at, line in enumerate(lines):
            op = ops.get(line.split("::")[0].strip())
            if op is not None and any(later.startswith(f"OpType::{op.op}:") for later in lines[at + 1 :]):
                continue
            kept.append(line)
        return "\n".join(kept)

    return texts(params, "customize_dtypes", edit)


asks("a_later_type_wins", "003 L441: the operator's name applies, wherever it stands", "precision", _later_type_wins)


# Several at once, or under a condition


@broken("combined", "readings, editions: what differs by age differs on both surfaces", "options")
def runconfig_has_one_edition(ask: Any, params: Params) -> Answer:
    return ask({**params, "edition": "current"}) if params["surface"] == "runconfig" else ask(params)


_SEEN: Dict[str, str] = {}


@broken("combined", "003 L388: the file is read when the option is", "precision")
def the_lists_of_the_question_before(ask: Any, params: Params) -> Answer:
    path = value_of(params, "modify_mixlist")
    if isinstance(path, str) and isinstance(params.get("files", {}).get(path), str):
        files = {**params["files"], path: _SEEN.setdefault(path, params["files"][path])}
        return ask({**params, "files": files})
    return ask(params)


@broken("combined", "000 L6: what is fetched is computed, all of it", "partition")
def the_third_fetch_is_lost(ask: Any, params: Params) -> Answer:
    fetches = params.get("fetches") or []
    if len(fetches) > 2 and params.get("policy") != "adapter":
        return ask({**params, "fetches": fetches[:2]})
    return ask(params)


def _one_tool(answer: Answer, params: Params) -> None:
    if value_of(params, "profiling_mode") is True and value_of(params, "enable_dump") is True:
        told_value(answer, "enable_dump", False)


changed("combined", "a_profile_ends_the_dump", "002 L94: enable_dump stands by itself", _one_tool, "options")


@broken("combined", "003 L388, L430: the lists and customize_dtypes stand beside each other", "precision")
def types_of_ones_own_replace_the_lists(ask: Any, params: Params) -> Answer:
    if given(params, "modify_mixlist", "customize_dtypes"):
        return ask(with_values(params, modify_mixlist=None))
    return ask(params)


def _unscoped(answer: Answer, params: Params) -> Any:
    usual = set(offloaded(REFERENCE.partition(with_values(params, in_out_pair=None))))
    inside: Set[str] = set()
    with_pairs(params, lambda found: [inside.update(one[0] + one[1]) or one for one in found])
    marked = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "SCOPE" and one["node"] not in inside and one["node"] not in usual
    ]
    return to_device(answer, marked)


judged_when(
    "combined",
    "a_pair_replaces_the_scope",
    "000 L10: the scope keeps operators on the host, beside a pair too",
    "partition",
    lambda params: is_mixed(params) and given(params, "in_out_pair") and value_of(params, "in_out_pair_flag") is False,
    _unscoped,
)


def _late_gray(answer: Answer, params: Params) -> None:
    gray = [node for node in answer["nodes"] if node.get("list") == "graylist"]
    for node in gray[8:]:
        _half(node, "float16", "float32")


changed("combined", "the_ninth_gray_operator_is_kept", "002 L774: gray ones follow", _late_gray, "precision")


@broken("combined", "002 L442, L589; 003 L788", "options")
def three_small_things(ask: Any, params: Params) -> Answer:
    found = texts(params, "aoe_config_file", lambda text: text.replace('"O3"', '"O2"'))
    found = all_values(found, mapped("buffer_optimize", lambda value: "off_optimize" if value == "off" else value))
    answer = ask(found)
    if in_inference(params) and params["edition"] == "legacy" and not given(params, "dump_mode"):
        told_value(answer, "dump_mode", "all")
    return answer


@broken("combined", "003 L349: precision_mode and its second stand apart on each surface", "options")
def the_second_mode_is_of_both_editions(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if is_about(params, "session", "legacy") and given(params, "precision_mode_v2"):
        answer["effective"]["precision_mode_v2"] = {"value": value_of(params, "precision_mode_v2"), "origin": "given"}
    return answer


@broken("combined", "003 L30: session_device_id goes before the variable, in sessions after the first", "options")
def the_variable_decides_beside_ranks(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    if "RANK_SIZE" in env and "ASCEND_DEVICE_ID" in env and given(params, "session_device_id"):
        return ask(with_values(params, session_device_id=None))
    return ask(params)
