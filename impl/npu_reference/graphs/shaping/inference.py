"""Decides which shapes the tensors of a graph have, as far as the graph tells without running it."""

from __future__ import annotations

import heapq
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from npu_reference.collection import no_collection
from npu_reference.errors import NpuError
from npu_reference.graphs.attrs import FuncRef
from npu_reference.graphs.graph import Graph, Node, bytes_of
from npu_reference.graphs.shaping import place_rules, plain_rules, private_rules, window_rules  # noqa: F401 (rules)
from npu_reference.graphs.shaping.dims import Shape, common, merged
from npu_reference.graphs.shaping.facts import UNKNOWN, Fact, NodeCall, common_facts
from npu_reference.graphs.shaping.handles import INNER, INNER_OF_ALL, READERS, Cells
from npu_reference.graphs.shaping.rules import RULES
from npu_reference.graphs.shaping.values import VALUES, Value, bounded
from npu_reference.graphs.wiring import Wiring

__all__ = ["Shapes", "batch_feeds", "infer_shapes"]

#: How often a node of a loop is looked at before its shapes are taken as unknown: every turn of the search makes
#: something less known, and tensors of real loops settle in the second (assumed).
_MOST_VISITS = 8

#: Nodes of function bodies looked at for one graph, per node of that graph and at least; calls of calls multiply.
_BODY_FACTOR = 4
_LEAST_BODIES = 200_000

#: Calls within calls; a body that calls itself ends here.
_MOST_CALLS = 32

#: Bounds of sizes and ranks in TensorFlow.
_LARGEST = 2**63 - 1
_MOST_RANK = 254

#: What rules raise where a graph contradicts itself; TensorFlow would refuse it, here its shapes are unknown.
_CONTRADICTION = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Shapes:
    """The shapes of all tensors of one graph; see :func:`infer_shapes`."""

    def __init__(self, graph: Graph, wiring: Wiring, facts: Sequence[Sequence[Fact]]) -> None:
        self.graph = graph
        self._facts = facts
        self._inputs = wiring.inputs

    def of(self, node: int, slot: int = 0) -> Shape:
        """The shape of output ``slot`` of node ``node``: a tuple with None for unknown sizes, None for any rank."""
        facts = self._facts[node]
        return facts[slot].shape if 0 <= slot < len(facts) else None

    def known(self, node: int, slot: int = 0) -> Optional[Tuple[int, ...]]:
        """The shape where every size is known, else None."""
        shape = self.of(node, slot)
        if shape is None:
            return None
        sizes = tuple(size for size in shape if size is not None)
        return sizes if len(sizes) == len(shape) else None

    def value(self, node: int, slot: int = 0) -> Value:
        """The whole numbers of an output that are known before the graph runs, row by row; None: nothing is."""
        facts = self._facts[node]
        return facts[slot].value if 0 <= slot < len(facts) else None

    def input(self, node: int, position: int) -> Shape:
        """The shape of what data input ``position`` of node ``node`` reads."""
        reads = self._inputs[node]
        return self.of(*reads[position]) if 0 <= position < len(reads) else None

    def sources(self, node: int) -> Sequence[Tuple[int, int]]:
        """Where the data inputs of node ``node`` come from, as (node, slot)."""
        return self._inputs[node]

    def count_inputs(self, node: int) -> int:
        """How many data inputs node ``node`` has."""
        return len(self._inputs[node])

    def known_input(self, node: int, position: int) -> Optional[Tuple[int, ...]]:
        """The shape of what an input reads, where every size is known, else None."""
        reads = self._inputs[node]
        return self.known(*reads[position]) if 0 <= position < len(reads) else None

    def bytes(self, node: int, slot: int = 0) -> Optional[int]:
        """Bytes of an output where its shape and the size of its elements are known, else None."""
        shape = self.known(node, slot)
        if shape is None:
            return None
        dtypes = self.graph.output_dtypes(node)
        size = dtypes[slot].size if slot < len(dtypes) else None
        return None if size is None else bytes_of(size, shape)


