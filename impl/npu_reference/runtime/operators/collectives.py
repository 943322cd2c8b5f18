"""The operators of collective communication among the ranks of a group; of one rank they are the tensors themselves."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime.operators.calls import attribute, call, gradient
from npu_reference.runtime.operators.rank_calls import through_python
from npu_reference.runtime.ranks import WORLD, members, rank_id, rank_size, world_rank_of
from npu_reference.runtime.tf_api import tensorflow

__all__ = [
    "all_to_all_v",
    "all_to_all_v_c",
    "allgather",
    "allreduce",
    "broadcast",
    "receive",
    "reduce",
    "reduce_scatter",
    "send",
]

_REDUCTIONS = ("max", "min", "prod", "sum")

#: 0: operators stay apart; 1: they are fused as gradients are split; 2: those of one fusion_id are fused (HCCL).
_NEVER, _AS_SPLIT, _BY_ID = 0, 1, 2


def allreduce(
    tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD, *, part: int = -1
) -> Any:
    """The tensor reduced over all ranks of a group: HcomAllReduce.

    Args:
        tensor: of any number of dimensions.
        reduction: ``sum``, ``max``, ``min`` or ``prod``.
        fusion, fusion_id: which operators are communicated together.
        part: of the gradients that are split for communication; -1 for none.

    Raises:
        OptionTypeError, OptionValueError: an argument that is none.
    """
    _check("allreduce", group, reduction, (fusion, fusion_id), (_NEVER, _AS_SPLIT, _BY_ID))
    return _made(
        "HcomAllReduce",
        "allreduce",
        [tensor],
        group,
        {"reduction": reduction, "part": part, "fusion": fusion, "fusion_id": fusion_id},
    )[0]


@gradient("HcomAllReduce")
def _allreduce_grad(op: Any, grad: Any) -> Any:
    # Every rank's loss depends on every rank's tensor, by a factor of 1 where they were added.
    if attribute(op, "reduction") != "sum" and rank_size(attribute(op, "group")) > 1:
        raise LookupError(f"{op.name}: HcomAllReduce has a gradient for sum only.")
    return allreduce(grad, "sum", fusion=_NEVER, group=attribute(op, "group"))


def broadcast(tensor: Any, root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD) -> List[Any]:
    """The tensors of one rank on all ranks of a group: HcomBroadcast.

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
    return list(
        _made(
            "HcomBroadcast", "broadcast", tensors, group, {"root": root_rank, "fusion": fusion, "fusion_id": fusion_id}
        )
    )


@gradient("HcomBroadcast")
def _broadcast_grad(op: Any, *grads: Any) -> Sequence[Any]:
    # What the root gave is in every rank's loss; what the others gave, in none.
    group, root = attribute(op, "group"), attribute(op, "root_rank")
    sums = [allreduce(grad, "sum", fusion=_NEVER, group=group) for grad in grads]
    if rank_size(group) == 1 or _is(group, root):
        return sums
    # Nothing of it is this rank's, but the root has nothing without it.
    v1 = tensorflow().v1
    with v1.control_dependencies(sums):
        return [v1.identity(v1.zeros_like(one)) for one in sums]


def allgather(tensor: Any, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD) -> Any:
    """The tensors of all ranks of a group, one after the other along the first dimension: HcomAllGather."""
    _check("allgather", group, None, (fusion, fusion_id), (_NEVER, _BY_ID))
    _check_size("allgather", rank_size, group)
    told = {"rank_size": rank_size, "fusion": fusion, "fusion_id": fusion_id}
    return _made("HcomAllGather", "allgather", [_ranked(tensor, "allgather")], group, told, rank_size)[0]


@gradient("HcomAllGather")
def _allgather_grad(op: Any, grad: Any) -> Any:
    group = attribute(op, "group")
    return reduce_scatter(grad, "sum", rank_size(group), group=group)


