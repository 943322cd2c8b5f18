"""Training optimizers of the adapter: a given optimizer, with the gradients summed over all devices.

One process drives one simulated device, so the sum over all devices is the gradient itself. What needs
more than one device is refused rather than left out silently.
"""

from __future__ import annotations

import os
from typing import Any, List, Optional, Tuple

from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu.npu_loss_scale_manager import LossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import guarded, scaled_gradients
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime.agreement.training import TAILING

__all__ = ["TAILING", "NPUDistributedOptimizer", "NPUOptimizer"]


def _require_one_device() -> None:
    size = os.environ.get("RANK_SIZE", "1")
    if size != "1":
        raise OptionValueError(
            "OPTION_VALUE",
            "RANK_SIZE",
            f"distributed training on {size} devices is not simulated yet.",
            "Unset RANK_SIZE or set it to 1.",
        )


class NPUDistributedOptimizer(v1.train.Optimizer):
    """Wraps ``optimizer`` for distributed training; with one device it changes nothing."""

    def __init__(self, optimizer: Any, name: Optional[str] = None) -> None:
        if not isinstance(optimizer, v1.train.Optimizer):
            raise OptionTypeError(
                "OPTION_TYPE",
                "optimizer",
                f"a {type(optimizer).__name__} is not a TensorFlow optimizer.",
                "Give a tf.train.Optimizer.",
            )
        super().__init__(name=name or f"{type(self).__name__}{type(optimizer).__name__}", use_locking=False)
        self._optimizer = optimizer

    def compute_gradients(self, *args: Any, **kwargs: Any) -> List[Tuple[Any, Any]]:
        _require_one_device()
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.apply_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> List[str]:
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self) -> List[Any]:
        return self._optimizer.variables()


class NPUOptimizer(NPUDistributedOptimizer):
    """Distributed training, loss scaling and tailing optimization in one wrapper.

    ``is_tailing_optimization`` must be what the configuration says (documents 002 and 003), which NPUEstimator and
    every session check (T20). It only moves work relative to communication, so with one device the results are the
    same either way.
    """

    def __init__(
        self,
        opt: Any,
        loss_scale_manager: Any = None,
        is_distributed: bool = False,
        is_loss_scale: bool = False,
        is_tailing_optimization: bool = False,
        name: Optional[str] = None,
    ) -> None:
        if is_loss_scale and not isinstance(loss_scale_manager, LossScaleManager):
            raise OptionTypeError(
                "OPTION_TYPE",
                "loss_scale_manager",
                f"a {type(loss_scale_manager).__name__} is no loss scale manager.",
                "With is_loss_scale give a FixedLossScaleManager or an ExponentialUpdateLossScaleManager.",
            )
        super().__init__(opt, name)
        self._manager = loss_scale_manager if is_loss_scale else None
        self._status: Any = None
        self._is_distributed = is_distributed
        self._is_tailing_optimization = is_tailing_optimization

    def compute_gradients(self, *args: Any, **kwargs: Any) -> List[Tuple[Any, Any]]:
        if self._is_distributed:
            _require_one_device()
        if self._manager is None:
            return self._optimizer.compute_gradients(*args, **kwargs)
        loss = kwargs.pop("loss") if "loss" in kwargs else args[0]
        self._status, pairs = scaled_gradients(self._optimizer, self._manager, loss, args[1:], kwargs)
        return pairs

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        v1.add_to_collection(TAILING, int(self._is_tailing_optimization))  # a bool could not be exported
        if self._manager is None or self._status is None:
            return super().apply_gradients(*args, **kwargs)
        return self._apply_unless_overflow(*args, **kwargs)

    def _apply_unless_overflow(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None) -> Any:
        assert self._manager is not None
        return guarded(self._optimizer, self._manager, self._status, list(grads_and_vars), global_step, name)
