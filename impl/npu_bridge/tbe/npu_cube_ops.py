"""Operators of the device's cube engine that scripts call by hand."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.deformable_offsets import deformable_conv2d

__all__ = ["deformable_conv2d"]

__getattr__ = module_getattr(__name__)
