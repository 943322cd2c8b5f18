"""When a reference that crosses the border of a GEOP is read: by an operator that partitioning adds.

In TensorFlow a reference is read by whoever takes its value, at that moment. Across a border goes a value, which the
partitioned graph reads (`x_dummyIdentity`) without waiting for anything: for a variable that is still to be written it
would fail. What a GEOP is given is read when it is launched, what it returns when its own writers have run.
"""

from __future__ import annotations

from typing import Any, Container, Iterable, List, Mapping, Set

from npu_reference.graphs import OPS

__all__ = ["MARK", "at_launch", "is_reference", "read_last", "reads_reference"]

MARK = "_dummyIdentity"

_BRANCHES = ("Switch", "RefSwitch", "Enter", "RefEnter")


def at_launch(graph_def: Any, geops: Iterable[str], asked: Container[str]) -> None:
    """Let what reads a reference for a GEOP wait for all else that the GEOP waits for.

    Args:
        graph_def: the partitioned graph; changed in place. What is read for several GEOPs is read for each.
        asked: names of the operators of the graph that was partitioned.
    """
    nodes = {node.name: node for node in graph_def.node}
    used: Set[str] = set()
    for name in geops:
        call = nodes[name]
        sources = [text.lstrip("^").partition(":")[0] for text in call.input]
        own = [source for source in sources if source in nodes and source not in asked]
        reads = {source for source in own if reads_reference(nodes[source])}
        waits = [f"^{source}" for source in dict.fromkeys(sources) if source not in reads]
        if not waits:
            continue
        for source in sorted(reads):
            read = nodes[source]
            if source in used:
                read = graph_def.node.add()
                read.CopyFrom(nodes[source])
                del read.input[1:]
                read.name = f"{source}/{name}"
                inputs = [read.name if text == source else text for text in call.input]
                del call.input[:]
                call.input.extend(inputs)
            used.add(source)
            read.input.extend(waits)


def reads_reference(node: Any) -> bool:
    """Whether a node of a partitioned graph is there to read a reference for a GEOP."""
    return node.op == "Identity" and MARK in node.name and len(node.input) > 0


def read_last(function: Any) -> None:
    """Read a reference that a GEOP returns when its writers there have run: who reads it outside comes after them.

    In branches and loops of version 1 a writer may not run, and what waits for it would not either.

    Args:
        function: the body of the GEOP; changed in place.
    """
    if any(node.op in _BRANCHES for node in function.node_def):
        return
    nodes = {node.name: node for node in function.node_def}
    read = {text.lstrip("^").split(":", 1)[0] for node in function.node_def for text in node.input}
    for text in function.ret.values():
        node = nodes.get(text.split(":", 1)[0])
        if node is None or node.name in read or not reads_reference(node):
            continue
        if len(node.input) == 1 and is_reference(nodes, node.input[0]):
            node.input.extend(f"^{name}" for name in _writers(function, node.input[0]))


def _writers(function: Any, reference: str) -> List[str]:
    """The operators that take a reference, or what others of them hand on of it."""
    takers = [node for node in function.node_def if _takes_references(node.op)]
    found: List[str] = []
    references = {reference}
    while references:
        more = [node for node in takers if node.name not in found and not references.isdisjoint(node.input)]
        found.extend(node.name for node in more)
        references = {text for node in more for text in _references(node)}
    return found


def _takes_references(op: str) -> bool:
    op_def = OPS.get(op)
    return op_def is not None and any(arg.is_ref for arg in op_def.inputs)


def _references(node: Any) -> List[str]:
    op_def = OPS.get(node.op)
    return [] if op_def is None else [f"{node.name}:{arg.name}:0" for arg in op_def.outputs if arg.is_ref]


def is_reference(nodes: Mapping[str, Any], text: str) -> bool:
    """Whether an input reads an output that is a reference.

    Args:
        nodes: of a function's body, by name.
    """
    source, _, output = text.partition(":")
    op_def = OPS.get(nodes[source].op) if source in nodes else None
    return op_def is not None and any(arg.is_ref and arg.name == output.split(":")[0] for arg in op_def.outputs)
