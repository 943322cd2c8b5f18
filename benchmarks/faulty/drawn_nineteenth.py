"""Faulty backends: what comes to mind first at a shuffled inventory's requirements, of all that is not options alone.

Written blind, from the documents, the inventory and the protocol: without the cases, the laws, or what earlier lists
say. The ids were shuffled with `random.Random(20261202)`; left out are those whose break changes `options` alone.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Callable, Dict, List, Mapping

from npu_reference.errors import NpuError

from .making import (
    REFERENCE,
    Answer,
    Files,
    Params,
    all_values,
    asks,
    broken,
    changed,
    decoded,
    dumped,
    encoded,
    facets,
    graph_of,
    in_inference,
    is_about,
    leaves,
    mapped,
    misreads,
    node_change,
    ops_of,
    plain,
    regraphed,
    retyped,
    source_of,
    steps,
    texts,
    to_device,
    turns,
    value_of,
    with_env,
    with_pairs,
    with_settings,
    without,
)

#: Methods that tell dtypes, or what follows from them.
DTYPES = ("precision", "timeline", "compile")
TIMED = ("timeline", "run")
KERNELS = ("compile", "timeline")

Values = Dict[str, Any]


def _values(area: str, name: str, sentence: str, change: Callable[[Values], Values], *methods: str) -> None:
    """The values are read as others, in every turn and variant."""
    asks(name, sentence, area, lambda params: all_values(params, change), *methods)


def _read(area: str, name: str, sentence: str, option: str, change: Callable[[Any], Any], *methods: str) -> None:
    """One option's value is read as another."""
    _values(area, name, sentence, mapped(option, change), *methods)


def _unset(
    area: str, name: str, sentence: str, option: str, value: Any, when: Callable[[Params, Values], bool], *methods: str
) -> None:
    """The option has another default."""

    def change(params: Params) -> Params:
        if option not in facets(params):
            return params

        def default(values: Values) -> Values:
            return {**values, option: value} if values.get(option) is None and when(params, values) else values

        return all_values(params, default)

    asks(name, sentence, area, change, *methods)


def _number(text: Any, change: Callable[[int], int]) -> Any:
    """A whole number changed, as a number or a text."""
    if isinstance(text, bool):
        return text
    if isinstance(text, int):
        return change(text)
    return str(change(int(text))) if isinstance(text, str) and text.isdigit() else text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _json(text: str, change: Callable[[Any], Any]) -> str:
    found = _parsed(text)
    if not isinstance(found, dict):
        return text
    change(found)
    return json.dumps(found)


def _lists(change: Callable[[Dict[str, Any]], Any]) -> Callable[[str], str]:
    """The text of a mixlist changed; comments are none of JSON's."""

    def read(text: str) -> str:
        return _json(re.sub(r"//[^\n]*", "", text), change)

    return read


def _below(path: Any) -> str:
    return path.strip("/") if isinstance(path, str) else ""


def _renamed(files: Files, change: Callable[[str], str]) -> Files:
    return {change(name): file for name, file in files.items()}


def _cfg(files: Files, asked: Mapping[str, Any]) -> str:
    """The text of op_debug_config, as it lies in the folder."""
    named = plain(asked["values"].get("op_debug_config"))
    file = files.get(named.lstrip("/"), {}) if isinstance(named, str) else {}
    return decoded(file) if "b64" in file else ""


def _mode(params: Params) -> Any:
    return value_of(params, "precision_mode_v2") or value_of(params, "precision_mode")


def _profiling(change: Callable[[Dict[str, Any]], None]) -> Callable[[Values], Values]:
    """The values with the JSON of profiling options changed, wherever it stands."""

    def options(text: Any) -> Any:
        return _json(text, change) if isinstance(text, str) else text

    def edit(values: Values) -> Values:
        config = values.get("profiling_config")
        if isinstance(config, dict) and "profiling_options" in config.get("arguments", {}):
            given = dict(config["arguments"])
            given["profiling_options"] = options(given["profiling_options"])
            return {**values, "profiling_config": {**config, "arguments": given}}
        return mapped("profiling_options", options)(values)

    return edit


