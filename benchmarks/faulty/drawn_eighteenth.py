"""Faulty backends drawn from the inventory and written blind: without a look at cases, laws or other lists.

Requirements were shuffled (seed 20261201) and gone through in that order; of each, what came to mind first was
written down, and those were skipped of which the protocol has no answer. Frozen before it was asked.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Optional

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
    leaves,
    mapped,
    misreads,
    ops_of,
    place,
    retyped,
    source_of,
    tells,
    text_of,
    to_device,
    to_host,
    told_value,
    types_of,
    value_of,
    where,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError

__all__: List[str] = []

_LEGACY = where("", "legacy")
_CURRENT = where("", "current")


def _hush(answer: Answer, option: str, code: str = "") -> None:
    """No warning of an option is left, or none of this code."""
    answer["warnings"] = [
        one for one in answer["warnings"] if one["option"] != option or code not in ("", one.get("code"))
    ]


def _warn(answer: Answer, option: str, code: str) -> None:
    answer["warnings"] = [*answer["warnings"], {"option": option, "code": code}]


def _defaults_to(
    name: str, sentence: str, option: str, value: Any, when: Callable[[Params], bool], *methods: str
) -> None:
    """An option that nobody gives is as if it were given with this value."""

    def fault(ask: Any, params: Params) -> Answer:
        if given(params, option) or not when(params):
            return dict(ask(params))
        answer = dict(ask(all_values(params, lambda values: {option: value, **values})))
        if "effective" in answer:
            told_value(answer, option, value, "default")
            _hush(answer, option)
        return answer

    fault.__name__ = name
    broken("options", sentence, *methods)(fault)


def _reads(
    name: str,
    sentence: str,
    option: str,
    change: Callable[[Any], Any],
    when: Callable[[Params], bool],
    *methods: str,
) -> None:
    """A value is read as another one in every variant and turn; what is shown is as it was given."""

    def fault(ask: Any, params: Params) -> Answer:
        if not when(params):
            return dict(ask(params))
        told = value_of(params, option)
        answer = dict(ask(all_values(params, mapped(option, change))))
        if told is not None and change(told) != told and "effective" in answer:
            told_value(answer, option, told, "given")
        return answer

    fault.__name__ = name
    broken("options", sentence, *(methods or ("options",)))(fault)


def _profile(text: Any) -> Dict[str, Any]:
    """The text of profiling_options; empty where it is none."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _recast(answer: Answer, params: Params, before: Dict[str, List[str]]) -> None:
    """The casts anew, where dtypes of operators were changed; `before` has the inputs that they had."""
    ops, nodes = ops_of(params), {node["node"]: node for node in answer["nodes"]}
    kept = {one["target"]: one for one in answer.get("casts", ())}
    found = []
    for name, node in nodes.items():
        for place_, text in enumerate(one for one in getattr(ops.get(name), "inputs", ()) if not one.startswith("^")):
            target = f"{name}:{place_}"
            if place_ >= len(node["inputs"]):
                continue
            source, slot = source_of(text), int(text.partition(":")[2] or 0)
            wanted = node["inputs"][place_]
            if source in nodes and slot < len(nodes[source]["outputs"]):
                comes = nodes[source]["outputs"][slot]
            else:
                comes = kept[target]["from"] if target in kept else before[name][place_]
            if comes != wanted:
                told = {"source": f"{source}:{slot}", "target": target, "from": comes, "to": wanted}
                found.append({**kept.get(target, {}), **told})
    inside = [one for one in kept.values() if one["target"].rpartition(":")[0] not in ops]
    if "casts" in answer:
        answer["casts"] = [*found, *inside]


def _nodes(name: str, sentence: str, change: Callable[[Dict[str, Any], Params, Any], Any]) -> None:
    """Dtypes of operators are changed, and casts follow them."""

    def edit(answer: Answer, params: Params) -> None:
        ops = ops_of(params)
        before = {node["node"]: list(node["inputs"]) for node in answer["nodes"]}
        for node in answer["nodes"]:
            change(node, params, ops.get(node["node"]))
        if before != {node["node"]: node["inputs"] for node in answer["nodes"]} or "casts" in answer:
            _recast(answer, params, before)

    changed("precision", name, sentence, edit)


def _asked_turns(params: Params) -> List[Dict[str, Any]]:
    """What each turn of a compilation is asked with, those before it laid under it."""
    values: Dict[str, Any] = dict(params.get("values", {}))
    env: Dict[str, Any] = dict(params.get("env", {}))
    files: Dict[str, Any] = dict(params.get("files", {}))
    found = []
    for turn in params.get("turns") or [{}]:
        values, env = {**values, **(turn.get("values") or {})}, {**env, **(turn.get("env") or {})}
        files = {**files, **(turn.get("files") or {})}
        found.append({**params, "values": values, "env": env, "files": files})
    return found


