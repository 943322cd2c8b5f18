"""Package of the adapter's library loader, whose names it gives as well."""

from __future__ import annotations

from npu_bridge._names import module_getattr

__getattr__ = module_getattr(__name__)
