"""A sixth list, by requirement, of options, files, compilation and time: the mistakes that come to mind first."""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import Any, Callable, Dict, List, Mapping

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    defaults,
    denies,
    given,
    is_about,
    misreads,
    plain,
    reads_as,
    tells,
    told_value,
    value_is,
    value_of,
    with_env,
    without,
)
from npu_reference.dumps import form
from npu_reference.errors import NpuError


def _in_field(params: Params, option: str, *kinds: type) -> bool:
    """Whether a session is given the option as a value of these types, each of which has its field."""
    return bool(params["surface"] == "session" and type(value_of(params, option)) in kinds)


def _texts_of(params: Params, option: str) -> List[str]:
    """The texts of the file that an option names."""
    files = [params.get("files", {}), *(one.get("files") or {} for one in params.get("turns") or ())]
    return [str(found[value_of(params, option)]) for found in files if value_of(params, option) in found]


def _with_folder(params: Params, path: Any) -> Dict[str, Any]:
    """The request where this directory is there."""
    files = dict(params.get("files", {}))
    if isinstance(path, str) and path:
        files.setdefault(path.rstrip("/") + "/", "")
    return {**params, "files": files}


# Options

defaults(
    "data_are_read_by_the_host_by_default",
    "003 enable_data_pre_proc: True is the default",
    "enable_data_pre_proc",
    False,
    lambda params: is_about(params, "runconfig"),
)
accepts(
    "debugging_here_is_true",
    "003 debug_dir is a str",
    "debug_dir",
    lambda params: is_about(params, "runconfig") and type(value_of(params, "debug_dir")) is bool,
)
reads_as(
    "loops_are_counted_in_the_text_field",
    "002 iterations_per_loop: parameter_map[...].i",
    "iterations_per_loop",
    lambda params, value: int(value) if is_about(params, "session") and re.fullmatch(r"\d+", str(value)) else None,
)
reads_as(
    "variables_are_measured_in_the_int_field",
    "002 variable_memory_max_size: the bytes of its decimal text in .s, not .i",
    "variable_memory_max_size",
    lambda params, value: str(value) if is_about(params, "session", "legacy") and type(value) is int else None,
)
denies(
    "nobody_waits_longer_than_a_minute",
    "002 op_wait_timeout: the sample is 120",
    "op_wait_timeout",
    lambda params: (
        is_about(params, "session")
        and type(value_of(params, "op_wait_timeout")) is int
        and value_of(params, "op_wait_timeout") > 60
    ),
)
accepts(
    "formats_are_optimised_by_a_number",
    "002 variable_format_optimize: parameter_map[...].b",
    "variable_format_optimize",
    lambda params: _in_field(params, "variable_format_optimize", int),
)


@broken("options", "002 profiling_options: the run user has read and write permission on output", "options", "timeline")
def a_directory_that_is_there_will_do(ask: Any, params: Params) -> Answer:
    def opened(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: "" if isinstance(text, dict) and "access" in text else text for name, text in files.items()}

    if value_of(params, "profiling_mode") is True:
        return dict(ask({**params, "files": opened(params.get("files", {}))}))
    return dict(ask(params))


misreads(
    "options",
    "switches_are_on_in_any_case",
    "003 fusion_switch_file: a pattern is on or off",
    "fusion_switch_file",
    lambda text: re.sub(r'(?i):\s*"(on|off)"', lambda found: f':"{found.group(1).lower()}"', text),
    "options",
    "compile",
    "timeline",
)
defaults(
    "every_input_may_change_by_default",
    "002 dynamic_inputs_shape_range: no default",
    "dynamic_inputs_shape_range",
    "getnext:[-1]",
    lambda params: is_about(params, "session"),
)
accepts(
    "shapes_that_are_no_text_are_passed_over",
    "002 input_shape: parameter_map[...].s",
    "input_shape",
    lambda params: _in_field(params, "input_shape", int, bool),
    input_shape=None,
    dynamic_dims=None,
    dynamic_node_type=None,
)


