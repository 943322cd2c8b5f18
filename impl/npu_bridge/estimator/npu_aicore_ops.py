"""Operators of the device's AI Core that scripts call by hand."""

from __future__ import annotations

from types import SimpleNamespace

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.activations import fast_gelu, prelu

__all__ = ["fast_gelu", "npu_aicore_ops", "prelu"]

#: As in the adapter, the object of the module's name holds them, too.
npu_aicore_ops = SimpleNamespace(fast_gelu=fast_gelu, prelu=prelu)

__getattr__ = module_getattr(__name__)
