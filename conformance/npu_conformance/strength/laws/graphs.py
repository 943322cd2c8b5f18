"""Random graphs, typed and well formed: what they are made of, and how a seed draws one.

A graph is a list of small steps, each a kind of operator and a few numbers that choose its inputs among what is there.
Any list of steps makes a graph, so whoever looks for the smallest one that shows a fault may drop steps and lower
numbers as he likes. A seed gives the same graph in every version of Python.
"""

from __future__ import annotations

import functools
import random
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.graphs import Graph, GraphBuilder, close_over, graph_from_def

__all__ = ["DEVICE_KINDS", "KINDS", "OPERATORS", "REORDER", "GraphRequest", "Step", "build", "draw", "request"]


class Step(NamedTuple):
    """One operator to add: ``kind`` names a rule below, ``picks`` choose its inputs, counted from the newest tensor."""

    kind: str
    picks: Tuple[int, int, int]
    #: Which earlier operator runs before this one; 0 for none.
    after: int = 0
    #: Whether the operator is marked ``_without_npu_compile``, as without_npu_compile_scope does.
    kept: bool = False


class Maker:
    """The graph so far, and the tensors new operators may read, by what they hold."""

    def __init__(self, host: str = "PyFunc") -> None:
        self.g = GraphBuilder()
        self.host = host
        self.floats: List[Any] = [self.g.placeholder("x", "float32", [2])]
        self.strings: List[Any] = []
        self.refs: List[Any] = []
        self.handles: List[Any] = []
        self.operators: List[Any] = []
        self.functions: Dict[bool, str] = {}
        self.count = 0
        self.extras: Dict[str, Any] = {}

    def name(self, base: str) -> str:
        """A name that shows what the operator is and comes in order."""
        self.count += 1
        return f"{base}{self.count}"

    def pick(self, pool: Sequence[Any], number: int) -> Any:
        return pool[-1 - number % len(pool)]

    def add(self, op: str, name: str, inputs: Sequence[Any] = (), **attrs: Any) -> Any:
        node = self.g.op(op, name, inputs, **{**self.extras, **attrs})
        self.operators.append(node)
        return node

    def host_op(self, name: str, value: Any, control: Sequence[Any] = ()) -> Any:
        """An operator no device has, float32 to float32."""
        extras = {**self.extras, **({"control": control} if control else {})}
        node = self.g.op("PyFunc", name, [[value]], Tout=["float32"], token="token", **extras)
        self.operators.append(node)
        return node[0]


Rule = Callable[[Maker, Tuple[int, int, int]], None]


