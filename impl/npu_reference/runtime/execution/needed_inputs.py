"""What branches and loops of version 2 need of their inputs, for what a run reads of them.

TensorFlow dissolves them into Switches and Merges before it prunes a graph to what a run asks for. What leads only to
an output that nobody reads, inside as before, is then never computed: it may fail, wait for a feed or change a
variable, and no run of TensorFlow notices. A node that calls functions needs all its inputs. So what leads to nothing
is taken out of the node and of its functions.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.graphs import CONTROL_FLOW, OPS, Graph, graph_from_def
from npu_reference.partition.structure.calls import called_functions

__all__ = ["call_without_idle", "is_lowered", "only_needed", "without_idle"]

_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_LOOPS = ("While", "StatelessWhile")
#: Operators of which nobody sees whether they run. TensorFlow prunes whatever leads to nothing in what it dissolves.
_IDLE = ("Const", "Identity", "NoOp")
_LOWERED = "_lower_using_switch_merge"

#: An operator and its output; -1 where it is waited for.
_End = Tuple[str, int]
_Slots = FrozenSet[int]


class _Reached(NamedTuple):
    """What some ends need: the outputs of each operator that are read, and the arguments by position."""

    slots: Dict[str, Set[int]]
    args: Set[int]


def only_needed(graph: Graph, targets: Iterable[str]) -> Graph:
    """A closed graph without what the branches and loops of version 2 do for outputs that nobody reads.

    Args:
        graph: as ``close_over`` answers.
        targets: names of the operators that are to run.

    Returns:
        The graph itself where there is nothing to take out. Names of operators stay.
    """
    if not any(node.op in (*_BRANCHES, *_LOOPS) and is_lowered(node.proto) for node in graph.nodes):
        return graph
    graph_def = graph.to_def()
    roots = [(node.name, -1) for node in graph_def.node if node.op == "_Retval"]
    roots.extend((name, -1) for name in targets)
    needs = _Needs(graph_def.library.function)
    if needs.keep_needed(graph_def.node, roots, {}) is None:
        return graph
    graph_def.library.function.extend(needs.made.values())
    return graph_from_def(graph_def, subject=graph.subject)


def without_idle(functions: Mapping[str, Any]) -> Dict[str, Any]:
    """Functions of branches and loops without what has no effect and leads to nothing.

    TensorFlow leaves that out of every function that it calls. What it dissolves it prunes, but not where it has pruned
    the graph before (``place_pruned_graph``).

    Args:
        functions: FunctionDefs by name; they stay as they are.

    Returns:
        those made, with names of their own, by the name of what each stands for.
    """
    nodes = [node for function in functions.values() for node in function.node_def if is_lowered(node)]
    waiting = {name for node in nodes for name in called_functions(node.attr) if name in functions}
    made: Dict[str, Any] = {}
    for name in sorted(waiting):
        function = type(functions[name]).FromString(functions[name].SerializeToString())
        kept = _kept_by_calls(function, functions)
        if any(node.name not in kept and node.op not in _IDLE for node in function.node_def):
            places = (place for place, node in enumerate(function.node_def) if node.name in kept)
            _keep_items(function.node_def, frozenset(places))
            made[name] = function
    # Who has one of these inside is another, too.
    while True:
        more = {
            name: type(functions[name]).FromString(functions[name].SerializeToString())
            for name in sorted(waiting - made.keys())
            if any(is_lowered(node) and made.keys() & called_functions(node.attr) for node in functions[name].node_def)
        }
        if not more:
            break
        made.update(more)
    for name, function in made.items():
        function.signature.name = f"{name}_npu_busy"
    for function in made.values():
        for node in function.node_def:
            call_without_idle(node, made)
    return made


def call_without_idle(node: Any, made: Mapping[str, Any]) -> None:
    """Let a branch or loop call what :func:`without_idle` made."""
    if is_lowered(node):
        for value in node.attr.values():
            for function in [value.func] if value.HasField("func") else value.list.func:
                if function.name in made:
                    function.name = made[function.name].signature.name


def _kept_by_calls(function: Any, functions: Mapping[str, Any]) -> Set[str]:
    """The operators that TensorFlow runs where it calls a function."""
    nodes = {node.name: node for node in function.node_def}
    waiting = [_end(text)[0] for text in (*function.ret.values(), *function.control_ret.values())]
    waiting.extend(node.name for node in function.node_def if _runs_anyway(node, functions))
    kept: Set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in kept:
            kept.add(name)
            waiting.extend(_end(text)[0] for text in nodes[name].input)
    return kept


def _runs_anyway(node: Any, functions: Mapping[str, Any]) -> bool:
    """Whether TensorFlow runs an operator of a function that it calls, whatever it leads to."""
    if node.op in functions:
        return bool(functions[node.op].signature.is_stateful)
    op_def = OPS.get(node.op)
    return op_def is None or op_def.is_stateful or is_lowered(node) or node.op in CONTROL_FLOW


class _Needs:
    """What the functions of a library need, and those that are made of them.

    Attributes:
        made: functions with fewer arguments, results or operators, by name.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = {function.signature.name: function for function in functions}
        self._ending: Dict[str, bool] = {}
        self._known: Dict[Tuple[Tuple[str, ...], str, Optional[_Slots]], Set[int]] = {}
        self._reduced: Dict[Tuple[str, _Slots, _Slots], str] = {}
        self.made: Dict[str, Any] = {}

    # -- what is needed --------------------------------------------------------------------------------------------

    def _reach(self, nodes: Mapping[str, Any], roots: Iterable[_End], args: Mapping[str, int]) -> _Reached:
        found = _Reached({}, set())
        waiting = list(roots)
        while waiting:
            name, slot = waiting.pop()
            if name in args:
                found.args.add(args[name])
                continue
            slots = found.slots.get(name)
            if slots is not None and slot in slots:
                continue
            node = nodes.get(name)
            if node is None:
                continue  # of a body that TensorFlow will refuse
            found.slots.setdefault(name, set()).add(slot)
            if self._is_reducible(node):
                # What is fetched of one by its own name is answered with all its other outputs.
                waiting.extend(self._read_by(node, found.slots[name]))
            elif slots is None:
                ends = [_end(text) for text in node.input]
                waiting.extend((source, -1) for source, _ in ends) if node.op == "_Retval" else waiting.extend(ends)
        return found

    def _is_reducible(self, node: Any) -> bool:
        return is_lowered(node) and all(self._ends(name) for name in called_functions(node.attr))

    def _ends(self, name: str) -> bool:
        """Whether a function is there and does not come to call itself."""
        if name not in self._ending:
            self._ending[name] = False  # as long as it is being looked into
            nodes = self._functions[name].node_def if name in self._functions else ()
            called = {one for node in nodes for one in (node.op, *called_functions(node.attr))} & self._functions.keys()
            self._ending[name] = name in self._functions and all(self._ends(one) for one in sorted(called))
        return self._ending[name]

    def _read_by(self, node: Any, slots: Set[int]) -> List[_End]:
        positions = self._inputs(node, slots)
        ends = [_end(text) for text in node.input]
        return [end for place, end in enumerate(ends) if end[1] < 0 or place in positions]

    def _inputs(self, node: Any, slots: Set[int]) -> Set[int]:
        """The inputs that some outputs of a branch or loop need."""
        wanted = frozenset(slots) if -1 not in slots else None
        key = (tuple(called_functions(node.attr)), node.op, wanted)
        if key not in self._known:
            self._known[key] = self._found_inputs(node, wanted)
        return self._known[key]

    def _found_inputs(self, node: Any, wanted: Optional[_Slots]) -> Set[int]:
        if wanted is None:
            return set(range(len(node.input)))
        if node.op in _BRANCHES:
            return {0}.union(*({1 + at for at in self._of(name, wanted).args} for name in called_functions(node.attr)))
        cond, body = node.attr["cond"].func.name, node.attr["body"].func.name
        needed = set(wanted) | self._of(cond, frozenset((0,))).args
        while True:
            more = needed | self._of(body, frozenset(needed)).args
            if more == needed:
                return needed
            needed = more

    def _of(self, name: str, wanted: _Slots) -> _Reached:
        """What some results of a function need, and what it does for its own sake."""
        function = self._functions[name]
        nodes = {node.name: node for node in function.node_def}
        return self._reach(nodes, self._roots(function, wanted), self._places(name))

    def _roots(self, function: Any, wanted: _Slots) -> List[_End]:
        results = [function.ret[arg.name] for arg in function.signature.output_arg]
        roots = [_end(text) for place, text in enumerate(results) if place in wanted]
        return roots + [(text, -1) for text in function.control_ret.values()]

    def _places(self, name: str) -> Dict[str, int]:
        return {arg.name: place for place, arg in enumerate(self._functions[name].signature.input_arg)}

    # -- what is left ----------------------------------------------------------------------------------------------

    def keep_needed(
        self, nodes: Any, roots: Iterable[_End], args: Mapping[str, int], *, fewer: bool = False
    ) -> Optional[Dict[str, Dict[int, int]]]:
        """Take out of some nodes what is not needed, in place.

        Args:
            nodes: of a graph, or of a function's body.
            roots: what is asked for.
            args: the function's arguments by name, with their positions.
            fewer: whether the function loses arguments or results, which what is not needed may read.

        Returns:
            of operators with fewer outputs, where each output now is; None where nothing had to be taken out.
        """
        reached = self._reach({node.name: node for node in nodes}, roots, args)
        places: Dict[str, Dict[int, int]] = {}
        for node in nodes:
            if node.name in reached.slots and self._is_reducible(node):
                found = self._reduce(node, reached.slots[node.name])
                if found is not None:
                    places[node.name] = found
        lost = [node for node in nodes if node.name not in reached.slots]
        if not places and not fewer and all(node.op in _IDLE for node in lost):
            return None
        kept = [type(node).FromString(node.SerializeToString()) for node in nodes if node.name in reached.slots]
        for node in kept:
            if any(_end(text)[0] in places for text in node.input):
                inputs = [_moved(text, places) for text in node.input]
                del node.input[:]
                node.input.extend(inputs)
        del nodes[:]
        nodes.extend(kept)
        return places

    def _reduce(self, node: Any, slots: Set[int]) -> Optional[Dict[int, int]]:
        """Let a branch or loop read only what it needs; where its outputs are then, None where it stays as it is."""
        first = 0 if node.op in _LOOPS else 1
        data = [text for text in node.input if not text.startswith("^")]
        positions = self._inputs(node, slots)
        kept = frozenset(place - first for place in range(first, len(data)) if place in positions)
        every = range(len(node.attr["T" if node.op in _LOOPS else "Tout"].list.type))
        rets = kept if node.op in _LOOPS else frozenset(every if -1 in slots else slots)
        before = called_functions(node.attr)
        for key in sorted(node.attr):
            value = node.attr[key]
            for function in [value.func] if value.HasField("func") else value.list.func:
                function.name = self._function(function.name, kept, frozenset((0,)) if key == "cond" else rets)
        if called_functions(node.attr) == before:
            return None
        inputs = [text for place, text in enumerate(data) if place < first or place - first in kept]
        inputs.extend(text for text in node.input if text.startswith("^"))
        del node.input[:]
        node.input.extend(inputs)
        _keep(node.attr, ("Tin",), kept)
        _keep(node.attr, ("T", "Tout", "output_shapes"), rets)
        node.attr.pop("_read_only_resource_inputs", None)
        return {old: new for new, old in enumerate(sorted(rets))}

    def _function(self, name: str, args: _Slots, rets: _Slots) -> str:
        """A function with only these arguments and results, and what they need; its own name where that is all."""
        key = (name, args, rets)
        if key not in self._reduced:
            self._reduced[key] = self._made_function(name, args, rets)
        return self._reduced[key]

    def _made_function(self, name: str, args: _Slots, rets: _Slots) -> str:
        original = self._functions[name]
        function = type(original).FromString(original.SerializeToString())
        signature = function.signature
        results = [(arg.name, function.ret[arg.name]) for arg in signature.output_arg]
        fewer = len(args) < len(signature.input_arg) or len(rets) < len(results)
        places = self.keep_needed(function.node_def, self._roots(original, rets), self._places(name), fewer=fewer)
        if places is None:
            return name
        function.ret.clear()
        for place, (ret, text) in enumerate(results):
            if place in rets:
                function.ret[ret] = _moved(text, places)
        _keep_args(function, args)
        _keep_items(signature.output_arg, rets)
        # The same for every signature of a session: it says what is left.
        left = [sum(1 << place for place in some) for some in (args, rets)]
        signature.name = f"{name}_npu_needs_{left[0]:x}_{left[1]:x}"
        self.made[signature.name] = function
        return str(signature.name)


