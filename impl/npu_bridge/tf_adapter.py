"""The adapter's library, which is not there: its names are refused by the table."""

from __future__ import annotations

from npu_bridge._names import module_getattr

__getattr__ = module_getattr(__name__)
