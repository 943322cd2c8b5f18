"""A ninth draw, plain: one requirement each, and the mistake that comes to mind first."""

from __future__ import annotations

import base64
import copy
import json
import re
from pathlib import Path
from typing import Any, Dict, List

from faulty.making import (
    REFERENCE,
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    behind,
    broken,
    changed,
    given,
    graph_of,
    is_about,
    is_mixed,
    judged_partition,
    leaves,
    left,
    mapped,
    misreads,
    node_change,
    offloaded,
    ops_of,
    readers_of,
    regraphed,
    retyped,
    steps,
    tells,
    to_device,
    to_host,
    told_value,
    value_is,
    value_of,
    with_env,
    with_pairs,
)
from npu_reference.catalog import Catalog
from npu_reference.graphs import infer_shapes
from npu_reference.runtime.agreement import training

_HALF, _FLOAT = "float16", "float32"


# Options


def _iterations(answer: Answer, params: Params) -> None:
    if not given(params, "iterations_per_loop") and not value_is(params, "mix_compile_mode", True):
        told_value(answer, "iterations_per_loop", None)


tells("iterations_are_unset_outside_mixed_computing", "000 L9: iterations_per_loop has the default 1", _iterations)


def _memory(answer: Answer, params: Params) -> None:
    if not given(params, "memory_config") and "memory_config" in answer["effective"]:
        told_value(answer, "memory_config", {"class": "MemoryConfig", "arguments": {}})


tells("a_memory_config_is_made_where_none_is_given", "003: memory_config has no default", _memory)


def _natural(name: str) -> List[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _in_number_order(params: Params) -> Params:
    """The ranges of placeholders, listed for them by number, as the reference binds them: by text."""
    fed = sorted(name.rpartition(":")[0] for name in params.get("feeds") or ())
    numbered = sorted(fed, key=_natural)

    def moved(text: Any) -> Any:
        groups = text.split(";") if isinstance(text, str) else []
        for at, group in enumerate(groups):
            kind, _, rest = group.partition(":")
            ranges = re.findall(r"\[[^\]]*\]", rest)
            if kind.strip() == "data" and len(ranges) == len(fed):
                groups[at] = "data:" + ",".join(ranges[numbered.index(name)] for name in fed)
        return ";".join(groups) if groups else text

    return all_values(params, mapped("dynamic_inputs_shape_range", moved))


asks(
    "placeholders_are_counted_by_their_number",
    "003: placeholders are arranged as text, _10 before _2, so the eleventh range is not that of the eleventh",
    "run",
    _in_number_order,
)


def _jit(answer: Answer, params: Params) -> None:
    if not given(params, "jit_compile"):
        told_value(answer, "jit_compile", "true")


tells("operators_are_compiled_online_by_default", "003: jit_compile is auto by default", _jit)

asks(
    "an_output_slot_of_a_ranges_end_is_dropped",
    "001: in_nodes and out_nodes are names of nodes, with no output",
    "partition",
    lambda params: with_pairs(
        params, lambda found: [[[name.split(":")[0] for name in side] for side in entry] for entry in found]
    ),
    "partition",
    "options",
    "run",
)


def _cut_profiles(params: Params) -> Params:
    text = value_of(params, "input_shape")
    sizes = len(re.findall(r"-1", text)) if isinstance(text, str) else 0

    def cut(value: Any) -> Any:
        if not sizes or not isinstance(value, str):
            return value
        return ";".join(",".join(profile.split(",")[:sizes]) for profile in value.split(";"))

    return all_values(params, mapped("dynamic_dims", cut))


asks("further_sizes_of_a_profile_are_ignored", "002: a profile has as many sizes as input_shape has -1", "options",
     _cut_profiles)  # fmt: skip

misreads(
    "options",
    "lists_may_end_in_a_comma",
    "002, 003: the mixed precision list is JSON",
    "modify_mixlist",
    lambda text: re.sub(r",(\s*[\]}])", r"\1", text),
    "options",
    "precision",
)
accepts(
    "a_fusion_switch_file_has_any_name",
    "002 L473: letters, digits, underscore, hyphen, period and Chinese characters",
    "fusion_switch_file",
    lambda params: is_about(params, edition="legacy") and "/" in str(value_of(params, "fusion_switch_file")),
)
accepts(
    "cache_directories_may_have_blanks",
    "003 L847: letters, digits, underscore, hyphen and period",
    "op_compiler_cache_dir",
    lambda params: (
        is_about(params, edition="current") and " " in str(value_of(params, "op_compiler_cache_dir")).strip()
    ),
)


@broken("run", "002, 003: is_tailing_optimization is the same in NPUOptimizer and the session", "run")
def an_optimizer_may_tail_where_the_session_does_not(ask: Any, params: Params) -> Answer:
    if "script" not in params or "is_tailing_optimization" not in Path(params["script"]).read_text(encoding="utf-8"):
        return dict(ask(params))
    check = training.check_tailing

    def one_way(options: Any, graph: Any) -> None:
        if options.values.get("is_tailing_optimization"):
            check(options, graph)

    training.check_tailing = one_way  # type: ignore[assignment]
    try:
        answer: Answer = json.loads(json.dumps(REFERENCE.run(params)))  # no answer that was kept
    finally:
        training.check_tailing = check
    return answer


# What compilation and the device are told


@broken("options", "003: dynamic_graph_execute_mode takes effect when dynamic_input is True", "options", "run")
def ranges_alone_make_an_input_dynamic(ask: Any, params: Params) -> Answer:
    if not given(params, "dynamic_inputs_shape_range") or given(params, "dynamic_input"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, lambda values: {**values, "dynamic_input": True})))
    if "effective" in answer:
        told_value(answer, "dynamic_input", False, "default")
    return answer


