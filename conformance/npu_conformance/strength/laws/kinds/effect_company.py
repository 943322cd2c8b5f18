"""Cases of files, of time and of runs beside effects that no document relates to them."""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.protocol import client, requests
from npu_conformance.strength.laws import effects
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, refused_by_options, refused_of, words_of
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved
from npu_conformance.strength.laws.table import OF_EFFECTS

__all__ = ["InCompany"]

#: Cases of one part that do not hold in company and are asked again under each condition alone (assumed).
_TAKEN_ASIDE = 3
_ALONE = "alone"  # the way of asking without conditions
_LEFT = "left"  # without the conditions that a backend is spared
_PARTITION = "partition"
_CASE = "case "  # before the id of a case that is asked as it is


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
            holds = first is not None and not effects.fault(kept, first, asker.claims)
            if first is not None and not holds:
                outcomes.update(_without_what_is_spared(asker, kept, first, params))
                left = _left(kept, outcomes, asker.claims)
                again = outcomes.get(_LEFT)
                holds_so = left != kept and again is not None and not effects.fault(left, again, asker.claims)
                if left.conditions and not holds_so:
                    alone = outcomes[_ALONE] = asker.method(one.case.method, params)
                    right = alone is not None and not effects.fault(kept._replace(conditions=()), alone, asker.claims)
                    for name in left.conditions if right and aside < _TAKEN_ASIDE else ():
                        asked = effects.asked_for([name], params, folder)
                        outcomes[name] = asker.method(one.case.method, asked)
                    aside += right
                outcomes.update(_by_themselves(asker, kept))
            # What is right is judged no second time.
            yield Asked(number, one.edition, outcomes, self.name), {} if holds else None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        """One of the conditions is told where the case does not hold under that alone, or else all."""
        kept = shelved(plan).effects[asked.number]
        method = kept.instance.case.method
        law = next(one.name for one in effects.EFFECTS if one.method == method)
        words = f"beside {', '.join(kept.conditions)}: " if kept.conditions else f"asked for {method}: "
        alone = asked.outcomes.get(_ALONE)
        if alone is not None and effects.fault(kept._replace(conditions=()), alone, claims):
            return {}  # that is the case's own matter
        told = asked.outcomes
        refused = effects.refused_alone(kept, claims, lambda one: isinstance(told.get(_CASE + one.id), client.Rejected))
        if refused is None:
            return {}
        left = _left(refused, told, claims)
        if kept.conditions and not left.conditions:
            return {}
        whole = _LEFT if _LEFT in told else "first"
        for way, outcome in reversed(list(told.items())):
            if way != whole and way not in left.conditions:
                continue
            if outcome is None:
                return {law: LawFinding(asked, words + words_of(None), None)}
            fault = effects.fault(left if way == whole else left._replace(conditions=(way,)), outcome, claims)
            if fault:
                return {law: LawFinding(asked, (words if way == whole else f"beside {way}: ") + fault, outcome)}
        return {}

    def may_concern(self, law: Law) -> bool:
        return law.name in OF_EFFECTS

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        return self.may_concern(law) and law.method == shelved(plan).effects[asked.number].instance.case.method

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return shelved(plan).effects[finding.asked.number].instance.id


def _by_themselves(asker: Asker, kept: effects.KeptEffect) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """The cases that say what is refused, asked as they are, but for those by which it is an error in any case."""
    for one, _ in kept.refusals:
        if not one.case.expect.error and one.case.method in asker.claims.features:
            params = requests.prepare(one, asker.worker.folder).params
            yield _CASE + one.id, asker.method(one.case.method, params)


def _without_what_is_spared(
    asker: Asker, kept: effects.KeptEffect, first: client.Outcome, params: Mapping[str, Any]
) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """The question without the conditions that the backend is spared, where that is another one, and what says so."""
    told: Dict[str, Optional[client.Outcome]] = {"first": first}
    if effects.MIXED in kept.conditions and "partition" in asker.claims.features:
        asked = effects.asked_for([effects.MIXED], params)
        told[_PARTITION] = asker.method("partition", {name: asked[name] for name in _OF_PARTITION if name in asked})
    if effects.is_refused(first) and kept.instance.case.expect.rejected is None:
        told.update(refused_by_options(asker, kept.conditions, lambda names: effects.asked_for(names, params)))
    left = _left(kept, told, asker.claims)
    if left != kept and left.conditions:
        asked = effects.asked_for(left.conditions, params, asker.worker.folder)
        told[_LEFT] = asker.method(kept.instance.case.method, asked)
    yield from told.items()


#: What `partition` takes of a question of files, of time or of runs.
_OF_PARTITION = ("graph", "surface", "edition", "values", "env", "files", "op_list", "feeds", "fetches")


def _left(
    kept: effects.KeptEffect, told: Mapping[str, Optional[client.Outcome]], claims: judge.Claims
) -> effects.KeptEffect:
    return effects.spared(kept, told.get("first"), told.get(_PARTITION), lambda names: refused_of(names, told, claims))
