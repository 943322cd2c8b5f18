"""Decides how much of the inventory the cases and mutants cover, and how closely: in effect, or by a value alone."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from npu_conformance.backends import mutants as mutation
from npu_conformance.library.case import Case
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.strength import hosting, suspects

__all__ = ["EFFECT", "LEVELS", "OPTION", "Row", "UNSEEN", "answer", "rows"]

#: How closely the cases look: at what the requirement is about, at the value of an option alone, or not at all.
EFFECT, OPTION, UNSEEN = "effect", "option", "unseen"
LEVELS = (EFFECT, OPTION, UNSEEN)

#: Where requirements show whose effect is the value, the refusal or the message of an option itself.
_OF_OPTIONS = ("config", "error")


class Row(NamedTuple):
    """One requirement: its cases, the mutants that break it, and the written reason why no case can see it.

    seen: one of :data:`LEVELS`; needs_tensorflow: whether only cases that need TensorFlow see it so; suspect: whether
    its statement has changed since its cases were held against it.
    """

    id: str
    level: str
    edition: str
    cases: Tuple[str, ...]
    mutants: Tuple[str, ...]
    excused: str
    statement: str
    seen: str = UNSEEN
    needs_tensorflow: bool = False
    suspect: bool = False

    @property
    def covered(self) -> bool:
        return bool(self.cases or self.excused)


def rows(library: Library) -> List[Row]:
    """A row for every requirement, in the inventory's order."""
    cases: Dict[str, List[str]] = {}
    for case in library.cases.values():
        for name in case.requirements:
            cases.setdefault(name, []).append(case.id)
    doubtful = suspects.suspects(library)
    mutants: Dict[str, List[str]] = {}
    for mutant in mutation.registry().values():
        mutants.setdefault(mutant.requirement, []).append(mutant.name)
    return [
        Row(
            one.id,
            one.level,
            one.edition,
            tuple(sorted(cases.get(one.id, []))),
            tuple(mutants.get(one.id, [])),
            one.excused,
            " ".join(one.statement.split()),
            *_seen(one.observable, [library.cases[name] for name in cases.get(one.id, [])]),
            one.id in doubtful,
        )
        for one in library.requirements.values()
    ]


def _seen(observable: str, cases: List[Case]) -> Tuple[str, bool]:
    """How closely cases look at a requirement that shows in `observable`, and whether that takes TensorFlow."""
    if observable in _OF_OPTIONS:
        close = cases
    else:
        close = [case for case in cases if case.method != "options" or _told(case, observable)]
    if close:
        return EFFECT, all(case.method in hosting.WORKER_METHODS for case in close)
    return (OPTION if cases else UNSEEN), False


def _told(case: Case, observable: str) -> bool:
    """Whether an option's case sees more than its value: what is logged, or what the device is told."""
    if observable == "log":
        aspects, refused = {"warnings", "advice"}, case.expect.rejected is not None
    else:
        aspects, refused = {"directives", "meaning"}, False
    heads = {"warnings": "warning ", "advice": "advice ", "directives": "directive ", "meaning": "meaning "}
    words = tuple(heads[aspect] for aspect in aspects)
    lines = [*case.expect.contains, *case.expect.forbid, *(line for group in case.expect.any_of for line in group)]
    observed = {aspect for aspect, _ in case.expect.observe}
    return refused or bool(observed & aspects) or any(line.startswith(words) for line in lines)


def answer(found: List[Row]) -> Mapping[str, Any]:
    """What ``coverage --format json`` prints."""
    return {
        "schema": schema.header("coverage"),
        "total": len(found),
        "covered": sum(1 for row in found if row.covered),
        "seen": {level: sum(1 for row in found if row.seen == level) for level in LEVELS},
        "not_seen_without_tensorflow": [row.id for row in found if row.needs_tensorflow],
        "suspect": [row.id for row in found if row.suspect],
        "requirements": {
            row.id: {
                "statement": row.statement,
                "level": row.level,
                "edition": row.edition,
                "cases": list(row.cases),
                "mutants": list(row.mutants),
                "excused": row.excused or None,
                "seen": row.seen,
                "needs_tensorflow": row.needs_tensorflow,
            }
            for row in found
        },
    }
