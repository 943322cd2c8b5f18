"""In which order the nodes of a partitioned graph can be placed, while loops being placed as a whole."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

__all__ = ["WiredInput", "groups_in_order", "parse_input", "parse_inputs"]


class WiredInput(NamedTuple):
    """One input of a node: the node it comes from and the output slot, -1 for a control input."""

    node: str
    slot: int

    def text(self) -> str:
        """As a GraphDef writes it."""
        if self.slot < 0:
            return "^" + self.node
        return f"{self.node}:{self.slot}" if self.slot else self.node


def parse_inputs(node: Any) -> List[WiredInput]:
    """The inputs of a NodeDef, in order."""
    return [parse_input(text) for text in node.input]


def parse_input(text: str) -> WiredInput:
    """An input as a GraphDef writes it."""
    if text.startswith("^"):
        return WiredInput(text[1:], -1)
    name, _, slot = text.partition(":")
    return WiredInput(name, int(slot or 0))


def groups_in_order(inputs: Dict[str, List[WiredInput]]) -> Iterator[Tuple[str, ...]]:
    """The strongly connected components, each after everything it reads.

    Args:
        inputs: of every node, by name; names that are not keys are ignored.

    Yields:
        The members of a component; more than one for a while loop, which alone may have a cycle. Tarjan's algorithm
        without recursion, O(V + E), in an order that depends on the order of ``inputs`` only.
    """
    number: Dict[str, int] = {}
    low: Dict[str, int] = {}
    pending: List[str] = []
    placed: Set[str] = set()
    for root in inputs:
        if root in number:
            continue
        stack: List[Tuple[str, Iterator[WiredInput]]] = []
        _enter(root, inputs, number, low, pending, stack)
        while stack:
            name, rest = stack[-1]
            for source in rest:
                if source.node not in inputs:
                    continue
                if source.node not in number:
                    _enter(source.node, inputs, number, low, pending, stack)
                    break
                if source.node not in placed:
                    low[name] = min(low[name], number[source.node])
            else:
                stack.pop()
                if stack:
                    parent = stack[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == number[name]:
                    members = _cut(pending, name)
                    placed.update(members)
                    yield tuple(members)


def _enter(
    name: str,
    inputs: Dict[str, List[WiredInput]],
    number: Dict[str, int],
    low: Dict[str, int],
    pending: List[str],
    stack: List[Tuple[str, Iterator[WiredInput]]],
) -> None:
    number[name] = low[name] = len(number)
    pending.append(name)
    stack.append((name, iter(inputs[name])))


def _cut(pending: List[str], first: str) -> Sequence[str]:
    at = len(pending) - 1
    while pending[at] != first:
        at -= 1
    members = pending[at:]
    del pending[at:]
    return members
