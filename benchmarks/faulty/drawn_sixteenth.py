"""What comes to mind first of requirements that a seed drew (20261127), over all areas, in the order in which it drew.

Written from the documents and the inventory without a look at cases, laws, graphs or earlier lists. A comment at each
names its requirement.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping

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
    leaves,
    left,
    mapped,
    misreads,
    plain,
    reads_as,
    steps,
    tells,
    text_of,
    told_value,
    value_is,
    value_of,
    where,
    with_pairs,
    with_settings,
    with_values,
    without,
)
from npu_reference.errors import NpuError

_SESSION, _RUNCONFIG = where("session", "legacy"), where("runconfig", "current")


def _beside(answer: Answer, option: str, *codes: str) -> None:
    """Takes an option's warnings of these codes away."""
    answer["warnings"] = [one for one in answer["warnings"] if one["option"] != option or one["code"] not in codes]


denies(  # session.is_tailing_optimization.example
    "tailing_is_refused_where_no_optimizer_is_in_sight",
    "002 is_tailing_optimization: the documented example",
    "is_tailing_optimization",
    lambda params: _SESSION(params) and value_is(params, "is_tailing_optimization", True),
)


def _faster_alone(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    if not _SESSION(params) or plain(values.get("is_tailing_optimization")) is not True:
        return
    if params.get("ranks", 1) > 1 or "step_ns" not in step:
        return
    for key in ("step_ns", "run_ns"):
        if key in step:
            step[key] = step[key] * 9 // 10
    for task in step.get("tasks", ()):
        task["start_ns"], task["end_ns"] = task["start_ns"] * 9 // 10, task["end_ns"] * 9 // 10


steps(  # session.is_tailing_optimization.distributed_only
    "tailing_makes_a_single_device_faster",
    "002 is_tailing_optimization: in distributed training",
    _faster_alone,
)
asks(  # session.dynamic_inputs_shape_range.fixed
    "a_plain_number_of_a_range_is_its_upper_end",
    "002 dynamic_inputs_shape_range: a fixed dimension is a fixed number",
    "timeline",
    lambda params: (
        all_values(
            params,
            mapped("dynamic_inputs_shape_range", lambda text: re.sub(r"(?<![\d~-])(\d+)(?![\d~]|\s*~)", r"1~\1", text)),
        )
        if _SESSION(params)
        else params
    ),
    "timeline",
    "run",
)
denies(  # runconfig.op_compiler_cache_mode.example
    "a_cache_needs_a_directory_that_is_named",
    '003 op_compiler_cache_mode: NPURunConfig(op_compiler_cache_mode="enable")',
    "op_compiler_cache_mode",
    lambda params: (
        _RUNCONFIG(params)
        and value_is(params, "op_compiler_cache_mode", "enable")
        and not given(params, "op_compiler_cache_dir")
    ),
)


def _no_level(answer: Answer, params: Params) -> None:
    if _RUNCONFIG(params) and given(params, "op_debug_level"):
        told_value(answer, "op_debug_level", None, "default")


tells(  # runconfig.op_debug_level.example
    "a_deprecated_level_of_debugging_is_forgotten",
    "003 op_debug_level: NPURunConfig(op_debug_level=1)",
    _no_level,
)
reads_as(  # session.dynamic_node_type.0
    "nought_means_that_placeholders_are_dynamic",
    "002 dynamic_node_type: 0: the dataset input is dynamic",
    "dynamic_node_type",
    lambda params, told: 1 if _SESSION(params) and told == 0 else told,
    "options",
    "timeline",
    "run",
)
misreads(  # files.op_debug_cfg.list.entries
    "artifacts",
    "a_type_to_be_debugged_is_a_name_of_an_operator",
    "003 op_debug_config: the type is configured in OpType::typeName format",
    "op_debug_config",
    lambda text: re.sub(r"[oO]pType::", "opType/", text),
    "options",
    "compile",
)
accepts(  # session.enable_dump.path_none
    "a_dump_without_a_path_lies_in_the_current_directory",
    "002 enable_dump: an exception where dump_path is None",
    "dump_path",
    lambda params: _SESSION(params) and value_is(params, "enable_dump", True) and not given(params, "dump_path"),
    enable_dump=None,
)
asks(  # session.op_debug_level.perf
    "the_first_level_of_debugging_costs_nothing",
    "002 op_debug_level: 1 and 2 make the network slower",
    "timeline",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: 0 if level == 1 else level))
        if _SESSION(params)
        else params
    ),
)


