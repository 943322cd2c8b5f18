"""Executes a script as ``__main__``, as Python would."""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import sys
import types
from contextlib import contextmanager
from typing import Iterator, List

from npu_reference.notebooks import cell_name
from npu_reference.runtime.observing.account import Account
from npu_reference.runtime.scripts.error_message import complaint, failure_of
from npu_reference.runtime.scripts.reporting import flush_output
from npu_reference.runtime.scripts.tf1_sources import Source

__all__ = ["execute"]


def execute(source: Source, script: str, argv: List[str], account: Account) -> None:
    """Execute as ``__main__``; what Python would print of an exception is printed, without the simulator's frames."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__)
    with _as_main(module, script, argv):
        try:
            for code in _codes(source, script):
                exec(code, module.__dict__)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a script raises ends it
            flush_output()
            account.failure = failure_of(error)
            sys.stderr.write(complaint(error))
            raise SystemExit(1) from None


def _codes(source: Source, script: str) -> List[types.CodeType]:
    """A script compiled; of a notebook each cell by itself, with lines as they are counted there."""
    notebook = source.notebook
    if notebook is None:
        return [compile(source.tree, script, "exec", dont_inherit=True)]
    found, flags = [], 0
    for cell in notebook.cells:
        name = cell_name(script, cell.number)
        linecache.cache[name] = (len(cell.text), None, cell.text.splitlines(keepends=True), name)  # for tracebacks
        body = [one for one in source.tree.body if notebook.places[one.lineno - 1][0] == cell.number]
        if not body:
            continue
        for one in body:
            if isinstance(one, ast.ImportFrom) and one.module == "__future__":
                flags |= sum(getattr(getattr(__future__, part.name, None), "compiler_flag", 0) for part in one.names)
        tree = ast.parse("")
        tree.body = body
        ast.increment_lineno(tree, notebook.places[body[0].lineno - 1][1] - body[0].lineno)
        found.append(compile(tree, name, "exec", flags, True))
    return found


@contextmanager
def _as_main(module: types.ModuleType, script: str, argv: List[str]) -> Iterator[None]:
    """``sys.modules['__main__']``, ``sys.argv`` and ``sys.path[0]`` as the script expects them."""
    folder = os.path.dirname(os.path.abspath(script))
    main, old_argv, old_path = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"] = module
    sys.argv = [script, *argv]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        sys.argv = old_argv
        sys.path[:] = old_path
