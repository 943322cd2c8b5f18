"""An eighth list, by requirement, over all areas: the mistakes that come to mind first."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from typing import Any, Callable, Dict, List, Mapping
from unittest import mock

from faulty.making import (
    REFERENCE,
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    defaults,
    denies,
    given,
    in_inference,
    is_about,
    leaves,
    mapped,
    misreads,
    node_change,
    offloaded,
    ops_of,
    place,
    plain,
    retyped,
    tells,
    texts,
    to_device,
    told_value,
    turns,
    value_is,
    value_of,
    with_pairs,
    with_values,
    without,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.profiling import tables

# Options

accepts(
    "small_channels_by_a_text",
    "003 enable_small_channel: an int",
    "enable_small_channel",
    lambda params: is_about(params, "runconfig") and value_of(params, "enable_small_channel") in ("0", "1"),
)
accepts(
    "one_number_for_all_streams",
    "002 stream_max_parallel_num: a text, in the field s",
    "stream_max_parallel_num",
    lambda params: (
        is_about(params, "session", "legacy")
        and isinstance(value_of(params, "stream_max_parallel_num"), int)
        and not isinstance(value_of(params, "stream_max_parallel_num"), bool)
    ),
)
accepts(
    "an_empty_pair_at_the_end",
    "002 stream_max_parallel_num: pairs of an engine and a number",
    "stream_max_parallel_num",
    lambda params: (
        is_about(params, "session", "legacy") and str(value_of(params, "stream_max_parallel_num")).endswith(",")
    ),
)
accepts(
    "implementations_in_capitals",
    "003 op_select_implmode: high_precision or high_performance",
    "op_select_implmode",
    lambda params: (
        is_about(params, "runconfig")
        and value_of(params, "op_select_implmode") not in ("high_precision", "high_performance")
        and str(value_of(params, "op_select_implmode")).lower() in ("high_precision", "high_performance")
    ),
)
defaults(
    "tailing_unless_told_otherwise",
    "003 is_tailing_optimization: False by default",
    "is_tailing_optimization",
    True,
    lambda params: is_about(params, "runconfig", "current"),
)
denies(
    "weights_leave_by_a_text_alone",
    "003 external_weight: external_weight=True as in the example",
    "external_weight",
    lambda params: is_about(params, "runconfig", "current") and value_is(params, "external_weight", True),
)


def _dropped(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig", "current") and value_is(params, "variable_format_optimize", True):
        told_value(answer, "variable_format_optimize", None, "default")


tells("formats_are_deprecated_at_once", "003 variable_format_optimize: True as in the example", _dropped)


@broken("options", "003 op_debug_config: op_debug_config = oom, with blanks as in the example", "options", "compile")
def no_blank_before_the_sign(ask: Any, params: Params) -> Answer:
    found = texts(params, "op_debug_config", lambda text: re.sub(r"(?m)^\s*op_debug_config[ \t]+=.*$", "", text))
    if found == params:
        return dict(ask(params))
    try:
        return dict(ask(found))
    except NpuError as error:
        if error.subject != "op_debug_config":
            raise
        return dict(ask(all_values(params, without("op_debug_config"))))


def _named(params: Params) -> List[str]:
    """The placeholders of a script's graph, in its order, where their names were given."""
    nodes = load_graph(params["graph"]).nodes if "graph" in params else ()
    names = [node.name for node in nodes if node.op == "Placeholder"]
    return [] if any(re.fullmatch(r"Placeholder(_\d+)?", name) for name in names) else names


def reordered(params: Params, order: Callable[[List[str]], List[str]]) -> Params:
    """The ranges of named placeholders read in another order than that of their names."""
    names = _named(params)
    wrong = order(names)
    if not is_about(params, edition="legacy") or wrong == sorted(names):
        return params

    def change(text: Any) -> Any:
        found = re.search(r"(data\s*:)([^;]*)", str(text))
        ranges = re.findall(r"\[[^]]*\]", found.group(2)) if found else []
        if found is None or len(ranges) != len(names):
            return text
        meant = ",".join(ranges[wrong.index(name)] for name in sorted(names))
        return text[: found.start(2)] + meant + text[found.end(2) :]

    return all_values(params, mapped("dynamic_inputs_shape_range", change))


asks(
    "names_in_the_order_of_the_script",
    "002 dynamic_inputs_shape_range: named placeholders in the order of the letters",
    "timeline",
    lambda params: reordered(params, list),
    "timeline",
    "run",
    "compile",
)

# Profiles


