"""In which order the collectives of a GEOP run: one after the other, in the graph's order, as in one stream.

Every rank then comes to them in the same order, and none of its threads waits in one while another rank waits in the
next: that could never end. In a loop of version 1 they do so turn by turn, also on the host: a rank that is a turn
ahead of itself would bring what belongs to the next.

Where nothing branches each waits for the one before it. What waits for something that does not run, in a branch of
version 1 that is not taken, would not run either; there a token is handed from one to the next, past what does not run.

What a GEOP calls runs one call after the other, too: beside one that fails no other may begin, since TensorFlow ends
that one as cancelled, and hears of it first.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

from npu_reference.compiler.orders import smallest_first
from npu_reference.graphs import OPS, DType, Frame, Graph, frames, graph_from_def
from npu_reference.runtime.execution.liveness import conditions, predicate

__all__ = ["calls_in_order", "in_order"]

_ENTERS = ("Enter", "RefEnter")
_BACK = ("NextIteration", "RefNextIteration")
_BRANCHES = ("Switch", "RefSwitch")

#: Names of the operators that hand the token on begin so.
_PREFIX = "npu_order/"

#: What an operator runs under: what decides a Switch (node, slot), and the side.
_Condition = Tuple[int, int, int]


def in_order(graph_def: Any, token: str) -> int:
    """Let the operators that exchange data wait for each other: in every function of a graph, and in its loops.

    Args:
        graph_def: the partitioned graph; changed in place.
        token: what the tokens of the Python functions that exchange data begin with.

    Returns:
        How many operators of the graph itself may exchange data, each beside the others.
    """
    functions = graph_def.library.function
    holders = _holders(functions, token)
    held = [function for function in functions if function.signature.name in holders]
    outside = {node.name for node in graph_def.node if _exchanges(node, holders, token)}
    branching = [function for function in held if _branches(function.node_def)]
    loops = bool(outside) and any(node.op in _ENTERS for node in graph_def.node)
    whole = graph_from_def(graph_def, subject="partitioned graph") if branching or loops else None
    for function in held:
        chosen = {node.name for node in function.node_def if _exchanges(node, holders, token)}
        if whole is not None and _branches(function.node_def):
            body = whole.functions[function.signature.name].body
            _wait_for(function, _Handing(function.node_def, body, chosen, of_function=True).through())
        else:
            _chain(function.node_def, chosen)
            _wait_for(function, chosen)
    if whole is not None and loops:
        _Handing(graph_def.node, whole, outside, of_function=False).through_loops()
    return len(outside)


def calls_in_order(graph_def: Any, geops: Iterable[str]) -> None:
    """Let the calls of functions, branches and loops in a body wait for each other, in GEOPs and in what they call.

    Bodies with control flow of version 1 stay as they are, and calls that nothing waits for do not come to run.

    Args:
        graph_def: the partitioned graph; changed in place.
        geops: names of the functions that are bodies of GEOPs.
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    names = list(geops)
    if len(functions) == len(names):
        return  # nothing to call
    for function in _reached(functions, names):
        calls = {node.name for node in function.node_def if any(name in functions for name in _called(node))}
        if len(calls) > 1 and not _branches(function.node_def):
            _chain(function.node_def, calls & _needed(function))


def _reached(functions: Dict[str, Any], names: Iterable[str]) -> Iterator[Any]:
    """Some functions and those that they call, each once."""
    waiting = list(names)
    seen: Set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in seen:
            seen.add(name)
            waiting.extend(called for node in functions[name].node_def for called in _called(node))
            yield functions[name]


def _needed(function: Any) -> Set[str]:
    """The operators of a body that lead to what it returns or is waited for."""
    nodes = {node.name: node for node in function.node_def}
    waiting = [text.split(":", 1)[0] for text in (*function.ret.values(), *function.control_ret.values())]
    seen: Set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            waiting.extend(text.lstrip("^").split(":", 1)[0] for text in nodes[name].input)
    return seen


def _branches(nodes: Any) -> bool:
    return any(node.op in _BRANCHES or node.op in _ENTERS for node in nodes)


def _holders(functions: Any, token: str) -> Set[str]:
    """The functions in which, or in what they call, data are exchanged."""
    callers: Dict[str, List[str]] = {}
    found: List[str] = []
    for function in functions:
        name = function.signature.name
        for node in function.node_def:
            if _is_exchange(node, token):
                found.append(name)
            for called in _called(node):
                callers.setdefault(called, []).append(name)
    holders = set(found)
    while found:
        fresh = [caller for caller in callers.get(found.pop(), ()) if caller not in holders]
        holders.update(fresh)
        found.extend(fresh)
    return holders


def _is_exchange(node: Any, token: str) -> bool:
    return node.op.startswith("PyFunc") and node.attr["token"].s.decode().startswith(token)


def _called(node: Any) -> List[str]:
    names = [node.op]
    if not _takes_functions(node.op):
        return names
    for value in node.attr.values():
        names.extend([value.func.name] if value.HasField("func") else [one.name for one in value.list.func])
    return names


