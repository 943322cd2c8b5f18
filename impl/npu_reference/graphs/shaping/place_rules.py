"""Shapes of operators that reduce axes, and of those that choose and move elements."""

from __future__ import annotations

from typing import Any, List, Sequence

from npu_reference.graphs.shaping.dims import Dim, Shape, merged, place_of, plus, product, ranked, same_dim, with_size
from npu_reference.graphs.shaping.rules import number_of, rule, told_shape

__all__ = []

#: Parts of one split that are followed; real graphs have some ten (assumed).
_MAX_OUTPUTS = 1_000


@rule("All", "Any", "Max", "Mean", "Min", "Prod", "Sum", "EuclideanNorm")
def _reduced(call: Any) -> Sequence[Shape]:
    before, axes = call.shape(0), call.value(1)
    keep = bool(call.attr("keep_dims", False))
    if before is None:
        return [None]
    if axes is None or None in axes:
        # One axis is still known to be one.
        return [(None,) * len(before) if keep else () if call.shape(1) == (len(before),) else None]
    gone = {place_of(axis, len(before)) for axis in axes}
    if keep:
        return [tuple(1 if k in gone else dim for k, dim in enumerate(before))]
    return [tuple(dim for k, dim in enumerate(before) if k not in gone)]


@rule("ArgMax", "ArgMin")
def _arg(call: Any) -> Sequence[Shape]:
    before, axis = call.shape(0), number_of(call, 1)
    if before is None or axis is None:
        return [None if before is None or not before else (None,) * (len(before) - 1)]
    place = place_of(axis, len(before))
    return [(*before[:place], *before[place + 1 :])]


