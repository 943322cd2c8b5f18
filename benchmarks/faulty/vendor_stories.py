"""What an engineer gets wrong who wrote a backend of his own: whole mistakes of an implementation in C++ or Python.

Overflow, maps that sort, parsers that know too much, tables that lack a line, loops that end one too early, values
copied from the option beside. Written from the documents without a look at cases, laws or graphs of the suite.
A comment at each names a requirement that it breaks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.making import (
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    given,
    graph_of,
    has_function,
    is_about,
    is_mixed,
    judged_partition,
    mapped,
    misreads,
    node_change,
    offloaded,
    ops_of,
    plain,
    readers_of,
    reads_as,
    regraphed,
    retyped,
    source_of,
    steps,
    tells,
    to_device,
    to_host,
    told_value,
    turns,
    value_is,
    value_of,
    with_pairs,
    with_settings,
    with_values,
)
from npu_reference.errors import NpuError

_HALF, _FLOAT = "float16", "float32"
_GIGA = 2**30


# Options


def _wrapped(answer: Answer, params: Params) -> None:
    told = answer.get("directives", {}).get("timeouts", {})
    for name in ("op_wait_seconds", "op_execute_seconds"):
        if isinstance(told.get(name), int):
            told[name] = (told[name] * 1000 + 2**31) % 2**32 // 1000 - 2**31 // 1000


tells(  # runconfig.op_wait_timeout.effect
    "milliseconds_of_a_wait_have_32_bits",
    "003 op_wait_timeout: seconds",
    _wrapped,
)


def _whole_gigabytes(params: Params) -> bool:
    try:
        sizes = [int(value_of(params, f"{one}_memory_max_size") or 0) for one in ("graph", "variable")]
    except (TypeError, ValueError):
        return False
    return all(0 <= size <= 256 * _GIGA for size in sizes) and sum(size // _GIGA for size in sizes) <= 31


accepts(  # session.memory.sum_31g
    "memory_is_added_in_whole_gigabytes",
    "002 graph_memory_max_size and variable_memory_max_size: 31G together at most",
    "graph_memory_max_size",
    lambda params: given(params, "graph_memory_max_size", "variable_memory_max_size") and _whole_gigabytes(params),
    graph_memory_max_size=str(26 * _GIGA),
    variable_memory_max_size=str(5 * _GIGA),
)


def _not_rounded(answer: Answer, params: Params) -> None:
    told = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    if answer["effective"].get("hccl_timeout", {}).get("origin") == "environment" and told.isdigit():
        told_value(answer, "hccl_timeout", int(told))
        answer["directives"]["timeouts"]["hccl_seconds"] = int(told)


tells(  # env.HCCL_EXEC_TIMEOUT.fallback, runconfig.hccl_timeout.quantize
    "the_variable_of_collectives_is_taken_as_it_is",
    "003 hccl_timeout: value of this environment variable // 68 x 68",
    _not_rounded,
)
accepts(  # runconfig.stream_sync_timeout.gt_hccl
    "milliseconds_are_compared_with_seconds",
    "003 stream_sync_timeout: greater than the timeout of collective communication",
    "stream_sync_timeout",
    lambda params: (
        isinstance(value_of(params, "stream_sync_timeout"), int)
        and value_of(params, "stream_sync_timeout") > (value_of(params, "hccl_timeout") or 1836)
    ),
)


def _one_range(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("dump_step")
    seen = False
    for one in found if isinstance(found, list) else ():
        if one[0] != one[1]:
            if seen:
                one[1] = one[0]
            seen = True


tells("the_second_range_of_steps_is_its_first_step", "002 dump_step: 0|3-5|10", _one_range)  # session.dump_step.range


def _above_the_line(text: str) -> str:
    """What stands before ALL in a section is overwritten by it."""
    return re.sub(r'(\{)([^{}]*?)("ALL"\s*:\s*"off")', r"\1\3", text)


misreads(  # files.fusion_switch.current.all_off_except
    "artifacts",
    "switches_are_set_one_after_the_other",
    '002 fusion_switch_file: "ALL" off, and selected passes on at the same time',
    "fusion_switch_file",
    _above_the_line,
    "options",
    "compile",
    "timeline",
)


def _but_the_last(found: re.Match[str]) -> str:
    names = re.findall(r'"[^"]*"', found.group(2))
    return found.group(1) + ", ".join(names[:-1] if len(names) > 2 else names) + "]"


misreads(  # files.mixlist.current.multiple
    "precision",
    "the_last_of_a_long_list_is_dropped",
    "002 modify_mixlist: several operators, separated by commas",
    "modify_mixlist",
    lambda text: re.sub(r'("to-add"\s*:\s*\[)([^\]]*)\]', _but_the_last, text),
    "options",
    "precision",
)
misreads(  # runconfig.op_precision_mode.file
    "precision",
    "the_parser_of_settings_lowers_names",
    "003 op_precision_mode: by node name, by operator type",
    "op_precision_mode",
    lambda text: re.sub(r"(?m)^[^\[=\n]+(?==)", lambda found: found.group(0).lower(), text),
    "options",
    "precision",
)


def _digits(told: Any) -> Any:
    return (
        ",".join(re.findall(r"[0-9]", told))
        if isinstance(told, str) and re.fullmatch(r"[0-9]+(,[0-9]+)*", told)
        else told
    )


@broken("options", "003 local_device_list: devices that the main process sends data to", "options", "timeline")
def devices_have_one_digit(ask: Any, params: Params) -> Answer:
    """runconfig.local_device_list.pair."""
    told = value_of(params, "local_device_list")
    answer = dict(ask(all_values(params, mapped("local_device_list", _digits))))
    if told is not None and "local_device_list" in answer.get("effective", {}):
        told_value(answer, "local_device_list", told, "given")
    return answer


def _as_the_other(answer: Answer, params: Params) -> None:
    text = value_of(params, "stream_max_parallel_num")
    engines = answer.get("directives", {}).get("engines")
    if isinstance(text, str) and "," not in text and engines:
        most = max(engines.values())
        for name in engines:
            engines[name] = most


tells(  # session.stream_max_parallel_num.partial
    "an_engine_that_is_not_named_is_as_the_other",
    "002 stream_max_parallel_num: 1 by default for either engine",
    _as_the_other,
)


def _in_a_map(answer: Answer, params: Params) -> None:
    """The profiles of open sizes, taken in the order of the inputs' names."""
    meaning, shapes = answer.get("meaning", {}), answer.get("directives", {}).get("shapes", {})
    inputs, dims = meaning.get("input_shape"), meaning.get("dynamic_dims")
    if not inputs or not dims or shapes.get("kind") != "profiles":
        return
    for number, profile in enumerate(dims):
        sizes = iter(profile)
        shapes[f"profile {number}"] = {
            name: [next(sizes) if size == -1 else size for size in inputs[name]] for name in sorted(inputs)
        }


