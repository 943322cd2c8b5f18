"""Decides what a graph is: nodes, edges, functions and data types of a GraphDef that has been found well formed."""

from __future__ import annotations

import re
from itertools import chain
from sys import intern
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..collection import no_collection
from ..errors import NpuError
from .attrs import UNKNOWN_RANK, Attrs, decode_attr, decode_shape
from .dtypes import DType
from .edges import CONTROL, Edges, creation_order
from .functions import Library
from .limits import MAX_NAME_LENGTH, MAX_NODES, MAX_TENSOR_BYTES
from .names import output_number, shorten
from .ops import OPS, OpDef
from .proto import message_class
from .signature import AttrProblem, arg_dtypes, attr_proto, check_required, count_args

__all__ = ["Graph", "Node", "assemble"]

#: TensorFlow's rule for node names, with the leading underscore it keeps for itself.
_NODE_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\\/>-]*\Z").match

_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")
_MERGES = ("Merge", "RefMerge")


class Node:
    """One operator of a graph.

    Attributes:
        id: its position in the GraphDef.
        name, device: as in the GraphDef.
        op: its operator: as in the GraphDef, but where a function stands for one of the adapter's own
            (``private_ops.OPERATOR_MARK``) that one. ``proto.op`` is what TensorFlow calls.
        inputs: as in the GraphDef: ``name``, ``name:slot`` and ``^name``.
        attrs: mapping of decoded attributes (see ``attrs.decode_attr``).
    """

    __slots__ = ("id", "name", "op", "proto")

    def __init__(self, id: int, proto: Any) -> None:
        self.id = id
        self.name: str = proto.name
        # A million nodes have a few hundred operators.
        self.op: str = intern(proto.op)
        self.proto = proto

    def at(self, id: int) -> Node:
        """The same operator at another position."""
        node = Node(id, self.proto)
        node.op = self.op
        return node

    @property
    def inputs(self) -> Tuple[str, ...]:
        return tuple(self.proto.input)

    @property
    def device(self) -> str:
        return self.proto.device

    @property
    def attrs(self) -> Attrs:
        return Attrs(self.proto.attr)

    def has_attr(self, name: str) -> bool:
        """Whether the node itself has the attribute; an operator's default does not count."""
        return name in self.proto.attr

    def attr(self, name: str, default: Any = None) -> Any:
        """The decoded attribute of the node itself, or ``default``; string attributes are bytes."""
        attrs = self.proto.attr
        return decode_attr(attrs[name]) if name in attrs else default

    def text(self, name: str, default: str = "") -> str:
        """A string attribute as text; ``default`` where it is missing or of another kind. Undecodable bytes survive."""
        value = self.attr(name)
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else default

    def __repr__(self) -> str:
        return f"Node({self.id}, {self.name!r}, {self.op})"


def bytes_of(size: int, shape: Sequence[int]) -> Optional[int]:
    """Bytes of a tensor; None beyond the bound, found without ever multiplying far beyond it."""
    if 0 in shape:
        return 0
    total = size
    for dim in shape:
        total *= dim
        if total > MAX_TENSOR_BYTES:
            return None
    return total


