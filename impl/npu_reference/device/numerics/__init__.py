"""What the simulated device's arithmetic does to numbers: rounding, saturation, the overflow flag.

Importing it needs TensorFlow only where it rewrites graphs.
"""

from __future__ import annotations

from npu_reference.device.numerics.layouts import ADDED, compute_channels_last, has_channels_first
from npu_reference.device.numerics.rewrite import rewrite
from npu_reference.device.numerics.status import FloatStatus

__all__ = ["ADDED", "FloatStatus", "compute_channels_last", "has_channels_first", "rewrite"]
