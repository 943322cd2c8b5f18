"""What operators with a choice of implementation compute when float16 is not left for float32 inside the kernel."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

import numpy as np

from npu_reference.graphs import DType

__all__ = ["VARIANTS", "folded", "install_variant"]

_FLOAT, _INT32 = DType.FLOAT.number, DType.INT32.number

#: Modes in which a kernel on float16 stays at float16 inside; high_precision, as no mode at all, computes at float32.
_STAYS = ("high_performance", "super_performance", "keep_fp16")


def install_variant(gates: Any, node: Any, decision: Any, inputs: Callable[[], List[str]]) -> str:
    """Let a node round after every step, where it computes at float16 in a mode that stays there.

    The last step is done by the node itself; its result is on the float16 grid only after the gate its caller adds.

    Args:
        gates: adds nodes to the body.
        node: the node, with its operator's definition.
        decision: what was decided for it.
        inputs: answers the data inputs, rounded.

    Returns:
        The text that reads the result; empty where the operator has no variant for its mode.
    """
    variant = VARIANTS.get(node.proto.op)
    lowered = decision.inputs[:1] == ("float16",) and decision.outputs[:1] == ("float16",)
    if variant is None or not lowered or decision.impl_mode not in _STAYS:
        return ""
    return variant(_Steps(gates, node.proto), inputs())


class _Steps:
    """The steps of one operator, each rounded to float16; the last becomes the node itself."""

    def __init__(self, gates: Any, proto: Any) -> None:
        self.gates = gates
        self.proto = proto
        self.label = f"{proto.name}/npu_step"

    def do(self, op: str, *inputs: str, result: str = "y", **attrs: bool) -> str:
        """An operator on float32, its result rounded."""
        node = self.gates.add(op, f"{self.label}_{op.lower()}", inputs, {"T": _FLOAT})
        _set_bools(node, attrs)
        return str(self.gates.round(f"{node.name}:{result}:0", f"{node.name}_float16"))

    def reduce(self, op: str, text: str, axes: str) -> str:
        """A reduction that keeps its dimensions."""
        node = self.gates.add(op, f"{self.label}_{op.lower()}", [text, axes], {"T": _FLOAT, "Tidx": _INT32})
        node.attr["keep_dims"].b = True
        return str(self.gates.round(f"{node.name}:output:0", f"{node.name}_float16"))

    def constant(self, value: Any, like: str, dtype: int = _FLOAT) -> str:
        """A constant in the frame of a tensor."""
        return str(self.gates.constant(value, f"{self.label}_const", like, dtype))

    def finish(self, op: str, *inputs: str, result: str = "y") -> str:
        """The last step: the node computes it."""
        node = self.proto
        controls = [text for text in node.input if text.startswith("^")]
        node.input[:] = [*inputs, *controls]
        self._become(op, {"T": _FLOAT})
        return f"{node.name}:{result}:0"

    def finish_call(self, token: bytes, inputs: Sequence[str], types: Sequence[int]) -> str:
        """The last step is a function of NumPy's."""
        node = self.proto
        controls = [text for text in node.input if text.startswith("^")]
        node.input[:] = [*inputs, *controls]
        self._become("PyFunc", {})
        node.attr["token"].s = token
        node.attr["Tin"].list.type.extend(types)
        node.attr["Tout"].list.type.append(_FLOAT)
        return f"{node.name}:output:0"

    def _become(self, op: str, types: Dict[str, int]) -> None:
        node = self.proto
        node.op = op
        for key in list(node.attr):
            del node.attr[key]
        for key, number in types.items():
            node.attr[key].type = number


def _set_bools(node: Any, attrs: Dict[str, bool]) -> None:
    for key, value in attrs.items():
        node.attr[key].b = value


_Variant = Callable[[_Steps, List[str]], str]


def _divide(steps: _Steps, inputs: List[str]) -> str:
    """By the reciprocal (high precision divides at float32)."""
    return steps.finish("Mul", inputs[0], steps.do("Reciprocal", inputs[1]), result="z")


