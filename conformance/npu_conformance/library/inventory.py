"""Reads the requirement inventory: what the documents demand, each with an id."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.files import resources
from npu_conformance.files import toml_file as _toml
from npu_reference.errors import NpuError

__all__ = ["Requirement", "load", "LEVELS", "EDITIONS"]

LEVELS = ("must", "should", "may")
EDITIONS = ("legacy", "current")

_REQUIRED = ("id", "document", "edition", "surface", "kind", "level", "statement", "check", "observable")
_OPTIONAL = ("anchor", "negative", "excused")


class Requirement(NamedTuple):
    """One testable demand of the documents; see the head of a file in ``requirements/`` for the fields."""

    id: str
    document: str
    anchor: str
    edition: str
    surface: str
    kind: str
    level: str
    observable: str
    statement: str
    check: str
    negative: str
    readings: Tuple[str, ...]
    excused: str


def load(folder: Optional[str] = None) -> Mapping[str, Requirement]:
    """All requirements by id, in the order of the files.

    Raises:
        NpuError: CASE_FILE, naming file and id, for a malformed entry or an id used twice.
    """
    folder = folder or resources.requirements()
    found: Dict[str, Requirement] = {}
    for name in _toml.files_below(folder, ".toml"):
        path = os.path.join(folder, name)
        entries = _toml.load(path).get("requirement", [])
        if not isinstance(entries, list):
            raise NpuError("CASE_FILE", path, "'requirement' is no array of tables")
        for number, entry in enumerate(entries, 1):
            requirement = _requirement(entry, f"{path}: requirement {number}")
            if requirement.id in found:
                raise NpuError("CASE_FILE", f"{path}: {requirement.id}", "this id is used twice")
            found[requirement.id] = requirement
    return found


def _requirement(entry: Any, where: str) -> Requirement:
    if not isinstance(entry, dict):
        raise NpuError("CASE_FILE", where, "is no table")
    where = f"{where} ({entry.get('id', 'without id')})"
    for key in _REQUIRED:
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise NpuError("CASE_FILE", f"{where}: {key}", "a non-empty text is required")
    for key in _OPTIONAL:
        if not isinstance(entry.get(key, ""), str):
            raise NpuError("CASE_FILE", f"{where}: {key}", "must be a text")
    readings = entry.get("readings", [])
    if not isinstance(readings, list) or not all(isinstance(row, str) for row in readings):
        raise NpuError("CASE_FILE", f"{where}: readings", "must be a list of texts")
    unknown = sorted(set(entry) - set(_REQUIRED) - set(_OPTIONAL) - {"readings"})
    if unknown:
        raise NpuError("CASE_FILE", f"{where}: {unknown[0]}", "unknown key")
    if entry["level"] not in LEVELS:
        raise NpuError("CASE_FILE", f"{where}: level", f"{entry['level']!r} is none of {', '.join(LEVELS)}")
    if entry["edition"] not in EDITIONS:
        raise NpuError("CASE_FILE", f"{where}: edition", f"{entry['edition']!r} is none of {', '.join(EDITIONS)}")
    texts = {key: entry.get(key, "") for key in _REQUIRED + _OPTIONAL}
    return Requirement(readings=tuple(readings), **texts)
