"""A TensorFlow session that runs host operators in TensorFlow and GEOPs on the simulated device.

Importing this package does not import TensorFlow; switching it on does.
"""

from __future__ import annotations

from npu_reference.runtime.observing.trace import RunRecord, Totals, Trace, TracedCopy, process_trace
from npu_reference.runtime.scripts.simulate import simulate
from npu_reference.runtime.sessions.activation import activate, deactivate

__all__ = ["TracedCopy", "RunRecord", "Totals", "Trace", "activate", "deactivate", "simulate", "trace"]


def trace() -> Trace:
    """The trace of this process."""
    return process_trace()
