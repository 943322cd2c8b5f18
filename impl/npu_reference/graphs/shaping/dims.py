"""Shapes among each other; a None size is unknown, a None shape of any rank."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from npu_reference.graphs.limits import MAX_TENSOR_BYTES

__all__ = [
    "Dim", "Shape", "broadcast", "common", "merged", "place_of", "plus", "product", "ranked", "same_dim", "with_size",
]  # fmt: skip

Dim = Optional[int]

#: Dimensions, None for one that is not known; None where not even their number is.
Shape = Optional[Tuple[Dim, ...]]


def merged(first: Shape, *others: Shape) -> Shape:
    """What is known of one tensor from several sides; ValueError where they contradict each other."""
    known = first
    for shape in others:
        if known is None or shape is None:
            known = shape if known is None else known
        elif known != shape:
            if len(known) != len(shape):
                raise ValueError("ranks differ")
            known = tuple(same_dim(a, b) for a, b in zip(known, shape))
    return known


def same_dim(a: Dim, b: Dim) -> Dim:
    if a is not None and b is not None and a != b:
        raise ValueError("sizes differ")
    return b if a is None else a


def common(a: Shape, b: Shape) -> Shape:
    """What holds of a tensor that is either the one or the other."""
    if a is None or b is None or len(a) != len(b):
        return None
    return a if a == b else tuple(x if x == y else None for x, y in zip(a, b))


def broadcast(*shapes: Shape) -> Shape:
    """The shape of operands that are stretched to each other; ValueError where they cannot be."""
    result = shapes[0]
    for shape in shapes[1:]:
        if result is None or shape is None:
            return None
        if result != shape:
            rank = max(len(result), len(shape))
            left = (1,) * (rank - len(result)) + result
            right = (1,) * (rank - len(shape)) + shape
            result = tuple(_stretched(x, y) for x, y in zip(left, right))
    return result


def _stretched(x: Dim, y: Dim) -> Dim:
    if x == 1 or x == y:
        return y
    if y == 1:
        return x
    if x is None or y is None:
        return y if x is None else x  # an unknown size beside one larger than 1 is that or 1
    raise ValueError("sizes cannot be stretched to each other")


def plus(a: Dim, b: Dim) -> Dim:
    return None if a is None or b is None else a + b


def product(shape: Sequence[Dim]) -> Dim:
    if 0 in shape:
        return 0
    total = 1
    for dim in shape:
        if dim is None:
            return None
        total *= dim
        if total > MAX_TENSOR_BYTES:
            return None  # nothing has so many elements, and nothing is to be multiplied on and on
    return total


def place_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError("there is no such axis")
    return axis % rank


def ranked(shape: Shape, rank: int) -> Tuple[Dim, ...]:
    """The shape, which must be of this rank; of unknown sizes where it is not known."""
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ValueError("another rank is wanted")
    return shape


def with_size(shape: Tuple[Dim, ...], axis: int, size: Dim) -> Tuple[Dim, ...]:
    place = place_of(axis, len(shape))
    return (*shape[:place], size, *shape[place + 1 :])
