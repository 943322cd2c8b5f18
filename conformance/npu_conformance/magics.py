"""``%npu`` of notebooks: a question to the reference, its page shown below the cell. IPython itself is not imported.

``%npu partition model.pb -o precision_mode=allow_mix_precision`` is the command of the same words. Lines of a cell
below ``%%npu`` are options, one a line. A graph may also be a variable of the notebook: a ``tf.Graph`` or a GraphDef.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import shlex
import tempfile
from typing import Any, List, Mapping, Optional, Tuple

from npu_reference.errors import NpuError

__all__ = ["Page", "register"]

#: Commands that answer from what they are given, and run nothing: no child, no signal handler of the kernel changes.
_PAGES = ("partition", "precision", "profile")
_TEXTS = ("options", "explain")
_HEIGHT = 640  # pixels of the frame, which can be drawn larger


class Page:
    """An answer: a page in a frame of its own, where a notebook is shown; its text elsewhere.

    The page's scripts cannot reach the notebook, nor the other way round.
    """

    def __init__(self, text: str, page: str, title: str) -> None:
        self._text = text
        self._page = page
        self._title = title

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{html.escape(self._title)}" sandbox="allow-scripts" srcdoc="{html.escape(self._page)}" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 1px solid #8886; resize: vertical"></iframe>'
        )


def register(shell: Any) -> None:
    """Gives an IPython shell the line and cell magic ``npu``."""

    def npu(line: str, cell: Optional[str] = None) -> Optional[Page]:
        """%npu COMMAND ARGUMENTS: partition, precision, profile, options or explain, answered below the cell.

        Lines of a cell below %%npu are options, name=value. %npu COMMAND --help tells the arguments.
        """
        with tempfile.TemporaryDirectory(prefix="npu-conformance-") as folder:
            try:
                return _answer(_words(line, cell, shell.user_ns, folder), folder)
            except NpuError as error:
                from npu_conformance.files import streams

                streams.say(f"error{error}")
                return None

    shell.register_magic_function(npu, "line_cell", "npu")


def _words(line: str, cell: Optional[str], names: Mapping[str, Any], folder: str) -> List[str]:
    """The command line that is meant: options of the cell behind the command, graphs of variables as files."""
    try:
        words = shlex.split(line)
    except ValueError as problem:
        raise NpuError("USAGE", "%npu", f"the line cannot be read: {problem}.", "Close every quote.") from None
    if not words or words[0] not in _PAGES + _TEXTS:
        known = ", ".join(_PAGES + _TEXTS)
        said = f"{words[0]!r} is not one of its commands." if words else "no command is named."
        raise NpuError("USAGE", "%npu", said, f"Write %npu and one of {known}; others run in a terminal.")
    command, rest = words[0], words[1:]
    if command in _PAGES and ("--bisect" in rest or any(word.endswith(".py") for word in rest)):
        raise NpuError("USAGE", "%npu", "scripts are not run in a notebook.", f"Write !npu-conformance {command} …")
    if command in _PAGES:
        rest = [_file_of(word, names, folder) or word for word in rest]
    given = [one.strip() for one in (cell or "").splitlines()]
    given = [one for one in given if one and not one.startswith("#")]
    if command == "explain" and given:
        raise NpuError("USAGE", "%%npu explain", "takes no options.", "Write %npu explain WORD.")
    return [command, *(word for one in given for word in (("-o", one) if command in _PAGES else (one,))), *rest]


def _file_of(word: str, names: Mapping[str, Any], folder: str) -> str:
    """A file with the graph that a variable holds; empty where the word names none, or names a file."""
    value = names.get(word)
    if value is None or os.path.exists(word):
        return ""
    if hasattr(value, "as_graph_def"):
        value = value.as_graph_def()
    if not hasattr(value, "SerializeToString"):
        return ""
    path = os.path.join(folder, f"{word}.pb")
    with open(path, "wb") as stream:
        stream.write(value.SerializeToString())
    return path


def _answer(words: List[str], folder: str) -> Optional[Page]:
    """What a command answers: a page, or nothing once its text is printed."""
    wanted = words[0] in _PAGES and not any(word.split("=")[0] in ("--html", "--format") for word in words)
    path = os.path.join(folder, "page.html")
    text, status = _run([words[0], "--html", path, *words[1:]] if wanted else words)
    if not os.path.exists(path):
        print(text, end="")
        return None
    if status:
        print(text, end="")  # a demand was not met, which the page does not tell
    with open(path, encoding="utf-8") as stream:
        return Page(text, stream.read(), f"npu-conformance {words[0]}")


def _run(words: List[str]) -> Tuple[str, int]:
    from npu_conformance import cli

    written = io.StringIO()
    status: Any = 0
    with contextlib.redirect_stdout(written):
        try:
            cli.main(words)
        except SystemExit as ended:
            status = ended.code
    return written.getvalue(), int(status or 0)
