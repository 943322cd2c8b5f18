"""What each rank of a group gets from a collective, added in the order of the algorithm that the links choose."""

from __future__ import annotations

from typing import Any, List, Sequence

import numpy as np

from npu_reference.runtime.exchange.parts import Broken, Part

__all__ = ["results"]

_REDUCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def results(parts: Sequence[Part], arrays: Sequence[Sequence[Any]]) -> List[List[Any]]:
    """The tensors of every member.

    Args:
        parts, arrays: of the members, in the group's order; the parts are known to agree.

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
    given = [one[0] for one in arrays]
    if kind == "allgather":
        whole = np.concatenate(given, axis=0)
        return [[_copy(whole)] for _ in range(count)]
    if kind == "alltoallv":
        return _all_to_all(arrays)
    reduced = given[0]
    for one in given[1:]:
        reduced = _REDUCTIONS[parts[0].reduction](reduced, one).astype(given[0].dtype, copy=False)
    if kind == "allreduce":
        return [[_copy(reduced)] for _ in range(count)]
    if kind == "reduce":
        return [[_copy(reduced if position == parts[0].root else given[position])] for position in range(count)]
    if reduced.shape[0] % count:
        text = f"{parts[0].name}: its first dimension, {reduced.shape[0]}, cannot be divided among {count} ranks."
        raise Broken("value", parts[0].members, text)
    return [[_copy(part)] for part in np.split(reduced, count)]


def _all_to_all(arrays: Sequence[Sequence[Any]]) -> List[List[Any]]:
    """Each rank brings its data, and for every rank how many elements it sends from where, and takes to where."""
    taken: List[List[Any]] = []
    for me, (_, _, _, counts, places) in enumerate(arrays):
        size = max([int(at) + int(number) for at, number in zip(places, counts)] or [0])
        mine = np.zeros([size], arrays[me][0].dtype)
        for other, (data, sent, starts, _, _) in enumerate(arrays):
            start, number = int(starts[me]), int(sent[me])
            if number != int(counts[other]):
                text = f"rank {other} of the group sends {number} elements to rank {me}, which takes {counts[other]}."
                raise Broken("mismatch", [me, other], text)
            flat = data.reshape([-1])
            if start < 0 or number < 0 or start + number > flat.size or int(places[other]) < 0:
                raise Broken("value", [other], f"rank {other} of the group sends what it does not have.")
            mine[int(places[other]) : int(places[other]) + number] = flat[start : start + number]
        taken.append([mine])
    return taken


def _copy(array: Any) -> Any:
    return np.array(array, copy=True, order="C")
