"""The fourth list a third time, by another seed, after the laws that ask everything beside other options."""

from __future__ import annotations

import json
import re
from typing import Any, Dict

from faulty.making import (
    Answer,
    Params,
    all_values,
    asks,
    broken,
    changed,
    denies,
    given,
    is_about,
    is_mixed,
    mapped,
    node_change,
    offloaded,
    ops_of,
    place,
    tells,
    texts,
    to_host,
    told_value,
    turn_values,
    value_of,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError

# Options


def _on_where_mixed(answer: Answer, params: Params) -> None:
    if value_of(params, "buffer_optimize") == "off_optimize" and is_mixed(params):
        answer["directives"]["buffer_optimize"] = "on"


tells("buffers_of_mixed_computing_are_optimised", "002 L443: off_optimize turns it off", _on_where_mixed)
denies(
    "one_rank_is_a_cluster",
    "003 L930: greater than the collective timeout in cluster training, which one rank is not",
    "stream_sync_timeout",
    lambda params: params.get("env", {}).get("RANK_SIZE") == "1" and value_of(params, "stream_sync_timeout") == 60000,
)
denies(
    "a_mode_of_fixed_inputs_is_refused",
    "003 L1089: the option takes effect when dynamic_input is True, and is nothing otherwise",
    "dynamic_graph_execute_mode",
    lambda params: value_of(params, "dynamic_input") is False and given(params, "dynamic_graph_execute_mode"),
)


def _alone(answer: Answer, params: Params) -> None:
    if params.get("env", {}).get("RANK_SIZE") == "1" and value_of(params, "hcom_parallel") is True:
        told_value(answer, "hcom_parallel", False)


tells("one_rank_has_nothing_parallel", "002 L206: a value that is given is the value", _alone)


def _sorted_shapes(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("dynamic_inputs_shape_range")
    if isinstance(told, dict) and params["surface"] == "runconfig" and "getnext" in told:
        told["getnext"] = sorted(told["getnext"])


tells("elements_of_a_data_set_are_sorted", "003 L1111: the order of inputs is kept", _sorted_shapes)


def _not_deterministic(answer: Answer, params: Params) -> None:
    if value_of(params, "deterministic") == 1 and given(params, "jit_compile"):
        told_value(answer, "deterministic", 0)


tells("compiled_kernels_are_not_deterministic", "003 L46: 1 enables it", _not_deterministic)
denies(
    "no_type_of_inputs_is_zero",
    "002 L406: 0: the data set's inputs are dynamic",
    "dynamic_node_type",
    lambda params: is_about(params, "session", "current") and value_of(params, "dynamic_node_type") == 0,
)


@broken("options", "003 L662: is_tailing_optimization is a bool")
def on_and_off_are_bools(ask: Any, params: Params) -> Answer:
    if value_of(params, "is_tailing_optimization") in ("on", "off"):
        return ask(with_values(params, is_tailing_optimization=value_of(params, "is_tailing_optimization") == "on"))
    return ask(params)


def _tuned_by_script(answer: Answer, params: Params) -> None:
    if not given(params, "aoe_mode") and given(params, "work_path") and "AOE_MODE" in params.get("env", {}):
        answer["directives"]["tuning"]["aoe"] = None


tells(
    "a_place_of_work_hides_the_variable", "003 L745: AOE_MODE says the mode where the script does not", _tuned_by_script
)


@broken("options", "001 L164: in_out_pair_flag stands in .b")
def a_flag_may_be_zero(ask: Any, params: Params) -> Answer:
    if params["values"].get("in_out_pair_flag") == {"field": "i", "value": 0}:
        return ask(with_values(params, in_out_pair_flag=False))
    return ask(params)


@broken("options", "003 L900: hccl_timeout counts in steps of 68 s, in a rank too")
def ranks_have_seconds(ask: Any, params: Params) -> Answer:
    answer, value = ask(params), value_of(params, "hccl_timeout")
    if "RANK_SIZE" in params.get("env", {}) and type(value) is int and params["edition"] == "current":
        told_value(answer, "hccl_timeout", value)
        answer["directives"]["timeouts"]["hccl_seconds"] = value
    return answer


# Partition


def _all_stay(answer: Answer, params: Params) -> Any:
    if value_of(params, "in_out_pair_flag") is False and not given(params, "in_out_pair"):
        return to_host(answer, offloaded(answer))
    return None


place("a_flag_without_pairs_keeps_everything", "002 L707: without in_out_pair nothing is kept or taken", _all_stay)


def _fed_once(answer: Answer, params: Params) -> None:
    seen, kept = set(), []
    for one in answer.get("borders", []):
        if one["direction"] != "d2h" or one["source"].split(":")[0] not in seen:
            kept.append(one)
        if one["direction"] == "d2h":
            seen.add(one["source"].split(":")[0])
    answer["borders"] = kept


place("one_result_of_an_operator_crosses", "000 L6: what crosses is copied, each of an operator's outputs", _fed_once)
asks(
    "made_arguments_are_no_ends",
    "001 L153: names of generated arguments may be in_nodes",
    "partition",
    lambda params: with_pairs(
        params,
        lambda found: [[[name for name in one[0] if not name.startswith("_arg")] or one[0], one[1]] for one in found],
    ),
)
turn_values(
    "the_first_pass_of_a_list",
    "002 L323: several names, each pass is turned on",
    lambda values: {
        **values,
        **(
            {"enable_scope_fusion_passes": str(values["enable_scope_fusion_passes"]).split(",")[0]}
            if values.get("enable_scope_fusion_passes")
            else {}
        ),
    },
)


@broken("partition", "000 L13: mix_compile_mode=True, iterations_per_loop=1")
def one_iteration_ends_mixed_computing(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and given(params, "iterations_per_loop") and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=False))
    return ask(params)


# Precision


def _half(node: Dict[str, Any], old: str, new: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [new if dtype == old else dtype for dtype in node[side]]


def _of_variables(answer: Answer, params: Params) -> None:
    if params["edition"] != "legacy" or value_of(params, "precision_mode") != "allow_mix_precision":
        return
    ops = ops_of(params)
    for node in answer["nodes"]:
        op = ops.get(node["node"])
        read = [ops[text.split(":")[0]].op for text in (op.inputs if op else ()) if text.split(":")[0] in ops]
        if {"ReadVariableOp", "VariableV2"} & set(read) and node.get("list") == "trustlist":
            _half(node, "float16", "float32")


changed(
    "precision", "weights_are_never_lowered", "004 L7: float32 operators of the trustlist are lowered", _of_variables
)


@broken("precision", "003 L333: where no kernel is left, an error is reported")
def whatever_there_is_will_do(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or value_of(params, "precision_mode_v2") is None:
            raise
        return ask(with_values(params, precision_mode_v2=None))


def _capital(answer: Answer, params: Params) -> None:
    for one in answer["files"]:
        one["text"] = re.sub(r'("Conv2D": \{.*?"flag": )"true"', r'\1"True"', one["text"], count=1, flags=re.S)


changed("precision", "flags_with_a_capital", '003 L419: "flag":"true"', _capital, "library")


def _third_gray(answer: Answer, params: Params) -> None:
    ops, gray = ops_of(params), {node["node"] for node in answer["nodes"] if node.get("list") == "graylist"}
    for node in answer["nodes"]:
        op = ops.get(node["node"])
        before = op.inputs[0].split(":")[0] if op is not None and op.inputs else ""
        if params["edition"] == "legacy" and node["node"] in gray and before in gray and "float32" in node["inputs"]:
            _half(node, "float32", "float16")


changed(
    "precision", "permission_comes_back", "002 L774: if the one before may not, this one may not either", _third_gray
)


def _replaced(node: Dict[str, Any], params: Params, op: Any) -> None:
    path = value_of(params, "modify_mixlist")
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    if not isinstance(text, str) or params["edition"] != "legacy" or node.get("list") != "trustlist":
        return
    try:
        added = json.loads(text).get("white-list", {}).get("to-add", [])
    except (ValueError, AttributeError):
        return
    if added and op is not None and op.op not in added and node.get("kernel") not in added:
        _half(node, "float16", "float32")


node_change(
    "a_list_of_ones_own_replaces_what_is_built_in", "002 L744: operators that are not listed keep theirs", _replaced
)


@broken("precision", "003 L388: when mixed precision is enabled, in mixed computing too")
def lists_are_of_full_offload(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None)) if is_mixed(params) else ask(params)


# Under a condition


@broken("combined", "003 L441: an operator occupies a line, the last one too", "precision")
def the_last_line_needs_an_end(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if text.endswith("\n") or "\n" not in text else text.rpartition("\n")[0]

    return ask(texts(params, "customize_dtypes", edit))


@broken("combined", "003 L620: ByNodeName goes before ByOpType, whichever stands first", "precision")
def the_section_that_stands_last_wins(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        by_name, by_type = text.find("[ByNodeName]"), text.find("[ByOpType]")
        return text[by_type:] if 0 <= by_name < by_type else text

    return ask(texts(params, "op_precision_mode", edit))


@broken("combined", "002 L596: a range of a data set and one of placeholders", "options")
def the_second_group_of_ranges_is_lost(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    text = value_of(params, "dynamic_inputs_shape_range")
    if isinstance(text, str) and text.startswith("data") and ";" in text:
        return ask(all_values(params, mapped("dynamic_inputs_shape_range", lambda value: value.split(";")[0])))
    return answer
