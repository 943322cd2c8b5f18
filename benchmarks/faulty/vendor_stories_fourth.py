"""Mistakes of whole implementations, a fourth list: what goes wrong in a backend written from the documents alone.

Written blind, without a look at the suite's cases, laws and earlier lists, and frozen before the suite was asked about
any of it: it measures what is seen at first look. Each breaks one sentence of a document; a comment names its
requirement.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from faulty.making import (
    REFERENCE,
    Answer,
    Params,
    all_values,
    asks,
    broken,
    changed,
    decoded,
    edited,
    encoded,
    given,
    graph_of,
    in_inference,
    judged_partition,
    leaves,
    mapped,
    misreads,
    named_by,
    place,
    plain,
    readers_of,
    reads_as,
    regraphed,
    steps,
    tells,
    text_of,
    texts,
    to_device,
    to_host,
    told_value,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_settings,
    with_values,
    without,
)
from npu_reference.errors import NpuError

Values = Dict[str, Any]
#: What all of them refuse alike.
EVERYWHERE = ("options", "partition", "precision", "timeline", "compile")


def kindly(
    name: str,
    sentence: str,
    options: Iterable[str],
    when: Callable[[Params], bool],
    instead: Callable[[Params], Params],
    mend: Optional[Callable[[Answer, Params], None]] = None,
) -> None:
    """What is refused because of one of `options` is taken where `when` holds, by every method, as `instead` is."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return dict(ask(params))
        except NpuError as error:
            if error.subject not in tuple(options) or not when(params):
                raise
        found = copy.deepcopy(ask(instead(params)))
        for one in options:
            if one in found.get("effective", {}) and given(params, one):
                found["effective"][one] = {"value": value_of(params, one), "origin": "given"}
        if mend is not None and "effective" in found:
            mend(found, params)
        return dict(found)

    fault.__name__ = name
    broken("options", sentence, *EVERYWHERE)(fault)


def without_warnings(answer: Answer, option: str, *codes: str) -> None:
    answer["warnings"] = [one for one in answer["warnings"] if one["option"] != option or one["code"] not in codes]


# ------------------------------------------------------------------ options


def size_of(text: Any) -> int:
    """A size, as a number or as a product."""
    found = 1
    for part in str(text).split("*"):
        found *= int(part)
    return found


def memory_together(params: Params) -> int:
    graph, variables = (value_of(params, name) for name in ("graph_memory_max_size", "variable_memory_max_size"))
    return (26 << 30 if graph is None else size_of(graph)) + (5 << 30 if variables is None else size_of(variables))


def hardly_too_much(params: Params) -> bool:
    try:
        return 31 << 30 < memory_together(params) < 32 << 30
    except ValueError:
        return False


def smaller(params: Params) -> Params:
    """The same with less for variables, or for the graph where those have nothing to give."""
    too_much = memory_together(params) - (31 << 30)
    name = "variable_memory_max_size"
    size = size_of(value_of(params, name) or 5 << 30)
    if size < too_much:
        name, size = "graph_memory_max_size", size_of(value_of(params, "graph_memory_max_size") or 26 << 30)
    return with_values(params, **{name: str(size - too_much)})


def sizes_as_given(answer: Answer, params: Params) -> None:
    for name, key in (("graph_memory_max_size", "graph_bytes"), ("variable_memory_max_size", "variable_bytes")):
        default = (26 if key == "graph_bytes" else 5) << 30
        size = size_of(value_of(params, name) or default)
        if name in answer.get("meaning", {}):
            answer["meaning"][name] = size
        if not given(params, name):
            told_value(answer, name, str(default), "default")
        if "memory" in answer.get("directives", {}):
            answer["directives"]["memory"][key] = size


# session.memory.sum_31g, session.memory.sum_with_defaults
kindly(
    "memory_sum_is_compared_in_whole_gigabytes",
    "Graph and variable memory together may not exceed 31 G.",
    ("graph_memory_max_size", "variable_memory_max_size"),
    hardly_too_much,
    smaller,
    sizes_as_given,
)


def step_text(params: Params) -> Tuple[str, str]:
    """The iterations to dump and the option that says them."""
    config = value_of(params, "dump_config")
    if isinstance(config, dict) and isinstance(config.get("arguments", {}).get("dump_step"), str):
        return config["arguments"]["dump_step"], "dump_config"
    text = value_of(params, "dump_step")
    return (text, "dump_step") if isinstance(text, str) else ("", "")


def steps_as(params: Params, text: str) -> Params:
    config = value_of(params, "dump_config")
    if isinstance(config, dict) and "dump_step" in config.get("arguments", {}):
        return with_values(params, dump_config={**config, "arguments": {**config["arguments"], "dump_step": text}})
    return {**params, "values": mapped("dump_step", lambda value: text)(dict(params["values"]))}


# session.dump_step.range_order
@broken("options", "A range of iterations goes from the lower to the higher one.", *EVERYWHERE, "run")
def ranges_of_steps_are_compared_as_text(ask: Any, params: Params) -> Answer:
    text, option = step_text(params) if "values" in params else ("", "")
    ranges = [(one.group(), one.group(1), one.group(2)) for one in re.finditer(r"(\d+)-(\d+)", text)]
    if any(int(low) < int(high) and low > high for _, low, high in ranges):
        raise NpuError("OPTION_SYNTAX", option, "a range does not rise")
    turned = [(whole, f"{high}-{low}") for whole, low, high in ranges if int(low) > int(high) and low < high]
    if not turned:
        return dict(ask(params))
    other = text
    for whole, instead in turned:
        other = other.replace(whole, instead)
    answer = copy.deepcopy(ask(steps_as(params, other)))
    told_value(answer, option, value_of(params, option), "given")
    if "dump_step" in answer.get("meaning", {}):
        answer["meaning"]["dump_step"] = [
            list(map(int, (part.split("-") * 2)[:2])) for part in text.replace(" ", "").split("|")
        ]
    return dict(answer)


