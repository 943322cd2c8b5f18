"""How a script and its modules are read: as they are, or as for TensorFlow 1 where another version is there."""

from __future__ import annotations

import ast
import functools
import sys
import traceback
import types
from typing import Any, Callable, List, Sequence, Set

from npu_reference import notebooks
from npu_reference.errors import NpuError
from npu_reference.printing import counted
from npu_reference.runtime.scripts.guards import chosen_by_version, not_at_import
from npu_reference.runtime.scripts.tf1_sources import Names, Source, first_name, read_for
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["reader", "source_of", "text_of", "unchanged"]

#: What version 1 has as well, but nobody uses beside sessions.
_OF_EAGER = (("function",), ("GradientTape",))

#: What Keras has for sessions in version 1 only: optimizers of later versions read their numbers eagerly.
_OF_SESSIONS = (("optimizers",), ("backend", "get_session"), ("backend", "set_session"))


def text_of(script: str) -> bytes:
    try:
        with open(script, "rb") as file:
            return file.read()
    except OSError as error:
        raise NpuError("SCRIPT_FILE", script, f"it cannot be read: {error.strerror}.") from error


def source_of(text: bytes, script: str, read: Callable[..., Source], say: Callable[[str], None]) -> Source:
    """A script ready to be compiled; of a notebook the code of its cells.

    Raises:
        SystemExit: 1, after Python's own words for a syntax error.
        NpuError: SCRIPT_FILE, for what is no Python source, or no notebook.
    """
    notebook = None
    try:
        if not script.endswith(notebooks.SUFFIX):
            return read(text, script)
        notebook = notebooks.read(text, unknown="None")
        if notebook.ignored:
            lines = counted(notebook.ignored, "line")
            say(f"{script}: {lines} not executed: magics of IPython, and commands of the shell.")
        return read(notebook.text.encode("utf-8"), script, notebook.where)._replace(notebook=notebook)
    except SyntaxError as error:
        if notebook is not None and error.lineno:
            cell, error.lineno = notebook.places[min(error.lineno, len(notebook.places)) - 1]
            error.filename = notebooks.cell_name(script, cell)
        sys.stderr.write("".join(traceback.format_exception_only(type(error), error)))
        raise SystemExit(1) from None
    except notebooks.NotebookError as error:
        raise NpuError("SCRIPT_FILE", script, str(error)) from None
    except ValueError as error:  # a NUL byte
        raise NpuError("SCRIPT_FILE", script, f"it is no Python source: {error}.") from None


def unchanged(text: bytes, path: str, where: Callable[[int], str] = str) -> Source:
    return Source(ast.parse(text, path), "")


def reader(say: Callable[[str], None]) -> Callable[..., Source]:
    """How the script, which is read first, and its modules are read under TensorFlow 2; says of the first that is
    changed what is.

    Until something is changed, what a file chooses by version decides nothing. Nor do functions of the modules of a
    script that is written for version 2, unless they run while they are imported: what is never called must not take
    version 2 away from who uses it.
    """
    v1 = tensorflow().v1
    v2 = sys.modules["tensorflow"]
    changed: List[str] = []
    of_2: List[bool] = []  # whether the script is written for version 2, once it was read

    def only_v1(ported: bool, names: Names) -> bool:
        if names[:1] == ("keras",) and (changed or (ported and not any(of_2))):
            return any(names[1 : 1 + len(these)] == these for these in _OF_SESSIONS)
        return _has(v1, names) and not _has(v2, names)

    def in_v1(names: Names) -> bool:
        return _has(v1, names, into_keras=True)

    def only_v2(names: Names) -> bool:
        return names[:1] in _OF_EAGER or (_has(v2, names) and not _has(v1, names))

    def left_out(tree: ast.Module) -> Set[int]:
        if changed:
            return set()
        chosen = chosen_by_version(tree)
        if not of_2:
            of_2.append(first_name(tree, only_v2, chosen) is not None)
            return chosen
        return chosen | not_at_import(tree) if of_2[0] else chosen

    def read(text: bytes, path: str, where: Callable[[int], str] = "line {}".format) -> Source:
        source = read_for(text, path, functools.partial(only_v1, b"npu_bridge" in text), in_v1, left_out, where)
        if source.changed:
            if not changed:
                say(f"{path}: {source.changed} All that it imports from modules of its own is read so.")
            changed.append(path)
            v1.disable_v2_behavior()
        return source

    return read


def _has(module: Any, names: Sequence[str], into_keras: bool = False) -> bool:
    """Whether a dotted name leads somewhere; Keras is not looked into without need, which would load it."""
    for name in names:
        if name == "keras" and not into_keras:
            return True
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
        if not isinstance(module, types.ModuleType):
            return True
    return True