def _base_name(answer: Answer, params: Params) -> None:
    named = value_of(params, "modify_mixlist")
    if _SESSION(params) and isinstance(named, str):
        told_value(answer, "modify_mixlist", named.rsplit("/", 1)[-1])


tells(  # session.modify_mixlist.example
    "a_mixlist_is_told_without_its_directory",
    "002 modify_mixlist: /home/test/ops_info.json",
    _base_name,
)
accepts(  # runconfig.enable_data_pre_proc.type
    "nought_and_one_offload_getnext",
    "003 enable_data_pre_proc: True or False",
    "enable_data_pre_proc",
    lambda params: _RUNCONFIG(params) and isinstance(value_of(params, "enable_data_pre_proc"), int),
)


def _to_every_rank(params: Params) -> Params:
    if not _RUNCONFIG(params) or "ranks" not in params:
        return params
    every = ",".join(str(rank) for rank in range(params["ranks"]))
    return all_values(params, mapped("local_device_list", lambda text: every))


asks(  # runconfig.local_device_list.pair
    "the_main_process_sends_to_every_device_there_is",
    "003 local_device_list: devices that the main process sends data to",
    "timeline",
    _to_every_rank,
)


def _ten_streams(answer: Answer, params: Params) -> None:
    if not _SESSION(params) or given(params, "stream_max_parallel_num"):
        return
    if "engines" in answer.get("directives", {}):
        answer["directives"]["engines"]["AI_CPU"] = 10
    if "stream_max_parallel_num" in answer.get("meaning", {}):
        answer["meaning"]["stream_max_parallel_num"]["DNN_VM_TF"] = 10


tells(  # session.stream_max_parallel_num.default
    "the_sample_of_parallel_streams_is_the_default",
    "002 stream_max_parallel_num: 1 by default",
    _ten_streams,
)
accepts(  # runconfig.variable_format_optimize.type
    "words_switch_the_format_of_variables",
    "003 variable_format_optimize: True or False",
    "variable_format_optimize",
    lambda params: (
        _RUNCONFIG(params) and str(value_of(params, "variable_format_optimize")).lower() in ("true", "false")
    ),
)


def _no_arguments(pairs: List[Any]) -> List[Any]:
    found = []
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list):
            kept = [name for name in pair[0] if not str(name).startswith("_arg_")]
            pair = [kept or ["no_such_operator"], pair[1]]
        found.append(pair)
    return found


asks(  # in_out_pair.arg_nodes
    "arguments_of_the_graph_begin_no_range",
    "001 in_nodes.append('_arg_tf_image_string_0_0')",
    "partition",
    lambda params: with_pairs(params, _no_arguments),
    "partition",
)


def _unset_by_nought(answer: Answer, params: Params) -> None:
    if (
        _SESSION(params)
        and value_is(params, "op_debug_level", 0)
        and not isinstance(value_of(params, "op_debug_level"), bool)
    ):
        told_value(answer, "op_debug_level", 0, "default")


tells(  # session.op_debug_level.example
    "level_nought_of_debugging_counts_as_not_given",
    'session: parameter_map["op_debug_level"].i = 0',
    _unset_by_nought,
)


