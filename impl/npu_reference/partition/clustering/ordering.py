"""A linked list of integers whose positions compare in constant time: the topological order of a contraction."""

from __future__ import annotations

from typing import List, Sequence

__all__ = ["OrderList"]

#: Distance between two neighbours when ranks are handed out; halved by every insertion between them.
_GAP = 1 << 40

#: A range of 2**k ranks is taken for sparse while it holds fewer than (2 / _CROWD)**k items.
_CROWD = 1.5


class OrderList:
    """An ordered list of the integers ``0 … n-1``; ``rank[x] < rank[y]`` says that x stands before y.

    Ranks are integers with gaps, and an insertion takes the middle of a gap. When a gap is used up, only the smallest
    range around it that is still sparse is spread out anew, which costs O(log n) an insertion, amortised (Bender et
    al., "Two Simplified Algorithms for Maintaining Order in a List", 2002). `spread` counts the items moved so.
    """

    __slots__ = ("_head", "_next", "_prev", "_tail", "rank", "spread")

    def __init__(self, order: Sequence[int]) -> None:
        count = len(order)
        self._head, self._tail = count, count + 1
        self.rank: List[int] = [0] * (count + 2)
        self._next: List[int] = [-1] * (count + 2)
        self._prev: List[int] = [-1] * (count + 2)
        self.spread = 0
        before = self._head
        for item in order:
            self._next[before] = item
            self._prev[item] = before
            before = item
        self._next[before] = self._tail
        self._prev[self._tail] = before
        item, position = self._head, 0
        while item != -1:
            self.rank[item] = position
            position += _GAP
            item = self._next[item]

    def _spread(self, place: int) -> None:
        """Make room behind `place`."""
        rank, following, preceding = self.rank, self._next, self._prev
        head, tail = self._head, self._tail
        # The sentinel at the head keeps rank 0, so the range around it begins behind it.
        first = last = place if place != head else following[head]
        centre, count, bits = rank[first], 1, 1
        while True:
            bits += 1
            low = centre >> bits << bits
            high = min(low + (1 << bits), rank[tail])
            while preceding[first] != head and rank[preceding[first]] >= low:
                first = preceding[first]
                count += 1
            while following[last] != tail and rank[following[last]] < high:
                last = following[last]
                count += 1
            step = (high - low) // (count + 1)
            if count < (2 / _CROWD) ** bits and step > 1:
                break
        self.spread += count
        position = low
        while True:
            position += step
            rank[first] = position
            if first == last:
                return
            first = following[first]

    def remove(self, item: int) -> None:
        before, after = self._prev[item], self._next[item]
        self._next[before] = after
        self._prev[after] = before

    def insert_after(self, item: int, before: int) -> None:
        """Put `item`, which is not in the list, directly behind `before`."""
        after = self._next[before]
        if self.rank[after] - self.rank[before] < 2:
            self._spread(before)
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
