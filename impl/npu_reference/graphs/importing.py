"""Decides in which order TensorFlow itself would number a graph's nodes and edges."""

from __future__ import annotations

from typing import Any

from .graph import Graph, assemble

__all__ = ["as_session_gives", "in_creation_order"]


def in_creation_order(graph: Graph) -> Graph:
    """The graph with its nodes in the order in which TensorFlow's importer makes them, which is topological.

    Node ids are then those that TensorFlow gives, but for its source and sink. Edge ids stay. The graph itself where
    its nodes stand so already. O(V + E).
    """
    return graph if isinstance(graph.creation, range) else graph.renumbered(graph.creation)


def as_session_gives(graph: Graph) -> Graph:
    """The graph as a session hands it to optimization passes: made by the importer, written out and made again.

    Nodes stand in the order of creation. What is written out has each node's control inputs once, by name, and so
    the order of edges is another where they were not. The graph itself where all is so already. O(E log E).
    """
    unsorted = [node.id for node in graph.nodes if len(node.proto.input) > 1 and _controls_unsorted(node.proto.input)]
    if not unsorted:
        return in_creation_order(graph)
    written = in_creation_order(graph).to_def()
    places = {i: place for place, i in enumerate(graph.creation)}
    for i in unsorted:
        node = written.node[places[i]]
        data = [text for text in node.input if not text.startswith("^")]
        controls = sorted({text for text in node.input if text.startswith("^")})
        del node.input[:]
        node.input.extend(data + controls)
    return assemble(written, graph.subject, graph.functions)


def _controls_unsorted(inputs: Any) -> bool:
    before = ""
    for text in reversed(inputs):
        if not text.startswith("^"):
            break
        if before and text >= before:
            return True
        before = text
    return False
