"""How a condition changes the graph that is asked about, and what is named in it."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from npu_conformance.library.case import Instance
from npu_conformance.strength.laws import nesting
from npu_conformance.strength.laws.added_names import BESIDE
from npu_conformance.strength.laws.conditions.applicable import values_of
from npu_conformance.strength.laws.conditions.option_changes import entries, giving, parsed
from npu_conformance.strength.laws.conditions.request import Params, Request, listed_ops
from npu_reference.graphs import message_class

__all__ = [
    "OF_NAMES", "annotated", "beside", "beside_flow", "can_be_within", "channels_first", "device_operator",
    "each_apart", "exported", "feeds_backwards", "feeds_read_back", "fetched", "fetches_backwards", "mixed_whole",
    "mixes_nothing", "names_may_change", "no_change", "of_integers", "other_order", "prefixed", "requested", "scoped",
    "targeted", "uncalled", "unshaped", "with_likes", "with_many", "within",
]  # fmt: skip


#: Options of which a text may name operators of the graph, in_out_pair aside.
_NAMING = ("profiling_options", "input_shape", "job")
#: How a file's text shows that it names none: all its lines begin so, or it lacks the section.
_OF_TYPES = ("optype::", "#")
OF_NAMES = "[ByNodeName]"


def names_may_change(one: Instance) -> bool:
    """Whether nothing that is given names operators, or in_out_pair alone."""
    text = values_of(one).get("in_out_pair")
    told = text is None or (entries(one) is not None and "_arg_" not in text)
    return told and not values_of(one).keys() & set(_NAMING) and _names_none(one)


def _names_none(one: Instance) -> bool:
    files = one.case.params.get("files", {})
    types, modes = (values_of(one).get(option) for option in ("customize_dtypes", "op_precision_mode"))
    lines = [line.strip(" \t") for line in str(files.get(types, "a name")).split("\n")]
    if types is not None and not all(line.lower().startswith(_OF_TYPES) for line in lines if line):
        return False
    return modes is None or OF_NAMES not in str(files.get(modes, OF_NAMES))


def other_order(asked: Request) -> Request:
    """The nodes by a digest of their names."""
    nodes = sorted(asked.graph.node, key=lambda node: hashlib.sha256(node.name.encode("utf-8", "replace")).digest())
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del asked.graph.node[:]
    asked.graph.node.extend(copies)
    return asked


def scoped(scope: str) -> Callable[[Request], Request]:
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
    found: Params = {key: [of(name) for name in params[key]] for key in ("feeds", "fetches") if key in params}
    pairs = params["values"].get("in_out_pair")
    if pairs is not None:
        renamed = [[[whole(name) for name in part] for part in entry] for entry in parsed(pairs) or []]
        found["values"] = {**params["values"], "in_out_pair": str(renamed)}
    return asked._replace(params={**params, **found})


def requested(asked: Request) -> Request:
    """The task that a cluster's scripts request for every operator; no document speaks of it."""
    for node in asked.graph.node:
        node.device = node.device or "/job:localhost/replica:0/task:0"
    return asked


def annotated(asked: Request) -> Request:
    for node in asked.graph.node:
        node.attr["_zq_note"].s = b"of a script's own"
    return asked


def uncalled(asked: Request) -> Request:
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


def exported(asked: Request) -> Request:
    """What tools write beside a graph: the versions that can read it, shapes of outputs, each operator's own place."""
    asked.graph.versions.min_consumer = 1
    asked.graph.versions.bad_consumers.append(3)
    for node in asked.graph.node:
        if "_output_shapes" not in node.attr:
            node.attr["_output_shapes"].list.shape.add(unknown_rank=True)
        if "_class" not in node.attr:
            node.attr["_class"].list.s.append(b"loc:@" + node.name.encode())
    return asked


def unshaped(asked: Request) -> Request:
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


def of_integers(asked: Request) -> Optional[Request]:
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


def channels_first(asked: Request) -> Optional[Request]:
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
    return unshaped(asked)


def each_apart(change: nesting.Change) -> Callable[[Request], Optional[Request]]:
    """Operators in functions; the device's list has what calls them."""

    def changed(asked: Request) -> Optional[Request]:
        listed = asked.params.get("op_list")
        before = listed_ops(asked.graph)
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


