"""Decides how text reaches a reader: folded between words to a terminal's width, and to a pipe one item a line.

A name is never broken: who reads a pipe searches it, and a terminal can be copied from.
"""

from __future__ import annotations

import os
import textwrap
from typing import Any, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from npu_conformance.files import streams
from npu_reference.printing import clipped, printable

__all__ = ["Rows", "Terminal", "line", "noted", "plain"]

_GAP = "  "
_UNLIMITED = 1_000_000  # a pipe has no width
_LONGEST = 4000  # characters of one text that is not ours; JSON has all (assumed)

Cell = Union[str, Text]


class Terminal(Console):
    """Writes to stdout: as wide as the terminal, as COLUMNS says, or without either as wide as its longest line."""

    def __init__(self) -> None:
        # In a notebook, too, the text goes to stdout.
        super().__init__(highlight=False, force_jupyter=False, emoji=False)
        self.folds = self.is_terminal or "COLUMNS" in os.environ
        if not self.folds:
            self.width = _UNLIMITED

    def on_broken_pipe(self) -> None:
        """The reader went away: rich would end with status 1, which means not conformant."""
        streams.give_up_output()

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does, and tables of :class:`Rows`."""
        if len(objects) == 1 and isinstance(objects[0], Rows):
            for text in objects[0].lines(self):
                super().print(text, soft_wrap=True)
        else:
            super().print(*objects, **options)


def plain(text: object) -> Text:
    """Text of a user's or a backend's, without markup or control characters."""
    return Text(printable(clipped(str(text), _LONGEST)))


def line(console: Terminal, text: Text, indent: int = 0) -> None:
    """A line of text, on a terminal folded between words, its later lines indented; styles are those of its start."""
    lines = [text.plain]
    if console.folds:
        lines = textwrap.wrap(
            text.plain, console.width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
        )
    first = Text(lines[0] if lines else "")
    for span in text.spans:
        first.stylize(span.style, span.start, span.end)
    console.print(first, soft_wrap=True)
    for rest in lines[1:]:
        console.print(Text(rest), soft_wrap=True)


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

    def lines(self, console: Terminal) -> Iterator[Text]:
        """The table between two empty lines; a rule below the headings on a terminal."""
        head = [Text(name, style="bold") for name in self.columns]
        layout = self._layout(console.width)
        rule = ("─" if console.encoding.startswith("utf") else "-") * min(
            sum(layout.widths) + len(_GAP) * max(len(layout.beside) - 1, 0), console.width
        )
        yield Text("")
        yield from self._row(head, layout)
        if console.folds:
            yield Text(rule)
        for number, row in enumerate(self._rows):
            if console.folds and number in self._sections:
                yield Text(rule)
            yield from self._row(row, layout)
        yield Text("")

    def _layout(self, width: int) -> _Layout:
        cells = [[Text(name), *(row[k] for row in self._rows)] for k, name in enumerate(self.columns)]
        wide = [max(cell_len(cell.plain) for cell in column) for column in cells]
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

    def _row(self, row: Sequence[Text], layout: _Layout) -> Iterator[Text]:
        folded = [_folded(row[k].plain, width) for k, width in zip(layout.beside, layout.widths)]
        for number in range(max(len(lines) for lines in folded)):
            parts = []
            for k, width, lines in zip(layout.beside, layout.widths, folded):
                text = lines[number] if number < len(lines) else ""
                space = " " * (width - cell_len(text))
                parts.append(Text.assemble(space if self._right[k] else "", (text, _style(row[k])),
                                           "" if self._right[k] else space))  # fmt: skip
            made = Text(_GAP).join(parts)
            made.rstrip()
            yield made
        for k in layout.below:
            yield Text.assemble(_GAP, (row[k].plain, _style(row[k])))


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
    return max((cell_len(word) for word in text.split()), default=0)


def _folded(text: str, width: int) -> Tuple[str, ...]:
    if cell_len(text) <= width:
        return (text,)
    return tuple(textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)) or ("",)


def _style(text: Text) -> str:
    return str(text.spans[0].style if text.spans else text.style)
