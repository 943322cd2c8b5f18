"""The laws of conditions: what a case of `partition` or `precision` says holds beside what no document relates to it.

A condition changes a request, its options or its graph, in a way of which a requirement or a reading says that it makes
no difference. :mod:`dealing` asks about the graphs of the cases under several at once.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from npu_conformance.library.library import Instance
from npu_conformance.strength.laws import inside
from npu_conformance.strength.laws.added import BESIDE, LONG, SCOPE
from npu_conformance.strength.laws.checks import Law
from npu_reference.graphs import message_class

__all__ = [
    "AFTER",
    "CONDITIONS",
    "FED",
    "LAWS",
    "TEXT",
    "Condition",
    "Request",
    "feeds_read_back",
    "names_may_change",
    "prefixed",
]

_Params = Dict[str, Any]


class Request(NamedTuple):
    """A question as conditions find it and leave it: parameters, and the graph's definition, which they may change."""

    params: _Params
    graph: Any


class Condition(NamedTuple):
    """Something that makes no difference.

    Attributes:
        name: in words, after "asked".
        change: of a request; None where it does not fit this graph after all.
        because: the requirements or readings that say so.
        methods: to which it applies.
        fits: whether no document relates it to what a case asks, as far as its parameters tell.
        group: what it decides; two that decide the same never hold at once.
        against: what it needs as the case has it.
        hides: aspects of an answer that it may change.
        lists: whether it gives an operator list, which not every backend takes.
        ends: whether it adds fetches, which an answer may name as operators.
        gives: the options and variables that it gives.
        surface: the surface that it asks on.
        refusals: whether what is refused is refused under it, too, and for the same operator.
        often: whether every second question that it fits is asked so: it costs nothing, and much is forgotten there.
        dear: whether it makes the graph, or what is read of it, much larger: few questions are asked so.
    """

    name: str
    change: Callable[[Request], Optional[Request]]
    because: Tuple[str, ...]
    methods: Tuple[str, ...] = ("partition", "precision")
    fits: Callable[[Instance], bool] = lambda one: True
    group: str = ""
    against: str = ""
    hides: FrozenSet[str] = frozenset()
    lists: bool = False
    ends: bool = False
    gives: Mapping[str, Any] = {}
    surface: str = ""
    refusals: bool = False
    often: bool = False
    dear: bool = False


# -- options beside ---------------------------------------------------------------------------------------------------


def _values(one: Instance) -> Mapping[str, Any]:
    values: Mapping[str, Any] = one.case.params["values"]
    return values


def _surface(one: Instance) -> Tuple[str, str]:
    return one.case.params["surface"], one.edition


def _given(values: Mapping[str, Any]) -> Callable[[Request], Request]:
    """Options beside; one that the case gives stays as it is."""
    return lambda asked: asked._replace(params={**asked.params, "values": {**values, **asked.params["values"]}})


def _lacks(*names: str) -> Callable[[Instance], bool]:
    return lambda one: not _values(one).keys() & set(names)


def _here(*surfaces: Tuple[str, str]) -> Callable[[Instance], bool]:
    return lambda one: _surface(one) in surfaces


def _all_of(*tests: Callable[[Instance], bool]) -> Callable[[Instance], bool]:
    return lambda one: all(test(one) for test in tests)


def _has_mode(one: Instance) -> bool:
    """Whether the case says its precision mode: the default, or None (G9), is of run mode (A6) and surface (G28)."""
    return one.case.method == "partition" or any(
        _values(one).get(name) not in (None, "", "None") for name in ("precision_mode", "precision_mode_v2")
    )


_SESSION = _here(("session", "legacy"), ("session", "current"))
_RUNCONFIG = _here(("runconfig", "current"))

#: Options that both surfaces of an edition have with one meaning and one default.
_ON_BOTH = {
    "mix_compile_mode", "graph_run_mode", "precision_mode", "modify_mixlist", "op_precision_mode", "op_select_implmode",
    "optypelist_for_implmode", "iterations_per_loop", "enable_data_pre_proc",
}  # fmt: skip


def _movable(one: Instance) -> bool:
    values = _values(one)
    return (
        values.keys() <= _ON_BOTH
        and not any(isinstance(value, dict) for value in values.values())
        and (_has_mode(one) or values.get("graph_run_mode", 1) == 1)
    )


def _to(surface: str, pre_processing: bool) -> Callable[[Request], Request]:
    """On the other surface; enable_data_pre_proc, whose default differs, as it was."""

    def change(asked: Request) -> Request:
        values = {"enable_data_pre_proc": pre_processing, **asked.params["values"]}
        return asked._replace(params={**asked.params, "surface": surface, "values": values})

    return change


#: Options of which where operators are, or in which mode, is told by what they are by default.
_DEFAULTS: Mapping[str, Any] = {
    "graph_run_mode": 1, "mix_compile_mode": False, "iterations_per_loop": 1, "use_off_line": True,
    "in_out_pair_flag": True,
}  # fmt: skip


def _defaults(asked: Request) -> Request:
    """What is not given, given as its default."""
    params = asked.params
    of_sessions = ("use_off_line", *(["in_out_pair_flag"] if "in_out_pair" in params["values"] else []))
    of_all = ("graph_run_mode", "mix_compile_mode", "iterations_per_loop")
    names = of_all + (of_sessions if params["surface"] == "session" else ())
    found = {name: _DEFAULTS[name] for name in names}
    if params["values"].get("graph_run_mode", 1) != 1:
        del found["iterations_per_loop"]  # means nothing there (G13)
    return _given(found)(asked)


