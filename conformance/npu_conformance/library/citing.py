"""Decides which requirement a complaint about an option rests on, and finds sentences and cases without reading all."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional

from npu_conformance.files import resources, toml_file
from npu_conformance.library.stated import domains_of

__all__ = ["Citation", "cases", "cite", "find"]


class Citation(NamedTuple):
    """A requirement as a message cites it: its id, where it stands, and its sentence."""

    requirement: str
    where: str
    sentence: str

    def to_json(self) -> Dict[str, str]:
        """The members that errors and warnings of a JSON answer carry."""
        return {"requirement": self.requirement, "sentence": self.sentence}


NOTHING = Citation("", "", "")

#: What a warning of a code rests on, as the last word of the requirement of the option.
_LAST_WORD = {
    "training_only": "scope",
    "inference_only": "scope",
    "deprecated": "deprecated",
    "unsupported": "unsupported",
    "OPTION_TYPE": "type",
}
_UNLISTED = "session.table.unlisted_reserved"
_ABOUT_THE_VALUE = ("OPTION_VALUE", "OPTION_SYNTAX", "undocumented", "part_ignored", "adjusted")

_texts: Dict[str, str] = {}


def cite(code: str, option: str, rule: str, surface: str, edition: str) -> Citation:
    """The requirement behind an error or a warning about an option; :data:`NOTHING` where none states it.

    Args:
        code: of the error or warning.
        option: its name.
        rule: the requirement or reading that the answer gives, or empty.
        surface: ``session`` or ``runconfig``, whose document says how a value is written.
        edition: ``legacy`` or ``current``, whose document says which values there are.
    """
    return next((found for found in map(find, _candidates(code, option, rule, surface, edition)) if found), NOTHING)


def _candidates(code: str, option: str, rule: str, surface: str, edition: str) -> List[str]:
    surfaces = [surface, "session" if surface == "runconfig" else "runconfig"]
    ages = ["session", "runconfig"] if edition == "legacy" else ["runconfig", "session"]
    if "." in rule:
        return [rule]
    if code in ("unknown", "not_on_surface", "not_in_edition"):
        return [_UNLISTED]
    if code in _LAST_WORD:
        return [f"{place}.{option}.{_LAST_WORD[code]}" for place in surfaces]
    stated = [name for place in ages for name in domains_of(place, option)]
    if code == "OPTION_FILE":  # which characters a path may have says nothing about what lies there
        return [name for name in stated if not name.endswith(".charset")]
    return stated if code in _ABOUT_THE_VALUE else []


def find(requirement: str) -> Optional[Citation]:
    """One requirement of the inventory, by its id; None when there is none.

    Only its own lines are parsed, so that a command that cites a few starts in no time.
    """
    entry = _entry(requirement)
    if entry is None:
        return None
    where = f"document {entry['document']}" + (f" {entry['anchor']}" if entry.get("anchor") else "")
    return Citation(requirement, where, " ".join(str(entry["statement"]).split()))


def cases(key: str, name: str) -> List[str]:
    """Ids of the cases whose ``readings`` or ``requirements`` have a name, in the order of the library.

    Only files in which the name stands are parsed, and nothing is checked, so that to explain a word takes no second.
    """
    found: List[str] = []
    for path in toml_file.files_below(resources.cases(), ".toml"):
        text = toml_file.read(os.path.join(resources.cases(), path))
        if name in text:
            document = toml_file.parse(text, path)
            shared = document.get("defaults", {}).get(key, ())
            found += [one["id"] for one in document["case"] if name in one.get(key, shared)]
    return found


def _entry(requirement: str) -> Optional[Dict[str, Any]]:
    name = requirement.partition(".")[0]
    if not re.fullmatch(r"[A-Za-z_]+", name):
        return None
    if name not in _texts:
        path = os.path.join(resources.requirements(), f"{name}.toml")
        _texts[name] = toml_file.read(path) if os.path.isfile(path) else ""
    text = _texts[name]
    start = text.find(f'\nid = "{requirement}"\n')
    if start < 0:
        return None
    end = text.find("\n[[requirement]]", start)
    found: Dict[str, Any] = toml_file.parse(text[start : end if end > 0 else len(text)], requirement)
    return found
