"""Notebooks (nbformat 4) as Python: the code of their cells in order, without the lines that only IPython reads."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

from npu_reference import strict_json

__all__ = ["LARGEST", "SUFFIX", "Cell", "Notebook", "NotebookError", "OtherLanguage", "cell_name", "lines_of", "read",
           "rewritten", "where"]  # fmt: skip

#: How the name of a notebook ends.
SUFFIX = ".ipynb"

#: Largest notebook that is read, in bytes; ``assumed``: pictures that cells have shown are in the file.
LARGEST = 64 << 20

#: Cell magics whose cell is Python all the same; that of any other is another language, or is not run where it stands.
_OF_PYTHON = frozenset(["capture", "debug", "prun", "time", "timeit"])

#: A logical line that IPython reads: a magic, a command of the shell, a question for help.
_IPYTHON = re.compile(r"[ \t]*(?:[%!?]|[%\w.]+\?{1,2}[ \t\r]*$)")
#: What is assigned from one.
_ASSIGNED = re.compile(r"([ \t]*[\w., \t]+=[ \t]*)[%!](?!=)")
#: Any text without a match has none of either.
_MAYBE = re.compile(r"^[ \t]*[%!?]|\?[ \t\r]*$|=[ \t]*[%!]", re.MULTILINE)

_PART = re.compile(r"#[^\n]*|\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[()\[\]{}]|\\\r?\n", re.DOTALL)
_MARK = "# npu-conformance: line {} of IPython"
_MARKED = re.compile(r"# npu-conformance: line (\d+) of IPython\r?$")
_CELL = "# npu-conformance: cell {}"
_CELLED = re.compile(r"^# npu-conformance: cell (\d+)\r?\n", re.MULTILINE)


class NotebookError(ValueError):
    """Why a notebook cannot be read, or cannot be written back: a sentence."""


class OtherLanguage(NotebookError):
    """A notebook whose cells are no Python."""


class Cell(NamedTuple):
    """A cell of code: its place among all cells of the notebook, from 1, and its text as it is written."""

    number: int
    text: str


class Notebook:
    """The cells of code of one notebook.

    Attributes:
        cells: in their order.
        text: their Python, each cell after a comment of its own line; a line of IPython is a ``pass``.
        places: of every line of ``text``, the number of its cell, and its line there; 0 for the line before the cell.
        ignored: how many lines are IPython's, or of cells that are left out.
    """

    def __init__(self, cells: Sequence[Cell], left_out: Set[int], unknown: str) -> None:
        self.cells = tuple(cells)
        self.places: List[Tuple[int, int]] = []
        self._hidden: List[str] = []
        self._open: Dict[int, bool] = {}  # whether a cell ends without a line end
        self._shown: List[Tuple[int, str]] = []
        parts: List[str] = []
        for cell in self.cells:
            lines = _lines(cell.text)
            self._open[cell.number] = bool(lines) and not lines[-1].endswith(("\n", "\r"))
            hidden = cell.number in left_out
            shown = [self._hide(line, "") for line in lines] if hidden else self._python(lines, unknown)
            text = "".join(shown)
            self._shown.append((cell.number, text))
            end = "" if not text or text.endswith(("\n", "\r")) else "\n"
            parts.append(_CELL.format(cell.number) + "\n" + text + end)
            self.places += [(cell.number, line) for line in range(len(lines) + 1)]
        self.text = "".join(parts)

    @property
    def ignored(self) -> int:
        return len(self._hidden)

    def where(self, line: int) -> str:
        """How messages name a line of ``text``."""
        return where(self.places, line)

    def shown(self) -> Iterator[Tuple[int, str]]:
        """The number of each cell, and its Python."""
        return iter(self._shown)

    def _hide(self, line: str, instead: str) -> str:
        self._hidden.append(line)
        return (f"{instead}  " if instead else "") + _MARK.format(len(self._hidden) - 1) + "\n"

    def _python(self, lines: List[str], unknown: str) -> List[str]:
        found: List[str] = []
        first = next((line for line in lines if line.strip()), "")
        if first.startswith("%%"):
            if (first[2:].split() or [""])[0] in _OF_PYTHON:
                at = lines.index(first)
                found = [*lines[:at], self._hide(first, "")]
                lines = lines[at + 1 :]
            else:
                return [self._hide(line, "") for line in lines]
        if not _MAYBE.search("".join(lines)):
            return [*found, *lines]
        state = _State()
        inside = False
        for line in lines:
            if inside or (state.at_start and (_IPYTHON.match(line) or _ASSIGNED.match(line))):
                given = None if inside else _ASSIGNED.match(line)
                indent = line[: len(line) - len(line.lstrip(" \t"))]
                instead = "" if inside else (given.group(1) + unknown if given else indent + "pass")
                found.append(self._hide(line, instead))
                inside = line.rstrip("\r\n").endswith("\\")
            else:
                found.append(line)
                state.read(line)
        return found

    def changed(self, text: str) -> Dict[int, str]:
        """The cells that a changed ``text`` has otherwise, by their number.

        Raises:
            NotebookError: the lines between cells, or those of IPython, are not all there any more.
        """
        parts = _CELLED.split(text)
        numbers = [int(number) for number in parts[1::2]]
        if parts[0] or numbers != [cell.number for cell in self.cells]:
            raise NotebookError("The cells are not what they were.")
        seen: List[int] = []
        found: Dict[int, str] = {}
        for cell, part in zip(self.cells, parts[2::2]):
            lines = _lines(part)
            for position, line in enumerate(lines):
                mark = _MARKED.search(line.rstrip("\n"))
                if mark is not None:
                    seen.append(int(mark.group(1)))
                    lines[position] = self._hidden[seen[-1]]
            new = "".join(lines)
            if self._open[cell.number] and new.endswith("\n"):
                new = new[:-1]
            if new != cell.text:
                found[cell.number] = new
        if seen != list(range(len(self._hidden))):
            raise NotebookError("The lines of IPython are not what they were.")
        return found


def where(places: Sequence[Tuple[int, int]], line: int) -> str:
    """``line 2 of cell 3`` of a line whose cell and line there are known; behind the last of a cell, its end."""
    cell, inside = places[line - 1] if line <= len(places) else (0, 0)
    if inside:
        return f"line {inside} of cell {cell}"
    return f"the end of cell {places[min(line - 1, len(places)) - 1][0]}"


class _State:
    """Whether the next line of Python begins a statement."""

    def __init__(self) -> None:
        self.depth = 0
        self.quote = ""
        self.continued = False

    @property
    def at_start(self) -> bool:
        return not self.quote and not self.continued and self.depth <= 0

    def read(self, line: str) -> None:
        at, self.continued = 0, False
        while at < len(line):
            if self.quote:
                end = re.compile(r"\\.|" + self.quote, re.DOTALL).search(line, at)
                if end is None:
                    return
                at = end.end()
                self.quote = self.quote if end.group().startswith("\\") else ""
                continue
            part = _PART.search(line, at)
            if part is None:
                return
            at, word = part.end(), part.group()
            if word in ('"""', "'''"):
                self.quote = word
            elif word[0] == "\\":
                self.continued = True
            else:
                self.depth += (word in "([{") - (word in ")]}")


