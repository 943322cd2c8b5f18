"""Whole mistakes of those who write a backend from the documents; written blind.

Their author looked at no case, law or other list.
Each breaks one sentence of a document; the requirements it breaks are named above it.
"""

from __future__ import annotations

import copy
import json
import posixpath
import re
from typing import Any, Callable, Dict, List, Mapping

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    encoded,
    given,
    graph_of,
    mapped,
    misreads,
    named_by,
    node_change,
    ops_of,
    plain,
    reads_as,
    regraphed,
    retyped,
    text_of,
    texts,
    turns,
    value_is,
    value_of,
    with_pairs,
    with_settings,
    with_values,
    without,
)
from npu_reference.errors import NpuError

#: Every method that reads options for a graph.
GRAPHS = ("partition", "precision", "timeline", "compile")
GIB = 1 << 30


def _kept_text(found: Answer, params: Params, name: Callable[[str], bool]) -> Answer:
    """An answer of `compile` whose files of some names have the texts that the request gives."""
    texts_now: Dict[str, Any] = dict(params.get("files", {}))
    for turn, asked in zip(found.get("turns", ()), params.get("turns") or [{}]):
        texts_now.update(asked.get("files") or {})
        for file, text in texts_now.items():
            for key in ("files", "left"):
                there = turn.get(key) or {}
                if name(file) and isinstance(text, str) and file.lstrip("/") in there:
                    there[file.lstrip("/")] = encoded(text)
    return found


# --- options: limits behind a rounding, widths of integers, readers that are too kind --------------------------------


# session.memory.sum_31g
@broken("options", "graph_memory_max_size and variable_memory_max_size may not exceed 31 GiB together")
def sum_of_memory_is_taken_in_whole_gigabytes(ask: Any, params: Params) -> Answer:
    sizes = ("graph_memory_max_size", "variable_memory_max_size")
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject not in sizes or error.code != "OPTION_CONFLICT":
            raise
        numbers = [int(value_of(params, name) or default) for name, default in zip(sizes, (26 * GIB, 5 * GIB))]
        if sum(numbers) // GIB > 31:
            raise
        answer = ask(with_values(params, **dict.fromkeys(sizes)))
        for name, number in zip(sizes, numbers):
            if value_of(params, name) is not None:
                answer["effective"][name] = {"value": value_of(params, name), "origin": "given"}
            if name in answer.get("meaning", {}):
                answer["meaning"][name] = number
            key = name.split("_", maxsplit=1)[0] + "_bytes"
            if key in answer.get("directives", {}).get("memory", {}):
                answer["directives"]["memory"][key] = number
        return dict(answer)


# runconfig.input_fusion_size.range
def _fusion_limit(answer: Answer, params: Params) -> None:
    size = value_of(params, "input_fusion_size")
    if isinstance(size, int) and 33554432 < size < 33554432 + 1024:
        answer["effective"]["input_fusion_size"] = {"value": size, "origin": "given"}
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] != "input_fusion_size"]


changed(
    "options",
    "limit_of_fused_inputs_is_asked_in_kilobytes",
    "input_fusion_size is at most 33554432 bytes",
    _fusion_limit,
)


def _in_32_bits(params: Params, option: str) -> Any:
    value = value_of(params, option)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return ((value + (1 << 31)) % (1 << 32)) - (1 << 31) if whole else value


