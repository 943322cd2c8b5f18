"""The laws: what must hold of the answer to `partition` for any graph, and what an answer says against each.

A law is judged from the graph and the answer alone. Names of feeds and fetches are the adapter's own when an answer has
them (`_arg_x_0_0` stands for `x:0`); operators that only stand for a feed or a fetch may be left out of it.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.observing import observe
from npu_reference.graphs import Graph
from npu_reference.graphs.frames import frames

__all__ = ["LAWS", "Law", "LawQuestion", "LawReading", "facts", "read"]

_ENDS = ("_Arg", "_Retval")
_BACK = ("NextIteration", "RefNextIteration")
#: What a GEOP may hold a copy of, so that nothing crosses.
_VARIABLES = ("VariableV2", "VarHandleOp")
_COPIED = ("Const", *_VARIABLES)
#: Functions of Python, which no device has.
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_HOST = -1


class LawQuestion(NamedTuple):
    """What was asked: the graph as the pass sees it, the device's operators, and whether computing is mixed.

    ranged: whether in_out_pair is given, of whose ranges no document says that neighbours are one. kept_variables:
    whether variable_placement is Host.
    """

    graph: Graph
    operators: Optional[Mapping[str, Mapping[str, bool]]]
    mixed: bool
    ranged: bool = False
    kept_variables: bool = False


class LawReading(NamedTuple):
    """An answer in the graph's own terms.

    Attributes:
        question: what was asked.
        home: node id to the number of its GEOP, -1 for the host; no entry where the answer has none.
        faults: ways in which the answer does not place every operator once.
        copies: (node, GEOP) of every copy; None where the answer does not tell copies.
        answer: as it came.
    """

    question: LawQuestion
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


def read(question: LawQuestion, answer: Mapping[str, Any], features: Any = ("copies",)) -> LawReading:
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
    return LawReading(question, home, tuple(faults), _copies(graph, answer, "copies" in features), answer)


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


def _placed_once(reading: LawReading) -> List[str]:
    faults = list(reading.faults)
    for entry in reading.answer["host"]:
        node = reading.question.graph.index.get(entry["node"])
        if node is not None and entry.get("op") not in (None, reading.question.graph.nodes[node].op):
            faults.append(f"{entry['node']} is said to be a {entry['op']}")
    return faults


def _only_device_operators(reading: LawReading) -> List[str]:
    graph, operators, mixed = reading.question[:3]
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


def _acyclic(reading: LawReading) -> List[str]:
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
    return _around_loops(reading)


def _around_loops(reading: LawReading) -> List[str]:
    """Every turn of a loop on the host needs what the loop is given, and what is behind it needs the last turn."""
    graph, home = reading.question.graph, reading.home
    loops = _loops(graph)
    if loops is None:
        return []
    inside = {frame for frame, place in _homes(reading, loops).items() if place is not None and place != _HOST}
    vertices: Dict[object, int] = {}
    vertex = []
    for node in range(len(graph.nodes)):
        outer, frame = None, loops[node]
        while frame is not None:
            outer, frame = outer if frame in inside else frame, frame.parent
        key = ("loop", outer) if outer is not None else ("geop", home[node]) if home[node] != _HOST else ("node", node)
        vertex.append(vertices.setdefault(key, len(vertices)))
    after: List[Set[int]] = [set() for _ in vertices]
    edges = graph.edges
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        copied = slot >= 0 and reading.copied(source, home[target])
        if vertex[source] != vertex[target] and not copied:
            after[vertex[source]].add(vertex[target])
    rest = _on_cycles(after)
    for node, number in enumerate(vertex):
        if number in rest and home[node] != _HOST and loops[node] is None:
            return [f"the GEOP of {reading.name(node)} would wait for a loop that waits for it in every turn"]
    return []


@functools.lru_cache(maxsize=8)
def _loops(graph: Graph) -> Optional[Sequence[Any]]:
    """The loop of every node; None where there is none."""
    return frames(graph) if any(node.op in ("Enter", "RefEnter") for node in graph.nodes) else None


def _homes(reading: LawReading, loops: Sequence[Any]) -> Dict[object, Optional[int]]:
    """Loop to where all of it is, loops inside as well; None where it is in several places."""
    found: Dict[object, Optional[int]] = {}
    for node, frame in enumerate(loops):
        while frame is not None:
            if reading.question.graph.nodes[node].op != "Const":
                place = found.setdefault(frame, reading.home[node])
                found[frame] = place if place == reading.home[node] else None
            frame = frame.parent
    return found


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


def _crossing(reading: LawReading, geop: int) -> Tuple[Set[str], Set[str]]:
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


def _arguments(reading: LawReading) -> List[str]:
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


def _borders(reading: LawReading) -> List[str]:
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
    for border in reading.answer.get("borders", ()):
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


def _inlined(reading: LawReading) -> List[str]:
    """Each GEOP in place of its call: every input of every operator is found again, by the name of one tensor."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    geops = reading.answer["geops"]
    args = [{_tensor(name) for name in geop.get("args", ())} for geop in geops]
    rets = [{_tensor(name) for name in geop.get("rets", ())} for geop in geops]
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