@lru_cache(maxsize=4096)
def _takes_functions(op: str) -> bool:
    """Whether an operator has attributes that name functions; of what is no operator that is not known."""
    op_def = OPS.get(op)
    return op_def is None or any(attr.type in ("func", "list(func)") for attr in op_def.attrs.values())


def _exchanges(node: Any, holders: Set[str], token: str) -> bool:
    return _is_exchange(node, token) or any(name in holders for name in _called(node))


def _chain(nodes: Any, chosen: Set[str]) -> None:
    before = None
    for position in _sorted(nodes) if len(chosen) > 1 else ():
        if nodes[position].name in chosen:
            if before is not None:
                _add_control(nodes[position], nodes[before].name)
            before = position


def _add_control(node: Any, name: str) -> None:
    if f"^{name}" not in node.input:
        node.input.append(f"^{name}")


def _wait_for(function: Any, names: Set[str]) -> None:
    """Let who waits for a call of the function wait for what it exchanges: TensorFlow runs a body in place."""
    for name in sorted(names):
        if name not in function.control_ret:
            function.control_ret[name] = name
            function.signature.control_output.append(name)


def _sorted(nodes: Any) -> List[int]:
    """Positions in topological order, of those that could come next the one that stands first."""
    places = {node.name: position for position, node in enumerate(nodes)}
    sources = ({text.lstrip("^").split(":", 1)[0] for text in node.input} for node in nodes)
    return smallest_first([[places[source] for source in found if source in places] for found in sources])


