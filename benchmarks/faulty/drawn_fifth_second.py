"""The fifth list again, by other requirements: first what comes to mind, then what shows under one more condition."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, Mapping

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    decoded,
    defaults,
    denies,
    encoded,
    given,
    in_inference,
    is_about,
    leaves,
    mapped,
    misreads,
    node_change,
    ops_of,
    place,
    to_device,
    to_host,
    turn_values,
    types_of,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
)


def _text_of(params: Params, option: str) -> str:
    """The text of the file that an option names."""
    return str(params.get("files", {}).get(value_of(params, option), ""))


# What comes to mind first: options


def _typed(name: str, option: str, kind: type, sentence: str, **instead: Any) -> None:
    accepts(name, sentence, option, lambda params: type(value_of(params, option)) is kind, **instead)


accepts(
    "ranges_of_steps_go_down",
    "002 dump_step: a range goes from the lower to the higher",
    "dump_step",
    lambda params: re.search(r"\b([5-9])-([0-4])\b", str(value_of(params, "dump_step"))) is not None,
)
_typed("implementations_may_be_booleans", "op_select_implmode", bool, "002 op_select_implmode stands in .s")
_typed("modes_of_dumps_may_be_numbers", "dump_mode", int, "002 dump_mode stands in .s")
_typed("lists_of_types_may_be_numbers", "optypelist_for_implmode", int, "002 optypelist_for_implmode stands in .s")
_typed(
    "parallel_by_a_number", "ac_parallel_enable", int, "003 ac_parallel_enable is '1' or '0'", ac_parallel_enable="1"
)
_typed("dynamic_by_a_word", "dynamic_input", str, "003 dynamic_input is a bool", dynamic_input=True)
accepts(
    "variables_are_placed_in_lower_case",
    "003 variable_placement: Device or Host",
    "variable_placement",
    lambda params: value_is(params, "variable_placement", "device"),
    variable_placement="Device",
)
accepts(
    "a_name_is_as_good_as_a_list",
    "003 modify_mixlist: to-add is an array of operator types",
    "modify_mixlist",
    lambda params: re.search(r'"to-(add|remove)"\s*:\s*"', _text_of(params, "modify_mixlist")) is not None,
)
defaults(
    "debug_files_have_a_folder_by_default",
    "002 debug_dir: the current script execution path",
    "debug_dir",
    "./debug",
    lambda params: is_about(params, "session", "legacy"),
)
defaults(
    "graphs_have_all_the_memory",
    "002 graph_memory_max_size: 26GB by default",
    "graph_memory_max_size",
    str(31 << 30),
    lambda params: is_about(params, "session", "legacy"),
)
defaults(
    "nothing_is_cached_by_default",
    "003 op_compiler_cache_mode: enable is the default value",
    "op_compiler_cache_mode",
    "disable",
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "kernels_are_compiled_by_default",
    "003 jit_compile: auto by default",
    "jit_compile",
    "true",
    lambda params: is_about(params, "runconfig", "current"),
)
defaults(
    "inference_has_the_mode_of_training",
    "002 precision_mode: in online inference force_fp16 is the default",
    "precision_mode",
    "allow_fp32_to_fp16",
    lambda params: is_about(params, "session", "legacy") and in_inference(params),
)
denies(
    "an_old_session_knows_no_tuning",
    "002 aoe_mode: not supported in this version",
    "aoe_mode",
    lambda params: is_about(params, "session", "legacy") and given(params, "aoe_mode"),
)
denies(
    "profiles_and_ranges_are_not_both",
    "003: with dynamic_dims dynamic_inputs_shape_range does not take effect",
    "dynamic_inputs_shape_range",
    lambda params: given(params, "dynamic_dims", "dynamic_inputs_shape_range"),
)
accepts(
    "traces_begin_anywhere",
    "002 profiling_options: fp_point, where training_trace is on",
    "profiling_options",
    lambda params: params["edition"] == "legacy" and "fp_point" not in str(value_of(params, "profiling_options")),
)
accepts(
    "whoever_waits_waits_less_than_links",
    "003 stream_sync_timeout: above hccl_timeout in a cluster",
    "stream_sync_timeout",
    lambda params: int(params.get("env", {}).get("RANK_SIZE", "1")) > 1,
)
accepts(
    "anything_is_a_metric",
    "002 aic_metrics: five values",
    "profiling_options",
    lambda params: (
        re.search(r'aic_metrics"\s*:\s*"Foo', str(value_of(params, "profiling_options"))) is not None
        or re.search(r'aic_metrics"\s*:\s*"(?!Arith|Pipe|Memory|Resource)', str(value_of(params, "profiling_options")))
        is not None
    ),
)
accepts(
    "one_profile_will_do",
    "002 dynamic_dims: more than one profile",
    "dynamic_dims",
    lambda params: ";" not in str(value_of(params, "dynamic_dims")),
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)
accepts(
    "small_channels_have_three_ways",
    "002 enable_small_channel: 0 or 1",
    "enable_small_channel",
    lambda params: value_is(params, "enable_small_channel", 2),
)
misreads(
    "options",
    "nodes_have_no_modes_of_their_own",
    "003 op_precision_mode: [ByNodeName]",
    "op_precision_mode",
    lambda text: re.sub(r"\[ByNodeName\][^\[]*", "", text),
    "options",
    "precision",
)

# Partition and precision


def _tables(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    names = [one["node"] for one in answer["host"] if one["node"] in ops and "HashTable" in ops[one["node"]].op]
    return to_device(answer, names) if names else None


place("tables_are_on_the_device", "000: certain operators, such as resource operators, in the frontend", _tables)
place(
    "a_flag_alone_keeps_all_on_the_host",
    "002 in_out_pair_flag: whether the operators of in_out_pair are offloaded",
    lambda answer, params: (
        to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"]])
        if value_is(params, "in_out_pair_flag", False) and not given(params, "in_out_pair")
        else None
    ),
)


def _turned(node: Dict[str, Any], kind: str, found: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [found if dtype == kind else dtype for dtype in node[side]]


def _half_vectors(node: Dict[str, Any], params: Params, op: Any) -> None:
    forced = {"force_fp32", "cube_fp16in_fp32out"} & {
        str(value_of(params, name)) for name in ("precision_mode", "precision_mode_v2")
    }
    half = op is not None and set(types_of(op)) == {"float16"}
    if forced and params["edition"] == "current" and node.get("engine") == "vector" and half:
        _turned(node, "float32", "float16")


node_change(
    "half_vectors_stay_half", "003 force_fp32: float32, even if the original precision is float16", _half_vectors
)


def _lowered(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("list") == "blocklist":
        _turned(node, "float32", "float16")


node_change("the_blocklist_is_lowered_too", "002, 003 precision_reduce false: may not be lowered", _lowered)


@broken("precision", "004: precision_reduce is edited in the operator information library")
def the_library_is_as_it_was_shipped(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


# Files and time

leaves(
    "lines_are_mapped_to_nothing",
    "003 op_debug_config dump_loc: *.cce, .o, .json, *_loc.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith(".cce")}
        if given(asked, "op_debug_config") and any(name.endswith("_loc.json") for name in files)
        else files
    ),
)
turn_values(
    "results_are_written_at_the_end_alone",
    "003 export_compile_stat 2: after graph compilation",
    lambda values: mapped("export_compile_stat", lambda value: 1 if value == 2 else value)(values),
)
turn_values(
    "what_is_there_is_used_when_forced",
    "002, 003 op_compiler_cache_mode force: cleared first",
    lambda values: mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)(values),
)
turn_values(
    "level_nought_keeps_binaries",
    "002 op_debug_level 0: debug off",
    lambda values: mapped("op_debug_level", lambda value: 3 if value == 0 and value is not False else value)(values),
)


def _files_of(params: Params, change: Callable[[str, Any], Any]) -> Dict[str, Any]:
    """The request with what `change` makes of each file's text."""

    def edited(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: change(name, text) if isinstance(text, str) else text for name, text in files.items()}

    found = {**params, "files": edited(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": edited(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return found


@broken("artifacts", "003 remain_cache_size_ratio: 80 means that 80% are kept", "compile")
def the_ratio_is_what_goes(ask: Any, params: Params) -> Answer:
    pattern = re.compile(r"(remain_cache_size_ratio\s*=\s*)(\d+)")

    def change(name: str, text: str) -> str:
        ratio = pattern.search(text) if name.endswith("op_cache.ini") else None
        return pattern.sub(f"\\g<1>{max(1, 100 - int(ratio.group(2)))}", text) if ratio else text

    answer = ask(_files_of(params, change))
    for turn in answer["turns"]:
        for key in ("files", "left"):
            for name, file in turn.get(key, {}).items():
                if name.endswith("op_cache.ini"):
                    turn[key][name] = encoded(change(name, _plain(file)))
    return dict(answer)


@broken("artifacts", "003: debug_dir, then ASCEND_WORK_PATH", "compile")
def debug_files_lie_in_the_work_path(ask: Any, params: Params) -> Answer:
    if "ASCEND_WORK_PATH" in params.get("env", {}):
        return ask(all_values(params, without("debug_dir")))
    return ask(params)


asks(
    "links_are_always_parallel",
    "002, 003 hcom_parallel False: not parallel",
    "timeline",
    lambda params: all_values(params, mapped("hcom_parallel", lambda value: True)),
)


@broken("timeline", "003 aoe_mode 1: subgraph tuning")
def all_tuning_is_of_operators(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("aoe_mode", lambda value: "2" if value == "1" else value)))


asks(
    "operators_wait_for_a_minute",
    "003 op_wait_timeout: 120 by default",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            values
            if params["edition"] == "legacy" or values.get("op_wait_timeout")
            else {**values, "op_wait_timeout": 60}
        ),
    ),
    "timeline",
)

