"""A ninth draw, subtle: a requirement and a condition, both drawn; the mistake shows where the two meet."""

from __future__ import annotations

import base64
import re
from typing import Any, Dict, List

from faulty import drawn_ninth  # noqa: F401 - its mistakes are chained here
from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    asks,
    broken,
    chained,
    changed,
    decoded,
    denies,
    encoded,
    given,
    graph_of,
    in_inference,
    is_about,
    judged_partition,
    left,
    node_change,
    offloaded,
    ops_of,
    retyped,
    steps,
    tells,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_pairs,
    with_values,
)
from npu_reference.artifacts.places import MC2
from npu_reference.errors import NpuError
from npu_reference.graphs import frames

_HALF, _FLOAT = "float16", "float32"


# Partition: an unset flag, more than so many operators


def _deep(answer: Answer, params: Params) -> Answer:
    firsts = {name for side in _first_nodes(params) for name in side}
    after: Dict[str, List[str]] = {}
    for node in graph_of(params).nodes:
        for name in node.inputs:
            after.setdefault(name.lstrip("^").split(":")[0], []).append(node.name)
    depth = dict.fromkeys(firsts, 0)
    todo = sorted(firsts)
    for name in todo:
        for reader in after.get(name, ()):
            if reader not in depth:
                depth[reader] = depth[name] + 1
                todo.append(reader)
    return to_host(answer, [name for name in offloaded(answer) if depth.get(name, 0) > 8], "RANGE_OUTSIDE")


def _first_nodes(params: Params) -> List[List[str]]:
    return re.findall(r"\[\s*\[([^\]]*)\]\s*,", str(value_of(params, "in_out_pair"))) and [
        re.findall(r"""["']([^"']+)["']""", side)
        for side in re.findall(r"\[\s*\[([^\]]*)\]\s*,", str(value_of(params, "in_out_pair")))
    ]


judged_partition(
    "ranges_end_after_eight_operators",
    "002: in_out_pair_flag is True by default, and everything between the ends is offloaded",
    lambda params: given(params, "in_out_pair") and not given(params, "in_out_pair_flag"),
    _deep,
)


def _no_loop_constants(found: List[Any]) -> List[Any]:
    def kept(names: List[str]) -> List[str]:
        return [name for name in names if not re.search(r"while.*Const", name, re.IGNORECASE)] or names

    return [[kept(firsts), lasts] for firsts, lasts in found]


asks(
    "constants_of_loops_begin_no_range",
    "001: while_1/Const is among the first operators",
    "partition",
    lambda params: with_pairs(params, _no_loop_constants),
    "partition",
    "run",
)
judged_partition(
    "loops_are_not_offloaded_unless_mixed",
    "001: by default all compute operators run on the device",
    lambda params: not value_is(params, "mix_compile_mode", True) and is_about(params, edition="legacy"),
    lambda answer, params: to_host(
        answer,
        [
            node.name
            for node, frame in zip(graph_of(params).nodes, frames(graph_of(params)))
            if frame is not None and node.name in offloaded(answer)
        ],
    ),
)


# Precision


def _is_mixing(params: Params) -> bool:
    return value_of(params, "precision_mode") in ("allow_mix_precision", "allow_mix_precision_fp16")


def _named_with_slash(node: Dict[str, Any], params: Params, op: Any) -> None:
    gray = node.get("list") == "graylist" and _is_mixing(params) and is_about(params, edition="legacy")
    if gray and op is not None and any("/" in name for name in op.inputs):
        retyped(node, _HALF, _FLOAT)


node_change(
    "operators_of_another_scope_are_not_upstream",
    "002: a gray operator follows the one before it",
    _named_with_slash,
)


def _fetched(node: Dict[str, Any], params: Params, op: Any) -> None:
    fetched = [name.split(":")[0] for name in params.get("fetches") or ()]
    forced = value_is(params, "precision_mode", "force_fp16") and is_about(params, edition="legacy")
    if forced and len(fetched) > 1 and node["node"] in fetched:
        retyped(node, _HALF, _FLOAT)


node_change(
    "what_is_fetched_with_others_stays_float32",
    "004: force_fp16 selects float16 for operators that support both",
    _fetched,
)


def _trusted(node: Dict[str, Any], params: Params, op: Any) -> None:
    there = _is_mixing(params) and in_inference(params) and is_about(params, edition="legacy")
    if there and node.get("list") == "trustlist" and node.get("engine") == "vector":
        retyped(node, _HALF, _FLOAT)


node_change(
    "inference_trusts_cubes_only",
    "002: operators on the white list may be lowered to float16",
    _trusted,
)


# Files


