"""Reads TOML files on every Python, and says file and line when one is not TOML."""

from __future__ import annotations

import os
from typing import Any, Dict, List

import tomli  # compiled where there are wheels: three times as fast as the standard library's

from npu_reference.errors import NpuError

__all__ = ["load", "parse", "read", "files_below"]

_MAX_BYTES = 8 << 20  # assumed: the largest inventory file is a tenth of this


def load(path: str, code: str = "CASE_FILE") -> Dict[str, Any]:
    """The document in the file.

    Raises:
        NpuError: ``code``, naming the file, when it cannot be read or parsed.
    """
    return parse(read(path, code), path, code)


def read(path: str, code: str = "CASE_FILE") -> str:
    """The text of the file, not yet parsed.

    Raises:
        NpuError: ``code``, naming the file, when it cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            content = stream.read(_MAX_BYTES + 1)  # a device or pipe has no size, and may have no end
        if len(content) > _MAX_BYTES:
            raise NpuError(code, path, f"the file is larger than {_MAX_BYTES >> 20} MiB")
        return content.decode("utf-8")
    except OSError as error:
        raise NpuError(code, path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # no UTF-8
        raise NpuError(code, path, f"is not TOML: {error}") from None


def parse(text: str, subject: str, code: str = "CASE_FILE") -> Dict[str, Any]:
    """The document in a text; ``subject`` is where it came from.

    Raises:
        NpuError: ``code``, naming the subject, when it is not TOML.
    """
    try:
        return tomli.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML, or an integer of thousands of digits
        raise NpuError(code, subject, f"is not TOML: {error}") from None


def files_below(folder: str, ending: str) -> List[str]:
    """Paths, relative to ``folder`` and with ``/``, of all files below it with this ending, sorted."""
    found: List[str] = []
    for base, folders, names in os.walk(folder):
        folders.sort()
        found.extend(
            os.path.relpath(os.path.join(base, name), folder).replace(os.sep, "/")
            for name in names
            if name.endswith(ending)
        )
    return sorted(found)