class _Handing:
    """Hands a token from one operator to the next, through branches and loops of version 1.

    Args:
        nodes: of a function's body, or of the graph; they are changed, and those that hand the token on are added.
        graph: the same as a graph, as it was.
        chosen: names of the operators that are put in order.
        of_function: whether inputs are named as in a function's body.
    """

    def __init__(self, nodes: Any, graph: Graph, chosen: Set[str], *, of_function: bool) -> None:
        self._nodes = nodes
        self._graph = graph
        self._of_function = of_function
        self._protos = {node.name: node for node in nodes}
        self._frames = frames(graph)
        self._conditions = conditions(graph)
        self._chosen = [graph.index[name] for name in sorted(chosen)]
        #: What decides whether a loop has a further turn.
        self._deciding: Dict[Optional[Frame], int] = {
            self._frames[node.id]: node.id for node in graph.nodes if node.op == "LoopCond"
        }
        #: The loops in which, or in loops in which, there is one of them.
        self._loops: Set[Frame] = set()
        for number in self._chosen:
            frame = self._frames[number]
            while frame in self._deciding and frame is not None:
                self._loops.add(frame)
                frame = frame.parent
        self._deciders = self._found_deciders()
        self._count = 0

    def through(self) -> Set[str]:
        """Put all of them in order; answers the last operator, which always runs."""
        last = self._operators(None, self._items(None), self._begin())
        return {last.partition(":")[0]}

    def through_loops(self) -> None:
        """Put those in loops in order, each loop for itself."""
        for item in self._items(None):
            if isinstance(item, Frame):
                self._loop(item, self._begin())

    # -- what comes after what -----------------------------------------------------------------------------------------

    def _items(self, frame: Optional[Frame]) -> List[Any]:
        """The operators, and the loops as wholes, that follow each other in a frame, in topological order."""
        graph = self._graph
        homes = [self._home(number, frame) for number in range(len(graph.nodes))]
        first: Dict[Any, int] = {}
        for number, home in enumerate(homes):
            if home is not None:
                first.setdefault(home, number)
        before: List[Set[int]] = [set() for _ in graph.nodes]
        for number, home in enumerate(homes):
            if home is None:
                continue
            for edge in graph.in_edges(number):
                source = graph.edges.src[edge]
                if homes[source] is None or homes[source] == home or graph.nodes[source].op in _BACK:
                    continue
                before[first[home]].add(first[homes[source]])
        chosen = set(self._chosen)
        order = (homes[number] for number in smallest_first(before) if first.get(homes[number]) == number)
        return [home for home in order if home in chosen or (isinstance(home, Frame) and home in self._loops)]

    def _home(self, number: int, frame: Optional[Frame]) -> Any:
        """What an operator is in a frame: itself, or the loop there that it is in; None where it is outside."""
        found = self._frames[number]
        if found is frame:
            return number
        while found is not None and found.parent is not frame:
            found = found.parent
        return found

    def _of_turn(self, frame: Frame) -> Set[int]:
        """The operators of a loop that run only where there is a further turn."""
        graph = self._graph
        decides = self._deciding[frame]
        seen: Set[int] = set()
        for node in graph.nodes:
            if node.op in _BRANCHES and (predicate(graph, node.id) or (None,))[0] == decides:
                seen.add(node.id)
        waiting = sorted(seen)
        while waiting:
            number = waiting.pop()
            if graph.nodes[number].op in _BACK:
                continue
            for edge in graph.out_edges(number):
                reader = graph.edges.dst[edge]
                if reader not in seen and self._home(reader, frame) is not None:
                    seen.add(reader)
                    waiting.append(reader)
        return seen

    # -- handing on ----------------------------------------------------------------------------------------------------

    def _operators(self, frame: Optional[Frame], items: List[Any], token: str) -> str:
        for item in items:
            if isinstance(item, Frame):
                token = self._where_it_runs(self._deciding[item], frame, token, partial(self._loop, item))
            else:
                token = self._where_it_runs(item, frame, token, partial(self._operator, item))
        return token

    def _operator(self, number: int, token: str) -> str:
        waits = self._add("Identity", [token])
        node = self._protos[self._graph.nodes[number].name]
        _add_control(node, waits)
        return self._output(self._add("Identity", [self._output(waits), f"^{node.name}"]))

    def _loop(self, frame: Frame, token: str) -> str:
        decides = self._deciding[frame]
        enter = next(n.name for n in self._graph.nodes if n.op in _ENTERS and self._frames[n.id] is frame)
        entered = self._add("Enter", [token])
        for name in ("frame_name", "parallel_iterations"):
            self._protos[entered].attr[name].CopyFrom(self._protos[enter].attr[name])
        merge = self._add("Merge", [self._output(entered), ""])
        turn, items = self._of_turn(frame), self._items(frame)
        within = [(self._deciding[item] if isinstance(item, Frame) else item) in turn for item in items]
        test = [item for item, inside in zip(items, within) if not inside]
        token = self._operators(frame, test, self._output(merge))
        switch = self._add("Switch", [token, self._output(self._graph.nodes[decides].name)])
        begun = self._output(self._add("Identity", [self._side(switch, 1)]))
        token = self._operators(frame, [item for item, inside in zip(items, within) if inside], begun)
        self._protos[merge].input[1] = self._output(self._add("NextIteration", [token]))
        return self._output(self._add("Exit", [self._side(switch, 0)]))

    def _where_it_runs(self, number: int, frame: Optional[Frame], token: str, hand: Callable[[str], str]) -> str:
        """Hand the token to what runs under conditions where they hold, and past it where they do not."""
        past: List[str] = []
        for decider, slot, side in self._under(number, frame):
            switch = self._add("Switch", [token, self._deciders[decider, slot][1]])
            past.append(self._side(switch, 1 - side))
            token = self._side(switch, side)
        token = hand(token)
        for other in reversed(past):
            token = self._output(self._add("Merge", [token, other]))
        return token

    def _under(self, number: int, frame: Optional[Frame]) -> List[_Condition]:
        """The conditions of a frame under which an operator runs, the outermost first."""
        found: FrozenSet[_Condition] = self._conditions[number] or frozenset()
        here = [one for one in found if self._deciders[one[:2]][2] is frame]
        return sorted(here, key=lambda one: (self._deciders[one[:2]][0], one))

    def _found_deciders(self) -> Dict[Tuple[int, int], Tuple[int, str, Optional[Frame]]]:
        """Of what decides Switches: under how many conditions it is there, what they call it, and in which frame."""
        result: Dict[Tuple[int, int], Tuple[int, str, Optional[Frame]]] = {}
        for node in self._graph.nodes:
            decides = predicate(self._graph, node.id) if node.op in _BRANCHES else None
            if decides is not None:
                depth = len(self._conditions[node.id] or ())
                if decides not in result or depth < result[decides][0]:
                    result[decides] = (depth, self._protos[node.name].input[1], self._frames[node.id])
        return result

    # -- operators -----------------------------------------------------------------------------------------------------

    def _begin(self) -> str:
        """The token. A constant would be folded, and what hands it on with it."""
        start = self._add("Const", [])
        tensor = self._protos[start].attr["value"].tensor
        tensor.dtype = DType.BOOL.number
        tensor.tensor_shape.SetInParent()
        tensor.bool_val.append(True)
        return self._output(self._add("PlaceholderWithDefault", [self._output(start)]))

    def _add(self, op: str, inputs: List[str]) -> str:
        name = f"{_PREFIX}{self._count}"
        self._count += 1
        node = self._nodes.add(name=name, op=op, input=inputs)
        node.attr["dtype" if op in ("Const", "PlaceholderWithDefault") else "T"].type = DType.BOOL.number
        if op == "PlaceholderWithDefault":
            node.attr["shape"].shape.SetInParent()
        elif op == "Merge":
            node.attr["N"].i = 2
        elif op == "Enter":
            node.attr["is_constant"].b = False
        self._protos[name] = node
        return name

    def _output(self, name: str) -> str:
        return f"{name}:output:0" if self._of_function else f"{name}:0"

    def _side(self, switch: str, side: int) -> str:
        return f"{switch}:output_{'true' if side else 'false'}:0" if self._of_function else f"{switch}:{side}"
