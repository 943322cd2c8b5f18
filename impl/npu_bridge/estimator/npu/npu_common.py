"""A launcher's description of a job: refused by the table, which says what to use."""

from __future__ import annotations

from npu_bridge._names import module_getattr

__getattr__ = module_getattr(__name__)
