"""Takes the calls of a partitioned graph apart, so that one executor of TensorFlow's runs it, as in a plain session.

An operator that fails ends a run with its error. Where it fails in a called function, TensorFlow cancels the operators
that wait before it hears of the error, and the run ends as cancelled by one of those. A call also begins only when all
its arguments are there: what fails in plain TensorFlow while an argument is waited for would never run. Neither matters
unless something waits, or a variable without a value is read; so GEOPs, and the functions that a graph calls, are taken
apart only in such graphs.
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.graphs import CONTROL_FLOW, OPS, Graph, frames, graph_from_def
from npu_reference.partition import Partition
from npu_reference.partition.building.names import fresh
from npu_reference.partition.structure.calls import called_functions
from npu_reference.partition.structure.hidden import waiting
from npu_reference.partition.structure.topology import reached
from npu_reference.runtime.execution.liveness import unsteady
from npu_reference.runtime.execution.needed_inputs import call_without_idle, is_lowered, without_idle
from npu_reference.runtime.execution.reference_reads import MARK, reads_reference

__all__ = ["Dissolved", "dissolve", "dissolved", "must_dissolve"]

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")

_ENTERS = ("Enter", "RefEnter")
_FRAMED = frozenset(("Switch", "RefSwitch", *_ENTERS))

#: These never fail, and nothing of them can be seen.
_SAFE = frozenset(
    (
        *("Const", "HostConst", "NoOp", "_Arg", "_Retval", "Placeholder", "PlaceholderV2", "VarHandleOp"),
        *("Variable", "VariableV2", "Identity", "ControlTrigger"),
    )
)

#: Operators of a graph that is taken apart, after which calls stay calls: calls that nest and fork are twice as many at
#: every depth (assumed).
_MOST = 200000

#: Attribute that tells random operators of one signature from those of another.
_NUMBER = "_npu_drawn"
_NUMBERS = itertools.count(1)

#: What makes an element of a data set, which may take its time.
_ELEMENTS = ("IteratorGetNext", "MultiDeviceIteratorGetNext")


def must_dissolve(partition: Partition) -> bool:
    """Whether an operator of a GEOP, or of a called function, may run and fail while another operator waits.

    Or whether a reference may be read too early: for a GEOP that is when it is launched, in TensorFlow when its reader
    runs, if nothing before it fails. O(nodes + edges) for each operator that waits, until one is found.
    """
    graph = partition.graph
    if _reads_late(partition):
        return True
    whole = _wholes(partition)
    # A reference fails where it is read, which a GEOP does that returns it.
    fails = {node.id for node in graph.nodes if node.op not in _SAFE} | partition.wires.ref_outputs
    if not any(home is not None for home in whole):
        return False
    for waiter in waiting(graph, partition.wires):
        near = _related(graph, waiter)
        if any(whole[node.id] is not None and node.id not in near and node.id in fails for node in graph.nodes):
            return True
        # What a call returns comes all at once, and a call begins when all its arguments are there.
        if whole[waiter] is not None:
            return any(whole[node.id] != whole[waiter] and node.id in fails for node in graph.nodes)
    for node in graph.nodes:
        if node.op.startswith(_ELEMENTS) and whole[node.id] is None:
            homes = {whole[other] for other in _related(graph, node.id)}
            if not homes.issuperset(whole):
                return True
    return False


def _reads_late(partition: Partition) -> bool:
    """Whether what reads a reference across the border of a GEOP waits for something that may fail."""
    graph, edges, home = partition.graph, partition.graph.edges, partition.assignment
    given = {
        edges.src[before]
        for node in partition.wires.ref_outputs
        for edge in graph.out_edges(node)
        if home[edges.dst[edge]] != home[node] and graph.nodes[edges.dst[edge]].op != "_Retval"
        for before in graph.in_edges(edges.dst[edge])
    }
    return any(graph.nodes[node].op not in _SAFE for node in reached(graph.in_edges, edges.src, given))


def _wholes(partition: Partition) -> List[Optional[int]]:
    """What each operator runs as a part of: its GEOP, or itself where it calls a function; None for any other."""
    graph = partition.graph
    found: List[Optional[int]] = []
    for node in graph.nodes:
        home = partition.assignment[node.id]
        if home < 0 and graph.functions:
            home = -2 - node.id if any(name in graph.functions for name in _called(node.proto)) else -1
        found.append(None if home == -1 else home)
    return found


def _called(proto: Any) -> List[str]:
    return [proto.op, *called_functions(proto.attr)]


def _related(graph: Graph, node: int) -> Set[int]:
    """The operators that lead to one, those it leads to, and itself."""
    before, after = (graph.in_edges, graph.edges.src), (graph.out_edges, graph.edges.dst)
    return reached(*before, [node]) | reached(*after, [node])


def dissolved(node: Any, functions: Mapping[str, Any]) -> Optional[str]:
    """The function that a NodeDef calls and that TensorFlow puts in its place; None for any other node."""
    name = str(node.attr["f"].func.name) if node.op in _CALLS else str(node.op)
    if name not in functions or functions[name].proto.attr["_noinline"].b:
        return None
    return name


class Dissolved(NamedTuple):
    """A partitioned graph without calls.

    Attributes:
        nodes: of the graph, NodeDefs of the given class.
        returns: of each GEOP and call that is in the partition, by position, the text that reads what it returned.
        apart: names of what was part of a GEOP.
        effects: names of the operators that wait for all that calls do beside returning something.
        functions: further functions that the operators call, by name.
    """

    nodes: List[Any]
    returns: Dict[str, List[str]]
    apart: Set[str]
    effects: List[str]
    functions: Dict[str, Any]


def dissolve(graph_def: Any, functions: Mapping[str, Any], partition: Partition, *, inlines: bool = True) -> Dissolved:
    """Put the operators of functions in the place of their calls.

    Operators of GEOPs keep their names; those of functions are called `call/operator`, as TensorFlow calls them.
    Of a call an operator of its name remains, which runs when all that was called has run.

    Args:
        graph_def: the partitioned graph; its nodes stay as they are.
        functions: its functions by name, those of GEOPs as they are to run.
        partition: what was partitioned: what waited for an operator of a GEOP waits for that alone.
        inlines: whether Grappler would put functions in the place of calls in TensorFlow alone.
    """
    return _Dissolving(graph_def, functions, partition, inlines).run()


class _Dissolving:
    def __init__(self, graph_def: Any, functions: Mapping[str, Any], partition: Partition, inlines: bool) -> None:
        self.source = graph_def
        self.inlines = inlines
        self.graph = partition.graph
        self.home = partition.assignment
        self.geops = {geop.name: geop for geop in partition.geops}
        library = type(graph_def)(versions=graph_def.versions)
        for name, function in functions.items():
            added = library.library.function.add()
            added.CopyFrom(function)
            added.signature.name = name
        self.library = graph_from_def(library, subject="partitioned graph").functions
        self.busy = without_idle(functions)
        self.message = type(type(graph_def)().node.add())
        self.framed = any(node.op in _FRAMED for node in self.graph.nodes)
        #: Whether a function holds a random operator whose stream the script has fixed.
        self.draws = any(_is_seeded(node) for function in functions.values() for node in function.node_def)
        self.taken = {node.name for node in graph_def.node} | set(self.graph.index)
        self.nodes: List[Any] = []
        self.outputs: Dict[Tuple[str, int], str] = {}
        self.counts: Dict[str, int] = {}
        self.apart: Set[str] = set()
        self.effects: List[str] = []
        #: Of what is there to read a reference for a GEOP: the reference.
        self.references = {
            node.name: node.input[0]
            for node in graph_def.node
            if node.name not in self.graph.index and reads_reference(node)
        }

    def run(self) -> Dissolved:
        for node in self.source.node:
            copy = self._copy(node)
            number = self.graph.index.get(node.name)
            if node.name not in self.geops and number is not None and self.home[number] < 0:
                self._wait(copy, self._controls(number, None, copy))
            self._add(copy, ())
        names = {node.name for node in self.nodes}
        for node in self.nodes:
            inputs = [self._resolved(text, names) for text in node.input]
            data = [text for text in inputs if not text.startswith("^")]
            read = {text.partition(":")[0] for text in data}
            waits = [text for text in inputs if text.startswith("^") and text[1:] not in read]
            del node.input[:]
            node.input.extend([*data, *dict.fromkeys(waits)])
        returns = {
            name: [self._data(f"{name}:{position}") for position in range(self.counts.get(name, 0))]
            for name in dict.fromkeys([*self.geops, *(name for name in self.counts if name in self.graph.index)])
        }
        made = {function.signature.name: function for function in self.busy.values()}
        return Dissolved(self.nodes, returns, self.apart, self.effects, made)

    def _copy(self, node: Any) -> Any:
        return self.message.FromString(node.SerializeToString())

    # -- what waits for what -------------------------------------------------------------------------------------

    def _controls(self, number: int, home: Optional[int], node: Any) -> List[str]:
        """What an operator of the user's graph waits for, without what is in the same GEOP.

        An operator outside of GEOPs keeps what else was made to wait for; its calls of GEOPs are told apart.
        """
        graph = self.graph
        own = [
            f"^{graph.nodes[graph.edges.src[edge]].name}"
            for edge in graph.in_edges(number)
            if graph.edges.dst_slot[edge] < 0 and (home is None or self.home[graph.edges.src[edge]] != home)
        ]
        kept = [text for text in node.input if text.startswith("^") and text[1:] not in self.geops]
        return list(dict.fromkeys([*kept, *own]))

    @staticmethod
    def _wait(node: Any, controls: Iterable[str]) -> None:
        data = [text for text in node.input if not text.startswith("^")]
        del node.input[:]
        node.input.extend([*data, *controls])

    # -- taking apart ----------------------------------------------------------------------------------------------

    def _add(self, node: Any, callers: Tuple[str, ...]) -> None:
        called = self._function(node, callers)
        if called is None:
            self.nodes.append(node)
        elif node.name in self.geops:
            self._open_geop(node)
        else:
            self._open(node, called, callers)

    def _function(self, node: Any, callers: Sequence[str]) -> Optional[str]:
        if node.name in self.geops:
            return node.name
        name = dissolved(node, self.library)
        return None if name in callers or len(self.nodes) > _MOST else name

    def _open_geop(self, call: Any) -> None:
        # A reference that the GEOP is given is read by whoever reads it there, as in TensorFlow.
        inputs = [self.references.get(text, text) for text in call.input]
        del call.input[:]
        call.input.extend(inputs)
        geop = self.geops[call.name]
        number = self.home[geop.nodes[0]]
        function = self.library[call.name]
        members = {self.graph.nodes[node].name: node for node in geop.nodes}
        copies = {copy.name: copy.node for copy in geop.copies}
        body = function.body.to_def()
        names = {
            node.name: node.name if node.name in members else fresh(f"{call.name}/{node.name}", self.taken)
            for node in body.node
        }
        for local, node in self._nodes(call, body, names):
            if local in members:
                self._wait(node, self._controls(members[local], number, node))
            elif not node.input and local in copies:
                self._wait(node, self._controls(copies[local], None, node))
            elif not node.input and self.framed:
                self._wait(node, self._launch(call))
            self.apart.add(node.name)
            if local not in members and reads_reference(node):
                self.references[node.name] = node.input[0]
            self._add(node, ())
        for position in range(self.counts.get(call.name, 0)):
            # So is one that it returns, by whoever reads it outside.
            text = self.outputs[call.name, position]
            self.outputs[call.name, position] = self.references.get(text.partition(":")[0], text)
        self._end(call, function, function.body, names, members)

    def _open(self, call: Any, name: str, callers: Tuple[str, ...]) -> None:
        function = self.library[name]
        attrs = call.attr["f"].func.attr if call.op in _CALLS else call.attr
        instance = function.instantiate(attrs)
        body = self._kept(instance.to_def(), function)
        names = {node.name: fresh(f"{call.name}/{node.name}", self.taken) for node in body.node}
        waits = [text for text in call.input if text.startswith("^")] if self.inlines else self._begun(call)
        self._read_references(call, waits)
        # Only where a function calls nothing, TensorFlow keeps what is in its kernels from one signature to the next.
        # What lasts in a GEOP draws from the device's generators already.
        calls = any(proto.op in self.library or called_functions(proto.attr) for proto in body.node)
        lasts = not (calls or callers or call.name in self.apart)
        looping = self._looping(instance)
        for own, node in self._nodes(call, body, names):
            if not lasts and (_is_seeded(node) or (self.draws and called_functions(node.attr))):
                node.attr[_NUMBER].i = next(_NUMBERS)
            if not node.input:
                self._wait(node, self._launch(call) if self.framed and self.inlines else waits)
            elif waits and own not in looping:
                self._wait(node, [*(text for text in node.input if text.startswith("^")), *waits])
            call_without_idle(node, self.busy)
            if node.op == "Substr":
                self._forget_shape(node)
            if node.op in _ENTERS:
                node.attr["frame_name"].s = call.name.encode() + b"/" + node.attr["frame_name"].s
            if call.name in self.apart:
                self.apart.add(node.name)
            self._add(node, (*callers, name))
        self._end(call, function, instance, names)

    def _read_references(self, call: Any, waits: Iterable[str]) -> None:
        """A call reads the references that it is given when it begins, as an operator that bears its name."""
        for position, text in enumerate(call.input):
            name, _, slot = self._data(text).partition(":")
            number = self.graph.index.get(name)
            if number is None:
                continue
            dtype = self.graph.output_dtypes(number)[int(slot or 0)]
            if dtype.is_ref:
                read = self.message(name=fresh(f"{call.name}{MARK}", self.taken), op="Identity")
                read.input.extend([text, *waits])
                read.attr["T"].type = dtype.base.number
                call.input[position] = read.name
                self.nodes.append(read)

    def _forget_shape(self, node: Any) -> None:
        """TensorFlow refuses a Substr with one shape known and another not, as in a loop, which no body tells of."""
        hidden = self.message(name=fresh(f"{node.name}/hidden", self.taken), op="PlaceholderWithDefault")
        hidden.input.append(node.input[1])
        hidden.attr["dtype"].type = node.attr["T"].type
        hidden.attr["shape"].shape.unknown_rank = True
        node.input[1] = hidden.name
        self.nodes.append(hidden)

    def _begun(self, call: Any) -> List[str]:
        """What all that is called waits for: a call begins when all that it is given is there.

        Grappler puts the operators of a function in the place of its call; none of them waits for more than it reads.
        """
        given = [text for text in call.input if not text.startswith("^")]
        waits = [text for text in call.input if text.startswith("^")]
        if not given:
            return waits
        begun = self.message(name=fresh(f"{call.name}/begun", self.taken), op="NoOp")
        begun.input.extend(dict.fromkeys([*map(_arrival, given), *waits]))
        self.nodes.append(begun)
        return [f"^{begun.name}"]

    def _kept(self, body: Any, function: Any) -> Any:
        """A body without what TensorFlow leaves out where it calls the function."""
        nodes = {node.name: node for node in body.node}
        waiting = list(function.proto.control_ret.values())
        waiting.extend(
            node.name
            for node in body.node
            if node.op in ("_Retval", *CONTROL_FLOW) or is_lowered(node) or self._has_effect(node)
        )
        kept = {node.name for node in body.node if node.op == "_Arg"}
        while waiting:
            found = waiting.pop()
            if found in nodes and found not in kept:
                kept.add(found)
                waiting.extend(text.lstrip("^").partition(":")[0] for text in nodes[found].input)
        if len(kept) < len(nodes):
            rest = [node for node in body.node if node.name in kept]
            del body.node[:]
            body.node.extend(rest)
        return body

    def _nodes(self, call: Any, body: Any, names: Mapping[str, str]) -> List[Tuple[str, Any]]:
        """The operators of a body, under their new names, and what its call returns."""
        given = [text for text in call.input if not text.startswith("^")]
        arguments = {node.name: given[node.attr["index"].i] for node in body.node if node.op == "_Arg"}

        def moved(text: str) -> str:
            if text.startswith("^"):
                own = text[1:]
                return "^" + (arguments[own].partition(":")[0] if own in arguments else names[own])
            own, _, slot = text.partition(":")
            return arguments[own] if own in arguments else f"{names[own]}:{slot or 0}"

        found = []
        for proto in body.node:
            if proto.op == "_Arg":
                continue
            inputs = [moved(text) for text in proto.input]
            if proto.op == "_Retval":
                self.outputs[call.name, proto.attr["index"].i] = inputs[0]
                self.counts[call.name] = self.counts.get(call.name, 0) + 1
                continue
            node = self._copy(proto)
            node.name = names[proto.name]
            del node.input[:]
            node.input.extend(inputs)
            found.append((proto.name, node))
        return found

    @staticmethod
    def _launch(call: Any) -> List[str]:
        """What a call waits for, its first argument too: what reads nothing is then in the loop that the call is in."""
        data = [f"^{text.partition(':')[0]}" for text in call.input if not text.startswith("^")]
        return [*data[:1], *(text for text in call.input if text.startswith("^"))]

    def _end(self, call: Any, function: Any, body: Any, names: Mapping[str, str], own: Iterable[str] = ()) -> None:
        """An operator that runs when everything has that was called.

        Args:
            own: names of the operators that run because somebody asks for them.
        """
        nodes = [node for node in body.to_def().node if node.name in names]
        read = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}
        done = dict.fromkeys(name for name in function.proto.control_ret.values() if name in names)
        done.update((node.name, None) for node in nodes if node.name not in read and self._has_effect(node))
        shaky = unsteady(body)
        some = {name for name in done if shaky is not None and shaky[body.index[name]]}
        # Nothing outside of a loop can wait for what is inside, and what waits for a branch not taken would not run.
        self.effects.extend(names[name] for name in done if name in some and name not in own)
        waits = [f"^{names[name]}" for name in done if name not in some]
        if call.name not in self.geops:
            # A call computes all that it returns, and comes when all that it is given is there, read or not.
            self.effects.append(call.name)
            given = [text for text in call.input if not text.startswith("^")]
            unread = (node for node in nodes if node.op == "_Arg" and node.name not in read)
            waits.extend(_arrival(given[node.attr["index"].i]) for node in unread)
        elif not set(own).issuperset(done):
            self.effects.append(call.name)
        count = self.counts.get(call.name, 0)
        returned = [_arrival(self.outputs[call.name, position]) for position in range(count)]
        launch = [text for text in call.input if text.startswith("^")]
        end = self.message(name=call.name, op="NoOp")
        end.input.extend(dict.fromkeys([*waits, *returned] or launch))
        self.nodes.append(end)

    @staticmethod
    def _looping(body: Graph) -> Set[str]:
        """Names of the operators inside of loops of version 1, all that they read is there, too."""
        if not any(node.op in _ENTERS for node in body.nodes):
            return set()
        found = frames(body)

        def inside(node: Any) -> bool:
            frame = found[node.id]
            return (frame.parent if frame is not None and node.op in _ENTERS else frame) is not None

        return {node.name for node in body.nodes if inside(node)}

    def _has_effect(self, node: Any) -> bool:
        """Whether a function runs an operator though nothing that is returned comes of it."""
        if node.op in ("_Arg", "_Retval"):
            return False
        op_def = OPS.get(node.op) or self.library[node.op].op_def
        return bool(op_def.is_stateful)

    def _resolved(self, text: str, names: Set[str]) -> str:
        if not text.startswith("^"):
            return self._data(text)
        if ":" in text:
            text = "^" + self._data(text[1:]).partition(":")[0]
        if text[1:] in names:
            return text
        # An operator of a GEOP that is not in its body any more.
        home = self.home[self.graph.index[text[1:]]]
        return "^" + next(name for name, geop in self.geops.items() if self.home[geop.nodes[0]] == home)

    def _data(self, text: str) -> str:
        name, _, slot = text.partition(":")
        while (name, int(slot or 0)) in self.outputs:
            name, _, slot = self.outputs[name, int(slot or 0)].partition(":")
        return f"{name}:{slot}" if slot and slot != "0" else name


def _arrival(text: str) -> str:
    """What waits for a tensor: for the operator that gives it, once it is known which one that is."""
    name, _, slot = text.partition(":")
    return f"^{name}:{slot or 0}"


def _is_seeded(node: Any) -> bool:
    return any(name in node.attr and node.attr[name].i for name in ("seed", "seed2"))
