"""The adapter's distribution strategy: one replica here, as many as there are ranks together."""

from __future__ import annotations

import importlib
from typing import Any, List

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_reference.runtime.operators.gradients import reduced
from npu_reference.runtime.ranks import rank_size

__all__ = ["NPUExtended", "NPUStrategy"]

_strategies = importlib.import_module("tensorflow.python.distribute.one_device_strategy")


class NPUExtended(_strategies.OneDeviceExtended):  # type: ignore[misc]
    """One device here; what replicas reduce is reduced over all ranks."""

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any, *args: Any, **kwargs: Any) -> Any:
        del destinations, args, kwargs
        return reduced([value], _name(reduce_op))[0]

    def _batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, *args: Any, **kwargs: Any) -> List[Any]:
        del args, kwargs
        return reduced([value for value, _ in value_destination_pairs], _name(reduce_op))

    @property
    def _num_replicas_in_sync(self) -> int:
        return rank_size()


class NPUStrategy(v1.distribute.Strategy):
    """A strategy of one replica on each rank, whose sessions are an NPU's where their config says so.

    ``num_replicas_in_sync`` is the number of ranks, and what a strategy reduces is reduced over them.
    """

    def __init__(self, device: str = "/cpu:0") -> None:
        super().__init__(NPUExtended(self, device))


def _name(reduce_op: Any) -> str:
    return "mean" if str(getattr(reduce_op, "value", reduce_op)).lower() == "mean" else "sum"


__getattr__ = module_getattr(__name__)
