"""A sixth list, by requirement, of the partition, precision and runs: the mistakes that come to mind first."""

from __future__ import annotations

import re
from typing import Any, Dict, List

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    dumped,
    given,
    in_inference,
    is_about,
    mapped,
    node_change,
    ops_of,
    place,
    rescripted,
    retyped,
    steps,
    to_host,
    value_is,
    value_of,
    with_env,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError

# Partition


def _named_alone(pairs: List[Any]) -> List[Any]:
    return [[[name], [name]] for pair in pairs for side in pair for name in side]


asks(
    "only_the_named_stay_on_the_host",
    "001 in_out_pair_flag False: all operators of the range stay in the frontend",
    "partition",
    lambda params: with_pairs(params, _named_alone) if value_of(params, "in_out_pair_flag") is False else params,
)


def _joined_by_tensors(answer: Answer, params: Params) -> None:
    owner = {name: number for number, geop in enumerate(answer["geops"]) for name in geop["nodes"]}
    into = list(range(len(answer["geops"])))
    for border in answer["borders"]:
        if border["direction"] == "d2d":
            first = into[owner[border["source"].rsplit(":", 1)[0]]] if _source(border) in owner else None
            for consumer in border["consumers"]:
                numbers = [number for number, geop in enumerate(answer["geops"]) if geop["name"] == consumer]
                if first is not None and numbers:
                    into = [first if number == into[numbers[0]] else number for number in into]
    geops: Dict[int, Dict[str, Any]] = {}
    for number, geop in enumerate(answer["geops"]):
        kept = geops.setdefault(into[number], {**geop, "nodes": [], "args": [], "rets": [], "copies": []})
        for member in ("nodes", "args", "rets", "copies"):
            kept[member] = [*kept[member], *(one for one in geop.get(member, ()) if one not in kept[member])]
        kept["nodes"] = sorted(kept["nodes"])
    answer["geops"] = list(geops.values())
    answer["borders"] = [border for border in answer["borders"] if border["direction"] != "d2d"]


def _source(border: Dict[str, Any]) -> str:
    return str(border["source"]).rsplit(":", 1)[0]


place("what_exchanges_tensors_is_one_geop", "000: the split can be executed, without a cycle", _joined_by_tensors)
asks(
    "the_run_configuration_is_never_mixed",
    "003 mix_compile_mode: the argument means what the session's key means",
    "partition",
    lambda params: all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig") else params,
)


