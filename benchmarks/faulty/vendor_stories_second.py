"""What an engineer gets wrong who wrote a backend of his own, a second time: whole mistakes of an implementation.

Zeros taken for nothing, texts compared as texts, sets that lose an order, searches that share what they have seen,
a loop that breaks where it ought to go on, one of two sources, a recursion that stops at the first body. Written from
the documents without a look at cases, laws or graphs of the suite. A comment at each names a requirement it breaks.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Set, Tuple

from faulty.making import (
    Answer,
    Files,
    Params,
    asks,
    behind,
    broken,
    changed,
    decoded,
    denies,
    encoded,
    facets,
    given,
    graph_of,
    is_about,
    is_mixed,
    leaves,
    misreads,
    ops_of,
    plain,
    reads_as,
    regraphed,
    source_of,
    steps,
    tells,
    texts,
    to_device,
    to_host,
    told_value,
    turn_values,
    value_is,
    value_of,
    with_env,
    with_pairs,
    with_settings,
    with_values,
)
from npu_reference.errors import NpuError

_HALF, _FLOAT = "float16", "float32"
_GIGA = 2**30
_EVERYWHERE = ("options", "partition", "precision", "timeline", "compile")


# Options


@broken(  # session.memory.sum_with_defaults
    "options", "002 graph_memory_max_size: 31G together at most; 26GB and 5GB where one is not set"
)
def memory_is_added_only_where_both_sizes_are_given(ask: Any, params: Params) -> Answer:
    names = ("graph_memory_max_size", "variable_memory_max_size")
    told = [name for name in names if given(params, name)]
    try:
        return dict(ask(params))
    except NpuError as error:
        text = str(value_of(params, told[0])) if len(told) == 1 else ""
        if error.subject not in names or not text.isdigit() or int(text) > 256 * _GIGA:
            raise
        answer = dict(ask(with_values(params, **{told[0]: None})))
        told_value(answer, told[0], value_of(params, told[0]), "given")
        answer.get("meaning", {})[told[0]] = int(text)
        answer["directives"]["memory"][told[0].split("_")[0] + "_bytes"] = int(text)
        return answer


def _ends_before_it_begins(params: Params) -> bool:
    config = value_of(params, "dump_config")
    inner = config.get("arguments", {}).get("dump_step") if isinstance(config, dict) else None
    text = value_of(params, "dump_step") or inner
    return isinstance(text, str) and any(a > b for a, b in re.findall(r"(\d+)-(\d+)", text))


denies(  # session.dump_step.range
    "ends_of_a_range_of_steps_are_compared_as_texts",
    "002 dump_step: a range of iterations, such as 3-5",
    "dump_step",
    _ends_before_it_begins,
)


def _default_is_nothing(params: Params) -> Params:
    if value_is(params, "hccl_timeout", 1836) and params.get("env", {}).get("HCCL_EXEC_TIMEOUT"):
        return with_values(params, hccl_timeout=None)
    return params


asks(  # runconfig.hccl_timeout.over_env
    "a_timeout_that_is_the_default_counts_as_not_given",
    "003 hccl_timeout: if both are configured, hccl_timeout is used",
    "options",
    _default_is_nothing,
    "options",
    "timeline",
)


def _zero_is_nothing(params: Params) -> Params:
    told = value_of(params, "session_device_id")
    if told == 0 and told is not False and params.get("env", {}).get("ASCEND_DEVICE_ID"):
        return with_values(params, session_device_id=None)
    return params


asks(  # runconfig.session_device_id.over_env, session.session_device_id.over_env
    "device_zero_counts_as_not_given",
    "002, 003 session_device_id: takes precedence over ASCEND_DEVICE_ID",
    "options",
    _zero_is_nothing,
    "options",
    "timeline",
)


def _engines(text: Any) -> List[Tuple[str, str]]:
    return re.findall(r"(\w+)\s*:\s*(\d+)", text) if isinstance(text, str) else []


def _by_position(params: Params, told: Any) -> Any:
    found = _engines(told)
    if len(found) != 2 or found[0][0] not in ("DNN_V100", "AIcoreEngine"):
        return None
    return f"{found[1][0]}:{found[0][1]},{found[0][0]}:{found[1][1]}"


reads_as(  # session.stream_max_parallel_num.engine_aicpu, session.stream_max_parallel_num.engine_aicore
    "parallelism_is_read_by_position",
    "002, 003 stream_max_parallel_num: each number is that of the engine that is named before it",
    "stream_max_parallel_num",
    _by_position,
    "options",
    "timeline",
)


def _one_for_both(params: Params, told: Any) -> Any:
    found = _engines(told)
    pairs = {"DNN_VM_TF": "DNN_V100", "DNN_VM_AICPU": "AIcoreEngine"}
    pairs.update({core: cpu for cpu, core in pairs.items()})
    if len(found) != 1 or found[0][0] not in pairs:
        return None
    other = pairs[found[0][0]]
    return f"{told},{other}:{min(int(found[0][1]), 3 if other == 'DNN_V100' else 32)}"


reads_as(  # session.stream_max_parallel_num.partial
    "one_parallelism_is_that_of_both_engines",
    "002, 003 stream_max_parallel_num: an engine's parallelism is 1 by default",
    "stream_max_parallel_num",
    _one_for_both,
    "options",
    "timeline",
)


@broken(  # files.aoe_cfg.deeper_opat_needs_2, files.aoe_cfg.nonhomo_split_needs_1
    "options", "003 aoe_config_file: deeper_opat needs aoe_mode 2, nonhomo_split needs aoe_mode 1"
)
def only_the_first_feature_of_tuning_is_checked(ask: Any, params: Params) -> Answer:
    seen: List[Any] = []

    def first(text: str) -> str:
        try:
            found = json.loads(text)
            seen.append(list(found["feature"]))
            return json.dumps({**found, "feature": found["feature"][:1]})
        except (ValueError, KeyError, TypeError):
            return text

    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "aoe_config_file":
            raise
        answer = dict(ask(texts(params, "aoe_config_file", first)))
        if seen:
            answer["meaning"]["aoe_config_file"]["feature"] = seen[0]
        return answer


def _lowered(params: Params, told: Any) -> Any:
    if not isinstance(told, str):
        return None
    return re.sub(r'("(?:task_trace|aicpu)"\s*:\s*)"[oO][nN]"', r'\1"on"', told)


reads_as(  # session.profiling_options.task_trace.junk_is_off, session.profiling_options.aicpu.junk_is_off
    "switches_of_profiling_are_read_in_any_case",
    "002 profiling_options: anything but on and off is handled as off",
    "profiling_options",
    _lowered,
    "options",
    "timeline",
)


def _begins_with_memory(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("profiling_options")
    if isinstance(found, dict) and found.get("aic_metrics") == "MemoryL0":
        found["aic_metrics"] = "Memory"


tells(  # session.profiling_options.aic_metrics.MemoryL0
    "metrics_are_looked_up_by_how_they_begin",
    "002 profiling_options: MemoryL0 is the internal memory, Memory the external one",
    _begins_with_memory,
)


@broken(  # runconfig.fusion_switch_file.charset, runconfig.op_compiler_cache_dir.charset
    "options", "003 fusion_switch_file, op_compiler_cache_dir: letters, digits, underscores, hyphens and periods"
)
def letters_of_a_path_are_those_of_unicode(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, error.subject) if error.subject in params["values"] else None
        wanted = error.subject in ("fusion_switch_file", "op_compiler_cache_dir") and is_about(params, "runconfig")
        if not wanted or not isinstance(told, str) or not re.fullmatch(r"[\w\-./]+", told):
            raise
        plainer = re.sub(r"[^\x00-\x7f]", "u", told)
        files = {name.replace(told, plainer): text for name, text in params.get("files", {}).items()}
        answer = dict(ask({**with_values(params, **{error.subject: plainer}), "files": files}))
        told_value(answer, error.subject, told)
        return answer


def _hyphens_in_names(params: Params) -> bool:
    told, profiles = value_of(params, "input_shape"), value_of(params, "dynamic_dims")
    if not isinstance(told, str) or not isinstance(profiles, str):
        return False
    return any(len(one.split(",")) != told.count("-1") for one in profiles.strip(";").split(";"))


denies(  # session.dynamic_dims.count
    "dynamic_dimensions_are_counted_in_the_whole_text",
    "002 dynamic_dims: as many sizes as input_shape has -1 among its dimensions",
    "dynamic_dims",
    _hyphens_in_names,
)


def _as_a_set(params: Params, told: Any) -> Any:
    if not isinstance(told, str) or not re.fullmatch(r"[\d,; ]+", told):
        return None
    try:
        profiles = sorted({tuple(int(size) for size in one.split(",")) for one in told.split(";")})
    except ValueError:
        return None
    return ";".join(",".join(str(size) for size in one) for one in profiles)


reads_as(  # session.dynamic_dims.order, session.dynamic_dims.example.profile0
    "profiles_are_kept_in_a_set_that_sorts",
    "002 dynamic_dims: profile 0 is the first one written",
    "dynamic_dims",
    _as_a_set,
    "options",
    "timeline",
)


def _any_case(params: Params) -> Params:
    if not is_about(params, "session"):
        return params
    known = facets(params)
    values: Dict[str, Any] = {}
    for name, told in params["values"].items():
        lower = name.lower()
        values[lower if name not in known and lower in known and lower not in params["values"] else name] = told
    return {**params, "values": values}


asks(  # session.table.unlisted_reserved
    "keys_of_a_session_are_read_in_any_case",
    "002: what the table does not list is reserved, and nobody's concern",
    "options",
    _any_case,
    *_EVERYWHERE,
)


@broken(  # runconfig.stream_sync_timeout.gt_hccl
    "options", "003 stream_sync_timeout: greater than hccl_timeout or the value of HCCL_EXEC_TIMEOUT"
)
def the_wait_for_a_stream_is_not_compared_with_the_environment(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, "stream_sync_timeout")
        alone = error.subject == "stream_sync_timeout" and not given(params, "hccl_timeout")
        if not alone or not isinstance(told, int) or told <= 1836 * 1000:
            raise
        answer = dict(ask(with_values(params, stream_sync_timeout=None)))
        told_value(answer, "stream_sync_timeout", told, "given")
        answer["directives"]["timeouts"]["stream_sync_milliseconds"] = told
        return answer


def _three_of_four(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("optypelist_for_implmode")
    if isinstance(found, list) and "ROIAlign" in found:
        found.remove("ROIAlign")
        answer["directives"]["implementation"]["type"].pop("ROIAlign", None)
        answer["warnings"].append({"option": "optypelist_for_implmode", "code": "part_ignored"})


tells(  # session.optypelist_for_implmode.domain, runconfig.optypelist_for_implmode.list
    "the_table_of_modes_lacks_its_last_type",
    "002, 003 optypelist_for_implmode: Pooling, SoftmaxV2, LRN and ROIAlign",
    _three_of_four,
)


def _digits(params: Params, told: Any) -> Any:
    return ",".join(re.findall(r"\d", told)) if isinstance(told, str) and re.fullmatch(r"\d+(,\d+)*", told) else None


reads_as(  # session.local_device_list.grammar, runconfig.local_device_list.pair
    "a_list_of_devices_is_read_digit_by_digit",
    "002, 003 local_device_list: the devices, separated by commas",
    "local_device_list",
    _digits,
    "options",
    "timeline",
)


# Partition


def _functions_to_device(answer: Answer, ops: Iterable[str], deep: bool) -> Any:
    """The calls of bodies that hold what the device lacks; with `deep` only those where it is in a body of a body."""
    moved = []
    for one in answer["host"]:
        why = (one.get("witness") or [{}])[0].get("why", "")
        if one.get("reason") == "FUNCTION" and one.get("op") in ops and (not deep or why.count(" -> ") > 2):
            moved.append(one["node"])
    return to_device(copy.deepcopy(answer), moved) if moved else None


def _whatever_is_asked(params: Params) -> bool:
    return params.get("policy") != "adapter"


changed(  # mixed.purpose.host_fallback
    "partition",
    "bodies_of_a_case_are_not_looked_into",
    "000: unsupported operators remain on the host",
    lambda answer, params: (
        _functions_to_device(answer, ("Case", "StatelessCase"), False) if _whatever_is_asked(params) else None
    ),
)
changed(  # mixed.purpose.host_fallback
    "partition",
    "only_the_first_body_is_looked_into",
    "000: unsupported operators remain on the host",
    lambda answer, params: (
        _functions_to_device(
            answer,
            ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile", "Case"),
            True,
        )
        if _whatever_is_asked(params)
        else None
    ),
)


def _entries(params: Params) -> List[Tuple[List[str], List[str]]]:
    text = value_of(params, "in_out_pair")
    if not isinstance(text, str) or params.get("policy") == "adapter" or not is_mixed(params):
        return []
    try:
        found = json.loads(text.replace("'", '"'))
        return [(list(ins), list(outs)) for ins, outs in found]
    except (ValueError, TypeError):
        return []


def _edges(params: Params) -> Tuple[Dict[str, List[str]], Dict[str, List[str]]]:
    forward: Dict[str, List[str]] = {}
    back: Dict[str, List[str]] = {}
    for node in graph_of(params).nodes:
        for text in node.inputs:
            forward.setdefault(source_of(text), []).append(node.name)
            back.setdefault(node.name, []).append(source_of(text))
    return forward, back


def _range(params: Params, entry: Tuple[Sequence[str], Sequence[str]], stops: bool = False) -> Set[str]:
    """What lies on the paths of an entry; with `stops` on those that go through no out node."""
    forward, back = _edges(params)
    ins, outs = entry
    cut = {name: readers for name, readers in forward.items() if not stops or name not in outs}
    reached = set(ins) | behind(ins, cut)
    return reached & (set(outs) | behind(outs, back))


def _not_in_range(answer: Answer, params: Params, lost: Iterable[str]) -> Any:
    names = set(lost)
    if not names:
        return None
    if value_is(params, "in_out_pair_flag", False):
        return to_device(copy.deepcopy(answer), [one["node"] for one in answer["host"] if one["node"] in names])
    return to_host(answer, names)


def _seen_before(answer: Answer, params: Params) -> Any:
    entries = _entries(params)
    forward = _edges(params)[0] if len(entries) > 1 else {}
    seen: Set[str] = set()
    kept: Set[str] = set()
    every: Set[str] = set()
    for entry in entries:
        found = _range(params, entry)
        every |= found
        kept |= found - seen
        seen |= set(entry[0]) | behind(entry[0], forward)
    return _not_in_range(answer, params, every - kept)


changed(  # in_out_pair.multi_entry
    "partition",
    "entries_share_what_the_search_has_visited",
    "001 in_out_pair: all operators in the range of in_nodes and out_nodes, of every entry",
    _seen_before,
)


def _last_entry(params: Params) -> Params:
    if value_is(params, "in_out_pair_flag", False) and len(_entries(params)) > 1:
        return with_pairs(params, lambda found: found[-1:])
    return params


asks(  # in_out_pair.multi_entry, in_out_pair.flag_false.host
    "of_ranges_kept_on_the_host_the_last_one_counts",
    "001 in_out_pair: all operators in the range stay in the frontend, of every entry",
    "partition",
    _last_entry,
    "partition",
)


def _first_out_node(answer: Answer, params: Params) -> Any:
    entries = _entries(params)
    every: Set[str] = set()
    kept: Set[str] = set()
    for entry in entries:
        every |= _range(params, entry)
        kept |= _range(params, entry, True)
    return _not_in_range(answer, params, every - kept)


changed(  # in_out_pair.multi_out, in_out_pair.range_all
    "partition",
    "a_range_ends_at_the_first_out_node",
    "001 in_out_pair: all operators in the range of in_nodes and out_nodes",
    _first_out_node,
)


def _by_beginning(params: Params) -> Params:
    if not _entries(params):
        return params
    names = [node.name for node in graph_of(params).nodes]

    def whole(name: str) -> str:
        return name if name in names else next((one for one in names if one.startswith(name)), name)

    return with_pairs(params, lambda found: [[[whole(one) for one in side] for side in entry] for entry in found])


asks(  # in_out_pair.truncated_names_not_prefixes
    "names_of_ranges_are_found_by_how_they_begin",
    "002 in_out_pair: the names of the first and last operators",
    "partition",
    _by_beginning,
    "partition",
)


def _without_gradients(graph: Any) -> None:
    for node in graph.node:
        if node.op == "FusedBatchNormGradV3":
            for place, text in enumerate(node.input):
                if text.endswith(":5"):
                    node.input[place] = text[:-1] + "4"


asks(  # mixed.fused_bn_v3.fifth_output
    "gradients_do_not_count_as_readers_of_the_fifth_output",
    "000: the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    "partition",
    lambda params: regraphed(params, _without_gradients) if is_mixed(params) else params,
    "partition",
)


@broken(  # mixed.partition.geop_acyclic, mixed.partition.order_preserved
    "partition", "000: the entire graph is partitioned into GEOPs, with the host's operators between them"
)
def what_only_waits_for_the_host_is_not_seen_to_reach_it(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    if not is_mixed(params):
        return answer
    host = {one["node"] for one in answer["host"]}
    back: Set[Tuple[str, str]] = set()

    def drop(graph: Any) -> None:
        for node in graph.node:
            for text in list(node.input):
                edge = (text[1:], node.name)
                if text.startswith("^") and edge not in back and (text[1:] in host) != (node.name in host):
                    node.input.remove(text)

    before = {node.name for node in graph_of(params).nodes}
    for _ in range(8):
        found = regraphed(params, drop)
        lost = before - {node.name for node in graph_of(found).nodes}
        if not lost:
            return dict(ask(found))
        more = {(text[1:], node.name) for node in graph_of(params).nodes for text in node.inputs if text[1:] in lost}
        if more <= back:
            break
        back |= more
    return answer


def _sinks(answer: Answer, params: Params) -> None:
    if params.get("policy") == "adapter":
        return
    ops = ops_of(params)
    for geop in answer["geops"]:
        read = {
            source_of(text)
            for name in geop["nodes"]
            for text in getattr(ops.get(name), "inputs", ())
            if not text.startswith("^")
        }
        geop["rets"] = [ret for ret in geop["rets"] if re.sub(r"_\d+_retval$", "", ret) not in read]


changed(  # mixed.transfer.memcpy, mixed.transfer.only_boundaries
    "partition",
    "only_what_nothing_inside_reads_is_returned",
    "000: data for unoffloadable operators is transferred by memcpy",
    _sinks,
)


def _bodies_unmarked(graph: Any) -> None:
    for function in graph.library.function:
        for node in function.node_def:
            if "_without_npu_compile" in node.attr:
                del node.attr["_without_npu_compile"]


asks(  # mixed.scope.without_npu_compile.adds
    "the_scope_of_the_host_is_not_seen_in_functions",
    "000: additional operators that are not offloaded are configured by without_npu_compile_scope",
    "partition",
    lambda params: regraphed(params, _bodies_unmarked) if is_mixed(params) else params,
    "partition",
)


# Precision


def _sorted_dtypes(text: str) -> str:
    def edit(found: Any) -> str:
        names = [one.strip() for one in found.group(2).split(",") if one.strip()]
        return str(found.group(1)) + ",".join(sorted(names)) + ("," if found.group(2).rstrip().endswith(",") else "")

    return re.sub(r"((?:In|Out)putDtype:)([a-z0-9, ]+)", edit, text)


misreads(  # files.customize_dtypes.multi_dtypes
    "precision",
    "dtypes_that_are_demanded_are_kept_in_a_set",
    "003 customize_dtypes: InputDtype:dtype1,dtype2,..., one for each input",
    "customize_dtypes",
    _sorted_dtypes,
    "options",
    "precision",
    "timeline",
)


def _lower_keys(text: str) -> str:
    return re.sub(r"(?m)^([^\[\]=#;\n]+)=", lambda one: one.group(1).lower() + "=", text)


misreads(  # files.op_precision_ini.sections, files.op_precision_ini.flat
    "precision",
    "a_parser_of_ini_files_lowers_the_keys",
    "002, 003 op_precision_mode: operator types and node names as they are",
    "op_precision_mode",
    _lower_keys,
    "options",
    "precision",
    "timeline",
)


@broken(  # runconfig.op_precision_mode.over_implmode, session.op_precision_mode.over_implmode
    "precision", "002, 003 op_precision_mode: where all are specified, only op_precision_mode takes effect"
)
def modes_of_the_file_are_laid_over_those_of_the_options(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    if not given(params, "op_precision_mode", "op_select_implmode"):
        return answer
    below = {one["node"]: one for one in ask(with_values(params, op_precision_mode=None))["nodes"]}
    for node in answer["nodes"]:
        if node.get("impl_mode") is None and node["node"] in below:
            node["impl_mode"] = below[node["node"]].get("impl_mode")
    return answer


_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")


def _is_mixed_precision(params: Params) -> bool:
    return value_is(params, "precision_mode", *_MIXED) or value_is(params, "precision_mode_v2", *_MIXED)


def _one_sweep(answer: Answer, params: Params) -> None:
    if not _is_mixed_precision(params):
        return
    order = {node.name: place for place, node in enumerate(graph_of(params).nodes)}
    ops = ops_of(params)
    wrong: Set[str] = set()
    for node in sorted(answer["nodes"], key=lambda one: order.get(one["node"], 0)):
        op = ops.get(node["node"])
        if op is None or node.get("list") != "graylist" or _HALF not in node["outputs"]:
            continue
        sources = [source_of(text) for text in op.inputs if not text.startswith("^")]
        if any(order.get(one, -1) > order[op.name] or one in wrong for one in sources):
            wrong.add(op.name)
            for side in ("inputs", "outputs"):
                node[side] = [_FLOAT if dtype == _HALF else dtype for dtype in node[side]]


changed(  # precision.s.gray_follow_both_ways, precision.mixlist.gray
    "precision",
    "gray_operators_are_decided_in_one_sweep_of_the_file",
    "003 modify_mixlist: the graylist follows the upstream operator",
    _one_sweep,
)


@broken(  # files.mixlist.current.white_add, files.mixlist.legacy.white_add
    "precision", "002, 003 modify_mixlist: to-add of the white-list moves an operator from the blocklist, too"
)
def an_operator_on_both_lists_is_black(ask: Any, params: Params) -> Answer:
    def emptied(text: str) -> str:
        return re.sub(r'("white-list"\s*:\s*\{[^{}]*?"to-add"\s*:\s*\[)[^\]]*\]', r"\1]", text)

    answer: Answer = ask(params)
    if not given(params, "modify_mixlist"):
        return answer
    below = {one["node"]: one for one in ask(texts(params, "modify_mixlist", emptied))["nodes"]}
    for place, node in enumerate(answer["nodes"]):
        before = below.get(node["node"])
        if before and before.get("list") == "blocklist" and node.get("list") == "trustlist":
            answer["nodes"][place] = before
    return answer


def _no_scope_in_bodies(graph: Any) -> None:
    for function in graph.library.function:
        for node in function.node_def:
            if "_keep_dtype" in node.attr:
                del node.attr["_keep_dtype"]


asks(  # api.keep_dtype_scope, precision.keep_dtype_scope.advice
    "the_scope_that_keeps_dtypes_is_not_seen_in_functions",
    "003 precision_mode: keep_dtype_scope keeps the precision of some operators unchanged",
    "precision",
    lambda params: regraphed(params, _no_scope_in_bodies),
    "precision",
)


@broken(  # files.customize_dtypes.name_with_slash, files.customize_dtypes.by_name
    "precision", "003 customize_dtypes: by the operator's name, such as resnet_v1_50/block1/.../Relu"
)
def operators_to_customize_are_found_by_the_end_of_their_name(ask: Any, params: Params) -> Answer:
    if not given(params, "customize_dtypes"):
        return dict(ask(params))
    names = [node.name for node in graph_of(params).nodes]

    def spread(text: str) -> str:
        lines = text.split("\n")
        told = {line.split("::")[0].strip() for line in lines if "::" in line}
        for line in list(lines):
            name, _, rest = line.partition("::")
            if rest and name.strip() in names and name.strip().lower() != "optype":
                end = name.strip().rsplit("/", 1)[-1]
                same = [one for one in names if one.rsplit("/", 1)[-1] == end and one not in told]
                lines += [f"{one}::{rest}" for one in same]
        return "\n".join(lines)

    return dict(ask(texts(params, "customize_dtypes", spread)))


asks(  # precision.mixlist.context
    "lists_count_with_the_older_option_alone",
    "003 modify_mixlist: mixed precision is enabled by precision_mode_v2 or precision_mode",
    "precision",
    lambda params: (
        with_values(params, modify_mixlist=None)
        if value_is(params, "precision_mode_v2", "mixed_float16") and given(params, "modify_mixlist")
        else params
    ),
    "precision",
    "timeline",
)


def _truthy(params: Params) -> Params:
    if not isinstance(params.get("ops_info"), str):
        return params
    text = re.sub(r'("flag"\s*:\s*)"false"', r'\1"true"', params["ops_info"])
    return {**params, "ops_info": text}


asks(  # precision.g.flag_false, precision.s.flag_false_black
    "a_flag_is_true_when_its_text_is_not_empty",
    '004: precision_reduce "false" forbids precision reduction',
    "precision",
    _truthy,
    "precision",
    "timeline",
    "compile",
)


@broken(  # precision.g.must_keep_conv_error, precision.g.conv_no_fp32
    "precision", "004: float32 is supported neither by Conv2D nor by DepthwiseConv2D; training is interrupted"
)
def the_table_of_convolutions_lacks_the_depthwise_ones(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        kept = value_is(params, "precision_mode", "must_keep_origin_dtype") and is_about(params, edition="legacy")
        if error.code != "PRECISION_NO_KERNEL" or not kept or "Depthwise" not in str(error.subject):
            raise
        return dict(ask(with_values(params, precision_mode="allow_fp32_to_fp16")))


# Time


def _first_large_one(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    copies = [one for one in step.get("transfers", ()) if one.get("direction") == "h2d"]
    order = list(params.get("feeds", ()))
    alone = [name for one in copies if len(one.get("tensors", ())) == 1 for name in one["tensors"]]
    for one in copies:
        names = [name for name in one.get("tensors", ()) if name in order]
        if len(names) < 2 or len(names) != len(one["tensors"]):
            continue
        large = [order.index(name) for name in alone if name in order]
        late = [name for name in names if large and order.index(name) > min(large)]
        kept = [name for name in names if name not in late]
        for name in late if kept else late[1:]:
            share = one["bytes"] // len(names)
            step["transfers"].append({**one, "tensors": [name], "bytes": share})
            one["tensors"] = [other for other in one["tensors"] if other != name]
            one["bytes"] -= share


steps(  # runconfig.input_fusion_size.example_100kb, runconfig.input_fusion_size.le_fused
    "fusing_of_inputs_ends_at_the_first_large_one",
    "003 input_fusion_size: the four inputs up to the threshold are fused, whatever lies between them",
    _first_large_one,
)


def _fits_a_profile(params: Params) -> bool:
    """Whether the sizes asked for are at most those of some profile."""
    shapes = {source_of(name): sizes for name, sizes in params.get("shapes", {}).items()}
    asked: List[int] = []
    for part in str(value_of(params, "input_shape")).split(";"):
        name, _, sizes = part.rpartition(":")
        given_sizes = shapes.get(name, [])
        for place, size in enumerate(sizes.split(",")):
            if size.strip() == "-1":
                if place >= len(given_sizes):
                    return False
                asked.append(given_sizes[place])
    profiles = [[int(size) for size in one.split(",")] for one in str(value_of(params, "dynamic_dims")).split(";")]
    return any(len(one) == len(asked) and all(a <= b for a, b in zip(asked, one)) for one in profiles)


@broken(  # session.dynamic_dims.only_profiles
    "timeline", "002 dynamic_dims: the shapes that are supported are those of the profiles"
)
def a_shape_below_a_profile_is_padded_to_it(ask: Any, params: Params) -> Answer:
    """Of variants, too: there a step that is refused is told and not raised."""

    def padded(one: Params) -> Params:
        return {name: value for name, value in one.items() if name not in ("shapes", "variants")}

    try:
        answer = dict(ask(params))
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or error.subject != "dynamic_dims" or not _fits_a_profile(params):
            raise
        return dict(ask(padded(params)))
    for name, values in params.get("variants", {}).items():
        one = {**params, "values": {**params["values"], **values}}
        if value_of(one, "dynamic_dims") and "rejected" in answer["variants"][name] and _fits_a_profile(one):
            answer["variants"][name] = ask(padded(one))["base"]
    return answer


def _groups(text: Any) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for part in text.split(";") if isinstance(text, str) else ():
        name, _, ranges = part.partition(":")
        found[name] = re.findall(r"\[[^\]]*\]", ranges)
    return found


def _joined(groups: Mapping[str, Sequence[str]]) -> str:
    return ";".join(f"{name}:{','.join(ranges)}" for name, ranges in groups.items())


def _in_file_order(params: Params) -> Params:
    groups = _groups(value_of(params, "dynamic_inputs_shape_range"))
    if "graph" not in params or not groups.get("data"):
        return params
    names = [node.name for node in graph_of(params).nodes if node.op == "Placeholder"]
    names = names or [node.name for node in graph_of(params).nodes if node.op == "_Arg"]
    names = [name for name in (source_of(feed) for feed in params.get("feeds", ())) if name] or names
    if len(names) != len(groups["data"]) or names == sorted(names):
        return params
    groups["data"] = [groups["data"][names.index(name)] for name in sorted(names)]
    return with_values(params, dynamic_inputs_shape_range=_joined(groups))


asks(  # runconfig.dynamic_inputs_shape_range.order_named, session.dynamic_inputs_shape_range.order_named
    "ranges_of_named_inputs_are_taken_in_the_scripts_order",
    "003 dynamic_inputs_shape_range: the inputs are in the alphabetical order of the name fields",
    "timeline",
    _in_file_order,
    "timeline",
    "compile",
)


def _raw_seconds(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    told, ended = plain(values.get("hccl_timeout")), step.get("rejected", {})
    late = ended.get("subject") == "hccl_timeout" and "after_ns" in ended and is_about(params, edition="current")
    if late and isinstance(told, int):
        ended["after_ns"] += (told - max(68, told // 68 * 68)) * 10**9


steps(  # runconfig.hccl_timeout.quantize, runconfig.hccl_timeout.floor68
    "the_device_is_handed_the_timeout_as_it_was_written",
    "003 hccl_timeout: the actual timeout interval is value // 68 x 68, and 68 at least",
    _raw_seconds,
)


def _beside_in_static_graphs(params: Params) -> Params:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        dynamic = plain(values.get("dynamic_input")) or plain(values.get("compile_dynamic_mode"))
        if plain(values.get("ac_parallel_enable")) != "1" or dynamic or plain(values.get("stream_max_parallel_num")):
            return values
        return {**values, "stream_max_parallel_num": "DNN_VM_AICPU:2,AIcoreEngine:1"}

    found: Dict[str, Any] = {**params, "values": change(dict(params["values"]))}
    if "variants" in params:
        found["variants"] = {
            name: change({**params["values"], **values}) for name, values in params["variants"].items()
        }
    return found


asks(  # runconfig.ac_parallel_enable.dynamic_only
    "engines_run_beside_each_other_in_static_graphs_too",
    "003 ac_parallel_enable: in a dynamic shape graph",
    "timeline",
    _beside_in_static_graphs,
    "timeline",
)


def _without_scalars(params: Params, told: Any) -> Any:
    groups = _groups(told)
    if not any("[]" in ranges for ranges in groups.values()):
        return None
    kept = {name: [one for one in ranges if one != "[]"] for name, ranges in groups.items()}
    return _joined({name: ranges for name, ranges in kept.items() if ranges}) or None


reads_as(  # runconfig.dynamic_inputs_shape_range.scalar, session.dynamic_inputs_shape_range.scalar
    "an_empty_range_is_dropped_from_the_list",
    "002, 003 dynamic_inputs_shape_range: scalars have a shape range, too: []",
    "dynamic_inputs_shape_range",
    _without_scalars,
    "options",
    "timeline",
)


# Compilation, files and the library


_KEPT = ("op_select_implmode", "optypelist_for_implmode", "op_precision_mode")


@broken(  # runconfig.op_compiler_cache_mode.enable, session.op_compiler_cache_mode.enable
    "artifacts", "003 op_compiler_cache_mode: reused by operators with the same compilation options", "compile"
)
def the_key_of_the_cache_lacks_the_implementation_mode(ask: Any, params: Params) -> Answer:
    if not params.get("turns"):
        return dict(ask(params))
    first = {**params["values"], **(params["turns"][0].get("values") or {})}
    pinned = {name: first.get(name) for name in _KEPT}
    turns = [params["turns"][0]]
    for one in params["turns"][1:]:
        values = dict(one.get("values") or {})
        values.update({name: pinned[name] for name in _KEPT if name in values})
        turns.append({**one, "values": values})
    return dict(ask({**params, "turns": turns}))


def _each_by_itself(text: str) -> str:
    size = re.search(r"(?m)^\s*max_op_cache_size\s*=\s*(-?\d+)\s*$", text)
    ratio = re.search(r"(?m)^(\s*remain_cache_size_ratio\s*=\s*)(\S*)\s*$", text)
    if not size or not ratio or not (int(size.group(1)) > 0 or int(size.group(1)) == -1):
        return text
    if ratio.group(2).isdigit() and 1 <= int(ratio.group(2)) <= 100:
        return text
    return text[: ratio.start()] + ratio.group(1) + "50" + text[ratio.end() :]


asks(  # files.op_cache_ini.both_valid
    "a_wrong_ratio_leaves_the_size_of_the_file_in_effect",
    "003 op_cache.ini takes effect only when both values are valid",
    "artifacts",
    lambda params: with_settings(params, _each_by_itself),
    "options",
    "compile",
)


def _turned(text: str) -> str:
    return str(100 - int(text)) if text.isdigit() and 1 <= int(text) <= 99 else text


def _gone_instead_of_kept(params: Params) -> Params:
    def edit(text: str) -> str:
        return re.sub(
            r"(?m)^(\s*remain_cache_size_ratio\s*=\s*)(\d+)\s*$", lambda one: one.group(1) + _turned(one.group(2)), text
        )

    def ratio(env: Dict[str, str]) -> Dict[str, str]:
        name = "ASCEND_REMAIN_CACHE_SIZE_RATIO"
        return {**env, name: _turned(env[name])} if name in env else env

    return with_env(with_settings(params, edit), ratio)


asks(  # files.op_cache_ini.ratio_semantics
    "the_ratio_that_stays_is_taken_for_what_goes",
    "003 remain_cache_size_ratio: 80 indicates that 80% of the cache files are reserved",
    "artifacts",
    _gone_instead_of_kept,
    "compile",
)


def _level_alone(values: Dict[str, Any]) -> Dict[str, Any]:
    if plain(values.get("op_debug_config")) is None or plain(values.get("op_debug_level")):
        return values
    return {name: value for name, value in values.items() if name != "debug_dir"}


turn_values(  # runconfig.op_debug_config.debug_dir, runconfig.debug_dir.priority
    "the_directory_of_debug_files_counts_with_the_level_alone",
    "003 op_debug_config: with dump_cce or dump_loc, debug_dir specifies the path of the files",
    _level_alone,
)


def _one_graph_a_session(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith("fusion_result.json") and "b64" in file:
            told = json.loads(decoded(file))
            last = {key.rsplit("_", 1)[0] + "_0": told[key] for key in told}
            found[name] = encoded(json.dumps(last, indent=4))
    return found


leaves(  # files.fusion_result.keys
    "fusion_results_of_a_session_have_one_key",
    "003 export_compile_stat: session_and_graph_id_xx_xx, the graph to which the result belongs",
    _one_graph_a_session,
)


@broken(  # files.op_debug_cfg.list.effect, files.op_debug_cfg.list.entries
    "artifacts", "003 op_debug_list: only the operators specified in the list are compiled so", "compile"
)
def operators_to_debug_are_found_by_a_part_of_their_name(ask: Any, params: Params) -> Answer:
    names = [node.name for node in graph_of(params).nodes]

    def spread(text: str) -> str:
        found = re.search(r"(?m)^(\s*op_debug_list\s*=\s*)(.*)$", text)
        if not found:
            return text
        told = [one.strip() for one in found.group(2).split(",") if one.strip()]
        more = [name for name in names for one in told if ":" not in one and one in name and name not in told]
        return text[: found.start()] + found.group(1) + ",".join([*told, *dict.fromkeys(more)]) + text[found.end() :]

    answer = dict(ask(texts(params, "op_debug_config", spread)))
    text = value_of(params, "op_debug_config")
    told = params.get("files", {}).get(text) if isinstance(text, str) else None
    for turn in answer["turns"]:
        for key in ("files", "left"):
            if isinstance(told, str) and isinstance(text, str) and text.lstrip("/") in turn.get(key, {}):
                turn[key][text.lstrip("/")] = encoded(told)
    return answer


def _gray_is_written_as_false(answer: Answer, params: Params) -> None:
    for file in answer["files"]:
        told = json.loads(file["text"])
        for entry in told.values():
            entry.setdefault("precision_reduce", {"flag": "false"})
        file["text"] = json.dumps(told, indent=4)


changed(  # precision.s.flag_absent_gray, precision.mixlist.gray
    "artifacts",
    "the_library_writes_false_where_nothing_is_specified",
    "002, 003, 004: not specified is the graylist, false the blocklist",
    _gray_is_written_as_false,
    "library",
)


def _not_twice(files: Files, asked: Mapping[str, Any]) -> Files:
    return {re.sub(r"(^|/)kernel_cache/kernel_cache/", r"\1kernel_cache/", name): file for name, file in files.items()}


leaves(  # files.kernel_cache.example_nested, runconfig.op_compiler_cache_dir.exists
    "no_directory_is_made_below_one_of_its_name",
    "003 op_compiler_cache_dir: the kernel_cache subdirectory is automatically created",
    _not_twice,
)
