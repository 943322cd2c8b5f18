"""Which lines of the reference a case runs through."""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import importlib.machinery
import inspect
import json
import os
import sys
import threading
import types
from typing import Any, Dict, Iterable, List, Mapping, Set

from changes import DROP_IN, ROOT

__all__ = ["IMPORT", "Lines", "digest", "forget", "joined", "listed"]

_LINES = "lines-of-"  # files of processes forked off the one that asks
_TABLES = {"npu_reference.options.resolve": "_VIEWS"}  # what a module prepares once, by its name
IMPORT = "import"  # stands for an instance: the lines of functions that an import of the reference calls


def listed(lines: Dict[str, Set[int]]) -> Dict[str, List[int]]:
    return {name: sorted(of) for name, of in lines.items()}


def joined(kept: Dict[str, Set[int]], more: Mapping[str, Iterable[int]]) -> None:
    for name, lines in more.items():
        kept.setdefault(name, set()).update(lines)


class Lines:
    """Which lines of the reference run, by file, while this is entered: in this process and in those forked off it.

    What an import calls is kept apart, in `imported`: it runs for the first who needs the module, and serves all.

    Args:
        folder: takes what forked processes leave, until this is left.
    """

    def __init__(self, folder: str) -> None:
        self.found: Dict[str, Set[int]] = {}
        self.imported: Dict[str, Set[int]] = {}
        self._importing = 0
        self._folder = folder
        self._leave = os._exit
        self._names: Dict[str, str] = {}
        self._registry: Any = None
        self._plain: Any = None

    def __enter__(self) -> Lines:
        here = os.getpid()

        def leave(status: int) -> None:
            if os.getpid() != here:
                sys.settrace(None)
                with open(os.path.join(self._folder, f"{_LINES}{os.getpid()}"), "w", encoding="utf-8") as file:
                    json.dump([listed(self.found), listed(self.imported)], file)
            self._leave(status)

        os._exit = leave  # type: ignore[assignment]
        threading.settrace(self._call)
        sys.settrace(self._call)
        if "tensorflow" in sys.modules:
            self._registry = importlib.import_module("tensorflow.python.ops.script_ops").FuncRegistry
            self._plain, lines = self._registry.__call__, self

            def call(registry: Any, *arguments: Any) -> Any:
                sys.settrace(lines._call)  # TensorFlow's own threads come to Python here
                return lines._plain(registry, *arguments)

            self._registry.__call__ = call
        return self

    def __exit__(self, *unused: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        os._exit = self._leave  # type: ignore[assignment]
        for name in [name for name in os.listdir(self._folder) if name.startswith(_LINES)]:
            path = os.path.join(self._folder, name)
            with open(path, encoding="utf-8") as file:
                for kept, told in zip((self.found, self.imported), json.load(file)):
                    joined(kept, told)
            os.remove(path)
        if self._registry is not None:
            self._registry.__call__ = self._plain

    def _call(self, frame: Any, event: str, argument: object) -> Any:
        path = frame.f_code.co_filename
        name = self._names.get(path)
        if name is None:
            parts = path.split(os.sep)
            first = next((parts.index(one) for one in DROP_IN if one in parts), 0)
            first = first or (parts.index("npu_reference") + 1 if "npu_reference" in parts else len(parts))
            name = self._names[path] = os.sep.join(parts[first:])
        if name and frame.f_code.co_name == "<module>":
            self._importing += 1
            return self._module
        if not name or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return None  # the body of a class is no function
        lines = (self.imported if self._importing else self.found).setdefault(name, set())

        def line(inner: Any, event: str, argument: object) -> Any:
            lines.add(inner.f_lineno)
            return line

        lines.add(frame.f_lineno)
        return line

    def _module(self, frame: Any, event: str, argument: object) -> Any:
        self._importing -= event == "return"
        return self._module


def forget() -> None:
    """Empties what functions of the reference remember: a case that is answered from there runs through nothing."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith("npu_reference"):
            one.cache_clear()
        elif isinstance(one, types.ModuleType) and one.__name__ in _TABLES:
            getattr(one, _TABLES[one.__name__]).clear()


def digest() -> str:
    """Of the reference, the cases, the graphs they ask about, and what looks which lines they run through."""
    made = hashlib.sha256()
    for room in ("impl", "conformance", "fixtures", "benchmarks/mutating"):
        for place, folders, names in os.walk(os.path.join(ROOT, room)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    made.update(name.encode())
                    with open(os.path.join(place, name), "rb") as stream:
                        made.update(stream.read())
    return made.hexdigest()[:16]
