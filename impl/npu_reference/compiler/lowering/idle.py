"""What a graph holds and nothing computes: sums over no axis, gradients that nobody reads."""

from __future__ import annotations

from typing import FrozenSet, Sequence, Set

from npu_reference.compiler.lowering.sizes import elements_of
from npu_reference.compiler.lowering.unfolding import Unfolded
from npu_reference.graphs import Graph
from npu_reference.graphs.shaping.inference import Shapes

__all__ = ["idle_reductions", "reduces_nothing", "unread"]

_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod")


def unread(graph: Graph, geop_of: Sequence[int]) -> Set[int]:
    """Gradients of a convolution's images that nobody reads: TensorFlow makes both gradients of a convolution and lets
    one wait for the other, so that those of the fed images are in the graph.

    TensorFlow's own optimizer removes them (grappler's dependency optimizer, which runs before the adapter).
    """
    edges = graph.edges
    read = {src for src, slot in zip(edges.src, edges.dst_slot) if slot >= 0}
    waited_for = set(edges.src)
    return {
        node.id
        for node in graph.nodes
        if node.op.endswith("BackpropInput") and node.id in waited_for - read and geop_of[node.id] >= 0
    }


def idle_reductions(unfolded: Unfolded) -> FrozenSet[str]:
    """Names of the operators that reduce over no axis wherever they stand, as :class:`Assignment` names them."""
    flat = unfolded.flat
    found: Set[str] = set()
    others: Set[str] = set()
    for node in flat.graph.nodes:
        if node.op in _REDUCTIONS:
            idle = reduces_nothing(unfolded.shapes, node.id, node.op)
            (found if idle else others).add(flat.origin[node.id])
    return frozenset(found - others)


def reduces_nothing(shapes: Shapes, node: int, op: str) -> bool:
    """Whether a reduction gives what it reads: gradients of what broadcasts nothing sum over no axis."""
    if op not in _REDUCTIONS:
        return False
    read, given = shapes.known_input(node, 0), shapes.known(node)
    return read is not None and given is not None and elements_of(read) == elements_of(given)
