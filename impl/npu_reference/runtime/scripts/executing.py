"""Executes a script as ``__main__``, as Python would."""

from __future__ import annotations

import os
import sys
import types
from contextlib import contextmanager
from typing import Iterator, List

from npu_reference.runtime.observing.account import Account
from npu_reference.runtime.scripts.complaint import complaint, failure_of
from npu_reference.runtime.scripts.sources import Source
from npu_reference.runtime.scripts.telling import flush_output

__all__ = ["execute"]


def execute(source: Source, script: str, argv: List[str], account: Account) -> None:
    """Execute as ``__main__``; what Python would print of an exception is printed, without the simulator's frames."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__)
    code = compile(source.tree, script, "exec", dont_inherit=True)
    with _as_main(module, script, argv):
        try:
            exec(code, module.__dict__)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a script raises ends it
            flush_output()
            account.failure = failure_of(error)
            sys.stderr.write(complaint(error))
            raise SystemExit(1) from None


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