# runconfig.stream_sync_timeout.gt_hccl, env.HCCL_EXEC_TIMEOUT.fallback
@broken(
    "options", "In a cluster the stream waits longer than a collective, whose time a variable may say.", *EVERYWHERE
)
def streams_in_a_cluster_are_compared_with_the_default_alone(ask: Any, params: Params) -> Answer:
    if "HCCL_EXEC_TIMEOUT" not in params.get("env", {}) or given(params, "hccl_timeout"):
        return dict(ask(params))
    if not given(params, "stream_sync_timeout"):
        return dict(ask(params))
    found = ask(with_env(params, lambda env: {k: v for k, v in env.items() if k != "HCCL_EXEC_TIMEOUT"}))
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "stream_sync_timeout":
            raise
    if "effective" in found:
        plainly = ask(with_values(params, stream_sync_timeout=None))
        found["effective"]["hccl_timeout"] = plainly["effective"]["hccl_timeout"]
        seconds = plainly["directives"]["timeouts"]["hccl_seconds"]
        found["directives"]["timeouts"]["hccl_seconds"] = seconds
    return dict(found)


# precision.v1_v2_exclusive
kindly(
    "a_precision_mode_that_is_the_default_may_stand_beside_the_new_one",
    "precision_mode and precision_mode_v2 cannot be used together.",
    ("precision_mode", "precision_mode_v2"),
    lambda params: (
        given(params, "precision_mode", "precision_mode_v2")
        and value_is(params, "precision_mode", "force_fp16" if in_inference(params) else "allow_fp32_to_fp16")
    ),
    lambda params: with_values(params, precision_mode=None),
)


def in_variable(params: Params) -> str:
    return str(params.get("env", {}).get("AOE_MODE", ""))


# runconfig.aoe_mode.over_env, files.aoe_cfg.deeper_opat_needs_2, files.aoe_cfg.nonhomo_split_needs_1
@broken(
    "options",
    "The mode that a feature of tuning needs is the script's, where it says one.",
    "options",
    "timeline",
    "compile",
)
def features_of_tuning_are_checked_against_the_variable(ask: Any, params: Params) -> Answer:
    if in_variable(params) not in ("1", "2", "4") or not given(params, "aoe_mode", "aoe_config_file"):
        return dict(ask(params))
    found = ask(with_values(params, aoe_mode=None))  # says what the variable makes of the file
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "aoe_config_file":
            raise
    if "effective" in found:
        found["effective"]["aoe_mode"] = {"value": value_of(params, "aoe_mode"), "origin": "given"}
        found["directives"]["tuning"]["aoe"] = value_of(params, "aoe_mode")
    return dict(found)


def debug_options(text: str) -> List[str]:
    found = re.search(r"^\s*op_debug_config\s*=([^\n]*)", text, re.M)
    return [one.strip() for one in found.group(1).split(",")] if found else []


def without_oom(text: str) -> str:
    kept = ",".join(one for one in debug_options(text) if one != "oom")
    return re.sub(r"^(\s*op_debug_config\s*=)[^\n]*", lambda found: found.group(1) + kept, text, flags=re.M)


