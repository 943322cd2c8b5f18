"""Operators of the adapter that scripts call by hand; importing it is what documents 001 and 004 do.

The simulated device needs no set-up, so the two system operators only exist to be run. The overflow flag is the
device's (docs/numerics.md); in a session without a device, and with device precision off, it is never raised.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import function, v1
from npu_bridge.helper.helper import get_gen_ops
from npu_reference.options.classes import OptionValueError
from npu_reference.runtime.operators.dropout import dropout
from npu_reference.runtime.operators.fused_optimizers import adam_apply_one_assign, adam_apply_one_with_decay_assign
from npu_reference.runtime.operators.lars import lars, lars_v2
from npu_reference.runtime.operators.recurrent import lstm_cell

__all__ = [
    "LARS",
    "LARSV2",
    "NPUInit",
    "NPUShutdown",
    "adam_apply_one_assign",
    "adam_apply_one_with_decay_assign",
    "basic_lstm_cell",
    "dropout",
    "gen_npu_ops",
    "initialize_system",
    "npu_alloc_float_status",
    "npu_clear_float_status",
    "npu_get_float_status",
    "shutdown_system",
]


gen_npu_ops = get_gen_ops()
LARS = lars
LARSV2 = lars_v2


def basic_lstm_cell(
    x: Any,
    h: Any,
    c: Any,
    w: Any,
    b: Any,
    keep_prob: float = 1.0,
    forget_bias: float = 1.0,
    state_is_tuple: bool = True,
    activation: str = "tanh",
    name: Optional[str] = None,
) -> Tuple[Any, ...]:
    """One step of an LSTM; answers ct, ht, it, jt, ft, ot, tanhct (see ``recurrent.lstm_cell``).

    ``keep_prob``, ``state_is_tuple`` and ``activation`` are accepted with the values that the device computes.
    """
    for argument, given, only in (
        ("keep_prob", keep_prob, 1.0),
        ("state_is_tuple", state_is_tuple, True),
        ("activation", activation, "tanh"),
    ):
        if given != only:
            subject = f"basic_lstm_cell: {argument}"
            raise OptionValueError("OPTION_VALUE", subject, f"{given!r} is not simulated.", f"Give {only!r}.")
    tensors = [v1.convert_to_tensor(tensor) for tensor in (x, h, c, w, b)]
    return lstm_cell(*tensors, forget_bias=forget_bias, name=name or "")


def initialize_system(name: Optional[str] = None) -> Any:
    """An operation that makes the device ready; the simulated device always is."""
    return v1.no_op(name=name or "InitializeSystem")


def shutdown_system(name: Optional[str] = None) -> Any:
    """An operation that gives the device back; the simulated device has nothing to give back."""
    return v1.no_op(name=name or "ShutdownSystem")


NPUInit, NPUShutdown = initialize_system, shutdown_system


def npu_alloc_float_status(name: Optional[str] = None) -> Any:
    """Eight float32 zeros on the device, which :func:`npu_get_float_status` writes to."""
    return _operator("NpuAllocFloatStatus", "float_status", lambda: _zeros())(name=name or "NpuAllocFloatStatus")


def npu_get_float_status(float_status: Any, name: Optional[str] = None) -> Any:
    """Write ones into the tensor given if anything has overflowed since the flag was cleared; the result is zeros."""
    operator = _operator("NpuGetFloatStatus", "float_status", lambda input_float: _zeros(), v1.float32)
    return operator(float_status, name=name or "NpuGetFloatStatus")


def npu_clear_float_status(float_status: Any, name: Optional[str] = None) -> Any:
    """Clear the flag; the result is zeros."""
    operator = _operator("NpuClearFloatStatus", "cleared_float_status", lambda float_status: _zeros(), v1.float32)
    return operator(float_status, name=name or "NpuClearFloatStatus")


def _zeros() -> Any:
    return v1.zeros([8], v1.float32)


def _operator(op: str, result: str, body: Callable[..., Any], *inputs: Any) -> Any:
    """An operator TensorFlow does not have, as a function of that name: what it does where there is no device."""
    return function.Defun(*inputs, func_name=op, out_names=[result])(body)


__getattr__ = module_getattr(__name__)
