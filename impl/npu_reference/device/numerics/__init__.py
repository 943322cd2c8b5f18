"""What the simulated device's arithmetic does to numbers: rounding, saturation, the overflow flag.

Importing it needs TensorFlow only where it rewrites graphs.
"""

from __future__ import annotations

from npu_reference.device.numerics.rewrite import rewrite
from npu_reference.device.numerics.status import FloatStatus

__all__ = ["FloatStatus", "rewrite"]