def infer_shapes(graph: Graph, *, feeds: Optional[Mapping[str, Sequence[Optional[int]]]] = None) -> Shapes:
    """The shapes of a graph's tensors, forward from what it states and what is fed.

    Args:
        feeds: shapes of outputs by ``node`` or ``node:slot``; these hold whatever the graph says, None for an unknown
            size. Names the graph does not have are passed over.

    What no rule covers is unknown, as is what contradicts itself; nothing is raised. While loops of both kinds and
    function calls are followed: a tensor of a loop has the shape it has in every turn. O(V + E), each node of a loop
    being looked at a bounded number of times.
    """
    with no_collection():
        return _Inference(graph, _by_slot(graph, feeds or {}), _Calls(graph), None).run()


def _by_slot(graph: Graph, feeds: Mapping[str, Sequence[Optional[int]]]) -> Dict[int, Dict[int, Shape]]:
    fed: Dict[int, Dict[int, Shape]] = {}
    for text, shape in feeds.items():
        name, _, slot = text.rpartition(":") if text not in graph.index else (text, "", "0")
        if name in graph.index and slot.isdigit():
            fed.setdefault(graph.index[name], {})[int(slot)] = tuple(shape)
    return fed


#: Operators through which examples come in; ``batch_feeds`` gives their outputs a first size.
_SOURCES = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "IteratorGetNext", "IteratorGetNextSync")


def batch_feeds(graph: Graph, batch: int) -> Dict[str, Tuple[Optional[int], ...]]:
    """Feeds for :func:`infer_shapes` that put ``batch`` for the unknown first size of whatever brings examples in:
    placeholders and iterators. Other unknown sizes stay so."""
    feeds: Dict[str, Tuple[Optional[int], ...]] = {}
    for node in graph.nodes:
        if node.op in _SOURCES:
            shapes = node.attr("output_shapes") if node.op.startswith("Iterator") else (node.attr("shape"),)
            for slot, shape in enumerate(shapes or ()):
                if isinstance(shape, tuple) and shape and shape[0] is None:
                    feeds[f"{node.name}:{slot}"] = (batch, *shape[1:])
    return feeds


class _Calls:
    """Calls of functions for one graph: what they gave, and how much of the bound on them is left."""

    def __init__(self, graph: Graph) -> None:
        self.left = max(_LEAST_BODIES, _BODY_FACTOR * len(graph.nodes))
        self.depth = 0
        self._known: Dict[Any, Sequence[Fact]] = {}
        self._graph = graph

    def call(self, function: FuncRef, args: Sequence[Fact]) -> Sequence[Fact]:
        """Facts of what a function returns; none where it cannot be told."""
        found = self._graph.functions.get(function.name)
        if found is None or self.depth >= _MOST_CALLS:
            return ()
        key = (function.name, tuple(args)) if not len(function.attrs) else None
        if key is not None and key in self._known:
            return self._known[key]
        try:
            given = {name: function.attrs.proto(name) for name in function.attrs}
            body = found.instantiate(given) if given else found.body
        except NpuError:
            return ()
        self.left -= len(body.nodes)
        if self.left < 0:
            return ()
        self.depth += 1
        try:
            inference = _Inference(body, {}, self, args)
            inference.run()
            result = inference.returned()
        finally:
            self.depth -= 1
        if key is not None:
            self._known[key] = result
        return result


