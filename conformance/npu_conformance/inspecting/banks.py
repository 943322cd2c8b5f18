"""Folders of tuning: what was asked, which tiles were found, and whether a later run takes the bank."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional

from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, json_object, tree_of
from npu_reference import hardware, tuning
from npu_reference.compiler.kernels import Gemm

__all__: List[str] = []

_RESULT = re.compile(r"aoe_result_[a-z]{1,20}\.json\Z")
_CONFIG = "aoe_config.json"
_MOST = 10_000
_KEPT = ("aoe_mode", "tune_optimization_level", "tune_ops_name", "tune_ops_type")


def _find(tree: Tree) -> List[str]:
    return [place.path for place in tree.places if tuning.BANK in place.files or any(map(_RESULT.match, place.files))]


def _look(asked: Inspected) -> Dict[str, Any]:
    place = tree_of(asked.folder).places[0]
    tuned: List[Dict[str, Any]] = []
    flaws: List[Dict[str, str]] = []
    for name in filter(_RESULT.match, place.files):
        value, flaw = json_object(os.path.join(place.path, name))
        rows = value.get("tuned")
        if flaw is None and not isinstance(rows, list):
            flaw = "holds no results"
        if flaw:
            flaws.append({"file": name, "why": flaw})
        for row in rows[:_MOST] if isinstance(rows, list) else ():
            told = _tuned(row)
            if told is None:
                flaws.append({"file": name, "why": "holds something that is no result"})
                break
            tuned.append({"file": name, **told})
    tuned.sort(key=lambda row: (row["ns"] - row["ns_before"], row["operators"]))
    asked_for, flaw = json_object(os.path.join(place.path, _CONFIG)) if _CONFIG in place.files else ({}, None)
    if flaw:
        flaws.append({"file": _CONFIG, "why": flaw})
    return {
        "asked": {key: asked_for[key] for key in _KEPT if _plain(asked_for.get(key))},
        "tuned": tuned[:_MOST],
        "better": sum(row["ns"] < row["ns_before"] for row in tuned),
        "bank": _bank(place.path) if tuning.BANK in place.files else None,
        "flaws": flaws,
    }


def _plain(value: Any) -> bool:
    listed = isinstance(value, list) and len(value) <= _MOST and all(isinstance(one, str) for one in value)
    return isinstance(value, str) or listed


def _tuned(row: Any) -> Optional[Dict[str, Any]]:
    if not isinstance(row, dict):
        return None
    product, operators = row.get("product"), row.get("operators")
    times = [row.get("ns_before"), row.get("ns")]
    tiles = [row.get("tile_before"), row.get("tile")]
    if not isinstance(product, dict) or set(product) != set(Gemm._fields) or not _plain(operators):
        return None
    if not all(_is_size(size) for size in (*product.values(), *times)):
        return None
    if not all(isinstance(one, list) and len(one) == 2 and all(map(_is_size, one)) for one in tiles):
        return None
    return {
        "operators": list(operators or ()), "product": dict(product), "tile_before": tiles[0], "tile": tiles[1],
        "ns_before": times[0], "ns": times[1],
    }  # fmt: skip


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 60


def _bank(folder: str) -> Dict[str, Any]:
    """The bank as a run on its own device takes it; of a device that is not one of ours only what it says."""
    value, flaw = json_object(os.path.join(folder, tuning.BANK))
    name = str(value.get("device") or "")
    if flaw:
        return {"device": "", "tiles": [], "why": flaw}
    if name not in hardware.names():
        why = f"it is of {name[:80] or 'no device'}, which is none of {', '.join(hardware.names())}"
        return {"device": str(name), "tiles": [], "why": why}
    tiles, complaint = tuning.read(folder, hardware.built_in(name))
    listed = [{"product": gemm._asdict(), "tile": list(tile)} for gemm, tile in sorted(tiles.items())[:_MOST]]
    return {"device": name, "tiles": listed, "why": complaint or ""}


BANK = kind(FolderKind("tuning", f"{tuning.BANK}, aoe_result_….json", _find, _look))
