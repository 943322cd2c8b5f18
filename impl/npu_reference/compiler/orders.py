"""In which order things come that wait for each other."""

from __future__ import annotations

import heapq
from typing import Iterable, List, Sequence

__all__ = ["smallest_first"]


def smallest_first(before: Sequence[Iterable[int]]) -> List[int]:
    """Numbers in topological order, of those that could come next the smallest; those in a circle are missing.

    Args:
        before: for each number those that it waits for.
    """
    after: List[List[int]] = [[] for _ in before]
    waits = [0] * len(before)
    for number, needed in enumerate(before):
        for need in needed:
            after[need].append(number)
            waits[number] += 1
    ready = [number for number, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for one in after[number]:
            waits[one] -= 1
            if not waits[one]:
                heapq.heappush(ready, one)
    return order
