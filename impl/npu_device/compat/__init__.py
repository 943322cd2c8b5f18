"""The way of TensorFlow 1 under TensorFlow 2; ``npu_device.compat.v1`` has every module of ``npu_bridge``."""

from __future__ import annotations

from npu_reference.surface import attribute_of

__all__ = ["enable_v1"]


def enable_v1() -> None:
    """Switch TensorFlow 2 to version 1 behaviour, as importing npu_bridge does; sessions then run on the device."""
    from npu_bridge._tensorflow import use_v1_behaviour

    use_v1_behaviour()


__getattr__ = attribute_of(__name__)
