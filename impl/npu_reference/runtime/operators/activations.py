"""What the activations of the device compute that TensorFlow 1 does not have: Gelu, FastGelu, PRelu."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

from npu_reference.runtime.operators.calls import call, gradient
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["fast_gelu", "gelu", "prelu"]

#: The tanh form of D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units" (arXiv 1606.08415), section 2, which is
#: what the operator library's Gelu computes.
_CUBIC = 0.044715
_SCALE = math.sqrt(2.0 / math.pi)

#: FastGelu: the sigmoid form of the same article.
_STEEPNESS = 1.702


def gelu(x: Any, name: Optional[str] = None) -> Any:
    """``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``, in the dtype of ``x``."""
    v1 = tensorflow().v1

    def compute(x: Any) -> Sequence[Any]:
        return [0.5 * x * (1.0 + v1.tanh(_inner(x)))]

    return _unary("Gelu", "x", "y", x, compute, name)


def _inner(x: Any) -> Any:
    return _SCALE * (x + _CUBIC * x * x * x)


@gradient("Gelu")
def _gelu_grad(op: Any, grad: Any) -> Sequence[Any]:
    v1 = tensorflow().v1

    def compute(dy: Any, x: Any, y: Any) -> Sequence[Any]:
        del y  # the operator takes it, and has no use for it
        bent = v1.tanh(_inner(x))
        slope = _SCALE * (1.0 + 3.0 * _CUBIC * x * x)
        return [dy * (0.5 * (1.0 + bent) + 0.5 * x * (1.0 - bent * bent) * slope)]

    x = op.inputs[0]
    inputs = [("dy", grad), ("x", x), ("y", op.outputs[0])]
    return [call("GeluGrad", inputs, ["z"], compute, shapes=[x.get_shape()])[0]]


def fast_gelu(x: Any, name: Optional[str] = None) -> Any:
    """``x sigmoid(1.702 x)``, in the dtype of ``x``."""
    v1 = tensorflow().v1
    return _unary("FastGelu", "features", "activations", x, lambda x: [x * v1.sigmoid(_STEEPNESS * x)], name)


@gradient("FastGelu")
def _fast_gelu_grad(op: Any, grad: Any) -> Sequence[Any]:
    v1 = tensorflow().v1

    def compute(gradients: Any, features: Any) -> Sequence[Any]:
        gate = v1.sigmoid(_STEEPNESS * features)
        return [gradients * gate * (1.0 + _STEEPNESS * features * (1.0 - gate))]

    x = op.inputs[0]
    inputs = [("gradients", grad), ("features", x)]
    return [call("FastGeluGrad", inputs, ["backprops"], compute, shapes=[x.get_shape()])[0]]


def prelu(x: Any, weight: Any, name: Optional[str] = None) -> Any:
    """``x`` where it is positive, elsewhere ``weight x``.

    Args:
        weight: one element, or one for each channel, which is axis 1 of ``x``.
    """
    v1 = tensorflow().v1
    x = v1.convert_to_tensor(x)
    weight = v1.convert_to_tensor(weight, dtype=x.dtype.base_dtype)

    def compute(x: Any, weight: Any) -> Sequence[Any]:
        return [v1.raw_ops.Select(condition=x > 0, x=x, y=x * _by_channel(weight, x))]

    return call("PRelu", [("x", x), ("weight", weight)], ["y"], compute, shapes=[x.get_shape()], name=name or "")[0]


def _by_channel(weight: Any, x: Any) -> Any:
    """The weights in a shape that broadcasts along axis 1."""
    v1 = tensorflow().v1
    after = v1.ones([v1.maximum(v1.rank(x) - 2, 0)], v1.int32)
    return v1.reshape(weight, v1.concat([[-1], after], 0))


@gradient("PRelu")
def _prelu_grad(op: Any, grad: Any) -> Sequence[Any]:
    v1 = tensorflow().v1

    def compute(grads: Any, features: Any, weights: Any) -> Sequence[Any]:
        slope = _by_channel(weights, features)
        positive, nothing = features > 0, v1.zeros_like(grads)
        shared = v1.raw_ops.BroadcastGradientArgs(s0=v1.shape(features), s1=v1.shape(slope)).r1
        below = v1.raw_ops.Select(condition=positive, x=nothing, y=grads * features)
        dx = v1.raw_ops.Select(condition=positive, x=grads, y=grads * slope)
        return [dx, v1.reshape(v1.reduce_sum(below, axis=shared), v1.shape(weights))]

    x, weight = op.inputs
    inputs = [("grads", grad), ("features", x), ("weights", weight)]
    return list(call("PReluGrad", inputs, ["dx", "da"], compute, shapes=[x.get_shape(), weight.get_shape()]))


def _unary(op: str, argument: str, result: str, x: Any, compute: Any, name: Optional[str]) -> Any:
    x = tensorflow().v1.convert_to_tensor(x)
    return call(op, [(argument, x)], [result], compute, shapes=[x.get_shape()], name=name or "")[0]
