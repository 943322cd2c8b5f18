"""Mistakes of a second later look: smaller ones, which show with one value, in one form, or beside something else."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Callable, Dict, List

from faulty.making import (
    Answer,
    Params,
    accepts,
    asks,
    broken,
    changed,
    denies,
    graph_of,
    is_about,
    node_change,
    place,
    plain,
    steps,
    tells,
    to_host,
    turn_values,
    turns,
    value_of,
    with_values,
)
from npu_conformance.backends.mutants import edits


def meaning(name: str, sentence: str, option: str, change: Callable[[Any], Any]) -> None:
    """What a text means is told otherwise."""

    def edit(answer: Answer, params: Params) -> None:
        found = answer.get("meaning", {})
        if option in params["values"] and found.get(option) is not None:
            found[option] = change(found[option])

    tells(name, sentence, edit)


# Options


def _env_seconds(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    if (
        "hccl_timeout" not in params["values"]
        and re.fullmatch("[0-9]+", said)
        and "hccl_timeout" in answer["effective"]
    ):
        answer["effective"]["hccl_timeout"]["value"] = int(said)


tells("variable_not_in_steps_of_68", "003 hccl_timeout: // 68 x 68, of the variable too", _env_seconds)
accepts(
    "any_aoe_mode_of_environment",
    "003 aoe_mode: 1, 2 or 4, by AOE_MODE too",
    "AOE_MODE",
    lambda params: "AOE_MODE" in params.get("env", {}),
)


def _no_device(answer: Answer, params: Params) -> None:
    name = "session_device_id"
    if name not in params["values"] and name in answer["effective"] and "ASCEND_DEVICE_ID" in params.get("env", {}):
        answer["effective"][name] = {"value": None, "origin": "default"}


tells("device_of_environment_ignored", "003 session_device_id: precedence over ASCEND_DEVICE_ID", _no_device)


def _text_order(params: Params) -> bool:
    found = re.findall("([0-9]+)-([0-9]+)", str(value_of(params, "dump_step")))
    return any(first > last for first, last in found)


denies("ranges_compared_as_text", "002 dump_step: a range, 9-10", "dump_step", _text_order)
denies(
    "no_blanks_in_ranges",
    "002 dynamic_inputs_shape_range: [128 ,3~5, 2~128, -1]",
    "dynamic_inputs_shape_range",
    lambda params: " ," in str(value_of(params, "dynamic_inputs_shape_range")),
)
meaning(
    "placeholders_lost_beside_datasets",
    "002 dynamic_inputs_shape_range: getnext and data",
    "dynamic_inputs_shape_range",
    lambda found: {"getnext": found["getnext"]} if "getnext" in found else found,
)
meaning(
    "second_dataset_lost",
    "002 dynamic_inputs_shape_range: two dataset inputs",
    "dynamic_inputs_shape_range",
    lambda found: {key: one[:1] for key, one in found.items()},
)
meaning(
    "scalars_are_empty_vectors",
    "002 input_shape: a scalar is 0",
    "input_shape",
    lambda found: {key: one or ["0"] for key, one in found.items()},
)
meaning(
    "names_with_slashes_cut",
    "003 op_precision_mode: nodename",
    "op_precision_mode",
    lambda found: {
        **found,
        "ByNodeName": {key.rpartition("/")[2]: one for key, one in found.get("ByNodeName", {}).items()},
    },
)
meaning(
    "white_list_needs_a_black_list",
    "003 modify_mixlist: either list",
    "modify_mixlist",
    lambda found: found if any(found.get("black-list", {}).values()) else {},
)
accepts(
    "third_level_of_tuning",
    "003 tune_optimization_level: O1 or O2",
    "aoe_config_file",
    lambda params: any('"O3"' in str(one) or '"O0"' in str(one) for one in params.get("files", {}).values()),
)
accepts(
    "switches_in_capitals",
    "003 fusion_switch_file: on or off",
    "fusion_switch_file",
    lambda params: any(re.search('"(ON|OFF|On|Off)"', str(one)) for one in params.get("files", {}).values()),
)
meaning(
    "first_scope_pass_only",
    "002 enable_scope_fusion_passes: several",
    "enable_scope_fusion_passes",
    lambda found: found[:1],
)
meaning("last_device_lost", "002 local_device_list", "local_device_list", lambda found: found[:-1] or found)
meaning("first_tuner_only", "002 auto_tune_mode: RL,GA", "auto_tune_mode", lambda found: found[:1])
accepts(
    "profiles_to_nowhere",
    "002 profiling_options output: created in advance",
    "profiling_options",
    lambda params: "/tmp/missing" in str(value_of(params, "profiling_options")),
    profiling_options=None,
    profiling_mode=None,
)
denies(
    "path_without_dump",
    "002 dump_path: required only with enable_dump",
    "dump_path",
    lambda params: value_of(params, "enable_dump") is False and "dump_path" not in params["values"],
)


def _by_place(answer: Answer, params: Params) -> None:
    text, found = (
        str(value_of(params, "stream_max_parallel_num")),
        answer.get("meaning", {}).get("stream_max_parallel_num"),
    )
    if found and re.match("(DNN_V100|AIcoreEngine):.*,", text):
        names = list(found)
        found[names[0]], found[names[1]] = found[names[1]], found[names[0]]


tells("engines_by_their_place", "002 stream_max_parallel_num: by name", _by_place)


def _no_other(answer: Answer, params: Params) -> None:
    text, found = (
        str(value_of(params, "stream_max_parallel_num")),
        answer.get("meaning", {}).get("stream_max_parallel_num"),
    )
    if found and "," not in text and ":" in text:
        answer["meaning"]["stream_max_parallel_num"] = {key: one if key in text else 0 for key, one in found.items()}


tells("other_engine_has_none", "002 stream_max_parallel_num: 1 by default", _no_other)
accepts(
    "steps_as_number",
    "002 dump_step: written through .s",
    "dump_step",
    lambda params: isinstance(value_of(params, "dump_step"), int),
)
denies(
    "four_levels_in_legacy",
    "002 op_debug_level: 4",
    "op_debug_level",
    lambda params: is_about(params, "", "legacy") and value_of(params, "op_debug_level") == 4,
)
accepts(
    "host_variables_without_mixing",
    "003 variable_placement Host: mixed computing must be enabled",
    "variable_placement",
    lambda params: value_of(params, "variable_placement") == "Host",
)
accepts(
    "work_path_read_only",
    "003 work_path: read and write permissions",
    "work_path",
    lambda params: any(
        isinstance(one, dict) and "w" not in one.get("access", "w") for one in params.get("files", {}).values()
    ),
)
accepts(
    "work_path_of_a_file",
    "003 work_path: a directory created in advance",
    "work_path",
    lambda params: not any(name.endswith("/") for name in params.get("files", {})),
)
_WARNED: List[Dict[str, Any]] = []


def _again(answer: Answer, params: Params) -> None:
    mine = list(answer["warnings"])
    answer["warnings"] = mine + [one for one in _WARNED if one not in mine]
    _WARNED[:] = mine


tells("warnings_of_the_question_before", "a session warns of its own options", _again)


def _negative(answer: Answer, params: Params) -> None:
    for name in ("stream_sync_timeout", "event_sync_timeout"):
        told = answer.get("directives", {}).get("timeouts", {})
        if value_of(params, name) == -1 and f"{name[:-8]}_milliseconds" in told:
            told[f"{name[:-8]}_milliseconds"] = 0


tells("no_wait_is_nought", "003 stream_sync_timeout: -1", _negative)


# Partition


def _prefix(params: Params) -> Params:
    """Names of in_out_pair that no operator has stand for the first that begins so."""
    text = str(value_of(params, "in_out_pair"))
    if "in_out_pair" not in params["values"]:
        return params
    names = sorted(node.name for node in graph_of(params).nodes)

    def whole(found: Any) -> str:
        name = found.group(1)
        return f"'{next((one for one in names if one.startswith(name)), name) if name not in names else name}'"

    return with_values(params, in_out_pair=re.sub("'([^']*)'", whole, text))


asks("names_by_their_beginning", "001: names of operators, whole", "partition", _prefix)
denies(
    "no_operator_twice",
    "001: the sample names an operator twice",
    "in_out_pair",
    lambda params: bool(re.search(r"('[^']+'),(?: '[^']+',)* \1", str(value_of(params, "in_out_pair")))),
    "partition",
)


def _consts_left(answer: Answer, params: Params) -> Any:
    if "in_out_pair" not in params["values"] or value_of(params, "in_out_pair_flag") is not False:
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "Const"])


place("constants_of_a_range_offloaded", "001: all operators of the range stay", _consts_left)


def _two_are_one(answer: Answer, params: Params) -> Any:
    return edits.merged(answer, [range(2)]) if len(answer["geops"]) == 2 else None


place("two_geops_are_one", "000: GEOPs are executed one after the other", _two_are_one)
asks(
    "no_operator_is_gray",
    "000: operators that the list keeps back stay",
    "partition",
    lambda params: (
        {**params, "op_list": {key: {**one, "isGray": False} for key, one in params["op_list"].items()}}
        if isinstance(params.get("op_list"), dict)
        else params
    ),
)


def _norms(answer: Answer, params: Params) -> Any:
    graph = graph_of(params)
    return to_host(answer, [node.name for node in graph.nodes if node.op == "FusedBatchNormV3"])


place("batch_norm_never_offloaded_again", "000: its fifth output is not supported, the others are", _norms)


def _all_consts(answer: Answer, params: Params) -> Any:
    graph = graph_of(params)
    if value_of(params, "variable_placement") != "Host":
        return None
    return to_host(answer, [node.name for node in graph.nodes if node.op == "Const"])


place("constants_beside_host_variables", "003 variable_placement: variables", _all_consts)


def _one_type(answer: Answer, params: Params) -> None:
    for one in answer.get("borders", []):
        if "dtype" in one:
            one["dtype"] = "float32"


changed("partition", "every_border_is_float32", "000: tensors are copied as they are", _one_type)
asks(
    "mixing_goes_on_the_line",
    "002 use_off_line False: on the CPU, mixed or not",
    "partition",
    lambda params: (
        with_values(params, use_off_line=True)
        if value_of(params, "mix_compile_mode") is True and "use_off_line" in params["values"]
        else params
    ),
)


def _no_loop_scope(answer: Answer, params: Params) -> Any:
    graph = graph_of(params)
    marked = [
        node.name
        for node in graph.nodes
        if node.attr("_without_npu_compile", False)
        and node.op in ("While", "StatelessWhile", "If", "StatelessIf", "PartitionedCall")
    ]
    return edits.to_device(answer, [one for one in marked if one in {entry["node"] for entry in answer["host"]}])


place("scope_of_calls_unseen", "000 without_npu_compile_scope: operators of the scope", _no_loop_scope)


# Precision


def _first_gray(answer: Answer, params: Params) -> None:
    graph = graph_of(params)
    for node in answer["nodes"]:
        if node.get("list") == "graylist" and node["node"] in graph.index:
            origin = graph.nodes[graph.index[node["node"]]]
            sources = [str(one).split(":")[0].lstrip("^") for one in origin.inputs]
            if sources and all(
                one in graph.index and graph.nodes[graph.index[one]].op in ("Placeholder", "Const") for one in sources
            ):
                for side in ("inputs", "outputs"):
                    node[side] = ["float16" if one == "float32" else one for one in node[side]]


changed(
    "precision",
    "first_graylisted_reduced",
    "003: graylist: as the upstream operator, of which there is none",
    _first_gray,
)
asks(
    "legacy_cubes_stay_half",
    "002 force_fp32: float32 where both are supported",
    "precision",
    lambda params: (
        with_values(params, precision_mode="allow_fp32_to_fp16")
        if is_about(params, "", "legacy") and value_of(params, "precision_mode") == "force_fp32"
        else params
    ),
)


def _file_change(name: str, sentence: str, option: str, change: Callable[[str], str]) -> None:
    def other(params: Params) -> Params:
        path = value_of(params, option)
        text = params.get("files", {}).get(path) if isinstance(path, str) else None
        return {**params, "files": {**params["files"], path: change(text)}} if isinstance(text, str) else params

    asks(name, sentence, "precision", other)


_file_change(
    "removed_from_black_is_white",
    "003 modify_mixlist: to-remove of the black-list makes it gray",
    "modify_mixlist",
    lambda text: _moved(text, "black-list", "white-list"),
)
_file_change(
    "removed_from_white_is_black",
    "003 modify_mixlist: to-remove of the white-list makes it gray",
    "modify_mixlist",
    lambda text: _moved(text, "white-list", "black-list"),
)


def _moved(text: str, source: str, target: str) -> str:
    try:
        found = json.loads(text)
        gone = found[source].pop("to-remove")
        there = found.setdefault(target, {})
        there["to-add"] = [*there.get("to-add", []), *gone]
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(found)


_file_change(
    "half_mode_is_performance",
    "003 op_precision_mode: keep_fp16",
    "op_precision_mode",
    lambda text: text.replace("keep_fp16", "high_performance"),
)
_file_change(
    "bounds_unchecked",
    "003 op_precision_mode: support_out_of_bound_index",
    "op_precision_mode",
    lambda text: text.replace("support_out_of_bound_index", "high_precision"),
)
_file_change(
    "super_is_high",
    "003 op_precision_mode: super_performance",
    "op_precision_mode",
    lambda text: text.replace("super_performance", "high_performance"),
)


def _turned(answer: Answer, params: Params) -> None:
    for one in answer.get("casts", []):
        one["from"], one["to"] = one["to"], one["from"]


changed("precision", "casts_the_other_way", "protocol: from and to dtypes", _turned)


def _bodies(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if origin is None:
        for side in ("inputs", "outputs"):
            node[side] = ["float32" if one == "float16" else one for one in node[side]]


node_change("functions_keep_float32", "003: precision of operators wherever they stand", _bodies)


def _no_gray(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("list") == "graylist":
        node["list"] = "blocklist"


node_change("graylist_is_blocklist", "003: not specified: graylist", _no_gray)


def _second_input(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if "customize_dtypes" in params["values"] and len(node["inputs"]) > 1 and len(set(node["inputs"])) > 1:
        node["inputs"] = [node["inputs"][0]] * len(node["inputs"])


node_change("first_custom_dtype_for_all", "003 customize_dtypes: dtype1,dtype2,…", _second_input)


# Runs


@broken("run", "TensorFlow: each step computes anew")
def first_step_answered(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params.get("steps", 1) > 1:
        answer["fetches"] = ask({**params, "steps": 1})["fetches"]
    return answer


def _from_one(answer: Answer, params: Params) -> None:
    if "files" in answer and "dump_path" in params["values"]:
        answer["files"] = {re.sub(r"/0/(?=[^/]*$)", "/1/", path): one for path, one in answer["files"].items()}


changed("run", "dumped_steps_from_one", "002 dump_step: 0|5|10", _from_one)


def _bools(answer: Answer, params: Params) -> None:
    for one in answer.get("fetches", {}).values():
        if one["dtype"] == "bool":
            one["dtype"] = "uint8"


changed("run", "truth_is_a_number", "TensorFlow: a fetch has its dtype", _bools)


def _no_inputs(answer: Answer, params: Params) -> None:
    if "failed" in answer:
        answer["files"] = {path: one for path, one in answer.get("files", {}).items() if "extra-info" not in path}


changed("run", "light_exception_dump_missing", "003 enable_exception_dump: 2 by default", _no_inputs)


# Time


def _swap_sync(name: str, sentence: str, first: str, second: str) -> None:
    def edit(values: Dict[str, Any]) -> Dict[str, Any]:
        found = {key: one for key, one in values.items() if key not in (first, second)}
        if first in values:
            found[second] = values[first]
        if second in values:
            found[first] = values[second]
        return found

    def fault(ask: Any, params: Params) -> Answer:
        return ask(
            {
                **params,
                "values": edit(params["values"]),
                "variants": {key: edit(one) for key, one in params.get("variants", {}).items()},
            }
        )

    fault.__name__ = name
    broken("timeline", sentence)(fault)


_swap_sync("events_wait_as_streams", "003 event_sync_timeout: of events", "stream_sync_timeout", "event_sync_timeout")
_swap_sync("waiting_is_executing", "003 op_wait_timeout: waiting", "op_wait_timeout", "op_execute_timeout")


def _all_fused(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    inward = [one for one in step.get("transfers", []) if one["direction"] == "h2d"]
    if len(inward) > 2 and plain(values.get("input_fusion_size", 131072)):
        outward = [one for one in step["transfers"] if one["direction"] != "h2d"]
        step["transfers"] = [{**inward[0], "bytes": sum(one["bytes"] for one in inward)}, *outward]


steps("large_inputs_fused_too", "003 input_fusion_size: larger data is not fused", _all_fused)


def _no_aicpu(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if (
        "files" in step
        and '"aicpu"' in str(values.get("profiling_options"))
        and "task_trace" not in str(values.get("profiling_options"))
    ):
        step["files"] = {path: one for path, one in step["files"].items() if "aicpu" not in path}


steps("aicpu_only_beside_tasks", "002 aicpu: on", _no_aicpu)


def _late(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "rejected" in step and "after_ns" in step["rejected"]:
        step["rejected"]["after_ns"] += 2_000_000_000


steps("two_seconds_late", "003: timeout intervals", _late)


# Compilation


turn_values(
    "disabled_cache_used",
    "003 op_compiler_cache_mode disable: disabled",
    lambda values: (
        {**values, "op_compiler_cache_mode": "enable"}
        if plain(values.get("op_compiler_cache_mode")) == "disable"
        else values
    ),
)


@broken("artifacts", "002 op_compiler_cache_mode: the cache works with op_debug_level 0 or 3", "compile")
def legacy_cache_at_level_nought_only(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    level = plain(params["values"].get("op_debug_level", 0))
    if params["edition"] == "legacy" and level == 3:
        for turn in answer["turns"]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "compiled"
    return answer


@broken("artifacts", "003 op_debug_list: listed operators are recompiled", "compile")
def listed_operators_reused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if any("op_debug_list" in str(one) for one in params.get("files", {}).values()) and len(answer["turns"]) > 1:
        for turn in answer["turns"][1:]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "reused"
    return answer


def _one_switch(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for kernel in turn.get("kernels", []):
        if len(kernel.get("switches", [])) > 1:
            kernel["switches"] = kernel["switches"][:1]


turns("level_2_without_g", "002 op_debug_level 2: -O0-g", _one_switch)


def _twice(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    found = [path for path in turn.get("files", {}) if re.search("weight_[0-9a-f<]", path)]
    for path in found:
        turn["files"][path + "0"] = turn["files"][path]


turns("weights_of_two_models_twice", "003 external_weight: weights are reused among models", _twice)


def _in_place(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for member in ("files", "left"):
        turn[member] = {path: one for path, one in turn.get(member, {}).items() if "op_cache.ini" not in path}


turns("settings_of_the_cache_not_written", "003: op_cache.ini is generated automatically", _in_place)


def _effects(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for member in ("files", "left"):
        for path, one in turn.get(member, {}).items():
            if path.endswith("fusion_result.json") and "b64" in one:
                text = base64.b64decode(one["b64"]).decode()
                one["b64"] = base64.b64encode(re.sub('("effect_times": *"?)[0-9]+', r"\g<1>0", text).encode()).decode()


turns("no_pass_has_an_effect", "003 effect_times: how often a pattern takes effect", _effects)
turns(
    "no_location_files_at_level_1",
    "002 op_debug_level 1: *_loc.json",
    lambda turn, asked: (
        turn.update(
            {
                member: {path: one for path, one in turn.get(member, {}).items() if not path.endswith("_loc.json")}
                for member in ("files", "left")
            }
        )
        if plain(asked["values"].get("op_debug_level")) == 1
        else None
    ),
)
