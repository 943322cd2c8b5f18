"""In which order the nodes of a partitioned graph can be placed, while loops being placed as a whole."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

from npu_reference.partition.structure.scc import components

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


def groups_in_order(inputs: Dict[str, List[WiredInput]]) -> List[Tuple[str, ...]]:
    """The strongly connected components, each after everything it reads; a while loop alone has several members.

    Args:
        inputs: of every node, by name; names that are not keys are ignored.
    """
    number = {name: position for position, name in enumerate(inputs)}
    reads = [[number[end.node] for end in ends if end.node in number] for ends in inputs.values()]
    groups: Dict[int, List[str]] = {}
    for name, group in zip(inputs, components(reads)):
        groups.setdefault(group, []).append(name)
    return [tuple(groups[group]) for group in sorted(groups)]