def _settings(name: str, sentence: str, change: Callable[[str, Params], str]) -> None:
    """The file op_cache.ini is read as another one; what lies there is as the user wrote it."""

    def fault(ask: Any, params: Params) -> Answer:
        found = ask(with_settings(params, lambda text: change(text, params)))
        written = dict(params.get("files", {}))
        for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
            written.update(asked.get("files") or {})
            for key in ("files", "left"):
                for path, text in written.items():
                    name = path.lstrip("/")
                    if path.endswith("op_cache.ini") and isinstance(text, str) and name in turn.get(key, {}):
                        turn[key][name] = encoded(text)
        return dict(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


def _environment(params: Params) -> Dict[str, str]:
    found = dict(params.get("env", {}))
    for one in params.get("turns") or ():
        found.update(one.get("env") or {})
    return found


def _recast(answer: Answer, params: Params, names: List[str]) -> None:
    """The casts after the outputs of these operators changed."""
    told = {node["node"]: node for node in answer["nodes"]}
    before = {(cast["source"], cast["target"]): cast for cast in answer.get("casts", ())}
    kept = [cast for cast in answer.get("casts", ()) if cast["source"].split(":")[0] not in names]
    for reader in graph_of(params).nodes:
        data = [text for text in reader.inputs if not text.startswith("^")]
        for place, text in enumerate(data):
            if source_of(text) not in names:
                continue
            slot = int(text.split(":")[1]) if ":" in text else 0
            given = told[source_of(text)]["outputs"][slot]
            target = f"{reader.name}:{place}"
            if reader.name in told:
                wanted = told[reader.name]["inputs"][place]
            else:
                wanted = before.get((f"{source_of(text)}:{slot}", target), {}).get("to", "float32")
            if given != wanted:
                kept.append({"source": f"{source_of(text)}:{slot}", "target": target, "from": given, "to": wanted})
    answer["casts"] = kept


# env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect
asks(
    "the_share_to_keep_in_a_variable_is_what_goes",
    "ASCEND_REMAIN_CACHE_SIZE_RATIO is the ratio of the cache space to be reserved",
    "artifacts",
    lambda params: with_env(
        params,
        lambda env: {
            key: _number(value, lambda share: max(1, 100 - share)) if key == "ASCEND_REMAIN_CACHE_SIZE_RATIO" else value
            for key, value in env.items()
        },
    ),
    "compile",
)


# files.fusion_switch.current.all_off, files.fusion_switch.legacy.all_off_not_everything
def _both_off(switches: Dict[str, Any]) -> None:
    sections = switches.get("Switch")
    graph = sections.get("GraphFusion") if isinstance(sections, dict) else None
    if isinstance(graph, dict) and graph.get("ALL") == "off":
        sections["UBFusion"] = {"ALL": "off", **(sections.get("UBFusion") or {})}


misreads(
    "artifacts",
    "all_graph_fusion_off_is_all_fusion_off",
    "ALL off stands in each section for its own patterns",
    "fusion_switch_file",
    lambda text: _json(text, _both_off),
    *KERNELS,
)

# runconfig.ac_parallel_enable.0
_read(
    "timeline",
    "ac_parallel_enable_is_on_whatever_its_text",
    "0: AI CPU operators are not separately distributed",
    "ac_parallel_enable",
    lambda text: "1",
    "timeline",
)

# session.profiling_mode.false
_values(
    "timeline",
    "profiling_options_alone_profile",
    "profiling_mode False, the default, disables profiling",
    lambda values: {**values, "profiling_mode": True} if plain(values.get("profiling_options")) else values,
    *TIMED,
)

# runconfig.jit_compile.true
_read(
    "artifacts",
    "jit_compile_true_still_looks_for_binaries",
    "true: operators are compiled online",
    "jit_compile",
    lambda text: "auto" if text in ("true", "True") else text,
    *KERNELS,
)

# runconfig.jit_compile.auto.dynamic
_unset(
    "artifacts",
    "unset_jit_compile_compiles_dynamic_networks",
    "auto, the default: for a dynamic shape network the compiled binary is searched first",
    "jit_compile",
    "true",
    lambda params, values: True,
    *KERNELS,
)

# precision.mixlist.context
_values(
    "precision",
    "mixed_float16_has_no_lists_of_the_user",
    "Mixed precision for modify_mixlist is enabled by precision_mode_v2 or precision_mode",
    lambda values: (
        without("modify_mixlist")(values) if plain(values.get("precision_mode_v2")) == "mixed_float16" else values
    ),
    *DTYPES,
)

# precision.mix.alias
_read(
    "precision",
    "the_longer_name_of_mixed_precision_is_the_default_mode",
    "allow_mix_precision and allow_mix_precision_fp16 deliver the same effect",
    "precision_mode",
    lambda mode: "allow_fp32_to_fp16" if mode == "allow_mix_precision_fp16" else mode,
    *DTYPES,
)


# files.mixlist.current.multiple
def _first_of_each(lists: Dict[str, Any]) -> None:
    for colour in lists.values():
        if isinstance(colour, dict):
            for key, names in colour.items():
                if isinstance(names, list):
                    colour[key] = names[:1]


misreads(
    "precision",
    "of_each_mixlist_the_first_name_is_read",
    "Operators of a list are separated by commas, several of them",
    "modify_mixlist",
    _lists(_first_of_each),
    *DTYPES,
)

# files.mixlist.current.white_add


def _no_way_from_black(lists: Dict[str, Any]) -> None:
    white = lists.get("white-list")
    if isinstance(white, dict) and isinstance(white.get("to-add"), list):
        white["to-add"] = [name for name in white["to-add"] if _flags().get(name) != "false"]


@functools.lru_cache(maxsize=1)
def _flags() -> Dict[str, str]:
    """What the library says of operators: `true`, `false` or nothing."""
    found: Dict[str, str] = {}
    for file in REFERENCE.library({"edition": "current"})["files"]:
        if file["path"].endswith("ops-info.json"):
            for name, told in json.loads(file["text"]).items():
                flag = told.get("precision_reduce", {}).get("flag")
                if flag is not None:
                    found[name] = flag
    return found


misreads(
    "precision",
    "the_trustlist_takes_nothing_from_the_blocklist",
    "white-list to-add moves an operator from the blocklist or graylist to the trustlist",
    "modify_mixlist",
    _lists(_no_way_from_black),
    *DTYPES,
)


# files.mixlist.current.others_untouched
def _all_gray(lists: Dict[str, Any]) -> None:
    for colour, flag in (("black-list", "false"), ("white-list", "true")):
        mine = lists.setdefault(colour, {})
        if isinstance(mine, dict) and isinstance(mine.get("to-remove", []), list):
            named = {name for one in lists.values() for names in one.values() for name in names}
            more = [name for name, told in sorted(_flags().items()) if told == flag and name not in named]
            mine["to-remove"] = [*mine.get("to-remove", []), *more]


misreads(
    "precision",
    "a_mixlist_replaces_the_built_in_one",
    "The lists are changed by what is to add and to remove; other operators keep the built-in policy",
    "modify_mixlist",
    _lists(_all_gray),
    *DTYPES,
)


# files.mixlist.legacy.black_add
def _black_is_gray(lists: Dict[str, Any]) -> None:
    black = lists.get("black-list")
    if isinstance(black, dict) and isinstance(black.get("to-add"), list):
        white = lists.setdefault("white-list", {})
        white["to-remove"] = [*white.get("to-remove", []), *(n for n in black["to-add"] if _flags().get(n) == "true")]
        black["to-add"] = []


misreads(
    "precision",
    "the_legacy_blocklist_only_takes_trust_away",
    "black-list to-add turns an operator of the white or the gray list into one of the black list",
    "modify_mixlist",
    _lists(_black_is_gray),
    *DTYPES,
    when=lambda params: is_about(params, edition="legacy"),
)


# env.NPU_COLLECT_PATH.uses, runconfig.op_debug_level.0_npu_collect
def _no_collection(params: Params) -> Params:
    if value_of(params, "op_debug_level"):
        return params
    return with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})