def oom_told(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("op_debug_config")
    if told:
        told["op_debug_config"] = debug_options(text_of(params, "op_debug_config"))


# runconfig.op_debug_config.O0_oom_exclusive, .npu_collect_no_oom, runconfig.op_debug_level.2_oom_exclusive
kindly(
    "oom_is_looked_for_at_the_head_of_the_list",
    "The oom check excludes -O0, level 2 and NPU_COLLECT_PATH.",
    ("op_debug_config",),
    lambda params: "oom" in debug_options(text_of(params, "op_debug_config"))[1:],
    lambda params: texts(params, "op_debug_config", without_oom),
    oom_told,
)


def trace_lowered(value: Any) -> Any:
    """Profiling options in which a switch in capitals is on."""
    if isinstance(value, dict) and "arguments" in value:
        return {
            **value,
            "arguments": {name: trace_lowered(one) for name, one in value["arguments"].items()},
        }
    if not isinstance(value, str):
        return value
    return re.sub(r'("(?:task_trace|aicpu)"\s*:\s*)"(ON|On|oN)"', r'\1"on"', value)


def capitals(values: Values) -> Values:
    names = ("profiling_options", "profiling_config")
    return {name: edited(value, trace_lowered) if name in names else value for name, value in values.items()}


# session.profiling_options.task_trace.junk_is_off, session.profiling_options.aicpu.junk_is_off
@broken("options", "Any other value of task_trace and aicpu is treated as off.", "options", "timeline", "run")
def switches_of_profiles_are_read_in_any_case(ask: Any, params: Params) -> Answer:
    answer = ask(all_values(params, capitals))
    if "effective" in answer:
        plainly = ask(params)
        answer["effective"] = plainly["effective"]
        if "profiling_config" in answer.get("meaning", {}):
            answer["meaning"]["profiling_config"] = plainly["meaning"]["profiling_config"]
    return dict(answer)


def zero_dropped(values: Values) -> Values:
    return without("session_device_id")(values) if plain(values.get("session_device_id")) == 0 else values


# runconfig.session_device_id.over_env, session.session_device_id.over_env
asks(
    "device_zero_gives_way_to_the_variable",
    "session_device_id has priority over ASCEND_DEVICE_ID.",
    "options",
    lambda params: all_values(params, zero_dropped) if params.get("env", {}).get("ASCEND_DEVICE_ID") else params,
    "options",
    "timeline",
    "run",
)


def ranges_kept(answer: Answer, params: Params) -> None:
    name = "dynamic_inputs_shape_range"
    text = value_of(params, name)
    if not given(params, "dynamic_dims") or not isinstance(text, str) or "getnext" not in text:
        return
    if answer["effective"].get(name, {}).get("origin") == "forced":
        answer["effective"][name] = {"value": text, "origin": "given"}
        without_warnings(answer, name, "overridden")


# runconfig.dynamic_inputs_shape_range.dynamic_dims_wins
tells(
    "ranges_of_datasets_stand_beside_profiles",
    "If dynamic_dims is there too, dynamic_inputs_shape_range has no effect.",
    ranges_kept,
)

PATHS = ("fusion_switch_file", "op_compiler_cache_dir", "debug_dir")
ALLOWED = re.compile("[A-Za-z0-9_.\\-\u4e00-\u9fff]*")


def last_is_plain(params: Params) -> bool:
    for name in PATHS:
        path = value_of(params, name)
        if isinstance(path, str) and "/" in path.rstrip("/"):
            parts = path.rstrip("/").split("/")
            if ALLOWED.fullmatch(parts[-1]) and not all(ALLOWED.fullmatch(one) for one in parts):
                return True
    return False


def plain_path(path: str) -> str:
    return "/".join(one if ALLOWED.fullmatch(one) else re.sub("[^A-Za-z0-9_.\\-]", "_", one) for one in path.split("/"))


def plain_paths(params: Params) -> Params:
    found = all_values(
        params,
        lambda values: {
            name: edited(value, plain_path) if name in PATHS and isinstance(plain(value), str) else value
            for name, value in values.items()
        },
    )
    if "files" in params:
        found["files"] = {plain_path(name): text for name, text in params["files"].items()}
    return found


# session.fusion_switch_file.charset, runconfig.fusion_switch_file.charset, session.op_compiler_cache_dir.charset
kindly(
    "of_a_path_the_last_part_alone_is_checked",
    "A path has letters, digits, underscores, hyphens and periods.",
    PATHS,
    last_is_plain,
    plain_paths,
)


def chosen_alone(params: Params) -> bool:
    return given(params, "op_precision_mode", "op_select_implmode") and not given(params, "optypelist_for_implmode")


# session.op_precision_mode.over_implmode, runconfig.op_precision_mode.over_implmode
@broken("options", "op_precision_mode excludes op_select_implmode, and wins.", "options", "precision")
def a_precision_file_wins_only_where_both_others_are_given(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not chosen_alone(params):
        return dict(answer)
    beside = ask(with_values(params, op_precision_mode=None))
    if "effective" in answer:
        name = "op_select_implmode"
        answer["effective"][name] = beside["effective"][name]
        without_warnings(answer, name, "overridden")
        answer["directives"]["implementation"]["others"] = beside["directives"]["implementation"]["others"]
        return dict(answer)
    modes = {node["node"]: node.get("impl_mode") for node in beside["nodes"]}
    for node in answer["nodes"]:
        if node.get("impl_mode") is None:
            node["impl_mode"] = modes.get(node["node"])
    return dict(answer)


def engines(text: Any) -> List[Tuple[str, str]]:
    found = re.findall(r"([^,:\s]+)\s*:\s*(\d+)", text) if isinstance(text, str) else []
    return [(str(engine), str(number)) for engine, number in found]


LIMITS = {"DNN_VM_TF": 13, "DNN_V100": 3}


def within(number: str, engine: str) -> str:
    return str(max(1, min(int(number), LIMITS.get(engine, int(number)))))


def first_is_within(params: Params) -> bool:
    pairs = engines(value_of(params, "stream_max_parallel_num"))
    return len(pairs) == 2 and pairs[0][1] == within(*reversed(pairs[0])) and pairs[1][0] in LIMITS


def numbers_as_given(answer: Answer, params: Params) -> None:
    for engine, number in engines(value_of(params, "stream_max_parallel_num")):
        answer["meaning"]["stream_max_parallel_num"][engine] = int(number)
        answer["directives"]["engines"]["AI_CPU" if engine == "DNN_VM_TF" else "AI_Core"] = int(number)


# session.stream_max_parallel_num.range_aicpu, session.stream_max_parallel_num.range_aicore
kindly(
    "the_number_of_the_first_engine_alone_is_checked",
    "The AI CPU takes 1 to 13 operators at once, the AI Core 1 to 3.",
    ("stream_max_parallel_num",),
    first_is_within,
    lambda params: with_values(
        params,
        stream_max_parallel_num=",".join(
            f"{engine}:{within(number, engine)}"
            for engine, number in engines(value_of(params, "stream_max_parallel_num"))
        ),
    ),
    numbers_as_given,
)


# runconfig.variable_placement.host_needs_mix
kindly(
    "a_given_mix_compile_mode_is_enough_for_variables_on_the_host",
    "Variables on the host need mix_compile_mode True.",
    ("variable_placement",),
    lambda params: value_is(params, "mix_compile_mode", False),
    lambda params: with_values(params, variable_placement=None),
)


def by_place(text: Any) -> Any:
    pairs = engines(text)
    if len(pairs) != 2 or pairs[0][0] not in ("DNN_V100", "AIcoreEngine"):
        return text
    return f"{pairs[0][0]}:{pairs[1][1]},{pairs[1][0]}:{pairs[0][1]}"


# session.stream_max_parallel_num.engine_aicpu, runconfig.stream_max_parallel_num.engine_aicore
@broken("options", "Each number belongs to the engine that it is written behind.", "options", "timeline")
def numbers_of_engines_are_taken_by_their_place(ask: Any, params: Params) -> Answer:
    answer = ask(all_values(params, mapped("stream_max_parallel_num", by_place)))
    if given(params, "stream_max_parallel_num"):
        told_value(answer, "stream_max_parallel_num", value_of(params, "stream_max_parallel_num"))
    return dict(answer)


# runconfig.enable_scope_fusion_passes.list, session.enable_scope_fusion_passes.nongeneral_on
reads_as(
    "one_scope_fusion_pass_is_taken_the_last",
    "One or more patterns take effect, separated by commas.",
    "enable_scope_fusion_passes",
    lambda params, told: told.split(",")[-1].strip() if isinstance(told, str) else told,
)


# runconfig.enable_exception_dump.npu_collect_forces_1
@broken("options", "With NPU_COLLECT_PATH dumps are of mode 1 whatever enable_exception_dump says.", "options", "run")
def a_given_zero_keeps_the_collect_path_from_dumping(ask: Any, params: Params) -> Answer:
    collects = "NPU_COLLECT_PATH" in params.get("env", {}) and params.get("edition") == "current"
    answer = ask(params)
    if not collects or not value_is(params, "enable_exception_dump", 0):
        return dict(answer)
    told_value(answer, "enable_exception_dump", 0, "given")
    if "warnings" in answer:
        without_warnings(answer, "enable_exception_dump", "overridden")
    if "fetches" in answer:
        where = params["env"]["NPU_COLLECT_PATH"].strip("/") + "/extra-info/data-dump/"
        answer["files"] = {name: one for name, one in answer.get("files", {}).items() if not name.startswith(where)}
    return dict(answer)


# ---------------------------------------------------------------- partition


def because(answer: Answer, text: Callable[[str], bool]) -> List[str]:
    """Operators that stay on the host for what lies in their functions, where the reason is one of some."""
    return [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "FUNCTION" and text(str((one.get("witness") or [{}])[-1].get("why", "")))
    ]


# mixed.partition.identify_first, mixed.purpose.host_fallback
place(
    "functions_are_searched_one_call_deep",
    "An operator that the device cannot run stays on the host, wherever it is called from.",
    lambda answer, params: to_device(answer, because(answer, lambda why: why.count(" -> ") > 1)),
)

# mixed.scope.without_npu_compile.adds
place(
    "what_the_scope_marks_inside_a_function_is_not_seen",
    "without_npu_compile_scope marks operators that are not offloaded.",
    lambda answer, params: to_device(answer, because(answer, lambda why: "without_npu_compile_scope" in why)),
)


def zipped(pairs: List[Any]) -> List[Any]:
    found = []
    for ins, outs in pairs:
        length = max(len(ins), len(outs))
        for at in range(length):
            found.append([[ins[min(at, len(ins) - 1)]], [outs[min(at, len(outs) - 1)]]])
    return found


def are_pairs(found: Any) -> bool:
    return all(
        isinstance(entry, list)
        and len(entry) == 2
        and all(isinstance(side, list) and side and all(isinstance(one, str) for one in side) for side in entry)
        for entry in found
    )


# in_out_pair.multi_in, in_out_pair.multi_out
asks(
    "the_first_in_node_goes_with_the_first_out_node",
    "The range is the union over all combinations of an in and an out node.",
    "partition",
    lambda params: with_pairs(params, lambda pairs: zipped(pairs) if are_pairs(pairs) else pairs),
    "partition",
)


def entries_of(params: Params) -> List[Any]:
    text = value_of(params, "in_out_pair")
    try:
        found = json.loads(text.replace("'", '"')) if isinstance(text, str) else []
    except ValueError:
        return []
    return found if isinstance(found, list) and are_pairs(found) else []


def reached(starts: Iterable[str], readers: Mapping[str, List[str]], stops: Set[str]) -> Set[str]:
    """All that is behind some operators, themselves included; nothing behind one of `stops`."""
    found = set(starts)
    front = [one for one in found if one not in stops]
    while front:
        for name in readers.get(front.pop(), ()):
            if name not in found:
                found.add(name)
                if name not in stops:
                    front.append(name)
    return found


def lost_behind_outs(params: Params) -> Set[str]:
    readers = readers_of(params)
    sources: Dict[str, List[str]] = {}
    for source, those in readers.items():
        for one in those:
            sources.setdefault(one, []).append(source)
    whole: Set[str] = set()
    short: Set[str] = set()
    for ins, outs in entries_of(params):
        before = reached(outs, sources, set())
        whole |= reached(ins, readers, set()) & before
        short |= reached(ins, readers, set(outs)) & before
    return whole - short


def ends_early(answer: Answer, params: Params) -> Answer:
    gone = lost_behind_outs(params)
    if value_of(params, "in_out_pair_flag") is not False:
        return to_host(answer, gone, "RANGE_OUTSIDE")
    inside = [one["node"] for one in answer["host"] if one["node"] in gone and one.get("reason") == "RANGE_INSIDE"]
    return to_device(answer, inside)


# in_out_pair.range_all, in_out_pair.multi_out
judged_partition(
    "the_walk_along_a_range_stops_at_the_first_out_node",
    "The range is the union over all combinations of an in and an out node.",
    lambda params: bool(entries_of(params)) and value_of(params, "mix_compile_mode") is True and "graph" in params,
    ends_early,
)


def only_fetched(answer: Answer, params: Params) -> Answer:
    read = {text for node in graph_of(params).nodes for text in node.inputs if not node.name.startswith("_retval_")}
    moved = [
        one["node"] for one in answer["host"] if one.get("reason") == "FIFTH_OUTPUT" and f"{one['node']}:5" not in read
    ]
    if moved and "notes" in answer:
        answer["notes"] = [
            one for one in answer["notes"] if one["code"] != "FIFTH_OUTPUT" or one.get("subject") not in moved
        ]
    return to_device(answer, moved)


# mixed.fused_bn_v3.fifth_output
place(
    "a_fifth_output_that_is_fetched_goes_unnoticed",
    "The device has no fifth output of FusedBatchNormV3 in mixed computing.",
    only_fetched,
)


def references_alone(params: Params) -> bool:
    kinds = {node.op for node in graph_of(params).nodes} if "graph" in params else set()
    return bool(kinds & {"VariableV2", "Variable"}) and "VarHandleOp" not in kinds


# runconfig.variable_placement.host
asks(
    "variables_that_are_references_stay_on_the_device",
    "Host: variables lie on the host.",
    "partition",
    lambda params: (
        all_values(params, without("variable_placement"))
        if value_is(params, "variable_placement", "Host") and references_alone(params)
        else params
    ),
    "partition",
    "timeline",
    "precision",
)


def joined(answer: Answer, params: Params) -> Answer:
    """GEOPs made one whose only ways through the host hold a control edge."""
    readers = readers_of(params, controls=False)
    every = readers_of(params)
    found = copy.deepcopy(answer)
    at = 0
    while at < len(found["geops"]):
        first = found["geops"][at]
        for other in found["geops"][at + 1 :]:
            both = {*first["nodes"], *other["nodes"]}
            if leads_out(both, every) and not leads_out(both, readers):
                first["nodes"] = sorted(both)
                found["geops"].remove(other)
                break
        else:
            at += 1
    return found


def leads_out(nodes: Set[str], readers: Mapping[str, List[str]]) -> bool:
    """Whether a way leaves these operators and comes back."""
    outside = {one for name in nodes for one in readers.get(name, ()) if one not in nodes}
    return bool(reached(outside, readers, nodes) & nodes)


# mixed.partition.geop_acyclic, mixed.partition.order_preserved
place(
    "a_way_through_the_host_is_looked_for_along_data",
    "The graph of GEOPs and host operators has no cycle, of control dependencies either.",
    lambda answer, params: joined(answer, params) if "graph" in params else None,
)


# session.use_off_line.false, session.use_off_line.false_overrides
asks(
    "mixed_computing_offloads_even_off_the_device",
    "use_off_line False: everything is computed on the host.",
    "partition",
    lambda params: (
        all_values(params, without("use_off_line"))
        if value_is(params, "mix_compile_mode", True) and value_is(params, "use_off_line", False)
        else params
    ),
    "partition",
    "precision",
    "timeline",
)


# ---------------------------------------------------------------- precision

FLAGS = {"trustlist": "true", "blocklist": "false"}


def lists_of(params: Params) -> Dict[str, str]:
    """The list of each kernel type of the request's graph, before any file changes it."""
    values = without("modify_mixlist", "customize_dtypes", "op_precision_mode")(dict(params["values"]))
    request = {name: params[name] for name in ("graph", "surface", "edition", "feeds", "fetches") if name in params}
    try:
        found = REFERENCE.precision({**request, "values": values, "env": {}, "files": params.get("files", {})})
    except NpuError:
        return {}
    return {node["kernel"]: node.get("list") or "" for node in found["nodes"] if node.get("kernel")}


def flags_kept(params: Params) -> Params:
    try:
        told = json.loads(params.get("ops_info") or "{}")
    except ValueError:
        return params
    if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
        return params
    lists = lists_of(params)
    for kernel, entry in told.items():
        if "precision_reduce" not in entry and lists.get(kernel) in FLAGS:
            entry["precision_reduce"] = {"flag": FLAGS[lists[kernel]]}
    return {**params, "ops_info": json.dumps(told)} if told else params


# precision.g.flag_absent, precision.s.flag_absent_gray, precision.mixlist.gray
asks(
    "an_entry_without_a_flag_keeps_the_one_of_the_library",
    "An operator without precision_reduce is on the graylist.",
    "precision",
    flags_kept,
    "precision",
    "timeline",
    "compile",
)


def until_comment(text: str) -> str:
    lines = text.split("\n")
    started = False
    for at, line in enumerate(lines):
        if line.startswith("#") and started:
            return "\n".join(lines[:at]) + "\n"
        started = started or (bool(line.strip()) and not line.startswith("#"))
    return text


# files.customize_dtypes.comments, files.customize_dtypes.one_per_line
misreads(
    "precision",
    "a_comment_behind_entries_ends_the_customised_dtypes",
    "Lines that start with # are comments.",
    "customize_dtypes",
    until_comment,
    "options",
    "precision",
    "timeline",
    "compile",
)


def by_last_part(params: Params) -> Params:
    if not named_by(params, "customize_dtypes") or "graph" not in params:
        return params
    names = [node.name for node in graph_of(params).nodes]

    def more(text: str) -> str:
        lines = text.split("\n")
        entries = {line.split("::")[0]: line for line in lines if "::" in line and not line.startswith("#")}
        added = [
            name + entries[name.split("/")[-1]][len(name.split("/")[-1]) :]
            for name in names
            if name not in entries and "/" in name and name.split("/")[-1] in entries
        ]
        return "\n".join(lines + added)

    return texts(params, "customize_dtypes", more)


# files.customize_dtypes.name_with_slash, files.customize_dtypes.by_name
@broken("precision", "An entry is of the operator of that name.", "precision", "timeline")
def customised_names_match_the_last_part_of_a_name(ask: Any, params: Params) -> Answer:
    return dict(ask(by_last_part(params)))


def unkept(made: Any) -> None:
    for function in made.library.function:
        for node in function.node_def:
            node.attr.pop("_keep_dtype", None)


# api.keep_dtype_scope, precision.keep_dtype_scope.advice
asks(
    "the_scope_that_keeps_dtypes_ends_at_functions",
    "keep_dtype_scope keeps the precision of the operators built inside it.",
    "precision",
    lambda params: regraphed(params, unkept),
    "precision",
    "timeline",
    "compile",
)


def bfloat16_alone(params: Params) -> Params:
    keeps = value_is(params, "precision_mode", "must_keep_origin_dtype") or value_is(
        params, "precision_mode_v2", "origin"
    )
    try:
        told = json.loads(params.get("ops_info") or "{}")
    except ValueError:
        return params
    if not keeps or not isinstance(told, dict):
        return params
    halves = [node["kernel"] for node in of_halves(params)]
    for kernel, entry in told.items():
        for _, said in entry.items() if isinstance(entry, dict) and kernel in halves else ():
            dtypes = [one.strip() for one in str(said.get("dtype", "")).split(",")] if isinstance(said, dict) else []
            if "bfloat16" in dtypes and "float16" not in dtypes and set(dtypes) <= {"bfloat16", "float", "float32"}:
                said["dtype"] = ",".join("bfloat16" for one in dtypes)
    return {**params, "ops_info": json.dumps(told)} if told else params


def of_halves(params: Params) -> List[Dict[str, Any]]:
    """What the device computes at float16 as the graph says."""
    request = {name: one for name, one in params.items() if name not in ("ops_info", "variants", "turns")}
    try:
        found = REFERENCE.precision(request)
    except NpuError:
        return []
    return [node for node in found["nodes"] if "float16" in node["inputs"] and node.get("kernel")]


# precision.must_keep.fp16_to_fp32, precision.v2.origin.fp16_to_fp32
asks(
    "a_half_goes_to_the_aicpu_before_float32_is_tried",
    "float16 in the graph, float32 and bfloat16 on the device: float32 is used.",
    "precision",
    bfloat16_alone,
    "precision",
)


def blocked_to_aicpu(answer: Answer, params: Params) -> None:
    forced = ("force_fp32", "cube_fp16in_fp32out")
    if not (value_is(params, "precision_mode", *forced) or value_is(params, "precision_mode_v2", *forced)):
        return
    for node in answer["nodes"]:
        if node.get("list") == "blocklist" and node.get("engine") == "vector" and "float32" in node["inputs"]:
            node["engine"] = "aicpu"


# precision.cube.vector_black_aicpu, precision.cube.vector_force_fp32
changed(
    "precision",
    "all_of_the_blocklist_goes_to_the_aicpu",
    "Operators of the blocklist that lack float32 are computed by the AI CPU.",
    blocked_to_aicpu,
)


def stays_black(params: Params) -> Params:
    if not named_by(params, "modify_mixlist") or "graph" not in params:
        return params
    lists = lists_of(params)

    def fewer(text: str) -> str:
        try:
            told = json.loads(text)
            gone = told.get("black-list", {}).get("to-remove", [])
            white = told.get("white-list", {})
            if "to-add" in white:
                white["to-add"] = [one for one in white["to-add"] if lists.get(one) != "blocklist" or one in gone]
        except (ValueError, AttributeError):
            return text
        return json.dumps(told)

    return texts(params, "modify_mixlist", fewer)


# files.mixlist.legacy.white_add, files.mixlist.current.white_add
asks(
    "a_type_of_the_blocklist_is_removed_before_it_is_trusted",
    "white-list.to-add moves a black or gray operator to the trustlist.",
    "precision",
    stays_black,
    "precision",
)


def framework_types(params: Params) -> Params:
    if not named_by(params, "customize_dtypes") or "graph" not in params:
        return params
    kernels = kernels_of(params)

    def change(text: str) -> str:
        lines = []
        for line in text.split("\n"):
            found = re.match(r"OpType::([^:]+):(.*)", line)
            if found is None:
                lines.append(line)
                continue
            there = {kernel for op, kernel in kernels if op == found.group(1)}
            lines += [f"OpType::{kernel}:{found.group(2)}" for kernel in sorted(there)]
        return "\n".join(lines)

    return texts(params, "customize_dtypes", change)


def kernels_of(params: Params) -> Set[Tuple[str, str]]:
    """Operator types of the request's graph with what the device calls them."""
    values = without("customize_dtypes", "modify_mixlist", "op_precision_mode")(dict(params["values"]))
    request = {name: params[name] for name in ("graph", "surface", "edition", "feeds", "fetches") if name in params}
    try:
        found = REFERENCE.precision({**request, "values": values, "env": {}, "files": params.get("files", {})})
    except NpuError:
        return set()
    return {(node["op"], node["kernel"]) for node in found["nodes"] if node.get("kernel")}


# precision.customize.ascend_ir_types, files.customize_dtypes.by_type
asks(
    "customised_types_are_those_of_the_framework",
    "Operator types are those of the Ascend IR.",
    "precision",
    framework_types,
    "precision",
    "timeline",
)


# ----------------------------------------------------------------- timeline


def fused_within(params: Params, values: Mapping[str, Any], step: Dict[str, Any]) -> None:
    if "rejected" in step or not step.get("transfers"):
        return
    limit = plain(values.get("input_fusion_size"))
    limit = 131072 if limit is None else int(limit)
    request = {name: one for name, one in params.items() if name != "variants"}
    try:
        alone = REFERENCE.timeline({**request, "values": {**values, "input_fusion_size": 0}})["base"]
    except NpuError:
        return
    if "rejected" in alone:
        return
    sizes = {one["tensors"][0]: one["bytes"] for one in alone["transfers"] if len(one.get("tensors", ())) == 1}
    made: List[Dict[str, Any]] = []
    for one in step["transfers"]:
        tensors = one.get("tensors", [])
        if one["direction"] != "h2d" or len(tensors) < 2 or not all(name in sizes for name in tensors):
            made.append(one)
            continue
        parts: List[List[str]] = [[]]
        for name in tensors:
            if parts[-1] and sum(sizes[other] for other in parts[-1]) + sizes[name] > limit:
                parts.append([])
            parts[-1].append(name)
        made += [{**one, "tensors": part, "bytes": sum(sizes[name] for name in part)} for part in parts]
        split_task(step, one["bytes"], [sum(sizes[name] for name in part) for part in parts])
    step["transfers"] = made


def split_task(step: Dict[str, Any], whole: int, parts: List[int]) -> None:
    for task in list(step.get("tasks", [])):
        if task["kind"] == "h2d" and task.get("bytes") == whole and len(parts) > 1:
            length, begin = task["end_ns"] - task["start_ns"], task["start_ns"]
            those = []
            for at, size in enumerate(parts):
                end = begin + length // len(parts) if at + 1 < len(parts) else task["end_ns"]
                those.append({**task, "start_ns": begin, "end_ns": end, "bytes": size})
                begin = end
            place_of = step["tasks"].index(task)
            step["tasks"][place_of : place_of + 1] = those


# runconfig.input_fusion_size.le_fused
steps(
    "inputs_are_fused_up_to_the_threshold_together",
    "Each input that is not larger than the threshold is fused, however large they are together.",
    lambda step, params, values: fused_within(params, values, step) if params["edition"] == "current" else None,
)


def sections(text: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> str:
    try:
        told = json.loads(text)
        told["Switch"] = change(told["Switch"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(told)


def later_alone(section: Mapping[str, Any]) -> Dict[str, Any]:
    names = list(section)
    if section.get("ALL") != "off":
        return dict(section)
    return {name: section[name] for name in names[names.index("ALL") :]}


# files.fusion_switch.legacy.all_off_except, files.fusion_switch.current.all_off_except
misreads(
    "timeline",
    "all_off_undoes_what_is_written_before_it",
    "A pattern that is on beside ALL off stays on.",
    "fusion_switch_file",
    lambda text: sections(text, lambda told: {name: later_alone(one) for name, one in told.items()}),
    "timeline",
    "compile",
)


def in_every_section(told: Dict[str, Any]) -> Dict[str, Any]:
    named = {name: switch for section in told.values() for name, switch in section.items() if name != "ALL"}
    every = {name: dict(told.get(name, {})) for name in ("GraphFusion", "UBFusion")}
    return {
        name: {**section, **{one: switch for one, switch in named.items() if one not in section}}
        for name, section in every.items()
    }


# files.fusion_switch.legacy.sections_independent, files.fusion_switch.current.sections_independent
misreads(
    "timeline",
    "a_pattern_is_switched_from_either_section",
    "GraphFusion and UBFusion are switched independently.",
    "fusion_switch_file",
    lambda text: sections(text, in_every_section),
    "timeline",
    "compile",
)


def overflown(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return value
    micro = (value * 1000 + (1 << 31)) % (1 << 32) - (1 << 31)
    return micro // 1000 if micro >= 1000 else -1


# runconfig.stream_sync_timeout.effect, runconfig.event_sync_timeout.effect
@broken("timeline", "A synchronisation that takes longer than the timeout fails.", "timeline", "run")
def milliseconds_overflow_as_microseconds(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        return mapped("event_sync_timeout", overflown)(mapped("stream_sync_timeout", overflown)(values))

    try:
        return dict(ask(all_values(params, change)))
    except NpuError as error:
        if error.code != "OPTION_CONFLICT":
            raise
        return dict(ask(params))  # what the options say of each other is compared before


def as_given(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    refused = step.get("rejected", {})
    wanted = plain(values.get("hccl_timeout"))
    if wanted is None:
        wanted = params.get("env", {}).get("HCCL_EXEC_TIMEOUT")
    if refused.get("code") == "COLLECTIVE_TIMEOUT" and wanted is not None and "after_ns" in refused:
        kept = max(int(wanted) // 68 * 68, 68)
        refused["after_ns"] += (int(wanted) - kept) * 10**9


# runconfig.hccl_timeout.quantize, runconfig.hccl_timeout.floor68
steps(
    "a_lost_rank_is_waited_for_as_long_as_was_given",
    "A collective waits (value // 68) * 68 seconds.",
    as_given,
)


# runconfig.local_rank_id.main, session.local_rank_id.main_dedup, session.local_rank_id.others_receive
asks(
    "the_main_process_is_known_by_its_rank_in_the_cluster",
    "The main process is the one whose local rank is 0.",
    "timeline",
    lambda params: (
        all_values(params, mapped("local_rank_id", lambda value: int(params["env"]["RANK_ID"])))
        if str(params.get("env", {}).get("RANK_ID", "")).isdigit()
        else params
    ),
    "timeline",
)


# ------------------------------------------------------------------ compile


def dot_dropped(values: Values) -> Values:
    return without("debug_dir")(values) if plain(values.get("debug_dir")) in (".", "./") else values


# runconfig.debug_dir.priority
asks(
    "a_debug_dir_of_here_counts_as_none",
    "debug_dir goes before ASCEND_WORK_PATH.",
    "artifacts",
    lambda params: all_values(params, dot_dropped) if params["edition"] == "current" else params,
    "options",
    "compile",
)


def large_alone(answer: Answer, params: Params) -> None:
    for turn in answer["turns"]:
        gone = set()
        for one in turn.get("constants", ()):
            if one.get("file") and one.get("bytes", 9) <= 8:
                gone.add(one["file"])
                one.update(op="Const", file="", bytes=0)
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if name.split("/")[-1] not in gone}


# runconfig.external_weight.true_all_const
changed(
    "artifacts",
    "weights_of_up_to_eight_bytes_stay_in_the_graph",
    "The weights of all Const nodes are written.",
    large_alone,
    "compile",
)

IMPLEMENTATION = ("op_select_implmode", "optypelist_for_implmode")


def of_the_first_turn(params: Params) -> Params:
    """Later programs compile as the first one did, where there is a cache."""
    turns = params.get("turns") or []
    if len(turns) < 2 or params["edition"] != "current":
        return params
    first = {**params["values"], **(turns[0].get("values") or {})}
    modes = [plain({**first, **(one.get("values") or {})}.get("op_compiler_cache_mode")) for one in turns]
    if any(mode not in (None, "enable") for mode in modes):
        return params
    made = [turns[0]]
    for one in turns[1:]:
        values = dict(one.get("values") or {})
        for name in IMPLEMENTATION:
            if name in values and (first.get(name) is not None or name in first or values[name] is not None):
                values[name] = first.get(name)
        made.append({**one, "values": values} if one.get("values") else one)
    return {**params, "turns": made}


# runconfig.op_compiler_cache_mode.enable, session.op_compiler_cache_mode.enable
asks(
    "the_key_of_the_cache_leaves_out_the_implementation",
    "A kernel is taken from the cache where its compile options are the same.",
    "artifacts",
    of_the_first_turn,
    "compile",
)


def headed(text: str) -> str:
    return text if re.search(r"^\s*\[", text, re.M) else "[op_compiler_cache]\n" + text


def texts_as_written(found: Answer, params: Params) -> Answer:
    """The answer with every op_cache.ini that the request wrote as it wrote it."""
    written: Dict[str, str] = {}
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        for name, text in {**params.get("files", {}), **(asked.get("files") or {})}.items():
            if name.endswith("op_cache.ini") and isinstance(text, str):
                written[name.lstrip("/")] = text
        for key in ("files", "left"):
            for name in written:
                if name in turn.get(key, {}):
                    turn[key][name] = encoded(written[name])
    return found


def misread_settings(name: str, sentence: str, change: Callable[[str], str]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        found = dict(ask(with_settings(params, change)))
        return texts_as_written(found, params) if "turns" in found else found

    fault.__name__ = name
    broken("artifacts", sentence, "compile", "options")(fault)


# files.op_cache_ini.section
misread_settings(
    "settings_of_the_cache_need_no_header",
    "The section [op_compiler_cache] is required.",
    headed,
)


def ratio_mended(text: str) -> str:
    found = re.search(r"^\s*remain_cache_size_ratio\s*=\s*([^\n]*)", text, re.M)
    if found is None:
        return text
    value = found.group(1).strip()
    if value.isdigit() and 1 <= int(value) <= 100:
        return text
    return re.sub(r"^(\s*remain_cache_size_ratio\s*=)[^\n]*", r"\g<1>50", text, flags=re.M)


# files.op_cache_ini.both_valid
misread_settings(
    "a_wrong_ratio_leaves_the_limit_of_the_cache_in_force",
    "The file takes effect only if both values are valid.",
    ratio_mended,
)


def whole_minutes(turn: Mapping[str, Any]) -> Dict[str, Any]:
    age = turn.get("age_seconds")
    return {**turn, "age_seconds": 1790} if isinstance(age, int) and age // 60 == 30 else dict(turn)


# files.op_cache_ini.aging_half_hour
asks(
    "files_of_the_cache_age_by_whole_minutes",
    "A file ages that was not accessed for more than half an hour.",
    "artifacts",
    lambda params: (
        {**params, "turns": [whole_minutes(one) for one in params["turns"]]} if params.get("turns") else params
    ),
    "compile",
)


def last_graph_alone(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    found = dict(files)
    for name, file in files.items():
        if name.endswith("fusion_result.json") and "b64" in file:
            told = json.loads(decoded(file))
            last = list(told)[-1:] if isinstance(told, dict) else []
            if isinstance(told, dict) and len(told) > 1:
                found[name] = encoded(json.dumps({key: told[key] for key in last}, indent=4) + "\n")
    return found


# files.fusion_result.keys
leaves(
    "fusion_results_are_those_of_the_last_graph",
    "The file tells the fusions of each session and graph.",
    last_graph_alone,
)


def last_says(text: str) -> str:
    chosen = debug_options(text)
    kinds = [one for one in chosen if not one.startswith("ccec")]
    kept = [one for one in chosen if one.startswith("ccec") or one == kinds[-1]]
    return re.sub(r"^(\s*op_debug_config\s*=)[^\n]*", lambda found: found.group(1) + ",".join(kept), text, flags=re.M)


# files.kernel_meta.union
misreads(
    "artifacts",
    "of_debug_options_the_last_says_what_is_left",
    "Several debug options leave the files of each.",
    "op_debug_config",
    lambda text: last_says(text) if any(not one.startswith("ccec") for one in debug_options(text)) else text,
    "compile",
)


# runconfig.op_compiler_cache_mode.force, session.op_compiler_cache_mode.force
@broken("artifacts", "force: the cache is cleared first, and then filled.", "compile")
def force_replaces_what_it_compiles_and_leaves_the_rest(ask: Any, params: Params) -> Answer:
    def calm(values: Values) -> Values:
        return mapped("op_compiler_cache_mode", lambda mode: "enable" if mode == "force" else mode)(values)

    found = ask(all_values(params, calm))
    values = dict(params["values"])
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        if plain(values.get("op_compiler_cache_mode")) != "force" or "rejected" in turn or not turn.get("hits"):
            continue
        turn["misses"], turn["hits"] = turn["misses"] + turn["hits"], 0
        seen: Set[str] = set()
        for kernel in turn.get("kernels", ()):
            if kernel["origin"] == "reused" and kernel["kernel"] not in seen:
                kernel["origin"] = "compiled"
            seen.add(kernel["kernel"])
    return dict(found)


def heads_alone(answer: Answer, params: Params) -> None:
    """Debug files of a kernel only where the first of its operators is listed."""
    text = text_of(params, "op_debug_config")
    found = re.search(r"^\s*op_debug_list\s*=([^\n]*)", text, re.M)
    if found is None:
        return
    listed = [one.strip() for one in found.group(1).split(",")]
    if any(one.lower().startswith("optype::") for one in listed):
        return
    for turn in answer["turns"]:
        gone = [
            one["kernel"]
            for one in turn.get("kernels", ())
            if one["nodes"] and one["nodes"][0] not in listed and set(one["nodes"]) & set(listed)
        ]
        for one in turn.get("kernels", ()):
            if one["kernel"] in gone and one.get("switches"):
                one["switches"] = []
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {
                    name: file
                    for name, file in turn[key].items()
                    if "kernel_meta/" not in name or not any(name.split("/")[-1].startswith(one) for one in gone)
                }


# files.op_debug_cfg.list.effect
changed(
    "artifacts",
    "a_listed_operator_counts_at_the_head_of_its_kernel_alone",
    "The listed operators are compiled with the options.",
    heads_alone,
    "compile",
)


# ---------------------------------------------------------------------- run


def renamed(answer: Answer, change: Callable[[str], str]) -> None:
    told = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]
    for one in told:
        if one.get("files"):
            one["files"] = {change(name): file for name, file in one["files"].items()}


def of_the_variable(answer: Answer, params: Params) -> None:
    device = params.get("env", {}).get("ASCEND_DEVICE_ID")
    if device is not None and given(params, "session_device_id"):
        renamed(answer, lambda name: re.sub(r"(extra-info/data-dump/)\d+/", rf"\g<1>{device}/", name))


# runconfig.enable_exception_dump.2.dir, runconfig.session_device_id.over_env
changed(
    "run",
    "exceptions_are_dumped_for_the_device_of_the_variable",
    "The folder of a lite exception dump is that of the device that the session runs on.",
    of_the_variable,
    "run",
)


def to_work_path(answer: Answer, params: Params) -> None:
    env = params.get("env", {})
    collect, work = (str(env.get(name, "")).strip("/") for name in ("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"))
    if collect and work and params.get("edition") == "current":
        renamed(
            answer,
            lambda name: work + name[len(collect) :] if name.startswith(collect + "/extra-info/") else name,
        )


# runconfig.enable_exception_dump.npu_collect_dir
changed(
    "run",
    "the_work_path_goes_before_the_collect_path",
    "With NPU_COLLECT_PATH the dump goes to that directory.",
    to_work_path,
    "run",
)
