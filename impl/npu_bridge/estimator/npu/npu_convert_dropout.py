"""Importing it makes Keras' Dropout layers build the device's operators."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.keras_dropout import replace

replace()

__getattr__ = module_getattr(__name__)
