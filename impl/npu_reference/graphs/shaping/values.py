"""Decides which whole numbers come out of the small operators that compute shapes; None stands for an unknown one."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from npu_reference.graphs.attrs import decode_shape
from npu_reference.graphs.dtypes import DType
from npu_reference.graphs.tensors import small_integers

__all__ = ["MOST", "VALUES", "Value", "bounded"]

#: The elements of a scalar or a list, row by row; None: nothing is known.
Value = Optional[Tuple[Optional[int], ...]]

#: Numbers of a list that is followed; ranks are at most 254 in TensorFlow, those of real models below ten (assumed).
MOST = 64
#: Sizes are computed in int32 by default, where what is larger wraps around; so it is not followed.
_LARGEST = 2**31 - 1

_INTEGERS = (DType.INT32, DType.INT64)

#: A rule: the call (``facts.NodeCall``) and the shapes found for its outputs give the values of the outputs.
_Rule = Callable[[Any, Sequence[Any]], Sequence[Value]]
VALUES: Dict[str, _Rule] = {}


def bounded(value: Value) -> Value:
    """The value with numbers that are too large made unknown; None for a list that is too long."""
    if value is None or len(value) > MOST:
        return None
    if all(n is None or -_LARGEST <= n <= _LARGEST for n in value):
        return tuple(value)
    return tuple(n if n is not None and -_LARGEST <= n <= _LARGEST else None for n in value)


def _rule(*ops: str) -> Callable[[_Rule], _Rule]:
    def register(function: _Rule) -> _Rule:
        for op in ops:
            VALUES[op] = function
        return function

    return register


@_rule("Const", "HostConst")
def _const(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    tensor = call.attr("value")
    if decode_shape(tensor.tensor_shape) != shapes[0]:
        return [None]
    return [small_integers(tensor, MOST)]


@_rule("Shape", "ShapeN")
def _shape(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    return [call.shape(k) for k in range(call.count)]


@_rule("Size")
def _size(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    shape = call.shape(0)
    return [None if shape is None else (_product(shape),)]


@_rule("Rank")
def _rank(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    shape = call.shape(0)
    return [None if shape is None else (len(shape),)]


@_rule("Enter", "RefEnter", "ExpandDims", "Identity", "PreventGradient", "Reshape", "Snapshot", "Squeeze",
       "StopGradient")  # fmt: skip
def _same(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    return [call.value(0)]


@_rule("Switch", "RefSwitch")
def _switch(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    return [call.value(0)] * 2


@_rule("IdentityN")
def _each(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    return [call.value(k) for k in range(call.count)]


@_rule("Cast")
def _cast(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    # Only whole numbers are followed, so that nothing is rounded on the way.
    return [call.value(0) if call.attr("DstT") in _INTEGERS else None]


def _pairwise(function: Callable[[int, int], int]) -> _Rule:
    def rule(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
        a, b = call.value(0), call.value(1)
        if a is None or b is None or not _is_list(call.shape(0)) or not _is_list(call.shape(1)):
            return [None]
        count = max(len(a), len(b)) if a and b else 0
        if len(a) not in (1, count) or len(b) not in (1, count):
            return [None]
        pairs = [(a[k % len(a)], b[k % len(b)]) for k in range(count)]
        return [tuple(None if x is None or y is None else function(x, y) for x, y in pairs)]

    return rule


def _is_list(shape: Any) -> bool:
    return shape is not None and len(shape) <= 1


_PAIRS: Dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Maximum": max,
    "Minimum": min,
    "Mul": lambda a, b: a * b,
    "Sub": lambda a, b: a - b,
}
for _name, _function in _PAIRS.items():
    VALUES[_name] = _pairwise(_function)


@_rule("Transpose")
def _transpose(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value, order, shape = call.value(0), call.value(1), call.shape(0)
    if value is None or order is None or shape is None or None in shape or len(value) != _product(shape):
        return [None]
    if sorted(order, key=lambda axis: -1 if axis is None else axis) != list(range(len(shape))):
        return [None]
    steps = [_product(shape[axis + 1 :]) or 0 for axis in range(len(shape))]
    places = [0]
    for axis in order:
        places = [place + steps[axis] * at for place in places for at in range(shape[axis])]
    return [tuple(value[place] for place in places)]


@_rule("Neg")
def _neg(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value = call.value(0)
    return [None if value is None else tuple(None if n is None else -n for n in value)]


@_rule("Pack")
def _pack(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    shape = call.shape(0) if call.count else None
    if call.count > MOST or shape is None or any(call.shape(k) != shape for k in range(call.count)):
        return [None]
    # Row by row: along the first axis, packed lists follow each other.
    count = _product(shape)
    if count is None or count * call.count > MOST or (shape and call.attr("axis", 0) not in (0, -len(shape) - 1)):
        return [None]
    values = [call.value(k) or (None,) * count for k in range(call.count)]
    return [_or_unknown([number for value in values for number in value])]


def _or_unknown(numbers: List[Optional[int]]) -> Value:
    return None if numbers and all(n is None for n in numbers) else tuple(numbers)


@_rule("ConcatV2", "Concat")
def _concat(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    last = call.count - 1
    parts, at = (range(last), last) if call.op == "ConcatV2" else (range(1, call.count), 0)
    axis = call.value(at)
    rank = len(call.shape(parts[0]) or ()) if parts else 0
    # A list has one axis, whichever is named; of tables the axis says whose rows go on.
    along = 0 if rank == 1 else axis[0] if axis else None
    if along is None or not -rank <= along < rank:
        return [None]
    rows: List[List[Optional[int]]] = []
    for k in parts:
        shape, value = call.shape(k), call.value(k)
        outer = None if shape is None or len(shape) != rank else _product(shape[: along % rank])
        count = None if outer is None else _product(shape)
        if outer is None or count is None or (rows and len(rows) != outer) or outer > MOST:
            return [None]
        rows = rows or [[] for _ in range(outer)]
        numbers = (None,) * min(count, MOST + 1) if value is None else value
        step = len(numbers) // outer if outer else 0
        for number, row in enumerate(rows):
            row.extend(numbers[number * step : (number + 1) * step])
        if sum(map(len, rows)) > MOST:
            return [None]
    return [_or_unknown([number for row in rows for number in row])]


def _product(numbers: Sequence[Optional[int]]) -> Optional[int]:
    total = 1
    for number in numbers:
        if number is None:
            return None
        total *= number
    return total


def _reduction(function: Callable[[Sequence[int]], int]) -> _Rule:
    def rule(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
        value, axes, shape = call.value(0), call.value(1), call.shape(0)
        if value is None or shape is None or len(shape) != 1 or axes not in ((0,), (-1,)):
            return [None]
        known = [n for n in value if n is not None]
        return [(function(known) if len(known) == len(value) else None,)]

    return rule


VALUES["Prod"] = _reduction(lambda numbers: _product(numbers) or 0)
VALUES["Sum"] = _reduction(sum)
VALUES["Max"] = _reduction(max)
VALUES["Min"] = _reduction(min)


@_rule("StridedSlice")
def _strided(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    """A slice of a list; with an ellipsis or a new axis it is not followed."""
    value, shape = call.value(0), call.shape(0)
    begin, end, step = call.value(1), call.value(2), call.value(3)
    if value is None or shape is None or len(shape) != 1 or begin is None or end is None or step is None:
        return [None]
    if len(begin) != 1 or call.attr("ellipsis_mask", 0) or call.attr("new_axis_mask", 0):
        return [None]
    if call.attr("shrink_axis_mask", 0) & 1:
        return [None if begin[0] is None else (value[begin[0]],)]
    open_begin, open_end = call.attr("begin_mask", 0) & 1, call.attr("end_mask", 0) & 1
    if step[0] is None or (begin[0] is None and not open_begin) or (end[0] is None and not open_end):
        return [None]
    return [value[None if open_begin else begin[0] : None if open_end else end[0] : step[0]]]


@_rule("Slice")
def _slice(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value, shape, begin, size = call.value(0), call.shape(0), call.value(1), call.value(2)
    if value is None or shape is None or len(shape) != 1 or begin is None or size is None:
        return [None]
    start, count = begin[0], size[0]
    if start is None or count is None or start < 0:
        return [None]
    return [value[start:] if count < 0 else value[start : start + count]]


@_rule("Gather", "GatherV2")
def _gather(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value, places, shape = call.value(0), call.value(1), call.shape(0)
    if value is None or places is None or shape is None or len(shape) != 1 or call.attr("batch_dims", 0):
        return [None]
    if not all(k is not None and 0 <= k < len(value) for k in places):
        return [None]
    return [tuple(value[k or 0] for k in places)]


@_rule("Range")
def _range(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    values = [call.value(k) for k in range(3)]
    if any(value is None or value[0] is None for value in values):
        return [None]
    start, end, step = (value[0] for value in values if value is not None)
    return [tuple(range(start or 0, end or 0, step or 0)[: MOST + 1])]


@_rule("InvertPermutation")
def _inverse(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value = call.value(0)
    return [None if value is None or None in value else tuple(value.index(k) for k in range(len(value)))]


@_rule("Fill", "ZerosLike", "OnesLike")
def _filled(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    shape = shapes[0]
    count = None if shape is None else _product(shape)
    if call.op == "Fill":
        number = call.value(1)
    else:
        # Zeros of any other type are no whole numbers to compute shapes with.
        number = None if call.attr("T") not in _INTEGERS else (int(call.op == "OnesLike"),)
    return [None if count is None or count > MOST or number is None else (number[0],) * count]


@_rule("DynamicStitch", "ParallelDynamicStitch")
def _stitch(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    half = call.count // 2
    placed: Dict[int, Optional[int]] = {}
    for k in range(half):
        places, value = call.value(k), call.value(half + k)
        if places is None or None in places or value is None or call.shape(k) != call.shape(half + k):
            return [None]
        placed.update(zip([p or 0 for p in places], value))
    count = max(placed, default=-1) + 1
    return [tuple(placed.get(k) for k in range(count)) if count <= MOST else None]


@_rule("BroadcastGradientArgs")
def _broadcast_axes(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    """Over which axes the gradient of either operand of a broadcast is summed up."""
    a, b = call.value(0), call.value(1)
    if a is None or b is None:
        return [None, None]
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)))
    # An unknown size may be 1; only beside a known larger one it does not matter whether the other operand is summed.
    if any(x is None or y is None for x, y in pairs):
        return [None, None]
    if a == b:
        return [(), ()]
    # An axis of size one on both sides is listed for both, unless the shapes are equal.
    return [tuple(k for k, pair in enumerate(pairs) if pair[side] == 1) for side in (0, 1)]


@_rule("BroadcastArgs")
def _broadcast_shape(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    a, b = call.value(0), call.value(1)
    if a is None or b is None or None in a or None in b:
        return [None]
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b))
    return [tuple(y if x == 1 else x for x, y in pairs)]


@_rule("Split", "SplitV", "Unpack")
def _parts(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    source = call.value(1 if call.op == "Split" else 0)
    shape = call.shape(1 if call.op == "Split" else 0)
    if source is None or shape is None or len(shape) != 1:
        return []
    values: List[Value] = []
    start = 0
    for part in shapes:
        size = 1 if call.op == "Unpack" else part[0]
        if size is None:
            return []
        values.append(source[start : start + size])
        start += size
    return values


@_rule("Tile")
def _tile(call: Any, shapes: Sequence[Any]) -> Sequence[Value]:
    value, times, shape = call.value(0), call.value(1), call.shape(0)
    if value is None or shape is None or len(shape) != 1 or times is None or times[0] is None:
        return [None]
    return [value * times[0] if len(value) * times[0] <= MOST else None]
