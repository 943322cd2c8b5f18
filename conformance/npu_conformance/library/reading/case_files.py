"""Case files, each with its golden."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from npu_conformance.files import toml_file
from npu_conformance.library import inventory
from npu_conformance.library.case import COSTS, METHODS, TWINS, Case
from npu_conformance.library.reading.expectations import Expectations, needed_of_facts
from npu_conformance.library.reading.fields import Fields
from npu_conformance.library.reading.params import Params, needed_by
from npu_conformance.observing import observe
from npu_reference.errors import NpuError

__all__ = ["read_file"]

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
_FEATURE = re.compile(r"[a-z0-9][a-z0-9._:-]*\Z")


def read_file(
    folder: str, name: str, golden: str, fixtures: str, known: Mapping[str, inventory.Requirement]
) -> List[Case]:
    """The cases of a file below a folder.

    Args:
        golden, fixtures: folders; known: the inventory.

    Raises:
        NpuError: CASE_FILE, naming file, case and key of the first fault.
    """
    parts = name[: -len(".toml")].split("/")
    path = os.path.join(folder, name)
    if len(parts) != 2:
        raise NpuError("CASE_FILE", path, "a case file stands in the folder of its area: <area>/<topic>.toml")
    document = toml_file.load(path)
    unknown = sorted(set(document) - {"case", "defaults"})
    if unknown:
        raise NpuError("CASE_FILE", f"{path}: {unknown[0]}", "unknown key; a file holds [defaults] and [[case]]")
    defaults = document.get("defaults", {})
    entries = document.get("case", [])
    if not isinstance(defaults, dict) or not isinstance(entries, list) or not entries:
        raise NpuError("CASE_FILE", path, "holds no [[case]]")
    for key in ("id", "title"):
        if key in defaults:
            raise NpuError("CASE_FILE", f"{path}: defaults.{key}", "cannot be shared by cases")
    expected = _golden(os.path.join(golden, parts[0], parts[1] + ".txt"))
    cases = [
        _Reader(path, parts[0], parts[1], fixtures, known, expected).case(entry, defaults, number)
        for number, entry in enumerate(entries, 1)
    ]
    _check_golden_use(os.path.join(golden, parts[0], parts[1] + ".txt"), expected, cases)
    return cases


def _golden(path: str) -> Dict[str, List[str]]:
    """Facts by case id, or by ``id@edition``; each file sorted, ASCII and ended by a newline."""
    found: Dict[str, List[str]] = {}
    if not os.path.exists(path):
        return found
    with open(path, "rb") as stream:
        raw = stream.read()
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError as error:
        position = raw[: error.start].count(b"\n") + 1
        raise NpuError(
            "CASE_FILE", f"{path}:{position}", "is not ASCII", "Write other characters as \\uXXXX."
        ) from None
    if "\r" in text or not text.endswith("\n"):
        raise NpuError("CASE_FILE", path, "lines end with LF, the last one too")
    previous = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") and not previous:
            continue
        key, bar, fact = line.partition(" | ")
        if not bar or not fact.strip() or key != key.strip():
            raise NpuError("CASE_FILE", f"{path}:{number}", "is not of the form 'case-id | fact'")
        if line < previous:
            raise NpuError(
                "CASE_FILE", f"{path}:{number}", "lines are not sorted", "Sort the file by bytes (LC_ALL=C sort)."
            )
        previous = line
        found.setdefault(key, []).append(fact)
    return found


def _check_golden_use(path: str, expected: Mapping[str, List[str]], cases: Sequence[Case]) -> None:
    allowed = set()
    for case in cases:
        if case.expect.observe:
            allowed.add(case.id)
            allowed.update(f"{case.id}@{edition}" for edition in case.editions)
    for key in expected:
        if key not in allowed:
            raise NpuError(
                "CASE_FILE", f"{path}: {key}", "no case of this topic with this id and edition observes anything"
            )


class _Reader:
    """Reads the cases of one file; every fault names file, case and key."""

    _KEYS = {
        "id", "title", "requirements", "readings", "level", "editions", "method", "needs", "twins", "control",
        "requires", "cost", "why", "params", "expect",
    }  # fmt: skip

    def __init__(
        self,
        path: str,
        area: str,
        topic: str,
        fixtures: str,
        known: Mapping[str, inventory.Requirement],
        golden: Mapping[str, List[str]],
    ) -> None:
        self.path, self.area, self.topic = path, area, topic
        self.fixtures, self.known = fixtures, known
        self.fields = Fields(path)
        self.expectations = Expectations(self.fields, f"{area}/{topic}", known, golden)

    def case(self, entry: Any, defaults: Mapping[str, Any], number: int) -> Case:
        self.fields.where = f"{self.path}: case {number}"
        if not isinstance(entry, dict):
            raise self.fields.fail("", "is no table")
        merged: Dict[str, Any] = dict(defaults)
        merged.update(entry)
        for key in ("params", "expect"):
            both = [defaults.get(key, {}), entry.get(key, {})]
            if not all(isinstance(part, dict) for part in both):
                raise self.fields.fail(key, "must be a table")
            merged[key] = {**both[0], **both[1]}
        if isinstance(merged.get("id"), str):
            self.fields.where = f"{self.path}: {merged['id']}"
        self.fields.no_unknown(merged, self._KEYS, "")
        identifier = self.fields.text(merged, "id", required=True)
        if not _ID.match(identifier):
            raise self.fields.fail("id", "must be of a-z 0-9 . _ - and begin with a letter or digit")
        method = self.fields.choice(merged, "method", METHODS, None)
        editions = self.fields.choices(merged, "editions", inventory.EDITIONS, inventory.EDITIONS)
        requirements = self._requirements(merged)
        expect = self.expectations.read(merged["expect"], method, identifier, editions, requirements)
        needs = set(self.fields.texts(merged, "needs"))
        for feature in needs:
            if not _FEATURE.match(feature):
                raise self.fields.fail("needs", f"{feature!r} is no feature name")
        needs.add(method)
        needs.update(observe.ASPECTS[aspect].feature for aspect, _ in expect.observe)
        needs.update(needed_of_facts(method, expect))
        needs.update(observe.WITHIN[feature] for feature in sorted(needs & set(observe.WITHIN)))
        params = Params(self.fields, self.fixtures).read(merged["params"], method)
        for variant in expect.compare:
            if variant not in params.get("variants", {}):
                raise self.fields.fail(f"expect.compare.{variant}", "params.variants has no variant of this name")
        needs.update(needed_by(params))
        needs.update(["ops_info"] if method == "precision" else [])  # it gives the kernels of the graph's operators
        if expect.after is not None:
            needs.add("run.timeline")
        twins = self.fields.choices(merged, "twins", TWINS, ())
        if twins and "graph" not in params:
            raise self.fields.fail("twins", "only a case with a graph has twins")
        if expect.rejected and not merged.get("control") and method in ("partition", "precision"):
            raise self.fields.fail("control", "a negative case names the case that shows the same thing accepted")
        return Case(
            id=identifier,
            title=self.fields.text(merged, "title", required=True),
            area=self.area,
            topic=self.topic,
            requirements=requirements,
            readings=self.fields.texts(merged, "readings"),
            level=self._level(merged, requirements),
            editions=editions,
            method=method,
            needs=frozenset(needs - {""}),
            twins=twins,
            control=self.fields.text(merged, "control"),
            requires=self.fields.texts(merged, "requires"),
            cost=self.fields.choice(merged, "cost", tuple(COSTS), "fast"),
            why=self.fields.text(merged, "why"),
            params=params,
            expect=expect,
        )

    def _level(self, merged: Mapping[str, Any], requirements: Sequence[str]) -> str:
        """What the case says; it demands no more than the strongest of its requirements."""
        said = self.fields.choice(merged, "level", inventory.LEVELS, inventory.LEVELS[0])
        strongest = min(inventory.LEVELS.index(self.known[name].level) for name in requirements)
        return inventory.LEVELS[max(inventory.LEVELS.index(said), strongest)]

    def _requirements(self, merged: Mapping[str, Any]) -> Tuple[str, ...]:
        ids = self.fields.texts(merged, "requirements")
        if not ids:
            raise self.fields.fail("requirements", "at least one is required")
        for name in ids:
            if name not in self.known:
                raise self.fields.fail("requirements", f"{name!r} is not in the inventory")
        return ids
