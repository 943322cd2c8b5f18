"""In which order the collectives of a GEOP run: one after the other, in the graph's order, as in one stream.

Every rank then comes to them in the same order, and none of its threads waits in one while another rank waits in the
next: that could never end.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set

from npu_reference.compiler.orders import smallest_first

__all__ = ["in_order"]

_LOOPS = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")


def in_order(graph_def: Any, token: str) -> int:
    """Let the operators that exchange data wait for each other, in every function of a graph.

    Args:
        graph_def: the partitioned graph; changed in place.
        token: what the tokens of the Python functions that exchange data begin with.

    Returns:
        How many operators of the graph itself may exchange data, each beside the others.
    """
    functions = graph_def.library.function
    holders = _holders(functions, token)
    for function in functions:
        if not any(node.op in _LOOPS for node in function.node_def):
            _chain(function.node_def, holders, token)
            _tell_when_done(function, holders, token)
    return sum(_exchanges(node, holders, token) for node in graph_def.node)


def _holders(functions: Any, token: str) -> Set[str]:
    """The functions in which, or in what they call, data are exchanged."""
    callers: Dict[str, List[str]] = {}
    found: List[str] = []
    for function in functions:
        name = function.signature.name
        for node in function.node_def:
            if _is_exchange(node, token):
                found.append(name)
            for called in _called(node):
                callers.setdefault(called, []).append(name)
    holders = set(found)
    while found:
        fresh = [caller for caller in callers.get(found.pop(), ()) if caller not in holders]
        holders.update(fresh)
        found.extend(fresh)
    return holders


def _is_exchange(node: Any, token: str) -> bool:
    return node.op.startswith("PyFunc") and node.attr["token"].s.decode().startswith(token)


def _called(node: Any) -> List[str]:
    names = [node.op]
    for value in node.attr.values():
        names.extend([value.func.name] if value.HasField("func") else [one.name for one in value.list.func])
    return names


def _exchanges(node: Any, holders: Set[str], token: str) -> bool:
    return _is_exchange(node, token) or any(name in holders for name in _called(node))


def _chain(nodes: Any, holders: Set[str], token: str) -> None:
    chosen = {position for position, node in enumerate(nodes) if _exchanges(node, holders, token)}
    if len(chosen) < 2:
        return
    before = None
    for position in _sorted(nodes):
        if position in chosen:
            if before is not None:
                text = f"^{nodes[before].name}"
                if text not in nodes[position].input:
                    nodes[position].input.append(text)
            before = position


def _tell_when_done(function: Any, holders: Set[str], token: str) -> None:
    """Let who waits for a call of the function wait for what it exchanges: TensorFlow runs a body in place."""
    for node in function.node_def:
        if _exchanges(node, holders, token) and node.name not in function.control_ret:
            function.control_ret[node.name] = node.name
            function.signature.control_output.append(node.name)


def _sorted(nodes: Any) -> List[int]:
    """Positions in topological order, of those that could come next the one that stands first."""
    places = {node.name: position for position, node in enumerate(nodes)}
    sources = ({text.lstrip("^").split(":", 1)[0] for text in node.input} for node in nodes)
    return smallest_first([[places[source] for source in found if source in places] for found in sources])