tells("inputs_lie_in_a_map", "002 dynamic_dims: in the order of the -1 in input_shape", _in_a_map)  # dynamic_dims.order


def _same_switch(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("profiling_options")
    if isinstance(told, dict) and "aicpu" in told:
        told["aicpu"] = told["task_trace"]


tells(  # session.profiling_options.aicpu.meaning
    "the_cpu_is_profiled_when_tasks_are", "002 profiling_options: aicpu, a switch of its own", _same_switch
)


def _same_wait(answer: Answer, params: Params) -> None:
    told = answer.get("directives", {}).get("timeouts", {})
    if "event_sync_milliseconds" in told and given(params, "event_sync_timeout", "stream_sync_timeout"):
        told["event_sync_milliseconds"] = told["stream_sync_milliseconds"]


tells(  # runconfig.event_sync_timeout.effect
    "events_wait_as_long_as_streams", "003 event_sync_timeout: a timeout of its own", _same_wait
)


@broken("options", "003: options of type int", "options")
def whole_floats_are_integers(ask: Any, params: Params) -> Answer:
    """runconfig.hccl_timeout.type: a reader of JSON that knows doubles alone."""
    whole = {
        name: int(value)
        for name, value in params["values"].items()
        if isinstance(value, float) and value == int(value) and is_about(params, "runconfig")
    }
    return dict(ask(with_values(params, **whole) if whole else params))


@broken("options", "002 session_device_id: goes before ASCEND_DEVICE_ID", "options", "timeline")
def device_nought_is_tested_by_its_truth(ask: Any, params: Params) -> Answer:
    """session.session_device_id.over_env: tested by its truth."""
    told = value_of(params, "session_device_id")
    if told != 0 or isinstance(told, bool) or not params.get("env", {}).get("ASCEND_DEVICE_ID"):
        return dict(ask(params))
    return dict(ask(with_values(params, session_device_id=None)))


def _less_than_all(text: str) -> str:
    return re.sub(r"(?m)^(remain_cache_size_ratio\s*=\s*)100\s*$", r"\g<1>0", text)


@broken("options", "003 op_cache.ini: remain_cache_size_ratio is 1 to 100", "options", "compile")
def all_of_a_cache_is_no_ratio(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.ratio: a bound that is left out."""
    return dict(ask(with_settings(params, _less_than_all)))


# Partition


def _eight(pairs: List[Any]) -> List[Any]:
    return [[list(first)[:8], *rest] for first, *rest in pairs]


def _fewer(params: Params, change: Callable[[List[Any]], List[Any]]) -> Params:
    """The request with its ranges changed; as it is written where they stay the same."""
    same: List[bool] = []

    def noted(pairs: List[Any]) -> List[Any]:
        found = change(pairs)
        same.append(found == pairs)
        return found

    made = with_pairs(params, noted)
    return made if same and not all(same) else params


asks(  # in_out_pair.multi_in
    "a_range_has_room_for_eight_inputs",
    "001: eleven in_nodes in the example",
    "partition",
    lambda params: _fewer(params, _eight),
    "partition",
)
asks(  # in_out_pair.multi_entry
    "the_first_two_ranges_alone",
    "002 in_out_pair: a list of ranges",
    "partition",
    lambda params: _fewer(params, lambda pairs: pairs[:2]),
    "partition",
)


def _overlooked(answer: Answer, params: Params, unseen: Callable[[List[str], Any], bool]) -> Answer:
    """Calls that stay because of a body; `unseen` says of the way to the operator, and of the call, who misses it."""
    nodes = {node.name: node for node in graph_of(params).to_def().node}
    moved = []
    for one in answer["host"]:
        if one["reason"] == "FUNCTION" and one["node"] in nodes and one.get("witness"):
            way = one["witness"][0]["why"].partition(" is a ")[0].split(" -> ")
            if unseen(way, nodes[one["node"]]):
                moved.append(one["node"])
    return to_device(answer, moved)


judged_partition(  # mixed.partition.identify_first
    "calls_in_a_body_are_not_followed",
    "000: operators that are not supported remain on the host",
    is_mixed,
    lambda answer, params: _overlooked(answer, params, lambda way, node: len(way) > 2),
)
judged_partition(  # mixed.partition.identify_first
    "the_branch_for_no_is_not_looked_into",
    "000: operators that are not supported remain on the host",
    is_mixed,
    lambda answer, params: _overlooked(answer, params, lambda way, node: node.attr["else_branch"].func.name == way[0]),
)
judged_partition(  # mixed.partition.identify_first
    "the_condition_of_a_loop_is_not_looked_into",
    "000: operators that are not supported remain on the host",
    is_mixed,
    lambda answer, params: _overlooked(answer, params, lambda way, node: node.attr["cond"].func.name == way[0]),
)


def _repeated(params: Params) -> bool:
    text = value_of(params, "in_out_pair")
    if not isinstance(text, str):
        return False
    try:
        pairs = json.loads(text.replace("'", '"'))
        return any(len(set(side)) < len(side) for pair in pairs for side in pair)
    except (TypeError, ValueError):
        return False


@broken("partition", "001: names may be listed twice", "partition", "options")
def a_name_twice_is_an_error(ask: Any, params: Params) -> Answer:
    """in_out_pair.duplicate_names."""
    answer = dict(ask(params))
    if _repeated(params):
        raise NpuError("OPTION_SYNTAX", "in_out_pair", "a name stands twice")
    return answer


def _forward(params: Params) -> Set[str]:
    """What lies between the ends of ranges, where nothing leads from one turn of a loop to the next."""
    readers = readers_of(params)
    ops = ops_of(params)
    forward = {
        name: [one for one in found if ops[name].op not in ("NextIteration", "RefNextIteration")]
        for name, found in readers.items()
        if name in ops
    }
    behind: Dict[str, List[str]] = {}
    for name, found in forward.items():
        for one in found:
            behind.setdefault(one, []).append(name)

    def reached(starts: List[str], edges: Mapping[str, List[str]]) -> Set[str]:
        seen, front = set(starts), list(starts)
        while front:
            for one in edges.get(front.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    front.append(one)
        return seen

    pairs = json.loads(str(value_of(params, "in_out_pair")).replace("'", '"'))
    found_all: Set[str] = set()
    for first, last in pairs:
        found_all |= reached(list(first), forward) & reached(list(last), behind)
    return found_all


def _no_way_back(answer: Answer, params: Params) -> Any:
    try:
        inside = _forward(params)
    except (TypeError, ValueError):
        return None
    loops = [name for name, op in ops_of(params).items() if op.op.endswith("NextIteration")]
    if not loops or value_of(params, "in_out_pair_flag") is False:
        return None
    return to_host(answer, [name for name in offloaded(answer) if name not in inside], "RANGE_OUTSIDE")


judged_partition(  # in_out_pair.range_all
    "ranges_do_not_go_round_a_loop",
    "001: all operators within the range",
    lambda params: is_mixed(params) and given(params, "in_out_pair"),
    _no_way_back,
)


def _joined(answer: Answer, params: Params) -> Any:
    """Two GEOPs in one, where only control edges lead from one over the host to the other."""
    if len(answer["geops"]) < 2:
        return None
    first, second = answer["geops"][0], answer["geops"][1]
    data = readers_of(params, controls=False)
    seen: Set[str] = set()
    front = list(first["nodes"])
    while front:
        for one in data.get(front.pop(), ()):
            if one not in seen:
                seen.add(one)
                front.append(one)
    back: Set[str] = set()
    front = list(second["nodes"])
    while front:
        for one in data.get(front.pop(), ()):
            if one not in back:
                back.add(one)
                front.append(one)
    if seen & set(second["nodes"]) or back & set(first["nodes"]):
        return None
    first["nodes"] = [*first["nodes"], *second["nodes"]]
    del answer["geops"][1]
    return answer


judged_partition(  # mixed.partition.geop_acyclic
    "control_edges_never_part_two_regions",
    "000: the whole graph is divided into GEOPs, which run in the graph's order",
    is_mixed,
    _joined,
)


def _lists_alone(answer: Answer, params: Params) -> Any:
    """Operators of a second version are looked for under the name of the first alone."""
    listed = params.get("op_list")
    if not listed:
        return None
    ops = ops_of(params)
    gone = [
        name
        for name in offloaded(answer)
        if name in ops and re.search(r"V[2-9]$", ops[name].op) and ops[name].op[:-2] not in listed
        and ops[name].op not in ("VariableV2",)
    ]  # fmt: skip
    return to_host(answer, gone)


judged_partition(  # mixed.partition.identify_first
    "later_versions_are_looked_up_without_their_number",
    "000: operators that are supported are offloaded",
    is_mixed,
    _lists_alone,
)


# Precision


def _lowered_steps(answer: Answer, params: Params) -> None:
    """Gray operators follow over two steps and no further."""
    told = {one["node"]: one for one in answer["nodes"]}
    ops = ops_of(params)
    depth: Dict[str, int] = {}
    for name, op in ops.items():
        one = told.get(name)
        if one is None or one.get("list") != "graylist" or _HALF not in one["outputs"]:
            continue
        before = [source_of(text) for text in op.inputs if not text.startswith("^")]
        depth[name] = 1 + max((depth.get(source, 0) for source in before), default=0)
        if depth[name] > 2:
            retyped(one, _HALF, _FLOAT)


changed(  # precision.mixlist.gray
    "precision",
    "gray_operators_follow_for_two_steps",
    "002: the same as the operator before it",
    _lowered_steps,
)


def _shared(answer: Answer, params: Params) -> None:
    seen: Set[Any] = set()
    kept = []
    for cast in answer.get("casts", ()):
        key = (cast["source"], cast["to"])
        if key not in seen:
            kept.append(cast)
        seen.add(key)
    answer["casts"] = kept


changed(  # precision.g.only_fp32_to_fp16
    "precision",
    "the_second_reader_of_a_tensor_gets_no_cast",
    "004: float32 is cast to float16 where an operator computes in float16",
    _shared,
)


def _not_stored(answer: Answer, params: Params) -> None:
    ops = ops_of(params)
    answer["casts"] = [
        cast
        for cast in answer.get("casts", ())
        if not (ops.get(cast["target"].split(":")[0]) and ops[cast["target"].split(":")[0]].op.startswith("Assign"))
    ]


changed(  # precision.s.allow_mix
    "precision",
    "what_is_stored_is_stored_as_it_comes",
    "002: variables keep float32",
    _not_stored,
)


@broken("precision", "002 modify_mixlist: for operators of the whole network", "precision")
def lists_are_read_after_the_bodies(ask: Any, params: Params) -> Answer:
    """precision.s.allow_mix: bodies of functions get the built-in lists."""
    answer = dict(ask(params))
    if not given(params, "modify_mixlist"):
        return answer
    before = {one["node"]: one for one in ask(with_values(params, modify_mixlist=None))["nodes"]}
    answer["nodes"] = [before.get(one["node"], one) if has_function(one, params) else one for one in answer["nodes"]]
    return answer


def _last_line(answer: Answer, params: Params, ask: Any) -> Answer:
    text = params.get("files", {}).get(value_of(params, "customize_dtypes"), "")
    if not isinstance(text, str):
        return answer
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    ops = ops_of(params)
    dropped = set()
    for at, line in enumerate(lines):
        op = ops.get(line.split("::")[0])
        if op is not None and any(re.match(rf"(?i)OpType::{op.op}:", later) for later in lines[at + 1 :]):
            dropped.add(line)
    if not dropped:
        return answer
    files = dict(params["files"])
    files[value_of(params, "customize_dtypes")] = "\n".join(line for line in text.split("\n") if line not in dropped)
    return dict(ask({**params, "files": files}))


@broken("precision", "003 customize_dtypes: the operator name applies", "precision")
def the_later_line_of_dtypes_wins(ask: Any, params: Params) -> Answer:
    """precision.customize.name_over_type: lines are applied in the order of the file."""
    answer = dict(ask(params))
    return _last_line(answer, params, ask) if given(params, "customize_dtypes") else answer


def _last_section(answer: Answer, params: Params) -> None:
    text = params.get("files", {}).get(value_of(params, "op_precision_mode"), "")
    if not isinstance(text, str) or "[ByNodeName]" not in text:
        return
    head, _, tail = text.partition("[ByOpType]")
    if "[ByNodeName]" not in head:
        return
    modes = dict(re.findall(r"(?m)^\s*(\w+)\s*=\s*(\w+)", tail))
    for one in answer["nodes"]:
        mode = modes.get(one.get("kernel") or "", modes.get(one.get("op") or ""))
        if mode and one.get("impl_mode"):
            one["impl_mode"] = mode


changed(  # runconfig.op_precision_mode.name_over_type
    "precision",
    "the_later_section_of_modes_wins",
    "003 op_precision_mode: by node name is the higher priority",
    _last_section,
)


def _named_in(attr: Any) -> List[str]:
    return [attr.func.name] if attr.HasField("func") else [one.name for one in attr.list.func]


@broken("precision", "002 precision_mode: of the whole network", "precision")
def bodies_of_loops_are_of_the_default_mode(ask: Any, params: Params) -> Answer:
    """precision.s.force_fp16: what a While calls is another graph, compiled with other options."""
    answer = dict(ask(params))
    bodies = {
        name
        for node in graph_of(params).to_def().node
        if node.op in ("While", "StatelessWhile")
        for key in node.attr
        for name in _named_in(node.attr[key])
    }
    if not bodies:
        return answer
    try:
        plain_answer = ask(with_values(params, precision_mode=None, precision_mode_v2=None))
    except NpuError:
        return answer
    before = {one["node"]: one for one in plain_answer["nodes"]}
    answer["nodes"] = [
        before.get(one["node"], one) if one["node"].split("/")[0] in bodies else one for one in answer["nodes"]
    ]
    return answer


def _unsaid(text: str) -> str:
    try:
        told = json.loads(text)
    except ValueError:
        return text
    for one in told.values() if isinstance(told, dict) else ():
        if isinstance(one, dict) and "precision_reduce" not in one:
            one["precision_reduce"] = {"flag": "false"}
    return json.dumps(told)


@broken("precision", "004: if it is not specified, as the operator before", "precision")
def a_flag_that_is_missing_is_false(ask: Any, params: Params) -> Answer:
    """precision.g.flag_absent: a struct whose flag is false until it is read."""
    text = params.get("ops_info")
    return dict(ask({**params, "ops_info": _unsaid(text)} if isinstance(text, str) else params))


def _unkept(definition: Any) -> None:
    for function in definition.library.function:
        for node in function.node_def:
            if "_keep_dtype" in node.attr:
                del node.attr["_keep_dtype"]


asks(  # api.keep_dtype_scope
    "scopes_do_not_reach_into_bodies",
    "003 keep_dtype_scope: the operators inside keep their precision",
    "precision",
    lambda params: regraphed(params, _unkept),
    "precision",
)


def _half_of_a_double(node: Dict[str, Any], params: Params, op: Any) -> None:
    if value_is(params, "precision_mode", "force_fp16") or value_is(params, "precision_mode_v2", "fp16"):
        retyped(node, "float64", _HALF)


node_change(  # precision.g.only_fp32_to_fp16
    "doubles_are_floats_too",
    "004: only float32 is cast to float16",
    _half_of_a_double,
)


# Time, memory and copies


def _full_buffers(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    """What is joined goes through a buffer of the threshold's size."""
    size = plain(values.get("input_fusion_size", 131072))
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        return
    for one in step.get("transfers", ()):
        if one["direction"] == "h2d" and len(one.get("tensors") or ()) > 1 and one["bytes"] > size:
            one["times"] = one.get("times", 1) * -(-one["bytes"] // size)
            one["bytes"] = -(-one["bytes"] // -(-one["bytes"] // size))


steps(  # runconfig.input_fusion_size.example_100kb
    "what_is_joined_is_no_larger_than_the_threshold",
    "003 input_fusion_size: four inputs are fused into 300 KB",
    _full_buffers,
)


def _unrounded(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    told, ended = plain(values.get("hccl_timeout")), step.get("rejected")
    if ended and ended.get("subject") == "hccl_timeout" and isinstance(told, int) and "after_ns" in ended:
        ended["after_ns"] += (told - max(told // 68 * 68, 68)) * 10**9


steps(  # runconfig.hccl_timeout.quantize
    "the_device_waits_as_long_as_is_written",
    "003 hccl_timeout: 600 is 544",
    _unrounded,
)


def _short(value: Any) -> Any:
    return value * 10**6 % 2**32 // 10**6 if isinstance(value, int) and not isinstance(value, bool) else value


_executes, _waits = mapped("op_execute_timeout", _short), mapped("op_wait_timeout", _short)


asks(  # runconfig.op_execute_timeout.effect
    "microseconds_of_a_timeout_have_32_bits",
    "003 op_execute_timeout: in seconds",
    "timeline",
    lambda params: all_values(
        all_values(params, mapped("op_execute_timeout", _short)), mapped("op_wait_timeout", _short)
    ),
    "timeline",
)


@broken("timeline", "002 dynamic_dims: only shapes of a profile", "timeline")
def shapes_of_no_profile_are_filled_up(ask: Any, params: Params) -> Answer:
    """session.dynamic_dims.only_profiles: the next larger profile takes them."""

    def open_sizes(values: Dict[str, Any]) -> Dict[str, Any]:
        return {name: value for name, value in values.items() if name not in ("input_shape", "dynamic_dims")}

    try:
        answer = dict(ask(params))
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or not given(params, "dynamic_dims"):
            raise
        return dict(ask(all_values(params, open_sizes)))
    steps_of = [answer["base"], *answer.get("variants", {}).values()]
    if any(step.get("rejected", {}).get("code") == "INPUT_SHAPE" for step in steps_of):
        other = ask(all_values(params, lambda values: {**open_sizes(values), "dynamic_node_type": None}))
        for step, instead in zip(steps_of, [other["base"], *other.get("variants", {}).values()]):
            if step.get("rejected", {}).get("code") == "INPUT_SHAPE":
                step.clear()
                step.update(instead)
    return answer


def _no_less(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    """The host's copies are counted for a turn of the loop each, those of the results too."""
    turns_of = step.get("iterations", 1)
    if turns_of > 1:
        for one in step.get("transfers", ()):
            if one["direction"] == "d2h":
                one["times"] = one.get("times", 1) * turns_of


steps(  # runconfig.iterations_per_loop.effect
    "results_come_back_at_every_turn",
    "003 iterations_per_loop: after the iterations the result is returned to the host",
    _no_less,
)


def _twice(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    """Weights in files are counted beside those in the graph."""
    memory = step.get("memory")
    if memory and plain(values.get("external_weight")) is True:
        memory["total"] += memory.get("external", 0)


steps(  # runconfig.external_weight.advice
    "weights_in_files_are_counted_in_the_graph_too",
    "003 external_weight: reduces the memory usage of the weights",
    _twice,
)


# Compilation, libraries and profiles


def _first_of(name: str) -> Callable[[Params], Params]:
    """Later programs compile with what the first had of an option, since the key of the cache has it not."""

    def change(params: Params) -> Params:
        if not params.get("turns"):
            return params
        first = {**params.get("values", {}), **(params["turns"][0].get("values") or {})}
        mode = plain(first.get("op_compiler_cache_mode"))
        if mode not in ("enable", "force") and not is_about(params, edition="current"):
            return params

        def later(values: Dict[str, Any]) -> Dict[str, Any]:
            found = {key: value for key, value in values.items() if key != name}
            return {**found, name: first[name]} if name in first and name in values else found

        rest = [{**one, "values": later(one["values"])} if one.get("values") else one for one in params["turns"][1:]]
        return {**params, "turns": [params["turns"][0], *rest]}

    return change


asks(  # runconfig.op_compiler_cache_mode.enable
    "the_key_of_a_kernel_has_no_precision",
    "003 op_compiler_cache_mode: reused with the same compilation options",
    "artifacts",
    _first_of("precision_mode"),
    "compile",
)
asks(  # runconfig.op_compiler_cache_mode.enable
    "the_key_of_a_kernel_does_not_know_determinism",
    "003 op_compiler_cache_mode: reused with the same compilation options",
    "artifacts",
    _first_of("deterministic"),
    "compile",
)


def _minutes(params: Params) -> Params:
    found = [
        {**one, "age_seconds": 1860} if 1770 <= (one.get("age_seconds") or 0) < 1800 else one
        for one in params.get("turns") or ()
    ]
    return {**params, "turns": found} if found else params


asks(  # files.op_cache_ini.aging_half_hour
    "minutes_since_the_last_use_are_rounded",
    "003 op_cache.ini: not accessed for more than half an hour",
    "artifacts",
    _minutes,
    "compile",
)


def _written_over(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for key in ("files", "left"):
        for name, file in turn.get(key, {}).items():
            if not name.endswith("fusion_result.json") or "b64" not in file:
                continue
            told = json.loads(base64.b64decode(file["b64"]))
            if isinstance(told, dict) and len(told) > 1:
                last = list(told)[-1]
                file["b64"] = base64.b64encode(json.dumps({last: told[last]}).encode()).decode()


turns(  # files.fusion_result.keys
    "the_last_graph_writes_over_the_others", "003 fusion_result.json: a key for each graph", _written_over
)


def _own_file(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    """A weight's file is named by its operator."""
    seen: Set[str] = set()
    for one in turn.get("constants", ()):
        before = one.get("file")
        if not before:
            continue
        if before in seen:
            one["file"] = "weight_" + hashlib.sha256((before + one["node"]).encode()).hexdigest()
            for key in ("files", "left"):
                found = turn.get(key, {})
                for name in [name for name in found if name.endswith(before)]:
                    found[name[: -len(before)] + one["file"]] = found[name]
        seen.add(before)


turns(  # runconfig.external_weight.sharing
    "equal_weights_have_files_of_their_own", "003 external_weight: weights are reused among models", _own_file
)


@broken("artifacts", "003 op_debug_list: only the operators specified", "compile")
def listed_names_may_go_on(ask: Any, params: Params) -> Answer:
    """files.op_debug_cfg.list.effect: names are compared as far as the listed one goes."""
    names = list(ops_of(params)) if "graph" in params else []

    def longer(found: re.Match[str]) -> str:
        entries = [one.strip() for one in found.group(2).split(",")]
        more = [name for one in entries if "::" not in one for name in names if name.startswith(one) and name != one]
        return found.group(1) + ",".join([*entries, *(name for name in more if name not in entries)])

    def edit(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: re.sub(r"(?m)^(op_debug_list\s*=)(.+)$", longer, text) if isinstance(text, str) else text
            for name, text in files.items()
        }

    found: Dict[str, Any] = {**params, "files": edit(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [{**one, "files": edit(one["files"])} if one.get("files") else one for one in params["turns"]]
    answer = dict(ask(found))
    for turn in answer.get("turns", ()):
        for key in ("files", "left"):
            for name, file in turn.get(key, {}).items():
                told = params.get("files", {}).get("/" + name, params.get("files", {}).get(name))
                if isinstance(told, str) and "op_debug_list" in told and "b64" in file:
                    file["b64"] = base64.b64encode(told.encode()).decode()
    return answer


def _below(params: Params) -> Params:
    """Relative directories lie below the work path, where there is one."""
    env = params.get("env", {}).get("ASCEND_WORK_PATH")
    if not env:
        return params
    return all_values(
        params,
        mapped("debug_dir", lambda value: value if str(value).startswith("/") else f"{env.rstrip('/')}/{value}"),
    )


asks(  # runconfig.debug_dir.priority
    "a_relative_debug_directory_lies_below_the_work_path",
    "003 debug_dir: debug_dir before ASCEND_WORK_PATH, relative to where the script runs",
    "artifacts",
    _below,
    "compile",
)


reads_as(  # env.AOE_MODE.fallback, runconfig.aoe_mode.over_env
    "modes_of_tuning_may_have_blanks",
    '003 aoe_mode: "1", "2" or "4"',
    "aoe_mode",
    lambda params, told: told.strip() if isinstance(told, str) else told,
    "options",
)


@broken("options", "003 aoe_mode: the script's takes precedence over AOE_MODE", "options", "timeline", "compile")
def the_variable_of_tuning_wins_when_both_are_there(ask: Any, params: Params) -> Answer:
    """runconfig.aoe_mode.over_env: a variable that is read once, at the end."""
    told, env = value_of(params, "aoe_mode"), params.get("env", {}).get("AOE_MODE")
    if told is None or env not in ("1", "2", "4"):
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("aoe_mode", lambda value: env))))
    return answer
