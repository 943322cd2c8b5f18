"""An optimizer that scales the loss, divides the gradients again, and leaves out steps that overflowed."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu.npu_loss_scale_manager import LossScaleManager
from npu_reference.options.classes import OptionTypeError
from npu_reference.runtime.agreement.training import LOSS_SCALE
from npu_reference.runtime.operators.gradients import reduced

__all__ = ["NPULossScaleOptimizer", "scaled_gradients", "guarded"]

#: Name of the tensor that is True where nothing overflowed; scripts fetch ``overflow_status_reduce_all:0``.
OVERFLOW_STATUS = "overflow_status_reduce_all"


class NPULossScaleOptimizer(v1.train.Optimizer):
    """Loss scaling around ``opt``.

    A step in which anything overflowed on the device changes no variable and does not count in ``global_step``; only
    the manager takes note of it. Whether anything overflowed says the device's flag, which is read when the gradients
    are there and cleared at the end of the step.

    Args:
        opt: a tf.train.Optimizer.
        loss_scale_manager: decides the factor.
        is_distributed: whether a step is left out on all ranks when anything overflowed on one of them.

    Scripts fetch ``loss_scale:0`` and ``overflow_status_reduce_all:0``, below the name scopes they are built in.
    """

    def __init__(self, opt: Any, loss_scale_manager: Any, is_distributed: bool = False) -> None:
        if not isinstance(opt, v1.train.Optimizer):
            raise OptionTypeError(
                "OPTION_TYPE",
                "opt",
                f"a {type(opt).__name__} is not a TensorFlow optimizer.",
                "Give a tf.train.Optimizer.",
            )
        if not isinstance(loss_scale_manager, LossScaleManager):
            raise OptionTypeError(
                "OPTION_TYPE",
                "loss_scale_manager",
                f"a {type(loss_scale_manager).__name__} is no loss scale manager.",
                "Give a FixedLossScaleManager or an ExponentialUpdateLossScaleManager.",
            )
        super().__init__(name=f"{type(self).__name__}{type(opt).__name__}", use_locking=False)
        self._opt = opt
        self._manager = loss_scale_manager
        self._is_distributed = is_distributed
        self._status: Any = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> List[Tuple[Any, Any]]:
        """Gradients of the loss itself, computed from the scaled one."""
        self._status, pairs = scaled_gradients(self._opt, self._manager, loss, args, kwargs)
        return pairs

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None) -> Any:
        """One step of ``opt``, unless something overflowed."""
        pairs = list(grads_and_vars)
        return guarded(self._opt, self._manager, self._status, pairs, global_step, name, self._is_distributed)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> List[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> List[Any]:
        """Those of ``opt`` and of the manager: Keras makes what an optimizer says is its own."""
        return [*self._opt.variables(), *self._manager.state()]


def scaled_gradients(
    opt: Any, manager: LossScaleManager, loss: Any, args: Sequence[Any], kwargs: Any
) -> Tuple[Any, List[Tuple[Any, Any]]]:
    """The tensor the flag will be written to, and the gradients of ``loss`` by way of the scaled loss."""
    status = npu_ops.npu_alloc_float_status()
    scale = manager.get_loss_scale()
    with v1.control_dependencies([status]):
        if callable(loss):
            unscaled = loss
            scaled: Any = lambda: unscaled() * v1.cast(scale, v1.float32)  # noqa: E731
        else:
            scaled = loss * v1.cast(scale, loss.dtype.base_dtype)
    pairs = opt.compute_gradients(scaled, *args, **kwargs)
    factor = v1.reciprocal(scale)
    return status, [(None if gradient is None else _times(gradient, factor), variable) for gradient, variable in pairs]


def guarded(
    opt: Any,
    manager: LossScaleManager,
    status: Any,
    pairs: List[Tuple[Any, Any]],
    global_step: Any,
    name: Any,
    is_distributed: bool = False,
) -> Any:
    """Apply gradients if the flag is not up, here or if distributed on any rank; then clear it, tell the manager.

    ``status`` is what compute_gradients made; None where a script scales the loss, and its gradients, by hand.
    """
    if status is None:
        status = npu_ops.npu_alloc_float_status()
    v1.add_to_collection(LOSS_SCALE, 1)

    def apply() -> Any:
        return v1.group(opt.apply_gradients(pairs, global_step=global_step))

    values = [gradient for gradient, _ in pairs if gradient is not None]
    with v1.control_dependencies([_values(gradient) for gradient in values]):
        written = npu_ops.npu_get_float_status(status)
    with v1.control_dependencies([written]):
        raised = reduced([v1.identity(status)], "sum", fusion=0)[0] if is_distributed else status
        finite = v1.reduce_all(v1.equal(raised, v1.zeros_like(raised)), name=OVERFLOW_STATUS)
    step = v1.cond(finite, apply, v1.no_op) if manager.get_enable_overflow_check() else apply()
    with v1.control_dependencies([step, finite]):
        cleared = npu_ops.npu_clear_float_status(written)
    with v1.control_dependencies([cleared]):
        return v1.group(manager.update_loss_scale(finite), name=name)


def _values(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, v1.IndexedSlices) else gradient


def _times(gradient: Any, factor: Any) -> Any:
    if isinstance(gradient, v1.IndexedSlices):
        values = gradient.values * v1.cast(factor, gradient.values.dtype)
        return v1.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * v1.cast(factor, gradient.dtype)


__getattr__ = module_getattr(__name__)
