"""What an engineer gets wrong who wrote a backend of his own, a third time: whole mistakes of an implementation.

Rules asked of what is given instead of what holds, a limit asked behind the rounding, a reader that takes a place for
a name, combinations taken apart, a recursion that knows one kind of body, one place that forgot an alias. Written from
the documents without a look at cases, laws or graphs of the suite. A comment at each names a requirement it breaks.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from faulty.making import (
    REFERENCE,
    Answer,
    Params,
    all_values,
    asks,
    behind,
    broken,
    changed,
    decoded,
    encoded,
    given,
    graph_of,
    is_about,
    is_mixed,
    mapped,
    ops_of,
    plain,
    readers_of,
    reads_as,
    regraphed,
    source_of,
    texts,
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

_FLOATS = ("float16", "float32")
_COMPILED = ("partition", "precision", "timeline", "compile")
_KERNELS = ("precision", "timeline", "compile")
_EVERYWHERE = ("options", *_COMPILED)


def _misread(ask: Any, params: Params, asked: Params) -> Answer:
    """The answer to a request whose files read otherwise; those files lie there as they were given."""
    answer: Answer = ask(asked)
    pairs = [(params, asked), *zip(params.get("turns") or (), asked.get("turns") or ())]
    for before, after in pairs:
        for name, text in (before.get("files") or {}).items():
            other = (after.get("files") or {}).get(name)
            if not isinstance(text, str) or text == other:
                continue
            for turn in answer.get("turns", ()):
                for key in ("files", "left"):
                    found = turn.get(key, {}).get(name.lstrip("/"), {})
                    if "b64" in found and decoded(found) == other:
                        turn[key][name.lstrip("/")] = encoded(text)
                    elif isinstance(other, str) and found.get("bytes") == len(other.encode()):
                        turn[key][name.lstrip("/")] = {"bytes": len(text.encode())}
    return answer


def _decided(params: Params, **changes: Any) -> Answer:
    """What the reference says of the dtypes of a request for anything; nothing where it refuses."""
    names = ("graph", "surface", "edition", "env", "files", "op_list", "ops_info", "feeds", "fetches")
    asked = {name: params[name] for name in names if name in params}
    try:
        return dict(REFERENCE.precision(with_values({**asked, "values": params["values"]}, **changes)))
    except NpuError:
        return {"nodes": []}


# Options


@broken(  # runconfig.hccl_timeout.range
    "options", "003 hccl_timeout: the value range is (0, 17340]", "options", "timeline"
)
def the_range_of_a_timeout_is_asked_of_its_steps(ask: Any, params: Params) -> Answer:
    """17400 is 255 steps of 68 seconds, as 17340 is."""
    told = value_of(params, "hccl_timeout")
    if isinstance(told, int) and 17340 < told < 17408 and not is_about(params, edition="legacy"):
        return dict(ask(with_values(params, hccl_timeout=17340)))
    return dict(ask(params))


def _raw_variable(params: Params) -> Optional[int]:
    text = str(params.get("env", {}).get("HCCL_EXEC_TIMEOUT", ""))
    if given(params, "hccl_timeout") or is_about(params, edition="legacy") or not text.isdigit():
        return None
    return int(text) if 0 < int(text) <= 17340 else None


@broken(  # env.HCCL_EXEC_TIMEOUT.fallback, runconfig.hccl_timeout.quantize
    "options",
    "003 hccl_timeout: the interval that is set is the value of this environment variable // 68 x 68",
    "options",
    "timeline",
)
def the_variable_of_a_timeout_is_not_counted_in_steps(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    told = _raw_variable(params)
    if told is None:
        return answer
    counted = max(told // 68, 1) * 68
    if "effective" in answer:
        told_value(answer, "hccl_timeout", told)
    if "directives" in answer:
        answer["directives"]["timeouts"]["hccl_seconds"] = told
    for step in (answer.get("base", {}), *answer.get("variants", {}).values()):
        found = step.get("rejected", {})
        if found.get("subject") == "hccl_timeout" and "after_ns" in found:
            found["after_ns"] += (told - counted) * 10**9
    return answer


def _switches(text: Any) -> Dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@broken(  # session.profiling_options.training_trace.only_on
    "options", "002 profiling_options: training_trace has to be on where it is configured", "options"
)
def every_switch_of_a_profile_may_be_anything(ask: Any, params: Params) -> Answer:
    """All switches are read by one reader, which takes what it does not know for off."""
    text = value_of(params, "profiling_options")
    found = _switches(text)
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "profiling_options" or found.get("training_trace", "on") == "on":
            raise
        rest = {name: value for name, value in found.items() if name != "training_trace"}
        answer = dict(ask(with_values(params, profiling_options=json.dumps(rest))))
        told_value(answer, "profiling_options", text)
        answer.get("meaning", {}).get("profiling_options", {})["training_trace"] = "off"
        return answer


def _mode_of_the_variable(params: Params) -> bool:
    return bool(params.get("env", {}).get("AOE_MODE")) and not given(params, "aoe_mode")


@broken(  # files.aoe_cfg.deeper_opat_needs_2, files.aoe_cfg.nonhomo_split_needs_1, env.AOE_MODE.fallback
    "options", "003 aoe_config_file: deeper_opat needs mode 2, nonhomo_split mode 1, whoever sets the mode", "options"
)
def features_are_not_held_against_the_mode_of_the_variable(ask: Any, params: Params) -> Answer:
    seen: List[Any] = []

    def bare(text: str) -> str:
        found = _switches(text)
        if "feature" in found:
            seen.append(found.pop("feature"))
        return json.dumps(found) if seen else text

    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "aoe_config_file" or not _mode_of_the_variable(params):
            raise
        answer = dict(ask(texts(params, "aoe_config_file", bare)))
        if seen and isinstance(answer.get("meaning", {}).get("aoe_config_file"), dict):
            answer["meaning"]["aoe_config_file"]["feature"] = seen[0]
        return answer


@broken(  # runconfig.work_path.precreated, env.AOE_MODE.fallback
    "options", "003 work_path: the directory has to be there before, whoever sets the mode of tuning", "options"
)
def a_work_path_is_looked_for_only_where_the_script_tunes(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        path = value_of(params, "work_path")
        if error.subject != "work_path" or error.code != "OPTION_FILE" or not _mode_of_the_variable(params):
            raise
        files = {name: text for name, text in params.get("files", {}).items() if name.rstrip("/") != path.rstrip("/")}
        return dict(ask({**params, "files": {**files, path.rstrip("/") + "/": ""}}))


def _whole_lines(text: str) -> str:
    return text[: text.rfind("\n") + 1]


@broken(  # files.customize_dtypes.one_per_line, files.op_precision_ini.sections, files.op_debug_cfg.line
    "options", "003: each operator occupies a line, the last one of a file too", *_EVERYWHERE
)
def a_last_line_without_its_end_is_not_read(ask: Any, params: Params) -> Answer:
    asked = params
    for option in ("op_debug_config", "customize_dtypes", "op_precision_mode"):
        asked = texts(asked, option, _whole_lines)
    return _misread(ask, params, asked)


def _by_place(params: Params, told: Any) -> Any:
    groups = re.findall(r"^\s*(\w+)\s*:(.*)$", "\n".join(str(told).split(";")), re.M)
    if [name for name, _ in groups] != ["data", "getnext"]:
        return None
    return f"getnext:{groups[0][1]};data:{groups[1][1]}"


reads_as(  # session.dynamic_inputs_shape_range.keywords, runconfig.dynamic_inputs_shape_range.keywords
    "the_first_ranges_are_those_of_the_dataset",
    "002, 003 dynamic_inputs_shape_range: getnext says which are of the dataset, data which of placeholders",
    "dynamic_inputs_shape_range",
    _by_place,
    "options",
    "timeline",
    "compile",
)


@broken(  # session.dynamic_dims.count
    "options",
    "002 dynamic_dims: a profile has as many values as input_shape has -1",
    "options",
    "timeline",
    "compile",
)
def a_profile_has_a_value_for_each_open_input(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    shapes, dims = (value_of(params, name) for name in ("input_shape", "dynamic_dims"))
    if value_of(params, "graph_run_mode") != 0 or not isinstance(shapes, str) or not isinstance(dims, str):
        return answer
    inputs = sum("-1" in re.split(r"[:,\s]+", one) for one in shapes.split(";"))
    if inputs != shapes.count("-1"):
        raise NpuError("OPTION_CONFLICT", "dynamic_dims", f"each profile needs {inputs} values")
    return answer


@broken(  # session.input_shape.scalar_zero
    "options", "002 input_shape: 0 stands for a scalar", "options"
)
def a_scalar_input_has_one_size_of_zero(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    meaning = answer.get("meaning", {}).get("input_shape", {})
    scalars = [name for name, sizes in meaning.items() if sizes == []]
    for name in scalars:
        meaning[name] = [0]
        for profile in answer.get("directives", {}).get("shapes", {}).values():
            if isinstance(profile, dict) and name in profile:
                profile[name] = [0]
    return answer


def _any_header(text: str) -> str:
    if not re.search(r"(?m)^\s*(max_op_cache_size|remain_cache_size_ratio)\s*=", text):
        return text
    lines = [line for line in text.splitlines() if not line.strip().startswith("[")]
    return "\n".join(["[op_compiler_cache]", *lines]) + "\n"


@broken(  # files.op_cache_ini.section
    "options", "003 op_cache.ini: the header [op_compiler_cache] is required", "options", "compile"
)
def settings_of_the_cache_are_read_below_any_header(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, with_settings(params, _any_header))


@broken(  # runconfig.enable_exception_dump.npu_collect_forces_1
    "options", "003 enable_exception_dump: mode 1 where NPU_COLLECT_PATH is set, whatever its value", "options", "run"
)
def a_dump_that_is_off_stays_off_beside_a_place_to_collect(ask: Any, params: Params) -> Answer:
    if not value_is(params, "enable_exception_dump", 0) or not params.get("env", {}).get("NPU_COLLECT_PATH"):
        return dict(ask(params))
    if "graph" in params or "script" in params:
        return dict(ask({**params, "env": {k: v for k, v in params["env"].items() if k != "NPU_COLLECT_PATH"}}))
    answer = dict(ask(params))
    told_value(answer, "enable_exception_dump", 0, "given")
    return answer


@broken(  # session.graph_memory_max_size.range, session.memory.sum_31g
    "options", "002 graph_memory_max_size: 31G together; the default counts where one is not set", "options"
)
def a_memory_of_nothing_counts_with_its_default(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if not is_about(params, edition="legacy"):
        return answer
    usual = {"graph_memory_max_size": 26 << 30, "variable_memory_max_size": 5 << 30}
    sizes = {name: str(value_of(params, name)) for name in usual}
    if "0" not in sizes.values():
        return answer
    total = sum(int(sizes[name]) or usual[name] if sizes[name].isdigit() else usual[name] for name in usual)
    if total > 31 << 30:
        raise NpuError("OPTION_CONFLICT", "graph_memory_max_size", "more than 31G together")
    return answer


def _names_of_files(params: Params) -> Set[str]:
    return {name for one in (params, *(params.get("turns") or ())) for name in one.get("files") or {}}


asks(  # files.op_cache_ini.both_valid
    "a_file_that_is_not_valid_still_hides_the_variables",
    "003 op_cache.ini takes effect only when its values are valid",
    "options",
    lambda params: (
        with_env(
            params,
            lambda env: {
                name: text
                for name, text in env.items()
                if name not in ("ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_REMAIN_CACHE_SIZE_RATIO")
            },
        )
        if any(name.endswith("op_cache.ini") for name in _names_of_files(params))
        else params
    ),
    "options",
    "compile",
)


def _dump_values(params: Params) -> Mapping[str, Any]:
    config = value_of(params, "dump_config")
    if isinstance(config, dict):
        return dict(config.get("arguments", {}))
    return {name: plain(value) for name, value in params["values"].items()}


@broken(  # session.dump_path.not_a_dir, session.dump_path.absolute
    "options", "002 dump_path: the directory that the value designates", "options"
)
def a_directory_is_not_found_by_a_name_with_a_slash_behind(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    found = _dump_values(params)
    if found.get("enable_dump") is True and str(found.get("dump_path", "")).rstrip("/") + "/" == found.get("dump_path"):
        raise NpuError("OPTION_FILE", "dump_path", "no such directory")
    return answer


@broken(  # runconfig.op_debug_config.O0_oom_exclusive
    "options", "003 op_debug_config: ccec_O0 and oom cannot be enabled at the same time", "options", "compile"
)
def a_forbidden_pair_is_seen_in_one_order(ask: Any, params: Params) -> Answer:
    told: List[List[str]] = []

    def apart(text: str) -> str:
        line = re.search(r"(?m)^(\s*op_debug_config\s*=)(.*)$", text)
        words = [one.strip() for one in line.group(2).split(",")] if line else []
        if not line or not {"oom", "ccec_O0"} <= set(words) or words.index("ccec_O0") < words.index("oom"):
            return text
        told.append(words)
        left = ",".join(one for one in words if one != "ccec_O0")
        return text[: line.start()] + line.group(1) + left + text[line.end() :]

    asked = texts(params, "op_debug_config", apart)
    answer = _misread(ask, params, asked)
    if told and "meaning" in answer:
        answer["meaning"]["op_debug_config"]["op_debug_config"] = told[0]
        answer["directives"]["ccec"] = ["-O0", *answer["directives"]["ccec"]]
    for turn in answer.get("turns", ()) if told else ():
        for kernel in turn.get("kernels", ()):
            if kernel.get("switches"):
                kernel["switches"] = ["-O0", *kernel["switches"]]
    return answer


# Partition


def _called(graph: Any, ops: Sequence[str], attr: str) -> Set[str]:
    """The functions that operators of some kinds name in an attribute."""
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    found: Set[str] = set()
    for node in nodes:
        if node.op in ops and attr in node.attr:
            value = node.attr[attr]
            found |= {value.func.name} if value.HasField("func") else {one.name for one in value.list.func}
    return found


_CALLBACKS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def _unsearched(ops: Sequence[str], attr: str) -> Callable[[Params], Params]:
    """What cannot be offloaded in the bodies that operators name so is taken for constants, which any device has."""

    def change(params: Params) -> Params:
        listed = params.get("op_list")

        def edit(graph: Any) -> None:
            named = _called(graph, ops, attr)
            for function in graph.library.function:
                for node in function.node_def if function.signature.name in named else ():
                    types = [*node.attr["Tout"].list.type] if "Tout" in node.attr else [node.attr["T"].type]
                    known = node.op in listed and not listed[node.op].get("isGray") if listed else True
                    if (node.op not in _CALLBACKS and known) or len(types) != 1 or not types[0]:
                        continue
                    node.op = "Const"
                    del node.input[:]
                    node.attr.clear()
                    node.attr["dtype"].type = types[0]
                    node.attr["value"].tensor.dtype = types[0]
                    node.attr["value"].tensor.tensor_shape.SetInParent()

        return regraphed(params, edit) if is_mixed(params) else params

    return change


asks(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "conditions_of_loops_are_not_searched",
    "000: what cannot be offloaded stays on the host, as does the loop whose condition has it",
    "partition",
    _unsearched(("While", "StatelessWhile"), "cond"),
    *_COMPILED,
)

asks(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "functions_in_a_list_are_not_searched",
    "000: what cannot be offloaded stays on the host, as does the operator one of whose branches has it",
    "partition",
    _unsearched(("Case", "StatelessCase"), "branches"),
    *_COMPILED,
)


def _cut(params: Params) -> Params:
    return with_pairs(params, lambda found: [[[re.sub(r":\d+$", "", one) for one in e] for e in two] for two in found])


asks(  # in_out_pair.names_no_port
    "slots_behind_names_of_a_range_are_cut_off",
    "001 in_out_pair: the names of operators",
    "partition",
    lambda params: _cut(params) if is_mixed(params) else params,
    *_COMPILED,
)


def _unfetched(params: Params) -> Params:
    if not is_mixed(params) or "graph" not in params:
        return params
    ops = ops_of(params)
    fetches = list(params.get("fetches") or ())
    gone = [one for one in fetches if one.endswith(":5") and ops[source_of(one)].op == "FusedBatchNormV3"]
    if not gone or len(gone) == len(fetches):
        return params
    kept = [one for one in fetches if one not in gone]
    kept += [source_of(one) + ":0" for one in gone if source_of(one) + ":0" not in kept]
    return {**params, "fetches": kept}


asks(  # mixed.fused_bn_v3.fifth_output
    "a_fifth_output_that_is_fetched_has_no_reader",
    "000: the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    "partition",
    _unfetched,
    *_COMPILED,
)


@broken(  # mixed.fused_bn_v3.fifth_output
    "partition", "000: the fifth output of FusedBatchNormV3 is the one that is not supported", "partition", "precision"
)
def the_fifth_output_is_the_one_of_slot_four(ask: Any, params: Params) -> Answer:
    if not is_mixed(params):
        return dict(ask(params))
    names = {node.name for node in graph_of(params).nodes if node.op == "FusedBatchNormV3"}

    def turned(text: str) -> str:
        name, _, slot = text.partition(":")
        return f"{name}:{ {'4': '5', '5': '4'}[slot] }" if name in names and slot in ("4", "5") else text

    def swap(graph: Any) -> None:
        for node in graph.node:
            for place, text in enumerate(node.input):
                node.input[place] = turned(text)

    asked = regraphed(params, swap)
    if "fetches" in params:
        asked = {**asked, "fetches": [turned(one) for one in params["fetches"]]}
    answer: Answer = ask(asked)
    for geop in answer.get("geops", ()):
        for key in ("args", "rets"):
            pairs = [re.match(r"(.*)_([45])(_arg|_retval)$", one) for one in geop.get(key, ())]
            for place, found in enumerate(pairs):
                if found and found.group(1) in names:
                    geop[key][place] = f"{found.group(1)}_{'54'[int(found.group(2)) - 4]}{found.group(3)}"
    for border in answer.get("borders", ()):
        border["source"] = turned(border["source"])
    return answer


def _merged(answer: Answer, params: Params) -> Any:
    """Two GEOPs are one where all ways between them pass two operators of the host or more."""
    if params.get("policy") == "adapter" or len(answer["geops"]) < 2:
        return None
    place = {name: k for k, geop in enumerate(answer["geops"]) for name in geop["nodes"]}
    readers = readers_of(params)
    near: Dict[int, Set[str]] = {}
    for k, geop in enumerate(answer["geops"]):
        first = {one for name in geop["nodes"] for one in readers.get(name, ())}
        near[k] = first | {two for one in first if one not in place for two in readers.get(one, ())}
    for a, b in itertools.permutations(range(len(answer["geops"])), 2):
        one, other = answer["geops"][a], answer["geops"][b]
        hosts = {name: [two for two in reads if two not in place] for name, reads in readers.items()}
        way = behind(one["nodes"], hosts) & {source for source in hosts if set(readers[source]) & set(other["nodes"])}
        if way and not near[a] & set(other["nodes"]) and not near[b] & set(one["nodes"]):
            for key in ("nodes", "args", "rets", "copies"):
                if key in one:
                    one[key] = sorted({*one[key], *other[key]})
            answer["geops"].pop(b)
            return None
    return None


changed(  # mixed.partition.geop_acyclic
    "partition",
    "a_way_through_two_operators_of_the_host_is_not_seen",
    "000: the graph is cut where operators of the host lie between",
    _merged,
)


@broken(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "partition", "000: what the device cannot compute stays on the host", "partition", "precision"
)
def texts_are_looked_for_among_outputs_alone(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    if not is_mixed(params):
        return answer
    kinds = ("Equal", "NotEqual", "Shape", "ShapeN", "Size", "Rank")
    host = {one["node"]: one for one in answer.get("host", ())}
    for node in graph_of(params).nodes:
        if node.op not in kinds or getattr(node.attrs.get("T"), "name", "") != "string":
            continue
        if "_without_npu_compile" in node.attrs or node.op not in (params.get("op_list") or kinds):
            continue
        count = sum(not text.startswith("^") for text in node.inputs)
        if node.name in host:
            answer["host"].remove(host[node.name])
            sources = [f"{source_of(text)}_{text.partition(':')[2] or 0}_arg" for text in node.inputs]
            own = {"name": "", "nodes": [node.name], "args": sources, "rets": [f"{node.name}_0_retval"], "copies": []}
            own["name"] = f"GeOp_{len(answer['geops'])}"
            answer["geops"].append(own)
        elif "nodes" in answer and node.name not in {one["node"] for one in answer["nodes"]}:
            outputs = ["bool" if node.op in kinds[:2] else "int32"]
            found = {"node": node.name, "op": node.op, "engine": "vector", "inputs": ["string"] * count}
            answer["nodes"].append({**found, "outputs": outputs, "list": None, "impl_mode": None})
    return answer


asks(  # runconfig.enable_data_pre_proc.true, runconfig.enable_data_pre_proc.default
    "the_iterator_goes_by_what_is_given_alone",
    "003 enable_data_pre_proc: the iterator is offloaded by default",
    "partition",
    lambda params: (
        with_values(params, enable_data_pre_proc=False)
        if is_about(params, "runconfig") and not given(params, "enable_data_pre_proc")
        else params
    ),
    *_COMPILED,
)


def _entries_left(params: Params, change: Callable[[List[Any]], List[Any]]) -> Params:
    """The request with its ranges changed, without those that have no first operators left."""
    kept: List[List[Any]] = []

    def left(found: List[Any]) -> List[Any]:
        kept.append([entry for entry in change(found) if entry[0]])
        return kept[-1]

    asked = with_pairs(params, left)
    return asked if kept and kept[-1] else with_values(params, in_out_pair=None, in_out_pair_flag=None)


def _until_unknown(params: Params) -> Params:
    if not is_mixed(params) or "graph" not in params:
        return params
    known = {node.name for node in graph_of(params).nodes}

    return _entries_left(params, lambda found: [[[*itertools.takewhile(known.__contains__, a)], b] for a, b in found])


asks(  # in_out_pair.unknown_node, in_out_pair.multi_in
    "names_of_a_range_behind_an_unknown_one_are_not_read",
    "001 in_out_pair: the range of all in_nodes; one map serves several graphs",
    "partition",
    _until_unknown,
    *_COMPILED,
)


def _leading_to_all(params: Params) -> Params:
    if not is_mixed(params) or "graph" not in params:
        return params
    readers = readers_of(params)
    known = {node.name for node in graph_of(params).nodes}

    def change(found: List[Any]) -> List[Any]:
        kept = []
        for firsts, lasts in found:
            ends = {name for name in lasts if name in known}
            kept.append([[name for name in firsts if ends <= {name, *behind([name], readers)}], lasts])
        return kept

    return _entries_left(params, change)


asks(  # in_out_pair.multi_in, in_out_pair.multi_out
    "a_first_operator_has_to_lead_to_every_last_one",
    "001 in_out_pair: all operators in the range of in_nodes and out_nodes",
    "partition",
    _leading_to_all,
    *_COMPILED,
)


# Precision


def _product(text: str) -> str:
    """Each kernel has any of the dtypes of each tensor, whatever stands at its position elsewhere."""
    found = _switches(text)
    for op in found.values():
        names = [name for name in op if re.match(r"(input|output)\d+$", name) and "dtype" in op[name]]
        lists = [[one.strip() for one in str(op[name]["dtype"]).split(",")] for name in names]
        if not names or len({len(one) for one in lists}) != 1:
            continue
        rows = list(zip(*lists))
        more = [row for row in itertools.product(*map(dict.fromkeys, lists)) if row not in rows]
        for name, column in zip(names, zip(*rows, *more)):
            op[name]["dtype"] = ",".join(column)
    return json.dumps(found) if found else text


asks(  # precision.cube.order2_fp32_fp32, precision.force_fp16.both_supported
    "dtypes_of_a_kernel_are_taken_apart",
    "003 precision_mode: which dtypes an operator supports; a position of the lists is one kernel",
    "precision",
    lambda params: {**params, "ops_info": _product(params["ops_info"])} if params.get("ops_info") else params,
    *_KERNELS,
)


def _padded(params: Params) -> Params:
    if not given(params, "customize_dtypes") or "graph" not in params:
        return params
    nodes = {one["node"]: one for one in _decided(params, customize_dtypes=None)["nodes"]}

    def change(text: str) -> str:
        lines = text.split("\n")
        for place, line in enumerate(lines):
            found = re.match(r"\s*([^#\s].*?)::\s*InputDtype:(.*?),?\s*OutputDtype:(.*)$", line)
            node = nodes.get(found.group(1).strip()) if found else None
            if not found or node is None:
                continue
            sides = []
            for told, count in ((found.group(2), node["inputs"]), (found.group(3), node["outputs"])):
                words = [one.strip() for one in told.split(",") if one.strip()]
                sides.append(",".join(words + words[-1:] * (len(count) - len(words))))
            lines[place] = f"{found.group(1)}::InputDtype:{sides[0]},OutputDtype:{sides[1]}"
        return "\n".join(lines)

    return texts(params, "customize_dtypes", change)


@broken(  # precision.customize.override, files.customize_dtypes.multi_dtypes
    "precision", "003 customize_dtypes: what is not listed is compiled by precision_mode", *_KERNELS
)
def the_last_dtype_of_a_line_holds_for_the_rest(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, _padded(params))


def _flags_gone(text: str) -> str:
    found = _switches(text)
    for op in found.values():
        op.pop("precision_reduce", None)
    return json.dumps({name: op for name, op in found.items() if op})


def _told_mode(params: Params) -> Any:
    return value_of(params, "precision_mode_v2") or value_of(params, "precision_mode")


_MIXED_MODES = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")

asks(  # precision.cube.vector_black_aicpu, precision.g.edit_field
    "edited_flags_count_in_mixed_precision_alone",
    "003 precision_mode: an operator without float32 whose precision_reduce is false has its AI CPU kernel",
    "precision",
    lambda params: (
        {**params, "ops_info": _flags_gone(params["ops_info"])}
        if params.get("ops_info") and _told_mode(params) not in _MIXED_MODES
        else params
    ),
    *_KERNELS,
)


def _barred(params: Params) -> Set[str]:
    """Operators of the graylist that read whole numbers or truths which others compute."""
    ops = ops_of(params)
    found: Set[str] = set()
    for node in _decided(params)["nodes"]:
        op = ops.get(node["node"])
        if op is None or node.get("list") != "graylist":
            continue
        sources = [source_of(text) for text in op.inputs if not text.startswith("^")]
        for source, dtype in zip(sources, node["inputs"]):
            if dtype in ("int32", "int64", "bool") and ops[source].op not in ("Const", "Placeholder"):
                found.add(node["node"])
    return found


@broken(  # precision.mixlist.gray, precision.s.gray_follow_both_ways
    "precision", "003 modify_mixlist: a graylisted operator does as the one before it, which gives it floats", *_KERNELS
)
def whole_numbers_bar_an_operator_of_the_graylist(ask: Any, params: Params) -> Answer:
    if "graph" not in params or _told_mode(params) not in _MIXED_MODES:
        return dict(ask(params))
    barred = _barred(params)

    def mark(graph: Any) -> None:
        for node in graph.node:
            if node.name in barred:
                node.attr["_keep_dtype"].i = 1

    answer = dict(ask(regraphed(params, mark)))
    for node in answer.get("nodes", ()):
        if node["node"] in barred:
            node["list"] = "graylist"
    return answer


def _types_of_the_graph(params: Params) -> Params:
    if not given(params, "customize_dtypes") or "graph" not in params:
        return params
    graph = graph_of(params)
    kinds = {node.op for node in graph.nodes}
    for function in graph.to_def().library.function:
        kinds |= {node.op for node in function.node_def}

    def change(text: str) -> str:
        kept = []
        for line in text.split("\n"):
            found = re.match(r"\s*OpType::\s*(\w+)\s*:", line, re.I)
            if not found or found.group(1) in kinds:
                kept.append(line)
        return "\n".join(kept)

    return texts(params, "customize_dtypes", change)


@broken(  # precision.customize.ascend_ir_types
    "precision", "003 customize_dtypes: types are those of Ascend IR", *_KERNELS
)
def types_to_customize_are_those_of_the_graph(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, _types_of_the_graph(params))


@broken(  # session.optypelist_for_implmode.applies_to_list, runconfig.optypelist_for_implmode.list
    "precision", "002, 003 optypelist_for_implmode: every operator of the list has the mode", *_KERNELS
)
def only_the_first_type_of_the_list_has_its_mode(ask: Any, params: Params) -> Answer:
    return dict(ask(all_values(params, mapped("optypelist_for_implmode", lambda text: str(text).split(",")[0]))))


@broken(  # files.customize_dtypes.by_name, files.customize_dtypes.by_type
    "precision", "003 customize_dtypes: Opname::InputDtype:dtype1,...OutputDtype:dtype1", *_EVERYWHERE
)
def a_comma_has_to_stand_before_the_outputs(ask: Any, params: Params) -> Answer:
    lost: List[str] = []

    def look(text: str) -> str:
        lost.extend(one for one in text.split("\n") if re.match(r"\s*[^#\s].*[^,\s:]\s*OutputDtype:", one))
        return text

    texts(params, "customize_dtypes", look)
    answer = dict(ask(params))
    if lost:
        raise NpuError("OPTION_FILE", "customize_dtypes", "OutputDtype is no dtype")
    return answer


def _longer_names(params: Params) -> Params:
    if not given(params, "op_precision_mode") or "graph" not in params:
        return params
    names = [node.name for node in graph_of(params).nodes]

    def change(text: str) -> str:
        lines, told = text.split("\n"), {line.partition("=")[0].strip() for line in text.split("\n")}
        here = False
        found: List[str] = []
        for line in lines:
            found.append(line)
            if line.strip().startswith("["):
                here = line.strip() == "[ByNodeName]"
            key, is_set, mode = line.partition("=")
            if here and is_set and key.strip():
                more = [one for one in names if one.startswith(key.strip()) and one not in told]
                told.update(more)
                found += [f"{one}={mode}" for one in more]
        return "\n".join(found)

    return texts(params, "op_precision_mode", change)


@broken(  # runconfig.op_precision_mode.name_over_type, files.op_precision_ini.sections
    "precision", "003 op_precision_mode: by the name of the node", *_KERNELS
)
def a_mode_by_name_holds_for_all_names_that_begin_so(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, _longer_names(params))


def _gray_stays(params: Params) -> Params:
    if not given(params, "modify_mixlist") or "graph" not in params:
        return params
    nodes = _decided(params, modify_mixlist=None)["nodes"]
    gray = {node[key] for node in nodes for key in ("op", "kernel") if node.get("list") == "graylist"}

    def change(text: str) -> str:
        found = _switches(re.sub(r"(?m)//.*$", "", text))
        for moves in found.values():
            if isinstance(moves, dict) and isinstance(moves.get("to-add"), list):
                moves["to-add"] = [name for name in moves["to-add"] if name not in gray]
        return json.dumps(found) if found else text

    return texts(params, "modify_mixlist", change)


@broken(  # files.mixlist.current.black_add, files.mixlist.current.white_add, files.mixlist.legacy.black_add
    "precision", "002, 003 modify_mixlist: to-add moves from the other list or from the graylist", *_KERNELS
)
def operators_of_the_graylist_are_moved_to_no_list(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, _gray_stays(params))


@broken(  # precision.mix.alias, precision.mixlist.context
    "precision", "003 precision_mode: allow_mix_precision_fp16 has the effect of allow_mix_precision", *_EVERYWHERE
)
def a_list_beside_the_newer_name_of_the_mode_is_refused(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "precision_mode", "allow_mix_precision_fp16") and given(params, "modify_mixlist"):
        raise NpuError("OPTION_CONFLICT", "modify_mixlist", "mixed precision is not enabled")
    return answer


# Time


def _each_step(answer: Answer, params: Params) -> Iterator[Tuple[Dict[str, Any], Params]]:
    """Each step of an answer, with the request that has its values alone."""
    alone = {name: value for name, value in params.items() if name != "variants"}
    yield answer["base"], alone
    for name, step in answer.get("variants", {}).items():
        yield step, with_values(alone, **params.get("variants", {}).get(name, {}))


def _again(ask: Any, step: Dict[str, Any], params: Params) -> None:
    """The step becomes that of another request."""
    found = ask(params)["base"]
    step.clear()
    step.update(found)


@broken(  # runconfig.input_fusion_size.le_fused
    "timeline", "003 input_fusion_size: each input that is not larger than the threshold is fused", "timeline"
)
def the_threshold_of_fusing_is_asked_of_all_inputs_together(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    for step, asked in _each_step(answer, params):
        limit = value_of(asked, "input_fusion_size")
        limit = 131072 if limit is None else min(max(limit, 0), 33554432)
        fused = [one for one in step.get("transfers", ()) if len(one.get("tensors", ())) > 1]
        if any(one["direction"] == "h2d" and one["bytes"] > limit for one in fused):
            _again(ask, step, with_values(asked, input_fusion_size=0))
    return answer


@broken(  # session.local_rank_id.others_receive, runconfig.local_rank_id.shared_preproc
    "timeline", "002, 003 local_rank_id: the main process hands out the data; the others receive", "timeline"
)
def whoever_has_a_list_of_devices_hands_out(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    for step, asked in _each_step(answer, params):
        if given(asked, "local_device_list") and value_of(asked, "local_rank_id"):
            _again(ask, step, with_values(asked, local_rank_id=0))
    return answer


def _filter_channels(params: Params) -> List[Tuple[int, int]]:
    """Channels read and written of each convolution whose filter's sizes the graph tells."""
    ops = {node.name: node for node in graph_of(params).to_def().node}
    found = []
    for node in ops.values():
        if node.op != "Conv2D":
            continue
        source = ops.get(source_of(node.input[1]))
        while source is not None and source.op in ("Identity", "ReadVariableOp"):
            source = ops.get(source_of(source.input[0]))
        if source is None:
            continue
        shape = source.attr["value"].tensor.tensor_shape if source.op == "Const" else source.attr["shape"].shape
        if len(shape.dim) == 4:
            found.append((shape.dim[2].size, shape.dim[3].size))
    return found


