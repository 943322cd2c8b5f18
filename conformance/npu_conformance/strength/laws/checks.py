"""The laws: what must hold of the answer to `partition` for any graph, and what an answer says against each.

A law is judged from the graph and the answer alone. Names of feeds and fetches are the adapter's own when an answer has
them (`_arg_x_0_0` stands for `x:0`); operators that only stand for a feed or a fetch may be left out of it.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.observing import observe
from npu_reference.graphs import Graph

__all__ = ["LAWS", "Law", "Question", "Reading", "facts", "read"]

_ENDS = ("_Arg", "_Retval")
_BACK = ("NextIteration", "RefNextIteration")
#: What a GEOP may hold a copy of, so that nothing crosses.
_COPIED = ("Const", "VariableV2", "VarHandleOp")
#: Functions of Python, which no device has.
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_HOST = -1


class Question(NamedTuple):
    """What was asked: the graph as the pass sees it, the device's operators, and whether computing is mixed.

    ranged: whether in_out_pair is given, of whose ranges no document says that neighbours are one.
    """

    graph: Graph
    operators: Optional[Mapping[str, Mapping[str, bool]]]
    mixed: bool
    ranged: bool = False


class Reading(NamedTuple):
    """An answer in the graph's own terms.

    Attributes:
        question: what was asked.
        home: node id to the number of its GEOP, -1 for the host; no entry where the answer has none.
        faults: ways in which the answer does not place every operator once.
        copies: (node, GEOP) of every copy; None where the answer does not tell copies.
        answer: as it came.
    """

    question: Question
    home: Mapping[int, int]
    faults: Tuple[str, ...]
    copies: Optional[Set[Tuple[int, int]]]
    answer: Mapping[str, Any]

    def name(self, node: int) -> str:
        return self.question.graph.nodes[node].name

    def copied(self, source: int, geop: int) -> bool:
        """Whether a GEOP needs nothing of `source` because it has, or may have, a copy."""
        if geop == _HOST:
            return False
        if self.copies is None:
            return self.question.graph.nodes[source].op in _COPIED
        return (source, geop) in self.copies


def read(question: Question, answer: Mapping[str, Any], features: Any = ("copies",)) -> Reading:
    """The answer, valid against the protocol, in the graph's terms."""
    graph = question.graph
    home: Dict[int, int] = {}
    faults: List[str] = []
    for number, names in enumerate([*(geop["nodes"] for geop in answer["geops"]), _host_names(answer)]):
        place = number if number < len(answer["geops"]) else _HOST
        if not names and place != _HOST:
            faults.append(f"GEOP {number} is empty")
        for name in names:
            node = graph.index.get(name)
            if node is None:
                if not name.startswith(("_arg_", "_retval_")):
                    faults.append(f"{name} is no operator of the graph")
            elif node in home:
                faults.append(f"{name} is placed twice")
            else:
                home[node] = place
    for node_ in graph.nodes:
        if node_.id not in home:
            if node_.op not in _ENDS:
                faults.append(f"{node_.name} ({node_.op}) is neither in a GEOP nor on the host")
            home[node_.id] = _HOST
    return Reading(question, home, tuple(faults), _copies(graph, answer, "copies" in features), answer)


def _host_names(answer: Mapping[str, Any]) -> List[str]:
    return [entry["node"] for entry in answer["host"]]


def _copies(graph: Graph, answer: Mapping[str, Any], told: bool) -> Optional[Set[Tuple[int, int]]]:
    if not told:
        return None
    found = set()
    for number, geop in enumerate(answer["geops"]):
        for copy in geop.get("copies", []):
            name = copy if isinstance(copy, str) else copy["node"]
            if name in graph.index:
                found.add((graph.index[name], number))
    return found


# -- the laws ---------------------------------------------------------------------------------------------------------