class Graph:
    """A well-formed graph; immutable.

    Attributes:
        nodes: in GraphDef order; ``nodes[i].id == i``.
        index: node id by name.
        edges: the columns ``src``, ``src_slot``, ``dst``, ``dst_slot`` in the adapter's edge-id order.
        creation: node ids in the order in which TensorFlow's importer makes the nodes: GraphDef order where that is
            topological.
        functions: the function library by name.
        subject: what the graph is called in errors, normally its file.
    """

    def __init__(
        self,
        graph_def: Any,
        nodes: List[Node],
        index: Dict[str, int],
        edges: Edges,
        creation: Sequence[int],
        library: Library[Graph],
        op_defs: List[OpDef],
        subject: str,
    ) -> None:
        self.nodes: Sequence[Node] = nodes
        self.index: Mapping[str, int] = index
        self.edges = edges
        self.creation = creation
        self.subject = subject
        self._def = graph_def
        self._renumbered = False  # then the nodes of `_def` are in another order
        self._library = library
        self._op_defs = op_defs
        self._in: Optional[List[List[int]]] = None
        self._out: Optional[List[List[int]]] = None
        self._dtypes: Dict[Tuple[OpDef, bool, int], Tuple[DType, ...]] = {}
        self._fixed: Dict[Tuple[OpDef, bool], Optional[Tuple[DType, ...]]] = {}
        self._typed: Tuple[Dict[int, Tuple[DType, ...]], ...] = ({}, {})  # inputs and outputs by node, once asked for

    @property
    def functions(self) -> Library[Graph]:
        return self._library

    @property
    def producer(self) -> int:
        """``versions.producer`` of the GraphDef; 0 where it does not say."""
        return self._def.versions.producer

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Graph({self.subject}: {len(self.nodes)} nodes, {len(self.edges)} edges)"

    def node(self, name: str) -> Node:
        """The node called ``name``; KeyError."""
        return self.nodes[self.index[name]]

    def in_edges(self, i: int) -> Sequence[int]:
        """Ids of the edges into node ``i``, ascending. The first call costs O(E)."""
        if self._in is None:
            self._in = _adjacency(self.edges.dst, len(self.nodes))
        return self._in[i]

    def out_edges(self, i: int) -> Sequence[int]:
        """Ids of the edges out of node ``i``, ascending. The first call costs O(E)."""
        if self._out is None:
            self._out = _adjacency(self.edges.src, len(self.nodes))
        return self._out[i]

    def op_def(self, i: int) -> OpDef:
        """The definition of node ``i``'s operator, or of the function it calls by name."""
        return self._op_defs[i]

    def input_dtypes(self, i: int) -> Tuple[DType, ...]:
        """Types of the data inputs of node ``i`` as its operator declares them; a reference only where it takes one."""
        found = self._typed[0].get(i)
        if found is None:
            found = self._typed[0][i] = self._arg_dtypes(i, False)
        return found

    def output_dtypes(self, i: int) -> Tuple[DType, ...]:
        """Types of the outputs of node ``i``, references included. NpuError GRAPH_ATTR where a body leaves one open."""
        found = self._typed[1].get(i)
        if found is None:
            found = self._typed[1][i] = self._arg_dtypes(i, True)
        return found

    def _arg_dtypes(self, i: int, outputs: bool) -> Tuple[DType, ...]:
        op_def = self._op_defs[i]
        fixed_key = (op_def, outputs)
        if fixed_key not in self._fixed:
            self._fixed[fixed_key] = _fixed_dtypes(op_def.outputs if outputs else op_def.inputs)
        fixed = self._fixed[fixed_key]
        if fixed is not None:
            return fixed
        node = self.nodes[i]
        attrs = node.proto.attr
        try:
            # Nodes of one operator and type, which most are, share an entry; others have one each.
            only = op_def.only_type[outputs]
            key = (op_def, outputs, attr_proto(op_def, attrs, only, "type").type if only else ~i)
            found = self._dtypes.get(key)
            if found is None:
                found = self._dtypes[key] = arg_dtypes(op_def, op_def.outputs if outputs else op_def.inputs, attrs)
        except AttrProblem as problem:
            raise NpuError("GRAPH_ATTR", where(self.subject, node), str(problem)) from None
        return found

    def static_shape(self, i: int, slot: int) -> Optional[Tuple[Optional[int], ...]]:
        """The shape of output ``slot`` of node ``i`` where the graph states it, None where it does not.

        A dimension the graph leaves open is None. Looked for in ``_output_shapes``, then in the operator's own
        ``shape``, or in the value of a Const. Nothing is inferred: that is `infer_shapes`.
        """
        node = self.nodes[i]
        shapes = node.attr("_output_shapes")
        if type(shapes) is tuple and slot < len(shapes) and type(shapes[slot]) is tuple:  # a function's name is one too
            return shapes[slot]
        if slot != 0:
            return None
        if node.op == "Const" and node.has_attr("value"):
            shape = decode_shape(node.proto.attr["value"].tensor.tensor_shape)
        elif node.op in _SHAPED_OPS:
            stated = node.proto.attr["shape"] if node.has_attr("shape") else None
            if stated is None or stated.WhichOneof("value") != "shape":
                return None
            shape = decode_shape(stated.shape)
        else:
            return None
        return None if shape is UNKNOWN_RANK else shape

    def static_bytes(self, i: int, slot: int) -> Optional[int]:
        """Bytes of output ``slot`` of node ``i`` where shape and element size are known, else None."""
        shape = self.static_shape(i, slot)
        dtypes = self.output_dtypes(i)
        size = dtypes[slot].size if slot < len(dtypes) else None
        if shape is None or size is None or any(dim is None for dim in shape):
            return None
        return bytes_of(size, [dim or 0 for dim in shape])

    def to_def(self) -> Any:
        """The graph as a GraphDef message of this package's private classes; a copy."""
        if self._renumbered:
            copy = self.empty_def()
            copy.node.extend(node.proto for node in self.nodes)
        else:
            copy = message_class("GraphDef")()
            copy.CopyFrom(self._def)
        return copy

    def empty_def(self) -> Any:
        """A GraphDef message with this graph's functions and versions and no nodes, to make another graph from."""
        empty = message_class("GraphDef")()
        empty.library.CopyFrom(self._def.library)
        empty.versions.CopyFrom(self._def.versions)
        return empty

    def to_bytes(self) -> bytes:
        """The graph as a serialized GraphDef, the same bytes at every call and in every process."""
        graph_def = self.to_def() if self._renumbered else self._def
        return graph_def.SerializeToString(deterministic=True)

    def renumbered(self, order: Sequence[int]) -> Graph:
        """The same graph with its nodes in another order, a topological one; edge ids stay. O(V + E).

        Nothing is copied but numbers: constants may be large.
        """
        place = _places(order)
        edges = self.edges
        result = Graph(
            self._def,
            [self.nodes[old].at(i) for i, old in enumerate(order)],
            {self.nodes[old].name: i for i, old in enumerate(order)},
            Edges([place[i] for i in edges.src], edges.src_slot, [place[i] for i in edges.dst], edges.dst_slot),
            range(len(order)),
            self._library,
            [self._op_defs[old] for old in order],
            self.subject,
        )
        result._renumbered = True
        return result


