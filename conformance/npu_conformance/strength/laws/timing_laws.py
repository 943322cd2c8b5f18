"""The laws of a step in time: random graphs that several devices compute, and in which order their operators go.

Every size is known, and whatever a graph takes decides what it gives, so that no operator can begin before those that
it takes something from have ended. How long anything takes is nobody's matter.
"""

from __future__ import annotations

import functools
import random
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.strength.laws.graphs import GraphRequest, Step
from npu_conformance.strength.laws.law import Law
from npu_reference.graphs import Graph, GraphBuilder, close_over

__all__ = ["TIMED", "TimedAnswer", "draw", "params_of", "placing", "timed"]

_SIZES = (64, 512, 1024)  # of both sides of every tensor: which operator is the longest differs (assumed)
_MOST = 20  # steps of a graph (assumed)
_RANKS = 2

#: The engines of stream_max_parallel_num, as an edition calls them: the AI CPU's, and the AI Core's.
_ENGINES = {"legacy": ("DNN_VM_TF", "DNN_V100"), "current": ("DNN_VM_AICPU", "AIcoreEngine")}
_AT_ONCE = (3, 2)  # within the range that the documents give each of them

#: What a task's engine is of; a kind of task that computes nothing is no part of it.
_OF_ENGINE = {"cube": "aicore", "vector": "aicore", "aicore": "aicore", "aicpu": "aicpu"}


class TimedAnswer(NamedTuple):
    """The steps of one answer, by name, with the values of each.

    placed: what the same backend answers for `partition`; None where it was not asked, or did not answer.
    """

    asked: GraphRequest
    steps: Mapping[str, Mapping[str, Any]]
    values: Mapping[str, Mapping[str, Any]]
    placed: Optional[Mapping[str, Any]] = None


# -- graphs -----------------------------------------------------------------------------------------------------------


class _Maker:
    """The graph so far, and what a new operator may take."""

    def __init__(self, size: int) -> None:
        self.g = GraphBuilder()
        self.shape = [size, size]
        self.tensors: List[Any] = [self.g.placeholder("x", "float32", self.shape)]
        self.handles: List[Any] = []
        self.operators: List[Any] = []
        self.function = ""
        self.extras: Dict[str, Any] = {}
        self.count = 0

    def take(self, number: int) -> Any:
        return self.tensors[-1 - number % len(self.tensors)]

    def add(self, op: str, base: str, inputs: Sequence[Any], **attrs: Any) -> Any:
        self.count += 1
        node = self.g.op(op, f"{base}{self.count}", inputs, **{**self.extras, **attrs})
        self.operators.append(node)
        return node

    def handle(self, number: int) -> Any:
        if not self.handles:
            _variable(self, (0, 0, 0))
        return self.handles[-1 - number % len(self.handles)]


_Picks = Tuple[int, int, int]


def _unary(m: _Maker, picks: _Picks) -> None:
    op = ("Relu", "Neg", "Tanh")[picks[2] % 3]
    m.tensors.append(m.add(op, op.lower(), [m.take(picks[0])]))


def _binary(m: _Maker, picks: _Picks) -> None:
    op = ("AddV2", "Mul")[picks[2] % 2]
    m.tensors.append(m.add(op, op.lower(), [m.take(picks[0]), m.take(picks[1])]))


def _product(m: _Maker, picks: _Picks) -> None:
    turned = {"transpose_a": picks[2] % 2 == 1}
    m.tensors.append(m.add("MatMul", "product", [m.take(picks[0]), m.take(picks[1])], **turned))


def _inverse(m: _Maker, picks: _Picks) -> None:
    """What the AI CPU computes."""
    m.tensors.append(m.add("MatrixInverse", "inverse", [m.take(picks[0])]))


def _many(m: _Maker, picks: _Picks) -> None:
    m.tensors.append(m.add("AddN", "addn", [[m.take(pick) for pick in picks]]))


def _outputs(m: _Maker, picks: _Picks) -> None:
    m.tensors.extend(m.add("IdentityN", "outputs", [[m.take(picks[0]), m.take(picks[1])]]).outputs)


def _placeholder(m: _Maker, picks: _Picks) -> None:
    m.count += 1
    m.tensors.append(m.g.placeholder(f"x{m.count}", "float32", m.shape))


def _group(m: _Maker, picks: _Picks) -> None:
    if m.operators:
        named = [m.operators[-1 - pick % len(m.operators)].name for pick in picks]
        m.add("NoOp", "group", [], control=list(dict.fromkeys(named)))