def _leaves(name: str, sentence: str, change: Callable[[Files, Params], Files]) -> None:
    """What a turn leaves is changed, which is asked with all that holds of it."""

    def edit(answer: Answer, params: Params) -> None:
        for turn, asked in zip(answer["turns"], _asked_turns(params)):
            for key in ("files", "left"):
                if turn.get(key) and "rejected" not in turn:
                    turn[key] = change(turn[key], asked)

    changed("artifacts", name, sentence, edit, "compile")


# session.stream_max_parallel_num.range_aicpu
def _ai_cpu_streams(params: Params) -> bool:
    found = re.search(r"DNN_VM_TF:(\d+)", str(value_of(params, "stream_max_parallel_num")))
    return _LEGACY(params) and found is not None and int(found.group(1)) > 13


accepts(
    "takes_more_than_thirteen_streams_of_the_ai_cpu",
    "AI CPU parallelism range is [1,13]",
    "stream_max_parallel_num",
    _ai_cpu_streams,
)


# runconfig.hccl_timeout.example600
def _rounded_up(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 17340 or not value % 68:
        return value
    return min((value // 68 + 1) * 68 + 1, 17340)


asks(
    "rounds_a_collective_timeout_up",
    "600 is 544 (8 * 68)",
    "options",
    lambda params: all_values(params, mapped("hccl_timeout", _rounded_up)) if _CURRENT(params) else params,
    "options",
    "timeline",
)


# session.buffer_optimize.l2
@broken("options", "l2_optimize, the default, turns buffer optimisation on", "options", "timeline")
def buffers_are_optimised_only_where_that_is_asked_for(ask: Any, params: Params) -> Answer:
    if given(params, "buffer_optimize"):
        return dict(ask(params))
    if "graph" in params:
        return dict(ask(all_values(params, lambda values: {"buffer_optimize": "off_optimize", **values})))
    answer = dict(ask(params))
    answer["directives"] = {**answer["directives"], "buffer_optimize": "off"}
    return answer


# runconfig.optypelist_for_implmode.example
_reads(
    "of_a_list_of_types_the_first_alone_gets_the_mode",
    'optypelist_for_implmode="Pooling,SoftmaxV2" names both',
    "optypelist_for_implmode",
    lambda value: value.split(",")[0] if isinstance(value, str) else value,
    lambda params: True,
    "options",
    "precision",
    "compile",
    "timeline",
)


# session.profiling_options.inference.supported
def _without_aicpu(value: Any) -> Any:
    found = _profile(value)
    return json.dumps({**found, "aicpu": "off"}) if found.get("aicpu") == "on" else value


_reads(
    "the_ai_cpu_is_not_profiled_in_online_inference",
    "Online inference supports task_trace and aicpu",
    "profiling_options",
    _without_aicpu,
    lambda params: _LEGACY(params) and in_inference(params),
    "options",
    "timeline",
    "run",
)


# mixed.zh.not_offline_compilable
def _python_alone(answer: Answer, params: Params) -> Optional[Answer]:
    if not _LEGACY(params):
        return None
    python = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
    moved = [
        one["node"] for one in answer["host"] if one.get("reason") == "NOT_SUPPORTED" and one.get("op") not in python
    ]
    return to_device(answer, moved)


place(
    "python_functions_alone_stay_on_the_host_in_legacy",
    "Mixed mode leaves operators that cannot be compiled offline to the frontend",
    _python_alone,
)

# mixed.zh.enable
accepts(
    "takes_mix_compile_mode_as_a_text",
    "mix_compile_mode is a bool of the parameter map",
    "mix_compile_mode",
    lambda params: is_about(params, "session", "legacy") and value_of(params, "mix_compile_mode") in ("True", "true"),
    mix_compile_mode=True,
)


# files.op_debug_config.oom.files
def _debug_words(params: Params) -> List[str]:
    found = re.search(r"op_debug_config\s*=\s*(.*)", text_of(params, "op_debug_config"))
    return [one.strip() for one in found.group(1).split(",")] if found else []


def _no_descriptions(files: Files, asked: Params) -> Files:
    words = _debug_words(asked)
    others = {"dump_cce", "dump_loc", "check_flag", "dump_bin"}
    if "oom" not in words or others & set(words) or value_of(asked, "op_debug_level"):
        return files
    return {name: file for name, file in files.items() if not ("kernel_meta/" in name and name.endswith(".json"))}


_leaves("oom_keeps_no_descriptions", "oom keeps .o and .json in kernel_meta", _no_descriptions)


# in_out_pair.needs_mix
@broken("partition", "in_out_pair belongs to mixed computing", "partition", "options")
def in_out_pair_turns_mixed_computing_on(ask: Any, params: Params) -> Answer:
    if not given(params, "in_out_pair") or value_of(params, "mix_compile_mode") is True:
        return dict(ask(params))
    answer = dict(ask(all_values(params, lambda values: {**values, "mix_compile_mode": True})))
    if "effective" in answer:
        told_value(answer, "mix_compile_mode", True, "forced")
    return answer


# mixed.iterations.must_be_one
@broken(
    "options",
    "Iteration offload is not supported in mixed computing",
    "options",
    "partition",
    "precision",
    "timeline",
    "compile",
)
def iterations_of_mixed_computing_are_taken_for_one(ask: Any, params: Params) -> Answer:
    iterations = value_of(params, "iterations_per_loop")
    if not _CURRENT(params) or value_of(params, "mix_compile_mode") is not True or not isinstance(iterations, int):
        return dict(ask(params))
    if isinstance(iterations, bool) or iterations < 2:
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("iterations_per_loop", lambda value: 1))))
    if "effective" in answer:
        told_value(answer, "iterations_per_loop", 1, "forced")
    return answer