def _root(exponent: float) -> _Variant:
    """exp(exponent * log(x)); what the library does for the square root (docs/numerics.md)."""

    def build(steps: _Steps, inputs: List[str]) -> str:
        logarithm = steps.do("Log", inputs[0])
        return steps.finish("Exp", steps.do("Mul", logarithm, steps.constant(exponent, logarithm), result="z"))

    return build


def _sigmoid(steps: _Steps, inputs: List[str]) -> str:
    """1 / (1 + exp(-x)), a rounding after each step (assumed)."""
    power = steps.do("Exp", steps.do("Neg", inputs[0]))
    return steps.finish("Reciprocal", steps.do("AddV2", power, steps.constant(1.0, power), result="z"))


def _tanh(steps: _Steps, inputs: List[str]) -> str:
    """1 - 2 / (exp(2x) + 1), a rounding after each step (assumed)."""
    power = steps.do("Exp", steps.do("AddV2", inputs[0], inputs[0], result="z"))
    one = steps.constant(1.0, power)
    part = steps.do("Reciprocal", steps.do("AddV2", power, one, result="z"))
    return steps.finish("Sub", one, steps.do("AddV2", part, part, result="z"), result="z")


def _softmax(steps: _Steps, inputs: List[str]) -> str:
    """exp(x - max) at float32, then sums and quotients at float16 (assumed)."""
    axes = steps.constant([-1], inputs[0], _INT32)
    largest = steps.reduce("Max", inputs[0], axes)
    power = steps.do("Exp", steps.do("Sub", inputs[0], largest, result="z"))
    return steps.finish("Mul", power, steps.do("Reciprocal", steps.reduce("Sum", power, axes)), result="z")


def _reduction(mean: bool) -> _Variant:
    """Partial sums at float16."""

    def build(steps: _Steps, inputs: List[str]) -> str:
        keep = steps.proto.attr["keep_dims"].b
        index = steps.proto.attr["Tidx"].type or _INT32
        key = ("fold", mean, keep)
        token = steps.gates.status.token(key, lambda x, axes: folded(x, axes, keep=keep, mean=mean))
        return steps.finish_call(token, inputs, [_FLOAT, index])

    return build


def folded(values: Any, axes: Any, *, keep: bool = False, mean: bool = False) -> Any:
    """The sum or mean of float16 values with float16 partial sums: halves are added until one is left (assumed order).

    Args:
        values: float32 array of float16 values.
        axes: over which to sum.
    """
    values = np.asarray(values, np.float32)
    over = sorted({int(axis) % values.ndim for axis in np.atleast_1d(axes)}) if values.ndim else []
    rest = [size for axis, size in enumerate(values.shape) if axis not in over]
    kept = [1 if axis in over else size for axis, size in enumerate(values.shape)]
    count = int(np.prod([values.shape[axis] for axis in over], dtype=int))
    rows = np.moveaxis(values, over, range(len(over))).reshape([count, *rest]).astype(np.float16)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if count == 0:
            rows = np.zeros([1, *rest], np.float16)
        while rows.shape[0] > 1:
            half = rows.shape[0] // 2
            sums = rows[:half] + rows[half : 2 * half]
            rows = np.concatenate([sums, rows[2 * half :]]) if rows.shape[0] % 2 else sums
        result = rows[0].astype(np.float32)
        if mean:
            result = result * np.float32(np.float16(1.0 / count if count else np.nan))
    return np.asarray(result, np.float32).reshape(kept if keep else rest)


#: By TensorFlow's operator.
VARIANTS: Dict[str, _Variant] = {
    "RealDiv": _divide,
    "Div": _divide,
    "Sqrt": _root(0.5),
    "Rsqrt": _root(-0.5),
    "Sigmoid": _sigmoid,
    "Tanh": _tanh,
    "Softmax": _softmax,
    "Sum": _reduction(False),
    "Mean": _reduction(True),
}
