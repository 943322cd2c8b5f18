"""How a parser of an option's text says what is wrong and where."""

from __future__ import annotations

from typing import NoReturn, Tuple

__all__ = ["GrammarError", "fail", "line_and_column", "nearby"]


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
