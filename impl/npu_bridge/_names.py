"""What a module of the drop-in answers for names that it does not define: see :mod:`npu_reference.surface`."""

from __future__ import annotations

from npu_reference.surface import attribute_of as module_getattr

__all__ = ["module_getattr"]
