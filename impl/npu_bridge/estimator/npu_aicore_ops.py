"""Operators of the device's AI Core that scripts call by hand."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.activations import fast_gelu, prelu

__all__ = ["fast_gelu", "prelu"]

__getattr__ = module_getattr(__name__)