@rule("TopKV2", "TopK")
def _top(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    count = number_of(call, 1) if call.op == "TopKV2" else call.attr("k")
    return [None, None] if before is None else [(*before[:-1], count)] * 2


@rule("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd")
def _segments(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    return [None if before is None else (None, *before[1:])]


@rule("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
def _unsorted_segments(call: Any) -> Sequence[Shape]:
    before, ids = call.shape(0), call.shape(1)
    return [None if before is None or ids is None else (number_of(call, 2), *before[len(ids) :])]


@rule("Reshape")
def _reshape(call: Any) -> Sequence[Shape]:
    wanted = told_shape(call, 1)
    before = call.shape(0)
    if wanted is None:
        return [None]
    if wanted.count(None) != 1 or before is None:
        return [wanted]
    rest = product([dim for dim in wanted if dim is not None])
    total = product(before)
    if total is None or not rest:
        return [wanted]
    if total % rest:
        raise ValueError("the elements do not fill it")
    return [tuple(total // rest if dim is None else dim for dim in wanted)]


@rule("Transpose", "ConjugateTranspose")
def _transpose(call: Any) -> Sequence[Shape]:
    before, order = call.shape(0), call.value(1)
    if order is None:
        told = told_shape(call, 1)
        return [(None,) * len(before) if before is not None else told]
    if before is None:
        return [(None,) * len(order)]
    if None in order or sorted(place_of(k, len(before)) for k in order) != list(range(len(before))):
        raise ValueError("no order of the axes")
    return [tuple(before[k] for k in order)]


@rule("ExpandDims")
def _expand(call: Any) -> Sequence[Shape]:
    before, axis = call.shape(0), number_of(call, 1)
    if before is None:
        return [None]
    if axis is None:
        return [(None,) * (len(before) + 1)]
    place = place_of(axis, len(before) + 1)
    return [(*before[:place], 1, *before[place:])]


@rule("Squeeze")
def _squeeze(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    if before is None:
        return [None]
    axes = call.attr("squeeze_dims", ()) or ()
    gone = {place_of(axis, len(before)) for axis in axes}
    if not gone and None in before:
        return [None]
    if any(before[k] not in (1, None) for k in gone):
        raise ValueError("only a size of 1 can be left out")
    return [tuple(dim for k, dim in enumerate(before) if not (k in gone if gone else dim == 1))]


@rule("Concat", "ConcatV2")
def _concat(call: Any) -> Sequence[Shape]:
    last = call.op == "ConcatV2"
    parts = [call.shape(k) for k in (range(call.count - 1) if last else range(1, call.count))]
    axis = number_of(call, call.count - 1 if last else 0)
    known = [part for part in parts if part is not None]
    if not known:
        return [None]
    rank = len(known[0])
    if axis is None:
        return [(None,) * rank]
    place = place_of(axis, rank)
    total: Dim = 0
    for part in parts:
        total = plus(total, None if part is None else part[place])
    around = merged(*[(*part[:place], None, *part[place + 1 :]) for part in known])
    assert around is not None
    return [(*around[:place], total, *around[place + 1 :])]


@rule("ConcatOffset")
def _offsets(call: Any) -> Sequence[Shape]:
    return [call.shape(k) for k in range(1, call.count)]


@rule("Pack")
def _pack(call: Any) -> Sequence[Shape]:
    part = merged(*[call.shape(k) for k in range(call.count)])
    if part is None:
        return [None]
    place = place_of(int(call.attr("axis", 0)), len(part) + 1)
    return [(*part[:place], call.count, *part[place:])]


@rule("Unpack")
def _unpack(call: Any) -> Sequence[Shape]:
    before, count = call.shape(0), int(call.attr("num"))
    if before is None or not 0 <= count <= _MAX_OUTPUTS:
        return []
    place = place_of(int(call.attr("axis", 0)), len(before))
    same_dim(before[place], count)
    return [(*before[:place], *before[place + 1 :])] * count


@rule("Split")
def _split(call: Any) -> Sequence[Shape]:
    axis, before, count = number_of(call, 0), call.shape(1), int(call.attr("num_split"))
    if before is None or not 0 < count <= _MAX_OUTPUTS:
        return []
    if axis is None:
        return [(None,) * len(before)] * count
    place = place_of(axis, len(before))
    whole = before[place]
    if whole is not None and whole % count:
        raise ValueError("it cannot be split evenly")
    return [(*before[:place], None if whole is None else whole // count, *before[place + 1 :])] * count


@rule("SplitV")
def _split_sizes(call: Any) -> Sequence[Shape]:
    before, sizes, axis, count = call.shape(0), call.value(1), number_of(call, 2), int(call.attr("num_split"))
    if before is None or not 0 < count <= _MAX_OUTPUTS:
        return []
    if axis is None or sizes is None:
        return [(None,) * len(before)] * count if axis is None else [with_size(before, axis, None)] * count
    place = place_of(axis, len(before))
    whole, known = before[place], sum(size for size in sizes if size is not None and size >= 0)
    rest = None if whole is None or None in sizes else whole - known
    return [with_size(before, place, rest if size == -1 else size) for size in sizes]


@rule("Tile")
def _tile(call: Any) -> Sequence[Shape]:
    before, times = call.shape(0), told_shape(call, 1)
    if before is None or times is None:
        return [None if times is None else (None,) * len(times)]
    if len(before) != len(times):
        raise ValueError("every axis has its number")
    return [tuple(product(pair) for pair in zip(before, times))]


@rule("Pad", "PadV2", "MirrorPad")
def _pad(call: Any) -> Sequence[Shape]:
    before, edges = call.shape(0), call.value(1)
    if before is None or edges is None:
        told = call.shape(1)
        rank = len(before) if before is not None else told[0] if told else None
        return [None if rank is None or rank > 254 else (None,) * rank]
    if len(edges) != 2 * len(before):
        raise ValueError("every axis has two edges")
    return [tuple(plus(dim, plus(edges[2 * k], edges[2 * k + 1])) for k, dim in enumerate(before))]


@rule("Slice")
def _slice(call: Any) -> Sequence[Shape]:
    before, size, begin = call.shape(0), call.value(2), call.value(1)
    told = call.shape(2)
    if size is None:
        rank = len(before) if before is not None else told[0] if told else None
        return [None if rank is None or rank > 254 else (None,) * rank]
    dims = before or (None,) * len(size)
    start = begin or (None,) * len(size)
    if not len(dims) == len(size) == len(start):
        raise ValueError("every axis has a begin and a size")
    rest = [None if dim is None or first is None else dim - first for dim, first in zip(dims, start)]
    return [tuple(left if count == -1 else count for left, count in zip(rest, size))]


@rule("StridedSlice")
def _strided(call: Any) -> Sequence[Shape]:
    before, begin, end, step = call.shape(0), call.value(1), call.value(2), call.value(3)
    told = next((s for s in (call.shape(k) for k in (1, 2, 3)) if s and s[0] is not None), None)
    if before is None or told is None or told[0] > 64:
        return [None]
    masks = {
        name: int(call.attr(f"{name}_mask", 0)) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    count = told[0]
    unknown = (None,) * count
    spec = zip(begin or unknown, end or unknown, step or unknown)
    wide = any(masks["ellipsis"] >> k & 1 for k in range(count))
    # Axes an ellipsis stands for: those that no other entry takes.
    taken = sum(not (masks["ellipsis"] >> k & 1 or masks["new_axis"] >> k & 1) for k in range(count))
    rest = list(before)
    dims: List[Dim] = []
    for k, (first, last, stride) in enumerate(spec):
        if masks["ellipsis"] >> k & 1:
            spread = max(0, len(before) - taken)
            dims.extend(rest[:spread])
            del rest[:spread]
        elif masks["new_axis"] >> k & 1:
            dims.append(1)
        else:
            dim = rest.pop(0)
            if not masks["shrink_axis"] >> k & 1:
                open_first, open_last = masks["begin"] >> k & 1, masks["end"] >> k & 1
                dims.append(_taken(dim, first, last, stride, bool(open_first), bool(open_last)))
    return [tuple(dims) if wide else (*dims, *rest)]


def _taken(dim: Dim, first: Dim, last: Dim, stride: Dim, open_first: bool, open_last: bool) -> Dim:
    if dim is None or stride is None or (first is None and not open_first) or (last is None and not open_last):
        return None
    return len(range(*slice(None if open_first else first, None if open_last else last, stride).indices(dim)))


@rule("Gather", "ResourceGather", "SparseGather")
def _gather(call: Any) -> Sequence[Shape]:
    table = call.inner(0) if call.op == "ResourceGather" else call.shape(0)
    indices = call.shape(1)
    return [None if not isinstance(table, tuple) or indices is None else (*indices, *table[1:])]


@rule("GatherV2")
def _gather_axis(call: Any) -> Sequence[Shape]:
    table, indices, axis = call.shape(0), call.shape(1), number_of(call, 2)
    batch = int(call.attr("batch_dims", 0))
    if table is None or indices is None:
        return [None]
    if batch < 0:
        batch += len(indices)
    if axis is None:
        return [(None,) * (len(table) + len(indices) - 1 - batch)]
    place = place_of(axis, len(table))
    return [(*table[:place], *indices[batch:], *table[place + 1 :])]


@rule("GatherNd", "ResourceGatherNd")
def _gather_places(call: Any) -> Sequence[Shape]:
    table = call.inner(0) if call.op == "ResourceGatherNd" else call.shape(0)
    indices = call.shape(1)
    if not isinstance(table, tuple) or not indices or indices[-1] is None or indices[-1] > len(table):
        return [None]
    return [(*indices[:-1], *table[indices[-1] :])]


@rule("OneHot")
def _one_hot(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    if before is None:
        return [None]
    place = place_of(int(call.attr("axis", -1)), len(before) + 1)
    return [(*before[:place], number_of(call, 1), *before[place:])]


@rule("Select")
def _select(call: Any) -> Sequence[Shape]:
    return [merged(call.shape(1), call.shape(2))]


@rule("Where")
def _where(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    return [(None, None if before is None else len(before))]


@rule("Range")
def _range(call: Any) -> Sequence[Shape]:
    first, last, step = (number_of(call, k) for k in range(3))
    if first is None or last is None or step is None:
        return [(None,)]
    return [(len(range(first, last, step)),)]


@rule("LinSpace")
def _spaced(call: Any) -> Sequence[Shape]:
    return [(number_of(call, 2),)]


@rule("Shape")
def _shape(call: Any) -> Sequence[Shape]:
    before = call.shape(0)
    return [(None if before is None else len(before),)]


@rule("ShapeN")
def _shapes(call: Any) -> Sequence[Shape]:
    return [(None if shape is None else len(shape),) for shape in (call.shape(k) for k in range(call.count))]


@rule("BroadcastGradientArgs", "ListDiff")
def _lists(call: Any) -> Sequence[Shape]:
    return [(None,), (None,)]


@rule("BroadcastArgs")
def _list(call: Any) -> Sequence[Shape]:
    a, b = ranked(call.shape(0), 1), ranked(call.shape(1), 1)
    return [(None if a[0] is None or b[0] is None else max(a[0], b[0]),)]


@rule("DynamicStitch", "ParallelDynamicStitch")
def _stitch(call: Any) -> Sequence[Shape]:
    half = call.count // 2
    most: Dim = -1
    parts: List[Shape] = []
    for k in range(half):
        places, indices, data = call.value(k), call.shape(k), call.shape(half + k)
        if places is None or None in places or most is None:
            most = None
        else:
            most = max([most, *places])
        if indices is not None and data is not None:
            parts.append((None, *data[len(indices) :]))
    rest = merged(None, *parts)
    return [None if rest is None else (None if most is None else most + 1, *rest[1:])]


@rule("Unique", "UniqueWithCounts", "UniqueV2")
def _unique(call: Any) -> Sequence[Shape]:
    if call.op == "UniqueV2":
        return [None, None]
    return [(None,), call.shape(0), (None,)][: 3 if call.op == "UniqueWithCounts" else 2]


@rule("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def _suppressed(call: Any) -> Sequence[Shape]:
    return [(None,)]