#: Operators whose ``shape`` attribute is the shape of their output.
_SHAPED_OPS = frozenset(["Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Variable", "VariableV2"])


def _fixed_dtypes(args: Any) -> Optional[Tuple[DType, ...]]:
    if any(arg.dtype is None or arg.is_list for arg in args):
        return None
    return tuple(arg.dtype.ref if arg.is_ref else arg.dtype for arg in args)


def _adjacency(ends: List[int], count: int) -> List[List[int]]:
    lists: List[List[int]] = [[] for _ in range(count)]
    for edge, end in enumerate(ends):
        lists[end].append(edge)
    return lists


def where(subject: str, node: Node) -> str:
    """How errors name a node."""
    return f"{subject}: node '{shorten(node.name)}' ({shorten(node.op)})"


def assemble(graph_def: Any, subject: str, library: Optional[Library[Graph]] = None) -> Graph:
    """A Graph of a GraphDef message, which it keeps.

    ``library`` is given for a function's body, which calls the functions of the graph around it.
    Raises NpuError GRAPH_FORMAT, GRAPH_LIMIT, GRAPH_DUPLICATE_NODE, GRAPH_UNKNOWN_OP, GRAPH_ATTR, GRAPH_INPUT and
    GRAPH_CYCLE. O(V + E), with V log V where the GraphDef is not in topological order.
    """
    with no_collection():
        if len(graph_def.node) > MAX_NODES:
            raise NpuError("GRAPH_LIMIT", subject, f"it has {len(graph_def.node)} nodes, the bound is {MAX_NODES}")
        if library is None:
            library = Library(graph_def, subject, assemble)
        producer = library.producer
        nodes = [Node(i, proto) for i, proto in enumerate(graph_def.node)]
        index = _index(nodes, subject)
        op_defs = _op_defs(nodes, library, producer, subject)
        edges, creation = _connect(nodes, index, op_defs, subject)
        if library.operators:
            for node in nodes:
                node.op = library.operators.get(node.op, node.op)
        return Graph(graph_def, nodes, index, edges, creation, library, op_defs, subject)


