"""What is done to the body of a GEOP before it runs: a chain of functions from FunctionDef to FunctionDef."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Sequence, Set

__all__ = ["Hook", "Target", "make_runnable", "share_state"]


class Target(NamedTuple):
    """What a hook may know of the place a body will run in.

    Attributes:
        geop: name of the GEOP in its partition.
        keep: names of members that must run although nothing reads them: what the script asked to run.
    """

    geop: str
    keep: Sequence[str]


#: A step of the chain. The device's precision will be one, before :func:`make_runnable`.
Hook = Callable[[Any, Target], None]

#: Operators that keep their state under ``shared_name`` and refuse none. OneShotIterator and anonymous resources refuse;
#: VarHandleOp means the empty name when it says so.
_NOT_SHAREABLE = frozenset(["OneShotIterator", "VarHandleOp"])


def share_state(node: Any) -> None:
    """Let every copy of a node that holds state reach the same state: in functions as in the host graph.

    Kernels that are given no ``shared_name`` call their state by the node's name or by a name nobody else can know.
    """
    if node.op in _NOT_SHAREABLE or node.op.startswith("Anonymous"):
        return
    if "shared_name" in node.attr and not node.attr["shared_name"].s:
        node.attr["shared_name"].s = node.name.encode("utf-8")


def make_runnable(function: Any, target: Target) -> None:
    """Prepare a FunctionDef, in place, for TensorFlow on the machine at hand.

    Ensures: state is shared by name; no node asks for a device or for the company of a node that is not here;
    everything that has an effect runs (TensorFlow prunes stateless nodes of functions that lead to no result, and it
    takes assignments to reference variables for stateless); the function stays a function (a GEOP is launched as a
    whole, so TensorFlow must not dissolve it in its caller).
    """
    for node in function.node_def:
        share_state(node)
        node.device = ""
        if "_class" in node.attr:
            del node.attr["_class"]
    _keep_effects(function, target)
    function.attr["_noinline"].b = True


def _keep_effects(function: Any, target: Target) -> None:
    kept = {node: name for name, node in function.control_ret.items()}
    for position, name in enumerate(_sinks(function) + [name for name in target.keep]):
        if name not in kept:
            key = f"npu_effect_{position}"
            kept[name] = key
            function.control_ret[key] = name
            function.signature.control_output.append(key)


def _sinks(function: Any) -> List[str]:
    """Nodes whose results nobody inside the function uses; returned ones need no help."""
    read: Set[str] = set()
    for node in function.node_def:
        for text in node.input:
            read.add(text[1:] if text.startswith("^") else text.split(":", 1)[0])
    for text in function.ret.values():
        read.add(text.split(":", 1)[0])
    return [node.name for node in function.node_def if node.name not in read]
