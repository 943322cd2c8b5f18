"""A thirteenth draw: a requirement and a condition, drawn in turn by one generator; the mistake shows where they meet.

For each pair `random.Random(2602)` chose one of the sorted ids of requirements, then one of `CONDITIONS`, which was
written down before. Of 94 pairs 52 made no mistake: notes and samples ask for nothing (4, 7, 11, 22, 23, 32, 36, 37,
41, 45, 46, 49, 50, 53, 54, 70, 73, 74, 77, 79, 80, 83, 85, 86, 89, 91, 92); the condition holds wherever the
requirement does (6, 43, 56, 62, 64, 68, 88); an option's type, default or warning and where an operator stands, what
its tensors are like, or a form that the value does not have (10, 29, 38, 44, 55, 61, 69, 81, 93); the sentence says
nothing where the condition holds (12, 65, 82); only a run with TensorFlow shows it (18, 21, 24, 35, 60, 87). Each
mistake names its pair by number.
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
    behind,
    broken,
    decoded,
    defaults,
    denies,
    encoded,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    judged_partition,
    leaves,
    mapped,
    misreads,
    offloaded,
    plain,
    readers_of,
    reads_as,
    regraphed,
    steps,
    tells,
    to_host,
    told_value,
    value_is,
    value_of,
    with_values,
    without,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import frames, load_graph

CONDITIONS = (
    "legacy edition",
    "current edition",
    "online inference",
    "training written out",
    "surface session",
    "surface NPURunConfig",
    "second program, step or variant",
    "a dump asked for beside it",
    "profiling asked for beside it",
    "a mode of precision given beside it",
    "a debugging option given beside it",
    "its default written out",
    "its field written out, or blanks around its text",
    "file with Windows ends of lines, comments or blank lines",
    "relative path",
    "mixed computing",
    "ASCEND_WORK_PATH set",
    "any environment variable set",
    "operator in a function",
    "operator in a branch",
    "operator in a loop",
    "dtype other than float32",
    "rank below two",
    "unknown sizes",
    "layout NCHW",
    "exactly one of them",
    "more than three of them",
    "given in another order",
    "name with a slash",
    "at the border of its range",
    "nothing else given",
)

_LOOPS = ("Enter", "RefEnter", "While", "StatelessWhile")
_BRANCHES = ("Switch", "RefSwitch", "If", "StatelessIf", "Case", "StatelessCase")
_MC2 = (
    "MatMulAllReduce",
    "MatMulAllReduceAddRmsNorm",
    "AllGatherMatMul",
    "MatMulReduceScatter",
    "AlltoAllAllGatherBatchMatMul",
    "BatchMatMulReduceScatterAlltoAll",
)


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


def _has_function(params: Params) -> bool:
    try:
        return "graph" in params and bool(load_graph(params["graph"]).functions)
    except NpuError:
        return False


def _profiled(params: Params) -> bool:
    return value_is(params, "profiling_mode", True) or given(params, "profiling_config")


def _debugged(params: Params) -> bool:
    return bool(value_of(params, "op_debug_level")) or given(params, "op_debug_config")


def _dumps(params: Params) -> bool:
    return value_is(params, "enable_dump", True) or given(params, "dump_config")


def _dynamic(params: Params) -> bool:
    return value_is(params, "dynamic_input", True) or value_is(params, "compile_dynamic_mode", True)


def _work(params: Mapping[str, Any]) -> str:
    return str(params.get("env", {}).get("ASCEND_WORK_PATH", ""))


# Options


defaults(  # pair 1: mixed.iterations.default_one, unknown sizes
    "dynamic_inputs_have_no_iterations",
    "000: iterations_per_loop is 1 by default",
    "iterations_per_loop",
    None,
    lambda params: _dynamic(params) and is_about(params, surface="session", edition="current"),
)
accepts(  # pair 5: files.op_precision_ini.flat.values, a debugging option
    "who_debugs_may_keep_float16",
    "002: modes of op_precision_mode are high_precision and high_performance",
    "op_precision_mode",
    lambda params: _debugged(params) and is_about(params, edition="legacy"),
)


def _written_out(params: Params, option: str) -> bool:
    value = params["values"].get(option)
    return isinstance(value, dict) and set(value) == {"field", "value"}


accepts(  # pair 13: session.op_select_implmode.domain, its field written out
    "a_mode_in_its_field_is_any_text",
    "002: op_select_implmode is high_precision or high_performance",
    "op_select_implmode",
    lambda params: (
        _written_out(params, "op_select_implmode")
        and params["values"]["op_select_implmode"]["field"] == "s"
        and is_about(params, surface="session", edition="legacy")
    ),
)


@broken("options", "003: graph_run_mode is an int, and 0 is one of them", "options")
def nought_is_not_given(ask: Any, params: Params) -> Answer:
    """Pair 15: runconfig.graph_run_mode.type, at the border of its range."""
    if is_about(params, surface="runconfig", edition="current") and in_inference(params):
        return dict(ask(with_values(params, graph_run_mode=None)))
    return dict(ask(params))


accepts(  # pair 17: session.profiling_options.json, ASCEND_WORK_PATH
    "a_work_path_lets_profiles_have_no_form",
    "002: profiling_options is a JSON object",
    "profiling_options",
    lambda params: bool(_work(params)) and not str(value_of(params, "profiling_options")).lstrip().startswith("{"),
    profiling_options=None,
    profiling_mode=None,
)


def _uncached(answer: Answer, params: Params) -> None:
    if _dynamic(params) and is_about(params, surface="runconfig", edition="current"):
        answer["directives"]["buffer_optimize"] = "off"


tells(  # pair 19: runconfig.buffer_optimize.l2, unknown sizes
    "what_has_no_size_is_not_in_the_cache", "003: buffer_optimize l2_optimize enables the optimization", _uncached
)
accepts(  # pair 30: runconfig.quant_dumpable.domain, profiling
    "profiles_quantize_as_they_like",
    "003: quant_dumpable is 0 or 1",
    "quant_dumpable",
    lambda params: _profiled(params) and is_about(params, surface="runconfig"),
)
accepts(  # pair 31: runconfig.enable_small_channel.type, nothing else given
    "small_channels_alone_may_be_a_text",
    "003: enable_small_channel is an int",
    "enable_small_channel",
    lambda params: (
        len(params["values"]) == 1
        and isinstance(value_of(params, "enable_small_channel"), (str, bool))
        and is_about(params, surface="runconfig")
    ),
)
defaults(  # pair 34: runconfig.local_rank_id.default, mixed computing
    "mixed_computing_is_of_the_main_process",
    "003: local_rank_id has no default",
    "local_rank_id",
    0,
    lambda params: value_is(params, "mix_compile_mode", True) and is_about(params, surface="runconfig"),
)


def _one_stream(answer: Answer, params: Params) -> None:
    open_shapes = _dynamic(params) or given(params, "dynamic_dims")
    if open_shapes and is_about(params, surface="session", edition="legacy"):
        answer["directives"]["engines"] = dict.fromkeys(answer["directives"]["engines"], 1)


tells(  # pair 39: session.stream_max_parallel_num.effect, unknown sizes
    "open_shapes_have_one_stream", "002: stream_max_parallel_num is the parallelism of the engines", _one_stream
)
reads_as(  # pair 42: runconfig.dynamic_inputs_shape_range.keywords, profiling
    "profiles_know_inputs_in_any_case",
    "003: getnext and data are the keywords",
    "dynamic_inputs_shape_range",
    lambda params, told: (
        re.sub(r"(?i)\b(getnext|data)(?=\s*:)", lambda found: found.group(1).lower(), told)
        if isinstance(told, str) and _profiled(params)
        else told
    ),
)


def _mixed_later(params: Params) -> bool:
    names = list(params["values"])
    both = "iterations_per_loop" in names and "mix_compile_mode" in names
    return both and names.index("iterations_per_loop") < names.index("mix_compile_mode")


accepts(  # pair 51: mixed.iterations.must_be_one, another order
    "iterations_before_mixing_are_not_looked_at",
    "000, 004: iterations_per_loop is 1 in mixed computing",
    "iterations_per_loop",
    _mixed_later,
)


def _profile_alone(answer: Answer, params: Params) -> None:
    if _profiled(params) and value_is(params, "enable_dump", True) and is_about(params, edition="legacy"):
        told_value(answer, "enable_dump", False, "forced")


tells("what_is_profiled_is_not_dumped", "002: enable_dump True dumps", _profile_alone)  # pair 57: ….enable_dump.true


@broken("options", "002: enable_data_pre_proc is False by default", "options", "partition")
def a_profile_takes_its_input_to_the_device(ask: Any, params: Params) -> Answer:
    """Pair 58: session.enable_data_pre_proc.default, profiling."""
    unset = not given(params, "enable_data_pre_proc") and params.get("policy") != "adapter"
    if not unset or not _profiled(params) or not is_about(params, surface="session", edition="legacy"):
        return dict(ask(params))
    answer = dict(ask(with_values(params, enable_data_pre_proc=True)))
    if "effective" in answer:
        told_value(answer, "enable_data_pre_proc", True, "default")
    return answer


denies(  # pair 59: runconfig.fusion_switch_file.type, a name with a slash
    "switches_lie_beside_the_script_or_are_absolute",
    "003: fusion_switch_file is a path",
    "fusion_switch_file",
    lambda params: (
        "/" in str(value_of(params, "fusion_switch_file") or "").lstrip("/")
        and not str(value_of(params, "fusion_switch_file")).startswith("/")
        and is_about(params, surface="runconfig")
    ),
)
accepts(  # pair 66: session.buffer_optimize.type, any variable
    "a_variable_beside_lets_buffers_be_no_text",
    "002: parameter_map[...].s of buffer_optimize",
    "buffer_optimize",
    lambda params: (
        bool(params.get("env"))
        and not isinstance(value_of(params, "buffer_optimize"), str)
        and is_about(params, surface="session", edition="legacy")
    ),
)


def _performance(answer: Answer, params: Params) -> None:
    there = "op_select_implmode" in params["values"] and value_of(params, "op_select_implmode") is None
    if there and is_about(params, surface="runconfig", edition="current"):
        told_value(answer, "op_select_implmode", "high_performance")
        if not given(params, "op_precision_mode"):
            answer["directives"]["implementation"]["others"] = "high_performance"


tells(  # pair 72: runconfig.op_select_implmode.empty, written out
    "none_that_is_written_out_is_performance", "003: op_select_implmode left empty is not configured", _performance
)
accepts(  # pair 84: session.local_rank_id.type, its field written out
    "a_rank_stands_in_any_field",
    "002: parameter_map[...].i of local_rank_id",
    "local_rank_id",
    lambda params: (
        _written_out(params, "local_rank_id")
        and params["values"]["local_rank_id"]["field"] != "i"
        and is_about(params, surface="session", edition="legacy")
    ),
)


# Precision


misreads(  # pair 2: runconfig.op_precision_mode.file, comments
    "precision",
    "a_remark_ends_a_section",
    "003: op_precision_mode is a file of sections and lines",
    "op_precision_mode",
    lambda text: re.sub(r"(?m)^[ \t]*#.*$", "[ByOpType]", text),
    "options",
    "precision",
    when=lambda params: is_about(params, surface="runconfig", edition="current"),
)


def _first_dtypes(text: str) -> str:
    return re.sub(
        r"(?m)^(?!\s*#)(.*InputDtype:\s*\w+)[\w\s,]*?,?\s*(OutputDtype:\s*\w+).*$",
        r"\1,\2",
        text,
    )


misreads(  # pair 47: files.customize_dtypes.multi_dtypes, training written out
    "precision",
    "training_customizes_first_tensors",
    "003: customize_dtypes lists the dtypes of all inputs and outputs in their order",
    "customize_dtypes",
    _first_dtypes,
    "options",
    "precision",
    when=lambda params: value_is(params, "graph_run_mode", 1),
)


# Partition


def _between(params: Params) -> List[str]:
    """What lies between the ends of ranges, ends left out."""
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"", str(value_of(params, "in_out_pair")))
    ends = {one or other for one, other in found}
    readers = readers_of(params)
    return [name for name in behind(ends, readers) if name not in ends and behind([name], readers) & ends]


judged_partition(  # pair 14: in_out_pair.range_all, a mode of precision
    "a_mode_of_precision_leaves_the_middle_of_ranges",
    "001: every operator of a range is treated the same way",
    lambda params: given(params, "in_out_pair", "precision_mode") and not value_is(params, "in_out_pair_flag", False),
    lambda answer, params: to_host(answer, set(_between(params)) & set(offloaded(answer)), "RANGE_OUTSIDE"),
)


def _in_loops(params: Params) -> List[str]:
    graph = graph_of(params)
    return [node.name for node, frame in zip(graph.nodes, frames(graph)) if frame is not None or node.op in _LOOPS]


judged_partition(  # pair 52: in_out_pair.session.flag_alone, a loop
    "a_flag_without_ranges_is_about_loops",
    "002: in_out_pair_flag says whether the operators of in_out_pair are offloaded, and no others",
    lambda params: value_is(params, "in_out_pair_flag", False) and not given(params, "in_out_pair"),
    lambda answer, params: to_host(answer, set(_in_loops(params)) & set(offloaded(answer)), "RANGE_INSIDE"),
)


def _unscoped(graph: Any) -> None:
    for node in [*graph.node, *(node for function in graph.library.function for node in function.node_def)]:
        if "_without_npu_compile" in node.attr:
            del node.attr["_without_npu_compile"]


asks(  # pair 63: api.without_npu_compile_scope, profiling
    "profiles_know_no_scope",
    "000: operators of without_npu_compile_scope are not offloaded",
    "partition",
    lambda params: regraphed(params, _unscoped) if _profiled(params) and is_mixed(params) else params,
    "partition",
)


# The device in time


asks(  # pair 3: session.profiling_mode.false, inference
    "inference_is_profiled_by_its_options",
    "002: profiling_mode False is off",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {**values, "profiling_mode": True})
        if in_inference(params) and given(params, "profiling_options") and is_about(params, edition="legacy")
        else params
    ),
    "timeline",
)


def _device_of_the_environment(params: Params) -> Params:
    told = params.get("env", {}).get("ASCEND_DEVICE_ID", "")
    if not told.isdigit() or not is_about(params, edition="legacy") or not _has_op(params, *_LOOPS):
        return params
    return all_values(params, mapped("session_device_id", lambda value: int(told)))


asks(  # pair 8: session.session_device_id.over_env, a loop
    "loops_run_where_the_environment_says",
    "002: session_device_id goes before ASCEND_DEVICE_ID",
    "timeline",
    _device_of_the_environment,
    "timeline",
)
asks(  # pair 16: session.local_rank_id.main_dedup, a function
    "functions_share_no_data",
    "002: the main process hands the data on to the devices of the others",
    "timeline",
    lambda params: (
        all_values(params, without("local_device_list"))
        if _has_function(params) and is_about(params, edition="legacy")
        else params
    ),
    "timeline",
)


def _below(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    told, work = str(plain(values.get("work_path")) or ""), _work(params).strip("/")
    if told.startswith("/") and work and step.get("files"):
        place = told.strip("/") + "/"
        step["files"] = {
            f"{work}/{name}" if name.startswith(place) else name: file for name, file in step["files"].items()
        }


steps(  # pair 20: runconfig.work_path.absolute, a variable
    "nothing_is_absolute_below_a_work_path", "003: a work_path that begins with / is absolute", _below
)


def _beside(name: str, sentence: str, when: Callable[[Params], bool]) -> None:
    """Operators of the AI CPU have a stream of their own."""
    asks(
        name,
        sentence,
        "timeline",
        lambda params: (
            all_values(params, lambda values: {**values, "ac_parallel_enable": "1"}) if when(params) else params
        ),
        "timeline",
    )


_beside(  # pair 26: runconfig.ac_parallel_enable.0, a function
    "functions_send_ai_cpu_operators_beside",
    "003: ac_parallel_enable 0: operators of the AI CPU are not separately distributed",
    lambda params: _has_function(params) and is_about(params, surface="runconfig", edition="current"),
)
asks(  # pair 33: runconfig.local_device_list.pair, one of them
    "one_device_is_no_list",
    "003: local_device_list names the devices that the main process sends data to",
    "timeline",
    lambda params: (
        all_values(params, without("local_device_list"))
        if "," not in str(value_of(params, "local_device_list")) and is_about(params, surface="runconfig")
        else params
    ),
    "timeline",
)


@broken("timeline", "003: a write past the end is reported with EZ9999", "timeline")
def channels_first_overwrite_with_a_code_of_their_own(ask: Any, params: Params) -> Answer:
    """Pair 48: runconfig.op_debug_config.oom.error_code, layout NCHW."""
    answer = copy.deepcopy(dict(ask(params)))
    if any(node.text("data_format") == "NCHW" for node in _nodes(params)):
        for step in (answer["base"], *answer.get("variants", {}).values()):
            found = step.get("rejected", {})
            for key, text in found.items():
                if isinstance(text, str):
                    found[key] = text.replace("EZ9999", "E39999")
    return answer


def _with_dumps(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    known = {"values": values}
    config = values.get("dump_config") or {}
    where = config.get("arguments", {}).get("dump_path") or value_of(known, "dump_path")
    if _dumps(known) and where and not given(known, "work_path") and step.get("files"):
        place = str(where).strip("/")
        step["files"] = {
            f"{place}/{name}" if name.startswith("aoe_") else name: file for name, file in step["files"].items()
        }


steps(  # pair 76: files.aoe.work_path_default, a dump
    "what_is_tuned_lies_with_the_dumps", "003: work_path is the current directory by default", _with_dumps
)


def _two_streams(values: Dict[str, Any]) -> Dict[str, Any]:
    known = {"values": values}
    if value_is(known, "ac_parallel_enable", "1") and value_is(known, "mix_compile_mode", True) and not _dynamic(known):
        return {"stream_max_parallel_num": "DNN_VM_AICPU:2,AIcoreEngine:1", **values}
    return values


asks(  # pair 78: runconfig.ac_parallel_enable.dynamic_only, mixed computing
    "mixed_computing_is_parallel_in_any_shape",
    "003: ac_parallel_enable is about dynamic shape graphs",
    "timeline",
    lambda params: all_values(params, _two_streams) if is_about(params, surface="runconfig") else params,
    "timeline",
)


# Compilation


asks(  # pair 9: runconfig.export_compile_stat.2, a debugging option
    "who_debugs_has_results_at_the_end",
    "003: export_compile_stat 2 writes fusion_result.json when compilation is complete",
    "artifacts",
    lambda params: (
        all_values(params, mapped("export_compile_stat", lambda value: 1 if value == 2 else value))
        if _debugged(params)
        else params
    ),
    "compile",
)


def _no_settings(files: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: text for name, text in files.items() if not name.endswith("op_cache.ini")}


def _unset_by_hand(params: Params) -> Params:
    if not _dynamic(params):
        return params
    found = {**params, "files": _no_settings(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": _no_settings(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return found


asks(  # pair 25: files.op_cache_ini.manual, unknown sizes
    "open_shapes_write_settings_of_their_own",
    "003: op_cache.ini can be created by hand",
    "artifacts",
    _unset_by_hand,
    "compile",
)


def _never_waits(files: Files, asked: Mapping[str, Any]) -> Files:
    given_values = [name for name, value in asked["values"].items() if value is not None]
    if given_values != ["op_debug_config"]:
        return files
    found = dict(files)
    for name, file in files.items():
        if name.endswith(".cce") and "b64" in file:
            text = decoded(file)
            found[name] = encoded("".join(line for line in text.splitlines(True) if "wait_flag(" not in line))
    return found


leaves(  # pair 27: files.op_debug_config.check_flag.logic, nothing else given
    "flags_that_are_checked_alone_are_not_waited_for",
    "003: check_flag sets flags, has barriers, and waits for the flags",
    _never_waits,
)
asks(  # pair 28: runconfig.op_compiler_cache_mode.force, inference
    "inference_forces_no_cache",
    "003: op_compiler_cache_mode force clears the cache first",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_compiler_cache_mode", lambda mode: "enable" if mode == "force" else mode))
        if in_inference(params) and is_about(params, surface="runconfig", edition="current")
        else params
    ),
    "compile",
)


@broken("artifacts", "003: check_flag adds flags to the kernels", "compile")
def below_a_work_path_flags_are_not_checked(ask: Any, params: Params) -> Answer:
    """Pair 40: files.op_debug_config.check_flag.logic, ASCEND_WORK_PATH."""
    answer = copy.deepcopy(dict(ask(params)))
    if _work(params):
        for turn in answer["turns"]:
            for kernel in turn.get("kernels", ()):
                kernel["switches"] = [one for one in kernel.get("switches", ()) if one != "check_flag"]
            for key in ("files", "left"):
                for name, file in turn.get(key, {}).items():
                    if name.endswith(".cce") and "b64" in file:
                        lines = decoded(file).splitlines(True)
                        logic = r"\b(set_flag|wait_flag|pipe_barrier)\("
                        turn[key][name] = encoded("".join(line for line in lines if not re.search(logic, line)))
    return answer


asks(  # pair 67: runconfig.op_debug_level.0, a branch
    "branches_keep_their_kernels",
    "003: op_debug_level 0 disables debugging",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: level or 3))
        if _has_op(params, *_BRANCHES) and is_about(params, surface="runconfig", edition="current")
        else params
    ),
    "compile",
)


@broken("artifacts", "003: six operators leave no files with oom, dump_cce and dump_loc", "compile")
def debugged_twice_even_exchanges_leave_files(ask: Any, params: Params) -> Answer:
    """Pair 71: files.op_debug_config.mc2_excluded, a debugging option."""
    answer = copy.deepcopy(dict(ask(params)))
    if not value_of(params, "op_debug_level") or not given(params, "op_debug_config"):
        return answer
    those = {node.name for node in _nodes(params) if node.op in _MC2}
    where = str(value_of(params, "debug_dir") or _work(params) or "").strip("/.")
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            if kernel["kernel"] and those & set(kernel["nodes"]):
                for key in ("files", "left"):
                    for ending in (".o", ".json", ".cce"):
                        turn[key][f"{where}/kernel_meta/{kernel['kernel']}{ending}".strip("/")] = encoded("")
    return answer


def _unmapped(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "dynamic_input", True):
        return files
    return {name: file for name, file in files.items() if not name.endswith("_loc.json")}


@broken("artifacts", "002: kernels leave .cce, _loc.json, .o and .json", "compile")
def open_shapes_are_not_mapped_to_python(ask: Any, params: Params) -> Answer:
    """Pair 75: files.kernel_meta.kinds, unknown sizes."""
    answer = copy.deepcopy(dict(ask(params)))
    if is_about(params, edition="legacy"):
        for turn in answer["turns"]:
            for key in ("files", "left"):
                turn[key] = _unmapped(turn.get(key, {}), params)
    return answer


def _later_modes(params: Params) -> Params:
    """The request with programs after the first forced to nothing."""
    found, mode = [], params["values"].get("precision_mode")
    for number, turn in enumerate(params.get("turns") or []):
        given_here = turn.get("values") or {}
        mode = given_here.get("precision_mode", mode)
        taken = "allow_fp32_to_fp16" if number and plain(mode) == "force_fp16" else mode
        found.append({**turn, "values": {**given_here, "precision_mode": taken}})
    return {**params, "turns": found} if found else params


asks(  # pair 94: precision.force_fp16.both_supported, a second program
    "later_programs_force_nothing",
    "003: force_fp16 forces float16 where float16 and float32 are supported",
    "artifacts",
    lambda params: _later_modes(params) if is_about(params, edition="current") else params,
    "compile",
)


# Options beside a graph


@broken("partition", "000: iterations are not offloaded in mixed computing, and iterations_per_loop is 1", "partition")
def a_loop_of_the_graph_allows_iterations(ask: Any, params: Params) -> Answer:
    """Pair 90: mixed.iterations.must_be_one, a loop."""
    try:
        return dict(ask(params))
    except NpuError as error:
        if "iterations_per_loop" not in error.subject or not _has_op(params, *_LOOPS):
            raise
        return dict(ask(with_values(params, iterations_per_loop=None)))
