"""All cases of a folder, checked against each other, with the inventory they refer to."""

from __future__ import annotations

import hashlib
import os
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import resources, toml_file
from npu_conformance.library import inventory
from npu_conformance.library.case import Case, Instance
from npu_conformance.library.reading.case_files import read_file
from npu_reference.errors import NpuError

__all__ = ["Library", "left_open", "load"]


class Library(NamedTuple):
    """All cases of a folder, with the inventory they refer to.

    digest: SHA-256 over case files, goldens and inventory: what a verdict was judged by.
    softened: cases that rest on a choice in one edition alone, by id and edition, as they are asked there.
    """

    cases: Mapping[str, Case]
    requirements: Mapping[str, inventory.Requirement]
    fixtures: str
    digest: str
    softened: Mapping[Tuple[str, str], Case]

    def instances(self) -> List[Instance]:
        """Every case in each of its editions, as written and as each twin, in a fixed order."""
        return [
            Instance(self.softened.get((case.id, edition), case), edition, twin)
            for case in self.cases.values()
            for edition in case.editions
            for twin in ("",) + case.twins
        ]


#: The options that a legacy document gives to NPURunConfig: 004 L9.
_OF_LEGACY_RUNCONFIG = frozenset(("precision_mode",))
_LEGACY_RUNCONFIG = "what NPURunConfig takes stands in 003, which is not of the legacy edition; 004 L9 has one option"


def left_open(case: Case, edition: str, choices: Mapping[str, str]) -> str:
    """What leaves a choice that the case rests on in an edition, so that it is at most a `should`; else empty.

    Args:
        choices: those of :func:`inventory.choices`.
    """
    named = choices.get(case.id) or choices.get(f"{case.id}@{edition}", "")
    if named or edition != inventory.EDITIONS[0] or case.params.get("surface") != "runconfig":
        return named
    return "" if set(case.params.get("values", ())) == _OF_LEGACY_RUNCONFIG else _LEGACY_RUNCONFIG


def load(
    cases: Optional[str] = None,
    golden: Optional[str] = None,
    fixtures: Optional[str] = None,
    requirements: Optional[str] = None,
) -> Library:
    """Reads and checks everything; folders default to those shipped.

    Raises:
        NpuError: CASE_FILE, naming file, case and key of the first fault.
    """
    cases = cases or resources.cases()
    golden = golden or resources.golden()
    fixtures = fixtures or resources.fixtures()
    known = inventory.load(requirements)
    choices = inventory.choices(requirements)
    found: Dict[str, Case] = {}
    files = toml_file.files_below(cases, ".toml")
    for name in files:
        for case in read_file(cases, name, golden, fixtures, known):
            if case.id in found:
                raise NpuError("CASE_FILE", f"{name}: {case.id}", "this id is used twice")
            found[case.id] = case._replace(level="should") if case.id in choices and case.level == "must" else case
    softened = {
        (case.id, edition): case._replace(level="should")
        for case in found.values()
        for edition in case.editions
        if case.level == "must" and left_open(case, edition, choices)
    }
    _check_references(found)
    _check_goldens(golden, files)
    digest = _digest([cases, golden, requirements or resources.requirements()])
    return Library(found, known, os.path.abspath(fixtures), digest, softened)


def _check_references(cases: Mapping[str, Case]) -> None:
    for case in cases.values():
        for key, names in (("control", (case.control,) if case.control else ()), ("requires", case.requires)):
            for name in names:
                if name not in cases or name == case.id:
                    raise NpuError(
                        "CASE_FILE",
                        f"{case.area}/{case.topic}.toml: {case.id}: {key}",
                        f"there is no other case {name!r}",
                    )


def _check_goldens(golden: str, files: Sequence[str]) -> None:
    expected = {name[: -len(".toml")] for name in files}
    for name in toml_file.files_below(golden, ".txt"):
        if name[: -len(".txt")] not in expected:
            raise NpuError("CASE_FILE", os.path.join(golden, name), "there is no case file of this topic")


def _digest(folders: Sequence[str]) -> str:
    total = hashlib.sha256()
    for folder in folders:
        for ending in (".toml", ".txt"):
            for name in toml_file.files_below(folder, ending):
                with open(os.path.join(folder, name), "rb") as stream:
                    total.update(name.encode("utf-8") + b"\0" + hashlib.sha256(stream.read()).digest())
    return total.hexdigest()
