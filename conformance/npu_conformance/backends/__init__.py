"""Decides which backend a SPEC means."""

from __future__ import annotations

import importlib
import re
from typing import Mapping

from npu_reference.errors import NpuError

__all__ = ["open_backend", "check"]

_PYTHON = re.compile(r"py:([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)\Z")
_FORMS = "Use reference, adapter, adapter:PYTHON, mutant:NAME, py:module:attr or exec:command line."


def check(spec: str) -> None:
    """Refuses what is no SPEC, without loading anything.

    Raises:
        NpuError: BACKEND_SPEC.
    """
    if spec in ("reference", "adapter") or _PYTHON.match(spec):
        return
    if spec.startswith("adapter:") and spec[len("adapter:") :].strip():
        return
    if spec.startswith("mutant:"):
        if spec[len("mutant:") :] not in _mutants():
            raise NpuError(
                "BACKEND_SPEC", spec, "there is no mutant of this name", "See: npu-conformance mutants --list"
            )
        return
    if spec.startswith("exec:") and spec[len("exec:") :].strip():
        return
    raise NpuError("BACKEND_SPEC", spec, "is no backend", _FORMS)


def open_backend(spec: str) -> object:
    """The backend object that a worker hosts for SPEC.

    Raises:
        NpuError: BACKEND_SPEC, or BACKEND_UNAVAILABLE when its code cannot be imported or made.
    """
    check(spec)
    if spec == "reference":
        from npu_conformance.backends.reference import ReferenceBackend

        return ReferenceBackend()
    if spec.startswith("mutant:"):
        from npu_conformance.backends.mutants import make

        return make(spec[len("mutant:") :])
    found = _PYTHON.match(spec)
    if found is None:
        raise NpuError("BACKEND_SPEC", spec, "is no backend that a worker can host", _FORMS)
    return _import(spec, found.group(1), found.group(2))


def _import(spec: str, module: str, path: str) -> object:
    try:
        value: object = importlib.import_module(module)
        for name in path.split("."):
            value = getattr(value, name)
        return value() if callable(value) else value
    except Exception as error:
        raise NpuError("BACKEND_UNAVAILABLE", spec, f"cannot be loaded: {type(error).__name__}: {error}") from error


def _mutants() -> Mapping[str, object]:
    from npu_conformance.backends.mutants import registry

    return registry()
