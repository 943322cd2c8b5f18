"""How gradients become one over the ranks of a group, and how variables of one rank become those of all."""

from __future__ import annotations

from typing import Any, List, Sequence

from npu_reference.options.classes import OptionValueError
from npu_reference.runtime import ranks
from npu_reference.runtime.operators import collectives
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["REDUCTIONS", "reduced", "spread"]

#: Reductions of npu_allreduce (TF Adapter API reference); those of the operator, and their mean.
REDUCTIONS = ("mean", "max", "min", "prod", "sum")


def reduced(
    values: Sequence[Any], reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = ranks.WORLD
) -> List[Any]:
    """Tensors reduced over the ranks of a group.

    Args:
        values: tensors, IndexedSlices and Nones, which stay. Of IndexedSlices every rank gets those of all.
        reduction: one of :data:`REDUCTIONS`.
        fusion, fusion_id: of HcomAllReduce. With 1 the tensors are communicated in the parts that
            ``set_split_strategy_by_idx`` or ``by_size`` made.
        group: which ranks.

    Raises:
        OptionValueError: an unknown reduction, or one that IndexedSlices do not have.
    """
    if reduction not in REDUCTIONS:
        raise OptionValueError(
            "OPTION_VALUE", "reduction", f"there is no {reduction!r}.", f"Give one of {', '.join(REDUCTIONS)}."
        )
    size = len(ranks.members(group))
    if size == 1:
        return list(values)
    v1 = tensorflow().v1
    sparse = v1.IndexedSlices
    made: List[Any] = [
        _gathered(value, reduction, size, group) if isinstance(value, sparse) else value for value in values
    ]
    # Gradients are computed from the last variable on; in that order they are communicated.
    dense = [at for at in reversed(range(len(made))) if made[at] is not None and not isinstance(made[at], sparse)]
    tensors = [v1.convert_to_tensor(made[at]) for at in dense]
    parts = ranks.parts_of([_bytes(tensor) for tensor in tensors], group) if fusion == 1 else [-1] * len(dense)
    for at, tensor, part in zip(dense, tensors, parts):
        kind = "sum" if reduction == "mean" else reduction
        total = collectives.allreduce(tensor, kind, fusion, fusion_id, group, part=part)
        made[at] = _divided(total, size) if reduction == "mean" else total
    return made


def spread(variables: Sequence[Any], root_rank: int = 0, group: str = ranks.WORLD) -> List[Any]:
    """Operations that give variables the values they have on one rank."""
    v1 = tensorflow().v1
    made = []
    for variable in variables:
        with v1.name_scope(f"broadcast/{variable.op.name}/"):
            value = v1.convert_to_tensor(variable)
            made.append(v1.assign(variable, collectives.broadcast([value], root_rank, group=group)[0]))
    return made


def _gathered(value: Any, reduction: str, size: int, group: str) -> Any:
    if reduction not in ("mean", "sum"):
        reason = f"IndexedSlices have no {reduction!r}: what several ranks give of one row would have to be matched."
        raise OptionValueError("OPTION_VALUE", "reduction", reason, "Use mean or sum, or convert them to a tensor.")
    values = collectives.allgather(value.values, size, group=group)
    indices = collectives.allgather(value.indices, size, group=group)
    values = _divided(values, size) if reduction == "mean" else values
    return tensorflow().v1.IndexedSlices(values, indices, value.dense_shape)


def _divided(value: Any, size: int) -> Any:
    # As tf.div does, which would warn every user's script that it is deprecated.
    v1 = tensorflow().v1
    divided = v1.realdiv if value.dtype.is_floating or value.dtype.is_complex else v1.floordiv
    return divided(value, v1.constant(size, value.dtype), name="div")


def _bytes(value: Any) -> int:
    """Its size as far as it is known: sizes unknown count once."""
    count = 1
    for size in value.get_shape().as_list() if value.get_shape().ndims is not None else ():
        count *= size or 1
    return count * int(value.dtype.size)
