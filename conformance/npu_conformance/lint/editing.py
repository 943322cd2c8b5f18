"""Edits of a file's tokens: what every fix needs to find its place and to leave everything else as it was written."""

from __future__ import annotations

import ast
from typing import Any, Iterable, List, Optional, Tuple

from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.source import Source

__all__ = ["applied", "arguments", "at", "closing", "indent_of", "insert_lines", "reached", "rename", "replace",
           "starts_line", "text_of", "word_in_text"]  # fmt: skip

_OPENING = "([{"
_CLOSING = ")]}"
_SPACE = frozenset(["UNIMPORTANT_WS", "ESCAPED_NL", "NL", "COMMENT"])


def applied(tokens: List[Any], edits: Iterable[Edit]) -> str:
    """The text with edits made, which do not overlap."""
    parts = [token.src for token in tokens]
    for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
        parts[edit.start : edit.end] = [edit.text]
    return "".join(parts)


def rename(source: Source, node: Any, old: str, new: str) -> Fix:
    """The name or attribute ``old`` at the beginning of an expression, or after its dots, becomes ``new``."""

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(source, node)
        if start is None:
            return None
        for index in range(start, min(start + 40, len(tokens))):
            if tokens[index].name == "NAME" and tokens[index].src == old:
                return [Edit(index, index + 1, new)]
            if tokens[index].name == "NEWLINE":
                break
        return None

    return fix


def word_in_text(source: Source, node: Any, old: str, new: str) -> Fix:
    """The text literal ``old`` becomes ``new``, in the quotes and with the prefix it has."""

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(source, node)
        if start is None:
            return None
        # The literal may stand inside a call that makes bytes of it.
        for index in range(start, min(start + 12, len(tokens))):
            token = tokens[index]
            if token.name == "STRING":
                return [Edit(index, index + 1, token.src.replace(old, new))] if token.src.count(old) == 1 else None
            if token.name in ("NEWLINE", "ENDMARKER"):
                break
        return None

    return fix


def replace(source: Source, node: Any, text: str) -> Fix:
    """A whole expression becomes ``text``."""

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(source, node)
        return None if start is None else [Edit(start, reached(tokens, start), text)]

    return fix


def at(source: Source, node: Any) -> Optional[int]:
    """The index of the first token of a node; None where it cannot be found."""
    line, offset = getattr(node, "lineno", 0), getattr(node, "col_offset", -1)
    return source.token_at(line, offset)


def closing(tokens: List[Any], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``."""
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].name == "OP":
            if tokens[index].src in _OPENING:
                depth += 1
            elif tokens[index].src in _CLOSING:
                depth -= 1
                if depth == 0:
                    return index
    return len(tokens) - 1


def reached(tokens: List[Any], start: int) -> int:
    """Behind the last token of the expression at ``start``, which a comma, bracket, line or ``=`` ends."""
    depth, last = 0, start
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token.name in ("NEWLINE", "ENDMARKER"):
            break
        if token.name in _SPACE:
            continue
        if token.name == "OP":
            if depth == 0 and token.src in (*_CLOSING, ",", ";", "=", ":"):
                break
            depth += (token.src in _OPENING) - (token.src in _CLOSING)
        last = index
    return last + 1


def arguments(source: Source, tokens: List[Any], call: ast.Call) -> Optional[Tuple[int, int, List[Tuple[int, int]]]]:
    """Opening and closing bracket of a call, and the token ranges of its arguments in the order written.

    None where the callee is not a name with dots, so that the bracket would have to be guessed.
    """
    start = at(source, call.func)
    if start is None:
        return None
    groups = _groups(call.func)
    if groups is None:
        return None
    index = start
    while index < len(tokens):
        token = tokens[index]
        if token.name == "NEWLINE":
            return None
        if token.name == "OP" and token.src in _OPENING:
            if groups == 0:
                return (index, *_split(tokens, index)) if token.src == "(" else None
            groups -= 1
            index = closing(tokens, index)
        index += 1
    return None


def _groups(function: ast.expr) -> Optional[int]:
    """How many bracket groups the callee itself has: ``a(b)[c].d`` has two; None if it begins with a bracket."""
    groups, node = 0, function
    while True:
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call):
            groups, node = groups + 1, node.func
        elif isinstance(node, ast.Subscript):
            groups, node = groups + 1, node.value
        else:
            return groups if isinstance(node, ast.Name) else None


def _split(tokens: List[Any], opening: int) -> Tuple[int, List[Tuple[int, int]]]:
    end = closing(tokens, opening)
    found: List[Tuple[int, int]] = []
    depth, first, last = 0, -1, -1
    for index in range(opening + 1, end + 1):
        token = tokens[index]
        if token.name in _SPACE:
            continue
        if index == end or (depth == 0 and token.src == "," and token.name == "OP"):
            if first >= 0:
                found.append((first, last + 1))
            first = -1
            continue
        if token.name == "OP":
            depth += (token.src in _OPENING) - (token.src in _CLOSING)
        first = index if first < 0 else first
        last = index
    return end, found


def text_of(tokens: List[Any], start: int, end: int) -> str:
    return "".join(token.src for token in tokens[start:end])


def starts_line(source: Source, statement: Any) -> bool:
    """Whether a statement is the first of its line and the line holds no other: lines can go before and behind it."""
    line = source.lines[statement.lineno - 1].encode("utf-8", "replace")
    if line[: statement.col_offset].strip():
        return False
    index = at(source, statement)
    if index is None:
        return False
    depth = 0
    for token in source.tokens[index:]:
        if token.name in ("NEWLINE", "ENDMARKER"):
            return True
        if token.name == "OP":
            depth += (token.src in _OPENING) - (token.src in _CLOSING)
            if token.src == ";" and depth == 0:
                return False
    return True


def indent_of(source: Source, statement: Any) -> str:
    """The blanks and tabs before a statement."""
    line = source.lines[statement.lineno - 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def insert_lines(source: Source, statement: Any, lines: Iterable[str], behind: bool = False) -> Optional[Edit]:
    """Whole lines before a statement, or behind a simple one, indented as it is; None where that cannot be."""
    tokens = source.tokens
    if not starts_line(source, statement):
        return None
    index = at(source, statement)
    if index is None:
        return None
    indent, newline = indent_of(source, statement), source.newline
    text = "".join(f"{indent}{line}{newline}" if line else newline for line in lines)
    if not behind:
        while index > 0 and tokens[index - 1].name in ("INDENT", "DEDENT", "UNIMPORTANT_WS"):
            index -= 1
        return Edit(index, index, text)
    while index < len(tokens) and tokens[index].name not in ("NEWLINE", "ENDMARKER"):
        index += 1
    if index < len(tokens) and tokens[index].name == "NEWLINE" and tokens[index].src:
        return Edit(index + 1, index + 1, text)
    # The last line has no end: it gets one, and the new text has none.
    return Edit(index, index, newline + text[: -len(newline)])
