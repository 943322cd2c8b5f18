"""How often every operator runs, and in which branch of which conditional: loops by their counters, choices by their
Switches."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.compiler.functions import Branch, Flat, tensor_name
from npu_reference.compiler.orders import smallest_first
from npu_reference.graphs import Frame, Graph, frames
from npu_reference.graphs.shaping.inference import Shapes
from npu_reference.graphs.wiring import Wiring

__all__ = ["Control", "Loop", "control_of", "in_order", "turns_of"]

_PASS = ("Identity", "IdentityN", "Enter", "RefEnter", "StopGradient", "Cast", "Squeeze", "Reshape")
_BACK = ("NextIteration", "RefNextIteration")
_SWITCHES = ("Switch", "RefSwitch")
_MERGES = ("Merge", "RefMerge")
_EXITS = ("Exit", "RefExit")
_BELOW = {"Less": 0, "LessEqual": 1, "Greater": 0, "GreaterEqual": 1}
_MOST_STEPS = 64  # operators between a counter and what it is compared with (assumed)
_MOST_TURNS = 10**9  # beyond, a counter is no count of turns that anybody waits for (assumed)


class Loop(NamedTuple):
    """One loop: its name, the turns that are counted, and how they are known.

    how: ``stated`` by the loop's counter; ``at_most``, where another condition may end it earlier; ``unknown``, then
    one turn is counted.
    """

    name: str
    turns: int
    how: str


class Control(NamedTuple):
    """How often operators run.

    Attributes:
        turns: by node, how often it runs in a step; frame: the loop it is in, or empty.
        branches: by node, the branches of conditionals it stands in, the outermost first.
        loops: all loops, in the order of their first nodes.
        asks: Switch of a conditional to the name of what decides it; its outputs are the branches.
    """

    turns: Sequence[int]
    frame: Sequence[str]
    branches: Sequence[Tuple[Branch, ...]]
    loops: Tuple[Loop, ...]
    asks: Dict[int, str]


def control_of(flat: Flat, shapes: Shapes) -> Control:
    """The control flow of a flat graph. O(V + E)."""
    graph = flat.graph
    count = len(graph.nodes)
    ops = {node.op for node in graph.nodes}
    if not ops & {"Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "RefMerge"}:
        return Control([1] * count, [""] * count, flat.branches, (), {})
    wiring = Wiring(graph)
    framed = frames(graph) if ops & {"Enter", "RefEnter"} else [None] * count
    counting = _Counting(graph, shapes, wiring, framed)
    loops: Dict[str, Loop] = {}
    for frame in framed:
        if frame is not None and frame.name not in loops:
            loops[frame.name] = counting.loop(frame)
    turns, names = [], []
    for frame in framed:
        total, at = 1, frame
        while at is not None:
            total *= max(loops[at.name].turns, 1)
            at = at.parent
        turns.append(min(total, _MOST_TURNS))
        names.append("" if frame is None else frame.name)
    choices = [node.id for node in graph.nodes if node.op in _SWITCHES and not _of_loop(graph, wiring, node.id)]
    asks = {switch: _predicate(graph, wiring, switch) for switch in choices}
    return Control(turns, names, _branches(flat, wiring, asks), tuple(loops.values()), asks)


class _Counting:
    """Turns of loops, from what their conditions compare."""

    def __init__(self, graph: Graph, shapes: Shapes, wiring: Wiring, framed: Sequence[Optional[Frame]]) -> None:
        self.graph, self.shapes, self.inputs, self.framed = graph, shapes, wiring.inputs, framed
        self.known: Dict[str, Loop] = {}
        self.looking: Set[str] = set()
        self.conditions: Dict[str, int] = {}
        for node in graph.nodes:
            frame = framed[node.id]
            if node.op == "LoopCond" and frame is not None:
                self.conditions.setdefault(frame.name, node.id)

    def loop(self, frame: Frame) -> Loop:
        if frame.name not in self.known:
            if frame.name in self.looking:
                return Loop(frame.name, 1, "unknown")
            self.looking.add(frame.name)
            found, sure = None, False
            condition = self.conditions.get(frame.name)
            if condition is not None:
                found, sure = self._turns(self.inputs[condition][0])
            how = "unknown" if found is None else "stated" if sure else "at_most"
            self.known[frame.name] = Loop(frame.name, 1 if found is None else found, how)
        return self.known[frame.name]

    def _turns(self, at: Tuple[int, int]) -> Tuple[Optional[int], bool]:
        """Turns until a condition fails, and whether it is all that ends the loop."""
        at = self._behind(at)
        node = self.graph.nodes[at[0]]
        reads = self.inputs[at[0]]
        if node.op == "LogicalAnd":
            parts = [self._turns(read) for read in reads]
            known = [turns for turns, _ in parts if turns is not None]
            return (min(known) if known else None), len(known) == 2 and all(sure for _, sure in parts)
        if node.op not in _BELOW:
            return None, False
        left, right = reads
        counter, limit, up = self._counter(left), self._value(right), node.op.startswith("Less")
        if counter is None or limit is None:
            counter, limit, up = self._counter(right), self._value(left), not up
        if counter is None or limit is None:
            return None, False
        first, step = counter
        away = limit - first if up else first - limit
        if (step if up else -step) <= 0:
            return None, False
        turns = -(-(away + _BELOW[node.op]) // abs(step))
        return (max(turns, 0), True) if turns <= _MOST_TURNS else (None, False)

    def _behind(self, at: Tuple[int, int]) -> Tuple[int, int]:
        """Where a value comes from, through what hands it on."""
        for _ in range(_MOST_STEPS):
            node = self.graph.nodes[at[0]]
            reads = self.inputs[at[0]]
            if node.op in _PASS and reads:
                at = reads[at[1] if node.op == "IdentityN" else 0]
            elif node.op == "Switch":
                at = reads[0]
            else:
                break
        return at

    def _counter(self, at: Tuple[int, int]) -> Optional[Tuple[int, int]]:
        """(first value, what is added a turn) of a loop's counter."""
        at = self._behind(at)
        merge = at[0]
        if self.graph.nodes[merge].op != "Merge" or len(self.inputs[merge]) != 2:
            return None
        enter, back = self.inputs[merge]
        if self.graph.nodes[back[0]].op != "NextIteration":
            return None
        first = self._value(enter)
        made = self._behind(self.inputs[back[0]][0])
        op, reads = self.graph.nodes[made[0]].op, self.inputs[made[0]]
        if first is None or op not in ("Add", "AddV2", "Sub") or len(reads) != 2:
            return None
        for own, other in ((0, 1), (1, 0)):
            step = self._value(reads[other])
            if step is not None and self._behind(reads[own]) == (merge, 0) and not (op == "Sub" and own):
                return first, -step if op == "Sub" else step
        return None

    def _value(self, at: Tuple[int, int]) -> Optional[int]:
        """The whole number of a scalar that is known before the graph runs."""
        for _ in range(_MOST_STEPS):
            known = self.shapes.value(*at)
            if known is not None and len(known) == 1 and known[0] is not None:
                return known[0]
            node, reads = self.graph.nodes[at[0]], self.inputs[at[0]]
            if node.op == "Exit":
                return self._left(at[0])
            if node.op == "Merge":
                entered = self._unchanged(at[0])
                if entered is None:
                    return None
                at = entered
            elif node.op in _PASS and reads:
                at = reads[at[1] if node.op == "IdentityN" else 0]
            elif node.op == "Switch":
                at = reads[0]
            else:
                return None
        return None

    def _unchanged(self, merge: int) -> Optional[Tuple[int, int]]:
        """What enters a loop and stays as it is in every turn."""
        reads = self.inputs[merge]
        if len(reads) != 2 or self.graph.nodes[reads[1][0]].op != "NextIteration":
            return None
        again = self._behind(self.inputs[reads[1][0]][0])
        return reads[0] if again == (merge, 0) else None

    def _left(self, exit_: int) -> Optional[int]:
        """What a counter has when its loop ends."""
        merge = self._behind(self.inputs[exit_][0])
        frame = self.framed[merge[0]]
        if frame is None:
            return None
        loop, counter = self.loop(frame), self._counter(merge)
        if counter is None or loop.how == "unknown":
            return None
        return counter[0] + loop.turns * counter[1]


