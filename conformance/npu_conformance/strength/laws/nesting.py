"""Graphs that lie inside functions, branches and loops: the changes behind some conditions.

Each takes a GraphDef, changes it, and answers the types of the operators it added; None where it does not fit.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.strength.laws.added_names import BESIDE, INSIDE
from npu_reference.graphs import OPS, DType, Graph, graph_from_def

__all__ = ["Change", "apart", "apart_in_branches", "in_branch", "in_calls", "in_flow", "in_loop"]

_FUNCTION = INSIDE.rstrip("/")
_BOOL = DType.BOOL.number

#: They stay where they are: fed, or outlasting a call.
_OUTSIDE = ("Placeholder", "PlaceholderV2", "VarHandleOp")
#: Ends of a graph whose feeds and fetches are cut off.
_ENDS = ("_Arg", "_Retval")
#: Dtypes that no call's result has that nobody reads.
_HANDLES = ("resource", "variant")

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")

Change = Callable[[Any], Optional[Sequence[str]]]


def _slots(graph: Graph, node: int) -> Optional[List[str]]:
    """A node's outputs as a function's body names them."""
    arguments = graph.op_def(node).outputs
    lists = sum(one.is_list for one in arguments)
    if lists > 1:
        return None
    length = len(graph.output_dtypes(node)) - len(arguments) + 1
    return [f"{one.name}:{k}" for one in arguments for k in range(length if one.is_list else 1)]


# -- the whole graph in one function ----------------------------------------------------------------------------------


class _Body(NamedTuple):
    """A graph as the body of a function."""

    arguments: List[Tuple[str, int]]  # tensors outside, with their dtype
    nodes: List[Any]
    results: List[Tuple[str, int]]  # in the words of a body, with their dtype

    def function(self, library: Any, name: str, first: Sequence[int] = ()) -> None:
        """Adds the function. `first`: dtypes of arguments before its own, which it does not read."""
        function = library.function.add()
        function.signature.name = name
        for k, dtype in enumerate(first):
            function.signature.input_arg.add(name=f"{BESIDE}unread_{k}", type=dtype)
        for k, (_, dtype) in enumerate(self.arguments):
            function.signature.input_arg.add(name=_argument(k), type=dtype)
        for k, (text, dtype) in enumerate(self.results):
            function.signature.output_arg.add(name=f"{BESIDE}result_{k}", type=dtype)
            function.ret[f"{BESIDE}result_{k}"] = text
        function.node_def.extend(self.nodes)


def _argument(position: int) -> str:
    return f"{BESIDE}argument_{position}"


def _taken(graph_def: Any) -> Optional[_Body]:
    """Takes everything out of a graph but what is fed and variables; None where references or other things that cannot
    cross tie the two together."""
    graph = graph_from_def(graph_def)
    outside = {node.name for node in graph.nodes if node.op in _OUTSIDE}
    if any(node.op in _ENDS or (node.name in outside and node.inputs) for node in graph.nodes):
        return None
    if any(dtype.is_ref for node in graph.nodes for dtype in graph.output_dtypes(node.id)):
        return None
    position: Dict[str, int] = {}
    body = _Body([], [], [])
    read: Set[str] = set()
    for node in graph.nodes:
        if node.name in outside:
            continue
        kept = type(node.proto).FromString(node.proto.SerializeToString())
        for k, text in enumerate(node.inputs):
            name, _, slot = text.lstrip("^").partition(":")
            if text.startswith("^"):
                if name in outside:
                    return None
                continue
            read.add(name)
            source = graph.index[name]
            if name in outside:
                if name not in position:
                    position[name] = len(position)
                    body.arguments.append((name, graph.output_dtypes(source)[0].number))
                kept.input[k] = _argument(position[name])
            else:
                slots = _slots(graph, source)
                if slots is None:
                    return None
                kept.input[k] = f"{name}:{slots[int(slot or 0)]}"
        body.nodes.append(kept)
    for node in graph.nodes:
        if node.name not in outside and node.name not in read:
            slots = _slots(graph, node.id)
            dtypes = graph.output_dtypes(node.id)
            if slots is None:
                return None
            found = zip(slots, dtypes)
            body.results.extend((f"{node.name}:{k}", of.number) for k, of in found if of.name not in _HANDLES)
    left = [node for node in graph_def.node if node.name in outside]
    copies = [type(node).FromString(node.SerializeToString()) for node in left]
    del graph_def.node[:]
    graph_def.node.extend(copies)
    return body if body.nodes else None


def _types(node: Any, name: str, dtypes: Sequence[int]) -> None:
    node.attr[name].list.SetInParent()
    node.attr[name].list.type.extend(dtypes)


def _called(node: Any, inputs: Sequence[int], outputs: Sequence[int], **functions: str) -> None:
    """The attributes of a node that calls functions."""
    _types(node, "Tin", inputs)
    _types(node, "Tout", outputs)
    for key, name in functions.items():
        node.attr[key].func.name = name


def _fed(graph_def: Any, name: str, dtype: int) -> str:
    node = graph_def.node.add(name=f"{BESIDE}{name}", op="Placeholder")
    node.attr["dtype"].type = dtype
    return str(node.name)


def in_calls(graph_def: Any) -> Optional[Sequence[str]]:
    """In a function that another one calls by its name, as version 1 does, which is called twice."""
    body = _taken(graph_def)
    if body is None:
        return None
    body.function(graph_def.library, _FUNCTION)
    outer, inner = f"{BESIDE}outer", f"{BESIDE}inner"
    call = type(body.nodes[0])(name=inner, op=_FUNCTION, input=[_argument(k) for k in range(len(body.arguments))])
    results = [(f"{inner}:{BESIDE}result_{k}:0", dtype) for k, (_, dtype) in enumerate(body.results)]
    _Body(body.arguments, [call], results).function(graph_def.library, outer)
    for k, op in enumerate(_CALLS):
        node = graph_def.node.add(name=f"{BESIDE}call_{k}", op=op, input=[name for name, _ in body.arguments])
        _called(node, [dtype for _, dtype in body.arguments], [dtype for _, dtype in body.results], f=outer)
    return _CALLS


def in_branch(graph_def: Any) -> Optional[Sequence[str]]:
    """In one branch of an If, whose other branch is another function of the same operators."""
    body = _taken(graph_def)
    if body is None:
        return None
    other = f"{BESIDE}other"
    body.function(graph_def.library, other)
    body.function(graph_def.library, _FUNCTION)
    inputs = [_fed(graph_def, "decides", _BOOL), *(name for name, _ in body.arguments)]
    node = graph_def.node.add(name=f"{BESIDE}if", op="If", input=inputs)
    node.attr["Tcond"].type = _BOOL
    outputs = [dtype for _, dtype in body.results]
    _called(node, [dtype for _, dtype in body.arguments], outputs, then_branch=other, else_branch=_FUNCTION)
    return ("If",)


def in_loop(graph_def: Any) -> Optional[Sequence[str]]:
    """In the body of a While, which hands on what it was given."""
    body = _taken(graph_def)
    if body is None:
        return None
    first = [_BOOL, *(dtype for _, dtype in body.results)]
    types = [*first, *(dtype for _, dtype in body.arguments)]
    handed = [(_argument(k), dtype) for k, (_, dtype) in enumerate(body.arguments)]
    results = [(f"{BESIDE}unread_0", _BOOL), *body.results, *handed]
    _Body(body.arguments, body.nodes, results).function(graph_def.library, _FUNCTION, first)
    condition = f"{BESIDE}condition"
    _Body(body.arguments, [], [(f"{BESIDE}unread_0", _BOOL)]).function(graph_def.library, condition, first)
    begins = [_fed(graph_def, f"begins_{k}", dtype) for k, dtype in enumerate(first)]
    node = graph_def.node.add(name=f"{BESIDE}while", op="While", input=[*begins, *(name for name, _ in body.arguments)])
    _types(node, "T", types)
    node.attr["cond"].func.name = condition
    node.attr["body"].func.name = _FUNCTION
    return ("While",)


# -- the graph in control flow of version 1 ---------------------------------------------------------------------------

_FLOW = ("Switch", "RefSwitch", "Enter", "RefEnter")


def _plain(graph_def: Any) -> Optional[Graph]:
    """The graph, where it has no control flow of its own, and begins in what is fed and in constants alone."""
    graph = graph_from_def(graph_def)
    begins = {"Placeholder", "Const"}
    if any(node.op in _FLOW or node.op in _ENDS or (not node.inputs and node.op not in begins) for node in graph.nodes):
        return None
    return graph


def _led(graph_def: Any, graph: Graph, lead: Callable[[str, int, int], str]) -> None:
    """Lets everybody who reads what is fed read something else: `lead` of its name, dtype and number."""
    fed = [node for node in graph.nodes if node.op == "Placeholder"]
    nodes = list(graph_def.node)
    led = {node.name: lead(node.name, graph.output_dtypes(node.id)[0].number, k) for k, node in enumerate(fed)}
    for node in nodes:
        node.input[:] = [led.get(text[:-2] if text.endswith(":0") else text, text) for text in node.input]


def in_flow(graph_def: Any) -> Optional[Sequence[str]]:
    """In a conditional in the body of a loop: what is fed enters the loop, and is switched there; constants are made in
    it."""
    graph = _plain(graph_def)
    if graph is None:
        return None

    def add(name: str, op: str, dtype: Optional[int], *inputs: str) -> Any:
        node = graph_def.node.add(name=f"{BESIDE}{name}", op=op, input=inputs)
        if dtype is not None:
            node.attr["T"].type = dtype
        if op == "Enter":
            node.attr["frame_name"].s = f"{BESIDE}frame".encode()
            node.attr["is_constant"].b = name != "enters"
        return node

    def lead(name: str, dtype: int, number: int) -> str:
        add(f"enter_{number}", "Enter", dtype, name)
        add(f"switch_{number}", "Switch", dtype, f"{BESIDE}enter_{number}", f"{BESIDE}decided")
        return f"{BESIDE}switch_{number}:1"

    constants = [node for node in graph_def.node if node.op == "Const"]
    _led(graph_def, graph, lead)
    add("decided", "Enter", _BOOL, _fed(graph_def, "decides", _BOOL))
    add("enters", "Enter", _BOOL, _fed(graph_def, "goes_on", _BOOL))
    add("merge", "Merge", _BOOL, f"{BESIDE}enters", f"{BESIDE}next").attr["N"].i = 2
    add("condition", "LoopCond", None, f"{BESIDE}merge")
    add("switch", "Switch", _BOOL, f"{BESIDE}merge", f"{BESIDE}condition")
    add("pivot", "Identity", _BOOL, f"{BESIDE}switch:1")
    add("next", "NextIteration", _BOOL, f"{BESIDE}pivot")
    add("exit", "Exit", _BOOL, f"{BESIDE}switch")
    for node in constants:
        node.input.append(f"^{BESIDE}pivot")
    return ("Enter", "Merge", "LoopCond", "Switch", "Identity", "NextIteration", "Exit")


# -- each operator in a function of its own ---------------------------------------------------------------------------

#: Operators that a partition treats by more than its list and its neighbours: what is fed and fetched, what may stay on
#: the host (M27), whose outputs count one by one (M26), control flow; what TensorFlow composed, beside.
_SPECIAL = frozenset(
    {
        "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Const", "Identity", "IdentityN", "NoOp",
        "FusedBatchNormV3", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger",
    }
)  # fmt: skip
_CALLBACKS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_NO_NUMBERS = frozenset({"resource", "variant", "string"})


def _own(graph: Graph, node: Any) -> bool:
    """Whether an operator can be the only one of a function: it is known by its type, and hands on numbers."""
    definition = OPS.get(node.op)
    if node.op in _SPECIAL or node.op.startswith("_") or definition is None or node.proto.op in graph.functions:
        return False
    if definition.is_stateful and node.op not in _CALLBACKS:
        return False
    dtypes = [*graph.input_dtypes(node.id), *graph.output_dtypes(node.id)]
    return bool(dtypes) and not any(dtype.is_ref or dtype.name in _NO_NUMBERS for dtype in dtypes)


def _apart(graph_def: Any, call: Callable[[Any, str, str, List[int], List[int]], None]) -> Optional[List[str]]:
    """Puts each operator that can be alone into a function; `call` makes its node one that calls it."""
    graph = graph_from_def(graph_def)
    moved = []
    for node in graph.nodes:
        slots = _slots(graph, node.id) if _own(graph, node) else None
        if slots is None:
            continue
        moved.append(node.op)
        inputs = [dtype.number for dtype in graph.input_dtypes(node.id)]
        outputs = [dtype.number for dtype in graph.output_dtypes(node.id)]
        own = type(node.proto).FromString(node.proto.SerializeToString())
        own.attr.pop("_class", None)
        own.name, own.device = "own", ""
        own.input[:] = [_argument(k) for k in range(len(inputs))]
        name = f"{BESIDE}of_{node.id}"
        body = _Body(
            [("", dtype) for dtype in inputs], [own], [(f"own:{text}", of) for text, of in zip(slots, outputs)]
        )
        body.function(graph_def.library, name)
        outer = graph_def.node[node.id]
        for key in [key for key in outer.attr if key != "_class"]:
            del outer.attr[key]
        stateful = "Stateful" if node.op in _CALLBACKS else ""
        call(outer, name, stateful, inputs, outputs)
    return moved or None


def apart(graph_def: Any) -> Optional[Sequence[str]]:
    """Each operator in a function that another one calls, which is called by its name."""

    def call(node: Any, name: str, stateful: str, inputs: List[int], outputs: List[int]) -> None:
        arguments = [_argument(k) for k in range(len(inputs))]
        inner = type(node)(name="inner", op=f"{stateful}PartitionedCall", input=arguments)
        _called(inner, inputs, outputs, f=name)
        results = [(f"inner:output:{k}", dtype) for k, dtype in enumerate(outputs)]
        _Body([("", dtype) for dtype in inputs], [inner], results).function(graph_def.library, f"{name}_outer")
        node.op = f"{name}_outer"

    return _apart(graph_def, call) and _CALLS


def apart_in_branches(graph_def: Any) -> Optional[Sequence[str]]:
    """Each operator in both branches of a conditional of its own."""
    if any(node.op in ("Enter", "RefEnter") for node in graph_def.node):
        return None  # what decides would have to enter the loop, too
    decides = f"{BESIDE}decides"

    def call(node: Any, name: str, stateful: str, inputs: List[int], outputs: List[int]) -> None:
        node.op = "If" if stateful else "StatelessIf"
        node.input.insert(0, decides)
        node.attr["Tcond"].type = _BOOL
        _called(node, inputs, outputs, then_branch=name, else_branch=name)

    found = _apart(graph_def, call)
    if found is not None:
        _fed(graph_def, "decides", _BOOL)
    return found and ("If", "StatelessIf")