def _first_tool(answer: Answer, params: Params) -> None:
    answer["directives"]["tuning"]["auto_tune"] = answer["directives"]["tuning"]["auto_tune"][-1:]


tells("one_algorithm_tunes", "002: auto_tune_mode RL,GA names both algorithms", _first_tool)
asks(
    "a_false_that_is_given_generalises_shapes",
    "003: compile_dynamic_mode False does not generalize shapes",
    "artifacts",
    lambda params: all_values(params, mapped("compile_dynamic_mode", lambda value: True)),
    "compile",
    "timeline",
    "run",
)


def _not_deprecated(answer: Answer, params: Params) -> None:
    answer["warnings"] = [
        one
        for one in answer["warnings"]
        if one["code"] != "deprecated" or not one["option"].endswith("_memory_max_size")
    ]


tells(
    "memory_sizes_without_effect_are_not_called_deprecated",
    "003: graph_memory_max_size will be deprecated",
    _not_deprecated,
)


# Partition


def _named(answer: Answer, params: Params, *ops: str) -> List[str]:
    found = ops_of(params)
    return [name for name in offloaded(answer) if name in found and found[name].op in ops]


judged_partition(
    "getnext_is_offloaded_for_loops_only",
    "002: with enable_data_pre_proc True, GetNext is offloaded",
    lambda params: value_of(params, "iterations_per_loop") in (None, 1),
    lambda answer, params: to_host(answer, _named(answer, params, "IteratorGetNext", "IteratorGetNextSync")),
)


def _counters(answer: Answer, params: Params) -> Answer:
    graph = graph_of(params)
    moved = {
        node.name
        for node in graph.nodes
        if node.op in ("VariableV2", "Variable", "VarHandleOp")
        and getattr(node.attr("dtype"), "name", "") in ("int32", "int64")
    }
    for node in graph.nodes:
        if any(name.split(":")[0] in moved for name in node.inputs) and node.op != "Identity":
            moved.add(node.name)
    return to_host(answer, moved & set(offloaded(answer)))


judged_partition(
    "whole_numbers_are_kept_on_the_host",
    "003: variable_placement Device: variables are deployed on the device",
    lambda params: not value_is(params, "variable_placement", "Host"),
    _counters,
)
judged_partition(
    "tables_and_queues_are_offloaded",
    "000 L4: resource operators are executed in the framework",
    is_mixed,
    lambda answer, params: to_device(
        answer,
        [
            one["node"]
            for one in answer["host"]
            if one["node"] in ops_of(params)
            and re.search("HashTable|LookupTable|Queue|Stack|TensorArray", ops_of(params)[one["node"]].op)
        ],
    ),
)


def _data_only(answer: Answer, params: Params) -> Any:
    """Two GEOPs become one where only a control edge keeps them apart."""
    data = readers_of(params, controls=False)
    for at, first in enumerate(answer["geops"]):
        for second in answer["geops"][at + 1 :]:
            both = {*first["nodes"], *second["nodes"]}
            leaving = {after for name in both for after in data.get(name, ()) if after not in both}
            if not behind(leaving, data) & both:
                first["nodes"] = sorted(both)
                answer["geops"] = [one for one in answer["geops"] if one is not second]
                return answer
    return None


