"""The timing plane: what happens when, on a virtual clock of whole nanoseconds, and what lies in memory then."""

from __future__ import annotations

from npu_reference.device.timing.execution import Span, Timeline, execute
from npu_reference.device.timing.memory import Block, MemoryPlan, plan_memory
from npu_reference.device.timing.profile import Profile, profile
from npu_reference.device.timing.runs import Run, run

__all__ = ["Block", "MemoryPlan", "Profile", "Run", "Span", "Timeline", "execute", "plan_memory", "profile", "run"]
