"""A seventh list, by requirement, over all areas, of mistakes that need one more condition to show."""

from __future__ import annotations

import base64
import json
import os
import re
from typing import Any, Dict, List

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
    given,
    in_inference,
    is_about,
    leaves,
    left,
    mapped,
    named_by,
    node_change,
    ops_of,
    reads_as,
    rescripted,
    retyped,
    tells,
    told_value,
    value_is,
    value_of,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError

# Options


def _new_directory(params: Params) -> bool:
    path = value_of(params, "dump_path")
    return is_about(params, edition="legacy") and isinstance(path, str) and not path.startswith("/")


accepts(
    "a_relative_directory_of_dumps_is_made",
    "002 dump_path: created beforehand, whether absolute or relative",
    "dump_path",
    _new_directory,
    enable_dump=False,
    dump_path=None,
)


def _folder_is_odd(params: Params) -> bool:
    path = value_of(params, "fusion_switch_file")
    if not isinstance(path, str) or not is_about(params, edition="legacy"):
        return False
    return re.fullmatch(r"[\w.-]+", os.path.basename(path)) is not None and re.search(r"[^\w./-]", path) is not None


accepts(
    "only_the_name_of_the_switch_file_is_looked_at",
    "002 fusion_switch_file: letters, digits, _, -, . and Chinese characters in the path and in the name",
    "fusion_switch_file",
    lambda params: _folder_is_odd(params) and value_of(params, "fusion_switch_file") in params.get("files", {}),
)
accepts(
    "a_whole_number_with_a_point_in_inference",
    "003 iterations_per_loop: an int",
    "iterations_per_loop",
    lambda params: (
        is_about(params, "runconfig")
        and in_inference(params)
        and isinstance(value_of(params, "iterations_per_loop"), float)
        and value_of(params, "iterations_per_loop") == int(value_of(params, "iterations_per_loop"))
    ),
)
accepts(
    "points_are_found_where_neither_is_named",
    "002 profiling_options: fp_point has to be configured with training_trace",
    "profiling_options",
    lambda params: (
        is_about(params, "session", "legacy")
        and not re.search("fp_point|bp_point", str(value_of(params, "profiling_options")))
        and re.search(r'"training_trace"\s*:\s*"on"', str(value_of(params, "profiling_options"))) is not None
    ),
    profiling_mode=False,
    profiling_options=None,
)
accepts(
    "a_file_of_modes_may_be_missing_beside_a_mode",
    "003 op_precision_mode: the path of the file, whatever is given beside it",
    "op_precision_mode",
    lambda params: given(params, "op_select_implmode") and _is_missing(params, "op_precision_mode"),
)


def _is_missing(params: Params, option: str) -> bool:
    return value_of(params, option) not in params.get("files", {})


accepts(
    "the_older_words_beside_a_list",
    "003 precision_mode_v2: fp16, origin, cube_fp16in_fp32out, mixed_float16",
    "precision_mode_v2",
    lambda params: value_is(params, "precision_mode_v2", "allow_mix_precision") and given(params, "modify_mixlist"),
    precision_mode_v2="mixed_float16",
)
accepts(
    "lite_dumps_beside_dumps_in_the_older_edition",
    "002 enable_exception_dump: 0 or 1",
    "enable_exception_dump",
    lambda params: (
        is_about(params, "session", "legacy")
        and value_is(params, "enable_exception_dump", 2)
        and value_is(params, "enable_dump", True)
    ),
)
accepts(
    "any_dump_where_the_variable_decides",
    "003 enable_exception_dump: 0, 1 or 2",
    "enable_exception_dump",
    lambda params: (
        is_about(params, "runconfig", "current")
        and value_is(params, "enable_exception_dump", 3)
        and "NPU_COLLECT_PATH" in params.get("env", {})
    ),
)
accepts(
    "products_of_bytes_have_no_range",
    "002 graph_memory_max_size: from 0 to 256*1024*1024*1024",
    "graph_memory_max_size",
    lambda params: "*" in str(value_of(params, "graph_memory_max_size")),
)
accepts(
    "the_bank_may_be_missing_for_the_variable",
    "003 work_path: created beforehand",
    "work_path",
    lambda params: not given(params, "aoe_mode") and "AOE_MODE" in params.get("env", {}),
)
accepts(
    "lists_in_place_of_a_path",
    "003 modify_mixlist: a text, the path of the file",
    "modify_mixlist",
    lambda params: (
        is_about(params, "runconfig")
        and isinstance(value_of(params, "modify_mixlist"), (dict, list))
        and value_is(params, "precision_mode_v2", "mixed_float16")
    ),
)
accepts(
    "loops_where_variables_are_on_the_host",
    "003 iterations_per_loop: 1 in mixed computing",
    "iterations_per_loop",
    lambda params: (
        is_about(params, "runconfig")
        and value_is(params, "mix_compile_mode", True)
        and value_is(params, "variable_placement", "Host")
        and isinstance(value_of(params, "iterations_per_loop"), int)
        and value_of(params, "iterations_per_loop") > 1
    ),
)
defaults(
    "no_loops_in_inference",
    "003 iterations_per_loop: 1 by default",
    "iterations_per_loop",
    None,
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
)


