"""Decides how text reaches a reader: folded between words to a terminal's width, and to a pipe one item a line.

A name is never broken: who reads a pipe searches it, and a terminal can be copied from.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator, List, Mapping, NamedTuple, Sequence, Union

from npu_conformance.files import streams
from npu_reference.printing import clipped, printable

__all__ = ["Rows", "Terminal", "Text", "line", "noted", "plain"]

_GAP = "  "
_UNLIMITED = 1_000_000  # a pipe has no width
_LONGEST = 4000  # characters of one text that is not ours; JSON has all (assumed)

#: Variables that make rich treat a pipe as a terminal, or give it a width.
_LIKE_A_TERMINAL = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")


class Text:
    """Text of which a terminal shows the first ``styled`` characters in a style, such as "bold red"."""

    __slots__ = ("plain", "style", "styled")

    def __init__(self, plain: str, style: str = "", styled: int = _UNLIMITED) -> None:
        self.plain = plain
        self.style = style
        self.styled = styled

    def __add__(self, more: Union[str, Text]) -> Text:
        """This text with more behind it, which is in no style."""
        return Text(self.plain + str(more), self.style, min(self.styled, len(self.plain)))

    def __str__(self) -> str:
        return self.plain

    def __rich__(self) -> Any:
        from rich import text

        made = text.Text(self.plain)
        made.stylize(self.style, 0, self.styled)
        return made


Cell = Union[str, Text]


class Terminal:
    """Writes to stdout: as wide as the terminal, as COLUMNS says, or without either as wide as its longest line.

    A pipe gets the bare text. Rich, which takes a fifth of a small command's time, is loaded for a terminal alone, and
    for the few texts that it would change in a pipe, too.
    """

    def __init__(self) -> None:
        self._bare = not _is_terminal() and not any(name in os.environ for name in _LIKE_A_TERMINAL)
        self._rich: Any = None
        self.folds = False
        self.width = _UNLIMITED
        if not self._bare:
            self._rich = _console()
            self.folds = self._rich.is_terminal or "COLUMNS" in os.environ
        if self.folds:
            self.width = self._rich.width

    @property
    def encoding(self) -> str:
        return (getattr(sys.stdout, "encoding", None) or "utf-8").lower()

    def print(self, what: Any = "", *, style: str = "", soft_wrap: bool = False) -> None:
        """Writes a :class:`Text`, a table of :class:`Rows`, a text with rich's markup, or what else rich can show."""
        if isinstance(what, Rows):
            for parts in what.lines(self):
                self._row(parts)
        elif self._bare and _is_bare(what):
            _write(str(what))
        else:
            self._show(what, style=style or None, soft_wrap=soft_wrap)

    def _row(self, parts: Sequence[Text]) -> None:
        """Texts beside each other, each in its style, without blanks at the end."""
        whole = "".join(map(str, parts)).rstrip()
        if self._bare and whole.isprintable():
            _write(whole)
            return
        from rich import text

        row = text.Text.assemble(*((part.plain, part.style) for part in parts))
        row.rstrip()
        self._show(row, soft_wrap=True)

    def _show(self, what: Any, **options: Any) -> None:
        if self._rich is None:
            self._rich = _console()
        if not self.folds:
            self._rich.width = _UNLIMITED
        self._rich.print(what, **options)


def _is_terminal() -> bool:
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):  # somebody replaced or closed it
        return False


def _is_bare(what: Any) -> bool:
    """Whether rich would write a text as it is: it has neither markup nor anything that moves a cursor."""
    if isinstance(what, Text):
        return what.plain.isprintable()
    return isinstance(what, str) and what.isprintable() and "[" not in what


