"""What every rank sends to which in a collective, step by step: the algorithms as messages.

A collective works on one buffer a rank, all of one length, cut into *shards*: shard k is the one that rank k ends with
in a reduce_scatter and begins with in an allgather. An algorithm is how shards are scattered (each reduced on its way
to its rank) and how they are gathered (each copied to all); the kinds are put together of these two.

Within a step every rank sends what it had when the step began. What arrives to be reduced is reduced, with what the
rank has itself, in ascending order of the ranks it is from. So the order of every reduction follows from the messages:

* ``mesh``, ``star``: ((x0 + x1) + x2) + ...
* ``ring``: shard k begins on rank k+1 and goes round: ((x[k+1] + x[k+2]) + ...) + x[k]
* ``double_ring``: first halves of shards so, second halves the other way round: ((x[k-1] + x[k-2]) + ...) + x[k]
* ``halving_doubling``: pairs at half the distance first: of four ranks (x0 + x2) + (x1 + x3); where their number is no
  power of two, the first ranks are added two by two before
* ``hierarchical``: mesh in each HCCS group, then over the groups of a server, then over servers
"""

from __future__ import annotations

import functools
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.device.links.topology import Topology
from npu_reference.options.classes import OptionValueError

__all__ = ["ALGORITHMS", "KINDS", "Message", "choose", "plan"]

KINDS = ("allreduce", "broadcast", "allgather", "reduce_scatter", "reduce", "send", "receive", "alltoallv")

#: Algorithms of the kinds that have a choice; alltoallv has ``pairwise`` and ``mesh``, send and receive ``direct``.
ALGORITHMS = ("mesh", "ring", "double_ring", "halving_doubling", "star", "hierarchical")

#: Bytes up to which latency decides where groups are uneven; assumed.
_SMALL = 64 << 10

#: Ranks from which on a ring has too many steps; assumed.
_LARGE = 128

#: Messages of one collective at most: some algorithms send from each rank to each (assumed; as many take a second).
_MOST_MESSAGES = 1 << 18

_Range = Tuple[int, int]
_Shard = Tuple[_Range, ...]


#: Algorithms whose messages grow with the square of the ranks: how many each rank has with each other, one way.
_EACH_TO_EACH = {"mesh": 1, "ring": 1, "double_ring": 2, "pairwise": 1}


class Message(NamedTuple):
    """One rank sends elements to another.

    Attributes:
        step: messages of one step leave together; what a rank sends it has from earlier steps.
        src, dst: ranks.
        chunk: which elements of the buffer, as (start, stop), ascending.
        into: of alltoallv, where they begin in the receiver's own buffer; else -1, and they keep their places.
        bytes: how many they are.
        reduces: whether they are reduced with what the receiver has there, or replace it.
    """

    step: int
    src: int
    dst: int
    chunk: Tuple[Tuple[int, int], ...]
    into: int
    bytes: int
    reduces: bool


def choose(kind: str, size: int, where: Topology) -> str:
    """The algorithm for a collective of some bytes: mesh in a group, two levels and more over several (HCCL's default).

    Args:
        size: bytes of a rank's buffer.
    """
    if kind in ("send", "receive"):
        return "direct"
    if where.size == 1:
        return "mesh"
    grid = where.grid()
    if kind == "alltoallv":
        return "mesh" if len({place[:2] for place in where.places}) == 1 else "pairwise"
    if grid is None:
        return "halving_doubling" if size <= _SMALL or where.size > _LARGE else "ring"
    servers, groups, members = len(grid), len(grid[0]), len(grid[0][0])
    if servers == 1 and groups == 1:
        return "mesh"
    if groups == 1 and members == 1:
        return _between_servers(servers)
    return "hierarchical"


def plan(
    kind: str,
    algorithm: str,
    where: Topology,
    elements: int,
    width: int,
    *,
    root: int = 0,
    peer: int = 0,
    counts: Optional[Sequence[Sequence[int]]] = None,
    send_at: Optional[Sequence[Sequence[int]]] = None,
    receive_at: Optional[Sequence[Sequence[int]]] = None,
) -> Tuple[Message, ...]:
    """The messages of a collective, in order of their steps.

    Args:
        elements: of the whole buffer: for allgather what all ranks have together, else what each has.
        width: bytes of an element.
        root: whose data is broadcast, or where it is reduced to; of send and receive the rank that sends.
        peer: of send and receive the rank that receives.
        counts: of alltoallv, elements from each rank (row) to each (column); ``send_at`` and ``receive_at``: where they
            begin in the sender's and the receiver's buffer, by sender and by receiver; None: one after the other.

    Raises:
        OptionValueError: no such kind, algorithm or rank; ``hierarchical`` among groups of different size.
    """
    _check(kind, algorithm, where, root, peer)
    if elements < 0 or width < 1:
        raise OptionValueError("OPTION_VALUE", kind, f"{elements} elements of {width} bytes cannot be.")
    if kind == "alltoallv":
        return _all_to_all(algorithm, where.size, width, counts or (), send_at, receive_at)
    return _planned(kind, algorithm, where, elements, width, root, peer)


