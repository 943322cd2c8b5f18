"""Modules that a script brings along are read as the script itself is; installed packages are left as they are."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any, Callable, Iterator, Optional, Sequence

from npu_reference.runtime.scripts.tf1_sources import Source

__all__ = ["reading"]

#: How a file is read: its bytes and its path to its source.
Reader = Callable[[bytes, str], Source]


@contextmanager
def reading(read: Reader) -> Iterator[None]:
    """While this is open, what is imported from the script's own modules is read by ``read``."""
    finder = _Finder(read)
    last = next((place for place, one in enumerate(sys.meta_path) if one is PathFinder), len(sys.meta_path))
    sys.meta_path.insert(last, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Stands right before the finder of ``sys.path``, and finds what that finds."""

    def __init__(self, read: Reader) -> None:
        self._read = read

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Optional[ModuleSpec]:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and _is_own(spec.loader.path):
            spec.loader = _Loader(name, spec.loader.path, self._read)
        return spec

    def invalidate_caches(self) -> None:
        """Nothing is remembered here."""


class _Loader(SourceFileLoader):
    """Reads a module's file; one in which nothing is changed is loaded, and cached, as ever."""

    def __init__(self, name: str, path: str, read: Reader) -> None:
        super().__init__(name, path)
        self._read = read

    def get_code(self, fullname: str) -> Any:
        data = self.get_data(self.path)
        if b"tensorflow" in data:
            try:
                source = self._read(data, self.path)
            except (SyntaxError, ValueError):  # which Python tells as it always does
                return super().get_code(fullname)
            if source.changed:
                return compile(source.tree, self.path, "exec", dont_inherit=True)
        return super().get_code(fullname)


def _is_own(path: str) -> bool:
    """Whether a module came with the script, or from where it looks itself, and not with Python or a package."""
    path = os.path.abspath(path)
    if os.sep + "site-packages" + os.sep in path or os.sep + "dist-packages" + os.sep in path:
        return False
    return not any(path.startswith(folder + os.sep) for folder in _INSTALLED)


_INSTALLED = tuple({sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib")})
