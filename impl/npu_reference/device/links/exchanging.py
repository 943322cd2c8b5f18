"""Moves the data of a collective exactly as its messages say, in numpy's arithmetic of the data's own type."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from npu_reference.device.links.algorithms import Message, plan
from npu_reference.device.links.topology import Topology
from npu_reference.options.classes import OptionValueError

__all__ = ["REDUCTIONS", "collective"]

REDUCTIONS = ("max", "min", "prod", "sum")


def collective(
    kind: str,
    algorithm: str,
    where: Topology,
    buffers: Sequence[Any],
    *,
    reduction: str = "sum",
    root: int = 0,
    peer: int = 0,
    counts: Optional[Sequence[Sequence[int]]] = None,
    send_at: Optional[Sequence[Sequence[int]]] = None,
    receive_at: Optional[Sequence[Sequence[int]]] = None,
) -> Tuple[List[Any], Tuple[Message, ...]]:
    """What every rank has after a collective, and the messages that made it.

    Every reduction is one operation of the data's type: sums of float16 are rounded to float16 each time, integers wrap
    around. Buffers given are left as they are; results are arrays of their own.

    Args:
        buffers: an array of each rank, of one shape and dtype (of alltoallv one dimension and any length; of send,
            receive and broadcast only the shape of others than ``root`` matters).
        reduction: one of :data:`REDUCTIONS`; others: see :func:`npu_reference.device.links.plan`.

    Returns:
        Arrays by rank. allgather: all buffers along the first dimension; reduce_scatter: this rank's part of it;
        reduce: the result on ``root``, on others what they gave; receive and send: the sender's on ``peer``, on others
        what they gave; alltoallv: what arrived, zeros where nothing did.

    Raises:
        OptionValueError: no such collective can be: shapes or dtypes that differ, a first dimension that ranks do not
            divide, and what ``plan`` refuses.
    """
    import numpy

    arrays = [numpy.asarray(buffer) for buffer in buffers]
    _check(kind, arrays, where, reduction)
    shape, dtype = arrays[0].shape, arrays[0].dtype
    if kind == "alltoallv":
        return _all_to_all(algorithm, where, arrays, counts, send_at, receive_at)
    if kind == "allgather":
        count = arrays[0].size
        work = [numpy.zeros(count * where.size, dtype) for _ in arrays]
        for rank, array in enumerate(arrays):
            work[rank][rank * count : (rank + 1) * count] = array.reshape(-1)
    else:
        work = [array.reshape(-1).copy() for array in arrays]
    messages = plan(kind, algorithm, where, len(work[0]), dtype.itemsize, root=root, peer=peer)
    combine = {"sum": numpy.add, "prod": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}[reduction]
    with numpy.errstate(all="ignore"):
        _move(work, messages, combine)
    if kind == "allgather":
        whole = (where.size * shape[0], *shape[1:])
        return [one.reshape(whole) for one in work], messages
    if kind == "reduce_scatter":
        part, length = (shape[0] // where.size, *shape[1:]), len(work[0]) // where.size
        return [one[k * length : (k + 1) * length].reshape(part).copy() for k, one in enumerate(work)], messages
    if kind == "reduce":  # what passed through others on the way is no result
        return [
            (one if rank == root else arrays[rank].copy()).reshape(shape) for rank, one in enumerate(work)
        ], messages
    return [one.reshape(shape) for one in work], messages


def _check(kind: str, arrays: Sequence[Any], where: Topology, reduction: str) -> None:
    if len(arrays) != where.size:
        raise OptionValueError(
            "OPTION_VALUE", kind, f"{where.size} ranks have {len(arrays)} buffers.", "Give one each."
        )
    if reduction not in REDUCTIONS:
        reason = f"{reduction!r} is no reduction."
        raise OptionValueError("OPTION_VALUE", f"{kind}: reduction", reason, f"Give one of {', '.join(REDUCTIONS)}.")
    first = arrays[0]
    for rank, array in enumerate(arrays):
        if array.dtype != first.dtype or (array.shape != first.shape and kind != "alltoallv"):
            reason = f"rank {rank} has {_described(array)}, rank 0 {_described(first)}."
            raise OptionValueError("OPTION_VALUE", kind, reason, "All ranks take part with one shape and type.")
    if first.dtype.kind not in "iufb" or (
        first.dtype.kind == "b" and kind in ("allreduce", "reduce", "reduce_scatter")
    ):
        reason = f"{first.dtype} cannot be communicated."
        raise OptionValueError("OPTION_VALUE", kind, reason, "Integers and floats can.")
    if kind in ("allgather", "reduce_scatter") and not first.ndim:
        reason = "a scalar has no first dimension to put the ranks' parts along."
        raise OptionValueError("OPTION_VALUE", kind, reason, "Give a tensor of one dimension or more.")
    if kind == "reduce_scatter" and first.shape[0] % where.size:
        reason = f"{where.size} ranks cannot share {first.shape[0]} rows."
        raise OptionValueError("OPTION_VALUE", kind, reason, f"Give a first dimension that {where.size} divides.")


def _described(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _move(work: List[Any], messages: Sequence[Message], combine: Any) -> None:
    """Work through the messages, step by step."""
    at = 0
    while at < len(messages):
        end = at
        while end < len(messages) and messages[end].step == messages[at].step:
            end += 1
        _step(work, messages[at:end], combine)
        at = end


def _step(work: List[Any], messages: Sequence[Message], combine: Any) -> None:
    """One step: everything that is sent is as it was before; reductions go by ascending rank."""
    arrived: Dict[Tuple[int, int, int], List[Tuple[int, Any]]] = {}
    for message in messages:
        for start, stop in message.chunk:
            data = work[message.src][start:stop].copy()
            key = (message.dst, start, stop)
            if message.reduces:
                arrived.setdefault(key, []).append((message.src, data))
            else:
                arrived[key] = [(-1, data)]
    for (dst, start, stop), parts in arrived.items():
        if parts[0][0] >= 0:
            parts.append((dst, work[dst][start:stop].copy()))
            parts.sort(key=lambda part: part[0])
        total = parts[0][1]
        for _, data in parts[1:]:
            total = combine(total, data)
        work[dst][start:stop] = total


def _all_to_all(
    algorithm: str,
    where: Topology,
    arrays: Sequence[Any],
    counts: Optional[Sequence[Sequence[int]]],
    send_at: Optional[Sequence[Sequence[int]]],
    receive_at: Optional[Sequence[Sequence[int]]],
) -> Tuple[List[Any], Tuple[Message, ...]]:
    import numpy

    table = [[int(count) for count in row] for row in counts or ()]
    dtype = arrays[0].dtype
    messages = plan(
        "alltoallv", algorithm, where, 0, dtype.itemsize, counts=table, send_at=send_at, receive_at=receive_at
    )
    own = [_own(rank, table, send_at, receive_at) for rank in range(where.size)]
    for rank, array in enumerate(arrays):
        used = [message.chunk[0][1] for message in messages if message.src == rank]
        if max([*used, own[rank][0] + own[rank][2]]) > array.size or array.ndim != 1:
            reason = f"rank {rank} has {_described(array)}, less than its counts say."
            raise OptionValueError("OPTION_VALUE", "alltoallv: counts", reason, "Give what the data holds.")
    lengths = [start + count for _, start, count in own]
    for message in messages:
        (start, stop), into = message.chunk[0], message.into
        lengths[message.dst] = max(lengths[message.dst], into + stop - start)
    results = [numpy.zeros(length, dtype) for length in lengths]
    for rank, (start, into, count) in enumerate(own):
        results[rank][into : into + count] = arrays[rank][start : start + count]
    for message in messages:
        (start, stop), into = message.chunk[0], message.into
        results[message.dst][into : into + stop - start] = arrays[message.src][start:stop]
    return results, messages


def _own(
    rank: int,
    counts: Sequence[Sequence[int]],
    send_at: Optional[Sequence[Sequence[int]]],
    receive_at: Optional[Sequence[Sequence[int]]],
) -> Tuple[int, int, int]:
    """What a rank keeps: where it begins in its data and in its result, and how much it is."""
    start = send_at[rank][rank] if send_at else sum(counts[rank][:rank])
    into = receive_at[rank][rank] if receive_at else sum(row[rank] for row in counts[:rank])
    return start, into, counts[rank][rank]
