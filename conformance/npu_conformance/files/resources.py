"""Decides where cases, goldens, fixtures and requirements are: inside the installed package or in a checkout."""

from __future__ import annotations

import os

from npu_reference.errors import NpuError

__all__ = ["PACKAGE", "cases", "fixtures", "golden", "requirements", "schemas", "fixture", "docs"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHECKOUT = os.path.dirname(os.path.dirname(PACKAGE))


def _data(name: str) -> str:
    """The folder ``name`` of the wheel, or of the repository root when run from a checkout."""
    installed = os.path.join(PACKAGE, "_data", name)
    return installed if os.path.isdir(installed) else os.path.join(_CHECKOUT, name)


def cases() -> str:
    """Folder of the case files."""
    return os.path.join(PACKAGE, "cases")


def requirements() -> str:
    """Folder of the requirement inventory."""
    return os.path.join(PACKAGE, "requirements")


def schemas() -> str:
    """Folder of the JSON Schemas."""
    return os.path.join(PACKAGE, "schemas")


def fixtures() -> str:
    """Folder of the input graphs, scripts and option files."""
    return _data("fixtures")


def docs() -> str:
    """Folder of the pages of the documentation."""
    return _data("docs")


def golden() -> str:
    """Folder of the expected facts."""
    return _data("golden")


def fixture(relative: str, *, where: str, root: str = "") -> str:
    """Absolute path of a fixture.

    Args:
        relative: path below the fixtures folder, with ``/``.
        where: what names it, for the error.
        root: another fixtures folder.
    Raises:
        NpuError: CASE_FILE when it leaves the folder or does not exist.
    """
    base = os.path.abspath(root or fixtures())
    path = os.path.normpath(os.path.join(base, relative))
    if not path.startswith(base + os.sep):
        raise NpuError("CASE_FILE", where, f"the path {relative!r} leaves the fixtures folder")
    if not os.path.exists(path):
        raise NpuError("CASE_FILE", where, f"there is no fixture {relative!r}", f"Fixtures are below {base}.")
    return path