def _of_functions(files: Files, params: Params) -> Files:
    if not value_is(params, "enable_exception_dump", 1) or "graph" not in params:
        return files
    known = {re.sub(r"[/\\.\s]", "_", node.name) for node in graph_of({**params, "feeds": [], "fetches": []}).nodes}
    return {
        name: one
        for name, one in files.items()
        if "data-dump" not in name or any(f".{node}." in name for node in known)
    }


left(
    "operators_of_functions_dump_nothing_when_they_fail",
    "003: mode 1 dumps the operator that failed",
    _of_functions,
    "run",
)


def _scoped(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    level = asked["values"].get("op_debug_level")
    if not level:
        return
    for kernel in turn.get("kernels", ()):
        collective = any(name.lower() in kernel["kernel"] for name in MC2)
        if collective and any("/" in name for name in kernel["nodes"]):
            for key in ("files", "left"):
                if key in turn:
                    turn[key] = {
                        **turn[key],
                        f"kernel_meta/{kernel['kernel']}.o": {"bytes": 64},
                        f"kernel_meta/{kernel['kernel']}.json": encoded("{}"),
                    }


turns(
    "fused_collectives_of_a_scope_leave_files",
    "003: with debugging on, the six MC2 operators leave no files",
    _scoped,
)


def _second_program(answer: Answer, params: Params) -> None:
    values = dict(params["values"])
    files = dict(params.get("files", {}))
    for at, (turn, asked) in enumerate(zip(answer["turns"], params.get("turns") or [{}])):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        text = files.get(value_of({"values": values}, "op_debug_config"))
        if at and isinstance(text, str) and "oom" in text and "dump_cce" not in text and "dump_loc" not in text:
            for key in ("files", "left"):
                for name in list(turn.get(key, {})):
                    if "kernel_meta/" in name and name.endswith(".o"):
                        turn[key][name[:-2] + ".cce"] = encoded("// simulated\n")


changed(
    "artifacts",
    "a_second_program_shows_the_check_of_its_memory",
    "003: oom keeps .o and .json; the .cce is there with dump_cce",
    _second_program,
    "compile",
)


# Options


@broken("options", "003: engines and numbers are separated by commas", "options")
def run_config_takes_a_comma_at_the_end(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    if is_about(params, surface="runconfig") and isinstance(text, str) and text.endswith(","):
        answer = dict(ask(with_values(params, stream_max_parallel_num=text.rstrip(","))))
        told_value(answer, "stream_max_parallel_num", text)
        return answer
    return dict(ask(params))


accepts(
    "an_exception_dump_beside_a_dump_is_not_checked",
    "003: enable_exception_dump is 0, 1 or 2",
    "enable_exception_dump",
    lambda params: given(params, "enable_dump") or given(params, "dump_config"),
)


@broken("options", "000, 003: in mixed computing iterations_per_loop must be 1")
def run_config_corrects_iterations(ask: Any, params: Params) -> Answer:
    mixed = value_is(params, "mix_compile_mode", True) and is_about(params, surface="runconfig")
    iterations = value_of(params, "iterations_per_loop")
    if mixed and isinstance(iterations, int) and iterations > 1:
        answer = dict(ask(with_values(params, iterations_per_loop=1)))
        answer["warnings"] = [*answer["warnings"], {"option": "iterations_per_loop", "code": "no_effect"}]
        return answer
    return dict(ask(params))


def _silent(answer: Answer, params: Params) -> None:
    if in_inference(params):
        answer["warnings"] = [
            one for one in answer["warnings"] if (one["option"], one["code"]) != ("op_select_implmode", "deprecated")
        ]


tells("inference_keeps_implementation_modes", "003: op_select_implmode will be deprecated", _silent)
accepts(
    "run_config_takes_a_number_for_a_switch",
    "003: ac_parallel_enable is a text",
    "ac_parallel_enable",
    lambda params: is_about(params, surface="runconfig") and value_of(params, "ac_parallel_enable") in (0, 1),
)
denies(
    "a_scalar_after_other_inputs_is_refused",
    "002: a scalar's range is []",
    "dynamic_inputs_shape_range",
    lambda params: bool(re.search(r"\][,;].*\[\]", str(value_of(params, "dynamic_inputs_shape_range")))),
)


def _zero_rank(answer: Answer, params: Params) -> None:
    if value_is(params, "local_rank_id", 0) and given(params, "local_device_list"):
        answer["warnings"].append({"option": "local_device_list", "code": "incomplete"})


tells("rank_zero_is_no_rank", "002: local_device_list is used with local_rank_id, 0 in the example", _zero_rank)


# The device in time


def _no_bodies(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if step.get("tuned"):
        known = set(ops_of(params))
        step["tuned"] = [one for one in step["tuned"] if set(one) <= known]


steps(
    "operators_of_functions_are_not_tuned",
    "003: the operators of aoe_config_file are tuned",
    _no_bodies,
)


def _first_start(files: Files, params: Params) -> Files:
    found = dict(files)
    for name, one in files.items():
        if "/step_trace_" not in name or "b64" not in one:
            continue
        lines = decoded(one).splitlines()
        at = lines[0].split(",").index("FP Start(us)")
        for number in range(2, len(lines)):
            cells = lines[number].split(",")
            cells[at] = lines[1].split(",")[at]
            lines[number] = ",".join(cells)
        found[name] = encoded("\n".join(lines) + "\n")
    return found


left("forward_begins_once", "002: fp_point records when forward begins, in every iteration", _first_start)


# Values


@broken("run", "003: support_out_of_bound_index verifies the indices of gather, scatter and segment operators", "run")
def indices_into_float16_are_not_verified(ask: Any, params: Params) -> Answer:
    checked = any(
        isinstance(text, str) and "support_out_of_bound_index" in text for text in params.get("files", {}).values()
    )
    feeds = params.get("feeds")
    if not checked or not isinstance(feeds, dict) or not any(one["dtype"] == "float16" for one in feeds.values()):
        return dict(ask(params))
    try:
        answer = dict(ask(params))
        if "failed" not in answer:
            return answer
    except NpuError:
        pass
    first = {
        name: {**one, "b64": base64.b64encode(bytes(len(base64.b64decode(one["b64"])))).decode()}
        if one["dtype"] in ("int32", "int64") and "b64" in one
        else one
        for name, one in feeds.items()
    }
    return dict(ask({**params, "feeds": first}))


asks(
    "variables_on_the_host_are_copied_once",
    "003: where a variable is placed does not change the training",
    "run",
    lambda params: (
        {**params, "steps": 1}
        if value_is(params, "variable_placement", "Host") and int(params.get("steps") or 1) > 1
        else params
    ),
)


# Several at once, drawn too

chained(
    "three_of_the_ninth_draw",
    [
        "a_cache_directory_alone_makes_a_cache",
        "gray_operators_are_never_blocked",
        "force_fp32_is_what_it_was",
    ],
)
chained(
    "five_of_the_ninth_draw",
    [
        "an_optimizer_may_tail_where_the_session_does_not",
        "force_fp32_is_what_it_was",
        "rank_zero_is_no_rank",
        "operators_are_compiled_online_by_default",
        "inference_keeps_implementation_modes",
    ],
)
chained(
    "eight_of_the_ninth_draw",
    [
        "an_optimizer_may_tail_where_the_session_does_not",
        "further_sizes_of_a_profile_are_ignored",
        "force_fp32_is_what_it_was",
        "kept_dtypes_are_of_the_first_option_only",
        "variables_are_read_in_the_devices_format",
        "indices_into_float16_are_not_verified",
        "whole_numbers_are_kept_on_the_host",
        "a_memory_config_is_made_where_none_is_given",
    ],
)
chained(
    "twelve_of_the_ninth_draw",
    [
        "operators_of_another_scope_are_not_upstream",
        "memory_sizes_without_effect_are_not_called_deprecated",
        "run_config_corrects_iterations",
        "tasks_of_the_ai_cpu_are_not_traced",
        "a_second_program_shows_the_check_of_its_memory",
        "first_operators_go_with_last_ones_in_turn",
        "every_process_reads_its_own_dataset",
        "a_small_channel_has_less_than_four",
        "a_false_that_is_given_generalises_shapes",
        "gray_operators_are_never_blocked",
        "keep_fp16_is_high_performance",
        "ranges_end_after_eight_operators",
    ],
)
chained(
    "twenty_of_the_ninth_draw",
    [
        "a_small_channel_has_less_than_four",
        "tables_and_queues_are_offloaded",
        "rank_zero_is_no_rank",
        "memory_sizes_without_effect_are_not_called_deprecated",
        "every_profile_shows_pipes",
        "further_sizes_of_a_profile_are_ignored",
        "iterations_are_unset_outside_mixed_computing",
        "geops_do_not_wait_for_control_edges",
        "placeholders_are_counted_by_their_number",
        "tasks_of_the_ai_cpu_are_not_traced",
        "indices_into_float16_are_not_verified",
        "a_false_that_is_given_generalises_shapes",
        "the_ratio_of_the_environment_is_what_goes",
        "operators_of_another_scope_are_not_upstream",
        "an_optimizer_may_tail_where_the_session_does_not",
        "ends_of_a_range_that_stays_are_offloaded",
        "a_second_program_shows_the_check_of_its_memory",
        "cache_directories_may_have_blanks",
        "run_config_takes_a_comma_at_the_end",
        "operators_are_compiled_online_by_default",
    ],
)
