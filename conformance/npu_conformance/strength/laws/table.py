"""Every law by name, and each as an instance of a case, as reports have it."""

from __future__ import annotations

import functools
from typing import List, Mapping, Sequence

from npu_conformance.library import inventory
from npu_conformance.library.case import Case, Expect, Instance
from npu_conformance.strength.laws import (
    company,
    conditions,
    effects,
    precision_laws,
    run_laws,
    scheduling,
    timing_laws,
)
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.partitions import laws

__all__ = ["LAWS", "OF_CONDITIONS", "OF_EFFECTS", "apart", "instances", "law_of"]

#: Every law by name, in the order of reports.
LAWS: Mapping[str, Law] = {
    law.name: law
    for law in (
        *laws.LAWS.values(),
        *precision_laws.PRECISION,
        *conditions.LAWS,
        *company.LAWS,
        *effects.EFFECTS,
        *timing_laws.TIMED,
        *run_laws.RUN,
    )
}

#: Those that hold of cases under conditions.
OF_CONDITIONS = frozenset(law.name for law in conditions.LAWS)
OF_EFFECTS = frozenset(law.name for law in effects.EFFECTS)

_PREFIX = "law-"


@functools.lru_cache(maxsize=1)
def _choices() -> Mapping[str, str]:
    return inventory.choices()


def instances(editions: Sequence[str] = ()) -> List[Instance]:
    """Every law in each edition, as a case of the area of its method."""
    chosen = [edition for edition in ("legacy", "current") if not editions or edition in editions]
    return [Instance(_case(law), edition, "") for law in LAWS.values() for edition in chosen]


def law_of(instance: Instance) -> Law:
    """The law that an instance of `instances` stands for."""
    return LAWS[instance.case.id[len(_PREFIX) :]]


def apart(one: Instance) -> bool:
    """Whether no question of the laws is the same as an instance of a case: it may be asked before they are known."""
    return one.case.method not in scheduling.METHODS


def _case(law: Law) -> Case:
    return Case(
        id=f"{_PREFIX}{law.name}",
        title=law.title,
        area=law.area or law.method,
        topic="laws",
        requirements=law.requirements,
        readings=(),
        level="should" if f"{_PREFIX}{law.name}" in _choices() else "must",
        editions=("legacy", "current"),
        method=law.method,
        needs=frozenset(law.needs) | {law.method},
        twins=(),
        control="",
        requires=(),
        cost="fast",
        why="A law holds of every graph, so random ones are asked; a smallest one that breaks it lies in the report.",
        params={},
        expect=Expect((), {}, (), (), (), {}, {}, (), None),
    )