def _reversed_keys(asked: Request) -> Request:
    values = dict(reversed(list(asked.params["values"].items())))
    return asked._replace(params={**asked.params, "values": values})


#: What a launch script sets of one rank of eight.
_LAUNCHED = {"RANK_SIZE": "8", "RANK_ID": "3", "DEVICE_ID": "3", "JOB_ID": "10087"}


def _launched(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "env": {**_LAUNCHED, **asked.params.get("env", {})}})


# -- lists and files --------------------------------------------------------------------------------------------------

#: Operators that no graph of a case has.
_ABSENT = ("Acosh", "Atanh")


def _grayed(asked: Request) -> Request:
    """What the device's list lacks stands on it as gray, which is left to the host in mixed computing, too."""
    listed = asked.params["op_list"]
    lacking = sorted(
        _listed_ops(asked.graph) - listed.keys() - {one.signature.name for one in asked.graph.library.function}
    )
    gray = {op: {"isGray": True} for op in lacking if op not in ("Const", "Placeholder", "_Arg", "_Retval")}
    return asked._replace(params={**asked.params, "op_list": {**listed, **gray}})


def _is_listed(one: Instance) -> bool:
    return "op_list" in one.case.params


def _listed_more(asked: Request) -> Request:
    listed = {**asked.params["op_list"], **{name: {"isGray": name == _ABSENT[0]} for name in _ABSENT}}
    return asked._replace(params={**asked.params, "op_list": listed})


def _listed_backwards(asked: Request) -> Request:
    listed = dict(reversed(list(asked.params["op_list"].items())))
    return asked._replace(params={**asked.params, "op_list": listed})


def _file_of(option: str) -> Callable[[Instance], bool]:
    """Whether an option names a file that the case gives, as a text."""
    return lambda one: isinstance(one.case.params.get("files", {}).get(_values(one).get(option)), str)


def _with_text(option: str, edit: Callable[[str], Optional[str]]) -> Callable[[Request], Optional[Request]]:
    def change(asked: Request) -> Optional[Request]:
        path = asked.params["values"][option]
        text = edit(asked.params["files"][path])
        files = {**asked.params["files"], path: text}
        return None if text is None else asked._replace(params={**asked.params, "files": files})

    return change


def _json_edited(edit: Callable[[Any], Any], **form: Any) -> Callable[[str], Optional[str]]:
    """An edit of a file in JSON; none of one with comments, which JSON does not have."""

    def changed(text: str) -> Optional[str]:
        try:
            content = json.loads(text)
        except ValueError:
            return None
        return json.dumps(edit(content), **form) if isinstance(content, dict) else None

    return changed


def _lists_more(content: Any) -> Any:
    """A type more on either list, that nothing in the graph is of."""
    found = {name: {change: list(types) for change, types in lists.items()} for name, lists in content.items()}
    for name, absent in zip(("black-list", "white-list"), _ABSENT):
        found.setdefault(name, {}).setdefault("to-add", []).append(absent)
    return found


#: A file of lists that names no type of a graph, the trustlist first.
_OTHER_LISTS = json.dumps({"white-list": {"to-add": [_ABSENT[1]]}, "black-list": {"to-add": [_ABSENT[0]]}})


def _listing_others(asked: Request) -> Request:
    """modify_mixlist, of types that no graph has, where a mode of mixed precision is given."""
    given = _given({"modify_mixlist": "/lists/of_others.json"})(asked)
    files = {**asked.params.get("files", {}), "/lists/of_others.json": _OTHER_LISTS}
    return given._replace(params={**given.params, "files": files})


def _mixes(one: Instance) -> bool:
    return any(_values(one).get(name) in _MIXED for name in ("precision_mode", "precision_mode_v2"))


_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")


def _backwards(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _backwards(part) for key, part in reversed(list(content.items()))}
    return list(reversed(content)) if isinstance(content, list) else content


def _lines_backwards(text: str) -> Optional[str]:
    """Entries of customize_dtypes, the last one first."""
    return "\n".join(reversed(text.splitlines())) + "\n"


def _sections_backwards(text: str) -> Optional[str]:
    """The sections of op_precision_mode, the last one first; none of a text without two."""
    head, *sections = re.split(r"(?m)^(?=\s*\[By)", text)
    return None if len(sections) < 2 else head + "".join(f"{one.rstrip()}\n" for one in reversed(sections))


def _ends_of_windows(text: str) -> Optional[str]:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _spaced_lines(text: str) -> Optional[str]:
    """With empty lines and comments (P22)."""
    return "# A comment\n\n" + text.replace("\n", "\n\n# Another\n")


def _nowhere(asked: Request) -> Request:
    """A range of operators of which the graph has none."""
    return _given({"in_out_pair": "[[['zq_nowhere'], ['zq_nowhere_else']]]"})(asked)


def _relative(asked: Request) -> Request:
    """Every file by its name alone, in the current directory (D8)."""
    names = {path: path.rpartition("/")[2] for path in asked.params["files"]}
    values = {
        option: names.get(value, value) if isinstance(value, str) else value
        for option, value in asked.params["values"].items()
    }
    files = {names[path]: text for path, text in asked.params["files"].items()}
    return asked._replace(params={**asked.params, "values": values, "files": files})


