"""A fifth list, by requirement, over all areas: mistakes that show under one more condition."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    decoded,
    denies,
    encoded,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    mapped,
    misreads,
    node_change,
    offloaded,
    ops_of,
    place,
    tells,
    to_device,
    to_host,
    told_value,
    types_of,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_values,
    without,
)
from npu_reference.errors import NpuError


def _ignored(name: str, sentence: str, area: str, option: str, when: Callable[[Params], bool], *methods: str) -> None:
    """An option is as if it were not given where `when` holds."""
    asks(
        name,
        sentence,
        area,
        lambda params: all_values(params, without(option)) if when(params) else params,
        *methods,
    )


# Options

ENGINES = {"AI_CPU": ("DNN_VM_AICPU", "DNN_VM_TF"), "AI_Core": ("AIcoreEngine", "DNN_V100")}


def _by_place(answer: Answer, params: Params) -> None:
    numbers = [int(one) for one in re.findall(r":(\d+)", str(value_of(params, "stream_max_parallel_num")))]
    if len(numbers) == 2:
        answer["directives"]["engines"] = dict(zip(ENGINES, numbers))
        for name in answer.get("meaning", {}).get("stream_max_parallel_num", {}):
            answer["meaning"]["stream_max_parallel_num"][name] = numbers[name in ENGINES["AI_Core"]]


tells("engines_are_known_by_their_place", "002 stream_max_parallel_num: engines are named", _by_place)


def _known_so_far(answer: Answer, params: Params) -> None:
    text, found = value_of(params, "enable_scope_fusion_passes"), answer.get("meaning", {})
    names = text.split(",") if isinstance(text, str) else []
    unknown = [place for place, name in enumerate(names) if name not in ("ScopeLayerNormPass", "ScopeClipBoxesPass")]
    if unknown and isinstance(found.get("enable_scope_fusion_passes"), list):
        kept = names[: unknown[0] + 1]
        found["enable_scope_fusion_passes"] = [one for one in found["enable_scope_fusion_passes"] if one in kept]


tells("what_nobody_registered_ends_the_list", "003 enable_scope_fusion_passes: each name counts", _known_so_far)


def _no_precision_in_inference(answer: Answer, params: Params) -> None:
    if in_inference(params) and value_is(params, "op_select_implmode", "high_precision"):
        answer["directives"]["implementation"] = {"type": {}, "name": {}, "others": "high_performance"}


tells("inference_is_always_fast", "002 op_select_implmode: training and online inference", _no_precision_in_inference)


def _host_data_beside_host_operators(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and is_mixed(params) and not given(params, "enable_data_pre_proc"):
        told_value(answer, "enable_data_pre_proc", False)


tells(
    "data_are_read_by_the_host_in_mixed_computing",
    "003 enable_data_pre_proc: True is the default",
    _host_data_beside_host_operators,
)
denies(
    "nodes_do_not_keep_half",
    "003 op_precision_mode: the modes are those of nodes, too",
    "op_precision_mode",
    lambda params: any(
        name == value_of(params, "op_precision_mode") and re.search(r"\[ByNodeName\][^\[]*keep_fp16", str(text))
        for name, text in params.get("files", {}).items()
    ),
)
misreads(
    "options",
    "the_last_dtype_before_the_outputs_is_lost",
    "003 customize_dtypes: the structure has no comma before OutputDtype",
    "customize_dtypes",
    lambda text: re.sub(r",\w+(?=OutputDtype)", "", text),
    "options",
    "precision",
)


def _empty_is_training(params: Params) -> Params:
    if in_inference(params) and value_is(params, "precision_mode", "") and not given(params, "precision_mode_v2"):
        return with_values(params, precision_mode="allow_fp32_to_fp16")
    return params


asks(
    "an_empty_mode_is_that_of_training",
    "002, G9: an empty text is as unset, so force_fp16 in online inference",
    "precision",
    _empty_is_training,
    "options",
    "precision",
)
accepts(
    "the_ai_cpu_has_no_limit",
    "003 stream_max_parallel_num cannot exceed the number of AI Cores, on either engine",
    "stream_max_parallel_num",
    lambda params: (
        params["edition"] == "current"
        and re.search(r"DNN_VM_AICPU:(3[3-9]|[4-9]\d|\d{3,})\b", str(value_of(params, "stream_max_parallel_num")))
        is not None
        and re.search(r"AIcoreEngine:(3[3-9]|[4-9]\d|\d{3,})", str(value_of(params, "stream_max_parallel_num"))) is None
    ),
)


def _main_by_default(answer: Answer, params: Params) -> None:
    if given(params, "local_device_list") and not given(params, "local_rank_id"):
        told_value(answer, "local_rank_id", 0)


tells("who_has_devices_is_the_main_process", "003 local_rank_id has no default", _main_by_default)
accepts(
    "any_feature_of_any_tuning",
    "003 aoe_config_file: with nonhomo_split aoe_mode must be 1",
    "aoe_config_file",
    lambda params: (
        value_is(params, "aoe_mode", "2") and any("nonhomo_split" in str(one) for one in params["files"].values())
    ),
)
denies(
    "a_mode_of_the_environment_has_no_features",
    "003 aoe_mode: the script or AOE_MODE",
    "aoe_config_file",
    lambda params: (
        not given(params, "aoe_mode")
        and params.get("env", {}).get("AOE_MODE") == "2"
        and any("deeper_opat" in str(one) for one in params.get("files", {}).values())
    ),
)
accepts(
    "minus_one_is_a_level_of_inference",
    "002 op_debug_level: 0 to 4, in training and inference",
    "op_debug_level",
    lambda params: in_inference(params) and value_is(params, "op_debug_level", -1),
)
accepts(
    "a_whole_float_is_a_count",
    "003 iterations_per_loop is an int",
    "iterations_per_loop",
    lambda params: (
        isinstance(value_of(params, "iterations_per_loop"), float) and value_of(params, "iterations_per_loop") % 1 == 0
    ),
    iterations_per_loop=1,
)
denies(
    "no_remark_before_the_lists",
    "002 modify_mixlist: remarks after // are read over, wherever",
    "modify_mixlist",
    lambda params: any(
        name == value_of(params, "modify_mixlist") and re.match(r"\s*//", str(text))
        for name, text in params.get("files", {}).items()
    ),
)


@broken("options", "003 op_cache.ini: takes effect only when both values are valid", "options", "compile")
def more_than_all_is_all(ask: Any, params: Params) -> Answer:
    def edited(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: re.sub(r"(remain_cache_size_ratio\s*=\s*)(10[1-9]|[2-9]\d\d)\b", r"\g<1>100", text)
            if name.endswith("op_cache.ini") and isinstance(text, str)
            else text
            for name, text in files.items()
        }

    found = {**params, "files": edited(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": edited(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return ask(found)


accepts(
    "checked_and_unoptimised",
    "003: ccec_O0 and oom cannot be enabled at the same time, in any order",
    "op_debug_config",
    lambda params: any(re.search(r"oom\b.*ccec_O0", str(text)) for text in params.get("files", {}).values()),
)


def _no_wait(answer: Answer, params: Params) -> None:
    if params["edition"] == "current" and given(params, "op_execute_timeout") and not given(params, "op_wait_timeout"):
        told_value(answer, "op_wait_timeout", value_of(params, "op_execute_timeout"))
        answer["directives"]["timeouts"]["op_wait_seconds"] = value_of(params, "op_execute_timeout")


tells("who_waits_waits_as_long_as_who_works", "003 op_wait_timeout: 120 by default", _no_wait)


def _typed(text: str) -> str:
    def change(found: Any) -> str:
        entries, seen = [], False
        for entry in found.group(2).split(","):
            seen = seen or "::" in entry
            entries.append(entry if "::" in entry or not seen else f"OpType::{entry.strip()}")
        return str(found.group(1)) + ",".join(entries)

    return re.sub(r"(?m)^(\s*op_debug_list\s*=\s*)(.*)$", change, text)


misreads(
    "options",
    "after_a_type_come_types",
    "003 op_debug_list: names and types in a mixed manner",
    "op_debug_config",
    _typed,
    "options",
    "compile",
)

# Partition

asks(
    "two_ranges_are_enough",
    "001, 002 in_out_pair: the outer list holds several ranges",
    "partition",
    lambda params: with_pairs(params, lambda pairs: pairs[:2]),
)
asks(
    "ranges_of_training_are_offloaded",
    "002 in_out_pair_flag False: not offloaded; outside of inference there is a warning, and the value stays (G13)",
    "partition",
    lambda params: (
        params if in_inference(params) else all_values(params, mapped("in_out_pair_flag", lambda value: True))
    ),
)


def _edges(params: Params, controls: bool = True) -> Dict[str, Set[str]]:
    """Which operators each reads."""
    return {
        node.name: {text.lstrip("^").split(":")[0] for text in node.inputs if controls or not text.startswith("^")}
        for node in graph_of(params).nodes
    }


def _before(starts: List[str], edges: Mapping[str, Set[str]]) -> Set[str]:
    found: Set[str] = set()
    front = list(starts)
    while front:
        for name in edges.get(front.pop(), ()):
            if name not in found:
                found.add(name)
                front.append(name)
    return found


def _pairs(params: Params) -> List[Any]:
    found: List[Any] = []
    with_pairs(params, lambda pairs: found.extend(pairs) or pairs)
    return found


def _nothing_between(answer: Answer, params: Params) -> Any:
    edges = _edges(params)
    for pair in _pairs(params):
        for first in pair[0]:
            if any(first == last or first in _before([last], edges) for last in pair[-1]):
                return None
    return to_host(answer, offloaded(answer)) if _pairs(params) else None


place("a_range_of_nothing_offloads_nothing", "001, M8: without a path a range contributes nothing", _nothing_between)


def _sides(answer: Answer, params: Params) -> Any:
    if not _pairs(params) or value_of(params, "in_out_pair_flag") is False:
        return None
    edges, ops, inside = _edges(params, controls=False), ops_of(params), set(offloaded(answer))
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops
        and ops[one["node"]].op not in ("Const", "Placeholder", "_Arg")
        and edges[one["node"]]
        and all(ops[name].op == "Const" for name in edges[one["node"]] if name in ops)
        and any(one["node"] in edges.get(name, ()) for name in inside)
    ]
    return to_device(answer, moved) if moved else None


place("what_is_made_of_constants_is_in_the_range", "002, M13: side inputs are not part of the range", _sides)


def _only_controlled(answer: Answer, params: Params) -> Any:
    if len(answer["geops"]) < 2:
        return None
    edges, first, second = _edges(params, controls=False), *(one["nodes"] for one in answer["geops"][:2])
    if set(first) & _before(second, edges) or set(second) & _before(first, edges):
        return None
    answer["geops"][0]["nodes"] = sorted({*first, *second})
    del answer["geops"][1]
    return answer


place(
    "order_without_data_cuts_nothing",
    "000, M5: what un-offloadable operators separate, by control edges too",
    _only_controlled,
)


def _fetched(params: Params) -> Set[str]:
    return {name.split(":")[0] for name in params.get("fetches") or ()}


def _without_fetched_ends(answer: Answer, params: Params) -> Any:
    ends = [name for pair in _pairs(params) for name in pair[-1] if name in _fetched(params)]
    return to_host(answer, ends) if ends and value_of(params, "in_out_pair_flag") is not False else None


place("a_range_ends_before_what_is_fetched", "001: first and last operators belong to the range", _without_fetched_ends)


def _fetched_norms(answer: Answer, params: Params) -> Any:
    ops, edges = ops_of(params), graph_of(params).nodes
    read = {text.split(":")[0] for node in edges if node.op != "_Retval" for text in node.inputs if text.endswith(":5")}
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops and ops[one["node"]].op == "FusedBatchNormV3" and one["node"] not in read
    ]
    return to_device(answer, moved) if moved else None


place("a_fifth_output_that_is_only_fetched_is_supported", "000: the fifth output is not supported", _fetched_norms)
_ignored(
    "inference_reads_its_data_on_the_host",
    "002, G13 enable_data_pre_proc: outside of training there is a warning, and the value stays",
    "partition",
    "enable_data_pre_proc",
    in_inference,
    "partition",
)

# Precision


def _raised(node: Dict[str, Any]) -> None:
    for side in ("inputs", "outputs"):
        node[side] = ["float32" if dtype == "float16" else dtype for dtype in node[side]]


def _functions_single(node: Dict[str, Any], params: Params, op: Any) -> None:
    asked = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    default = asked in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)
    if default and op is None and "/" in node["node"] and node.get("engine") == "vector":
        _raised(node)


node_change(
    "vectors_in_functions_are_computed_at_float32",
    "003 allow_fp32_to_fp16: vector operators keep their precision, in functions too",
    _functions_single,
)


@broken("precision", "003 precision_mode_v2 origin: float32 where there is float32 and bfloat16 alone")
def the_second_mode_refuses_what_the_first_raises(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    ops = ops_of(params) if value_is(params, "precision_mode_v2", "origin") else {}
    for node in answer["nodes"]:
        kinds = types_of(ops[node["node"]]) if node["node"] in ops else []
        if kinds and set(kinds) == {"float16"} and "float16" not in node["inputs"] and "float32" in node["inputs"]:
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "has no kernel at float16")
    return answer


def _first_producer(answer: Answer, params: Params) -> None:
    mixed = value_is(params, "precision_mode", "allow_mix_precision", "allow_mix_precision_fp16")
    if not mixed and not value_is(params, "precision_mode_v2", "mixed_float16"):
        return
    nodes, ops = {node["node"]: node for node in answer["nodes"]}, ops_of(params)
    for node in answer["nodes"]:
        inputs = [text for text in ops[node["node"]].inputs if not text.startswith("^")] if node["node"] in ops else []
        if node.get("list") != "graylist" or len(inputs) < 2 or node["inputs"][:1] != ["float32"]:
            continue
        first = nodes.get(inputs[0].split(":")[0])
        if first and first["outputs"][:1] == ["float16"]:
            for side in ("inputs", "outputs"):
                node[side] = ["float16" if dtype == "float32" else dtype for dtype in node[side]]


changed("precision", "the_first_producer_decides", "002, 003, P1: every float32 producer has to agree", _first_producer)
asks(
    "half_is_not_forced_in_training",
    "002, 004 force_fp16: float16 for what supports both, in training too",
    "precision",
    lambda params: (
        with_values(params, precision_mode="allow_fp32_to_fp16")
        if params["edition"] == "legacy"
        and not in_inference(params)
        and value_is(params, "precision_mode", "force_fp16")
        else params
    ),
)


def _all_types(params: Params) -> Params:
    listed = value_of(params, "optypelist_for_implmode")
    if isinstance(listed, str) and "," in listed:
        return all_values(params, mapped("optypelist_for_implmode", lambda value: str(value).split(",")[0]))
    return params


asks(
    "one_type_has_an_implementation",
    "002 optypelist_for_implmode: types separated by commas",
    "precision",
    _all_types,
    "precision",
    "compile",
)

# Files of compilation


def _graphs_first(text: str) -> str:
    return re.sub(r'"UBFusion"\s*:\s*\{[^}]*\}\s*,(?=\s*"GraphFusion")', "", text)


misreads(
    "artifacts",
    "fusion_of_graphs_stands_first",
    "002, 003 fusion_switch_file: a section UBFusion, wherever",
    "fusion_switch_file",
    _graphs_first,
    "compile",
    "timeline",
)


def _all_at_last(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    lost = False
    for section in (found.get("Switch") or {}).values() if isinstance(found, dict) else ():
        names = list(section)
        for one in names[: names.index("ALL")] if "ALL" in names else ():
            if section[one] == "on":
                del section[one]
                lost = True
    return json.dumps(found) if lost else text


misreads(
    "artifacts",
    "all_closes_what_stood_before_it",
    "002, 003 fusion_switch_file: ALL off, some patterns on",
    "fusion_switch_file",
    _all_at_last,
    "compile",
    "timeline",
)
misreads(
    "artifacts",
    "the_first_check_decides_the_files",
    "003 op_debug_config: several options separated by commas",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(\s*op_debug_config\s*=\s*\w+),.*$", r"\1", text),
    "compile",
)


leaves(
    "lines_are_not_mapped_elsewhere",
    "002, 003 op_debug_level 2: *_loc.json, below debug_dir too",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith("_loc.json")}
        if value_is(asked, "op_debug_level", 2) and given(asked, "debug_dir")
        else files
    ),
)


def _last_key(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith("fusion_result.json") and "b64" in file:
            keys = re.findall(r'"session_and_graph_id_\w+"', decoded(file))
            if len(keys) > 1:
                found[name] = encoded(json.dumps(dict(list(json.loads(decoded(file)).items())[-1:])))
    return found


leaves("the_last_graph_has_the_results", "003, D18 fusion_result.json: a key for each session and graph", _last_key)
leaves(
    "results_written_early_lie_here",
    "003 export_compile_stat 2: $ASCEND_WORK_PATH/FE/<pid>/fusion_result.json",
    lambda files, asked: (
        {
            name if not name.endswith("fusion_result.json") else "fusion_result.json": file
            for name, file in files.items()
        }
        if value_is(asked, "export_compile_stat", 2)
        else files
    ),
)
_ignored(
    "inference_caches_at_home",
    "002 op_compiler_cache_dir: training and online inference",
    "artifacts",
    "op_compiler_cache_dir",
    in_inference,
    "compile",
)


@broken("artifacts", "003 ASCEND_CACHE_PATH: before $HOME/atc_data, whatever the mode", "compile")
def what_is_forced_lies_at_home(ask: Any, params: Params) -> Answer:
    if value_is(params, "op_compiler_cache_mode", "force"):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "ASCEND_CACHE_PATH"})
        )
    return ask(params)


@broken("artifacts", "003: op_cache.ini is read first, then the variables", "compile")
def the_variable_goes_before_the_file(ask: Any, params: Params) -> Answer:
    limit = params.get("env", {}).get("ASCEND_MAX_OP_CACHE_SIZE")

    def edited(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: re.sub(r"(max_op_cache_size\s*=\s*)-?\d+", rf"\g<1>{limit}", text)
            if name.endswith("op_cache.ini") and isinstance(text, str)
            else text
            for name, text in files.items()
        }

    if limit is None:
        return ask(params)
    found = {**params, "files": edited(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": edited(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return ask(found)


asks(
    "binaries_are_for_open_sizes",
    "003 jit_compile false: prebuilt binaries are preferred, for static graphs too",
    "artifacts",
    lambda params: all_values(params, mapped("jit_compile", lambda value: "auto" if value == "false" else value)),
    "compile",
    "timeline",
)
misreads(
    "timeline",
    "named_operators_are_tuned_alone",
    "003 aoe_config_file: names and types are a union",
    "aoe_config_file",
    lambda text: (
        re.sub(r'"tune_ops_type"\s*:\s*\[[^\]]*\]\s*,?', "", text).replace(",}", "}")
        if '"tune_ops_name"' in text
        else text
    ),
    "timeline",
    "compile",
)
leaves(
    "weights_of_inference_lie_here",
    "003 external_weight: ${ASCEND_WORK_PATH}/tmp_weight_<pid>_<sessionid>",
    lambda files, asked: (
        {re.sub(r"^.*/(tmp_weight_)", r"\1", name): file for name, file in files.items()}
        if in_inference({"values": asked["values"]})
        else files
    ),
)

# Time


@broken("timeline", "003 input_fusion_size: the size of each input, not of all, is held to the threshold")
def the_threshold_is_for_all_inputs_together(ask: Any, params: Params) -> Answer:
    answer, found = ask(params), ask(all_values(params, lambda values: {**values, "input_fusion_size": 0}))
    for key, step in [("", answer["base"]), *answer.get("variants", {}).items()]:
        values = {**params["values"], **params.get("variants", {}).get(key, {})}
        limit = value_of({"values": values}, "input_fusion_size")
        limit = 131072 if limit is None else limit
        fused = [one for one in step.get("transfers", ()) if len(one.get("tensors", ())) > 1]
        if any(one["direction"] == "h2d" and one["bytes"] > limit for one in fused):
            if key:
                answer["variants"][key] = found["variants"][key]
            else:
                answer["base"] = found["base"]
    return dict(answer)


asks(
    "inputs_are_apart_in_mixed_computing",
    "003 input_fusion_size: 131072 by default",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {**values, "input_fusion_size": 0}) if is_mixed(params) else params
    ),
)


def _one_apart(answer: Answer, params: Params) -> None:
    for step in (answer["base"], *answer.get("variants", {}).values()):
        kernels = [one for one in step.get("tasks", ()) if one["kind"] == "kernel" and "stream" in one]
        cores = [one["stream"] for one in kernels if one["engine"] != "aicpu"]
        for one in [one for one in kernels if one["engine"] == "aicpu"][1:]:
            one["stream"] = cores[0] if cores else one["stream"]


changed(
    "timeline", "the_first_of_the_ai_cpu_is_apart", "003 ac_parallel_enable: engines on different streams", _one_apart
)
asks(
    "old_sessions_count_in_steps_too",
    "002, T3 hccl_timeout: seconds, in no steps",
    "timeline",
    lambda params: (
        all_values(params, mapped("hccl_timeout", lambda value: value // 68 * 68 if type(value) is int else value))
        if params["edition"] == "legacy"
        else params
    ),
    "timeline",
    "run",
)

# Runs


@broken("run", "003 NPU_COLLECT_PATH: dumped regardless of the value of enable_exception_dump", "run")
def what_is_off_is_not_collected(ask: Any, params: Params) -> Answer:
    if value_is(params, "enable_exception_dump", 0):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        )
    return ask(params)


asks(
    "inference_dumps_outputs_of_all",
    "002 dump_mode all: inputs and outputs, in online inference too",
    "run",
    lambda params: (
        all_values(params, mapped("dump_mode", lambda value: "output" if value == "all" else value))
        if in_inference(params)
        else params
    ),
)


@broken("run", "002, 003 session_device_id goes before ASCEND_DEVICE_ID", "run", "timeline")
def the_variable_chooses_the_device(ask: Any, params: Params) -> Answer:
    if "ASCEND_DEVICE_ID" in params.get("env", {}):
        return ask(all_values(params, without("session_device_id")))
    return ask(params)


_ignored(
    "failures_of_old_inference_leave_nothing",
    "002, G13 enable_exception_dump: outside of training there is a warning, and the value stays",
    "run",
    "enable_exception_dump",
    lambda params: in_inference(params) and params["edition"] == "legacy",
)


def _no_aicpu(answer: Answer, params: Params) -> None:
    text = json.dumps(params["values"]).replace("\\", "")
    traced = re.search(r'"training_trace"\s*:\s*"on"', text) is not None
    for one in (answer, answer.get("base", {}), *answer.get("variants", {}).values()):
        if traced and "files" in one:
            one["files"] = {name: file for name, file in one["files"].items() if "/aicpu_" not in name}


changed(
    "run",
    "traces_have_no_ai_cpu_beside_training",
    "002 profiling_options aicpu: collected, beside training_trace too",
    _no_aicpu,
    "run",
    "timeline",
)


@broken("run", "000: operators on the host execute in the frontend framework, in every run", "run")
def a_failure_of_a_later_run_is_the_value_before(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "RUN_FAILED" or "graph" not in params or params.get("steps", 1) < 2:
            raise
    return ask({**params, "steps": params["steps"] - 1})


@broken("run", "003 dump_config: what a DumpConfig says, in chosen iterations too", "run")
def single_steps_are_dumped_in_ranges(ask: Any, params: Params) -> Answer:
    def change(text: Any) -> Any:
        return "|".join(one for one in text.split("|") if "-" in one) if isinstance(text, str) and "-" in text else text

    def values(found: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped("dump_step", change)(copy.deepcopy(found))
        config = found.get("dump_config")
        if isinstance(config, dict) and "dump_step" in config.get("arguments", {}):
            config["arguments"]["dump_step"] = change(config["arguments"]["dump_step"])
        return found

    return ask(all_values(params, values))