def _placeholder(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(m.g.placeholder(m.name("x"), "float32", [2]))


def _const(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(m.add("Const", m.name("const"), value=_tensor([1.0, 2.0]), dtype="float32"))


def _tensor(value: Any) -> Any:
    from npu_reference.graphs.tensors import tensor_proto

    return tensor_proto(value)


def _unary(m: Maker, picks: Tuple[int, int, int]) -> None:
    op = ["Relu", "Identity", "Neg"][picks[2] % 3]
    m.floats.append(m.add(op, m.name(op.lower()), [m.pick(m.floats, picks[0])]))


def _binary(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(m.add("AddV2", m.name("add"), [m.pick(m.floats, picks[0]), m.pick(m.floats, picks[1])]))


def _many(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(m.add("AddN", m.name("addn"), [[m.pick(m.floats, pick) for pick in picks]]))


def _outputs(m: Maker, picks: Tuple[int, int, int]) -> None:
    node = m.add("IdentityN", m.name("outputs"), [[m.pick(m.floats, picks[0]), m.pick(m.floats, picks[1])]])
    m.floats.extend(node.outputs)


def _host(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(m.host_op(m.name("host"), m.pick(m.floats, picks[0])))


def _group(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.add("NoOp", m.name("group"), control=[_outside(m, pick) for pick in picks])


def _ref_variable(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.refs.append(m.add("VariableV2", m.name("ref"), dtype="float32", shape=[2]))
    m.floats.append(m.add("Identity", m.name("read"), [m.refs[-1]]))


def _assign(m: Maker, picks: Tuple[int, int, int]) -> None:
    if not m.refs:
        _ref_variable(m, picks)
    op = ["Assign", "AssignAdd"][picks[2] % 2]
    m.refs.append(m.add(op, m.name(op.lower()), [m.pick(m.refs, picks[0]), m.pick(m.floats, picks[1])]))


def _resource_variable(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.handles.append(m.add("VarHandleOp", m.name("handle"), dtype="float32", shape=[2]))
    m.floats.append(m.add("ReadVariableOp", m.name("value"), [m.handles[-1]], dtype="float32"))


def _resource_assign(m: Maker, picks: Tuple[int, int, int]) -> None:
    if not m.handles:
        _resource_variable(m, picks)
    handle, value = m.pick(m.handles, picks[0]), m.pick(m.floats, picks[1])
    m.add("AssignAddVariableOp", m.name("assign"), [handle, value])


def _to_string(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.strings.append(m.add("AsString", m.name("string"), [m.pick(m.floats, picks[0])]))


def _from_string(m: Maker, picks: Tuple[int, int, int]) -> None:
    if not m.strings:
        _to_string(m, picks)
    m.floats.append(m.add("StringToNumber", m.name("number"), [m.pick(m.strings, picks[0])]))


def _join(m: Maker, picks: Tuple[int, int, int]) -> None:
    if not m.strings:
        _to_string(m, picks)
    m.strings.append(m.add("StringJoin", m.name("join"), [[m.pick(m.strings, picks[0]), m.pick(m.strings, picks[1])]]))


def _function(m: Maker, host: bool) -> str:
    """The name of a function float32 to float32, whose body has an operator no device has if ``host``."""
    if host not in m.functions:
        name = "on_host" if host else "on_device"
        f = m.g.function(name, {"a": "float32"}, {"b": "float32"})
        value: Any = f.op("Neg", "neg", [f.args["a"]])
        if host:
            value = f.op("PyFunc", "host", [[value]], Tout=["float32"], token="token")
        f.returns(b=value)
        m.functions[host] = name
    return m.functions[host]


def _call(m: Maker, picks: Tuple[int, int, int]) -> None:
    function = _function(m, picks[2] % 2 == 1)
    value = m.pick(m.floats, picks[0])
    if picks[1] % 2:
        m.floats.append(m.add(function, m.name("call"), [value]))
    else:
        node = m.add("StatefulPartitionedCall", m.name("call"), [[value]], Tout=["float32"], f=function)
        m.floats.append(node[0])


def _condition(m: Maker, picks: Tuple[int, int, int]) -> None:
    """A v1 condition: a Switch, an operator in each branch, a Merge."""
    name = m.name("cond")
    value = m.pick(m.floats, picks[0])
    which = m.g.placeholder(f"{name}/pred", "bool", [])
    switch = m.add("Switch", f"{name}/switch", [value, which])
    yes = m.add("Relu", f"{name}/true", [switch[1]])
    no = m.host_op(f"{name}/false", switch[0]) if picks[2] % 2 else m.add("Neg", f"{name}/false", [switch[0]])
    m.floats.append(m.add("Merge", f"{name}/merge", [[no, yes]])[0])


def _loop(m: Maker, picks: Tuple[int, int, int], depth: int = 0, start: Optional[Any] = None) -> Any:
    """A v1 while loop, possibly with a loop or an operator no device has in it; its Exit."""
    name = m.name("loop")
    value = m.pick(m.floats, picks[0]) if start is None else start

    def cond(value: Any) -> Any:
        limit = m.add("Const", f"{name}/limit", value=_tensor([9.0, 9.0]), dtype="float32", control=[value])
        axis = m.add("Const", f"{name}/axis", value=_tensor([0]), dtype="int32", control=[value])
        less = m.add("Less", f"{name}/less", [value, limit])
        return m.add("All", f"{name}/all", [less, axis])

    def body(value: Any) -> List[Any]:
        one = m.add("Const", f"{name}/one", value=_tensor([1.0, 1.0]), dtype="float32", control=[value])
        result: Any = m.add("AddV2", f"{name}/add", [value, one])
        if picks[1] % 3 == 2 and depth < 2:
            result = _loop(m, (0, picks[2], picks[1]), depth + 1, result)
        if picks[2] % 3 == 2:
            result = m.host_op(f"{name}/host", result)
        return [result]

    extras, m.extras = m.extras, {}
    exits = m.g.while_loop(name, [value], cond, body)
    m.extras = extras
    return exits[0]


def _while(m: Maker, picks: Tuple[int, int, int]) -> None:
    m.floats.append(_loop(m, picks))


_RULES: Dict[str, Rule] = {
    # In the order hypothesis should prefer when it shrinks: the plainest first.
    "unary": _unary,
    "binary": _binary,
    "host": _host,
    "placeholder": _placeholder,
    "const": _const,
    "many": _many,
    "outputs": _outputs,
    "group": _group,
    "ref_variable": _ref_variable,
    "assign": _assign,
    "resource_variable": _resource_variable,
    "resource_assign": _resource_assign,
    "to_string": _to_string,
    "from_string": _from_string,
    "join": _join,
    "call": _call,
    "condition": _condition,
    "while": _while,
}

#: Every kind of step.
KINDS: Tuple[str, ...] = tuple(_RULES)

#: A step that adds nothing: its numbers choose another order of nodes in the file, topological or not.
REORDER = "reorder"

#: Kinds that make a plain graph of device and host operators without state or control flow.
DEVICE_KINDS: Tuple[str, ...] = ("unary", "binary", "host", "placeholder", "const", "many", "outputs", "group")


def build(chosen: Sequence[Step]) -> GraphBuilder:
    """The builder after all these steps."""
    m = Maker()
    for step in chosen:
        if step.kind == REORDER:
            continue
        m.extras = {}
        if step.after and m.operators and step.kind not in ("condition", "while"):
            m.extras["control"] = [_outside(m, step.after - 1)]
        if step.kept:
            m.extras["attrs_"] = {"_without_npu_compile": True}
        if step.kind in ("group", "placeholder"):
            m.extras.pop("control", None)
        _RULES[step.kind](m, step.picks)
    return m.g


def _reordered(graph: Graph, step: Step) -> Graph:
    """The graph with its nodes in an order that the step's numbers choose."""
    rng = random.Random(repr(step.picks))
    result = graph.empty_def()
    keys = [rng.random() for _ in graph.nodes]
    result.node.extend(graph.nodes[i].proto for i in sorted(range(len(keys)), key=keys.__getitem__))
    return graph_from_def(result, subject=graph.subject)


def _outside(m: Maker, number: int) -> str:
    """An earlier operator that is in no loop and no branch, else the first placeholder."""
    outside = [node.name for node in m.operators if "/" not in node.name]
    return m.pick(outside, number) if outside else "x"


class GraphRequest(NamedTuple):
    """A random graph as a session.run asks for it.

    Attributes:
        graph: as a script builds it, placeholders and all; its nodes in any order.
        feeds: every placeholder, ``name:slot``.
        fetches: every tensor that nobody reads (``name:slot``), and every such operator without one (``name``).
        closed: the graph as the adapter's pass sees it (`close_over`).
    """

    graph: Graph
    feeds: Tuple[str, ...]
    fetches: Tuple[str, ...]
    closed: Graph


def request(chosen: Sequence[Step]) -> Optional[GraphRequest]:
    """The request of these steps; None where they leave placeholders alone, which a pass never sees."""
    return _request(tuple(chosen))


@functools.lru_cache(maxsize=512)
def _request(chosen: Tuple[Step, ...]) -> Optional[GraphRequest]:
    graph = build(chosen).build()
    for step in chosen:
        if step.kind == REORDER:
            graph = _reordered(graph, step)
    feeds = tuple(f"{node.name}:0" for node in graph.nodes if node.op == "Placeholder")
    last = [node for node in graph.nodes if node.op != "Placeholder" and not graph.out_edges(node.id)]
    tensors = [f"{node.name}:0" for node in last if graph.output_dtypes(node.id)]
    targets = [node.name for node in last if not graph.output_dtypes(node.id)]
    if not tensors and not targets:
        return None
    return GraphRequest(graph, feeds, tuple(tensors + targets), close_over(graph, feeds, tensors, targets))


#: Kinds of steps a drawn graph is made of, so that each kind meets company it says something with.
_MIXTURES: Tuple[Tuple[str, ...], ...] = (
    KINDS,
    KINDS,
    DEVICE_KINDS,
    (*DEVICE_KINDS, "ref_variable", "assign", "resource_variable", "resource_assign"),
    (*DEVICE_KINDS, "condition", "while", "call"),
    (*DEVICE_KINDS, "to_string", "from_string", "join", "resource_variable", "call"),
)


def draw(seed: str, most: int = 24) -> List[Step]:
    """The steps of a seed, at most `most` of them beside the one that reorders."""
    rng = random.Random(seed)  # of a text: hashed by SHA-512, in every version alike

    def below(count: int) -> int:
        return int(rng.random() * count)  # the one draw whose sequence Python promises to keep

    kinds = _MIXTURES[below(len(_MIXTURES))]
    steps = [
        Step(
            kinds[below(len(kinds))],
            (below(8), below(8), below(8)),
            # Most operators wait for nothing and are not marked.
            after=(0, 0, 0, 0, 1, 2, 5)[below(7)],
            kept=below(8) == 0,
        )
        for _ in range(1 + below(most))
    ]
    # Drawn last: an older program's graphs are the same, but for their order.
    return [*steps, Step(REORDER, (below(8), below(8), below(8)))] if below(2) else steps


#: The operator list that goes with these graphs: what the device has, of all the kinds above.
OPERATORS: Dict[str, Dict[str, bool]] = {
    op: {"isGray": op in ("AsString", "StringToNumber"), "isHeavy": False}
    for op in (
        "AddN", "AddV2", "All", "AsString", "Assign", "AssignAdd", "AssignAddVariableOp", "Const", "Enter", "Exit",
        "Identity", "IdentityN", "Less", "LoopCond", "Merge", "Neg", "NextIteration", "NoOp", "ReadVariableOp", "Relu",
        "StatefulPartitionedCall", "StringToNumber", "Switch", "VarHandleOp", "VariableV2",
    )
}  # fmt: skip
