"""A partition without calls on its device, with what is known of its sizes and its control flow."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.bounds import bounds_of
from npu_reference.compiler.control import Control, control_of
from npu_reference.compiler.functions import Flat, flatten
from npu_reference.graphs import infer_shapes
from npu_reference.graphs.shaping.inference import Shapes
from npu_reference.partition import Partition

__all__ = ["Unfolded", "unfold"]

_MOST_BOUNDS = 4  # times that sizes are inferred anew from bounds; they rarely follow from each other (assumed)

#: What a partition of a small graph keeps of how it unfolds, and for how many shapes: it is compiled under one option
#: after the other, and asked again for what its kernels are compiled from (assumed).
_MOST_KEPT, _MOST_DERIVED = 2000, 4


class Unfolded(NamedTuple):
    """A partition without calls on its device, with what is known of its sizes and its control flow.

    ``bounded`` are the tensors whose sizes depend on values, counted as large as they can be.
    """

    partition: Partition
    flat: Flat
    shapes: Shapes
    control: Control
    bounded: Tuple[str, ...]


def unfold(partition: Partition, shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None) -> Unfolded:
    """Unfold the calls of a partition.

    Args:
        shapes: of tensors by ``node`` or ``node:slot``, beside those the graph states.

    Raises:
        NpuError: DEVICE_MODEL for calls that cannot be unfolded.
    """
    fed = {name: tuple(shape) for name, shape in (shapes or {}).items()}
    if len(partition.graph) > _MOST_KEPT:
        return _unfolded(partition, fed)
    key = ("unfolded", tuple(fed.items()))
    found = partition.derived.get(key)
    if found is None:
        if len(partition.derived) >= _MOST_DERIVED:
            partition.derived.clear()
        _, *found = _unfolded(partition, fed)  # without the partition, which would keep itself alive
        partition.derived[key] = found
    return Unfolded(partition, *found)


def _unfolded(partition: Partition, fed: Mapping[str, Tuple[Optional[int], ...]]) -> Unfolded:
    flat = flatten(partition)
    bounded: Dict[str, Tuple[int, ...]] = {}
    for _ in range(_MOST_BOUNDS):
        found = infer_shapes(flat.graph, feeds={**bounded, **fed})
        control = control_of(flat, found)
        more = bounds_of(flat.graph, found, control, flat.assignment)
        if not set(more) - set(bounded):
            break
        bounded.update(more)
    return Unfolded(partition, flat, found, control, tuple(sorted(bounded)))
