"""Decides which shapes the tensors of a graph have, as far as the graph tells without running it."""

from __future__ import annotations

import heapq
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..collection import no_collection
from ..errors import NpuError
from . import private_shapes  # noqa: F401  (adds its rules)
from .attrs import FuncRef
from .graph import Graph, Node, bytes_of
from .shape_rules import RULES, Shape, common, merged
from .shape_values import VALUES, Value, bounded
from .wiring import Wiring

__all__ = ["Shapes", "batch_feeds", "infer_shapes"]

#: How often a node of a loop is looked at before its shapes are taken as unknown: every turn of the search makes
#: something less known, and tensors of real loops settle in the second (assumed).
_MOST_VISITS = 8
#: Nodes of function bodies looked at for one graph, per node of that graph and at least; calls of calls multiply.
_BODY_FACTOR = 4
_LEAST_BODIES = 200_000
#: Calls within calls; a body that calls itself ends here.
_MOST_CALLS = 32
#: Writers of one stack whose elements are compared anew when one changes; loops of real graphs have one (assumed).
_MOST_WRITERS = 64
#: Bounds of sizes and ranks in TensorFlow.
_LARGEST = 2**63 - 1
_MOST_RANK = 254

#: What rules raise where a graph contradicts itself; TensorFlow would refuse it, here its shapes are unknown.
_CONTRADICTION = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class _Fact(NamedTuple):
    """What is known of one tensor: its shape, its numbers, and the shape of what stands behind a handle.

    ``inner`` is a variable's shape, a _Cell of a stack or tensor array, or a _List; None where nothing is known.
    """

    shape: Shape
    value: Value = None
    inner: Any = None


_UNKNOWN = _Fact(None)


class _Cell:
    """The elements of one stack or tensor array: what all that is put in has in common, and who reads them.

    ``size`` is the number of elements, if it stays.
    """

    __slots__ = ("_stated", "_written", "element", "readers", "size")

    def __init__(self, stated: Shape, size: Value) -> None:
        self._stated = stated
        self._written: Dict[int, _Fact] = {}
        self.element = _Fact(stated)
        self.size = size
        self.readers: Set[int] = set()

    def put(self, writer: int, fact: _Fact) -> bool:
        """Whether what a writer puts in changes what is known of all elements."""
        if self._written.get(writer) == fact:
            return False
        before = self.element
        again = writer in self._written and len(self._written) <= _MOST_WRITERS
        facts = [before, fact]
        self._written[writer] = fact
        if again or len(self._written) == 1:
            facts = list(self._written.values())
        known = facts[0]
        for other in facts[1:]:
            known = _common_facts(known, other)
        self.element = known._replace(shape=merged(self._stated, known.shape))
        return self.element != before


class _Gradient(NamedTuple):
    """The gradient of a tensor array: its elements are as large as those of the array, whatever is put in."""

    of: _Cell


class _List(NamedTuple):
    """A tensor list: the shape stated for its elements, and that of those put in; ``empty`` while there are none.

    ``length`` is how many there are, if known; ``value`` the numbers that all of them are, where they were pushed.
    """

    stated: Shape
    element: Shape
    empty: bool
    length: Optional[int]
    value: Value = None

    def shape(self) -> Shape:
        return self.stated if self.empty else merged(self.stated, self.element)

    def added(self, shape: Shape, length: Optional[int], value: Value) -> _List:
        if self.empty:
            return _List(self.stated, shape, False, length, value)
        return _List(self.stated, common(self.element, shape), False, length, common(self.value, value))

    def common(self, other: _List) -> _List:
        stated = common(self.stated, other.stated)
        length = self.length if self.length == other.length else None
        if self.empty or other.empty:
            full = other if self.empty else self
            return _List(stated, full.element, full.empty, length, full.value)
        return _List(stated, common(self.element, other.element), False, length, common(self.value, other.value))


def _common_facts(a: _Fact, b: _Fact) -> _Fact:
    """What holds of a tensor that is either the one or the other."""
    if a == b:
        return a
    value = common(a.value, b.value)
    inner = None
    if isinstance(a.inner, _List) and isinstance(b.inner, _List):
        inner = a.inner.common(b.inner)
    elif not isinstance(a.inner, _List) and type(a.inner) is type(b.inner) and a.inner == b.inner:
        inner = a.inner
    return _Fact(common(a.shape, b.shape), value, inner)


class Shapes:
    """The shapes of all tensors of one graph; see :func:`infer_shapes`."""

    def __init__(self, graph: Graph, wiring: Wiring, facts: Sequence[Sequence[_Fact]]) -> None:
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


