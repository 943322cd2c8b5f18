"""Mistakes under one more condition, drawn from the inventory, written without having seen the cases or laws.

The ids of the inventory were shuffled (seed 20261203) and gone through in that order. Each backend breaks the sentence
of its id only where one natural further condition holds that an implementation could trip over: the other run mode,
mixed computing, an option given beside, a value of the environment or of a file, the body of a function, the second
program or model, another edition or surface.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List, Mapping, Set

from .making import (
    Answer,
    Params,
    accepts,
    all_values,
    asked_values,
    asks,
    broken,
    decoded,
    denies,
    dumped,
    given,
    graph_of,
    has_function,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    mapped,
    misreads,
    node_change,
    ops_of,
    place,
    plain,
    reads_as,
    regraphed,
    retyped,
    source_of,
    text_of,
    texts,
    to_device,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_values,
    without,
)

_FILE = "files of options"


def _env(params: Params, name: str) -> str:
    return str(params.get("env", {}).get(name, ""))


def _in(values: Mapping[str, Any], name: str) -> Any:
    return plain(values.get(name))


def _where(
    when: Callable[[Mapping[str, Any]], bool], change: Callable[[Dict[str, Any]], Dict[str, Any]]
) -> Callable[[Params], Params]:
    """The request with its values, and those of variants and turns, changed where a condition holds of them."""
    return lambda params: all_values(params, lambda values: change(values) if when(values) else values)


# mixed.zh.enable, mixed.zh.use_off_line_explicit
def _not_mixed(params: Params) -> Params:
    return _where(
        lambda values: _in(values, "use_off_line") is True and _in(values, "variable_placement") != "Host",
        without("mix_compile_mode"),
    )(params)


@broken(
    "partition",
    "mix_compile_mode turns mixed computing on, use_off_line given beside it or not",
    "options",
    "partition",
    "timeline",
)
def mixing_is_off_beside_an_explicit_off_line_switch(ask: Any, params: Params) -> Answer:
    answer = ask(_not_mixed(params))
    if "effective" in answer and value_of(params, "use_off_line") is True and is_mixed(params):
        told_value(answer, "mix_compile_mode", False, "default")
    return dict(answer)


# session.profiling_options.aic_metrics.ResourceConflictRatio
def _of_profile(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Any], Any]:
    def edit(text: Any) -> Any:
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return text
        changed_to = change(dict(found))
        return text if changed_to is None or changed_to == found else json.dumps(changed_to)

    return edit


def _no_conflicts(found: Dict[str, Any]) -> Any:
    if found.get("aic_metrics") == "ResourceConflictRatio" and found.get("aicpu") == "on":
        return {**found, "aic_metrics": "PipeUtilization"}
    return None


asks(
    "conflicts_are_not_collected_beside_the_ai_cpu",
    "ResourceConflictRatio is what is collected, with the AI CPU's profile or without",
    "timeline",
    lambda params: all_values(params, mapped("profiling_options", _of_profile(_no_conflicts))),
    "timeline",
    "run",
)


# runconfig.graph_run_mode.default
@broken("options", "Without graph_run_mode the mode is training")
def a_quantized_dump_makes_inference_the_default(ask: Any, params: Params) -> Answer:
    if (
        not is_about(params, "runconfig")
        or value_of(params, "quant_dumpable") != "1"
        or given(params, "graph_run_mode")
    ):
        return dict(ask(params))
    answer = ask(with_values(params, graph_run_mode=0))
    told_value(answer, "graph_run_mode", 0, "default")
    return dict(answer)


# session.profiling_options.aicpu.domain
def _any_is_on(found: Dict[str, Any]) -> Any:
    return {**found, "aicpu": "on"} if found.get("aicpu", "off") not in ("on", "off") else None


reads_as(
    "any_word_profiles_the_ai_cpu_in_inference",
    "What is neither on nor off counts as off",
    "profiling_options",
    lambda params, value: _of_profile(_any_is_on)(value) if in_inference(params) else value,
    "options",
    "timeline",
)


# session.dump_path.precreated
accepts(
    "a_relative_dump_path_need_not_exist",
    "The directory of dumps exists before the start, at a relative path too",
    "dump_path",
    lambda params: (
        isinstance(value_of(params, "dump_path"), str)
        and bool(value_of(params, "dump_path"))
        and not value_of(params, "dump_path").startswith("/")
    ),
    dump_path=None,
    enable_dump=None,
)


# session.op_select_implmode.high_performance
def _slow_inside(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        has_function(node, params)
        and node.get("impl_mode") == "high_performance"
        and value_is(params, "op_select_implmode", "high_performance")
    ):
        node["impl_mode"] = None


node_change(
    "high_performance_stops_at_functions",
    "high_performance holds of the operators in the body of a function, too",
    _slow_inside,
)


# in_out_pair.session.flag_alone
def _all_on_the_host(answer: Answer, params: Params) -> Any:
    if in_inference(params) and value_of(params, "in_out_pair_flag") is False and not given(params, "in_out_pair"):
        return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"]], "IN_OUT_PAIR")
    return None


place(
    "a_false_flag_alone_keeps_everything_on_the_host",
    "in_out_pair_flag says nothing without in_out_pair",
    _all_on_the_host,
)


# session.fusion_switch_file.example
def _unread(params: Params) -> Params:
    if any(_in(values, "export_compile_stat") == 0 for values in asked_values(params)[1:]):
        return _where(lambda values: _in(values, "export_compile_stat") == 0, without("fusion_switch_file"))(params)
    if _in(params["values"], "export_compile_stat") == 0:
        return all_values(params, without("fusion_switch_file"))
    return params


asks(
    "switches_of_fusion_are_read_for_a_result_alone",
    "What fusion_switch_file turns off is off, whether or not a result of fusion is written",
    "artifacts",
    _unread,
    "compile",
    "timeline",
)


# session.debug_dir.type
accepts(
    "a_debug_dir_of_another_type_passes_at_level_zero",
    "debug_dir is a text, whatever is debugged",
    "debug_dir",
    lambda params: value_is(params, "op_debug_level", 0) and not isinstance(value_of(params, "debug_dir"), str),
)


# session.precision_mode.scope, session.modify_mixlist.scope
asks(
    "the_mixlist_is_not_read_in_inference",
    "modify_mixlist holds in training and online inference",
    "precision",
    _where(lambda values: _in(values, "graph_run_mode") == 0, without("modify_mixlist")),
    "precision",
)


# runconfig.op_debug_config.O0_oom_exclusive
accepts(
    "o0_and_oom_agree_beside_a_list",
    "ccec_O0 and oom exclude each other, of listed operators too",
    "op_debug_config",
    lambda params: (
        "op_debug_list" in text_of(params, "op_debug_config")
        and "ccec_O0" in text_of(params, "op_debug_config")
        and "oom" in text_of(params, "op_debug_config")
    ),
)

# files.op_debug_cfg.options
_DEBUG = {"oom", "dump_bin", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag"}


def _debug_options(text: str) -> List[str]:
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "op_debug_config":
            return [one.strip() for one in value.split(",")]
    return []


def _first_is_known(params: Params) -> bool:
    found = _debug_options(text_of(params, "op_debug_config"))
    return len(found) > 1 and found[0] in _DEBUG and bool(set(found) - _DEBUG)


accepts(
    "an_unknown_debug_option_passes_behind_a_known_one",
    "Every option of op_debug_config is one of those that are known",
    "op_debug_config",
    _first_is_known,
)

# session.dump_path.required
accepts(
    "a_work_path_stands_for_the_dump_path",
    "With enable_dump dump_path is given, whatever the environment says",
    "dump_path",
    lambda params: bool(_env(params, "ASCEND_WORK_PATH")) and not given(params, "dump_path"),
    enable_dump=None,
)


# runconfig.variable_placement.host
asks(
    "variables_return_to_the_device_in_inference",
    "Host keeps the variables on the host in online inference, too",
    "partition",
    _where(lambda values: _in(values, "graph_run_mode") == 0, without("variable_placement")),
    "partition",
    "timeline",
)


# files.op_debug_config.check_flag.files
def _debug_files(files: Dict[str, Any], keep: Callable[[str], bool]) -> Dict[str, Any]:
    return {name: content for name, content in files.items() if "kernel_meta/" not in name or keep(name)}


def _nothing_at_zero(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    texts_of = [decoded(one) for name, one in files.items() if name.endswith(".cfg") and "b64" in one]
    level = _in(asked["values"], "op_debug_level")
    flags = any(_debug_options(text) == ["check_flag"] for text in texts_of)
    return _debug_files(files, lambda name: False) if level == 0 and flags else files


leaves(
    "a_checked_flag_leaves_nothing_at_level_zero",
    "check_flag keeps .o and .json in kernel_meta, with op_debug_level 0 beside it too",
    _nothing_at_zero,
)


def _unforced_inside(name: str, sentence: str, mode: str, forced: str, other: str) -> None:
    """A mode that forces one type leaves the bodies of functions in the other."""

    def change(node: Dict[str, Any], params: Params, op: Any) -> None:
        if has_function(node, params) and value_is(params, "precision_mode", mode) and node.get("engine") == "vector":
            retyped(node, forced, other)

    node_change(name, sentence, change)


# precision.s.force_fp16
_unforced_inside(
    "forced_float16_stops_at_functions",
    "force_fp16 lowers the operators in the body of a function, too",
    "force_fp16",
    "float16",
    "float32",
)

# runconfig.enable_scope_fusion_passes.nongeneral
reads_as(
    "one_scope_fusion_pass_is_on_in_inference",
    "Every pattern that is listed is on",
    "enable_scope_fusion_passes",
    lambda params, value: value.split(",")[0] if in_inference(params) and isinstance(value, str) else value,
)


# files.op_debug_cfg.example2
def _names_alone(text: str) -> str:
    lines = []
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "op_debug_list":
            listed = [one.strip() for one in value.split(",")]
            if not listed[0].lower().startswith("optype::"):
                listed = [one for one in listed if not one.lower().startswith("optype::")]
            line = f"op_debug_list={','.join(listed)}"
        lines.append(line)
    return "\n".join(lines)


misreads(
    "artifacts",
    "types_behind_a_name_are_not_debugged",
    "op_debug_list names operators and types in any order",
    "op_debug_config",
    _names_alone,
    "compile",
)


# runconfig.external_weight.sharing
def _own_names(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    first: Dict[str, str] = {}
    for one in turn.get("constants", ()):
        file = one.get("file")
        if not file:
            continue
        if first.setdefault(file, one["node"]) != one["node"]:
            one["file"] = f"{file[:-2]}{'00' if file[-2:] != '00' else '01'}"
            for name in [name for name in turn.get("files", {}) if name.endswith(file)]:
                turn["files"][name[: -len(file)] + one["file"]] = turn["files"][name]


turns(
    "equal_weights_of_other_names_are_not_shared",
    "Equal weights are one file, whatever the constants are called",
    _own_names,
)


# runconfig.debug_dir.priority
@broken("artifacts", "debug_dir comes before ASCEND_WORK_PATH, a relative one too", "compile")
def a_relative_debug_dir_lies_in_the_work_path(ask: Any, params: Params) -> Answer:
    path = _env(params, "ASCEND_WORK_PATH")

    def moved(value: Any) -> Any:
        if isinstance(value, str) and value and not value.startswith("/"):
            return f"{path.rstrip('/')}/{value}"
        return value

    return dict(ask(all_values(params, mapped("debug_dir", moved)) if path else params))


# files.op_cache_ini.minus_one
def _goes_on_aging(env: Dict[str, str]) -> Dict[str, str]:
    if env.get("ASCEND_MAX_OP_CACHE_SIZE") == "-1" and "ASCEND_REMAIN_CACHE_SIZE_RATIO" in env:
        return {name: value for name, value in env.items() if name != "ASCEND_MAX_OP_CACHE_SIZE"}
    return env


asks(
    "minus_one_does_not_hold_beside_a_ratio",
    "ASCEND_MAX_OP_CACHE_SIZE=-1 turns aging off, whatever ratio is given",
    "artifacts",
    lambda params: with_env(params, _goes_on_aging),
    "compile",
    "options",
)


# session.enable_small_channel.default
@broken("options", "The legacy session leaves enable_small_channel off in online inference, too", "options", "timeline")
def small_channels_are_on_in_legacy_inference(ask: Any, params: Params) -> Answer:
    if is_about(params, "session", "legacy") and in_inference(params) and not given(params, "enable_small_channel"):
        answer = ask(with_values(params, enable_small_channel=1))
        if "effective" in answer:
            told_value(answer, "enable_small_channel", 1, "default")
        return dict(answer)
    return dict(ask(params))


# files.aoe_cfg.union
def _tuning(text: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return json.dumps(change(found)) if isinstance(found, dict) else text


def _names_beside_a_level(found: Dict[str, Any]) -> Dict[str, Any]:
    if found.get("tune_ops_name") and found.get("tune_optimization_level"):
        return {name: value for name, value in found.items() if name != "tune_ops_type"}
    return found


misreads(
    "timeline",
    "types_are_not_tuned_beside_names_and_a_level",
    "What is listed by name and what by type is tuned, with a level beside them too",
    "aoe_config_file",
    lambda text: _tuning(text, _names_beside_a_level),
    "timeline",
    "compile",
)


# session.op_debug_level.4.files
def _not_described(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    values = asked["values"]
    if _in(values, "op_debug_level") == 4 and isinstance(_in(values, "debug_dir"), str):
        return {name: content for name, content in files.items() if not name.endswith("_compute.json")}
    return files


leaves(
    "level_four_leaves_no_descriptions_in_a_debug_dir",
    "Level 4 leaves descriptions of fusion wherever kernel_meta lies",
    _not_described,
)

# precision.v2.fp16
asks(
    "fp16_is_forced_in_inference_alone",
    "precision_mode_v2=fp16 forces float16 in training, too",
    "precision",
    _where(
        lambda values: _in(values, "precision_mode_v2") == "fp16" and _in(values, "graph_run_mode") != 0,
        without("precision_mode_v2"),
    ),
    "precision",
)


# runconfig.op_compiler_cache_mode.force
@broken("artifacts", "force clears the cache, at whatever place it lies", "compile")
def a_cache_of_the_environment_is_not_cleared(ask: Any, params: Params) -> Answer:
    everywhere = [params.get("env", {}), *((one.get("env") or {}) for one in params.get("turns") or ())]
    if not any("ASCEND_CACHE_PATH" in env for env in everywhere):
        return dict(ask(params))
    if any(isinstance(_in(values, "op_compiler_cache_dir"), str) for values in asked_values(params)):
        return dict(ask(params))
    return dict(
        ask(all_values(params, mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)))
    )


# in_out_pair.multi_out
asks(
    "a_range_kept_on_the_host_ends_at_its_first_name",
    "All out_nodes of an entry end its range, with the flag False too",
    "partition",
    lambda params: (
        with_pairs(params, lambda pairs: [[one[0], one[1][:1]] for one in pairs])
        if value_of(params, "in_out_pair_flag") is False
        else params
    ),
    "partition",
)


# mixed.purpose.host_fallback
def _calls_offloaded(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    moved = [one["node"] for one in answer["host"] if one.get("reason") == "FUNCTION" and one["node"] in ops]
    calls = [name for name in moved if ops[name].op in ("PartitionedCall", "StatefulPartitionedCall")]
    return to_device(answer, calls) if calls else None


place(
    "a_call_is_offloaded_whatever_it_holds",
    "What the device cannot run stays on the host, in a function that is called too",
    _calls_offloaded,
)


# session.dynamic_dims.count
def _first_counts(params: Params) -> bool:
    profiles, shapes = value_of(params, "dynamic_dims"), value_of(params, "input_shape")
    if not isinstance(profiles, str) or not isinstance(shapes, str):
        return False
    wanted = sum(one.strip() == "-1" for shape in shapes.split(";") for one in shape.rpartition(":")[2].split(","))
    found = [len(one.split(",")) for one in profiles.split(";")]
    return len(found) > 1 and found[0] == wanted and any(one != wanted for one in found[1:])


accepts(
    "later_profiles_may_have_another_count",
    "Every profile has as many values as input_shape has -1",
    "dynamic_dims",
    _first_counts,
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)


# session.op_compiler_cache_mode.enable
@broken(
    "artifacts", "With the cache no equal kernel is compiled twice, of another model of the session neither", "compile"
)
def the_second_model_takes_nothing_from_the_cache(ask: Any, params: Params) -> Answer:
    answer = copy.deepcopy(ask(params))
    if not params.get("models"):
        return dict(answer)
    alone = ask({**params, "models": []})
    values = dict(params["values"])
    for turn, first, asked in zip(answer["turns"], alone["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        if "rejected" in turn or _in(values, "op_compiler_cache_mode") not in ("enable", "force"):
            continue
        before, later = turn["kernels"][: len(first["kernels"])], turn["kernels"][len(first["kernels"]) :]
        known = {one["kernel"] for one in before}
        again = {one["kernel"] for one in later if one["kernel"] in known and one["origin"] == "reused"}
        for one in later:
            if one["kernel"] in again:
                one["origin"] = "compiled"
        turn["misses"] += len(again)
        turn["hits"] = max(0, turn["hits"] - len(again))
    return dict(answer)


# runconfig.hccl_timeout.example600
@broken("options", "The timeout of the environment is a multiple of 68, too", "options")
def a_timeout_of_the_environment_is_not_rounded(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    seconds = _env(params, "HCCL_EXEC_TIMEOUT")
    told = answer.get("directives", {}).get("timeouts", {})
    if (
        not given(params, "hccl_timeout")
        and seconds.isdigit()
        and told.get("hccl_seconds") == max(int(seconds) // 68, 1) * 68
    ):
        told["hccl_seconds"] = int(seconds)
    return dict(answer)


# session.stream_max_parallel_num.partial
reads_as(
    "one_listed_engine_speaks_for_both_in_inference",
    "An engine that is not listed has one stream",
    "stream_max_parallel_num",
    lambda params, value: (
        f"{value},DNN_V100:2"
        if isinstance(value, str) and in_inference(params) and value.startswith("DNN_VM_TF:") and "," not in value
        else value
    ),
    "options",
    "timeline",
)

# session.op_wait_timeout.unit
reads_as(
    "a_wait_is_in_milliseconds_beside_a_timeout_of_streams",
    "op_wait_timeout is in seconds, whatever the unit of others",
    "op_wait_timeout",
    lambda params, value: (
        max(1, value // 1000)
        if isinstance(value, int) and not isinstance(value, bool) and given(params, "stream_sync_timeout") and value > 1
        else value
    ),
    "options",
    "timeline",
)


# files.mixlist.current.white_add, files.mixlist.current.black_remove
def _removed_first(text: str) -> str:
    try:
        found = json.loads(text)
        gone = set(found["black-list"]["to-remove"])
        found["white-list"]["to-add"] = [one for one in found["white-list"]["to-add"] if one not in gone]
    except (ValueError, KeyError, TypeError):
        return text
    return json.dumps(found)


misreads(
    "precision",
    "what_leaves_the_blocklist_is_gray_at_most",
    "to-add of the trustlist holds of what is taken off the blocklist in the same file, too",
    "modify_mixlist",
    _removed_first,
    "precision",
)


# runconfig.input_fusion_size.boundary_equal
asks(
    "an_input_of_the_default_size_is_not_fused",
    "An input as large as the threshold is fused, with the default threshold too",
    "timeline",
    lambda params: (
        params
        if is_about(params, edition="legacy")
        else all_values(
            params,
            lambda values: (
                values if _in(values, "input_fusion_size") is not None else {**values, "input_fusion_size": 131071}
            ),
        )
    ),
    "timeline",
)


# runconfig.op_compiler_cache_mode.debug_cfg_with_list
@broken("artifacts", "Operators that are listed by type are compiled again, too", "compile")
def operators_listed_by_type_come_from_the_cache(ask: Any, params: Params) -> Answer:
    answer = copy.deepcopy(ask(params))
    listed: Set[str] = set()
    for line in text_of(params, "op_debug_config").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "op_debug_list":
            kinds = [one.strip().partition("::") for one in value.split(",") if "::" in one]
            listed |= {name for _, _, name in kinds}
    ops = {node.name: {"Sum": "ReduceSum"}.get(node.op, node.op) for node in graph_of(params).nodes}
    seen: Set[str] = set()
    for turn in answer["turns"]:
        if "rejected" in turn:
            continue
        for one in turn["kernels"]:
            kinds = {one.get("type"), *(ops[name] for name in one["nodes"] if name in ops)}
            if kinds & listed and one["kernel"] in seen and one["origin"] == "compiled":
                one["origin"] = "reused"
                turn["misses"] -= 1
                turn["hits"] += 1
        seen |= {one["kernel"] for one in turn["kernels"]}
    return dict(answer)


# mixed.partition.order_preserved
def _reads_first(made: Any) -> None:
    nodes = {node.name: node for node in made.node}
    updates = {
        name
        for name, node in nodes.items()
        if node.op in ("Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp")
    }

    def before(name: str, found: Set[str]) -> Set[str]:
        for text in nodes[name].input if name in nodes else ():
            one = source_of(text)
            if one not in found:
                found.add(one)
                before(one, found)
        return found

    for node in made.node:
        waits = [text for text in node.input if text.startswith("^") and text[1:] in updates]
        if node.op not in ("Identity", "ReadVariableOp") or not waits:
            continue
        kept = [text for text in node.input if text not in waits]
        del node.input[:]
        node.input.extend(kept)
        for text in waits:
            if node.name not in before(text[1:], set()) and text[1:] not in before(node.name, set()):
                nodes[text[1:]].input.append(f"^{node.name}")


asks(
    "a_read_does_not_wait_for_an_update_on_the_host",
    "Control edges hold between operators on the host and on the device, of variables on the host too",
    "run",
    lambda params: regraphed(params, _reads_first) if value_is(params, "variable_placement", "Host") else params,
    "run",
)

# session.profiling_options.training_trace.only_on
accepts(
    "traces_of_training_may_be_off_in_inference",
    "training_trace, where it stands, is on",
    "profiling_options",
    lambda params: (
        in_inference(params)
        and '"off"' in str(value_of(params, "profiling_options")).partition('"training_trace"')[2][:10]
    ),
    profiling_options=None,
    profiling_mode=None,
)


# session.input_shape.scalar_zero
denies(
    "a_scalar_behind_a_tensor_is_refused",
    "A scalar is written as 0, at any place of the list",
    "input_shape",
    lambda params: any(
        one.rpartition(":")[2].strip() == "0" for one in str(value_of(params, "input_shape") or "").split(";")[1:]
    ),
)

# mixed.iterations.must_be_one
accepts(
    "mixed_computing_loops_without_preprocessing",
    "In mixed computing iterations_per_loop is 1, whatever enable_data_pre_proc says",
    "iterations_per_loop",
    lambda params: is_mixed(params) and value_of(params, "enable_data_pre_proc") is False,
)


# files.op_cache_ini.autogenerated
def _no_settings(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    if _in(asked["values"], "op_compiler_cache_mode") != "force":
        return files
    return {name: content for name, content in files.items() if not name.endswith("op_cache.ini")}


leaves(
    "force_leaves_no_settings_of_the_cache",
    "op_cache.ini is generated after compilation, in force mode too",
    _no_settings,
)

# session.use_off_line.false_overrides
asks(
    "mixed_computing_is_on_though_off_line_is_not",
    "With use_off_line False nothing runs on the device, in mixed computing neither",
    "run",
    _where(
        lambda values: _in(values, "use_off_line") is False and _in(values, "mix_compile_mode") is True,
        without("use_off_line"),
    ),
    "run",
    "partition",
)


# precision.customize.name_over_type
@broken("precision", "Of an operator that is listed by name and by type the name holds, in whatever order", "precision")
def a_type_behind_a_name_wins(ask: Any, params: Params) -> Answer:
    lines = text_of(params, "customize_dtypes").splitlines()
    ops = ops_of(params)
    told = {one["node"]: one for one in ask(params)["nodes"]}
    dropped = set()
    for place_of, line in enumerate(lines):
        name = line.partition("::")[0].strip()
        if name in ops and not line.startswith(("#", "OpType")):
            kinds = {ops[name].op, told.get(name, {}).get("kernel")}
            rest = [one.split("::")[1] for one in lines[place_of:] if one.startswith("OpType::")]
            later = [one.partition(":")[0].strip() for one in rest]
            if kinds & set(later):
                dropped.add(line)
    if not dropped:
        return dict(ask(params))
    kept = "\n".join(line for line in lines if line not in dropped)
    return dict(ask(texts(params, "customize_dtypes", lambda text: kept)))


# session.dynamic_dims.min_two
accepts(
    "one_profile_is_enough_of_datasets",
    "There is more than one profile, of datasets too",
    "dynamic_dims",
    lambda params: value_is(params, "dynamic_node_type", 0) and ";" not in str(value_of(params, "dynamic_dims")),
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)


# files.aoe_cfg.tune_ops_name
@broken("timeline", "Names of operators to tune are whole, those with a slash too", "timeline", "compile")
def a_tuned_name_may_lack_its_scope(ask: Any, params: Params) -> Answer:
    names = [node.name for node in graph_of(params).nodes]

    def longer(found: Dict[str, Any]) -> Dict[str, Any]:
        listed = found.get("tune_ops_name")
        if not isinstance(listed, list):
            return found
        more = [name for name in names if any(name.endswith(f"/{one}") for one in listed)]
        return {**found, "tune_ops_name": listed + more}

    if not any(given({"values": values}, "aoe_config_file") for values in asked_values(params)):
        return dict(ask(params))
    return dict(ask(texts(params, "aoe_config_file", lambda text: _tuning(text, longer))))


# files.fusion_switch.legacy.sections_independent
def _alone_is_all(text: str) -> str:
    try:
        found = json.loads(text)
        switches = found["Switch"]
        if "GraphFusion" not in switches and switches["UBFusion"].get("ALL") == "off":
            switches["GraphFusion"] = {"ALL": "off"}
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(found)


misreads(
    "artifacts",
    "all_of_one_section_is_all_where_it_stands_alone",
    "ALL of UBFusion leaves the graph's fusion alone, where that section is left out too",
    "fusion_switch_file",
    _alone_is_all,
    "compile",
    "timeline",
)


# runconfig.export_compile_stat.1
@broken(
    "artifacts", "With 1 the result of fusion is written when the program ends normally, in a work path too", "compile"
)
def an_interrupted_program_leaves_results_in_a_work_path(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy":
        return dict(ask(params))
    env, values = dict(params.get("env", {})), dict(params["values"])
    found = []
    for one in params.get("turns") or [{}]:
        env.update(one.get("env") or {})
        values.update(one.get("values") or {})
        stat = _in(values, "export_compile_stat")
        early = env.get("ASCEND_WORK_PATH") and stat in (None, 1)
        found.append({**one, "values": {**(one.get("values") or {}), "export_compile_stat": 2 if early else stat}})
    return dict(ask({**params, "turns": found}))


# session.dump_step.grammar
def _open_end(value: Any) -> Any:
    if not isinstance(value, str) or "|" not in value:
        return value
    items = value.split("|")
    first, dash, last = items[-1].partition("-")
    if dash and last.isdigit() and first.isdigit() and int(last) > int(first):
        items[-1] = f"{first}-{int(last) - 1}" if int(last) - 1 > int(first) else first
    return "|".join(items)


asks(
    "the_last_of_several_ranges_of_steps_lacks_its_end",
    "A range of dump_step holds its last step, wherever it stands",
    "run",
    lambda params: {**params, "values": dumped(dict(params["values"]), mapped("dump_step", _open_end))},
    "run",
)

# session.memory.sum_with_defaults
accepts(
    "variables_alone_may_take_what_graphs_need",
    "The sum counts the default of graph_memory_max_size, too",
    "variable_memory_max_size",
    lambda params: given(params, "variable_memory_max_size") and not given(params, "graph_memory_max_size"),
)


# session.session_device_id.over_env
@broken("options", "session_device_id comes before ASCEND_DEVICE_ID, 0 too", "options", "timeline", "run")
def device_zero_gives_way_to_the_environment(ask: Any, params: Params) -> Answer:
    if not value_is(params, "session_device_id", 0) or not _env(params, "ASCEND_DEVICE_ID"):
        return dict(ask(params))
    return dict(ask(all_values(params, without("session_device_id"))))


# in_out_pair.truncated_names_not_prefixes
@broken("partition", "Names of in_out_pair are whole, of several out_nodes too")
def one_of_several_out_nodes_may_be_a_beginning(ask: Any, params: Params) -> Answer:
    names = [node.name for node in graph_of(params).nodes] if given(params, "in_out_pair") else []

    def whole(text: str) -> str:
        longer = [name for name in names if name.startswith(text)]
        return longer[0] if text not in names and longer else text

    return dict(
        ask(
            with_pairs(
                params,
                lambda pairs: [
                    [one[0], [whole(text) for text in one[1]] if len(one[1]) > 1 else one[1]] for one in pairs
                ],
            )
        )
    )


# session.enable_dump.false
@broken("run", "With enable_dump False nothing is dumped, in online inference neither", "run")
def a_path_alone_dumps_in_inference(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return (
            {**values, "enable_dump": True}
            if _in(values, "enable_dump") is False and values.get("dump_path")
            else values
        )

    return dict(ask({**params, "values": dumped(dict(params["values"]), change)} if in_inference(params) else params))


# session.profiling_mode.false
@broken("run", "With profiling_mode False nothing is profiled, beside mixed computing neither", "run", "timeline")
def options_alone_profile_in_mixed_computing(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        off = _in(values, "profiling_mode") is False and isinstance(_in(values, "profiling_options"), str)
        return {**values, "profiling_mode": True} if off and _in(values, "mix_compile_mode") is True else values

    return dict(ask(all_values(params, change)))


# session.dump_mode.all
@broken("run", "all dumps inputs and outputs, in online inference too", "run")
def inputs_are_not_dumped_in_inference(ask: Any, params: Params) -> Answer:
    change = mapped("dump_mode", lambda value: "output" if value == "all" else value)
    return dict(ask({**params, "values": dumped(dict(params["values"]), change)} if in_inference(params) else params))


# files.dump_output, session.enable_dump.true
@broken("run", "Every step is dumped without dump_step, of a session with another device too", "run")
def another_device_dumps_its_first_step_alone(ask: Any, params: Params) -> Answer:
    device = value_of(params, "session_device_id")

    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        on = _in(values, "enable_dump") is True and _in(values, "dump_step") is None
        return {**values, "dump_step": "0"} if on else values

    return dict(ask({**params, "values": dumped(dict(params["values"]), change)} if device else params))


# precision.s.force_fp32
_unforced_inside(
    "forced_float32_stops_at_functions",
    "force_fp32 raises the operators in the body of a function, too",
    "force_fp32",
    "float32",
    "float16",
)


# precision.allow_fp32_to_fp16.cube_fp16
def _whole_cubes(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        has_function(node, params)
        and node.get("engine") == "cube"
        and value_is(params, "precision_mode", None, "allow_fp32_to_fp16")
        and not given(params, "precision_mode_v2")
    ):
        retyped(node, "float16", "float32")


node_change(
    "cubes_in_functions_keep_float32",
    "Cube operators use float16, in the body of a function too",
    _whole_cubes,
)

# runconfig.stream_sync_timeout.effect
asks(
    "streams_have_no_timeout_beside_that_of_execution",
    "stream_sync_timeout holds beside op_execute_timeout, too",
    "timeline",
    _where(lambda values: _in(values, "op_execute_timeout") is not None, without("stream_sync_timeout")),
    "timeline",
    "run",
)

# runconfig.jit_compile.auto.dynamic
asks(
    "generalised_shapes_look_for_no_binary",
    "With auto a binary is looked for where shapes are dynamic, generalised ones too",
    "artifacts",
    _where(
        lambda values: _in(values, "compile_dynamic_mode") is True and _in(values, "jit_compile") in (None, "auto"),
        lambda values: {**values, "jit_compile": "true"},
    ),
    "compile",
)

# runconfig.ac_parallel_enable.streams
asks(
    "engines_share_a_stream_beside_given_numbers",
    "Operators of the AI CPU have a stream of their own with ac_parallel_enable, whatever stream_max_parallel_num says",
    "timeline",
    _where(lambda values: _in(values, "stream_max_parallel_num") is not None, without("ac_parallel_enable")),
    "timeline",
)
