"""How a script and its modules are read: as they are, or as for TensorFlow 1 where another version is there."""

from __future__ import annotations

import ast
import sys
import traceback
import types
from typing import Any, Callable, List, Sequence

from npu_reference.errors import NpuError
from npu_reference.runtime.scripts.sources import Names, Source, read_for
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["reader", "source_of", "text_of", "unchanged"]


def text_of(script: str) -> bytes:
    try:
        with open(script, "rb") as file:
            return file.read()
    except OSError as error:
        raise NpuError("SCRIPT_FILE", script, f"it cannot be read: {error.strerror}.") from error


def source_of(text: bytes, script: str, read: Callable[[bytes, str], Source]) -> Source:
    try:
        return read(text, script)
    except SyntaxError as error:
        sys.stderr.write("".join(traceback.format_exception_only(type(error), error)))
        raise SystemExit(1) from None
    except ValueError as error:  # a NUL byte
        raise NpuError("SCRIPT_FILE", script, f"it is no Python source: {error}.") from None


def unchanged(text: bytes, path: str) -> Source:
    return Source(ast.parse(text, path), "")


def reader(say: Callable[[str], None]) -> Callable[[bytes, str], Source]:
    """How the script and its modules are read under TensorFlow 2; says of the first that is changed what is."""
    v1 = tensorflow().v1
    v2 = sys.modules["tensorflow"]
    changed: List[str] = []

    def only_v1(names: Names) -> bool:
        return _has(v1, names) and not _has(v2, names)

    def in_v1(names: Names) -> bool:
        return _has(v1, names, into_keras=True)

    def read(text: bytes, path: str) -> Source:
        source = read_for(text, path, only_v1, in_v1)
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