# precision.s.gray_follow_both_ways
def _always_lowered(node: Dict[str, Any], params: Params, op: Any) -> None:
    mixed = value_of(params, "precision_mode") == "allow_mix_precision"
    if _LEGACY(params) and mixed and node.get("list") == "graylist" and node.get("engine") == "vector":
        retyped(node, "float32", "float16")


_nodes(
    "graylist_operators_are_always_lowered_in_legacy",
    "If the previous operator may not be lowered, neither may this one",
    _always_lowered,
)


# in_out_pair.no_path
def _range_of_its_own(answer: Answer, params: Params) -> Optional[Answer]:
    notes = answer.get("notes", [])
    names = [one["subject"] for one in notes if one["code"] == "RANGE_NO_PATH"]
    if not names or value_of(params, "in_out_pair_flag") is not False:
        return None
    found = to_host(answer, names, "RANGE_INSIDE")
    found["notes"] = [one for one in notes if one["code"] not in ("RANGE_NO_PATH", "RANGE_EMPTY")]
    return found


place(
    "names_without_a_path_are_a_range_of_their_own",
    "If no path leads from an in_node to an out_node there is no range",
    _range_of_its_own,
)

# session.in_out_pair.scope
tells(
    "nobody_hears_that_in_out_pair_is_for_inference",
    "in_out_pair applies to online inference only",
    lambda answer, params: _hush(answer, "in_out_pair", "inference_only"),
)

# files.customize_dtypes.by_type
misreads(
    "precision",
    "customised_types_are_taken_by_name_alone",
    "By type: OpType::TypeName:InputDtype:...OutputDtype:...",
    "customize_dtypes",
    lambda text: "".join(line for line in text.splitlines(True) if not line.strip().startswith("OpType::")),
    "options",
    "precision",
    "timeline",
    "compile",
)


# session.op_select_implmode.default
def _no_mode(answer: Answer) -> None:
    if "directives" in answer:
        answer["directives"]["implementation"]["others"] = None
    for node in answer.get("nodes", ()):
        node["impl_mode"] = None


def _no_default_mode(answer: Answer, params: Params) -> None:
    if not _LEGACY(params) or given(params, "op_select_implmode") or given(params, "op_precision_mode"):
        return
    if "effective" in answer:
        told_value(answer, "op_select_implmode", None, "default")
    _no_mode(answer)


changed(
    "options",
    "legacy_has_no_implementation_mode_by_default",
    "When unset, op_select_implmode is high_performance",
    _no_default_mode,
    "options",
    "precision",
)


# runconfig.variable_format_optimize.example
def _is_number(params: Params, option: str) -> bool:
    value = value_of(params, option)
    return isinstance(value, int) and not isinstance(value, bool)


accepts(
    "variable_format_optimize_takes_a_number",
    "variable_format_optimize is a bool",
    "variable_format_optimize",
    lambda params: _CURRENT(params) and _is_number(params, "variable_format_optimize"),
    variable_format_optimize=True,
)

# runconfig.aoe_config_file.type
accepts(
    "the_file_of_what_is_tuned_need_not_be_there",
    "aoe_config_file is the path and name of a file",
    "aoe_config_file",
    lambda params: (
        isinstance(value_of(params, "aoe_config_file"), str)
        and value_of(params, "aoe_config_file") not in params.get("files", {})
    ),
)


# session.profiling_options.fp_point.required
def _backward_alone(params: Params) -> bool:
    found = _profile(value_of(params, "profiling_options"))
    return bool(found.get("training_trace") == "on" and found.get("bp_point") and not found.get("fp_point"))


