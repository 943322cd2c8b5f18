"""Recurrent layers of the device: an LSTM, a GRU, and a GRU with attention."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.layers import DynamicAUGRU, DynamicGRUV2, DynamicRNN

__all__ = ["DynamicAUGRU", "DynamicGRUV2", "DynamicRNN"]

__getattr__ = module_getattr(__name__)
