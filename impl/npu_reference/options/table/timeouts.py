"""Options that bound how long something may take."""

from __future__ import annotations

from npu_reference.options.declaration import Facet, both, declare
from npu_reference.options.domains import Anything, Integer

__all__ = ["OPTIONS"]

_TOPIC = "Timeouts"

OPTIONS = (
    declare(
        "hccl_timeout",
        _TOPIC,
        "Longest collective communication; without it, HCCL_EXEC_TIMEOUT.",
        **both(Integer(1), "i", applies=("T", "TI")),
        current={"domain": Integer(1, 17340), "default": 1836},
        unit="s",
        readings=("A24", "B6", "B7", "T1", "T2", "T3"),
        requirements=("env.HCCL_EXEC_TIMEOUT",),
    ),
    declare(
        "op_wait_timeout",
        _TOPIC,
        "Longest wait of an operator.",
        **both(Integer(1), "i", applies=("T", "TI")),
        current={"default": 120},
        unit="s",
        readings=("A32", "T4"),
    ),
    declare(
        "op_execute_timeout",
        _TOPIC,
        "Longest run of an operator.",
        **both(Integer(1), "i", applies=("T", "TI")),
        legacy={"domain": Anything(), "status": "unsupported"},
        unit="s",
        readings=("A31", "T4"),
    ),
    declare(
        "stream_sync_timeout",
        _TOPIC,
        "Longest wait for a stream; -1 is no limit.",
        runconfig=Facet(Integer(1, None, (-1,)), "i", -1),
        unit="ms",
        readings=("B17", "B18", "T5", "T6"),
    ),
    declare(
        "event_sync_timeout",
        _TOPIC,
        "Longest wait for an event; -1 is no limit.",
        runconfig=Facet(Integer(1, None, (-1,)), "i", -1),
        unit="ms",
        readings=("B18", "T5"),
    ),
)