def _branches(flat: Flat, wiring: Wiring, asks: Dict[int, str]) -> List[Tuple[Branch, ...]]:
    """Beside the branches of calls, those of v1 conditionals: behind a side of a Switch, until a Merge joins both."""
    if not asks:
        return list(flat.branches)
    graph = flat.graph
    edges = graph.edges
    controls: List[List[int]] = [[] for _ in graph.nodes]
    for src, dst, slot in zip(edges.src, edges.dst, edges.dst_slot):
        if slot < 0:
            controls[dst].append(src)
    found: List[Optional[Dict[str, int]]] = [None] * len(graph.nodes)
    nothing: Dict[str, int] = {}
    before = [[src for src, _ in reads] + waits for reads, waits in zip(wiring.inputs, controls)]
    for node in in_order(graph, before):
        one = graph.nodes[node]
        parts = [_side(asks, found, src, slot) for src, slot in wiring.inputs[node]]
        parts += [found[src] for src in controls[node]]
        known = [part for part in parts if part is not None]
        if one.op in _MERGES:
            own = dict(known[0]) if known else nothing
            for part in known[1:]:
                own = {key: side for key, side in own.items() if part.get(key) == side}
        elif not any(known):
            own = nothing
        else:
            own = {}
            for part in known:
                own.update(part)
        found[node] = own
    return [
        (*of_call, *sorted((own or nothing).items())) if own else of_call
        for of_call, own in zip(flat.branches, found)
    ]  # fmt: skip


