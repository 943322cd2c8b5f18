"""A twelfth draw: a requirement and a condition, both drawn from all there are; the mistake shows where they meet.

Of 60 pairs that seed 2512 drew. 24 made no sense: an option and where an operator stands or what its tensors are like
(3, 17, 28, 33, 41, 47, 51), notes and samples that ask for nothing (20, 22, 42, 46, 56), a border or another form that
the value does not have (11, 15, 16, 19, 37, 53, 54, 58), a sentence that says nothing where the condition holds (12,
26, 32, 35). Two more (6, 45) are of the order of ranges and the outputs of dumps, of which earlier lists have the same.
Each mistake names its pair by number. One (31) looked at the options of the first of several steps alone, and was
mended after the first look; it was missed in either form.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping

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
    given,
    in_inference,
    is_about,
    is_mixed,
    left,
    mapped,
    misreads,
    node_change,
    tells,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def, infer_shapes, load_graph

_LOOPS = ("Enter", "While", "StatelessWhile")
_BRANCHES = ("Switch", "If", "StatelessIf", "Case", "StatelessCase")


def _nodes(params: Params) -> List[Any]:
    """The operators of the request's graph and of its functions."""
    try:
        graph = load_graph(params["graph"]) if "graph" in params else None
    except NpuError:
        return []
    if graph is None:
        return []
    return [*graph.nodes, *(node for function in graph.functions.values() for node in function.body.nodes)]


def _has_op(params: Params, *ops: str) -> bool:
    return any(node.op in ops for node in _nodes(params))


def _flat(params: Params) -> bool:
    """Whether every tensor of the graph that is known has two dimensions."""
    try:
        graph = load_graph(params["graph"])
    except (KeyError, NpuError):
        return True
    shapes = infer_shapes(graph_from_def(graph.to_def()))
    found = [shapes.of(node.id) for node in graph.nodes if graph.output_dtypes(node.id)]
    return all(shape is not None and len(shape) == 2 for shape in found)


def _profiled(params: Params) -> bool:
    return value_is(params, "profiling_mode", True) or given(params, "profiling_config")


def _tuned(params: Params) -> bool:
    return any(given(params, name) for name in ("aoe_mode", "auto_tune_mode", "mstune_mode"))


def _trains(params: Params) -> bool:
    return value_is(params, "graph_run_mode", 1)


def _dynamic(params: Params) -> bool:
    return value_is(params, "dynamic_input", True) or any(
        given(params, name) for name in ("dynamic_inputs_shape_range", "dynamic_dims", "input_shape")
    )


def _later(name: str, sentence: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    """Programs after the first take other values."""

    def fault(ask: Any, params: Params) -> Answer:
        turns = params.get("turns") or []
        if len(turns) < 2:
            return dict(ask(params))
        first = {**turns[0], "values": {**params["values"], **(turns[0].get("values") or {})}}
        values, found = dict(first["values"]), [first]
        for one in turns[1:]:
            values = {**values, **(one.get("values") or {})}
            taken = change(dict(values))
            found.append({**one, "values": {**dict.fromkeys(values), **taken}})
        return dict(ask({**params, "values": {}, "turns": found}))

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


# Options


accepts(  # pair 4
    "a_variable_beside_lets_precision_be_no_text",
    "003: precision_mode is a str",
    "precision_mode",
    lambda params: (
        bool(params.get("env"))
        and is_about(params, surface="runconfig", edition="current")
        and not isinstance(value_of(params, "precision_mode"), str)
    ),
)
defaults(  # pair 7
    "tuning_debugs_by_default",
    "002: op_debug_level is 0 by default",
    "op_debug_level",
    1,
    lambda params: _tuned(params) and is_about(params, surface="session", edition="legacy"),
)
denies(  # pair 10
    "training_keeps_no_formats",
    "003: variable_format_optimize=True",
    "variable_format_optimize",
    lambda params: (
        _trains(params)
        and value_is(params, "variable_format_optimize", True)
        and is_about(params, surface="runconfig", edition="current")
    ),
)
defaults(  # pair 21
    "tuning_keeps_formats_of_variables",
    "003: variable_format_optimize has no default but off",
    "variable_format_optimize",
    False,
    lambda params: _tuned(params) and is_about(params, surface="runconfig", edition="current"),
)
accepts(  # pair 25
    "a_limit_by_itself_has_no_range",
    "002: graph_memory_max_size is at most 256 GB",
    "graph_memory_max_size",
    lambda params: (
        is_about(params, edition="legacy")
        and len(params["values"]) == 1
        and str(value_of(params, "graph_memory_max_size")).isdigit()
    ),
)


def _flag_in_training(answer: Answer, params: Params) -> None:
    if _profiled(params) and not in_inference(params) and is_about(params, edition="legacy"):
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] != "in_out_pair_flag"]
        if given(params, "in_out_pair_flag"):
            told = value_of(params, "in_out_pair_flag")
            answer["effective"]["in_out_pair_flag"] = {"value": told, "origin": "given"}