#: Files as the documents' samples are called, which would change much if an option named them.
_LYING = {
    "op_precision.ini": "[ByOpType]\nMatMulV2=high_performance\nExp=high_performance\n",
    "modify_mixlist.json": '{"black-list": {"to-add": ["MatMulV2", "Conv2D", "Relu"]}}',
    "customize_dtypes.cfg": "OpType::Relu:InputDtype:float32,OutputDtype:float32\n",
}


def _unnamed(asked: Request) -> Request:
    """Files in the current directory that no option names."""
    return asked._replace(params={**asked.params, "files": {**_LYING, **asked.params.get("files", {})}})


def _entries(one: Instance) -> Optional[List[Any]]:
    """The entries of in_out_pair, where it is written as Python writes it."""
    text = _values(one).get("in_out_pair")
    return _parsed(text) if isinstance(text, str) else None


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Optional[List[Any]]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    whole = isinstance(found, list) and all(isinstance(entry, list) and len(entry) == 2 for entry in found)
    return found if whole and found else None


def _with_pairs(edit: Callable[[Any], Any], write: Callable[[Any], str] = str) -> Callable[[Request], Request]:
    def change(asked: Request) -> Request:
        text = write(edit(_parsed(asked.params["values"]["in_out_pair"])))
        return asked._replace(params={**asked.params, "values": {**asked.params["values"], "in_out_pair": text}})

    return change


# -- the graph --------------------------------------------------------------------------------------------------------

#: Options of which a text may name operators of the graph, in_out_pair aside.
_NAMING = ("profiling_options", "input_shape", "job")
#: How a file's text shows that it names none: all its lines begin so, or it lacks the section.
_OF_TYPES = ("optype::", "#")
_OF_NAMES = "[ByNodeName]"


def names_may_change(one: Instance) -> bool:
    """Whether nothing that is given names operators, or in_out_pair alone."""
    text = _values(one).get("in_out_pair")
    told = text is None or (_entries(one) is not None and "_arg_" not in text)
    return told and not _values(one).keys() & set(_NAMING) and _names_none(one)


def _names_none(one: Instance) -> bool:
    files = one.case.params.get("files", {})
    types, modes = (_values(one).get(option) for option in ("customize_dtypes", "op_precision_mode"))
    lines = [line.strip(" \t") for line in str(files.get(types, "a name")).split("\n")]
    if types is not None and not all(line.lower().startswith(_OF_TYPES) for line in lines if line):
        return False
    return modes is None or _OF_NAMES not in str(files.get(modes, _OF_NAMES))


def _other_order(asked: Request) -> Request:
    """The nodes by a digest of their names."""
    nodes = sorted(asked.graph.node, key=lambda node: hashlib.sha256(node.name.encode("utf-8", "replace")).digest())
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del asked.graph.node[:]
    asked.graph.node.extend(copies)
    return asked


def _scoped(scope: str) -> Callable[[Request], Request]:
    return lambda asked: prefixed(asked, scope)


def prefixed(asked: Request, scope: str) -> Request:
    """Every node under another name, wherever it is named; what an adapter reads a meaning from stays."""
    graph, params = asked.graph, asked.params

    def whole(name: str) -> str:  # also one that no node has, which may be the beginning of one
        return name if name.startswith(("_arg_", "_retval_")) else scope + name

    names = {node.name: whole(node.name) for node in graph.node}

    def of(text: str) -> str:
        control = "^" if text.startswith("^") else ""
        name, colon, slot = text[len(control) :].partition(":")
        return control + names.get(name, name) + colon + slot

    for node in graph.node:
        node.name = names.get(node.name, node.name)
        node.input[:] = [of(text) for text in node.input]
        if "_class" in node.attr:
            entries = node.attr["_class"].list.s
            entries[:] = [
                b"loc:@" + of(entry[5:].decode()).encode() if entry[:5] == b"loc:@" else entry for entry in entries
            ]
    found: _Params = {key: [of(name) for name in params[key]] for key in ("feeds", "fetches") if key in params}
    pairs = params["values"].get("in_out_pair")
    if pairs is not None:
        renamed = [[[whole(name) for name in part] for part in entry] for entry in _parsed(pairs) or []]
        found["values"] = {**params["values"], "in_out_pair": str(renamed)}
    return asked._replace(params={**params, **found})


def _requested(asked: Request) -> Request:
    """The task that a cluster's scripts request for every operator; no document speaks of it."""
    for node in asked.graph.node:
        node.device = node.device or "/job:localhost/replica:0/task:0"
    return asked


def _annotated(asked: Request) -> Request:
    for node in asked.graph.node:
        node.attr["_zq_note"].s = b"of a script's own"
    return asked


def _uncalled(asked: Request) -> Request:
    """Functions that nobody calls: one of the device's operators, one of Python's."""
    for name, op in (("on_device", "Relu"), ("on_host", "PyFunc")):
        function = asked.graph.library.function.add()
        function.signature.name = f"{BESIDE}{name}"
        for part, argument in ((function.signature.input_arg, "x"), (function.signature.output_arg, "y")):
            part.add(name=argument, type=1)
        node = function.node_def.add(name="inner", op=op, input=["x"])
        _attributes(node, op)
        function.ret["y"] = "inner:activations:0" if op == "Relu" else "inner:output:0"
    return asked


def _attributes(node: Any, op: str) -> None:
    if op == "PyFunc":
        node.attr["token"].s = b"zq"
        node.attr["Tin"].list.type.append(1)
        node.attr["Tout"].list.type.append(1)
    else:
        node.attr["T"].type = 1


