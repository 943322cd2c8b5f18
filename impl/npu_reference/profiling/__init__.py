"""Profile files of a simulated device: their tables, and the tree they lie in."""

from npu_reference.profiling.tree import ProfiledRun, files, write

__all__ = ["ProfiledRun", "files", "write"]
