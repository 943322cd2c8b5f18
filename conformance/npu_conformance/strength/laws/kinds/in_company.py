"""Cases of files, of time and of runs beside effects that no document relates to them."""

from __future__ import annotations

from typing import Collection, Iterator, Optional, Sequence

from npu_conformance.judging import judge
from npu_conformance.protocol import requests
from npu_conformance.strength.laws import effects
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, words_of
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved
from npu_conformance.strength.laws.table import OF_EFFECTS

__all__ = ["InCompany"]

#: Cases of one part that do not hold in company and are asked again under each condition alone (assumed).
_TAKEN_ASIDE = 3
_ALONE = "alone"  # the way of asking without conditions


class InCompany(LawKind):
    """A case under conditions; some that do not hold, under each condition alone."""

    name = "effects"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        aside = 0
        for number, kept in enumerate(shelved(asker.plan).effects):
            one = kept.instance
            if not asker.asks_about(one.case.params["graph"], number):
                continue
            if one.case.method not in methods or one.edition not in editions or judge.applicable(one, asker.claims):
                continue
            folder = asker.worker.folder
            params = requests.prepare(one, folder).params
            first = asker.method(one.case.method, effects.asked_for(kept.conditions, params, folder))
            outcomes = {"first": first}
            broken: Optional[Found] = None
            if kept.conditions and first is not None and not effects.fault(kept, first, asker.claims):
                broken = {}  # it is judged no second time
            elif kept.conditions and first is not None:
                alone = outcomes[_ALONE] = asker.method(one.case.method, params)
                holds = alone is not None and not effects.fault(kept._replace(conditions=()), alone, asker.claims)
                if holds and aside < _TAKEN_ASIDE:
                    aside += 1
                    for name in kept.conditions:
                        asked = effects.asked_for([name], params, folder)
                        outcomes[name] = asker.method(one.case.method, asked)
            yield Asked(number, one.edition, outcomes, self.name), broken

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        """One of the conditions is told where the case does not hold under that alone, or else all."""
        kept = shelved(plan).effects[asked.number]
        method = kept.instance.case.method
        law = next(one.name for one in effects.EFFECTS if one.method == method)
        words = f"beside {', '.join(kept.conditions)}: " if kept.conditions else f"asked for {method}: "
        alone = asked.outcomes.get(_ALONE)
        if alone is not None and effects.fault(kept._replace(conditions=()), alone, claims):
            return {}  # that is the case's own matter
        for way, outcome in reversed(list(asked.outcomes.items())):
            if outcome is None:
                return {law: LawFinding(asked, words + words_of(None), None)}
            if way == _ALONE:
                continue
            laid = kept if way == "first" else kept._replace(conditions=(way,))
            fault = effects.fault(laid, outcome, claims)
            if fault:
                return {law: LawFinding(asked, (words if way == "first" else f"beside {way}: ") + fault, outcome)}
        return {}

    def may_concern(self, law: Law) -> bool:
        return law.name in OF_EFFECTS

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        return self.may_concern(law) and law.method == shelved(plan).effects[asked.number].instance.case.method

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return shelved(plan).effects[finding.asked.number].instance.id
