"""What is done to the body of a GEOP before it runs: a chain of functions that change a FunctionDef in place."""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["Hook", "make_runnable", "share_state"]

#: A step of the chain: the body, and the GEOP's name in its partition. The device's precision will be one, before
#: :func:`make_runnable`.
Hook = Callable[[Any, str], None]


def share_state(node: Any) -> None:
    """Let every copy of a node that holds state reach the same state: in GEOPs as in the host graph.

    Kernels that are given no ``shared_name`` call their state by the node's name or by a name nobody else can know.
    A OneShotIterator refuses to be given one, and anonymous resources have none.
    """
    if node.op == "OneShotIterator" or node.op.startswith("Anonymous"):
        return
    if "shared_name" in node.attr and not node.attr["shared_name"].s:
        node.attr["shared_name"].s = node.name.encode("utf-8")


def make_runnable(function: Any, geop: str) -> None:
    """Prepare a body for TensorFlow on the machine at hand.

    Ensures: no node asks for a device or for the company of a node that is not here; the function stays a function (a
    GEOP is launched as a whole, so TensorFlow must not dissolve it in its caller). That everything with an effect runs
    and that state has a name is :func:`npu_reference.partition.building.build`'s promise.
    """
    del geop
    for node in function.node_def:
        node.device = ""
        if "_class" in node.attr:
            del node.attr["_class"]
    function.attr["_noinline"].b = True
