"""What is done to the body of a GEOP before it runs: a chain of functions that change a FunctionDef in place."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set

from npu_reference.graphs import OPS
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
    _keep_reads(function)
    function.attr["_noinline"].b = True


_INT32 = 3  # DataType.DT_INT32


def _keep_reads(function: Any) -> None:
    """Return what a reference of int32 holds, never the reference, and after what the body writes to it.

    TensorFlow 2 takes an Identity out of a function, and then, for int32, misses a type at what it left. A session of
    TensorFlow's answers a fetched reference with its buffer, as the run leaves it (`run([train_op, global_step])`). An
    Identity does so too; a copy has to wait for the writers.
    """
    if tensorflow().major == 1:
        return
    nodes = {node.name: node for node in function.node_def}
    for name, text in list(function.ret.items()):
        node = nodes.get(text.split(":", 1)[0])
        if node is None or node.op != "Identity" or node.attr["T"].type != _INT32:
            continue
        source, _, output = node.input[0].partition(":")
        op_def = OPS.get(nodes[source].op) if source in nodes else None
        if op_def is not None and any(arg.is_ref and arg.name == output.split(":")[0] for arg in op_def.outputs):
            node.op = "DeepCopy"
            node.input.extend(f"^{writer}" for writer in _writers(function, node.input[0], node.name))
            function.ret[name] = f"{node.name}:y:0"


def _writers(function: Any, reference: str, reader: str) -> List[str]:
    """The nodes that take a reference to write to it and run in every run: none in a branch or a loop of version 1."""
    always = _always_run(function)
    return [
        node.name
        for node in function.node_def
        if node.name in always and node.name != reader and reference in node.input and _writes(node, reference)
    ]


def _always_run(function: Any) -> Set[str]:
    """The nodes below as many Merges as Switches on every path that leads to them, and behind no loop."""
    nodes = {node.name: node for node in function.node_def}
    before = {name: {source for source in map(_source, node.input) if source in nodes} for name, node in nodes.items()}
    after: Dict[str, List[str]] = {}
    for name, sources in before.items():
        for source in sources:
            after.setdefault(source, []).append(name)
    depth: Dict[str, int] = {}
    ready = [name for name, sources in before.items() if not sources]
    waiting = {name: len(sources) for name, sources in before.items()}
    while ready:
        name = ready.pop()
        deepest = max((depth[source] for source in before[name]), default=0)
        op = nodes[name].op
        if op in ("Enter", "RefEnter"):
            continue  # what comes behind a loop is never reached
        depth[name] = deepest + 1 if op in ("Switch", "RefSwitch") else deepest - (op in ("Merge", "RefMerge"))
        for reader in after.get(name, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return {name for name, level in depth.items() if level <= 0}


def _source(text: str) -> str:
    return text.lstrip("^").split(":", 1)[0]


def _writes(node: Any, reference: str) -> bool:
    """Whether a node has the reference for an input that it writes through: the first, in all of TensorFlow's."""
    op_def = OPS.get(node.op)
    return op_def is not None and bool(op_def.inputs) and op_def.inputs[0].is_ref and node.input[0] == reference
