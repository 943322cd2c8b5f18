"""Which clusters that cannot reach each other are joined into one GEOP.

Mixed computing joins pairs in the adapter's own greedy way (every cluster survives); full offload keeps one GEOP: the
largest cluster and whatever is unreachable from and to all that it already holds.

Reachability is kept as bit sets, one bit a cluster in the adapter's index order, so that a whole row is one integer.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Set

from npu_reference.partition.contract import Contraction
from npu_reference.partition.introsort import sort_by_size_descending

__all__ = ["Clusters", "cluster_of", "keep_largest_group", "merge_pairs", "merge_pairs_loosely"]


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


def merge_pairs(clusters: Clusters) -> List[int]:
    """Mixed computing: join mutually unreachable clusters as the adapter does.

    Every cluster s has a list: in index order, each cluster d that neither reaches nor is reached by s or by anything
    already listed. Then by size: s, unless absorbed before, absorbs each t that it lists and that lists it. Lists are
    not symmetric, so some clusters that could be joined are not.

    Answers for every cluster the position of the one it is absorbed by, itself where it stays.
    """
    comparable = comparability(clusters)
    listed_by = _listed_by(comparable)
    return _absorb(clusters, listed_by)


def merge_pairs_loosely(clusters: Clusters) -> List[int]:
    """Full offload with lazy recompilation: as :func:`merge_pairs`, but lists are not checked against themselves.

    Two clusters that reach each other may thus be absorbed by the same third one: the adapter's own result then has a
    cycle. Only policy "adapter" wants this.
    """
    everything = (1 << len(clusters)) - 1
    return _absorb(clusters, [everything & ~row for row in comparability(clusters)])


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


def _listed_by(comparable: Sequence[int]) -> List[int]:
    """For every cluster d the bit set of the clusters whose list holds d.

    d is in the list of s unless s is comparable to d, or some smaller member of that list is.
    """
    everything = (1 << len(comparable)) - 1
    listed: List[int] = []
    some: List[int] = []  # clusters that are in any list at all: only they can stand in another's way
    for index, row in enumerate(comparable):
        blocked = row
        for other in some:
            if row >> other & 1:
                blocked |= listed[other]
        listed.append(everything & ~blocked)
        if listed[-1]:
            some.append(index)
    return listed


def _absorb(clusters: Clusters, listed_by: Sequence[int]) -> List[int]:
    group = list(range(len(clusters)))
    absorbed = bytearray(len(clusters))
    for index in clusters.by_size():
        if absorbed[index]:
            continue
        absorbed[index] = 1
        for other in _bits(listed_by[index]):
            if listed_by[other] >> index & 1:
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
