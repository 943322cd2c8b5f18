"""Messages as workflow commands of GitHub, which are shown beside the files of a change."""

from __future__ import annotations

from typing import Optional

__all__ = ["annotation"]


def annotation(
    severity: str, message: str, title: str, path: str, line: Optional[int] = None, column: Optional[int] = None
) -> str:
    """One line that GitHub shows beside ``path``.

    Args:
        severity: error, warning or notice.
        line, column: from 1, or None for the file as a whole.
    """
    where = f"file={_escaped(path, True)}"
    where += f",line={line}" if line is not None else ""
    where += f",col={column}" if column is not None else ""
    return f"::{severity} {where},title={_escaped(title, True)}::{_escaped(message)}"


def _escaped(value: str, in_property: bool = False) -> str:
    value = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return value.replace(":", "%3A").replace(",", "%2C") if in_property else value
