"""Operator information libraries: how many operators, with which flags, and what was edited in them."""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Dict, List

from npu_conformance.files import reading
from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, json_object, tree_of
from npu_reference.artifacts import library
from npu_reference.catalog import Catalog
from npu_reference.errors import NpuError

__all__: List[str] = []

_FILE = re.compile(r"aic-(?P<soc>[A-Za-z0-9_-]+)-ops-info\.json\Z")
_LARGEST = 64 << 20
_MOST = 10_000


def _find(tree: Tree) -> List[str]:
    return [place.path for place in tree.places if any(_FILE.match(name) for name in place.files)]


def _look(asked: Inspected) -> Dict[str, Any]:
    place = tree_of(asked.folder).places[0]
    return {"files": [_file(place.path, name) for name in place.files if _FILE.match(name)]}


def _file(folder: str, name: str) -> Dict[str, Any]:
    path = os.path.join(folder, name)
    built_in = library.entries(Catalog.built_in())
    value, flaw = json_object(path)
    why = "" if flaw is None else flaw
    if not why:
        try:
            Catalog.built_in().with_ops_info(reading.content(path, _LARGEST).decode("utf-8-sig"), name)
        except NpuError as problem:  # of the command that would be given the file
            why = problem.reason
        except (OSError, ValueError):
            why = "cannot be read"
    flags: Dict[str, int] = {}
    for entry in value.values():
        flag = entry.get("precision_reduce", {}) if isinstance(entry, dict) else {}
        word = str(flag.get("flag", "not given"))[:40] if isinstance(flag, dict) else "not given"
        flags[word] = flags.get(word, 0) + 1
    changed = sorted(op for op in value.keys() & built_in.keys() if value[op] != built_in[op])
    return {
        "file": name, "operators": len(value), "flags": dict(sorted(flags.items())[:_MOST]),
        "writable": _writable(path), "changed": [_change(op, built_in[op], value[op]) for op in changed[:_MOST]],
        "added": sorted(value.keys() - built_in.keys())[:_MOST],
        "removed": sorted(built_in.keys() - value.keys())[:_MOST] if value else [], "why": why,
    }  # fmt: skip


def _writable(path: str) -> bool:
    try:
        return bool(stat.S_IMODE(os.lstat(path).st_mode) & 0o222)
    except OSError:
        return False


def _change(op: str, before: Dict[str, Any], after: Any) -> Dict[str, str]:
    """What of an operator is another: its flag, and the first of its tensors."""
    if not isinstance(after, dict):
        return {"op": op, "what": "it is no object"}
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    told = [f"{key}: {_short(before.get(key))} is {_short(after.get(key))}" for key in keys[:3]]
    return {"op": op, "what": "; ".join(told)}


def _short(value: Any) -> str:
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    return "nothing" if inner is None else str(inner)[:80]


LIBRARY = kind(FolderKind("library", "aic-{chip}-ops-info.json", _find, _look))
