"""Collective communication for tf.function: refused by the table, but for what appends a callback."""

from __future__ import annotations

from typing import Any, List

from npu_reference.surface import attribute_of

__all__ = ["npu_callbacks_append"]


def npu_callbacks_append(callbacks_list: Any = ()) -> List[Any]:
    """The callbacks with one that broadcasts at their end, which does nothing with one device."""
    from npu_bridge.npu_init import npu_callbacks_append as append

    return append(callbacks_list)


__getattr__ = attribute_of(__name__)
