"""Which clusters that cannot reach each other are joined into one GEOP.

Mixed computing joins pairs in the adapter's own greedy way (every cluster survives); full offload keeps one GEOP: the
largest cluster and whatever is unreachable from and to all that it already holds.

Reachability is kept as sets of clusters in the adapter's index order. Where clusters are many, their sets share what
they have in common (:mod:`.antichains`); where that is too little, or they are few, a set is one integer.
"""

from __future__ import annotations

from functools import reduce
from itertools import compress, islice
from operator import or_
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Sequence, Set

from npu_reference.partition.clustering.antichains import share
from npu_reference.partition.clustering.bitsets import BitSets
from npu_reference.partition.clustering.contract import Contraction
from npu_reference.partition.clustering.introsort import sort_by_size_descending

__all__ = ["Clusters", "Marks", "cluster_of", "keep_largest_group", "merge_pairs", "merge_pairs_loosely"]

#: For every cluster the marks it must not share with one it is joined with; empty where no cluster has any.
Marks = Sequence[FrozenSet[str]]

#: Clusters up to which plain bit sets are taken at once (assumed: where they are faster whatever the graph).
_PLAIN_MOST = 4096

#: Steps a cluster after which lists are no longer built by row (assumed: where the other way is faster by then).
_ROW_STEPS = 32
_SAMPLE = 64  # rows looked at before


class Clusters:
    """The clusters of candidates after contraction, in the adapter's index order.

    `roots[i]` is the root of cluster i in the contraction, `sizes[i]` its number of nodes (by `weights`, where a
    node stands for several), `position[root]` its i.
    """

    def __init__(
        self, contraction: Contraction, candidate: Sequence[int], weights: Optional[Sequence[int]] = None
    ) -> None:
        sizes: Dict[int, int] = {}
        for node, root in enumerate(contraction.root):
            if candidate[node]:
                sizes[root] = sizes.get(root, 0) + (1 if weights is None else weights[node])
        self.contraction = contraction
        self.roots = sorted(sizes, key=contraction.label.__getitem__)
        self.sizes = [sizes[root] for root in self.roots]
        self.position = {root: index for index, root in enumerate(self.roots)}

    def __len__(self) -> int:
        return len(self.roots)

    def by_size(self) -> List[int]:
        """Positions, largest cluster first; equal sizes in the order std::sort leaves them."""
        return sort_by_size_descending(list(range(len(self.roots))), self.sizes)


def cluster_of(clusters: Clusters, group: Sequence[int], candidate: Sequence[int]) -> List[int]:
    """For every node, the position of the cluster whose group it belongs to; -1 on the host or where dissolved."""
    position, root = clusters.position, clusters.contraction.root
    return [group[position[root[node]]] if candidate[node] else -1 for node in range(len(root))]


def keep_largest_group(clusters: Clusters) -> List[int]:
    """Full offload: the largest cluster absorbs, by size, every cluster unreachable from and to all it holds.

    Answers for every cluster the position of the largest, or -1 where the cluster is dissolved. O(nodes + edges).
    """
    group = [-1] * len(clusters)
    if not len(clusters):
        return group
    contraction = clusters.contraction
    below: Set[int] = set()
    above: Set[int] = set()
    order = clusters.by_size()
    for index in order:
        root = clusters.roots[index]
        if root in below or root in above:
            continue
        group[index] = order[0]
        _flood(root, contraction.successors, below)
        _flood(root, contraction.predecessors, above)
    return group


def _flood(root: int, neighbours: Sequence, seen: Set[int]) -> None:
    """Add to `seen` everything reachable from `root`, itself excluded unless a path leads back."""
    pending = [root]
    while pending:
        for node in neighbours[pending.pop()]:
            if node not in seen:
                seen.add(node)
                pending.append(node)


def merge_pairs(clusters: Clusters, marks: Marks = ()) -> List[int]:
    """Mixed computing: join mutually unreachable clusters as the adapter does.

    Every cluster s has a list: in index order, each cluster d that neither reaches nor is reached by s or by anything
    already listed. Then by size: s, unless absorbed before, absorbs each t that it lists and that lists it. Lists are
    not symmetric, so some clusters that could be joined are not. A t that shares a mark with what s holds stays out.

    Answers for every cluster the position of the one it is absorbed by, itself where it stays.
    """
    return _absorb(clusters, _partners(clusters, loosely=False), marks)


def merge_pairs_loosely(clusters: Clusters) -> List[int]:
    """Full offload with lazy recompilation: as :func:`merge_pairs`, but lists are not checked against themselves.

    Two clusters that reach each other may thus be absorbed by the same third one: the adapter's own result then has a
    cycle. Only policy "adapter" wants this.
    """
    return _absorb(clusters, _partners(clusters, loosely=True), ())


