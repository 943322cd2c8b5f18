"""A tenth draw: a requirement and a condition, both drawn; the mistake shows where the two meet.

Of 75 pairs that seed 2310 drew out of all 1103 requirements and forty conditions, written down before: another
option, inference, the other edition, each surface, float16, other dtypes, a control edge, a function, a loop, a branch,
a form of name, a count, a placement by a directive, another order, what is empty, the second of two, the last of
several, a second time in one session, a border, dumps, profiling, a precision mode, mixed computing, a cache, tuning,
blanks or line ends, a variable, a relative path, an unknown shape, a scalar, a string or resource, a launched rank,
several graphs, a default that is given, a deprecated option, a failing operator, some steps, a zero, a fetch. 22 made
no sense (a name's form and the 31 G, say). Each mistake names its pair by number.
"""

from __future__ import annotations

import copy
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
    changed,
    defaults,
    denies,
    given,
    graph_of,
    in_inference,
    is_about,
    judged_partition,
    left,
    mapped,
    misreads,
    named_by,
    offloaded,
    plain,
    readers_of,
    regraphed,
    retyped,
    source_of,
    steps,
    tells,
    texts,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import infer_shapes

_HALF, _FLOAT = "float16", "float32"
_DEPRECATED = ("op_debug_level", "op_select_implmode", "variable_format_optimize", "enable_data_pre_proc")


def _deprecated(params: Params) -> bool:
    return is_about(params, edition="current") and any(given(params, name) for name in _DEPRECATED)


def _ranked(params: Params) -> bool:
    return "RANK_SIZE" in params.get("env", {}) or "RANK_ID" in params.get("env", {})


def _whole(params: Params) -> Any:
    """The request's graph as it stands, None where it has none that can be read."""
    try:
        return graph_of({**params, "feeds": [], "fetches": []}) if "graph" in params else None
    except NpuError:
        return None


def _holds(params: Params, *dtypes: str) -> bool:
    """Whether an operator of the graph has one of these dtypes."""
    graph = _whole(params)
    return graph is not None and any(
        getattr(node.attrs[key], "name", "") in dtypes for node in graph.nodes for key in node.attrs
    )


def _has_op(params: Params, *ops: str) -> bool:
    graph = _whole(params)
    return graph is not None and any(node.op in ops for node in graph.nodes)


def _revalued(
    area: str,
    name: str,
    sentence: str,
    change: Callable[[Dict[str, Any]], Dict[str, Any]],
    when: Callable[[Params], bool],
    *methods: str,
) -> None:
    """Where `when` holds other values are taken, also of variants and turns."""
    asks(name, sentence, area, lambda params: all_values(params, change) if when(params) else params, *methods)


def _fetched(params: Params) -> List[str]:
    return [source_of(name) for name in params.get("fetches") or ()]


# Precision


@broken("precision", "002: white-list.to-remove takes a type off the white list", "precision")
def what_is_fetched_and_read_is_not_taken_off(ask: Any, params: Params) -> Answer:
    """Pair 2."""
    answer = dict(ask(params))
    found = [name for name in _fetched(params) if name in readers_of(params)]
    if not found or not given(params, "modify_mixlist"):
        return answer
    plainly = dict(ask(with_values(params, modify_mixlist=None)))
    kept = {node["node"]: node for node in plainly["nodes"] if node["node"] in found}
    answer["nodes"] = [
        kept[node["node"]]
        if node["node"] in kept and _HALF in kept[node["node"]]["inputs"] and _HALF not in node["inputs"]
        else node
        for node in answer["nodes"]
    ]
    return answer


