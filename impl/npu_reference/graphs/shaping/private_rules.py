"""Decides which shapes the adapter's own operators give."""

from __future__ import annotations

from typing import Any, Sequence

from npu_reference.graphs.shaping.dims import Shape, merged, ranked
from npu_reference.graphs.shaping.rules import rule

__all__: Sequence[str] = ()

#: A mask has a bit for each element, in whole blocks of so many bits.
_MASK_BLOCK = 128

#: Most ranks that a collective is believed to have (assumed).
_MOST_RANKS = 1 << 16


@rule("DropOutDoMask", "DropOutDoMaskV3", "FastGelu", "FastGeluV2", "Gelu", "PRelu", "HcomAllReduce", "HcomReduce")
def _same(call: Any) -> Sequence[Shape]:
    return [call.shape(0)]


@rule("FastGeluGrad", "GeluGrad")
def _features_grad(call: Any) -> Sequence[Shape]:
    return [merged(call.shape(0), call.shape(1))]


@rule("DropOutGenMask")
def _mask(call: Any) -> Sequence[Shape]:
    sizes = call.value(0)
    if sizes is None or any(not isinstance(size, int) for size in sizes):
        return [(None,)]
    count = 1
    for size in sizes:
        count *= size
    return [(-(-count // _MASK_BLOCK) * _MASK_BLOCK // 8,)]


@rule("PReluGrad")
def _prelu_grad(call: Any) -> Sequence[Shape]:
    return [call.shape(0), call.shape(2)]


@rule("DeformableOffsetsGrad")
def _offsets_grad(call: Any) -> Sequence[Shape]:
    return [call.shape(1), call.shape(2)]


@rule("MatMulAllReduce")
def _product_reduced(call: Any) -> Sequence[Shape]:
    return [(ranked(call.shape(0), 2)[0], ranked(call.shape(1), 2)[1])]


@rule("MatMulAllReduceAddRmsNorm")
def _product_normalized(call: Any) -> Sequence[Shape]:
    return [call.shape(2)] * 2


@rule("AllGatherMatMul")
def _product_gathered(call: Any) -> Sequence[Shape]:
    rows, ranks = ranked(call.shape(0), 2)[0], call.attr("rank_size", 1)
    return [(None if rows is None else rows * ranks, ranked(call.shape(1), 2)[1])]


@rule("MatMulReduceScatter")
def _product_scattered(call: Any) -> Sequence[Shape]:
    rows, ranks = ranked(call.shape(0), 2)[0], call.attr("rank_size", 1)
    return [(None if rows is None else rows // max(ranks, 1), ranked(call.shape(1), 2)[1])]


@rule("HcomBroadcast")
def _broadcast(call: Any) -> Sequence[Shape]:
    return [call.shape(k) for k in range(call.count)]


@rule("HcomAllGather")
def _gathered(call: Any) -> Sequence[Shape]:
    rows, *rest = _rows(call)
    return [(None if rows is None else rows * _ranks(call), *rest)]


@rule("HcomReduceScatter")
def _scattered(call: Any) -> Sequence[Shape]:
    rows, *rest = _rows(call)
    if rows is not None and rows % _ranks(call):
        raise ValueError("ranks do not divide the first dimension")
    return [(None if rows is None else rows // _ranks(call), *rest)]


@rule("HcomReceive")
def _received(call: Any) -> Sequence[Shape]:
    told = call.attr("shape")
    return [tuple(told) if isinstance(told, (tuple, list)) else None]


def _rows(call: Any) -> Sequence[Any]:
    shape = call.shape(0)
    if shape is None:
        raise ValueError("its rank is not known")
    return tuple(shape)


def _ranks(call: Any) -> int:
    """How many ranks take part: as a real adapter's node says it, or one that calls a marked function."""
    size = call.attr("rank_size", call.attr("_npu_rank_size", 0))
    if not isinstance(size, int) or not 1 <= size <= _MOST_RANKS:
        raise ValueError("how many ranks there are is not told")
    return size


@rule("AdamApplyOneAssign", "AdamApplyOneWithDecayAssign")
def _adam(call: Any) -> Sequence[Shape]:
    return [call.shape(1), call.shape(2), call.shape(3)]


@rule("LambApplyOptimizerAssign")
def _lamb(call: Any) -> Sequence[Shape]:
    return [call.shape(3), call.shape(1), call.shape(2)]


@rule("LambApplyWeightAssign")
def _lamb_weight(call: Any) -> Sequence[Shape]:
    return [call.shape(4)]


@rule("LARS")
def _lars(call: Any) -> Sequence[Shape]:
    return [call.shape(k) for k in range((call.count - 1) // 2)]


@rule("DynamicRnn", "DynamicRnnV2")
def _lstm(call: Any) -> Sequence[Shape]:
    gates = ranked(call.shape(1), 2)[1]
    return [_states(call, None if gates is None else gates // 4)] * 8


@rule("DynamicGruV2")
def _gru(call: Any) -> Sequence[Shape]:
    return [_states(call, ranked(call.shape(2), 2)[0])] * 6


@rule("DynamicAUGRU")
def _augru(call: Any) -> Sequence[Shape]:
    return [_states(call, ranked(call.shape(2), 2)[0])] * 7


def _states(call: Any, hidden: Any) -> Shape:
    return (*ranked(call.shape(0), 3)[:2], hidden)


@rule("DynamicRnnGrad")
def _lstm_grad(call: Any) -> Sequence[Shape]:
    return [call.shape(1), call.shape(2), call.shape(0), call.shape(4), call.shape(5)]


@rule("DynamicGruV2Grad")
def _gru_grad(call: Any) -> Sequence[Shape]:
    wide = ranked(call.shape(1), 2)[1]
    return [call.shape(1), call.shape(2), (wide,), (wide,), call.shape(0), call.shape(4)]


@rule("DynamicAUGRUGrad")
def _augru_grad(call: Any) -> Sequence[Shape]:
    wide = ranked(call.shape(1), 2)[1]
    return [call.shape(1), call.shape(2), (wide,), (wide,), call.shape(0), call.shape(5), call.shape(3)]


@rule("BasicLSTMCell")
def _cell(call: Any) -> Sequence[Shape]:
    state = merged(call.shape(1), call.shape(2))
    return [state] * 7


@rule("BasicLSTMCellCStateGrad")
def _cell_state_grad(call: Any) -> Sequence[Shape]:
    batch, hidden = ranked(call.shape(0), 2)
    return [(batch, None if hidden is None else 4 * hidden), call.shape(0)]


@rule("BasicLSTMCellWeightGrad")
def _cell_weight_grad(call: Any) -> Sequence[Shape]:
    (_, size), (_, hidden), (_, wide) = (ranked(call.shape(k), 2) for k in range(3))
    return [(None if size is None or hidden is None else size + hidden, wide), (wide,)]


@rule("BasicLSTMCellInputGrad")
def _cell_input_grad(call: Any) -> Sequence[Shape]:
    (batch, wide), (rows, _) = ranked(call.shape(0), 2), ranked(call.shape(1), 2)
    hidden = None if wide is None else wide // 4
    return [(batch, None if rows is None or hidden is None else rows - hidden), (batch, hidden)]


@rule("NpuAllocFloatStatus", "NpuGetFloatStatus", "NpuGetFloatStatusV2", "NpuClearFloatStatus")
def _float_status(call: Any) -> Sequence[Shape]:
    """The device's status is eight numbers (the toolkit's operator prototypes)."""
    return [(8,)]