def _write(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away, which does not change the verdict
        streams.give_up_output()


def _console() -> Any:
    from rich.console import Console

    class Lasting(Console):
        def on_broken_pipe(self) -> None:
            """The reader went away: rich would end with status 1, which means not conformant."""
            streams.give_up_output()

    # In a notebook, too, the text goes to stdout.
    return Lasting(highlight=False, force_jupyter=False, emoji=False)


def plain(text: object) -> Text:
    """Text of a user's or a backend's, without markup or control characters."""
    return Text(printable(clipped(str(text), _LONGEST)))


def line(console: Terminal, text: Text, indent: int = 0) -> None:
    """A line of text, on a terminal folded between words, its later lines indented."""
    left = text.styled
    for part in _wrapped(text.plain, console.width, " " * indent) if console.folds else [text.plain]:
        console.print(Text(part, text.style, max(left, 0)), soft_wrap=True)
        left -= len(part) + 1 - indent


def noted(console: Terminal, notes: Sequence[Mapping[str, Any]], most: int = 10, what: str = "notes") -> None:
    """Notes, each with its code; of many the first. One that is no warning says so by its level."""
    for note in notes[:most]:
        subject = f"{note['subject']}: " if note["subject"] and note["subject"] not in note["message"] else ""
        style = "dim" if note.get("level") == "info" else "yellow"
        line(console, Text(f"{note['code']} ", style=style) + plain(subject + note["message"]), 2)
    if len(notes) > most:
        console.print(f"… {len(notes) - most} more {what}; --format json has all.", style="dim")


class _Layout(NamedTuple):
    widths: List[int]  # of the columns that stand beside each other
    beside: List[int]
    below: List[int]  # columns that have a line of their own below the row


class Rows:
    """A table.

    Args:
        columns: their headings.
        numbers: those of them that hold numbers: they end in one column.

    A table too wide for the terminal folds its cells between words; where names leave no room for other columns, the
    widest columns but the first move to lines of their own below each row.
    """

    def __init__(self, *columns: str, numbers: Sequence[str] = ()) -> None:
        self.columns = columns
        self._right = [name in numbers for name in columns]
        self._rows: List[List[Text]] = []
        self._sections: List[int] = []

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def add_row(self, *cells: Cell) -> None:
        """A row, a cell for each column; a cell has one style."""
        self._rows.append([cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells])

    def add_section(self) -> None:
        """A rule below the rows so far."""
        self._sections.append(len(self._rows))

    def lines(self, console: Terminal) -> Iterator[Sequence[Text]]:
        """The table between two empty lines, a rule below the headings on a terminal; the parts of each line."""
        head = [Text(name, style="bold") for name in self.columns]
        layout = self._layout(console.width)
        rule = ("─" if console.encoding.startswith("utf") else "-") * min(
            sum(layout.widths) + len(_GAP) * max(len(layout.beside) - 1, 0), console.width
        )
        yield [Text("")]
        yield from self._row(head, layout)
        if console.folds:
            yield [Text(rule)]
        for number, row in enumerate(self._rows):
            if console.folds and number in self._sections:
                yield [Text(rule)]
            yield from self._row(row, layout)
        yield [Text("")]

    def _layout(self, width: int) -> _Layout:
        cells = [[Text(name), *(row[k] for row in self._rows)] for k, name in enumerate(self.columns)]
        wide = [max(_cells(cell.plain) for cell in column) for column in cells]
        least = [max(_longest_word(cell.plain) for cell in column) for column in cells]
        beside, below = list(range(len(cells))), []
        while len(beside) > 1 and sum(least[k] for k in beside) + len(_GAP) * (len(beside) - 1) > width:
            movable = [k for k in beside[1:] if not self._right[k]] or beside[1:]
            longest = max(movable, key=lambda k: least[k])
            beside.remove(longest)
            below.append(longest)
        room = width - len(_GAP) * (len(beside) - 1)
        widths = _shared(room, [wide[k] for k in beside], [least[k] for k in beside])
        return _Layout(widths, beside, sorted(below))

    def _row(self, row: Sequence[Text], layout: _Layout) -> Iterator[Sequence[Text]]:
        folded = [_folded(row[k].plain, width) for k, width in zip(layout.beside, layout.widths)]
        for number in range(max(len(lines) for lines in folded)):
            parts: List[Text] = []
            for k, width, lines in zip(layout.beside, layout.widths, folded):
                text = lines[number] if number < len(lines) else ""
                cell, space = Text(text, row[k].style), Text(" " * (width - _cells(text)))
                parts += [Text(_GAP)] if parts else []
                parts += [space, cell] if self._right[k] else [cell, space]
            yield parts
        for k in layout.below:
            yield [Text(_GAP), row[k]]


def _shared(room: int, wide: Sequence[int], least: Sequence[int]) -> List[int]:
    """Widths between the least and the widest, the room given to the narrowest first."""
    widths = list(least)
    spare = room - sum(widths)
    for k in sorted(range(len(widths)), key=lambda k: (wide[k] - least[k], k)):
        more = min(max(spare, 0), wide[k] - least[k])
        widths[k] += more
        spare -= more
    return widths


def _longest_word(text: str) -> int:
    return max((_cells(word) for word in text.split()), default=0)


def _folded(text: str, width: int) -> Sequence[str]:
    return (text,) if _cells(text) <= width else _wrapped(text, max(width, 1))


def _wrapped(text: str, width: int, indent: str = "") -> Sequence[str]:
    import textwrap  # here, since nothing is folded in a pipe

    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese characters take two each."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich import cells

    return cells.cell_len(text)
