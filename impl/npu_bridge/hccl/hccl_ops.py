"""Operators of collective communication, among one device."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.collectives import allgather, allreduce, broadcast, reduce, reduce_scatter

__all__ = ["allgather", "allreduce", "broadcast", "reduce", "reduce_scatter"]

__getattr__ = module_getattr(__name__)
