"""Which neighbouring candidates end up in one cluster: the adapter's greedy sweeps, replayed in near-linear time.

The adapter sweeps over all edges in edge-id order until a whole sweep changes nothing. An edge between two clusters is
contracted unless another path joins them. Repeating every sweep would be quadratic; here a refused edge is tried
again only after the path that refused it has changed:

* A contraction never destroys a path, it can only shorten one into nothing. So a refusal stands until one of the
  three clusters involved (both ends, and a *witness* on the path) is merged with another of the three.
* A witness on the host never merges: the refusal is final.
* Every wake-up is entered with the sweep and the edge at which the adapter would next try that edge.

Whether another path exists is asked of a topological order that is kept current, so that the search stays inside the
window between the two ends (after Pearce and Kelly; two-way, as in incremental cycle detection).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.errors import NpuError
from npu_reference.partition.clustering.ordering import OrderList
from npu_reference.partition.structure.topology import topological_order

__all__ = ["Contraction", "contract"]

#: What a search for a path answers: a witness (or -1), the side that proved "no path", and the nodes seen on it.
_Found = Tuple[int, str, Iterable[int]]


class Contraction(NamedTuple):
    """The quotient graph after contraction.

    `root[node]` names the cluster of a node (host nodes are alone), `label[root]` is the index the adapter's own cycle
    graph would give that cluster, `successors`/`predecessors` are the neighbour sets of each root (None for a node
    that is not a root), `order` lists the roots topologically. `work` counts elementary steps, for tests of growth.
    """

    root: List[int]
    label: List[int]
    successors: List[Optional[Set[int]]]
    predecessors: List[Optional[Set[int]]]
    order: List[int]
    work: int


def contract(
    count: int,
    src: Sequence[int],
    dst: Sequence[int],
    candidate: Sequence[int],
    *,
    flavour: str = "tf1",
    untied: Sequence[int] = (),
    untried: Sequence[int] = (),
    marks: Optional[Mapping[int, FrozenSet[str]]] = None,
) -> Contraction:
    """Contract edges between candidates, with the adapter's result.

    Args:
        count: number of nodes, numbered as in the adapter's graph.
        src, dst: the ends of every edge, in the adapter's edge-id order.
        candidate: for every node, whether it may be offloaded.
        flavour: "tf1" or "tf2"; they differ only in the labels of clusters.
        untied: edges (positions in `src`) that are tried but bind nothing: those out of NextIteration.
        untried: edges that bind but are never contracted: those out of IteratorGetNext under lazy recompilation.
        marks: of some nodes, what no two clusters that are joined may share.

    Raises:
        NpuError: GRAPH_CYCLE, where the binding edges form a cycle.
    """
    work = _Contractor(count, src, dst, candidate, flavour == "tf2", set(untied), set(untried), marks or {})
    work.run()
    return work.result()


class _Contractor:
    def __init__(
        self,
        count: int,
        src: Sequence[int],
        dst: Sequence[int],
        candidate: Sequence[int],
        larger_keeps: bool,
        untied: Set[int],
        untried: Set[int],
        marks: Mapping[int, FrozenSet[str]],
    ) -> None:
        self.src, self.dst, self.candidate = src, dst, candidate
        self.larger_keeps = larger_keeps
        self.untied, self.untried = sorted(untied), untried
        self.marks = dict(marks)
        self.out: List[Optional[Set[int]]] = [set() for _ in range(count)]
        self.into: List[Optional[Set[int]]] = [set() for _ in range(count)]
        out, into = self.out, self.into
        for edge, (tail, head) in enumerate(zip(src, dst)):
            if edge in untied:
                continue
            if tail == head:
                raise NpuError("GRAPH_CYCLE", "", "a node is its own input.")
            out[tail].add(head)  # type: ignore[union-attr]
            into[head].add(tail)  # type: ignore[union-attr]
        self.order = OrderList(topological_order(out))  # type: ignore[arg-type]
        self.parent = list(range(count))
        self.label = list(range(count))
        self.watches: List[Optional[List[Tuple[int, int]]]] = [None] * count
        self.wakeups: List[Tuple[int, int]] = []
        self.queued: Set[int] = set()
        self.full_sweep = 0  # the last sweep for which the untied edges are queued
        self.steps = len(src)

    # -- sweeps ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        candidate, src, dst, wakeups = self.candidate, self.src, self.dst, self.wakeups
        untried = self.untried
        for edge, (tail, head) in enumerate(zip(src, dst)):
            while wakeups and wakeups[0] <= (0, edge):
                self._wake()
            if candidate[tail] and candidate[head] and edge not in untried:
                self._try(edge, 0)
        while wakeups:
            self._wake()

    def _wake(self) -> None:
        sweep, edge = heappop(self.wakeups)
        self.queued.discard(edge)
        self._try(edge, sweep)

    def _queue(self, edge: int, sweep: int) -> None:
        if edge not in self.queued:
            self.queued.add(edge)
            heappush(self.wakeups, (sweep, edge))

    # -- one edge ----------------------------------------------------------------------------------------------

    def find(self, node: int) -> int:
        parent = self.parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def _try(self, edge: int, sweep: int) -> None:
        a, b = self.find(self.src[edge]), self.find(self.dst[edge])
        after = self.out[a]
        if a == b or b not in after:  # type: ignore[operator]
            return
        before = self.into[b]
        self.steps += 1
        # Marks are never lost, so clusters that share one stay apart for good.
        if a in self.marks and not self.marks[a].isdisjoint(self.marks.get(b, ())):
            return
        if len(after) == 1:  # type: ignore[arg-type]
            self._merge(a, b, "after", (), edge, sweep)
        elif len(before) == 1:  # type: ignore[arg-type]
            self._merge(a, b, "before", (), edge, sweep)
        else:
            witness, side, seen = self._search(a, b)
            if witness < 0:
                self._merge(a, b, side, seen, edge, sweep)
            elif self.candidate[witness]:
                self._watch(edge, a, b, witness)

    def _watch(self, edge: int, a: int, b: int, witness: int) -> None:
        record = (edge, witness)
        for root in (a, b, witness):
            records = self.watches[root]
            if records is None:
                self.watches[root] = [record]
            else:
                records.append(record)

    def _search(self, a: int, b: int) -> _Found:
        """Look for a path from `a` to `b` beside the direct edge, one edge at a time from both ends.

        The side that runs out first proves that there is none, and is exactly what has to move in the order.
        """
        rank, out, into = self.order.rank, self.out, self.into
        low, high = rank[a], rank[b]
        after_a, before_b = out[a], into[b]
        forward: Set[int] = set()
        backward: Set[int] = set()
        down: List[Iterator[int]] = [iter(after_a)]  # type: ignore[arg-type]
        up: List[Iterator[int]] = [iter(before_b)]  # type: ignore[arg-type]
        steps = 0
        try:
            while True:
                while down:
                    node = next(down[-1], -1)
                    if node < 0:
                        down.pop()
                        continue
                    steps += 1
                    if node != b and node not in forward and rank[node] < high:
                        if node in backward or node in before_b:  # type: ignore[operator]
                            return node, "", ()
                        forward.add(node)
                        down.append(iter(out[node]))  # type: ignore[arg-type]
                    break
                if not down:
                    return -1, "after", forward
                while up:
                    node = next(up[-1], -1)
                    if node < 0:
                        up.pop()
                        continue
                    steps += 1
                    if node != a and node not in backward and rank[node] > low:
                        if node in forward or node in after_a:  # type: ignore[operator]
                            return node, "", ()
                        backward.add(node)
                        up.append(iter(into[node]))  # type: ignore[arg-type]
                    break
                if not up:
                    return -1, "before", backward
        finally:
            self.steps += steps

    # -- one contraction ---------------------------------------------------------------------------------------

    def _merge(self, a: int, b: int, side: str, seen: Iterable[int], edge: int, sweep: int) -> None:
        out, into, order = self.out, self.into, self.order
        out[a].discard(b)  # type: ignore[union-attr]
        into[b].discard(a)  # type: ignore[union-attr]
        place, gone = self._make_room(a, b, side, seen)
        weight_a = len(out[a]) + len(into[a])  # type: ignore[arg-type]
        weight_b = len(out[b]) + len(into[b])  # type: ignore[arg-type]
        label = self.label[b] if self.larger_keeps and weight_b > weight_a else self.label[a]
        keep, drop = (b, a) if weight_b > weight_a else (a, b)
        order.remove(gone)
        if keep != place:
            order.replace(place, keep)
        self.parent[drop] = keep
        if drop in self.marks:
            self.marks[keep] = self.marks.get(keep, frozenset()) | self.marks[drop]
        self.label[keep] = label
        self._move_edges(drop, keep)
        self._wake_watchers(drop, keep, edge, sweep)
        if self.untied and self.full_sweep <= sweep:
            self.full_sweep = sweep + 1
            for loose in self.untied:
                if self.candidate[self.src[loose]] and self.candidate[self.dst[loose]] and loose not in self.untried:
                    heappush(self.wakeups, (sweep + 1, loose))

    def _make_room(self, a: int, b: int, side: str, seen: Iterable[int]) -> Tuple[int, int]:
        """Move what lies between in the order; answer which of the two places stays and which goes."""
        rank = self.order.rank
        if side == "before":
            for node in sorted(seen, key=rank.__getitem__):
                self.order.move_before(node, a)
                self.steps += 1
            return a, b
        for node in sorted(seen, key=rank.__getitem__, reverse=True):
            self.order.move_after(node, b)
            self.steps += 1
        return b, a

    def _move_edges(self, drop: int, keep: int) -> None:
        out, into = self.out, self.into
        kept_out, kept_into = out[keep], into[keep]
        gone_out, gone_into = out[drop], into[drop]
        self.steps += len(gone_out) + len(gone_into)  # type: ignore[arg-type]
        for node in gone_out:  # type: ignore[union-attr]
            other = into[node]
            other.discard(drop)  # type: ignore[union-attr]
            other.add(keep)  # type: ignore[union-attr]
        for node in gone_into:  # type: ignore[union-attr]
            other = out[node]
            other.discard(drop)  # type: ignore[union-attr]
            other.add(keep)  # type: ignore[union-attr]
        kept_out |= gone_out  # type: ignore[operator]
        kept_into |= gone_into  # type: ignore[operator]
        out[keep], into[keep] = kept_out, kept_into
        out[drop] = into[drop] = None

    def _wake_watchers(self, drop: int, keep: int, edge: int, sweep: int) -> None:
        gone = self.watches[drop]
        if not gone:
            return
        self.watches[drop] = None
        kept = self.watches[keep] or []
        if len(kept) < len(gone):
            kept, gone = gone, kept
        self.watches[keep] = kept
        # A record of both lists concerns two of the three clusters that were one edge apart: it is in either list.
        for record in gone:
            self.steps += 1
            other, witness = record
            a, b, between = self.find(self.src[other]), self.find(self.dst[other]), self.find(witness)
            if a == b:
                continue
            if between in (a, b):
                self._queue(other, sweep if other > edge else sweep + 1)
            else:
                kept.append(record)

    # -- the answer --------------------------------------------------------------------------------------------

    def result(self) -> Contraction:
        roots = [self.find(node) for node in range(len(self.parent))]
        rank = self.order.rank
        live = [node for node in range(len(roots)) if roots[node] == node]
        live.sort(key=rank.__getitem__)
        return Contraction(roots, self.label, self.out, self.into, live, self.steps + self.order.spread)
