"""The reference with one change, as a backend of modules of its own."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import os
import sys
from typing import Any, Dict, Optional

from changes import ROOT, Mutant, with_change

__all__ = ["backend_with"]

#: Modules that stay as they are in the process of a mutant: errors are told apart by their class.
_KEPT = ("npu_reference.errors", "npu_reference.printing", "npu_reference.place")


def _ours(name: str) -> bool:
    # The package itself as well: `from npu_reference import tuning` looks at what hangs on it.
    reference = name.split(".")[0] == "npu_reference" and not name.startswith(_KEPT)
    return reference or name in ("npu_conformance.backends.reference", "npu_conformance.backends.compiling")


class _Apart:
    """A backend of modules of its own: they are in place while it answers, those of the suite at all other times."""

    def __init__(self, make: Any) -> None:
        self._modules: Dict[str, Any] = {}
        self._backend = self._within(make)

    def _within(self, call: Any, *arguments: Any) -> Any:
        kept = {name: module for name, module in sys.modules.items() if _ours(name)}
        for name in kept:
            del sys.modules[name]
        sys.modules.update(self._modules)
        try:
            return call(*arguments)
        finally:
            self._modules = {name: module for name, module in sys.modules.items() if _ours(name)}
            for name in self._modules:
                del sys.modules[name]
            sys.modules.update(kept)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        return lambda params: self._within(method, params)


def backend_with(mutant: Optional[Mutant]) -> Any:
    """The reference with the change, or as it is, imported anew."""
    if mutant is not None:
        _patch(mutant)
    # pytest loads the packages of its plugins by a loader of its own, ours among them once they are installed.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_pytest")]

    def make() -> Any:
        # A process started anew would import the reference as it is: ranks are forked off this one.
        forking = importlib.import_module("npu_reference.runtime.scripts.forking")
        forking.Forker.ask = lambda self, params: forking.answer(params)  # type: ignore[attr-defined]
        return importlib.import_module("npu_conformance.backends.reference").ReferenceBackend()

    return _Apart(make)


def _patch(mutant: Mutant) -> None:
    """From now on the changed code is what an import of its file finds."""
    with open(mutant.path, encoding="utf-8") as stream:
        tree = with_change(ast.parse(stream.read()), mutant.index)
    code = compile(tree, mutant.path, "exec")
    plain = importlib.machinery.SourceFileLoader.get_code
    # By its place in the package: what is imported may be a copy of it that was installed.
    inside = os.path.relpath(mutant.path, os.path.join(ROOT, "impl"))

    def get_code(self: Any, fullname: str) -> Any:
        same = os.path.realpath(self.get_filename(fullname)).endswith(os.sep + inside)
        return code if same else plain(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
