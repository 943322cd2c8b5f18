"""What a case expects of the answer."""

from __future__ import annotations

import re
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from npu_conformance.library import inventory
from npu_conformance.library.case import Expect
from npu_conformance.library.reading.fields import Fields
from npu_conformance.observing import forms, observe, tensors, timeline
from npu_reference.errors import CATALOGUE

__all__ = ["Expectations", "needed_of_facts"]

_UNSET = re.compile(r"effective (\S+) = null")
_NOTHING = "nothing"


class Expectations:
    """Reads ``[case.expect]``.

    Args:
        topic: area and topic of the file.
        known: the inventory.
        golden: facts by case id, or by ``id@edition``.
    """

    _KEYS = {"observe", "contains", "forbid", "any_of", "bounds", "compare", "values", "finite", "rejected"}

    def __init__(
        self, fields: Fields, topic: str, known: Mapping[str, inventory.Requirement], golden: Mapping[str, List[str]]
    ) -> None:
        self.fields, self.topic, self.known, self.golden = fields, topic, known, golden

    def read(
        self, table: Mapping[str, Any], method: str, case: str, editions: Sequence[str], requirements: Sequence[str]
    ) -> Expect:
        self.fields.no_unknown(table, self._KEYS, "expect")
        aspects = self._observe(table, method)
        expect = Expect(
            observe=aspects,
            golden={edition: self._expected(case, edition) for edition in editions} if aspects else {},
            contains=self.fields.texts(table, "contains", "expect."),
            forbid=self.fields.texts(table, "forbid", "expect."),
            any_of=self._any_of(table),
            bounds=self._bounds(table),
            compare=self._compare(table, method),
            values=self._values(table, method),
            finite=self.fields.texts(table, "finite", "expect."),
            rejected=self._rejected(table),
            ignorable=self._ignorable(table),
            error=any(self.known[name].error for name in requirements),
            unset=self._unset(table, case, editions) if method == "options" else frozenset(),
            after=self._after(table, method),
            names=self._names(table),
        )
        accepts = [
            aspects, expect.contains, expect.forbid, expect.any_of, expect.bounds, expect.compare, expect.values,
            expect.finite,
        ]  # fmt: skip
        if not any(accepts) and expect.rejected is None:
            raise self.fields.fail("expect", "asserts nothing")
        if any(accepts) and expect.rejected is not None and not expect.ignorable:
            raise self.fields.fail("expect.rejected", "an answer that is refused has no other facts")
        if expect.ignorable and not expect.forbid:
            reason = "needs expect.forbid: what must not be if it is ignored"
            raise self.fields.fail("expect.rejected.ignorable", reason)
        return expect

    def _unset(self, table: Mapping[str, Any], case: str, editions: Sequence[str]) -> FrozenSet[Tuple[str, str]]:
        """(edition, option) of options that have no value by the case because no document gives them a default."""
        found: Set[Tuple[str, str]] = set()
        for edition in editions:
            lines = [*self.golden.get(case, []), *self.golden.get(f"{case}@{edition}", [])]
            lines += self.fields.texts(table, "contains", "expect.")
            lines += [line for group in self._any_of(table) for line in group]
            names = (match[1] for match in map(_UNSET.fullmatch, lines) if match)
            found.update((edition, name) for name in names if not inventory.has_default(self.known, name, edition))
        return frozenset(found)

    def _observe(self, table: Mapping[str, Any], method: str) -> Tuple[Tuple[str, str], ...]:
        found = []
        for entry in self.fields.texts(table, "observe", "expect."):
            name, _, pattern = entry.partition(":")
            aspect = observe.ASPECTS.get(name)
            if aspect is None or aspect.method != method:
                names = ", ".join(a.name for a in observe.ASPECTS.values() if a.method == method)
                reason = f"{name!r} is no aspect of {method}"
                raise self.fields.fail("expect.observe", reason, f"Its aspects are {names}.")
            found.append((name, pattern or "*"))
        return tuple(found)

    def _expected(self, case: str, edition: str) -> Tuple[str, ...]:
        lines = self.golden.get(case, []) + self.golden.get(f"{case}@{edition}", [])
        if not lines:
            raise self.fields.fail(
                "expect.observe",
                f"the golden of {self.topic} has no line for this case in edition {edition}",
                f"Write '{case} | {_NOTHING}' if there is no such fact.",
            )
        if _NOTHING in lines:
            if len(lines) > 1:
                raise self.fields.fail("expect.observe", f"its golden says '{_NOTHING}' beside other facts")
            return ()
        return tuple(sorted(lines))

    def _any_of(self, table: Mapping[str, Any]) -> Tuple[Tuple[str, ...], ...]:
        alternatives = table.get("any_of", [])
        if not isinstance(alternatives, list):
            raise self.fields.fail("expect.any_of", "must be a list of lists of fact patterns")
        found = []
        for alternative in alternatives:
            if not isinstance(alternative, list) or not alternative or not all(isinstance(t, str) for t in alternative):
                raise self.fields.fail("expect.any_of", "each alternative is a non-empty list of fact patterns")
            found.append(tuple(alternative))
        return tuple(found)

    def _bounds(self, table: Mapping[str, Any]) -> Mapping[str, Tuple[Optional[int], Optional[int]]]:
        found: Dict[str, Tuple[Optional[int], Optional[int]]] = {}
        for name, limits in self.fields.table(table, "bounds", "expect.").items():
            if not isinstance(limits, dict) or not limits or set(limits) - {"min", "max"}:
                raise self.fields.fail(f"expect.bounds.{name}", "is { min = N, max = M }, or one of the two")
            if not all(type(limit) is int for limit in limits.values()):
                raise self.fields.fail(f"expect.bounds.{name}", "limits are integers")
            found[name] = (limits.get("min"), limits.get("max"))
        return found

    def _compare(self, table: Mapping[str, Any], method: str) -> Mapping[str, Mapping[str, Tuple[str, ...]]]:
        if "compare" in table and method != "timeline":
            raise self.fields.fail("expect.compare", "only a timeline has variants to compare")
        found: Dict[str, Dict[str, Tuple[str, ...]]] = {}
        for variant, measures in self.fields.table(table, "compare", "expect.").items():
            where = f"expect.compare.{variant}"
            if not isinstance(measures, dict) or not measures:
                raise self.fields.fail(where, 'is a table such as { speed = "slower" }')
            self.fields.no_unknown(measures, timeline.MEASURES, where)
            for measure, given in measures.items():
                words = timeline.MEASURES[measure][1]
                allowed = (given,) if isinstance(given, str) else self.fields.texts(measures, measure, where + ".")
                if not allowed or not set(allowed) < set(words):
                    raise self.fields.fail(f"{where}.{measure}", f"is one or two of {', '.join(words)}")
                found.setdefault(variant, {})[measure] = tuple(allowed)
        return found

    def _values(self, table: Mapping[str, Any], method: str) -> Mapping[str, Mapping[str, Any]]:
        found: Dict[str, Mapping[str, Any]] = {}
        for key in ("values", "finite"):
            if table.get(key) and method != "run":
                raise self.fields.fail(f"expect.{key}", "only a run has values")
        for name, entry in self.fields.table(table, "values", "expect.").items():
            where = f"expect.values.{name}"
            tensor = tensors.from_case(entry, f"{self.fields.where}: {where}")
            for key in ("atol", "rtol"):
                if not isinstance(entry.get(key, 0.0), (int, float)) or entry.get(key, 0.0) < 0:
                    raise self.fields.fail(f"{where}.{key}", "must be a number of at least 0")
                tensor[key] = float(entry.get(key, 0.0))
            found[name] = tensor
        return found

    def _rejected(self, table: Mapping[str, Any]) -> Optional[Tuple[Tuple[str, ...], str, str]]:
        """Codes, and patterns of subject and message."""
        if "rejected" not in table:
            return None
        entry = self.fields.table(table, "rejected", "expect.")
        self.fields.no_unknown(entry, {"code", "subject", "message", "names", "after", "ignorable"}, "expect.rejected")
        codes = entry.get("code")
        codes = [codes] if isinstance(codes, str) else codes
        if not isinstance(codes, list) or not codes:
            raise self.fields.fail("expect.rejected.code", "must be a code or a list of codes")
        for code in codes:
            if code not in CATALOGUE:
                reason = f"{code!r} is no code"
                raise self.fields.fail("expect.rejected.code", reason, "Codes are in npu_reference.errors.")
        patterns = []
        for key in ("subject", "message"):
            pattern = entry.get(key, "*")
            if not isinstance(pattern, str):
                raise self.fields.fail(f"expect.rejected.{key}", "must be a pattern")
            patterns.append(pattern)
        return tuple(codes), patterns[0], patterns[1]

    def _ignorable(self, table: Mapping[str, Any]) -> bool:
        given = self.fields.table(table, "rejected", "expect.").get("ignorable", False)
        if type(given) is not bool:
            raise self.fields.fail("expect.rejected.ignorable", "must be true or false")
        return given

    def _names(self, table: Mapping[str, Any]) -> str:
        names = self.fields.table(table, "rejected", "expect.").get("names", "")
        if not isinstance(names, str):
            raise self.fields.fail("expect.rejected.names", "must be a text")
        return names

    def _after(self, table: Mapping[str, Any], method: str) -> Optional[int]:
        """Whole seconds on the device's clock after which a run is refused."""
        after = self.fields.table(table, "rejected", "expect.").get("after")
        if after is not None and (method != "run" or type(after) is not int or after < 0):
            raise self.fields.fail("expect.rejected.after", "must be whole seconds, of a run")
        return after


def needed_of_facts(method: str, expect: Expect) -> Iterator[str]:
    """Features without which no answer could have the facts that are compared or stand in patterns."""
    for measures in expect.compare.values():
        for name in measures:
            yield observe.ASPECTS[timeline.MEASURES[name][0]].feature
    groups = (expect.contains, expect.forbid, *expect.any_of, *expect.golden.values())
    for pattern in (*(one for group in groups for one in group), *(f"{name} " for name in expect.bounds)):
        yield from forms.features_of(method, pattern)
