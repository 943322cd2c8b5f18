"""The requirement inventory: every testable statement of the documents, by id."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional

from npu_reference.errors import NpuError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["AREAS", "Requirement", "load", "of_area"]

#: First component of an id, which is also the name of its file, in the order of the documents.
AREAS = ("session", "precision", "mixed", "in_out_pair", "runconfig", "files", "env", "api")

_KEYS = ("id", "document", "anchor", "edition", "surface", "kind", "level", "observable", "statement", "check")


class Requirement(NamedTuple):
    """One statement of a document; the fields are described at the head of every inventory file."""

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
    negative: Optional[str] = None

    @property
    def area(self) -> str:
        """The first component of the id."""
        return self.id.split(".", 1)[0]


@functools.lru_cache(maxsize=None)
def of_area(area: str) -> Dict[str, Requirement]:
    """The requirements of one area, in file order.

    Raises:
        NpuError: CASE_FILE, when the file is missing, no TOML, or an entry lacks a field.
    """
    path = Path(__file__).parent / (area + ".toml")
    try:
        with path.open("rb") as file:
            entries = tomllib.load(file)["requirement"]
    except (OSError, KeyError, ValueError) as error:
        raise NpuError("CASE_FILE", str(path), f"is no inventory of requirements ({error}).") from None
    found: Dict[str, Requirement] = {}
    for requirement in _requirements(entries, str(path)):
        if requirement.id in found or requirement.area != area:
            raise NpuError("CASE_FILE", str(path), f"{requirement.id} stands twice, or in the wrong file.")
        found[requirement.id] = requirement
    return found


def _requirements(entries: List[Dict[str, str]], subject: str) -> Iterator[Requirement]:
    for entry in entries:
        missing = [key for key in _KEYS if not isinstance(entry.get(key), str)]
        extra = sorted(set(entry) - set(Requirement._fields))
        if missing or extra:
            raise NpuError(
                "CASE_FILE", subject, "{}: missing {}, unknown {}.".format(entry.get("id"), missing, extra)
            )
        yield Requirement(**entry)


@functools.lru_cache(maxsize=None)
def load() -> Dict[str, Requirement]:
    """All requirements by id, area after area. Callers must not change the mapping."""
    everything: Dict[str, Requirement] = {}
    for area in AREAS:
        everything.update(of_area(area))
    return everything
