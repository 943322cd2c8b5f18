"""What is done to the body of a GEOP before it runs: a chain of functions that change a FunctionDef in place."""

from __future__ import annotations

from typing import Any, Callable

from npu_reference.runtime.execution.reference_reads import is_reference, read_last
from npu_reference.runtime.tf_api import tensorflow

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
    read_last(function)
    _keep_reads(function)
    function.attr["_noinline"].b = True


_INT32 = 3  # DataType.DT_INT32


def _keep_reads(function: Any) -> None:
    """Return what a reference of int32 holds, never the reference.

    TensorFlow 2 takes an Identity out of a function, and then, for int32, misses a type at what it left. The operator
    put in its place stays, and answers as an Identity does: with the variable's buffer, as the run leaves it, which is
    what a session of TensorFlow's answers for a fetched reference (`run([train_op, global_step])`).
    """
    if tensorflow().major == 1:
        return
    nodes = {node.name: node for node in function.node_def}
    for text in function.ret.values():
        node = nodes.get(text.split(":", 1)[0])
        if node is None or node.op != "Identity" or node.attr["T"].type != _INT32:
            continue
        if is_reference(nodes, node.input[0]):
            node.op = "PreventGradient"
