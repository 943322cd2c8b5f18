"""A second drawing of the eighth list: what comes to mind first, then mistakes that need one more condition to show."""

from __future__ import annotations

import csv
import io
import re
from typing import Any, Dict, Mapping

from faulty.drawn_eighth import lists_of, turns_of
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
    has_function,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    left,
    mapped,
    node_change,
    ops_of,
    plain,
    retyped,
    steps,
    to_device,
    turns,
    value_is,
    value_of,
    with_values,
    without,
)
from npu_reference.catalog import OpList
from npu_reference.errors import NpuError

# What comes to mind first: options

accepts(
    "modes_in_place_of_a_path",
    "003 op_precision_mode: a text, the path of the file",
    "op_precision_mode",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "op_precision_mode"), (dict, list)),
)
accepts(
    "one_model_more_than_there_may_be",
    "003 graph_max_parallel_model_num: from 1 to 2147483647",
    "graph_max_parallel_model_num",
    lambda params: value_is(params, "graph_max_parallel_model_num", 2147483648),
)
denies(
    "no_lines_below_in_switch_files",
    "003 fusion_switch_file: /home/test/fusion_switch.cfg as in the example",
    "fusion_switch_file",
    lambda params: (
        is_about(params, "runconfig", "current")
        and isinstance(value_of(params, "fusion_switch_file"), str)
        and "_" in value_of(params, "fusion_switch_file").rpartition("/")[2]
    ),
)
denies(
    "names_stand_between_single_quotes",
    "002 in_out_pair: a list in Python's way",
    "in_out_pair",
    lambda params: '"' in str(value_of(params, "in_out_pair")),
)


@broken("options", "003 op_precision_mode: unset by default", "options", "precision")
def modes_lie_in_the_current_directory(ask: Any, params: Params) -> Answer:
    if not is_about(params, "runconfig", "current") or given(params, "op_precision_mode"):
        return dict(ask(params))
    if "op_precision.ini" not in params.get("files", {}):
        return dict(ask(params))
    return dict(ask(with_values(params, op_precision_mode="op_precision.ini")))


@broken("options", "003 modify_mixlist: either list may be left out", "options", "precision")
def a_blocklist_is_required(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    path = value_of(params, "modify_mixlist")
    found = lists_of(str(params.get("files", {}).get(path, ""))) if isinstance(path, str) else None
    if is_about(params, edition="current") and isinstance(found, dict) and "black-list" not in found:
        raise NpuError("OPTION_FILE", "modify_mixlist", "has no black-list")
    return answer


@broken("options", "002 dynamic_node_type 1: the placeholder input is dynamic", "options", "run", "timeline")
def data_sets_and_placeholders_are_exchanged(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session", "legacy"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("dynamic_node_type", lambda value: {0: 1, 1: 0}.get(value, value)))))
    if "effective" in answer and given(params, "dynamic_node_type"):
        answer["effective"]["dynamic_node_type"]["value"] = value_of(params, "dynamic_node_type")
    return answer


# Files


@broken("artifacts", "002 op_compiler_cache_mode disable: no cache", "compile")
def a_cache_that_is_off_is_read(ask: Any, params: Params) -> Answer:
    return _read_though_off(ask, params, "legacy", False)


def _read_though_off(ask: Any, params: Params, edition: str, later: bool) -> Answer:
    """Programs with disable tell the kernels that enable would have reused; `later`: those after the first alone."""
    found = dict(ask(params))
    off = [value_of({"values": values}, "op_compiler_cache_mode") == "disable" for values in turns_of(params)]
    if not is_about(params, edition=edition) or not any(off):
        return found
    read = ask(all_values(params, mapped("op_compiler_cache_mode", lambda value: "enable")))
    for number, (turn, other) in enumerate(zip(found["turns"], read["turns"])):
        if off[number] and "rejected" not in turn and (number or not later):
            for key in ("kernels", "hits", "misses"):
                if key in other:
                    turn[key] = other[key]
    return found


def _no_mapping(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_is(asked, "op_debug_level", 2):
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if not name.endswith("_loc.json")}


turns("level_two_has_no_mappings", "002 op_debug_level 2: _loc.json too", _no_mapping)
leaves(
    "results_lie_beside_the_fe",
    "003 fusion_result.json: below $ASCEND_WORK_PATH/FE",
    lambda files, asked: {
        re.sub(r"(^|/)FE/", r"\1", name) if "fusion_result" in name else name: file for name, file in files.items()
    },
)


def _columns(files: Files, most: int) -> Files:
    """Step traces with so many reductions."""
    found = dict(files)
    for name, file in files.items():
        if "step_trace" in name and "b64" in file:
            rows = list(csv.reader(io.StringIO(decoded(file))))
            at = [number for number, cell in enumerate(rows[0]) if cell.startswith("Reduce ")][2 * most :]
            made = io.StringIO()
            csv.writer(made, lineterminator="\n").writerows(
                [cell for number, cell in enumerate(row) if number not in at] for row in rows
            )
            found[name] = encoded(made.getvalue())
    return found


left(
    "reductions_are_not_traced",
    "002 training_trace: gradient aggregation",
    lambda files, params: _columns(files, 0) if is_about(params, edition="legacy") else files,
)

# Time


asks(
    "a_thousand_bytes_are_a_kilobyte",
    "003 input_fusion_size: 131072 by default",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {"input_fusion_size": 128000, **values})
        if is_about(params, "runconfig", "current")
        else params
    ),
)


