"""What dropout is on the device: DropOutGenMask draws a mask, DropOutDoMask applies it, forward and backward alike."""

from __future__ import annotations

import numbers
from typing import Any, Optional, Sequence, Tuple

from npu_reference.runtime.operators.calls import call, gradient
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["dropout"]

#: A mask has one bit for each element, in whole blocks of so many bits.
_BLOCK = 128

_BITS = 8


def dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: Optional[int] = None, name: Optional[str] = None
) -> Any:
    """Keep each element of ``x`` with probability ``keep_prob``, divided by it, and make the others 0.

    Args:
        x: a floating-point tensor.
        keep_prob: a number in (0, 1] or a scalar tensor. The number 1.0 gives ``x`` itself.
        noise_shape: the shape of the decisions, which is broadcast to that of ``x``; that of ``x`` without it.
        seed: of this operator; as in TensorFlow, the graph's own is taken into account.
        name: of the result.

    Raises:
        ValueError: ``x`` is not floating-point; ``keep_prob`` is a number outside (0, 1] or no scalar.
    """
    v1 = tensorflow().v1
    x = v1.convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError(f"x: dropout scales what it keeps, so it takes floating-point tensors, not {x.dtype.name}")
    if isinstance(keep_prob, numbers.Real):
        if not 0.0 < float(keep_prob) <= 1.0:
            raise ValueError(f"keep_prob: {keep_prob!r} is no probability in (0, 1]")
        if keep_prob == 1:
            return x
    probability = v1.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
    probability.get_shape().assert_is_compatible_with(v1.TensorShape([]))
    mask_name = f"{name}/DropOutGenMask" if name else "DropOutGenMask"
    name = name or "DropOutDoMask"
    shape, whole = _decisions(x, noise_shape)
    mask = _gen_mask(shape, probability, seed, mask_name)
    if whole:
        return _do_mask(x, mask, probability, name)
    # The device's operator takes a bit for each element; decisions that are broadcast are factors.
    factors = _do_mask(v1.ones(shape, x.dtype), mask, probability, f"{name}/factors")
    return v1.multiply(x, v1.stop_gradient(factors), name=name)


def _decisions(x: Any, noise_shape: Any) -> Tuple[Any, bool]:
    """The shape of the mask, and whether it is that of ``x``."""
    v1 = tensorflow().v1
    if noise_shape is None:
        return v1.shape(x), True
    try:
        wanted = v1.TensorShape(noise_shape)
    except (TypeError, ValueError):
        return v1.convert_to_tensor(noise_shape), False
    known = x.get_shape()
    if known.dims is not None and wanted.dims is not None and len(known) == len(wanted):
        # An open size is that of x.
        sizes = wanted.as_list()
        whole = [given if size is None else size for size, given in zip(sizes, known.as_list())]
        if all(size is None or size == given for size, given in zip(sizes, known.as_list())):
            return v1.shape(x), True
        if None not in whole:
            return v1.constant(whole, v1.int32), False
        actual = v1.shape(x)
        return v1.stack([actual[k] if size is None else size for k, size in enumerate(whole)]), False
    return v1.convert_to_tensor(noise_shape), False


def _gen_mask(shape: Any, probability: Any, seed: Optional[int], name: str) -> Any:
    """A mask of bits, 1 with the given probability."""
    v1 = tensorflow().v1
    first, second = v1.get_seed(seed)
    first, second = first or 0, second or 0

    def draw(shape: Any, prob: Any) -> Sequence[Any]:
        count = v1.reduce_prod(v1.cast(shape, v1.int64))
        drawn = v1.expand_dims(-(-count // _BLOCK) * _BLOCK, 0)
        uniform = v1.raw_ops.RandomUniform(shape=drawn, dtype=v1.float32, seed=first, seed2=second)
        kept = v1.reshape(v1.cast(uniform < v1.cast(prob, v1.float32), v1.float32), [-1, _BITS])
        weights = v1.constant([[float(1 << bit)] for bit in range(_BITS)])
        return [v1.cast(v1.reshape(v1.matmul(kept, weights), [-1]), v1.uint8)]

    return call(
        "DropOutGenMask",
        [("shape", shape), ("prob", probability)],
        ["output"],
        draw,
        key=(first, second),
        shapes=[_mask_shape(shape)],
        name=name,
        alone=True,
        seeded=bool(first or second),
    )[0]


def _mask_shape(shape: Any) -> Sequence[Optional[int]]:
    from_tensor = tensorflow().v1.get_static_value(shape)
    if from_tensor is None:
        return [None]
    count = 1
    for size in from_tensor.tolist():
        count *= size
    return [-(-count // _BLOCK) * _BLOCK // _BITS]


def _do_mask(x: Any, mask: Any, probability: Any, name: str) -> Any:
    v1 = tensorflow().v1

    def apply(x: Any, mask: Any, keep_prob: Any) -> Sequence[Any]:
        bits = v1.bitwise.right_shift(v1.expand_dims(mask, 1), v1.constant(list(range(_BITS)), v1.uint8))
        bits = v1.reshape(v1.bitwise.bitwise_and(bits, v1.constant(1, v1.uint8)), [-1])
        kept = v1.reshape(v1.cast(bits[: v1.size(x)], v1.bool), v1.shape(x))
        return [v1.raw_ops.Select(condition=kept, x=x / keep_prob, y=v1.zeros_like(x))]

    inputs = [("x", x), ("mask", mask), ("keep_prob", probability)]
    return call("DropOutDoMask", inputs, ["y"], apply, shapes=[x.get_shape()], name=name)[0]


@gradient("DropOutDoMask")
def _do_mask_grad(op: Any, grad: Any) -> Sequence[Any]:
    return [_do_mask(grad, op.inputs[1], op.inputs[2], "DropOutDoMask"), None, None]