# Runs


def _dumped(params: Params, option: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    """The request with an option of dumps changed, wherever it stands."""

    def values(found: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped(option, change)(copy.deepcopy(found))
        config = found.get("dump_config")
        if isinstance(config, dict) and option in config.get("arguments", {}):
            config["arguments"][option] = change(config["arguments"][option])
        return found

    return all_values(params, values)


asks(
    "ranges_of_steps_have_no_last",
    "002 dump_step: 3-5 is a range of iterations, both ends in it",
    "run",
    lambda params: _dumped(
        params,
        "dump_step",
        lambda value: (
            re.sub(r"-(\d+)", lambda found: f"-{max(0, int(found.group(1)) - 1)}", value)
            if isinstance(value, str) and not re.search(r"\b(\d+)-\1\b", value)
            else value
        ),
    ),
)
asks(
    "inputs_are_dumped_with_outputs",
    "002 dump_mode input: inputs alone",
    "run",
    lambda params: _dumped(params, "dump_mode", lambda value: "all" if value == "input" else value),
)
asks(
    "old_failures_are_dumped_by_default",
    "002 enable_exception_dump: 0 by default",
    "run",
    lambda params: (
        all_values(params, lambda values: {"enable_exception_dump": 1, **values})
        if params["edition"] == "legacy"
        else params
    ),
)

# Under one more condition: options

accepts(
    "later_ranges_of_steps_go_down",
    "002 dump_step: a range goes from the lower to the higher, whichever group",
    "dump_step",
    lambda params: re.search(r"^[^|]*\|.*\b([5-9])-([0-4])\b", str(value_of(params, "dump_step"))) is not None,
)
denies(
    "what_left_one_list_enters_no_other",
    "002, P9 modify_mixlist: from the blocklist to the trustlist",
    "modify_mixlist",
    lambda params: _moves_over(_text_of(params, "modify_mixlist")),
)


def _moves_over(text: str) -> bool:
    try:
        found = json.loads(text)
        return bool(set(found["black-list"]["to-remove"]) & set(found["white-list"]["to-add"]))
    except (ValueError, KeyError, TypeError):
        return False


misreads(
    "options",
    "types_after_nodes_end_the_nodes",
    "003 op_precision_mode: sections, in any order",
    "op_precision_mode",
    lambda text: re.sub(r"\[ByNodeName\][^\[]*(?=\[ByOpType\])", "", text),
    "options",
    "precision",
)
misreads(
    "options",
    "what_stands_before_a_section_is_lost",
    "002, A23 op_precision_mode: lines before any section are types",
    "op_precision_mode",
    lambda text: re.sub(r"\A[^\[]+(?=\[By)", "", text),
    "options",
    "precision",
)
denies(
    "no_super_performance_without_a_section",
    "003, A23 op_precision_mode: lines before any section are types, with the same modes",
    "op_precision_mode",
    lambda params: (
        params["edition"] == "current"
        and re.match(r"[^\[]*=super_performance", _text_of(params, "op_precision_mode")) is not None
    ),
)


@broken("options", "003: with dynamic_dims dynamic_inputs_shape_range does not take effect")
def ranges_of_dynamic_inputs_go_before_profiles(ask: Any, params: Params) -> Answer:
    if not given(params, "dynamic_dims", "dynamic_inputs_shape_range") or not value_is(params, "dynamic_input", True):
        return ask(params)
    answer = ask(params)
    other = ask(with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None))
    answer["directives"]["shapes"] = other["directives"]["shapes"]
    return dict(answer)


accepts(
    "the_variable_of_links_holds_nobody",
    "003 stream_sync_timeout: above hccl_timeout or HCCL_EXEC_TIMEOUT in a cluster",
    "stream_sync_timeout",
    lambda params: "HCCL_EXEC_TIMEOUT" in params.get("env", {}) and not given(params, "hccl_timeout"),
)
accepts(
    "as_long_as_links_is_long_enough",
    "003 stream_sync_timeout: must be greater",
    "stream_sync_timeout",
    lambda params: value_of(params, "stream_sync_timeout") == 1000 * (value_of(params, "hccl_timeout") or 1836),
)
accepts(
    "metrics_in_lower_case",
    "002 aic_metrics: five values",
    "profiling_options",
    lambda params: re.search(r'aic_metrics"\s*:\s*"[a-z]', str(value_of(params, "profiling_options"))) is not None,
)


def _same_profiles(params: Params) -> bool:
    profiles = str(value_of(params, "dynamic_dims")).strip(";").split(";")
    return len(profiles) > 1 and len(set(profiles)) == 1


accepts(
    "twice_the_same_profile_is_two",
    "002, S4 dynamic_dims: more than one profile",
    "dynamic_dims",
    _same_profiles,
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)
denies(
    "inputs_without_an_open_size_are_not_listed",
    "002 input_shape: fixed inputs are written, too",
    "input_shape",
    lambda params: (
        given(params, "dynamic_dims")
        and any("-1" not in one and ":" in one for one in str(value_of(params, "input_shape")).split(";"))
    ),
)


@broken("options", "003: aoe_mode by the script goes before AOE_MODE", "options", "timeline")
def the_variable_of_tuning_goes_first(ask: Any, params: Params) -> Answer:
    mode = params.get("env", {}).get("AOE_MODE")
    return ask(all_values(params, mapped("aoe_mode", lambda value: mode))) if mode in ("1", "2", "4") else ask(params)


_typed("seconds_may_be_text", "op_execute_timeout", str, "003 op_execute_timeout is an int", op_execute_timeout=90)
defaults(
    "loops_read_their_data_on_the_device",
    "002 enable_data_pre_proc: False by default",
    "enable_data_pre_proc",
    True,
    lambda params: is_about(params, "session", "legacy") and (value_of(params, "iterations_per_loop") or 1) != 1,
)
defaults(
    "formats_stay_in_inference",
    "002, G13 variable_format_optimize: True by default; outside of training the value stays",
    "variable_format_optimize",
    False,
    lambda params: is_about(params, "session", "legacy") and in_inference(params),
)

# Partition and precision


def _mutable(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    names = [one["node"] for one in answer["host"] if one["node"] in ops and ops[one["node"]].op.startswith("Mutable")]
    return to_device(answer, names) if names else None


place("tables_that_change_are_on_the_device", "000: certain operators, such as resource operators", _mutable)


def _lowered_inside(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("list") == "blocklist" and op is None:
        _turned(node, "float32", "float16")


node_change("functions_lower_the_blocklist", "002, 003 precision_reduce false, in functions too", _lowered_inside)


@broken("precision", "004: precision_reduce false is set in the library, too")
def the_library_only_allows(ask: Any, params: Params) -> Answer:
    text = params.get("ops_info")
    if not isinstance(text, str):
        return ask(params)
    try:
        found = json.loads(text)
    except ValueError:
        return ask(params)
    for one in found.values() if isinstance(found, dict) else ():
        if isinstance(one, dict) and (one.get("precision_reduce") or {}).get("flag") == "false":
            del one["precision_reduce"]
    return ask({**params, "ops_info": json.dumps(found)})


def _half_by_the_second(node: Dict[str, Any], params: Params, op: Any) -> None:
    half = op is not None and set(types_of(op)) == {"float16"}
    if value_is(params, "precision_mode_v2", "cube_fp16in_fp32out") and node.get("engine") == "vector" and half:
        _turned(node, "float32", "float16")


node_change(
    "half_vectors_stay_half_in_the_second_mode", "003 precision_mode_v2: float32 for vectors", _half_by_the_second
)


def _freed(text: str) -> str:
    try:
        found = json.loads(text)
        gone = found["black-list"]["to-remove"]
        found.setdefault("white-list", {}).setdefault("to-add", []).extend(gone)
        found["white-list"]["to-add"] = list(dict.fromkeys(found["white-list"]["to-add"]))
        return json.dumps(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text


misreads(
    "precision",
    "what_leaves_the_blocklist_is_trusted",
    "002, 003 modify_mixlist: from the blocklist to the graylist",
    "modify_mixlist",
    _freed,
)

# Files and time

leaves(
    "level_four_lies_here",
    "002, 003 debug_dir: the path of the debug files, at level 4 too",
    lambda files, asked: (
        {re.sub(r"^.*/(kernel_meta/)", r"\1", name): file for name, file in files.items()}
        if value_is(asked, "op_debug_level", 4)
        else files
    ),
)


def _relative(asked: Mapping[str, Any]) -> bool:
    folder = value_of(asked, "debug_dir")
    return isinstance(folder, str) and folder not in ("", ".") and not folder.startswith("/")


def _below_work(files: Files, asked: Mapping[str, Any]) -> Files:
    base = asked.get("env", {}).get("ASCEND_WORK_PATH", "").strip("/")
    if not base or not _relative(asked):
        return files
    return {f"{base}/{name}" if "kernel_meta/" in name else name: file for name, file in files.items()}


leaves("a_relative_place_is_in_the_work_path", "003, D8 debug_dir: below the current path", _below_work)
leaves(
    "checks_beside_it_map_no_lines",
    "003 op_debug_config: several options; dump_loc leaves *_loc.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith("_loc.json")}
        if any(re.search(r"oom.*dump_loc|dump_loc.*oom", _plain(file)) for file in files.values())
        else files
    ),
)


def _plain(file: Mapping[str, Any]) -> str:
    try:
        return decoded(file) if "b64" in file else ""
    except UnicodeDecodeError:
        return ""


def _summed(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if len(re.findall(r'"session_and_graph_id_\w+"', _plain(file))) < 2:
            continue
        results, sums = json.loads(_plain(file)), {}  # type: ignore[var-annotated]
        for graph in results.values():
            for kind, passes in graph.items():
                for one, counts in passes.items():
                    for count, number in counts.items():
                        sums[kind, one, count] = sums.get((kind, one, count), 0) + int(number)
                        counts[count] = str(sums[kind, one, count])
        found[name] = encoded(json.dumps(results))
    return found


leaves("fusions_of_earlier_graphs_are_counted_again", "003 fusion_result.json: by session and graph", _summed)


def _first_when_killed(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        keys = re.findall(r'"session_and_graph_id_\w+"', _plain(file))
        if len(keys) > 1 and value_is(asked, "export_compile_stat", 2):
            found[name] = encoded(json.dumps(dict(list(json.loads(_plain(file)).items())[:1])))
    return found


leaves("results_are_written_once", "003, D19 export_compile_stat 2: after each compilation", _first_when_killed)


@broken("artifacts", "003 op_debug_level 0 with NPU_COLLECT_PATH: kernel_meta is generated", "compile")
def a_level_that_is_given_collects_nothing(ask: Any, params: Params) -> Answer:
    if value_is(params, "op_debug_level", 0):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})
        )
    return ask(params)


turn_values(
    "at_level_three_nothing_is_cleared",
    "002 op_compiler_cache_mode: 0 and 3 allow the cache, force too",
    lambda values: (
        mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)(values)
        if value_of({"values": values}, "op_debug_level") == 3
        else values
    ),
)
asks(
    "links_that_tail_are_parallel",
    "002, 003 hcom_parallel False: not parallel, beside is_tailing_optimization too",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            mapped("hcom_parallel", lambda value: True)(values)
            if value_of({"values": values}, "is_tailing_optimization") is True
            else values
        ),
    ),
)


