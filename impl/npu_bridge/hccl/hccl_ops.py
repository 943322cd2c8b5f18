"""Operators of collective communication, among the ranks of a group."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_bridge.helper.helper import get_gen_ops
from npu_reference.runtime.operators.collectives import (
    all_to_all_v,
    all_to_all_v_c,
    allgather,
    allreduce,
    broadcast,
    receive,
    reduce,
    reduce_scatter,
    send,
)

__all__ = [
    "all_to_all_v",
    "all_to_all_v_c",
    "allgather",
    "allreduce",
    "broadcast",
    "gen_hccl_ops",
    "receive",
    "reduce",
    "reduce_scatter",
    "send",
]

gen_hccl_ops = get_gen_ops()

__getattr__ = module_getattr(__name__)
