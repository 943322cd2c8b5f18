"""Which kinds of folders `inspect` knows: a module of this package registers each, and says which folders it knows."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from npu_conformance.inspecting.tree import Tree, tree_of
from npu_reference.errors import NpuError

__all__ = ["Found", "Inspected", "FolderKind", "find", "kind", "kinds"]

_MOST_FOLDERS = 1000  # that are looked into one by one (assumed: more than anybody reads)


class Inspected(NamedTuple):
    """What a kind of folder is asked.

    Attributes:
        folder: its path.
        filters: what of it is wanted, by name: ``step``, ``op``, as the command line has them.
    """

    folder: str
    filters: Mapping[str, Any]


class FolderKind(NamedTuple):
    """A kind of folder.

    Attributes:
        name: a word, as in the answer.
        traces: what shows that a folder is one, for people who look for it.
        find: the folders of this kind in a tree, by path.
        look: what lies in one, as the answer's JSON.
        compare: what differs between two of them; None where that says nothing.
        limits: when two of them depart from each other, by the names of the command line's options.
    """

    name: str
    traces: str
    find: Callable[[Tree], List[str]]
    look: Callable[[Inspected], Dict[str, Any]]
    compare: Optional[Callable[[Inspected, str, Mapping[str, float]], Dict[str, Any]]] = None
    limits: Mapping[str, float] = {}


class Found(NamedTuple):
    """A folder and what it is."""

    kind: FolderKind
    folder: str


_KINDS: Dict[str, FolderKind] = {}


def kind(one: FolderKind) -> FolderKind:
    """Register a kind."""
    _KINDS[one.name] = one
    return one


def kinds() -> List[FolderKind]:
    """All kinds, by name; imports the package's modules."""
    package = importlib.import_module("npu_conformance.inspecting")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return [_KINDS[name] for name in sorted(_KINDS)]


def find(folder: str) -> List[Found]:
    """What a folder is, or what is below it: at least one, by kind and path.

    Raises:
        NpuError: INSPECT_FOLDER, when there is no such folder, or nothing in it is of any kind.
    """
    tree = tree_of(folder)
    found = [Found(one, path) for one in kinds() for path in one.find(tree)]
    if len(found) > _MOST_FOLDERS:
        reason = f"it holds {len(found)} folders that can be inspected, more than {_MOST_FOLDERS}."
        raise NpuError("INSPECT_FOLDER", folder, reason, "Name one of them.")
    if not found:
        looked = "; ".join(f"{one.name}: {one.traces}" for one in kinds())
        raise NpuError(
            "INSPECT_FOLDER", folder, "holds nothing that a run or a compilation leaves.", f"Looked for {looked}."
        )
    return found
