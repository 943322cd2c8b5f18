"""Which ranges of operators an ``in_out_pair`` text names (in_out_pair.grammar, M23)."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.options.grammars.scanner import fail, nearby

__all__ = ["Range", "parse", "write"]

_FORM = "Write the text of a list of [in_nodes, out_nodes], such as [[['a'], ['b', 'c']]]."
_SPACE = re.compile(r"[ \t\r\n\f]*")
#: A quoted name without line breaks: the str() of a list of str writes nothing else.
_QUOTED = re.compile(r"[uU]?(?:'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\")")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


class Range(NamedTuple):
    """One entry: every node on a path from one of ``in_nodes`` to one of ``out_nodes`` (M6)."""

    in_nodes: Tuple[str, ...]
    out_nodes: Tuple[str, ...]


class _Scanner:
    """A position in a text, moved over brackets, commas and names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.skip()

    def skip(self) -> None:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]

    def at(self, character: str) -> bool:
        return self.text.startswith(character, self.position)

    def take(self, character: str, role: str) -> None:
        if not self.at(character):
            fail(f"expected {character!r} {role}, found {nearby(self.text, self.position)}.", self.text,
                 self.position, _FORM)
        self.position += 1
        self.skip()

    def name(self) -> str:
        match = _QUOTED.match(self.text, self.position)
        if match is None:
            fail(f"expected a quoted node name, found {nearby(self.text, self.position)}.", self.text,
                 self.position, _FORM)
        start = self.position
        body = match.group()
        body = body[body.index(body[-1]) + 1 : -1]
        name = self._unescape(body, start) if "\\" in body else body
        if not name:
            fail("a node name is empty.", self.text, start, _FORM)
        self.position = match.end()
        self.skip()
        return name

    def _unescape(self, body: str, start: int) -> str:
        def character(match: re.Match[str]) -> str:
            two, four, one = match.groups()
            if two or four:
                number = int(two or four, 16)
                if 0xD800 <= number < 0xE000:
                    fail("a node name holds half of a surrogate pair.", self.text, start, _FORM)
                return chr(number)
            if one not in _SIMPLE_ESCAPES:
                fail(f"unknown escape \\{one} in a node name.", self.text, start, _FORM)
            return _SIMPLE_ESCAPES[one]

        return _ESCAPE.sub(character, body)


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
        fail("the list holds no range.", text, scanner.position, _FORM)
    scanner.take("]", "to close the list of ranges")
    if scanner.position != len(text):
        fail(f"unexpected {nearby(text, scanner.position)} after the list.", text, scanner.position, _FORM)
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
    while not scanner.at("]"):
        names[scanner.name()] = None
        if not scanner.at("]"):
            scanner.take(",", f"or ']' after a name of {role}")
    if not names:
        fail(f"{role} is empty.", scanner.text, opened, _FORM)
    scanner.take("]", f"to close {role}")
    return tuple(names)


def write(ranges: Sequence[Range]) -> str:
    """The text that :func:`parse` reads as ``ranges``."""
    return str([[list(entry.in_nodes), list(entry.out_nodes)] for entry in ranges])
