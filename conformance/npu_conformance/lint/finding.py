"""What a rule says about one place of a file, and how that place would be mended."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

__all__ = ["DEFECT", "HINT", "SEVERITIES", "Edit", "Finding", "Fix", "Replacement"]

#: First letter of a code to what a finding with it is, worst first.
SEVERITIES = {"E": "error", "W": "warning", "S": "suggestion"}

#: The code under which lint says that it failed itself. No selection and no comment silences it.
DEFECT = "E003"

#: What is told and counts for nothing: where a suggestion would be wrong as often as right.
HINT = "hint"


class Edit(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) become ``text``; with ``start == end`` the text goes before ``start``."""

    start: int
    end: int
    text: str


#: Given the tokens of the file, the edits that mend one finding; None where the file is written in another way than
#: the fix knows. All edits of a finding are made, or none.
Fix = Callable[[Any], Optional[List[Edit]]]


class Replacement(NamedTuple):
    """What stands from ``line``, ``column`` to ``end_line``, ``end_column`` (exclusive) becomes ``text``.

    Lines and columns count from 1, columns in characters.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Finding(NamedTuple):
    """One place: ``line`` and ``column`` count from 1, the column in characters.

    Attributes:
        fixable: there is a fix; ``unsafe`` says that it may change what the program means.
        hint: it is told, and does not count.
        cell: of a notebook, the cell that ``line`` is of, from 1; ``file_line`` is that line in the file.
        replacements: the fix, in the order of the file; empty where nobody asked for it, and in notebooks.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    fixable: bool = False
    unsafe: bool = False
    hint: bool = False
    cell: int = 0
    file_line: int = 0
    replacements: Tuple[Replacement, ...] = ()

    @property
    def severity(self) -> str:
        """One of :data:`SEVERITIES`, or :data:`HINT`."""
        return HINT if self.hint else SEVERITIES[self.code[0]]

    @property
    def place(self) -> str:
        """``file:line:column``, of a notebook ``file:cell 3:line:column``."""
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.path}{cell}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place} {self.code} {self.message}"

    def to_json(self) -> Dict[str, Any]:
        """As ``--format json`` has it."""
        answer = {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "fixable": self.fixable,
        }
        if self.fixable:
            answer["fix"] = "unsafe" if self.unsafe else "safe"
        if self.cell:
            answer["cell"] = self.cell
        return answer
