"""What calls of functions stand for: one flat graph, with v1 control flow where a loop or a choice was a call.

A call on the device becomes the operators of its body, under ``call/``; a While becomes a loop of Enter, Merge, Switch,
NextIteration and Exit, as TensorFlow lowers it too, so that whoever counts turns knows one kind of loop. What stays on
the host stays a call.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.errors import NpuError
from npu_reference.graphs import DType, FuncRef, Graph, Node, graph_from_def
from npu_reference.partition import Partition

__all__ = ["Branch", "Flat", "flatten", "tensor_name"]

_WHILE = ("While", "StatelessWhile")
_CASE = ("Case", "StatelessCase")
_IF = ("If", "StatelessIf")
_CALL = ("PartitionedCall", "StatefulPartitionedCall", "TPUPartitionedCall", "RemoteCall")

_MOST_DEPTH = 32  # calls within calls; a body that calls itself ends here
_MOST_NODES = 1_000_000  # operators that all calls together unfold to

#: A conditional, and which of its branches.
Branch = Tuple[str, int]


class Flat(NamedTuple):
    """A graph in which nothing on the device calls a function.

    Attributes:
        graph: the flat graph; nodes of the original keep their names.
        assignment: by node, its GEOP or -1.
        origin: by node, what assignments and casts call it (``function/node`` in a body).
        branches: by node, the branches of conditional calls in which it stands, the outermost first.
    """

    graph: Graph
    assignment: Sequence[int]
    origin: Sequence[str]
    branches: Sequence[Tuple[Branch, ...]]


def flatten(partition: Partition) -> Flat:
    """The graph of a partition with the calls on its device unfolded; the graph itself where there are none.

    Raises:
        NpuError: DEVICE_MODEL for a function that is not there, calls itself, or unfolds beyond all bounds.
    """
    graph = partition.graph
    calls = [node for node in graph.nodes if partition.assignment[node.id] >= 0 and _calls(graph, node)]
    if not calls:
        return Flat(graph, partition.assignment, [node.name for node in graph.nodes], [()] * len(graph.nodes))
    return _Unfolding(partition).run()


def _calls(graph: Graph, node: Node) -> bool:
    if node.op in _WHILE + _CASE + _IF + _CALL:
        return True
    return node.proto.op in graph.functions and node.proto.op not in graph.functions.operators


class _Unfolding:
    def __init__(self, partition: Partition) -> None:
        self.partition, self.source = partition, partition.graph
        self.out = partition.graph.empty_def()
        self.assignment: List[int] = []
        self.origin: List[str] = []
        self.branches: List[Tuple[Branch, ...]] = []
        self.geop = -1
        self.within: Tuple[Branch, ...] = ()
        self.depth = 0
        self.scopes: Dict[int, Set[str]] = {}  # by graph (its id, as long as it lives), scopes of its names
        self.kept: List[Graph] = []

    def run(self) -> Flat:
        for node in self.source.nodes:
            self.geop = self.partition.assignment[node.id]
            if self.geop >= 0 and _calls(self.source, node):
                self._call(node, self.source, node.name, list(node.inputs), None, node.name)
            else:
                self._copy(node, node.name, list(node.inputs), node.name)
        graph = graph_from_def(self.out, subject=self.source.subject)
        return Flat(graph, self.assignment, self.origin, self.branches)

    # -- nodes ----------------------------------------------------------------------------------------------------

    def _put(self, name: str, origin: str) -> Any:
        if len(self.assignment) >= _MOST_NODES:
            raise NpuError(
                "DEVICE_MODEL", name, f"the calls of the graph unfold to more than {_MOST_NODES} operators.",
                "Fetch what needs fewer of them.",
            )  # fmt: skip
        self.assignment.append(self.geop)
        self.origin.append(origin)
        self.branches.append(self.within)
        return self.out.node.add(name=name)

    def _copy(self, node: Node, name: str, inputs: Sequence[str], origin: str) -> None:
        made = self._put(name, origin)
        made.CopyFrom(node.proto)
        made.name = name
        del made.input[:]
        made.input.extend(inputs)

    def _new(self, op: str, name: str, inputs: Sequence[str], dtype: Optional[DType] = None, origin: str = "") -> str:
        made = self._put(name, origin or f"{name}/")  # no operator is called so: nothing is assigned to it
        made.op = op
        made.input.extend(inputs)
        if dtype is not None:
            made.attr["T"].type = dtype.number
        return name

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(
        self, node: Node, graph: Graph, name: str, inputs: Sequence[str], gate: Optional[str], origin: str
    ) -> None:
        """Unfold one call; a node of its name gives what it returned."""
        data = [text for text in inputs if not text.startswith("^")]
        controls = [text for text in inputs if text.startswith("^")]
        root = self._root(graph, node, name)
        if controls:
            gate = f"^{self._new('NoOp', f'{root}.begin', controls)}"
        if self.depth >= _MOST_DEPTH:
            raise NpuError("DEVICE_MODEL", name, f"calls stand in calls more than {_MOST_DEPTH} deep.")
        self.depth += 1
        dtypes = graph.input_dtypes(node.id)
        if node.op in _WHILE:
            given, ends = self._loop(node, name, root, data, dtypes, gate)
        elif node.op in _IF + _CASE:
            given, ends = self._choice(node, graph, name, root, data, dtypes, gate)
        else:
            function = node.attr("f") if node.op in _CALL else FuncRef(node.proto.op, node.attrs)
            given, ends = self._body(function, f"{root}/", data, gate)
        self.depth -= 1
        results = [dtype.number for dtype in graph.output_dtypes(node.id)]
        waits = [f"^{end}" for end in ends] + ([gate] if gate else [])
        made = self._put(name, origin)
        made.op = "IdentityN" if results else "NoOp"
        if results:
            made.attr["T"].list.type.extend(results)
            made.input.extend(given[: len(results)])
        made.input.extend(dict.fromkeys(waits))

    def _root(self, graph: Graph, node: Node, name: str) -> str:
        """The scope for what a call stands for: its name where no node of the graph around it lies there already."""
        if id(graph) not in self.scopes:
            self.kept.append(graph)
            found: Set[str] = set()
            self.scopes[id(graph)] = found
            for one in graph.nodes:
                parts = one.name.split("/")
                found.update("/".join(parts[:end]) for end in range(1, len(parts)))
        taken, root, number = self.scopes[id(graph)], node.name, 0
        while root in taken or f"{root}.begin" in graph.index or (number and root in graph.index):
            number += 1
            root = f"{node.name}.{number}"
        return name[: len(name) - len(node.name)] + root

    def _body(
        self, function: FuncRef, prefix: str, args: Sequence[str], gate: Optional[str]
    ) -> Tuple[List[str], List[str]]:
        """The operators of a function. Returns what it gives back, and the nodes that nothing in it follows."""
        found = self.source.functions.get(function.name)
        if found is None:
            reason = f"it calls {function.name!r}, which is no function of the graph."
            raise NpuError("DEVICE_MODEL", prefix[:-1], reason)
        attrs = {key: function.attrs.proto(key) for key in function.attrs}
        body = found.instantiate(attrs) if attrs else found.body
        given = {}
        followed: Set[str] = set()
        names: List[str] = []
        for node in body.nodes:
            name, origin = f"{prefix}{node.name}", f"{function.name}/{node.name}"
            inputs = [_inside(text, prefix) for text in node.inputs]
            followed.update(_node(text) for text in inputs)
            if node.op == "_Arg":
                waits = [gate] if gate else []
                self._new("Identity", name, [args[node.attr("index", 0)], *waits], node.attr("T"), origin)
            elif node.op == "_Retval":
                given[node.attr("index", 0)] = self._new("Identity", name, inputs, node.attr("T"), origin)
            else:
                if gate and not inputs:
                    inputs = [gate]
                if _calls(body, node):
                    self._call(node, body, name, inputs, gate, origin)
                else:
                    self._copy(node, name, inputs, origin)
            names.append(name)
        return [given[k] for k in range(len(given))], [name for name in names if name not in followed]

    def _choice(
        self,
        node: Node,
        graph: Graph,
        name: str,
        root: str,
        data: Sequence[str],
        dtypes: Sequence[DType],
        gate: Optional[str],
    ) -> Tuple[List[str], List[str]]:
        """All branches beside each other, each marked; Merges give what the one that runs returned."""
        if node.op in _CASE:
            functions = list(node.attr("branches"))
        else:
            functions = [node.attr("else_branch"), node.attr("then_branch")]
        which = self._new("Identity", f"{root}/which", [data[0], *([gate] if gate else [])], dtypes[0])
        around, found, ends = self.within, [], []
        for number, function in enumerate(functions):
            self.within = (*around, (name, number))
            given, last = self._body(function, f"{root}/branch{number}/", data[1:], f"^{which}")
            found.append(given)
            ends.extend(last)
        self.within = around
        merged = []
        for slot, dtype in enumerate(graph.output_dtypes(node.id)):
            merge = self._new("Merge", f"{root}/merge{slot}", [given[slot] for given in found], dtype)
            self.out.node[-1].attr["N"].i = len(found)
            merged.append(merge)
        return merged, ends

    def _loop(
        self, node: Node, name: str, root: str, data: Sequence[str], dtypes: Sequence[DType], gate: Optional[str]
    ) -> Tuple[List[str], List[str]]:
        """A loop of v1 control flow around the two bodies."""
        if not data:
            return self._body(node.attr("body"), f"{root}/body/", (), gate)
        waits = [gate] if gate else []
        merges = []
        for k, (text, dtype) in enumerate(zip(data, dtypes)):
            enter = self._new("Enter", f"{root}/enter{k}", [text, *waits], dtype)
            self.out.node[-1].attr["frame_name"].s = name.encode()
            merges.append(self._new("Merge", f"{root}/merge{k}", [enter, f"{root}/next{k}"], dtype))
            self.out.node[-1].attr["N"].i = 2
        goes_on, _ = self._body(node.attr("cond"), f"{root}/cond/", merges, f"^{merges[0]}")
        again = self._new("LoopCond", f"{root}/again", goes_on[:1])
        switches = [
            self._new("Switch", f"{root}/switch{k}", [merge, again], dtype)
            for k, (merge, dtype) in enumerate(zip(merges, dtypes))
        ]
        turn = self._new("Identity", f"{root}/turn", [f"{switches[0]}:1"], dtypes[0])
        results, ends = self._body(
            node.attr("body"), f"{root}/body/", [f"{switch}:1" for switch in switches], f"^{turn}"
        )
        exits = []
        for k, dtype in enumerate(dtypes):
            late = [f"^{end}" for end in ends] if k == 0 else []
            self._new("NextIteration", f"{root}/next{k}", [results[k], *late], dtype)
            exits.append(self._new("Exit", f"{root}/exit{k}", [switches[k]], dtype))
        return exits, []


def _inside(text: str, prefix: str) -> str:
    return f"^{prefix}{text[1:]}" if text.startswith("^") else f"{prefix}{text}"


def _node(text: str) -> str:
    return text[1:] if text.startswith("^") else text.partition(":")[0]


def tensor_name(graph: Graph, node: int, slot: int) -> str:
    """As the user calls it: an argument that stands for a feed has the feed's name."""
    one = graph.nodes[node]
    if one.op == "_Arg" and one.name.startswith("_arg_") and one.name.count("_") > 3:
        return "{}:{}".format(*one.name[len("_arg_") :].rsplit("_", 2)[:2])
    return f"{one.name}:{slot}"
