"""Fusion results: how often each pass found its pattern, took effect and hit the repository, over all graphs."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Tuple

from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, json_object, tree_of
from npu_reference.artifacts import fusions

__all__: List[str] = []

_FILE = re.compile(r"[0-9]*" + re.escape(fusions.NAME) + r"\Z")
_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_COUNTS = ("match_times", "effect_times", "repository_hit_times")
_MOST = 100_000


def _find(tree: Tree) -> List[str]:
    return [place.path for place in tree.places if any(_FILE.match(name) for name in place.files)]


def _look(asked: Inspected) -> Dict[str, Any]:
    passes: Dict[Tuple[str, str], Dict[str, int]] = {}
    graphs, files, flaws = 0, [], []
    for name in tree_of(asked.folder).places[0].files:
        if not _FILE.match(name):
            continue
        files.append(name)
        value, flaw = json_object(os.path.join(asked.folder, name))
        if flaw:
            flaws.append({"file": name, "why": flaw})
        for key, sections in value.items():
            if not isinstance(sections, dict):
                flaws.append({"file": name, "why": f"{key} holds no sections"})
                continue
            graphs += 1
            flaws += [{"file": name, "why": why} for why in _add(key, sections, passes)]
    rows: List[Dict[str, Any]] = [
        {"section": section, "pass": one, **counts} for (section, one), counts in passes.items()
    ]
    rows.sort(key=lambda row: (-row["effect_times"], row["section"], row["pass"]))
    return {"files": files, "graphs": graphs, "passes": rows[:_MOST], "flaws": flaws[:_MOST]}


def _add(key: str, sections: Dict[str, Any], passes: Dict[Tuple[str, str], Dict[str, int]]) -> List[str]:
    wrong = []
    for section, named in sections.items():
        if not isinstance(named, dict):
            wrong.append(f"{key}: {section} holds no passes")
            continue
        for name, counts in named.items():
            if (section, name) not in passes and len(passes) >= _MOST:
                return [*wrong, f"{key}: more than {_MOST} passes"]
            into = passes.setdefault((section, name), dict.fromkeys(("graphs", *_COUNTS), 0))
            into["graphs"] += 1
            for count in _COUNTS:
                value = str(counts.get(count, "0")) if isinstance(counts, dict) else ""
                if not _NUMBER.match(value):
                    wrong.append(f"{key}: {count} of {name} is no number")
                    continue
                into[count] += int(value)
    return wrong


FUSIONS = kind(FolderKind("fusions", fusions.NAME, _find, _look))