judged_partition(
    "control_edges_make_no_circle",
    "000 L5: GEOPs and the operators of the host run one after the other, in whatever order edges of control demand",
    is_mixed,
    _data_only,
)
asks(
    "first_operators_go_with_last_ones_in_turn",
    "001, 002: the range is all between any of in_nodes and any of out_nodes",
    "partition",
    lambda params: with_pairs(
        params,
        lambda found: [[[first], [last]] for firsts, lasts in found for first, last in zip(firsts, lasts)],
    ),
    "partition",
    "run",
)


def _ends(answer: Answer, params: Params) -> Answer:
    named = set(re.findall(r"[\w./-]+", str(value_of(params, "in_out_pair"))))
    return to_device(
        answer, [one["node"] for one in answer["host"] if one["node"] in named and one["reason"] == "RANGE_INSIDE"]
    )


judged_partition(
    "ends_of_a_range_that_stays_are_offloaded",
    "002: with in_out_pair_flag False the operators named are not offloaded",
    lambda params: value_is(params, "in_out_pair_flag", False),
    _ends,
)


# Precision


def _black(answer: Answer, params: Params) -> None:
    for node in answer["nodes"]:
        into = [cast for cast in answer.get("casts", ()) if cast["target"].rpartition(":")[0] == node["node"]]
        lowered = [cast for cast in into if (cast["from"], cast["to"]) == (_HALF, _FLOAT)]
        if node.get("list") == "blocklist" and into and len(lowered) == node["inputs"].count(_FLOAT):
            retyped(node, _FLOAT, _HALF)
            answer["casts"] = [cast for cast in answer["casts"] if cast not in into]


changed("precision", "blocked_operators_between_lowered_ones_are_lowered",
        "003: the precision of operators on the blocklist cannot be reduced", _black)  # fmt: skip

_FEW_CUBES = ("Conv2D", "MatMul", "Conv2DBackpropInput", "Conv2DBackpropFilter")


