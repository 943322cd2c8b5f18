"""What a faulty backend is: the reference, with one method answered by a function that makes a mistake."""

from __future__ import annotations

import base64
import contextlib
import copy
import functools
import hashlib
import json
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set

from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.options import OPTIONS

__all__ = [
    "Files",
    "decoded",
    "defaults",
    "encoded",
    "leaves",
    "misreads",
    "reads_as",
    "named_by",
    "value_is",
    "FAULTY",
    "REFERENCE",
    "RECORDED",
    "Answer",
    "Faulty",
    "Params",
    "broken",
    "chained",
    "changed",
    "facets",
    "graph_of",
    "plain",
    "to_host",
    "turn_values",
    "accepts",
    "asks",
    "denies",
    "value_of",
    "is_about",
    "text_of",
    "where",
    "is_mixed",
    "node_change",
    "place",
    "steps",
    "tells",
    "turns",
    "with_values",
    "all_values",
    "asked_values",
    "given",
    "in_inference",
    "with_env",
    "without",
    "edited",
    "into",
    "mapped",
    "texts",
    "told_value",
    "ops_of",
    "types_of",
    "offloaded",
    "to_device",
    "with_pairs",
    "Readers",
    "behind",
    "judged_partition",
    "judged_when",
    "readers_of",
    "source_of",
    "dumped",
    "has_function",
    "left",
    "regraphed",
    "rescripted",
    "retyped",
]

Params = Mapping[str, Any]
Answer = Dict[str, Any]
Ask = Callable[[Params], Answer]
Fault = Callable[[Ask, Params], Answer]
#: Files by name, as an answer tells them.
Files = Dict[str, Any]

REFERENCE = ReferenceBackend()

#: Scripts and graphs that a faulty backend reads instead of those it is asked about.
_CHANGED = tempfile.TemporaryDirectory(prefix="npu-faulty-")

#: Digest of a `run` request to the reference's message, which an earlier run of cases recorded.
RECORDED: Dict[str, str] = {}


class Faulty(NamedTuple):
    """One faulty backend; `area` is the table's, `sentence` what the documents say and it does not do.

    `fault` makes the mistake, of one that makes a single one.
    """

    name: str
    area: str
    methods: List[str]
    sentence: str
    backend: ReferenceBackend
    fault: Optional[Fault] = None


#: By name, in the order written.
FAULTY: Dict[str, Faulty] = {}

_TABLES: List[Dict[str, Faulty]] = [FAULTY]


@contextlib.contextmanager
def into(table: Dict[str, Faulty]) -> Iterator[None]:
    """Backends that are registered within stand in this table instead, under names of its own."""
    _TABLES.append(table)
    try:
        yield
    finally:
        _TABLES.pop()


def broken(area: str, sentence: str, *methods: str) -> Callable[[Fault], Fault]:
    """Registers a backend whose `methods` (that of the area's name where none is given) are the decorated function."""
    chosen = list(methods) or [area]

    def register(fault: Fault) -> Fault:
        name, table = fault.__name__, _TABLES[-1]
        if name in table:
            raise ValueError(f"two backends are called {name}")
        members: Dict[str, Any] = {"__doc__": sentence}
        for method in chosen:
            members[method] = _method(fault, functools.partial(_asked, method))
        backend = type("FaultyBackend", (ReferenceBackend,), members)()
        table[name] = Faulty(name, area, chosen, sentence, backend, fault)
        return fault

    return register


def chained(name: str, parts: Sequence[str]) -> None:
    """One backend with the mistakes of several, each made on what the one before it answers."""
    chosen = [FAULTY[part] for part in parts]
    methods = list(dict.fromkeys(method for one in chosen for method in one.methods))
    members: Dict[str, Any] = {}
    for method in methods:
        *before, last = [one.fault for one in chosen if one.fault is not None and method in one.methods]
        ask: Ask = functools.partial(_asked, method)
        for fault in before:
            ask = functools.partial(fault, ask)
        members[method] = _method(last, ask)
    backend = type("ChainedBackend", (ReferenceBackend,), members)()
    FAULTY[name] = Faulty(name, "combined", methods, f"makes the mistakes of {', '.join(parts)}", backend)


