"""Which kernels become one: the fusion passes, each by its name, switchable and counted.

A fused kernel runs where its last member stood, when everything that any member reads is there, or where its first
stood, when the others need nothing that comes later. What only passes between its members never reaches device memory.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from npu_reference.compiler.collectives import MC2
from npu_reference.compiler.kernels import Kernel, Lowered
from npu_reference.options.typed import CompilerSettings

__all__ = ["PASSES", "FusionCount", "Pass", "counted", "fuse", "place_of", "renumbered"]


class Pass(NamedTuple):
    """A pass: its name in fusion_switch_file, its section there, which producer and reader it joins, and a sentence."""

    name: str
    section: str
    joins: Callable[[Kernel, Kernel], bool]
    meaning: str
    meets: bool = False  # whether the two may have results of other sizes


class FusionCount(NamedTuple):
    """How often a pass found its pattern, and how often it had an effect; both by GEOP as well."""

    name: str
    section: str
    match_times: int
    effect_times: int
    by_geop: Mapping[int, Tuple[int, int]] = {}

    def to_json(self) -> Dict[str, object]:
        found = self._asdict()
        del found["by_geop"]
        return found


#: Kernels that give one element for each element at the same place, by TensorFlow's operator.
_ELEMENTWISE = frozenset(
    [
        "Abs", "Add", "AddV2", "AddN", "BiasAdd", "Cast", "Ceil", "ClipByValue", "Cos", "Div", "Elu", "EluGrad",
        "Equal", "Erf", "Exp", "Expm1", "Floor", "Greater", "GreaterEqual", "Inv", "LeakyRelu", "LeakyReluGrad",
        "Less", "LessEqual", "Log", "Log1p", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Mul",
        "Neg", "NotEqual", "OnesLike", "Pow", "RealDiv", "Reciprocal", "ReciprocalGrad", "Relu", "Relu6", "Relu6Grad",
        "ReluGrad", "Round", "Rsqrt", "RsqrtGrad", "Select", "SelectV2", "Selu", "Sigmoid", "SigmoidGrad", "Sign",
        "Sin", "Softplus", "SoftplusGrad", "Sqrt", "SqrtGrad", "Square", "SquaredDifference", "Sub", "Tanh",
        "TanhGrad", "ZerosLike",
    ]
)  # fmt: skip
_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L2Loss", "BiasAddGrad")
_NORMALIZES = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_MOST_MEMBERS = 16  # kernels joined in one: what the vector unit's buffer holds the operands of (assumed)


def _elementwise(kernel: Kernel) -> bool:
    return kernel.engine == "vector" and kernel.op in _ELEMENTWISE


def _convolution(kernel: Kernel) -> bool:
    return kernel.engine == "cube" and "onv2" in kernel.op


def _matmul(kernel: Kernel) -> bool:
    return kernel.engine == "cube" and "MatMul" in kernel.op


#: The passes of the model, in the order in which they are tried. Names are the toolkit's; what each joins is
#: simplified (assumed). The real compiler has about 170 graph and 75 UB passes (docs/device.md).
PASSES: Tuple[Pass, ...] = (
    Pass(
        "MatMulBiasAddFusionPass", "GraphFusion", lambda a, b: _matmul(a) and b.op == "BiasAdd",
        "A product of matrices adds the bias that follows it.",
    ),
    Pass(
        "TbeConvBnreduceFusionPass", "UBFusion",
        lambda a, b: (_convolution(a) or a.op == "BiasAdd") and b.op in _NORMALIZES,
        "A convolution makes the sums that batch normalization needs.", True,
    ),
    Pass(
        "TbeConv2DBackpropElemwiseFusionPass", "UBFusion",
        lambda a, b: _convolution(a) and a.op.endswith("BackpropInput") and _elementwise(b),
        "The gradient of a convolution's input goes through what follows element by element.",
    ),
    Pass(
        "TbeConvElemwiseFusionPass", "UBFusion", lambda a, b: _convolution(a) and _elementwise(b),
        "A convolution's result goes through what follows element by element.",
    ),
    Pass(
        "TbeMatmulElemwiseFusionPass", "UBFusion", lambda a, b: _matmul(a) and _elementwise(b),
        "A product's result goes through what follows element by element.",
    ),
    Pass(
        "TbeEltwiseFusionPass", "UBFusion",
        lambda a, b: a.engine == "vector" and a.op not in MC2 and _elementwise(b),
        "A kernel of the vector unit goes on with what follows element by element.",
    ),
    Pass(
        "TbeReduceElemwiseFusionPass", "UBFusion",
        lambda a, b: _elementwise(a) and b.engine == "vector" and b.op in _REDUCTIONS,
        "A reduction computes element by element what it sums.",
    ),
)  # fmt: skip


def fuse(lowered: Lowered, settings: CompilerSettings) -> Tuple[Lowered, Tuple[FusionCount, ...]]:
    """The kernels after fusion, and what every pass that is switched on found. O(kernels + tensors).

    Two kernels of one GEOP are joined where the second reads the first's result, and nothing that waits for the first
    comes before the second, or nothing that the second waits for comes after the first. What
    others read as well is still written; what only the second reads never is. UB passes need kernels that are compiled
    for this graph (jit_compile).
    """
    active = [
        one
        for one in PASSES
        if settings.is_on(one.section, one.name) and (one.section != "UBFusion" or settings.ub_fusion)
    ]
    waiting = _followers(lowered)  # by group, under the number of its last member: who waits for it
    readers = _readers(lowered)
    outputs = {place for places in lowered.outputs for place in places}
    writer: Dict[int, int] = {}  # tensor -> number of the last member of the group that writes it
    standing: Dict[int, Kernel] = {}
    tails = list(lowered.kernels)  # by number of a group, its last member
    ends: List[int] = list(range(len(lowered.kernels)))  # kernel -> number of the group it was joined to
    counts: Dict[str, Dict[int, Tuple[int, int]]] = {one.name: {} for one in active}
    for number, kernel in enumerate(lowered.kernels):
        whole = kernel
        for place in kernel.reads:
            before = writer.get(place)
            if before is None or before == number or lowered.tensors[place].kind != "activation":
                continue
            tail, producer = tails[before], standing[before]
            one = next((found for found in active if found.joins(tail, kernel)), None)
            if one is None or place_of(producer) != place_of(kernel) or place not in tail.writes:
                continue
            matched, effective = counts[one.name].get(kernel.geop, (0, 0))
            counts[one.name][kernel.geop] = (matched + 1, effective)
            shaped = tail.results == kernel.results or kernel.op in _REDUCTIONS or one.meets
            small = len(producer.members) + len(whole.members) <= _MOST_MEMBERS
            late = min(waiting[before]) >= number  # nothing that waits for the first comes before the second
            early = not late and whole is kernel and all(_end(ends, one) <= before for one in kernel.after)
            if shaped and small and early:  # the second needs nothing that comes after the first
                counts[one.name][kernel.geop] = (matched + 1, effective + 1)
                gone = readers[place] == 1 and place not in outputs
                standing[before] = _joined(producer, kernel, place, one.name, gone)
                waiting[before] |= waiting[number]
                waiting[before].discard(number)
                tails[before], ends[number] = kernel, before
                break
            if shaped and small and late:
                counts[one.name][kernel.geop] = (matched + 1, effective + 1)
                gone = readers[place] == 1 and place not in outputs
                whole = _joined(producer, whole, place, one.name, gone)
                waiting[number] |= waiting[before] - {number}
                ends[before] = number
                del standing[before]
                writer.update((written, number) for written in producer.writes)
        if ends[number] == number:
            standing[number] = whole
        writer.update(dict.fromkeys(kernel.writes, ends[number]))
    fused = tuple(counted(one.name, one.section, counts[one.name]) for one in active)
    return renumbered(lowered, standing, ends), fused


def _end(ends: Sequence[int], number: int) -> int:
    """The number of the group that a kernel was joined to."""
    while ends[number] != number:
        number = ends[number]
    return number


def counted(name: str, section: str, by_geop: Mapping[int, Tuple[int, int]]) -> FusionCount:
    """The counts of a pass from those of each GEOP."""
    totals = [sum(counts) for counts in zip(*by_geop.values())] or [0, 0]
    return FusionCount(name, section, totals[0], totals[1], dict(by_geop))


def place_of(kernel: Kernel) -> Tuple[object, ...]:
    """Where it runs: kernels of other GEOPs, loops or branches are never one."""
    return kernel.geop, kernel.frame, kernel.turns, kernel.branches


def _followers(lowered: Lowered) -> List[Set[int]]:
    """By kernel, the kernels that wait for it."""
    found: List[Set[int]] = [set() for _ in lowered.kernels]
    for number, kernel in enumerate(lowered.kernels):
        for before in kernel.after:
            found[before].add(number)
    return found


def _readers(lowered: Lowered) -> List[int]:
    """By tensor, how many kernels read it."""
    found = [0] * len(lowered.tensors)
    for kernel in lowered.kernels:
        for place in kernel.reads:
            found[place] += 1
    return found


def _joined(producer: Kernel, reader: Kernel, place: int, name: str, gone: bool) -> Kernel:
    """One kernel for both. The tensor between them is not read again, and where it is gone not even written."""
    base = producer if producer.engine == "cube" else reader
    kept = [written for written in producer.writes if not (gone and written == place)]
    also = [one for one in reader.inputs if one.place != place and one.place not in producer.reads]
    return base._replace(
        reads=tuple(dict.fromkeys([*producer.reads, *(read for read in reader.reads if read != place)])),
        writes=tuple(dict.fromkeys([*kept, *reader.writes])),
        inputs=(*producer.inputs, *also),
        elements=max(producer.elements, reader.elements),
        results=reader.results,
        width=max(producer.width, reader.width),
        gemm=producer.gemm or reader.gemm,
        after=tuple(dict.fromkeys([*producer.after, *reader.after])),
        impl_mode=producer.impl_mode or reader.impl_mode,
        members=producer.members + reader.members,
        again=producer.again + reader.again,
        more=producer.more + reader.more,
        rows=producer.rows + reader.rows,
        unread=producer.unread + reader.unread,
        unwritten=producer.unwritten + reader.unwritten,
        ops=producer.ops + reader.ops,
        passes=(*producer.passes, *reader.passes, name),
    )


def renumbered(lowered: Lowered, standing: Dict[int, Kernel], ends: List[int]) -> Lowered:
    """The kernels that stand, in order, each waiting for those that the kernels it waited for were joined to."""
    order = sorted(standing)
    place = {number: position for position, number in enumerate(order)}

    def end(number: int) -> int:
        return place[_end(ends, number)]

    kernels = []
    for position, number in enumerate(order):
        kernel = standing[number]
        after = dict.fromkeys(end(before) for before in kernel.after)
        after.pop(position, None)
        kernels.append(kernel._replace(after=tuple(after)))
    return lowered._replace(kernels=tuple(kernels))