def _index(nodes: List[Node], subject: str) -> Dict[str, int]:
    index: Dict[str, int] = {}
    for node in nodes:
        name = node.name
        if not _NODE_NAME(name) or len(name) > MAX_NAME_LENGTH:
            raise _bad_name(node, subject)
        if index.setdefault(name, node.id) != node.id:
            first = index[name]
            raise NpuError(
                "GRAPH_DUPLICATE_NODE",
                f"{subject}: node '{shorten(name)}'",
                f"two nodes have this name, numbers {first} ({shorten(nodes[first].op)}) and {node.id} "
                f"({shorten(node.op)})",
            )
    return index


def _bad_name(node: Node, subject: str) -> NpuError:
    if len(node.name) > MAX_NAME_LENGTH:
        reason = f"its name has {len(node.name)} characters, the bound is {MAX_NAME_LENGTH}"
        return NpuError("GRAPH_LIMIT", where(subject, node), reason)
    what = f"has the name '{shorten(node.name)}'" if node.name else "has no name"
    return NpuError(
        "GRAPH_FORMAT",
        f"{subject}: node number {node.id} ({shorten(node.op)})",
        f"it {what}",
        "A node's name consists of letters, digits and _ . - / > \\ and begins with a letter, a digit, . or _",
    )


def _op_defs(nodes: List[Node], library: Library, producer: int, subject: str) -> List[OpDef]:
    known: Dict[str, OpDef] = {}
    result: List[OpDef] = []
    for node in nodes:
        op = node.op
        op_def = known.get(op)
        if op_def is None:
            found = OPS.of_producer(op, producer) or library.op_def(op)
            if found is None:
                raise _unknown_op(node, subject)
            op_def = known[op] = found
        if op_def.required:
            try:
                check_required(op_def, node.proto.attr)
            except AttrProblem as problem:
                raise NpuError("GRAPH_ATTR", where(subject, node), str(problem)) from None
        result.append(op_def)
    return result


def _unknown_op(node: Node, subject: str) -> NpuError:
    if not node.op:
        return NpuError("GRAPH_FORMAT", f"{subject}: node '{shorten(node.name)}'", "it names no operator")
    return NpuError(
        "GRAPH_UNKNOWN_OP",
        f"{subject}: node '{shorten(node.name)}'",
        f"the operator '{shorten(node.op)}' is neither of TensorFlow 1.15 or 2.21 nor the adapter's nor a function "
        "of this graph",
    )


class _Inputs:
    """The inputs of all nodes, resolved: per node the source ids, per node the source slots (-1: control)."""

    __slots__ = ("controls", "loop_merges", "merges", "next_iterations", "ordered", "slots", "sources")

    def __init__(self, nodes: List[Node]) -> None:
        self.sources: List[Sequence[int]] = []
        self.slots: List[Sequence[int]] = []
        self.controls = [0] * len(nodes)
        self.merges = {node.id for node in nodes if node.op in _MERGES}
        self.next_iterations = {node.id for node in nodes if node.op in _NEXT_ITERATIONS}
        #: Merges that a NextIteration feeds.
        self.loop_merges: Set[int] = set()
        #: Whether every node comes after its inputs, loop back edges aside: then creation order is GraphDef order.
        self.ordered = True


def _connect(
    nodes: List[Node], index: Dict[str, int], op_defs: List[OpDef], subject: str
) -> Tuple[Edges, Sequence[int]]:
    inputs = _resolve(nodes, index, op_defs, subject)
    order: Sequence[int] = range(len(nodes))
    if not inputs.ordered:
        order = creation_order(inputs.sources, inputs.controls, inputs.merges, inputs.next_iterations)
        if len(order) < len(nodes):
            raise _cycle(nodes, inputs, order, subject)
    return _number_edges(nodes, inputs, order), order


