"""Which collectives are one, in which order kernels go, and what waits for which collective besides.

On one device nothing is changed. On several, gradients of one reduction, group and type are fused into segments as the
split says (HCCL); hcom_parallel gives collectives a stream of their own, and computation that needs none of them goes
first; without it a collective and computation are never side by side. The last AllReduce ends before what follows it
begins, unless is_tailing_optimization lets computation that does not depend on it go on.
"""

from __future__ import annotations

import heapq
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from npu_reference.compiler.collectives import Network, Split
from npu_reference.compiler.kernels import Kernel
from npu_reference.options.classes import OptionValueError
from npu_reference.options.typed import CompilerSettings

__all__ = ["arranged", "segments"]

#: 0: operators stay apart; 1: they are fused as gradients are split; 2: those of one fusion_id are fused (HCCL).
_AS_SPLIT, _BY_ID = 1, 2


def segments(sizes: Sequence[int], split: Split) -> List[List[int]]:
    """Gradients by segment, for their bytes in the order in which they are computed; no segment is empty.

    By shares, a segment ends with the last gradient that its share of all bytes still holds; gradients after the last
    index given are a segment of their own.

    Raises:
        OptionValueError: an index that no gradient has.
    """
    count = len(sizes)
    if split.indices:
        if split.indices[-1] >= count:
            reason = f"there is no gradient {split.indices[-1]}: there are {count}."
            raise OptionValueError("OPTION_VALUE", "set_split_strategy_by_idx", reason, f"End with {count - 1}.")
        ends = [index + 1 for index in split.indices] + [count]
    else:
        total, reached, bound = sum(sizes), 0, 0.0
        marks, at = [], 0
        for share in split.shares[:-1]:
            bound += share
            while at < count and (reached + sizes[at]) * 100 <= bound * total:
                reached += sizes[at]
                at += 1
            marks.append(at)
        ends = [*marks, count]
    found, begin = [], 0
    for end in ends:
        if end > begin:
            found.append(list(range(begin, end)))
            begin = end
    return found


def arranged(
    kernels: Sequence[Kernel], sizes: Sequence[int], settings: CompilerSettings, network: Optional[Network]
) -> List[Kernel]:
    """Kernels with collectives fused, in the order in which streams take them, with what more they wait for.

    Args:
        sizes: bytes of the tensors.
    """
    if network is None or network.size < 2 or all(kernel.collective is None for kernel in kernels):
        return list(kernels)
    fused = _fused(list(kernels), sizes, network.splits)
    fused, last = _ordered(fused, settings)
    return _held_back(fused, last, settings)


def _fused(kernels: List[Kernel], sizes: Sequence[int], splits: Mapping[str, Split]) -> List[Kernel]:
    """Collectives of one fusion as one kernel each. Those of which one needs another are never together."""
    depth: List[int] = []  # collectives on the way to a kernel
    groups: Dict[Tuple[Any, ...], List[int]] = {}
    for number, kernel in enumerate(kernels):
        found = max([depth[before] + (kernels[before].collective is not None) for before in kernel.after] or [0])
        depth.append(found)
        one = kernel.collective
        if one is not None and (one.fusion == _BY_ID or (one.fusion == _AS_SPLIT and one.kind == "allreduce")):
            place = (kernel.geop, kernel.frame, kernel.turns, kernel.branches)
            number_of = one.fusion_id if one.fusion == _BY_ID else -1
            kind = (one.kind, one.reduction, one.root, one.group, one.dtypes, one.fusion, number_of)
            groups.setdefault((place, kind, found), []).append(number)
    leader: Dict[int, int] = {}
    for (_, kind, _), members in groups.items():
        parts = [members]
        if kind[-2] == _AS_SPLIT:
            found_sizes = [sum(sizes[place] for place in kernels[member].reads) for member in members]
            parts = [[members[place] for place in part] for part in segments(found_sizes, splits.get(kind[3], Split()))]
        for part in parts:
            leader.update(dict.fromkeys(part, part[-1]))
    whole: Dict[int, List[int]] = {}
    for number in range(len(kernels)):
        whole.setdefault(leader.get(number, number), []).append(number)
    return _joined(kernels, whole)


def _joined(kernels: Sequence[Kernel], whole: Mapping[int, Sequence[int]]) -> List[Kernel]:
    """Kernels joined by group, sorted anew so that each is after those it waits for."""
    group_of = {member: leader for leader, members in whole.items() for member in members}
    made = {}
    waits: Dict[int, Dict[int, None]] = {}
    for leader, members in whole.items():
        parts = [kernels[member] for member in members]
        waits[leader] = dict.fromkeys(group_of[before] for part in parts for before in part.after)
        waits[leader].pop(leader, None)
        made[leader] = parts[-1] if len(parts) == 1 else _one(parts)
    return _sorted(made, waits, dict.fromkeys(made, 0))


