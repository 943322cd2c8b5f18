"""What a run of a script writes where its user says: the trace, and the folder of a plain dump."""

from __future__ import annotations

import json
import os
from typing import Optional

from npu_reference.errors import NpuError
from npu_reference.runtime.observing.trace import process_trace

__all__ = ["check_writable", "dump_folder", "write_trace"]


def dump_folder(path: str, device_precision: Optional[str]) -> str:
    """The absolute path of a folder for a plain dump, which is there afterwards."""
    if device_precision == "on":
        reason = "plain TensorFlow does not compute at the device's precision."
        raise NpuError("USAGE", "dump_plain", reason, "Leave the device precision off.")
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except OSError as error:
        raise NpuError("OUTPUT", path, f"the folder cannot be made: {error.strerror}.") from None
    return os.path.abspath(path)


def check_writable(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise NpuError("OUTPUT", path, "its folder does not exist.", "Create it first.")


def write_trace(path: str) -> None:
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(process_trace().to_json(), file, indent=1)
            file.write("\n")
        os.replace(aside, path)
    except OSError as error:
        raise NpuError("OUTPUT", path, f"the trace cannot be written: {error.strerror}.") from error
