"""Faulty backends that an evaluator would make to see whether the suite deserves trust.

Written blind: from the five documents, the inventory of requirements, the page of the protocol and questions to the
reference, without a look at any case, golden, law or other list. Twelve an area, six areas.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, List, Mapping, Set

from faulty.making import (
    Answer,
    Files,
    Params,
    all_values,
    asks,
    behind,
    broken,
    changed,
    decoded,
    denies,
    edited,
    encoded,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    leaves,
    left,
    misreads,
    named_by,
    node_change,
    offloaded,
    ops_of,
    place,
    plain,
    readers_of,
    reads_as,
    regraphed,
    rescripted,
    retyped,
    source_of,
    steps,
    tells,
    text_of,
    texts,
    to_host,
    told_value,
    turns,
    types_of,
    value_of,
    with_pairs,
    with_values,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph


def told_given(answer: Answer, params: Params, *names: str) -> None:
    """These options are told as they were given, and nothing is said of them."""
    for name in names:
        told_value(answer, name, value_of(params, name), "given")
    silent = ("overridden", "adjusted", "inference_only", "unsupported")
    answer["warnings"] = [one for one in answer["warnings"] if one["option"] not in names or one["code"] not in silent]


def without_comments(text: str) -> Dict[str, Any]:
    """A mixlist as JSON, empty where it is none."""
    try:
        found = json.loads(re.sub(r"//[^\n]*", "", text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def otherwise(ask: Any, params: Params, other: Params) -> Answer:
    """The answer to another question, in which files that the user gave are told as they are."""
    if other == params:
        return dict(ask(params))
    right, found = ask(params), ask(other)
    names = {name.lstrip("/") for name in params.get("files", {})} | {"aoe_config.json"}
    for one in params.get("turns") or ():
        names |= {name.lstrip("/") for name in one.get("files") or {}}
    told = [(right.get("base", {}), found.get("base", {})), *zip(right.get("turns", ()), found.get("turns", ()))]
    told += [(step, found["variants"][name]) for name, step in right.get("variants", {}).items()]
    for true, wrong in told:
        for key in ("files", "left"):
            for name in names & set(true.get(key) or {}) & set(wrong.get(key) or {}):
                wrong[key][name] = true[key][name]
    return dict(found)


def read_otherwise(area: str, name: str, sentence: str, option: str, change: Any, *methods: str) -> None:
    """The text of the file that an option names is read as another one."""

    def fault(ask: Any, params: Params) -> Answer:
        return otherwise(ask, params, texts(params, option, change))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


# Options


def _small_channel(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig") and in_inference(params) and value_of(params, "enable_small_channel") == 0:
        told_given(answer, params, "enable_small_channel")


# runconfig.enable_small_channel.inference_fixed
tells("an_inference_can_switch_small_channels_off", "1 cannot be modified for online inference", _small_channel)


# session.memory.sum_with_defaults
@broken("options", "graph and variable memory together are at most 31 GB, with their defaults")
def a_default_takes_no_part_in_the_sum_of_memory(ask: Any, params: Params) -> Answer:
    names = ("graph_memory_max_size", "variable_memory_max_size")
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "OPTION_CONFLICT" or error.subject not in names or given(params, *names):
            raise
        one = next(name for name in names if given(params, name))
        answer = dict(ask(with_values(params, **{one: None})))
        told_given(answer, params, one)
        answer["meaning"][one] = int(value_of(params, one))
        answer["directives"]["memory"]["graph_bytes" if one == names[0] else "variable_bytes"] = int(
            value_of(params, one)
        )
        return answer


def _profiles(params: Params) -> List[List[str]]:
    text = value_of(params, "dynamic_dims")
    return [one.split(",") for one in text.split(";")] if isinstance(text, str) else []


# session.dynamic_dims.count
@broken("options", "every profile has as many sizes as input_shape has -1")
def a_last_profile_may_lack_sizes(ask: Any, params: Params) -> Answer:
    found = _profiles(params)
    if len(found) > 1 and 0 < len(found[-1]) < len(found[0]):
        found[-1] += [found[-1][-1]] * (len(found[0]) - len(found[-1]))
        answer = dict(ask(with_values(params, dynamic_dims=";".join(",".join(one) for one in found))))
        told_given(answer, params, "dynamic_dims")
        return answer
    return dict(ask(params))


# files.aoe_cfg.nonhomo_split_needs_1
@broken("options", "the feature nonhomo_split needs aoe_mode 1")
def nonhomo_split_tunes_operators_as_well(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "aoe_config_file" or "nonhomo_split" not in text_of(params, "aoe_config_file"):
            raise
        if value_of(params, "aoe_mode") != "2":
            raise
        answer = dict(ask(with_values(params, aoe_mode="1")))
        told_given(answer, params, "aoe_mode")
        answer["directives"]["tuning"]["aoe"] = "2"
        return answer


def _profiling(change: Any) -> Any:
    def edit(params: Params, told: Any) -> Any:
        try:
            found = json.loads(told)
        except (TypeError, ValueError):
            return told
        if not isinstance(found, dict):
            return told
        after = change(dict(found))
        return told if after == found else json.dumps(after)

    return edit


# session.profiling_options.training_trace.only_on
reads_as(
    "training_trace_off_is_as_good_as_left_out",
    "training_trace, where it is given, has to be on",
    "profiling_options",
    _profiling(lambda found: {k: v for k, v in found.items() if (k, v) != ("training_trace", "off")}),
    "options",
    "timeline",
    "run",
)

# session.profiling_options.aicpu.junk_is_off
reads_as(
    "aicpu_is_on_in_capitals_too",
    "any value of aicpu but on and off is off",
    "profiling_options",
    _profiling(lambda found: {k: v.lower() if k == "aicpu" and v in ("ON", "On") else v for k, v in found.items()}),
    "options",
    "run",
)


# runconfig.op_compiler_cache_mode.debug_level_gate
@broken("options", "any op_debug_level but 0 switches the cache off", "options", "compile")
def level_3_caches_in_the_current_edition_too(ask: Any, params: Params) -> Answer:
    found = ask(params)
    if not is_about(params, "", "current"):
        return dict(found)
    if "effective" in found:
        if value_of(params, "op_debug_level") == 3:
            plain_one = ask(with_values(params, op_debug_level=None))
            told = plain_one["effective"]["op_compiler_cache_mode"]
            told_value(found, "op_compiler_cache_mode", told["value"], told["origin"])
            found["warnings"] = [
                one
                for one in found["warnings"]
                if (one["option"], one["code"]) != ("op_compiler_cache_mode", "overridden")
            ]
        return dict(found)

    def free(values: Dict[str, Any]) -> Dict[str, Any]:
        return {k: v for k, v in values.items() if k != "op_debug_level" or plain(v) != 3}

    cached = ask(all_values(params, free))
    for turn, one in zip(found["turns"], cached["turns"]):
        if "rejected" in turn or "rejected" in one:
            continue
        for key in ("files", "left"):
            one[key] = {**one[key], **turn[key]}
    return dict(cached)


# runconfig.stream_sync_timeout.gt_hccl
@broken("options", "in a cluster stream_sync_timeout has to be above HCCL_EXEC_TIMEOUT as well")
def stream_sync_is_not_held_against_the_variable(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "stream_sync_timeout" or error.code != "OPTION_CONFLICT":
            raise
        if given(params, "hccl_timeout") or "HCCL_EXEC_TIMEOUT" not in params.get("env", {}):
            raise
        answer = dict(ask(with_values(params, stream_sync_timeout=-1)))
        told_given(answer, params, "stream_sync_timeout")
        answer["directives"]["timeouts"]["stream_sync_milliseconds"] = value_of(params, "stream_sync_timeout")
        return answer


def _whole_timeout(answer: Answer, params: Params) -> None:
    told = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "")
    if given(params, "hccl_timeout") or not is_about(params, "", "current") or not told.isdigit():
        return
    actual = max(int(told) // 68 * 68, 68)
    if "effective" in answer:
        if answer["effective"].get("hccl_timeout", {}).get("origin") == "environment":
            told_value(answer, "hccl_timeout", int(told))
            answer["directives"]["timeouts"]["hccl_seconds"] = int(told)
        return
    for step in [answer["base"], *answer.get("variants", {}).values()]:
        ended = step.get("rejected", {})
        if ended.get("code") == "COLLECTIVE_TIMEOUT" and "after_ns" in ended:
            ended["after_ns"] += (int(told) - actual) * 10**9


# runconfig.hccl_timeout.quantize
changed(
    "options",
    "the_variable_of_collective_timeouts_is_not_cut_to_68",
    "the actual timeout is the variable's value // 68 * 68",
    _whole_timeout,
    "options",
    "timeline",
)


def _tuned(told: Dict[str, Any], other: Dict[str, Any]) -> None:
    """What is told of a step or a program, with what tuning leaves elsewhere."""
    if "tuned" in other:
        told["tuned"] = other["tuned"]
    for key in ("files", "left"):
        if key in other:
            found = {name: file for name, file in other[key].items() if re.search(r"aoe_(config|result)", name)}
            told[key] = {**(told.get(key) or {}), **found}


# session.aoe_mode.unsupported
@broken("options", "aoe_mode is not supported in a session", "options", "timeline", "compile")
def a_legacy_session_tunes_by_aoe_mode(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if not is_about(params, "session", "legacy") or value_of(params, "aoe_mode") not in ("1", "2", "4"):
        return answer
    if "effective" in answer:
        told_given(answer, params, "aoe_mode")
        answer["directives"]["tuning"]["aoe"] = value_of(params, "aoe_mode")
        return answer
    names = ("aoe_mode", "work_path", "aoe_config_file")
    values = {name: value for name, value in params["values"].items() if name in names}
    other = ask({**params, "surface": "runconfig", "edition": "current", "values": values})
    if "base" in answer and "rejected" not in answer["base"]:
        _tuned(answer["base"], other["base"])
    for turn, there in zip(answer.get("turns", ()), other.get("turns", ())):
        if "rejected" not in turn and "rejected" not in there:
            _tuned(turn, there)
    return answer


def _list_stays(answer: Answer, params: Params) -> None:
    if given(params, "op_precision_mode", "op_select_implmode", "optypelist_for_implmode"):
        told_given(answer, params, "optypelist_for_implmode")


# runconfig.op_precision_mode.over_implmode, session.op_precision_mode.over_implmode
tells("a_list_of_types_stands_beside_op_precision_mode", "op_precision_mode alone takes effect", _list_stays)

# session.op_compiler_cache_dir.charset
denies(
    "chinese_cache_directories_are_refused_in_sessions",
    "the path may have Chinese characters",
    "op_compiler_cache_dir",
    lambda params: (
        is_about(params, "session", "legacy")
        and any("\u4e00" <= one <= "\u9fff" for one in str(value_of(params, "op_compiler_cache_dir")))
    ),
)


# Partition


def _kept(params: Params) -> bool:
    """Whether a range is kept on the host."""
    return given(params, "in_out_pair") and value_of(params, "in_out_pair_flag") is False


def _is_entry(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and all(isinstance(side, list) for side in one)


def _pairs(params: Params) -> List[Any]:
    found: List[Any] = []
    with_pairs(params, lambda pairs: found.extend(pairs) or pairs)
    return found if all(_is_entry(one) for one in found) else []


def _pooled(pairs: List[Any]) -> List[Any]:
    ins = [name for one in pairs for name in one[0]]
    outs = [name for one in pairs for name in one[1]]
    return [[ins, outs]]


# in_out_pair.multi_entry
asks(
    "entries_of_in_out_pair_are_pooled",
    "each entry describes a range of its own",
    "partition",
    lambda params: with_pairs(params, _pooled) if len(_pairs(params)) > 1 else params,
    "partition",
    "run",
)


def _ends_go_down(answer: Answer, params: Params) -> None:
    if not _kept(params):
        return
    outs = {name for _, ends in _pairs(params) for name in ends}
    moved = [one["node"] for one in answer["host"] if one["node"] in outs and one.get("reason") == "RANGE_INSIDE"]
    answer["host"] = [one for one in answer["host"] if one["node"] not in moved]
    for name in moved:
        answer["geops"].append({"name": f"GeOp_{name}", "nodes": [name], "args": [], "rets": [], "copies": []})


# in_out_pair.inclusive
place("the_last_operators_of_a_kept_range_are_offloaded", "the named operators belong to the range", _ends_go_down)


def _longer(params: Params) -> Params:
    names = [node.name for node in graph_of(params).nodes]

    def whole(name: Any) -> Any:
        longer = [one for one in names if isinstance(name, str) and one.startswith(name)]
        return longer[0] if name not in names and len(longer) == 1 else name

    return with_pairs(params, lambda pairs: [[[whole(name) for name in side] for side in one] for one in pairs])


# in_out_pair.truncated_names_not_prefixes
asks(
    "a_prefix_names_an_operator_in_in_out_pair",
    "names are matched whole",
    "partition",
    lambda params: _longer(params) if _pairs(params) else params,
)


def _without_attribute(name: str) -> Any:
    def change(graph: Any) -> None:
        for node in graph.node:
            node.attr.pop(name, None)

    return change


# mixed.scope.without_npu_compile.adds
asks(
    "a_kept_range_forgets_the_scope",
    "operators in without_npu_compile_scope stay on the host as well",
    "partition",
    lambda params: regraphed(params, _without_attribute("_without_npu_compile")) if _kept(params) else params,
    "partition",
    "run",
)

# session.enable_data_pre_proc.default, session.enable_data_pre_proc.false
asks(
    "mixed_computing_offloads_get_next_unasked",
    "GetNext stays on the host unless enable_data_pre_proc is True",
    "partition",
    lambda params: (
        with_values(params, enable_data_pre_proc=True)
        if is_about(params, "session") and is_mixed(params) and not given(params, "enable_data_pre_proc")
        else params
    ),
)


def _own_geops(answer: Answer, moved: List[str]) -> None:
    """These operators in a GEOP of their own."""
    answer["host"] = [one for one in answer["host"] if one["node"] not in moved]
    if moved:
        answer["geops"].append({"name": "GeOp_own", "nodes": sorted(moved), "args": [], "rets": [], "copies": []})


# mixed.fused_bn_v3.fifth_output
place(
    "an_inference_offloads_a_fifth_output",
    "the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    lambda answer, params: _own_geops(
        answer, [one["node"] for one in answer["host"] if in_inference(params) and one.get("reason") == "FIFTH_OUTPUT"]
    ),
)


def _references_stay(answer: Answer, params: Params) -> None:
    if value_of(params, "variable_placement") != "Host":
        return
    ops = ops_of(params)
    kept = {name for name, op in ops.items() if op.op == "VariableV2"}
    users = {
        name
        for name, op in ops.items()
        if op.op.startswith("Assign") and any(source_of(text) in kept for text in op.inputs)
    }
    there = [one["node"] for one in answer["host"] if one["node"] in kept | users]
    _own_geops(answer, there)


# runconfig.variable_placement.host
place("reference_variables_stay_on_the_device", "with Host the variables are on the host", _references_stay)

# session.use_off_line.false
asks(
    "mixed_computing_runs_on_the_device_without_use_off_line",
    "with use_off_line False training executes on the host",
    "partition",
    lambda params: (
        with_values(params, use_off_line=True)
        if is_mixed(params) and value_of(params, "use_off_line") is False
        else params
    ),
    "partition",
    "run",
)


def _merged(answer: Answer, params: Params) -> None:
    by_data, by_all = readers_of(params, controls=False), readers_of(params)
    host = {one["node"] for one in answer["host"]}
    for first in answer["geops"]:
        for second in answer["geops"]:
            if first is second or not first["nodes"] or not second["nodes"]:
                continue
            there = behind(first["nodes"], by_all) & host
            controlled = behind(there, by_all) & set(second["nodes"])
            if controlled and not behind(first["nodes"], by_data) & set(second["nodes"]):
                first["nodes"] = sorted(first["nodes"] + second["nodes"])
                second["nodes"] = []
    answer["geops"] = [one for one in answer["geops"] if one["nodes"]]


# mixed.partition.geop_acyclic, mixed.partition.order_preserved
place("control_edges_through_the_host_cut_nothing", "control dependencies across GEOPs are kept", _merged)


def _scoped(params: Params) -> Set[str]:
    return {node.name for node in graph_of(params).nodes if node.attr("_without_npu_compile") is True}


def _before_scope(answer: Answer, params: Params) -> Answer:
    ops, marked = ops_of(params), _scoped(params)
    before = {source_of(text) for name in marked for text in ops[name].inputs} - marked
    return to_host(answer, [name for name in offloaded(answer) if name in before])


# mixed.retain.example_rest_device
place("what_feeds_a_scope_stays_too", "what is outside of the scope is offloaded", _before_scope)


def _behind_range(answer: Answer, params: Params) -> Any:
    if not _kept(params):
        return None
    outs = {name for _, ends in _pairs(params) for name in ends}
    return to_host(answer, behind(outs, readers_of(params)))


# in_out_pair.flag_false.outside_device
place("behind_a_kept_range_nothing_is_offloaded", "the rest of the graph is offloaded", _behind_range)


def _ends_alone(params: Params) -> Params:
    readers = readers_of(params)

    def ends(pairs: List[Any]) -> List[Any]:
        found = []
        for ins, outs in pairs:
            if any(set(outs) & (behind([name], readers) | {name}) for name in ins):
                found.append([ins, outs])
            else:
                found += [[[name], [name]] for name in [*ins, *outs]]
        return found

    return with_pairs(params, ends)


# in_out_pair.no_path
asks(
    "without_a_path_the_named_operators_are_the_range",
    "without a path from first to last operator there is no range",
    "partition",
    lambda params: _ends_alone(params) if _pairs(params) else params,
)


# Precision


def _kinds(answer: Answer) -> Dict[str, Set[str]]:
    return {one["node"]: {one.get("op"), one.get("kernel")} for one in answer["nodes"]}


# precision.customize.name_over_type
@broken("precision", "of a name and a type in customize_dtypes the name applies")
def customize_dtypes_goes_by_type_first(ask: Any, params: Params) -> Answer:
    found = ask(params)
    text = text_of(params, "customize_dtypes")
    listed = set(re.findall(r"(?m)^\s*OpType::([^:\s]+):", text))
    if not listed:
        return dict(found)
    kinds = _kinds(found)

    def by_type(text: str) -> str:
        return "\n".join(
            line for line in text.split("\n") if not kinds.get(line.split("::")[0].strip(), set()) & listed
        )

    return dict(ask(texts(params, "customize_dtypes", by_type)))


# precision.customize.must_keep_off
@broken("precision", "under must_keep_origin_dtype customize_dtypes does not take effect")
def customize_dtypes_holds_under_must_keep(ask: Any, params: Params) -> Answer:
    found = ask(params)
    if value_of(params, "precision_mode") != "must_keep_origin_dtype" or not text_of(params, "customize_dtypes"):
        return dict(found)
    text = text_of(params, "customize_dtypes")
    listed = set(re.findall(r"(?m)^\s*OpType::([^:\s]+):", text))
    named = {line.split("::")[0].strip() for line in text.split("\n") if "::" in line}
    other = {one["node"]: one for one in ask(with_values(params, precision_mode=None))["nodes"]}
    found["nodes"] = [
        other[one["node"]] if one["node"] in named or {one.get("op"), one.get("kernel")} & listed else one
        for one in found["nodes"]
    ]
    return dict(found)


def _trusted(text: str) -> str:
    found = without_comments(text)
    gone = found.get("black-list", {}).pop("to-remove", [])
    if not gone:
        return text
    white = found.setdefault("white-list", {})
    white["to-add"] = [*white.get("to-add", []), *gone]
    return json.dumps(found)


# files.mixlist.current.black_remove, files.mixlist.legacy.black_remove
misreads(
    "precision",
    "what_leaves_the_blocklist_may_be_lowered_anywhere",
    "to-remove of the black-list moves an operator to the graylist",
    "modify_mixlist",
    _trusted,
    "precision",
    "run",
)


# files.mixlist.current.black_add, files.mixlist.legacy.black_add
@broken("precision", "to-add of the black-list moves an operator of the trustlist, too")
def the_blocklist_takes_nothing_from_the_trustlist(ask: Any, params: Params) -> Answer:
    text = text_of(params, "modify_mixlist")
    if not without_comments(text).get("black-list", {}).get("to-add"):
        return dict(ask(params))
    trusted: Set[str] = set()
    for one in ask(texts(params, "modify_mixlist", lambda text: "{}"))["nodes"]:
        if one.get("list") == "trustlist":
            trusted |= {one["op"], one["kernel"]}

    def spared(text: str) -> str:
        found = without_comments(text)
        found["black-list"]["to-add"] = [name for name in found["black-list"]["to-add"] if name not in trusted]
        return json.dumps(found)

    return dict(ask(texts(params, "modify_mixlist", spared)))


def _is_mixed_precision(params: Params) -> bool:
    modes = ("allow_mix_precision", "allow_mix_precision_fp16")
    return value_of(params, "precision_mode") in modes or value_of(params, "precision_mode_v2") == "mixed_float16"


def _lowered(answer: Answer, params: Params) -> None:
    if not _is_mixed_precision(params):
        return
    found = {one["node"]: one for one in answer["nodes"]}
    ops = ops_of(params)
    for one in answer["nodes"]:
        op = ops.get(one["node"])
        if op is None or one.get("list") != "graylist" or one.get("engine") != "vector" or one.get("op") == "Cast":
            continue
        before = [found[name] for name in map(source_of, op.inputs) if name in found]
        if any(other.get("list") == "blocklist" for other in before):
            retyped(one, "float32", "float16")


# precision.mixlist.gray, precision.s.gray_follow_both_ways
changed(
    "precision",
    "a_gray_operator_behind_a_blocked_one_is_lowered",
    "a gray operator is not lowered where the one before is not",
    _lowered,
)


def _product(node: Dict[str, Any], params: Params, op: Any) -> None:
    if value_of(params, "precision_mode_v2") != "cube_fp16in_fp32out" or op is None or "MatMul" not in op.op:
        return
    if "float32" in node["outputs"]:
        retyped(node, "float16", "float32", "inputs")


# precision.v2.cube
node_change("v2_computes_products_in_float32", "cube operators first try float16 in and float32 out", _product)


def _stays_half(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    if not {"force_fp32", "cube_fp16in_fp32out"} & set(modes) or op is None or node.get("engine") != "vector":
        return
    if op.op != "Cast" and "float16" in types_of(op) and "float32" not in types_of(op):
        retyped(node, "float32", "float16")


# precision.cube.vector_force_fp32
node_change("float16_vectors_are_not_raised", "float32 is forced even if the graph says float16", _stays_half)


# precision.g.must_keep_conv_error
@broken("precision", "must_keep_origin_dtype interrupts the training of a float32 Conv2D")
def must_keep_lowers_what_has_no_float32(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or value_of(params, "precision_mode") != "must_keep_origin_dtype":
            raise
        if not is_about(params, "", "legacy"):
            raise
        kept = ask(with_values(params, precision_mode="allow_fp32_to_fp16"))
        return dict(kept)


def _training_default(answer: Answer, params: Params) -> None:
    if "effective" in answer:
        told_value(answer, "precision_mode", "allow_fp32_to_fp16", "default")


# precision.s.default_inference
@broken("precision", "in online inference of a session the default is force_fp16", "precision", "options", "run")
def an_inference_defaults_as_training_does(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session", "legacy") or not in_inference(params) or given(params, "precision_mode"):
        return dict(ask(params))
    answer = dict(ask(with_values(params, precision_mode="allow_fp32_to_fp16")))
    _training_default(answer, params)
    return answer


def _by_type(answer: Answer, params: Params) -> None:
    section = re.search(r"(?ms)^\s*\[ByOpType\](.*?)(?=^\s*\[|\Z)", text_of(params, "op_precision_mode"))
    found = dict(re.findall(r"(?m)^\s*(\w+)\s*=\s*(\w+)", section.group(1))) if section else {}
    named = set(re.findall(r"(?m)^\s*([^\s=]+)\s*=", text_of(params, "op_precision_mode")))
    for one in answer["nodes"]:
        for kind in (one.get("op"), one.get("kernel")):
            if kind in found and one["node"] in named:
                one["impl_mode"] = found[kind]


# runconfig.op_precision_mode.name_over_type
changed("precision", "a_type_beats_a_name_in_op_precision_mode", "ByNodeName has the higher priority", _by_type)


def _library_flags() -> Set[str]:
    from faulty.making import REFERENCE

    found: Set[str] = set()
    for file in REFERENCE.library({"edition": "current"})["files"]:
        if file["path"].endswith("ops-info.json"):
            found = {name for name, one in json.loads(file["text"]).items() if "precision_reduce" in one}
    return found


def _unadded(params: Params) -> Params:
    try:
        found = json.loads(params.get("ops_info", ""))
    except ValueError:
        return params
    known = _library_flags()
    for name, one in found.items() if isinstance(found, dict) else ():
        if isinstance(one, dict) and name not in known:
            one.pop("precision_reduce", None)
    return {**params, "ops_info": json.dumps(found)}


# precision.g.edit_field
asks(
    "a_flag_added_to_the_library_does_nothing",
    "precision_reduce may be modified or added",
    "precision",
    lambda params: _unadded(params) if params.get("ops_info") else params,
    "precision",
    "timeline",
)

# precision.v2.keep_dtype_scope
asks(
    "keep_dtype_scope_keeps_nothing_under_v2",
    "keep_dtype_scope keeps the precision of some operators under precision_mode_v2, too",
    "precision",
    lambda params: (
        regraphed(params, _without_attribute("_keep_dtype")) if given(params, "precision_mode_v2") else params
    ),
    "precision",
    "run",
)


# Timeline


def _mapped(name: str, change: Any) -> Any:
    def edit(values: Dict[str, Any]) -> Dict[str, Any]:
        return {
            key: edited(value, lambda one: change(one, values)) if key == name and plain(value) is not None else value
            for key, value in values.items()
        }

    return lambda params: all_values(params, edit)


# runconfig.input_fusion_size.boundary_equal
asks(
    "an_input_as_large_as_the_threshold_goes_alone",
    "what is not larger than the threshold is fused",
    "timeline",
    _mapped("input_fusion_size", lambda one, values: one - 1 if isinstance(one, int) and one > 1 else one),
)

# runconfig.graph_max_parallel_model_num.effect
asks(
    "more_than_two_graph_threads_are_two",
    "the number of threads that are started is the option's",
    "timeline",
    _mapped("graph_max_parallel_model_num", lambda one, values: min(one, 2) if isinstance(one, int) else one),
)


def _short_wait(answer: Answer, params: Params) -> None:
    def short(values: Mapping[str, Any]) -> Any:
        told = plain(values.get("hccl_timeout"))
        return told if isinstance(told, int) and 0 < told < 68 and is_about(params, "", "current") else None

    if "effective" in answer:
        told = short(params["values"])
        if told is not None and answer["effective"].get("hccl_timeout", {}).get("value") == 68:
            told_given(answer, params, "hccl_timeout")
            answer["directives"]["timeouts"]["hccl_seconds"] = told
        return
    for key, step in [("", answer["base"]), *answer.get("variants", {}).items()]:
        told = short({**params["values"], **params.get("variants", {}).get(key, {})})
        ended = step.get("rejected", {})
        if told is not None and ended.get("code") == "COLLECTIVE_TIMEOUT" and "after_ns" in ended:
            ended["after_ns"] -= (68 - told) * 10**9


# runconfig.hccl_timeout.floor68
changed(
    "timeline",
    "short_collective_timeouts_are_taken_as_given",
    "below 68 s the timeout is 68 s",
    _short_wait,
    "timeline",
    "options",
)


def _executes(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    limit = plain(values.get("op_execute_timeout"))
    if not is_about(params, "session", "legacy") or not isinstance(limit, int) or limit <= 0:
        return
    for fault in params.get("faults", ()):
        if fault["kind"] == "hang" and fault.get("seconds", limit + 1) > limit:
            ended = {"code": "DEVICE_TIMEOUT", "message": "an operator took too long", "subject": "op_execute_timeout"}
            step.clear()
            step["rejected"] = {**ended, "after_ns": limit * 10**9}


# session.op_execute_timeout.unsupported
steps("op_execute_timeout_ends_operators_of_sessions", "op_execute_timeout is not supported in a session", _executes)

# runconfig.stream_sync_timeout.effect
asks(
    "stream_sync_timeout_is_in_seconds",
    "the unit of stream_sync_timeout is ms",
    "timeline",
    _mapped("stream_sync_timeout", lambda one, values: one * 1000 if isinstance(one, int) and one > 0 else one),
)


def _switches(change: Any) -> Any:
    def edit(text: str) -> str:
        try:
            found = json.loads(text)
            change(found["Switch"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(found)

    return edit


def _spread(switch: Dict[str, Any]) -> None:
    if switch["UBFusion"].get("ALL") == "off":
        switch.setdefault("GraphFusion", {})["ALL"] = "off"


# files.fusion_switch.current.sections_independent, files.fusion_switch.legacy.sections_independent
read_otherwise(
    "timeline",
    "all_off_of_ub_fusion_reaches_graph_fusion",
    "the two sections are switched independently",
    "fusion_switch_file",
    _switches(_spread),
    "timeline",
    "compile",
)


def _nothing_on(switch: Dict[str, Any]) -> None:
    section = switch["UBFusion"]
    if section.get("ALL") == "off":
        switch["UBFusion"] = {name: value for name, value in section.items() if value != "on"}


# files.fusion_switch.current.all_off_except, files.fusion_switch.legacy.all_off_except
read_otherwise(
    "timeline",
    "all_off_of_ub_fusion_has_no_exceptions",
    "a pass that is on beside ALL off stays on",
    "fusion_switch_file",
    _switches(_nothing_on),
    "timeline",
    "compile",
    "options",
)


# runconfig.variable_placement.host
@broken("timeline", "variables on the host take no memory of the device")
def host_variables_take_device_memory_all_the_same(ask: Any, params: Params) -> Answer:
    found = ask(params)
    other = ask(all_values(params, lambda values: {k: v for k, v in values.items() if k != "variable_placement"}))
    placed = [("", found["base"], other["base"])]
    placed += [(key, step, other["variants"][key]) for key, step in found.get("variants", {}).items()]
    for key, step, there in placed:
        values = {**params["values"], **params.get("variants", {}).get(key, {})}
        if plain(values.get("variable_placement")) == "Host" and "memory" in step and "memory" in there:
            step["memory"] = there["memory"]
    return dict(found)


def _same_for_both(params: Params, told: Any) -> Any:
    names, most = ("DNN_VM_TF", "DNN_V100"), {"DNN_VM_TF": 13, "DNN_V100": 3}
    if not isinstance(told, str) or not is_about(params, "session", "legacy"):
        return told
    pairs = [one.split(":") for one in told.split(",")]
    if len(pairs) != 1 or len(pairs[0]) != 2 or pairs[0][0] not in names or not pairs[0][1].isdigit():
        return told
    other = next(name for name in names if name != pairs[0][0])
    return f"{told},{other}:{min(int(pairs[0][1]), most[other])}"


# session.stream_max_parallel_num.partial
reads_as(
    "an_engine_that_is_not_listed_takes_the_others_number",
    "the degree of parallelism defaults to 1",
    "stream_max_parallel_num",
    _same_for_both,
    "timeline",
    "options",
)


def _past(params: Params) -> Params:
    faults = [
        {**one, "past": 1} if one.get("kind") == "out_of_bounds" and one.get("past") == 0 else one
        for one in params.get("faults", ())
    ]
    return {**params, "faults": faults} if "faults" in params else params


# runconfig.op_debug_config.oom.boundary
asks(
    "oom_traps_an_access_that_ends_at_the_end",
    "only an access beyond the size is trapped",
    "timeline",
    _past,
    "timeline",
    "run",
)

# runconfig.session_device_id.over_env, session.session_device_id.over_env
asks(
    "device_0_of_a_session_yields_to_the_variable",
    "session_device_id takes precedence over ASCEND_DEVICE_ID",
    "timeline",
    lambda params: (
        with_values(params, session_device_id=None)
        if value_of(params, "session_device_id") == 0 and "ASCEND_DEVICE_ID" in params.get("env", {})
        else params
    ),
    "timeline",
    "run",
    "options",
)


def _leading(answer: Answer) -> Set[str]:
    """The operators that kernels are named after."""
    found = {one["nodes"][0] for turn in answer.get("turns", ()) for one in turn.get("kernels", ()) if one["nodes"]}
    for step in [answer.get("base", {}), *answer.get("variants", {}).values()]:
        found |= {task["nodes"][0] for task in step.get("tasks", ()) if task.get("nodes")}
    return found


# files.aoe_cfg.fused_op
@broken("timeline", "a fused operator that contains the type is tuned, too", "timeline", "compile")
def a_type_inside_a_fused_operator_is_not_tuned(ask: Any, params: Params) -> Answer:
    found = ask(params)
    if not any(named_by(params, "aoe_config_file")):
        return dict(found)
    ops, first = ops_of(params), _leading(found)
    kinds = {ops[name].op for name in first if name in ops}

    def fewer(text: str) -> str:
        def edit(match: Any) -> str:
            names = re.findall(r'"([^"]*)"', match.group(1))
            kept = [name for name in names if name in kinds] or ["NoSuchOperator"]
            return '"tune_ops_type":' + json.dumps(kept)

        return re.sub(r'"tune_ops_type"\s*:\s*(\[[^\]]*\])', edit, text)

    return otherwise(ask, params, texts(params, "aoe_config_file", fewer))


# Compilation

# files.op_debug_cfg.type_prefix_case
read_otherwise(
    "artifacts",
    "a_type_with_a_small_o_is_no_type",
    "the example has opType::ReduceSum for a type",
    "op_debug_config",
    lambda text: text.replace("opType::", "no_operator_has_this_name_"),
    "compile",
)


def _dynamic(values: Dict[str, Any]) -> Dict[str, Any]:
    return {**values, "jit_compile": "true"} if plain(values.get("jit_compile")) in (None, "auto") else values


# runconfig.jit_compile.auto.dynamic
asks(
    "auto_compiles_dynamic_graphs_online",
    "of a dynamic graph auto searches the binary in the system first",
    "artifacts",
    lambda params: all_values(params, _dynamic) if is_about(params, "runconfig", "current") else params,
    "compile",
)


def _debugged(asked: Mapping[str, Any]) -> List[str]:
    """The options of the file of op_debug_config."""
    line = re.search(r"(?m)^\s*op_debug_config\s*=\s*(.*)$", text_of(asked, "op_debug_config"))
    return [one.strip() for one in line.group(1).split(",")] if line else []


# files.op_debug_config.dump_cce.files
@broken("artifacts", "dump_cce retains the .cce, .o and .json file", "compile")
def dump_cce_alone_leaves_no_description(ask: Any, params: Params) -> Answer:
    found = ask(params)
    files: Dict[str, Any] = dict(params.get("files", {}))
    values: Dict[str, Any] = dict(params["values"])
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        if "rejected" in turn or _debugged({"values": values, "files": files}) != ["dump_cce"]:
            continue
        for key in ("files", "left"):
            turn[key] = {k: v for k, v in turn[key].items() if "kernel_meta/" not in k or not k.endswith(".json")}
    return dict(found)


def _interrupted(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked.get("ends") == "killed" and plain(asked["values"].get("export_compile_stat")) == 2:
        for key in ("files", "left"):
            turn[key] = {name: file for name, file in turn[key].items() if not name.endswith("fusion_result.json")}


# runconfig.export_compile_stat.2
turns("an_interrupted_program_leaves_no_fusion_result", "2 leaves it once compilation is complete", _interrupted)


# files.fusion_result.disabled_hidden
@broken("artifacts", "a pass that fusion_switch_file switches off is not in fusion_result.json", "compile")
def fusion_results_list_what_is_switched_off(ask: Any, params: Params) -> Answer:
    found = ask(params)
    files: Dict[str, Any] = dict(params.get("files", {}))
    values: Dict[str, Any] = dict(params["values"])
    sections = {"GraphFusion": "graph_fusion", "UBFusion": "ub_fusion"}
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        try:
            switch = json.loads(text_of({"values": values, "files": files}, "fusion_switch_file"))["Switch"]
        except (ValueError, KeyError, TypeError):
            continue
        for key in ("files", "left"):
            for name, file in turn.get(key, {}).items():
                if not name.endswith("fusion_result.json") or "b64" not in file:
                    continue
                told = json.loads(decoded(file))
                for graph in told.values():
                    for section, into in sections.items():
                        for one, state in switch.get(section, {}).items():
                            if state == "off" and one != "ALL":
                                graph.setdefault(into, {})[one] = {"effect_times": "0", "match_times": "0"}
                turn[key][name] = encoded(json.dumps(told, indent=4))
    return dict(found)


def _settings(params: Params, change: Any) -> Params:
    """The request with every op_cache.ini that it gives read otherwise."""

    def edit(files: Mapping[str, Any]) -> Files:
        return {
            name: change(text) if name.endswith("op_cache.ini") and isinstance(text, str) else text
            for name, text in files.items()
        }

    found: Dict[str, Any] = {**params, "files": edit(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [{**one, "files": edit(one["files"])} if one.get("files") else one for one in params["turns"]]
    return found


def _valid_ratio(text: str) -> str:
    def edit(match: Any) -> str:
        told = match.group(2).strip()
        return match.group(0) if told.isdigit() and 1 <= int(told) <= 100 else match.group(1) + "50"

    return re.sub(r"(?m)^(\s*remain_cache_size_ratio\s*=\s*)(.*)$", edit, text)


# files.op_cache_ini.both_valid
@broken("artifacts", "op_cache.ini takes effect only if both of its values are valid", "compile")
def a_bad_ratio_leaves_the_size_in_force(ask: Any, params: Params) -> Answer:
    return otherwise(ask, params, _settings(params, _valid_ratio))


def _older(params: Params) -> Params:
    if not params.get("turns"):
        return params
    first, *others = params["turns"]
    aged = [{**one, "age_seconds": max(one.get("age_seconds", 0), 3600)} for one in others]
    if first.get("age_seconds"):
        first = {**first, "age_seconds": max(first["age_seconds"], 3600)}
    return {**params, "turns": [first, *aged]}


# files.op_cache_ini.aging_half_hour
asks(
    "the_cache_ages_by_size_alone",
    "only what was not accessed for more than half an hour is aged",
    "artifacts",
    _older,
    "compile",
)


# files.op_cache_ini.over_env
@broken("artifacts", "op_cache.ini is read before the variables", "compile")
def the_variables_of_the_cache_are_read_first(ask: Any, params: Params) -> Answer:
    names = {
        "ASCEND_MAX_OP_CACHE_SIZE": "max_op_cache_size",
        "ASCEND_REMAIN_CACHE_SIZE_RATIO": "remain_cache_size_ratio",
    }
    env = dict(params.get("env", {}))
    for one in params.get("turns") or ():
        env.update(one.get("env") or {})

    def edit(text: str) -> str:
        for variable, name in names.items():
            if env.get(variable):
                text = re.sub(rf"(?m)^(\s*{name}\s*=\s*).*$", rf"\g<1>{env[variable]}", text)
        return text

    return otherwise(ask, params, _settings(params, edit))


def _unforced(params: Params) -> Params:
    values: Dict[str, Any] = dict(params["values"])
    beside = bool(plain(values.get("op_debug_config")))
    if beside and plain(values.get("op_compiler_cache_mode")) == "force":
        values["op_compiler_cache_mode"] = "enable"
    found: Dict[str, Any] = {**params, "values": values}
    if not params.get("turns"):
        return found
    found["turns"] = []
    laid = dict(params["values"])
    for one in params["turns"]:
        laid.update(one.get("values") or {})
        forced = plain(laid.get("op_compiler_cache_mode")) == "force"
        if forced and plain(laid.get("op_debug_config")):
            one = {**one, "values": {**(one.get("values") or {}), "op_compiler_cache_mode": "enable"}}
        elif forced:
            one = {**one, "values": {**(one.get("values") or {}), "op_compiler_cache_mode": "force"}}
        found["turns"].append(one)
    return found


# runconfig.op_compiler_cache_mode.debug_cfg_with_list, runconfig.op_compiler_cache_mode.force
asks(
    "force_beside_a_list_of_operators_clears_nothing",
    "force clears the cache, with an op_debug_list, too",
    "artifacts",
    _unforced,
    "compile",
)


def _small_weights(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for one in turn.get("constants", ()):
        if one.get("file") and one.get("bytes", 0) < 64:
            file = one["file"]
            one.update(file="", bytes=0)
            if any(other.get("file") == file for other in turn["constants"]):
                continue
            for key in ("files", "left"):
                turn[key] = {name: there for name, there in turn[key].items() if not name.endswith(file)}


# runconfig.external_weight.true_all_const
turns("small_weights_stay_in_the_graph", "the weights of all Const nodes are flushed", _small_weights)


def _outlive(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked.get("ends", "normal") == "normal":
        turn["left"].update({name: file for name, file in turn["files"].items() if "tmp_weight_" in name})


# files.external_weight.cleanup
turns("weights_outlive_the_program", "the directory of weights is deleted with the model", _outlive)


def _in_current(files: Files, asked: Mapping[str, Any]) -> Files:
    env = asked.get("env", {})
    work = env.get("ASCEND_WORK_PATH", "").strip("/")
    if plain(asked["values"].get("op_debug_level")) not in (None, 0) or not env.get("NPU_COLLECT_PATH") or not work:
        return files
    start = f"{work}/kernel_meta/"
    return {name[len(work) + 1 :] if name.startswith(start) else name: file for name, file in files.items()}


# runconfig.op_debug_level.0_npu_collect
leaves(
    "collected_kernels_lie_in_the_current_path_anyway",
    "if ASCEND_WORK_PATH is set, kernel_meta is generated there",
    _in_current,
)


# Runs


def _of_device_0(files: Files, params: Params) -> Files:
    return {re.sub(r"(extra-info/data-dump/)\d+/", r"\g<1>0/", name): file for name, file in files.items()}


# runconfig.enable_exception_dump.2.dir
left(
    "exceptions_of_every_device_lie_under_0",
    "lite dumps are stored in extra-info/data-dump/<device_id>",
    _of_device_0,
    "run",
)


def _uncollected(params: Params) -> Params:
    if value_of(params, "enable_exception_dump") != 0 or "NPU_COLLECT_PATH" not in params.get("env", {}):
        return params
    return {**params, "env": {k: v for k, v in params["env"].items() if k != "NPU_COLLECT_PATH"}}


# runconfig.enable_exception_dump.npu_collect_forces_1
asks(
    "a_collect_path_dumps_nothing_where_dumps_are_off",
    "NPU_COLLECT_PATH dumps whatever the value of enable_exception_dump",
    "run",
    _uncollected,
)


def _shorter(params: Params, told: Any) -> Any:
    def edit(match: Any) -> str:
        first, last = int(match.group(1)), int(match.group(2))
        return match.group(0) if last <= first else f"{first}-{last - 1}" if first < last - 1 else str(first)

    return re.sub(r"(\d+)-(\d+)", edit, told) if isinstance(told, str) else told


# session.dump_step.range
reads_as(
    "a_range_of_dump_step_ends_before_its_last",
    "3-5 are the steps 3, 4 and 5",
    "dump_step",
    _shorter,
    "run",
    "options",
)


# session.dynamic_dims.only_profiles
@broken("run", "only the shapes of the profiles are supported")
def shapes_of_no_profile_run_all_the_same(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or not given(params, "dynamic_dims"):
            raise
        return dict(ask(with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None)))


def _below(params: Params, told: Any) -> Any:
    def edit(match: Any) -> str:
        low, high = int(match.group(1)), int(match.group(2))
        return match.group(0) if high <= low else f"{low}~{high - 1}"

    return re.sub(r"(\d+)~(\d+)", edit, told) if isinstance(told, str) else told


# session.dynamic_inputs_shape_range.range_tilde, runconfig.dynamic_inputs_shape_range.dims
reads_as(
    "the_end_of_a_range_of_sizes_is_outside",
    "3~5 are the sizes from 3 to 5",
    "dynamic_inputs_shape_range",
    _below,
    "run",
)


def _first_indices(params: Params) -> Params:
    """The request with every index 0, as where nobody looks what is read instead."""
    readers = {
        source_of(node.inputs[0 if node.op == "ScatterNd" else 1])
        for node in load_graph(params["graph"]).nodes
        if re.search("Gather|Scatter|Segment", node.op) and len(node.inputs) > 1
    }

    def change(graph: Any) -> None:
        for node in graph.node:
            tensor = node.attr["value"].tensor if node.op == "Const" and node.name in readers else None
            if tensor is None or tensor.dtype not in (3, 9) or not tensor.tensor_shape.dim:
                continue
            tensor.tensor_content = b""
            values = tensor.int_val if tensor.dtype == 3 else tensor.int64_val
            del values[:]
            values.append(0)

    feeds = dict(params.get("feeds") or {})
    for name, one in feeds.items():
        if source_of(name) in readers and isinstance(one, dict) and "b64" in one:
            feeds[name] = {**one, "b64": base64.b64encode(bytes(len(base64.b64decode(one["b64"])))).decode()}
    return {**regraphed(params, change), "feeds": feeds}


# runconfig.op_precision_mode.support_out_of_bound_index
@broken("run", "support_out_of_bound_index verifies the indices of gather, scatter and segment operators")
def indices_out_of_bounds_are_never_verified(ask: Any, params: Params) -> Answer:
    if "graph" not in params or "support_out_of_bound_index" not in text_of(params, "op_precision_mode"):
        return dict(ask(params))
    try:
        found = dict(ask(params))
    except NpuError as error:
        if error.code != "RUN_FAILED":
            raise
        found = {"failed": {}}
    return dict(ask(_first_indices(params))) if "failed" in found else found


def _first_device(answer: Answer, params: Params) -> None:
    for told in [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]:
        trace = told.get("trace") or []
        for one in trace:
            if one.get("engine") and trace[0].get("engine"):
                one["device"] = trace[0].get("device")


# session.session_device_id.per_session
changed(
    "run",
    "a_second_session_runs_on_the_device_of_the_first",
    "sessions of one script run on the devices that each names",
    _first_device,
)


def _unmatched(text: str) -> str:
    return re.sub(r"(?m)^.*parameter_map\[.iterations_per_loop.\]\.i\s*=.*\n", "", text)


# session.iterations_per_loop.must_match
asks(
    "iterations_of_the_map_are_not_held_against_the_loop",
    "the value has to be that of set_iteration_per_loop",
    "run",
    lambda params: rescripted(params, _unmatched),
)


def _own_data(text: str) -> str:
    text = re.sub(r"(?m)^.*parameter_map\[.local_(rank_id|device_list).\].*\n", "", text)
    return re.sub(r"local_(rank_id|device_list)=(\"[^\"]*\"|'[^']*'|[\w.]+(\(\))?),?\s*", "", text)


# session.local_rank_id.others_receive, runconfig.local_rank_id.shared_preproc
asks(
    "every_rank_reads_a_dataset_of_its_own",
    "other processes receive the data of the main process",
    "run",
    lambda params: rescripted(params, _own_data),
)


def _beside(files: Files, params: Params) -> Files:
    work = params.get("env", {}).get("ASCEND_WORK_PATH", "").strip("/")
    start = f"{work}/extra-info/"
    return {name[len(work) + 1 :] if work and name.startswith(start) else name: one for name, one in files.items()}


# runconfig.enable_exception_dump.2.work_path
left(
    "lite_dumps_ignore_the_work_path",
    "with ASCEND_WORK_PATH lite dumps are stored below it",
    _beside,
    "run",
)

# session.profiling_options.task_trace.junk_is_off
reads_as(
    "any_word_but_off_traces_tasks",
    "any value of task_trace but on and off is off",
    "profiling_options",
    _profiling(
        lambda found: {k: "on" if k == "task_trace" and v not in ("on", "off") else v for k, v in found.items()}
    ),
    "run",
    "options",
)


# session.dump_mode.all, session.dump_mode.scope
reads_as(
    "an_inference_dumps_outputs_where_all_is_asked",
    "dump_mode all dumps inputs and outputs, in training and in online inference",
    "dump_mode",
    lambda params, told: "output" if told == "all" and in_inference(params) else told,
    "run",
)