def _counted(reading: LawReading) -> List[str]:
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


def _uncontracted(reading: LawReading) -> List[str]:
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


def _reasoned(reading: LawReading) -> List[str]:
    return [f"{entry['node']} is on the host without a reason" for entry in reading.answer["host"]
            if not entry.get("reason")]  # fmt: skip


def _least(reading: LawReading) -> List[str]:
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
            if graph.nodes[source].op == "Const" and on_device and not reads[source]:
                continue  # a copy of it may lie in any GEOP; one that waits for something has its place behind that
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


# -- what must be where ----------------------------------------------------------------------------------------------

_KINDS_THAT_STAY = ("resource", "variant")
_SWITCHES, _MERGES = ("Switch", "RefSwitch"), ("Merge", "RefMerge")


@functools.lru_cache(maxsize=8)
def _shared(graph: Graph, *more: str) -> Sequence[int]:
    """The edges that carry what cannot cross a border: a reference, a handle, a variant (M20); types `more`."""
    edges, found = graph.edges, []
    special = {
        node.id: dtypes
        for node in graph.nodes
        for dtypes in [graph.output_dtypes(node.id)]
        if any(dtype.is_ref or dtype.name in (*_KINDS_THAT_STAY, *more) for dtype in dtypes)
    }
    if not special:
        return []
    for edge, (source, slot, target, place) in enumerate(zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot)):
        if slot < 0 or source not in special:
            continue
        given = special[source][slot]
        if given.base.name in (*_KINDS_THAT_STAY, *more) or (given.is_ref and graph.input_dtypes(target)[place].is_ref):
            found.append(edge)
    return found


@functools.lru_cache(maxsize=8)
def _branches(graph: Graph) -> Mapping[int, int]:
    """Nodes of conditionals, from each Switch up to its Merge, with one number for each conditional.

    What a loop's own Switch gives is no branch.
    """
    edges, nodes = graph.edges, graph.nodes
    if not any(node.op in _SWITCHES for node in nodes):
        return {}
    reads: List[List[int]] = [[] for _ in nodes]
    tests = {source for source, slot in zip(edges.src, edges.src_slot) if nodes[source].op == "LoopCond"}
    own = {target for source, target in zip(edges.src, edges.dst) if source in tests}
    for edge, (source, target) in enumerate(zip(edges.src, edges.dst)):
        if nodes[source].op not in _BACK:
            reads[target].append(edge)
    parent = list(range(len(nodes)))

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    inside, dead = set(), set()
    for node in _in_order([[edges.src[edge] for edge in found] for found in reads]):
        for edge in reads[node]:
            source = edges.src[edge]
            cut = nodes[source].op in _SWITCHES and source not in own and edges.src_slot[edge] >= 0
            if cut or source in dead:
                inside |= {source, node}
                parent[find(node)] = find(source)
                if nodes[node].op not in _MERGES:
                    dead.add(node)
    return {node: find(node) for node in inside}


def _whole(reading: LawReading) -> List[str]:
    """Loops and conditionals are in one place each (M21); references, handles and variants cross no border (M20)."""
    graph, home = reading.question.graph, reading.home
    faults = []
    for edge in _shared(graph):
        source, target = graph.edges.src[edge], graph.edges.dst[edge]
        if home[source] != home[target] and not reading.copied(source, home[target]):
            faults.append(f"{reading.name(target)} takes over a border what {reading.name(source)} has")
    first: Dict[object, int] = {}
    loops = _loops(graph)
    faults += _levels(reading, loops) if loops is not None else []
    for node, frame in enumerate(loops or ()):
        if frame is not None and graph.nodes[node].op != "Const":
            one = first.setdefault(frame, node)
            if home[one] != home[node]:
                words = f"{reading.name(one)} is elsewhere than {reading.name(node)}"
                faults.append(f"the loop {frame.name} is cut: {words}")
    for node, branch in sorted(_branches(graph).items()):
        one = first.setdefault(branch, node)
        if home[one] != home[node] and "Const" not in (graph.nodes[node].op, graph.nodes[one].op):
            faults.append(f"a conditional is cut: {reading.name(one)} is elsewhere than {reading.name(node)}")
    return faults


def _levels(reading: LawReading, loops: Sequence[Any]) -> List[str]:
    """A GEOP runs at one level, in the graph itself or in the turns of one loop: the loops it holds, it holds whole."""
    whole = _homes(reading, loops)
    found: Dict[int, Tuple[int, object]] = {}
    for node, frame in enumerate(loops):
        home = reading.home[node]
        if home == _HOST or reading.question.graph.nodes[node].op == "Const":
            continue
        while frame is not None and whole[frame] == home:
            frame = frame.parent
        one, level = found.setdefault(home, (node, frame))
        if level is not frame:
            return [f"{reading.name(one)} and {reading.name(node)} are in one GEOP, and not in the same loops"]
    return []