@broken("run", "002 profiling_mode False: profiling is off", "run", "timeline")
def options_switch_profiling_on(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session"):
        return dict(ask(params))

    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "profiling_mode": True} if plain(values.get("profiling_options")) else values

    return dict(ask(all_values(params, change)))


def profile_text(params: Params, change: Callable[[str], str]) -> Dict[str, Any]:
    return all_values(
        params, mapped("profiling_options", lambda value: change(value) if isinstance(value, str) else value)
    )


asks(
    "conflicts_are_told_as_pipes",
    "002 aic_metrics ResourceConflictRatio: columns of its own",
    "timeline",
    lambda params: (
        profile_text(params, lambda text: text.replace("ResourceConflictRatio", "PipeUtilization"))
        if is_about(params, edition="legacy")
        else params
    ),
    "timeline",
    "run",
)


def rewritten(module: Any, name: str, before: str, after: str) -> Any:
    """The function of a module with one text of its source replaced."""
    source = inspect.getsource(getattr(module, name))
    if before not in source:
        raise ValueError(f"{name} has no {before}")
    room = dict(vars(module))
    exec(compile(source.replace(before, after), module.__file__, "exec"), room)
    return room[name]


def patched(ask: Any, params: Params, *patches: Any) -> Answer:
    """The reference's answer while it is patched: kept nowhere."""
    method = ask.args[0]
    for one in patches:
        one.start()
    try:
        found: Answer = json.loads(json.dumps(getattr(REFERENCE, method)(json.loads(json.dumps(params)))))
        return found
    finally:
        for one in patches:
            one.stop()


_END = rewritten(tables, "moments", "spans[last.task].end", "spans[last.task].start")


@broken("run", "002 bp_point: the end of the last backward operator", "run", "timeline")
def backward_ends_where_its_last_operator_begins(ask: Any, params: Params) -> Answer:
    if "bp_point" not in json.dumps(params):
        return dict(ask(params))
    return patched(ask, params, mock.patch.object(tables, "moments", _END))


# Compilation and files

misreads(
    "artifacts",
    "names_of_operators_are_not_tuned",
    "003 aoe_config_file: tune_ops_name",
    "aoe_config_file",
    lambda text: re.sub(r'"tune_ops_name"\s*:\s*\[[^]]*\]\s*,?', "", text),
    "compile",
    "timeline",
)


@broken("artifacts", "003 op_compiler_cache_mode disable: the cache is off", "compile")
def a_cache_that_is_off_is_filled(ask: Any, params: Params) -> Answer:
    found = dict(ask(params))
    if not any(value_of({"values": values}, "op_compiler_cache_mode") == "disable" for values in turns_of(params)):
        return found
    filled = ask(all_values(params, mapped("op_compiler_cache_mode", lambda value: "enable")))
    for turn, other, values in zip(found["turns"], filled["turns"], turns_of(params)):
        if value_of({"values": values}, "op_compiler_cache_mode") == "disable":
            for key in ("files", "left"):
                more = {name: file for name, file in other.get(key, {}).items() if "kernel_cache" in name}
                turn[key] = {**turn.get(key, {}), **more}
    return found


def turns_of(params: Params) -> List[Dict[str, Any]]:
    """The values of every turn."""
    values, found = dict(params["values"]), []
    for one in params.get("turns") or [{}]:
        values.update(one.get("values") or {})
        found.append(dict(values))
    return found


@broken("artifacts", "003 op_cache.ini: max_op_cache_size=-1 disables ageing", "compile")
def less_than_nothing_is_the_default(ask: Any, params: Params) -> Answer:
    changed = json.loads(json.dumps(params).replace("max_op_cache_size=-1", "max_op_cache_size=500"))
    return dict(ask(changed))


