"""The drop-in Python API of Ascend's TensorFlow adapter, over the simulated device of ``npu_reference``.

The adapter is for TensorFlow 1. Under TensorFlow 2 importing this package therefore switches to version 1
behaviour, unless eager execution has already begun (see :mod:`npu_bridge._tensorflow`).
"""

from __future__ import annotations

from . import _names, _tensorflow

_tensorflow.use_v1_behaviour()

__getattr__ = _names.module_getattr(__name__)
