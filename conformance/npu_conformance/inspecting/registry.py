"""Which kinds of folders `inspect` knows: a module of this package registers each, and says which folders it knows."""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from npu_reference.errors import NpuError

__all__ = ["Inspected", "Kind", "kind", "kinds", "recognise"]


class Inspected(NamedTuple):
    """What a kind of folder is asked.

    Attributes:
        folder: its path.
        filters: what of it is wanted, by name: ``step``, ``op``, as the command line has them.
    """

    folder: str
    filters: Mapping[str, Any]


class Kind(NamedTuple):
    """A kind of folder.

    Attributes:
        name: a word, as in the answer.
        recognises: whether a folder that exists is one.
        look: what lies in it, as the answer's JSON.
        compare: what differs between two of them; None where that says nothing.
    """

    name: str
    recognises: Callable[[str], bool]
    look: Callable[[Inspected], Dict[str, Any]]
    compare: Optional[Callable[[Inspected, str, Mapping[str, float]], Dict[str, Any]]] = None


_KINDS: Dict[str, Kind] = {}


def kind(one: Kind) -> Kind:
    """Register a kind."""
    _KINDS[one.name] = one
    return one


def kinds() -> List[Kind]:
    """All kinds, by name; imports the package's modules."""
    package = importlib.import_module("npu_conformance.inspecting")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return [_KINDS[name] for name in sorted(_KINDS)]


def recognise(folder: str) -> Kind:
    """The kind of a folder.

    Raises:
        NpuError: DUMP_FILE, when there is no such folder, or it is of no kind.
    """
    if not os.path.isdir(folder):
        raise NpuError("DUMP_FILE", folder, "there is no such folder.")
    for one in kinds():
        if one.recognises(folder):
            return one
    known = ", ".join(one.name for one in kinds())
    raise NpuError("DUMP_FILE", folder, f"nothing in it is of a kind that is known: {known}.")