def _one(parts: Sequence[Kernel]) -> Kernel:
    first = parts[0]
    return first._replace(
        reads=tuple(dict.fromkeys(place for part in parts for place in part.reads)),
        writes=tuple(dict.fromkeys(place for part in parts for place in part.writes)),
        inputs=tuple(one for part in parts for one in part.inputs),
        elements=sum(part.elements for part in parts),
        results=sum(part.results for part in parts),
        members=tuple(member for part in parts for member in part.members),
        ops=tuple(op for part in parts for op in part.ops),
    )


def _sorted(
    kernels: Mapping[int, Kernel], waits: Mapping[int, Mapping[int, None]], rank: Mapping[int, int]
) -> List[Kernel]:
    """In an order in which they can run: of those that can, the least rank, then the least number."""
    after: Dict[int, List[int]] = {number: [] for number in kernels}
    left = {}
    for number in kernels:
        left[number] = len(waits[number])
        for before in waits[number]:
            after[before].append(number)
    ready = [(rank[number], number) for number in kernels if not left[number]]
    heapq.heapify(ready)
    place: Dict[int, int] = {}
    while ready:
        _, number = heapq.heappop(ready)
        place[number] = len(place)
        for follower in after[number]:
            left[follower] -= 1
            if not left[follower]:
                heapq.heappush(ready, (rank[follower], follower))
    return [kernels[number]._replace(after=tuple(place[before] for before in waits[number])) for number in place]


def _ordered(kernels: List[Kernel], settings: CompilerSettings) -> Tuple[List[Kernel], int]:
    """Kernels as streams take them, and the last AllReduce of several, or -1."""
    behind = _behind(kernels, {number for number, kernel in enumerate(kernels) if kernel.collective is not None})
    waits = {number: dict.fromkeys(kernel.after) for number, kernel in enumerate(kernels)}
    rank = dict.fromkeys(waits, 0)
    if settings.collectives_parallel or settings.tailing:
        for number, kernel in enumerate(kernels):
            rank[number] = -1 if kernel.collective is not None else int(number in behind)
    found = _sorted(dict(enumerate(kernels)), waits, rank)
    summed = [
        number for number, kernel in enumerate(found) if kernel.collective and kernel.collective.kind == "allreduce"
    ]
    last = summed[-1] if len(summed) > 1 else -1
    if last >= 0 and settings.tailing:
        needing = _behind(found, {last})
        waits = {number: dict.fromkeys(kernel.after) for number, kernel in enumerate(found)}
        rank = {number: int(number in needing) for number in waits}
        mark = found[last].members
        found = _sorted(dict(enumerate(found)), waits, rank)
        last = next(number for number, kernel in enumerate(found) if kernel.members == mark)
    return found, last


def _behind(kernels: Sequence[Kernel], of: Set[int]) -> Set[int]:
    """Kernels that depend on some others."""
    found: Set[int] = set()
    for number, kernel in enumerate(kernels):
        if any(before in of or before in found for before in kernel.after):
            found.add(number)
    return found


def _held_back(kernels: List[Kernel], last: int, settings: CompilerSettings) -> List[Kernel]:
    """What else waits: all computation for a collective and a collective for it, without hcom_parallel; what comes
    after the last AllReduce for that, without is_tailing_optimization. Within one GEOP: others wait as a whole."""
    found = []
    barrier: Dict[int, int] = {}  # GEOP -> the collective that what follows waits for
    open_: Dict[int, Dict[int, None]] = {}  # GEOP -> kernels since then that none waits for yet
    for number, kernel in enumerate(kernels):
        after = dict.fromkeys(kernel.after)
        geop = kernel.geop
        apart = kernel.collective is not None and (
            settings.collectives_parallel or (number == last and settings.tailing)
        )
        alone = kernel.collective is not None and not apart
        if geop in barrier:
            after.setdefault(barrier[geop])
        since = open_.setdefault(geop, {})
        if alone:
            after.update(dict.fromkeys(since))
        for before in after:
            since.pop(before, None)
        since[number] = None
        if alone or (number == last and not settings.tailing):
            barrier[geop] = number
        collective = kernel.collective
        if collective is not None and apart:
            collective = collective._replace(apart=True)
        found.append(kernel._replace(after=tuple(after), collective=collective))
    return found
