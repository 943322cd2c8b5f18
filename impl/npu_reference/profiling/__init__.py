"""Profile files of a simulated device: which options ask for them, their tables, and the tree they lie in."""

from npu_reference.profiling.collected import Collected, collected
from npu_reference.profiling.tree import ProfiledRun, files, write

__all__ = ["Collected", "ProfiledRun", "collected", "files", "write"]