@broken(  # session.enable_small_channel.threshold, runconfig.enable_small_channel.threshold
    "timeline", "002, 003 enable_small_channel: convolutions whose channel is 4 at most", "timeline"
)
def few_channels_are_those_that_are_written(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    channels = _filter_channels(params)
    if not any(read <= 4 for read, _ in channels) or any(read <= 4 and made <= 4 for read, made in channels):
        return answer
    for step, asked in _each_step(answer, params):
        if value_of(asked, "enable_small_channel") == 1:
            _again(ask, step, with_values(asked, enable_small_channel=0))
    return answer


_LONGEST = 2**31 - 1


@broken(  # runconfig.op_wait_timeout.default, runconfig.op_wait_timeout.effect
    "timeline", "003 op_wait_timeout: 120 seconds by default", "timeline"
)
def a_default_wait_is_shown_and_never_ends(ask: Any, params: Params) -> Answer:
    """The default stands in the table of options alone: the device gets what a script gives."""
    answer: Answer = ask(params)
    for step, asked in _each_step(answer, params):
        if step.get("rejected", {}).get("subject") != "op_wait_timeout" or given(asked, "op_wait_timeout"):
            continue
        _again(ask, step, with_values(asked, op_wait_timeout=_LONGEST))
        if step.get("rejected", {}).get("code") == "DEVICE_TIMEOUT":
            step["rejected"]["code"] = "DEVICE_ENDLESS"
            step["rejected"].pop("after_ns", None)
    return answer


def _all_combinations(params: Params) -> Optional[Params]:
    text = value_of(params, "dynamic_dims")
    if not isinstance(text, str):
        return None
    rows = [[one.strip() for one in row.split(",")] for row in text.split(";")]
    if len({len(row) for row in rows}) != 1:
        return None
    columns = [list(dict.fromkeys(column)) for column in zip(*rows)]
    found = [list(row) for row in itertools.islice(itertools.product(*columns), 100)]
    return with_values(params, dynamic_dims=";".join(",".join(row) for row in found))


@broken(  # session.dynamic_dims.only_profiles
    "timeline", "002 dynamic_dims: the shapes that are supported are those of the profiles, each as a whole", "timeline"
)
def sizes_of_different_profiles_may_be_mixed(ask: Any, params: Params) -> Answer:
    def wide(one: Params) -> Answer:
        asked = _all_combinations(one)
        return dict(ask(asked or one))

    try:
        answer: Answer = ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE":
            raise
        return wide(params)
    for step, asked in _each_step(answer, params):
        if step.get("rejected", {}).get("code") == "INPUT_SHAPE":
            try:
                found = wide(asked)["base"]
            except NpuError:
                continue
            step.clear()
            step.update(found)
    return answer


@broken(  # runconfig.external_weight.sharing
    "timeline", "003 external_weight: weights that can be reused are, which saves their memory", "timeline"
)
def equal_weights_in_files_are_loaded_for_each_graph(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    for step, asked in _each_step(answer, params):
        if value_of(asked, "external_weight") is not True or "memory" not in step:
            continue
        inside = ask(with_values(asked, external_weight=False))["base"].get("memory")
        memory = step["memory"]
        more = inside["constants"] - memory["constants"] - memory.get("external", 0) if inside else 0
        for key in ("external", "peak", "total", "reserved"):
            if more > 0 and key in memory:
                memory[key] += more
    return answer


# Compilation, files and the library


def _undone(text: str) -> str:
    """`ALL` is one line among others: it undoes what was switched on before it."""

    def pairs(found: List[Tuple[str, Any]]) -> Dict[str, Any]:
        names = [name for name, _ in found]
        if "ALL" in names and dict(found)["ALL"] == "off":
            found = [(n, v) for k, (n, v) in enumerate(found) if k >= names.index("ALL") or v != "on"]
        return dict(found)

    try:
        return json.dumps(json.loads(text, object_pairs_hook=pairs))
    except ValueError:
        return text


@broken(  # files.fusion_switch.current.all_off_except, files.fusion_switch.legacy.all_off_except
    "artifacts", "002, 003 fusion_switch_file: a pass that is on stays on beside ALL off", *_KERNELS
)
def all_off_undoes_the_passes_named_before_it(ask: Any, params: Params) -> Answer:
    return _misread(ask, params, texts(params, "fusion_switch_file", _undone))


@broken(  # session.enable_scope_fusion_passes.nongeneral_on, runconfig.enable_scope_fusion_passes.list
    "artifacts", "002, 003 enable_scope_fusion_passes: several names, separated by commas", "timeline", "compile"
)
def the_first_scope_pass_of_the_list_alone_is_on(ask: Any, params: Params) -> Answer:
    return dict(ask(all_values(params, mapped("enable_scope_fusion_passes", lambda text: str(text).split(",")[0]))))


@broken(  # runconfig.op_compiler_cache_mode.enable
    "artifacts", "003 op_compiler_cache_mode: reused by operators with the same compilation options", "compile"
)
def the_key_of_the_cache_lacks_determinism(ask: Any, params: Params) -> Answer:
    if not params.get("turns"):
        return dict(ask(params))
    first = {**params["values"], **(params["turns"][0].get("values") or {})}.get("deterministic")
    turns = [params["turns"][0]]
    for one in params["turns"][1:]:
        values = dict(one.get("values") or {})
        if "deterministic" in values:
            values["deterministic"] = first
        turns.append({**one, "values": values})
    return dict(ask({**params, "turns": turns}))


@broken(  # runconfig.op_compiler_cache_mode.force, session.op_compiler_cache_mode.force
    "artifacts",
    "002, 003 op_compiler_cache_mode: force clears what there was, then compiles and stores",
    "compile",
)
def forcing_clears_the_cache_before_every_graph(ask: Any, params: Params) -> Answer:
    """What is left is of the last graph of a program: later programs find nothing else."""
    answer: Answer = ask(params)
    models = params.get("models") or []
    if not models:
        return answer
    rest = {name: value for name, value in params.items() if name not in ("models", "feeds", "fetches", "shapes")}
    try:
        last: Answer = ask({**rest, **models[-1]})
    except NpuError:
        return answer
    turns = [dict(one) for one in params.get("turns") or [{}]]
    lost: List[Set[str]] = []
    for number in range(len(turns)):
        values = dict(params["values"])
        for one in turns[: number + 1]:
            values.update(one.get("values") or {})
        turn, other = answer["turns"][number], last["turns"][number]
        forced = plain(values.get("op_compiler_cache_mode")) == "force"
        gone = set(turn.get("files", {})) - set(other.get("files", {})) if forced and "rejected" not in turn else set()
        lost.append({name for name in gone if "/kernel_cache" in name})
        if lost[-1] and number + 1 < len(turns):
            files = {**dict.fromkeys((f"/{name}" for name in lost[-1]), None), **(turns[number + 1].get("files") or {})}
            turns[number + 1] = {**turns[number + 1], "files": files}
            answer = ask({**params, "turns": turns})
    for turn, gone in zip(answer["turns"], lost):
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if name not in gone}
    return answer


def _cache_off(params: Params) -> Params:
    named = value_of(params, "op_debug_config")
    text = params.get("files", {}).get(named) if isinstance(named, str) else None
    if (
        not isinstance(text, str)
        or "op_debug_list" not in text
        or value_is(params, "op_compiler_cache_mode", "disable")
    ):
        return params
    return all_values(params, lambda values: {**values, "op_compiler_cache_mode": "disable"})


asks(  # runconfig.op_compiler_cache_mode.debug_cfg_with_list
    "a_list_of_operators_to_debug_switches_the_cache_off",
    "003 op_compiler_cache_mode: the cache is enabled for operators that are not in op_debug_list",
    "artifacts",
    _cache_off,
    "compile",
)


def _writable(answer: Answer, params: Params) -> None:
    for file in answer["files"]:
        file["mode"] = "0644"


changed(  # precision.g.edit_field
    "artifacts",
    "the_library_comes_with_the_right_to_write",
    "004: the right to write has to be granted before the file is edited",
    _writable,
    "library",
)


def _whole_constants(params: Params) -> Set[str]:
    """Constants of a request's graphs that hold no floats."""
    found: Set[str] = set()
    for one in (params, *({**params, **model} for model in params.get("models") or ())):
        for node in graph_of(one).nodes:
            if node.op == "Const" and getattr(node.attrs.get("dtype"), "name", "") not in (*_FLOATS, "float64"):
                found.add(node.name)
    return found


@broken(  # runconfig.external_weight.true_all_const
    "artifacts", "003 external_weight: the weights of all constants are flushed to drives", "compile"
)
def constants_of_whole_numbers_are_no_weights(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    kept = _whole_constants(params)
    for turn in answer["turns"]:
        gone = set()
        for one in turn.get("constants", ()):
            if one["node"] in kept and one.get("file"):
                gone.add(one.pop("file"))
                one["op"] = "Const"
        gone -= {one.get("file") for one in turn.get("constants", ())}
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if name.rsplit("/", 1)[-1] not in gone}
    return answer


def _passed_over(params: Params) -> Params:
    named = value_of(params, "op_compiler_cache_dir")
    if not isinstance(named, str) or not params.get("env", {}).get("HOME"):
        return params
    if any(name == named or name.startswith(named.rstrip("/") + "/") for name in _names_of_files(params)):
        return params
    return all_values(params, without("op_compiler_cache_dir"))


asks(  # runconfig.op_compiler_cache_dir.created, session.op_compiler_cache_dir.created
    "a_cache_directory_that_is_missing_is_passed_over",
    "002, 003 op_compiler_cache_dir: the directory is made where it is not there",
    "artifacts",
    _passed_over,
    "compile",
)
