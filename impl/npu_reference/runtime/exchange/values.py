"""What each rank of a group gets from a collective, reduced in the order of the algorithm that its links choose."""

from __future__ import annotations

from typing import Any, List, Sequence

import numpy as np

from npu_reference.device.links import Topology, choose, collective
from npu_reference.errors import NpuError
from npu_reference.runtime.exchange.parts import BrokenExchange, Part, described

__all__ = ["results"]


def results(parts: Sequence[Part], arrays: Sequence[Sequence[Any]], where: Topology) -> List[List[Any]]:
    """The tensors of every member.

    Args:
        parts, arrays: of the members, in the group's order; the parts are known to agree.
        where: the links between all ranks of the job.

    Returns:
        For each member its tensors, none of which shares memory with another's.

    Raises:
        Broken: ``value``, where no result can be.
    """
    kind, count = parts[0].kind, len(parts)
    if kind in ("send", "receive"):
        source = next(position for position, part in enumerate(parts) if part.kind == "send")
        return [[] if position == source else [_copy(one) for one in arrays[source]] for position in range(count)]
    if kind == "broadcast":
        return [[_copy(one) for one in arrays[parts[0].root]] for _ in range(count)]
    try:
        return [[one] for one in _collective(parts, arrays, where.of(parts[0].members))]
    except NpuError as error:
        raise BrokenExchange(
            "value", parts[0].members, f"{described(parts[0])}: {error.reason} {error.remedy}"
        ) from None


def _collective(parts: Sequence[Part], arrays: Sequence[Sequence[Any]], where: Topology) -> List[Any]:
    kind, data = parts[0].kind, [one[0] for one in arrays]
    dtype = data[0].dtype
    if dtype.name == "bfloat16":
        data = [one.astype(np.float32) for one in data]
    algorithm = choose(kind, data[0].nbytes, where)
    if kind == "alltoallv":
        counts, starts, taken, places = ([one[position].tolist() for one in arrays] for position in (1, 2, 3, 4))
        _check_counts(counts, taken)
        made = collective(kind, algorithm, where, data, counts=counts, send_at=starts, receive_at=places)[0]
    else:
        reduction = parts[0].reduction or "sum"
        made = collective(kind, algorithm, where, data, reduction=reduction, root=parts[0].root)[0]
    return [one.astype(dtype, copy=False) for one in made]


def _check_counts(sent: List[Any], taken: List[Any]) -> None:
    for source, row in enumerate(sent):
        for to, number in enumerate(row):
            if len(taken[to]) != len(sent) or number != taken[to][source]:
                text = f"rank {source} of the group sends {number} elements to rank {to}, which takes another number."
                raise BrokenExchange("mismatch", [source, to], text)


def _copy(array: Any) -> Any:
    return np.array(array, copy=True, order="C")