def _exported(asked: Request) -> Request:
    """What tools write beside a graph: the versions that can read it, shapes of outputs, each operator's own place."""
    asked.graph.versions.min_consumer = 1
    asked.graph.versions.bad_consumers.append(3)
    for node in asked.graph.node:
        if "_output_shapes" not in node.attr:
            node.attr["_output_shapes"].list.shape.add(unknown_rank=True)
        if "_class" not in node.attr:
            node.attr["_class"].list.s.append(b"loc:@" + node.name.encode())
    return asked


def _unshaped(asked: Request) -> Request:
    """What is fed has no known shape."""
    for node in asked.graph.node:
        node.attr.pop("_output_shapes", None)
        if node.op == "Placeholder":
            node.attr["shape"].shape.Clear()
            node.attr["shape"].shape.unknown_rank = True
    return asked


#: Operators of numbers of any kind, which hand on what they are given or compute with it.
_OF_ANY_NUMBER = frozenset(
    {
        "Abs", "Add", "AddN", "AddV2", "Enter", "Exit", "Identity", "IdentityN", "Less", "LoopCond", "Maximum", "Merge",
        "Minimum", "Mul", "Neg", "NextIteration", "NoOp", "Placeholder", "PyFunc", "PyFuncStateless", "Relu", "Square",
        "Sub", "Switch", "If", "StatelessIf", "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile",
    }
)  # fmt: skip


def _of_integers(asked: Request) -> Optional[Request]:
    """Whole numbers in place of float32; none of a graph with constants, or with operators of floats alone."""
    functions = asked.graph.library.function
    nodes = [*asked.graph.node, *(node for one in functions for node in one.node_def)]
    names = {one.signature.name for one in functions}
    if "op_list" not in asked.params or any(node.op not in _OF_ANY_NUMBER and node.op not in names for node in nodes):
        return None
    for node in nodes:
        for value in node.attr.values():
            if value.WhichOneof("value") == "type":
                value.type = _INTEGERS.get(value.type, value.type)
            elif value.list.type:
                value.list.type[:] = [_INTEGERS.get(one, one) for one in value.list.type]
    for one in functions:
        for argument in [*one.signature.input_arg, *one.signature.output_arg]:
            argument.type = _INTEGERS.get(argument.type, argument.type)
    return asked


#: int64 for float32, as protocol buffers count them.
_INTEGERS = {1: 9}

#: Operators of images, and what of them is given by dimension.
_IMAGES = {
    "AvgPool": ("ksize", "strides"), "BiasAdd": (), "Conv2D": ("strides", "dilations"),
    "DepthwiseConv2dNative": ("strides", "dilations"), "FusedBatchNormV3": (), "MaxPool": ("ksize", "strides"),
}  # fmt: skip


def _channels_first(asked: Request) -> Optional[Request]:
    """Images with their channels first."""
    images = [node for node in asked.graph.node if node.op in _IMAGES]
    if not images or any(node.attr["data_format"].s not in (b"", b"NHWC") for node in images):
        return None
    for node in images:
        node.attr["data_format"].s = b"NCHW"
        for name in _IMAGES[node.op]:
            sizes = node.attr[name].list.i
            if len(sizes) == 4:
                sizes[:] = [sizes[0], sizes[3], sizes[1], sizes[2]]
    return _unshaped(asked)


def _listed_ops(graph: Any) -> Set[str]:
    return {node.op for node in [*graph.node, *(node for one in graph.library.function for node in one.node_def)]}


def _apart(change: inside.Change) -> Callable[[Request], Optional[Request]]:
    """Operators in functions; the device's list has what calls them."""

    def changed(asked: Request) -> Optional[Request]:
        listed = asked.params.get("op_list")
        before = _listed_ops(asked.graph)
        added = change(asked.graph)
        if added is None or (listed is None and asked.params["values"].get("mix_compile_mode")):
            return None
        if listed is None:
            return asked
        if any(listed.get(op, {"isGray": op in before}).get("isGray") for op in added):
            return None
        more = {**{op: {"isGray": False} for op in added}, **listed}
        return asked._replace(params={**asked.params, "op_list": more})

    return changed


def _within(change: inside.Change) -> Callable[[Request], Optional[Request]]:
    """The whole graph inside something, with every operator of it on the device's list.

    A loop hands on the handles of its body's variables, and whether it gives, then, a resource that is no variable in
    mixed computing (M1) is another question.
    """

    def changed(asked: Request) -> Optional[Request]:
        handed = change is inside.in_loop and any(node.op == "VarHandleOp" for node in asked.graph.node)
        if _keeps_on_host(asked.graph) or (handed and asked.params["values"].get("mix_compile_mode")):
            return None
        added = change(asked.graph)
        if added is None:
            return None
        listed = {op: {"isGray": False} for op in sorted({*_listed_ops(asked.graph), *added})}
        return asked._replace(params={**asked.params, "op_list": listed})

    return changed


def _every_node(graph: Any) -> List[Any]:
    return [*graph.node, *(node for one in graph.library.function for node in one.node_def)]


def _keeps_on_host(graph: Any) -> bool:
    return any("_without_npu_compile" in node.attr or node.op in _HOSTS for node in _every_node(graph))


def _can_be_within(one: Instance) -> bool:
    """Whether nothing is named by its place in the graph, and nothing stays on the host."""
    whole = not one.case.params.get("feeds") and not one.case.params.get("fetches")
    return whole and names_may_change(one) and not _values(one).keys() & {"mix_compile_mode", "use_off_line"}