def _resolve(nodes: List[Node], index: Dict[str, int], op_defs: List[OpDef], subject: str) -> _Inputs:
    inputs = _Inputs(nodes)
    counts: List[int] = []  # of outputs
    for node, op_def in zip(nodes, op_defs):
        fixed = op_def.fixed_outputs
        counts.append(_count(op_def, True, node, subject) if fixed is None else fixed)
    without = {i for i, count in enumerate(counts) if not count}
    firsts: Dict[int, Tuple[int, ...]] = {}  # slots of so many inputs that are all the first outputs of nodes
    merges, controls = inputs.merges, inputs.controls
    find, add_sources, add_slots = index.get, inputs.sources.append, inputs.slots.append
    for node, op_def in zip(nodes, op_defs):
        i = node.id
        slots: Sequence[int]
        sources: List[Any] = list(map(find, node.proto.input[:]))  # a slice: one call instead of one an input
        if None in sources or (without and not without.isdisjoint(sources)):
            sources, slots = _parse_inputs(node, index, nodes, counts, subject)
            controls[i] = slots.count(CONTROL)
        else:
            if len(sources) not in firsts:
                firsts[len(sources)] = (0,) * len(sources)
            slots = firsts[len(sources)]
        expected = op_def.fixed_inputs
        if expected is None:
            expected = _count(op_def, False, node, subject)
        data = len(sources) - controls[i]
        if data != expected:
            raise NpuError("GRAPH_INPUT", where(subject, node), f"it has {data} data inputs and needs {expected}")
        if i in merges and not inputs.next_iterations.isdisjoint(sources):
            inputs.loop_merges.add(i)
        if inputs.ordered and sources and (i in inputs.loop_merges or max(sources) >= i):
            inputs.ordered = _comes_after(node, sources, slots, inputs)
        add_sources(sources)
        add_slots(slots)
    return inputs


def _parse_inputs(
    node: Node, index: Dict[str, int], nodes: List[Node], counts: List[int], subject: str
) -> Tuple[List[int], List[int]]:
    """Source ids and slots of a node's inputs, of which some are more than a node's name."""
    sources: List[int] = []
    slots: List[int] = []
    waits: Set[int] = set()
    for text in node.proto.input:
        source = index.get(text)
        slot = 0
        if source is None:
            source, slot = _parse_input(text, index, node, subject)
        if slot == CONTROL:
            # A second control edge between the same nodes is not made.
            if source in waits:
                continue
            waits.add(source)
        elif waits:
            reason = f"input '{shorten(text)}' stands after a control input"
            raise NpuError("GRAPH_INPUT", where(subject, node), reason)
        elif slot >= counts[source]:
            raise _no_output(node, nodes[source], slot, counts[source], subject)
        sources.append(source)
        slots.append(slot)
    return sources, slots


def _comes_after(node: Node, sources: Sequence[int], slots: Sequence[int], inputs: _Inputs) -> bool:
    """Whether the importer could make `node` where it stands: of a loop's Merge, once one other input is there."""
    if node.id not in inputs.loop_merges:
        return max(sources) < node.id
    given = [(source, slot) for source, slot in zip(sources, slots) if source not in inputs.next_iterations]
    controls = [slot for slot in slots if slot == CONTROL]
    early = [slot for source, slot in given if source < node.id]
    return early.count(CONTROL) == len(controls) and len(early) > len(controls)


def _count(op_def: OpDef, outputs: bool, node: Node, subject: str) -> int:
    fixed = op_def.fixed_outputs if outputs else op_def.fixed_inputs
    if fixed is not None:
        return fixed
    try:
        return count_args(op_def, op_def.outputs if outputs else op_def.inputs, node.proto.attr)
    except AttrProblem as problem:
        raise NpuError("GRAPH_ATTR", where(subject, node), str(problem)) from None


