"""Training optimizers of the adapter: a given optimizer, with the gradients averaged over all ranks."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu.npu_loss_scale_manager import LossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import guarded, scaled_gradients
from npu_reference.options.classes import OptionTypeError
from npu_reference.runtime.agreement.training import TAILING
from npu_reference.runtime.operators.gradients import reduced
from npu_reference.runtime.ranks import WORLD, rank_size

__all__ = [
    "KerasDistributeOptimizer",
    "NPUDistributedOptimizer",
    "NPUOptimizer",
    "TAILING",
    "allreduce",
    "npu_allreduce",
    "npu_distributed_optimizer_wrapper",
]


class NPUDistributedOptimizer(v1.train.Optimizer):
    """Wraps ``optimizer`` for distributed training: gradients are averaged over all ranks; with one it changes nothing.

    Args:
        optimizer: a tf.train.Optimizer.
        is_weight_update_sharding: whether each rank updates a part of the weights and gives it to the others. The
            weights are the same either way, so each updates all of them here.
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
        return _averaged(self._optimizer.compute_gradients(*args, **kwargs))

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
        if self._manager is None:
            pairs = self._optimizer.compute_gradients(*args, **kwargs)
        else:
            loss = kwargs.pop("loss") if "loss" in kwargs else args[0]
            self._status, pairs = scaled_gradients(self._optimizer, self._manager, loss, args[1:], kwargs)
        return _averaged(pairs) if self._is_distributed else pairs

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        v1.add_to_collection(TAILING, int(self._is_tailing_optimization))  # a bool could not be exported
        if self._manager is None:
            return super().apply_gradients(*args, **kwargs)
        return self._apply_unless_overflow(*args, **kwargs)

    def _apply_unless_overflow(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None) -> Any:
        assert self._manager is not None
        pairs = list(grads_and_vars)
        return guarded(self._optimizer, self._manager, self._status, pairs, global_step, name, self._is_distributed)

    def variables(self) -> List[Any]:
        return [*super().variables(), *(() if self._manager is None else self._manager.state())]


class KerasDistributeOptimizer:
    """Makes a Keras optimizer one for distributed training; with one device it is that optimizer, which is returned.

    Args:
        optimizer: a Keras optimizer.
        name: of the optimizer on several devices, which keeps that of the one given.
    """

    def __new__(cls, optimizer: Any, name: str = "NpuKerasOptimizer", **kwargs: Any) -> Any:
        del name, kwargs
        return npu_distributed_optimizer_wrapper(optimizer)


def npu_distributed_optimizer_wrapper(optimizer: Any) -> Any:
    """The optimizer, whose gradients are averaged over all ranks; with one device it is so already.

    Args:
        optimizer: a tf.train.Optimizer, a Keras optimizer, or the name of one that Keras has. The object given is
            changed and returned.

    Raises:
        OptionTypeError: it is none of these.
    """
    if isinstance(optimizer, str):
        optimizer = v1.keras.optimizers.get(optimizer)
    if not callable(getattr(optimizer, "apply_gradients", None)):
        reason = f"a {type(optimizer).__name__} is no optimizer."
        raise OptionTypeError("OPTION_TYPE", "optimizer", reason, "Give an optimizer of TensorFlow or Keras.")
    if rank_size() > 1 and not getattr(optimizer, _WRAPPED, False):
        _wrap(optimizer)
    return optimizer


#: Set on optimizers that average already: wrapped twice, their gradients would be communicated twice.
_WRAPPED = "_npu_reference_averages"


def _wrap(optimizer: Any) -> None:
    """Let an optimizer average its gradients, wherever it gets them from."""
    method = "compute_gradients" if isinstance(optimizer, v1.train.Optimizer) else "get_gradients"
    computes = getattr(optimizer, method, None)
    if isinstance(optimizer, v1.train.Optimizer):
        optimizer.compute_gradients = lambda *args, **kwargs: _averaged(computes(*args, **kwargs))
    else:
        if computes is not None:
            optimizer.get_gradients = lambda *args, **kwargs: reduced(computes(*args, **kwargs))
        inner = getattr(optimizer, "_compute_gradients", None)
        if inner is not None:
            optimizer._compute_gradients = lambda *args, **kwargs: _averaged(inner(*args, **kwargs))
    setattr(optimizer, _WRAPPED, True)


def npu_allreduce(
    values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """Gradients reduced over the ranks of a group; over one they are what is given.

    Args:
        values: a list of tensors, IndexedSlices and Nones, or one of them; the result has the same form.
        reduction: ``mean``, ``sum``, ``max``, ``min`` or ``prod``.
        fusion, fusion_id: how several reductions become one.
        group: among which ranks.
    """
    if isinstance(values, (list, tuple)):
        return reduced(values, reduction, fusion, fusion_id, group)
    return reduced([values], reduction, fusion, fusion_id, group)[0]


def allreduce(tensor: Any, average: bool = True) -> Any:
    """A tensor or IndexedSlices averaged or summed over all ranks; over one it is what is given."""
    return reduced([tensor], "mean" if average else "sum")[0]


def _averaged(pairs: Any) -> List[Tuple[Any, Any]]:
    pairs = list(pairs)
    return list(zip(reduced([gradient for gradient, _ in pairs]), [variable for _, variable in pairs]))


__getattr__ = module_getattr(__name__)