def _mixes_nothing(one: Instance) -> bool:
    """Whether no list says of control flow, as of any operator, what it may be lowered to."""
    mode = _values(one).get("precision_mode_v2") or _values(one).get("precision_mode")
    return isinstance(mode, str) and "mix" not in mode


def _feeds_backwards(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "feeds": asked.params["feeds"][::-1]})


def feeds_read_back(feeds: Sequence[str]) -> Mapping[str, str]:
    """What stands for each feed, by what stands for it when they come in the other order."""
    found = {}
    for place, feed in enumerate(feeds):
        name, _, slot = feed.partition(":")
        found[f"_arg_{name}_{slot or 0}_{len(feeds) - 1 - place}"] = f"_arg_{name}_{slot or 0}_{place}"
    return found


def _alike(asked: Request) -> Optional[Request]:
    """Device operators whose names begin as those of the graph."""
    op = _device_operator(asked.params)
    if op is None:
        return None
    names = [node.name for node in asked.graph.node]
    source = asked.graph.node.add(name=f"{BESIDE}fed", op="Placeholder")
    source.attr["dtype"].type = 1
    for number, name in enumerate(names):
        if not name.startswith(("_arg_", "_retval_")):
            node = asked.graph.node.add(name=f"{name}{'_/'[number % 2]}{BESIDE}", op=op, input=[source.name])
            _attributes(node, op)
    return _more_fetched(asked, f"{asked.graph.node[-1].name}:0")


def _beside_flow(asked: Request) -> Request:
    """A loop of version 1, an If, a variable and an image with its channels first beside the graph."""
    asked.graph.MergeFromString(_flow())
    return _more_fetched(asked, *(f"{BESIDE}flow_{name}:0" for name in ("exit", "branches", "read", "channels")))


@functools.lru_cache(maxsize=1)
def _flow() -> bytes:
    found = message_class("GraphDef")()

    def add(name: str, op: str, *inputs: str, **types: int) -> Any:
        named = [f"{BESIDE}flow_{text}" for text in (name, *inputs)]
        node = found.node.add(name=named[0], op=op, input=named[1:])
        for key, dtype in types.items():
            node.attr[key].type = dtype
        return node

    add("goes_on", "Placeholder", dtype=10)
    add("enter", "Enter", "goes_on", T=10).attr["frame_name"].s = b"zq_beside_flow"
    add("merge", "Merge", "enter", "next", T=10).attr["N"].i = 2
    add("condition", "LoopCond", "merge")
    add("switch", "Switch", "merge", "condition", T=10)
    add("pivot", "Identity", "switch:1", T=10)
    add("next", "NextIteration", "pivot", T=10)
    add("exit", "Exit", "switch", T=10)
    add("variable", "VariableV2", dtype=1).attr["shape"].shape.dim.add(size=2)
    add("read", "Identity", "variable", T=1)
    add("image", "Placeholder", dtype=1)
    add("channels", "BiasAdd", "image", "read", T=1).attr["data_format"].s = b"NCHW"
    node = add("branches", "If", "exit", "read", Tcond=10)
    for key in ("Tin", "Tout"):
        node.attr[key].list.type.append(1)
    for key in ("then_branch", "else_branch"):
        node.attr[key].func.name = f"{BESIDE}branch"
    function = found.library.function.add()
    function.signature.name = f"{BESIDE}branch"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="y", type=1)
    function.node_def.add(name="inner", op="Sinh", input=["x"]).attr["T"].type = 1
    function.ret["y"] = "inner:y:0"
    data: bytes = found.SerializeToString()
    return data


#: Operators beside a graph that make it a large one (assumed).
_MANY = 100


def _many(asked: Request) -> Optional[Request]:
    """Device operators beside the graph, so many that it is a large one."""
    op = _device_operator(asked.params)
    if op is None:
        return None
    asked.graph.MergeFromString(_many_of(op))
    return _more_fetched(asked, f"{asked.graph.node[-1].name}:0")


@functools.lru_cache(maxsize=8)
def _many_of(op: str) -> bytes:
    found = message_class("GraphDef")()
    source = found.node.add(name=f"{BESIDE}many", op="Placeholder")
    source.attr["dtype"].type = 1
    for number in range(_MANY):
        node = found.node.add(name=f"{BESIDE}many_{number}", op=op, input=[source.name])
        _attributes(node, op)
    data: bytes = found.SerializeToString()
    return data


def _more_fetched(asked: Request, *tensors: str) -> Request:
    """What is added is fetched, too, where fetches are."""
    if not asked.params.get("fetches"):
        return asked
    return asked._replace(params={**asked.params, "fetches": [*asked.params["fetches"], *tensors]})


def _beside(op_of: Callable[[_Params], Optional[str]]) -> Callable[[Request], Optional[Request]]:
    """A chain of two operators beside the graph, which nothing of it is connected with; fetched where fetches are."""

    def change(asked: Request) -> Optional[Request]:
        op = op_of(asked.params)
        if op is None:
            return None
        source = asked.graph.node.add(name=f"{BESIDE}{op}_x", op="Placeholder")
        source.attr["dtype"].type = 1
        last = source.name
        for number in range(2):
            node = asked.graph.node.add(name=f"{BESIDE}{op}_{number}", op=op, input=[last])
            _attributes(node, op)
            last = node.name
        return _more_fetched(asked, f"{last}:0")

    return change


