"""What is known of one tensor, and of the elements behind a handle."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Set

from npu_reference.graphs.graph import Node
from npu_reference.graphs.shaping.dims import Shape, common, merged
from npu_reference.graphs.shaping.values import Value

__all__ = ["ElementsOf", "Fact", "GradientOf", "ListOf", "NodeCall", "UNKNOWN", "common_facts"]

#: Writers of one stack whose elements are compared anew when one changes; loops of real graphs have one (assumed).
_MOST_WRITERS = 64


class Fact(NamedTuple):
    """What is known of one tensor: its shape, its numbers, and the shape of what stands behind a handle.

    ``inner`` is a variable's shape, ElementsOf a stack or tensor array, or a ListOf; None where nothing is known.
    """

    shape: Shape
    value: Value = None
    inner: Any = None


UNKNOWN = Fact(None)


class ElementsOf:
    """The elements of one stack or tensor array: what all that is put in has in common, and who reads them.

    ``size`` is the number of elements, if it stays.
    """

    __slots__ = ("_stated", "_written", "element", "readers", "size")

    def __init__(self, stated: Shape, size: Value) -> None:
        self._stated = stated
        self._written: Dict[int, Fact] = {}
        self.element = Fact(stated)
        self.size = size
        self.readers: Set[int] = set()

    def put(self, writer: int, fact: Fact) -> bool:
        """Whether what a writer puts in changes what is known of all elements."""
        if self._written.get(writer) == fact:
            return False
        before = self.element
        again = writer in self._written and len(self._written) <= _MOST_WRITERS
        facts = [before, fact]
        self._written[writer] = fact
        if again or len(self._written) == 1:
            facts = list(self._written.values())
        known = facts[0]
        for other in facts[1:]:
            known = common_facts(known, other)
        self.element = known._replace(shape=merged(self._stated, known.shape))
        return self.element != before


class GradientOf(NamedTuple):
    """The gradient of a tensor array: its elements are as large as those of the array, whatever is put in."""

    of: ElementsOf


class ListOf(NamedTuple):
    """A tensor list: the shape stated for its elements, and that of those put in; ``empty`` while there are none.

    ``length`` is how many there are, if known; ``value`` the numbers that all of them are, where they were pushed.
    """

    stated: Shape
    element: Shape
    empty: bool
    length: Optional[int]
    value: Value = None

    def shape(self) -> Shape:
        return self.stated if self.empty else merged(self.stated, self.element)

    def added(self, shape: Shape, length: Optional[int], value: Value) -> ListOf:
        if self.empty:
            return ListOf(self.stated, shape, False, length, value)
        return ListOf(self.stated, common(self.element, shape), False, length, common(self.value, value))

    def common(self, other: ListOf) -> ListOf:
        stated = common(self.stated, other.stated)
        length = self.length if self.length == other.length else None
        if self.empty or other.empty:
            full = other if self.empty else self
            return ListOf(stated, full.element, full.empty, length, full.value)
        return ListOf(stated, common(self.element, other.element), False, length, common(self.value, other.value))


def common_facts(a: Fact, b: Fact) -> Fact:
    """What holds of a tensor that is either the one or the other."""
    if a == b:
        return a
    value = common(a.value, b.value)
    inner = None
    if isinstance(a.inner, ListOf) and isinstance(b.inner, ListOf):
        inner = a.inner.common(b.inner)
    elif not isinstance(a.inner, ListOf) and type(a.inner) is type(b.inner) and a.inner == b.inner:
        inner = a.inner
    return Fact(common(a.shape, b.shape), value, inner)


class NodeCall:
    """One node with what is known of its inputs, as rules see it."""

    __slots__ = ("count", "facts", "node", "op")

    def __init__(self, node: Node, facts: Sequence[Fact]) -> None:
        self.node = node
        self.op = node.op
        self.facts = facts
        self.count = len(facts)

    def shape(self, k: int) -> Shape:
        return self.facts[k].shape

    def value(self, k: int) -> Value:
        return self.facts[k].value

    def inner(self, k: int) -> Any:
        return self.facts[k].inner

    def attr(self, name: str, default: Any = None) -> Any:
        return self.node.attr(name, default)

    def text(self, name: str, default: str = "") -> str:
        return self.node.text(name, default)