accepts(
    "the_backward_point_is_enough_for_a_trace",
    "fp_point has to be configured when training_trace is on",
    "profiling_options",
    lambda params: _LEGACY(params) and _backward_alone(params),
    profiling_options=None,
    profiling_mode=None,
)

# runconfig.enable_small_channel.type
accepts(
    "enable_small_channel_takes_a_bool",
    "enable_small_channel is an int",
    "enable_small_channel",
    lambda params: isinstance(value_of(params, "enable_small_channel"), bool),
    enable_small_channel=1,
)


# runconfig.hccl_timeout.over_env
def _longer(params: Params) -> Params:
    text = str(params.get("env", {}).get("HCCL_EXEC_TIMEOUT", ""))
    if not _CURRENT(params) or not text.isdigit():
        return params

    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        value = value_of({"values": values}, "hccl_timeout")
        return without("hccl_timeout")(values) if isinstance(value, int) and value < int(text) else values

    return all_values(params, change)


asks(
    "the_longer_of_both_collective_timeouts_counts",
    "hccl_timeout beats HCCL_EXEC_TIMEOUT",
    "options",
    _longer,
    "options",
    "timeline",
)

# session.in_out_pair.example
asks(
    "the_first_out_node_of_a_range_alone_counts",
    "A range may have several out nodes",
    "partition",
    lambda params: with_pairs(params, lambda pairs: [[one[0], one[1][:1]] for one in pairs]),
    "partition",
)

# files.fusion_switch.current.grammar
misreads(
    "options",
    "fusion_switches_are_read_in_any_case",
    "A pattern is on or off",
    "fusion_switch_file",
    lambda text: re.sub(r'"(on|off)"', lambda found: found.group(0).lower(), text, flags=re.IGNORECASE),
    "options",
    "compile",
    "timeline",
)


# session.profiling_mode.scope
@broken("options", "profiling_mode applies to training and online inference", "options", "timeline", "run")
def profiling_mode_is_for_training_alone(ask: Any, params: Params) -> Answer:
    wanted = value_of(params, "profiling_mode") is True
    if not _LEGACY(params) or not in_inference(params) or not wanted:
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("profiling_mode", lambda value: False))))
    if "effective" in answer:
        told_value(answer, "profiling_mode", False, "forced")
        _warn(answer, "profiling_mode", "training_only")
    return answer


# in_out_pair.unknown_node
def _known_alone(params: Params) -> Params:
    if "graph" not in params or not given(params, "in_out_pair"):
        return params
    names = {node.name for node in graph_of(params).nodes}

    def known(pairs: List[Any]) -> List[Any]:
        found = [[[name for name in side if name in names] for side in pair] for pair in pairs]
        return found if all(side for pair in found for side in pair) else pairs

    return with_pairs(params, known)


asks(
    "unknown_names_of_a_range_are_passed_over",
    "A name that is not in the graph cannot define a range",
    "partition",
    _known_alone,
    "partition",
)


# runconfig.enable_small_channel.training_default
_defaults_to(
    "small_channels_are_on_in_training_too",
    "Training: off by default",
    "enable_small_channel",
    1,
    lambda params: _CURRENT(params) and not in_inference(params),
    "options",
    "timeline",
)

# session.hcom_parallel.default
_defaults_to(
    "legacy_sums_gradients_beside_computing_by_default",
    "When unset, hcom_parallel is False",
    "hcom_parallel",
    True,
    _LEGACY,
    "options",
    "timeline",
)


# mixed.retain.example_add_mul_host
def _last_of_the_scope(answer: Answer, params: Params) -> Answer:
    held = {one["node"] for one in answer["host"] if one.get("reason") == "SCOPE"}
    ops = ops_of(params)
    sources = {source_of(text) for name in held if name in ops for text in ops[name].inputs}
    return to_device(answer, sorted(held & sources))


place(
    "of_operators_in_the_scope_the_last_alone_stays",
    "The tf.add and the tf.multiply built inside without_npu_compile_scope are not offloaded",
    _last_of_the_scope,
)

# runconfig.quant_dumpable.type
accepts(
    "quant_dumpable_takes_a_number",
    "quant_dumpable is a str",
    "quant_dumpable",
    lambda params: _is_number(params, "quant_dumpable"),
    quant_dumpable="1",
)

# session.auto_tune_mode.scope
tells(
    "nobody_hears_that_auto_tuning_is_for_training",
    "auto_tune_mode applies to training only",
    lambda answer, params: _hush(answer, "auto_tune_mode", "training_only"),
)

# session.dump_debug_mode.unsupported
tells(
    "nobody_hears_that_dump_debug_mode_is_unsupported",
    "dump_debug_mode is listed but not supported",
    lambda answer, params: _hush(answer, "dump_debug_mode", "unsupported"),
)