def _device_operator(params: _Params) -> Optional[str]:
    """An operator that the device has by the request's list, or by any."""
    listed = params.get("op_list")
    names = ("Abs", "Neg", "Relu")
    return next((op for op in names if listed is None or (op in listed and not listed[op].get("isGray"))), None)


#: Operators of one result, which any script may fetch.
_FETCHABLE = ("Abs", "Add", "AddV2", "MatMul", "Mul", "Neg", "Relu", "Sigmoid", "Softmax", "Sub", "Tanh")


def _fetched(asked: Request) -> Optional[Request]:
    """What operators in the middle of the graph give is fetched, and what leads nowhere is run."""
    nodes = asked.graph.node
    if _has_flow(nodes):
        return None
    read = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}
    found = [
        f"{node.name}:0" if node.op in _FETCHABLE else node.name
        for node in nodes
        if node.op in _FETCHABLE or node.name not in read
    ]
    return asked._replace(params={**asked.params, "fetches": found})


def _has_flow(nodes: Any) -> bool:
    """Whether something stands in a loop or branch, and cannot be fetched, or in a graph that has its ends."""
    return any(node.op in ("Enter", "RefEnter", "Switch", "RefSwitch", "_Arg", "_Retval") for node in nodes)


def _targeted(asked: Request) -> Optional[Request]:
    """What fetches need anyway is run as a target, too."""
    nodes = {node.name: node for node in asked.graph.node}
    if _has_flow(nodes.values()):
        return None
    fetches = asked.params["fetches"]
    fed = {text.partition(":")[0] for text in asked.params.get("feeds", ())}
    waiting = [text.partition(":")[0] for text in fetches]
    needed: Dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in needed and name not in fed:
            needed[name] = None
            waiting += [text.lstrip("^").partition(":")[0] for text in nodes[name].input]
    targets = [name for name in needed if nodes[name].input and name not in fetches]
    return asked._replace(params={**asked.params, "fetches": [*fetches, *targets]})


def _fetches_backwards(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "fetches": asked.params["fetches"][::-1]})


def _mixed_whole(asked: Request) -> Optional[Request]:
    """Mixed computing with every operator of the graph on the device's list.

    A function around FusedBatchNormV3 may hand on its fifth output (M26).
    """
    if _keeps_on_host(asked.graph) or any(node.op == "FusedBatchNormV3" for node in _every_node(asked.graph)):
        return None
    listed = {op: {"isGray": False} for op in sorted(_listed_ops(asked.graph))}
    given = _given({"mix_compile_mode": True})(asked)
    return given._replace(params={**given.params, "op_list": listed})


_HOSTS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "AsString", "Print", "PrintV2")


def _no_change(asked: Any) -> Any:
    return asked


#: The condition that is no change of the request: the question before is not forgotten.
AFTER = "right after another graph in the same process"

#: The condition that changes how the graph is written down.
TEXT = "as a text with line ends of Windows"

#: The condition that changes what stands for a feed.
FED = "with the feeds in another order"

#: Options of cases that documents list for one run mode alone, or whose default is of the mode.
_OF_ONE_MODE = (
    "graph_run_mode", "input_shape", "dynamic_dims", "dynamic_node_type", "iterations_per_loop", "enable_data_pre_proc",
    "profiling_options", "job",
)  # fmt: skip

_BOTH = ("partition", "precision")
_ONE, _OTHER = ("partition",), ("precision",)
_NOTES = frozenset({"notes", "notices"})
_EACH = ("mixed.partition.identify_first",)  # what decides is each operator, and what its list says of it
#: A mode is of the whole network, and of every operator that has both types; what a function is given is fed to it.
_WHOLE = ("precision.force_fp16.both_supported", "precision.mix.policy", "P2")
_WITHIN: Dict[str, Any] = {
    "methods": _OTHER, "fits": _can_be_within, "group": "within", "against": "ends", "hides": _NOTES | {"casts"},
    "lists": True,
}  # fmt: skip
_OF_THEIR_OWN: Dict[str, Any] = {"methods": _ONE, "group": "within", "hides": _NOTES | {"reasons"}, "dear": True}
_SAME = ("runconfig.mix_compile_mode.session_equivalence", "precision.g.session_same")


def _absent_type(text: str) -> str:
    return f"OpType::{_ABSENT[0]}:InputDtype:float32,OutputDtype:float32\n{text}"


def _absent_node(text: str) -> Optional[str]:
    """With an entry for an operator that is nowhere; none where there are such entries, or no sections."""
    fits = "[ByOpType]" in text and _OF_NAMES not in text
    return f"{text}\n[ByNodeName]\nnowhere=high_precision\n" if fits else None