def _placed_once(reading: Reading) -> List[str]:
    faults = list(reading.faults)
    for entry in reading.answer["host"]:
        node = reading.question.graph.index.get(entry["node"])
        if node is not None and entry.get("op") not in (None, reading.question.graph.nodes[node].op):
            faults.append(f"{entry['node']} is said to be a {entry['op']}")
    return faults


def _only_device_operators(reading: Reading) -> List[str]:
    graph, operators, mixed, _ = reading.question
    faults = []
    for node, home in reading.home.items():
        if home == _HOST:
            continue
        op = graph.nodes[node].op
        if op in _ENDS:
            faults.append(f"{reading.name(node)} stands for a feed or a fetch, which the host gives and takes")
        elif mixed and graph.nodes[node].attr("_without_npu_compile") is True and op != "Const":
            faults.append(f"{reading.name(node)} ({op}) was built inside without_npu_compile_scope")
        elif op in graph.functions or op == "Const":
            continue
        elif op in _PYTHON or (operators is not None and op not in operators):
            faults.append(f"{reading.name(node)} is a {op}, which the device does not have")
        elif mixed and operators is not None and operators[op].get("isGray"):
            faults.append(f"{reading.name(node)} is a {op}, which stays on the host in mixed computing")
    return faults


def _acyclic(reading: Reading) -> List[str]:
    graph = reading.question.graph
    count = len(reading.answer["geops"])
    vertex = [home if home >= 0 else count + node for node, home in sorted(reading.home.items())]
    after: List[Set[int]] = [set() for _ in range(count + len(vertex))]
    edges = graph.edges
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        if graph.nodes[source].op in _BACK or (slot >= 0 and reading.copied(source, reading.home[target])):
            continue
        if vertex[source] != vertex[target]:
            after[vertex[source]].add(vertex[target])
    rest = _on_cycles(after)
    for number in range(count):
        if number in rest:
            member = next(node for node, home in sorted(reading.home.items()) if home == number)
            return [f"the GEOP of {reading.name(member)} would wait for itself: a path leaves it and comes back"]
    return []


def _on_cycles(after: Sequence[Set[int]]) -> Set[int]:
    """Vertices on a cycle or behind one, none where there is no cycle. O(V + E)."""
    missing = [0] * len(after)
    for heads in after:
        for head in heads:
            missing[head] += 1
    ready = [v for v, count in enumerate(missing) if not count]
    rest = set(range(len(after)))
    while ready:
        v = ready.pop()
        rest.discard(v)
        for head in after[v]:
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    return rest


def _crossing(reading: Reading, geop: int) -> Tuple[Set[str], Set[str]]:
    """The tensors that enter and leave a GEOP, by name; a fed tensor by the name of what it replaces."""
    edges = reading.question.graph.edges
    enter, leave = set(), set()
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        if slot < 0 or reading.home[source] == reading.home[target] or reading.copied(source, reading.home[target]):
            continue
        if reading.home[target] == geop:
            enter.add(_tensor(f"{reading.name(source)}:{slot}"))
        if reading.home[source] == geop:
            leave.add(_tensor(f"{reading.name(source)}:{slot}"))
    return enter, leave


def _tensor(name: str) -> str:
    """`node:slot` of an argument, a return or a border, whichever way it is written; a feed's own name for an _Arg."""
    shown = observe.tensor_name(name)
    fed = re.fullmatch(r"_arg_(.+)_(\d+)_\d+:0", shown)
    return f"{fed[1]}:{fed[2]}" if fed else shown


def _arguments(reading: Reading) -> List[str]:
    faults = []
    for number, geop in enumerate(reading.answer["geops"]):
        enter, leave = _crossing(reading, number)
        for key, expected, word in (("args", enter, "argument"), ("rets", leave, "return")):
            given = [_tensor(name) for name in geop.get(key, [])]
            where = f"of the GEOP of {geop['nodes'][0]}" if geop["nodes"] else f"of GEOP {number}"
            faults += [f"{name} crosses the border and is no {word} {where}" for name in sorted(expected - set(given))]
            faults += [f"{name} is an {word} {where} and crosses no border" for name in sorted(set(given) - expected)]
            faults += [f"{name} is {word} {where} twice" for name in sorted({n for n in given if given.count(n) > 1})]
    return faults