def _variable(m: _Maker, picks: _Picks) -> None:
    extras, m.extras = m.extras, {}
    m.handles.append(m.add("VarHandleOp", "handle", [], dtype="float32", shape=m.shape))
    m.extras = extras
    m.tensors.append(m.add("ReadVariableOp", "value", [m.handles[-1]], dtype="float32"))


def _update(m: _Maker, picks: _Picks) -> None:
    handle = m.handle(picks[0])
    if picks[2] % 2:
        m.add("AssignAddVariableOp", "assign", [handle, m.take(picks[1])])
    else:
        m.count += 1
        rate = m.g.const(f"rate{m.count}", 0.1, "float32")
        m.add("ResourceApplyGradientDescent", "update", [handle, rate, m.take(picks[1])])


def _allreduce(m: _Maker, picks: _Picks) -> None:
    """A sum over the ranks: by itself, as gradients are split, or with those of its number."""
    told = {"reduction": "sum", "group": "hccl_world_group", "fusion": picks[1] % 3, "fusion_id": -1}
    if told["fusion"] == 2:
        told["fusion_id"] = picks[2] % 2
    m.tensors.append(m.add("HcomAllReduce", "allreduce", [m.take(picks[0])], **told))


def _broadcast(m: _Maker, picks: _Picks) -> None:
    told = {"group": "hccl_world_group", "root_rank": 0, "fusion": 0, "fusion_id": -1}
    m.tensors.append(m.add("HcomBroadcast", "broadcast", [[m.take(picks[0])]], **told)[0])


def _call(m: _Maker, picks: _Picks) -> None:
    if not m.function:
        f = m.g.function("called", {"a": "float32"}, {"b": "float32"})
        f.returns(b=f.op("Neg", "neg", [f.args["a"]]))
        m.function = "called"
    node = m.add("StatefulPartitionedCall", "call", [[m.take(picks[0])]], Tout=["float32"], f=m.function)
    m.tensors.append(node[0])


def _host(m: _Maker, picks: _Picks) -> None:
    """What no device has."""
    stated = {**m.extras.get("attrs_", {}), "_output_shapes": [m.shape]}
    node = m.add("PyFunc", "host", [[m.take(picks[0])]], Tout=["float32"], token="token", attrs_=stated)
    m.tensors.append(node[0])


_RULES: Mapping[str, Callable[[_Maker, _Picks], None]] = {
    "unary": _unary,
    "binary": _binary,
    "product": _product,
    "many": _many,
    "outputs": _outputs,
    "placeholder": _placeholder,
    "group": _group,
    "call": _call,
    "inverse": _inverse,
    "allreduce": _allreduce,
    "broadcast": _broadcast,
    "variable": _variable,
    "update": _update,
    "host": _host,
}

#: What a graph is made of, so that each kind meets company it says something with; only what computing is mixed for
#: has operators that no device has.
_ALONE = ("unary", "binary", "product", "many", "placeholder", "group", "inverse")
_MIXTURES: Tuple[Tuple[str, ...], ...] = (
    (*_ALONE, "allreduce", "allreduce", "allreduce"),
    (*_ALONE, "outputs", "call", "inverse", "inverse"),
    (*_ALONE, "variable", "update", "update", "allreduce"),
    ("product", "allreduce", "allreduce", "update", "update", "broadcast", "binary"),
)


@functools.lru_cache(maxsize=256)
def draw(seed: str) -> Tuple[Step, ...]:
    """The steps of a graph of this seed; the first names its size."""
    rng = random.Random(seed)  # of a text: hashed by SHA-512, in every version alike

    def below(count: int) -> int:
        return int(rng.random() * count)  # the one draw whose sequence Python promises to keep

    kinds = _MIXTURES[below(len(_MIXTURES))]
    if below(4) == 0:
        kinds = (*kinds, "host")
    size = Step("size", (below(len(_SIZES)), 0, 0))
    return (
        size,
        *(
            Step(kinds[below(len(kinds))], (below(6), below(6), below(6)), after=(0, 0, 0, 1, 2, 5)[below(6)])
            for _ in range(4 + below(_MOST))
        ),
    )


