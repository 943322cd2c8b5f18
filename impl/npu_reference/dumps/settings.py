"""What the options of a session say about dumps: which operators' data, of which iterations, and where to."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple, Optional, Tuple

from npu_reference.options import Resolution
from npu_reference.options.grammars.dump_step import Steps

__all__ = ["DataDump", "ExceptionDump", "data_dump", "exception_dump"]

#: Below the folder of exception dumps; the device's number follows (files.exception_dump.lite_dir, D23).
EXCEPTION_FOLDERS = ("extra-info", "data-dump")


class DataDump(NamedTuple):
    """What is dumped while a session runs.

    Attributes:
        path: as given; relative to the current directory at session creation (D8).
        steps: iterations from 0; None: every one.
        mode: ``input``, ``output`` or ``all``.
        overflow: only operators whose results overflow: ``aicore_overflow``, ``atomic_overflow`` or ``all``; empty for
            every operator.
        before_quantisation: whether tensors that only a quantisation reads are kept (quant_dumpable).
        option: that names the path.
    """

    path: str
    steps: Optional[Steps]
    mode: str
    overflow: str = ""
    before_quantisation: bool = True
    option: str = "dump_path"

    def wants(self, step: int) -> bool:
        """Whether an iteration is dumped."""
        return self.steps is None or step in self.steps


def data_dump(resolution: Resolution) -> Optional[DataDump]:
    """What ``enable_dump`` or ``DumpConfig`` asks for; None for nothing."""
    values = resolution.values
    own = resolution.parsed.get("dump_config")
    config: Mapping[str, object] = own if isinstance(own, Mapping) else {}
    path = values.get("dump_path")
    overflow = ""
    if config.get("enable_dump_debug") or (resolution.of_run_config and values.get("enable_dump_debug")):
        overflow = str(config.get("dump_debug_mode") or values.get("dump_debug_mode") or "all")
    if not path or not (values.get("enable_dump") or overflow):
        return None
    steps = resolution.parsed.get("dump_step")
    # 003: before quantisation something may be optimised away unless quant_dumpable is 1; it is about inference only.
    kept = resolution.run_mode == 1 or str(values.get("quant_dumpable", "0")) == "1"
    mode = str(values.get("dump_mode") or config.get("dump_mode") or "output")
    return DataDump(str(path), steps if isinstance(steps, Steps) else None, mode, overflow, kept)


class ExceptionDump(NamedTuple):
    """What is dumped of an operator that fails.

    Attributes:
        lite: mode 2, without descriptions of the tensors and with tiling; else mode 1.
        base: the folder as the environment names it; empty for the current directory.
        option: the variable that names it, or the option that asks for the dump.
    """

    lite: bool
    base: str
    option: str = "enable_exception_dump"

    def folders(self, device: int) -> Tuple[str, ...]:
        """The folders below ``base``."""
        return (*EXCEPTION_FOLDERS, str(device))


def exception_dump(
    resolution: Resolution, env: Mapping[str, str], edition: str, *, unasked: bool = True
) -> Optional[ExceptionDump]:
    """What ``enable_exception_dump`` asks for; None for nothing.

    NPU_COLLECT_PATH makes it mode 1 and names the folder; else ASCEND_WORK_PATH names that of mode 2 (003).

    Args:
        unasked: whether the option's default counts where neither it nor a folder was given (D28).
    """
    mode = resolution.values.get("enable_exception_dump")
    collect = env.get("NPU_COLLECT_PATH", "") if edition == "current" else ""
    if collect:
        return ExceptionDump(False, collect, "NPU_COLLECT_PATH")
    if mode not in (1, 2):
        return None
    given = resolution.effective["enable_exception_dump"].origin != "default" or env.get("ASCEND_WORK_PATH")
    if not unasked and not given:
        return None
    work = env.get("ASCEND_WORK_PATH", "") if mode == 2 else ""
    return ExceptionDump(mode == 2, work, "ASCEND_WORK_PATH" if work else "enable_exception_dump")


def place(path: str, folder: str, root: Optional[str]) -> str:
    """Where a path lies: relative ones in ``folder``, absolute ones below ``root`` where there is one."""
    if os.path.isabs(path):
        return path if root is None else os.path.join(root, path.lstrip("/"))
    return os.path.join(folder, path)
