"""Decides what the adapter's pass sees of one session.run: the graph between its feeds and its fetches."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ..errors import NpuError
from ..spelling import nearest
from .graph import Graph, assemble
from .names import output_number, shorten
from .shaping.inference import infer_shapes

__all__ = ["arg_shapes", "close_over", "leading_to", "tensor_name"]

#: Control edges out of a fed one of these become control edges out of its _Arg; others keep the node alive.
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")

Tensor = Tuple[int, int]


def close_over(graph: Graph, feeds: Iterable[str], fetches: Iterable[str], targets: Iterable[str] = ()) -> Graph:
    """``graph`` as a run of these feeds, fetches and targets leaves it: rewritten, then pruned.

    A tensor is ``name:slot`` or ``name`` for slot 0; a target is an operator's ``name``. Each feed is replaced by an
    ``_Arg`` node ``_arg_<name>_<slot>_<i>``, each fetch read by a ``_Retval`` node ``_retval_<name>_<slot>_<i>``, with
    ``i`` the position among the feeds or fetches, which a run sorts by name. Nodes that neither a fetch nor a target
    needs are left out; the others keep their order, the _Args and _Retvals follow. O(V + E).

    Raises NpuError GRAPH_FEED_FETCH for a name that is none of the graph, a tensor fed twice or fed and fetched, and
    when neither fetch nor target is given.
    """
    fed = _tensors(graph, feeds, "feed")
    fetched = _tensors(graph, dict.fromkeys(fetches), "fetch")
    wanted = [_target(graph, name) for name in dict.fromkeys(targets)]
    for tensor in fetched:
        if tensor in fed:
            raise NpuError("GRAPH_FEED_FETCH", f"fetch '{tensor_name(graph, tensor)}'", "the tensor is fed as well")
    if not fetched and not wanted:
        raise NpuError("GRAPH_FEED_FETCH", graph.subject, "neither a fetch nor a target is given")
    args = {tensor: _arg_name(graph, tensor, i) for i, tensor in enumerate(fed)}
    return assemble(_closed_def(graph, args, fetched, wanted), graph.subject)


def leading_to(graph_def: Any, names: Iterable[str]) -> Any:
    """A GraphDef of only those nodes that lead to nodes of these names, in their order, with all functions.

    None where it would be more than half of the graph. O(V + E), and much less than to check a graph.
    """
    places = {node.name: place for place, node in enumerate(graph_def.node)}
    waiting = [places[name] for name in names if name in places]
    kept: Set[int] = set(waiting)
    most = len(places) // 2
    while waiting:
        for text in graph_def.node[waiting.pop()].input:
            place = places.get(text[1:] if text.startswith("^") else text.partition(":")[0])
            if place is not None and place not in kept:
                kept.add(place)
                waiting.append(place)
        if len(kept) > most:
            return None
    part = type(graph_def)()
    part.versions.CopyFrom(graph_def.versions)
    part.library.CopyFrom(graph_def.library)
    part.node.extend(graph_def.node[place] for place in sorted(kept))
    return part


def arg_shapes(
    graph: Graph, feeds: Iterable[str], shapes: Mapping[str, Sequence[Optional[int]]]
) -> Dict[str, Tuple[Optional[int], ...]]:
    """Shapes by tensor, and in addition by the ``_Arg`` nodes that :func:`close_over` puts in the place of these feeds.

    An ``_Arg`` states no shape; it has that of the tensor it replaces, given in ``shapes`` or inferred.
    """
    found = {name: tuple(shape) for name, shape in shapes.items()}
    fed = _tensors(graph, feeds, "feed")
    if not fed:
        return found
    known = infer_shapes(graph, feeds=shapes)
    for i, tensor in enumerate(fed):
        shape = known.of(*tensor)
        if shape is not None:
            found[_arg_name(graph, tensor, i)] = shape
    return found


def _arg_name(graph: Graph, tensor: Tensor, position: int) -> str:
    return f"_arg_{graph.nodes[tensor[0]].name}_{tensor[1]}_{position}"


def tensor_name(graph: Graph, tensor: Tensor) -> str:
    """``name:slot`` of a (node id, slot)."""
    return f"{graph.nodes[tensor[0]].name}:{tensor[1]}"


def _tensors(graph: Graph, names: Iterable[str], role: str) -> List[Tensor]:
    """The named tensors in the order of their names, which is the order a run gives them."""
    found: Dict[str, Tensor] = {}
    for text in names:
        tensor = _tensor(graph, text, role)
        name = tensor_name(graph, tensor)
        if name in found and role == "feed":
            raise NpuError("GRAPH_FEED_FETCH", f"feed '{shorten(name)}'", "the tensor is fed twice")
        found[name] = tensor
    return [found[name] for name in sorted(found)]


def _tensor(graph: Graph, text: str, role: str) -> Tensor:
    subject = f"{role} '{shorten(text)}'"
    name, colon, number = text.rpartition(":")
    if not colon:
        name, number = text, "0"
    slot = output_number(number)
    if name not in graph.index or slot is None:
        near = nearest(name, graph.index)
        hint = f"Did you mean '{shorten(near)}:{number}'?" if near and near != name else ""
        raise NpuError(
            "GRAPH_FEED_FETCH",
            subject,
            "the graph has no such tensor",
            " ".join(filter(None, [hint, "A tensor is named 'operator:output'."])),
        )
    i = graph.index[name]
    count = len(graph.output_dtypes(i))
    if slot >= count:
        has = {0: "no outputs", 1: "one output"}.get(count, f"{count} outputs")
        raise NpuError("GRAPH_FEED_FETCH", subject, f"'{shorten(name)}' ({graph.nodes[i].op}) has {has}")
    return i, slot


def _target(graph: Graph, name: str) -> int:
    if name not in graph.index:
        near = nearest(name, graph.index)
        hint = f"Did you mean '{shorten(near)}'?" if near else ""
        raise NpuError("GRAPH_FEED_FETCH", f"target '{shorten(name)}'", "the graph has no such operator", hint)
    return graph.index[name]


def _needed(graph: Graph, args: Dict[Tensor, str], roots: Sequence[int]) -> Set[int]:
    """Nodes a root depends on over edges that no feed replaces."""
    seen = set(roots)
    waiting = list(roots)
    edges = graph.edges
    while waiting:
        for edge in graph.in_edges(waiting.pop()):
            source, slot = edges.src[edge], edges.src_slot[edge]
            if source not in seen and not _replaced(graph, args, source, slot):
                seen.add(source)
                waiting.append(source)
    return seen


def _replaced(graph: Graph, args: Dict[Tensor, str], source: int, slot: int) -> bool:
    if slot >= 0:
        return (source, slot) in args
    return graph.nodes[source].op in _PLACEHOLDERS and (source, 0) in args


def _closed_def(graph: Graph, args: Dict[Tensor, str], fetched: List[Tensor], wanted: List[int]) -> Any:
    roots = list(dict.fromkeys([source for source, _ in fetched] + wanted))
    needed = _needed(graph, args, roots)
    used: Set[Tensor] = set()
    result = graph.empty_def()
    fed_nodes = {source for source, _ in args}
    for i in sorted(needed):
        proto = result.node.add()
        proto.CopyFrom(graph.nodes[i].proto)
        if args:
            _rewire(graph, i, proto, args, fed_nodes, used)
    for position, tensor in enumerate(args):
        if tensor in used:
            _add_end(result, args[tensor], "_Arg", graph.output_dtypes(tensor[0])[tensor[1]], position)
    for position, (source, slot) in enumerate(fetched):
        name = graph.nodes[source].name
        dtype = graph.output_dtypes(source)[slot]
        retval = _add_end(result, f"_retval_{name}_{slot}_{position}", "_Retval", dtype, position)
        retval.input.append(f"{name}:{slot}" if slot else name)
    return result


def _rewire(graph: Graph, i: int, proto: Any, args: Dict[Tensor, str], fed_nodes: Set[int], used: Set[Tensor]) -> None:
    """Let the node read the _Args in place of what is fed."""
    edges = graph.edges
    if not any(edges.src[edge] in fed_nodes for edge in graph.in_edges(i)):
        return
    inputs = list(proto.input)
    for position, text in enumerate(inputs):
        control = text.startswith("^")
        name, _, number = (text[1:], "", "0") if control else text.partition(":")
        tensor = (graph.index[name], int(number or 0))
        if tensor not in args or (control and not _replaced(graph, args, tensor[0], -1)):
            continue
        used.add(tensor)
        inputs[position] = "^" + args[tensor] if control else args[tensor]
    del proto.input[:]
    proto.input.extend(inputs)


def _add_end(graph_def: Any, name: str, op: str, dtype: Any, position: int) -> Any:
    node = graph_def.node.add(name=name, op=op)
    node.attr["T"].type = dtype.base.number
    node.attr["index"].i = position
    return node
