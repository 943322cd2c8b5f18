"""What RandomChoiceWithMask computes: places drawn at random where a mask holds."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

from npu_reference.runtime.operators.calls import call
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["random_choice_with_mask"]


def random_choice_with_mask(x: Any, count: int = 256, seed: int = 0, seed2: int = 0, name: str = "") -> Tuple[Any, Any]:
    """Draw ``count`` places where ``x`` is true, each at most once.

    Args:
        x: a bool tensor of one to five dimensions.
        count: how many; 0 draws every one.
        seed, seed2: of the draw; 0 and 0 draw differently in every session.

    Returns:
        The indices, int32 ``[count, rank]``, and which of them were drawn, bool ``[count]``: where there are fewer true
        elements the rest is 0 and false.
    """
    v1 = tensorflow().v1
    x = v1.convert_to_tensor(x, dtype=v1.bool)
    rank = x.get_shape().ndims

    def draw(x: Any) -> Sequence[Any]:
        places = v1.cast(v1.where_v2(x), v1.int32)
        order = v1.raw_ops.RandomShuffle(value=places, seed=seed, seed2=seed2)
        wanted = v1.constant(count) if count else v1.shape(order)[0]
        taken = order[:wanted]
        missing = wanted - v1.shape(taken)[0]
        chosen = v1.concat([v1.ones(v1.shape(taken)[:1], v1.bool), v1.zeros([missing], v1.bool)], 0)
        return [v1.pad(taken, [[0, missing], [0, 0]]), chosen]

    y, mask = call(
        "RandomChoiceWithMask",
        [("x", x)],
        ["y", "mask"],
        draw,
        key=(count, seed, seed2),
        shapes=[[count or None, rank], [count or None]],
        name=name,
        alone=True,
        seeded=bool(seed or seed2),
    )
    return y, mask