class _Inference:
    """The search over one graph or body: in order once, then again what a loop's next turn makes less known."""

    def __init__(
        self, graph: Graph, fed: Mapping[int, Mapping[int, Shape]], calls: _Calls, args: Optional[Sequence[Fact]]
    ) -> None:
        self.graph = graph
        self.wiring = Wiring(graph)
        self.calls = calls
        self._fed = fed
        self._args = args
        self._facts: List[Optional[Sequence[Fact]]] = [None] * len(graph.nodes)
        self._visits: Dict[int, int] = {}
        self._cells = Cells(self._look_again)
        self._position: List[int] = []
        self._again: List[int] = []
        self._waiting: Set[int] = set()

    def run(self) -> Shapes:
        order = self.wiring.order
        position = self._position = [0] * len(self.graph.nodes)
        for place, node in enumerate(order):
            position[node] = place
        for node in order:
            self._visit(node)
        while self._again:
            node = order[heapq.heappop(self._again)]
            self._waiting.discard(node)
            self._visit_again(node)
        return Shapes(self.graph, self.wiring, [facts or () for facts in self._facts])

    def returned(self) -> Sequence[Fact]:
        """Facts of what a body's ``_Retval`` nodes read, by their index."""
        found: Dict[int, Fact] = {}
        for node in self.graph.nodes:
            if node.op == "_Retval":
                found[node.attr("index", 0)] = self._read(node.id)[0]
        return [found.get(k, UNKNOWN) for k in range(len(found))]

    def _look_again(self, node: int) -> None:
        if node not in self._waiting:
            self._waiting.add(node)
            heapq.heappush(self._again, self._position[node])

    def _visit(self, node: int) -> None:
        facts = self._facts[node] = self._find(node)
        if facts and self.graph.nodes[node].op in ("NextIteration", "RefNextIteration"):
            for consumer in self.wiring.consumers[node]:
                self._look_again(consumer)

    def _visit_again(self, node: int) -> None:
        visits = self._visits[node] = self._visits.get(node, 0) + 1
        if visits > _MOST_VISITS:
            return
        before = self._facts[node]
        facts = self._find(node) if visits < _MOST_VISITS else [UNKNOWN] * len(before or ())
        if facts != before:
            self._facts[node] = facts
            for consumer in self.wiring.consumers[node]:
                self._look_again(consumer)

    def _read(self, node: int) -> List[Fact]:
        facts = self._facts
        result = []
        for source, slot in self.wiring.inputs[node]:
            known = facts[source]
            result.append(known[slot] if known is not None and slot < len(known) else UNKNOWN)
        return result

    def _find(self, number: int) -> Sequence[Fact]:
        """Facts of a node's outputs: by its rule, by what the graph states, and by what is fed."""
        node = self.graph.nodes[number]
        try:
            found = self._by_rule(number, node)
        except _CONTRADICTION:
            found = []
        if "_output_shapes" in node.proto.attr:
            found = _stated(node.attr("_output_shapes"), found)
        if number in self._fed:
            found = _overlaid(self._fed[number], found)
        return found

    def _by_rule(self, number: int, node: Node) -> List[Fact]:
        op = node.op
        special = _SPECIAL.get(op)
        if special is not None:
            return special(self, number, node)
        rule = RULES.get(op)
        if rule is None:
            return self._called(node) if op in self.graph.functions else []
        call = NodeCall(node, self._read(number))
        shapes = [_bounded(shape) for shape in rule(call)]
        value_rule = VALUES.get(op)
        values: Sequence[Value] = ()
        if value_rule is not None:
            try:
                values = [bounded(value) for value in value_rule(call, shapes)]
            except _CONTRADICTION:
                values = ()
        inner = INNER.get(op)
        behind = inner(self._cells, number, call) if inner is not None else None
        if not values and behind is None:
            return [Fact(shape) for shape in shapes]
        found = []
        for k, shape in enumerate(shapes):
            value = values[k] if k < len(values) else None
            if value is not None and shape == (None,):
                shape = (len(value),)
            found.append(Fact(shape, value, behind if k == 0 or op in INNER_OF_ALL else None))
        return found

    # Control flow

    def merge(self, number: int, node: Node) -> List[Fact]:
        known = [
            facts[slot] if slot < len(facts) else UNKNOWN
            for facts, slot in ((self._facts[source], slot) for source, slot in self.wiring.inputs[number])
            if facts is not None  # the back edge of a loop that has not been followed yet
        ]
        if not known:
            return [UNKNOWN, Fact(())]
        result = known[0]
        for fact in known[1:]:
            result = common_facts(result, fact)
        return [result, Fact(())]

    def behind(self, number: int, node: Node) -> List[Fact]:
        return READERS[node.op](self._cells, number, NodeCall(node, self._read(number)))

    def handed_on(self, number: int, node: Node) -> List[Fact]:
        return self._read(number)

    def arg(self, number: int, node: Node) -> List[Fact]:
        index = node.attr("index", 0)
        if self._args is not None and 0 <= index < len(self._args):
            return [self._args[index]]
        return [UNKNOWN]

    def _called(self, node: Node) -> List[Fact]:
        return list(self.calls.call(FuncRef(node.op, node.attrs), self._read(node.id)))

    def partitioned_call(self, number: int, node: Node) -> List[Fact]:
        return list(self.calls.call(node.attr("f"), self._read(number)))

    def branches(self, number: int, node: Node) -> List[Fact]:
        functions = node.attr("branches") if node.op.endswith("Case") else [node.attr(f"{k}_branch") for k in _BRANCHES]
        args = self._read(number)[1:]
        results = [self.calls.call(function, args) for function in functions]
        count = min(len(result) for result in results)
        found = list(results[0][:count])
        for result in results[1:]:
            found = [common_facts(a, b) for a, b in zip(found, result)]
        return found

    def loop(self, number: int, node: Node) -> List[Fact]:
        """The facts that hold before and after every turn."""
        facts = self._read(number)
        body = node.attr("body")
        for _ in range(_MOST_VISITS):
            after = self.calls.call(body, facts)
            if len(after) != len(facts):
                return []
            again = [common_facts(a, b) for a, b in zip(facts, after)]
            if again == facts:
                return facts
            facts = again
        return []