def _by_name(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    found: Dict[str, List[str]] = {}
    for one in turn.get("constants", ()):
        if one.get("file"):
            name = f"weight_{hashlib.sha256((one['node'] + one['file']).encode()).hexdigest()}"
            found.setdefault(one["file"], []).append(name)
            one["file"] = name
    for key in ("files", "left"):
        if key in turn:
            turn[key] = renamed(turn[key], found)


def renamed(files: Files, found: Mapping[str, List[str]]) -> Files:
    """The files with each weight under other names."""
    told: Files = {}
    for path, file in files.items():
        folder, _, name = path.rpartition("/")
        for other in found.get(name, [name]):
            told[f"{folder}/{other}" if folder else other] = file
    return told


turns("weights_are_named_for_their_constants", "003 external_weight: equal weights are shared", _by_name)


def _elsewhere(name: str) -> str:
    return "kernel_meta/" + name.rpartition("/")[2] if "kernel_meta/" in name else name


def _beside(files: Files, asked: Mapping[str, Any]) -> Files:
    path = value_of(asked, "op_debug_config")  # type: ignore[arg-type]
    text = str(asked.get("files", {}).get(path, ""))
    if not given(asked, "debug_dir") or not re.search("dump_cce|dump_loc", text):
        return files
    return {_elsewhere(name): file for name, file in files.items()}


@broken("artifacts", "003 op_debug_config dump_cce, dump_loc: debug_dir says where", "compile")
def sources_stay_where_the_script_is(ask: Any, params: Params) -> Answer:
    found = dict(ask(params))
    files = dict(params.get("files", {}))
    for turn, values, asked in zip(found["turns"], turns_of(params), params.get("turns") or [{}]):
        files.update(asked.get("files") or {})
        for key in ("files", "left"):
            if key in turn:
                turn[key] = _beside(turn[key], {"values": values, "files": files})
    return found


def _at_home(files: Files, asked: Mapping[str, Any]) -> Files:
    if given(asked, "debug_dir") or "ASCEND_WORK_PATH" in asked["env"]:
        return files
    home = asked["env"].get("HOME", "/home").strip("/")
    return {f"{home}/{name}" if name.startswith("kernel_meta/") else name: file for name, file in files.items()}


leaves("debug_files_at_home", "002 debug_dir: the current execution path by default", _at_home)

# Time


def one_stream(step: Dict[str, Any]) -> None:
    streams = [task["stream"] for task in step.get("tasks", ()) if task["engine"] not in ("aicpu", "host")]
    for task in step.get("tasks", ()):
        if task["engine"] == "aicpu" and streams:
            task["stream"] = streams[0]


# Partition

asks(
    "data_are_always_offloaded",
    "002 enable_data_pre_proc False: getnext is not offloaded",
    "partition",
    lambda params: (
        all_values(params, lambda values: {**values, "enable_data_pre_proc": True})
        if is_about(params, "session", "legacy")
        else params
    ),
    "partition",
    "run",
    "timeline",
)


def _tables(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    moved = [one["node"] for one in answer["host"] if one["node"] in ops and "LookupTable" in ops[one["node"]].op]
    return to_device(answer, moved) if moved else None


place("tables_are_looked_up_on_the_device", "000: resource operators stay in the framework", _tables)
asks(
    "the_flag_of_pairs_is_not_read",
    "002 in_out_pair_flag False: the operators of in_out_pair stay",
    "partition",
    lambda params: all_values(params, without("in_out_pair_flag")),
    "partition",
    "run",
)


def _swallowed(answer: Answer, params: Params) -> Any:
    ops, there = ops_of(params), set(offloaded(answer))
    readers: Dict[str, List[str]] = {}
    for name, op in ops.items():
        for source in op.inputs:
            readers.setdefault(source.lstrip("^").split(":")[0], []).append(name)
    moved = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "SCOPE"
        and one["node"] in ops
        and {source.split(":")[0] for source in ops[one["node"]].inputs} | set(readers.get(one["node"], ())) <= there
    ]
    return to_device(answer, moved) if moved else None


place("what_is_between_goes_along", "000 without_npu_compile_scope: operators that are not offloaded", _swallowed)


def _no_arguments(pairs: List[Any]) -> List[Any]:
    return [
        [[f"{name}/unknown" if str(name).startswith("_arg_") else name for name in ins], outs] for ins, outs in pairs
    ]


asks(
    "arguments_begin_nothing",
    "001 in_out_pair: _arg_tf_image_string_0_0 begins a range",
    "partition",
    lambda params: with_pairs(params, _no_arguments) if is_about(params, edition="legacy") else params,
    "partition",
    "run",
)

# Precision


def lists_of(text: str) -> Any:
    """What a file of lists says; None where it is none."""
    try:
        return json.loads(re.sub(r"(?m)//.*$", "", text))
    except ValueError:
        return None


def relisted(params: Params, change: Callable[[Dict[str, Any]], Any]) -> Params:
    def edit(text: str) -> str:
        found = lists_of(text)
        if not isinstance(found, dict):
            return text
        change(found)
        return json.dumps(found)

    return texts(params, "modify_mixlist", edit)


def _first_alone(lists: Dict[str, Any]) -> None:
    for one in lists.values():
        for key in one if isinstance(one, dict) else ():
            one[key] = one[key][:1] if isinstance(one[key], list) else one[key]


asks(
    "one_operator_a_list",
    "003 modify_mixlist: operators are separated by commas",
    "precision",
    lambda params: relisted(params, _first_alone) if is_about(params, edition="current") else params,
    "precision",
    "options",
)


def _trusted(lists: Dict[str, Any]) -> None:
    black = lists.get("black-list")
    if isinstance(black, dict) and black.get("to-remove"):
        white = lists.setdefault("white-list", {})
        white["to-add"] = [*white.get("to-add", []), *black["to-remove"]]


asks(
    "what_is_not_black_is_white",
    "003 modify_mixlist: from the blocklist to the graylist",
    "precision",
    lambda params: relisted(params, _trusted) if is_about(params, edition="current") else params,
)


def _left_half(answer: Answer, params: Params) -> None:
    modes = value_of(params, "precision_mode") in (None, "None", "allow_fp32_to_fp16")
    if not is_about(params, edition="legacy") or not modes or in_inference(params):
        return
    told = {node["node"]: node for node in answer["nodes"]}
    for name, op in ops_of(params).items():
        source = told.get(op.inputs[0].split(":")[0]) if op.inputs and name in told else None
        if source is not None and told[name]["engine"] == "vector" and "float16" in source["outputs"]:
            retyped(told[name], "float32", "float16")


changed("precision", "what_is_half_stays_half", "002 allow_fp32_to_fp16: float32 where it is supported", _left_half)


@broken("precision", "003 must_keep_origin_dtype: without an AI CPU operator an error is reported")
def no_kernel_is_no_error(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL":
            raise
        kept = all_values(params, without("precision_mode_v2"))
        return dict(ask(with_values(kept, precision_mode="allow_fp32_to_fp16")))


def gray_convolutions(ask: Any, params: Params) -> Answer:
    """The answer with Conv2D on the graylist."""
    if given(params, "modify_mixlist"):
        path = value_of(params, "modify_mixlist")
        if "Conv2D" in str(params.get("files", {}).get(path, "")):
            return dict(ask(params))

        def change(lists: Dict[str, Any]) -> None:
            white = lists.setdefault("white-list", {})
            white["to-remove"] = [*white.get("to-remove", []), "Conv2D"]

        return dict(ask(relisted(params, change)))
    lists = json.dumps({"white-list": {"to-remove": ["Conv2D"]}})
    files = {**params.get("files", {}), "/l.json": lists}
    return dict(ask({**with_values(params, modify_mixlist="/l.json"), "files": files}))


def mixes_as_before(params: Params) -> bool:
    return is_about(params, edition="legacy") and value_is(params, "precision_mode", "allow_mix_precision")


@broken("precision", "002 Conv2D: precision_reduce is true")
def convolutions_are_gray(ask: Any, params: Params) -> Answer:
    return gray_convolutions(ask, params) if mixes_as_before(params) else dict(ask(params))


def _half_on_the_core(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = ("force_fp32", "cube_fp16in_fp32out")
    asked = value_of(params, "precision_mode") in modes or value_of(params, "precision_mode_v2") in modes
    if asked and is_about(params, edition="current") and node["engine"] == "aicpu" and node.get("list") == "blocklist":
        node["engine"] = "vector"
        retyped(node, "float32", "float16")


node_change(
    "the_blocklist_is_for_mixing_alone",
    "003 force_fp32: the AI CPU's operator for one of float16 on the blocklist",
    _half_on_the_core,
)

# Runs


asks(
    "memory_of_variables_has_no_end",
    "002 variable_memory_max_size: the memory of variables",
    "run",
    lambda params: (
        all_values(params, without("variable_memory_max_size")) if is_about(params, edition="legacy") else params
    ),
    "run",
    "timeline",
)


@broken("run", "003 variable_placement Host: where variables are changes no result")
def variables_of_the_host_begin_anew(ask: Any, params: Params) -> Answer:
    is_host = value_is(params, "variable_placement", "Host") and "steps" in params
    return dict(ask({**params, "steps": 1} if is_host else params))


def first_device() -> List[Any]:
    """Patches after which every session of a process has the device of the first."""
    from npu_reference.runtime import ranks
    from npu_reference.runtime.execution import clocking

    kept: Dict[str, Any] = {}

    def once(module: Any, of: Callable[..., Any]) -> Any:
        return mock.patch.object(module, "device_of", lambda *given: kept.setdefault(module.__name__, of(*given)))

    return [once(ranks, ranks.device_of), once(clocking, clocking.device_of)]


@broken("run", "002 session_device_id: sessions of one script have devices of their own")
def all_sessions_share_a_device(ask: Any, params: Params) -> Answer:
    if "script" not in params:
        return dict(ask(params))
    return patched(ask, params, *first_device())
