"""What a rule says about one place of a file, and how that place would be mended."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional

__all__ = ["SEVERITIES", "Edit", "Finding", "Fix"]

#: First letter of a code to what a finding with it is, worst first.
SEVERITIES = {"E": "error", "W": "warning", "S": "suggestion"}


class Edit(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) become ``text``; with ``start == end`` the text goes before ``start``."""

    start: int
    end: int
    text: str


#: Given the tokens of the file, the edits that mend one finding; None where the file is written in another way than
#: the fix knows. All edits of a finding are made, or none.
Fix = Callable[[Any], Optional[List[Edit]]]


class Finding(NamedTuple):
    """One place: ``line`` and ``column`` count from 1, the column in characters."""

    path: str
    line: int
    column: int
    code: str
    message: str
    fixable: bool = False

    @property
    def severity(self) -> str:
        """One of :data:`SEVERITIES`."""
        return SEVERITIES[self.code[0]]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.code} {self.message}"

    def to_json(self) -> Dict[str, Any]:
        """As ``--format json`` has it."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "fixable": self.fixable,
        }