def cell_name(path: str, number: int) -> str:
    """What a cell is called where Python names files."""
    return f"{path}, cell {number}"


def _lines(text: str) -> List[str]:
    """Lines with their ends, as Python counts them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)


def read(data: bytes, left_out: Sequence[int] = (), unknown: str = "get_ipython()") -> Notebook:
    """The cells of code of a notebook's file.

    Args:
        data: the bytes of the file.
        left_out: numbers of cells of which no line is shown.
        unknown: the expression that stands for what IPython would give to a name.

    Raises:
        OtherLanguage: the notebook is none of Python.
        NotebookError: it is no notebook of format 4, or has more than :data:`LARGEST` bytes.
    """
    whole = _parsed(data)
    language = _language(whole)
    if language and not language.startswith(("python", "ipython")):
        raise OtherLanguage(f"It is a notebook of {language[:40]}.")
    cells = []
    for position, cell in enumerate(whole["cells"], start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cells.append(Cell(position, _source(cell.get("source", ""), position)))
    return Notebook(cells, set(left_out), unknown)


def _decoded(data: bytes) -> str:
    if len(data) > LARGEST:
        raise NotebookError(f"The notebook has more than {LARGEST} bytes and is not read.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise NotebookError(f"The notebook is not UTF-8 at byte {problem.start}.") from None


def _parsed(data: bytes) -> Any:
    text = _decoded(data)
    try:
        whole = strict_json.loads(text[1:] if text.startswith("\ufeff") else text)
    except RecursionError:
        raise NotebookError("The notebook is nested too deeply to be read.") from None
    except ValueError as problem:
        raise NotebookError(f"The notebook is no JSON: {problem}.") from None
    if isinstance(whole, dict) and "worksheets" in whole:
        raise NotebookError("The notebook is of an older format than 4: convert it with jupyter nbconvert.")
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        raise NotebookError("The file is JSON, and no notebook: it has no list of cells.")
    return whole


def _language(whole: Any) -> str:
    """What the notebook says of its language, in small letters; empty where it says nothing."""
    metadata = whole.get("metadata")
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        inner = metadata.get(part) if isinstance(metadata, dict) else None
        found = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(found, str) and found:
            return found.lower()
    return ""


def _source(source: Any, number: int) -> str:
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NotebookError(f"Cell {number} of the notebook has no text.")
    if re.search("[\ud800-\udfff]", source):
        raise NotebookError(f"Cell {number} of the notebook has half a character.")
    return source


# -- the file itself --------------------------------------------------------------------------------------------------
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _members(text: str, at: int) -> Iterator[Tuple[str, int, int]]:
    """Keys of the object at a place of valid JSON, and where the value of each begins and ends."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[Tuple[int, int]]:
    """Where each item of the array at a place of valid JSON begins and ends."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _sources(text: str) -> Dict[int, Tuple[int, int]]:
    """Where the source of each cell, by its number, is in the text of a notebook."""
    begin = _skip(text, 1 if text.startswith("\ufeff") else 0)
    cells = {key: start for key, start, _ in _members(text, begin)}["cells"]
    found = {}
    for number, (start, _) in enumerate(_items(text, cells), start=1):
        if text[start] == "{":
            for key, first, last in _members(text, start):
                if key == "source":
                    found[number] = first, last
    return found


def lines_of(data: bytes) -> Mapping[Tuple[int, int], int]:
    """The line of the file in which each line of each cell begins, by cell and line; both count from 1."""
    text = _decoded(data)
    found: Dict[Tuple[int, int], int] = {}
    seen, at_line = 0, 1
    for number, (start, end) in _sources(text).items():
        line = 1
        for first, last in _items(text, start) if text[start] == "[" else [(start, end)]:
            at_line += text.count("\n", seen, first)
            seen = first
            value = json.loads(text[first:last])
            for _ in range(max(value.count("\n"), 1)):
                found[number, line] = at_line
                line += 1
        found.setdefault((number, line), at_line)
    return found


def rewritten(data: bytes, changed: Mapping[int, str]) -> bytes:
    """The file with other text in some cells, by their number, and every other byte as it was.

    Raises:
        NotebookError: the file cannot be written so.
    """
    text = _decoded(data)
    places = _sources(text)
    pieces, before = [], 0
    for number in sorted(changed):
        start, end = places[number]
        pieces += [text[before:start], _written(text[start:end], changed[number], text.isascii())]
        before = end
    new = "".join([*pieces, text[before:]]).encode("utf-8", "surrogatepass")
    try:
        wanted, found = _parsed(data), _parsed(new)
    except NotebookError:
        raise NotebookError("The notebook could not be read any more.") from None
    for number, source in changed.items():
        if _source(found["cells"][number - 1]["source"], number) != source:
            raise NotebookError(f"Cell {number} could not be written.")
        found["cells"][number - 1]["source"] = wanted["cells"][number - 1]["source"]
    if found != wanted:
        raise NotebookError("Something else than the cells would change.")
    return new


def _written(raw: str, source: str, ascii_only: bool) -> str:
    """The source of a cell as JSON in the way it was written: one text, or a list of lines with the blanks it had."""
    if raw.startswith('"'):
        return json.dumps(source, ensure_ascii=ascii_only)
    old = [(raw[first:last], first, last) for first, last in _items(raw, 0)]
    known = {json.loads(part): part for part, _, _ in old}
    lines = source.splitlines(keepends=True)  # as nbformat does, and most who write notebooks
    if any(len(line.splitlines()) > 1 for line in known):
        lines = re.findall(r"[^\n]*\n|[^\n]+", source)
    if not old or not lines:
        return json.dumps(lines, ensure_ascii=ascii_only)
    lead, tail = raw[1 : old[0][1]], raw[old[-1][2] : -1]
    between = raw[old[0][2] : old[1][1]] if len(old) > 1 else "," + lead
    parts = [known.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    return "[" + lead + between.join(parts) + tail + "]"
