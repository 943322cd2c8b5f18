"""Which clusters stand in each other's list: the adapter's greedy antichains, worked out once for what many share.

The list of s takes, in index order, every cluster comparable neither to s nor to anything taken before. Over a range
of clusters it thus depends on nothing but which of them are still free when the range begins. Lists are built over the
tree of :mod:`.bitsets`, and where two clusters leave the same free, the second has the first one's answer.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence

from npu_reference.partition.clustering.bitsets import EMPTY, BitSets, ones
from npu_reference.partition.clustering.contract import Contraction

__all__ = ["Mutual", "share"]

#: Steps a cluster and level of the tree after which sets are held to share too little, and clusters with which the
#: count begins (assumed: where plain bit sets are faster by then).
_STEPS, _HEAD_START = 16, 512


def share(contraction: Contraction, roots: Sequence[int], sets: BitSets, *, loosely: bool = False) -> Optional[Mutual]:
    """The clusters `roots`, in index order, with the pairs that list each other; None where sets share too little.

    `loosely` lists everything that is not comparable. Near n log n steps where clusters that are near each other reach
    nearly the same; the caller has plain bit sets for the other graphs.
    """
    allowance = _STEPS * (sets.depth + 1)
    single = {root: sets.single(index) for index, root in enumerate(roots)}
    before = _reach(contraction.order, contraction.predecessors, single, sets, allowance)
    if before is None:
        return None
    after = _reach(contraction.order[::-1], contraction.successors, single, sets, allowance)
    if after is None:
        return None
    comparable = [sets.union(before[root], after[root], sets.depth) for root in roots]
    del before, after
    lists = [sets.difference(sets.universe, row, sets.depth) for row in comparable]
    if not loosely:
        antichains = Antichains(sets, comparable)
        start = sets.steps
        for index, free in enumerate(lists):
            lists[index] = antichains.of(free)
            if sets.steps - start > allowance * (index + _HEAD_START):
                return None
    return Mutual(sets, lists)


def _reach(
    order: Sequence[int], sources: Sequence, single: Dict[int, int], sets: BitSets, allowance: int
) -> Optional[Dict[int, int]]:
    """For every root the clusters among itself and everything before it, `order` listing sources first."""
    reach: Dict[int, int] = {}
    union, depth, start, passed = sets.union, sets.depth, sets.steps, _HEAD_START
    for root in order:
        found = single.get(root, EMPTY)
        passed += root in single
        for source in sources[root]:
            found = union(found, reach[source], depth)
        reach[root] = found
        if sets.steps - start > allowance * passed:
            return None
    return reach


class Antichains:
    """Builds lists, given for every cluster the set of those it is comparable to, itself included."""

    def __init__(self, sets: BitSets, comparable: Sequence[int]) -> None:
        self.sets = sets
        #: By cluster and level: those comparable to it in the subtree to the right of its own, at that level.
        self._beside: List[List[int]] = []
        #: By level and leaf, the clusters of the leaf with any such; by leaf, those with any later one in the leaf.
        self._blockers: List[Dict[int, int]] = [{} for _ in range(sets.depth)]
        self._later: List[int] = []
        self._killers: Dict[int, int] = {}
        for cluster, tree in enumerate(comparable):
            self._enter(cluster, tree)
        self._built: Dict[int, int] = {}
        self._blocked: Dict[int, int] = {}

    def _enter(self, cluster: int, tree: int) -> None:
        sets = self.sets
        at, bit = divmod(cluster, sets.leaf_bits)
        beside = [EMPTY] * sets.depth
        for level in range(sets.depth - 1, -1, -1):
            if at >> level & 1:
                tree = sets.right[tree]
                continue
            beside[level] = sets.right[tree]
            if beside[level]:
                blockers = self._blockers[level]
                blockers[at] = blockers.get(at, 0) | 1 << bit
            tree = sets.left[tree]
        later = sets.bits[tree] >> bit + 1 << bit + 1
        if later:
            self._killers[at] = self._killers.get(at, 0) | 1 << bit
        self._beside.append(beside)
        self._later.append(later)

    def of(self, free: int) -> int:
        """The list that takes from `free`, the clusters incomparable to the one whose list it is."""
        return self._build(free, self.sets.depth, 0)

    def _build(self, free: int, level: int, at: int) -> int:
        if not free:
            return EMPTY
        sets = self.sets
        key = (free << sets.depth + 1 | 1 << sets.depth - level) + at
        found = self._built.get(key)
        if found is None:
            sets.steps += 1
            if level:
                left, right = self._build(sets.left[free], level - 1, 2 * at), sets.right[free]
                if left and right:
                    right = sets.difference(right, self._block(left, level - 1, 2 * at, level - 1), level - 1)
                found = sets.node(left, self._build(right, level - 1, 2 * at + 1))
            else:
                found = self._build_leaf(free, at)
            self._built[key] = found
        return found

    def _build_leaf(self, free: int, at: int) -> int:
        """Only clusters that stand in another's way are gone through."""
        sets, killers = self.sets, self._killers.get(at, 0)
        bits, start = sets.bits[free], at * sets.leaf_bits
        pending = bits & killers
        while pending:
            sets.steps += 1
            lowest = pending & -pending
            later = self._later[start + lowest.bit_length() - 1]
            bits &= ~later
            pending &= ~(later | lowest)
        return sets.leaf(bits)

    def _block(self, members: int, level: int, at: int, side: int) -> int:
        """What `members` are comparable to in the subtree to their right at level `side`."""
        if not members:
            return EMPTY
        sets = self.sets
        if not level:
            blocking = sets.bits[members] & self._blockers[side].get(at, 0)
            if not blocking:
                return EMPTY
        key = ((members << sets.depth + 1 | 1 << sets.depth - level) + at) * sets.depth + side
        found = self._blocked.get(key)
        if found is None:
            sets.steps += 1
            found = EMPTY
            if level:
                found = sets.union(
                    self._block(sets.left[members], level - 1, 2 * at, side),
                    self._block(sets.right[members], level - 1, 2 * at + 1, side),
                    side,
                )
            else:
                start = at * sets.leaf_bits
                for bit in ones(blocking):
                    found = sets.union(found, self._beside[start + bit][side], side)
            self._blocked[key] = found
        return found


