"""What a device is: its engines, rates, memories and links, each number with its origin."""

from __future__ import annotations

from npu_reference.hardware.device import PARAMETERS, Device, Figure
from npu_reference.hardware.reading import built_in, load, names

__all__ = ["PARAMETERS", "Device", "Figure", "built_in", "load", "names"]