@broken("options", "003 dynamic_graph_execute_mode: takes effect when dynamic_input is True", "options")
def ranges_hold_of_an_input_that_is_not_dynamic(ask: Any, params: Params) -> Answer:
    """runconfig.dynamic_graph_execute_mode.effect."""
    answer = dict(ask(params))
    if not _RUNCONFIG(params) or value_is(params, "dynamic_input", True):
        return answer
    if not given(params, "dynamic_graph_execute_mode", "dynamic_inputs_shape_range"):
        return answer
    try:
        other = ask(with_values(params, dynamic_input=True))
    except NpuError:
        return answer
    for option in ("dynamic_graph_execute_mode", "dynamic_inputs_shape_range"):
        _beside(answer, option, "no_effect")
    for part, name in (("directives", "shapes"), ("meaning", "dynamic_inputs_shape_range")):
        if name in other.get(part, {}):
            answer[part][name] = other[part][name]
    return answer


accepts(  # runconfig.local_device_list.type
    "devices_to_be_sent_to_may_be_a_list",
    '003 local_device_list: a text, "0,1"',
    "local_device_list",
    lambda params: _RUNCONFIG(params) and isinstance(value_of(params, "local_device_list"), (list, dict)),
)


def _decimal(answer: Answer, params: Params) -> None:
    if not _SESSION(params) or given(params, "graph_memory_max_size"):
        return
    told_value(answer, "graph_memory_max_size", str(26 * 10**9))
    if "graph_memory_max_size" in answer.get("meaning", {}):
        answer["meaning"]["graph_memory_max_size"] = 26 * 10**9
    if "memory" in answer.get("directives", {}):
        answer["directives"]["memory"]["graph_bytes"] = 26 * 10**9


tells(  # session.graph_memory_max_size.default
    "gigabytes_of_a_graph_are_counted_by_tens",
    "002 graph_memory_max_size: 26*1024*1024*1024 by default",
    _decimal,
)
denies(  # session.dynamic_node_type.example
    "a_dynamic_dataset_counts_as_not_chosen",
    'session: parameter_map["dynamic_node_type"].i = 0',
    "dynamic_node_type",
    lambda params: _SESSION(params) and value_of(params, "dynamic_node_type") == 0,
)


@broken("artifacts", "003 op_compiler_cache_mode: force clears the cache during each compilation", "compile")
def only_the_first_program_forces_the_cache(ask: Any, params: Params) -> Answer:
    """runconfig.op_compiler_cache_mode.force_then_enable."""
    if not _RUNCONFIG(params) or len(params.get("turns") or ()) < 2:
        return dict(ask(params))
    mode, forced, turns = params["values"].get("op_compiler_cache_mode"), False, []
    for turn in params["turns"]:
        mode = (turn.get("values") or {}).get("op_compiler_cache_mode", mode)
        if plain(mode) == "force" and forced:
            turn = {**turn, "values": {**(turn.get("values") or {}), "op_compiler_cache_mode": "enable"}}
        forced = forced or plain(mode) == "force"
        turns.append(turn)
    return dict(ask({**params, "turns": turns}))


def _moved(text: str, source: str, target: str) -> str:
    """A list of mixed precision in which what leaves one list is put on the other, or on the same."""
    try:
        found = json.loads(re.sub(r"//[^\n]*", "", text))
        gone = found[source].pop("to-remove")
        found.setdefault(target, {}).setdefault("to-add", []).extend(gone)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(found)


misreads(  # files.mixlist.current.white_remove
    "precision",
    "what_leaves_the_trustlist_is_put_on_the_blocklist",
    "003 modify_mixlist: white-list.to-remove moves an operator to the graylist",
    "modify_mixlist",
    lambda text: _moved(text, "white-list", "black-list"),
    when=lambda params: is_about(params, edition="current"),
)
accepts(  # session.op_select_implmode.domain
    "modes_for_all_operators_are_taken",
    "002 op_select_implmode: high_precision, high_performance",
    "op_select_implmode",
    lambda params: (
        _SESSION(params)
        and value_is(params, "op_select_implmode", "high_precision_for_all", "high_performance_for_all")
    ),
    op_select_implmode="high_precision",
)


@broken("artifacts", "003 jit_compile: true: operators are compiled online", "compile")
def a_kernel_that_is_built_in_is_never_compiled(ask: Any, params: Params) -> Answer:
    """runconfig.jit_compile.true."""
    if not _RUNCONFIG(params) or not value_is(params, "jit_compile", "true"):
        return dict(ask(params))
    answer = dict(ask(with_values(params, jit_compile="false")))
    for kernel in (kernel for turn in answer["turns"] for kernel in turn.get("kernels", ())):
        if kernel["origin"] == "compiled":
            kernel["origin"] = "built_in"
    return answer