def _offloaded(reading: LawReading) -> List[str]:
    """What no sentence keeps on the host is on the device; in full offload, where nothing is kept there at all."""
    graph, operators, mixed, _, kept_variables = reading.question
    if operators is None:
        return []
    kept = {node.id for node in graph.nodes if _stays(graph, node.id, operators, mixed)}
    if kept_variables:
        kept |= {node.id for node in graph.nodes if node.op in _VARIABLES}
    if any(graph.nodes[node].op not in _ENDS for node in kept):
        kept |= _handed_on(graph)
    kept = _spread(graph, kept)
    if not mixed and any(graph.nodes[node].op not in _ENDS for node in kept):
        return []  # the largest region is on the device, and which that is depends on how regions are made (M2)
    free = ("Const", "NoOp", "Identity")  # constants follow who reads them (M13), and tiny regions may stay (M27)
    return [
        f"{reading.name(node)} ({graph.nodes[node].op}) is on the host, and nothing keeps it there"
        for node, home in sorted(reading.home.items())
        if home == _HOST and node not in kept and graph.nodes[node].op not in free
    ]


def _stays(graph: Graph, node: int, operators: Mapping[str, Mapping[str, bool]], mixed: bool) -> bool:
    """Whether an operator, or what it calls, stays on the host for what it is (M1, M22)."""
    own = graph.nodes[node]
    if own.op == "Const":
        return False
    if own.op in _ENDS or (mixed and own.attr("_without_npu_compile") is True):
        return True
    pending, seen = [own.op], set()
    function = own.attr("f")
    if function is not None:
        pending.append(function.name)
    while pending:
        name = pending.pop()
        if name not in graph.functions:
            if name not in operators or (mixed and operators[name].get("isGray")):
                return True
        elif name not in seen:
            seen.add(name)
            pending += [inner.op for inner in graph.functions[name].proto.node_def]
    return False


def _spread(graph: Graph, kept: Set[int]) -> Set[int]:
    """With all that shares a reference, a handle, a variant or a text with them, and whole loops and conditionals."""
    found = set(kept)
    loops, branches, edges = _loops(graph) or [None] * len(graph.nodes), _branches(graph), graph.edges
    shared = [(edges.src[edge], edges.dst[edge]) for edge in _shared(graph, "string")]
    while True:
        before = len(found)
        for source, target in shared:
            if source in found or target in found:
                found |= {source, target}
        touched = set()
        for node in found:
            frame = loops[node]
            while frame is not None:
                touched.add(frame)
                frame = frame.parent
        cut = {branches[node] for node in found if node in branches}
        # Of a loop inside of one that is kept no reading says where it is.
        found |= {node for node, frame in enumerate(loops) if frame is not None and _among(frame, touched)}
        found |= {node for node, branch in branches.items() if branch in cut}
        if len(found) == before:
            return found


def _among(frame: Any, touched: Set[Any]) -> bool:
    while frame is not None:
        if frame in touched:
            return True
        frame = frame.parent
    return False


def _handed_on(graph: Graph) -> Set[int]:
    """Operators that hand a reference on: where the host is between such, which of them stay depends on how regions
    are made. What takes it from the variable itself is apart: each GEOP may have a copy of that."""
    edges = graph.edges
    ends = [(edges.src[edge], edges.dst[edge]) for edge in _shared(graph)]
    return {node for pair in ends if graph.nodes[pair[0]].op not in _COPIED for node in pair}


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
        area: its row of a report; that of its method where none is named.
    """

    name: str
    title: str
    requirements: Tuple[str, ...]
    needs: Tuple[str, ...]
    faults: Optional[Callable[[Any], List[str]]]
    method: str = "partition"
    on_cases: bool = False
    area: str = ""


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
    Law("whole", "No loop or conditional is cut, and no reference, handle or variant crosses a border",
        ("mixed.partition.geop_acyclic",), (), _whole, on_cases=True),
    Law("offloaded", "What nothing keeps on the host is on the device",
        ("mixed.purpose.host_fallback", "mixed.default.full_offload"), ("op_list",), _offloaded),
    Law("renaming", "Other names give the same partition", ("mixed.partition.order_preserved",), (), None),
    Law("repeating", "The same graph gives the same partition, in any order and in any process",
        ("mixed.partition.order_preserved",), (), None),
]  # fmt: skip

#: The laws of `partition` by name, in the order of reports.
LAWS: Mapping[str, Law] = {law.name: law for law in _ALL}


def facts(reading: LawReading) -> List[str]:
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
