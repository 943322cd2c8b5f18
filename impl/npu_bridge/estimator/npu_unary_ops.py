"""Activation functions of the device; the object of the module's name holds them, too."""

from __future__ import annotations

from types import SimpleNamespace

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.activations import gelu

__all__ = ["gelu", "npu_unary_ops"]

#: What scripts import: ``from npu_bridge.estimator.npu_unary_ops import npu_unary_ops``.
npu_unary_ops = SimpleNamespace(gelu=gelu)

__getattr__ = module_getattr(__name__)
