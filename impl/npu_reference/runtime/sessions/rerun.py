"""What an operator in a function, a branch or a loop reads as it fails: its run is made again and watched."""

from __future__ import annotations

import itertools
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

import numpy as np

from npu_reference.device.numerics.editing import one_turn_at_a_time
from npu_reference.graphs import CONTROL_FLOW, Graph
from npu_reference.options.typed import DataDump
from npu_reference.partition import Partition, build
from npu_reference.partition.structure.calls import called_functions
from npu_reference.runtime.execution.dumping.data_dump import Dumping
from npu_reference.runtime.execution.dumping.frames import meta_of
from npu_reference.runtime.execution.dumping.function_bodies import MARK, let_run
from npu_reference.runtime.execution.threads import keep_thread
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Place", "ToldAgain", "Watching", "gives_other_values", "is_control_flow", "keeps_no_record", "places"]

#: Operators that have state and still give, run again, what they gave before.
_REPEATABLE = frozenset(
    (
        *("_Arg", "_Retval", "Placeholder", "PlaceholderV2", "NoOp", "Assert", "CheckNumerics", "CheckNumericsV2"),
        *("Variable", "VariableV2", "VarHandleOp", "ReadVariableOp", "VarIsInitializedOp"),
        *("ResourceGather", "ResourceGatherNd", "IsVariableInitialized"),
    )
)

#: Calls: they have the state of what they call.
_CALLS = frozenset(
    (
        *("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase"),
        *("While", "StatelessWhile"),
    )
)

#: These take a reference to pass it on, or to read it.
_ONLY_PASS = CONTROL_FLOW | frozenset(("RefIdentity", "RefSelect", "IsVariableInitialized"))

#: Attribute of a body that tells its watch from others: what does the same is one function in the session.
_NUMBER = "_npu_watched"
_NUMBERS = itertools.count(1)

#: What the operators that are watched are called in a body, so that an error names the one that it is of.
_WATCHED = re.compile(r"/npu_watched_(\d+)")


class ToldAgain(NamedTuple):
    """What an error says of the operator that failed.

    Attributes:
        node: its name, or the end of it: below calls that TensorFlow dissolved.
        function: that it stands in; empty where that is not said.
        callers: the calls around it that were not dissolved, from the inside.
        whole: whether `node` is the name of the whole place, as a fault says it.
    """

    node: str
    function: str = ""
    callers: Tuple[str, ...] = ()
    whole: bool = False


class Place(NamedTuple):
    """Where an operator stands that may be the one.

    Attributes:
        op: its name, below its calls'.
        function, node: the function, empty for a GEOP, and what it is called there.
        op_type, task: its kind, and its place in the order of the model.
        outer: the operator of the user's graph that it is, or that leads to it.
    """

    op: str
    function: str
    node: str
    op_type: str
    task: int
    outer: str


