"""Rules that tell which shapes an operator gives for those it takes, by operator, and what they read of their call."""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence

from npu_reference.graphs.shaping.dims import Dim, Shape
from npu_reference.graphs.shaping.values import Value

__all__ = ["RULES", "Rule", "attr_shape", "number_of", "rule", "told_shape"]

#: A rule: the call (``facts.NodeCall``) gives the shapes of the outputs, as many as it knows. What it raises of
#: ArithmeticError, LookupError, TypeError, ValueError or AttributeError says that the graph contradicts itself.
Rule = Callable[[Any], Sequence[Shape]]
RULES: Dict[str, Rule] = {}


def rule(*ops: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for op in ops:
            RULES[op] = function
        return function

    return register


def told_shape(call: Any, k: int) -> Shape:
    """The shape that input ``k`` tells as a list of sizes, -1 an unknown one; only its rank where no more is known."""
    value: Value = call.value(k)
    if value is not None:
        return tuple(None if size is None or size < 0 else size for size in value)
    shape = call.shape(k)
    if shape is None or len(shape) != 1 or shape[0] is None:
        return None
    return (None,) * shape[0] if shape[0] <= 254 else None


def number_of(call: Any, k: int) -> Dim:
    """The one whole number that input ``k`` is, if known."""
    value: Value = call.value(k)
    return value[0] if value else None


def attr_shape(value: Any) -> Shape:
    return value if isinstance(value, tuple) else None