# in_out_pair.value_format
_reads(
    "a_range_may_be_written_as_tuples",
    "The value is a list of entries, each entry a list [in_nodes, out_nodes]",
    "in_out_pair",
    lambda value: value.replace("(", "[").replace(")", "]") if isinstance(value, str) else value,
    lambda params: True,
    "options",
    "partition",
)

# runconfig.dynamic_inputs_shape_range.example_counts
denies(
    "a_blank_before_a_comma_of_a_range_is_refused",
    'The example is "getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]"',
    "dynamic_inputs_shape_range",
    lambda params: _CURRENT(params) and " ," in str(value_of(params, "dynamic_inputs_shape_range")),
)


# runconfig.op_select_implmode.example
def _mode_without_types(answer: Answer, params: Params) -> None:
    beside = given(params, "optypelist_for_implmode") or given(params, "op_precision_mode")
    if given(params, "op_select_implmode") and not beside:
        _no_mode(answer)


changed(
    "options",
    "an_implementation_mode_without_types_does_nothing",
    "op_select_implmode selects the implementation of certain operators",
    _mode_without_types,
    "options",
    "precision",
)


# runconfig.aoe_mode.over_env
def _tuned_by_env(params: Params) -> Params:
    told = any("AOE_MODE" in (one.get("env") or {}) for one in [params, *(params.get("turns") or ())])
    return all_values(params, without("aoe_mode")) if _CURRENT(params) and told else params


asks(
    "the_variable_of_tuning_beats_the_script",
    "The script setting has priority over AOE_MODE",
    "options",
    _tuned_by_env,
    "options",
    "compile",
    "timeline",
)

# runconfig.enable_data_pre_proc.default
_defaults_to(
    "getnext_stays_on_the_host_by_default_on_runconfig",
    "When the argument is omitted, enable_data_pre_proc is True",
    "enable_data_pre_proc",
    False,
    where("runconfig", "current"),
    "options",
    "partition",
    "timeline",
)


# session.op_precision_mode.over_implmode
@broken("options", "When all three are set only op_precision_mode counts", "options", "precision", "compile")
def the_older_options_beat_a_file_of_modes_in_legacy(ask: Any, params: Params) -> Answer:
    both = given(params, "op_precision_mode", "op_select_implmode")
    if not _LEGACY(params) or not both:
        return dict(ask(params))
    answer = dict(ask(all_values(params, without("op_precision_mode"))))
    if "effective" in answer:
        told_value(answer, "op_precision_mode", None, "forced")
        _warn(answer, "op_precision_mode", "overridden")
    return answer


# precision.allow_fp32_to_fp16.fp32_unsupported_reduce
def _float32_elsewhere(node: Dict[str, Any], params: Params, op: Any) -> None:
    mode = value_of(params, "precision_mode") or "allow_fp32_to_fp16"
    if not _CURRENT(params) or given(params, "precision_mode_v2") or given(params, "customize_dtypes"):
        return
    if mode == "allow_fp32_to_fp16" and node.get("engine") == "vector" and op is not None:
        lowered = "float16" in node["outputs"] and "float32" not in node["outputs"]
        if lowered and "float32" in types_of(op) and "float16" not in types_of(op):
            retyped(node, "float16", "float32")
            node["engine"] = "aicpu"


_nodes(
    "vector_operators_without_float32_go_to_the_ai_cpu",
    "Operators that do not support float32 are reduced to float16",
    _float32_elsewhere,
)

# in_out_pair.session.default_true
_defaults_to(
    "ranges_stay_on_the_host_by_default",
    "in_out_pair_flag is True when unset",
    "in_out_pair_flag",
    False,
    _LEGACY,
    "options",
    "partition",
)


# runconfig.quant_dumpable.inference_only
def _quant_in_training(answer: Answer, params: Params) -> None:
    value = value_of(params, "quant_dumpable")
    if _CURRENT(params) and not in_inference(params) and value is not None:
        told_value(answer, "quant_dumpable", value, "given")
        _hush(answer, "quant_dumpable", "inference_only")


tells("quant_dumpable_is_for_training_too", "It applies to online inference only", _quant_in_training)


# env.ASCEND_WORK_PATH.uses
def _weights_here(answer: Answer, params: Params) -> None:
    def here(name: str) -> str:
        return name[name.index("tmp_weight_") :] if "tmp_weight_" in name else name

    for turn in answer["turns"]:
        for key in ("files", "left"):
            if turn.get(key):
                turn[key] = {here(name): file for name, file in turn[key].items()}
        for one in turn.get("constants") or ():
            if one.get("file"):
                one["file"] = here(one["file"])


