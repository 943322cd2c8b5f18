"""How nodes of a FunctionDef are changed in place: into calls of Python functions, and what they read."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

__all__ = ["become_py_func", "one_turn_at_a_time", "read_instead"]


def become_py_func(node: Any, token: bytes, inputs: Sequence[int], outputs: Sequence[int]) -> None:
    """Make a node a call of the Python function of this token, of which it keeps name, device and inputs.

    Args:
        node: a NodeDef; its own attributes are gone afterwards, those of TensorFlow (``_class``) stay.
        token: under which TensorFlow's registry has the function.
        inputs, outputs: numbers of dtypes.
    """
    node.op = "PyFunc"
    for name in list(node.attr):
        if not name.startswith("_"):
            del node.attr[name]
    node.attr["token"].s = token
    for name, types in (("Tin", inputs), ("Tout", outputs)):
        node.attr[name].list.SetInParent()  # a list may be empty
        node.attr[name].list.type.extend(types)


def read_instead(function: Any, renamed: Mapping[str, str]) -> None:
    """Let all that reads a tensor of a FunctionDef, its results too, read the one that stands for it."""
    for node in function.node_def:
        for position, text in enumerate(node.input):
            if text in renamed:
                node.input[position] = renamed[text]
    for name, text in list(function.ret.items()):
        if text in renamed:
            function.ret[name] = renamed[text]


def one_turn_at_a_time(nodes: Iterable[Any]) -> None:
    """Let no turn of a loop begin before all of the one before it has run, as on the device, which runs in order.

    TensorFlow otherwise leaves a loop while results that no later turn reads are still computed.

    Args:
        nodes: NodeDefs of a graph or of a function's body.
    """
    for node in nodes:
        if node.op in ("Enter", "RefEnter") or "parallel_iterations" in node.attr:
            node.attr["parallel_iterations"].i = 1