def _known(text: str) -> str:
    known = ("oom", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag")

    def kept(found: Any) -> str:
        names = [name for name in found.group(2).split(",") if name.strip() in known]
        return found.group(1) + ",".join(names) if names else found.group()

    return re.sub(r"(?m)^(\s*op_debug_config\s*=[ \t]*)(.*)$", kept, text)


misreads(
    "options",
    "checks_that_nobody_knows_are_passed_over",
    "003 op_debug_config: oom, dump_cce, dump_loc, ccec_O0, ccec_g, check_flag",
    "op_debug_config",
    _known,
    "options",
    "compile",
)
misreads(
    "options",
    "compiled_with_optimisation_after_all",
    "003 op_debug_config: ccec_O0 compiles with -O0",
    "op_debug_config",
    lambda text: re.sub(r"\bccec_O0\b", "ccec_g", text),
    "options",
    "compile",
)
accepts(
    "minus_one_is_any_size",
    "002 input_shape: -1 needs dynamic_dims",
    "input_shape",
    lambda params: (
        "-1" in str(value_of(params, "input_shape"))
        and not given(params, "dynamic_dims")
        and is_about(params, "session")
    ),
    input_shape=None,
    dynamic_node_type=None,
)


def _in_milliseconds(answer: Answer, params: Params) -> None:
    seconds = value_of(params, "op_execute_timeout")
    if is_about(params, "runconfig", "current") and type(seconds) is int:
        told_value(answer, "op_execute_timeout", seconds * 1000)


tells("operators_are_timed_in_milliseconds", "003 op_execute_timeout=90 is ninety seconds", _in_milliseconds)
denies(
    "no_remarks_in_lists_of_today",
    "003 modify_mixlist: the sample has remarks after //",
    "modify_mixlist",
    lambda params: params["edition"] == "current" and any("//" in text for text in _texts_of(params, "modify_mixlist")),
)
defaults(
    "ranks_wait_for_ten_minutes",
    "003 hccl_timeout: 1836 by default",
    "hccl_timeout",
    600,
    lambda params: is_about(params, "runconfig", "current") and not params.get("env", {}).get("HCCL_EXEC_TIMEOUT"),
)


@broken("options", "002 dump_path: the directory must be there, and is not created", "options", "run")
def the_dump_makes_its_directory(ask: Any, params: Params) -> Answer:
    if value_of(params, "enable_dump") is True or value_of(params, "enable_dump_debug") is True:
        return dict(ask(_with_folder(params, value_of(params, "dump_path"))))
    return dict(ask(params))


reads_as(
    "the_rank_may_be_a_text",
    "002 local_rank_id: parameter_map[...].i",
    "local_rank_id",
    lambda params, value: int(value) if is_about(params, "session") and re.fullmatch(r"\d", str(value)) else None,
)
misreads(
    "options",
    "one_type_needs_no_brackets",
    "003 modify_mixlist: to-add and to-remove are arrays",
    "modify_mixlist",
    lambda text: re.sub(r'("to-(?:add|remove)"\s*:\s*)("[^"]*")', r"\1[\2]", text),
    "options",
    "precision",
)
reads_as(
    "variables_in_gigabytes",
    "002 variable_memory_max_size is a number of bytes",
    "variable_memory_max_size",
    lambda params, value: (
        str(int(value[:-1]) << 30)
        if params["edition"] == "legacy" and isinstance(value, str) and re.fullmatch(r"\d+G", value)
        else None
    ),
)
denies(
    "failures_are_dumped_or_not",
    "003 enable_exception_dump: 0, 1 or 2, and the sample is 1",
    "enable_exception_dump",
    lambda params: is_about(params, "runconfig", "current") and value_is(params, "enable_exception_dump", 1),
)
reads_as(
    "dynamic_inputs_by_a_word",
    "002 dynamic_input: parameter_map[...].b",
    "dynamic_input",
    lambda params, value: {"True": True, "False": False}.get(str(value)) if is_about(params, "session") else None,
)
accepts(
    "a_third_choice_of_implementations",
    "003 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    lambda params: (
        is_about(params, "runconfig") and value_is(params, "op_select_implmode", "high_precision_for_all", "default")
    ),
    op_select_implmode="high_precision",
)

