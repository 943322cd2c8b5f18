"""Reads case files and goldens, and refuses anything in them that is not exactly right."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.files import resources
from npu_conformance.files import toml_file as _toml
from npu_conformance.library import inventory
from npu_conformance.observing import forms, observe, tensors, timeline
from npu_conformance.observing.values import unwrapped
from npu_reference.errors import CATALOGUE, NpuError

__all__ = [
    "Case", "Expect", "Instance", "Library", "METHODS", "TWINS", "COSTS", "left_open", "load", "operator_flags",
]  # fmt: skip

METHODS = ("options", "partition", "precision", "timeline", "compile", "library", "run")
TWINS = ("rename", "reorder")
#: Seconds one request of a case may take (assumed; generous for a loaded machine).
COSTS = {"fast": 10.0, "normal": 60.0, "slow": 300.0}

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
_FEATURE = re.compile(r"[a-z0-9][a-z0-9._:-]*\Z")
_UNSET = re.compile(r"effective (\S+) = null")
_VARIANT = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
_NOTHING = "nothing"
#: What may be done to files between the turns of ``compile``.
DAMAGES = ("cut", "empty", "flip")


class Expect(NamedTuple):
    """What a case asserts about an answer; patterns know ``*`` only.

    observe: (aspect, subject pattern) pairs whose facts must be exactly ``golden``.
    golden: expected facts by edition, the case's part of the golden file.
    compare: variant -> measure -> the words allowed, see :data:`timeline.MEASURES`.
    """

    observe: Tuple[Tuple[str, str], ...]
    golden: Mapping[str, Tuple[str, ...]]
    contains: Tuple[str, ...]
    forbid: Tuple[str, ...]
    any_of: Tuple[Tuple[str, ...], ...]
    bounds: Mapping[str, Tuple[Optional[int], Optional[int]]]
    values: Mapping[str, Mapping[str, Any]]
    finite: Tuple[str, ...]
    rejected: Optional[Tuple[Tuple[str, ...], str, str]]
    ignorable: bool = False  # an answer will do as well as the refusal, if the other assertions hold of it
    unset: FrozenSet[Tuple[str, str]] = frozenset()  # (edition, option) without a value, and a default by a document
    error: bool = True  # a document calls it an error; else what is refused may be ignored with a warning
    after: Optional[int] = None
    compare: Mapping[str, Mapping[str, Tuple[str, ...]]] = {}


class Case(NamedTuple):
    """One case of a case file; see docs/write-a-case.md for every field."""

    id: str
    title: str
    area: str
    topic: str
    requirements: Tuple[str, ...]
    readings: Tuple[str, ...]
    level: str
    editions: Tuple[str, ...]
    method: str
    needs: FrozenSet[str]
    twins: Tuple[str, ...]
    control: str
    requires: Tuple[str, ...]
    cost: str
    why: str
    params: Mapping[str, Any]
    expect: Expect

    @property
    def seconds(self) -> float:
        return COSTS[self.cost]


class Instance(NamedTuple):
    """A case in one edition, as written or as a twin."""

    case: Case
    edition: str
    twin: str

    @property
    def id(self) -> str:
        return f"{self.case.id}@{self.edition}" + (f"+{self.twin}" if self.twin else "")


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
    files = _toml.files_below(cases, ".toml")
    for name in files:
        for case in _file(cases, name, golden, fixtures, known):
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
    for name in _toml.files_below(golden, ".txt"):
        if name[: -len(".txt")] not in expected:
            raise NpuError("CASE_FILE", os.path.join(golden, name), "there is no case file of this topic")


def _digest(folders: Sequence[str]) -> str:
    total = hashlib.sha256()
    for folder in folders:
        for ending in (".toml", ".txt"):
            for name in _toml.files_below(folder, ending):
                with open(os.path.join(folder, name), "rb") as stream:
                    total.update(name.encode("utf-8") + b"\0" + hashlib.sha256(stream.read()).digest())
    return total.hexdigest()


# One file


def _file(folder: str, name: str, golden: str, fixtures: str, known: Mapping[str, inventory.Requirement]) -> List[Case]:
    parts = name[: -len(".toml")].split("/")
    path = os.path.join(folder, name)
    if len(parts) != 2:
        raise NpuError("CASE_FILE", path, "a case file stands in the folder of its area: <area>/<topic>.toml")
    document = _toml.load(path)
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
    _EXPECT = {"observe", "contains", "forbid", "any_of", "bounds", "compare", "values", "finite", "rejected"}

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
        self.fixtures, self.known, self.golden = fixtures, known, golden
        self.where = path

    def fail(self, key: str, reason: str, remedy: str = "") -> NpuError:
        return NpuError("CASE_FILE", f"{self.where}: {key}" if key else self.where, reason, remedy)

    def case(self, entry: Any, defaults: Mapping[str, Any], number: int) -> Case:
        self.where = f"{self.path}: case {number}"
        if not isinstance(entry, dict):
            raise self.fail("", "is no table")
        merged: Dict[str, Any] = dict(defaults)
        merged.update(entry)
        for key in ("params", "expect"):
            both = [defaults.get(key, {}), entry.get(key, {})]
            if not all(isinstance(part, dict) for part in both):
                raise self.fail(key, "must be a table")
            merged[key] = {**both[0], **both[1]}
        if isinstance(merged.get("id"), str):
            self.where = f"{self.path}: {merged['id']}"
        self._no_unknown(merged, self._KEYS, "")
        identifier = self._text(merged, "id", required=True)
        if not _ID.match(identifier):
            raise self.fail("id", "must be of a-z 0-9 . _ - and begin with a letter or digit")
        method = self._choice(merged, "method", METHODS, None)
        editions = self._choices(merged, "editions", inventory.EDITIONS, inventory.EDITIONS)
        requirements = self._requirements(merged)
        expect = self._expect(merged["expect"], method, identifier, editions, requirements)
        needs = set(self._texts(merged, "needs"))
        for feature in needs:
            if not _FEATURE.match(feature):
                raise self.fail("needs", f"{feature!r} is no feature name")
        needs.add(method)
        needs.update(observe.ASPECTS[aspect].feature for aspect, _ in expect.observe)
        needs.update(_needed_of_facts(method, expect))
        needs.update(observe.WITHIN[feature] for feature in sorted(needs & set(observe.WITHIN)))
        params = _Params(self).read(merged["params"], method)
        for variant in expect.compare:
            if variant not in params.get("variants", {}):
                raise self.fail(f"expect.compare.{variant}", "params.variants has no variant of this name")
        needs.update(_needed(params))
        if expect.after is not None:
            needs.add("run.timeline")
        twins = self._choices(merged, "twins", TWINS, ())
        if twins and "graph" not in params:
            raise self.fail("twins", "only a case with a graph has twins")
        if expect.rejected and not merged.get("control") and method in ("partition", "precision"):
            raise self.fail("control", "a negative case names the case that shows the same thing accepted")
        return Case(
            id=identifier,
            title=self._text(merged, "title", required=True),
            area=self.area,
            topic=self.topic,
            requirements=requirements,
            readings=self._texts(merged, "readings"),
            level=self._level(merged, requirements),
            editions=editions,
            method=method,
            needs=frozenset(needs - {""}),
            twins=twins,
            control=self._text(merged, "control"),
            requires=self._texts(merged, "requires"),
            cost=self._choice(merged, "cost", tuple(COSTS), "fast"),
            why=self._text(merged, "why"),
            params=params,
            expect=expect,
        )

    def _level(self, merged: Mapping[str, Any], requirements: Sequence[str]) -> str:
        """What the case says; it demands no more than the strongest of its requirements."""
        said = self._choice(merged, "level", inventory.LEVELS, inventory.LEVELS[0])
        strongest = min(inventory.LEVELS.index(self.known[name].level) for name in requirements)
        return inventory.LEVELS[max(inventory.LEVELS.index(said), strongest)]

    def _requirements(self, merged: Mapping[str, Any]) -> Tuple[str, ...]:
        ids = self._texts(merged, "requirements")
        if not ids:
            raise self.fail("requirements", "at least one is required")
        for name in ids:
            if name not in self.known:
                raise self.fail("requirements", f"{name!r} is not in the inventory")
        return ids

    # Expectations

    def _expect(
        self, table: Mapping[str, Any], method: str, case: str, editions: Sequence[str], requirements: Sequence[str]
    ) -> Expect:
        self._no_unknown(table, self._EXPECT, "expect")
        aspects = self._observe(table, method)
        expect = Expect(
            observe=aspects,
            golden={edition: self._expected(case, edition) for edition in editions} if aspects else {},
            contains=self._texts(table, "contains", "expect."),
            forbid=self._texts(table, "forbid", "expect."),
            any_of=self._any_of(table),
            bounds=self._bounds(table),
            compare=self._compare(table, method),
            values=self._values(table, method),
            finite=self._texts(table, "finite", "expect."),
            rejected=self._rejected(table),
            ignorable=self._ignorable(table),
            error=any(self.known[name].error for name in requirements),
            unset=self._unset(table, case, editions) if method == "options" else frozenset(),
            after=self._after(table, method),
        )
        accepts = [
            aspects, expect.contains, expect.forbid, expect.any_of, expect.bounds, expect.compare, expect.values,
            expect.finite,
        ]  # fmt: skip
        if not any(accepts) and expect.rejected is None:
            raise self.fail("expect", "asserts nothing")
        if any(accepts) and expect.rejected is not None and not expect.ignorable:
            raise self.fail("expect.rejected", "an answer that is refused has no other facts")
        if expect.ignorable and not expect.forbid:
            raise self.fail("expect.rejected.ignorable", "needs expect.forbid: what must not be if it is ignored")
        return expect

    def _unset(self, table: Mapping[str, Any], case: str, editions: Sequence[str]) -> FrozenSet[Tuple[str, str]]:
        """(edition, option) of options that have no value by the case because no document gives them a default."""
        found: Set[Tuple[str, str]] = set()
        for edition in editions:
            lines = [*self.golden.get(case, []), *self.golden.get(f"{case}@{edition}", [])]
            lines += self._texts(table, "contains", "expect.")
            lines += [line for group in self._any_of(table) for line in group]
            names = (match[1] for match in map(_UNSET.fullmatch, lines) if match)
            found.update((edition, name) for name in names if not inventory.has_default(self.known, name, edition))
        return frozenset(found)

    def _observe(self, table: Mapping[str, Any], method: str) -> Tuple[Tuple[str, str], ...]:
        found = []
        for entry in self._texts(table, "observe", "expect."):
            name, _, pattern = entry.partition(":")
            aspect = observe.ASPECTS.get(name)
            if aspect is None or aspect.method != method:
                names = ", ".join(a.name for a in observe.ASPECTS.values() if a.method == method)
                raise self.fail("expect.observe", f"{name!r} is no aspect of {method}", f"Its aspects are {names}.")
            found.append((name, pattern or "*"))
        return tuple(found)

    def _expected(self, case: str, edition: str) -> Tuple[str, ...]:
        lines = self.golden.get(case, []) + self.golden.get(f"{case}@{edition}", [])
        if not lines:
            raise self.fail(
                "expect.observe",
                f"the golden of {self.area}/{self.topic} has no line for this case in edition {edition}",
                f"Write '{case} | {_NOTHING}' if there is no such fact.",
            )
        if _NOTHING in lines:
            if len(lines) > 1:
                raise self.fail("expect.observe", f"its golden says '{_NOTHING}' beside other facts")
            return ()
        return tuple(sorted(lines))

    def _any_of(self, table: Mapping[str, Any]) -> Tuple[Tuple[str, ...], ...]:
        alternatives = table.get("any_of", [])
        if not isinstance(alternatives, list):
            raise self.fail("expect.any_of", "must be a list of lists of fact patterns")
        found = []
        for alternative in alternatives:
            if not isinstance(alternative, list) or not alternative or not all(isinstance(t, str) for t in alternative):
                raise self.fail("expect.any_of", "each alternative is a non-empty list of fact patterns")
            found.append(tuple(alternative))
        return tuple(found)

    def _bounds(self, table: Mapping[str, Any]) -> Mapping[str, Tuple[Optional[int], Optional[int]]]:
        found: Dict[str, Tuple[Optional[int], Optional[int]]] = {}
        for name, limits in self._table(table, "bounds", "expect.").items():
            if not isinstance(limits, dict) or not limits or set(limits) - {"min", "max"}:
                raise self.fail(f"expect.bounds.{name}", "is { min = N, max = M }, or one of the two")
            if not all(type(limit) is int for limit in limits.values()):
                raise self.fail(f"expect.bounds.{name}", "limits are integers")
            found[name] = (limits.get("min"), limits.get("max"))
        return found

    def _compare(self, table: Mapping[str, Any], method: str) -> Mapping[str, Mapping[str, Tuple[str, ...]]]:
        if "compare" in table and method != "timeline":
            raise self.fail("expect.compare", "only a timeline has variants to compare")
        found: Dict[str, Dict[str, Tuple[str, ...]]] = {}
        for variant, measures in self._table(table, "compare", "expect.").items():
            where = f"expect.compare.{variant}"
            if not isinstance(measures, dict) or not measures:
                raise self.fail(where, 'is a table such as { speed = "slower" }')
            self._no_unknown(measures, timeline.MEASURES, where)
            for measure, given in measures.items():
                words = timeline.MEASURES[measure][1]
                allowed = (given,) if isinstance(given, str) else self._texts(measures, measure, where + ".")
                if not allowed or not set(allowed) < set(words):
                    raise self.fail(f"{where}.{measure}", f"is one or two of {', '.join(words)}")
                found.setdefault(variant, {})[measure] = tuple(allowed)
        return found

    def _values(self, table: Mapping[str, Any], method: str) -> Mapping[str, Mapping[str, Any]]:
        found: Dict[str, Mapping[str, Any]] = {}
        for key in ("values", "finite"):
            if table.get(key) and method != "run":
                raise self.fail(f"expect.{key}", "only a run has values")
        for name, entry in self._table(table, "values", "expect.").items():
            where = f"expect.values.{name}"
            tensor = tensors.from_case(entry, f"{self.where}: {where}")
            for key in ("atol", "rtol"):
                if not isinstance(entry.get(key, 0.0), (int, float)) or entry.get(key, 0.0) < 0:
                    raise self.fail(f"{where}.{key}", "must be a number of at least 0")
                tensor[key] = float(entry.get(key, 0.0))
            found[name] = tensor
        return found

    def _rejected(self, table: Mapping[str, Any]) -> Optional[Tuple[Tuple[str, ...], str, str]]:
        """Codes, and patterns of subject and message."""
        if "rejected" not in table:
            return None
        entry = self._table(table, "rejected", "expect.")
        self._no_unknown(entry, {"code", "subject", "message", "after", "ignorable"}, "expect.rejected")
        codes = entry.get("code")
        codes = [codes] if isinstance(codes, str) else codes
        if not isinstance(codes, list) or not codes:
            raise self.fail("expect.rejected.code", "must be a code or a list of codes")
        for code in codes:
            if code not in CATALOGUE:
                raise self.fail("expect.rejected.code", f"{code!r} is no code", "Codes are in npu_reference.errors.")
        patterns = []
        for key in ("subject", "message"):
            pattern = entry.get(key, "*")
            if not isinstance(pattern, str):
                raise self.fail(f"expect.rejected.{key}", "must be a pattern")
            patterns.append(pattern)
        return tuple(codes), patterns[0], patterns[1]

    def _ignorable(self, table: Mapping[str, Any]) -> bool:
        given = self._table(table, "rejected", "expect.").get("ignorable", False)
        if type(given) is not bool:
            raise self.fail("expect.rejected.ignorable", "must be true or false")
        return given

    def _after(self, table: Mapping[str, Any], method: str) -> Optional[int]:
        """Whole seconds on the device's clock after which a run is refused."""
        after = self._table(table, "rejected", "expect.").get("after")
        if after is not None and (method != "run" or type(after) is not int or after < 0):
            raise self.fail("expect.rejected.after", "must be whole seconds, of a run")
        return after

    # Plain keys

    def _no_unknown(self, table: Mapping[str, Any], allowed: Any, prefix: str) -> None:
        unknown = sorted(set(table) - set(allowed))
        if unknown:
            raise self.fail(
                f"{prefix}.{unknown[0]}".lstrip("."), "unknown key", f"Known are {', '.join(sorted(allowed))}."
            )

    def _text(self, table: Mapping[str, Any], key: str, required: bool = False) -> str:
        value = table.get(key, "")
        if not isinstance(value, str) or (required and not value.strip()):
            raise self.fail(key, "must be a text" if not required else "a non-empty text is required")
        return value

    def _texts(self, table: Mapping[str, Any], key: str, prefix: str = "") -> Tuple[str, ...]:
        if key not in table:
            return ()
        value = table[key]
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.fail(prefix + key, "must be a list of texts")
        if len(set(value)) != len(value):
            raise self.fail(prefix + key, "holds an entry twice")
        return tuple(value)

    def _table(self, table: Mapping[str, Any], key: str, prefix: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(prefix + key, "must be a table")
        return value

    def _choice(self, table: Mapping[str, Any], key: str, allowed: Sequence[str], default: Optional[str]) -> str:
        value = table.get(key, default)
        if value not in allowed:
            raise self.fail(key, f"{value!r} is none of {', '.join(allowed)}")
        return str(value)

    def _choices(
        self, table: Mapping[str, Any], key: str, allowed: Sequence[str], default: Sequence[str]
    ) -> Tuple[str, ...]:
        values = self._texts(table, key) if key in table else tuple(default)
        for value in values:
            if value not in allowed:
                raise self.fail(key, f"{value!r} is none of {', '.join(allowed)}")
        if key == "editions" and not values:
            raise self.fail(key, "at least one is required")
        return tuple(name for name in allowed if name in values)


def _needed_of_facts(method: str, expect: Expect) -> Iterator[str]:
    """Features without which no answer could have the facts that are compared or stand in patterns."""
    for measures in expect.compare.values():
        for name in measures:
            yield observe.ASPECTS[timeline.MEASURES[name][0]].feature
    groups = (expect.contains, expect.forbid, *expect.any_of, *expect.golden.values())
    for pattern in (*(one for group in groups for one in group), *(f"{name} " for name in expect.bounds)):
        yield from forms.features_of(method, pattern)


def _needed(params: Mapping[str, Any]) -> List[str]:
    """Features without which a backend cannot understand these parameters."""
    needed = [key for key in ("op_list", "ops_info", "faults", "concurrent", "ranks") if key in params]
    needed += ["device_precision"] if params.get("device_precision") == "on" else []
    needed += ["may_fail"] if params.get("may_fail") else []
    needed += [f"policy.{params['policy']}"] if params.get("policy", "documented") != "documented" else []
    needed += [f"flavour.{params['flavour']}"] if "flavour" in params else []
    return needed


#: Operator information with the lists of all operators, which the documents leave to the hardware (003 L415).
_FLAGS = "operator_flags.json"


@functools.lru_cache(maxsize=1)
def operator_flags() -> Mapping[str, Any]:
    """The list of every operator, by operator, as operator information has it."""
    with open(os.path.join(resources.fixtures(), _FLAGS), encoding="utf-8") as stream:
        flags: Mapping[str, Any] = json.load(stream)
    return flags


@functools.lru_cache(maxsize=None)
def _with_flags(text: str) -> str:
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


def _is_mixed_precision(values: Mapping[str, Any]) -> bool:
    for name in ("precision_mode", "precision_mode_v2"):
        value = unwrapped(values.get(name))
        if isinstance(value, str) and "mix" in value:
            return True
    return False


class _Params:
    """Reads ``[case.params]``: checks shapes, resolves fixtures, keeps tensors as bytes."""

    _METHOD_KEYS = {
        "options": {"surface", "values", "env", "files"},
        "partition": {"graph", "surface", "values", "op_list", "policy", "flavour", "feeds", "fetches"},
        "precision": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches",
        },
        "timeline": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches", "shapes",
            "variants", "faults", "concurrent", "ranks", "device",
        },
        "compile": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches", "shapes", "device",
            "models", "turns", "faults",
        },
        "library": {"ops_info"},
        "run": {
            "graph", "script", "args", "surface", "values", "env", "files", "op_list", "feeds", "fetches", "init",
            "steps", "device_precision", "faults", "device", "may_fail", "ranks",
        },
    }  # fmt: skip

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader

    def read(self, table: Mapping[str, Any], method: str) -> Dict[str, Any]:
        reader = self.reader
        reader._no_unknown(table, self._METHOD_KEYS[method], "params")
        found: Dict[str, Any] = {
            "surface": reader._choice(table, "surface", ("session", "runconfig"), "session"),
            "values": reader._table(table, "values", "params."),
        }
        if "env" in table:
            found["env"] = reader._table(table, "env", "params.")
            if not all(isinstance(value, str) for value in found["env"].values()):
                raise reader.fail("params.env", "values are texts")
        if "files" in table:
            found["files"] = {
                name: self._content(name, entry) for name, entry in reader._table(table, "files", "params.").items()
            }
        for key, choices in (
            ("policy", ("documented", "adapter")),
            ("flavour", ("tf1", "tf2")),
            ("device_precision", ("on", "off")),
        ):
            if key in table:
                found[key] = reader._choice(table, key, choices, None)
        if "op_list" in table:
            found["op_list"] = self._op_list(table["op_list"])
        if "ops_info" in table:
            found["ops_info"] = self._ops_info(table["ops_info"])
        if "ops_info" in self._METHOD_KEYS[method] and method != "library" and _is_mixed_precision(found["values"]):
            # The lists of mixed precision are the hardware's: a question that depends on them gives them.
            given = table.get("ops_info", {})
            if not (isinstance(given, dict) and "fixture" in given):  # a file as a document prints it stays so
                found["ops_info"] = _with_flags(found.get("ops_info", "{}"))
        self._subject(table, method, found)
        self._feeds(table, method, found)
        for key in ("fetches", "init", "args"):
            if key in table:
                found[key] = list(reader._texts(table, key, "params."))
        for key, most in (("steps", 10000), ("concurrent", 1000), ("ranks", 1024)):
            if key in table:
                if type(table[key]) is not int or not 1 <= table[key] <= most:
                    raise reader.fail(f"params.{key}", f"must be an integer from 1 to {most}")
                found[key] = table[key]
        self._of_timeline(table, found)
        if method == "run" and found.get("ranks", 0) and (found["ranks"] > 16 or "script" not in found):
            raise reader.fail("params.ranks", "of run is an integer from 1 to 16, and a script is given")
        if method == "compile":
            self._of_compile(table, found)
        if "may_fail" in table:
            if table["may_fail"] is not True:
                raise reader.fail("params.may_fail", "is true, or left out")
            found["may_fail"] = True
        return found

    def _of_timeline(self, table: Mapping[str, Any], found: Dict[str, Any]) -> None:
        reader = self.reader
        if "device" in table:
            found["device"] = reader._text(table, "device", required=True)
        if "shapes" in table:
            found["shapes"] = self._shapes(reader._table(table, "shapes", "params."), "params.shapes")
        if "variants" in table:
            variants = reader._table(table, "variants", "params.")
            for name, values in variants.items():
                if not _VARIANT.match(name) or name == timeline.BASE or not isinstance(values, dict):
                    raise reader.fail(
                        f"params.variants.{name}",
                        f"is a table of values; its name is of a-z 0-9 . _ -, not {timeline.BASE}",
                    )
            found["variants"] = dict(variants)
        if "faults" in table:
            faults = table["faults"]
            known = isinstance(faults, list) and all(
                isinstance(fault, dict) and isinstance(fault.get("kind"), str) for fault in faults
            )
            if not known or not faults:
                raise reader.fail("params.faults", 'is a list of tables such as { kind = "hang", node = "add" }')
            found["faults"] = [dict(fault) for fault in faults]

    def _of_compile(self, table: Mapping[str, Any], found: Dict[str, Any]) -> None:
        reader = self.reader
        for key in ("models", "turns"):
            if key not in table:
                continue
            entries = table[key]
            if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
                raise reader.fail(f"params.{key}", "is a list of tables")
            found[key] = [dict(entry) for entry in entries]
        found.update(
            {"models": [self._model(number, entry) for number, entry in enumerate(found["models"])]}
            if "models" in found
            else {}
        )
        for number, turn in enumerate(found.get("turns", [])):
            self._turn(f"params.turns[{number}]", turn)

    def _shapes(self, table: Mapping[str, Any], where: str) -> Dict[str, Any]:
        for name, shape in table.items():
            if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
                raise self.reader.fail(f"{where}.{name}", "is a list of sizes")
        return dict(table)

    def _model(self, number: int, entry: Mapping[str, Any]) -> Dict[str, Any]:
        where = f"params.models[{number}]"
        self.reader._no_unknown(entry, {"graph", "feeds", "fetches", "shapes"}, where)
        model: Dict[str, Any] = {"graph": self._fixture(entry.get("graph"), f"models[{number}].graph")}
        for key in ("feeds", "fetches"):
            model[key] = list(self.reader._texts(entry, key, where + "."))
        if "shapes" in entry:
            model["shapes"] = self._shapes(entry["shapes"], f"{where}.shapes")
        return model

    def _turn(self, where: str, turn: Dict[str, Any]) -> None:
        reader = self.reader
        reader._no_unknown(turn, {"values", "env", "files", "age_seconds", "damage", "ends"}, where)
        if "files" in turn:
            table = reader._table(turn, "files", where + ".")
            turn["files"] = {name: self._content(name, entry) for name, entry in table.items()}
        if turn.get("ends", "normal") not in ("normal", "killed"):
            raise reader.fail(f"{where}.ends", "is normal or killed")
        if type(turn.get("age_seconds", 0)) is not int or turn.get("age_seconds", 0) < 0:
            raise reader.fail(f"{where}.age_seconds", "is a number of seconds")
        for damage in turn.get("damage", []):
            if not isinstance(damage, dict) or set(damage) != {"files", "how"} or damage["how"] not in DAMAGES:
                raise reader.fail(f"{where}.damage", f'is {{ files = PATTERN, how = "{"|".join(DAMAGES)}" }}')

    def _subject(self, table: Mapping[str, Any], method: str, found: Dict[str, Any]) -> None:
        given = [key for key in ("graph", "script") if key in table]
        if method in ("options", "library"):
            return
        if len(given) != 1:
            raise self.reader.fail("params", "needs either a graph or a script" if method == "run" else "needs a graph")
        found[given[0]] = self._fixture(table[given[0]], given[0])

    def _feeds(self, table: Mapping[str, Any], method: str, found: Dict[str, Any]) -> None:
        if "feeds" not in table:
            return
        if method != "run":
            found["feeds"] = list(self.reader._texts(table, "feeds", "params."))
            return
        feeds = self.reader._table(table, "feeds", "params.")
        found["feeds"] = {
            name: tensors.from_case(entry, f"{self.reader.where}: params.feeds.{name}") for name, entry in feeds.items()
        }

    def _op_list(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        return self._fixture(value, "op_list")

    def _ops_info(self, value: Any) -> str:
        """The text of an operator information file; a table stands for its JSON."""
        if isinstance(value, dict) and set(value) == {"fixture"}:
            with open(self._fixture(value["fixture"], "ops_info"), encoding="utf-8") as stream:
                return stream.read()
        if isinstance(value, dict):
            return json.dumps(value, indent=2) + "\n"
        if not isinstance(value, str) or not value:
            raise self.reader.fail("params.ops_info", "is a text, a table or { fixture = path }")
        return value

    def _content(self, name: str, entry: Any) -> Any:
        if isinstance(entry, str):
            return entry
        if isinstance(entry, dict) and set(entry) == {"bytes"} and type(entry["bytes"]) is int and entry["bytes"] >= 0:
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"link"} and isinstance(entry["link"], str):
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"access"} and entry["access"] in ("r", "w", ""):
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"fixture"}:
            with open(self._fixture(entry["fixture"], f"files.{name}"), encoding="utf-8") as stream:
                return stream.read()
        raise self.reader.fail(f"params.files.{name}", 'is a text, { fixture = path } or { access = "r" }')

    def _fixture(self, value: Any, key: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.reader.fail(f"params.{key}", "must be a path below fixtures/")
        return resources.fixture(value, where=f"{self.reader.where}: params.{key}", root=self.reader.fixtures)
