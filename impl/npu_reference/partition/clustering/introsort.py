"""The order in which GNU libstdc++'s ``std::sort`` leaves equal elements.

The adapter sorts its clusters by size alone, with a sort that is not stable; which of two clusters of equal size comes
first then decides what is merged. This module replays the algorithm: quicksort with the median of three as pivot down
to runs of sixteen, heapsort below a depth limit, one final insertion sort.
"""

from __future__ import annotations

from typing import List, TypeVar

__all__ = ["sort_by_size_descending"]

T = TypeVar("T")

#: Runs of up to this length are left to the final insertion sort (libstdc++'s `_S_threshold`).
_RUN = 16


def sort_by_size_descending(items: List[T], sizes: List[int]) -> List[T]:
    """`items` in the order std::sort gives them when `sizes[i]` is the key of `items[i]`, largest first.

    O(n log n); neither list is changed.
    """
    replay = _Replay(list(sizes))
    replay.sort()
    return [items[index] for index in replay.slots]


class _Replay:
    """Sorts positions; `key[p]` is the size of the element that started at position p."""

    def __init__(self, key: List[int]) -> None:
        self.key = key
        self.slots = list(range(len(key)))

    def _before(self, a: int, b: int) -> bool:
        return self.key[a] > self.key[b]

    def sort(self) -> None:
        count = len(self.slots)
        if count < 2:
            return
        self._quick(0, count, 2 * (count.bit_length() - 1))
        self._insertion(0, min(count, _RUN))
        for position in range(_RUN, count):
            self._sift_back(position)

    def _quick(self, low: int, high: int, depth: int) -> None:
        pending = [(low, high, depth)]
        while pending:  # the right part first, as the recursion does; the parts are independent of each other
            low, high, depth = pending.pop()
            while high - low > _RUN:
                if depth == 0:
                    self._heap(low, high)
                    break
                depth -= 1
                cut = self._cut(low, high)
                pending.append((cut, high, depth))
                high = cut

    def _cut(self, low: int, high: int) -> int:
        slots, before = self.slots, self._before
        self._median_to_front(low, low + 1, low + (high - low) // 2, high - 1)
        pivot = slots[low]
        left, right = low + 1, high
        while True:
            while before(slots[left], pivot):
                left += 1
            right -= 1
            while before(pivot, slots[right]):
                right -= 1
            if left >= right:
                return left
            slots[left], slots[right] = slots[right], slots[left]
            left += 1

    def _median_to_front(self, front: int, x: int, y: int, z: int) -> None:
        slots, before = self.slots, self._before
        if before(slots[x], slots[y]):
            if before(slots[y], slots[z]):
                median = y
            else:
                median = z if before(slots[x], slots[z]) else x
        elif before(slots[x], slots[z]):
            median = x
        else:
            median = z if before(slots[y], slots[z]) else y
        slots[front], slots[median] = slots[median], slots[front]

    def _sift_back(self, position: int) -> None:
        slots, value = self.slots, self.slots[position]
        while self._before(value, slots[position - 1]):
            slots[position] = slots[position - 1]
            position -= 1
        slots[position] = value

    def _insertion(self, low: int, high: int) -> None:
        slots = self.slots
        for position in range(low + 1, high):
            value = slots[position]
            if self._before(value, slots[low]):
                slots[low + 1 : position + 1] = slots[low:position]
                slots[low] = value
            else:
                self._sift_back(position)

    def _heap(self, low: int, high: int) -> None:
        slots = self.slots
        length = high - low
        for hole in range((length - 2) // 2, -1, -1):
            self._sift_down(low, hole, length, slots[low + hole])
        while high - low > 1:
            high -= 1
            value = slots[high]
            slots[high] = slots[low]
            self._sift_down(low, 0, high - low, value)

    def _sift_down(self, low: int, hole: int, length: int, value: int) -> None:
        slots, before, top = self.slots, self._before, hole
        child = hole
        while child < (length - 1) // 2:
            child = 2 * (child + 1)
            if before(slots[low + child], slots[low + child - 1]):
                child -= 1
            slots[low + hole] = slots[low + child]
            hole = child
        if length % 2 == 0 and child == (length - 2) // 2:
            child = 2 * (child + 1)
            slots[low + hole] = slots[low + child - 1]
            hole = child - 1
        parent = (hole - 1) // 2
        while hole > top and before(slots[low + parent], value):
            slots[low + hole] = slots[low + parent]
            hole = parent
            parent = (hole - 1) // 2
        slots[low + hole] = value