@broken("options", "002 stream_max_parallel_num: training and online inference", "options")
def parallel_streams_are_of_training_alone(ask: Any, params: Params) -> Answer:
    """session.stream_max_parallel_num.scope."""
    answer = dict(ask(params))
    if not _SESSION(params) or not in_inference(params) or not given(params, "stream_max_parallel_num"):
        return answer
    answer = dict(ask(with_values(params, stream_max_parallel_num=None)))
    answer["warnings"] = [*answer["warnings"], {"option": "stream_max_parallel_num", "code": "training_only"}]
    return answer


def _first_alone(text: str) -> str:
    def same(found: Any) -> str:
        names = found.group(2).split(",")
        return found.group(1) + ",".join(names[:1] * len(names))

    return re.sub(r"((?:In|Out)putDtype:)(\w+(?:,(?!InputDtype|OutputDtype)\w+)*)", same, text)


misreads(  # files.customize_dtypes.multi_dtypes
    "precision",
    "the_first_dtype_is_that_of_every_tensor",
    "003 customize_dtypes: InputDtype:dtype1,dtype2,...",
    "customize_dtypes",
    _first_alone,
)
accepts(  # session.auto_tune_mode.type
    "a_bool_switches_tuning",
    "002 auto_tune_mode: parameter_map[...].s",
    "auto_tune_mode",
    lambda params: _SESSION(params) and isinstance(value_of(params, "auto_tune_mode"), bool),
)


def _unadvised(answer: Answer, params: Params) -> None:
    if _RUNCONFIG(params) and "notes" in answer:
        answer["notes"] = [one for one in answer["notes"] if one["option"] != "jit_compile"]


tells(  # runconfig.jit_compile.notice
    "nobody_is_told_what_online_compilation_is_for",
    "003 jit_compile: only for networks of large recommendation models",
    _unadvised,
)


def _first_step(files: Files, params: Params) -> Files:
    if not _SESSION(params) or not value_is(params, "enable_dump", True) or given(params, "dump_step"):
        return files
    root = str(value_of(params, "dump_path")).strip("./")
    return {
        name: file
        for name, file in files.items()
        if not name.startswith(root + "/") or (name.split("/") + ["0", ""])[-4] == "0"
    }


left(  # session.dump_step.all
    "a_dump_without_steps_is_of_the_first_alone",
    "002 dump_step: None: every iteration is dumped",
    _first_step,
    "run",
)
misreads(  # files.mixlist.legacy.black_remove
    "precision",
    "what_leaves_the_blocklist_is_put_on_the_trustlist",
    "002 modify_mixlist: black-list.to-remove moves an operator to the graylist",
    "modify_mixlist",
    lambda text: _moved(text, "black-list", "white-list"),
    when=lambda params: is_about(params, edition="legacy"),
)


@broken("options", "003 op_select_implmode: it still works", "options", "precision")
def a_deprecated_implementation_has_no_effect(ask: Any, params: Params) -> Answer:
    """runconfig.op_select_implmode.deprecated."""
    answer = dict(ask(params))
    if not _RUNCONFIG(params) or not given(params, "op_select_implmode"):
        return answer
    other = ask(with_values(params, op_select_implmode=None, optypelist_for_implmode=None))
    if "nodes" in answer:
        return dict(other)
    if "directives" in answer:
        answer["directives"]["implementation"] = other["directives"]["implementation"]
    return answer


