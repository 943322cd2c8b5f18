"""Reads the requirement inventory: what the documents demand, each with an id."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple, Union

from npu_conformance.files import resources
from npu_conformance.files import toml_file as _toml
from npu_reference.errors import NpuError

__all__ = ["Force", "Requirement", "choices", "forces", "has_default", "load", "FORCES", "LEVELS", "EDITIONS"]

LEVELS = ("must", "should", "may")
EDITIONS = ("legacy", "current")

_REQUIRED = ("id", "document", "edition", "surface", "kind", "level", "statement", "check", "observable")
_OPTIONAL = ("anchor", "negative", "excused", "error")


class Requirement(NamedTuple):
    """One testable demand of the documents; see the head of a file in ``requirements/`` for the fields.

    error: how a document says that what breaks it is an error; empty where it may be ignored with a warning as well.
    """

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
    error: str


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


#: How far a reading of the documents binds: it is the only way, another is as good, or some of it is either.
FORCES = ("necessary", "choice", "mixed")


class Force(NamedTuple):
    """How far a row of docs/readings.md binds.

    document, because: the sentences it was judged by, and the reason; necessary: what of a mixed row a `must` may rest
    on; choice: what else is as good; open: why no `must` rests on the choice, as names of lawful backends or as words.
    """

    force: str
    document: str
    because: str
    necessary: str
    choice: str
    open: Union[str, Tuple[str, ...]]


def forces(folder: Optional[str] = None) -> Mapping[str, Force]:
    """Each reading's letter and number -> its force.

    Raises:
        NpuError: CASE_FILE, for a malformed entry.
    """
    path = os.path.join(folder or resources.requirements(), "readings.toml")
    found: Dict[str, Force] = {}
    for name, entry in _toml.load(path).items():
        where = f"{path}: {name}"
        if not isinstance(entry, dict) or not set(entry) <= set(Force._fields):
            raise NpuError("CASE_FILE", where, f"is no table of {', '.join(Force._fields)}")
        reasons = entry.get("open", "")
        listed = isinstance(reasons, list) and all(isinstance(one, str) and one for one in reasons)
        texts = {key: entry.get(key, "") for key in Force._fields if key != "open"}
        if not (listed or isinstance(reasons, str)) or not all(isinstance(text, str) for text in texts.values()):
            raise NpuError("CASE_FILE", where, "has a value that is no text")
        if texts["force"] not in FORCES:
            raise NpuError("CASE_FILE", f"{where}: force", f"{texts['force']!r} is none of {', '.join(FORCES)}")
        has = [key for key in ("necessary", "choice") if texts[key]]
        if has != {"necessary": [], "choice": ["choice"], "mixed": ["necessary", "choice"]}[texts["force"]]:
            raise NpuError("CASE_FILE", where, "does not say what is necessary in it, and what a choice")
        if not texts["document"] or not texts["because"]:
            raise NpuError("CASE_FILE", where, "non-empty texts 'document' and 'because' are required")
        found[name] = Force(open=tuple(reasons) if listed else reasons, **texts)
    return found


def choices(folder: Optional[str] = None) -> Mapping[str, str]:
    """Id of each case that rests on a choice the documents leave open -> what leaves it; such a case is a `should`.

    An id with `@` and an edition is of a case that rests on it in that edition alone.

    Raises:
        NpuError: CASE_FILE, for a malformed entry or a case that stands there twice.
    """
    path = os.path.join(folder or resources.requirements(), "choices.toml")
    found: Dict[str, str] = {}
    for number, entry in enumerate(_toml.load(path).get("choice", []) if os.path.exists(path) else [], 1):
        where = f"{path}: choice {number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("because"), str) or not entry["because"]:
            raise NpuError("CASE_FILE", where, "a non-empty text 'because' is required")
        names = entry.get("cases")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise NpuError("CASE_FILE", f"{where}: cases", "must be a list of ids of cases")
        for name in names:
            if name in found:
                raise NpuError("CASE_FILE", f"{where}: {name}", "this case stands here twice")
            found[name] = entry["because"]
    return found


def has_default(known: Mapping[str, Requirement], option: str, edition: str) -> bool:
    """Whether a document of an edition gives an option a default; the other edition's do where it does not list it."""
    surfaces = ("session", "runconfig") if edition == EDITIONS[0] else ("runconfig", "session")
    stated = [known[name] for name in (f"{one}.{option}.default" for one in surfaces) if name in known]
    return bool(stated) and "no default" not in stated[0].statement.lower()
