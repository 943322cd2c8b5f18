"""Configuration objects that NPURunConfig takes besides plain options, and the session options they stand for.

Document 003 names the four classes but not their arguments; names and defaults are those of the adapter's
public reference for the same classes.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

__all__ = ["DumpConfig", "ExperimentalConfig", "MemoryConfig", "ProfilingConfig"]


class _ConfigObject:
    """Some arguments, of which each becomes an attribute."""

    def _renamed(self) -> Dict[str, str]:
        """Session option of each argument that has another name there."""
        return {}

    def session_options(self) -> Dict[str, Any]:
        """Session option name to value; None is not written."""
        renamed = self._renamed()
        return {renamed.get(name, name): value for name, value in vars(self).items()}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({arguments})"


class DumpConfig(_ConfigObject):
    """Which operators' data is dumped, when, and where to (A49)."""

    def __init__(
        self,
        enable_dump: bool = False,
        dump_path: Optional[str] = None,
        dump_step: Optional[str] = None,
        dump_mode: str = "output",
        enable_dump_debug: bool = False,
        dump_debug_mode: str = "all",
    ) -> None:
        self.enable_dump = enable_dump
        self.dump_path = dump_path
        self.dump_step = dump_step
        self.dump_mode = dump_mode
        self.enable_dump_debug = enable_dump_debug
        self.dump_debug_mode = dump_debug_mode


class ProfilingConfig(_ConfigObject):
    """Whether a profile is collected, and of what (A48)."""

    def __init__(self, enable_profiling: bool = False, profiling_options: Optional[str] = None) -> None:
        self.enable_profiling = enable_profiling
        self.profiling_options = profiling_options

    def _renamed(self) -> Dict[str, str]:
        return {"enable_profiling": "profiling_mode"}


class MemoryConfig(_ConfigObject):
    """How the device's memory is cleaned and allocated."""

    def __init__(self, atomic_clean_policy: int = 0, static_memory_policy: int = 0) -> None:
        self.atomic_clean_policy = atomic_clean_policy
        self.static_memory_policy = static_memory_policy


class ExperimentalConfig(_ConfigObject):
    """Extensions for debugging; document 003 names none, so there are no arguments."""