class _Call:
    """One node with what is known of its inputs, as rules see it."""

    __slots__ = ("count", "facts", "node", "op")

    def __init__(self, node: Node, facts: Sequence[_Fact]) -> None:
        self.node = node
        self.op = node.op
        self.facts = facts
        self.count = len(facts)

    def shape(self, k: int) -> Shape:
        return self.facts[k].shape

    def value(self, k: int) -> Value:
        return self.facts[k].value

    def inner(self, k: int) -> Any:
        return self.facts[k].inner

    def attr(self, name: str, default: Any = None) -> Any:
        return self.node.attr(name, default)

    def text(self, name: str, default: str = "") -> str:
        return self.node.text(name, default)


class _Calls:
    """Calls of functions for one graph: what they gave, and how much of the bound on them is left."""

    def __init__(self, graph: Graph) -> None:
        self.left = max(_LEAST_BODIES, _BODY_FACTOR * len(graph.nodes))
        self.depth = 0
        self._known: Dict[Any, Sequence[_Fact]] = {}
        self._graph = graph

    def call(self, function: FuncRef, args: Sequence[_Fact]) -> Sequence[_Fact]:
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
        self, graph: Graph, fed: Mapping[int, Mapping[int, Shape]], calls: _Calls, args: Optional[Sequence[_Fact]]
    ) -> None:
        self.graph = graph
        self.wiring = Wiring(graph)
        self.calls = calls
        self._fed = fed
        self._args = args
        self._facts: List[Optional[Sequence[_Fact]]] = [None] * len(graph.nodes)
        self._visits: Dict[int, int] = {}
        self._cells: Dict[int, _Cell] = {}
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

    def returned(self) -> Sequence[_Fact]:
        """Facts of what a body's ``_Retval`` nodes read, by their index."""
        found: Dict[int, _Fact] = {}
        for node in self.graph.nodes:
            if node.op == "_Retval":
                found[node.attr("index", 0)] = self._read(node.id)[0]
        return [found.get(k, _UNKNOWN) for k in range(len(found))]

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
        facts = self._find(node) if visits < _MOST_VISITS else [_UNKNOWN] * len(before or ())
        if facts != before:
            self._facts[node] = facts
            for consumer in self.wiring.consumers[node]:
                self._look_again(consumer)

    def _read(self, node: int) -> List[_Fact]:
        facts = self._facts
        result = []
        for source, slot in self.wiring.inputs[node]:
            known = facts[source]
            result.append(known[slot] if known is not None and slot < len(known) else _UNKNOWN)
        return result

    def _find(self, number: int) -> Sequence[_Fact]:
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

    def _by_rule(self, number: int, node: Node) -> List[_Fact]:
        op = node.op
        special = _SPECIAL.get(op)
        if special is not None:
            return special(self, number, node)
        rule = RULES.get(op)
        if rule is None:
            return self._called(node) if op in self.graph.functions else []
        call = _Call(node, self._read(number))
        shapes = [_bounded(shape) for shape in rule(call)]
        value_rule = VALUES.get(op)
        values: Sequence[Value] = ()
        if value_rule is not None:
            try:
                values = [bounded(value) for value in value_rule(call, shapes)]
            except _CONTRADICTION:
                values = ()
        inner = _INNER.get(op)
        behind = inner(self, number, call) if inner is not None else None
        if not values and behind is None:
            return [_Fact(shape) for shape in shapes]
        found = []
        for k, shape in enumerate(shapes):
            value = values[k] if k < len(values) else None
            if value is not None and shape == (None,):
                shape = (len(value),)
            found.append(_Fact(shape, value, behind if k == 0 or op in _INNER_OF_ALL else None))
        return found

    # Control flow

    def merge(self, number: int, node: Node) -> List[_Fact]:
        known = [
            facts[slot] if slot < len(facts) else _UNKNOWN
            for facts, slot in ((self._facts[source], slot) for source, slot in self.wiring.inputs[number])
            if facts is not None  # the back edge of a loop that has not been followed yet
        ]
        if not known:
            return [_UNKNOWN, _Fact(())]
        result = known[0]
        for fact in known[1:]:
            result = _common_facts(result, fact)
        return [result, _Fact(())]

    def handed_on(self, number: int, node: Node) -> List[_Fact]:
        return self._read(number)

    def arg(self, number: int, node: Node) -> List[_Fact]:
        index = node.attr("index", 0)
        if self._args is not None and 0 <= index < len(self._args):
            return [self._args[index]]
        return [_UNKNOWN]

    def _called(self, node: Node) -> List[_Fact]:
        return list(self.calls.call(FuncRef(node.op, node.attrs), self._read(node.id)))

    def partitioned_call(self, number: int, node: Node) -> List[_Fact]:
        return list(self.calls.call(node.attr("f"), self._read(number)))

    def branches(self, number: int, node: Node) -> List[_Fact]:
        functions = node.attr("branches") if node.op.endswith("Case") else [node.attr(f"{k}_branch") for k in _BRANCHES]
        args = self._read(number)[1:]
        results = [self.calls.call(function, args) for function in functions]
        count = min(len(result) for result in results)
        found = list(results[0][:count])
        for result in results[1:]:
            found = [_common_facts(a, b) for a, b in zip(found, result)]
        return found

    def loop(self, number: int, node: Node) -> List[_Fact]:
        """The facts that hold before and after every turn."""
        facts = self._read(number)
        body = node.attr("body")
        for _ in range(_MOST_VISITS):
            after = self.calls.call(body, facts)
            if len(after) != len(facts):
                return []
            again = [_common_facts(a, b) for a, b in zip(facts, after)]
            if again == facts:
                return facts
            facts = again
        return []

    # Stacks, arrays and lists of tensors

    def cell(self, number: int, stated: Shape, size: Value) -> _Cell:
        cell = self._cells.get(number)
        if cell is None or cell.size != size:
            cell = self._cells[number] = _Cell(stated, size)
        return cell

    def write(self, number: int, handle: Any, fact: _Fact) -> None:
        if not isinstance(handle, _Cell):
            return
        if handle.put(number, fact):
            for reader in handle.readers:
                self._look_again(reader)

    def read(self, number: int, handle: Any) -> _Fact:
        if isinstance(handle, _Gradient):
            return _Fact(self.read(number, handle.of).shape)
        if not isinstance(handle, _Cell):
            return _UNKNOWN
        handle.readers.add(number)
        return handle.element


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


