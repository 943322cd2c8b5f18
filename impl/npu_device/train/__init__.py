"""Training of tf.function: refused by the table, which says what to use."""

from __future__ import annotations

from npu_device.train import optimizer
from npu_reference.surface import attribute_of

__all__ = ["optimizer"]

__getattr__ = attribute_of(__name__)
