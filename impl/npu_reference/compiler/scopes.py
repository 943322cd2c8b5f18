"""Which operators of a name scope become one kernel: the scope fusion passes (enable_scope_fusion_passes).

The documents say that general passes are always on and others only when they are listed, and name two without saying
which kind they are; CANN's parser registers them as below (D22). What each looks for is simplified (assumed).
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, List, NamedTuple, Set, Tuple

from npu_reference.compiler.fusion import FusionCount, counted, place_of, renumbered
from npu_reference.compiler.kernels import Input, Kernel, Lowered
from npu_reference.options.typed import CompilerSettings

__all__ = ["SCOPE_PASSES", "SECTION", "ScopePass", "fuse_scopes"]

#: The section under which these passes are told; fusion_switch_file has none for them.
SECTION = "ScopeFusion"


class ScopePass(NamedTuple):
    """A pass: its name, whether it is general, which scopes it looks at, what must be in one, and the kernel's type."""

    name: str
    general: bool
    scope: str
    needs: FrozenSet[str]
    kernel: str


SCOPE_PASSES: Tuple[ScopePass, ...] = (
    ScopePass(
        "ScopeLayerNormPass", True, r"(?i)layer_?norm(_\d+)?",
        frozenset(["Mean", "SquaredDifference", "Rsqrt"]), "LayerNorm",
    ),
    ScopePass("ScopeClipBoxesPass", False, r"(?i)clip_?boxes(_\d+)?", frozenset(["Minimum", "Maximum"]), "ClipBoxes"),
)  # fmt: skip


def fuse_scopes(lowered: Lowered, settings: CompilerSettings) -> Tuple[Lowered, Tuple[FusionCount, ...]]:
    """The kernels with those of matching scopes joined, and what every pass that is on found. O(kernels + tensors).

    A scope is joined where all its kernels are of the vector unit and of one GEOP, and nothing that waits for one of
    them comes before the last.
    """
    active = [one for one in SCOPE_PASSES if one.general or one.name in settings.scope_passes]
    groups = {one.name: _scopes(lowered, one) for one in active}
    standing = dict(enumerate(lowered.kernels))
    ends: List[int] = list(range(len(lowered.kernels)))
    readers = _readers(lowered)
    followers = _followers(lowered)
    outputs = {place for places in lowered.outputs for place in places}
    taken: Set[int] = set()
    found = []
    for one in active:
        counts: Dict[int, Tuple[int, int]] = {}
        for numbers in groups[one.name]:
            geop = lowered.kernels[numbers[0]].geop
            matched, effective = counts.get(geop, (0, 0))
            members, last = set(numbers), numbers[-1]
            later = all(follower in members or follower > last for number in numbers for follower in followers[number])
            counts[geop] = (matched + 1, effective + (later and not members & taken))
            if later and not members & taken:
                taken |= members
                standing[last] = _joined(lowered, numbers, one, readers, outputs)
                for number in numbers[:-1]:
                    ends[number] = last
                    del standing[number]
        if counts:
            found.append(counted(one.name, SECTION, counts))
    return renumbered(lowered, standing, ends), tuple(found)


def _scopes(lowered: Lowered, one: ScopePass) -> List[List[int]]:
    """Kernels by outermost matching scope, those of scopes that hold what the pass needs."""
    wanted = re.compile(one.scope + r"\Z")
    scopes: Dict[Tuple[str, int], List[int]] = {}
    for number, kernel in enumerate(lowered.kernels):
        parts = kernel.node.split("/")[:-1]
        depth = next((at for at, part in enumerate(parts) if wanted.match(part)), None)
        if depth is not None:
            scopes.setdefault(("/".join(parts[: depth + 1]), kernel.geop), []).append(number)
    return [
        numbers
        for numbers in scopes.values()
        if one.needs <= {lowered.kernels[number].op for number in numbers}
        and all(lowered.kernels[number].engine == "vector" for number in numbers)
        and len({place_of(lowered.kernels[number]) for number in numbers}) == 1
    ]


def _readers(lowered: Lowered) -> List[List[int]]:
    found: List[List[int]] = [[] for _ in lowered.tensors]
    for number, kernel in enumerate(lowered.kernels):
        for place in kernel.reads:
            found[place].append(number)
    return found


def _followers(lowered: Lowered) -> List[List[int]]:
    found: List[List[int]] = [[] for _ in lowered.kernels]
    for number, kernel in enumerate(lowered.kernels):
        for before in kernel.after:
            found[before].append(number)
    return found


def _joined(
    lowered: Lowered, numbers: List[int], one: ScopePass, readers: List[List[int]], outputs: Set[int]
) -> Kernel:
    """One kernel for the scope: it reads what comes from outside, and writes what somebody outside reads."""
    members = [lowered.kernels[number] for number in numbers]
    inside = set(numbers)
    written = [place for kernel in members for place in kernel.writes]

    def stays(place: int) -> bool:
        used = any(number not in inside for number in readers[place]) or place in outputs
        return used or lowered.tensors[place].kind != "activation" or not readers[place]

    reads = [place for kernel in members for place in kernel.reads]
    within = {place for place in written if lowered.tensors[place].kind == "activation"}
    last = members[-1]
    taken: Dict[int, List[Input]] = {}  # by tensor, as the first kernel that reads it does
    for kernel in members:
        news = [one for one in kernel.inputs if one.place not in within and one.place not in taken]
        for one_input in news:
            taken.setdefault(one_input.place, []).append(one_input)
    return last._replace(
        type=one.kernel,
        reads=tuple(dict.fromkeys(place for place in reads if place not in within)),
        writes=tuple(dict.fromkeys(place for place in written if stays(place))),
        inputs=tuple(found for inputs in taken.values() for found in inputs),
        elements=max(kernel.elements for kernel in members),
        width=max(kernel.width for kernel in members),
        after=tuple(dict.fromkeys(before for kernel in members for before in kernel.after if before not in inside)),
        members=tuple(name for kernel in members for name in kernel.members),
        ops=tuple(op for kernel in members for op in kernel.ops),
        passes=(one.name,),
    )
