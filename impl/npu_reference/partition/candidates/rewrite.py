"""Undoes two of TensorFlow's own rewrites before operators are judged, as the adapter does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set, Tuple

from npu_reference.graphs import graph_from_def
from npu_reference.partition.model import Note

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["rewrite"]

_COMPOSITION = "_UnaryOpsComposition"
_DESTROY = "DestroyTemporaryVariable"


def rewrite(graph: Graph) -> Tuple[Graph, List[Note]]:
    """Split every _UnaryOpsComposition; fuse every accumulate_n that was expanded over a temporary variable.

    Answers the graph to be partitioned, the given one where there is neither, and a note on every operator that took
    the place of others. O(nodes + edges).
    """
    compositions = [node.id for node in graph.nodes if node.op == _COMPOSITION]
    sums = [found for found in (_accumulation(graph, n.id) for n in graph.nodes if n.op == _DESTROY) if found]
    if not compositions and not sums:
        return graph, []
    source = graph.to_def()
    notes: List[Note] = []
    gone: Set[str] = set()
    for found in sums:
        gone |= _fuse(source, graph, found)
        name = graph.nodes[found.destroy].name
        message = f"{name} is an AccumulateNV2 again, as before TensorFlow expanded it."
        notes.append(Note("REWRITTEN", message, name))
    renamed: Dict[str, str] = {}
    for i in compositions:
        name = graph.nodes[i].name
        ops = _composed(source.node[i])
        if ops:
            renamed[name] = f"{name}_{len(ops) - 1}_{ops[-1]}"
            message = f"{name} is {', '.join(ops)} again, as before TensorFlow composed them."
            notes.append(Note("REWRITTEN", message, name))
    return graph_from_def(_without(source, gone, renamed), subject=graph.subject), notes


def _composed(node: Any) -> List[str]:
    return [op.decode("utf-8", "replace") for op in node.attr["op_names"].list.s]


class _Sum(NamedTuple):
    destroy: int
    temporary: int
    assign: int
    adds: List[int]


def _accumulation(graph: Graph, destroy: int) -> Optional[_Sum]:
    """The expansion TemporaryVariable -> Assign -> AssignAdd… -> DestroyTemporaryVariable around `destroy`."""
    edges, nodes = graph.edges, graph.nodes
    sources = [edges.src[edge] for edge in graph.in_edges(destroy)]
    if not sources or nodes[sources[0]].op != "Assign":
        return None
    assign = sources[0]
    adds = sources[1:]
    temporary = edges.src[graph.in_edges(assign)[0]]
    if nodes[temporary].op != "TemporaryVariable" or not adds:
        return None
    for add in adds:
        if nodes[add].op != "AssignAdd" or edges.src[graph.in_edges(add)[0]] != assign:
            return None
    return _Sum(destroy, temporary, assign, sorted(adds))


def _fuse(source: Any, graph: Graph, found: _Sum) -> Set[str]:
    """Make the DestroyTemporaryVariable the AccumulateNV2 it once was; answer the names of what only served it."""
    node = source.node[found.destroy]
    dtype = node.attr["T"].type
    inputs = [source.node[add].input[1] for add in found.adds]
    # The zero's control inputs only made it wait for the first summand.
    node.op = "AccumulateNV2"
    del node.input[:]
    node.input.extend(inputs)
    node.attr.clear()
    node.attr["T"].type = dtype
    node.attr["N"].i = len(inputs)
    node.attr["shape"].shape.unknown_rank = True
    temporary = source.node[found.temporary]
    if "shape" in temporary.attr:
        node.attr["shape"].CopyFrom(temporary.attr["shape"])
    inner = [found.temporary, found.assign, *found.adds]
    zero = graph.edges.src[graph.in_edges(found.assign)[1]]
    if len(graph.out_edges(zero)) == 1:
        inner.append(zero)
    return {graph.nodes[i].name for i in inner}


def _without(source: Any, gone: Set[str], renamed: Dict[str, str]) -> Any:
    """The GraphDef without the nodes in `gone`, compositions as chains, their readers redirected."""
    result = type(source)()
    result.versions.CopyFrom(source.versions)
    result.library.CopyFrom(source.library)
    for node in source.node:
        if node.name in renamed:
            _add_chain(result, node, renamed)
        elif node.name not in gone:
            copy = result.node.add()
            copy.CopyFrom(node)
            del copy.input[:]
            copy.input.extend(_redirected(node.input, renamed, gone))
    return result


def _redirected(inputs: Any, renamed: Dict[str, str], gone: Set[str]) -> List[str]:
    found = []
    for text in inputs:
        control = text.startswith("^")
        name = text[1:] if control else text
        base = name[:-2] if name.endswith(":0") else name
        if control and base in gone and base not in renamed:
            continue
        found.append(("^" if control else "") + renamed.get(base, name))
    return found


def _add_chain(result: Any, node: Any, renamed: Dict[str, str]) -> None:
    inputs = _redirected(node.input, renamed, set())
    for number, op in enumerate(_composed(node)):
        link = result.node.add(name=f"{node.name}_{number}_{op}", op=op, device=node.device)
        link.input.extend(inputs)
        link.attr["T"].type = node.attr["T"].type
        inputs = [link.name]
