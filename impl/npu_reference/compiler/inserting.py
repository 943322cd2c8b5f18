"""Kernels that no operator of the graph asks for: layouts of variables changed in every step, memory cleared before
what adds into it."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from npu_reference.compiler.kernels import Input, Kernel, Lowered
from npu_reference.options.typed import CompilerSettings

__all__ = ["ACCUMULATES", "MEMSET", "TRANSDATA", "cleared", "laid_out"]

TRANSDATA = "TransData"
MEMSET = "MemSet"

#: Operators whose cores add into one result as they end, in any order unless deterministic asks for one (assumed:
#: which; the rule is runconfig.deterministic's).
ACCUMULATES = frozenset(
    [
        "BiasAddGrad", "Sum", "Mean", "L2Loss", "UnsortedSegmentSum", "SegmentSum", "ScatterAdd", "AddN",
        "Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter",
    ]
)  # fmt: skip

#: Of them, those whose result is cleared before: sums over cores, which no core holds as a whole (assumed).
_CLEARED = ACCUMULATES - {"AddN", "ScatterAdd"}


def laid_out(lowered: Lowered, settings: CompilerSettings) -> Lowered:
    """Cube kernels read variables in the device's own layout (NC1HWC0, FRACTAL_NZ).

    With variable_format_optimize a variable has it since its initialisation. Without, each step changes the layout of
    every variable that a cube kernel reads, once (session.variable_format_optimize.true, .false).
    """
    if settings.variable_format:
        return lowered
    tensors = list(lowered.tensors)
    of_variable = _variables(lowered)
    made: Dict[Tuple[object, ...], int] = {}
    before: Dict[int, List[Kernel]] = {}
    kernels = list(lowered.kernels)
    for number, kernel in enumerate(kernels):
        if kernel.engine != "cube":
            continue
        moved: Dict[int, int] = {}
        for place in kernel.reads:
            if place not in of_variable:
                continue
            key = (place, kernel.geop, kernel.frame, kernel.branches)
            if key not in made:
                made[key] = len(tensors)
                name = f"{tensors[place].name}/{TRANSDATA}"
                tensors.append(tensors[place]._replace(name=name, kind="activation"))
                added = _new(kernel, name, TRANSDATA, (place,), (made[key],), tensors[place].bytes)
                read = Input(place, tensors[place].shape, tensors[place].dtype)
                before.setdefault(number, []).append(added._replace(after=kernel.after, inputs=(read,)))
            moved[place] = made[key]
        kernels[number] = kernel._replace(
            reads=tuple(moved.get(place, place) for place in kernel.reads),
            inputs=tuple(one._replace(place=moved.get(one.place, one.place)) for one in kernel.inputs),
        )
    return _with(lowered._replace(kernels=tuple(kernels), tensors=tuple(tensors)), before)


def _variables(lowered: Lowered) -> Set[int]:
    """Tensors that are variables, or variables at another dtype."""
    found = {place for place, tensor in enumerate(lowered.tensors) if tensor.kind == "variable"}
    for kernel in lowered.kernels:
        if kernel.op == "Cast" and set(kernel.reads) <= found:
            found.update(kernel.writes)
    return found


def cleared(lowered: Lowered, fused: Lowered, settings: CompilerSettings) -> Lowered:
    """The fused kernels, and what clears before what their cores add into; ``lowered`` tells which kernel adds.

    atomic_clean_policy 0 clears everything of a GEOP with one kernel before the first of it, so that all of this memory
    is taken from there on; 1 clears each piece before the kernel that adds into it. In loops each piece is cleared in
    every turn.
    """
    sums = {place for kernel in lowered.kernels if kernel.op in _CLEARED for place in kernel.writes}
    before: Dict[int, List[Kernel]] = {}
    central: Dict[int, List[int]] = {}
    first: Dict[int, int] = {}
    for number, kernel in enumerate(fused.kernels):
        first.setdefault(kernel.geop, number)
        if kernel.engine == "aicpu":
            continue
        places = [place for place in kernel.writes if place in sums and fused.tensors[place].bytes]
        if not places:
            continue
        if settings.clean_apart or kernel.frame or kernel.branches:
            added = _new(kernel, f"{kernel.node}/{MEMSET}", MEMSET, (), tuple(places), _bytes(fused, places))
            before.setdefault(number, []).append(added)
        else:
            central.setdefault(kernel.geop, []).extend(places)
    for geop, places in central.items():
        one = fused.kernels[first[geop]]
        unique = tuple(dict.fromkeys(places))
        added = _new(one, f"GEOP {geop}/{MEMSET}", MEMSET, (), unique, _bytes(fused, unique))
        before.setdefault(first[geop], []).insert(0, added._replace(turns=1, frame="", branches=()))
    return _with(fused, before)


def _bytes(lowered: Lowered, places: Sequence[int]) -> int:
    return sum(lowered.tensors[place].bytes for place in places)


def _new(beside: Kernel, name: str, type_: str, reads: Tuple[int, ...], writes: Tuple[int, ...], size: int) -> Kernel:
    return beside._replace(
        node=name, op=type_, type=type_, engine="vector", reads=reads, writes=writes, elements=size // 4,
        results=size // 4, width=4, gemm=None, impl_mode=None, after=(), members=(), ops=(type_,), passes=(),
        inputs=(), again=0, more=0, unread=0, unwritten=0, rows=0,
    )  # fmt: skip


def _with(lowered: Lowered, before: Dict[int, List[Kernel]]) -> Lowered:
    """The kernels with others before some of them; who reads or writes what these write waits for them."""
    if not before:
        return lowered
    place: Dict[int, int] = {}
    writer: Dict[int, int] = {}
    found: List[Kernel] = []

    def waits(numbers: Sequence[int], kernel: Kernel) -> Tuple[int, ...]:
        of_added = [writer[at] for at in (*kernel.reads, *kernel.writes) if at in writer]
        return tuple(dict.fromkeys([place[number] for number in numbers] + of_added))

    for number, kernel in enumerate(lowered.kernels):
        for added in before.get(number, ()):
            found.append(added._replace(after=waits(added.after, added)))
            writer.update(dict.fromkeys(added.writes, len(found) - 1))
        place[number] = len(found)
        found.append(kernel._replace(after=waits(kernel.after, kernel)))
    return lowered._replace(kernels=tuple(found))
