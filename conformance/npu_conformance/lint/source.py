"""One Python file: its bytes, its text exactly as it is written, its syntax tree, and its tokens."""

from __future__ import annotations

import ast
import bisect
import codecs
import io
import itertools
import re
import sys
import tokenize
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from npu_reference import notebooks

__all__ = ["LARGEST", "Places", "Source", "Unreadable"]

#: Of every line of a notebook's code its cell and its line there; empty for a script.
Places = Sequence[Tuple[int, int]]

#: Largest file that is read, in bytes; ``assumed``, far above any script that a person wrote.
LARGEST = 4 << 20

#: What gives a file away as Python 2, with the words for it.
_PYTHON_2 = (
    (re.compile(r"^[ \t]*print[ \t]+[^\s(=.,\[]|^[ \t]*print[ \t]*\([^\n]*\)[ \t]*%|^[ \t]*print[ \t]*>>", re.M),
     "a print statement"),
    (re.compile(r"^[ \t]*except[ \t]+[\w.() ,]+,[ \t]*\w+[ \t]*:", re.M), "except with a comma"),
    (re.compile(r"^[ \t]*raise[ \t]+\w+[ \t]*,", re.M), "raise with a comma"),
    (re.compile(r"^[ \t]*exec[ \t]+[^\s(=]", re.M), "an exec statement"),
    (re.compile(r"<>"), "the operator <>"),
    (re.compile(r"\b0[0-7]+\b"), "an octal number without o"),
    (re.compile(r"\b[0-9]+[lL]\b"), "a long number"),
    (re.compile(r"\b[uU][rR][\"']"), "a ur text"),
    (re.compile(r"`[^`\n]+`"), "backquotes"),
)  # fmt: skip


class Unreadable(Exception):
    """Why there is no syntax tree: the line and column, and one sentence. ``code`` is the rule that says it."""

    def __init__(self, code: str, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = max(line, 1)
        self.column = max(column, 1)
        self.message = message


class Source:
    """A file whose bytes are given; ``path`` is only its name.

    Attributes:
        text: the file decoded as its encoding cookie says, line ends as they are, without a byte order mark.
        tree: its syntax tree.

    Raises:
        Unreadable: E001 for what is no Python 3, E002 for what is no text.
    """

    def __init__(self, path: str, data: bytes, places: Places = ()) -> None:
        self.path = path
        self._places = places
        self.data = data
        self.encoding, self.mark = _encoding(data)
        self.text = _decoded(data[len(self.mark) :], self.encoding)
        self._lines: Optional[List[str]] = None
        self._tokens: Optional[List[Any]] = None
        self._at: Optional[Dict[Tuple[int, int], int]] = None
        self._starts: Optional[Tuple[List[int], List[int]]] = None
        self.tree = _parsed(self.text)

    @property
    def lines(self) -> List[str]:
        """The lines with their ends, as Python counts them."""
        if self._lines is None:
            self._lines = io.StringIO(self.text, newline="").readlines()
        return self._lines

    @property
    def newline(self) -> str:
        """The line end of the first line; LF for a file of one line without any."""
        first = self.lines[0] if self.lines else ""
        return next((end for end in ("\r\n", "\n", "\r") if first.endswith(end)), "\n")

    def where(self, line: int) -> str:
        """How messages name a line: ``line 4``, of a notebook ``line 4 of cell 2``, or the end of the cell before."""
        return notebooks.where(self._places, line) if self._places else f"line {line}"

    def column(self, line: int, offset: int) -> int:
        """The column, in characters from 1, of an offset in bytes of UTF-8, as the syntax tree has them."""
        if line > len(self.lines) or offset <= 0:
            return 1
        return len(self.lines[line - 1].encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1

    @property
    def tokens(self) -> List[Any]:
        """The file as tokenize-rt sees it; joined, the tokens are the text again.

        Raises:
            ValueError: the tokens do not give the text again, so that nothing may be edited.
        """
        if self._tokens is None:
            import tokenize_rt

            text = re.sub("\r(?!\n)", "\n", self.text)  # no line ends with CR alone to it
            try:
                tokens = tokenize_rt.src_to_tokens(text)
            except (tokenize.TokenError, tokenize_rt.tokenize.TokenError, SyntaxError, IndexError) as problem:
                raise ValueError(str(problem)) from None
            if tokenize_rt.tokens_to_src(tokens) != text:
                raise ValueError("its tokens do not give the file again")
            places = zip(tokens, _sums(token.src for token in tokens))
            self._tokens = [one._replace(src=self.text[place : place + len(one.src)]) for one, place in places]
        return self._tokens

    def token_at(self, line: int, offset: int) -> Optional[int]:
        """The index of the token that starts at a place of the syntax tree."""
        if self._at is None:
            self._at = {}
            for index, token in enumerate(self.tokens):
                if token.src and token.line is not None:
                    self._at.setdefault((token.line, token.utf8_byte_offset), index)
        return self._at.get((line, offset))

    def place_of(self, index: int) -> Tuple[int, int]:
        """Line and column, in characters from 1, at which a token starts; of one behind the last, where that ends."""
        if self._starts is None:
            lines = _sums(self.lines)
            if not self.text.endswith(("\n", "\r")):
                lines.pop()  # no line begins behind the last one
            self._starts = (_sums(token.src for token in self.tokens), lines)
        tokens, lines = self._starts
        offset = tokens[index]
        line = bisect.bisect_right(lines, offset)
        return line, offset - lines[line - 1] + 1

    def encoded(self, text: str) -> bytes:
        """The bytes of a changed text, in the file's own encoding.

        Raises:
            UnicodeEncodeError: a character that this encoding does not have.
        """
        return self.mark + text.encode(self.encoding)


def _sums(parts: Iterable[str]) -> List[int]:
    """The offset at which each part starts, and that at which the last one ends."""
    return [0, *itertools.accumulate(map(len, parts))]


def _encoding(data: bytes) -> Tuple[str, bytes]:
    if len(data) > LARGEST:
        raise Unreadable("E002", 1, 1, f"The file has more than {LARGEST} bytes and is not read.")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as problem:
        raise Unreadable("E002", 1, 1, f"The file cannot be decoded: {problem.msg}.") from None
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8", codecs.BOM_UTF8
    return encoding, b""


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise Unreadable("E002", line, 1, f"The file is not {encoding} at byte {problem.start}.") from None
    except (LookupError, ValueError):
        raise Unreadable("E002", 1, 1, f"The file cannot be decoded as {encoding}.") from None


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as problem:
        found = _python_2(text, problem.lineno or 1)
        if found:
            reason = f"This is Python 2: {found}. TensorFlow's adapter needs Python 3; convert the file with 2to3."
        else:
            version = ".".join(map(str, sys.version_info[:2]))
            reason = f"Python {version} cannot read this: {problem.msg}."
        raise Unreadable("E001", problem.lineno or 1, problem.offset or 1, reason) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        # NUL bytes, and nesting beyond what the parser follows.
        reason = str(problem) or "it is nested too deeply"
        raise Unreadable("E001", 1, 1, f"Python cannot read this: {reason}.") from None


def _python_2(text: str, line: int) -> str:
    """What in the line of a syntax error, or near it, is Python 2; empty when nothing is."""
    lines = text.splitlines()
    near = "\n".join(lines[max(line - 2, 0) : line + 1])
    for pattern, words in _PYTHON_2:
        if pattern.search(near):
            return words
    return ""
