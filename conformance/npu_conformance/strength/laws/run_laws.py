"""The laws of `run`: random graphs that TensorFlow computes, what they give, and in which other ways they are asked.

Every value is a whole number that the float types of the mode hold, and what has state is ordered by control edges. So
the values are known here, and are the same to the last bit wherever operators are.
"""

from __future__ import annotations

import functools
import json
import random
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.library import twins
from npu_conformance.observing import tensors
from npu_conformance.strength.laws.graphs import Step
from npu_conformance.strength.laws.law import Law
from npu_reference.graphs import Graph, GraphBuilder, graph_from_def
from npu_reference.graphs.tensors import tensor_proto

__all__ = ["RUN", "WAYS", "Asking", "Program", "asking", "draw", "faults", "program", "ways", "ways_of", "words"]

Values = Dict[str, List[float]]
#: What computes one operator: it reads and writes values by tensor; those of a variable stay from step to step.
Work = Callable[[Values], None]

#: The largest whole number up to which float16 holds them all.
_EXACT = 2048.0
_MOST = 10  # steps of a graph, so that no value leaves what float32 holds exactly (3 * 3 ** 10)
_TURN = 3  # other ways of a graph (assumed: each is seen often enough in a run of ten graphs)
_LOOP = 3  # iterations of a loop


class Program(NamedTuple):
    """A graph that can be run, and what it computes.

    Attributes:
        feeds: tensor to its wire form.
        fetches: every tensor that nobody reads (``name:slot``), and every such operator without one (``name``).
        init: operators to run first.
        work: its operators, in an order of dependence.
        fed: values of what is fed.
        inner: computed tensors that are read, which could be fed instead; none of a graph with state.
        places: operators that could be kept on the host.
        whole: whether every operator could be on the device.
    """

    graph: Graph
    feeds: Mapping[str, Mapping[str, Any]]
    fetches: Tuple[str, ...]
    init: Tuple[str, ...]
    work: Tuple[Work, ...]
    fed: Mapping[str, List[float]]
    inner: Tuple[str, ...]
    places: Tuple[str, ...]
    whole: bool

    def expected(self, steps: int = 1, fed: Mapping[str, List[float]] = {}) -> Values:
        """The value of every tensor after so many steps; with `fed`, where these have the given values."""
        values: Values = {}
        for _ in range(steps):
            values.update({**self.fed, **fed})
            for work in self.work:
                work(values)
                values.update(fed)
        return values