def _buffers_are_off(answer: Answer, params: Params) -> None:
    if value_is(params, "buffer_optimize", "l2_optimize") and value_is(params, "deterministic", 1):
        told_value(answer, "buffer_optimize", "off_optimize")
        if "directives" in answer:
            answer["directives"]["buffer_optimize"] = "off"


tells(
    "determinism_has_no_buffers",
    "003 buffer_optimize: l2_optimize as in the example is what is effective",
    _buffers_are_off,
)


def _to_the_second(answer: Answer, params: Params) -> None:
    value = value_of(params, "hccl_timeout")
    is_set = "HCCL_EXEC_TIMEOUT" in params.get("env", {}) and is_about(params, "runconfig", "current")
    if is_set and isinstance(value, int) and value >= 68:
        told_value(answer, "hccl_timeout", value)
        answer["directives"]["timeouts"]["hccl_seconds"] = value


tells("no_steps_where_the_variable_is_set", "003 hccl_timeout: value // 68 * 68 seconds", _to_the_second)
denies(
    "no_switches_for_what_is_compiled_beforehand",
    "003 fusion_switch_file: /home/test/fusion_switch.cfg as in the example",
    "fusion_switch_file",
    lambda params: given(params, "fusion_switch_file") and value_is(params, "jit_compile", "false"),
)


def _groups_in_order(params: Params, told: Any) -> Any:
    if not is_about(params, edition="legacy") or not re.match(r"\s*data\s*:.*;\s*getnext\s*:", str(told)):
        return told
    first, second = str(told).split(";")[:2]
    return f"getnext:{first.split(':', 1)[1]};data:{second.split(':', 1)[1]}"


reads_as(
    "the_data_set_comes_first",
    "002 dynamic_inputs_shape_range: each group is what its name says",
    "dynamic_inputs_shape_range",
    _groups_in_order,
    "options",
    "timeline",
    "run",
    "compile",
)

# Files, compilation and time


def _hits_of_graphs(files: Files, asked: Any) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith("fusion_result.json") and value_is(asked, "export_compile_stat", 2, "2") and "b64" in file:
            text = json.loads(decoded(file))
            for one in text if isinstance(text, list) else text.values():
                for entry in one.get("graph_fusion", {}).values():
                    entry["repository_hit_times"] = "0"
            found[name] = {"b64": base64.b64encode(json.dumps(text).encode()).decode()}
    return found


leaves(
    "hits_of_graph_fusion_at_once",
    "003 fusion_result.json: repository_hit_times is of UB fusion",
    _hits_of_graphs,
)


@broken("timeline", "003 hccl_timeout: bounds collective communication", "timeline")
def later_collectives_wait_as_by_default(ask: Any, params: Params) -> Answer:
    late = any(one.get("kind") == "lost_peer" and one.get("after", 0) for one in params.get("faults") or ())
    return dict(ask(all_values(params, without("hccl_timeout")) if late else params))


asks(
    "subgraphs_are_tuned_in_inference",
    "003 aoe_mode 2: operator tuning",
    "artifacts",
    lambda params: (
        all_values(params, mapped("aoe_mode", lambda value: "1" if value == "2" else value))
        if in_inference(params)
        else params
    ),
    "compile",
    "timeline",
)
asks(
    "few_channels_keep_the_buffer",
    "002 buffer_optimize off_optimize: buffers are not optimised",
    "timeline",
    lambda params: all_values(params, _buffered) if is_about(params, edition="legacy") else params,
    "timeline",
)


