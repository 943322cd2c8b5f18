"""Under which name the state of an operator is found by all of its copies: in GEOPs as on the host."""

from __future__ import annotations

from typing import Any

__all__ = ["name_state"]

#: Operators that take `shared_name` as it is, an empty one too: two of these without a name are one in TensorFlow.
_AS_GIVEN = frozenset({"VarHandleOp", "_XlaAotOnlyVarHandleOp", "SummaryWriter"})

#: The iterator refuses to be given a name; its copies are one because it is placed once.
_NAMELESS = frozenset({"OneShotIterator"})


def name_state(node: Any, name: str) -> None:
    """Give a NodeDef, in place, the `shared_name` under which TensorFlow would keep its state in a session.

    Kernels that are given no `shared_name` call their state by the node's name, or (tables, unless they say
    `use_node_name_sharing`) by a name that nobody else knows. Copies in functions have other nodes' names, and kernels
    of their own, so the name is written out.

    Args:
        node: a copy of an operator that has an attribute `shared_name`.
        name: what the operator is called in the user's graph.
    """
    if "shared_name" in node.attr and node.attr["shared_name"].s:
        return
    if node.op in _AS_GIVEN or node.op in _NAMELESS or node.op.startswith("Anonymous"):
        return
    if node.op.endswith("ResourceHandleOp"):  # handles made by TensorFlow's ResourceHandleOp take the name as it is
        return
    private = "use_node_name_sharing" in node.attr and not node.attr["use_node_name_sharing"].b
    node.attr["shared_name"].s = (f"{name}__npu_state" if private else name).encode("utf-8")