asks(
    "collection_keeps_no_kernel_meta_at_level_0",
    "With op_debug_level 0 and NPU_COLLECT_PATH the directory kernel_meta is generated in the current path",
    "artifacts",
    _no_collection,
    "compile",
)


def _beside_the_script(files: Files, asked: Mapping[str, Any]) -> Files:
    env = asked["env"]
    work = _below(env.get("ASCEND_WORK_PATH"))
    if not work or not env.get("NPU_COLLECT_PATH") or plain(asked["values"].get("op_debug_level")) not in (0, None):
        return files
    return _renamed(files, lambda name: name[len(work) + 1 :] if name.startswith(work + "/kernel_meta") else name)


leaves(
    "collected_kernels_lie_in_the_current_path_whatever_the_work_path",
    "If ASCEND_WORK_PATH is set, kernel_meta is generated in the path it specifies",
    _beside_the_script,
)


# files.op_cache_ini.minus_one
_settings(
    "minus_one_makes_op_cache_ini_invalid",
    "max_op_cache_size=-1 disables the aging",
    lambda text, params: re.sub(r"(max_op_cache_size\s*=\s*)-1\b", r"\1none", text),
)

# files.op_cache_ini.both_valid
_settings(
    "a_valid_size_counts_beside_an_invalid_ratio",
    "op_cache.ini takes effect only when both values are valid",
    lambda text, params: re.sub(
        r"(remain_cache_size_ratio\s*=[ \t]*)([^\n]*)",
        lambda found: (
            found.group(1)
            + (found.group(2) if found.group(2).strip().isdigit() and 1 <= int(found.group(2)) <= 100 else "50")
        ),
        text,
    ),
)


# env.ASCEND_MAX_OP_CACHE_SIZE.effect
def _variables_first(text: str, params: Params) -> str:
    env = _environment(params)
    for key, name in (
        ("max_op_cache_size", "ASCEND_MAX_OP_CACHE_SIZE"),
        ("remain_cache_size_ratio", "ASCEND_REMAIN_CACHE_SIZE_RATIO"),
    ):
        if name in env:
            text = re.sub(rf"({key}\s*=[ \t]*)[^\n]*", rf"\g<1>{env[name]}", text)
    return text


_settings(
    "cache_variables_beat_op_cache_ini",
    "If both op_cache.ini and the variables are configured, the file is read first",
    _variables_first,
)