def _method(fault: Fault, ask: Ask) -> Callable[[ReferenceBackend, Params], Answer]:
    def answer(self: ReferenceBackend, params: Params) -> Answer:
        return fault(ask, params)

    return answer


def _asked(method: str, params: Params) -> Answer:
    content = b""
    if "graph" in params and os.path.isfile(params["graph"]):
        with open(params["graph"], "rb") as stream:
            content = stream.read()  # laws write one graph after another to the same file
    found, error = _answered(method, json.dumps(params, sort_keys=True), content)
    if error is not None:
        raise error.with_traceback(None)
    answer: Answer = json.loads(found)
    return answer


@functools.lru_cache(maxsize=1 << 13)
def _answered(method: str, request: str, content: bytes) -> Any:
    key = hashlib.sha256(f"{method} {request}".encode() + content).hexdigest()
    if method == "run" and key in RECORDED:
        return RECORDED[key], None
    try:
        found = json.dumps(getattr(REFERENCE, method)(json.loads(request)))
    except NpuError as error:
        return "", error
    if method == "run":
        RECORDED[key] = found
    return found, None


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


def changed(area: str, name: str, sentence: str, change: Callable[[Answer, Params], Any], *methods: str) -> None:
    """Registers a backend that changes the reference's answer; `change` edits it, or returns another."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        found = change(answer, params)
        return answer if found is None else found

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def turn_values(name: str, sentence: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    """Registers a fault of compilation: the values of every turn are changed before they are taken."""

    def fault(ask: Any, params: Params) -> Answer:
        found = {**params, "values": change(dict(params["values"]))}
        if params.get("turns"):
            found["turns"] = [
                {**one, "values": change(dict(one["values"]))} if one.get("values") else one for one in params["turns"]
            ]
        return ask(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


def graph_of(params: Params) -> Any:
    """The request's graph, closed over feeds and fetches."""
    return REFERENCE.graph(params)


def to_host(answer: Answer, moved: Iterable[str], reason: str = "NOT_SUPPORTED") -> Answer:
    """The partition with these operators on the host."""
    found, gone = copy.deepcopy(answer), set(moved)
    there = [name for geop in found["geops"] for name in geop["nodes"] if name in gone]
    for geop in found["geops"]:
        geop["nodes"] = [name for name in geop["nodes"] if name not in gone]
    found["geops"] = [geop for geop in found["geops"] if geop["nodes"]]
    found["host"] += [{"node": name, "op": "", "reason": reason} for name in there]
    return found


def value_of(params: Params, name: str) -> Any:
    return plain(params["values"].get(name))


def given(params: Params, *names: str) -> bool:
    """Whether all these options are given."""
    return all(value_of(params, name) is not None for name in names)


def in_inference(params: Params) -> bool:
    return value_of(params, "graph_run_mode") == 0


def is_about(params: Params, surface: str = "", edition: str = "") -> bool:
    return surface in ("", params["surface"]) and edition in ("", params["edition"])


def where(surface: str, edition: str) -> Callable[[Params], bool]:
    """Whether a question is of this surface and edition, as `when` of others takes it."""
    return lambda params: is_about(params, surface, edition)


def text_of(params: Params, option: str) -> str:
    """The text of the file that an option names, empty where there is none."""
    named = value_of(params, option)
    text = params.get("files", {}).get(named) if isinstance(named, str) else None
    return text if isinstance(text, str) else ""


def accepts(name: str, sentence: str, option: str, when: Callable[[Params], bool], **instead: Any) -> None:
    """What is refused because of `option` is taken where `when` holds; the answer is that of the values `instead`."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or not when(params):
                raise
            answer = ask(with_values(params, **(instead or {option: None})))
            for one in {option, *instead} & set(params["values"]):
                answer["effective"][one] = {"value": value_of(params, one), "origin": "given"}
            return answer

    fault.__name__ = name
    broken("options", sentence)(fault)


def denies(name: str, sentence: str, option: str, when: Callable[[Params], bool], method: str = "options") -> None:
    """What a document allows is refused."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if when(params):
            raise NpuError("OPTION_VALUE", option, "is out of range")
        return answer

    fault.__name__ = name
    broken("options", sentence, method)(fault)


