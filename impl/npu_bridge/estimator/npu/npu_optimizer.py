"""Training optimizers of the adapter: a given optimizer, with the gradients summed over all devices.

One process drives one simulated device, so the sum over all devices is the gradient itself. What needs
more than one device is refused rather than left out silently.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu.npu_loss_scale_manager import LossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import guarded, scaled_gradients
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime.agreement.training import TAILING
from npu_reference.runtime.ranks import WORLD, require_one

__all__ = [
    "KerasDistributeOptimizer",
    "NPUDistributedOptimizer",
    "NPUOptimizer",
    "TAILING",
    "allreduce",
    "npu_allreduce",
    "npu_distributed_optimizer_wrapper",
]


#: Reductions of npu_allreduce (TF Adapter API reference).
_REDUCTIONS = ("mean", "max", "min", "prod", "sum")


class NPUDistributedOptimizer(v1.train.Optimizer):
    """Wraps ``optimizer`` for distributed training; with one device it changes nothing.

    Args:
        optimizer: a tf.train.Optimizer.
        is_weight_update_sharding: whether each device updates a part of the weights; with one device, all of them.
        name: of the wrapper.
    """

    def __init__(self, optimizer: Any, is_weight_update_sharding: bool = False, name: Optional[str] = None) -> None:
        del is_weight_update_sharding
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
        require_one(type(self).__name__)
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
        super().__init__(opt, name=name)
        self._manager = loss_scale_manager if is_loss_scale else None
        self._status: Any = None
        self._is_distributed = is_distributed
        self._is_tailing_optimization = is_tailing_optimization

    def compute_gradients(self, *args: Any, **kwargs: Any) -> List[Tuple[Any, Any]]:
        if self._is_distributed:
            require_one(type(self).__name__)
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


class KerasDistributeOptimizer:
    """Makes a Keras optimizer one for distributed training: with one device it is that optimizer, which is returned.

    Args:
        optimizer: a Keras optimizer.
        name: of the optimizer on several devices.
    """

    def __new__(cls, optimizer: Any, name: str = "NpuKerasOptimizer", **kwargs: Any) -> Any:
        del name, kwargs
        return npu_distributed_optimizer_wrapper(optimizer)


def npu_distributed_optimizer_wrapper(optimizer: Any) -> Any:
    """The optimizer, ready for distributed training; with one device it is so already.

    Args:
        optimizer: a tf.train.Optimizer, a Keras optimizer, or the name of one that Keras has.

    Raises:
        OptionTypeError: it is none of these.
        OptionValueError: there are several devices, which are not simulated.
    """
    require_one("npu_distributed_optimizer_wrapper")
    if isinstance(optimizer, str):
        return v1.keras.optimizers.get(optimizer)
    if not callable(getattr(optimizer, "apply_gradients", None)):
        reason = f"a {type(optimizer).__name__} is no optimizer."
        raise OptionTypeError("OPTION_TYPE", "optimizer", reason, "Give an optimizer of TensorFlow or Keras.")
    return optimizer


def npu_allreduce(
    values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """Gradients reduced over the devices of a group; over one they are what is given.

    Args:
        values: a list of tensors, IndexedSlices and Nones, or one of them; the result has the same form.
        reduction: ``mean``, ``sum``, ``max``, ``min`` or ``prod``, which are the same over one device.
        fusion, fusion_id: how several reductions become one, of which one device has none.
        group: among which devices.
    """
    del fusion, fusion_id
    if reduction not in _REDUCTIONS:
        raise OptionValueError(
            "OPTION_VALUE", "reduction", f"there is no {reduction!r}.", f"Give one of {', '.join(_REDUCTIONS)}."
        )
    require_one("npu_allreduce", group)
    return list(values) if isinstance(values, (list, tuple)) else values


def allreduce(tensor: Any, average: bool = True) -> Any:
    """A tensor or IndexedSlices averaged or summed over all devices; over one it is what is given."""
    del average
    require_one("allreduce")
    return tensor


__getattr__ = module_getattr(__name__)