# env.ASCEND_MAX_OP_CACHE_SIZE.effect, the half hour
def _older(params: Params) -> Params:
    if not params.get("turns"):
        return params
    return {**params, "turns": [{**one, "age_seconds": one.get("age_seconds", 0) + 3600} for one in params["turns"]]}


asks(
    "kernels_age_however_lately_they_were_used",
    "Cache files are aged that were not accessed for more than half an hour",
    "artifacts",
    _older,
    "compile",
)

# runconfig.variable_placement.device
_unset(
    "partition",
    "variables_of_mixed_computing_are_placed_on_the_host",
    "Default value: Device",
    "variable_placement",
    "Host",
    lambda params, values: plain(values.get("mix_compile_mode")) is True,
    "partition",
    *TIMED,
)


# in_out_pair.multi_in
def _ranges(change: Callable[[List[Any], List[Any]], List[Any]]) -> Callable[[List[Any]], List[Any]]:
    def edit(found: List[Any]) -> List[Any]:
        if not all(isinstance(one, list) and len(one) == 2 and all(isinstance(x, list) for x in one) for one in found):
            return found
        return [[change(ins, outs) or ins, outs] for ins, outs in found]

    return edit


asks(
    "a_range_begins_at_its_last_in_node_alone",
    "All operators between in_nodes and out_nodes are of the range",
    "partition",
    lambda params: with_pairs(params, _ranges(lambda ins, outs: ins[-1:])),
    "partition",
    "run",
)


# in_out_pair.const_in_nodes
def _no_constants(params: Params) -> Params:
    ops: Mapping[str, Any] = ops_of(params) if value_of(params, "in_out_pair") else {}

    def moving(ins: List[Any], outs: List[Any]) -> List[Any]:
        return [name for name in ins if name not in ops or ops[name].op != "Const"]

    return with_pairs(params, _ranges(moving))


asks(
    "constants_begin_no_range",
    "in_nodes may be constants, which are then of the range",
    "partition",
    _no_constants,
    "partition",
    "run",
)


# in_out_pair.duplicate_names
@broken("partition", "Names of in_nodes are a list; one that stands there twice is harmless", "partition", "run")
def a_name_twice_in_a_range_is_refused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    text = value_of(params, "in_out_pair")
    found = _parsed(text.replace("'", '"')) if isinstance(text, str) else None
    for entry in found if isinstance(found, list) else ():
        for names in entry if isinstance(entry, list) else ():
            if isinstance(names, list) and len(set(map(str, names))) < len(names):
                raise NpuError("OPTION_VALUE", "in_out_pair", "a name stands there twice")
    return dict(answer)