@functools.lru_cache(maxsize=512)
def _planned(
    kind: str, algorithm: str, where: Topology, elements: int, width: int, root: int, peer: int
) -> Tuple[Message, ...]:
    made = _Plan(where, width)
    ranks = list(range(where.size))
    shards: List[_Shard] = [(piece,) for piece in _cut(0, elements, where.size)]
    if kind in ("send", "receive"):
        made.send(0, root, peer, shards, False)
    elif where.size > 1:
        _MAKERS[kind](made, algorithm, ranks, shards, root)
    return tuple(sorted(made.messages, key=lambda message: message.step))


def _check(kind: str, algorithm: str, where: Topology, root: int, peer: int) -> None:
    if kind not in KINDS:
        raise OptionValueError("OPTION_VALUE", "kind", f"{kind!r} is no collective.", f"There are {', '.join(KINDS)}.")
    known = {"alltoallv": ("pairwise", "mesh"), "send": ("direct",), "receive": ("direct",)}.get(kind, ALGORITHMS)
    if algorithm not in known:
        reason = f"{algorithm!r} is no algorithm of {kind}."
        raise OptionValueError("OPTION_VALUE", "algorithm", reason, f"There are {', '.join(known)}.")
    for name, rank in (("root", root), ("peer", peer)):
        if not 0 <= rank < where.size:
            reason = f"{rank} is no rank of {where.size}."
            raise OptionValueError("OPTION_VALUE", name, reason, f"Give 0 to {where.size - 1}.")
    if kind in ("send", "receive") and root == peer:
        raise OptionValueError("OPTION_VALUE", "peer", f"rank {root} cannot {kind} with itself.", "Name another rank.")
    messages = where.size * (where.size - 1) * _EACH_TO_EACH.get(algorithm, 0) * (2 if kind == "allreduce" else 1)
    if messages > _MOST_MESSAGES:
        reason = f"{algorithm} among {where.size} ranks has {messages:,} messages, more than {_MOST_MESSAGES:,}."
        raise OptionValueError("OPTION_VALUE", "algorithm", reason, "Take hierarchical or halving_doubling, or fewer.")
    if algorithm == "hierarchical" and where.grid() is None:
        reason = "hierarchical needs groups of one size on every server."
        raise OptionValueError("OPTION_VALUE", "algorithm", reason, "Take ring or halving_doubling.")


