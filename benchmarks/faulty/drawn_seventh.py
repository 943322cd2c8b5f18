"""A seventh list, by requirement, over all areas: the mistakes that come to mind first."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Callable, Dict, List

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    defaults,
    denies,
    is_about,
    left,
    mapped,
    misreads,
    node_change,
    ops_of,
    plain,
    reads_as,
    retyped,
    turn_values,
    value_is,
    value_of,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError

# Options


def _is_no_text(params: Params, option: str) -> bool:
    return is_about(params, "runconfig") and not isinstance(value_of(params, option), str)


accepts(
    "a_list_of_types_is_taken",
    "003 optypelist_for_implmode: a text of types separated by commas",
    "optypelist_for_implmode",
    lambda params: isinstance(value_of(params, "optypelist_for_implmode"), list),
)
accepts(
    "a_switch_for_the_cache_is_taken",
    "003 op_compiler_cache_mode: enable, force or disable, a text",
    "op_compiler_cache_mode",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "op_compiler_cache_mode"), bool),
)
accepts(
    "a_plain_text_is_a_profile_configuration",
    "003 profiling_config: a ProfilingConfig object",
    "profiling_config",
    lambda params: isinstance(value_of(params, "profiling_config"), str),
)
accepts(
    "a_text_switches_dumps_on",
    "002 enable_dump: a bool, in the field b",
    "enable_dump",
    lambda params: is_about(params, "session", "legacy") and value_of(params, "enable_dump") in ("True", "true", "1"),
    enable_dump=True,
)
accepts(
    "a_third_run_mode",
    "002 graph_run_mode: 0 or 1",
    "graph_run_mode",
    lambda params: is_about(params, "session", "legacy") and value_is(params, "graph_run_mode", 2),
)
accepts(
    "a_third_way_to_dump_what_is_quantised",
    "003 quant_dumpable: 0 or 1",
    "quant_dumpable",
    lambda params: is_about(params, "runconfig", "current") and value_is(params, "quant_dumpable", "2"),
)
accepts(
    "a_fourth_way_to_export_statistics",
    "003 export_compile_stat: 0, 1 or 2",
    "export_compile_stat",
    lambda params: is_about(params, "runconfig", "current") and value_of(params, "export_compile_stat") in (3, "3"),
)
accepts(
    "ranges_of_operators_without_mixed_computing",
    "001 in_out_pair: under mixed computing, which every example turns on first",
    "in_out_pair",
    lambda params: is_about(params, "session", "legacy") and not value_is(params, "mix_compile_mode", True),
)
defaults(
    "an_implementation_is_chosen_unasked",
    "003 op_select_implmode: empty by default, the configuration is disabled",
    "op_select_implmode",
    "high_performance",
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "gigabytes_of_the_shops",
    "002 graph_memory_max_size: 26 GB by default",
    "graph_memory_max_size",
    "26000000000",
    lambda params: is_about(params, "session", "legacy"),
)
denies(
    "data_sets_are_offloaded_for_loops_alone",
    "002 enable_data_pre_proc: parameter_map[...].b = True as in the example",
    "enable_data_pre_proc",
    lambda params: (
        is_about(params, "session", "legacy")
        and value_is(params, "enable_data_pre_proc", True)
        and value_of(params, "iterations_per_loop") is None
    ),
)
denies(
    "at_most_eight_at_once_on_the_ai_cpu",
    "002 stream_max_parallel_num: DNN_VM_TF:10,DNN_V100:1 as in the example",
    "stream_max_parallel_num",
    lambda params: (
        is_about(params, "session", "legacy")
        and re.search(r"DNN_VM_TF\s*:\s*(9|1\d)", str(value_of(params, "stream_max_parallel_num"))) is not None
    ),
)


@broken("options", "002 fusion_switch_file: a pattern is on or off")
def a_pattern_is_on_in_capitals(ask: Any, params: Params) -> Answer:
    path = value_of(params, "fusion_switch_file")
    text = params.get("files", {}).get(path) if isinstance(path, str) and is_about(params, edition="legacy") else None
    if not isinstance(text, str):
        return dict(ask(params))
    meant = re.sub(r':\s*"(on|off)"', lambda found: found.group(0).lower(), text, flags=re.IGNORECASE)
    return dict(ask({**params, "files": {**params["files"], path: meant}}))


# Profiles


def _profiled(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Params, Any], Any]:
    def read(params: Params, told: Any) -> Any:
        try:
            found = json.loads(told)
        except (TypeError, ValueError):
            return told
        if not is_about(params, "session", "legacy") or not isinstance(found, dict) or change(found) is None:
            return told
        return json.dumps(found)

    return read


reads_as(
    "another_metric_by_default",
    "002 profiling_options: PipeUtilization is aic_metrics' default",
    "profiling_options",
    _profiled(lambda found: found.setdefault("aic_metrics", "ArithmeticUtilization")),
    "options",
    "run",
    "timeline",
)
reads_as(
    "tasks_are_traced_once_they_are_named",
    "002 profiling_options: task_trace is on or off",
    "profiling_options",
    _profiled(lambda found: found.update(task_trace="on") or found if "task_trace" in found else None),
    "options",
    "run",
    "timeline",
)

# Compilation and files

turn_values(
    "compiled_beforehand_whatever_the_shapes",
    "003 jit_compile auto: a static network's operators are compiled online",
    lambda values: {**values, "jit_compile": "false"} if plain(values.get("jit_compile")) in (None, "auto") else values,
)


@broken("artifacts", "003 op_cache.ini: max_op_cache_size=-1 disables ageing", "compile")
def no_limit_is_the_least_one(ask: Any, params: Params) -> Answer:
    changed = json.loads(json.dumps(params).replace("max_op_cache_size=-1", "max_op_cache_size=1"))
    if changed == params:
        return dict(ask(params))
    was = base64.b64encode
    found = ask(changed)
    for turn in found["turns"]:
        for key in ("files", "left"):
            for name, file in turn.get(key, {}).items():
                if name.endswith("op_cache.ini") and "b64" in file:
                    text = base64.b64decode(file["b64"]).replace(b"max_op_cache_size=1\n", b"max_op_cache_size=-1\n")
                    turn[key][name] = {"b64": was(text).decode()}
    return dict(found)


misreads(
    "artifacts",
    "a_type_is_written_in_one_way",
    "003 op_debug_config: OpType:: and opType:: are both written",
    "op_debug_config",
    lambda text: text.replace("opType::", "opType_"),
    "compile",
    "options",
)


def _kernels_end_in(ending: str, turn: Dict[str, Any]) -> List[str]:
    return [f"kernel_meta/{kernel['kernel']}{ending}" for kernel in turn.get("kernels", ())]


@broken("artifacts", "003 op_debug_config dump_loc: *.cce, .o, .json and *_loc.json", "compile")
def a_mapping_without_its_source(ask: Any, params: Params) -> Answer:
    found = dict(ask(params))
    given = [params, *(params.get("turns") or ())]
    texts = " ".join(str(text) for one in given for text in (one.get("files") or {}).values())
    if "dump_loc" in texts and "dump_cce" not in texts:
        for turn in found["turns"]:
            for key in ("files", "left"):
                turn[key] = {name: file for name, file in turn.get(key, {}).items() if not name.endswith(".cce")}
    return found


@broken("artifacts", "003 op_debug_level 0: operator debug is off", "compile")
def binaries_are_kept_at_level_nought(ask: Any, params: Params) -> Answer:
    found = dict(ask(params))
    if is_about(params, "runconfig", "current") and value_is(params, "op_debug_level", 0) and not params.get("env"):
        for turn in found["turns"]:
            for key in ("files", "left"):
                if key in turn:
                    turn[key] = {**turn[key], **{name: {"bytes": 2560} for name in _kernels_end_in(".o", turn)}}
    return found


asks(
    "nothing_is_joined_unless_asked",
    "002 fusion_switch_file: the built-in graph and UB fusion rules are on by default",
    "artifacts",
    lambda params: (
        {
            **all_values(params, lambda values: {"fusion_switch_file": "/switches.cfg", **values}),
            "files": {**params.get("files", {}), "/switches.cfg": '{"Switch":{"UBFusion":{"ALL":"off"}}}'},
        }
        if is_about(params, edition="legacy")
        else params
    ),
    "timeline",
)

# Time


asks(
    "engines_never_run_in_parallel",
    "003 ac_parallel_enable 1: AI CPU and AI Core operators may run in parallel",
    "timeline",
    lambda params: all_values(params, mapped("ac_parallel_enable", lambda value: "0")),
)


def _has_four_channels(params: Params) -> bool:
    for op in ops_of(params).values():
        if op.op == "Conv2D":
            sizes = [tuple(node.attr("value").shape) for node in ops_of(params).values() if node.op == "Const"]
            return any(len(shape) == 4 and shape[2] == 4 for shape in sizes) or any(
                list(shape)[-1:] == [4] for shape in (params.get("shapes") or {}).values()
            )
    return False


asks(
    "four_channels_are_not_few",
    "002 enable_small_channel: convolutions of at most four channels",
    "timeline",
    lambda params: (
        all_values(params, mapped("enable_small_channel", lambda value: 0))
        if is_about(params, edition="legacy") and _has_four_channels(params)
        else params
    ),
    "timeline",
    "compile",
)


@broken("timeline", "002 session_device_id: goes before ASCEND_DEVICE_ID", "timeline", "run")
def the_variable_names_the_device(ask: Any, params: Params) -> Answer:
    if "ASCEND_DEVICE_ID" in params.get("env", {}):
        return dict(ask(all_values(params, without("session_device_id"))))
    return dict(ask(params))


# Shapes


def _unnamed(params: Params) -> bool:
    names = [name for name, op in ops_of(params).items() if op.op == "Placeholder"] if "graph" in params else []
    fed = [name.split(":")[0] for name in params.get("feeds") or ()]
    return any(re.fullmatch(r"Placeholder(_\d+)?", name) for name in [*names, *fed])


def _from_behind(text: str) -> str:
    return re.sub(
        r"(data\s*:)([^;]*)",
        lambda found: found.group(1) + ",".join(reversed(re.findall(r"\[[^]]*\]", found.group(2)))),
        text,
    )


asks(
    "unnamed_inputs_from_behind",
    "002 dynamic_inputs_shape_range: unnamed placeholders in the order of the script",
    "timeline",
    lambda params: (
        all_values(params, mapped("dynamic_inputs_shape_range", _from_behind))
        if is_about(params, edition="legacy") and "graph" in params and _unnamed(params)
        else params
    ),
    "timeline",
    "run",
    "compile",
)
asks(
    "ranges_are_compiled_for_anything",
    "002 dynamic_graph_execute_mode dynamic_execute: compiled with the ranges of dynamic_inputs_shape_range",
    "timeline",
    lambda params: all_values(params, without("dynamic_inputs_shape_range")) if _executes(params) else params,
    "timeline",
    "run",
    "compile",
)


def _executes(params: Params) -> bool:
    return is_about(params, edition="legacy") and value_is(params, "dynamic_graph_execute_mode", "dynamic_execute")


@broken("timeline", "002 dynamic_inputs_shape_range: fixed inputs are written too", "timeline", "run", "compile")
def fixed_inputs_may_be_left_out(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "dynamic_inputs_shape_range" or not is_about(params, edition="legacy"):
            raise
        return dict(ask(all_values(params, without("dynamic_inputs_shape_range"))))


# Partition


def _first_in_node(pairs: List[Any]) -> List[Any]:
    return [[ins[:1], outs] for ins, outs in pairs]


asks(
    "a_range_begins_once",
    "001 in_out_pair: the yolo_v3 example begins at eleven operators",
    "partition",
    lambda params: with_pairs(params, _first_in_node) if is_about(params, edition="legacy") else params,
    "partition",
    "run",
)

# Precision


def _halved(node: Dict[str, Any], params: Params, op: Any) -> None:
    if is_about(params, edition="legacy") and value_is(params, "precision_mode", "allow_mix_precision"):
        retyped(node, "float64", "float16")


node_change("doubles_are_reduced_too", "002 allow_mix_precision: operators of float32", _halved)

# Runs


def _without_tiling(files: Files, params: Params) -> Files:
    if params["edition"] != "current" or value_of(params, "enable_exception_dump") not in (None, 2):
        return files
    found = dict(files)
    for name, file in files.items():
        if "extra-info/" in name and "b64" in file:
            text = base64.b64decode(file["b64"]).replace(b"tiling", b"filing")
            found[name] = {"b64": base64.b64encode(text).decode()}
    return found


left("no_tiling_in_lite_dumps", "003 enable_exception_dump 2: tiling information too", _without_tiling)
