"""Orders that no edge shows: operators that wait for one another, such as both ends of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.partition.structure.calls import called_functions
from npu_reference.partition.structure.scc import components
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph
    from npu_reference.graphs.frames import Frame

__all__ = ["entering", "hidden_edges", "waiting"]


class _Role(NamedTuple):
    """How an operator takes part in waiting.

    Attributes:
        part: ``puts``, ``takes`` (waits for puts, and where the store is bounded is waited for by them), ``locks``,
            ``frees`` (what it consumes was locked), or ``meets`` (waits for all others).
        store: input that has the handle of what they share; -1 where attributes name it.
    """

    part: str
    store: int = 0


_ATTRIBUTES = -1

#: Every kind of operator that can wait for another of the same run, without the V2 behind its name. One that is
#: missing here can deadlock, since a GEOP starts when all its arguments are there. Python functions that wait for
#: each other cannot be told.
_ROLES: Dict[str, _Role] = {
    **dict.fromkeys(
        ("QueueEnqueue", "QueueEnqueueMany", "QueueClose", "BarrierInsertMany", "BarrierClose",
         "AccumulatorApplyGradient", "SparseAccumulatorApplyGradient", "ResourceAccumulatorApplyGradient"),
        _Role("puts"),
    ),
    **dict.fromkeys(
        ("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "BarrierTakeMany", "AccumulatorTakeGradient",
         "SparseAccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"),
        _Role("takes"),
    ),
    **dict.fromkeys(("ReaderRead", "ReaderReadUpTo"), _Role("takes", 1)),
    **dict.fromkeys(("Stage", "MapStage", "OrderedMapStage", "_Send", "_HostSend"), _Role("puts", _ATTRIBUTES)),
    **dict.fromkeys(
        ("Unstage", "StagePeek", "MapUnstage", "MapUnstageNoKey", "MapPeek", "OrderedMapUnstage",
         "OrderedMapUnstageNoKey", "OrderedMapPeek", "_Recv", "_HostRecv"),
        _Role("takes", _ATTRIBUTES),
    ),
    "MutexLock": _Role("locks"),
    "ConsumeMutexLock": _Role("frees"),
    **dict.fromkeys(
        ("CollectiveReduce", "CollectiveGather", "CollectiveBcastSend", "CollectiveBcastRecv", "CollectivePermute",
         "CollectiveReduceScatter", "CollectiveAllToAll"),
        _Role("meets", _ATTRIBUTES),
    ),
}  # fmt: skip

#: What has a handle and can be waited at, without the V2 behind its name.
_STORES = frozenset(
    ("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue", "Barrier", "Mutex",
     "ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator")
)  # fmt: skip

#: What makes an element of a data set. Which functions the data set calls was said in another run.
_ELEMENTS = ("IteratorGetNext", "MultiDeviceIteratorGetNext")

#: What a handle passes through on its way.
_PASSES = frozenset({"Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "RefMerge"})


def hidden_edges(graph: Graph, wires: Wires) -> List[Tuple[int, int]]:
    """(earlier, later) for operators that wait for each other, both ways round where either may have to wait.

    No GEOP may lie on a path from one to the other that takes such an edge: it would wait for what waits for it. Left
    out is what the graph itself orders. O(nodes + edges) beside the pairs.
    """
    stores: Dict[object, Dict[str, List[int]]] = {}
    found = False
    for node in graph.nodes:
        role = _ROLES.get(_plain(node.op))
        if role is not None:
            store = _store(graph, wires, node.id, role.store)
            stores.setdefault(store, {}).setdefault(role.part, []).append(node.id)
        found = found or _plain(node.op) in _STORES
    if found and graph.functions:
        _join_calls(graph, wires, stores)
    one_way: List[Tuple[int, int]] = []
    mutual: List[Tuple[int, int]] = []
    for parts in stores.values():
        takes, puts, locks = parts.get("takes", []), parts.get("puts", []), parts.get("locks", [])
        for take in takes if puts else ():
            after = _after(graph, wires, take)
            one_way.extend((put, take) for put in puts if put not in after)
            if any(_is_bounded(graph, wires, put) for put in puts):
                mutual.extend((take, put) for put in puts if put not in after and take not in _after(graph, wires, put))
        mutual.extend((one, other) for one in parts.get("meets", ()) for other in parts["meets"] if one != other)
        if len(locks) > 1:
            # Whoever comes first holds off the others until it frees the lock, but for those that the graph puts first.
            for lock in locks:
                after = _after(graph, wires, lock)
                mutual.extend((free, lock) for free in parts.get("frees", ()) if free not in after)
    return _without_cycles(graph, wires, one_way) + mutual


def entering(graph: Graph, frames: Sequence[Optional[Frame]]) -> List[Tuple[int, int]]:
    """(Enter, LoopCond) for every loop: it may have to wait for all that enters it before it comes to an end.

    TensorFlow begins no more than `parallel_iterations` turns before the first is over, and the first is over when all
    has entered, whatever an Exit needs of it. O(nodes).
    """
    conditions: Dict[object, int] = {frames[node.id]: node.id for node in graph.nodes if node.op == "LoopCond"}
    return [
        (node.id, conditions[frames[node.id]])
        for node in graph.nodes
        if node.op in ("Enter", "RefEnter") and frames[node.id] in conditions
    ]


def waiting(graph: Graph, wires: Wires) -> List[int]:
    """The operators that may have to wait for what other operators, or other runs, do: by themselves or in a call.

    An element of a data set may wait where a function of the graph waits.
    """
    of_functions = _parts_of_functions(graph) if graph.functions else {}
    elements = _ELEMENTS if any(of_functions.values()) else ()
    found = []
    for node in graph.nodes:
        role = _ROLES.get(_plain(node.op))
        if role is None:
            called = (node.op, *called_functions(node.proto.attr))
            waits = node.op.startswith(elements) or any(of_functions.get(name) for name in called)
        else:
            waits = role.part in ("takes", "locks") or (role.part == "puts" and _is_bounded(graph, wires, node.id))
        if waits:
            found.append(node.id)
    return found


def _plain(op: str) -> str:
    return op[:-2] if op.endswith(("V2", "V3")) else op


def _join_calls(graph: Graph, wires: Wires, stores: Dict[object, Dict[str, List[int]]]) -> None:
    """Let operators that call functions wait, where they give them a handle, as the operators in these functions do.

    An element of a data set may wait at every store for which a function of the graph has an operator.
    """
    parts = _parts_of_functions(graph)
    if not any(parts.values()):
        return
    everything = frozenset().union(*parts.values())
    elements = []
    for node in graph.nodes:
        called = [node.op, *called_functions(node.proto.attr)]
        own = frozenset().union(*(parts.get(name, frozenset()) for name in called))
        if own:
            for store in _stores_given(graph, wires, node.id):
                for part in sorted(own):
                    stores.setdefault(store, {}).setdefault(part, []).append(node.id)
        elif node.op.startswith(_ELEMENTS):
            elements.append(node.id)
    for members in stores.values():
        for part in sorted(everything) if elements else ():
            members.setdefault(part, []).extend(elements)


def _parts_of_functions(graph: Graph) -> Dict[str, FrozenSet[str]]:
    """How the operators of each function, and of those that it calls, take part in waiting."""
    parts: Dict[str, Set[str]] = {}
    callers: Dict[str, List[str]] = {}
    for name, function in graph.functions.items():
        roles = [_ROLES.get(_plain(node.op)) for node in function.proto.node_def]
        parts[name] = {role.part for role in roles if role is not None}
        for node in function.proto.node_def:
            for called in (node.op, *called_functions(node.attr)):
                if called in graph.functions:
                    callers.setdefault(called, []).append(name)
    pending = [name for name in parts if parts[name]]
    while pending:
        name = pending.pop()
        for caller in callers.get(name, ()):
            if not parts[name] <= parts[caller]:
                parts[caller] |= parts[name]
                pending.append(caller)
    return {name: frozenset(found) for name, found in parts.items()}


def _stores_given(graph: Graph, wires: Wires, node: int) -> List[object]:
    """What the handles among a node's inputs belong to."""
    positions = sorted({wires.dst_slot[edge] for edge in graph.in_edges(node) if wires.dst_slot[edge] >= 0})
    makers = {position: _handle(graph, wires, node, position) for position in positions}
    return [
        _store(graph, wires, node, position)
        for position, maker in makers.items()
        if maker >= 0 and _plain(graph.nodes[maker].op) in _STORES
    ]