class _Plan:
    """Messages as they are planned. Methods take the step at which they begin and give the one after their last."""

    def __init__(self, where: Topology, width: int) -> None:
        self.where, self.width = where, width
        self.messages: List[Message] = []

    def send(self, step: int, src: int, dst: int, shards: Sequence[_Shard], reduces: bool) -> None:
        """Some shards, neighbours joined; nothing is no message."""
        chunk = shards[0] if len(shards) == 1 else _joined(shards)
        size = sum(stop - start for start, stop in chunk) * self.width
        if size:
            self.messages.append(Message(step, src, dst, chunk, -1, size, reduces))

    # -- scattering and gathering, by algorithm -------------------------------------------------------------------

    def scatter(self, algorithm: str, ranks: List[int], shards: List[_Shard], step: int) -> int:
        """Reduce shard k onto ``ranks[k]``."""
        if len(ranks) < 2:
            return step
        found: int = getattr(self, f"_scatter_{algorithm}")(ranks, shards, step)
        return found

    def gather(self, algorithm: str, ranks: List[int], shards: List[_Shard], step: int) -> int:
        """Copy shard k from ``ranks[k]`` to all."""
        if len(ranks) < 2:
            return step
        found: int = getattr(self, f"_gather_{algorithm}")(ranks, shards, step)
        return found

    def _scatter_mesh(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for src in ranks:
            for dst, shard in zip(ranks, shards):
                if src != dst:
                    self.send(step, src, dst, [shard], True)
        return step + 1

    def _gather_mesh(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for src, shard in zip(ranks, shards):
            for dst in ranks:
                if src != dst:
                    self.send(step, src, dst, [shard], False)
        return step + 1

    def _scatter_ring(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        count = len(ranks)
        for turn in range(count - 1):
            for place, src in enumerate(ranks):
                self.send(step + turn, src, ranks[(place + 1) % count], [shards[(place - turn - 1) % count]], True)
        return step + count - 1

    def _gather_ring(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        count = len(ranks)
        for turn in range(count - 1):
            for place, src in enumerate(ranks):
                self.send(step + turn, src, ranks[(place + 1) % count], [shards[(place - turn) % count]], False)
        return step + count - 1

    def _scatter_double_ring(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        first, second = _halves(shards)
        self._scatter_ring(ranks, first, step)
        return self._scatter_ring(ranks[::-1], second[::-1], step)

    def _gather_double_ring(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        first, second = _halves(shards)
        self._gather_ring(ranks, first, step)
        return self._gather_ring(ranks[::-1], second[::-1], step)

    def _scatter_star(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for src in ranks[1:]:
            self.send(step, src, ranks[0], shards, True)
        for dst, shard in zip(ranks[1:], shards[1:]):
            self.send(step + 1, ranks[0], dst, [shard], False)
        return step + 2

    def _gather_star(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for src, shard in zip(ranks[1:], shards[1:]):
            self.send(step, src, ranks[0], [shard], False)
        for place, dst in enumerate(ranks[1:], 1):
            self.send(step + 1, ranks[0], dst, [*shards[:place], *shards[place + 1 :]], False)
        return step + 2

    def _scatter_halving_doubling(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        core = _core(ranks, shards)
        for leader, rank, _ in core.folded:
            self.send(step, rank, leader, shards, True)
        step = self._halve(core, step + bool(core.folded))
        for leader, rank, shard in core.folded:
            self.send(step, leader, rank, [shard], False)
        return step + bool(core.folded)

    def _gather_halving_doubling(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        core = _core(ranks, shards)
        for leader, rank, shard in core.folded:
            self.send(step, rank, leader, [shard], False)
        step = self._double(core, step + bool(core.folded))
        for leader, rank, shard in core.folded:
            self.send(step, leader, rank, [other for other in shards if other is not shard], False)
        return step + bool(core.folded)

    def _halve(self, core: _Core, step: int) -> int:
        distance = len(core.ranks) // 2
        while distance:
            blocks = _blocks(core.shards, distance)
            for place, src in enumerate(core.ranks):
                other = place ^ distance
                self.send(step, src, core.ranks[other], [blocks[other // distance]], True)
            distance //= 2
            step += 1
        return step

    def _double(self, core: _Core, step: int) -> int:
        distance = 1
        while distance < len(core.ranks):
            blocks = _blocks(core.shards, distance)
            for place, src in enumerate(core.ranks):
                self.send(step, src, core.ranks[place ^ distance], [blocks[place // distance]], False)
            distance *= 2
            step += 1
        return step

    def _scatter_hierarchical(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for level in _levels(self.where, shards):
            step = max(self.scatter(level.algorithm, *line, step) for line in level.lines)
        return step

    def _gather_hierarchical(self, ranks: List[int], shards: List[_Shard], step: int) -> int:
        for level in reversed(_levels(self.where, shards)):
            step = max(self.gather(level.algorithm, *line, step) for line in level.lines)
        return step


class _Core(NamedTuple):
    """Of halving and doubling: as many ranks as a power of two, what each stands for, and who is folded onto whom."""

    ranks: List[int]
    shards: List[_Shard]
    folded: List[Tuple[int, int, _Shard]]  # leader, the rank it stands for too, and that one's shard


def _core(ranks: List[int], shards: List[_Shard]) -> _Core:
    folds = len(ranks) - (1 << (len(ranks).bit_length() - 1))
    pairs = [(2 * place, 2 * place + 1) for place in range(folds)]
    rest = range(2 * folds, len(ranks))
    leaders = [ranks[leader] for leader, _ in pairs] + [ranks[place] for place in rest]
    kept = [_joined([shards[a], shards[b]]) for a, b in pairs] + [shards[place] for place in rest]
    return _Core(leaders, kept, [(ranks[a], ranks[b], shards[b]) for a, b in pairs])


def _blocks(shards: Sequence[_Shard], size: int) -> List[_Shard]:
    """Neighbouring shards joined, so many at a time."""
    return [_joined(shards[begin : begin + size]) for begin in range(0, len(shards), size)]


class _Level(NamedTuple):
    """One level of a hierarchy: its algorithm, and its lines: ranks, with what each of them ends with there."""

    algorithm: str
    lines: List[Tuple[List[int], List[_Shard]]]


def _levels(where: Topology, shards: Sequence[_Shard]) -> List[_Level]:
    """The levels from the innermost on. After one, a rank stands for the shards of all ranks of its place so far."""
    grid = where.grid()
    assert grid is not None  # checked before
    spots = {
        rank: (server, group, member)
        for server, groups in enumerate(grid)
        for group, members in enumerate(groups)
        for member, rank in enumerate(members)
    }
    sizes = (len(grid), len(grid[0]), len(grid[0][0]))
    ranks = sorted(spots)
    levels: List[_Level] = []
    done: List[int] = []
    for axis in (2, 1, 0):
        if sizes[axis] < 2:
            continue
        done.append(axis)
        held: Dict[Tuple[int, ...], List[_Shard]] = {}
        lines: Dict[Tuple[int, ...], List[int]] = {}
        for rank in ranks:
            spot = spots[rank]
            held.setdefault(tuple(spot[one] for one in done), []).append(shards[rank])
            lines.setdefault(spot[:axis] + spot[axis + 1 :], []).append(rank)
        kept = {key: _joined(found) for key, found in held.items()}
        algorithm = "mesh" if axis else _between_servers(sizes[0])
        levels.append(
            _Level(
                algorithm,
                [(line, [kept[tuple(spots[rank][one] for one in done)] for rank in line]) for line in lines.values()],
            )
        )
    return levels


def _between_servers(count: int) -> str:
    """Halving and doubling among a power of two, else a ring (HCCL)."""
    return "ring" if count & (count - 1) else "halving_doubling"


# -- kinds -------------------------------------------------------------------------------------------------------------


def _allreduce(made: _Plan, algorithm: str, ranks: List[int], shards: List[_Shard], root: int) -> None:
    del root
    if algorithm == "star":
        for src in ranks[1:]:
            made.send(0, src, ranks[0], shards, True)
        for dst in ranks[1:]:
            made.send(1, ranks[0], dst, shards, False)
    elif algorithm == "halving_doubling":
        core = _core(ranks, shards)
        for leader, rank, _ in core.folded:
            made.send(0, rank, leader, shards, True)
        step = made._double(core, made._halve(core, int(bool(core.folded))))
        for leader, rank, _ in core.folded:
            made.send(step, leader, rank, shards, False)
    elif algorithm == "hierarchical":
        _hierarchical_allreduce(made, shards)
    else:
        made.gather(algorithm, ranks, shards, made.scatter(algorithm, ranks, shards, 0))


def _hierarchical_allreduce(made: _Plan, shards: List[_Shard]) -> None:
    """As scattered and gathered, but that two ranks of the outermost level exchange all they stand for at once."""
    levels = _levels(made.where, shards)
    step = 0
    for level in levels[:-1]:
        step = max(made.scatter(level.algorithm, *line, step) for line in level.lines)
    outermost = levels[-1]
    if len(outermost.lines[0][0]) == 2 and len(levels) > 1:
        for (one, other), pair in outermost.lines:
            made.send(step, one, other, pair, True)
            made.send(step, other, one, pair, True)
        step += 1
    else:
        step = max(made.scatter(outermost.algorithm, *line, step) for line in outermost.lines)
        step = max(made.gather(outermost.algorithm, *line, step) for line in outermost.lines)
    for level in reversed(levels[:-1]):
        step = max(made.gather(level.algorithm, *line, step) for line in level.lines)


def _reduce_scatter(made: _Plan, algorithm: str, ranks: List[int], shards: List[_Shard], root: int) -> None:
    del root
    made.scatter(algorithm, ranks, shards, 0)


def _allgather(made: _Plan, algorithm: str, ranks: List[int], shards: List[_Shard], root: int) -> None:
    del root
    made.gather(algorithm, ranks, shards, 0)


def _reduce(made: _Plan, algorithm: str, ranks: List[int], shards: List[_Shard], root: int) -> None:
    if algorithm == "star":
        for src in ranks:
            if src != root:
                made.send(0, src, root, shards, True)
        return
    step = made.scatter(algorithm, ranks, shards, 0)
    for src, shard in zip(ranks, shards):
        if src != root:
            made.send(step, src, root, [shard], False)


def _broadcast(made: _Plan, algorithm: str, ranks: List[int], shards: List[_Shard], root: int) -> None:
    around = ranks[root:] + ranks[:root]
    if algorithm == "star":
        for dst in around[1:]:
            made.send(0, root, dst, shards, False)
    elif algorithm == "mesh":
        for dst, shard in zip(ranks, shards):
            if dst != root:
                made.send(0, root, dst, [shard], False)
        made.gather("mesh", ranks, shards, 1)
    elif algorithm == "halving_doubling":
        known, step = 1, 0
        while known < len(around):
            for src, dst in zip(around[:known], around[known : 2 * known]):
                made.send(step, src, dst, shards, False)
            known, step = 2 * known, step + 1
    elif algorithm == "hierarchical":
        _broadcast_down(made, shards, root)
    else:
        ways = [(around, shards)]
        if algorithm == "double_ring":
            first, second = _halves(shards)
            ways = [(around, first), (around[:1] + around[:0:-1], second)]
        for way, parts in ways:
            for place, (src, dst) in enumerate(zip(way, way[1:])):
                for turn, shard in enumerate(parts):
                    made.send(place + turn, src, dst, [shard], False)


def _broadcast_down(made: _Plan, shards: List[_Shard], root: int) -> None:
    """To the same place of every server, then of every group, then to all of each group; each from one to all."""
    known = {root}
    for step, level in enumerate(reversed(_levels(made.where, shards))):
        for line, _ in level.lines:
            for src in known.intersection(line):
                for dst in line:
                    if dst != src:
                        made.send(step, src, dst, shards, False)
        known.update(rank for line, _ in level.lines if known.intersection(line) for rank in line)


_MAKERS: Dict[str, Callable[[_Plan, str, List[int], List[_Shard], int], None]] = {
    "allreduce": _allreduce,
    "reduce_scatter": _reduce_scatter,
    "allgather": _allgather,
    "reduce": _reduce,
    "broadcast": _broadcast,
}


def _all_to_all(
    algorithm: str,
    size: int,
    width: int,
    counts: Sequence[Sequence[int]],
    send_at: Optional[Sequence[Sequence[int]]],
    receive_at: Optional[Sequence[Sequence[int]]],
) -> Tuple[Message, ...]:
    """Pairwise: in step k every rank sends to the k-th after it; mesh: to all at once."""
    for name, table in (("counts", counts), ("send_at", send_at), ("receive_at", receive_at)):
        if table is None:
            continue
        if len(table) != size or any(len(row) != size or any(entry < 0 for entry in row) for row in table):
            reason = f"it is no table of {size} rows and columns of numbers from 0 on."
            raise OptionValueError("OPTION_VALUE", f"alltoallv: {name}", reason, "Give what each rank sends to each.")
    starts = send_at or [_begins(row) for row in counts]
    places = receive_at or [_begins([row[rank] for row in counts]) for rank in range(size)]
    messages = []
    for turn in range(1, size):
        for src in range(size):
            dst = (src + turn) % size
            count = counts[src][dst]
            if count:
                start = starts[src][dst]
                step = turn - 1 if algorithm == "pairwise" else 0
                chunk = ((start, start + count),)
                messages.append(Message(step, src, dst, chunk, places[dst][src], count * width, False))
    return tuple(messages)


def _begins(counts: Sequence[int]) -> List[int]:
    found, at = [], 0
    for count in counts:
        found.append(at)
        at += count
    return found


# -- ranges ------------------------------------------------------------------------------------------------------------


def _cut(start: int, stop: int, parts: int) -> List[_Range]:
    """Parts of a range that differ by one element at most."""
    bounds = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(zip(bounds, bounds[1:]))


def _joined(shards: Sequence[_Shard]) -> _Shard:
    """Shards as ascending ranges; those that touch become one, empty ones none."""
    found: List[_Range] = []
    for start, stop in sorted(piece for shard in shards for piece in shard):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif start < stop:
            found.append((start, stop))
    return tuple(found)


def _halves(shards: Sequence[_Shard]) -> Tuple[List[_Shard], List[_Shard]]:
    """First and second halves of every range."""
    first = [tuple((start, (start + stop) // 2) for start, stop in shard) for shard in shards]
    second = [tuple(((start + stop) // 2, stop) for start, stop in shard) for shard in shards]
    return first, second
