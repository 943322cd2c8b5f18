"""How the operators of a GEOP, and of all that it calls, come to write their tensors."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Callable, List, Mapping, Optional, Set

from npu_reference.device.numerics.body import in_order
from npu_reference.device.numerics.kinds import STATUS_OPS
from npu_reference.graphs import CONTROL_FLOW, COPY_MARK, OPERATOR_MARK
from npu_reference.options.typed import DataDump
from npu_reference.partition import Partition
from npu_reference.runtime.execution.dumping.dump_nodes import Adding, Dumped, ends_of, gives_reference, shared_of
from npu_reference.runtime.execution.dumping.function_bodies import UNBOUND, calls_of

__all__ = ["GeopDump"]

#: These have no task of their own on the device: nothing is computed, so there is nothing to dump.
_NO_TASK = frozenset(
    (
        *("Const", "HostConst", "NoOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "_Retval"),
        *("ControlTrigger", "Variable", "VariableV2", "TemporaryVariable", "VarHandleOp", "LoopCond"),
        *("_SwitchN", *CONTROL_FLOW),
        # What only passes a tensor on is taken out of the device's graph: the tensor is its maker's, or a variable.
        *("Identity", "IdentityN", "ReadVariableOp", "StopGradient", "PreventGradient", "Snapshot"),
    )
)

_MOST_DEPTH = 32  # calls within calls; deeper ones are operators of their own
_MOST_NODES = 200_000  # operators that the calls of one GEOP lead to (assumed)


class GeopDump:
    """One GEOP to whose operators calls are added, and to those of the functions that it calls.

    A function is copied for every place that calls it, so that each has names of its own there.

    Attributes:
        made: the copies.
    """

    def __init__(
        self, functions: Mapping[str, Any], partition: Partition, copies: Mapping[str, int], wanted: DataDump
    ) -> None:
        self.functions = functions
        self.graph = partition.graph
        self.copies = copies
        self.wanted = wanted
        self.made: List[Any] = []
        self.tasks = 0
        self.nodes = 0
        self.digest = ""
        self.has_references = False

    def run(self, body: Any) -> None:
        self.has_references = any(gives_reference(node) for node in body.node_def)
        # What does the same is one function in the session, whichever run asks for it: so its copies are called alike.
        if any(calls_of(node, self.functions) for node in body.node_def):
            alone = type(body)()
            alone.CopyFrom(body)
            alone.signature.name = ""
            self.digest = hashlib.sha256(alone.SerializeToString(deterministic=True)).hexdigest()[:12]
        self._body(body, self._in_geop, set(self.graph.index), 0)

    def _body(self, body: Any, operator: Callable[[Any], Optional[Dumped]], names: Set[str], depth: int) -> None:
        # What a function is given may be a variable of the GEOP.
        given = [arg.name for arg in body.signature.input_arg] if depth and self.has_references else []
        adding = Adding(body, self.functions, self.wanted, shared_of(body, given))
        scopes = {name[:at] for name in names for at, char in enumerate(name) if char == "/"}
        for proto in in_order(body):
            one = operator(proto)
            looked_into = one is not None and self._look_into(proto, one, names, scopes, depth)
            self.tasks += 1
            if one is None or looked_into or one.op in _NO_TASK or one.op in STATUS_OPS:
                continue
            ends = ends_of(proto, self.functions)
            if ends is not None:
                adding.add(proto, one, ends, self.tasks)

    def _look_into(self, proto: Any, one: Dumped, names: Set[str], scopes: Set[str], depth: int) -> bool:
        """Dump what a call leads to; answers whether the node is one, and no operator itself."""
        calls = calls_of(proto, self.functions)
        self.nodes += sum(len(call.function.node_def) for call in calls)
        if not calls or depth >= _MOST_DEPTH or self.nodes > _MOST_NODES:
            return False
        root, number = proto.name, 0
        while root in scopes or (number and root in names):
            number += 1
            root = f"{proto.name}.{number}"
        around = one.name[: len(one.name) - len(proto.name)]
        for call in calls:
            copy = type(call.function)()
            copy.CopyFrom(call.function)
            name = call.function.signature.name
            prefix = f"{around}{root}{call.scope}"
            place = hashlib.sha256(prefix.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            copy.signature.name = f"{name}__npu_dump_{self.digest}_{place}"
            copy.attr[COPY_MARK].s = name.encode()
            copy.attr[UNBOUND].b = True
            inner = {node.name for node in copy.node_def} | {arg.name for arg in copy.signature.input_arg}
            self._body(copy, functools.partial(self._in_function, prefix, name), inner, depth + 1)
            call.become(copy.signature.name)
            self.made.append(copy)
        return True

    def _in_geop(self, proto: Any) -> Optional[Dumped]:
        if proto.name in self.copies or proto.name not in self.graph.index:
            return None
        node = self.graph.nodes[self.graph.index[proto.name]]
        layout = node.text("data_format", "") if node.has_attr("data_format") else ""
        return Dumped(node.name, "", node.name, node.op, layout or "ND")

    def _in_function(self, prefix: str, function: str, proto: Any) -> Dumped:
        op = proto.op
        if op in self.functions and OPERATOR_MARK in self.functions[op].attr:
            op = self.functions[op].attr[OPERATOR_MARK].s.decode("utf-8", "replace")
        layout = proto.attr["data_format"].s.decode("ascii", "replace") if "data_format" in proto.attr else ""
        return Dumped(prefix + proto.name, function, proto.name, op, layout or "ND")