def _other_cubes(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = value_of(params, "precision_mode") or "allow_fp32_to_fp16"
    by_default = mode == "allow_fp32_to_fp16" and not given(params, "precision_mode_v2")
    if node.get("engine") == "cube" and by_default and op is not None and op.op not in _FEW_CUBES:
        retyped(node, _HALF, _FLOAT)


node_change("products_and_convolutions_are_the_only_cubes", "003: cube operators use float16", _other_cubes)


def _as_before(node: Dict[str, Any], params: Params, op: Any) -> None:
    forced = value_is(params, "precision_mode", "force_fp32") and is_about(params, edition="current")
    if node.get("engine") == "cube" and forced:
        retyped(node, _HALF, _FLOAT)


node_change("force_fp32_is_what_it_was", "003: force_fp32 has the effect of cube_fp16in_fp32out", _as_before)


def _unkept(graph: Any) -> None:
    for node in [*graph.node, *(node for function in graph.library.function for node in function.node_def)]:
        if "_keep_dtype" in node.attr:
            del node.attr["_keep_dtype"]


asks(
    "kept_dtypes_are_of_the_first_option_only",
    "003 precision_mode_v2: keep_dtype_scope keeps the precision of some operators",
    "precision",
    lambda params: regraphed(params, _unkept) if given(params, "precision_mode_v2") else params,
    "precision",
    "run",
)


def _flags() -> Dict[str, Any]:
    catalog = Catalog.built_in()
    found: Dict[str, Any] = {}
    for name in catalog:
        one = catalog.get(name)
        if one is not None:
            found[name] = found[one.ge_op] = one.flag
    return found


def _white_only(text: str) -> str:
    try:
        lists = json.loads(re.sub(r"//[^\n]*", "", text))
        flags = _flags()
        black = lists["black-list"]
        black["to-add"] = [name for name in black["to-add"] if flags.get(name) == "trustlist"]
    except (ValueError, KeyError, TypeError):
        return text
    return json.dumps(lists)


misreads(
    "precision",
    "gray_operators_are_never_blocked",
    "002: to-add of the black list moves a white or a gray operator there",
    "modify_mixlist",
    _white_only,
    "precision",
    when=lambda params: is_about(params, edition="legacy"),
)


def _half_first(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = value_of(params, "precision_mode_v2") or value_of(params, "precision_mode")
    cube = mode in ("cube_fp16in_fp32out", "force_fp32") and is_about(params, edition="current")
    if cube and node.get("engine") == "cube" and set(node["inputs"]) == set(node["outputs"]) == {_FLOAT}:
        retyped(node, _FLOAT, _HALF)


node_change(
    "cubes_without_a_mixed_kernel_take_float16",
    "003: where float16 to float32 is not supported, input and output are float32",
    _half_first,
)


# Files


def _missing_off(text: str) -> str:
    try:
        found = json.loads(text)
        for section in ("GraphFusion", "UBFusion"):
            found["Switch"].setdefault(section, {"ALL": "off"})
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(found)


misreads(
    "artifacts",
    "sections_that_are_not_there_are_off",
    "003: patterns are enabled by default",
    "fusion_switch_file",
    _missing_off,
    "compile",
    "timeline",
)
asks(
    "a_switched_off_dump_is_off_wherever_it_is_collected",
    "003: with NPU_COLLECT_PATH mode 1 dumps, whatever enable_exception_dump is",
    "run",
    lambda params: (
        with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        if value_is(params, "enable_exception_dump", 0)
        else params
    ),
)


def _without_the_variable(files: Files, params: Params) -> Files:
    work = params.get("env", {}).get("ASCEND_WORK_PATH", "").strip("/")
    return {name.replace(f"{work}/extra-info/", "extra-info/") if work else name: one for name, one in files.items()}


left(
    "exception_dumps_stay_where_the_script_runs",
    "003: with ASCEND_WORK_PATH mode 2 dumps below it",
    _without_the_variable,
    "run",
)


def _collected_here(files: Files, asked: Any) -> Files:
    work = asked["env"].get("ASCEND_WORK_PATH", "").strip("/")
    collects = work and asked["env"].get("NPU_COLLECT_PATH") and not asked["values"].get("op_debug_level")
    if not collects:
        return files
    return {re.sub(rf"^{re.escape(work)}/(?=kernel_meta/)", "", name): one for name, one in files.items()}


leaves(
    "collected_kernels_stay_in_the_current_directory",
    "003: with NPU_COLLECT_PATH and ASCEND_WORK_PATH kernel_meta is in the path of the variable",
    _collected_here,
)


def _deleted_share(env: Dict[str, str]) -> Dict[str, str]:
    ratio = env.get("ASCEND_REMAIN_CACHE_SIZE_RATIO", "")
    if not ratio.isdigit():
        return env
    return {**env, "ASCEND_REMAIN_CACHE_SIZE_RATIO": str(max(1, 100 - int(ratio)))}


asks(
    "the_ratio_of_the_environment_is_what_goes",
    "003: ASCEND_REMAIN_CACHE_SIZE_RATIO is the ratio of the cache that is kept",
    "artifacts",
    lambda params: with_env(params, _deleted_share),
    "compile",
)


@broken("artifacts", "002: op_compiler_cache_mode is disable by default, with op_compiler_cache_dir too", "compile")
def a_cache_directory_alone_makes_a_cache(ask: Any, params: Params) -> Answer:
    def enabled(values: Dict[str, Any]) -> Dict[str, Any]:
        there = "op_compiler_cache_dir" in values and "op_compiler_cache_mode" not in values
        return {**values, "op_compiler_cache_mode": "enable"} if there else values

    return dict(ask(all_values(params, enabled) if is_about(params, edition="legacy") else params))


# The device in time


def _metrics(params: Params) -> Params:
    def one_metric(values: Dict[str, Any]) -> Dict[str, Any]:
        names = "ArithmeticUtilization|MemoryL0|ResourceConflictRatio|Memory"
        found: Dict[str, Any] = json.loads(re.sub(rf'(\\?"){names}(?=\\?")', r"\1PipeUtilization", json.dumps(values)))
        return found

    return all_values(params, one_metric)


asks(
    "every_profile_shows_pipes",
    "002: aic_metrics Memory counts reads and writes of outer memory",
    "run",
    _metrics,
    "run",
    "timeline",
)


def _without_ai_cpu(files: Files, params: Params) -> Files:
    found = dict(files)
    for name, one in files.items():
        if "/task_time_" in name and "b64" in one:
            text = base64.b64decode(one["b64"]).decode()
            kept = [line for line in text.splitlines(True) if ",AI_CPU," not in line]
            found[name] = {"b64": base64.b64encode("".join(kept).encode()).decode()}
    return found


def _profile(answer: Answer, params: Params) -> None:
    for one in (answer, answer.get("base", {}), *answer.get("variants", {}).values()):
        if one.get("files"):
            one["files"] = _without_ai_cpu(one["files"], params)


changed("run", "tasks_of_the_ai_cpu_are_not_traced", "002: task_trace collects when tasks begin and end", _profile,
        "run", "timeline")  # fmt: skip


def _four_channels(params: Params) -> bool:
    try:
        graph = graph_of({**params, "feeds": [], "fetches": []})  # as it states its inputs
        shapes = infer_shapes(graph)
        filters = [shapes.input(node.id, 1) for node in graph.nodes if node.op == "Conv2D"]
    except Exception:  # noqa: BLE001 - a graph that cannot be read is the reference's to refuse
        return False
    return any(shape and len(shape) == 4 and shape[2] == 4 for shape in filters)


asks(
    "a_small_channel_has_less_than_four",
    "002, 003: enable_small_channel helps convolutions of channel size <= 4",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {**values, "enable_small_channel": 0}) if _four_channels(params) else params
    ),
)
asks(
    "gradients_are_reduced_beside_computation_always",
    "002, 003: hcom_parallel False: AllReduce does not run in parallel",
    "timeline",
    lambda params: all_values(params, lambda values: {**values, "hcom_parallel": True}),
    "timeline",
    "run",
)


