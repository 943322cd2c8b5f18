"""How a parser of an option's text says what is wrong and where."""

from __future__ import annotations

import re
from typing import Iterable, NoReturn, Pattern, Tuple

__all__ = ["GrammarError", "ScannerNote", "Scanner", "fail", "few", "line_and_column", "nearby", "taken"]

_DIGITS = re.compile(r"[0-9]+")


class GrammarError(Exception):
    """A text does not follow its grammar.

    Args:
        reason: what is wrong, a sentence without the position.
        text: the whole text.
        position: index of the first character that cannot be right.
        remedy: what would be right.
    """

    def __init__(self, reason: str, text: str, position: int, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.position = position
        self.remedy = remedy

    @property
    def where(self) -> str:
        """``character 7``, or ``line 2, column 5`` in a text of several lines; counted from 1."""
        if "\n" not in self.text:
            return f"character {self.position + 1}"
        line, column = line_and_column(self.text, self.position)
        return f"line {line}, column {column}"


def fail(reason: str, text: str, position: int, remedy: str = "") -> NoReturn:
    """Raise a GrammarError."""
    raise GrammarError(reason, text, position, remedy)


def line_and_column(text: str, position: int) -> Tuple[int, int]:
    """Line and column of an index into ``text``, both counted from 1."""
    start = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, start) + 1, position - start + 1


def nearby(text: str, position: int, length: int = 20) -> str:
    """What stands at a position, for an error text."""
    if position >= len(text):
        return "the end of the text"
    piece = text[position : position + length]
    return repr(piece) + ("…" if position + length < len(text) else "")


class ScannerNote(str):
    """A sentence about a part of a text that is otherwise right; ``code`` is that of the warning it becomes."""

    code: str

    def __new__(cls, text: str, code: str = "part_ignored") -> ScannerNote:
        note = super().__new__(cls, text)
        note.code = code
        return note


def taken(text: str) -> ScannerNote:
    """A note about what takes effect although the documents write it otherwise, or not at all."""
    return ScannerNote(text, "undocumented")


def few(notes: Iterable[ScannerNote], limit: int = 10) -> Tuple[ScannerNote, ...]:
    """The first notes, and how many more there are: a text of megabytes must not answer with as many warnings."""
    every = tuple(notes)
    if len(every) <= limit:
        return every
    return (*every[:limit], ScannerNote(f"and {len(every) - limit} more such places.", every[limit].code))


class Scanner:
    """A position in a text, moved over expected pieces; everything unexpected fails at that position."""

    def __init__(self, text: str, form: str) -> None:
        self.text = text
        self.form = form
        self.position = 0

    @property
    def done(self) -> bool:
        return self.position >= len(self.text)

    def at(self, piece: str) -> bool:
        return self.text.startswith(piece, self.position)

    def unexpected(self, expected: str) -> NoReturn:
        fail(f"expected {expected}, found {nearby(self.text, self.position)}.", self.text, self.position, self.form)

    def refuse(self, reason: str, position: int) -> NoReturn:
        fail(reason, self.text, position, self.form)

    def take(self, piece: str, expected: str) -> None:
        """Move over ``piece``, which is what ``expected`` describes."""
        if not self.at(piece):
            self.unexpected(expected)
        self.position += len(piece)

    def match(self, pattern: Pattern[str], expected: str) -> str:
        """Move over what a pattern matches here, and return it."""
        found = pattern.match(self.text, self.position)
        if found is None:
            self.unexpected(expected)
        self.position = found.end()
        return found.group()

    def integer(self, expected: str) -> int:
        """Move over an unsigned decimal integer of at most 18 digits."""
        start = self.position
        digits = self.match(_DIGITS, expected)
        if len(digits) > 18:
            self.refuse("the number is too large.", start)
        return int(digits)
