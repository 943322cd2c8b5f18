"""How gradients are split for communication, by the names of HCCL: checked, and without effect on one device."""

from __future__ import annotations

from npu_reference.runtime.ranks import set_split_by_index as set_split_strategy_by_idx
from npu_reference.runtime.ranks import set_split_by_size as set_split_strategy_by_size
from npu_reference.surface import attribute_of

__all__ = ["set_split_strategy_by_idx", "set_split_strategy_by_size"]

__getattr__ = attribute_of(__name__)
