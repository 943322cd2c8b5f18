"""Strongly connected components, without recursion."""

from __future__ import annotations

from typing import List, Sequence

__all__ = ["components"]


def components(successors: Sequence[Sequence[int]]) -> List[int]:
    """For every node the number of its strongly connected component, above those it leads to (Tarjan). O(V + E)."""
    count = len(successors)
    number = [-1] * count
    low = [0] * count
    found = [-1] * count
    stack: List[int] = []
    on_stack = bytearray(count)
    clock = components_found = 0
    for start in range(count):
        if number[start] >= 0:
            continue
        number[start] = low[start] = clock
        clock += 1
        stack.append(start)
        on_stack[start] = 1
        walk = [(start, iter(successors[start]))]
        while walk:
            node, rest = walk[-1]
            for other in rest:
                if number[other] < 0:
                    number[other] = low[other] = clock
                    clock += 1
                    stack.append(other)
                    on_stack[other] = 1
                    walk.append((other, iter(successors[other])))
                    break
                if on_stack[other] and number[other] < low[node]:
                    low[node] = number[other]
            else:
                walk.pop()
                if walk and low[node] < low[walk[-1][0]]:
                    low[walk[-1][0]] = low[node]
                if low[node] == number[node]:
                    while True:
                        member = stack.pop()
                        on_stack[member] = 0
                        found[member] = components_found
                        if member == node:
                            break
                    components_found += 1
    return found