tells(  # pair 27
    "a_profile_gives_ranges_of_training_a_flag",
    "002: in_out_pair_flag applies to online inference only",
    _flag_in_training,
)
defaults(  # pair 29
    "a_profile_keeps_its_cache_by_the_script",
    "002: op_compiler_cache_dir is $HOME/atc_data by default",
    "op_compiler_cache_dir",
    "./atc_data",
    lambda params: _profiled(params) and is_about(params, surface="session", edition="legacy"),
)
accepts(  # pair 30
    "run_config_preprocesses_by_a_number",
    "002: enable_data_pre_proc is a bool",
    "enable_data_pre_proc",
    lambda params: (
        is_about(params, surface="runconfig")
        and isinstance(value_of(params, "enable_data_pre_proc"), int)
        and not isinstance(value_of(params, "enable_data_pre_proc"), bool)
    ),
)
accepts(  # pair 48
    "what_need_not_be_deterministic_runs_in_any_mode",
    "003: graph_run_mode is an int",
    "graph_run_mode",
    lambda params: (
        value_is(params, "deterministic", 0)
        and is_about(params, surface="runconfig", edition="current")
        and not isinstance(value_of(params, "graph_run_mode"), int)
    ),
)
denies(  # pair 57
    "a_precision_has_no_type_of_nodes",
    "002: dynamic_node_type is 0 or 1",
    "dynamic_node_type",
    lambda params: (
        value_is(params, "dynamic_node_type", 0)
        and given(params, "precision_mode")
        and is_about(params, surface="session", edition="legacy")
    ),
)
accepts(  # pair 60
    "dynamic_inputs_are_split_in_every_mode",
    "003: nonhomo_split needs aoe_mode 1",
    "aoe_config_file",
    lambda params: _dynamic(params) and not value_is(params, "aoe_mode", "1"),
)


# Precision


misreads(  # pair 1
    "precision",
    "loops_know_no_lists",
    "003: modify_mixlist moves operator types between the lists",
    "modify_mixlist",
    lambda text: "{}",
    "precision",
    when=lambda params: is_about(params, edition="current") and _has_op(params, *_LOOPS),
)
asks(  # pair 5
    "an_alias_is_weaker_beyond_matrices",
    "004: allow_mix_precision_fp16 is allow_mix_precision",
    "precision",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda mode: "allow_fp32_to_fp16" if mode == "allow_mix_precision_fp16" else mode),
        )
        if value_is(params, "precision_mode", "allow_mix_precision_fp16") and not _flat(params)
        else params
    ),
    "precision",
    "timeline",
    "compile",
)
misreads(  # pair 14
    "precision",
    "branches_know_no_implementations",
    "003: op_precision_mode sets the implementation of operators by type and by name",
    "op_precision_mode",
    lambda text: "[ByOpType]\n",
    "precision",
    "compile",
    when=lambda params: is_about(params, edition="current") and _has_op(params, *_BRANCHES),
)


def _uncommented(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if "//" not in line)


misreads(  # pair 34
    "precision",
    "a_relative_list_loses_lines_with_comments",
    "003: lists of mixed precision carry // comments",
    "modify_mixlist",
    _uncommented,
    "options",
    "precision",
    when=lambda params: (
        is_about(params, edition="current") and not str(value_of(params, "modify_mixlist") or "/").startswith("/")
    ),
)