def _partners(clusters: Clusters, loosely: bool) -> Callable[[int], Iterable[int]]:
    """What gives, for a cluster, those that it lists and that list it, ascending."""
    if len(clusters) > _PLAIN_MOST:
        shared = share(clusters.contraction, clusters.roots, BitSets(len(clusters)), loosely=loosely)
        if shared is not None:
            return shared.of
    everything = (1 << len(clusters)) - 1
    comparable = comparability(clusters)
    lists = [everything & ~row for row in comparable] if loosely else _lists(comparable)
    return lambda index: (other for other in _bits(lists[index]) if lists[other] >> index & 1)


def comparability(clusters: Clusters) -> List[int]:
    """For every cluster the bit set of those that it reaches or that reach it, itself included."""
    contraction, position = clusters.contraction, clusters.position
    rows = [0] * len(clusters)
    reach = _reach(contraction.order, contraction.predecessors, position)
    for root, index in position.items():
        rows[index] = reach[root]
    reach = _reach(contraction.order[::-1], contraction.successors, position)
    for root, index in position.items():
        rows[index] |= reach[root]
    return rows


def _reach(order: Sequence[int], sources: Sequence, position: Dict[int, int]) -> Dict[int, int]:
    """For every root the clusters among itself and everything before it, `order` listing sources first."""
    reach: Dict[int, int] = {}
    for root in order:
        bits = 1 << position[root] if root in position else 0
        for source in sources[root]:
            bits |= reach[source]
        reach[root] = bits
    return reach


def _lists(comparable: Sequence[int]) -> List[int]:
    """For every cluster s a bit set: either of the clusters in its list, or of those whose list holds it.

    A cluster d is in the list of s unless s is comparable to d, or some smaller member of that list is. The lists are
    built by row, each in as many steps as it has members, where the graph is narrow; else all at once by column, d in
    as many steps as it has smaller comparable clusters. Being in each other's list reads the same either way.
    """
    every = max(1, len(comparable) // _SAMPLE)
    # A look at some rows spares going half the way by rows in vain.
    if every > 1 and not _lists_by_row(comparable, _ROW_STEPS * len(comparable[::every]), every):
        return _lists_by_column(comparable)
    return _lists_by_row(comparable, _ROW_STEPS * len(comparable)) or _lists_by_column(comparable)


def _lists_by_row(comparable: Sequence[int], budget: int, every: int = 1) -> List[int]:
    """The list of every cluster, or of one in `every`; empty where that would take more than `budget` steps."""
    everything = (1 << len(comparable)) - 1
    lists: List[int] = []
    for row in comparable[::every]:
        free = everything & ~row
        members = 0
        while free:
            lowest = free & -free
            members |= lowest
            free &= ~comparable[lowest.bit_length() - 1]
            budget -= 1
        lists.append(members)
        if budget < 0:
            return []
    return lists


def _lists_by_column(comparable: Sequence[int]) -> List[int]:
    """For every cluster those whose list holds it."""
    everything = (1 << len(comparable)) - 1
    holders: List[int] = []
    some = 0  # clusters that are in any list at all: only they can stand in another's way
    for index, row in enumerate(comparable):
        blocked = row
        others = compress(holders, _selectors(row & some))
        while True:
            several = tuple(islice(others, 256))
            blocked = reduce(or_, several, blocked)
            if len(several) < 256 or blocked == everything:
                break
        holders.append(everything & ~blocked)
        if holders[-1]:
            some |= 1 << index
    return holders


_BIT_BYTES = bytes.maketrans(b"01", b"\0\1")


def _selectors(row: int) -> bytes:
    """One byte a bit, lowest first."""
    return bin(row)[:1:-1].encode("ascii").translate(_BIT_BYTES)


def _absorb(clusters: Clusters, partners: Callable[[int], Iterable[int]], marks: Marks) -> List[int]:
    """By size, each cluster not yet absorbed takes in those that it lists and that list it, and that share no mark."""
    group = list(range(len(clusters)))
    absorbed = bytearray(len(clusters))
    for index in clusters.by_size():
        if absorbed[index]:
            continue
        absorbed[index] = 1
        held = set(marks[index]) if marks else None
        for other in partners(index):
            if held is not None:
                if not held.isdisjoint(marks[other]):
                    continue
                held |= marks[other]
            absorbed[other] = 1
            group[other] = index
    return group


def _bits(row: int) -> Iterator[int]:
    """The positions of the bits set in `row`, ascending."""
    text = bin(row)[:1:-1]
    position = text.find("1")
    while position >= 0:
        yield position
        position = text.find("1", position + 1)
