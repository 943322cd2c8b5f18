"""The simulated device."""

from __future__ import annotations
