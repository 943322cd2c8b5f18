"""A linked list of integers whose positions compare in constant time: the topological order of a contraction."""

from __future__ import annotations

from typing import List, Sequence

__all__ = ["OrderList"]

#: Distance between two neighbours when labels are handed out; halved by every insertion between them.
_GAP = 1 << 40


class OrderList:
    """An ordered list of the integers ``0 … n-1``; ``rank[x] < rank[y]`` says that x stands before y.

    Ranks are Python integers with gaps. An insertion takes the middle of a gap, and the list is renumbered when a
    gap is used up, so that insertion costs O(1) amortised in practice.
    """

    __slots__ = ("_head", "_next", "_prev", "_tail", "rank", "renumberings")

    def __init__(self, order: Sequence[int]) -> None:
        count = len(order)
        self._head, self._tail = count, count + 1
        self.rank: List[int] = [0] * (count + 2)
        self._next: List[int] = [-1] * (count + 2)
        self._prev: List[int] = [-1] * (count + 2)
        self.renumberings = 0
        before = self._head
        for item in order:
            self._next[before] = item
            self._prev[item] = before
            before = item
        self._next[before] = self._tail
        self._prev[self._tail] = before
        self._number()

    def _number(self) -> None:
        item, position = self._head, 0
        while item != -1:
            self.rank[item] = position
            position += _GAP
            item = self._next[item]

    def remove(self, item: int) -> None:
        before, after = self._prev[item], self._next[item]
        self._next[before] = after
        self._prev[after] = before

    def insert_after(self, item: int, before: int) -> None:
        """Put `item`, which is not in the list, directly behind `before`."""
        after = self._next[before]
        if self.rank[after] - self.rank[before] < 2:
            self.renumberings += 1
            self._number()
        self.rank[item] = (self.rank[before] + self.rank[after]) // 2
        self._next[before] = self._prev[after] = item
        self._prev[item] = before
        self._next[item] = after

    def move_after(self, item: int, before: int) -> None:
        self.remove(item)
        self.insert_after(item, before)

    def move_before(self, item: int, after: int) -> None:
        self.remove(item)
        self.insert_after(item, self._prev[after])

    def replace(self, old: int, new: int) -> None:
        """`new`, which is not in the list, takes the place of `old`."""
        before, after = self._prev[old], self._next[old]
        self.rank[new] = self.rank[old]
        self._prev[new], self._next[new] = before, after
        self._next[before] = self._prev[after] = new