class Watching(Dumping):
    """A dump that keeps, of the operators that may have failed, what each read last. For one signature.

    Args:
        told: what is known of the operator.
        stop: end the run where the operator would begin: it did not fail by itself.
    """

    def __init__(self, told: ToldAgain, *, stop: bool = False) -> None:
        super().__init__(DataDump("", None, "all"), None)  # type: ignore[arg-type]  # it writes nothing
        self.told = told
        self.stop = stop
        self.found: List[Place] = []
        #: Of each of these: its inputs by position, once it has begun.
        self.read: Dict[int, Dict[int, Any]] = {}

    def instrument(self, graph_def: Any, partition: Partition) -> None:
        super().instrument(graph_def, partition)
        metas = [meta_of(node.attr[MARK].s) for _, node in _marked(graph_def.library.function)]
        self.found = _likely(self.told, [_place(meta, partition) for meta in metas])
        wanted = {(place.op, place.task): number for number, place in enumerate(self.found)}
        number = next(_NUMBERS)
        for body in graph_def.library.function:
            body.attr[_NUMBER].i = number
            _keep(body, wanted)

    def _own(self, body: Any, model: str, functions: Dict[str, Any]) -> List[Any]:
        bodies: List[Any] = super()._own(body, model, functions)
        # Of turns beside each other the last that began is not the one that failed.
        one_turn_at_a_time(body.node_def)
        names = {(place.op, place.task): number for number, place in enumerate(self.found)}
        for _, call in list(_marked([body])):
            meta = meta_of(call.attr[MARK].s)
            name = f"{meta.node}/npu_watched_{names[meta.op, meta.task]}"
            _rename(body, meta.node, name)
            # It runs whoever reads it, as its dump does.
            let_run(body, name)
            for node in body.node_def:
                if node.op == "NoOp" and f"^{call.name}" in node.input:
                    node.input.append(f"^{name}")
        return bodies

    def _writer(self, meta: Any, model: Any) -> Callable[..., Any]:
        number = next(at for at, place in enumerate(self.found) if (place.op, place.task) == (meta.op, meta.task))

        def keep(*arrays: Any) -> Any:
            keep_thread()
            self.read[number] = {at: np.array(array) for at, array in zip(meta.inputs, arrays)}
            if self.stop:
                raise RuntimeError(f"/npu_watched_{number}")
            return []

        return keep

    def failed(self, message: str) -> Optional[int]:
        """Which of the places an error is of."""
        number = _WATCHED.search(message)
        return None if number is None else int(number.group(1))


def places(told: ToldAgain, partition: Partition) -> List[Place]:
    """The operators of a partition's GEOPs that an error may be of, the likeliest first."""
    watching = Watching(told)
    graph_def = tensorflow().v1.GraphDef.FromString(build(partition.graph, partition).SerializeToString())
    watching.instrument(graph_def, partition)
    return watching.found


def _marked(bodies: Iterable[Any]) -> Iterator[Tuple[Any, Any]]:
    for body in bodies:
        for node in body.node_def:
            if node.op == "PyFunc" and MARK in node.attr:
                yield body, node


def _place(meta: Any, partition: Partition) -> Place:
    outer = meta.op
    graph = partition.graph
    if meta.function:
        # Below a call whose scope holds other operators too, what it leads to has a number: `while.1/body/…`.
        ends = [at for at, char in enumerate(meta.op) if char in "/."]
        heads = (meta.op[:at] for at in ends)
        outer = next((name for name in heads if name in graph.index and _is_call(graph, graph.index[name])), "")
    return Place(meta.op, meta.function, meta.node, meta.op_type, meta.task, outer)


def _is_call(graph: Graph, number: int) -> bool:
    proto = graph.nodes[number].proto
    return proto.op in _CALLS or (proto.op in graph.functions and proto.op not in graph.functions.operators)


def _likely(told: ToldAgain, found: List[Place]) -> List[Place]:
    """Those that the error may be of: by the operator's name, then by its function, then by the calls around it."""
    if told.whole:
        return [place for place in found if place.op == told.node]
    found = [place for place in found if place.node == told.node or told.node.endswith(f"/{place.node}")]
    for is_it in (
        lambda place: bool(told.function) and bool(place.function) and told.function.startswith(place.function),
        lambda place: bool(told.callers) == bool(place.function) and place.outer == (*told.callers, "")[0],
        lambda place: place.op == told.node,
        lambda place: _plain(place.op) == _plain(told.node),
        lambda place: not place.function and not told.function,
    ):
        found = [place for place in found if is_it(place)] or found
    return found


def _plain(name: str) -> str:
    """A path without what TensorFlow and the names of dumps have of their own: `cond/then/_0/x`, `cond.1/branch1/x`."""
    parts = [part for part in name.split("/") if not re.match(r"_\d+\Z", part)]
    parts = [re.sub(r"\.\d+\Z", "", part) for part in parts]
    return "/".join({"then": "branch1", "else": "branch0"}.get(part, part) for part in parts)


