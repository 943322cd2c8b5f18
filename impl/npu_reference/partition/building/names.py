"""Names that clash with nothing in a graph, and names that are legal inside a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Iterable, Set

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["GeopNames", "argument_name", "fresh"]


def fresh(wish: str, taken: Set[str]) -> str:
    """`wish`, or with the first number behind it that makes it new; it is taken from then on."""
    name, number = wish, 0
    while name in taken:
        number += 1
        name = f"{wish}_{number}"
    taken.add(name)
    return name


class GeopNames:
    """Names handed out once, different from those of a graph's nodes, functions and name scopes."""

    def __init__(self, graph: Graph, more: Iterable[str] = ()) -> None:
        self.taken: Set[str] = {node.name for node in graph.nodes}
        self.taken.update(graph.functions)
        self.taken.update(more)

    def fresh(self, wish: str) -> str:
        return fresh(wish, self.taken)


def argument_name(text: str, taken: Set[str]) -> str:
    """A name for an argument or return of a function made from any text: lower-case letters, digits, underscores."""
    name = re.sub(r"[^a-z0-9_]", "_", text.lower()).strip("_") or "tensor"
    if not name[0].isalpha():
        name = "t_" + name
    return fresh(name, taken)
