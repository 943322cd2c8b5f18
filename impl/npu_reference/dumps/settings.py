"""What the options of a session say about dumps of operators that fail, and where dumps lie."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple, Optional, Tuple

from npu_reference.options import Resolution

__all__ = ["ExceptionDump", "exception_dump", "place"]

#: Below the folder of exception dumps; the device's number follows (files.exception_dump.lite_dir, D23).
EXCEPTION_FOLDERS = ("extra-info", "data-dump")


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
    mode = resolution.typed.exception_dump
    collect = env.get("NPU_COLLECT_PATH", "") if edition == "current" else ""
    if collect:
        return ExceptionDump(False, collect, "NPU_COLLECT_PATH")
    if mode not in (1, 2):
        return None
    if not unasked and not resolution.typed.exception_dump_asked and not env.get("ASCEND_WORK_PATH"):
        return None
    work = env.get("ASCEND_WORK_PATH", "") if mode == 2 else ""
    return ExceptionDump(mode == 2, work, "ASCEND_WORK_PATH" if work else "enable_exception_dump")


def place(path: str, folder: str, root: Optional[str]) -> str:
    """Where a path lies: relative ones in ``folder``, absolute ones below ``root`` where there is one."""
    if os.path.isabs(path):
        return path if root is None else os.path.join(root, path.lstrip("/"))
    return os.path.join(folder, path)
