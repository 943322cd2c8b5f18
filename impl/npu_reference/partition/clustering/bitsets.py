"""Sets of clusters that share what they have in common: reachability of n clusters in far less than n times n bits.

A set is a binary tree over the positions 0 to n - 1, its leaves integers of some hundred bits. Equal subtrees are one
node (hash-consing), named by a number, so that sets are compared at once and an operation walks only where its
operands differ. In a long graph two clusters near each other differ in little: what lies far before and far behind is
the same for both. A set that has nothing in common with others costs what a plain integer does, plus its tree.
"""

from __future__ import annotations

from typing import Dict, Iterator, List

__all__ = ["EMPTY", "BitSets", "ones"]

#: The empty set and every empty subtree.
EMPTY = 0

_LEAF_BITS = 256


class BitSets:
    """All sets over one universe of `count` positions.

    A subtree is known by its number, its `level` (0 for a leaf) and, where positions matter, by `at`, its place among
    the subtrees of that level. `steps` counts nodes and leaves worked on, for tests of growth.
    """

    def __init__(self, count: int, leaf_bits: int = _LEAF_BITS) -> None:
        self.leaf_bits = leaf_bits
        self.depth = 0
        while leaf_bits << self.depth < count:
            self.depth += 1
        self.left: List[int] = [EMPTY]
        self.right: List[int] = [EMPTY]
        self.bits: List[int] = [0]  # of a leaf
        self.steps = 0
        self._leaves: Dict[int, int] = {0: EMPTY}
        self._nodes: Dict[int, int] = {}
        self._differences: Dict[int, int] = {}
        self.universe = self._first(count, self.depth)

    # -- nodes -------------------------------------------------------------------------------------------------

    def leaf(self, bits: int) -> int:
        """The leaf of these bits."""
        found = self._leaves.get(bits)
        if found is None:
            found = self._leaves[bits] = len(self.bits)
            self.bits.append(bits)
            self.left.append(EMPTY)
            self.right.append(EMPTY)
        return found

    def node(self, left: int, right: int) -> int:
        """The subtree of these two halves."""
        if not left and not right:
            return EMPTY
        key = left << 40 | right
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.bits)
            self.bits.append(0)
            self.left.append(left)
            self.right.append(right)
        return found

    def _first(self, count: int, level: int) -> int:
        """The positions below `count`."""
        if count <= 0:
            return EMPTY
        half = self.leaf_bits << level >> 1
        if not level:
            return self.leaf((1 << min(count, self.leaf_bits)) - 1)
        return self.node(self._first(min(count, half), level - 1), self._first(count - half, level - 1))

    def single(self, position: int) -> int:
        """The set of one position."""
        at, bit = divmod(position, self.leaf_bits)
        found = self.leaf(1 << bit)
        for _ in range(self.depth):
            found = self.node(EMPTY, found) if at & 1 else self.node(found, EMPTY)
            at >>= 1
        return found

    # -- operations --------------------------------------------------------------------------------------------

    def union(self, a: int, b: int, level: int) -> int:
        """What is in either; both are subtrees of one level."""
        if a == b or not b:
            return a
        if not a:
            return b
        self.steps += 1
        if not level:
            return self.leaf(self.bits[a] | self.bits[b])
        left, right = self.left[a], self.right[a]
        other_left, other_right = self.left[b], self.right[b]
        if left != other_left and other_left:
            left = self.union(left, other_left, level - 1)
        if right != other_right and other_right:
            right = self.union(right, other_right, level - 1)
        return self.node(left, right)

    def difference(self, a: int, b: int, level: int) -> int:
        """What is in `a` and not in `b`; both are subtrees of one level."""
        if a == b or not a:
            return EMPTY
        if not b:
            return a
        key = a << 40 | b
        found = self._differences.get(key)
        if found is None:
            self.steps += 1
            if level:
                left = self.difference(self.left[a], self.left[b], level - 1)
                found = self.node(left, self.difference(self.right[a], self.right[b], level - 1))
            else:
                found = self.leaf(self.bits[a] & ~self.bits[b])
            self._differences[key] = found
        return found

    def holds(self, tree: int, position: int) -> bool:
        """Whether the whole set `tree` has the position."""
        at, bit = divmod(position, self.leaf_bits)
        for level in range(self.depth - 1, -1, -1):
            tree = self.right[tree] if at >> level & 1 else self.left[tree]
            if not tree:
                return False
        return bool(self.bits[tree] >> bit & 1)


def ones(bits: int) -> Iterator[int]:
    """The positions of the bits set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