class Mutual:
    """Finds, given the list of every cluster, those that a cluster lists and that list it.

    Lists are long where many clusters lead nowhere, and few of those on them list back: what no cluster of a whole
    subtree lists is not looked for there.
    """

    def __init__(self, sets: BitSets, lists: Sequence[int]) -> None:
        self.sets, self.lists = sets, lists
        #: By level and place: what any cluster of that place lists.
        self._listed: List[List[int]] = [[]]
        for start in range(0, len(lists), sets.leaf_bits):
            self._listed[0].append(self._union(lists[start : start + sets.leaf_bits]))
        while len(self._listed) <= sets.depth:
            below = self._listed[-1]
            self._listed.append([self._union(below[at : at + 2]) for at in range(0, len(below), 2)])

    def _union(self, trees: Sequence[int]) -> int:
        found = EMPTY
        for tree in trees:
            found = self.sets.union(found, tree, self.sets.depth)
        return found

    def of(self, cluster: int) -> Iterator[int]:
        """The clusters that are in the list of `cluster` and have it in theirs, ascending."""
        sets, lists = self.sets, self.lists
        pending = [(lists[cluster], sets.depth, 0)]
        while pending:
            tree, level, at = pending.pop()
            if not tree or not sets.holds(self._listed[level][at], cluster):
                continue
            sets.steps += 1
            if level:
                pending += [(sets.right[tree], level - 1, 2 * at + 1), (sets.left[tree], level - 1, 2 * at)]
                continue
            start = at * sets.leaf_bits
            for bit in ones(sets.bits[tree]):
                if sets.holds(lists[start + bit], cluster):
                    yield start + bit
