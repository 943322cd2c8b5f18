"""How the factor that a loss is multiplied by, to keep its gradients within float16, develops over the steps."""

from __future__ import annotations

from typing import Any, List

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_reference.options.classes import OptionTypeError, OptionValueError

__all__ = ["ExponentialUpdateLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """What NPULossScaleOptimizer asks of a manager."""

    def get_loss_scale(self) -> Any:
        """The factor of this step: a float32 scalar tensor."""
        raise NotImplementedError

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An operation that takes note of a step.

        Args:
            finite_grads: bool scalar tensor, whether nothing overflowed.
        """
        raise NotImplementedError

    def state(self) -> List[Any]:
        """The variables that the factor is kept in; none, for one that does not change."""
        return []

    def get_enable_overflow_check(self) -> bool:
        """Whether a step in which something overflowed is left out."""
        return True


class FixedLossScaleManager(LossScaleManager):
    """The same factor in all steps.

    Args:
        loss_scale: at least 1.
        enable_overflow_check: False applies gradients even after an overflow.
    """

    def __init__(self, loss_scale: float, enable_overflow_check: bool = True) -> None:
        self._value = _at_least_one("loss_scale", loss_scale)
        if not isinstance(enable_overflow_check, bool):
            raise OptionTypeError(
                "OPTION_TYPE", "enable_overflow_check", f"{enable_overflow_check!r} is no bool.", "Give True or False."
            )
        self._check = enable_overflow_check
        self._loss_scale = self._constant()

    def get_loss_scale(self) -> Any:
        if self._loss_scale.graph is not v1.get_default_graph():
            self._loss_scale = self._constant()
        return self._loss_scale

    def _constant(self) -> Any:
        """``loss_scale:0`` of the graph and name scope, which scripts fetch by that name."""
        return v1.constant(self._value, v1.float32, name="loss_scale")

    def update_loss_scale(self, finite_grads: Any) -> Any:
        del finite_grads
        return v1.no_op()

    def get_enable_overflow_check(self) -> bool:
        return self._check


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A factor that grows after so many good steps and shrinks after so many bad ones, never below 1.

    Args:
        init_loss_scale: of the first step, at least 1.
        incr_every_n_steps: good steps in a row after which it is multiplied by ``incr_ratio``.
        decr_every_n_nan_or_inf: bad steps after which it is multiplied by ``decr_ratio``.
        incr_ratio: more than 1.
        decr_ratio: between 0 and 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.8,
    ) -> None:
        start = _at_least_one("init_loss_scale", init_loss_scale)
        self._incr_every = _positive("incr_every_n_steps", incr_every_n_steps)
        self._decr_every = _positive("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf)
        self._incr_ratio, self._decr_ratio = _number("incr_ratio", incr_ratio), _number("decr_ratio", decr_ratio)
        if self._incr_ratio <= 1:
            raise OptionValueError("OPTION_VALUE", "incr_ratio", f"{incr_ratio!r} does not grow.", "Give more than 1.")
        if not 0 < self._decr_ratio < 1:
            raise OptionValueError(
                "OPTION_VALUE", "decr_ratio", f"{decr_ratio!r} does not shrink.", "Give a number between 0 and 1."
            )
        self._loss_scale = _state("loss_scale", start, v1.float32)
        self._good = _state("good_steps", 0, v1.int32)
        self._bad = _state("bad_steps", 0, v1.int32)

    def state(self) -> List[Any]:
        return [self._loss_scale, self._good, self._bad]

    def get_loss_scale(self) -> Any:
        return v1.identity(self._loss_scale)

    def update_loss_scale(self, finite_grads: Any) -> Any:
        one = v1.cast(finite_grads, v1.int32)
        scale, good, bad = (v1.identity(state) for state in (self._loss_scale, self._good, self._bad))
        good, bad = (good + 1) * one, bad + 1 - one
        grows = v1.logical_and(finite_grads, good >= self._incr_every)
        shrinks = v1.logical_and(v1.logical_not(finite_grads), bad >= self._decr_every)
        larger = v1.minimum(scale * self._incr_ratio, v1.float32.max)
        smaller = v1.maximum(scale * self._decr_ratio, 1.0)
        kept = v1.cast(v1.logical_not(v1.logical_or(grows, shrinks)), v1.int32)
        return v1.group(
            v1.assign(self._loss_scale, v1.where(grows, larger, v1.where(shrinks, smaller, scale))),
            v1.assign(self._good, good * kept),
            v1.assign(self._bad, bad * kept),
        )


def _state(name: str, value: Any, dtype: Any) -> Any:
    """A variable that is saved with the model and that nobody trains.

    Scripts fetch ``loss_scale:0``, so its output has to be its value, whatever kind of variables is the default.
    """
    return v1.Variable(value, trainable=False, dtype=dtype, name=name, use_resource=False)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OptionTypeError("OPTION_TYPE", name, f"{value!r} is no number.", "Give a number.")
    return float(value)


def _at_least_one(name: str, value: Any) -> float:
    if _number(name, value) < 1:
        raise OptionValueError("OPTION_VALUE", name, f"{value!r} is less than 1.", "Give 1 or more.")
    return float(value)


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionTypeError("OPTION_TYPE", name, f"{value!r} is no int.", "Give a number of steps.")
    if value < 1:
        raise OptionValueError("OPTION_VALUE", name, f"{value!r} is less than 1.", "Give 1 or more.")
    return value


__getattr__ = module_getattr(__name__)
