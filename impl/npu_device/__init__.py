"""The adapter for TensorFlow 2: its way for scripts of TensorFlow 1 is here, and what needs tf.function is refused."""

from __future__ import annotations

from npu_device import compat, distribute, ops, train
from npu_reference.surface import attribute_of

__all__ = ["compat", "distribute", "keep_dtype_scope", "ops", "set_device_sat_mode", "train"]

_elsewhere = attribute_of(__name__)


def __getattr__(name: str) -> object:
    # Importing npu_bridge switches to version 1 behaviour, which "import npu_device" alone must not do.
    if name == "keep_dtype_scope":
        from npu_bridge.estimator.npu.npu_scope import keep_dtype_scope

        return keep_dtype_scope
    if name == "set_device_sat_mode":
        from npu_bridge.estimator.npu.npu_plugin import set_device_sat_mode

        return set_device_sat_mode
    return _elsewhere(name)
