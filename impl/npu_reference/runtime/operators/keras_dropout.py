"""Makes Keras' Dropout layers drop as the device does: importing npu_convert_dropout asks for it."""

from __future__ import annotations

from typing import Any, Optional

from npu_reference.runtime.operators.dropout import dropout
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["replace"]


def replace() -> bool:
    """Let Dropout layers of Keras, and those that derive from them, build the device's operators.

    Results are equal in distribution. A layer with a noise shape keeps TensorFlow's own, as with the adapter.

    Returns:
        Whether there is a Keras that builds graphs: TensorFlow 2.16 and later have it with ``TF_USE_LEGACY_KERAS=1``.
    """
    keras = tensorflow().v1.keras
    layer = getattr(keras.layers, "Dropout", None)
    if layer is None or not hasattr(layer, "_get_noise_shape") or not hasattr(keras.backend, "learning_phase"):
        return False
    if getattr(layer.call, "_npu_original", None) is None:
        layer.call = _calling(layer.call, keras.backend)
    return True


def _calling(original: Any, backend: Any) -> Any:
    def call(self: Any, inputs: Any, training: Optional[Any] = None) -> Any:
        v1 = tensorflow().v1
        if v1.executing_eagerly() or self.noise_shape is not None:
            return original(self, inputs, training=training)
        phase = backend.learning_phase() if training is None else training

        def dropped() -> Any:
            return v1.identity(dropout(inputs, 1.0 - self.rate, seed=getattr(self, "seed", None)))

        def kept() -> Any:
            return v1.identity(inputs)

        if isinstance(phase, (bool, int)):
            return dropped() if phase else kept()
        return v1.cond(v1.cast(phase, v1.bool), dropped, kept)

    call._npu_original = original  # type: ignore[attr-defined]
    return call
