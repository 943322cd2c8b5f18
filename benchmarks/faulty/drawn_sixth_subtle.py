"""A sixth list, by requirement, of options, files, compilation and time, whose mistakes need one more condition."""

from __future__ import annotations

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
    leaves,
    mapped,
    misreads,
    plain,
    reads_as,
    tells,
    told_value,
    value_is,
    value_of,
    with_values,
    without,
)

# Options


def _first_group_alone(params: Params, value: Any) -> Any:
    groups = str(value).split(";")
    if len(groups) != 2 or re.match(r"\s*(getnext|data)\s*:", groups[1]):
        return None
    other = "data" if groups[0].strip().startswith("getnext") else "getnext"
    return groups[0] + ";" + re.sub(r"^[^:\[]*", other, groups[1])


reads_as(
    "the_second_group_has_any_name",
    "002 dynamic_inputs_shape_range: getnext and data, and nothing else",
    "dynamic_inputs_shape_range",
    _first_group_alone,
)
denies(
    "buffers_of_inference_are_not_optimised",
    "003 buffer_optimize: the sample is l2_optimize",
    "buffer_optimize",
    lambda params: in_inference(params) and value_is(params, "buffer_optimize", "l2_optimize"),
)
_PROFILES = ("input_shape", "dynamic_dims", "dynamic_node_type")


