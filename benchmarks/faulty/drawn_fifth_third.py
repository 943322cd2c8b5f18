"""The fifth list once more: what comes to mind first, then what shows under one more condition."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    denies,
    given,
    in_inference,
    leaves,
    mapped,
    misreads,
    node_change,
    ops_of,
    tells,
    told_value,
    turn_values,
    turns,
    value_of,
    with_env,
    without,
)


def _limits(name: str, sentence: str, change: Callable[[str], str]) -> None:
    """op_cache.ini is read otherwise by what is told of options."""
    asks(
        name,
        sentence,
        "options",
        lambda params: {
            **params,
            "files": {
                file: change(text) if file.endswith("op_cache.ini") and isinstance(text, str) else text
                for file, text in params.get("files", {}).items()
            },
        },
    )


def _profiled(name: str, sentence: str, change: Callable[[str], str]) -> None:
    """profiling_options say something else, wherever they stand."""

    def values(found: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped("profiling_options", lambda value: change(value) if isinstance(value, str) else value)(found)
        config = found.get("profiling_config")
        arguments = config.get("arguments", {}) if isinstance(config, dict) else {}
        if isinstance(arguments.get("profiling_options"), str):
            text = change(arguments["profiling_options"])
            found["profiling_config"] = {**config, "arguments": {**arguments, "profiling_options": text}}
        return found

    asks(name, sentence, "timeline", lambda params: all_values(params, values))


def _default_mode(params: Params) -> bool:
    asked = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    return asked in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)


def _turned(node: Dict[str, Any], kind: str, found: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [found if dtype == kind else dtype for dtype in node[side]]


# What comes to mind first

_limits(
    "a_file_with_remarks_is_not_valid", "003 op_cache.ini: lines with # are remarks", lambda t: "" if "#" in t else t
)


def _here(answer: Answer, params: Params) -> None:
    if "ASCEND_WORK_PATH" in params.get("env", {}) and not given(params, "debug_dir"):
        told_value(answer, "debug_dir", ".")


tells("debug_files_know_no_work_path", "003 debug_dir: ASCEND_WORK_PATH before the script's path", _here)
denies(
    "the_new_name_is_for_the_new_option",
    "003 precision_mode: cube_fp16in_fp32out",
    "precision_mode",
    lambda params: value_of(params, "precision_mode") == "cube_fp16in_fp32out",
)
leaves(
    "results_lie_with_the_kernels",
    "003: fusion_result.json under the execution directory",
    lambda files, asked: {
        re.sub(r"^fusion_result", "kernel_meta/fusion_result", name): file for name, file in files.items()
    },
)
turn_values(
    "results_are_always_early",
    "003 export_compile_stat 1: when the program exits normally",
    lambda values: mapped("export_compile_stat", lambda value: 2 if value == 1 else value)(values),
)
misreads(
    "artifacts",
    "the_last_check_decides_the_files",
    "003 op_debug_config: several options separated by commas",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(\s*op_debug_config\s*=).*,\s*(\w+)\s*$", r"\1\2", text),
    "compile",
)


def _vectors_lowered(node: Dict[str, Any], params: Params, op: Any) -> None:
    if _default_mode(params) and node.get("engine") == "vector":
        _turned(node, "float32", "float16")


node_change(
    "vectors_are_lowered_by_default", "003, 004 allow_fp32_to_fp16: float32 where it is supported", _vectors_lowered
)
asks(
    "no_ratio_in_the_environment",
    "003 ASCEND_REMAIN_CACHE_SIZE_RATIO: the ratio of the cache space to be reserved",
    "options",
    lambda params: with_env(
        params, lambda env: {k: v for k, v in env.items() if k != "ASCEND_REMAIN_CACHE_SIZE_RATIO"}
    ),
    "options",
    "compile",
)
asks(
    "links_are_never_parallel",
    "003 hcom_parallel True: enabled",
    "timeline",
    lambda params: all_values(params, lambda values: {**values, "hcom_parallel": False}),
    "timeline",
)
misreads(
    "artifacts",
    "a_section_that_is_not_there_is_off",
    "002, 003 fusion_switch_file: patterns are on by default",
    "fusion_switch_file",
    lambda text: (
        re.sub(r'("Switch"\s*:\s*\{)', r'\1"UBFusion":{"ALL":"off"},', text) if "UBFusion" not in text else text
    ),
    "compile",
    "timeline",
)
_profiled(
    "any_trace_of_tasks_is_on",
    "002 task_trace: any other value is off",
    lambda text: re.sub(r'("task_trace"\s*:\s*)"(?!on"|off")[^"]*"', r'\1"on"', text),
)
accepts(
    "training_is_traced_or_not",
    "002 training_trace: must be on where it is configured",
    "profiling_options",
    lambda params: re.search(r'"training_trace"\s*:\s*"off"', str(value_of(params, "profiling_options"))) is not None,
)
misreads(
    "precision",
    "nothing_is_added_to_the_blocklist",
    "002, 003 black-list to-add",
    "modify_mixlist",
    lambda text: re.sub(r'("black-list"\s*:\s*\{[^}]*"to-add"\s*:\s*)\[[^\]]*\]', r"\1[]", text),
)
leaves(
    "level_four_keeps_no_binaries",
    "003 op_debug_level 4: .o and .json are retained",
    lambda files, asked: (
        {name: file for name, file in files.items() if not (name.endswith(".o") and "kernel_meta/" in name)}
        if value_of(asked, "op_debug_level") == 4
        else files
    ),
)

# Under one more condition

_limits(
    "what_is_remarked_counts",
    "003 op_cache.ini: lines with # are remarks, whatever they say",
    lambda text: re.sub(r"(?m)^#\s*(max_op_cache_size|remain_cache_size_ratio)(\s*=.*)$", r"\1\2", text),
)


@broken(
    "artifacts", "003: debug_dir, ASCEND_WORK_PATH, the script's path; for what op_debug_config keeps, too", "compile"
)
def checks_leave_their_files_here(ask: Any, params: Params) -> Answer:
    if given(params, "op_debug_config") and not given(params, "op_debug_level"):
        return ask(with_env(params, lambda env: {k: v for k, v in env.items() if k != "ASCEND_WORK_PATH"}))
    return ask(params)


turn_values(
    "inference_leaves_no_results",
    "003 export_compile_stat: 1 by default",
    lambda values: (
        {**values, "export_compile_stat": 0} if value_of({"values": values}, "graph_run_mode") == 0 else values
    ),
)
misreads(
    "artifacts",
    "two_checks_are_enough",
    "003 op_debug_config: several options separated by commas",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(\s*op_debug_config\s*=\s*\w+\s*,\s*\w+),.*$", r"\1", text),
    "compile",
)
asks(
    "a_ratio_needs_its_limit",
    "003, C3 the variables of the cache: each on its own",
    "options",
    lambda params: with_env(
        params,
        lambda env: (
            env
            if "ASCEND_MAX_OP_CACHE_SIZE" in env
            else {k: v for k, v in env.items() if k != "ASCEND_REMAIN_CACHE_SIZE_RATIO"}
        ),
    ),
)


def _behind_half(answer: Answer, params: Params) -> None:
    nodes, ops = {node["node"]: node for node in answer["nodes"]}, ops_of(params)
    for node in answer["nodes"] if _default_mode(params) else ():
        sources = [text.split(":")[0] for text in ops[node["node"]].inputs] if node["node"] in ops else []
        if node.get("engine") == "vector" and any(
            name in nodes and nodes[name].get("engine") == "cube" and nodes[name]["outputs"][:1] == ["float16"]
            for name in sources
        ):
            _turned(node, "float32", "float16")


changed("precision", "behind_products_all_is_half", "003 allow_fp32_to_fp16: vectors keep float32", _behind_half)
misreads(
    "artifacts",
    "with_one_pass_off_goes_its_section",
    "002, 003 fusion_switch_file: a pattern that is not mentioned is on",
    "fusion_switch_file",
    lambda text: re.sub(r'("UBFusion"\s*:\s*\{)(?=\s*"(?!ALL)\w+"\s*:\s*"off")', r'\1"ALL":"off",', text),
    "compile",
    "timeline",
)
_profiled(
    "traces_of_tasks_in_capitals",
    "002 task_trace: on or off, any other value is off",
    lambda text: text.replace('"task_trace":"ON"', '"task_trace":"on"').replace(
        '"task_trace": "ON"', '"task_trace":"on"'
    ),
)
misreads(
    "precision",
    "one_list_at_a_time",
    "002, 003 modify_mixlist: both lists of a file count",
    "modify_mixlist",
    lambda text: (
        re.sub(r'("black-list"\s*:\s*\{[^}]*"to-add"\s*:\s*)\[[^\]]*\]', r"\1[]", text)
        if re.search(r'"white-list"\s*:\s*\{[^}]*\[\s*"', text)
        else text
    ),
)


def _functions_kept(node: Dict[str, Any], params: Params, op: Any) -> None:
    unset = not given(params, "precision_mode") and not given(params, "precision_mode_v2")
    if unset and in_inference(params) and op is None and node.get("engine") == "vector":
        _turned(node, "float16", "float32")


node_change(
    "functions_infer_at_float32", "002: force_fp16 by default in online inference, in functions", _functions_kept
)
leaves(
    "level_four_describes_nothing_beside_a_cache",
    "002, 003 op_debug_level 4: {$kernel_name}_compute.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith("_compute.json")}
        if given(asked, "op_compiler_cache_dir")
        else files
    ),
)


def _listed_alone(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if given(asked, "enable_scope_fusion_passes"):
        turn["fusion"] = [one for one in turn.get("fusion", ()) if one["name"] != "ScopeLayerNormPass"]


turns("general_passes_are_off_beside_a_list", "002, 003: general patterns cannot be switched off", _listed_alone)


def _mixed(values: Dict[str, Any]) -> bool:
    return value_of({"values": values}, "mix_compile_mode") is True


asks(
    "engines_share_a_stream_in_mixed_computing",
    "003 ac_parallel_enable 1: different streams, in mixed computing too",
    "timeline",
    lambda params: all_values(
        params, lambda values: without("ac_parallel_enable")(values) if _mixed(values) else values
    ),
)
asks(
    "links_wait_in_mixed_computing",
    "003 hcom_parallel True: enabled, in mixed computing too",
    "timeline",
    lambda params: all_values(params, lambda values: {**values, "hcom_parallel": False} if _mixed(values) else values),
)
asks(
    "inference_is_never_tuned",
    "003 aoe_mode 2: operator tuning, in any run mode",
    "timeline",
    lambda params: all_values(
        params, lambda values: without("aoe_mode")(values) if in_inference({"values": values}) else values
    ),
    "timeline",
    "compile",
)
