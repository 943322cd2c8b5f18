"""Folders of kernel files: which kernels debugging has left, with what, and which option asks for such files."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, FrozenSet, List, Tuple

from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, TreePlace, json_object, parsed, size_of, tree_of
from npu_reference.artifacts.places import LEVEL_KINDS, OPTION_KINDS

__all__ = ["described", "is_debug"]

FOLDER = "kernel_meta"

_ENDS = sorted({end for ends in (*LEVEL_KINDS.values(), *OPTION_KINDS.values()) for end in ends}, key=len, reverse=True)
_KERNEL = re.compile(r"te_[A-Za-z0-9_]+\Z")
_OWN = (".cce", "_loc.json", "_compute.json")  # what no cache holds
_MOST = 100_000
_MOST_NAMES = 64  # operators of one kernel


def is_debug(place: TreePlace) -> bool:
    """Whether a folder holds kernel files that debugging left."""
    return FOLDER in (place.name, *place.parts) or any(_stem(name)[1] in _OWN for name in place.files)


def _find(tree: Tree) -> List[str]:
    return [place.path for place in tree.places if is_debug(place) and (place.name == FOLDER or _kernels(place))]


def _kernels(place: TreePlace) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for name in place.files:
        stem, end = _stem(name)
        if end:
            found.setdefault(stem, []).append(end)
    return found


def _stem(name: str) -> Tuple[str, str]:
    for end in _ENDS:
        stem = name[: -len(end)]
        if name.endswith(end) and _KERNEL.match(stem):
            return stem, end
    return name, ""


def _look(asked: Inspected) -> Dict[str, Any]:
    place = tree_of(asked.folder).places[0]
    rows = []
    found = _kernels(place)
    for stem in sorted(found)[:_MOST]:
        ends = sorted(found[stem])
        told: Dict[str, Any] = {"kernel": stem, "engine": "", "operators": [], "switches": [], "flaw": ""}
        if ".json" in ends:
            told.update(_description(os.path.join(place.path, f"{stem}.json"), stem))
        if "_compute.json" in ends:
            computed, flaw = json_object(os.path.join(place.path, f"{stem}_compute.json"))
            names = computed.get("op_list")
            told["nodes"] = _names(names, "name") if isinstance(names, list) else []
            told["flaw"] = told["flaw"] or (f"_compute.json {flaw}" if flaw else "")
        sizes = {end: size_of(os.path.join(place.path, stem + end)) for end in ends}
        told["files"] = sizes
        told["bytes"] = sum(sizes.values())
        told["left_by"] = _left_by(frozenset(ends), told["switches"])
        rows.append(told)
    everything = len(place.files)
    return {
        "kernels": rows,
        "kernels_in_all": len(found),
        "bytes": sum(row["bytes"] for row in rows),
        "left_by": sorted({word for row in rows for word in row["left_by"]}),
        "other": everything - sum(len(ends) for ends in found.values()),
    }


def _left_by(ends: FrozenSet[str], switches: List[str]) -> List[str]:
    """The options that leave just these files of a kernel (files.kernel_meta.matrix, files.kernel_meta.cfg_matrix)."""
    optimised = "-O0" not in switches
    words = []
    for level, kinds in LEVEL_KINDS.items():
        if kinds and ends == frozenset(kinds) and (level not in (1, 2) or optimised == (level == 1)):
            words.append(f"op_debug_level={level}")
    for word, kinds in OPTION_KINDS.items():
        wanted = word not in ("oom", "check_flag") or word in switches
        if kinds and ends == frozenset(kinds) and wanted:
            words.append(f"op_debug_config={word}")
    if not words and ends:
        covered = [word for word, kinds in OPTION_KINDS.items() if kinds and frozenset(kinds) <= ends]
        words = ["several of op_debug_config"] if covered else ["no option"]
    return words


def _description(path: str, stem: str) -> Dict[str, Any]:
    value, flaw = json_object(path)
    told = _told(value)
    if not flaw and value.get("kernelName") not in (None, stem):
        flaw = "is of another kernel"
    switches = value.get("compileOptions")
    names = [str(one) for one in switches[:_MOST_NAMES]] if isinstance(switches, list) else []
    return {**told, "switches": names, "flaw": f".json {flaw}" if flaw else ""}


def described(description: bytes) -> Dict[str, Any]:
    """What a kernel's description says of it, as far as it can be read: engine, operators, version."""
    value, flaw = parsed(description)
    return {} if flaw else {**_told(value), "version": str(value.get("version", ""))}


def _told(value: Dict[str, Any]) -> Dict[str, Any]:
    source = value.get("compiledFrom")
    operators = source.get("operators") if isinstance(source, dict) else None
    return {
        "engine": str(value.get("coreType", "")),
        "operators": _names(operators, "op") if isinstance(operators, list) else [],
    }


def _names(rows: List[Any], key: str) -> List[str]:
    return [str(row.get(key, "")) for row in rows[:_MOST_NAMES] if isinstance(row, dict)]


KERNELS = kind(FolderKind("kernels", f"{FOLDER}/te_….cce, .o, .json", _find, _look))