def _without_cycles(graph: Graph, wires: Wires, pairs: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """The pairs that the graph leaves a choice: two queues that fill each other order nothing."""
    if not pairs:
        return pairs
    successors: List[List[int]] = [[] for _ in graph.nodes]
    for source, target in zip(wires.src, wires.dst):
        successors[source].append(target)
    for put, take in pairs:
        successors[put].append(take)
    component = components(successors)
    return [(put, take) for put, take in pairs if component[put] != component[take]]


def _store(graph: Graph, wires: Wires, node: int, position: int) -> object:
    """What names what they share: the operator its handle comes from, or attributes."""
    own = graph.nodes[node]
    if position == _ATTRIBUTES:
        if own.op.startswith("Collective"):
            return "group", own.attr("group_key"), own.attr("instance_key")
        if own.has_attr("tensor_name"):
            return "rendezvous", own.text("tensor_name")
        return "stage", own.text("container"), own.text("shared_name") or own.name
    source = _handle(graph, wires, node, position)
    if source < 0:
        return "node", node
    made = graph.nodes[source]
    return "handle", made.text("container"), made.text("shared_name") or made.name


def _handle(graph: Graph, wires: Wires, node: int, position: int) -> int:
    """The operator that made the handle at an input; -1 if there is none."""
    source = _input(graph, wires, node, position)
    while source >= 0 and (graph.nodes[source].op in _PASSES or graph.nodes[source].op == "MutexLock"):
        source = _input(graph, wires, source, 0)
    return source


def _input(graph: Graph, wires: Wires, node: int, position: int) -> int:
    for edge in graph.in_edges(node):
        if wires.dst_slot[edge] == position:
            return wires.src[edge]
    return -1


def _is_bounded(graph: Graph, wires: Wires, put: int) -> bool:
    """Whether what puts may have to wait for what takes."""
    if graph.nodes[put].has_attr("capacity"):  # staging areas: 0 is without end
        return bool(graph.nodes[put].attr("capacity") or graph.nodes[put].attr("memory_limit", 0))
    positions = {wires.dst_slot[edge] for edge in graph.in_edges(put) if wires.dst_slot[edge] >= 0}
    sources = [_handle(graph, wires, put, position) for position in positions]
    return any(source >= 0 and int(graph.nodes[source].attr("capacity", -1) or -1) > 0 for source in sources)


def _after(graph: Graph, wires: Wires, node: int) -> Set[int]:
    seen = {node}
    pending = [node]
    while pending:
        for edge in graph.out_edges(pending.pop()):
            target = wires.dst[edge]
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen
