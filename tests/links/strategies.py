"""Strategies for topologies and collectives, and the order of every reduction as docs/device.md states it.

The order is written here a second time, independently of the reference, so that `test_values.py` can compare the two.
"""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from npu_reference.device.links import ALGORITHMS, DevicePlace, Topology, topology

__all__ = ["collectives", "order", "topologies"]


@st.composite
def topologies(draw, least=2, most=16):
    """Ranks one after the other, on servers of some size, or scattered anyhow."""
    size = draw(st.integers(least, most))
    form = draw(st.sampled_from(["filled", "few", "scattered"]))
    if form == "filled":
        return topology(size)
    if form == "few":
        return topology(size, per_server=draw(st.sampled_from([1, 2, 4, 6])))
    spots = draw(st.permutations([(server, device) for server in range(3) for device in range(8)]))
    return Topology(tuple(DevicePlace(server, device // 4, device) for server, device in spots[:size]))


def collectives(where):
    """An algorithm that these ranks have."""
    return st.sampled_from([name for name in ALGORITHMS if name != "hierarchical" or where.grid() is not None])


def order(algorithm, where, shard, second_half=False):
    """The order in which shard ``shard`` is reduced, as pairs of pairs of ranks: ((0, 1), 2) is (x0 + x1) + x2.

    Written down from the page, not from the messages.
    """
    ranks = list(range(where.size))
    if algorithm in ("mesh", "star"):
        return _chain(ranks)
    if algorithm == "ring" or (algorithm == "double_ring" and not second_half):
        return _around(ranks, shard)
    if algorithm == "double_ring":
        return _around(ranks[::-1], where.size - 1 - shard)
    if algorithm == "halving_doubling":
        return _halved(ranks)
    return _levels(where, shard)


def _chain(parts):
    return functools.reduce(lambda one, other: (one, other), parts)


def _around(parts, last):
    turned = parts[last + 1 :] + parts[: last + 1]
    return _chain(turned)


def _halved(parts):
    core = 1
    while core * 2 <= len(parts):
        core *= 2
    folds = len(parts) - core
    at = [(parts[2 * k], parts[2 * k + 1]) for k in range(folds)] + parts[2 * folds :]
    while len(at) > 1:
        half = len(at) // 2
        at = [(at[k], at[k + half]) for k in range(half)]
    return at[0]


def _levels(where, shard):
    grid = where.grid()
    place = next(number for number, groups in enumerate(grid) if any(shard in members for members in groups))
    servers = [_chain([_chain(members) for members in groups]) for groups in grid]
    if len(servers) & (len(servers) - 1):
        return _around(servers, place)
    return _halved(servers)