class _Maker:
    """The graph so far, with the work of each operator."""

    def __init__(self) -> None:
        self.g = GraphBuilder()
        self.floats: List[str] = []
        self.built: Dict[str, Any] = {}
        self.work: List[Work] = []
        self.feeds: Dict[str, Mapping[str, Any]] = {}
        self.fed: Values = {}
        self.init: List[str] = []
        self.state: Any = None
        self.handle: Any = None
        self.function = ""
        self.count = 0
        self.whole = True
        self.places: List[str] = []
        self.extras: Dict[str, Any] = {}
        self.placeholder()

    def name(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def pick(self, number: int) -> str:
        return self.floats[-1 - number % len(self.floats)]

    def placeholder(self) -> None:
        name = self.name("x")
        value = [float(self.count), -float(self.count + 1)]
        self.feed(name, "float32", [2], value)
        self.keep(f"{name}:0", self.g.placeholder(name, "float32", [2]))

    def feed(self, name: str, dtype: str, shape: List[int], value: List[float]) -> None:
        entry = {"dtype": dtype, "shape": shape, "data": [bool(one) for one in value] if dtype == "bool" else value}
        self.feeds[f"{name}:0"] = tensors.encode(tensors.from_case(entry, name))
        self.fed[f"{name}:0"] = value

    def keep(self, tensor: str, built: Any) -> None:
        self.floats.append(tensor)
        self.built[tensor] = built

    def op(self, op: str, name: str, reads: Sequence[str], rule: Callable[..., Any], many: bool = False) -> None:
        """An operator of float tensors that computes `rule` element by element."""
        inputs = [self.built[one] for one in reads]
        node = self.g.op(op, name, [inputs] if many else inputs, **self.extras)
        self.places.append(name)
        self.keep(f"{name}:0", node[0])
        self.compute(f"{name}:0", reads, rule)

    def compute(self, tensor: str, reads: Sequence[str], rule: Callable[..., float]) -> None:
        def work(values: Values) -> None:
            values[tensor] = [rule(*parts) for parts in zip(*(values[one] for one in reads))]

        self.work.append(work)


def _unary(m: _Maker, step: Step) -> None:
    op, rule = (("Neg", lambda a: -a), ("Relu", lambda a: max(a, 0.0)), ("Identity", lambda a: a))[step.picks[2] % 3]
    m.op(op, m.name(op.lower()), [m.pick(step.picks[0])], rule)


def _binary(m: _Maker, step: Step) -> None:
    op, rule = (("AddV2", lambda a, b: a + b), ("Sub", lambda a, b: a - b), ("Maximum", max))[step.picks[2] % 3]
    m.op(op, m.name(op.lower()), [m.pick(step.picks[0]), m.pick(step.picks[1])], rule)


def _many(m: _Maker, step: Step) -> None:
    m.op("AddN", m.name("addn"), [m.pick(one) for one in step.picks], lambda *parts: sum(parts), many=True)


def _host(m: _Maker, step: Step) -> None:
    """To a text and back, which no core of a device computes."""
    name, read = m.name("text"), m.pick(step.picks[0])
    text = m.g.op("AsString", f"{name}_of", [m.built[read]], **m.extras)
    m.keep(f"{name}:0", m.g.op("StringToNumber", name, [text])[0])
    m.compute(f"{name}:0", [read], lambda a: a)
    m.whole = False


def _placeholder(m: _Maker, step: Step) -> None:
    m.placeholder()


def _const(m: _Maker, step: Step) -> None:
    name = m.name("const")
    m.keep(f"{name}:0", m.g.op("Const", name, value=tensor_proto([1.0, 2.0]), dtype="float32")[0])

    def work(values: Values) -> None:
        values[f"{name}:0"] = [1.0, 2.0]

    m.work.append(work)


def _state(m: _Maker, step: Step) -> None:
    """A variable is added to and read, after whatever was done to it before."""
    if m.handle is None:
        m.handle = m.g.op("VarHandleOp", "handle", dtype="float32", shape=[2], shared_name="handle")
        start = m.g.op("Const", "start", value=tensor_proto([3.0, 4.0]), dtype="float32")
        m.g.op("AssignVariableOp", "init", [m.handle, start], dtype="float32")
        m.init.append("init")
    name, read = m.name("read"), m.pick(step.picks[0])
    before = [m.state] if m.state is not None else []
    after = m.g.op("AssignAddVariableOp", f"{name}_added", [m.handle, m.built[read]], dtype="float32", control=before)
    m.state = m.g.op("ReadVariableOp", name, [m.handle], dtype="float32", control=[after])
    m.keep(f"{name}:0", m.state[0])

    def work(values: Values) -> None:
        values["handle"] = [a + b for a, b in zip(values.get("handle", [3.0, 4.0]), values[read])]
        values[f"{name}:0"] = values["handle"]

    m.work.append(work)


def _call(m: _Maker, step: Step) -> None:
    if not m.function:
        m.function = "negated"
        f = m.g.function(m.function, {"a": "float32"}, {"b": "float32"})
        f.returns(b=f.op("Neg", "neg", [f.args["a"]]))
    name, read = m.name("call"), m.pick(step.picks[0])
    m.keep(f"{name}:0", m.g.op("PartitionedCall", name, [[m.built[read]]], Tout=["float32"], f=m.function)[0])
    m.compute(f"{name}:0", [read], lambda a: -a)


def _condition(m: _Maker, step: Step) -> None:
    name, read = m.name("cond"), m.pick(step.picks[0])
    taken = step.picks[2] % 2
    which = m.g.placeholder(f"{name}/pred", "bool", [])
    m.feed(f"{name}/pred", "bool", [], [float(taken)])
    switch = m.g.op("Switch", f"{name}/switch", [m.built[read], which])
    yes, no = m.g.op("Relu", f"{name}/true", [switch[1]]), m.g.op("Neg", f"{name}/false", [switch[0]])
    m.keep(f"{name}:0", m.g.op("Merge", name, [[no, yes]])[0])
    m.compute(f"{name}:0", [read], (lambda a: max(a, 0.0)) if taken else (lambda a: -a))


def _while(m: _Maker, step: Step) -> None:
    name, read = m.name("loop"), m.pick(step.picks[0])
    zero = m.g.op("Const", f"{name}/zero", value=tensor_proto(0), dtype="int32")

    def constant(part: str, value: Any, dtype: str, inside: Any) -> Any:
        return m.g.op("Const", f"{name}/{part}", value=tensor_proto(value), dtype=dtype, control=[inside])

    def cond(value: Any, turn: Any) -> Any:
        return m.g.op("Less", f"{name}/less", [turn, constant("most", _LOOP, "int32", turn)])

    def body(value: Any, turn: Any) -> List[Any]:
        added = m.g.op("AddV2", f"{name}/add", [value, constant("one", [1.0, 1.0], "float32", value)])
        return [added, m.g.op("AddV2", f"{name}/turn", [turn, constant("step", 1, "int32", turn)])]

    exits = m.g.while_loop(name, [m.built[read], zero], cond, body)
    m.keep(f"{name}/Exit_0:0", exits[0])
    m.compute(f"{name}/Exit_0:0", [read], lambda a: a + _LOOP)


#: Rules by kind, the plainest first; a text and back stands for what stays on the host.
_RULES: Mapping[str, Callable[[_Maker, Step], None]] = {
    "unary": _unary, "binary": _binary, "host": _host, "many": _many, "placeholder": _placeholder, "const": _const,
    "state": _state, "call": _call, "condition": _condition, "while": _while,
}  # fmt: skip


def draw(seed: str) -> List[Step]:
    """The steps of a seed; the same in every version of Python."""
    rng = random.Random(seed)

    def below(count: int) -> int:
        return int(rng.random() * count)  # the one draw whose sequence Python promises to keep

    mixed = below(2) == 1  # half of the graphs could be on the device as a whole
    plain = ("unary", "binary", "many")
    kinds = [kind for kind in (*plain, *plain, *_RULES, "host") if mixed or kind != "host"]
    return [
        Step(kinds[below(len(kinds))], (below(8), below(8), below(8)), kept=below(5) == 0 and mixed)
        for _ in range(2 + below(_MOST - 1))
    ]


def program(steps: Sequence[Step]) -> Optional[Program]:
    """The program of these steps; None where they compute nothing."""
    return _program(tuple(steps[:_MOST]))


@functools.lru_cache(maxsize=256)
def _program(steps: Tuple[Step, ...]) -> Optional[Program]:
    m = _Maker()
    for step in steps:
        m.extras = {"attrs_": {"_without_npu_compile": True}} if step.kept else {}
        m.whole = m.whole and not step.kept
        _RULES[step.kind](m, step)
    graph = m.g.build()
    last = [
        node
        for node in graph.nodes
        if not graph.out_edges(node.id) and node.op != "Placeholder" and node.name != "init"
    ]
    fetches = [f"{node.name}:0" if graph.output_dtypes(node.id) else node.name for node in last]
    fetches = [one for one in fetches if ":" not in one or one in m.built]  # not the counter of a loop
    if not fetches:
        return None
    read = {f"{graph.nodes[source].name}:{slot}" for source, slot in zip(graph.edges.src, graph.edges.src_slot)}
    inner = [one for one in m.floats if one in read and one not in m.feeds and m.handle is None]
    return Program(
        graph, m.feeds, tuple(fetches), tuple(m.init), tuple(m.work), m.fed, tuple(inner), tuple(m.places), m.whole
    )


# -- ways of asking ---------------------------------------------------------------------------------------------------

#: Ways of asking beside the first, each with the law that compares it.
WAYS: Mapping[str, str] = {
    "by the frontend alone": "run-partition",
    "with an operator kept on the host": "run-partition",
    "offloaded as a whole": "run-partition",
    "renamed": "run-renaming",
    "in another order": "run-fetches",
    "with a value fed": "run-feeding",
    "with identities": "run-identities",
    "twice": "run-repeating",
}

#: Modes by turns: those that leave vector operators alone, and those that narrow them where the values are exact.
_MODES = ("must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_mix_precision", "force_fp32")
_NARROW = ("allow_mix_precision",)


class Asking(NamedTuple):
    """One way of asking: the graph, what is asked of it, how to read its answer, and what that should say.

    twin: of a graph with other names; None for all others.
    """

    graph: Graph
    params: Mapping[str, Any]
    expected: Mapping[str, List[float]]
    twin: Optional[twins.Twin] = None


def ways_of(made: Program) -> List[str]:
    """The ways that fit a program: it has what they change."""
    lacks = {
        "offloaded as a whole": not made.whole,
        "with an operator kept on the host": not made.places,
        "with a value fed": not made.inner,
    }
    return [way for way in WAYS if not lacks.get(way)]


def ways(made: Program, number: int) -> List[str]:
    """The ways a program is asked in: as it is, by the frontend alone, and in some of the others by turns."""
    others = ways_of(made)[1:]
    chosen = {others[(number * _TURN + k) % len(others)] for k in range(_TURN)}
    return ["first", "by the frontend alone", *(way for way in others if way in chosen)]


def asking(way: str, made: Program, number: int, edition: str) -> Asking:
    """How a program is asked in one way."""
    graph, twin = made.graph, None
    values: Dict[str, Any] = {"mix_compile_mode": True, "precision_mode": _mode(made, number)}
    params: Dict[str, Any] = {
        "surface": "session",
        "edition": edition,
        "feeds": dict(made.feeds),
        "init": list(made.init),
    }
    fetches, expected, steps = list(made.fetches), made.expected(), 1
    if way == "by the frontend alone":
        values = {"use_off_line": False, "precision_mode": values["precision_mode"]}  # 002 L17: alone
    elif way == "with an operator kept on the host":
        place = made.places[number % len(made.places)]
        values.update(in_out_pair=str([[[place], [place]]]), in_out_pair_flag=False, graph_run_mode=0)
    elif way == "offloaded as a whole":
        values["mix_compile_mode"] = False
    elif way == "renamed":
        definition = graph.to_def()
        names, originals = twins.rename(definition, _names(made))
        graph, twin = graph_from_def(definition), twins.Twin("", names, originals)
    elif way == "in another order":
        fetches = fetches[::-1]
        params["feeds"] = dict(reversed(list(params["feeds"].items())))
    elif way == "with a value fed":
        tensor = made.inner[number % len(made.inner)]
        value = [one + 5.0 for one in expected[tensor]]
        entry = {"dtype": "float32", "shape": [2], "data": value}
        params["feeds"][tensor] = tensors.encode(tensors.from_case(entry, tensor))
        expected = made.expected(fed={tensor: value})
    elif way == "with identities":
        graph = _with_identities(graph)
    elif way == "twice":
        steps, expected = 2, made.expected(2)
    if steps != 1:
        params["steps"] = steps
    told = {name: expected[name] for name in made.fetches if ":" in name}
    return Asking(graph, {**params, "values": values, "fetches": fetches}, told, twin)


def _mode(made: Program, number: int) -> str:
    mode = _MODES[number % len(_MODES)]
    exact = all(abs(one) <= _EXACT for value in made.expected(2).values() for one in value)
    return mode if exact or mode not in _NARROW else _MODES[0]


def _names(made: Program) -> Set[str]:
    return {name.partition(":")[0] for name in (*made.feeds, *made.fetches, *made.init)}


def _with_identities(graph: Graph) -> Graph:
    """Every float tensor that leaves a plain operator passes an Identity first."""
    definition = graph.to_def()
    behind: Dict[str, str] = {}
    for node in graph.nodes:
        if node.op in ("AddV2", "Sub", "Maximum", "Neg", "Relu", "AddN") and "/" not in node.name:
            behind[node.name] = f"{node.name}_passed"
    for node in definition.node:
        for place, text in enumerate(node.input):
            name = text[: -len(":0")] if text.endswith(":0") else text
            if name in behind:
                node.input[place] = behind[name]
    for name, other in behind.items():
        added = definition.node.add()
        added.name, added.op = other, "Identity"
        added.input.append(name)
        added.attr["T"].type = 1
    return graph_from_def(definition)


# -- judging ----------------------------------------------------------------------------------------------------------


def faults(made: Program, number: int, edition: str, answers: Mapping[str, Mapping[str, Any]]) -> Dict[str, str]:
    """How answers break laws, by law: the first by the values computed here, the others by the first.

    answers: way of asking to its answer, where it is one.
    """
    found: Dict[str, str] = {}
    if "first" not in answers:
        return found
    said = _told(answers["first"])
    wrong = _other(said, asking("first", made, number, edition).expected)
    if wrong:
        found["run-values"] = wrong
    for way in WAYS:
        answer = answers.get(way)
        if answer is None:
            continue
        if way in ("with a value fed", "twice"):
            differs = "" if wrong else _other(_told(answer), asking(way, made, number, edition).expected)
        else:
            differs = _other(_told(answer), said)
        if differs:
            found.setdefault(WAYS[way], f"{way}, {differs}")
    return found


def _told(answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The fetched values by name; a word where one cannot be read."""
    found: Dict[str, Any] = {}
    for name, tensor in answer["fetches"].items():
        try:
            values = tensors.values(tensor["dtype"], tensors.decode_bytes(tensor))
            found[name] = values if tensor["dtype"] == "float32" else f"{tensor['dtype']} {values}"
        except tensors.BadTensor as error:
            found[name] = str(error)
    return found


def _other(told: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first difference in words; empty where there is none."""
    for name, value in sorted(wanted.items()):
        if name not in told:
            return f"{name} is not told"
        if told[name] != value:
            return f"{name} is {told[name]} instead of {value}"
    return ""


def words(asked: Asking) -> str:
    """The request of one way of asking as text, in one line: what is fed as numbers."""
    fed = {name: tensors.values(one["dtype"], tensors.decode_bytes(one)) for name, one in asked.params["feeds"].items()}
    return json.dumps({**asked.params, "feeds": fed}, sort_keys=True)


_BASE = ("mixed.purpose.host_fallback",)

RUN = [
    Law("run-answered", "Every well-formed graph is run", _BASE, (), None, "run"),
    Law("run-values", "Values are those that the operators compute, state in the order of its control edges",
        (*_BASE, "mixed.partition.order_preserved"), (), None, "run"),
    Law("run-partition", "Values are the same wherever operators are",
        (*_BASE, "session.use_off_line.false", "session.mix_compile_mode.true", "in_out_pair.flag_false.host"), (),
        None, "run"),
    Law("run-renaming", "Other names give the same values", _BASE, (), None, "run"),
    Law("run-fetches", "The order of feeds and fetches changes no value", _BASE, (), None, "run"),
    Law("run-feeding", "What is fed is not computed", _BASE, (), None, "run"),
    Law("run-identities", "An Identity in between changes no value", _BASE, (), None, "run"),
    Law("run-repeating", "A second run begins with the state that the first left, and with nothing else", _BASE, (),
        None, "run"),
]  # fmt: skip
