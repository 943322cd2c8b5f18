"""Kernel caches: their entries, which of them can be taken, how large they are, and what was taken from them."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from npu_conformance.files import reading
from npu_conformance.inspecting import kernels
from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, TreePlace, size_of, tree_of
from npu_reference.artifacts import binaries, cache
from npu_reference.options.files import op_cache
from npu_reference.options.grammars.scanner import GrammarError

__all__ = ["FOLDER"]

#: What the folder of the entries is called, or begins with (artifacts.places).
FOLDER = "kernel_cache"

_LARGEST = 64 << 20  # bytes of a file of an entry, as the cache itself takes them
_MOST_BYTES = 1 << 31  # of all entries that are checked (assumed: four times the default limit); the rest is named
_MOST = 100_000  # entries
_MEGABYTE = 1 << 20
_SHOWN = 1000  # compilations


def _find(tree: Tree) -> List[str]:
    """Folders called so; below none, folders of entries that are no kernel_meta."""
    roots: Dict[str, None] = {}
    for place in tree.places:
        inside = next((at for at, name in enumerate(place.parts) if name.startswith(FOLDER)), None)
        if inside is not None:
            roots.setdefault(tree.at(place.parts[: inside + 1]))
        elif place.name.startswith(FOLDER) or _holds_entries(place) or cache.USES in place.files:
            roots.setdefault(place.path)
    nested = [one for one in roots if os.path.dirname(one) in roots]
    return sorted(set(roots) - set(nested))


def _holds_entries(place: TreePlace) -> bool:
    return not kernels.is_debug(place) and any(cache.ENTRY.match(name) for name in place.files)


def _look(asked: Inspected, clock: Callable[[], float] = time.time) -> Dict[str, Any]:
    now, left = clock(), _MOST_BYTES
    entries: List[Dict[str, Any]] = []
    runs: List[cache.Use] = []
    aside = other = 0
    for place in tree_of(asked.folder).places:
        stems: Dict[str, List[str]] = {}
        for name in place.files:
            entry = cache.ENTRY.match(name)
            if entry is not None:
                stems.setdefault(entry.group(1), []).append(entry.group(2))
            elif name == cache.USES:
                runs += cache.uses(_content(os.path.join(place.path, name)) or b"")
            elif name.startswith(".npu-"):
                aside += name.endswith(".part")
            elif name != cache.INI:
                other += 1
        for stem in sorted(stems):
            entry_told, read = _entry(place, stem, stems[stem], now, left)
            left -= read
            entries.append(entry_told)
    entries.sort(key=lambda one: (-one["used"], one["kernel"]))
    size = sum(one["bytes"] for one in entries)
    limits = _limits(asked.folder)
    most = limits["max_op_cache_size"]
    return {
        "limits": limits,
        "bytes": size,
        "full": None if most <= 0 else round(size / (most * _MEGABYTE), 6),
        "entries": entries[:_MOST],
        "entries_in_all": len(entries),
        "whole": sum(one["state"] == "whole" for one in entries),
        "unusable": sum(one["state"] not in ("whole", "unchecked") for one in entries),
        "idle": sum(one["age_s"] > cache.AGES_AFTER for one in entries),
        "hits": sum(one.hits for one in runs),
        "misses": sum(one.misses for one in runs),
        "compilations": [one._asdict() for one in sorted(runs)[-_SHOWN:]],
        "aside": aside,
        "other": other,
        "version": binaries.version(),
    }


def _entry(place: TreePlace, stem: str, ends: List[str], now: float, left: int) -> Tuple[Dict[str, Any], int]:
    """An entry as the answer has it, and how many bytes were read for it."""
    paths = {end: os.path.join(place.path, stem + end) for end in (".o", ".json")}
    size = sum(size_of(path) for path in paths.values())
    used = max((_used(paths[end]) for end in ends), default=0)
    told: Dict[str, Any] = {
        "kernel": stem, "folder": place.relative, "bytes": size, "used": used, "age_s": max(int(now) - used, 0),
        "engine": "", "operators": [], "version": "",
    }  # fmt: skip
    if len(ends) < len(paths):
        missing = next(end for end in paths if end not in ends)
        return {**told, "state": "torn", "why": f"it has no {missing}."}, 0
    if size > left:
        return {**told, "state": "unchecked", "why": f"more than {_MOST_BYTES >> 20} MiB are not read."}, 0
    content = {end: _content(path) for end, path in paths.items()}
    description, code = content[".json"], content[".o"]
    if description is None or code is None:
        return {**told, "state": "torn", "why": "it cannot be read, or is larger than any entry."}, 0
    told.update(kernels.described(description))
    why = cache.flaw(stem, description, code)
    return {**told, "state": _state(why), "why": why or ""}, size


def _state(why: Optional[str]) -> str:
    if why is None:
        return "whole"
    if "version" in why:
        return "other version"
    return "torn" if "JSON" in why or ".o" in why else "forged"


def _used(path: str) -> int:
    try:
        return max(int(os.lstat(path).st_mtime), 0)
    except (OSError, ValueError, OverflowError):
        return 0


def _content(path: str) -> Optional[bytes]:
    try:
        return reading.content(path, _LARGEST)
    except (OSError, ValueError):
        return None


def _limits(folder: str) -> Dict[str, Any]:
    """What the next program keeps to, as far as the folder says it; a variable of its environment may say otherwise."""
    default = {**op_cache.DEFAULT._asdict(), "from": "default", "flaw": ""}
    beside = [os.path.join(folder, cache.INI), os.path.join(os.path.dirname(os.path.abspath(folder)), cache.INI)]
    path = next((one for one in beside if os.path.lexists(one)), None)
    if path is None:
        return default
    try:
        limits = op_cache.parse(reading.content(path, _MEGABYTE).decode("utf-8-sig"))
    except GrammarError as problem:
        return {**default, "flaw": str(problem)}
    except (OSError, ValueError) as problem:
        return {**default, "flaw": str(getattr(problem, "strerror", None) or "it cannot be read")}
    return {**limits._asdict(), "from": cache.INI, "flaw": ""}


CACHE = kind(FolderKind("cache", f"{FOLDER}*/te_….json", _find, _look))
