"""What the fused optimizer steps compute: Adam as BERT has it, and LAMB, in operators that assign their variables.

Adam is that of D. Kingma and J. Ba (arXiv 1412.6980) without the correction of bias, with the decoupled decay of I.
Loshchilov and F. Hutter (arXiv 1711.05101); LAMB is that of Y. You et al. (arXiv 1904.00962), algorithm 2. The node
holds the arithmetic; its results are assigned by TensorFlow's own operators.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from npu_reference.runtime.operators.calls import call
from npu_reference.runtime.tf_api import tensorflow

__all__ = [
    "adam_apply_one_assign",
    "adam_apply_one_with_decay_assign",
    "lamb_apply_optimizer_assign",
    "lamb_apply_weight_assign",
]


def adam_apply_one_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    input4: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    add2_y: Any,
    name: Optional[str] = None,
) -> List[Any]:
    """One step of Adam: AdamApplyOneAssign.

    Args:
        input0: the gradient; float16 or float32, as all arguments.
        input1, input2, input3: variables: the second moment, the first moment, the weight.
        input4: the learning rate, a scalar, as all that follow.
        mul0_x, mul1_x: how much of the first moment stays, and of the gradient comes in.
        mul2_x, mul3_x: how much of the second moment stays, and of the squared gradient comes in.
        add2_y: what is added to the root.

    Returns:
        The new second moment, first moment and weight, each as the operation that assigns it gives it.
    """
    numbers = (input4, mul0_x, mul1_x, mul2_x, mul3_x, add2_y)
    return _adam("AdamApplyOneAssign", input0, (input1, input2, input3), numbers, name)


def adam_apply_one_with_decay_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    input4: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    mul4_x: Any,
    add2_y: Any,
    name: Optional[str] = None,
) -> List[Any]:
    """One step of Adam with decay: AdamApplyOneWithDecayAssign; as above, and ``mul4_x`` is the rate of decay."""
    numbers = (input4, mul0_x, mul1_x, mul2_x, mul3_x, mul4_x, add2_y)
    return _adam("AdamApplyOneWithDecayAssign", input0, (input1, input2, input3), numbers, name)


def lamb_apply_optimizer_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    add2_y: Any,
    steps: Any,
    do_use_weight: Any,
    weight_decay_rate: Any,
    name: Optional[str] = None,
) -> Tuple[Any, Any, Any]:
    """The direction of a LAMB step: LambApplyOptimizerAssign.

    Args:
        input0: the gradient.
        input1, input2: variables: the second moment, the first moment.
        input3: the weight.
        mul0_x ... add2_y: as those of Adam.
        steps: how many steps were done with this one, for the correction of bias.
        do_use_weight: 1 with decay, 0 without.
        weight_decay_rate: the rate of decay.

    Returns:
        The direction, and the new second and first moment, assigned.
    """

    def compute(grad: Any, v: Any, m: Any, weight: Any, *rest: Any) -> Sequence[Any]:
        b1, c1, b2, c2, eps, t, use, rate = rest
        new_m, new_v = b1 * m + c1 * grad, b2 * v + c2 * grad * grad
        root = v1.sqrt(new_v / (1.0 - v1.pow(b2, t)))
        direction = new_m / (1.0 - v1.pow(b1, t)) / (root + eps)
        return [direction + use * rate * weight, new_v, new_m]

    v1 = tensorflow().v1
    numbers = (mul0_x, mul1_x, mul2_x, mul3_x, add2_y, steps, do_use_weight, weight_decay_rate)
    arguments = "input0 input1 input2 input3 mul0_x mul1_x mul2_x mul3_x add2_y steps do_use_weight weight_decay_rate"
    inputs = _inputs(arguments, (input0, input1, input2, input3), numbers)
    shapes = [input3.get_shape(), input1.get_shape(), input2.get_shape()]
    op = "LambApplyOptimizerAssign"
    direction, new_v, new_m = call(op, inputs, ["output0", "inputv", "inputm"], compute, shapes=shapes, name=name or "")
    return direction, v1.assign(input1, new_v), v1.assign(input2, new_m)


def lamb_apply_weight_assign(
    input0: Any, input1: Any, input2: Any, input3: Any, input4: Any, name: Optional[str] = None
) -> Any:
    """The weight after a LAMB step: LambApplyWeightAssign.

    Args:
        input0, input1: the norms of the weight and of the direction, scalars.
        input2: the learning rate.
        input3: the direction.
        input4: the weight, a variable.

    Returns:
        The new weight, assigned.
    """

    def compute(norm: Any, length: Any, rate: Any, direction: Any, weight: Any) -> Sequence[Any]:
        usable = v1.cast(v1.logical_and(v1.greater(norm, 0), v1.greater(length, 0)), norm.dtype)
        rest = 1.0 - usable  # the ratio is 1 where either norm is 0
        return [weight - (usable * norm / (length + rest) + rest) * rate * direction]

    v1 = tensorflow().v1
    inputs = _inputs("input0 input1 input2 input3 input4", (), (input0, input1, input2, input3, input4), like=input4)
    shapes = [input4.get_shape()]
    new = call("LambApplyWeightAssign", inputs, ["output0"], compute, shapes=shapes, name=name or "")[0]
    return v1.assign(input4, new)


def _adam(op: str, grad: Any, variables: Sequence[Any], numbers: Sequence[Any], name: Optional[str]) -> List[Any]:
    """One node with the arithmetic of a step, and what assigns its results to the variables."""
    v1 = tensorflow().v1
    decays = len(numbers) == 7

    def compute(g: Any, v: Any, m: Any, weight: Any, rate: Any, *rest: Any) -> Sequence[Any]:
        b1, c1, b2, c2, decay, eps = rest if decays else (*rest[:4], None, rest[4])
        new_v, new_m = b2 * v + c2 * g * g, b1 * m + c1 * g
        direction = new_m / (v1.sqrt(new_v) + eps)
        if decays:
            direction += decay * weight
        return [new_v, new_m, weight - rate * direction]

    arguments = f"input0 input1 input2 input3 input4 mul0_x mul1_x mul2_x mul3_x {'mul4_x ' if decays else ''}add2_y"
    inputs = _inputs(arguments, (grad, *variables), numbers)
    shapes = [variable.get_shape() for variable in variables]
    results = call(op, inputs, ["output0", "output1", "output2"], compute, shapes=shapes, name=name or "")
    return [v1.assign(variable, result) for variable, result in zip(variables, results)]


def _inputs(names: str, tensors: Sequence[Any], numbers: Sequence[Any], like: Any = None) -> List[Tuple[str, Any]]:
    """Names and tensors of a node; numbers become what the first tensor, or ``like``, is."""
    v1 = tensorflow().v1
    given = [v1.convert_to_tensor(tensor) for tensor in tensors]
    dtype = (given[0] if like is None else v1.convert_to_tensor(like)).dtype.base_dtype
    given += [v1.cast(number, dtype) for number in numbers]
    return list(zip(names.split(), given))
