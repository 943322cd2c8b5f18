"""The list of every operator, which the documents leave to the hardware, in the operator information of a case."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, List, Mapping, Tuple

from npu_conformance.files import resources

__all__ = ["operator_flags", "with_flags"]

#: Operator information with the lists of all operators, which the documents leave to the hardware (003 L415).
_FLAGS = "operator_flags.json"


@functools.lru_cache(maxsize=1)
def operator_flags() -> Mapping[str, Any]:
    """The list of every operator, by operator, as operator information has it."""
    with open(os.path.join(resources.fixtures(), _FLAGS), encoding="utf-8") as stream:
        flags: Mapping[str, Any] = json.load(stream)
    return flags


@functools.lru_cache(maxsize=None)
def with_flags(text: str) -> str:
    """Operator information with the list of every operator that it says nothing of; as it is where it is malformed."""
    pairs: List[List[Tuple[str, Any]]] = []

    def kept(members: List[Tuple[str, Any]]) -> Dict[str, Any]:
        pairs.append(members)
        return dict(members)

    try:
        own = json.loads(text, object_pairs_hook=kept)
    except ValueError:
        return text
    if not isinstance(own, dict) or any(len(dict(members)) < len(members) for members in pairs):
        return text
    return json.dumps({**operator_flags(), **own}, indent=0) + "\n"
