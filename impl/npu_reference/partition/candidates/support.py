"""Which operators could be offloaded, judged each by itself: one predicate a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.catalog import OpList
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.candidates.bodies import Bodies
from npu_reference.partition.reasons import ONLY_MIXED, Cause, Reason
from npu_reference.partition.structure.calls import called_functions
from npu_reference.partition.structure.wires import RESOURCE, STRING, Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph
    from npu_reference.graphs.graph import Node

__all__ = ["ADAPTER_RULES", "DOCUMENTED_RULES", "PLACEHOLDERS", "Judge", "Rules", "Support", "whole_graph_cause"]

_VARIABLE_HANDLE = "VarHandleOp"

#: These give the handle that they were given under the same number; others, in which it is the first.
_SAME_NUMBER = ("While", "StatelessWhile", "IdentityN")
_HANDING_ON = (*_SAME_NUMBER, "Identity", "Enter", "Exit", "NextIteration", "Switch", "Merge")

#: Operators that only ever stand for a feed. (PlaceholderWithDefault computes its default.)
PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


class Support(NamedTuple):
    """What each operator's own facts say.

    `cause[node]` where it must stay on the host; `skipped` are nodes that are neither candidates nor count as
    unsupported when eviction spreads (nodes whose function holds something unsupported); constants are in neither:
    they follow their consumers.
    """

    cause: Dict[int, Cause]
    skipped: Set[int]


class Rules(NamedTuple):
    """What differs between the policies when operators are judged."""

    scope_in_full: bool  # without_npu_compile_scope also counts in full offload (the adapter's way; M17 says no)
    fifth_output: bool  # FusedBatchNormV3's fifth output (M26)
    placeholders: bool  # a Placeholder is a feed to come
    bodies: bool  # resources and the fifth output count in functions, too (M1, M22, M26); the adapter looks at its list


ADAPTER_RULES = Rules(scope_in_full=True, fifth_output=False, placeholders=False, bodies=False)
DOCUMENTED_RULES = Rules(scope_in_full=False, fifth_output=True, placeholders=True, bodies=True)


def whole_graph_cause(graph: Graph) -> Optional[Cause]:
    """Why nothing of this graph is offloaded whatever its operators are; None where it is judged by operator."""
    makes: Optional[Node] = None
    iterator: Optional[Node] = None
    for node in graph.nodes:
        op = node.op
        if op == "OutfeedDequeueOp":
            return Cause(Reason.GRAPH_EXCLUDED, f"the graph holds {node.name}, an OutfeedDequeueOp")
        if op in ("Iterator", "IteratorV2"):
            iterator = node
        elif "MakeIterator" in op:
            makes = node
        if makes is not None and iterator is not None:
            return Cause(
                Reason.GRAPH_EXCLUDED, f"the graph holds {makes.name} ({makes.op}) and the iterator {iterator.name}"
            )
    return None


class Judge:
    """Judges operators; `by_op` keeps the verdict of every operator type met."""

    def __init__(self, graph: Graph, wires: Wires, settings: PartitionSettings, op_list: OpList, rules: Rules) -> None:
        self.graph, self.wires, self.settings, self.op_list = graph, wires, settings, op_list
        self.rules = rules
        self.by_op: Dict[str, Optional[Cause]] = {}
        self.takes_functions: Dict[int, bool] = {}
        self.marked = settings.mix or rules.scope_in_full
        self.bodies = Bodies(graph.functions, op_list, settings.mix, self.marked, documented=rules.bodies)
        self.checks: List[Callable[[Node], Optional[Cause]]] = []
        if settings.mix:
            self.checks.append(self._resource_output)
            self.checks.append(self._resource_input)
            if rules.fifth_output:
                self.checks.append(self._fifth_output)

    def run(self) -> Support:
        cause: Dict[int, Cause] = {}
        skipped: Set[int] = set()
        pairs = self._iterator_pairs()
        by_op, op_cause = self.by_op, self._op_cause
        for node in self.graph.nodes:
            op = node.op
            if op == "Const" or node.id in pairs:
                continue
            if op not in by_op:
                by_op[op] = op_cause(op)
            if self._takes_functions(node):
                found = self._function(node)
                if found is not None:
                    skipped.add(node.id)
                    cause[node.id] = found
                    continue
            found = self._node_cause(node)
            if found is not None:
                cause[node.id] = found
        return Support(cause, skipped)

    def supported_alone(self) -> Dict[int, Cause]:
        """Causes by operator list and marks alone, constants included: what a range is checked against."""
        found: Dict[int, Cause] = {}
        for node in self.graph.nodes:
            op = node.op
            if op not in self.by_op:
                self.by_op[op] = self._op_cause(op)
            cause = self.by_op[op] or self._marked(node)
            if cause is None and self._takes_functions(node):
                cause = self._function(node)
            if cause is not None:
                found[node.id] = cause
        return found

    # -- by operator -------------------------------------------------------------------------------------------

    def _op_cause(self, op: str) -> Optional[Cause]:
        if op == "_Arg":
            return Cause(Reason.FEED, "an argument of the graph")
        if op == "_Retval":
            return Cause(Reason.FETCH, "a result of the graph")
        if self.rules.placeholders and op in PLACEHOLDERS:
            return Cause(Reason.FEED, "a placeholder, to be fed")
        if op.endswith(("Dataset", "DatasetV2")):
            return Cause(Reason.DATASET, f"{op} is part of an input pipeline")
        if op == "StringJoin":
            return Cause(Reason.STRING_JOIN, "StringJoin is never offloaded")
        if op in self.bodies:
            return None
        if self.settings.variables_on_host and (op.startswith("Variable") or op == _VARIABLE_HANDLE):
            return Cause(Reason.VARIABLE_PLACEMENT, "variable_placement is Host")
        entry = self.op_list.get(op)
        if entry is None:
            return Cause(Reason.NOT_SUPPORTED, f"{self.op_list.name} has no entry for {op}")
        if entry.is_gray and self.settings.mix:
            return Cause(Reason.GRAY, f"{self.op_list.name} marks {op} as gray")
        return None

    # -- by node -----------------------------------------------------------------------------------------------

    def _node_cause(self, node: Node) -> Optional[Cause]:
        found = self.by_op[node.op] or self._marked(node)
        if found is not None:
            return found
        if node.op in self.bodies:
            culprit = self.bodies.culprit(node.op)
            if culprit is not None:
                return _function_cause(node, culprit)
        for check in self.checks:
            found = check(node)
            if found is not None:
                return found
        return None

    def _marked(self, node: Node) -> Optional[Cause]:
        if self.marked and node.has_attr("_without_npu_compile") and node.attr("_without_npu_compile") is True:
            return Cause(Reason.SCOPE, "built inside without_npu_compile_scope")
        return None

    def _takes_functions(self, node: Node) -> bool:
        op_def = self.graph.op_def(node.id)
        known = self.takes_functions.get(id(op_def))
        if known is None:
            known = any(attr.type in ("func", "list(func)") for attr in op_def.attrs.values())
            self.takes_functions[id(op_def)] = known
        return known

    def _function(self, node: Node) -> Optional[Cause]:
        for name in called_functions(node.proto.attr):
            culprit = self.bodies.culprit(name)
            if culprit is not None:
                return _function_cause(node, culprit)
        return None

    def _resource_input(self, node: Node) -> Optional[Cause]:
        wires = self.wires
        if not wires.outputs:
            return None
        for edge in self.graph.in_edges(node.id):
            if wires.kind[edge] == RESOURCE:
                source = self.graph.nodes[wires.src[edge]]
                if self._of_variable(source.id, wires.src_slot[edge]):
                    return None
                detail = f"it uses the resource of {source.name} ({source.op}), not a variable's own handle"
                return Cause(Reason.RESOURCE, detail)
        return None

    def _resource_output(self, node: Node) -> Optional[Cause]:
        kinds = self.wires.outputs.get(node.id)
        if kinds is None or RESOURCE not in kinds:
            return None
        if all(self._of_variable(node.id, slot) for slot, kind in enumerate(kinds) if kind == RESOURCE):
            return None
        return Cause(Reason.RESOURCE, f"{node.op} gives a resource that is not a variable")

    def _of_variable(self, node: int, slot: int) -> bool:
        """Whether a resource is a variable's own handle: that of its operator, or one that a loop hands on (M1).

        The adapter asks the operator alone, as it asks its list alone of functions.
        """
        seen = set()
        while self.rules.bodies and self.graph.nodes[node].op in _HANDING_ON and (node, slot) not in seen:
            seen.add((node, slot))
            slot = slot if self.graph.nodes[node].op in _SAME_NUMBER else 0
            edge = next(e for e in self.graph.in_edges(node) if self.wires.dst_slot[e] == slot)
            node, slot = self.wires.src[edge], self.wires.src_slot[edge]
        return self.graph.nodes[node].op == _VARIABLE_HANDLE

    def _fifth_output(self, node: Node) -> Optional[Cause]:
        if node.op != "FusedBatchNormV3":
            return None
        wires = self.wires
        for edge in self.graph.out_edges(node.id):
            if wires.src_slot[edge] == 5:
                reader = self.graph.nodes[wires.dst[edge]]
                return Cause(Reason.FIFTH_OUTPUT, f"{reader.name} ({reader.op}) uses reserve_space_3")
        return None

    def _iterator_pairs(self) -> Set[int]:
        """Iterators with their IteratorGetNext, and AdpGetNext, which data preprocessing offloads.

        Not those that give strings: no device holds one.
        """
        found: Set[int] = set()
        if not self.settings.data_pre_proc:
            return found
        for node in self.graph.nodes:
            if node.op == "AdpGetNext":
                found.add(node.id)
            elif node.op in ("Iterator", "IteratorV2"):
                readers = self._readers(node.id, "IteratorGetNext")
                if readers:
                    found.add(node.id)
                    found.update(readers)
        return found

    def _readers(self, node: int, op: str) -> Sequence[int]:
        readers = (self.wires.dst[edge] for edge in self.graph.out_edges(node))
        return [
            reader
            for reader in readers
            if self.graph.nodes[reader].op == op and STRING not in self.wires.outputs.get(reader, ())
        ]


def _function_cause(node: Node, culprit: Tuple) -> Cause:
    path, op, reason = culprit
    words = {
        Reason.NOT_SUPPORTED: "the operator list has no entry for it",
        Reason.GRAY: "the operator list marks it as gray",
        Reason.SCOPE: "it was built inside without_npu_compile_scope",
        Reason.RESOURCE: "resources other than variables stay in the framework",
        Reason.FIFTH_OUTPUT: "its fifth output is read",
    }
    remedies = {
        Reason.GRAY: f"{ONLY_MIXED}take the operator named last out of the function.",
        Reason.SCOPE: "Build the operator named last outside of without_npu_compile_scope.",
    }
    detail = f"{' -> '.join(path)} is a {op}: {words[reason]}"
    return Cause(Reason.FUNCTION, detail, -1, (*path, op), remedies.get(reason, ""))