def is_lowered(node: Any) -> bool:
    """Whether TensorFlow dissolves an operator before it prunes a graph."""
    return node.op in (*_BRANCHES, *_LOOPS) and _LOWERED in node.attr and bool(node.attr[_LOWERED].b)


def _end(text: str) -> _End:
    """What an input reads, in a graph (``node:1``) as in a function (``node:output:1``)."""
    if text.startswith("^"):
        return text[1:], -1
    name, *rest = text.split(":")
    return name, int(rest[-1]) if rest else 0


def _moved(text: str, places: Mapping[str, Mapping[int, int]]) -> str:
    name, slot = _end(text)
    if slot < 0 or name not in places:
        return text
    head = text.rsplit(":", 1)[0] if ":" in text else text
    return f"{head}:{places[name][slot]}"


def _keep(attrs: Any, keys: Sequence[str], kept: _Slots) -> None:
    """Of lists in attributes only what stands at some places."""
    for key in keys:
        if key in attrs:
            for field in ("type", "shape"):
                items = getattr(attrs[key].list, field)
                if len(items):
                    _keep_items(items, kept)
            attrs[key].list.SetInParent()


def _keep_items(items: Any, kept: _Slots) -> None:
    for place in range(len(items) - 1, -1, -1):
        if place not in kept:
            del items[place]


def _keep_args(function: Any, kept: _Slots) -> None:
    count = len(function.signature.input_arg)
    _keep_items(function.signature.input_arg, kept)
    if "_input_shapes" in function.attr and len(function.attr["_input_shapes"].list.shape) == count:
        _keep(function.attr, ("_input_shapes",), kept)
    for field in ("arg_attr", "resource_arg_unique_id"):
        table = getattr(function, field, None)
        if not table:
            continue
        old = {key: type(table[key]).FromString(table[key].SerializeToString()) if field == "arg_attr" else table[key]
               for key in table}  # fmt: skip
        table.clear()
        for new, place in enumerate(sorted(kept)):
            if place in old and field == "arg_attr":
                table[new].CopyFrom(old[place])
            elif place in old:
                table[new] = old[place]