def _buffered(values: Dict[str, Any]) -> Dict[str, Any]:
    if value_is({"values": values}, "enable_small_channel", 1):
        return mapped("buffer_optimize", lambda value: "l2_optimize")(values)
    return values


def _below(found: Any) -> str:
    low, high = int(found.group(1)), int(found.group(2))
    return f"{low}~{max(low, high - 1)}]"


asks(
    "the_last_size_stays_below_its_end",
    "002 dynamic_inputs_shape_range: low~high, both included",
    "timeline",
    lambda params: (
        all_values(
            params, mapped("dynamic_inputs_shape_range", lambda value: re.sub(r"(\d+)~(\d+)\s*\]", _below, str(value)))
        )
        if is_about(params, edition="legacy")
        else params
    ),
    "timeline",
    "run",
    "compile",
)

# Partition


def _two_ends(pairs: List[Any]) -> List[Any]:
    return [[ins, outs[:2]] for ins, outs in pairs]


def _stays(params: Params) -> bool:
    return value_of(params, "in_out_pair_flag") is False and is_about(params, "session", "legacy")


asks(
    "a_third_end_on_the_host_is_forgotten",
    "002 in_out_pair_flag False: the whole range stays, which has three ends",
    "partition",
    lambda params: with_pairs(params, _two_ends) if _stays(params) else params,
    "partition",
    "run",
)
asks(
    "a_second_range_on_the_host_is_forgotten",
    "002 in_out_pair_flag False: the operators of in_out_pair stay",
    "partition",
    lambda params: with_pairs(params, lambda pairs: pairs[:1]) if _stays(params) else params,
    "partition",
    "run",
)

# Precision


@broken("precision", "003 customize_dtypes: a dtype that is not supported fails the compilation")
def dtypes_of_functions_are_not_checked(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_DTYPES" or str(error.subject).split(" ")[0] in ops_of(params):
            raise
        return dict(ask(all_values(params, without("customize_dtypes"))))


asks(
    "the_origin_is_half_in_inference",
    "003 precision_mode_v2 origin: the original precision",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode_v2", lambda value: "fp16" if value == "origin" else value))
        if in_inference(params)
        else params
    ),
    "precision",
)


def _half_by_layout(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is None or not is_about(params, edition="legacy") or in_inference(params):
        return
    is_asked = value_of(params, "precision_mode") in (None, "allow_fp32_to_fp16")
    if is_asked and op.has_attr("data_format") and op.text("data_format") == "NCHW":
        retyped(node, "float32", "float16")


node_change(
    "channels_first_are_half",
    "002 allow_fp32_to_fp16: float16 where float32 is not supported, whatever the layout",
    _half_by_layout,
)

# Runs


def _first_steps(files: Files, params: Params) -> Files:
    if not is_about(params, edition="legacy") or not value_is(params, "dump_mode", "all") or given(params, "dump_step"):
        return files
    kept = re.compile(r"(.*/)?\d{14}/\d+/[^/]+/\d+/(\d+)/[^/]+$")
    return {name: file for name, file in files.items() if not kept.match(name) or int(kept.match(name)[2]) == 0}  # type: ignore


left("all_of_the_first_step_alone", "002 dump_step: without it every iteration is dumped", _first_steps, "run")


@broken("run", "002 dump_path: relative to the current directory of the command line", "run")
def relative_dumps_below_the_variable(ask: Any, params: Params) -> Answer:
    below = params.get("env", {}).get("ASCEND_WORK_PATH")
    found = dict(ask(params))
    if not below or not is_about(params, edition="legacy"):
        return found
    for path in named_by(params, "dump_path"):
        if not path.startswith("/"):
            files = found.get("files", {}).items()
            found["files"] = {
                (f"{below.strip('/')}/{name}" if name.startswith(f"{path}/") else name): file for name, file in files
            }
    return found


def _any_spelling(text: str) -> str:
    if "npu_init" in text:
        return text
    return re.sub(r"([\"'])npuoptimizer\1", r"\1NpuOptimizer\1", text, flags=re.IGNORECASE)


asks(
    "the_name_in_any_case_for_older_scripts",
    "002: the custom optimizer is called NpuOptimizer",
    "run",
    lambda params: rescripted(params, _any_spelling),
    "run",
)