def within(change: nesting.Change) -> Callable[[Request], Optional[Request]]:
    """The whole graph inside something, with every operator of it on the device's list.

    A loop hands on the handles of its body's variables, and whether it gives, then, a resource that is no variable in
    mixed computing (M1) is another question.
    """

    def changed(asked: Request) -> Optional[Request]:
        handed = change is nesting.in_loop and any(node.op == "VarHandleOp" for node in asked.graph.node)
        if _keeps_on_host(asked.graph) or (handed and asked.params["values"].get("mix_compile_mode")):
            return None
        added = change(asked.graph)
        if added is None:
            return None
        listed = {op: {"isGray": False} for op in sorted({*listed_ops(asked.graph), *added})}
        return asked._replace(params={**asked.params, "op_list": listed})

    return changed


def _every_node(graph: Any) -> List[Any]:
    return [*graph.node, *(node for one in graph.library.function for node in one.node_def)]


def _keeps_on_host(graph: Any) -> bool:
    return any("_without_npu_compile" in node.attr or node.op in _HOSTS for node in _every_node(graph))


def can_be_within(one: Instance) -> bool:
    """Whether nothing is named by its place in the graph, and nothing stays on the host."""
    whole = not one.case.params.get("feeds") and not one.case.params.get("fetches")
    return whole and names_may_change(one) and not values_of(one).keys() & {"mix_compile_mode", "use_off_line"}


def mixes_nothing(one: Instance) -> bool:
    """Whether no list says of control flow, as of any operator, what it may be lowered to."""
    mode = values_of(one).get("precision_mode_v2") or values_of(one).get("precision_mode")
    return isinstance(mode, str) and "mix" not in mode


def feeds_backwards(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "feeds": asked.params["feeds"][::-1]})


def feeds_read_back(feeds: Sequence[str]) -> Mapping[str, str]:
    """What stands for each feed, by what stands for it when they come in the other order."""
    found = {}
    for place, feed in enumerate(feeds):
        name, _, slot = feed.partition(":")
        found[f"_arg_{name}_{slot or 0}_{len(feeds) - 1 - place}"] = f"_arg_{name}_{slot or 0}_{place}"
    return found


def with_likes(asked: Request) -> Optional[Request]:
    """Device operators whose names begin as those of the graph."""
    op = device_operator(asked.params)
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


def beside_flow(asked: Request) -> Request:
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


def with_many(asked: Request) -> Optional[Request]:
    """Device operators beside the graph, so many that it is a large one."""
    op = device_operator(asked.params)
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


def beside(op_of: Callable[[Params], Optional[str]]) -> Callable[[Request], Optional[Request]]:
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


def device_operator(params: Params) -> Optional[str]:
    """An operator that the device has by the request's list, or by any."""
    listed = params.get("op_list")
    names = ("Abs", "Neg", "Relu")
    return next((op for op in names if listed is None or (op in listed and not listed[op].get("isGray"))), None)


#: Operators of one result, which any script may fetch.
_FETCHABLE = ("Abs", "Add", "AddV2", "MatMul", "Mul", "Neg", "Relu", "Sigmoid", "Softmax", "Sub", "Tanh")


def fetched(asked: Request) -> Optional[Request]:
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


def targeted(asked: Request) -> Optional[Request]:
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


def fetches_backwards(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "fetches": asked.params["fetches"][::-1]})


def mixed_whole(asked: Request) -> Optional[Request]:
    """Mixed computing with every operator of the graph on the device's list.

    A function around FusedBatchNormV3 may hand on its fifth output (M26).
    """
    if _keeps_on_host(asked.graph) or any(node.op == "FusedBatchNormV3" for node in _every_node(asked.graph)):
        return None
    listed = {op: {"isGray": False} for op in sorted(listed_ops(asked.graph))}
    given = giving({"mix_compile_mode": True})(asked)
    return given._replace(params={**given.params, "op_list": listed})


_HOSTS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "AsString", "Print", "PrintV2")


def no_change(asked: Any) -> Any:
    return asked
