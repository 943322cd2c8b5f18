"""A list of requirements and conditions, each drawn: what goes wrong beside an option that is not about it, say."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Set

from faulty.making import (
    Answer,
    Files,
    Params,
    all_values,
    asked_values,
    asks,
    broken,
    changed,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    mapped,
    ops_of,
    texts,
    to_device,
    value_is,
    value_of,
    with_env,
    with_pairs,
    without,
)


def _beside(params: Params, option: str, *values: Any) -> bool:
    """Whether an option has one of these values, in whatever field, turn or variant."""
    return any(value_is({"values": one}, option, *values) for one in asked_values(params))


# Partition


def _called_from_python(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    kinds = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
    moved = [one["node"] for one in answer["host"] if one["node"] in ops and ops[one["node"]].op in kinds]
    return to_device(answer, moved)


@broken("partition", "000 mixed computing: py_func stays on the host, whatever the channels")
def small_channels_take_python_along(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if is_mixed(params) and value_is(params, "enable_small_channel", 1):
        return dict(_called_from_python(answer, params))
    return answer


def _in_turn(params: Params) -> Dict[str, Any]:
    return all_values(params, mapped("in_out_pair_flag", lambda value: True))


asks(
    "the_tail_turns_the_range",
    "001 in_out_pair_flag False: the same split, whenever gradients are merged",
    "partition",
    lambda params: _in_turn(params) if value_is(params, "is_tailing_optimization", True) else params,
    "partition",
)
asks(
    "statistics_turn_the_range",
    "002 in_out_pair_flag False: the operators of in_out_pair are not offloaded",
    "partition",
    lambda params: _in_turn(params) if value_is(params, "export_compile_stat", 0, 2) else params,
    "partition",
)


@broken("partition", "003 mix_compile_mode: the argument means what the key means, for each operator")
def run_config_keeps_one_of_a_type(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if not is_mixed(params) or not is_about(params, "runconfig"):
        return answer
    seen: Set[str] = set()
    moved = []
    for one in answer["host"]:
        if one.get("reason") == "NOT_SUPPORTED":
            moved += [one["node"]] if one["op"] in seen else []
            seen.add(one["op"])
    return to_device(answer, moved)


asks(
    "one_first_operator_beside_functions",
    "001 in_out_pair: the union over all first and last operators",
    "partition",
    lambda params: (
        with_pairs(params, lambda pairs: [[pair[0][:1], pair[1]] for pair in pairs])
        if graph_of(params).functions
        else params
    ),
    "partition",
)

# Precision


def _of_branches(params: Params) -> Set[str]:
    """Functions that conditionals of the graph call."""
    found: Set[str] = set()
    for node in graph_of(params).nodes:
        if node.op in ("If", "StatelessIf", "Case", "StatelessCase"):
            for value in node.proto.attr.values():
                found.update([value.func.name] if value.WhichOneof("value") == "func" else [])
                found.update(one.name for one in value.list.func)
    return found


def _other_variant(answer: Answer, params: Params) -> None:
    names = tuple(f"{name}/" for name in _of_branches(params))
    other = {"high_precision": "high_performance", "high_performance": "high_precision"}
    for one in answer["nodes"]:
        if names and one["node"].startswith(names):
            one["impl_mode"] = other.get(one.get("impl_mode"), one.get("impl_mode"))


changed(
    "precision",
    "branches_have_the_other_variant",
    "002 op_select_implmode: high_precision or high_performance, of all operators",
    _other_variant,
)


def _one_of_each(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict):
        return text
    for lists in found.values():
        if isinstance(lists, dict):
            lists.update({key: one[:1] for key, one in lists.items() if isinstance(one, list)})
    return json.dumps(found)


asks(
    "run_config_reads_one_name_of_a_list",
    "002 modify_mixlist: several operators are elements of the list",
    "precision",
    lambda params: texts(params, "modify_mixlist", _one_of_each) if is_about(params, "runconfig") else params,
    "precision",
)


def _is_out_of_order(params: Params) -> bool:
    seen: Set[str] = set()
    for node in graph_of(params).nodes:
        if any(re.sub(r"^\^|:\d+$", "", one) not in seen for one in node.inputs):
            return True
        seen.add(node.name)
    return False


asks(
    "files_out_of_order_are_kept_as_they_are",
    "003 precision_mode: allow_fp32_to_fp16 by default",
    "precision",
    lambda params: (
        all_values(params, lambda values: {**values, "precision_mode": "must_keep_origin_dtype"})
        if not given(params, "precision_mode")
        and not given(params, "precision_mode_v2")
        and not in_inference(params)
        and _is_out_of_order(params)
        else params
    ),
    "precision",
)
asks(
    "inference_does_not_mix",
    "003 precision_mode_v2 mixed_float16: automatic mixed precision",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode_v2", lambda value: "fp16" if value == "mixed_float16" else value))
        if in_inference(params)
        else params
    ),
    "precision",
)
asks(
    "vectors_of_a_chosen_device_stay_half",
    "003 cube_fp16in_fp32out: vector operators are computed at float32",
    "precision",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda value: "allow_fp32_to_fp16" if value == "cube_fp16in_fp32out" else value),
        )
        if given(params, "session_device_id")
        else params
    ),
    "precision",
)


def _no_black(text: str) -> str:
    return re.sub(r'("black-list"\s*:\s*\{[^}]*"to-add"\s*:\s*\[)[^\]]*', r"\1", text)


asks(
    "without_statistics_nothing_turns_black",
    "003 modify_mixlist black-list to-add: a white or gray operator becomes black",
    "precision",
    lambda params: (
        texts(params, "modify_mixlist", _no_black) if value_is(params, "export_compile_stat", 0, 2) else params
    ),
    "precision",
)

# Time

asks(
    "buffers_are_always_optimised_now",
    "002 buffer_optimize off_optimize: switched off, in the later edition too",
    "timeline",
    lambda params: (
        all_values(params, mapped("buffer_optimize", lambda value: "l2_optimize"))
        if is_about(params, "session", "current")
        else params
    ),
    "timeline",
)
asks(
    "inference_has_one_cpu",
    "003 ac_parallel_enable: of graphs of dynamic shapes, in inference too",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            without("ac_parallel_enable")(values) if value_is({"values": values}, "graph_run_mode", 0) else values
        ),
    ),
    "timeline",
)
asks(
    "inference_has_wide_channels",
    "002 enable_small_channel 1: on, in inference too",
    "timeline",
    lambda params: all_values(params, without("enable_small_channel")) if in_inference(params) else params,
    "timeline",
)
asks(
    "kept_formats_are_merged_late",
    "002 is_tailing_optimization False: nothing is moved, whatever the formats",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            {**values, "is_tailing_optimization": True}
            if value_is({"values": values}, "variable_format_optimize", False)
            else values
        ),
    ),
    "timeline",
)

# Files


def _but(files: Files, pattern: str) -> Files:
    return {name: file for name, file in files.items() if not re.search(pattern, name)}


def _is_current(asked: Any) -> bool:
    # Options of the later edition alone tell a turn, which does not say its edition.
    later = ("export_compile_stat", "jit_compile", "deterministic", "external_weight", "ac_parallel_enable")
    return any(given(asked, option) for option in later)


leaves(
    "level_4_has_no_description_of_its_computation_now",
    "002 op_debug_level 4: .o, .json, .cce and _compute.json",
    lambda files, asked: (
        _but(files, r"_compute\.json$") if value_is(asked, "op_debug_level", 4, "4") and _is_current(asked) else files
    ),
)
leaves(
    "sources_have_no_lines_beside_weights",
    "002 op_debug_level 1: .cce, _loc.json, .o and .json",
    lambda files, asked: _but(files, r"_loc\.json$") if value_is(asked, "external_weight", True) else files,
)


def _plain_names(files: Files, asked: Any) -> Files:
    if not given(asked, "debug_dir") or value_is(asked, "debug_dir", "."):
        return files
    return {re.sub(r"weight_[^/]*$", "weight_0", name): file for name, file in files.items()}


leaves("weights_are_numbered_beside_kernel_files", "003 external_weight: weight_<hash value>", _plain_names)
asks(
    "inference_has_the_common_cache",
    "003 op_compiler_cache_dir: the directory of the cache",
    "artifacts",
    lambda params: all_values(params, without("op_compiler_cache_dir")) if in_inference(params) else params,
    "compile",
)
asks(
    "what_is_determined_is_cached",
    "003 op_compiler_cache_mode: not with another op_debug_level than 0",
    "artifacts",
    lambda params: all_values(params, without("op_debug_level")) if _beside(params, "deterministic", 1) else params,
    "compile",
)
asks(
    "what_is_determined_grows_old",
    "003 ASCEND_MAX_OP_CACHE_SIZE -1: nothing is removed",
    "artifacts",
    lambda params: (
        with_env(params, lambda env: {key: one for key, one in env.items() if key != "ASCEND_MAX_OP_CACHE_SIZE"})
        if _beside(params, "deterministic", 1)
        else params
    ),
    "compile",
)


def _both_sections(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    switches = found.get("Switch") if isinstance(found, dict) else None
    if isinstance(switches, dict):
        for section in ("GraphFusion", "UBFusion"):
            switches.setdefault(section, {"ALL": "off"})
    return json.dumps(found)


asks(
    "a_missing_section_is_off_for_debugging",
    "003 fusion_switch_file: a section that is not there keeps its default, on",
    "artifacts",
    lambda params: (
        texts(params, "fusion_switch_file", _both_sections) if _beside(params, "op_debug_level", 1, 2, 4) else params
    ),
    "compile",
    "timeline",
)
asks(
    "all_is_no_name_where_formats_are_kept",
    '003 fusion_switch_file "ALL": "off": all patterns of the section are off',
    "artifacts",
    lambda params: (
        texts(params, "fusion_switch_file", lambda text: re.sub(r'("ALL"\s*:\s*)"off"', r'\1"on"', text))
        if _beside(params, "variable_format_optimize", False)
        else params
    ),
    "compile",
    "timeline",
)
_OFF = '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}'


def _unfused(params: Params) -> Dict[str, Any]:
    if _beside(params, "auto_tune_mode", "GA", "RL", "GA,RL", "RL,GA") and not any(
        value_of({"values": one}, "fusion_switch_file") for one in asked_values(params)
    ):
        files = {**params.get("files", {}), "/untuned.cfg": _OFF}
        changed_values = all_values(params, lambda values: {**values, "fusion_switch_file": "/untuned.cfg"})
        return {**changed_values, "files": files}
    return dict(params)


asks(
    "what_is_tuned_is_not_fused",
    "002 fusion_switch_file: all patterns are on by default",
    "artifacts",
    _unfused,
    "compile",
    "timeline",
)
