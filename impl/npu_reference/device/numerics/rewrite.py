"""How a partitioned graph is made to compute at its assignment: the bodies of its GEOPs and what they call."""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from npu_reference.device.numerics import floatstatus
from npu_reference.device.numerics.body import Decision, compute_as_decided
from npu_reference.device.numerics.called import CalledCopies
from npu_reference.device.numerics.editing import one_turn_at_a_time
from npu_reference.device.numerics.own_operators import OwnOperators
from npu_reference.device.numerics.status import FloatStatus
from npu_reference.graphs import COPY_MARK
from npu_reference.partition import Partition
from npu_reference.partition.model import Geop
from npu_reference.precision import Assignment

__all__ = ["rewrite"]


def rewrite(
    graph_def: Any, partition: Partition, assignment: Assignment, status: FloatStatus, feeds: Sequence[str] = ()
) -> None:
    """Rewrite the GEOPs of a partitioned graph in place.

    Args:
        graph_def: what :func:`npu_reference.partition.building.build` made of the partition.
        partition: which operators each GEOP holds.
        assignment: the dtypes of its operators.
        status: the device's overflow flag.
        feeds: the tensors fed, in the order of the graph's _Arg nodes, by which overflow is recorded.

    Ensures: arguments and returns of GEOPs keep their types; functions that host operators call, too, are not
    changed: GEOPs call copies. The same partition and assignment give the same bytes within a session. O(graph).
    """
    _Rewriter(graph_def, partition, assignment, status, feeds).run()


class _Rewriter:
    def __init__(
        self, graph_def: Any, partition: Partition, assignment: Assignment, status: FloatStatus, feeds: Sequence[str]
    ) -> None:
        self.feeds = feeds
        self.graph_def = graph_def
        self.partition = partition
        self.status = status
        self.functions: Dict[str, Any] = {f.signature.name: f for f in graph_def.library.function}
        self.operators = OwnOperators(self.functions)
        self.decisions: Dict[str, Dict[str, Decision]] = {}
        for node in assignment.nodes:
            name = node.node if node.function is None else node.node[len(node.function) + 1 :]
            own = self.decisions.setdefault(node.function or "", {})
            own[name] = Decision(node.engine, tuple(node.inputs), tuple(node.outputs), node.impl_mode)
        self.copies = CalledCopies(self.functions, f"__npu_{_digest(self.decisions)}", self._is_copied)

    def run(self) -> None:
        owned = floatstatus.owners(self.partition.graph)
        pending: List[Tuple[str, Any]] = []
        if self.partition.geops:
            # A loop of the host calls GEOPs: what overflows in a turn does so before anything behind the loop.
            one_turn_at_a_time(self.graph_def.node)
        for geop in self.partition.geops:
            body = self.functions[geop.name]
            one_turn_at_a_time(body.node_def)
            pending.extend(self.copies.call(body))
            decided = dict(self.decisions.get("", {}))
            for copy in geop.copies:
                original = self.partition.graph.nodes[copy.node].name
                if original in decided:
                    decided[copy.name] = decided[original]
            for name in floatstatus.install(body, self.status, owned):
                decided.pop(name, None)
            compute_as_decided(body, decided, self.status, owner=self._owner(geop, body), operators=self.operators)
        while pending:
            name, body = pending.pop()
            one_turn_at_a_time(body.node_def)
            pending.extend(self.copies.call(body))
            if COPY_MARK in body.attr:
                name = body.attr[COPY_MARK].s.decode()
            decided = dict(self.decisions.get(name, {}))
            for status_op in floatstatus.install(body, self.status, {}):
                decided.pop(status_op, None)
            compute_as_decided(body, decided, self.status, owner=_owner(name), operators=self.operators)
        self.graph_def.library.function.extend([*self.copies.made.values(), *self.operators.made])

    def _is_copied(self, node: Any, name: str) -> bool:
        """Whether a node that calls a function calls a copy of it."""
        return node.op != name or (name not in floatstatus.STATUS_OPS and name not in self.operators)

    def _owner(self, geop: Geop, body: Any) -> Callable[[str], str]:
        """Names as the user's graph has them: an argument goes by the operator that it comes from."""
        nodes = self.partition.graph.nodes
        names: Dict[str, str] = {}
        for arg, end in zip(body.signature.input_arg, geop.args):
            node = nodes[end.node]
            index = node.attr("index", -1) if node.op == "_Arg" else -1
            names[arg.name] = self.feeds[index].rpartition(":")[0] if 0 <= index < len(self.feeds) else node.name
        return lambda name: names.get(name, name)


def _digest(decisions: Mapping[str, Mapping[str, Decision]]) -> str:
    """What tells copies of one function under two assignments apart."""
    inner = sorted((name, sorted(own.items())) for name, own in decisions.items() if name)
    return hashlib.sha256(repr(inner).encode()).hexdigest()[:12]


def _owner(function: str) -> Callable[[str], str]:
    return lambda name: f"{function}/{name}"
