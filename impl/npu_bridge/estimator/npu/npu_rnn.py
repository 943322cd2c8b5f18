"""A recurrent layer of TensorFlow on the device, its steps written out one after the other."""

from __future__ import annotations

from typing import Any, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1

__all__ = ["npu_dynamic_rnn"]


def npu_dynamic_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
) -> Tuple[Any, Any]:
    """Outputs, time first as ``inputs``, and last state of ``tf.nn.static_rnn``, whose other arguments these are."""
    steps = v1.unstack(inputs)
    outputs, state = v1.nn.static_rnn(cell, steps, initial_state, dtype, sequence_length, scope)
    return v1.stack(outputs), state


__getattr__ = module_getattr(__name__)
