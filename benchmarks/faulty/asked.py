"""What a request says, and requests that are changed before the reference answers them."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.making import REFERENCE, Answer, Params, When
from npu_conformance.backends.mutants import edits
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.options import OPTIONS

#: Scripts and graphs that a faulty backend reads instead of those it is asked about.
_CHANGED = tempfile.TemporaryDirectory(prefix="npu-faulty-")
#: Operator to those that read it.
Readers = Dict[str, List[str]]


def is_about(params: Params, surface: str = "", edition: str = "") -> bool:
    return surface in ("", params["surface"]) and edition in ("", params["edition"])


def where(surface: str, edition: str) -> Callable[[Params], bool]:
    """Whether a question is of this surface and edition, as `when` of others takes it."""
    return lambda params: is_about(params, surface, edition)


LEGACY = where("", "legacy")
CURRENT = where("", "current")
HALF = "float16"
FLOAT = "float32"
WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
#: Methods that tell dtypes, or what follows from them.
DTYPES = ("precision", "timeline", "compile")
TIMED = ("timeline", "run")
KERNELS = ("compile", "timeline")
Values = Dict[str, Any]
#: What is replaced while a faulty device runs.
REAL: Dict[str, Any] = {}
EVERY_METHOD = ("options", "partition", "precision", "timeline", "compile", "run")
Change = Callable[[Params], Params]
SESSION = where("session", "legacy")
RUNCONFIG = where("runconfig", "current")
DEPRECATED = ("op_debug_level", "op_select_implmode", "variable_format_optimize", "enable_data_pre_proc")
#: What all of them refuse alike.
EVERYWHERE = ("options", "partition", "precision", "timeline", "compile")


def plain(value: Any) -> Any:
    """A value without the field it stands in."""
    return value["value"] if isinstance(value, dict) and set(value) == {"field", "value"} else value


def with_values(params: Params, **changes: Any) -> Dict[str, Any]:
    """The request with these values; None takes one out."""
    values = {**params["values"], **changes}
    return {**params, "values": {name: value for name, value in values.items() if value is not None}}


def facets(params: Params) -> Dict[str, Any]:
    """Option to how it is declared where the request is asked."""
    key = (params["surface"], params["edition"])
    return {name: option.facets[key] for name, option in OPTIONS.items() if key in option.facets}


def graph_of(params: Params) -> Any:
    """The request's graph, closed over feeds and fetches."""
    return REFERENCE.graph(params)


def value_of(params: Params, name: str) -> Any:
    return plain(params["values"].get(name))


def given(params: Params, *names: str) -> bool:
    """Whether all these options are given."""
    return all(value_of(params, name) is not None for name in names)


def in_inference(params: Params) -> bool:
    return value_of(params, "graph_run_mode") == 0


def text_of(params: Params, option: str) -> str:
    """The text of the file that an option names, empty where there is none."""
    named = value_of(params, option)
    text = params.get("files", {}).get(named) if isinstance(named, str) else None
    return text if isinstance(text, str) else ""


def is_mixed(params: Params) -> bool:
    return value_of(params, "mix_compile_mode") is True and params.get("policy") != "adapter"