def _bounded(shape: Shape) -> Shape:
    """The shape, if TensorFlow can have it; ValueError for sizes below zero."""
    if not shape:
        return shape
    if len(shape) > _MOST_RANK:
        return None
    for size in shape:
        if size is not None and not 0 <= size <= _LARGEST:
            raise ValueError("no size of a tensor")
    return shape


def _stated(stated: Any, found: Sequence[Fact]) -> List[Fact]:
    """Facts with the shapes that the graph states; where these contradict what follows, only what both say is kept."""
    result = list(found)
    for slot, shape in enumerate(stated if isinstance(stated, tuple) else ()):
        if slot >= len(result):
            result.append(Fact(shape if isinstance(shape, tuple) else None))
        elif isinstance(shape, tuple):
            try:
                both = merged(shape, result[slot].shape)
            except ValueError:
                both = common(shape, result[slot].shape)
            result[slot] = result[slot]._replace(shape=both)
    return result


def _overlaid(fed: Mapping[int, Shape], found: Sequence[Fact]) -> List[Fact]:
    result = list(found)
    for slot, shape in fed.items():
        result.extend([UNKNOWN] * (min(slot, 1000) + 1 - len(result)))
        if slot < len(result):
            result[slot] = Fact(shape)
    return result


_BRANCHES = ("then", "else")

#: Operators that more than the shapes and numbers of their inputs decide.
_SPECIAL = {
    **dict.fromkeys(("Merge", "RefMerge"), _Inference.merge),
    "IdentityN": _Inference.handed_on,
    "_Arg": _Inference.arg,
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), _Inference.partitioned_call),
    **dict.fromkeys(("If", "StatelessIf", "Case", "StatelessCase"), _Inference.branches),
    **dict.fromkeys(("While", "StatelessWhile"), _Inference.loop),
    **dict.fromkeys(READERS, _Inference.behind),
}