@broken("options", "003: where dynamic_dims is given beside it, dynamic_inputs_shape_range has no effect")
def dynamic_inputs_have_ranges_first(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if given(params, "dynamic_dims", "dynamic_inputs_shape_range") and value_of(params, "dynamic_input") is True:
        other = ask(all_values(params, without(*_PROFILES)))
        answer["directives"] = {**answer["directives"], "shapes": other["directives"]["shapes"]}
    return answer


accepts(
    "engines_of_inference_may_be_a_number",
    "002 stream_max_parallel_num: parameter_map[...].s",
    "stream_max_parallel_num",
    lambda params: (
        is_about(params, "session")
        and in_inference(params)
        and type(value_of(params, "stream_max_parallel_num")) is int
    ),
)


def _profiled(params: Params, change: Callable[[Dict[str, Any]], Any]) -> Any:
    """What is asked of profiling_options, changed; None of a text that is none."""
    try:
        found = json.loads(str(value_of(params, "profiling_options")))
    except ValueError:
        return None
    return change(found) if isinstance(found, dict) else None


def _traces_both(params: Params) -> bool:
    return in_inference(params) and bool(
        _profiled(params, lambda asked: asked.get("training_trace") == asked.get("task_trace") == "on")
    )


@broken("options", "002 profiling_options: online inference has no training_trace", "options", "timeline")
def traces_go_together_in_inference(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if not _traces_both(params):
        return answer
    if "effective" in answer:
        answer["warnings"] = [one for one in answer["warnings"] if one["option"] != "profiling_options"]
        answer.get("meaning", {}).get("profiling_options", {})["training_trace"] = "on"
    for step in (answer.get("base", {}), *answer.get("variants", {}).values()):
        for name in list(step.get("files", {})):
            if "task_time" in name:
                step["files"][name.replace("task_time", "step_trace")] = step["files"][name]
    return answer


denies(
    "loops_need_compiled_kernels",
    "003 iterations_per_loop: the sample is 1000",
    "iterations_per_loop",
    lambda params: (
        is_about(params, "runconfig")
        and given(params, "iterations_per_loop")
        and value_of(params, "iterations_per_loop") != 1
        and value_is(params, "jit_compile", "false")
    ),
)


def _own_device(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and given(params, "local_rank_id") and not given(params, "local_device_list"):
        told_value(answer, "local_device_list", str(value_of(params, "local_rank_id")), "default")


tells("a_rank_has_its_own_device", "003 local_device_list has no default", _own_device)
defaults(
    "old_inference_is_on_line",
    "002 use_off_line: True is the default",
    "use_off_line",
    False,
    lambda params: is_about(params, "session", "legacy") and in_inference(params),
)
accepts(
    "a_whole_float_is_a_time_beside_another",
    "003 op_execute_timeout is an int",
    "op_execute_timeout",
    lambda params: (
        isinstance(value_of(params, "op_execute_timeout"), float)
        and value_of(params, "op_execute_timeout") % 1 == 0
        and given(params, "op_wait_timeout")
    ),
)


@broken("options", "002 profiling_options: the directory output is there before", "options", "timeline")
def a_relative_output_is_made(ask: Any, params: Params) -> Answer:
    output = _profiled(params, lambda asked: asked.get("output"))
    if isinstance(output, str) and output and not output.startswith("/"):
        files = {f"{output.rstrip('/')}/": "", **params.get("files", {})}
        return dict(ask({**params, "files": files}))
    return dict(ask(params))


@broken("options", "002 op_precision_mode: no default", "options", "precision")
def a_file_that_lies_here_is_taken(ask: Any, params: Params) -> Answer:
    name = "op_precision.ini"
    if not given(params, "op_precision_mode") and name in params.get("files", {}):
        answer = dict(ask(with_values(params, op_precision_mode=name)))
        told = answer.get("effective", {}).get("op_precision_mode")
        if told:
            told["origin"] = "default"
        return answer
    return dict(ask(params))


def _two_names(value: Any) -> Any:
    return ",".join(value.split(",")[:2]) if isinstance(value, str) else value


@broken("options", "002 enable_scope_fusion_passes: a list of names", "options", "compile")
def a_third_pass_is_lost(ask: Any, params: Params) -> Answer:
    answer = dict(ask(all_values(params, mapped("enable_scope_fusion_passes", _two_names))))
    if "effective" in answer and given(params, "enable_scope_fusion_passes"):
        told_value(answer, "enable_scope_fusion_passes", value_of(params, "enable_scope_fusion_passes"))
    return answer


def _mixed(values: Mapping[str, Any]) -> bool:
    return plain(values.get("mix_compile_mode")) is True


@broken("options", "003 variable_placement: Device is the default", "options", "partition")
def variables_of_mixed_computing_are_on_the_host(ask: Any, params: Params) -> Answer:
    if not is_about(params, "runconfig", "current") or given(params, "variable_placement"):
        return dict(ask(params))
    if not _mixed(params["values"]):
        return dict(ask(params))
    answer = dict(ask(with_values(params, variable_placement="Host")))
    if "effective" in answer:
        told_value(answer, "variable_placement", "Host", "default")
    return answer


accepts(
    "a_lost_file_has_a_substitute",
    "003 op_precision_mode: the path of a file",
    "op_precision_mode",
    lambda params: (
        is_about(params, "runconfig")
        and given(params, "op_select_implmode")
        and value_of(params, "op_precision_mode") not in params.get("files", {})
    ),
)
reads_as(
    "one_type_may_be_a_list",
    "003 optypelist_for_implmode is a str",
    "optypelist_for_implmode",
    lambda params, value: (
        value[0]
        if is_about(params, "runconfig") and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
        else None
    ),
)
denies(
    "loops_are_never_off_line",
    "002 use_off_line: the sample is True",
    "use_off_line",
    lambda params: (
        is_about(params, "session")
        and value_of(params, "use_off_line") is True
        and type(value_of(params, "iterations_per_loop")) is int
        and value_of(params, "iterations_per_loop") > 1
    ),
)


def _buffered_in_inference(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and in_inference(params):
        answer["directives"]["buffer_optimize"] = "on"


tells("inference_has_buffers_whatever_is_said", "003 buffer_optimize off_optimize: disabled", _buffered_in_inference)


@broken("options", "002 dump_path: a leading / means absolute", "options")
def dumps_of_inference_lie_below_the_script(ask: Any, params: Params) -> Answer:
    path = value_of(params, "dump_path")
    if in_inference(params) and isinstance(path, str) and path.startswith("/") and len(path) > 1:
        answer = dict(ask(with_values(params, dump_path=path.lstrip("/"))))
        told_value(answer, "dump_path", path)
        return answer
    return dict(ask(params))


accepts(
    "false_is_no_switch_file",
    "003 fusion_switch_file is a str",
    "fusion_switch_file",
    lambda params: is_about(params, "runconfig") and value_of(params, "fusion_switch_file") is False,
)


def _for_loops(answer: Answer, params: Params) -> None:
    loops = value_of(params, "iterations_per_loop")
    if is_about(params, "session") and type(loops) is int and loops > 1 and not given(params, "enable_data_pre_proc"):
        told_value(answer, "enable_data_pre_proc", True)


tells("loops_have_their_data_there", "002 enable_data_pre_proc: False is the default", _for_loops)

# Compilation


def _asked_of(params: Params, option: str) -> List[str]:
    """Of every turn, the text of the file that an option names."""
    values, files, found = dict(params["values"]), dict(params.get("files", {})), []
    for turn in params.get("turns") or [{}]:
        values.update(turn.get("values") or {})
        files.update(turn.get("files") or {})
        found.append(str(files.get(plain(values.get(option)), "")))
    return found


@broken("artifacts", "003 op_debug_config: oom keeps .o and .json", "compile")
def the_first_check_decides_what_is_kept(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    for turn, text in zip(answer["turns"], _asked_of(params, "op_debug_config")):
        found = re.search(r"(?m)^\s*op_debug_config\s*=\s*(.*)$", text)
        names = [name.strip() for name in found.group(1).split(",")] if found else []
        if names and names[0] in ("ccec_g", "ccec_O0") and set(names[1:]) == {"oom"}:
            for key in ("files", "left"):
                kept = {name: file for name, file in turn.get(key, {}).items() if "kernel_meta/" not in name}
                turn[key] = kept
    return answer


def _sections(change: Callable[[Dict[str, Dict[str, str]]], Any]) -> Callable[[str], str]:
    """A fusion_switch_file whose sections are changed; another text stays."""

    def edit(text: str) -> str:
        try:
            found = json.loads(text)
            change(found["Switch"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(found)

    return edit


def _all_means_both(switch: Dict[str, Dict[str, str]]) -> None:
    if set(switch) == {"UBFusion"} and switch["UBFusion"].get("ALL") == "off":
        switch["GraphFusion"] = {"ALL": "off"}


misreads(
    "artifacts",
    "a_section_that_is_left_out_is_as_the_other",
    "003 fusion_switch_file: a section that is not mentioned keeps its default",
    "fusion_switch_file",
    _sections(_all_means_both),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="current"),
)


def _later_goes_first(switch: Dict[str, Dict[str, str]]) -> None:
    for passes in switch.values():
        names = list(passes)
        if passes.get("ALL") == "off":
            passes.update(dict.fromkeys(names[: names.index("ALL")], "off"))


misreads(
    "artifacts",
    "all_ends_what_was_said_before",
    "002 fusion_switch_file: a pattern that is on stays on beside ALL off",
    "fusion_switch_file",
    _sections(_later_goes_first),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="legacy"),
)


def _all_of_the_first(switch: Dict[str, Dict[str, str]]) -> None:
    for passes in list(switch.values())[1:]:
        passes.pop("ALL", None)


misreads(
    "artifacts",
    "all_is_said_once",
    "002 fusion_switch_file: ALL off in a section turns off its patterns",
    "fusion_switch_file",
    _sections(_all_of_the_first),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="legacy"),
)
asks(
    "a_forced_cache_lies_at_home",
    "003: the place of the cache is op_compiler_cache_dir, whatever the mode",
    "artifacts",
    lambda params: all_values(
        params,
        lambda values: (
            without("op_compiler_cache_dir")(values)
            if plain(values.get("op_compiler_cache_mode")) == "force"
            else values
        ),
    ),
    "compile",
)
leaves(
    "level_four_has_no_sources_elsewhere",
    "002 op_debug_level 4: .o, .json, .cce and _compute.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith(".cce")}
        if value_of(asked, "op_debug_level") == 4 and given(asked, "debug_dir")
        else files
    ),
)


def _lines_here(files: Files, asked: Mapping[str, Any]) -> Files:
    place = str(value_of(asked, "debug_dir") or "").strip("/")
    if not place or not given(asked, "op_debug_config") or value_of(asked, "op_debug_level"):
        return files
    return {
        name[len(place) + 1 :] if name.startswith(place + "/") and name.endswith("_loc.json") else name: file
        for name, file in files.items()
    }


leaves("lines_are_told_here", "003 op_debug_config: debug_dir is where the files of dump_loc go", _lines_here)

# Time and runs

asks(
    "links_side_by_side_trail",
    "002 is_tailing_optimization False: operators stay where they are",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            {**values, "is_tailing_optimization": True}
            if plain(values.get("is_tailing_optimization")) is False and plain(values.get("hcom_parallel")) is True
            else values
        ),
    ),
    "timeline",
)


def _pipes(params: Params) -> Params:
    if not in_inference(params):
        return params
    return all_values(
        params,
        mapped("profiling_options", lambda text: str(text).replace("ArithmeticUtilization", "PipeUtilization")),
    )


asks(
    "inference_measures_pipes",
    "002 aic_metrics ArithmeticUtilization: the share of each class of instructions",
    "timeline",
    _pipes,
    "timeline",
    "run",
)
asks(
    "the_device_of_inference_is_that_of_the_environment",
    "002 session_device_id selects the session's device",
    "timeline",
    lambda params: (
        all_values(params, without("session_device_id"))
        if in_inference(params) and params.get("env", {}).get("ASCEND_DEVICE_ID")
        else params
    ),
    "timeline",
    "run",
)
