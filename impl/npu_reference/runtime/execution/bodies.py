"""What is done to the body of a GEOP before it runs: a chain of functions that change a FunctionDef in place."""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["Hook", "make_runnable"]

#: A step of the chain: the body, and the GEOP's name in its partition. The device's precision will be one, before
#: :func:`make_runnable`.
Hook = Callable[[Any, str], None]


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
