"""Collective communication for tf.function: refused by the table, which says what to use."""

from __future__ import annotations

from npu_device.distribute import hccl
from npu_reference.surface import attribute_of

__all__ = ["hccl"]

__getattr__ = attribute_of(__name__)
