"""The least number of GEOPs any acyclic partition of a graph can have."""

from __future__ import annotations

from typing import List, Sequence

from npu_reference.partition.structure.topology import orderable

__all__ = ["device_levels", "least_geops"]


def device_levels(count: int, src: Sequence[int], dst: Sequence[int], on_device: Sequence[int]) -> List[int]:
    """For every node, how often a path ending there must have entered the device anew; 0 where it never did.

    Along each path the level rises by one at every edge from a host node to a device node and is carried through host
    nodes. Nodes of different levels on one path have a host node between them, hence must lie in different GEOPs;
    grouping device nodes by level is acyclic. So the highest level is both a lower and an upper bound.

    The edges ``src[i] -> dst[i]`` must be acyclic. O(nodes + edges).
    """
    successors: List[List[int]] = [[] for _ in range(count)]
    for tail, head in zip(src, dst):
        successors[tail].append(head)
    level = [1 if flag else 0 for flag in on_device]
    for node in orderable(successors):
        here = level[node]
        after_host = here if on_device[node] else here + 1
        for head in successors[node]:
            reached = after_host if on_device[head] else here
            if reached > level[head]:
                level[head] = reached
    return level


def least_geops(count: int, src: Sequence[int], dst: Sequence[int], on_device: Sequence[int]) -> int:
    """The least number of GEOPs that hold all device nodes of an acyclic graph (see :func:`device_levels`)."""
    levels = device_levels(count, src, dst, on_device)
    return max((level for level, flag in zip(levels, on_device) if flag), default=0)
