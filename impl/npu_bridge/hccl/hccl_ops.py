"""Operators of collective communication, among the ranks of a group."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.collectives import (
    allgather,
    allreduce,
    alltoallv,
    broadcast,
    receive,
    reduce,
    reduce_scatter,
    send,
)

__all__ = ["allgather", "allreduce", "alltoallv", "broadcast", "receive", "reduce", "reduce_scatter", "send"]

__getattr__ = module_getattr(__name__)