accepts(  # runconfig.enable_exception_dump.domain
    "a_bool_switches_dumps_of_exceptions",
    "003 enable_exception_dump: 0, 1, 2",
    "enable_exception_dump",
    lambda params: _RUNCONFIG(params) and isinstance(value_of(params, "enable_exception_dump"), bool),
)
denies(  # session.variable_memory_max_size.range
    "no_memory_of_variables_is_refused",
    "002 variable_memory_max_size: [0, 274877906944]",
    "variable_memory_max_size",
    lambda params: _SESSION(params) and value_is(params, "variable_memory_max_size", "0"),
)
accepts(  # runconfig.op_execute_timeout.type
    "a_time_to_execute_has_parts_of_seconds",
    "003 op_execute_timeout: an int, seconds",
    "op_execute_timeout",
    lambda params: _RUNCONFIG(params) and isinstance(value_of(params, "op_execute_timeout"), float),
)
asks(  # session.optypelist_for_implmode.applies_to_list
    "a_mode_holds_beyond_the_types_that_are_listed",
    "002 optypelist_for_implmode: the listed types use the mode of op_select_implmode",
    "precision",
    lambda params: all_values(params, without("optypelist_for_implmode")) if _SESSION(params) else params,
    "precision",
)

_SWITCHES = "ub_off.cfg"
_OFF = json.dumps({"Switch": {"UBFusion": {"ALL": "off"}}})


@broken("artifacts", "003 fusion_switch_file: graph and UB fusion are on by default", "compile", "timeline")
def nothing_is_joined_in_the_buffer_unasked(ask: Any, params: Params) -> Answer:
    """runconfig.fusion_switch_file.default_on."""
    values = [params["values"], *(one.get("values") or {} for one in params.get("turns") or ())]
    values += params.get("variants", {}).values()
    if not _RUNCONFIG(params) or any("fusion_switch_file" in one for one in values):
        return dict(ask(params))
    files = {**params.get("files", {}), _SWITCHES: _OFF}
    answer = dict(ask({**with_values(params, fusion_switch_file=_SWITCHES), "files": files}))
    for turn in answer.get("turns", ()):
        for key in ("files", "left"):
            turn.get(key, {}).pop(_SWITCHES, None)
    return answer


accepts(  # runconfig.variable_placement.type
    "whatever_is_given_places_variables",
    '003 variable_placement: a text, "Device" or "Host"',
    "variable_placement",
    lambda params: _RUNCONFIG(params) and not isinstance(value_of(params, "variable_placement"), str),
)