_ALL = [
    # Options beside
    Condition(
        "in online inference", _given({"graph_run_mode": 0}), ("runconfig.graph_run_mode.0", "G13", "A7"), _BOTH,
        _all_of(_lacks(*_OF_ONE_MODE), _has_mode), gives={"graph_run_mode": 0}, refusals=True,
        often=True,
    ),
    Condition(
        "by NPURunConfig", _to("runconfig", False), _SAME, _BOTH,
        _all_of(_here(("session", "current")), _movable), "surface", surface="runconfig", refusals=True,
        often=True,
    ),
    Condition(
        "by a session", _to("session", True), _SAME, _BOTH,
        _all_of(_here(("runconfig", "current"), ("runconfig", "legacy")), _movable), "surface", surface="session",
        refusals=True, often=True,
    ),
    Condition(
        "beside defaults that are written out", _defaults,
        ("session.use_off_line.default", "runconfig.graph_run_mode.default"), _BOTH,
        _lacks("use_off_line", "dynamic_input", "input_shape", "job"), gives=_DEFAULTS, refusals=True,
    ),
    Condition(
        "in mixed computing that leaves nothing on the host", _mixed_whole, _EACH, _OTHER,
        _lacks("mix_compile_mode", "use_off_line", "iterations_per_loop"), hides=_NOTES | {"casts"}, lists=True,
        gives={"mix_compile_mode": True},
    ),
    Condition(
        "with the keys in another order", _reversed_keys, ("session.table.unlisted_reserved",), _BOTH,
        lambda one: len(_values(one)) > 1, refusals=True,
    ),
    Condition(
        "with a key that no document has", _given({"no_such_option_of_any_document": 7}),
        ("session.table.unlisted_reserved", "G1"), _BOTH, _SESSION, against="surface", refusals=True,
    ),
    Condition("as a launched rank", _launched, ("env.ASCEND_DEVICE_ID.lower",), gives=_LAUNCHED, refusals=True),
    # Lists and files
    Condition("with operators more on the list, that no graph has", _listed_more, _EACH, _ONE, _is_listed),
    Condition(
        "with what the operator list lacks on it as gray", _grayed, ("mixed.purpose.host_fallback",), _ONE,
        lambda one: _is_listed(one) and _values(one).get("mix_compile_mode") is True, hides=_NOTES | {"reasons"},
    ),
    Condition("with the operator list in another order", _listed_backwards, _EACH, _ONE, _is_listed),
    Condition(
        "with types more in modify_mixlist, that no graph has", _with_text("modify_mixlist", _json_edited(_lists_more)),
        ("files.mixlist.current.others_untouched",), _OTHER, _file_of("modify_mixlist"), hides=_NOTES,
    ),
    Condition(
        "beside a modify_mixlist of types that no graph has", _listing_others,
        ("files.mixlist.current.others_untouched",), _OTHER, _all_of(_mixes, _lacks("modify_mixlist")), hides=_NOTES,
        gives={"modify_mixlist": "/lists/of_others.json"}, refusals=True,
    ),
    Condition(
        "beside implementations of high precision", _given({"op_select_implmode": "high_precision"}),
        ("session.op_select_implmode.high_precision",), _OTHER,
        _lacks("op_select_implmode", "optypelist_for_implmode", "op_precision_mode"),
        hides=_NOTES | {"impl_modes"}, gives={"op_select_implmode": "high_precision"}, refusals=True,
    ),
    Condition(
        "with modify_mixlist in another order", _with_text("modify_mixlist", _json_edited(_backwards)),
        ("files.mixlist.current.multiple",), _OTHER, _file_of("modify_mixlist"),
    ),
    Condition(
        "with modify_mixlist on many lines", _with_text("modify_mixlist", _json_edited(_no_change, indent="\t")),
        ("files.mixlist.current.multiple",), _OTHER, _file_of("modify_mixlist"),
    ),
    Condition(
        "with customize_dtypes in another order", _with_text("customize_dtypes", _lines_backwards),
        ("files.customize_dtypes.one_per_line",), _OTHER, _file_of("customize_dtypes"),
    ),
    Condition(
        "with empty lines and comments in customize_dtypes", _with_text("customize_dtypes", _spaced_lines),
        ("files.customize_dtypes.comments", "P22"), _OTHER, _file_of("customize_dtypes"), refusals=True,
    ),
    Condition(
        "with an entry more in customize_dtypes, for what no graph has", _with_text("customize_dtypes", _absent_type),
        ("precision.customize.override",), _OTHER, _file_of("customize_dtypes"), hides=_NOTES,
    ),
    Condition(
        "with an entry more in op_precision_mode, for what no graph has",
        _with_text("op_precision_mode", _absent_node), ("session.op_precision_mode.effect", "P23"), _OTHER,
        _file_of("op_precision_mode"), hides=_NOTES,
    ),
    Condition(
        "with the sections of op_precision_mode in another order",
        _with_text("op_precision_mode", _sections_backwards), ("files.op_precision_ini.sections.priority",), _OTHER,
        _file_of("op_precision_mode"),
    ),
    *(
        Condition(
            f"with line ends of Windows in {name}", _with_text(name, _ends_of_windows), ("P22",), _OTHER,
            _file_of(name), group=f"ends of {name}",
        )
        for name in ("modify_mixlist", "customize_dtypes", "op_precision_mode")
    ),
    Condition(
        "with files named relative to the current directory", _relative, ("precision.s.mixlist.path", "D8"), _OTHER,
        lambda one: "files" in one.case.params, refusals=True,
    ),
    Condition(
        "beside files that nobody names", _unnamed, ("session.op_precision_mode.default",), _OTHER,
        lambda one: not any(name in json.dumps(one.case.params.get("files", {})) for name in _LYING), refusals=True,
    ),
    Condition(
        "with the entries of in_out_pair in another order", _with_pairs(lambda entries: entries[::-1]),
        ("in_out_pair.multi_entry", "M7"), _ONE, lambda one: len(_entries(one) or ()) > 1,
    ),
    Condition(
        "with an entry more in in_out_pair, whose operators are nowhere",
        _with_pairs(lambda entries: [[["zq_nowhere"], ["zq_nowhere_else"]], *entries]),
        ("in_out_pair.unknown_node", "M9"), _ONE, lambda one: bool(_entries(one)), hides=_NOTES,
    ),
    Condition(
        "beside in_out_pair, whose operators are nowhere", _nowhere, ("M8", "M9"), _ONE,
        lambda one: _SESSION(one) and _values(one).get("mix_compile_mode") is True
        and not _values(one).keys() & {"in_out_pair", "in_out_pair_flag"},
        against="surface", hides=_NOTES, gives={"in_out_pair": "", "in_out_pair_flag": True},
    ),
    Condition(
        "with in_out_pair as JSON on many lines", _with_pairs(_no_change, functools.partial(json.dumps, indent=1)),
        ("M23",), _ONE, lambda one: bool(_entries(one)),
    ),
    # The graph
    Condition(
        "with the fetches in another order", _fetches_backwards, ("mixed.transfer.only_boundaries",), _BOTH,
        lambda one: len(one.case.params.get("fetches", ())) > 1,
    ),
    Condition(
        "with what operators in the middle give fetched, too", _fetched, ("mixed.transfer.only_boundaries",), _BOTH,
        lambda one: not one.case.params.get("fetches") and not one.case.params.get("feeds"),
        hides=_NOTES | {"signature", "borders", "casts"}, group="ends", ends=True,
    ),
    Condition(
        "with operators in the middle run as targets", _targeted, ("mixed.transfer.only_boundaries",), _ONE,
        lambda one: bool(one.case.params.get("fetches")), hides=_NOTES, group="ends",
    ),
    Condition(
        FED, _feeds_backwards, ("mixed.transfer.only_boundaries",), _ONE,
        lambda one: len(one.case.params.get("feeds", ())) > 1,
    ),
    Condition(
        "with the nodes in another order in the file", _other_order, ("mixed.partition.order_preserved", "M3"),
        refusals=True,
    ),
    Condition(
        "under a name scope", _scoped(SCOPE), ("in_out_pair.names_no_port",), _BOTH, names_may_change, "names",
    ),
    Condition(
        "under names of hundreds of letters", _scoped(LONG), ("in_out_pair.names_no_port",), _BOTH, names_may_change,
        "names", dear=True,
    ),
    Condition("with a task requested for every operator", _requested, _EACH, refusals=True),
    Condition("with attributes of a script's own", _annotated, _EACH, refusals=True),
    Condition("as tools export it", _exported, _EACH, refusals=True, dear=True),
    Condition(
        "with no shape known", _unshaped, _EACH, _BOTH, _lacks("dynamic_input", "input_shape", "dynamic_dims"),
    ),
    Condition("of whole numbers", _of_integers, _EACH, _ONE, hides=frozenset({"borders"})),
    Condition("with the channels of images first", _channels_first, (*_EACH, "precision.g.session_same"), _BOTH),
    Condition("inside a function that a function calls", _within(inside.in_calls), _WHOLE, **_WITHIN),
    Condition("inside a branch of an If", _within(inside.in_branch), _WHOLE, **_WITHIN),
    Condition("inside the body of a While", _within(inside.in_loop), (*_WHOLE, "P4"), **_WITHIN),
    Condition(
        "inside a conditional and a loop of version 1", _within(inside.in_flow), (*_WHOLE[:1], "P4"),
        **{**_WITHIN, "fits": _all_of(_can_be_within, _mixes_nothing)},
    ),
    Condition("with operators in functions of their own", _apart(inside.apart), ("M22",), **_OF_THEIR_OWN),
    Condition(
        "with operators in branches of conditionals of their own", _apart(inside.apart_in_branches), ("M22",),
        **_OF_THEIR_OWN,
    ),
    # after what is put into functions, which would not take these along
    Condition("with functions that nobody calls", _uncalled, _EACH, refusals=True),
    Condition(
        "beside device operators that nothing connects it with", _beside(_device_operator),
        ("mixed.default.full_offload", "M4"), hides=_NOTES | {"min_geops"}, refusals=True,
    ),
    Condition(
        "beside host operators that nothing connects it with", _beside(lambda params: "PyFunc"),
        ("mixed.purpose.host_fallback", "M2"), hides=_NOTES | {"min_geops"}, refusals=True,
    ),
    Condition(
        "beside a loop, a branch, a variable and an image that nothing connects it with", _beside_flow,
        ("mixed.purpose.host_fallback", "M4", "M21"), hides=_NOTES | {"min_geops"}, refusals=True, dear=True,
    ),
    Condition(
        "among a hundred device operators that nothing connects it with", _many,
        ("mixed.default.full_offload", "M4"), _ONE, against="text", hides=_NOTES | {"min_geops"}, refusals=True,
        dear=True,
    ),
    Condition(
        "beside device operators whose names begin as its own", _alike, ("mixed.default.full_offload", "M4"),
        hides=_NOTES | {"min_geops"}, refusals=True, dear=True,
    ),
    Condition(TEXT, _no_change, _EACH, _ONE, group="text", refusals=True, dear=True),
    Condition(AFTER, _no_change, _EACH, refusals=True),
]  # fmt: skip

#: What makes no difference, each condition declared once.
CONDITIONS: Mapping[str, Condition] = {one.name: one for one in _ALL}


LAWS = [
    Law("partition-conditions", "What a case of partition says holds beside what no document relates to it",
        ("mixed.partition.identify_first",), (), None),
    Law("precision-conditions", "What a case of precision says holds beside what no document relates to it",
        ("precision.g.session_same",), (), None, "precision"),
]  # fmt: skip