def _borders(reading: Reading) -> List[str]:
    """Borders are the tensors that cross, each once a direction, of the type the graph gives them."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    expected: Dict[Tuple[str, str], str] = {}
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        here, there = reading.home[source], reading.home[target]
        if slot < 0 or here == there or reading.copied(source, there):
            continue
        direction = "h2d" if here == _HOST else "d2h" if there == _HOST else "d2d"
        name = _tensor(f"{reading.name(source)}:{slot}")
        expected[name, direction] = graph.output_dtypes(source)[slot].base.name
    given: Dict[Tuple[str, str], Optional[str]] = {}
    faults = []
    for border in reading.answer["borders"]:
        key = _tensor(border["source"]), border["direction"]
        if key in given:
            faults.append(f"{key[0]} crosses {key[1]} twice in one step")
        given[key] = border.get("dtype")
        size = _bytes(graph, key[0])
        if size is not None and border.get("bytes") not in (None, size):
            faults.append(f"{key[0]} crosses with {border['bytes']} bytes, of which its shape and dtype need {size}")
    faults += [f"{name} crosses {way} and is no border" for name, way in sorted(set(expected) - set(given))]
    faults += [f"{name} is a border {way} and does not cross" for name, way in sorted(set(given) - set(expected))]
    for key, dtype in sorted(expected.items()):
        if given.get(key) not in (None, dtype):
            faults.append(f"{key[0]} crosses as {given[key]}, the graph says {dtype}")
    return faults


def _bytes(graph: Graph, tensor: str) -> Optional[int]:
    """Size of a placeholder's tensor, in bytes; None of what the graph leaves open, and of other operators."""
    name, _, slot = tensor.rpartition(":")
    node = graph.nodes[graph.index[name]] if name in graph.index else None
    if node is None or node.op != "Placeholder":
        return None
    shape, size = node.attr("shape"), graph.output_dtypes(node.id)[int(slot)].base.size
    if not isinstance(shape, tuple) or size is None or any(one is None or one < 0 for one in shape):
        return None
    for one in shape:
        size *= one
    return size