def _keep(body: Any, wanted: Mapping[Tuple[str, int], int]) -> None:
    """Of the calls in a body, only those of operators that are wanted, each before its operator begins."""
    gone: Set[str] = set()
    for _, call in _marked([body]):
        meta = meta_of(call.attr[MARK].s)
        if (meta.op, meta.task) not in wanted:
            gone.add(call.name)
            continue
        controls = [text for text in call.input if text.startswith("^")]
        data = list(call.input)[: len(meta.inputs)]
        types = list(call.attr["Tin"].list.type)[: len(meta.inputs)]
        del call.input[:]
        call.input.extend([*data, *controls])
        call.attr["Tin"].list.ClearField("type")
        call.attr["Tin"].list.type.extend(types)
        call.attr["Tin"].list.SetInParent()
        (operator,) = [node for node in body.node_def if node.name == meta.node]
        operator.input.append(f"^{call.name}")
    kept = [node for node in body.node_def if node.name not in gone]
    if len(kept) != len(body.node_def):
        copies = [type(node).FromString(node.SerializeToString()) for node in kept]
        del body.node_def[:]
        body.node_def.extend(copies)
    for done in [done for done, node in body.control_ret.items() if node in gone]:
        del body.control_ret[done]
        body.signature.control_output.remove(done)


def _rename(body: Any, old: str, new: str) -> None:
    """Call an operator of a body otherwise."""

    def renamed(text: str) -> str:
        mark, name = ("^", text[1:]) if text.startswith("^") else ("", text)
        head, colon, rest = name.partition(":")
        return f"{mark}{new}{colon}{rest}" if head == old else text

    for node in body.node_def:
        if node.name == old:
            node.name = new
        if any(old in text for text in node.input):
            inputs = [renamed(text) for text in node.input]
            del node.input[:]
            node.input.extend(inputs)
    for table in (body.ret, body.control_ret):
        for name, text in list(table.items()):
            table[name] = renamed(text)


# -- whether what runs again gives the same ---------------------------------------------------------------------------


def gives_other_values(graph: Graph, number: int, *, itself: bool) -> str:
    """The first operator before one, and in what calls lead to, that has no record of what it gave; empty for none.

    A dataset, a queue, a random draw gives something else when it runs again; what writes to a variable writes twice.

    Args:
        itself: whether the operator runs again, too.
    """
    seen: Set[int] = set()
    waiting = [number] if itself else [graph.edges.src[edge] for edge in graph.in_edges(number)]
    functions: Set[str] = set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        found = keeps_no_record(graph, at, functions)
        if found:
            return found
        waiting.extend(graph.edges.src[edge] for edge in graph.in_edges(at))
    return ""


def keeps_no_record(graph: Graph, number: int, functions: Set[str]) -> str:
    """An operator, or the first in what it calls, that gives or does something else when it runs again; else empty.

    Args:
        functions: whose bodies have been looked into, and need not be again.
    """
    node = graph.nodes[number]
    if node.op in _REPEATABLE or is_control_flow(node.op):
        return ""
    if node.op not in graph.functions.operators.values() and _is_call(graph, number):
        called = [node.proto.op] if node.proto.op in graph.functions else called_functions(node.proto.attr)
        for name in called:
            if name in functions or name not in graph.functions:
                continue
            functions.add(name)
            function = graph.functions[name]
            for inner in range(len(function.body.nodes)):
                found = keeps_no_record(function.body, inner, functions)
                if found:
                    return f"{node.name}/{found}"
        return ""
    op_def = graph.op_def(number)
    writes = node.op not in _ONLY_PASS and any(arg.is_ref for arg in op_def.inputs)
    return str(node.name) if op_def.is_stateful or writes else ""


def is_control_flow(op: str) -> bool:
    """Whether an operator is one of version 1's control flow: what it gives, it gives once a turn."""
    return op in CONTROL_FLOW