def reduce(
    tensor: Any, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """The tensor reduced over all ranks of a group, on one of them: HcomReduce. The others get what they gave."""
    _check("reduce", group, reduction, (fusion, fusion_id), (_NEVER, _BY_ID), root_rank)
    told = {"reduction": reduction, "root": root_rank, "fusion": fusion, "fusion_id": fusion_id}
    return _made("HcomReduce", "reduce", [tensor], group, told)[0]


@gradient("HcomReduce")
def _reduce_grad(op: Any, grad: Any) -> Any:
    group, root = attribute(op, "group"), attribute(op, "root_rank")
    if attribute(op, "reduction") != "sum" and rank_size(group) > 1:
        raise LookupError(f"{op.name}: HcomReduce has a gradient for sum only.")
    given = broadcast([grad], root, group=group)[0]
    # A rank that is not the root has its own tensor back, beside its share of the sum.
    return given if rank_size(group) == 1 or _is(group, root) else given + grad


def reduce_scatter(
    tensor: Any, reduction: str, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """This rank's part, along the first dimension, of the tensor reduced over all of a group: HcomReduceScatter."""
    _check("reduce_scatter", group, reduction, (fusion, fusion_id), (_NEVER, _BY_ID))
    _check_size("reduce_scatter", rank_size, group)
    told = {"reduction": reduction, "rank_size": rank_size, "fusion": fusion, "fusion_id": fusion_id}
    value = _ranked(tensor, "reduce_scatter")
    first = value.get_shape().with_rank_at_least(1).dims
    size = None if first is None else getattr(first[0], "value", first[0])
    if size is not None and size % rank_size:
        reason = f"{size} cannot be divided among {rank_size} ranks."
        raise OptionValueError("OPTION_VALUE", "reduce_scatter: first dimension", reason, "Pad the tensor.")
    return _made("HcomReduceScatter", "reduce_scatter", [value], group, told, -rank_size)[0]


@gradient("HcomReduceScatter")
def _reduce_scatter_grad(op: Any, grad: Any) -> Any:
    group = attribute(op, "group")
    if attribute(op, "reduction") != "sum" and rank_size(group) > 1:
        raise LookupError(f"{op.name}: HcomReduceScatter has a gradient for sum only.")
    return allgather(grad, rank_size(group), group=group)


def send(tensor: Any, sr_tag: int, dest_rank: int, group: str = WORLD) -> Any:
    """Give a tensor to another rank of a group, which must :func:`receive` it with the same tag: HcomSend.

    Returns:
        The operation.
    """
    me = _me_to("send", "dest_rank", dest_rank, sr_tag, group)
    value = tensorflow().v1.convert_to_tensor(tensor)
    spec = {"group": group, "members": (me, world_rank_of(group, dest_rank)), "tag": sr_tag}
    spec["dest_rank"] = dest_rank
    return _operator("HcomSend", "send", [("input", value)], [], spec, [], [])[0]


def receive(shape: Sequence[int], data_type: Any, sr_tag: int, src_rank: int, group: str = WORLD) -> Any:
    """The tensor that another rank of a group sends with the same tag: HcomReceive.

    Args:
        shape, data_type: what it must be; every size is known.
    """
    me = _me_to("receive", "src_rank", src_rank, sr_tag, group)
    v1 = tensorflow().v1
    sizes, dtype = v1.TensorShape(shape), v1.as_dtype(data_type)
    if not sizes.is_fully_defined():
        reason = f"{sizes} has unknown sizes."
        raise OptionValueError("OPTION_VALUE", "receive: shape", reason, "Give the shape that is sent.")
    pair = (world_rank_of(group, src_rank), me)
    spec = {"group": group, "members": pair, "tag": sr_tag, "shapes": [sizes.as_list()]}
    spec["src_rank"] = src_rank
    spec["dtypes"] = [dtype.as_numpy_dtype(0).dtype.name]
    return _operator("HcomReceive", "receive", [], ["output"], spec, [sizes], [dtype])[0]


def all_to_all_v(
    send_data: Any, send_counts: Any, send_displacements: Any, recv_counts: Any, recv_displacements: Any,
    group: str = WORLD,
) -> Any:  # fmt: skip
    """Elements of every rank of a group to every rank: HcomAllToAllV.

    Args:
        send_data: of one dimension.
        send_counts, send_displacements: int64, by rank: how many of its elements go there, from where on.
        recv_counts, recv_displacements: int64, by rank: how many come from there, and where to.
    """
    v1 = tensorflow().v1
    members(group)
    counts = [v1.cast(one, v1.int64) for one in (send_counts, send_displacements, recv_counts, recv_displacements)]
    names = ["send_data", "send_counts", "send_displacements", "recv_counts", "recv_displacements"]
    inputs = list(zip(names, [v1.convert_to_tensor(send_data), *counts]))
    spec = {"group": group, "members": members(group)}
    types = [inputs[0][1].dtype.base_dtype]
    return _operator("HcomAllToAllV", "alltoallv", inputs, ["recv_data"], spec, [v1.TensorShape([None])], types)[0]


def all_to_all_v_c(
    send_data: Any, send_count_matrix: Any, rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """Elements of every rank of a group to every rank, by one matrix of all counts: computed as HcomAllToAllV.

    Args:
        send_data: of one dimension; any other is taken row by row.
        send_count_matrix: int64 [ranks, ranks]: how many elements each rank (row) sends to each (column). Parts lie one
            after the other, on both sides.
        rank: this rank in the group.
        fusion, fusion_id: which operators may become one; values do not depend on it.

    Raises:
        OptionValueError: OPTION_VALUE, when ``rank`` is not this process's rank in the group.
    """
    del fusion, fusion_id
    _check_int("all_to_all_v_c", "rank", rank)
    if rank != rank_id(group):
        reason = f"{rank} is not this rank, which is {rank_id(group)}."
        raise OptionValueError("OPTION_VALUE", "all_to_all_v_c: rank", reason, "Give get_rank_id() of the group.")
    v1 = tensorflow().v1
    matrix = v1.cast(send_count_matrix, v1.int64)
    sent, received = matrix[rank], matrix[:, rank]
    places = [v1.cumsum(counts, exclusive=True) for counts in (sent, received)]
    return all_to_all_v(v1.reshape(send_data, [-1]), sent, places[0], received, places[1], group)


def _me_to(what: str, argument: str, other: Any, tag: Any, group: str) -> int:
    """This rank, where it may send to or receive from another."""
    _check_int(what, argument, other)
    _check_int(what, "sr_tag", tag)
    other = world_rank_of(group, other)
    me = members(group)[rank_id(group)]
    if other == me:
        raise OptionValueError("OPTION_VALUE", f"{what}: {argument}", f"{other} is this rank itself.", "Name another.")
    return me


def _is(group: str, root: int) -> bool:
    return rank_id(group) == root


def _made(
    op: str, kind: str, tensors: Sequence[Any], group: str, attrs: Dict[str, Any], factor: int = 1
) -> Tuple[Any, ...]:
    """An operator whose results are like its inputs, but for the first dimension: times ``factor``, or divided."""
    v1 = tensorflow().v1
    values = [v1.convert_to_tensor(tensor) for tensor in tensors]
    names = ["input"] if op != "HcomBroadcast" else [f"input_{k}" for k in range(len(values))]
    results = ["output"] if op != "HcomBroadcast" else [f"output_{k}" for k in range(len(values))]
    shapes = [_scaled(value.get_shape(), factor) for value in values]
    spec = {"group": group, "members": members(group), **attrs}
    types = [value.dtype.base_dtype for value in values]
    return _operator(op, kind, list(zip(names, values)), results, spec, shapes, types)


def _operator(
    op: str, kind: str, inputs: Sequence[Tuple[str, Any]], results: Sequence[str], spec: Dict[str, Any],
    shapes: Sequence[Any], types: Sequence[Any],
) -> Tuple[Any, ...]:  # fmt: skip
    given = {"root_rank": spec["root"]} if "root" in spec else {}
    names = ("group", "reduction", "fusion", "fusion_id", "rank_size", "dest_rank", "src_rank")
    attrs = {**given, **{name: spec[name] for name in names if name in spec}}
    if len(spec["members"]) == 1 and kind not in ("send", "receive", "alltoallv"):
        return call(op, inputs, results, lambda *given: given, key=("alone",), shapes=shapes, attrs=attrs)
    graph = tensorflow().v1.get_default_graph()
    told = {**spec, "kind": kind, "name": graph.unique_name(op, mark_as_used=False)}

    def body(*given: Any) -> Sequence[Any]:
        return through_python(told, given, types)

    key = (json.dumps(told, sort_keys=True), tuple(dtype.name for dtype in types))
    return call(op, inputs, results, body, key=key, shapes=shapes, attrs=attrs, stateful=True)


def _scaled(shape: Any, factor: int) -> Any:
    if factor in (1, -1) or not shape.ndims:
        return shape
    sizes = shape.as_list()
    if sizes[0] is not None:
        sizes[0] = sizes[0] * factor if factor > 0 else sizes[0] // -factor
    return tensorflow().v1.TensorShape(sizes)


def _check(
    what: str,
    group: str,
    reduction: Optional[str],
    fusion: Tuple[int, int],
    fusions: Tuple[int, ...],
    root_rank: int = 0,
) -> None:
    size = rank_size(group)  # refuses a group that does not exist
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
