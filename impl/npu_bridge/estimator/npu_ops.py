"""Operators of the adapter that scripts call by hand; importing it is what documents 001 and 004 do.

The simulated device needs no set-up, so the two system operators only exist to be run.
"""

from __future__ import annotations

from typing import Any, Optional

from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu import npu_scope

__all__ = ["initialize_system", "shutdown_system"]


def initialize_system(name: Optional[str] = None) -> Any:
    """An operation that makes the device ready; the simulated device always is."""
    with npu_scope.without_npu_compile_scope():
        return v1.no_op(name=name or "InitializeSystem")


def shutdown_system(name: Optional[str] = None) -> Any:
    """An operation that gives the device back; the simulated device has nothing to give back."""
    with npu_scope.without_npu_compile_scope():
        return v1.no_op(name=name or "ShutdownSystem")