def _stated(stated: Any, found: Sequence[_Fact]) -> List[_Fact]:
    """Facts with the shapes that the graph states; where these contradict what follows, only what both say is kept."""
    result = list(found)
    for slot, shape in enumerate(stated if isinstance(stated, tuple) else ()):
        if slot >= len(result):
            result.append(_Fact(shape if isinstance(shape, tuple) else None))
        elif isinstance(shape, tuple):
            try:
                both = merged(shape, result[slot].shape)
            except ValueError:
                both = common(shape, result[slot].shape)
            result[slot] = result[slot]._replace(shape=both)
    return result


def _overlaid(fed: Mapping[int, Shape], found: Sequence[_Fact]) -> List[_Fact]:
    result = list(found)
    for slot, shape in fed.items():
        result.extend([_UNKNOWN] * (min(slot, 1000) + 1 - len(result)))
        if slot < len(result):
            result[slot] = _Fact(shape)
    return result


# What stands behind handles


def _variable(run: _Inference, number: int, call: _Call) -> Any:
    shape = call.attr("shape")
    return shape if isinstance(shape, tuple) else None


def _read_variable(run: _Inference, number: int, node: Node) -> List[_Fact]:
    inner = run._read(number)[0].inner
    return [_Fact(inner if isinstance(inner, tuple) and not isinstance(inner, _List) else None)]


def _scalars(run: _Inference, number: int, call: _Call) -> Any:
    return ()


def _same_inner(run: _Inference, number: int, call: _Call) -> Any:
    return call.inner(0)


def _stack(run: _Inference, number: int, call: _Call) -> Any:
    return run.cell(number, None, None)


def _array(run: _Inference, number: int, call: _Call) -> Any:
    shape = call.attr("element_shape")
    size = None if call.attr("dynamic_size", False) else call.value(0)
    return run.cell(number, shape if isinstance(shape, tuple) else None, size)


def _gradient(run: _Inference, number: int, call: _Call) -> Any:
    cell = call.inner(0)
    return _Gradient(cell) if isinstance(cell, _Cell) else cell


def _push(run: _Inference, number: int, call: _Call) -> Any:
    run.write(number, call.inner(0), call.facts[1]._replace(inner=None))


def _write(run: _Inference, number: int, call: _Call) -> Any:
    run.write(number, call.inner(0), _Fact(call.shape(2)))


def _scatter(run: _Inference, number: int, call: _Call) -> Any:
    shape = call.shape(2)
    run.write(number, call.inner(0), _Fact(shape[1:] if shape else None))


def _pop(run: _Inference, number: int, node: Node) -> List[_Fact]:
    return [run.read(number, run._read(number)[0].inner)]


def _array_read(run: _Inference, number: int, node: Node) -> List[_Fact]:
    return [_Fact(run.read(number, run._read(number)[0].inner).shape)]