def _inlined(reading: Reading) -> List[str]:
    """Each GEOP in place of its call: every input of every operator is found again, by the name of one tensor."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    geops = reading.answer["geops"]
    args = [{_tensor(name) for name in geop["args"]} for geop in geops]
    rets = [{_tensor(name) for name in geop["rets"]} for geop in geops]
    faults = []
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        here, there = reading.home[source], reading.home[target]
        if slot < 0 or here == there or reading.copied(source, there):
            continue
        name = _tensor(f"{reading.name(source)}:{slot}")
        if there != _HOST and name not in args[there]:
            faults.append(f"{reading.name(target)} does not find its input {name} again: its GEOP has no such argument")
        if here != _HOST and name not in rets[here]:
            faults.append(f"{reading.name(target)} does not find its input {name} again: no GEOP returns it")
    for node, number in sorted(reading.copies or ()):
        op = graph.nodes[node].op
        if op not in _COPIED or reading.home[node] == number:
            faults.append(f"the GEOP of {geops[number]['nodes'][0]} has a copy of {reading.name(node)} ({op})")
    return faults


def _counted(reading: Reading) -> List[str]:
    """minimum <= GEOPs <= contracted: no two neighbours are left that could have been one; full offload keeps one."""
    count = len(reading.answer["geops"])
    least = reading.answer.get("min_geops")
    faults = []
    if least is not None and not 0 <= least <= count:
        faults.append(f"at least {least} GEOPs are said to be needed, and there are {count}")
    if least == 0 and count:
        faults.append(f"no GEOP is said to be needed, and there are {count}")
    if not reading.question.mixed and count > 1:
        faults.append(f"full offload gives {count} GEOPs")
    apart = reading.question.mixed and not reading.question.ranged
    return faults + (_uncontracted(reading) if apart else [])


_PLAIN = frozenset(
    ["Relu", "Identity", "Neg", "AddV2", "AddN", "IdentityN", "PyFunc", "Const", "NoOp", "_Arg", "_Retval"]
)
_BRANCHING = ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch")


def _plain(graph: Graph) -> bool:
    """Whether operators wait for each other by edges alone: no state, no branches, no functions, no handles."""
    return all(node.op in _PLAIN or _is_plain(graph, node.id) for node in graph.nodes)


def _is_plain(graph: Graph, node: int) -> bool:
    op, op_def = graph.nodes[node].op, graph.op_def(node)
    if op_def.is_stateful or op in graph.functions or op.endswith(_BRANCHING):
        return False
    return all(
        not dtype.is_ref and dtype.name not in ("resource", "variant", "string")
        for dtype in (*graph.input_dtypes(node), *graph.output_dtypes(node))
    )


def _uncontracted(reading: Reading) -> List[str]:
    """Two neighbouring GEOPs of a plain graph with no other way between them: contraction makes one of them."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    if not _plain(graph):
        return []  # variables, loops and branches keep neighbours apart for reasons of their own
    count = len(reading.answer["geops"])
    vertex = [home if home >= 0 else count + node for node, home in sorted(reading.home.items())]
    after: List[Set[int]] = [set() for _ in range(count + len(vertex))]
    pairs: Dict[Tuple[int, int], int] = {}
    for edge, (source, target) in enumerate(zip(edges.src, edges.dst)):
        a, b = vertex[source], vertex[target]
        if a != b:
            after[a].add(b)
            if a < count and b < count and graph.nodes[source].op != "Const":
                pairs.setdefault((a, b), edge)
    for (a, b), edge in sorted(pairs.items()):
        if not _reaches(after, after[a] - {b}, b):
            ends = reading.name(edges.src[edge]), reading.name(edges.dst[edge])
            return [f"{ends[0]} and {ends[1]} are neighbours in two GEOPs, and nothing stands between them"]
    return []


def _reaches(after: Sequence[Set[int]], starts: Set[int], goal: int) -> bool:
    seen, pending = set(starts), list(starts)
    while pending:
        v = pending.pop()
        if v == goal:
            return True
        for w in after[v]:
            if w not in seen:
                seen.add(w)
                pending.append(w)
    return False


def _reasoned(reading: Reading) -> List[str]:
    return [f"{entry['node']} is on the host without a reason" for entry in reading.answer["host"]
            if not entry.get("reason")]  # fmt: skip


