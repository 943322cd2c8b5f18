"""Which whole numbers come out of the small operators that compute shapes."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

__all__ = ["Value", "computed"]

#: A list of whole numbers, a scalar as a list of one; None: not known.
Value = Optional[Tuple[int, ...]]
_MOST = 64  # numbers of a list that is followed: the ranks of tensors are smaller (assumed)

#: Operators that give the numbers they are given.
_SAME = frozenset({"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient"})
_PAIRS: Dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Maximum": max,
    "Minimum": min,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a // b,
    "Sub": lambda a, b: a - b,
}


def computed(op: str, one: Any, inputs: Sequence[Value]) -> Value:
    """The numbers a node gives for what it reads; None where they cannot be told. Errors are the caller's to catch."""
    if op in _SAME:
        return inputs[0]
    known = [value for value in inputs if value is not None]
    if len(known) < len(inputs) or not known:
        return None
    found = _rule(op, one, known)
    return found if found is None or len(found) <= _MOST else None


def _rule(op: str, one: Any, inputs: Sequence[Tuple[int, ...]]) -> Value:
    if op in _PAIRS:
        return _pairwise(_PAIRS[op], *inputs)
    if op == "Pack":
        return tuple(number for value in inputs for number in value) if all(len(v) == 1 for v in inputs) else None
    if op == "ConcatV2":
        return tuple(number for value in inputs[:-1] for number in value)
    if op == "Prod":
        return (_product(inputs[0]),)
    if op == "StridedSlice":
        return _strided(one, *inputs)
    if op == "Slice":
        begin, size = inputs[1][0], inputs[2][0]
        return inputs[0][begin:] if size < 0 else inputs[0][begin : begin + size]
    if op == "GatherV2":
        return tuple(inputs[0][k] for k in inputs[1])
    if op == "Range":
        return tuple(range(inputs[0][0], inputs[1][0], inputs[2][0])[: _MOST + 1])
    if op == "InvertPermutation":
        return tuple(inputs[0].index(k) for k in range(len(inputs[0])))
    return None


def _pairwise(function: Callable[[int, int], int], a: Tuple[int, ...], b: Tuple[int, ...]) -> Value:
    count = max(len(a), len(b))
    if len(a) not in (1, count) or len(b) not in (1, count):
        return None
    return tuple(function(a[k % len(a)], b[k % len(b)]) for k in range(count))


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def _strided(
    one: Any, value: Tuple[int, ...], begin: Tuple[int, ...], end: Tuple[int, ...], step: Tuple[int, ...]
) -> Value:
    """A slice of a list; one of more dimensions, or with an ellipsis or a new axis, is not followed."""
    if len(begin) != 1 or one.attr("ellipsis_mask", 0) or one.attr("new_axis_mask", 0):
        return None
    if one.attr("shrink_axis_mask", 0) & 1:
        return (value[begin[0]],)
    start = None if one.attr("begin_mask", 0) & 1 else begin[0]
    stop = None if one.attr("end_mask", 0) & 1 else end[0]
    return value[start : stop : step[0]]
