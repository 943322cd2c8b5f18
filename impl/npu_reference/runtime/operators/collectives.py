"""What collective communication computes among the devices of a group that has one: the tensors themselves."""

from __future__ import annotations

from typing import Any, Hashable, List, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime.operators.calls import call, gradient
from npu_reference.runtime.ranks import WORLD, rank_size, require_one
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["allgather", "allreduce", "broadcast", "reduce", "reduce_scatter"]

_REDUCTIONS = ("max", "min", "prod", "sum")

#: 0: operators stay apart; 1: they are fused as gradients are split; 2: those of one fusion_id are fused (HCCL).
_NEVER, _AS_SPLIT, _BY_ID = 0, 1, 2


def allreduce(tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD) -> Any:
    """The tensor reduced over all devices of a group: HcomAllReduce.

    Args:
        tensor: of any number of dimensions.
        reduction: ``sum``, ``max``, ``min`` or ``prod``.
        fusion, fusion_id: which operators are communicated together.

    Raises:
        OptionTypeError, OptionValueError: an argument that is none, or a group of several devices.
    """
    _check("allreduce", group, reduction, (fusion, fusion_id), (_NEVER, _AS_SPLIT, _BY_ID))
    return _itself("HcomAllReduce", [tensor], "output", (reduction, fusion, fusion_id, group))[0]


@gradient("HcomAllReduce")
def _allreduce_grad(op: Any, grad: Any) -> Any:
    # Every device adds its part, whatever was reduced: with one device all of them are the gradient itself.
    del op
    return allreduce(grad, "sum", fusion=_NEVER)


def broadcast(tensor: Any, root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD) -> List[Any]:
    """The tensors of one device on all devices of a group: HcomBroadcast.

    Args:
        tensor: a list of tensors or variables.
        root_rank: whose, by its rank in the group.

    Returns:
        A list of as many tensors, all of one operation.
    """
    _check("broadcast", group, None, (fusion, fusion_id), (_NEVER, _BY_ID), root_rank)
    tensors = list(tensor) if isinstance(tensor, (list, tuple)) else [tensor]
    if not tensors:
        raise OptionValueError("OPTION_VALUE", "broadcast", "there is nothing to broadcast.", "Give a list of tensors.")
    return list(_itself("HcomBroadcast", tensors, "output", (root_rank, fusion, fusion_id, group)))


@gradient("HcomBroadcast")
def _broadcast_grad(op: Any, *grads: Any) -> Sequence[Any]:
    del op
    return [allreduce(grad, "sum", fusion=_NEVER) for grad in grads]


def allgather(tensor: Any, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD) -> Any:
    """The tensors of all devices of a group, one after the other along the first dimension: HcomAllGather."""
    _check("allgather", group, None, (fusion, fusion_id), (_NEVER, _BY_ID))
    _check_size("allgather", rank_size, group)
    return _itself("HcomAllGather", [_ranked(tensor, "allgather")], "output", (rank_size, fusion, fusion_id, group))[0]


@gradient("HcomAllGather")
def _allgather_grad(op: Any, grad: Any) -> Any:
    del op
    return reduce_scatter(grad, "sum", 1)


def reduce(
    tensor: Any, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """The tensor reduced over all devices of a group, on one of them: HcomReduce."""
    _check("reduce", group, reduction, (fusion, fusion_id), (_NEVER, _BY_ID), root_rank)
    return _itself("HcomReduce", [tensor], "output", (reduction, root_rank, fusion, fusion_id, group))[0]


@gradient("HcomReduce")
def _reduce_grad(op: Any, grad: Any) -> Any:
    del op
    return broadcast([grad], 0)[0]


def reduce_scatter(
    tensor: Any, reduction: str, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """This device's part, along the first dimension, of the tensor reduced over all of a group: HcomReduceScatter."""
    _check("reduce_scatter", group, reduction, (fusion, fusion_id), (_NEVER, _BY_ID))
    _check_size("reduce_scatter", rank_size, group)
    attrs = (reduction, rank_size, fusion, fusion_id, group)
    return _itself("HcomReduceScatter", [_ranked(tensor, "reduce_scatter")], "output", attrs)[0]


@gradient("HcomReduceScatter")
def _reduce_scatter_grad(op: Any, grad: Any) -> Any:
    del op
    return allgather(grad, 1)


def _itself(op: str, tensors: Sequence[Any], result: str, key: Tuple[Hashable, ...]) -> Tuple[Any, ...]:
    v1 = tensorflow().v1
    values = [v1.convert_to_tensor(tensor) for tensor in tensors]
    names = [result.replace("out", "in")] if op != "HcomBroadcast" else [f"input_{k}" for k in range(len(values))]
    results = [result] if op != "HcomBroadcast" else [f"{result}_{k}" for k in range(len(values))]
    shapes = [value.get_shape() for value in values]
    return call(op, list(zip(names, values)), results, lambda *given: given, key=key, shapes=shapes)


def _check(
    what: str,
    group: str,
    reduction: Optional[str],
    fusion: Tuple[int, int],
    fusions: Tuple[int, ...],
    root_rank: int = 0,
) -> None:
    size = rank_size(group)  # refuses a group that does not exist
    require_one(f"hccl_ops.{what}", group)
    if reduction is not None and reduction not in _REDUCTIONS:
        reason = f"{reduction!r} is no reduction."
        raise OptionValueError("OPTION_VALUE", f"{what}: reduction", reason, f"Give one of {', '.join(_REDUCTIONS)}.")
    kind, number = fusion
    _check_int(what, "fusion", kind)
    _check_int(what, "fusion_id", number)
    _check_int(what, "root_rank", root_rank)
    if kind not in fusions:
        choice = ", ".join(str(one) for one in fusions)
        raise OptionValueError("OPTION_VALUE", f"{what}: fusion", f"{kind} is not among {choice}.")
    if kind == _BY_ID and number < 0:
        reason = f"operators of one fusion_id are fused, and {number} is none."
        raise OptionValueError("OPTION_VALUE", f"{what}: fusion_id", reason, "Give a number from 0 on.")
    if not 0 <= root_rank < size:
        reason = f"{root_rank} is no rank of {group!r}, which has {size}."
        raise OptionValueError("OPTION_VALUE", f"{what}: root_rank", reason, "Give a rank of the group.")


def _check_int(what: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionTypeError("OPTION_TYPE", f"{what}: {name}", f"{value!r} is no int.", "Give an int.")


def _check_size(what: str, given: int, group: str) -> None:
    _check_int(what, "rank_size", given)
    size = rank_size(group)
    if given != size:
        reason = f"{group!r} has {size} ranks, not {given}."
        raise OptionValueError("OPTION_VALUE", f"{what}: rank_size", reason, f"Give {size}.")


def _ranked(tensor: Any, what: str) -> Any:
    value = tensorflow().v1.convert_to_tensor(tensor)
    if value.get_shape().ndims == 0:
        reason = "a scalar has no first dimension to put the devices' parts along."
        raise NpuError("RUN_FAILED", f"hccl_ops.{what}", reason, "Give a tensor of one dimension or more.")
    return value