def tells(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("options", name, sentence, change)


def asks(name: str, sentence: str, area: str, change: Callable[[Params], Params], *methods: str) -> None:
    """Another question is answered."""

    def fault(ask: Any, params: Params) -> Answer:
        return ask(change(params))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def node_change(name: str, sentence: str, change: Callable[[Dict[str, Any], Params, Any], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        graph = graph_of(params)
        ops = {node.name: node for node in graph.nodes}
        for node in answer["nodes"]:
            change(node, params, ops.get(node["node"]))

    changed("precision", name, sentence, edit)


def place(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("partition", name, sentence, lambda answer, params: change(answer, params) if is_mixed(params) else None)


def steps(name: str, sentence: str, change: Callable[[Dict[str, Any], Params, Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for key, step in [("", answer["base"]), *answer.get("variants", {}).items()]:
            change(step, params, {**params["values"], **params.get("variants", {}).get(key, {})})

    changed("timeline", name, sentence, edit)


def turns(name: str, sentence: str, change: Callable[[Dict[str, Any], Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        values = dict(params["values"])
        given = params.get("turns") or [{}]
        for turn, asked in zip(answer["turns"], given):
            values.update(asked.get("values") or {})
            if "rejected" not in turn:
                change(turn, {**asked, "values": values, "env": {**params.get("env", {}), **(asked.get("env") or {})}})

    changed("artifacts", name, sentence, edit, "compile")


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


def told_value(answer: Answer, name: str, value: Any, origin: str = "") -> None:
    if name in answer["effective"]:
        answer["effective"][name] = {"value": value, "origin": origin or answer["effective"][name].get("origin")}


def ops_of(params: Params) -> Mapping[str, Any]:
    return {node.name: node for node in graph_of(params).nodes}


def types_of(op: Any) -> List[str]:
    """The dtypes among an operator's attributes."""
    return [getattr(op.attrs[name], "name", "") for name in op.attrs]


def offloaded(answer: Answer) -> List[str]:
    return [name for geop in answer["geops"] for name in geop["nodes"]]


def to_device(answer: Answer, moved: List[str]) -> Answer:
    """The partition with these operators in the first GEOP, or in one of their own."""
    answer["host"] = [one for one in answer["host"] if one["node"] not in moved]
    if moved and answer["geops"]:
        answer["geops"][0]["nodes"] = sorted({*answer["geops"][0]["nodes"], *moved})
    elif moved:
        answer["geops"] = [{"name": "GeOp_0", "nodes": sorted(moved), "args": [], "rets": [], "copies": []}]
    return answer


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


def defaults(name: str, sentence: str, option: str, value: Any, when: Callable[[Params], bool]) -> None:
    """The option has another default where `when` holds, and is told so."""

    def change(answer: Answer, params: Params) -> None:
        if not given(params, option) and when(params):
            told_value(answer, option, value)

    tells(name, sentence, change)


def encoded(text: str) -> Dict[str, str]:
    """A file of a text, as it is told."""
    return {"b64": base64.b64encode(text.encode()).decode()}


def decoded(file: Mapping[str, Any]) -> str:
    return base64.b64decode(file["b64"]).decode()


def leaves(name: str, sentence: str, change: Callable[[Files, Mapping[str, Any]], Files]) -> None:
    """What compilation leaves is changed, before and after the program's end."""

    def edit(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
        for key in ("files", "left"):
            if key in turn:
                turn[key] = change(turn[key], asked)

    turns(name, sentence, edit)


def misreads(
    area: str,
    name: str,
    sentence: str,
    option: str,
    change: Callable[[str], str],
    *methods: str,
    when: Callable[[Params], bool] = lambda params: True,
) -> None:
    """The text that an option names, a file's, is read as another where `when` holds; what is shown is as given."""

    def fault(ask: Any, params: Params) -> Answer:
        if not when(params):
            return dict(ask(params))
        found = ask(texts(params, option, change))
        named = named_by(params, option)
        for turn, asked in zip(found.get("turns", ()), params.get("turns") or [{}]):
            for file, text in {**params.get("files", {}), **(asked.get("files") or {})}.items():
                for key in ("files", "left"):
                    if file in named and isinstance(text, str) and file.lstrip("/") in turn.get(key, {}):
                        turn[key][file.lstrip("/")] = encoded(text)
        return dict(found)

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def reads_as(name: str, sentence: str, option: str, change: Callable[[Params, Any], Any], *methods: str) -> None:
    """An option's value, whatever field it stands in, is read as another one; what is shown is as it was given."""

    def fault(ask: Any, params: Params) -> Answer:
        told = value_of(params, option)
        wanted = None if told is None else change(params, told)
        if wanted is None or (wanted == told and type(wanted) is type(told)):
            return dict(ask(params))
        answer = dict(ask(with_values(params, **{option: wanted})))
        if option in answer.get("effective", {}):
            answer["effective"] = {**answer["effective"], option: {"value": told, "origin": "given"}}
        return answer

    fault.__name__ = name
    broken("options", sentence, *(methods or ("options",)))(fault)


def judged_when(
    area: str,
    name: str,
    sentence: str,
    method: str,
    when: Callable[[Params], bool],
    wrong: Callable[[Answer, Params], Any],
) -> None:
    """The answer is changed where a condition holds."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if not when(params):
            return answer
        answer = copy.deepcopy(answer)
        found = wrong(answer, params)
        return answer if found is None else found

    fault.__name__ = name
    broken(area, sentence, method)(fault)


def judged_partition(
    name: str, sentence: str, when: Callable[[Params], bool], wrong: Callable[[Answer, Params], Any]
) -> None:
    """A partition by the documents is changed where a condition holds."""

    def asked(params: Params) -> bool:
        return params.get("policy") != "adapter" and when(params)

    judged_when("partition", name, sentence, "partition", asked, wrong)


#: Operator to those that read it.
Readers = Dict[str, List[str]]


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


def behind(starts: Iterable[str], readers: Readers) -> Set[str]:
    """What is reached from some operators, themselves left out unless something leads back to them."""
    found: Set[str] = set()
    front = list(starts)
    while front:
        for name in readers.get(front.pop(), ()):
            if name not in found:
                found.add(name)
                front.append(name)
    return found


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


def _kept(content: bytes, ending: str) -> str:
    """The path of a file with this content, the same for the same content."""
    path = os.path.join(_CHANGED.name, hashlib.sha256(content).hexdigest() + ending)
    if not os.path.exists(path):
        with open(path, "wb") as stream:
            stream.write(content)
    return path


def dumped(values: Dict[str, Any], change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Dict[str, Any]:
    """The values with those of dumps changed, wherever they stand: session keys, or the arguments of a DumpConfig."""
    config = values.get("dump_config")
    if isinstance(config, dict) and "class" in config:
        return {**values, "dump_config": {**config, "arguments": change(dict(config.get("arguments", {})))}}
    return change(values)


def left(name: str, sentence: str, change: Callable[[Files, Params], Files], *methods: str) -> None:
    """What runs and steps leave is changed."""

    def edit(answer: Answer, params: Params) -> None:
        told = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]
        told += [answer.get("base", {}), *answer.get("variants", {}).values()]
        for one in told:
            if one.get("files"):
                one["files"] = change(one["files"], params)

    changed("run", name, sentence, edit, *(methods or ("run", "timeline")))


def retyped(node: Dict[str, Any], before: str, after: str, *sides: str) -> None:
    """An operator of `precision` with another dtype, on both sides unless some are named."""
    for side in sides or ("inputs", "outputs"):
        node[side] = [after if dtype == before else dtype for dtype in node[side]]


def has_function(node: Mapping[str, Any], params: Params) -> bool:
    """Whether an operator of `precision` lies in the body of a function."""
    return "/" in node["node"] and node["node"] not in ops_of(params)
