"""Loss scaling in tf.function: refused by the table, which says what to use."""

from __future__ import annotations

from npu_reference.surface import attribute_of

__getattr__ = attribute_of(__name__)