def _parse_input(text: str, index: Dict[str, int], node: Node, subject: str) -> Tuple[int, int]:
    """Source id and slot of an input that is not merely a node's name."""
    name, slot = text, 0
    if text.startswith("^"):
        name, slot = text[1:], CONTROL
    else:
        head, colon, tail = text.rpartition(":")
        number = output_number(tail) if colon else None
        if number is not None:
            name, slot = head, number
    source = index.get(name)
    if source is None:
        raise NpuError("GRAPH_INPUT", where(subject, node), f"input '{shorten(text)}' names no node of the graph")
    return source, slot


def _no_output(node: Node, source: Node, slot: int, count: int, subject: str) -> NpuError:
    has = {0: "no outputs", 1: "one output"}.get(count, f"{count} outputs")
    return NpuError(
        "GRAPH_INPUT",
        where(subject, node),
        f"it reads output {slot} of '{shorten(source.name)}' ({shorten(source.op)}), which has {has}",
    )


def _number_edges(nodes: List[Node], inputs: _Inputs, order: Sequence[int]) -> Edges:
    """Edge ids: see :func:`edges.creation_order`."""
    sources, slots = inputs.sources, inputs.slots
    positions: List[Sequence[int]] = [range(len(given)) for given in slots]
    for i, count in enumerate(inputs.controls):
        if count:
            positions[i] = [CONTROL if slot == CONTROL else k for k, slot in enumerate(slots[i])]
    place: Sequence[int] = order if inputs.ordered else _places(order)
    back: List[Tuple[int, int, int, int]] = []
    for i in sorted(inputs.loop_merges, key=place.__getitem__):
        rows = list(zip(sources[i], slots[i], positions[i]))
        back.extend((source, slot, i, position) for source, slot, position in rows if place[source] > place[i])
        rows = [row for row in rows if place[row[0]] <= place[i]]
        sources[i], slots[i], positions[i] = zip(*rows) if rows else ((), (), ())
    heads = order
    if inputs.ordered:
        heads = [node.id for node in nodes]  # the same numbers, not new ones
    else:
        sources, slots, positions = ([column[i] for i in order] for column in (sources, slots, positions))
    edges = Edges(
        list(chain.from_iterable(sources)),
        list(chain.from_iterable(slots)),
        [head for head, given in zip(heads, slots) for _ in given],
        list(chain.from_iterable(positions)),
    )
    for source, slot, i, position in back:
        edges.src.append(source)
        edges.src_slot.append(slot)
        edges.dst.append(i)
        edges.dst_slot.append(position)
    return edges


def _places(order: Sequence[int]) -> List[int]:
    """For each node its place in ``order``."""
    places = [0] * len(order)
    for place, i in enumerate(order):
        places[i] = place
    return places


def _cycle(nodes: List[Node], inputs: _Inputs, order: Sequence[int], subject: str) -> NpuError:
    """The error about nodes that wait for each other, naming one cycle of them from its first node on."""
    made = set(order)
    for i in sorted(inputs.loop_merges - made):
        if made.issuperset(inputs.sources[i]):
            reason = "what comes from a NextIteration never makes a Merge ready, and nothing else does"
            raise NpuError("GRAPH_CYCLE", where(subject, nodes[i]), reason, "Let an Enter give it its first value.")
    current = next(i for i in range(len(nodes)) if i not in made)
    seen: Dict[int, int] = {}
    path: List[int] = []
    while current not in seen:
        seen[current] = len(path)
        path.append(current)
        # A node never made has an input never made, so this walk cannot end but in a cycle.
        current = next(source for source in inputs.sources[current] if source not in made)
    cycle = path[seen[current] :][::-1]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    names = [shorten(nodes[i].name, 60) for i in cycle[:8]]
    more = f" -> … ({len(cycle) - 8} more)" if len(cycle) > 8 else ""
    return NpuError(
        "GRAPH_CYCLE",
        f"{subject}: node '{shorten(nodes[cycle[0]].name)}'",
        f"it depends on itself: {' -> '.join(names)}{more} -> {names[0]}",
        "Only a Merge may close a loop, over a NextIteration.",
    )