# session.local_device_list.pair
def _first_receiver(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    if (step.get("dataset") or {}).get("sent"):
        step["dataset"]["sent"] = step["dataset"]["sent"][:1]


steps(
    "data_is_sent_to_the_first_device_alone",
    "local_device_list: devices that the main process sends data to",
    _first_receiver,
)


# session.local_rank_id.others_receive
def _own_data(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    if (step.get("dataset") or {}).get("receives"):
        step["dataset"]["reads"] = step["dataset"]["receives"]


steps(
    "who_receives_data_reads_its_own_too",
    "Other processes receive data from the main process, no longer their own",
    _own_data,
)


# files.customize_dtypes.multi_dtypes
def _one_dtype(text: str) -> str:
    def same(found: Any) -> str:
        dtypes = found.group(2).split(",")
        return found.group(1) + ",".join(dtypes[0] if one else "" for one in dtypes)

    return re.sub(r"(InputDtype:)([a-z0-9,]*)", same, text)


misreads(
    "precision",
    "all_inputs_have_the_first_customized_dtype",
    "InputDtype:dtype1,dtype2,... are the dtypes of the inputs in order",
    "customize_dtypes",
    _one_dtype,
    *DTYPES,
)

# precision.customize.override
misreads(
    "precision",
    "operators_of_a_scope_are_not_customized",
    "Operators are listed by name, which scopes are part of",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if "/" not in line.split(":")[0] or line.startswith("#")),
    *DTYPES,
)

# files.kernel_meta.cfg_matrix
leaves(
    "dump_loc_keeps_no_cce",
    "dump_loc: retains the *.cce file, .o file and .json file, as well as the *_loc.json file",
    lambda files, asked: {
        name: file
        for name, file in files.items()
        if not name.endswith(".cce") or "dump_loc" not in _cfg(files, asked) or "dump_cce" in _cfg(files, asked)
    },
)


# precision.cube.order1_fp16_fp32
def _half_results(answer: Answer, params: Params) -> None:
    if _mode(params) not in ("cube_fp16in_fp32out", "force_fp32"):
        return
    gone = []
    for node in answer["nodes"]:
        if node.get("engine") == "cube" and "float16" in node["inputs"] and "float32" in node["outputs"]:
            node["outputs"] = ["float16" if one == "float32" else one for one in node["outputs"]]
            gone.append(node["node"])
    _recast(answer, params, gone)


changed(
    "precision",
    "cube_results_are_as_half_as_its_inputs",
    "The preferred input data type is float16 and the output data type is float32",
    _half_results,
)


# precision.cube.vector_force_fp32
@broken("precision", "For vector operators float32 is forcibly selected, even if the original precision is float16")
def vectors_of_half_graphs_stay_half_in_cube_mode(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if _mode(params) not in ("cube_fp16in_fp32out", "force_fp32") or not is_about(params, edition="current"):
        return dict(answer)
    ops = ops_of(params)
    gone = []
    for node in answer["nodes"]:
        op = ops.get(node["node"])
        half = op is not None and getattr(op.attrs.get("T"), "name", "") == "float16"
        if half and node.get("engine") == "vector" and "float32" in node["outputs"]:
            retyped(node, "float32", "float16")
            gone.append(node["node"])
    if gone:
        answer["casts"] = [one for one in answer.get("casts", ()) if one["target"].split(":")[0] not in gone]
        _recast(answer, params, gone)
    return dict(answer)


# precision.must_keep.fp16_only_bf16_aicpu
def _raised(node: Dict[str, Any], params: Params, op: Any) -> None:
    kept = _mode(params) in ("must_keep_origin_dtype", "origin")
    if kept and node.get("engine") == "aicpu" and params.get("ops_info"):
        for side in ("inputs", "outputs"):
            node[side] = ["float32" if one == "float16" else one for one in node[side]]


node_change(
    "the_ai_cpu_keeps_no_half",
    "If the AI Core supports only bfloat16, the AI CPU operator of float16 is used",
    _raised,
)

# precision.v2.replaces_v1
asks(
    "inference_does_not_know_precision_mode_v2",
    "precision_mode_v2 is the operator precision mode",
    "precision",
    lambda params: all_values(params, without("precision_mode_v2")) if in_inference(params) else params,
    *DTYPES,
)

# precision.keep_dtype_scope.advice, api.keep_dtype_scope


def _scopes_gone(made: Any) -> None:
    for node in made.node:
        for name in [one for one in node.attr if one.startswith("_keep_dtype")]:
            del node.attr[name]


asks(
    "keep_dtype_scope_yields_to_forced_half",
    "keep_dtype_scope keeps the precision of some operators unchanged",
    "precision",
    lambda params: regraphed(params, _scopes_gone) if _mode(params) in ("force_fp16", "fp16") else params,
    *DTYPES,
)

# runconfig.op_precision_mode.over_implmode, session.op_precision_mode.over_implmode
_values(
    "precision",
    "op_select_implmode_beats_op_precision_mode",
    "If they are all specified, op_precision_mode takes precedence",
    lambda values: without("op_precision_mode")(values) if plain(values.get("op_select_implmode")) else values,
    *DTYPES,
)


# files.op_precision_ini.sections.priority
def _types_alone(text: str) -> str:
    if "[ByOpType]" not in text or "[ByNodeName]" not in text:
        return text
    parts = re.split(r"(?m)^(?=\[)", text)
    return "".join(part for part in parts if not part.startswith("[ByNodeName]"))


misreads(
    "precision",
    "types_hide_names_in_op_precision_ini",
    "By operator type is of low priority, by node name of high priority; both may stand there",
    "op_precision_mode",
    _types_alone,
    *DTYPES,
)


# runconfig.hccl_timeout.quantize
_read(
    "timeline",
    "collectives_wait_for_whole_68_seconds_rounded_up",
    "The actual timeout interval is the value // 68 x 68",
    "hccl_timeout",
    lambda value: _number(value, lambda seconds: -(-seconds // 68) * 68),
    *TIMED,
)

# session.use_off_line.false_overrides
_values(
    "partition",
    "mixed_computing_goes_on_without_use_off_line",
    "use_off_line False: training is executed by the host's CPU",
    lambda values: without("use_off_line")(values) if plain(values.get("mix_compile_mode")) is True else values,
    "partition",
    *TIMED,
)


# mixed.fused_bn_v3.fifth_output
def _whole_norm(answer: Answer, params: Params) -> Any:
    if value_of(params, "mix_compile_mode") is not True or params.get("policy") == "adapter":
        return None
    ops = ops_of(params)
    hosts = [one["node"] for one in answer["host"]]
    moved = [name for name in hosts if name in ops and ops[name].op == "FusedBatchNormV3"]
    return to_device(answer, moved) if moved else None


changed(
    "partition",
    "batch_norm_is_offloaded_with_its_fifth_output",
    "The fifth output of FusedBatchNormV3 is not supported in mixed computing mode",
    _whole_norm,
)


# files.fusion_result.path_default
def _with_debug(files: Files, asked: Mapping[str, Any]) -> Files:
    there = _below(plain(asked["values"].get("debug_dir")))
    return _renamed(files, lambda name: f"{there}/{name}" if there and name == "fusion_result.json" else name)


leaves(
    "fusion_result_lies_with_what_debugs",
    "Without ASCEND_WORK_PATH the file is fusion_result.json under the execution directory",
    _with_debug,
)


# files.fusion_result.disabled_hidden
def _fusions(change: Callable[[Dict[str, Any], Files, Mapping[str, Any]], None]) -> Callable[..., Files]:
    def edit(files: Files, asked: Mapping[str, Any]) -> Files:
        found = dict(files)
        for name, file in files.items():
            if name.endswith("fusion_result.json") and "b64" in file:
                told = json.loads(decoded(file))
                for one in told.values():
                    change(one, files, asked)
                found[name] = encoded(json.dumps(told, indent=4, sort_keys=True) + "\n")
        return found

    return edit


def _told_off(one: Dict[str, Any], files: Files, asked: Mapping[str, Any]) -> None:
    named = plain(asked["values"].get("fusion_switch_file"))
    file = files.get(named.lstrip("/"), {}) if isinstance(named, str) else {}
    switches = (_parsed(decoded(file)) if "b64" in file else None) or {}
    for section, key in (("GraphFusion", "graph_fusion"), ("UBFusion", "ub_fusion")):
        for name, state in (switches.get("Switch", {}).get(section) or {}).items():
            if state == "off" and name != "ALL":
                counts = {"match_times": "0", "effect_times": "0"}
                if key == "ub_fusion":
                    counts["repository_hit_times"] = "0"
                one.setdefault(key, {}).setdefault(name, counts)


leaves(
    "patterns_switched_off_are_told_with_nothing",
    "A fusion pattern disabled by fusion_switch_file is not displayed in fusion_result.json",
    _fusions(_told_off),
)


# files.fusion_result.repository_hit_times
def _graph_hits(one: Dict[str, Any], files: Files, asked: Mapping[str, Any]) -> None:
    for counts in one.get("graph_fusion", {}).values():
        counts["repository_hit_times"] = "0"


leaves(
    "graph_fusion_counts_the_repository_too",
    "repository_hit_times is the number of hits of the repository during UB fusion",
    _fusions(_graph_hits),
)

# runconfig.export_compile_stat.2
_read(
    "artifacts",
    "fusion_result_is_always_written_at_the_end",
    "2: written after graph compilation, so that an interrupted program leaves it, too",
    "export_compile_stat",
    lambda value: 1 if value == 2 else value,
    "compile",
)


# session.dump_step.zero_based
def _step_texts(change: Callable[[str], str]) -> Callable[[Params], Params]:
    return lambda params: all_values(params, lambda values: dumped(values, mapped("dump_step", change)))


asks(
    "dumped_steps_count_from_one",
    "dump_step names iterations, of which 0 is the first",
    "run",
    _step_texts(
        lambda text: re.sub(r"\d+", lambda found: str(int(found.group()) - 1 if int(found.group()) else 9999), text)
    ),
)

# session.dump_step.grammar
asks(
    "a_range_of_dumped_steps_lacks_its_last",
    "A range of iterations is given with -, such as 3-5",
    "run",
    _step_texts(
        lambda text: re.sub(
            r"(\d+)-(\d+)",
            lambda found: (
                f"{found.group(1)}-{int(found.group(2)) - 1}"
                if int(found.group(2)) - 1 > int(found.group(1))
                else found.group(1)
            ),
            text,
        )
    ),
)

# session.dump_mode.output
asks(
    "dumping_inputs_dumps_all",
    "input: dumps only the inputs of operators",
    "run",
    lambda params: all_values(
        params, lambda values: dumped(values, mapped("dump_mode", lambda mode: "all" if mode == "input" else mode))
    ),
)

# runconfig.op_compiler_cache_dir.priority
asks(
    "the_cache_variable_beats_the_cache_option",
    "Priority: op_compiler_cache_dir, ASCEND_CACHE_PATH, the default path",
    "artifacts",
    lambda params: (
        all_values(params, without("op_compiler_cache_dir"))
        if _environment(params).get("ASCEND_CACHE_PATH")
        else params
    ),
    "compile",
)


# env.ASCEND_CACHE_PATH.subdir
def _no_host(files: Files, asked: Mapping[str, Any]) -> Files:
    there = _below(asked["env"].get("ASCEND_CACHE_PATH"))
    if not there:
        return files
    return _renamed(files, lambda name: re.sub(rf"^({re.escape(there)}/kernel_cache)_\d+/", r"\1/", name))


leaves(
    "the_cache_of_a_variable_is_of_no_host",
    "${ASCEND_CACHE_PATH}/kernel_cache_host ID",
    _no_host,
)

# runconfig.input_fusion_size.boundary_equal
_read(
    "timeline",
    "an_input_of_just_the_threshold_goes_alone",
    "Size of input data <= the threshold: the data is fused",
    "input_fusion_size",
    lambda value: _number(value, lambda size: max(0, size - 1)),
    *TIMED,
)

# runconfig.input_fusion_size.zero_off
_read(
    "timeline",
    "a_threshold_of_zero_is_none",
    "The threshold = 0: the data is not fused",
    "input_fusion_size",
    lambda value: _number(value, lambda size: size or 33554432),
    *TIMED,
)

# session.session_device_id.over_env, runconfig.session_device_id.effect


def _variable_device(params: Params) -> Params:
    device = params.get("env", {}).get("ASCEND_DEVICE_ID", "")
    if not device.isdigit():
        return params
    return all_values(params, mapped("session_device_id", lambda value: int(device)))


asks(
    "the_device_variable_beats_the_session",
    "session_device_id takes precedence over ASCEND_DEVICE_ID",
    "timeline",
    _variable_device,
    *TIMED,
)

# runconfig.op_debug_level.4
leaves(
    "compute_files_have_a_dot_before_compute",
    "A UB fusion description file is {$kernel_name}_compute.json",
    lambda files, asked: _renamed(files, lambda name: re.sub(r"_compute\.json$", ".compute.json", name)),
)


# files.external_weight.dir_env
def _weights_here(files: Files, asked: Mapping[str, Any]) -> Files:
    work = _below(asked["env"].get("ASCEND_WORK_PATH"))
    return _renamed(
        files, lambda name: name[len(work) + 1 :] if work and name.startswith(work + "/tmp_weight_") else name
    )


leaves(
    "weights_outside_lie_here_whatever_the_work_path",
    "If ASCEND_WORK_PATH is configured, the weight files are flushed to its tmp_weight_<pid>_<sessionid>",
    _weights_here,
)


# runconfig.external_weight.true_all_const
def _scalars_inside(turn: Dict[str, Any], asked: Mapping[str, Any]) -> None:
    for one in turn.get("constants", ()):
        if one.get("op") == "FileConstant" and one.get("bytes", 0) <= 8:
            file = one.pop("file", None)
            one["op"] = "Const"
            shared = [other for other in turn["constants"] if file and other.get("file") == file]
            for key in ("files", "left"):
                if not shared and key in turn:
                    turn[key] = {name: told for name, told in turn[key].items() if not name.endswith(f"/{file}")}


turns(
    "scalars_stay_in_the_graph_of_external_weights",
    "The weights of all Const/Constant nodes are flushed and converted to FileConstant",
    _scalars_inside,
)


# session.enable_small_channel.threshold
def _fewer_than_four(params: Params) -> Params:
    for node in graph_of(params).nodes:
        told = str(node.attrs.get("value", "")) or str(node.attrs.get("shape", ""))
        sizes = re.findall(r"size: (\d+)", told) or re.findall(r"\d+", told)
        if len(sizes) == 4 and sizes[2] == "4" and "Conv2D" in [reader.op for reader in graph_of(params).nodes]:
            return all_values(params, without("enable_small_channel"))
    return params


asks(
    "small_channels_are_fewer_than_four",
    "Convolutional layers with channel <= 4 benefit",
    "timeline",
    _fewer_than_four,
)


# files.op_debug_cfg.list.same_file
def _names_only(text: str) -> str:
    def named(found: Any) -> str:
        kept = [one for one in found.group(2).split(",") if "::" not in one]
        return found.group(1) + ",".join(kept or ["none"])

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)([^\n]*)", named, text)


misreads(
    "artifacts",
    "op_debug_list_takes_no_types",
    "The operator name or operator type can be specified",
    "op_debug_config",
    _names_only,
    "compile",
)

# runconfig.op_debug_config.debug_dir, runconfig.debug_dir.priority


def _only_sources_there(files: Files, asked: Mapping[str, Any]) -> Files:
    there = _below(plain(asked["values"].get("debug_dir")))
    start = f"{there}/kernel_meta/"
    if not there:
        return files
    return _renamed(
        files,
        lambda name: name[len(there) + 1 :] if name.startswith(start) and name.endswith((".o", ".json")) else name,
    )


leaves(
    "debug_dir_is_of_sources_alone",
    "debug_dir: directory of the debug files, including the .o, .json and .cce files",
    _only_sources_there,
)

asks(
    "the_work_path_beats_debug_dir",
    "Priority: debug_dir, ASCEND_WORK_PATH, the current script execution path",
    "artifacts",
    lambda params: all_values(params, without("debug_dir")) if _environment(params).get("ASCEND_WORK_PATH") else params,
    "compile",
)


# files.op_debug_config.oom.logic
def _swapped(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith(".cce") and "b64" in file:
            text = decoded(file)
            found[name] = encoded(re.sub(r"0X5A5A000([12])", lambda one: f"0X5A5A000{3 - int(one.group(1))}", text))
    return found


leaves(
    "overwriting_traps_as_reading_does",
    "read_or_write == 1 traps with 0X5A5A0001, otherwise with 0X5A5A0002",
    _swapped,
)

# runconfig.stream_sync_timeout.effect
_read(
    "timeline",
    "stream_sync_timeout_counts_seconds",
    "The timeout interval for stream synchronization is in ms",
    "stream_sync_timeout",
    lambda value: _number(value, lambda time: time * 1000 if time > 0 else time),
    *TIMED,
)


# runconfig.ac_parallel_enable.streams
def _one_stream(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    tasks = step.get("tasks", ())
    cores = [task["stream"] for task in tasks if task["engine"] in ("cube", "vector", "aicore") and "stream" in task]
    for task in tasks:
        if task["engine"] == "aicpu" and "stream" in task and cores:
            task["stream"] = cores[0]


steps(
    "the_ai_cpu_shares_the_stream_of_the_core",
    "Operators of different engines are distributed to different flows",
    _one_stream,
)

# session.variable_format_optimize.true
_unset(
    "timeline",
    "legacy_variables_keep_their_format",
    "variable_format_optimize True, the default",
    "variable_format_optimize",
    False,
    lambda params, values: is_about(params, "session", "legacy"),
    *KERNELS,
)


# session.profiling_options.task_trace.junk_is_off
def _junk_is_on(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if options.get(key) not in (None, "on", "off"):
            options[key] = "on"


_values(
    "timeline",
    "any_other_word_traces",
    "Any value of task_trace and aicpu other than on and off is treated as off",
    _profiling(_junk_is_on),
    *TIMED,
)


# session.profiling_options.aic_metrics.PipeUtilization
def _arithmetic(options: Dict[str, Any]) -> None:
    options.setdefault("aic_metrics", "ArithmeticUtilization")


_values(
    "timeline",
    "profiles_are_of_arithmetic_unless_told",
    "PipeUtilization is the default of aic_metrics",
    _profiling(_arithmetic),
    *TIMED,
)


# session.profiling_options.inference.supported
def _quiet(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if key in options:
            options[key] = "off"


asks(
    "inference_traces_no_tasks",
    "Online inference supports task_trace and aicpu",
    "timeline",
    lambda params: all_values(params, _profiling(_quiet)) if in_inference(params) else params,
    *TIMED,
)

# runconfig.compile_dynamic_mode.true
asks(
    "static_graphs_stay_static_in_dynamic_mode",
    "True: all input shapes are generalized to -1, also those of static graphs",
    "artifacts",
    lambda params: (
        params if params.get("shapes") else all_values(params, mapped("compile_dynamic_mode", lambda value: False))
    ),
    *KERNELS,
)


# files.aoe_cfg.tune_ops_name
def _parts(params: Params) -> Params:
    names = [node.name for node in graph_of(params).nodes]

    def longer(told: Dict[str, Any]) -> None:
        if isinstance(told.get("tune_ops_name"), list):
            wanted = [one for one in told["tune_ops_name"] if isinstance(one, str)]
            more = [name for name in names if name not in wanted and any(one in name for one in wanted)]
            told["tune_ops_name"] = [*wanted, *more]

    return texts(params, "aoe_config_file", lambda text: _json(text, longer))


asks(
    "tuning_takes_names_that_hold_the_word",
    "tune_ops_name: name of the specified operator (whole word match)",
    "timeline",
    _parts,
    *KERNELS,
)

# session.is_tailing_optimization.true
_read(
    "timeline",
    "nothing_runs_beside_the_last_sum",
    "A computation that does not depend on the last AR is performed in parallel with it",
    "is_tailing_optimization",
    lambda value: False,
    "timeline",
)

# runconfig.enable_exception_dump.0
_read(
    "run",
    "exceptions_are_dumped_at_0_as_well",
    "0: disabled",
    "enable_exception_dump",
    lambda value: 1 if value == 0 else value,
    "run",
)


# runconfig.enable_exception_dump.npu_collect_forces_1
def _off_is_off(params: Params) -> Params:
    if value_of(params, "enable_exception_dump") != 0:
        return params
    return with_env(params, lambda env: {key: value for key, value in env.items() if key != "NPU_COLLECT_PATH"})


asks(
    "collection_dumps_no_exception_that_is_switched_off",
    "With NPU_COLLECT_PATH data is dumped based on mode 1 regardless of the value of enable_exception_dump",
    "run",
    _off_is_off,
)

# precision.v2.origin
_values(
    "run",
    "runs_compute_by_precision_mode_alone",
    "precision_mode_v2 is the operator precision mode",
    without("precision_mode_v2"),
    "run",
)

# runconfig.variable_placement.host


@broken("timeline", "Host: the variable is deployed on the host, which reduces the memory usage of the device")
def variables_of_the_host_take_device_memory(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    there = ask(all_values(params, mapped("variable_placement", lambda value: "Device")))
    for mine, theirs in [(answer["base"], there["base"])] + [
        (answer["variants"][key], there["variants"][key]) for key in answer.get("variants", {})
    ]:
        if "memory" in mine and "memory" in theirs:
            mine["memory"] = theirs["memory"]
    return dict(answer)
