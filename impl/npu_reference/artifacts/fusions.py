"""Decides what ``fusion_result.json`` says: which passes found their patterns, by session and graph."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping

from npu_reference.artifacts.folder import Folder
from npu_reference.compiler import Compiled

__all__ = ["NAME", "drop_stale", "entry", "text"]

NAME = "fusion_result.json"
_KEY = re.compile(r"session_and_graph_id_[0-9]+_[0-9]+\Z")
_SECTIONS = {"GraphFusion": "graph_fusion", "UBFusion": "ub_fusion"}


def entry(compiled: Compiled, geop: int) -> Dict[str, Any]:
    """The sections of one graph: passes that found their pattern in it, numbers as texts as real files have them.

    A pass that is switched off has no count, and so is never named (files.fusion_result.disabled_hidden).
    """
    found: Dict[str, Any] = {word: {} for word in _SECTIONS.values()}
    hits = _hits(compiled, geop)
    for count in compiled.fusion:
        matched, effective = count.by_geop.get(geop, (0, 0))
        if not matched or count.section not in _SECTIONS:
            continue
        numbers = {"effect_times": str(effective), "match_times": str(matched)}
        if count.section == "UBFusion":
            numbers["repository_hit_times"] = str(hits.get(count.name, 0))
        found[_SECTIONS[count.section]][count.name] = numbers
    return found


def _hits(compiled: Compiled, geop: int) -> Dict[str, int]:
    """By pass, the kernels it joined whose tile came from what tuning found (files.fusion_result.repository_hit_times,
    D32): at most as many as it took effect."""
    found: Dict[str, int] = {}
    for kernel in compiled.fused.kernels:
        if kernel.geop == geop and kernel.gemm is not None and kernel.gemm in compiled.settings.tiles:
            for name in set(kernel.passes):
                found[name] = found.get(name, 0) + 1
    return found


def text(entries: Mapping[str, Any]) -> bytes:
    """The file: one object, a key for every session and graph (D18)."""
    return (json.dumps(dict(entries), indent=4, sort_keys=True) + "\n").encode("ascii")


def drop_stale(folder: Folder) -> None:
    """Removes the file of an earlier program, which would speak for this one; another file of this name stays."""
    data = folder.read(NAME)
    if data is None:
        return
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict) and value and all(_KEY.match(key) for key in value):
        folder.remove(NAME)