def _side(
    asks: Dict[int, str], found: Sequence[Optional[Dict[str, int]]], src: int, slot: int
) -> Optional[Dict[str, int]]:
    known = found[src]
    return known if known is None or src not in asks else {**known, asks[src]: slot}


def _predicate(graph: Graph, wiring: Wiring, switch: int) -> str:
    """What a Switch asks, by the name of the tensor that decides."""
    node, slot = wiring.inputs[switch][1]
    for _ in range(_MOST_STEPS):
        if graph.nodes[node].op != "Identity" or not wiring.inputs[node]:
            break
        node, slot = wiring.inputs[node][0]
    return tensor_name(graph, node, slot)


def _of_loop(graph: Graph, wiring: Wiring, switch: int) -> bool:
    return _asks_loop(graph, wiring.inputs[switch])


def _asks_loop(graph: Graph, reads: Sequence[Tuple[int, int]]) -> bool:
    return len(reads) > 1 and graph.nodes[reads[1][0]].op == "LoopCond"


def turns_of(graph: Graph, reads: Sequence[Sequence[Tuple[int, int]]]) -> Dict[int, List[int]]:
    """By Exit, what begins the next turns of its loop: what is behind an Exit waits for the last turn. O(V + E).

    Args:
        reads: by node, its data inputs as (node, slot).
    """
    ends: Dict[int, List[int]] = {}  # LoopCond -> what begins the next turns of its loop
    for node in graph.nodes:
        if node.op in _SWITCHES and _asks_loop(graph, reads[node.id]):
            found = ends.setdefault(reads[node.id][1][0], [])
            found += [src for src, _ in reads[reads[node.id][0][0]] if graph.nodes[src].op in _BACK]
    switches = {node.id: reads[node.id][0][0] for node in graph.nodes if node.op in _EXITS}
    return {
        exit_: ends.get(reads[switch][1][0], [])
        for exit_, switch in switches.items()
        if _asks_loop(graph, reads[switch])
    }


def in_order(graph: Graph, before: Sequence[Sequence[int]]) -> List[int]:
    """All nodes, each after those before it, back edges of loops aside; ties by place in the graph."""
    return smallest_first(
        [
            [src for src in before[node.id] if graph.nodes[src].op not in _BACK or node.op not in _MERGES]
            for node in graph.nodes
        ]
    )
