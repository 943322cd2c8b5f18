"""Reads the markers of test files without importing them, and says which files a run leaves out.

A file that imports TensorFlow cannot be imported where TensorFlow is not installed, so the decision comes before the
import. The docstring of `tests/conftest.py` explains the markers.
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import AbstractSet, Dict, FrozenSet, List, NamedTuple, Optional

import pytest

__all__ = ["OF_FILES", "SCOPES", "Run", "markers_in", "markers_of", "paths_left_out"]

#: Values of NPU_TESTS_SCOPE. Without one, a run leaves out only what it cannot run.
SCOPES = ("", "oldest", "between", "newest")

#: Markers that decide about whole files; every other marker is left to pytest.
OF_FILES = frozenset([
    "browser", "tensorflow", "tensorflow_version", "both_between",
    *(f"not_{scope}" for scope in SCOPES[1:]), *(f"{scope}_at_night" for scope in SCOPES[1:]),
])  # fmt: skip

_ASSIGNED = re.compile(r"^([ \t]*)pytestmark\b[ \t]*(?:[+:]|=(?!=))", re.MULTILINE)
#: The assignment with its further lines: they are indented, are blank, or close a bracket.
_STATEMENT = re.compile(r"^pytestmark\b.*(?:\n(?:[ \t)\]].*)?)*", re.MULTILINE)
_OF_ONE_TEST = re.compile(rf"^[ \t]*@pytest\.mark\.({'|'.join(sorted(OF_FILES))})\b", re.MULTILINE)
_RIGHT = "write `pytestmark = pytest.mark.NAME`, or a list of such markers, once and not indented"


class Run(NamedTuple):
    """What decides which files a run of the tests takes."""

    #: One of SCOPES.
    scope: str = ""
    #: Which half of the files a version between runs for a change: 1 or 2; 0 is both halves.
    part: int = 0
    tensorflow: bool = False
    browser: bool = False
    nightly: bool = False


def markers_in(path: pathlib.Path, known: AbstractSet[str]) -> FrozenSet[str]:
    """Names of the markers in the assignment to `pytestmark` of a Python file; none where there is no such assignment.

    `known` are the names of the registered markers.

    Raises:
        pytest.UsageError: the markers cannot be read without running the file, one of them is not registered, or one
            that decides about whole files decorates a test.
    """
    text = path.read_text(encoding="utf-8")
    if "pytest" not in text:
        return frozenset()
    decorator = _OF_ONE_TEST.search(text)
    if decorator:
        where = _where(path, text, decorator.start())
        raise pytest.UsageError(f"{where}: {decorator.group(1)} is a marker of whole files: put it into `pytestmark`")
    assigned = list(_ASSIGNED.finditer(text))
    if not assigned:
        return frozenset()
    where = _where(path, text, assigned[-1].start())
    if len(assigned) > 1 or assigned[0].group(1):
        raise pytest.UsageError(f"{where}: `pytestmark` is read before the file is run: {_RIGHT}")
    names = _names(_STATEMENT.findall(text)[0])
    if names is None:
        raise pytest.UsageError(f"{where}: `pytestmark` is no list of literal markers: {_RIGHT}")
    unknown = sorted(set(names) - known)
    if unknown:
        raise pytest.UsageError(f"{where}: pyproject.toml registers no marker {', '.join(unknown)}")
    return frozenset(names)


def _where(path: pathlib.Path, text: str, offset: int) -> str:
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"


def _names(statement: str) -> Optional[List[str]]:
    """Names of the markers that a statement assigns; None where it is no assignment of markers."""
    try:
        [node] = ast.parse(statement).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Assign) or len(node.targets) > 1:
        return None
    names = []
    for one in node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]:
        mark = one.func if isinstance(one, ast.Call) else one
        if not isinstance(mark, ast.Attribute) or not isinstance(mark.value, ast.Attribute):
            return None
        if not isinstance(mark.value.value, ast.Name) or (mark.value.value.id, mark.value.attr) != ("pytest", "mark"):
            return None
        names.append(mark.attr)
    return names


def markers_of(root: pathlib.Path, known: AbstractSet[str]) -> Dict[pathlib.Path, FrozenSet[str]]:
    """Every folder of tests and every test file below `root`, with its markers; a file has those of its folder, too.

    Raises:
        pytest.UsageError: as of :func:`markers_in`.
    """
    found: Dict[pathlib.Path, FrozenSet[str]] = {}
    for path in [*sorted(root.glob("*/test_*.py")), *sorted(root.glob("test_*.py"))]:
        folder, shared = path.parent, path.parent / "conftest.py"
        if folder not in found:
            found[folder] = markers_in(shared, known) if folder != root and shared.exists() else frozenset()
        found[path] = found[folder] | markers_in(path, known)
    return found


def paths_left_out(marked: Dict[pathlib.Path, FrozenSet[str]], run: Run) -> FrozenSet[pathlib.Path]:
    """Folders and files that a run does not collect, of those that :func:`markers_of` found."""
    found = {path for path, markers in marked.items() if _kept_out(markers, run)}
    files = [path for path in marked if path.suffix == ".py"]
    if run.scope in ("between", "newest"):
        found.update(path for path in files if not marked[path] & {"tensorflow", "tensorflow_version"})
    if run.scope == "between" and run.part and not run.nightly:
        halved = [path for path in files if "both_between" not in marked[path]]
        found.update(path for number, path in enumerate(halved) if number % 2 != run.part - 1)
    return frozenset(found)


def _kept_out(markers: AbstractSet[str], run: Run) -> bool:
    if ("tensorflow" in markers and not run.tensorflow) or ("browser" in markers and not run.browser):
        return True
    return f"not_{run.scope}" in markers or (f"{run.scope}_at_night" in markers and not run.nightly)