def _all_chosen(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = value_of(params, "op_select_implmode")
    if mode and is_mixed(params) and is_about(params, edition="current") and not node.get("impl_mode"):
        node["impl_mode"] = mode


node_change(  # pair 36
    "mixed_computing_chooses_for_every_operator",
    "003: only certain operators exist in both variants",
    _all_chosen,
)


# Partition


asks(  # pair 38
    "ranges_of_other_tensors_stay",
    "002: in_out_pair_flag is True by default",
    "partition",
    lambda params: (
        with_values(params, in_out_pair_flag=False)
        if given(params, "in_out_pair")
        and not given(params, "in_out_pair_flag")
        and is_about(params, edition="legacy")
        and not _flat(params)
        else params
    ),
    "partition",
)


def _first_alone(params: Params) -> Params:
    text = value_of(params, "in_out_pair")
    if not isinstance(text, str) or ", " in text:
        return params
    return with_pairs(params, lambda found: [[pair[0][:1], *pair[1:]] for pair in found])


asks(  # pair 44
    "without_blanks_a_range_begins_once",
    "001: several in_nodes may share one entry",
    "partition",
    _first_alone,
    "partition",
)


# The device in time


asks(  # pair 13
    "names_with_slashes_take_as_long_as_they_like",
    "003: op_execute_timeout ends an operator",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {k: v for k, v in values.items() if k != "op_execute_timeout"})
        if any("/" in str(one.get("node", "")) for one in params.get("faults") or ())
        else params
    ),
    "timeline",
)


def _placed(place: Any) -> Any:
    return place.lstrip("/") if isinstance(place, str) else place


asks(  # pair 23
    "training_tunes_below_the_script",
    "003: a work_path that begins with / is absolute",
    "timeline",
    lambda params: all_values(params, mapped("work_path", _placed)) if _trains(params) else params,
    "timeline",
    "compile",
)
asks(  # pair 24
    "other_tensors_wait_a_minute",
    "003: op_wait_timeout is 120 by default",
    "timeline",
    lambda params: (
        all_values(params, lambda values: values if "op_wait_timeout" in values else {**values, "op_wait_timeout": 60})
        if is_about(params, surface="runconfig", edition="current") and not _flat(params)
        else params
    ),
    "timeline",
)


def _unbounded(values: Dict[str, Any]) -> Dict[str, Any]:
    profiled = {"values": values}
    return {k: v for k, v in values.items() if k != "variable_memory_max_size"} if _profiled(profiled) else values