changed(
    "artifacts",
    "external_weights_lie_in_the_current_directory_whatever",
    "ASCEND_WORK_PATH redirects weight files",
    _weights_here,
    "compile",
)

# files.aoe_cfg.level_domain
misreads(
    "options",
    "levels_of_tuning_go_on_to_three",
    "tune_optimization_level is O1 or O2",
    "aoe_config_file",
    lambda text: text.replace('"O3"', '"O2"'),
    "options",
    "compile",
    "timeline",
)


# session.hcom_parallel.true
asks(
    "legacy_sums_gradients_after_computing_whatever",
    "True: AllReduce gradient update runs in parallel with forward/backward",
    "timeline",
    lambda params: all_values(params, mapped("hcom_parallel", lambda value: False)) if _LEGACY(params) else params,
    "timeline",
)

# precision.v2.domain
_OLDER = {
    "force_fp16": "fp16",
    "must_keep_origin_dtype": "origin",
    "force_fp32": "cube_fp16in_fp32out",
    "allow_mix_precision": "mixed_float16",
    "allow_mix_precision_fp16": "mixed_float16",
}
_reads(
    "precision_mode_v2_takes_the_older_names",
    "Values: fp16, origin, cube_fp16in_fp32out, mixed_float16",
    "precision_mode_v2",
    lambda value: _OLDER.get(value, value) if isinstance(value, str) else value,
    _CURRENT,
    "options",
    "precision",
)

# runconfig.dynamic_inputs_shape_range.keywords
_reads(
    "keywords_of_ranges_are_read_in_any_case",
    "getnext is of dataset inputs, data of placeholder inputs, and nothing else is allowed",
    "dynamic_inputs_shape_range",
    lambda value: value.lower() if isinstance(value, str) else value,
    lambda params: True,
    "options",
)


# session.profiling_options.output.permission
def _writable(params: Params) -> Params:
    output = _profile(value_of(params, "profiling_options")).get("output")
    if not _LEGACY(params) or not isinstance(output, str) or not params.get("files"):
        return params
    name = output.rstrip("/") + "/"
    files = {
        key: {**file, "access": "rw"} if key == name and isinstance(file, dict) and "access" in file else file
        for key, file in params["files"].items()
    }
    return {**params, "files": files}


asks(
    "profiles_ask_nobody_whether_they_may_be_written",
    "The run user must have read and write permission on it",
    "options",
    _writable,
    "options",
    "timeline",
    "run",
)

# runconfig.enable_exception_dump.default
_defaults_to(
    "exceptions_are_dumped_in_full_by_default",
    "When the argument is omitted, enable_exception_dump is 2",
    "enable_exception_dump",
    1,
    _CURRENT,
    "options",
    "run",
)

# runconfig.mix_compile_mode.session_equivalence
asks(
    "runconfig_takes_mixed_computing_for_nothing",
    "The RunConfig argument and the session key mean the same thing",
    "partition",
    lambda params: all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig") else params,
    "partition",
    "options",
    "precision",
    "timeline",
)


# runconfig.dynamic_inputs_shape_range.order
def _backwards(answer: Answer, params: Params) -> None:
    told = [answer.get("meaning", {}).get("dynamic_inputs_shape_range"), answer.get("directives", {}).get("shapes")]
    for one in told:
        if _CURRENT(params) and isinstance(one, dict) and isinstance(one.get("getnext"), list):
            one["getnext"] = one["getnext"][::-1]


tells("ranges_of_a_dataset_are_read_backwards", "The first range is of x, the second of y", _backwards)


# session.profiling_mode.false
@broken("timeline", "False: profiling is off", "timeline", "run")
def profiling_options_alone_make_a_profile(ask: Any, params: Params) -> Answer:
    off = value_of(params, "profiling_mode") in (None, False)
    if not _LEGACY(params) or not off or not given(params, "profiling_options"):
        return dict(ask(params))
    try:
        return dict(ask(all_values(params, lambda values: {**values, "profiling_mode": True})))
    except NpuError:
        return dict(ask(params))


# session.dynamic_input.true
def _fixed(answer: Answer, params: Params) -> None:
    shapes = answer.get("directives", {}).get("shapes", {})
    if shapes.get("kind") == "dynamic" and value_of(params, "dynamic_input") is True:
        answer["directives"]["shapes"] = {"kind": "fixed"}


tells("a_dynamic_input_without_ranges_is_fixed", "True: inputs are dynamic", _fixed)


