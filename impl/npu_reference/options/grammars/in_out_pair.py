"""Which ranges of operators an ``in_out_pair`` text names (in_out_pair.grammar, M23)."""

from __future__ import annotations

import re
from typing import Dict, List, Match, NamedTuple, Sequence, Tuple

from npu_reference.options.grammars.scanner import Scanner

__all__ = ["Range", "parse", "write"]

_FORM = "Write the text of a list of [in_nodes, out_nodes], such as [[['a'], ['b', 'c']]]."
_SPACE = re.compile(r"[ \t\r\n\f]*")
#: A quoted name without line breaks: the str() of a list of str writes nothing else. Compiled where a text is read.
_QUOTED = r"[uU]?(?:'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\")"
_ESCAPE = r"(?s)\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
_SIMPLE_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


class Range(NamedTuple):
    """One entry: every node on a path from one of ``in_nodes`` to one of ``out_nodes`` (M6)."""

    in_nodes: Tuple[str, ...]
    out_nodes: Tuple[str, ...]


class _Scanner(Scanner):
    """Brackets, commas and quoted names, with blanks between them skipped."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _FORM)
        self.skip()

    def skip(self) -> None:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]

    def take(self, piece: str, expected: str) -> None:
        if not self.at(piece):
            self.unexpected(f"{piece!r} {expected}")
        self.position += len(piece)
        self.skip()

    def name(self) -> str:
        start = self.position
        body = self.match(re.compile(_QUOTED), "a quoted node name")
        body = body[body.index(body[-1]) + 1 : -1]
        name = self._unescape(body, start) if "\\" in body else body
        if not name:
            self.refuse("a node name is empty.", start)
        self.skip()
        return name

    def _unescape(self, body: str, start: int) -> str:
        def character(match: Match[str]) -> str:
            two, four, one = match.groups()
            if two or four:
                number = int(two or four, 16)
                if 0xD800 <= number < 0xE000:
                    self.refuse("a node name holds half of a surrogate pair.", start)
                return chr(number)
            if one not in _SIMPLE_ESCAPES:
                self.refuse(f"unknown escape \\{one} in a node name.", start)
            return _SIMPLE_ESCAPES[one]

        return re.sub(_ESCAPE, character, body)


def parse(text: str) -> Tuple[Range, ...]:
    """The ranges of an ``in_out_pair`` value, in order.

    The text is what ``str()`` makes of a list of ``[in_nodes, out_nodes]`` pairs, each a list of node names. It is
    read as data, in time linear in its length, and never evaluated. Duplicate names are harmless and dropped
    (in_out_pair.duplicate_names); a comma after the last item is as harmless as in Python.

    Raises:
        GrammarError: anything else, an empty list at any level included.
    """
    scanner = _Scanner(text)
    scanner.take("[", "to open the list of ranges")
    ranges: List[Range] = []
    while not scanner.at("]"):
        ranges.append(_entry(scanner))
        if not scanner.at("]"):
            scanner.take(",", "or ']' after a range")
    if not ranges:
        scanner.refuse("the list holds no range.", scanner.position)
    scanner.take("]", "to close the list of ranges")
    if not scanner.done:
        scanner.unexpected("nothing after the list")
    return tuple(ranges)


def _entry(scanner: _Scanner) -> Range:
    scanner.take("[", "to open a range [in_nodes, out_nodes]")
    in_nodes = _names(scanner, "in_nodes")
    scanner.take(",", "between in_nodes and out_nodes")
    out_nodes = _names(scanner, "out_nodes")
    if scanner.at(","):
        scanner.take(",", "")
    scanner.take("]", "to close a range of exactly two lists")
    return Range(in_nodes, out_nodes)


def _names(scanner: _Scanner, role: str) -> Tuple[str, ...]:
    opened = scanner.position
    scanner.take("[", f"to open {role}")
    names: Dict[str, None] = {}
    separator = f"or ']' after a name of {role}"
    while not scanner.at("]"):
        names[scanner.name()] = None
        if not scanner.at("]"):
            scanner.take(",", separator)
    if not names:
        scanner.refuse(f"{role} is empty.", opened)
    scanner.take("]", f"to close {role}")
    return tuple(names)


def write(ranges: Sequence[Range]) -> str:
    """The text that :func:`parse` reads as ``ranges``."""
    return str([[list(entry.in_nodes), list(entry.out_nodes)] for entry in ranges])