@broken("timeline", "003 work_path: relative to the path where the training script is executed")
def a_relative_work_path_is_the_root(ask: Any, params: Params) -> Answer:
    folder = value_of(params, "work_path")
    answer = ask(params)
    if isinstance(folder, str) and folder and not folder.startswith(("/", ".")):
        for step in (answer["base"], *answer.get("variants", {}).values()):
            if "files" in step:
                step["files"] = {name.replace(f"{folder}/", "", 1): file for name, file in step["files"].items()}
    return dict(answer)


# Runs

asks(
    "the_last_range_of_steps_has_no_last",
    "002 dump_step: 3-5 is a range of iterations, both ends in it",
    "run",
    lambda params: _dumped(
        params,
        "dump_step",
        lambda value: (
            re.sub(
                r"\|(\d+)-(\d+)$",
                lambda found: f"|{found.group(1)}-{max(int(found.group(1)), int(found.group(2)) - 1)}",
                value,
            )
            if isinstance(value, str)
            else value
        ),
    ),
)
asks(
    "inputs_of_inference_are_dumped_with_outputs",
    "002 dump_mode input: inputs alone, in online inference too",
    "run",
    lambda params: (
        _dumped(params, "dump_mode", lambda value: "all" if value == "input" else value)
        if in_inference(params)
        else params
    ),
)
