"""External weights: the files of constants that left the graph, and whether each still holds what its name says."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from npu_conformance.files import reading
from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, size_of, tree_of

__all__: List[str] = []

_FOLDER = re.compile(r"tmp_weight_(?P<process>[0-9]{1,18})_(?P<session>[0-9]{1,18})\Z")
_FILE = re.compile(r"weight_(?P<digest>[0-9a-fA-F]+)\Z")
_MOST_BYTES = 1 << 32  # of all files that are checked (assumed); the rest is named
_CHUNK = 1 << 20
_MOST = 100_000


def _find(tree: Tree) -> List[str]:
    return [
        place.path
        for place in tree.places
        if _FOLDER.match(place.name) or any(_FILE.match(name) for name in place.files)
    ]


def _look(asked: Inspected) -> Dict[str, Any]:
    place = tree_of(asked.folder).places[0]
    owner = _FOLDER.match(place.name)
    rows: List[Dict[str, Any]] = []
    left = _MOST_BYTES
    named = [name for name in place.files if _FILE.match(name)]
    for name in named[:_MOST]:
        path = os.path.join(place.path, name)
        size = size_of(path)
        state, why = ("unchecked", "too much is here to read it all") if size > left else _state(path, name)
        left -= size if state != "unchecked" else 0
        rows.append({"file": name, "bytes": size, "state": state, "why": why or ""})
    return {
        "process": int(owner["process"]) if owner else None,
        "session": int(owner["session"]) if owner else None,
        "files": rows,
        "files_in_all": len(named),
        "bytes": sum(row["bytes"] for row in rows),
        "unusable": sum(row["state"] == "changed" for row in rows),
        "other": len(place.files) - len(named),
    }


def _state(path: str, name: str) -> Tuple[str, Optional[str]]:
    wanted = name.rpartition("_")[2].lower()
    if len(wanted) != 2 * hashlib.sha256().digest_size:
        return "unchecked", "its name is no SHA-256"  # another backend's
    digest = hashlib.sha256()
    try:
        with reading.opened(path) as stream:
            for piece in iter(lambda: stream.read(_CHUNK), b""):
                digest.update(piece)
    except (OSError, ValueError) as problem:
        return "changed", f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
    return ("whole", None) if digest.hexdigest() == wanted else ("changed", "it does not hold what its name says")


WEIGHTS = kind(FolderKind("weights", "tmp_weight_{process}_{session}/weight_…", _find, _look))
