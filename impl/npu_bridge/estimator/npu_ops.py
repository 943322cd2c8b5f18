"""Operators of the adapter that scripts call by hand; importing it is what documents 001 and 004 do.

The simulated device needs no set-up, so the two system operators only exist to be run. The overflow flag is the
device's (docs/numerics.md); in a session without a device, and with device precision off, it is never raised.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from npu_bridge._tensorflow import function, v1

__all__ = [
    "initialize_system",
    "npu_alloc_float_status",
    "npu_clear_float_status",
    "npu_get_float_status",
    "shutdown_system",
]


def initialize_system(name: Optional[str] = None) -> Any:
    """An operation that makes the device ready; the simulated device always is."""
    return v1.no_op(name=name or "InitializeSystem")


def shutdown_system(name: Optional[str] = None) -> Any:
    """An operation that gives the device back; the simulated device has nothing to give back."""
    return v1.no_op(name=name or "ShutdownSystem")


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