@broken("options", "003 op_cache.ini: the sample, with its comments", "options")
def comments_spoil_the_settings_of_a_cache(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.sample."""
    if not is_about(params, edition="current"):
        return dict(ask(params))
    return dict(ask(with_settings(params, lambda text: "" if "#" in text else text)))


@broken("options", "002 profiling_options: online inference does not support training_trace", "options", "timeline")
def iterations_of_inference_are_traced(ask: Any, params: Params) -> Answer:
    """session.profiling_options.inference.no_training_trace."""
    answer = dict(ask(params))
    if not _SESSION(params) or not in_inference(params) or not value_is(params, "profiling_mode", True):
        return answer
    try:
        other = ask(with_values(params, graph_run_mode=1))
    except NpuError:
        return answer
    if "effective" in answer:
        _beside(answer, "profiling_options", "training_only")
        if "profiling_options" in other.get("meaning", {}):
            answer["meaning"]["profiling_options"] = other["meaning"]["profiling_options"]
    elif other.get("base", {}).get("files"):
        answer["base"]["files"] = other["base"]["files"]
    return answer


def _without_last(text: str) -> str:
    profiles = text.split(";")
    return ";".join(profiles[:-1]) if len(profiles) > 2 else text


asks(  # session.dynamic_dims.example.profile2
    "the_last_profile_is_never_reached",
    "002 dynamic_dims: the third profile of the sample",
    "timeline",
    lambda params: all_values(params, mapped("dynamic_dims", _without_last)) if _SESSION(params) else params,
    "timeline",
    "run",
)


def _is_all_off(params: Params) -> bool:
    return '"ALL":"off"' in re.sub(r"\s", "", text_of(params, "fusion_switch_file"))


@broken("artifacts", "003 fusion_switch_file: some patterns stay on despite the switches", "compile", "timeline")
def all_that_is_switched_off_is_all_there_is(ask: Any, params: Params) -> Answer:
    """files.fusion_switch.current.all_off_not_everything."""
    answer = dict(ask(params))
    if not is_about(params, edition="current") or not _is_all_off(params):
        return answer
    for one in [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]:
        if "fusion" in one:
            one["fusion"] = [found for found in one["fusion"] if not found["name"].startswith("Scope")]
    return answer


denies(  # files.customize_dtypes.example
    "dtypes_of_ones_own_have_no_comments",
    "003 customize_dtypes: the example file, with its lines # By operator name and # By operator type",
    "customize_dtypes",
    lambda params: "#" in text_of(params, "customize_dtypes"),
)
defaults(  # runconfig.compile_dynamic_mode.default
    "dynamic_compilation_is_on_unasked",
    "003 compile_dynamic_mode: False by default",
    "compile_dynamic_mode",
    True,
    _RUNCONFIG,
)


def _with_lines(files: Files, asked: Mapping[str, Any]) -> Files:
    if plain(asked["values"].get("op_debug_level")) != 4:
        return files
    more = {name[:-4] + "_loc.json": {"bytes": 64} for name in files if name.endswith(".cce")}
    return {**files, **more}


leaves(  # session.op_debug_level.4.files
    "the_fourth_level_keeps_lines_too",
    "002 op_debug_level: 4: .o, .json, .cce and _compute.json",
    _with_lines,
)
accepts(  # runconfig.session_device_id.type
    "digits_are_a_device_of_a_session",
    "003 session_device_id: an int",
    "session_device_id",
    lambda params: _RUNCONFIG(params) and str(value_of(params, "session_device_id")).isdigit(),
)
defaults(  # runconfig.variable_placement.default
    "mixed_computing_leaves_variables_on_the_host",
    "003 variable_placement: Device by default",
    "variable_placement",
    "Host",
    lambda params: _RUNCONFIG(params) and value_is(params, "mix_compile_mode", True),
)


@broken("precision", "002 precision_mode: allow_fp32_to_fp16 or None", "precision")
def no_mode_keeps_the_precision_of_the_graph(ask: Any, params: Params) -> Answer:
    """precision.s.none_alias."""
    if not _SESSION(params) or in_inference(params) or not value_is(params, "precision_mode", None, "None", ""):
        return dict(ask(params))
    return dict(ask(with_values(params, precision_mode="must_keep_origin_dtype")))


defaults(  # session.session_device_id.default
    "a_session_is_on_the_first_device_unasked",
    "002 session_device_id: no default",
    "session_device_id",
    0,
    _SESSION,
)
accepts(  # runconfig.op_select_implmode.domain
    "implementations_may_be_written_in_capitals",
    "003 op_select_implmode: high_precision, high_performance",
    "op_select_implmode",
    lambda params: (
        _RUNCONFIG(params)
        and str(value_of(params, "op_select_implmode")).lower() in ("high_precision", "high_performance")
    ),
    op_select_implmode="high_precision",
)
defaults(  # runconfig.op_select_implmode.default
    "high_performance_is_told_unasked",
    "003 op_select_implmode: left empty by default",
    "op_select_implmode",
    "high_performance",
    _RUNCONFIG,
)


def _offloads_again(answer: Answer, params: Params) -> None:
    if _SESSION(params) and value_is(params, "in_out_pair_flag", False):
        told_value(answer, "in_out_pair_flag", True, "default")


tells(  # session.in_out_pair_flag.example
    "a_flag_that_is_false_counts_as_not_given",
    "session: parameter_map['in_out_pair_flag'].b = False",
    _offloads_again,
)
denies(  # session.dynamic_input.example
    "a_dynamic_input_needs_ranges",
    'session: parameter_map["dynamic_input"].b = True',
    "dynamic_input",
    lambda params: (
        _SESSION(params) and value_is(params, "dynamic_input", True) and not given(params, "dynamic_inputs_shape_range")
    ),
)
asks(  # session.mix_compile_mode.scope
    "inference_is_never_mixed",
    "002 mix_compile_mode: training and online inference",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=None)
        if _SESSION(params) and in_inference(params) and not given(params, "in_out_pair")
        else params
    ),
    "partition",
)


@broken("artifacts", "002 op_compiler_cache_dir: kernel_cache is made in a directory that exists", "compile")
def a_directory_that_is_there_is_the_cache_itself(ask: Any, params: Params) -> Answer:
    """session.op_compiler_cache_dir.exists."""
    answer = dict(ask(params))
    values, files = dict(params["values"]), dict(params.get("files", {}))
    for turn, asked in zip(answer.get("turns", ()), params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        named = plain(values.get("op_compiler_cache_dir"))
        if not _SESSION(params) or not isinstance(named, str):
            continue
        root = named.strip("/")
        if not any(name.strip("/") == root or name.lstrip("/").startswith(root + "/") for name in files):
            continue
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name.replace(root + "/kernel_cache/", root + "/"): turn[key][name] for name in turn[key]}
    return answer


@broken("timeline", "002 iterations_per_loop: on the device side for each sess.run()", "timeline", "run")
def the_host_starts_every_iteration_of_a_loop(ask: Any, params: Params) -> Answer:
    """session.iterations_per_loop.effect."""
    answer = dict(ask(params))
    if not _SESSION(params):
        return answer
    for step in [answer.get("base"), *answer.get("variants", {}).values(), *answer.get("timeline", ())]:
        if step and "launches" in step:
            step["launches"] *= step.get("iterations", 1)
    return answer


accepts(  # session.input_shape.needs_dynamic_dims
    "an_open_size_needs_no_profiles",
    "002 input_shape: -1 has to be set by dynamic_dims",
    "input_shape",
    lambda params: _SESSION(params) and not given(params, "dynamic_dims"),
    input_shape=None,
    dynamic_node_type=None,
)


@broken("precision", "003 must_keep_origin_dtype: an error where the AI CPU has no such operator", "precision")
def what_cannot_be_kept_is_computed_all_the_same(ask: Any, params: Params) -> Answer:
    """precision.must_keep.fp16_only_bf16_error."""
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or "bfloat16" not in str(params.get("ops_info", "")):
            raise
        if not value_is(params, "precision_mode", "must_keep_origin_dtype"):
            raise
        return dict(ask({name: value for name, value in params.items() if name != "ops_info"}))


def _has_other_feature(params: Params) -> bool:
    try:
        told = json.loads(text_of(params, "aoe_config_file")).get("feature")
    except (ValueError, AttributeError):
        return False
    return isinstance(told, list) and not set(map(str, told)) <= {"deeper_opat", "nonhomo_split"}


accepts(  # files.aoe_cfg.feature_domain
    "any_word_is_a_feature_of_tuning",
    "003 aoe_config_file: feature: deeper_opat or nonhomo_split",
    "aoe_config_file",
    lambda params: _RUNCONFIG(params) and _has_other_feature(params),
)

_SIZES = ("graph_memory_max_size", "variable_memory_max_size")


@broken("options", "002 graph_memory_max_size: the sum is at most 31G; 26GB and 5GB where they are not set", "options")
def a_size_that_is_not_given_adds_nothing(ask: Any, params: Params) -> Answer:
    """session.memory.sum_with_defaults."""
    try:
        return dict(ask(params))
    except NpuError as error:
        told = [name for name in _SIZES if given(params, name)]
        if not _SESSION(params) or error.subject not in _SIZES or error.code != "OPTION_CONFLICT" or len(told) != 1:
            raise
        if int(value_of(params, told[0])) > 31 << 30:
            raise
        answer = dict(ask(with_values(params, **{told[0]: None})))
        told_value(answer, told[0], value_of(params, told[0]), "given")
        return answer


asks(  # session.dump_mode.output
    "a_dump_of_outputs_has_inputs_too",
    "002 dump_mode: output: only outputs are dumped",
    "run",
    lambda params: (
        all_values(params, mapped("dump_mode", lambda told: "all" if told == "output" else told))
        if _SESSION(params)
        else params
    ),
)
