"""A thirteenth draw, plain: one requirement each, and the mistake that comes to mind first.

Requirements were drawn by `random.Random(2601).choice` over the sorted ids. Notes and samples ask for nothing and were
passed over, and so was what was drawn before. Four more show only in what a run with TensorFlow does, and were left
out: runconfig.enable_exception_dump.0, runconfig.enable_exception_dump.2.work_path, session.register.remapping_off and
session.dump_mode.input. A comment at each mistake names its requirement.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, Dict, Set

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    behind,
    broken,
    defaults,
    given,
    in_inference,
    is_about,
    is_mixed,
    judged_partition,
    mapped,
    misreads,
    node_change,
    offloaded,
    ops_of,
    readers_of,
    reads_as,
    retyped,
    tells,
    to_device,
    to_host,
    told_value,
    value_is,
    value_of,
    with_env,
    with_settings,
    with_values,
)
from npu_reference.errors import NpuError

_HALF, _FLOAT, _BRAIN = "float16", "float32", "bfloat16"


# Precision


def _full(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and op.attr("_keep_dtype", 0) and node.get("engine") in ("cube", "vector"):
        retyped(node, _HALF, _FLOAT)


node_change(  # api.keep_dtype_scope
    "what_is_kept_is_kept_at_full_precision",
    "003 keep_dtype_scope: keeps the precision of the operators inside, whichever it is",
    _full,
)


def _narrow_cubes(node: Dict[str, Any], params: Params, op: Any) -> None:
    reads_half = node.get("engine") == "cube" and _HALF in node["inputs"]
    if reads_half and value_is(params, "precision_mode_v2", "cube_fp16in_fp32out"):
        retyped(node, _FLOAT, _HALF, "outputs")


node_change(  # precision.v2.cube
    "cubes_that_read_float16_write_float16",
    "003 precision_mode_v2: cube_fp16in_fp32out reads float16 and writes float32",
    _narrow_cubes,
)


def _origin(params: Params) -> bool:
    return value_is(params, "precision_mode_v2", "origin")


def _wide_cpu(node: Dict[str, Any], params: Params, op: Any) -> None:
    if _origin(params) and node.get("engine") == "aicpu":
        retyped(node, _HALF, _FLOAT)


node_change(  # precision.v2.origin.fp16_aicpu
    "the_cpu_computes_in_full_at_the_origin",
    "003 precision_mode_v2 origin: the AI CPU operator of float16 where the AI Core has bfloat16 alone",
    _wide_cpu,
)


def _brains(node: Dict[str, Any], params: Params, op: Any) -> None:
    half = op is not None and any(getattr(op.attrs[name], "name", "") == _HALF for name in op.attrs)
    if _origin(params) and half and node.get("engine") in ("cube", "vector"):
        retyped(node, _FLOAT, _BRAIN)


node_change(  # precision.v2.origin.fp16_to_fp32
    "sixteen_bits_stay_sixteen_at_the_origin",
    "003 precision_mode_v2 origin: float32 for float16 where there is float32 and bfloat16 alone",
    _brains,
)


def _on_the_core(node: Dict[str, Any], params: Params, op: Any) -> None:
    if _origin(params) and node.get("engine") == "aicpu" and _FLOAT in node["inputs"]:
        node["engine"] = "vector"


node_change(  # precision.v2.origin.fp32_aicpu
    "the_core_is_thought_to_compute_the_origin",
    "003 precision_mode_v2 origin: the AI CPU operator of float32 where the AI Core has float16 alone",
    _on_the_core,
)
misreads(  # files.customize_dtypes.comments
    "precision",
    "a_remark_needs_a_blank",
    "003 customize_dtypes: lines that begin with # are remarks, whatever follows",
    "customize_dtypes",
    lambda text: re.sub(r"(?m)^#(?=[^\s#])", "", text),
    "options",
    "precision",
)
misreads(  # files.customize_dtypes.name_with_slash
    "precision",
    "names_are_two_levels_deep_at_most",
    "003 customize_dtypes: names as resnet_v1_50/block1/unit_3/bottleneck_v1/Relu",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if line.split("::")[0].count("/") < 2),
    "options",
    "precision",
)


# Options


def _no_ranges(answer: Answer, params: Params) -> None:
    if not given(params, "in_out_pair") and is_about(params, "session", "legacy"):
        told_value(answer, "in_out_pair", "[]")


tells("no_ranges_are_an_empty_list", "002 in_out_pair: no default", _no_ranges)  # session.in_out_pair.default
accepts(  # runconfig.enable_scope_fusion_passes.type
    "passes_come_as_a_list",
    "003 enable_scope_fusion_passes: a str, separated by commas",
    "enable_scope_fusion_passes",
    lambda params: (
        is_about(params, "runconfig", "current") and isinstance(value_of(params, "enable_scope_fusion_passes"), list)
    ),
)
accepts(  # session.dump_path.permission
    "nobody_looks_who_may_use_the_directory_of_dumps",
    "002 dump_path: the user needs read and write permission",
    "dump_path",
    lambda params: (
        {"access": ""} in [params.get("files", {}).get(f"{str(value_of(params, 'dump_path')).rstrip('/')}/")]
    ),
    enable_dump=None,
    dump_path=None,
)
accepts(  # runconfig.ac_parallel_enable.type
    "parallel_by_a_bool",
    "003 ac_parallel_enable: a str, '1' or '0'",
    "ac_parallel_enable",
    lambda params: (
        is_about(params, "runconfig", "current") and isinstance(value_of(params, "ac_parallel_enable"), bool)
    ),
)
defaults(  # runconfig.enable_exception_dump.default
    "the_common_dump_is_the_default",
    "003 enable_exception_dump: 2 by default",
    "enable_exception_dump",
    1,
    lambda params: is_about(params, "runconfig", "current"),
)


@broken("options", "003 op_cache.ini: takes effect only when both values are valid", "options", "compile")
def numbers_of_the_cache_may_have_units(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.both_valid."""
    return dict(ask(with_settings(params, lambda text: re.sub(r"(?m)^(\w+\s*=\s*\d+)\s*(?:MB?|%)\s*$", r"\1", text))))


