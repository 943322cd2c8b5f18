"""How line-based files are read: one statement a line, blank lines and ``#`` comments between them."""

from __future__ import annotations

from typing import Iterator, NamedTuple, NoReturn, Tuple

from npu_reference.options.grammars.scanner import fail

__all__ = ["Line", "key_and_value", "lines", "refuse"]


class Line(NamedTuple):
    """A statement without its margins, and the index of its first character in the whole text."""

    text: str
    position: int
    whole: str


def lines(text: str) -> Iterator[Line]:
    """The statements of a text, in order (P22: margins, blank lines and comments do not matter)."""
    position = 0
    for raw in text.split("\n"):
        statement = raw.strip()
        if statement and not statement.startswith("#"):
            yield Line(statement, position + len(raw) - len(raw.lstrip()), text)
        position += len(raw) + 1


def refuse(line: Line, reason: str, remedy: str = "", offset: int = 0) -> NoReturn:
    """Raise a GrammarError about a statement."""
    fail(reason, line.whole, line.position + offset, remedy)


def key_and_value(line: Line, form: str) -> Tuple[str, str]:
    """The two sides of ``key=value``, without blanks around them.

    Raises:
        GrammarError: no ``=``, or nothing on one of its sides.
    """
    key, equals, value = line.text.partition("=")
    if not equals:
        refuse(line, "there is no '=' in this line.", form)
    key, value = key.strip(), value.strip()
    if not key:
        refuse(line, "there is nothing before '='.", form)
    if not value:
        refuse(line, f"there is no value for {key}.", form, len(line.text))
    return key, value