def _narrow(name: str, sentence: str, option: str, valid: Callable[[int], bool]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        number, value = _in_32_bits(params, option), value_of(params, option)
        if value is None or number == value or not valid(number):
            return dict(ask(params))
        return dict(ask(with_values(params, **{option: number})))

    fault.__name__ = name
    broken("options", sentence)(fault)


# runconfig.graph_max_parallel_model_num.range
_narrow(
    "threads_are_counted_in_32_bits",
    "graph_max_parallel_model_num lies in [1, 2147483647]",
    "graph_max_parallel_model_num",
    lambda number: number >= 1,
)

# session.graph_run_mode.domain, runconfig.graph_run_mode.domain
_narrow(
    "run_mode_is_kept_in_32_bits",
    "graph_run_mode is 0 or 1",
    "graph_run_mode",
    lambda number: number in (0, 1),
)


def _python_steps(text: Any) -> Any:
    try:
        return "|".join("-".join(str(int(one)) for one in part.split("-")) for part in text.split("|"))
    except (AttributeError, ValueError):
        return None


# session.dump_step.grammar
@broken("options", "A step of dump_step is a non-negative decimal integer")
def steps_of_a_dump_are_whatever_int_reads(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        text = value_of(params, "dump_step")
        wanted = _python_steps(text)
        if error.subject != "dump_step" or wanted is None or wanted == text:
            raise
        answer = ask(with_values(params, dump_step=wanted))
        answer["effective"]["dump_step"] = {"value": text, "origin": "given"}
        return dict(answer)


# in_out_pair.grammar, in_out_pair.value_format
@broken("options", "The value of in_out_pair is a list of lists of lists", "options", *GRAPHS)
def pairs_may_be_written_as_tuples(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        text = value_of(params, "in_out_pair")
        if error.subject != "in_out_pair" or not isinstance(text, str) or "(" not in text:
            raise
        answer = ask(with_values(params, in_out_pair=text.replace("(", "[").replace(")", "]").replace(",]", "]")))
        if "effective" in answer:
            answer["effective"]["in_out_pair"] = {"value": text, "origin": "given"}
        return dict(answer)


# runconfig.op_compiler_cache_dir.charset, session.op_compiler_cache_dir.charset
reads_as(
    "directory_of_the_cache_is_checked_once_normalised",
    "The path of op_compiler_cache_dir holds letters, digits, underscores, hyphens and periods",
    "op_compiler_cache_dir",
    lambda params, value: posixpath.normpath(value) if isinstance(value, str) and ".." in value else value,
    "options",
    "compile",
)


def _good_ratio(text: str) -> str:
    def mend(found: Any) -> str:
        value = found.group(2).strip()
        fine = value.isdigit() and 1 <= int(value) <= 100
        return found.group(0) if fine else found.group(1) + "50"

    return re.sub(r"(?m)^(\s*remain_cache_size_ratio\s*=)(.*)$", mend, text)


# files.op_cache_ini.both_valid
@broken("options", "op_cache.ini takes effect only if both values are valid", "options", "compile")
def size_of_the_cache_is_taken_beside_an_invalid_ratio(ask: Any, params: Params) -> Answer:
    found = ask(with_settings(params, _good_ratio))
    return _kept_text(dict(found), params, lambda file: file.endswith("op_cache.ini"))


# session.profiling_options.task_trace.junk_is_off, session.profiling_options.aicpu.junk_is_off
def _loud_traces(params: Params, value: Any) -> Any:
    def lowered(found: Any) -> str:
        return str(found.group(1) + found.group(2).lower() + found.group(3))

    if not isinstance(value, str):
        return value
    return re.sub(r'("(?:task_trace|aicpu)"\s*:\s*")(on|On|oN|ON)(")', lowered, value)


reads_as(
    "traces_of_a_session_are_on_in_capitals_too",
    "Any value of task_trace and aicpu but on and off counts as off",
    "profiling_options",
    _loud_traces,
)


# session.dynamic_dims.count, session.dynamic_dims.mismatch_exit
@broken("options", "Each profile has exactly as many values as input_shape has -1")
def first_profile_alone_is_counted(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        text, shapes = value_of(params, "dynamic_dims"), value_of(params, "input_shape")
        if error.subject not in ("dynamic_dims", "input_shape") or not (
            isinstance(text, str) and isinstance(shapes, str) and re.fullmatch(r"[0-9,; ]+", text)
        ):
            raise
        first, *others = text.split(";")
        count = len(re.findall(r"(?<![0-9])-1\b", shapes))
        if not others or len(first.split(",")) != count or all(len(one.split(",")) == count for one in others):
            raise
        wanted = [",".join((one.split(",") + ["7"] * count)[:count]) for one in others]
        answer = ask(with_values(params, dynamic_dims=";".join([first, *wanted])))
        answer["effective"]["dynamic_dims"] = {"value": text, "origin": "given"}
        return dict(answer)


# runconfig.op_debug_level.2_oom_exclusive
accepts(
    "level_two_and_oom_go_together_where_operators_are_listed",
    "op_debug_level 2 cannot be used together with oom in op_debug_config",
    "op_debug_config",
    lambda params: (
        value_is(params, "op_debug_level", 2)
        and "op_debug_list" in text_of(params, "op_debug_config")
        and "ccec_O0" not in text_of(params, "op_debug_config")
        and "NPU_COLLECT_PATH" not in params.get("env", {})
    ),
    op_debug_level=None,
)


# session.stream_max_parallel_num.range_aicpu, session.stream_max_parallel_num.range_aicore
@broken("options", "DNN_VM_TF takes 1 to 13, DNN_V100 1 to 3, in whatever order they stand")
def limits_of_engines_go_by_their_position(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    found = re.fullmatch(r"DNN_V100:(\d+),DNN_VM_TF:(\d+)", text) if isinstance(text, str) else None
    if found is None:
        return dict(ask(params))
    core, cpu = int(found.group(1)), int(found.group(2))
    if not (1 <= core <= 13 and 1 <= cpu <= 3):
        raise NpuError("OPTION_VALUE", "stream_max_parallel_num", "is out of range")
    answer = ask(with_values(params, stream_max_parallel_num="DNN_V100:1,DNN_VM_TF:1"))
    answer["effective"]["stream_max_parallel_num"] = {"value": text, "origin": "given"}
    if "meaning" in answer and "stream_max_parallel_num" in answer["meaning"]:
        answer["meaning"]["stream_max_parallel_num"] = {"DNN_VM_TF": cpu, "DNN_V100": core}
    if "engines" in answer.get("directives", {}):
        answer["directives"]["engines"] = {"AI_CPU": cpu, "AI_Core": core}
    return dict(answer)


def _first_feature(text: str) -> str:
    return re.sub(r'("feature"\s*:\s*\[\s*"[^"]*")[^\]]*\]', r"\1]", text)


# files.aoe_cfg.nonhomo_split_needs_1, files.aoe_cfg.deeper_opat_needs_2
misreads(
    "options",
    "first_feature_of_tuning_alone_is_looked_at",
    "deeper_opat needs aoe_mode 2, nonhomo_split needs aoe_mode 1",
    "aoe_config_file",
    _first_feature,
    "options",
    *GRAPHS,
)


# --- partition --------------------------------------------------------------------------------------------------------


# in_out_pair.multi_entry
asks(
    "ranges_of_all_entries_are_one_range",
    "Each [in_nodes, out_nodes] describes a range of its own",
    "partition",
    lambda params: with_pairs(
        params, lambda pairs: [[[name for one in pairs for name in one[side]] for side in (0, 1)]]
    ),
    "partition",
)


def _entries(params: Params) -> List[Any]:
    text = value_of(params, "in_out_pair")
    try:
        found = json.loads(text.replace("'", '"')) if isinstance(text, str) else []
    except ValueError:
        return []
    return [one for one in found if isinstance(one, list) and len(one) == 2] if isinstance(found, list) else []


# in_out_pair.inclusive
@broken("partition", "The operators that in_nodes and out_nodes name belong to the range")
def an_operator_alone_is_no_range(ask: Any, params: Params) -> Answer:
    pairs = _entries(params)
    left_over = [one for one in pairs if not (len(set(one[0])) == 1 and set(one[0]) == set(one[1]))]
    if len(left_over) == len(pairs):
        return dict(ask(params))
    if left_over:
        return dict(ask(with_values(params, in_out_pair=str(left_over))))
    return dict(ask(with_values(params, in_out_pair=None, in_out_pair_flag=None)))


# in_out_pair.duplicate_names
@broken("partition", "Listing a name twice is harmless", "options", "partition")
def an_end_of_a_range_named_twice_is_refused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if any(len(set(one[1])) < len(one[1]) for one in _entries(params)):
        raise NpuError("OPTION_VALUE", "in_out_pair", "names an operator twice")
    return dict(answer)


def _without_marks(*names: str) -> Callable[[Any], None]:
    def change(graph: Any) -> None:
        for function in graph.library.function:
            for node in function.node_def:
                for name in names:
                    if name in node.attr:
                        del node.attr[name]

    return change


# mixed.scope.without_npu_compile.adds, mixed.example_add_mul_host
asks(
    "marks_of_the_scope_are_not_looked_for_in_bodies",
    "without_npu_compile_scope marks operators that are not offloaded, on top of those by default",
    "partition",
    lambda params: regraphed(params, _without_marks("_without_npu_compile")),
    "partition",
)


def _same_branches(graph: Any) -> None:
    for nodes in [graph.node, *(one.node_def for one in graph.library.function)]:
        for node in nodes:
            if node.op in ("If", "StatelessIf"):
                node.attr["else_branch"].CopyFrom(node.attr["then_branch"])


# mixed.partition.identify_first, mixed.zh.not_offline_compilable
asks(
    "branch_not_taken_is_no_reason_to_stay",
    "An operator that the device cannot run stays on the host, in whatever branch it stands",
    "partition",
    lambda params: regraphed(params, _same_branches),
    "partition",
)


def _same_last(graph: Any) -> None:
    for nodes in [graph.node, *(one.node_def for one in graph.library.function)]:
        for node in nodes:
            if node.op in ("Case", "StatelessCase") and len(node.attr["branches"].list.func) > 1:
                node.attr["branches"].list.func[-1].CopyFrom(node.attr["branches"].list.func[0])


# mixed.partition.identify_first, mixed.zh.not_offline_compilable
asks(
    "default_of_a_case_is_not_looked_into",
    "An operator that the device cannot run stays on the host, in whatever branch it stands",
    "partition",
    lambda params: regraphed(params, _same_last),
    "partition",
)


def _references_only(params: Params) -> bool:
    kinds = {node.op for node in graph_of(params).nodes}
    return bool(kinds & {"VariableV2", "Variable"}) and "VarHandleOp" not in kinds


# runconfig.variable_placement.host
asks(
    "references_are_no_variables_to_place",
    "Host: the variable is deployed on the host",
    "partition",
    lambda params: (
        with_values(params, variable_placement=None)
        if value_is(params, "variable_placement", "Host") and _references_only(params)
        else params
    ),
    "partition",
)


def _unordered(graph: Any) -> None:
    kept = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
    hosts = {node.name for node in graph.node if node.op in kept}
    read = {one.split(":")[0] for node in graph.node for one in node.input if not one.startswith("^")}
    for node in graph.node:
        inputs = [one for one in node.input if not (one.startswith("^") and one[1:] in hosts & read)]
        del node.input[:]
        node.input.extend(inputs)


# mixed.partition.order_preserved
asks(
    "control_edges_of_python_functions_order_nothing",
    "Control dependencies between GEOPs and operators of the host are kept",
    "partition",
    lambda params: regraphed(params, _unordered),
    "partition",
)


# --- precision --------------------------------------------------------------------------------------------------------


# precision.customize.name_over_type
@broken("precision", "If both name and type of an operator are configured, the name applies", "precision")
def line_that_stands_last_decides_of_dtypes(ask: Any, params: Params) -> Answer:
    text = text_of(params, "customize_dtypes")
    if not text:
        return dict(ask(params))
    kernels = {
        one["node"]: {one.get("kernel"), one.get("op")}
        for one in ask(with_values(params, customize_dtypes=None))["nodes"]
    }
    lines = text.splitlines()
    kept = []
    for at, line in enumerate(lines):
        later = {
            found.group(1) for found in (re.match(r"\s*OpType::([^:]+):", one) for one in lines[at + 1 :]) if found
        }
        name = line.strip().split("::")[0]
        if not (name in kernels and not line.strip().startswith("OpType::") and kernels[name] & later):
            kept.append(line)
    return dict(ask(texts(params, "customize_dtypes", lambda _: "\n".join(kept) + "\n")))


def _removed_from_both(text: str) -> str:
    try:
        lists = json.loads(re.sub(r"//[^\n]*", "", text))
        black, white = lists.setdefault("black-list", {}), lists.setdefault("white-list", {})
        gone = [*black.get("to-remove", []), *white.get("to-remove", [])]
        added = {*black.get("to-add", []), *white.get("to-add", [])}
        black["to-remove"] = white["to-remove"] = [one for one in dict.fromkeys(gone) if one not in added]
        return json.dumps(lists) if gone else text
    except (ValueError, AttributeError, TypeError):
        return text


# files.mixlist.current.black_remove, files.mixlist.current.white_remove
misreads(
    "precision",
    "what_is_removed_from_any_list_becomes_gray",
    "to-remove of a list moves operators from that list to the graylist",
    "modify_mixlist",
    _removed_from_both,
    "precision",
)

# api.keep_dtype_scope, precision.keep_dtype_scope.advice
asks(
    "kept_dtypes_of_bodies_are_not_kept",
    "keep_dtype_scope keeps the precision of operators built inside it",
    "precision",
    lambda params: regraphed(params, _without_marks("_keep_dtype")),
    "precision",
)


def _types_first(text: str) -> str:
    """The text without [ByOpType] where that stands behind [ByNodeName]."""
    name, kind = text.find("[ByNodeName]"), text.find("[ByOpType]")
    return text[:kind] if 0 <= name < kind else text


# files.op_precision_ini.sections
misreads(
    "precision",
    "types_behind_names_are_not_read",
    "op_precision.ini has sections [ByOpType] and [ByNodeName]",
    "op_precision_mode",
    _types_first,
    "options",
    "precision",
    "timeline",
    "compile",
)


# session.optypelist_for_implmode.applies_to_list, runconfig.optypelist_for_implmode.list
asks(
    "mode_goes_to_the_first_type_listed",
    "The types that optypelist_for_implmode lists use the mode of op_select_implmode",
    "precision",
    lambda params: all_values(
        params,
        mapped(
            "optypelist_for_implmode", lambda value: value.split(",")[0].strip() if isinstance(value, str) else value
        ),
    ),
    "precision",
    "timeline",
    "compile",
)


# precision.customize.override, files.customize_dtypes.by_type
@broken("precision", "Listed operators use the customised dtypes", "precision")
def customised_types_are_those_of_the_graph_itself(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not given(params, "customize_dtypes"):
        return dict(answer)
    plainly = ask(with_values(params, customize_dtypes=None))
    there = ops_of(params)

    def inside(name: str) -> bool:
        node = name.rsplit(":", 1)[0]
        return "/" in node and node not in there

    found = {one["node"]: one for one in plainly["nodes"]}
    answer["nodes"] = [found.get(one["node"], one) if inside(one["node"]) else one for one in answer["nodes"]]
    if "casts" in answer:
        answer["casts"] = [one for one in answer["casts"] if not inside(one["target"])]
        answer["casts"] += [one for one in plainly["casts"] if inside(one["target"])]
    return dict(answer)


# precision.g.only_fp32_to_fp16, precision.s.allow_mix_only_fp32
def _raised(node: Dict[str, Any], params: Params, op: Any) -> None:
    mixed = value_is(params, "precision_mode", "allow_mix_precision", "allow_mix_precision_fp16")
    if mixed and node.get("list") == "blocklist":
        retyped(node, "float16", "float32")


node_change(
    "what_is_on_the_blocklist_is_raised",
    "In mixed precision operators of float32 are lowered to float16, and nothing else is changed",
    _raised,
)


# --- timeline ---------------------------------------------------------------------------------------------------------


def _still(values: Dict[str, Any]) -> Dict[str, Any]:
    return without("ac_parallel_enable")(values) if plain(values.get("compile_dynamic_mode")) is True else values


# runconfig.compile_dynamic_mode.true, runconfig.ac_parallel_enable.1
asks(
    "generalised_graphs_are_not_dynamic_to_engines",
    "With compile_dynamic_mode a graph of static shapes becomes a dynamic one",
    "timeline",
    lambda params: all_values(params, _still),
    "timeline",
)


def _both_engines(value: Any) -> Any:
    found = re.fullmatch(r"\s*(\w+):(\d+)\s*", value) if isinstance(value, str) else None
    pairs = {"DNN_VM_TF": "DNN_V100", "DNN_VM_AICPU": "AIcoreEngine"}
    if found is None:
        return value
    other = {**pairs, **{two: one for one, two in pairs.items()}}.get(found.group(1))
    top = 3 if other == "DNN_V100" else 13 if other == "DNN_VM_TF" else 32
    return f"{value},{other}:{min(int(found.group(2)), top)}" if other else value


# session.stream_max_parallel_num.partial
@broken("timeline", "An engine that is not listed keeps a parallelism of 1", "options", "timeline")
def one_number_is_for_both_engines(ask: Any, params: Params) -> Answer:
    told = value_of(params, "stream_max_parallel_num")
    answer = dict(ask(all_values(params, mapped("stream_max_parallel_num", _both_engines))))
    if told is not None and "effective" in answer:
        answer["effective"] = {**answer["effective"], "stream_max_parallel_num": {"value": told, "origin": "given"}}
    return answer


def _all_is_final(text: str) -> str:
    try:
        found = json.loads(text)
        for section, switches in found["Switch"].items():
            if "ALL" in switches:
                keys = list(switches)
                found["Switch"][section] = {key: switches[key] for key in keys[keys.index("ALL") :]}
        return json.dumps(found)
    except (ValueError, KeyError, AttributeError, TypeError):
        return text


# files.fusion_switch.current.all_off_except, files.fusion_switch.legacy.all_off_except
misreads(
    "timeline",
    "all_switches_what_stands_before_it",
    "A pattern that is on beside ALL off stays on",
    "fusion_switch_file",
    _all_is_final,
    "timeline",
    "compile",
)

# session.op_debug_level.perf, runconfig.op_debug_level.advice
asks(
    "debugging_of_level_one_costs_nothing",
    "op_debug_level 1 and 2 lower the network's performance",
    "timeline",
    lambda params: all_values(params, mapped("op_debug_level", lambda value: 3 if value == 1 else value)),
    "timeline",
)


def _without_list(text: str) -> str:
    return re.sub(r"(?m)^\s*op_debug_list.*$", "", text)


def _unchecked_names(text: str) -> str:
    at = text.find("[ByNodeName]")
    if at < 0:
        return text
    end = text.find("[ByOpType]", at)
    names = text[at:] if end < 0 else text[at:end]
    names = re.sub(r"(?m)^.*=\s*support_out_of_bound_index\s*$", "", names)
    return text[:at] + names + ("" if end < 0 else text[end:])


# runconfig.op_precision_mode.support_out_of_bound_index.perf
misreads(
    "timeline",
    "checking_indices_costs_by_type_only",
    "support_out_of_bound_index costs performance of the operators it is set for, by name too",
    "op_precision_mode",
    _unchecked_names,
    "timeline",
)


# --- compile ----------------------------------------------------------------------------------------------------------


# runconfig.op_debug_config.is_file
@broken("artifacts", "The options are those of the file that op_debug_config names", "compile")
def configuration_of_debugging_is_read_by_the_first_program_alone(ask: Any, params: Params) -> Answer:
    names = set(named_by(params, "op_debug_config"))
    asked = copy.deepcopy(dict(params))
    seen = {name for name in names if isinstance(params.get("files", {}).get(name), str)}
    for turn in asked.get("turns") or ():
        for name in names & set(turn.get("files") or {}):
            if name in seen:
                del turn["files"][name]
            elif isinstance(turn["files"][name], str):
                seen.add(name)
    return _kept_text(dict(ask(asked)), params, lambda file: file in names)


def _online(values: Dict[str, Any]) -> Dict[str, Any]:
    dynamic = plain(values.get("compile_dynamic_mode")) is True
    return (
        {**values, "jit_compile": "true"} if dynamic and plain(values.get("jit_compile", "auto")) == "auto" else values
    )


# runconfig.jit_compile.auto.dynamic, runconfig.compile_dynamic_mode.true
asks(
    "auto_looks_at_the_shapes_before_they_are_generalised",
    "auto looks for a binary first where the graph is dynamic, as a generalised one is",
    "artifacts",
    lambda params: all_values(params, _online),
    "compile",
)


# files.op_cache_ini.minus_one
@broken("artifacts", "max_op_cache_size -1 in op_cache.ini turns aging off", "options", "compile")
def minus_one_is_no_size_of_a_file(ask: Any, params: Params) -> Answer:
    found = ask(with_settings(params, lambda text: re.sub(r"(max_op_cache_size\s*=\s*)-1\b", r"\1none", text)))
    return _kept_text(dict(found), params, lambda file: file.endswith("op_cache.ini"))


def _killed_here(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked.get("ends") != "killed" or not asked["env"].get("ASCEND_WORK_PATH"):
        return
    for key in ("files", "left"):
        for name in [one for one in turn.get(key) or {} if re.search(r"FE/.*fusion_result\.json$", one)]:
            turn[key]["fusion_result.json"] = turn[key].pop(name)


# files.fusion_result.path_env
turns(
    "what_a_killed_program_left_of_fusion_lies_beside_it",
    "With ASCEND_WORK_PATH the fusion result is saved in $ASCEND_WORK_PATH/FE",
    _killed_here,
)


# runconfig.debug_dir.priority
@broken("artifacts", "debug_dir comes before ASCEND_WORK_PATH", "compile")
def variable_comes_before_the_directory_of_configured_debugging(ask: Any, params: Params) -> Answer:
    told = [params, *(params.get("turns") or ())]
    if any((one.get("env") or {}).get("ASCEND_WORK_PATH") for one in told) and named_by(params, "op_debug_config"):
        return dict(ask(all_values(params, without("debug_dir"))))
    return dict(ask(params))


# runconfig.external_weight.true_all_const
def _scalars_inside(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    small = [one for one in turn.get("constants") or () if one["op"] == "FileConstant" and one["bytes"] <= 8]
    others = {one["file"] for one in turn.get("constants") or () if one["bytes"] > 8}
    gone = {one["file"] for one in small} - others
    for one in small:
        one.update(op="Const", file="", bytes=0)
    for key in ("files", "left"):
        if key in turn:
            turn[key] = {name: file for name, file in turn[key].items() if name.rsplit("/", 1)[-1] not in gone}


turns(
    "a_scalar_is_no_weight_to_be_written",
    "The weights of all Const nodes are written and converted to FileConstant",
    _scalars_inside,
)


# runconfig.op_compiler_cache_mode.enable
@broken("artifacts", "The cache is reused by operators with the same compilation options", "compile")
def implementation_mode_is_no_part_of_a_key(ask: Any, params: Params) -> Answer:
    names = ("op_select_implmode", "optypelist_for_implmode", "op_precision_mode")
    asked_turns = params.get("turns") or []
    cached = all(plain(values.get("op_compiler_cache_mode")) != "disable" for values in _values_of(params))
    if len(asked_turns) < 2 or not cached or named_by(params, "op_debug_config"):
        return dict(ask(params))
    first = {**params["values"], **(asked_turns[0].get("values") or {})}
    later = []
    for turn in asked_turns[1:]:
        values = {name: value for name, value in (turn.get("values") or {}).items() if name not in names}
        later.append({**turn, "values": {**values, **{name: first.get(name) for name in names if name in first}}})
        later[-1]["values"].update(
            {name: None for name in names if name not in first and name in (turn.get("values") or {})}
        )
    return dict(ask({**params, "turns": [asked_turns[0], *later]}))


def _values_of(params: Params) -> List[Mapping[str, Any]]:
    return [params["values"], *(one.get("values") or {} for one in params.get("turns") or ())]


def _without_list(text: str) -> str:
    return re.sub(r"(?m)^\s*op_debug_list.*$", "", text)


# files.op_debug_cfg.list.effect, runconfig.op_debug_config.kernel_size
@broken("artifacts", "With op_debug_list only the listed operators are compiled with the options", "compile")
def kernels_outside_of_a_list_grow_with_those_in_it(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    beside = ask(texts(params, "op_debug_config", _without_list))
    for turn, other in zip(answer["turns"], beside["turns"]):
        pairs = zip(turn.get("kernels", ()), other.get("kernels", ()))
        sizes = {one["kernel"]: two.get("bytes") for one, two in pairs}
        for one in turn.get("kernels", ()):
            if "bytes" in one:
                one["bytes"] = sizes.get(one["kernel"]) or one["bytes"]
        for key in ("files", "left"):
            for name, file in (turn.get(key) or {}).items():
                kernel = name.rsplit("/", 1)[-1]
                if kernel.endswith(".o") and "bytes" in file:
                    file["bytes"] = sizes.get(kernel[:-2]) or file["bytes"]
    return dict(answer)


def _names_too(text: str) -> str:
    def more(found: Any) -> str:
        entries = [one.strip() for one in found.group(2).split(",")]
        plainly = [re.sub(r"^[oO]pType::", "", one) for one in entries]
        return str(found.group(1) + ",".join(dict.fromkeys([*entries, *plainly])))

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)(.*)$", more, text)


# files.op_debug_cfg.list.entries
misreads(
    "artifacts",
    "a_type_that_is_listed_is_looked_for_among_names_too",
    "An entry OpType::typeName of op_debug_list is a type, any other a name",
    "op_debug_config",
    _names_too,
    "compile",
)