@functools.lru_cache(maxsize=256)
def timed(steps: Tuple[Step, ...]) -> Optional[GraphRequest]:
    """The graph of these steps; None where there is nothing to compute."""
    size = next((step.picks[0] for step in steps if step.kind == "size"), 0)
    m = _Maker(_SIZES[size])
    for step in steps:
        if step.kind == "size":
            continue
        m.extras = {}
        if step.after and m.operators and step.kind not in ("group", "placeholder"):
            m.extras["control"] = [m.operators[-1 - (step.after - 1) % len(m.operators)].name]
        _RULES[step.kind](m, step.picks)
    graph = m.g.build()
    feeds = tuple(f"{node.name}:0" for node in graph.nodes if node.op == "Placeholder")
    last = [node for node in graph.nodes if node.op != "Placeholder" and not graph.out_edges(node.id)]
    tensors = [f"{node.name}:0" for node in last if graph.output_dtypes(node.id)]
    targets = [node.name for node in last if not graph.output_dtypes(node.id)]
    if not tensors and not targets:
        return None
    return GraphRequest(graph, feeds, tuple(tensors + targets), close_over(graph, feeds, tensors, targets))


def params_of(asked: GraphRequest, number: int, edition: str, ranks: bool) -> Dict[str, Any]:
    """The request for the steps of a graph: collectives apart from computing, beside it, and one thing more.

    Args:
        ranks: whether several devices can be asked for; of one no collective is seen.
    """
    surface = "runconfig" if edition == "current" and number % 4 < 2 else "session"
    mixed = any(node.op == "PyFunc" for node in asked.graph.nodes)
    values: Dict[str, Any] = {"hcom_parallel": False}
    if mixed or number % 5 == 0:
        values["mix_compile_mode"] = True
    cpu, core = _ENGINES[edition]
    more = (
        {"hcom_parallel": True, "is_tailing_optimization": True},
        {"hcom_parallel": number % 2 == 0, "stream_max_parallel_num": f"{cpu}:{_AT_ONCE[0]},{core}:{_AT_ONCE[1]}"},
    )[number // 2 % 2]
    found: Dict[str, Any] = {
        "surface": surface,
        "edition": edition,
        "values": values,
        "variants": {"beside": {"hcom_parallel": True}, "more": more},
        "feeds": list(asked.feeds),
        "fetches": list(asked.fetches),
    }
    return {**found, "ranks": _RANKS} if ranks else found


def placing(params: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The request for where the operators of the same graph are; None where nothing keeps any on the host."""
    if not params["values"].get("mix_compile_mode"):
        return None
    return {key: value for key, value in params.items() if key not in ("variants", "ranks")}


# -- the laws ---------------------------------------------------------------------------------------------------------


def _tasks(step: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """What a step tells of computing and of collectives, but for what takes no time."""
    computing = [one for one in step.get("tasks", []) if _group_of(one)]
    return [one for one in computing if one["end_ns"] > one["start_ns"]]


def _group_of(task: Mapping[str, Any]) -> str:
    if task["kind"] == "collective":
        return "collective"
    return _OF_ENGINE.get(task["engine"], "") if task["kind"] == "kernel" else ""


def _nodes_of(task: Mapping[str, Any]) -> Set[str]:
    return {*([task["node"]] if task.get("node") else []), *task.get("nodes", [])}


def _in_order(one: TimedAnswer) -> List[str]:
    """An operator begins once all have ended that it takes something from or waits for, whatever lies between."""
    graph = one.asked.closed
    return [fault for name, step in one.steps.items() for fault in _too_early(graph, name, step)][:1]


def _too_early(graph: Graph, name: str, step: Mapping[str, Any]) -> Iterator[str]:
    shown: Dict[int, List[Mapping[str, Any]]] = {}
    for task in step.get("tasks", []):
        if _group_of(task):
            for name_of in _nodes_of(task):
                if name_of in graph.index:
                    shown.setdefault(graph.index[name_of], []).append(task)
    # Of what is computed in pieces nobody says which piece needs which.
    alone = {node: tasks[0] for node, tasks in shown.items() if len(tasks) == 1}
    edges = graph.edges
    before: Dict[Tuple[int, int], Tuple[int, ...]] = {}

    def given_by(edge: int) -> Tuple[int, ...]:
        """The operators shown that an edge waits for."""
        node, slot = edges.src[edge], edges.src_slot[edge]
        if node in shown:
            return (node,)
        # What hands tensors on singly makes none wait for another.
        key = (node, slot if graph.nodes[node].op == "IdentityN" and slot >= 0 else -1)
        if key not in before:
            found: Dict[int, None] = {}
            for into in graph.in_edges(node):
                if key[1] < 0 or edges.dst_slot[into] in (key[1], -1):
                    found.update(dict.fromkeys(given_by(into)))
            before[key] = tuple(found)
        return before[key]

    for number, task in sorted(alone.items()):
        for edge in graph.in_edges(number):
            for source in given_by(edge):
                earlier = alone.get(source)
                if earlier is not None and earlier is not task and task["start_ns"] < earlier["end_ns"]:
                    needed, by = graph.nodes[source].name, graph.nodes[number].name
                    yield f"{name}: {by} begins before {needed} has ended, which it needs"


def _apart(one: TimedAnswer) -> List[str]:
    """Without hcom_parallel no sum over the ranks lies beside computing."""
    graph = one.asked.closed
    for name, step in one.steps.items():
        if one.values[name].get("hcom_parallel"):
            continue
        tasks = _tasks(step)
        sums = [task for task in tasks if _group_of(task) == "collective" and _is_sum(graph, task)]
        computing = [task for task in tasks if _group_of(task) != "collective"]
        for task in sums:
            for other in computing:
                if task["start_ns"] < other["end_ns"] and other["start_ns"] < task["end_ns"]:
                    first, second = min(_nodes_of(task)), min(_nodes_of(other), default="computing")
                    return [f"{name}: {second} is computed beside {first}, and hcom_parallel is off"]
    return []


def _is_sum(graph: Graph, task: Mapping[str, Any]) -> bool:
    found = [graph.index[node] for node in _nodes_of(task) if node in graph.index]
    return any(graph.nodes[node].op == "HcomAllReduce" for node in found)


def _bounded(one: TimedAnswer) -> List[str]:
    """An engine has no more operators at once than stream_max_parallel_num says: one where it says nothing."""
    for name, step in one.steps.items():
        given = "stream_max_parallel_num" in one.values[name]
        for group, most in zip(("aicpu", "aicore"), _AT_ONCE if given else (1, 1)):
            found = _most_at_once([task for task in _tasks(step) if _group_of(task) == group])
            if found > most:
                return [f"{name}: {found} operators of the {group} at once, where {most} may be"]
    return []


def _most_at_once(tasks: Sequence[Mapping[str, Any]]) -> int:
    changes = sorted([(one["start_ns"], 1) for one in tasks] + [(one["end_ns"], -1) for one in tasks])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _placed(one: TimedAnswer) -> List[str]:
    """What is on the host is in no task of the device, and each GEOP is started."""
    if one.placed is None:
        return []
    host = {entry["node"] for entry in one.placed["host"]}
    geops = len(one.placed["geops"])
    for name, step in one.steps.items():
        for task in _tasks(step):
            for node in sorted(host & _nodes_of(task)):
                return [f"{name}: {node} is computed by the device, and partition leaves it on the host"]
        if step.get("launches", 0) < geops:  # how many calls start one is left open
            return [f"{name}: {step.get('launches')} launches, and partition has {geops} GEOPs"]
    return []


_TASKS = ("timeline.tasks",)

#: The laws of `timeline`, in the order of reports.
TIMED: Tuple[Law, ...] = (
    Law("time-answered", "Every graph of known sizes has a step", ("mixed.partition.order_preserved",), (), None,
        method="timeline", area="timing"),
    Law("time-order", "An operator begins once all have ended that it takes something from or waits for",
        ("mixed.partition.order_preserved",), _TASKS, _in_order, method="timeline", area="timing"),
    Law("time-sums", "Without hcom_parallel no gradient is summed beside computing",
        ("session.hcom_parallel.false", "runconfig.hcom_parallel.false"), (*_TASKS, "ranks"), _apart,
        method="timeline", area="timing"),
    Law("time-engines", "An engine has no more operators at once than stream_max_parallel_num says",
        ("session.stream_max_parallel_num.effect", "session.stream_max_parallel_num.default",
         "runconfig.stream_max_parallel_num.effect", "runconfig.stream_max_parallel_num.default"), _TASKS, _bounded,
        method="timeline", area="timing"),
    Law("time-placed", "The device computes what partition offloads, each GEOP started",
        ("mixed.purpose.host_fallback", "mixed.partition.geop_split"), (*_TASKS, "timeline.launches", "partition"),
        _placed, method="timeline", area="timing"),
)  # fmt: skip