asks(  # pair 31; of each step's own values, since a step that is not the first has none of the request's
    "a_profile_bounds_no_variables",
    "002: variable_memory_max_size bounds the memory of variables",
    "timeline",
    lambda params: all_values(params, _unbounded) if is_about(params, edition="legacy") else params,
    "timeline",
    "compile",
    "run",
)
asks(  # pair 40
    "a_second_model_is_not_tuned_by_the_environment",
    "003: AOE_MODE alone selects the mode",
    "artifacts",
    lambda params: (
        with_env(params, lambda env: {name: value for name, value in env.items() if name != "AOE_MODE"})
        if params.get("models")
        else params
    ),
    "compile",
    "timeline",
)
asks(  # pair 50
    "training_counts_collectives_in_milliseconds",
    "002: hccl_timeout counts in seconds",
    "timeline",
    lambda params: (
        all_values(
            params, mapped("hccl_timeout", lambda told: max(int(told) // 1000, 1) if str(told).isdigit() else told)
        )
        if _trains(params) and is_about(params, edition="legacy")
        else params
    ),
    "timeline",
    "run",
)


def _others_off(text: str) -> str:
    try:
        found = json.loads(text)["Switch"]
        sections = dict(found)
    except (ValueError, KeyError, TypeError):
        return text
    for section in ("GraphFusion", "UBFusion"):
        sections.setdefault(section, {"ALL": "off"})
    return json.dumps({"Switch": sections})


misreads(  # pair 52
    "timeline",
    "what_is_deterministic_fuses_what_is_named",
    "003: a section that is not mentioned keeps its default, on",
    "fusion_switch_file",
    _others_off,
    "timeline",
    "compile",
    when=lambda params: value_is(params, "deterministic", 1) and is_about(params, edition="current"),
)


# Compilation


def _switches(name: str, sentence: str, gone: str, when: Callable[[Mapping[str, Any], int, Params], bool]) -> None:
    """Switches of the compiler are missing from kernels of some turns."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = copy.deepcopy(dict(ask(params)))
        for number, turn in enumerate(answer["turns"]):
            for kernel in turn.get("kernels", ()):
                if kernel.get("switches") and when(turn, number, params):
                    kernel["switches"] = [one for one in kernel["switches"] if not re.search(gone, one)]
        return answer

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


_switches(  # pair 2
    "a_single_kernel_stays_optimised",
    "003: op_debug_level 2 compiles with -O0 -g",
    "^-(O0|g)$",
    lambda turn, number, params: (
        len(turn["kernels"]) == 1 and value_is(params, "op_debug_level", 2) and is_about(params, edition="current")
    ),
)
_switches(  # pair 49
    "later_programs_check_no_flags",
    "003: check_flag adds a sequence of flags",
    "check_flag",
    lambda turn, number, params: number > 0,
)
_later(  # pair 9
    "later_programs_take_any_precision",
    "003: precision_mode_v2 is a str",
    lambda values: {
        name: value for name, value in values.items() if name != "precision_mode_v2" or isinstance(value, str)
    },
)


def _many(files: Mapping[str, Any]) -> bool:
    return sum(name.endswith(".o") for name in files) >= 10


@broken("artifacts", "003: ASCEND_MAX_OP_CACHE_SIZE limits the cache", "compile")
def a_crowded_cache_has_no_limit_by_the_environment(ask: Any, params: Params) -> Answer:
    """Pair 18."""
    files = [params.get("files") or {}, *((one.get("files") or {}) for one in params.get("turns") or ())]
    if not any(_many(one) for one in files):
        return dict(ask(params))
    return dict(
        ask(
            with_env(
                params, lambda env: {name: value for name, value in env.items() if name != "ASCEND_MAX_OP_CACHE_SIZE"}
            )
        )
    )


asks(  # pair 39
    "sessions_write_no_cce_at_the_fourth_level",
    "003: op_debug_level 4 keeps the .cce and the compute file",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: 3 if level == 4 else level))
        if is_about(params, surface="session", edition="current")
        else params
    ),
    "compile",
)


def _closed(values: Dict[str, Any]) -> Dict[str, Any]:
    shape = str(value_of({"values": values}, "input_shape"))
    if "-1" in shape and value_of({"values": values}, "dynamic_dims") is None:
        return {name: value for name, value in values.items() if name != "input_shape"}
    return values


_later(  # pair 55
    "later_programs_leave_sizes_open",
    "002: -1 in input_shape requires dynamic_dims",
    _closed,
)
misreads(  # pair 59
    "artifacts",
    "dynamic_inputs_are_compiled_without_debugging",
    "003: ccec_g compiles with -g",
    "op_debug_config",
    lambda text: re.sub(r",?\s*ccec_g", "", text),
    "compile",
    when=_dynamic,
)


# Runs


def _elsewhere(files: Files, params: Params) -> Files:
    if not any("PartitionedCall" in node.op for node in _nodes(params)) and "script" not in params:
        return files
    return {name.replace("extra-info/data-dump/", "extra-info/"): file for name, file in files.items()}


left(  # pair 43
    "functions_are_dumped_elsewhere",
    "003: exception dumps lie in extra-info/data-dump/<device_id>",
    _elsewhere,
    "run",
    "timeline",
)


def _after_a_fault(params: Params) -> bool:
    return any(one.get("kind") for one in params.get("faults") or ())


asks(  # pair 8
    "after_an_error_nothing_is_lowered",
    "004: allow_mix_precision lowers some of the float32 operators to float16",
    "run",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda mode: "must_keep_origin_dtype" if mode == "allow_mix_precision" else mode),
        )
        if params.get("may_fail") or _after_a_fault(params)
        else params
    ),
    "run",
)