def _reads_its_own(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    dataset = step.get("dataset")
    if dataset and dataset.get("receives"):
        dataset["reads"], dataset["receives"] = dataset["receives"], 0


steps(
    "every_process_reads_its_own_dataset",
    "002: the other processes do not take from their own dataset but from the main process",
    _reads_its_own,
)


# Values


def _uncontrolled(graph: Any) -> None:
    for node in graph.node:
        data = [name for name in node.input if not name.startswith("^")]
        del node.input[:]
        node.input.extend(data)


asks(
    "geops_do_not_wait_for_control_edges",
    "000 L5: partitioned, a graph computes what it computes",
    "run",
    lambda params: regraphed(params, _uncontrolled) if is_mixed(params) else params,
)


@broken("run", "002: converting variables is for speed; what is read has the format of the graph", "run")
def variables_are_read_in_the_devices_format(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    on = value_is(params, "variable_format_optimize", True)
    on = on or (is_about(params, edition="legacy") and not given(params, "variable_format_optimize"))
    if not on or "graph" not in params:
        return answer
    ops = {node.name: node for node in graph_of({**params, "feeds": [], "fetches": []}).nodes}
    for name, tensor in answer["fetches"].items():
        node = ops.get(name.split(":")[0])
        reads = node is not None and (node.op in ("VariableV2", "ReadVariableOp") or "read" in node.name)
        if reads and len(tensor["shape"]) == 4 and "b64" in tensor:
            answer["fetches"][name] = _channels_first(tensor)
    return answer


def _channels_first(tensor: Dict[str, Any]) -> Dict[str, Any]:
    batch, height, width, channels = tensor["shape"]
    data = base64.b64decode(tensor["b64"])
    size = len(data) // max(1, batch * height * width * channels)
    items = [data[at : at + size] for at in range(0, len(data), size)] if size else []
    order = [
        ((n * height + y) * width + x) * channels + c
        for n in range(batch)
        for c in range(channels)
        for y in range(height)
        for x in range(width)
    ]
    moved = b"".join(items[at] for at in order)
    return {**tensor, "shape": [batch, channels, height, width], "b64": base64.b64encode(moved).decode()}


misreads(
    "precision",
    "keep_fp16_is_high_performance",
    "003: keep_fp16 is a mode of its own",
    "op_precision_mode",
    lambda text: text.replace("keep_fp16", "high_performance"),
    "options",
    "precision",
    "run",
)


@broken("run", "003: input data are fused before they are transferred, and arrive as they are", "run")
def fused_inputs_are_aligned_on_one_side_only(ask: Any, params: Params) -> Answer:
    threshold = value_of(params, "input_fusion_size")
    threshold = threshold if isinstance(threshold, int) else 131072
    feeds = copy.deepcopy(params.get("feeds"))
    if not isinstance(feeds, dict):
        return dict(ask(params))
    offset = shift = 0
    for name in sorted(feeds):
        tensor = feeds[name]
        if "b64" not in tensor or tensor["dtype"] == "string":
            continue
        data = base64.b64decode(tensor["b64"])
        if len(data) <= threshold:
            tensor["b64"] = base64.b64encode((bytes(shift) + data)[: len(data)]).decode()
            offset += len(data)
            shift = -offset % 32
    return dict(ask({**params, "feeds": feeds}))
