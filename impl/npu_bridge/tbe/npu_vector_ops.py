"""Operators of the device's vector engine that scripts call by hand."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.fused_optimizers import lamb_apply_optimizer_assign, lamb_apply_weight_assign

__all__ = ["lamb_apply_optimizer_assign", "lamb_apply_weight_assign"]

__getattr__ = module_getattr(__name__)
