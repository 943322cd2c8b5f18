"""Decides how much of the inventory the cases and mutants cover."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from npu_conformance.backends import mutants as mutation
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema

__all__ = ["Row", "rows", "answer"]


class Row(NamedTuple):
    """One requirement: its cases, the mutants that break it, and the written reason why no case can see it."""

    id: str
    level: str
    edition: str
    cases: Tuple[str, ...]
    mutants: Tuple[str, ...]
    excused: str
    statement: str

    @property
    def covered(self) -> bool:
        return bool(self.cases or self.excused)


def rows(library: Library) -> List[Row]:
    """A row for every requirement, in the inventory's order."""
    cases: Dict[str, List[str]] = {}
    for case in library.cases.values():
        for name in case.requirements:
            cases.setdefault(name, []).append(case.id)
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
        )
        for one in library.requirements.values()
    ]


def answer(found: List[Row]) -> Mapping[str, Any]:
    """What ``coverage --format json`` prints."""
    return {
        "schema": schema.header("coverage"),
        "total": len(found),
        "covered": sum(1 for row in found if row.covered),
        "requirements": {
            row.id: {
                "statement": row.statement,
                "level": row.level,
                "edition": row.edition,
                "cases": list(row.cases),
                "mutants": list(row.mutants),
                "excused": row.excused or None,
            }
            for row in found
        },
    }