def _least(reading: Reading) -> List[str]:
    """Of a plain graph the least number of GEOPs is the most that one path must visit, the host in between."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    if not reading.question.mixed or not _plain(graph):
        return []
    reads: List[List[int]] = [[] for _ in graph.nodes]
    for source, target in zip(edges.src, edges.dst):
        reads[target].append(source)
    visits = [0] * len(graph.nodes)  # GEOPs on the longest way to a node, its own among them
    after_host = [0] * len(graph.nodes)  # those that a host operator is behind
    for node in _in_order(reads):
        on_device = reading.home[node] != _HOST
        for source in reads[node]:
            if graph.nodes[source].op == "Const" and on_device:
                continue  # a copy of it may lie in any GEOP
            after_host[node] = max(after_host[node], after_host[source])
            if reading.home[source] == _HOST or not on_device:
                after_host[node] = max(after_host[node], visits[source])
        visits[node] = after_host[node] + (1 if on_device else 0)
    expected = max(visits, default=0)
    least = reading.answer.get("min_geops")
    if least is not None and least != expected:
        return [f"at least {least} GEOPs are said to be needed; a path has to visit {expected}"]
    return []


def _in_order(reads: Sequence[Sequence[int]]) -> List[int]:
    """Nodes behind all that they read; O(V + E)."""
    missing = [len(sources) for sources in reads]
    readers: List[List[int]] = [[] for _ in reads]
    for node, sources in enumerate(reads):
        for source in sources:
            readers[source].append(node)
    order = [node for node, count in enumerate(missing) if not count]
    for node in order:
        for reader in readers[node]:
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    return order


class Law(NamedTuple):
    """One law.

    Attributes:
        name: as records and files name it.
        title: what holds, in one sentence.
        requirements: what of the documents it follows from.
        needs: features without which an answer does not show it.
        faults: what an answer says against it; None for laws about two answers, which are compared as facts.
        method: the method of the protocol that answers.
        on_cases: whether it is judged of the answers for the graphs of the cases, too.
    """

    name: str
    title: str
    requirements: Tuple[str, ...]
    needs: Tuple[str, ...]
    faults: Optional[Callable[[Any], List[str]]]
    method: str = "partition"
    on_cases: bool = False


_ALL = [
    Law("answered", "Every well-formed graph is partitioned", ("mixed.partition.geop_split",), (), None),
    Law("placed-once", "Every operator is in one GEOP or on the host", ("mixed.partition.identify_first",), (),
        _placed_once, on_cases=True),
    Law("device-operators", "No host operator is in a GEOP",
        ("mixed.purpose.host_fallback", "mixed.scope.without_npu_compile.adds"), (), _only_device_operators),
    Law("reasons", "Every operator on the host has a reason", ("mixed.partition.identify_first",), ("reasons",),
        _reasoned),
    Law("acyclic", "The graph of GEOPs is acyclic, so every GEOP is convex", ("mixed.partition.geop_acyclic",), (),
        _acyclic, on_cases=True),
    Law("arguments", "Arguments and returns are the tensors that cross, each once",
        ("mixed.transfer.only_boundaries",), ("signature",), _arguments, on_cases=True),
    Law("borders", "Borders are the tensors that cross, each once, with the graph's types",
        ("mixed.transfer.only_boundaries",), ("borders",), _borders, on_cases=True),
    Law("inlining", "GEOPs put back in place give back the graph", ("mixed.partition.order_preserved",),
        ("signature",), _inlined, on_cases=True),
    Law("counts", "The minimum is at most the GEOPs there are, and no two neighbours are left that could be one",
        ("mixed.partition.geop_split", "mixed.default.full_offload"), (), _counted, on_cases=True),
    Law("minimum", "The least number of GEOPs is what a path through the host makes necessary",
        ("mixed.partition.geop_split",), ("min_geops",), _least, on_cases=True),
    Law("renaming", "Other names give the same partition", ("mixed.partition.order_preserved",), (), None),
    Law("repeating", "The same graph gives the same partition, in any order and in any process",
        ("mixed.partition.order_preserved",), (), None),
]  # fmt: skip

#: The laws of `partition` by name, in the order of reports.
LAWS: Mapping[str, Law] = {law.name: law for law in _ALL}


def facts(reading: Reading) -> List[str]:
    """What an answer says, free of GEOP names and of numbers that names decide, for comparing two answers."""
    names = reading.question.graph.nodes
    found = []
    for number, geop in enumerate(reading.answer["geops"]):
        members = sorted(names[node].name for node, home in reading.home.items() if home == number)
        first = members[0] if members else "(empty)"
        found += [f"geop {first} node {name}" for name in members]
        for key in ("args", "rets"):
            found += [f"geop {first} {key} {_tensor(name)}" for name in geop.get(key, [])]
        found += [f"geop {first} copy {names[node].name}" for node, home in reading.copies or () if home == number]
    for entry in reading.answer["host"]:
        if not entry["node"].startswith(("_arg_", "_retval_")):
            found.append(f"host {entry['node']} because {entry.get('reason')}")
    for border in reading.answer.get("borders", []):
        found.append(f"border {border['direction']} {_tensor(border['source'])} {border.get('dtype')}")
    found.append(f"min_geops {reading.answer.get('min_geops')}")
    return sorted(found)