def all_values(params: Params, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Dict[str, Any]:
    """The request with the values of every variant and turn changed."""
    found: Dict[str, Any] = {**params, "values": change(dict(params.get("values", {})))}
    if "variants" in params:
        base = dict(params.get("values", {}))
        found["variants"] = {
            name: {key: value for key, value in change({**base, **values}).items() if found["values"].get(key) != value}
            for name, values in params["variants"].items()
        }
        for name, values in params["variants"].items():
            gone = set(found["values"]) - set(change({**base, **values}))
            found["variants"][name].update(dict.fromkeys(gone))
    if "turns" in params:
        found["turns"] = [
            {**one, "values": change(dict(one["values"]))} if one.get("values") else one for one in params["turns"]
        ]
    return found


def asked_values(params: Params) -> List[Dict[str, Any]]:
    """The values of a request, of its variants and of its turns."""
    beside = [*params.get("variants", {}).values(), *(one.get("values") or {} for one in params.get("turns") or ())]
    return [dict(params.get("values", {})), *beside]


def named_by(params: Params, option: str) -> List[str]:
    """The paths that an option has, in whatever turn or variant."""
    return [
        one for one in (value_of({"values": values}, option) for values in asked_values(params)) if isinstance(one, str)
    ]


def texts(params: Params, option: str, change: Callable[[str], str]) -> Dict[str, Any]:
    """The request with the text of the file that an option names changed, in every turn."""
    named = named_by(params, option)

    def edited(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: change(text) if name in named and isinstance(text, str) else text for name, text in files.items()}

    found: Dict[str, Any] = {**params, "files": edited(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": edited(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return found


def with_env(params: Params, change: Callable[[Dict[str, str]], Dict[str, str]]) -> Dict[str, Any]:
    found: Dict[str, Any] = {**params, "env": change(dict(params.get("env", {})))}
    if "turns" in params:
        found["turns"] = [
            {**one, "env": change(dict(one["env"]))} if one.get("env") else one for one in params["turns"]
        ]
    return found


def with_settings(params: Params, change: Callable[[str], str]) -> Dict[str, Any]:
    """The request with every op_cache.ini changed."""

    def edit(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: change(text) if name.endswith("op_cache.ini") and isinstance(text, str) else text
            for name, text in files.items()
        }

    found: Dict[str, Any] = {**params, "files": edit(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [{**one, "files": edit(one["files"])} if one.get("files") else one for one in params["turns"]]
    return found


def without(*names: str) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    return lambda values: {name: value for name, value in values.items() if name not in names}


def edited(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value changed, whatever field it stands in."""
    if isinstance(value, dict) and set(value) == {"field", "value"}:
        return {**value, "value": change(value["value"])}
    return change(value)


def mapped(name: str, change: Callable[[Any], Any]) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    return lambda values: {
        key: edited(value, change) if key == name and plain(value) is not None else value
        for key, value in values.items()
    }


def ops_of(params: Params) -> Mapping[str, Any]:
    return {node.name: node for node in graph_of(params).nodes}


def types_of(op: Any) -> List[str]:
    """The dtypes among an operator's attributes."""
    return [getattr(op.attrs[name], "name", "") for name in op.attrs]


def with_pairs(params: Params, change: Callable[[List[Any]], List[Any]]) -> Dict[str, Any]:
    text = value_of(params, "in_out_pair")
    try:
        found = json.loads(text.replace("'", '"')) if isinstance(text, str) else None
    except ValueError:
        found = None
    if not isinstance(found, list) or not found:
        return dict(params)
    return all_values(params, mapped("in_out_pair", lambda value: str(change(found))))


def value_is(params: Params, option: str, *values: Any) -> bool:
    """Whether an option is given as one of these."""
    return value_of(params, option) in values


def source_of(text: str) -> str:
    """The operator that an input names."""
    return text.lstrip("^").split(":")[0]


def readers_of(params: Params, controls: bool = True) -> Readers:
    """Who reads whom in the request's graph; without `controls` by data alone."""
    found: Readers = {}
    for node in graph_of(params).nodes:
        for text in node.inputs:
            if controls or not text.startswith("^"):
                found.setdefault(source_of(text), []).append(node.name)
    return found


def _kept(content: bytes, ending: str) -> str:
    """The path of a file with this content, the same for the same content."""
    path = os.path.join(_CHANGED.name, hashlib.sha256(content).hexdigest() + ending)
    if not os.path.exists(path):
        with open(path, "wb") as stream:
            stream.write(content)
    return path


def rescripted(params: Params, change: Callable[[str], str]) -> Params:
    """The request with its script's text changed."""
    if "script" not in params:
        return params
    with open(params["script"], encoding="utf-8") as stream:
        text = stream.read()
    found = change(text)
    if found == text:
        return params
    return {**params, "script": _kept(found.encode(), ".py")}


def regraphed(params: Params, change: Callable[[Any], Any]) -> Params:
    """The request with its graph changed, a GraphDef that `change` edits."""
    if "graph" not in params:
        return params
    made = load_graph(params["graph"]).to_def()
    before = made.SerializeToString(deterministic=True)
    change(made)
    content = made.SerializeToString(deterministic=True)
    if content == before:
        return params
    return {**params, "graph": _kept(content, ".pb")}


def dumped(values: Dict[str, Any], change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Dict[str, Any]:
    """The values with those of dumps changed, wherever they stand: session keys, or the arguments of a DumpConfig."""
    config = values.get("dump_config")
    if isinstance(config, dict) and "class" in config:
        return {**values, "dump_config": {**config, "arguments": change(dict(config.get("arguments", {})))}}
    return change(values)


def called_functions(graph: Any, ops: Any) -> Set[str]:
    """Functions that operators of these types call, and all that those call."""
    found: Set[str] = set()
    waiting = [node for node in graph.nodes if not ops or node.op in ops]
    while waiting:
        node = waiting.pop()
        values = [*node.proto.attr.values()]
        called = [value.func.name for value in values if value.WhichOneof("value") == "func"]
        called += [one.name for value in values for one in value.list.func]
        for name in {*called, node.proto.op} & set(graph.functions) - found:
            found.add(name)
            waiting.extend(graph.functions[name].body.nodes)
    return found


def is_inside_functions(params: Params, *ops: str) -> Callable[[str], bool]:
    """Whether a name is of an operator in a function, one that operators of these types lead to."""
    names = tuple(f"{name}/" for name in called_functions(graph_of(params), ops))
    return lambda name: name.startswith(names)


def has_anywhere(params: Params, option: str, *values: Any) -> bool:
    """Whether an option has one of these values, in whatever field, turn or variant."""
    return any(value_is({"values": one}, option, *values) for one in asked_values(params))


def asked_turns(params: Params) -> List[Dict[str, Any]]:
    """What each turn of a compilation is asked with, those before it laid under it."""
    values: Dict[str, Any] = dict(params.get("values", {}))
    env: Dict[str, Any] = dict(params.get("env", {}))
    files: Dict[str, Any] = dict(params.get("files", {}))
    found = []
    for turn in params.get("turns") or [{}]:
        values, env = {**values, **(turn.get("values") or {})}, {**env, **(turn.get("env") or {})}
        files = {**files, **(turn.get("files") or {})}
        found.append({**params, "values": values, "env": env, "files": files})
    return found


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


def is_profiled(params: Params) -> bool:
    return value_is(params, "profiling_mode", True) or given(params, "profiling_config")


def is_looped(params: Params) -> bool:
    count = value_of(params, "iterations_per_loop")
    return isinstance(count, int) and count > 1


def whole_graph(params: Params) -> Any:
    """The request's graph as it stands, None where it has none that can be read."""
    try:
        return graph_of({**params, "feeds": [], "fetches": []}) if "graph" in params else None
    except NpuError:
        return None


def nodes_of(params: Params) -> List[Any]:
    return list(getattr(whole_graph(params), "nodes", ()))


def has_attribute_type(params: Params, *dtypes: str) -> bool:
    return any(dtype in dtypes for node in nodes_of(params) for dtype in types_of(node))


def is_no_text(option: str, surface: str = "", edition: str = "") -> Callable[[Params], bool]:
    return lambda params: is_about(params, surface, edition) and not isinstance(value_of(params, option), str)


def is_in_field(params: Params, option: str, field: str) -> bool:
    """Whether a session is given the option in this field."""
    told = params["values"].get(option)
    if params["surface"] != "session" or told is None:
        return False
    if isinstance(told, dict) and set(told) == {"field", "value"}:
        return bool(told["field"] == field)
    kinds = {bool: "b", int: "i", float: "f", str: "s"}
    return kinds.get(type(told)) == field


def without_slashes(path: Any) -> str:
    return path.strip("/") if isinstance(path, str) else ""


def plain_in(values: Mapping[str, Any], name: str) -> Any:
    return plain(values.get(name))


def values_where(
    when: Callable[[Mapping[str, Any]], bool], change: Callable[[Dict[str, Any]], Dict[str, Any]]
) -> Callable[[Params], Params]:
    """The request with its values, and those of variants and turns, changed where a condition holds of them."""
    return lambda params: all_values(params, lambda values: change(values) if when(values) else values)


def gives_any(params: Params, *options: str) -> bool:
    """Whether one of these options is given, in whatever turn or variant."""
    return any(given({"values": one}, option) for one in asked_values(params) for option in options)


def without_in_inference(option: str) -> Callable[[Values], Values]:
    return lambda values: without(option)(values) if in_inference({"values": values}) else values


def with_option(option: str, change: Callable[[Any], Any], when: When = lambda params: True) -> Change:
    """The question with an option's value changed, in every variant and turn."""
    return lambda params: all_values(params, mapped(option, change)) if when(params) else params


def has_deprecated(params: Params) -> bool:
    return is_about(params, edition="current") and any(given(params, name) for name in DEPRECATED)


def is_ranked(params: Params) -> bool:
    return "RANK_SIZE" in params.get("env", {}) or "RANK_ID" in params.get("env", {})


def has_type(params: Params, *dtypes: str) -> bool:
    """Whether an operator of the graph has one of these dtypes."""
    graph = whole_graph(params)
    return graph is not None and any(
        getattr(node.attrs[key], "name", "") in dtypes for node in graph.nodes for key in node.attrs
    )


def all_nodes(params: Params) -> List[Any]:
    """The operators of the request's graph and of its functions."""
    try:
        graph = load_graph(params["graph"]) if "graph" in params else None
    except NpuError:
        return []
    if graph is None:
        return []
    return [*graph.nodes, *(node for function in graph.functions.values() for node in function.body.nodes)]


def is_dumped(params: Params) -> bool:
    return value_is(params, "enable_dump", True) or given(params, "dump_config")


def file_of(params: Params, option: str) -> Any:
    path = value_of(params, option)
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    return text if isinstance(text, str) else None


def offloads_ops(ops: Any) -> Callable[[Answer, Params], Any]:
    def change(answer: Answer, params: Params) -> Any:
        graph = graph_of(params)
        host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
        return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op in ops])

    return change


def edited_times(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Answer, Params], Any]:
    return lambda answer, params: [change(one) for one in answer.get("timeline") or [] if one]


def in_32_bits(params: Params, option: str) -> Any:
    value = value_of(params, option)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return ((value + (1 << 31)) % (1 << 32)) - (1 << 31) if whole else value


def in_values(change: Callable[[Values], Values]) -> Change:
    """The request with its values changed, in every variant and turn."""
    return lambda params: all_values(params, change)


def without_env(*variables: str) -> Change:
    return lambda params: with_env(params, lambda env: {key: env[key] for key in env if key not in variables})


def with_default(option: str, value: Any) -> Change:
    """The request with a value for an option of its surface, where it has none."""

    def change(params: Params) -> Params:
        if option not in facets(params):
            return params
        return all_values(
            params, lambda values: values if values.get(option) is not None else {**values, option: value}
        )

    return change


def narrowed(option: str, is_valid: Callable[[int], bool]) -> Change:
    """The request with a number as 32 bits hold it, where that is another one that is valid."""

    def change(params: Params) -> Params:
        number, value = in_32_bits(params, option), value_of(params, option)
        is_same = value is None or number == value or not is_valid(number)
        return params if is_same else with_values(params, **{option: number})

    return change


def given_as(option: str, surface: str, edition: str, *values: Any) -> When:
    """Whether an option is given there as one of these values, of the same type."""

    def when(params: Params) -> bool:
        told = value_of(params, option)
        return is_about(params, surface, edition) and any(told == one and type(told) is type(one) for one in values)

    return when


def by_documents(when: When) -> When:
    """Whether a condition holds of a question about what the documents say, not what one adapter does."""
    return lambda params: params.get("policy") != "adapter" and when(params)
