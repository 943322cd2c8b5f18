"""What LARS and LarsV2 compute: gradients scaled by the norms of weights and gradients.

The formula is that of Y. You, I. Gitman and B. Ginsburg, "Large Batch Training of Convolutional Networks" (arXiv
1708.03888), section 4, with the device's epsilon in the denominator: ``rate = hyperpara |w| / (|g| + decay |w| +
epsilon)``, and the result ``rate (g + decay w)``.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from npu_reference.errors import NpuError
from npu_reference.runtime.operators.calls import call
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["lars", "lars_v2"]


def lars(
    inputs_w: Sequence[Any],
    inputs_g: Sequence[Any],
    weight_decay: Any,
    hyperpara: float = 0.001,
    epsilon: float = 0.00001,
    name: Optional[str] = None,
) -> List[Any]:
    """The scaled gradients of several weights: LARS.

    Args:
        inputs_w, inputs_g: weights and their gradients, in the same order.
        weight_decay: a scalar.

    Raises:
        NpuError: RUN_FAILED where there are not as many gradients as weights, or none.
    """
    v1 = tensorflow().v1
    weights, grads = _list(inputs_w), _list(inputs_g)
    if not weights or len(weights) != len(grads):
        reason = f"{len(weights)} weights and {len(grads)} gradients are given."
        raise NpuError("RUN_FAILED", "LARS", reason, "Give one gradient for each weight.")
    names = [(f"inputs_w_{k}", tensor) for k, tensor in enumerate(weights)]
    names += [(f"inputs_g_{k}", tensor) for k, tensor in enumerate(grads)]
    names.append(("weight_decay", v1.cast(weight_decay, v1.float32)))

    def compute(*tensors: Any) -> Sequence[Any]:
        count, decay = len(tensors) // 2, tensors[-1]
        return [
            _scaled(w, g, v1.cast(decay, w.dtype), hyperpara, epsilon)
            for w, g in zip(tensors[:count], tensors[count:-1])
        ]

    results = [f"outputs_{k}" for k in range(len(weights))]
    shapes = [weight.get_shape() for weight in weights]
    return list(call("LARS", names, results, compute, key=(hyperpara, epsilon), shapes=shapes, name=name or ""))


def lars_v2(
    input_weight: Any,
    input_grad: Any,
    weight_decay: Any,
    learning_rate: Any,
    hyperpara: float = 0.001,
    epsilon: float = 0.00001,
    use_clip: bool = False,
    name: Optional[str] = None,
) -> Any:
    """The scaled gradient of one weight: LarsV2.

    Args:
        use_clip: whether the rate is divided by ``learning_rate``, and not above 1.
    """
    v1 = tensorflow().v1
    weight = v1.convert_to_tensor(input_weight)
    inputs = [("input_weight", weight), ("input_grad", v1.convert_to_tensor(input_grad))]
    inputs.append(("weight_decay", v1.convert_to_tensor(weight_decay, dtype=weight.dtype)))
    inputs.append(("learning_rate", v1.convert_to_tensor(learning_rate, dtype=weight.dtype)))

    def compute(w: Any, g: Any, decay: Any, learning_rate: Any) -> Sequence[Any]:
        return [_scaled(w, g, decay, hyperpara, epsilon, learning_rate if use_clip else None)]

    key = (hyperpara, epsilon, use_clip)
    return call("LarsV2", inputs, ["output"], compute, key=key, shapes=[weight.get_shape()], name=name or "")[0]


def _list(given: Any) -> List[Any]:
    v1 = tensorflow().v1
    return [v1.convert_to_tensor(one) for one in (given if isinstance(given, (list, tuple)) else [given])]


def _scaled(w: Any, g: Any, decay: Any, hyperpara: float, epsilon: float, learning_rate: Any = None) -> Any:
    v1 = tensorflow().v1
    norm_w, norm_g = (v1.sqrt(v1.reduce_sum(tensor * tensor)) for tensor in (w, g))
    rate = hyperpara * norm_w / (norm_g + decay * norm_w + epsilon)
    if learning_rate is not None:
        rate = v1.minimum(rate / learning_rate, 1.0)
    return rate * (g + decay * w)
