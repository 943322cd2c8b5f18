"""Decides how what a backend was not judged by is told: how many cases for which reason, those of most cases first."""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, Mapping, NamedTuple, Sequence

from npu_conformance.judging.records import Record
from npu_conformance.observing import forms

__all__ = ["Reason", "reasons"]

_UNCLAIMED = "the backend does not claim "
_UNASKED = "the backend cannot be asked for "

#: What nobody sees of an answer, in words.
_SIDES = {
    "effective": "values of options",
    "origins": "where values of options come from",
    "warnings": "warnings",
    "meaning": "what texts and files of options mean",
    "directives": "what the device is told",
    "advice": "advice",
    "engine": "where a run took place",
    "run_geops": "where a run took place",
    "run_placement": "where a run took place",
    "transfers": "copies of a run",
    "log": "what a run logs",
    "files": "files of a run",
}


class Reason(NamedTuple):
    """Why cases were not judged, how many instances there are, and how many of each area."""

    text: str
    instances: int
    areas: Mapping[str, int]


def reasons(records: Sequence[Record]) -> List[Reason]:
    """Reasons of what is `unsupported`, those of most instances first."""
    found: Dict[str, Counter] = {}
    for record in records:
        if record.result.status == "unsupported":
            found.setdefault(_reason(record.result.detail), Counter())[record.instance.case.area] += 1
    rows = [Reason(text, sum(areas.values()), dict(sorted(areas.items()))) for text, areas in found.items()]
    return sorted(rows, key=lambda row: (-row.instances, row.text))


def _reason(detail: str) -> str:
    if detail.startswith(_UNCLAIMED):
        kind, _, names = detail[len(_UNCLAIMED) :].partition(" ")
        first = names.split(", ")[0]
        return f"not claimed: {kind} {first}"
    if not detail.startswith(_UNASKED):
        return detail
    what = detail[len(_UNASKED) :]
    side = _SIDES.get(forms.aspect_of("", what) or what)
    if side:
        return f"not told: {side}"
    return "cannot be asked: " + re.sub(r"^\S+ without its graph$", "options of a graph, without it", what)