def _joined_back(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    back = [one for one in step.get("transfers", ()) if one["direction"] == "d2h" and one.get("times", 1) == 1]
    size = values.get("input_fusion_size", 131072)
    small = [one for one in back if isinstance(size, int) and one["bytes"] <= size]
    if not is_about(params, "runconfig") or len(small) < 2:
        return
    joined = {**small[0], "bytes": sum(one["bytes"] for one in small)}
    joined["tensors"] = [name for one in small for name in one.get("tensors", ())]
    step["transfers"] = [one for one in step["transfers"] if one not in small] + [joined]
    tasks = [task for task in step.get("tasks", ()) if task["kind"] == "d2h"]
    step["tasks"] = [task for task in step.get("tasks", ()) if task["kind"] != "d2h"] + tasks[:1]


steps("what_is_fetched_is_joined", "003 input_fusion_size: data from the host to the device", _joined_back)

# Partition


def _earlier(answer: Answer, params: Params) -> Any:
    if not is_mixed(params) or params.get("op_list"):
        return None
    ops, known = ops_of(params), OpList.built_in()
    moved = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "NOT_SUPPORTED"
        and one["node"] in ops
        and re.search(r"V\d$", ops[one["node"]].op)
        and known.get(ops[one["node"]].op[:-2]) is not None
    ]
    return to_device(answer, moved) if moved else None


changed("partition", "a_later_version_is_the_same", "001: what cannot be compiled stays on the host", _earlier)
asks(
    "data_of_a_run_config_are_offloaded",
    "003 enable_data_pre_proc False: getnext is not offloaded",
    "partition",
    lambda params: (
        all_values(params, mapped("enable_data_pre_proc", lambda value: True))
        if is_about(params, "runconfig", "current")
        else params
    ),
    "partition",
    "run",
    "timeline",
)
asks(
    "nothing_is_mixed_by_a_run_config",
    "003 mix_compile_mode True: mixed computing",
    "partition",
    lambda params: (
        all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig", "current") else params
    ),
)

# Precision