@broken("options", "003 op_cache.ini: the section is [op_compiler_cache]", "options", "compile")
def the_section_of_the_cache_is_in_any_case(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.section."""
    plain = partial(re.sub, r"(?i)\[op_compiler_cache\]", "[op_compiler_cache]")
    return dict(ask(with_settings(params, plain)))


def _as_in_the_sample(answer: Answer, params: Params) -> None:
    unset = not given(params, "hccl_timeout") and "HCCL_EXEC_TIMEOUT" not in params.get("env", {})
    if unset and is_about(params, "runconfig", "current"):
        told_value(answer, "hccl_timeout", 1800)
        answer["directives"]["timeouts"]["hccl_seconds"] = 1800


# runconfig.hccl_timeout.default
tells("collectives_wait_as_long_as_in_the_sample", "003 hccl_timeout: 1836 by default", _as_in_the_sample)
defaults(  # session.dynamic_input.default
    "inputs_are_neither_dynamic_nor_not",
    "002 dynamic_input: False by default",
    "dynamic_input",
    None,
    lambda params: is_about(params, "session", "legacy"),
)
defaults(  # runconfig.iterations_per_loop.default
    "inference_has_no_iterations",
    "003 iterations_per_loop: 1 by default",
    "iterations_per_loop",
    None,
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
)


def _distributed(answer: Answer, params: Params) -> None:
    if given(params, "distribute_config") and is_about(params, "session", "legacy"):
        told_value(answer, "distribute_config", value_of(params, "distribute_config"), "given")
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] != "distribute_config"]


tells(  # session.distribute_config.unsupported
    "a_configuration_of_servers_counts", "002 distribute_config: not supported in this version", _distributed
)


def _all_types(answer: Answer, params: Params) -> None:
    mode = value_of(params, "op_select_implmode")
    if mode and not given(params, "optypelist_for_implmode") and is_about(params, "runconfig", "current"):
        told_value(answer, "optypelist_for_implmode", "Pooling,SoftmaxV2,LRN,ROIAlign")
        if not given(params, "op_precision_mode"):
            types = dict.fromkeys(("Pooling", "SoftmaxV2", "LRN", "ROIAlign"), mode)
            answer["directives"]["implementation"] = {"type": types, "name": {}, "others": None}


tells(  # runconfig.optypelist_for_implmode.default
    "the_types_that_are_supported_are_the_list", "003 optypelist_for_implmode: empty by default", _all_types
)


@broken("options", "003: dynamic_dims goes first, and dynamic_inputs_shape_range has no effect", "options")
def ranges_widen_profiles(ask: Any, params: Params) -> Answer:
    """runconfig.dynamic_inputs_shape_range.dynamic_dims_wins."""
    answer = dict(ask(params))
    if given(params, "dynamic_dims", "dynamic_inputs_shape_range") and answer["directives"]["shapes"].get("source"):
        other = ask(
            with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None, dynamic_input=True)
        )
        found = other["directives"]["shapes"]
        answer["directives"]["shapes"].update({key: value for key, value in found.items() if key != "kind"})
    return answer


@broken("options", "003 ASCEND_DEVICE_ID: a logical device, an integer that is not negative", "options", "timeline")
def a_device_that_is_no_number_is_the_first(ask: Any, params: Params) -> Answer:
    """env.ASCEND_DEVICE_ID.lower."""
    told = params.get("env", {}).get("ASCEND_DEVICE_ID", "")
    if not told or re.fullmatch(r"[0-9]+", told):
        return dict(ask(params))
    return dict(ask(with_env(params, lambda env: {**env, "ASCEND_DEVICE_ID": "0"})))


accepts(  # session.op_wait_timeout.type
    "waiting_may_be_a_switch",
    "002 op_wait_timeout: parameter_map[...].i",
    "op_wait_timeout",
    lambda params: is_about(params, "session", "legacy") and isinstance(value_of(params, "op_wait_timeout"), bool),
)


def _parent_is_there(params: Params) -> bool:
    path = value_of(params, "dump_path")
    if not isinstance(path, str) or "/" not in path.strip("/"):
        return False
    parent = path.rstrip("/").rpartition("/")[0]
    return any(name.startswith(parent + "/") for name in params.get("files", {}))


accepts(  # session.dump_path.precreated
    "the_last_directory_of_dumps_is_made",
    "002 dump_path: the directory has to be there beforehand",
    "dump_path",
    lambda params: (
        f"{str(value_of(params, 'dump_path')).rstrip('/')}/" not in params.get("files", {}) and _parent_is_there(params)
    ),
    enable_dump=None,
    dump_path=None,
)
accepts(  # runconfig.export_compile_stat.domain
    "statistics_by_a_switch",
    "003 export_compile_stat: 0, 1 or 2",
    "export_compile_stat",
    lambda params: isinstance(value_of(params, "export_compile_stat"), bool),
)
defaults(  # runconfig.fusion_switch_file.default
    "a_file_without_a_name_switches",
    "003 fusion_switch_file: no default",
    "fusion_switch_file",
    "",
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(  # session.in_out_pair_flag.default
    "without_ranges_there_is_no_flag",
    "002 in_out_pair_flag: True by default",
    "in_out_pair_flag",
    None,
    lambda params: is_about(params, "session", "legacy") and not given(params, "in_out_pair"),
)


@broken("options", "003 graph_run_mode: 1 by default", "options")
def nothing_is_nought_and_nought_is_inference(ask: Any, params: Params) -> Answer:
    """runconfig.graph_run_mode.default."""
    if given(params, "graph_run_mode") or not is_about(params, "runconfig", "current"):
        return dict(ask(params))
    answer = dict(ask(with_values(params, graph_run_mode=0)))
    told_value(answer, "graph_run_mode", 0, "default")
    return answer


reads_as(  # session.enable_scope_fusion_passes.grammar
    "passes_may_be_separated_by_semicolons",
    "002 enable_scope_fusion_passes: names are separated by commas",
    "enable_scope_fusion_passes",
    lambda params, told: (
        told.replace(";", ",") if isinstance(told, str) and is_about(params, edition="legacy") else told
    ),
)
accepts(  # runconfig.experimental_config.type
    "an_experiment_is_described_in_words",
    "003 experimental_config: an ExperimentalConfig",
    "experimental_config",
    lambda params: isinstance(value_of(params, "experimental_config"), str),
)
accepts(  # session.dump_path.type
    "directories_of_dumps_are_numbered",
    "002 dump_path: parameter_map[...].s",
    "dump_path",
    lambda params: isinstance(value_of(params, "dump_path"), int) and is_about(params, "session", "legacy"),
    enable_dump=None,
    dump_path=None,
)
misreads(  # files.op_debug_cfg.list.entries
    "artifacts",
    "what_is_between_two_commas_may_be_nothing",
    "003 op_debug_list: entries are names or types, none is empty",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(op_debug_list\s*=.*?),[ \t]*(?=,|$)", r"\1", text),
    "options",
    "compile",
)


# Partition


asks(  # session.enable_data_pre_proc.false
    "whoever_mentions_the_option_wants_it",
    "002 enable_data_pre_proc False: GetNext stays on the host",
    "partition",
    lambda params: (
        all_values(params, mapped("enable_data_pre_proc", lambda value: True))
        if is_about(params, "session", "legacy")
        else params
    ),
    "partition",
)


def _between(params: Params) -> Set[str]:
    """The operators of the ranges, ends included."""
    readers, found = readers_of(params), set()
    try:
        entries = json.loads(str(value_of(params, "in_out_pair")).replace("'", '"'))
    except ValueError:
        return set(ops_of(params))
    for entry in entries:
        first, last = set(entry[0]), set(entry[1])
        after = first | behind(first, readers)
        found |= {name for name in after if name in last or behind([name], readers) & last}
    return found


@broken("partition", "001: a range that is offloaded holds nothing that cannot be", "partition")
def the_inside_of_a_range_is_not_looked_at(ask: Any, params: Params) -> Answer:
    """in_out_pair.range_unsupported_op: only the ends of a range are looked at."""
    try:
        return dict(ask(params))
    except NpuError as error:
        node, text = error.subject.rpartition(": ")[2], str(value_of(params, "in_out_pair"))
        ends = f"'{node}'" in text or f'"{node}"' in text
        if error.code != "RANGE_UNSUPPORTED" or params.get("policy") == "adapter" or ends:
            raise
        answer = dict(ask(with_values(params, in_out_pair=None, in_out_pair_flag=None)))
        answer = to_host(answer, set(offloaded(answer)) - _between(params), "RANGE_OUTSIDE")
        return to_device(answer, [one["node"] for one in answer["host"] if one["node"] == node])


def _wanted(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    marked = {name for name, op in ops.items() if op.has_attr("_without_npu_compile")}
    return to_device(
        answer, [one["node"] for one in answer["host"] if one["node"] in marked and one["reason"] == "GRAY"]
    )


judged_partition(  # mixed.scope.without_npu_compile.additive
    "a_scope_turns_around_what_is_gray",
    "000 without_npu_compile_scope: adds operators that stay, and takes none to the device",
    is_mixed,
    _wanted,
)


def _input(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    return to_host(answer, [name for name in offloaded(answer) if name in ops and "Iterator" in ops[name].op])


judged_partition(  # runconfig.enable_data_pre_proc.true
    "inference_takes_its_input_from_the_host",
    "003 enable_data_pre_proc True: GetNext is offloaded",
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
    _input,
)


# Compilation, and the device in time


asks(  # runconfig.compile_dynamic_mode.false
    "kernels_that_are_there_are_of_open_shapes",
    "003 compile_dynamic_mode False: shapes are not generalised",
    "artifacts",
    lambda params: all_values(
        params,
        lambda values: {**values, "compile_dynamic_mode": True} if values.get("jit_compile") == "false" else values,
    ),
    "compile",
    "timeline",
)


@broken("artifacts", "003 ASCEND_WORK_PATH: weights, dumps, debug files and results lie there", "compile")
def a_work_path_that_is_not_there_does_not_matter(ask: Any, params: Params) -> Answer:
    """env.ASCEND_WORK_PATH.uses: an error where it cannot be written."""

    def here(env: Dict[str, str]) -> Dict[str, str]:
        return {name: value for name, value in env.items() if name != "ASCEND_WORK_PATH"}

    try:
        answer = dict(ask(params))
        if all(one.get("rejected", {}).get("subject") != "ASCEND_WORK_PATH" for one in answer["turns"]):
            return answer
    except NpuError as error:
        if error.subject != "ASCEND_WORK_PATH":
            raise
    return dict(ask(with_env(params, here)))


def _named(values: Dict[str, Any]) -> Dict[str, Any]:
    known = {"values": values}
    if value_of(known, "op_compiler_cache_mode") and value_of(known, "op_compiler_cache_dir") is None:
        return {**values, "op_compiler_cache_mode": "disable"}
    return values


asks(  # session.op_compiler_cache_mode.with_dir
    "a_cache_needs_a_directory_of_its_own",
    "002 op_compiler_cache_mode: works with op_compiler_cache_dir, $HOME/atc_data by default",
    "artifacts",
    lambda params: all_values(params, _named) if is_about(params, edition="legacy") else params,
    "compile",
)


def _never_late(params: Params) -> Params:
    faults = [
        one for one in params.get("faults") or () if one.get("kind") != "stalled_event" or one.get("seconds") is None
    ]
    return {**params, "faults": faults} if "faults" in params else params


asks(  # runconfig.event_sync_timeout.effect
    "an_event_that_comes_is_never_late",
    "003 event_sync_timeout: what takes longer is a failure of synchronisation",
    "timeline",
    _never_late,
    "timeline",
)
asks(  # runconfig.ac_parallel_enable.0
    "nought_as_a_text_is_true",
    "003 ac_parallel_enable 0: operators of the AI CPU are not separately distributed",
    "timeline",
    lambda params: all_values(params, mapped("ac_parallel_enable", lambda value: "1")),
    "timeline",
)
