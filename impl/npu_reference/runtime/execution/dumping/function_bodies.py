"""What bodies of functions have: marks, names that are free, and calls."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Mapping, NamedTuple, Tuple

from npu_reference.device.numerics.kinds import STATUS_OPS
from npu_reference.graphs import OPERATOR_MARK

__all__ = ["Call", "MARK", "UNBOUND", "calls_of", "let_run"]

#: Attribute of a function's copy whose calls do not write into a model's files yet; it cannot run.
UNBOUND = "_npu_dump_unbound"

#: Node attribute that carries what a callback must know from where a body is instrumented to where it gets its name.
MARK = "_npu_dump"


def let_run(function: Any, node: str) -> None:
    """Let a node of a function run whoever reads it."""
    if node in function.control_ret.values():
        return
    done = node.replace("/", "_")
    while done in function.control_ret:
        done += "_"
    function.control_ret[done] = node
    function.signature.control_output.append(done)


class Call(NamedTuple):
    """A call that a node makes.

    Attributes:
        scope: what stands between the call's name and the names of the operators in there.
        function: the FunctionDef.
        become: lets the node call the function of another name.
    """

    scope: str
    function: Any
    become: Callable[[str], None]


def calls_of(node: Any, functions: Mapping[str, Any]) -> List[Call]:
    """The calls of a node that run when it does, with the names that the timing plane gives their bodies."""
    named: List[Tuple[str, Any]] = []
    if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
        named = [("/", node.attr["f"].func)]
    elif node.op in ("While", "StatelessWhile"):
        named = [("/cond/", node.attr["cond"].func), ("/body/", node.attr["body"].func)]
    elif node.op in ("If", "StatelessIf"):
        named = [("/branch0/", node.attr["else_branch"].func), ("/branch1/", node.attr["then_branch"].func)]
    elif node.op in ("Case", "StatelessCase"):
        named = [(f"/branch{at}/", one) for at, one in enumerate(node.attr["branches"].list.func)]
    elif node.op in functions and node.op not in STATUS_OPS and OPERATOR_MARK not in functions[node.op].attr:
        return [Call("/", functions[node.op], functools.partial(setattr, node, "op"))]
    return [
        Call(scope, functions[one.name], functools.partial(setattr, one, "name"))
        for scope, one in named
        if one.name in functions
    ]