# Compilation


@broken("artifacts", "003: half of the cache files are kept by default", "options", "compile")
def four_fifths_of_the_cache_are_kept(ask: Any, params: Params) -> Answer:
    most, part = "ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_REMAIN_CACHE_SIZE_RATIO"
    return dict(ask(with_env(params, lambda env: {part: "80", **env} if most in env else env)))


asks(
    "level_zero_collects_nothing",
    "003 op_debug_level 0: with NPU_COLLECT_PATH kernel_meta is generated all the same",
    "artifacts",
    lambda params: with_env(
        params, lambda env: {name: value for name, value in env.items() if name != "NPU_COLLECT_PATH"}
    ),
    "compile",
)
asks(
    "debugging_is_always_here",
    "003 op_debug_level other than 0: debug_dir chooses where",
    "artifacts",
    lambda params: all_values(
        params, lambda values: without("debug_dir")(values) if plain(values.get("op_debug_level")) else values
    ),
    "compile",
)


def _longer_names(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict) or not isinstance(found.get("tune_ops_type"), list):
        return text
    types = ("MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput")
    wanted = [name for name in types if any(str(one) in name for one in found["tune_ops_type"])]
    return json.dumps({**found, "tune_ops_type": sorted({*found["tune_ops_type"], *wanted})})


misreads(
    "artifacts",
    "what_has_the_type_in_its_name_is_tuned",
    "003 tune_ops_type: whole words",
    "aoe_config_file",
    _longer_names,
    "compile",
    "timeline",
)

# Time and runs


def _taken(name: str, sentence: str, wanted: Callable[[str, str], bool], *options: str) -> None:
    """Inputs of a shape that the options refuse are taken."""

    def fault(ask: Any, params: Params) -> Answer:
        asked = all_values(params, without(*options))
        try:
            answer = ask(params)
        except NpuError as error:
            if error.code != "INPUT_SHAPE" or not wanted(error.subject, error.reason):
                raise
            return dict(ask(asked))
        for key, step in [("", answer.get("base", {})), *answer.get("variants", {}).items()]:
            found = step.get("rejected", {})
            if found.get("code") == "INPUT_SHAPE" and wanted(found.get("subject", ""), found.get("message", "")):
                other = ask(asked)
                if key:
                    answer["variants"][key] = other["variants"][key]
                else:
                    answer["base"] = other["base"]
        return dict(answer)

    fault.__name__ = name
    broken("timeline", sentence, "timeline", "run")(fault)


_taken(
    "fixed_inputs_need_no_range",
    "003 dynamic_inputs_shape_range: static inputs are listed as well",
    lambda subject, told: subject == "dynamic_inputs_shape_range" and "lists" in told,
    "dynamic_inputs_shape_range",
)
_taken(
    "a_shape_without_a_profile_is_compiled",
    "002 dynamic_dims: only the listed combinations are supported",
    lambda subject, told: subject == "dynamic_dims",
    "input_shape",
    "dynamic_dims",
    "dynamic_node_type",
)


def _without_tiling(content: bytes) -> bytes:
    """A dump that does not tell its tiling."""
    (size,) = struct.unpack("<Q", content[:8])
    description = form.decode(content[8 : 8 + size])
    kept = description._replace(attrs=tuple(pair for pair in description.attrs if pair[0] != "tiling"))
    return b"".join(bytes(part) for part in form.encode(kept, [], [])) + content[8 + size :]


@broken("run", "003 enable_exception_dump 2: inputs, outputs, workspace and tiling")
def lite_dumps_have_no_tiling(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    for name, file in answer.get("files", {}).items():
        if "data-dump/" in name and "b64" in file:
            content = _without_tiling(base64.b64decode(file["b64"]))
            file["b64"] = base64.b64encode(content).decode()
    return answer
