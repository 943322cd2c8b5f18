"""From a Keras model to an NPUEstimator, by way of the Estimator that TensorFlow makes of it."""

from __future__ import annotations

from typing import Any

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import estimator, v1
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator
from npu_reference.errors import NpuError

__all__ = ["model_to_npu_estimator"]


def model_to_npu_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    checkpoint_format: str = "saver",
    config: Any = None,
    job_start_file: str = "",
) -> NPUEstimator:
    """An NPUEstimator that trains a compiled Keras model and begins with its weights.

    The first five arguments are those of ``tf.keras.estimator.model_to_estimator``, the others NPUEstimator's.
    """
    if estimator is None:
        remedy = "Train the Keras model itself after set_keras_session_npu_config()."
        raise NpuError("ADAPTER_NAME", "model_to_npu_estimator", "this TensorFlow has no Estimator.", remedy)
    plain = v1.keras.estimator.model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=estimator.RunConfig(model_dir=model_dir),
        checkpoint_format=checkpoint_format,
    )
    weights = plain._warm_start_settings
    return NPUEstimator(plain._model_fn, model_dir, config, job_start_file=job_start_file, warm_start_from=weights)


__getattr__ = module_getattr(__name__)
