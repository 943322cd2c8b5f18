"""Whether the functions a node calls hold only operators that can be offloaded."""

from __future__ import annotations

import functools
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_reference.catalog import OpList
from npu_reference.graphs import OPS, DType, Library
from npu_reference.partition.reasons import Reason
from npu_reference.partition.structure.calls import called_functions

__all__ = ["Bodies", "Culprit", "marked_inside"]


class Culprit(NamedTuple):
    """The first operator found that keeps a function on the host: the path of functions and nodes to it, its op."""

    path: Tuple[str, ...]
    op: str
    reason: Reason


def marked_inside(function: Any) -> List[str]:
    """Names of a function's own operators that were built inside without_npu_compile_scope."""
    return [node.name for node in function.proto.node_def if _marked(node)]


def _marked(node: Any) -> bool:
    return "_without_npu_compile" in node.attr and node.attr["_without_npu_compile"].b


class Bodies:
    """Searches function bodies, each once; recursion between functions is no obstacle.

    Args:
        mix: whether gray operators stay on the host.
        scopes: whether those of without_npu_compile_scope do.
        documented: whether, with `mix`, so do those that documents name whatever the list says: what makes a resource
            that is no variable (M1), and FusedBatchNormV3 whose fifth output is read (M26).
    """

    def __init__(
        self, functions: Library, op_list: OpList, mix: bool, scopes: bool, *, documented: bool = False
    ) -> None:
        self._functions = functions
        #: Functions that stand for an operator of the adapter's: it is judged, not what they hold.
        self._operators = functions.operators
        self._op_list = op_list
        self._mix = mix
        self._scopes = scopes
        self._documented = mix and documented
        self._own: Dict[str, Tuple[Optional[Culprit], List[Tuple[str, str]]]] = {}
        self._found: Dict[str, Optional[Culprit]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def culprit(self, name: str) -> Optional[Culprit]:
        """The operator that keeps function `name` on the host, or None where nothing does."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> Optional[Culprit]:
        """Breadth first over the functions called, so that the path shown is a shortest one."""
        seen = {name}
        level: List[Tuple[str, Tuple[str, ...]]] = [(name, (name,))]
        while level:
            following: List[Tuple[str, Tuple[str, ...]]] = []
            for function, path in level:
                own, calls = self._look(function)
                if own is not None:
                    return Culprit(path + own.path, own.op, own.reason)
                for node, callee in calls:
                    if callee not in seen:
                        seen.add(callee)
                        following.append((callee, (*path, node, callee)))
            level = following
        return None

    def _look(self, name: str) -> Tuple[Optional[Culprit], List[Tuple[str, str]]]:
        """The function's own culprit, and its calls as (node, function)."""
        if name not in self._own:
            own: Optional[Culprit] = None
            calls: List[Tuple[str, str]] = []
            if name in self._functions:
                proto = self._functions[name].proto
                for node in proto.node_def:
                    reason = self._reason(node) or self._documented_reason(node, proto)
                    if reason is not None:
                        own = Culprit((node.name,), self._operators.get(node.op, node.op), reason)
                        break
                    calls.extend((node.name, callee) for callee in self._callees(node))
            self._own[name] = own, calls
        return self._own[name]

    def _callees(self, node: Any) -> Iterator[str]:
        if node.op in self._functions and node.op not in self._operators:
            yield node.op
        yield from called_functions(node.attr)

    def _reason(self, node: Any) -> Optional[Reason]:
        if self._scopes and _marked(node):
            return Reason.SCOPE
        op = self._operators.get(node.op, node.op)
        if op in self._functions:
            return None
        entry = self._op_list.get(op)
        if entry is None:
            return Reason.NOT_SUPPORTED
        return Reason.GRAY if self._mix and entry.is_gray else None

    def _documented_reason(self, node: Any, function: Any) -> Optional[Reason]:
        if not self._documented:
            return None
        if node.op == "FusedBatchNormV3":
            fifth = f"{node.name}:reserve_space_3:"
            read = [name for other in function.node_def for name in other.input] + list(function.ret.values())
            return Reason.FIFTH_OUTPUT if any(name.startswith(fifth) for name in read) else None
        return Reason.RESOURCE if _makes_resource(node.op) else None


@functools.lru_cache(maxsize=None)
def _makes_resource(op: str) -> bool:
    """Whether an operator makes a resource that is no variable; one that is handed a resource may hand it on."""
    found = OPS.get(op)
    if found is None or op == "VarHandleOp":
        return False
    return any(arg.dtype == DType.RESOURCE for arg in found.outputs) and not any(
        arg.dtype == DType.RESOURCE for arg in found.inputs
    )
