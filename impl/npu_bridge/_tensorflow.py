"""What differs between TensorFlow versions, decided once: v1 behaviour, and whether there is an Estimator."""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow
from tensorflow.python.framework import function

from npu_reference.runtime.observing.log import LOG

__all__ = ["HAS_ESTIMATOR", "estimator", "function", "run_config_class", "tensorflow_for", "use_v1_behaviour", "v1"]

#: TensorFlow's version 1 names, in every version.
v1: Any = tensorflow.compat.v1


def use_v1_behaviour() -> None:
    """Switch TensorFlow 2 to version 1 behaviour, as long as nothing eager has been done.

    A script already in graph mode is left as it is: it may have chosen which parts of version 2 to keep.
    Once an operator has run eagerly the switch would break what exists, so only a warning is given.
    """
    if not v1.executing_eagerly():
        return
    from tensorflow.python.eager import context

    if getattr(context.context(), "_context_handle", None) is not None:
        LOG.warning(
            "npu_bridge is for TensorFlow 1, but operators have already run eagerly; "
            "call tf.compat.v1.disable_v2_behavior() at the start of the script"
        )
        return
    v1.disable_v2_behavior()


def _find_estimator() -> Any:
    try:
        return v1.estimator if v1.estimator.RunConfig else None
    except (AttributeError, ImportError):  # removed in 2.16; ImportError where its Keras is missing
        return None


#: ``tf.estimator``, or None in TensorFlow 2.16 and later.
estimator: Any = _find_estimator()

HAS_ESTIMATOR: bool = estimator is not None


def run_config_class() -> Any:
    """The class of run configurations: tf.estimator's, or ours where TensorFlow has none."""
    if estimator is not None:
        return estimator.RunConfig
    from npu_bridge.estimator.npu.plain_run_config import PlainRunConfig

    return PlainRunConfig


def tensorflow_for(importer: Mapping[str, Any]) -> Any:
    """What ``tf`` is in a module that takes it from the star import.

    The adapter gives TensorFlow itself. Under TensorFlow 2 that has no names of version 1, which scripts of the adapter
    use; so they get those. But where the module has imported TensorFlow itself, as ``tf``, its choice stays.

    Args:
        importer: the names of the module.
    """
    own = importer.get("tf")
    if own in (tensorflow, v1):
        return own
    return tensorflow if tensorflow.__version__.startswith("1.") else v1
