"""How many training iterations the device runs per ``sess.run``, for scripts without an Estimator."""

from __future__ import annotations

from typing import Any

from npu_bridge._tensorflow import v1
from npu_reference.options.classes import OptionTypeError, OptionValueError

__all__ = ["set_iteration_per_loop"]


def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> Any:
    """The operation to run instead of ``train_op``, so that one ``sess.run`` does ``iterations_per_loop`` steps.

    Args:
        sess: the session; its graph gets the new operation.
        train_op: the operation that does one training step.
        iterations_per_loop: 1. More would be iteration offload, which mixed computing excludes (document 000)
            and which this version does not simulate.

    Raises:
        OptionTypeError: ``iterations_per_loop`` is no int; a bool is none either (G12).
        OptionValueError: it is not 1.
    """
    if isinstance(iterations_per_loop, bool) or not isinstance(iterations_per_loop, int):
        raise OptionTypeError(
            "OPTION_TYPE", "iterations_per_loop", f"{iterations_per_loop!r} is not an int.", "Give a positive int."
        )
    if iterations_per_loop < 1:
        raise OptionValueError(
            "OPTION_VALUE", "iterations_per_loop", f"{iterations_per_loop} is not positive.", "Give a positive int."
        )
    if iterations_per_loop > 1:
        raise OptionValueError(
            "OPTION_VALUE",
            "iterations_per_loop",
            f"{iterations_per_loop} iterations per loop would be iteration offload, which is not simulated yet.",
            "Give 1, which mixed computing needs anyway.",
        )
    with sess.graph.as_default():
        return v1.group(train_op, name="npu_iteration_loop")