def _before_the_scope(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    marked = [op for op in ops.values() if op.attr("_without_npu_compile") is True]
    return to_host(answer, [name.lstrip("^").split(":")[0] for op in marked for name in op.inputs], "SCOPE")


place("what_feeds_the_scope_stays_with_it", "000: everything outside of the scope is offloaded", _before_the_scope)
asks(
    "the_first_range_counts",
    "001 in_out_pair: several ranges, each for itself",
    "partition",
    lambda params: with_pairs(params, lambda pairs: pairs[:1]),
)
asks(
    "a_flag_of_false_switches_the_pair_off",
    "002 in_out_pair_flag False: operators that in_out_pair names are not offloaded",
    "partition",
    lambda params: (
        all_values(params, without("in_out_pair", "in_out_pair_flag"))
        if value_of(params, "in_out_pair_flag") is False
        else params
    ),
)


@broken("partition", "000: the samples never set use_off_line, and run on the device", "partition", "run")
def the_device_is_asked_for_by_name(ask: Any, params: Params) -> Answer:
    if is_about(params, "session") and not given(params, "use_off_line"):
        return ask({**params, "values": {**params["values"], "use_off_line": False}})
    return ask(params)


# Precision


def _custom(params: Params) -> bool:
    """Whether the operator information is a user's, with bfloat16."""
    return "bfloat16" in str(params.get("ops_info", "")) or "bf16" in str(params.get("ops_info", ""))


def _same_width(node: Dict[str, Any], params: Params, op: Any) -> None:
    keeps = value_is(params, "precision_mode_v2", "origin") and _custom(params)
    if keeps and node["engine"] == "aicpu" and "float16" in node["inputs"]:
        node["engine"] = "vector"
        retyped(node, "float16", "bfloat16")


node_change("half_is_as_good_as_brain_half", "003 origin: float16 of the AI CPU where there is bfloat16", _same_width)
asks(
    "training_is_at_half_by_default",
    "002 precision_mode: allow_fp32_to_fp16 by default in training",
    "precision",
    lambda params: (
        {**params, "values": {**params["values"], "precision_mode": "force_fp16"}}
        if not (given(params, "precision_mode") or given(params, "precision_mode_v2") or in_inference(params))
        and params["edition"] == "legacy"
        else params
    ),
)


@broken("precision", "003 must_keep_origin_dtype: float16 of the AI CPU where the AI Core has bfloat16 alone")
def a_half_is_never_the_hosts(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if value_is(params, "precision_mode", "must_keep_origin_dtype") and params["edition"] == "current":
        for node in answer["nodes"]:
            if node["engine"] == "aicpu" and "float16" in node["inputs"] and _custom(params):
                raise NpuError("PRECISION_NO_KERNEL", node["node"], "has no kernel at float16")
    return answer


def _lowered_all_the_same(node: Dict[str, Any], params: Params, op: Any) -> None:
    keeps = value_is(params, "precision_mode", "must_keep_origin_dtype") and params["edition"] == "current"
    if keeps and node["engine"] == "aicpu" and "float32" in node["inputs"] and node.get("list"):
        node["engine"] = "vector"
        retyped(node, "float32", "float16")


node_change(
    "kept_is_what_the_core_has",
    "003 must_keep_origin_dtype: float32 of the AI CPU where the AI Core has float16 alone",
    _lowered_all_the_same,
)


def _half_all_through(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    wide = "cube_fp16in_fp32out" in modes or (params["edition"] == "current" and modes[0] == "force_fp32")
    if wide and node["engine"] == "cube" and "float16" in node["inputs"]:
        retyped(node, "float32", "float16", "outputs")


node_change("cubes_give_half", "003 cube_fp16in_fp32out: float16 in, float32 out, first of all", _half_all_through)


@broken("precision", "003 customize_dtypes: no effect where the original dtype is kept")
def customised_is_customised(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    keeps = value_is(params, "precision_mode", "must_keep_origin_dtype") or value_is(
        params, "precision_mode_v2", "origin"
    )
    if not keeps or not given(params, "customize_dtypes"):
        return answer
    free = all_values(params, without("precision_mode", "precision_mode_v2"))
    asked = {node["node"]: node for node in ask(free)["nodes"]}
    default = {node["node"]: node for node in ask(all_values(free, without("customize_dtypes")))["nodes"]}
    for node in answer["nodes"]:
        name = node["node"]
        if name in asked and asked[name]["inputs"] + asked[name]["outputs"] != (
            default[name]["inputs"] + default[name]["outputs"]
        ):
            node.update({key: asked[name][key] for key in ("inputs", "outputs", "engine")})
    return answer


def _never_the_aicpu(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    wide = "cube_fp16in_fp32out" in modes or (params["edition"] == "current" and modes[0] == "force_fp32")
    if wide and node["engine"] == "aicpu" and node.get("list") == "blocklist":
        node["engine"] = "vector"
        retyped(node, "float32", "float16")


node_change(
    "black_operators_are_lowered_for_want_of_float32",
    "003 cube_fp16in_fp32out: black operators without float32 are computed by the AI CPU",
    _never_the_aicpu,
)
asks(
    "chosen_operators_go_before_the_file",
    "002 op_precision_mode: of the three it alone counts",
    "precision",
    lambda params: (
        all_values(params, without("op_precision_mode"))
        if given(params, "op_precision_mode", "op_select_implmode")
        else params
    ),
)

# Options


accepts(
    "steps_may_be_separated_by_commas",
    "002 dump_step: separated by |",
    "dump_step",
    lambda params: "," in str(value_of(params, "dump_step")),
)
accepts(
    "every_document_knows_the_small_dump",
    "002 enable_exception_dump: 0 or 1",
    "enable_exception_dump",
    lambda params: params["edition"] == "legacy" and value_of(params, "enable_exception_dump") == 2,
)
accepts(
    "dumps_go_to_the_current_directory",
    "002: dump_path is configured where enable_dump is True",
    "dump_path",
    lambda params: not given(params, "dump_path"),
    enable_dump=False,
)

# Time


def _first_alone(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    sent = step.get("dataset", {}).get("sent", [])
    if len(sent) > 1:
        first = sent[0]["device"]
        step["dataset"]["sent"] = [one for one in sent if one["device"] == first]
        step["transfers"] = [one for one in step["transfers"] if one.get("device", first) == first]


steps("the_first_device_gets_all", "002 local_device_list: the devices that the main process sends to", _first_alone)


def _read_for_each(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    devices = {one["device"] for one in step.get("dataset", {}).get("sent", ())}
    if devices:
        step["dataset"]["reads"] *= 1 + len(devices)


steps("data_are_read_for_each_device", "003 local_rank_id: the main process deduplicates", _read_for_each)


def _no_general_pass(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if values.get("enable_scope_fusion_passes") and "ScopeLayerNormPass" not in values["enable_scope_fusion_passes"]:
        for one in step.get("fusion", ()):
            if one["section"] == "ScopeFusion" and one["name"] == "ScopeLayerNormPass":
                one["effective"] = 0


steps(
    "listed_passes_are_all_that_fuse", "003 enable_scope_fusion_passes: general passes are always on", _no_general_pass
)


@broken("timeline", "003 aoe_config_file: only the operators of the file are tuned", "timeline", "compile")
def everything_is_tuned(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, without("aoe_config_file")))


# Runs


def _a_row(answer: Answer, params: Params) -> None:
    for tensor in answer["fetches"].values():
        if tensor["shape"] == []:
            tensor["shape"] = [1]


changed("run", "a_number_is_a_row_of_one", "002: sess.run(cost) answers what TensorFlow answers", _a_row)


@broken("run", "003 ASCEND_WORK_PATH: mode 2 writes below it", "run")
def failures_lie_in_the_current_directory(ask: Any, params: Params) -> Answer:
    return ask(
        with_env(params, lambda env: {name: value for name, value in env.items() if name != "ASCEND_WORK_PATH"})
        if value_of(params, "enable_exception_dump") in (None, 2)
        else params
    )


@broken("run", "002 dump_mode all: inputs and outputs")
def all_means_inputs(ask: Any, params: Params) -> Answer:
    change = mapped("dump_mode", lambda value: "input" if value == "all" else value)
    return ask(all_values(params, lambda values: dumped(values, change)))


@broken("run", "002 set_graph_exec_config: a graph has dynamic inputs of its own")
def graphs_have_no_settings_of_their_own(ask: Any, params: Params) -> Answer:
    return ask(
        rescripted(
            params,
            lambda text: re.sub(r"(?<!def )\b([\w.]*\.)?set_graph_exec_config\(", "(lambda one, *_, **__: one)(", text),
        )
    )


@broken("run", "002 dynamic_input False: inputs are fixed", "run", "timeline")
def inputs_are_always_dynamic(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("dynamic_input", lambda value: True)))


@broken("run", "002 dynamic_execute: compiled with the ranges of dynamic_inputs_shape_range", "run", "timeline")
def ranges_are_not_read(ask: Any, params: Params) -> Answer:
    if value_of(params, "dynamic_input") is True:
        return ask(all_values(params, without("dynamic_inputs_shape_range")))
    return ask(params)


@broken("run", "003 quant_dumpable: online inference only")
def quantisation_hides_in_training(ask: Any, params: Params) -> Answer:
    if not given(params, "quant_dumpable") or in_inference(params):
        return ask(params)
    mode = value_of(params, "precision_mode") or "allow_fp32_to_fp16"
    return ask(all_values(params, lambda values: {**values, "graph_run_mode": 0, "precision_mode": mode}))


@broken("run", "002 dynamic_inputs_shape_range: -1 is no bound", "run", "timeline")
def no_bound_is_a_thousand(ask: Any, params: Params) -> Answer:
    def bounded(value: Any) -> Any:
        return re.sub(r"(?<![\d~])-1(?!\d)", "1~1024", value) if isinstance(value, str) else value

    return ask(all_values(params, mapped("dynamic_inputs_shape_range", bounded)))