def _precise(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for node in answer["nodes"]:
            change(node, params)

    changed("precision", name, sentence, edit)


def _on_the_core(node: Dict[str, Any], when: bool) -> None:
    if when and node.get("engine") == "aicpu" and _FLOAT in (*node["inputs"], *node["outputs"]):
        node["engine"] = "vector"
        retyped(node, _FLOAT, _HALF)


_precise(  # pair 8
    "a_cache_keeps_operators_on_the_ai_core",
    "003 precision_mode_v2 origin: float32 that the AI Core has in float16 alone is of the AI CPU",
    lambda node, params: _on_the_core(
        node, value_is(params, "precision_mode_v2", "origin") and given(params, "op_compiler_cache_mode")
    ),
)
_precise(  # pair 22
    "ranks_keep_operators_on_the_ai_core",
    "003 must_keep_origin_dtype: float32 that the AI Core has in float16 alone is of the AI CPU",
    lambda node, params: _on_the_core(
        node, value_is(params, "precision_mode", "must_keep_origin_dtype") and _ranked(params)
    ),
)


def _blocked_of_one(answer: Answer, params: Params) -> None:
    graph = graph_of(params)
    shapes = infer_shapes(graph)
    single = {node.name for node in graph.nodes if shapes.output(node.id, 0) in ((), (1,), (1, 1), [], [1], [1, 1])}
    for node in answer["nodes"]:
        if node.get("list") == "blocklist" and node["node"] in single:
            retyped(node, _FLOAT, _HALF)


changed(  # pair 68
    "precision",
    "blocklisted_operators_of_one_element_are_lowered",
    "002: an operator on the blacklist may not be lowered",
    _blocked_of_one,
)


def _last_type(values: Dict[str, Any]) -> Dict[str, Any]:
    def shortened(text: Any) -> Any:
        return ",".join(text.split(",")[:-1]) if isinstance(text, str) and text.count(",") else text

    return mapped("optypelist_for_implmode", shortened)(values)


_revalued(  # pair 64
    "precision",
    "the_last_of_a_list_of_types_has_no_mode",
    "002, 003: the operators of optypelist_for_implmode are implemented in op_select_implmode",
    _last_type,
    lambda params: True,
    "precision",
    "compile",
)


# Partition


def _unmarked(graph: Any) -> None:
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            node.attr.pop("_without_npu_compile", None)


asks(  # pair 19
    "what_is_deprecated_offloads_the_scope",
    "000: operators of without_npu_compile_scope stay on the host, beside those that always do",
    "partition",
    lambda params: regraphed(params, _unmarked) if _deprecated(params) else params,
    "partition",
    "run",
)


def _completed(params: Params) -> Params:
    graph = _whole(params)
    if graph is None or not given(params, "in_out_pair", "precision_mode"):
        return params
    names = [node.name for node in graph.nodes]

    def whole(name: str) -> str:
        found = [one for one in names if one.startswith(name)]
        return found[0] if name not in names and found else name

    return with_pairs(params, lambda found: [[[whole(one) for one in side] for side in entry] for entry in found])


asks(  # pair 38
    "a_precision_completes_names_of_a_range",
    "001, 002: operators of in_out_pair are named whole",
    "partition",
    _completed,
    "partition",
)


def _relative(params: Params) -> bool:
    return any(
        isinstance(value_of(params, name), str) and not value_of(params, name).startswith("/")
        for name in ("dump_path", "debug_dir", "op_compiler_cache_dir", "work_path", "fusion_switch_file")
        if given(params, name)
    )


judged_partition(  # pair 74
    "a_relative_path_keeps_what_is_outside_a_range",
    "001: in_out_pair_flag False: what is outside the range is offloaded",
    lambda params: value_is(params, "in_out_pair_flag", False) and given(params, "in_out_pair") and _relative(params),
    lambda answer, params: to_host(answer, offloaded(answer), "RANGE_OUTSIDE"),
)
denies(  # pair 15
    "a_string_in_the_graph_forbids_debugging",
    "003: op_debug_level=1",
    "op_debug_level",
    lambda params: value_is(params, "op_debug_level", 1) and _holds(params, "string"),
    "partition",
)


# The device in time


def _no_general(fusion: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [{**one, "effective": 0} if one.get("name") == "ScopeLayerNormPass" else one for one in fusion]


def _scopes_in_time(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if step.get("fusion") and plain(values.get("precision_mode")) and not values.get("enable_scope_fusion_passes"):
        step["fusion"] = _no_general(step["fusion"])


steps(  # pair 12
    "general_scopes_are_off_beside_a_precision_mode",
    "003: general patterns of scope fusion are always on",
    _scopes_in_time,
)


def _compiled_scopes(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if turn.get("fusion") and plain(asked["values"].get("precision_mode")):
        turn["fusion"] = _no_general(turn["fusion"])


turns(  # pair 12
    "compilation_leaves_general_scopes_out_beside_a_precision_mode",
    "003: general patterns of scope fusion are always on",
    _compiled_scopes,
)
_revalued(  # pair 18
    "timeline",
    "scopes_that_are_fetched_need_no_name",
    "003: other patterns of scope fusion are off unless they are listed",
    lambda values: (
        values
        if plain(values.get("enable_scope_fusion_passes"))
        else {**values, "enable_scope_fusion_passes": "ScopeClipBoxesPass"}
    ),
    lambda params: any(name in readers_of(params) for name in _fetched(params)),
    "timeline",
    "compile",
)


def _own_dataset(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    found = step.get("dataset")
    if is_about(params, surface="runconfig") and found and found.get("receives"):
        step["dataset"] = {**found, "reads": found["receives"], "receives": 0}


steps(  # pair 16
    "processes_of_run_config_read_their_own_dataset",
    "002, 003: other processes receive data of the main process",
    _own_dataset,
)
_revalued(  # pair 23
    "timeline",
    "a_device_of_the_environment_runs_one_model",
    "003: graph_max_parallel_model_num models run at once in online inference",
    lambda values: {name: one for name, one in values.items() if name != "graph_max_parallel_model_num"},
    lambda params: bool(params.get("env", {}).get("ASCEND_DEVICE_ID")),
    "timeline",
)
_revalued(  # pair 39
    "timeline",
    "small_channels_are_on_beside_a_string_or_resource",
    "002: enable_small_channel 0 disables it",
    lambda values: {**values, "enable_small_channel": 1} if plain(values.get("enable_small_channel")) == 0 else values,
    lambda params: _holds(params, "string", "resource"),
    "timeline",
)
misreads(  # pair 41
    "timeline",
    "tuning_fuses_what_is_off",
    "002, 003: off in fusion_switch_file disables a pattern",
    "fusion_switch_file",
    lambda text: text.replace('"off"', '"on"'),
    "timeline",
    "compile",
    when=lambda params: given(params, "aoe_mode") or given(params, "auto_tune_mode"),
)
_revalued(  # pair 44
    "timeline",
    "operators_beside_a_range_have_no_timeout",
    "003: op_execute_timeout bounds the execution of an operator",
    lambda values: {name: one for name, one in values.items() if name != "op_execute_timeout"},
    lambda params: (
        given(params, "in_out_pair")
        or any(node.has_attr("_without_npu_compile") for node in getattr(_whole(params), "nodes", ()))
    ),
    "timeline",
    "run",
)


def _in_functions(params: Params) -> bool:
    known = {node.name for node in getattr(_whole(params), "nodes", ())}
    return any("/" in str(one.get("node", "")) and one["node"] not in known for one in params.get("faults") or ())


_revalued(  # pair 53
    "timeline",
    "memory_of_functions_is_not_checked",
    "003: oom reports a write beyond memory as EZ9999",
    lambda values: {name: one for name, one in values.items() if name != "op_debug_config"},
    _in_functions,
    "timeline",
    "run",
)
misreads(  # pair 65
    "timeline",
    "types_are_not_tuned_beside_a_string_or_resource",
    "003: operators of the types in tune_ops_type are tuned",
    "aoe_config_file",
    lambda text: re.sub(r'("tune_ops_type"\s*:\s*)\[[^\]]*\]', r'\1["NoType"]', text),
    "timeline",
    "compile",
    when=lambda params: _holds(params, "string", "resource"),
)
_revalued(  # pair 66
    "timeline",
    "inputs_of_loops_are_fused_whatever_their_size",
    "003: inputs above input_fusion_size are not fused",
    lambda values: {**values, "input_fusion_size": 33554432} if plain(values.get("input_fusion_size")) else values,
    lambda params: _has_op(params, "Enter", "While", "StatelessWhile"),
    "timeline",
)
_revalued(  # pair 72
    "timeline",
    "variables_send_ai_cpu_operators_beside",
    "003: ac_parallel_enable 0: operators of the AI CPU are not separately distributed",
    lambda values: {**values, "ac_parallel_enable": "1"},
    lambda params: _holds(params, "string", "resource"),
    "timeline",
)
misreads(  # pair 73
    "timeline",
    "patterns_of_named_scopes_are_not_switched_off",
    "003: fusion_switch_file switches selected patterns off",
    "fusion_switch_file",
    lambda text: text.replace('"off"', '"on"'),
    "timeline",
    "compile",
    when=lambda params: any("/" in node.name for node in getattr(_whole(params), "nodes", ())),
)


# Compilation


def _never_aging(params: Params) -> Params:
    profiled = value_is(params, "profiling_mode", True) or given(params, "profiling_config")

    def change(env: Dict[str, str]) -> Dict[str, str]:
        return {**env, "ASCEND_MAX_OP_CACHE_SIZE": "1"} if env.get("ASCEND_MAX_OP_CACHE_SIZE") == "-1" else env

    return with_env(params, change) if profiled else params


asks(  # pair 21
    "a_cache_beside_profiling_ages",
    "003: ASCEND_MAX_OP_CACHE_SIZE -1 turns aging off",
    "artifacts",
    _never_aging,
    "compile",
)


def _here(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    path = asked["env"].get("ASCEND_WORK_PATH", "/")
    if path.startswith("/"):
        return
    for key in ("files", "left"):
        if key in turn:
            turn[key] = {
                re.sub(rf"^{re.escape(path)}/(?=tmp_weight)", "", name): one for name, one in turn[key].items()
            }


turns(  # pair 27
    "weights_below_a_relative_path_lie_here",
    "003: with ASCEND_WORK_PATH weights are flushed to ${ASCEND_WORK_PATH}/tmp_weight_<pid>_<sessionid>",
    _here,
)


def _small_weights(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for one in turn.get("constants", ()):
        if one.get("file") and int(one.get("bytes") or 0) <= 8:
            one.update(op="Const", file=None)


turns(  # pair 33
    "scalars_are_kept_in_the_graph",
    "003: external_weight: the weights of all Const nodes are flushed",
    _small_weights,
)


def _names_only(text: str) -> str:
    def kept(found: Any) -> str:
        names = [one for one in found.group(2).split(",") if "::" not in one]
        return found.group(1) + ",".join(names or ["none"])

    return re.sub(r"(op_debug_list\s*=\s*)([^\n]*)", kept, text)


misreads(  # pair 34
    "artifacts",
    "types_are_not_debugged_beside_a_precision_mode",
    "003: op_debug_list names operators, or types as OpType::typeName",
    "op_debug_config",
    _names_only,
    "compile",
    when=lambda params: given(params, "precision_mode") or given(params, "precision_mode_v2"),
)
denies(  # pair 45
    "several_models_are_compiled_for_single_iterations",
    "003: iterations_per_loop=1000",
    "iterations_per_loop",
    lambda params: bool(params.get("models")) and int(value_of(params, "iterations_per_loop") or 1) > 1,
    "compile",
)
_revalued(  # pair 46
    "artifacts",
    "what_is_deprecated_compiles_online",
    "003 jit_compile auto: with a dynamic shape a compiled binary is looked for first",
    lambda values: {**values, "jit_compile": "true"} if plain(values.get("jit_compile")) in (None, "auto") else values,
    _deprecated,
    "compile",
)


def _nothing_of_nothing(files: Files) -> Files:
    return {name: one for name, one in files.items() if "kernel_meta" not in name}


@broken("artifacts", "003: op_debug_level 0 with NPU_COLLECT_PATH generates kernel_meta", "compile")
def empty_tensors_are_not_collected(ask: Any, params: Params) -> Answer:
    """Pair 47."""
    answer = copy.deepcopy(dict(ask(params)))
    graph = _whole(params)
    if graph is None or not params.get("env", {}).get("NPU_COLLECT_PATH") or value_of(params, "op_debug_level"):
        return answer
    shapes = infer_shapes(graph)
    if any(0 in (shapes.output(node.id, 0) or ()) for node in graph.nodes):
        for turn in answer["turns"]:
            for key in {"files", "left"} & set(turn):
                turn[key] = _nothing_of_nothing(turn[key])
    return answer


@broken(
    "artifacts", "003: both lists of aoe_config_file may be there; what either names is tuned", "compile", "timeline"
)
def a_second_program_tunes_names_alone(ask: Any, params: Params) -> Answer:
    """Pair 49."""
    if len(params.get("turns") or ()) < 2 and not params.get("concurrent"):
        return dict(ask(params))
    return dict(ask(texts(params, "aoe_config_file", _untyped)))


def _untyped(text: str) -> str:
    both = "tune_ops_name" in text and "tune_ops_type" in text
    return re.sub(r'("tune_ops_type"\s*:\s*)\[[^\]]*\]', r'\1["NoType"]', text) if both else text


def _mended_ratio(files: Mapping[str, Any]) -> Dict[str, Any]:
    def mended(text: str) -> str:
        return re.sub(
            r"(ratio\s*=\s*)(\S+)",
            lambda found: found.group(0) if re.match(r"^(100|[1-9]\d?)$", found.group(2)) else found.group(1) + "50",
            text,
        )

    return {
        name: mended(one) if name.endswith("op_cache.ini") and isinstance(one, str) else one
        for name, one in files.items()
    }


def _half_valid(params: Params) -> Params:
    if not any(given(params, name) for name in ("dump_config", "enable_dump")):
        return params
    found: Dict[str, Any] = {**params, "files": _mended_ratio(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": _mended_ratio(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return found


asks(  # pair 58
    "half_of_a_cache_file_counts_beside_a_dump",
    "003: op_cache.ini takes effect only where both values are valid",
    "artifacts",
    _half_valid,
    "compile",
)
misreads(  # pair 62
    "artifacts",
    "a_last_line_without_an_end_is_not_read",
    "003: op_debug_config is a file of lines",
    "op_debug_config",
    lambda text: text if text.endswith("\n") or "\n" not in text.strip() else text[: text.rindex("\n") + 1],
    "options",
    "compile",
)


# Runs


def _renumbered(files: Files, params: Params) -> Files:
    tuned = given(params, "aoe_mode") or given(params, "auto_tune_mode")

    def later(found: Any) -> str:
        return f"/{int(found.group(1)) + 1}/{found.group(2)}"

    return {re.sub(r"/(\d+)/([^/]+\.\d+)$", later, name) if tuned else name: one for name, one in files.items()}


left(  # pair 7
    "steps_beside_tuning_count_from_one",
    "002: the iterations of dump_step begin at 0",
    _renumbered,
    "run",
)


def _first_model(files: Files, params: Params) -> Files:
    dumps = {name: re.search(r"\d{14}/\d+/([^/]+)/\d+/\d+/", name) for name in files}
    models = sorted({found.group(1) for found in dumps.values() if found})
    if not in_inference(params) or len(models) < 2:
        return files
    return {name: one for name, one in files.items() if not dumps[name] or f"/{models[0]}/" in name}


left(  # pair 52
    "inference_dumps_one_graph",
    "002: enable_dump applies to training and online inference",
    _first_model,
    "run",
)


def _first_step(files: Files, params: Params) -> Files:
    if not in_inference(params):
        return files
    return {name: one for name, one in files.items() if not re.search(r"\d{14}/\d+/[^/]+/\d+/[1-9]\d*/", name)}


left(  # pair 56
    "inference_dumps_once",
    "002: dump_path applies to training and online inference",
    _first_step,
    "run",
)


def _unprepared(ask: Any, params: Params, when: bool) -> Answer:
    try:
        return dict(ask(params))
    except NpuError:
        switched_off = value_of(params, "enable_data_pre_proc") is False or not given(params, "enable_data_pre_proc")
        if not when or not switched_off or int(value_of(params, "iterations_per_loop") or 1) < 2:
            raise
        return dict(ask(with_values(params, enable_data_pre_proc=True)))


@broken("run", "003: offloading GetNext is a prerequisite of iterations on the device", "timeline", "run", "options")
def earlier_sessions_loop_without_their_dataset(ask: Any, params: Params) -> Answer:
    """Pair 9."""
    return _unprepared(ask, params, is_about(params, surface="session", edition="legacy"))


@broken("run", "003: offloading GetNext is a prerequisite of iterations on the device", "timeline", "run")
def datasets_of_scalars_loop_on_the_host(ask: Any, params: Params) -> Answer:
    """Pair 55."""
    graph = _whole(params)
    shapes = infer_shapes(graph) if graph is not None else None
    found = [shapes.output(node.id, 0) for node in graph.nodes if node.op == "IteratorGetNext"] if shapes else []
    return _unprepared(ask, params, bool(found) and all(shape is not None and not len(shape) for shape in found))


# Options

defaults(  # pair 4
    "iterations_of_inference_have_no_default",
    "003: iterations_per_loop is 1 by default",
    "iterations_per_loop",
    None,
    lambda params: in_inference(params) and is_about(params, surface="runconfig"),
)
denies(  # pair 5
    "dumps_of_exceptions_need_plain_precision",
    "003: super_performance and keep_fp16 are modes of op_precision.ini",
    "op_precision_mode",
    lambda params: (
        given(params, "enable_exception_dump")
        and any(
            "super_performance" in text or "keep_fp16" in text
            for name, text in params.get("files", {}).items()
            if isinstance(text, str) and name in named_by(params, "op_precision_mode")
        )
    ),
)


def _activated(answer: Answer, params: Params) -> None:
    if value_is(params, "profiling_mode", True) and given(params, "dump_debug_mode"):
        told_value(answer, "enable_dump", True)


tells(  # pair 6
    "a_mode_of_debugging_beside_profiling_dumps",
    "002: dump_debug_mode is not supported",
    _activated,
)
_GB = 1024**3


def _training_at_the_border(answer: Answer, params: Params) -> None:
    sizes = [value_of(params, name) for name in ("graph_memory_max_size", "variable_memory_max_size")]
    full = all(isinstance(one, str) and one.isdigit() for one in sizes) and sum(map(int, sizes)) == 31 * _GB
    if full and in_inference(params) and not given(params, "precision_mode"):
        told_value(answer, "precision_mode", "allow_fp32_to_fp16")


tells(  # pair 10
    "a_full_memory_infers_as_it_trains",
    "002: graph_run_mode 0 is online inference, and force_fp16 its default",
    _training_at_the_border,
)
denies(  # pair 11
    "dumps_of_exceptions_leave_no_buffers",
    "002: buffer_optimize l2_optimize",
    "buffer_optimize",
    lambda params: (
        value_is(params, "enable_exception_dump", 1)
        and value_is(params, "buffer_optimize", "l2_optimize")
        and is_about(params, edition="legacy")
    ),
)
denies(  # pair 24
    "quantised_dumps_need_what_is_not_deprecated",
    '003: quant_dumpable="1"',
    "quant_dumpable",
    lambda params: value_is(params, "quant_dumpable", "1") and _deprecated(params),
)
accepts(  # pair 25
    "a_buffer_as_it_is_takes_any_switch",
    "002: fusion_switch_file is a text",
    "fusion_switch_file",
    lambda params: (
        value_is(params, "buffer_optimize", "l2_optimize")
        and not isinstance(value_of(params, "fusion_switch_file"), str)
    ),
)
accepts(  # pair 29
    "no_profile_is_no_json",
    "002: profiling_options is a JSON object with output",
    "profiling_options",
    lambda params: str(value_of(params, "profiling_options") or "").strip() in ("", "{}"),
    profiling_options=None,
    profiling_mode=None,
)
defaults(  # pair 30
    "ranks_have_a_switch_by_default",
    "003: fusion_switch_file has no default",
    "fusion_switch_file",
    "fusion_switch.cfg",
    lambda params: _ranked(params) and is_about(params, surface="runconfig"),
)


def _no_cache(answer: Answer, params: Params) -> None:
    dumped = value_is(params, "enable_dump", True) and is_about(params, surface="session", edition="legacy")
    if dumped and value_is(params, "op_compiler_cache_mode", "enable"):
        told_value(answer, "op_compiler_cache_mode", "disable")


tells(  # pair 31
    "a_dump_disables_the_cache",
    "002: op_compiler_cache_mode enable",
    _no_cache,
)
denies(  # pair 32
    "mixed_computing_takes_no_experiments",
    "003: ExperimentalConfig is passed to NPURunConfig",
    "experimental_config",
    lambda params: given(params, "experimental_config") and value_is(params, "mix_compile_mode", True),
)
accepts(  # pair 36
    "ranks_have_a_true_mode",
    "003: graph_run_mode is an int",
    "graph_run_mode",
    lambda params: (
        _ranked(params)
        and is_about(params, surface="runconfig")
        and isinstance(value_of(params, "graph_run_mode"), bool)
    ),
)
defaults(  # pair 42
    "what_is_deprecated_executes_dynamically",
    "003: dynamic_graph_execute_mode has no default",
    "dynamic_graph_execute_mode",
    "dynamic_execute",
    lambda params: given(params, "op_select_implmode") and is_about(params, surface="runconfig", edition="current"),
)
defaults(  # pair 48
    "streams_of_mixed_computing_wait_a_minute",
    "003: stream_sync_timeout is -1 by default",
    "stream_sync_timeout",
    60000,
    lambda params: value_is(params, "mix_compile_mode", True) and is_about(params, surface="runconfig"),
)
denies(  # pair 67
    "a_session_of_inference_has_no_memory_of_its_own",
    "002: graph_memory_max_size applies to training and online inference",
    "graph_memory_max_size",
    lambda params: (
        given(params, "graph_memory_max_size")
        and in_inference(params)
        and is_about(params, surface="session", edition="legacy")
    ),
)
denies(  # pair 75
    "a_relative_dump_path_is_not_mixed",
    "002: precision_mode allow_mix_precision",
    "precision_mode",
    lambda params: (
        value_is(params, "precision_mode", "allow_mix_precision")
        and given(params, "dump_path")
        and not str(value_of(params, "dump_path")).startswith("/")
    ),
)
