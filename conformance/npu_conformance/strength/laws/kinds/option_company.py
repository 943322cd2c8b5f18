"""Companies of options that no document relates to each other."""

from __future__ import annotations

import functools
from typing import Collection, Iterable, Iterator, Optional, Sequence

from npu_conformance.judging import judge
from npu_conformance.strength.laws import company
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved

__all__ = ["OfOptions"]

_SMALL = 3  # companies of options that one part makes small (assumed)


class OfOptions(LawKind):
    """A company of options, judged as it is asked; the first that break a law are made small."""

    name, method = "options", "options"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        plan, members = asker.plan, shelved(asker.plan).members
        ask = functools.partial(asker.method, self.method)
        small = _SMALL
        for number in filter(asker.asks, range(len(shelved(plan).options))):
            there = _company(plan, asker.claims, number)
            edition = members[there.members[0]].edition if there is not None else ""
            if there is None or edition not in editions:
                continue
            outcomes, faults = company.ask(there, members, ask, asker.claims, f"{plan.seed}/{number}", small > 0)
            small -= bool(faults)
            asked = Asked(number, edition, outcomes, self.name)
            yield asked, _by_law(asked, faults)

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        there, chosen = _company(plan, claims, asked.number), shelved(plan).members
        return _by_law(asked, company.faults(there, chosen, asked.outcomes, claims) if there is not None else ())

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return f"options {plan.seed}/{finding.asked.number}"


def _company(plan: Plan, claims: judge.Claims, number: int) -> Optional[company.Company]:
    """A company of options without those who need what the backend does not claim; None where nobody is left."""
    shelf = shelved(plan)
    one = shelf.options[number]
    return one.of([place for place in one.members if judge.applicable(shelf.members[place], claims) is None])


def _by_law(asked: Asked, found: Iterable[company.Fault]) -> Found:
    return {fault.law: LawFinding(asked, fault.text, fault.outcome) for fault in found}
