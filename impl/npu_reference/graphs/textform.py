"""Reads protocol buffers in text form, with bounds the parser itself does not have."""

from __future__ import annotations

import re
from typing import Any, List

from ..errors import NpuError
from .limits import MAX_TEXT_BYTES, MAX_TEXT_DEPTH, MAX_TEXT_STRING
from .names import shorten

__all__ = ["decode", "looks_like_text", "parse_text", "top_level_names"]

# A quote, a comment, an opening or a closing bracket, or a name; whatever is between them does not matter here.
_TOKEN = re.compile(
    r"""
    (?P<quote>["'])
  | (?P<comment>\#[^\n]*)
  | (?P<open>[{<])
  | (?P<close>[}>])
  | (?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE,
)


# Some of a string up to where it may end. Matching it whole would keep a record for every escape in it.
_INSIDE = {quote: re.compile(rf"[^{quote}\\\n]*(?:\\.[^{quote}\\\n]*){{0,1000}}") for quote in "\"'"}


_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def looks_like_text(data: bytes) -> bool:
    """Whether the bytes may be the text form: only printable characters and white space at the beginning."""
    return _UNPRINTABLE.search(data, 0, 512) is None


def decode(data: bytes, subject: str) -> str:
    """The text; GRAPH_LIMIT where it is too long, GRAPH_FORMAT where it is no UTF-8."""
    if len(data) > MAX_TEXT_BYTES:
        reason = f"its text has {len(data)} bytes, the bound is {MAX_TEXT_BYTES}"
        raise NpuError("GRAPH_LIMIT", subject, reason, "Save it in binary form (.pb).")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise NpuError("GRAPH_FORMAT", f"{subject}:{line}:{column}", "the text is not UTF-8") from None


def top_level_names(text: str, subject: str) -> List[str]:
    """The names of the top-level fields of a text in order; GRAPH_LIMIT where it nests too deeply."""
    names: List[str] = []
    depth = 0
    match = _TOKEN.search(text)
    while match is not None:
        kind, end = match.lastgroup, match.end()
        if kind == "quote":
            end = _string_end(text, match.start(), subject)
        elif kind == "open":
            depth += 1
            if depth > MAX_TEXT_DEPTH:
                at = _position(text, match.start())
                raise NpuError("GRAPH_LIMIT", f"{subject}:{at}", f"messages nest deeper than {MAX_TEXT_DEPTH}")
        elif kind == "close":
            depth -= 1
        elif kind == "name" and depth == 0:
            names.append(match.group())
        match = _TOKEN.search(text, end)
    return names


def _string_end(text: str, start: int, subject: str) -> int:
    """Where the string that begins at ``start`` has ended; NpuError where it does not, or is longer than the bound."""
    inside = _INSIDE[text[start]]
    at = start + 1
    while True:
        found = inside.match(text, at)
        stop = found.end() if found else at
        if stop - start > MAX_TEXT_STRING:
            reason = f"a string has more than {MAX_TEXT_STRING} characters"
            where = f"{subject}:{_position(text, start)}"
            raise NpuError("GRAPH_LIMIT", where, reason, "Save it in binary form (.pb).")
        if text[stop : stop + 1] == text[start]:
            return stop + 1
        if stop == at:
            raise NpuError("GRAPH_FORMAT", f"{subject}:{_position(text, start)}", "a string is not closed on its line")
        at = stop


def _position(text: str, offset: int) -> str:
    """``line:column`` of an offset, both from 1."""
    return f"{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


def parse_text(text: str, message: Any, subject: str) -> Any:
    """``message`` filled from ``text``; fields newer than this package are passed over. NpuError GRAPH_FORMAT."""
    from google.protobuf import text_format

    try:
        text_format.Parse(text, message, allow_unknown_field=True)
    except text_format.ParseError as error:
        line, column = error.GetLine(), error.GetColumn()
        at = f"{subject}:{line}:{column}" if line else subject
        raise NpuError("GRAPH_FORMAT", at, _reason(str(error))) from None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, UnicodeError, OverflowError) as error:
        # The parser checks little of what it hands on: numbers out of range, ill-formed escapes.
        raise NpuError("GRAPH_FORMAT", subject, f"the text cannot be read: {shorten(str(error))}") from None
    return message


def _reason(text: str) -> str:
    """The parser's message without the ``line:column : `` it begins with, and on one line."""
    stripped = re.sub(r"^\d+:\d+ *: *", "", text).strip()
    return shorten(" ".join(stripped.split()) or "the text cannot be read", 200)