def _trusted_behind_half(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is None or node.get("list") != "trustlist" or not is_about(params, edition="current"):
        return
    ops = ops_of(params)
    sources = [ops[name.split(":")[0]] for name in op.inputs if name.split(":")[0] in ops]
    if all(source.op in ("Placeholder", "Const", "_Arg", "VariableV2", "ReadVariableOp") for source in sources):
        retyped(node, "float16", "float32")


node_change("what_may_be_reduced_follows", "003 trustlist: precision is reduced", _trusted_behind_half)


def _depthwise(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and is_about(params, edition="legacy") and op.op == "DepthwiseConv2dNative":
        retyped(node, "float16", "float32")


node_change("depthwise_convolutions_are_single", "004: DepthwiseConv2D does not support float32", _depthwise)


def _fast(node: Dict[str, Any], params: Params, op: Any) -> None:
    words = ("op_select_implmode", "op_precision_mode", "optypelist_for_implmode")
    if is_about(params, edition="current") and not any(given(params, word) for word in words) and "impl_mode" in node:
        node["impl_mode"] = node["impl_mode"] or "high_performance"


node_change("fast_unless_told_otherwise", "003 op_select_implmode: empty, not configured", _fast)


def _half_on_the_core(node: Dict[str, Any], params: Params, op: Any) -> None:
    if value_is(params, "precision_mode_v2", "origin") and node["engine"] == "aicpu" and node.get("kernel"):
        _moved(node, params, op)


def _moved(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is None or op.op in _HALF_ALONE:
        node["engine"] = "vector"
        retyped(node, "float32", "float16")


#: Operators whose AI Core kernel has float16 alone.
_HALF_ALONE = ("Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool", "ResizeBilinear", "LRN", "MaxPoolGrad")
node_change("the_origin_is_half_on_the_core", "003 origin: the AI CPU operator of float32", _half_on_the_core)

# Under one more condition

accepts(
    "true_is_one_model_in_inference",
    "003 graph_max_parallel_model_num: an integer",
    "graph_max_parallel_model_num",
    lambda params: in_inference(params) and value_is(params, "graph_max_parallel_model_num", True),
)
denies(
    "quotes_of_one_kind",
    "002 in_out_pair: a list in Python's way",
    "in_out_pair",
    lambda params: '"' in str(value_of(params, "in_out_pair")) and "'" in str(value_of(params, "in_out_pair")),
)


def _unfused(values: Dict[str, Any]) -> Dict[str, Any]:
    return {"input_fusion_size": 0, **values} if plain(values.get("mix_compile_mode")) is True else values


asks(
    "nothing_is_fused_by_default_in_mixed_computing",
    "003 input_fusion_size: 131072 by default, in mixed computing too",
    "timeline",
    lambda params: all_values(params, _unfused) if is_about(params, "runconfig", "current") else params,
)


def _in_bodies(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("list") != "trustlist" or not is_about(params, edition="current") or not has_function(node, params):
        return
    graph = graph_of(params)
    bodies = {one.attr("body") for one in graph.nodes if one.op in ("While", "StatelessWhile")}
    names = {getattr(body, "name", str(body)) for body in bodies}
    if node["node"].split("/")[0] in names:
        retyped(node, "float16", "float32")


node_change("bodies_of_loops_are_kept", "003 trustlist: precision is reduced, in loops too", _in_bodies)


@broken("artifacts", "003 op_compiler_cache_mode disable: off, in a later program too", "compile")
def a_later_program_reads_what_is_there(ask: Any, params: Params) -> Answer:
    return _read_though_off(ask, params, "current", True)


def _of_the_first(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if not value_is(asked, "op_debug_level", 2) or not value_is(asked, "mix_compile_mode", True):
        return
    kept = [one["kernel"] for one in turn.get("kernels", ())][:1]
    for key in ("files", "left"):
        if key in turn:
            turn[key] = {
                name: file
                for name, file in turn[key].items()
                if "kernel_meta/" not in name or any(kernel in name for kernel in kept)
            }


turns("debugging_stops_at_the_border", "002 op_debug_level 2: the files of every operator", _of_the_first)


def _at_once(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "export_compile_stat", 2, "2"):  # type: ignore[arg-type]
        return files
    return {
        "fusion_result.json" if name.endswith("fusion_result.json") and "FE/" in name else name: file
        for name, file in files.items()
    }


leaves("results_at_once_lie_here", "003 fusion_result.json: below $ASCEND_WORK_PATH/FE, with 2 too", _at_once)
left(
    "one_reduction_is_traced",
    "002 training_trace: gradient aggregation, all of it",
    lambda files, params: _columns(files, 1) if is_about(params, edition="legacy") else files,
)


def _needed(values: Dict[str, Any]) -> Dict[str, Any]:
    loops = plain(values.get("iterations_per_loop"))
    if isinstance(loops, int) and loops > 1:
        return mapped("enable_data_pre_proc", lambda value: True)(values)
    return values


asks(
    "loops_offload_their_data",
    "003 enable_data_pre_proc False: getnext is not offloaded, whatever the loop",
    "partition",
    lambda params: all_values(params, _needed) if is_about(params, "runconfig", "current") else params,
    "partition",
    "run",
    "timeline",
)


def _half_inside(node: Dict[str, Any], params: Params, op: Any) -> None:
    inside = has_function(node, params) and value_is(params, "precision_mode_v2", "origin")
    if inside and node["engine"] == "aicpu" and node.get("kernel") and "float32" in node["inputs"]:
        node["engine"] = "vector"
        retyped(node, "float32", "float16")


node_change("functions_are_half_at_the_origin", "003 origin: the AI CPU operator of float32, inside", _half_inside)
