"""Compares two runs: what came out otherwise, by cause, requirement and instance, and what only one of them has."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.report import causes, failing, stated, summary

__all__ = ["CauseMoved", "Comparison", "Side", "answer", "compare", "of"]


class Side(NamedTuple):
    """One of the two runs. must: (passed, all) requirements of level must."""

    name: str
    suite: str
    verdict: str
    counts: Mapping[str, int]
    must: Tuple[int, int]


class CauseMoved(NamedTuple):
    """A probable cause that makes other cases fail than before.

    before, after: how many cases; begun, ended: ids of the cases that fail by it in the second run alone, in the first
    alone; example: of the second run where it is there, else of the first; told: what is told of it.
    """

    cause: causes.Cause
    before: int
    after: int
    begun: Tuple[str, ...]
    ended: Tuple[str, ...]
    example: Record
    told: failing.Account


class Comparison(NamedTuple):
    """changed: (instance, status before, status after); only_before, only_after: instances of one run; details: of an
    instance that changed, why it did not pass before and after; requirements: (id, worst status before, after)."""

    before: Side
    after: Side
    changed: Tuple[Tuple[str, str, str], ...]
    only_before: Tuple[str, ...]
    only_after: Tuple[str, ...]
    details: Mapping[str, Tuple[str, str]]
    causes: Tuple[CauseMoved, ...]
    requirements: Tuple[Tuple[str, str, str], ...]

    @property
    def worse(self) -> List[Tuple[str, str, str]]:
        """Changes to a worse status."""
        return [change for change in self.changed if is_worse(change[1], change[2])]


def is_worse(before: str, after: str) -> bool:
    """Whether the second of two statuses is the worse one."""
    return judge.ORDER.index(after) < judge.ORDER.index(before)


def compare(library: Library, before: str, after: str) -> Comparison:
    """Compares two report folders.

    Raises:
        NpuError: OUTPUT when one has no complete results.jsonl.
    """
    known = stated.instances(library)
    return of(library, stated.load(library, known, before), stated.load(library, known, after))


def of(library: Library, first: stated.Stated, second: stated.Stated) -> Comparison:
    """Compares two reports that are read."""
    old, new = _results(first), _results(second)
    changed = [(name, old[name][0], new[name][0]) for name in old if name in new and old[name][0] != new[name][0]]
    return Comparison(
        _side(library, first),
        _side(library, second),
        tuple(changed),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name not in old),
        {name: (old[name][1], new[name][1]) for name, _, _ in changed},
        _causes(library, first, second),
        _requirements(first, second),
    )


def _results(one: stated.Stated) -> Dict[str, Tuple[str, str]]:
    """Status and detail by instance."""
    found = {record.instance.id: (record.result.status, record.result.detail) for record in one.report.records}
    found.update((other.id, (other.status, other.detail)) for other in one.foreign)
    return found


def _side(library: Library, one: stated.Stated) -> Side:
    passed = summary.must(library, one.report.records)
    return Side(one.title, one.report.header["suite"]["version"], one.report.verdict, one.counts, passed)


def _causes(library: Library, first: stated.Stated, second: stated.Stated) -> Tuple[CauseMoved, ...]:
    """What moved, that which makes most further cases fail first."""
    old = {cause.name: cause for cause in causes.causes(first.report.records)}
    new = {cause.name: cause for cause in causes.causes(second.report.records)}
    found = []
    for name in dict.fromkeys([*new, *old]):
        before, after = (_cases(side.get(name)) for side in (old, new))
        if before == after:
            continue
        cause, read = (new[name], second) if name in new else (old[name], first)
        begun, ended = sorted(after - before), sorted(before - after)
        # An example of what moved, where there is one that is still told.
        moved = set(begun or ended)
        example = next((one[0] for one in cause.failures if one[0].instance.case.id in moved), cause.example)
        told = failing.account(library, read.report, example)
        found.append(CauseMoved(cause, len(before), len(after), tuple(begun), tuple(ended), example, told))
    return tuple(sorted(found, key=lambda one: (one.before - one.after, one.cause.name)))


def _cases(cause: Optional[causes.Cause]) -> Set[str]:
    return set() if cause is None else {failure[0].instance.case.id for failure in cause.failures}


def _requirements(first: stated.Stated, second: stated.Stated) -> Tuple[Tuple[str, str, str], ...]:
    """What both runs are about and came out otherwise, what became worse first."""
    old, new = (summary.requirement_statuses(one.report.records) for one in (first, second))
    moved = [(name, old[name], new[name]) for name in old if name in new and old[name] != new[name]]
    return tuple(sorted(moved, key=lambda one: (not is_worse(one[1], one[2]), one[0])))


def answer(found: Comparison) -> Dict[str, Any]:
    """What ``compare --format json`` prints."""
    return {
        "schema": schema.header("compare"),
        "before": found.before.name,
        "after": found.after.name,
        "verdicts": {"before": found.before.verdict, "after": found.after.verdict},
        "must_requirements": {
            "before": {"passed": found.before.must[0], "total": found.before.must[1]},
            "after": {"passed": found.after.must[0], "total": found.after.must[1]},
        },
        "changed": [{"id": name, "before": old, "after": new} for name, old, new in found.changed],
        "worse": len(found.worse),
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
        "causes": [
            {
                "name": one.cause.name,
                "sentence": one.cause.sentence,
                "remedy": one.cause.remedy,
                "before": one.before,
                "after": one.after,
                "begun": list(one.begun),
                "ended": list(one.ended),
                "example": {"id": one.example.instance.id, "repeat": one.told.repeat},
            }
            for one in found.causes
        ],
        "requirements": [{"id": name, "before": old, "after": new} for name, old, new in found.requirements],
    }