def _array_gather(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle, indices = run._read(number)[:2]
    stated = node.attr("element_shape")
    element = merged(stated if isinstance(stated, tuple) else None, run.read(number, handle.inner).shape)
    count = indices.shape[0] if indices.shape else None
    return [_Fact(None if element is None else (count, *element))]


def _array_size(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle = run._read(number)[0].inner
    handle = handle.of if isinstance(handle, _Gradient) else handle
    return [_Fact((), handle.size if isinstance(handle, _Cell) else None)]


def _shape_of(fact: _Fact) -> Shape:
    """The shape that a list of sizes tells; a lone -1 says nothing, not even the rank."""
    if fact.value is None or fact.shape == ():
        return None
    return tuple(None if size is None or size < 0 else size for size in fact.value)


def _new_list(run: _Inference, number: int, call: _Call) -> Any:
    count = 0 if call.op == "EmptyTensorList" else (call.value(1) or (None,))[0]
    return _List(_shape_of(call.facts[0]), None, True, count)


def _list_from_tensor(run: _Inference, number: int, call: _Call) -> Any:
    shape = call.shape(0)
    return _List(_shape_of(call.facts[1]), shape[1:] if shape else None, False, shape[0] if shape else None)


def _list_added(run: _Inference, number: int, call: _Call) -> Any:
    """A list with its last input put in."""
    handle = call.inner(0)
    if not isinstance(handle, _List):
        return None
    pushed = call.op == "TensorListPushBack"
    stays = not pushed and not call.attr("resize_if_index_out_of_bounds", False)
    last = call.count - 1
    return handle.added(call.shape(last), handle.length if stays else None, call.value(last) if pushed else None)


def _list_popped(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle, shape = run._read(number)[:2]
    rest = handle.inner._replace(length=None) if isinstance(handle.inner, _List) else None
    value = rest.value if rest is not None else None
    return [_Fact((), None, rest), _Fact(_list_element(handle.inner, shape), value)]


def _list_item(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle, _, shape = run._read(number)[:3]
    return [_Fact(_list_element(handle.inner, shape))]


def _list_stacked(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle, shape = run._read(number)[:2]
    element = _list_element(handle.inner, shape)
    stated = node.attr("num_elements", -1)
    count = stated if stated >= 0 else handle.inner.length if isinstance(handle.inner, _List) else None
    return [_Fact(None if element is None else (count, *element))]


def _list_element(handle: Any, stated: _Fact) -> Shape:
    return merged(_shape_of(stated), handle.shape() if isinstance(handle, _List) else None)


def _list_element_shape(run: _Inference, number: int, node: Node) -> List[_Fact]:
    handle = run._read(number)[0].inner
    shape = handle.shape() if isinstance(handle, _List) else None
    return [_UNKNOWN if shape is None else _Fact((len(shape),), bounded(shape))]


#: Operators whose output leads to something: what stands behind it.
_INNER = {
    "VarHandleOp": _variable,
    "HashTable": _scalars,
    "HashTableV2": _scalars,
    "Identity": _same_inner,
    "Enter": _same_inner,
    "RefEnter": _same_inner,
    "Exit": _same_inner,
    "RefExit": _same_inner,
    "NextIteration": _same_inner,
    "Switch": _same_inner,
    "RefSwitch": _same_inner,
    "StopGradient": _same_inner,
    "StackV2": _stack,
    "StackPushV2": _push,
    "TensorArrayV3": _array,
    "TensorArrayGradV3": _gradient,
    "TensorArrayWriteV3": _write,
    "TensorArrayScatterV3": _scatter,
    "EmptyTensorList": _new_list,
    "TensorListReserve": _new_list,
    "TensorListFromTensor": _list_from_tensor,
    "TensorListPushBack": _list_added,
    "TensorListSetItem": _list_added,
}
_INNER_OF_ALL = frozenset({"Switch", "RefSwitch"})

_BRANCHES = ("then", "else")

#: Operators that more than the shapes and numbers of their inputs decide.
_SPECIAL = {
    "Merge": _Inference.merge,
    "RefMerge": _Inference.merge,
    "IdentityN": _Inference.handed_on,
    "_Arg": _Inference.arg,
    "ReadVariableOp": _read_variable,
    "PartitionedCall": _Inference.partitioned_call,
    "StatefulPartitionedCall": _Inference.partitioned_call,
    "If": _Inference.branches,
    "StatelessIf": _Inference.branches,
    "Case": _Inference.branches,
    "StatelessCase": _Inference.branches,
    "While": _Inference.loop,
    "StatelessWhile": _Inference.loop,
    "StackPopV2": _pop,
    "TensorArrayReadV3": _array_read,
    "TensorArrayGatherV3": _array_gather,
    "TensorArraySizeV3": _array_size,
    "TensorListPopBack": _list_popped,
    "TensorListGetItem": _list_item,
    "TensorListStack": _list_stacked,
    "TensorListElementShape": _list_element_shape,
}
