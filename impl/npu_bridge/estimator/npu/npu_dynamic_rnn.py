"""Recurrent layers of the device: an LSTM, a GRU, and a GRU with attention."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.layers import DynamicAUGRU, DynamicGRUV2, DynamicRNN

__all__ = ["DYNAMIC_RNN_BIDIRECTION", "DYNAMIC_RNN_REDIRECTIONAL", "DYNAMIC_RNN_UNIDIRECTION", "DynamicAUGRU",
           "DynamicGRUV2", "DynamicRNN"]  # fmt: skip

#: Words for the argument ``direction``; the simulated layers take the first.
DYNAMIC_RNN_UNIDIRECTION = "UNIDIRECTIONAL"
DYNAMIC_RNN_BIDIRECTION = "BIDIRECTIONAL"
DYNAMIC_RNN_REDIRECTIONAL = "REDIRECTIONAL"

__getattr__ = module_getattr(__name__)