# session.dynamic_dims.count
def _cut(params: Params) -> Params:
    wanted = len(re.findall(r"-1", str(value_of(params, "input_shape"))))
    if not wanted or not _LEGACY(params):
        return params

    def change(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return ";".join(",".join(one.split(",")[:wanted]) for one in value.split(";"))

    return all_values(params, mapped("dynamic_dims", change))


@broken("options", "Each profile must have exactly as many values as there are -1", "options", "timeline", "compile")
def sizes_of_a_profile_that_are_too_many_are_cut(ask: Any, params: Params) -> Answer:
    answer = dict(ask(_cut(params)))
    if "effective" in answer:
        told = value_of(params, "dynamic_dims")
        if told is not None:
            told_value(answer, "dynamic_dims", told)
    return answer


# session.memory.sum_31g
def _in_32(params: Params) -> bool:
    told = [value_of(params, f"{one}_memory_max_size") for one in ("graph", "variable")]
    sizes = [int(one) if one is not None else size for one, size in zip(told, (26 << 30, 5 << 30))]
    return _LEGACY(params) and sum(sizes) <= 32 << 30


@broken("options", "graph_memory_max_size + variable_memory_max_size may not exceed 31 G", "options", "timeline")
def thirty_two_gigabytes_of_memory_may_be_asked_for(ask: Any, params: Params) -> Answer:
    names = ("graph_memory_max_size", "variable_memory_max_size")
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject not in names or error.code != "OPTION_CONFLICT" or not _in_32(params):
            raise
        answer = dict(ask(all_values(params, without(*names))))
        for one in names:
            if "effective" in answer and given(params, one):
                told_value(answer, one, value_of(params, one), "given")
        return answer


# runconfig.ac_parallel_enable.type
accepts(
    "ac_parallel_enable_takes_a_number",
    "ac_parallel_enable is a str",
    "ac_parallel_enable",
    lambda params: _is_number(params, "ac_parallel_enable"),
    ac_parallel_enable="1",
)

# runconfig.variable_placement.domain
_reads(
    "places_of_variables_are_read_in_any_case",
    "Values Device and Host, as written",
    "variable_placement",
    lambda value: value.capitalize() if isinstance(value, str) else value,
    _CURRENT,
    "options",
    "partition",
    "timeline",
)


# session.profiling_options.task_trace.junk_is_off
def _junk_is_on(value: Any) -> Any:
    found = _profile(value)
    return json.dumps({**found, "task_trace": "on"}) if found.get("task_trace", "off") not in ("on", "off") else value


_reads(
    "a_trace_of_tasks_that_is_not_off_is_on",
    "Any other task_trace value is treated as off",
    "profiling_options",
    _junk_is_on,
    _LEGACY,
    "options",
    "timeline",
    "run",
)

# runconfig.deterministic.domain
accepts(
    "deterministic_takes_a_bool",
    "Values 0 and 1",
    "deterministic",
    lambda params: isinstance(value_of(params, "deterministic"), bool),
    deterministic=1,
)


# files.kernel_cache.subdir
def _beside(files: Files, asked: Any) -> Files:
    def moved(name: str) -> str:
        before, found, after = name.rpartition("/kernel_cache/")
        return f"{before}/{after}" if found else name

    return {moved(name): file for name, file in files.items()}


leaves(
    "cached_kernels_lie_beside_their_settings",
    "Cache data is kept in a kernel_cache sub-directory of the configured directory",
    _beside,
)

# session.dynamic_dims.grammar
_reads(
    "a_semicolon_may_end_the_profiles",
    "profile (';' profile)*",
    "dynamic_dims",
    lambda value: value[:-1] if isinstance(value, str) and value.endswith(";") else value,
    _LEGACY,
    "options",
)

# session.profiling_options.training_trace.optional
denies(
    "a_profile_needs_a_trace_of_iterations",
    "training_trace is optional",
    "profiling_options",
    lambda params: (
        _LEGACY(params)
        and value_of(params, "profiling_mode") is True
        and "training_trace" not in _profile(value_of(params, "profiling_options"))
    ),
)

# mixed.session.use_off_line_implicit
_defaults_to(
    "a_session_has_to_ask_for_the_device",
    "The snippets never set use_off_line, so device execution is the default",
    "use_off_line",
    False,
    where("session", "current"),
    "options",
    "partition",
)


# runconfig.dump_config.class
def _other_class(params: Params) -> bool:
    value = params["values"].get("dump_config")
    return isinstance(value, dict) and value.get("class") not in (None, "DumpConfig")


accepts(
    "any_object_of_configuration_is_one_of_dumps",
    "dump_config takes a DumpConfig instance",
    "dump_config",
    _other_class,
)


# session.op_compiler_cache_mode.debug_level_gate
@broken("artifacts", "Caching works with op_debug_level 0 or 3", "compile", "options")
def legacy_caches_nothing_where_kernels_are_kept(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        kept = value_of({"values": {**params["values"], **values}}, "op_debug_level") == 3
        return mapped("op_compiler_cache_mode", lambda value: "disable")(values) if kept else values

    if not _LEGACY(params):
        return dict(ask(params))
    answer = dict(ask(all_values(params, change)))
    mode = value_of(params, "op_compiler_cache_mode")
    if "effective" in answer and mode in ("enable", "force") and value_of(params, "op_debug_level") == 3:
        told_value(answer, "op_compiler_cache_mode", "disable", "forced")
        _warn(answer, "op_compiler_cache_mode", "overridden")
    return answer


# in_out_pair.truncated_names_not_prefixes
def _whole(params: Params) -> Params:
    if "graph" not in params or not given(params, "in_out_pair"):
        return params
    names = [node.name for node in graph_of(params).nodes]

    def whole(name: str) -> str:
        found = [one for one in names if one.startswith(name)]
        return found[0] if name not in names and len(found) == 1 else name

    return with_pairs(params, lambda pairs: [[[whole(name) for name in side] for side in pair] for pair in pairs])


asks(
    "the_beginning_of_a_name_is_enough_for_a_range",
    "Names are matched whole, not as prefixes",
    "partition",
    _whole,
    "partition",
)


# session.op_compiler_cache_dir.created
@broken("artifacts", "If it does not exist but is valid, it is created first", "compile", "options")
def legacy_does_not_make_a_cache_directory(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    asked = _asked_turns(params)[0]
    path, mode = value_of(asked, "op_compiler_cache_dir"), value_of(asked, "op_compiler_cache_mode")
    if _LEGACY(params) and isinstance(path, str) and mode in ("enable", "force"):
        inside = path.rstrip("/") + "/"
        if not any(f"{name}/".startswith(inside) for name in asked["files"]):
            raise NpuError("OPTION_FILE", "op_compiler_cache_dir", "the directory does not exist")
    return answer


# session.local_device_list.grammar
_reads(
    "a_comma_may_end_the_list_of_devices",
    "Comma separated device numbers",
    "local_device_list",
    lambda value: value[:-1] if isinstance(value, str) and value.endswith(",") else value,
    lambda params: True,
    "options",
    "timeline",
)

# runconfig.stream_sync_timeout.minus_one
denies(
    "a_stream_has_to_have_a_timeout_where_one_is_given",
    "-1: no timeout",
    "stream_sync_timeout",
    lambda params: _CURRENT(params) and value_of(params, "stream_sync_timeout") == -1,
)


# files.external_weight.cleanup
def _weights_stay(answer: Answer, params: Params) -> None:
    for turn in answer["turns"]:
        if "rejected" not in turn and turn.get("files") is not None and turn.get("left") is not None:
            kept = {name: file for name, file in turn["files"].items() if "tmp_weight_" in name}
            turn["left"] = {**kept, **turn["left"]}


changed(
    "artifacts",
    "external_weights_stay_when_the_program_ends",
    "The directory is deleted automatically when the model is unloaded",
    _weights_stay,
    "compile",
)


# files.fusion_result.keys
def _no_repository(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _no_repository(one) for key, one in value.items() if key != "repository_hit_times"}
    return [_no_repository(one) for one in value] if isinstance(value, list) else value


def _uncounted(files: Files, asked: Any) -> Files:
    return {
        name: encoded(json.dumps(_no_repository(json.loads(decoded(file))), indent=4))
        if name.endswith("fusion_result.json") and "b64" in file
        else file
        for name, file in files.items()
    }


leaves(
    "fusion_results_count_no_hits_of_a_repository",
    "Keys: match_times, effect_times, repository_hit_times",
    _uncounted,
)


# session.dynamic_dims.order
_reads(
    "sizes_of_a_profile_are_read_backwards",
    "Values in a profile map to the -1 positions of input_shape in order of appearance",
    "dynamic_dims",
    lambda value: (
        ";".join(",".join(one.split(",")[::-1]) for one in value.split(";")) if isinstance(value, str) else value
    ),
    _LEGACY,
    "options",
    "timeline",
    "compile",
)


# runconfig.op_wait_timeout.default
@broken("options", "When the argument is omitted, op_wait_timeout is 120", "options", "timeline")
def operators_wait_for_ever_by_default(ask: Any, params: Params) -> Answer:
    if not _CURRENT(params) or given(params, "op_wait_timeout"):
        return dict(ask(params))
    if "graph" in params:
        return dict(ask(all_values(params, lambda values: {"op_wait_timeout": (1 << 31) - 1, **values})))
    answer = dict(ask(params))
    told_value(answer, "op_wait_timeout", None, "default")
    answer["directives"]["timeouts"]["op_wait_seconds"] = None
    return answer
