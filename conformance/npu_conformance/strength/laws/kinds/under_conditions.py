"""Cases of partition and precision under conditions that no document relates to them."""

from __future__ import annotations

import os
from typing import Any, Collection, Iterator, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.files import descriptors
from npu_conformance.judging import judge
from npu_conformance.protocol import client, requests
from npu_conformance.strength.laws import conditions, scheduling
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import (
    OPTIONS,
    Found,
    Judged,
    LawKind,
    closed,
    refused_by_options,
    refused_of,
)
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved
from npu_conformance.strength.laws.table import OF_CONDITIONS

__all__ = ["UnderConditions"]

_SMALLER = 10  # questions of one part whose conditions are dropped one by one, once they show a fault (assumed)


class UnderConditions(LawKind):
    """A case under conditions; of one that shows a fault, also under fewer, until each of those left is needed. What
    the case does not say as it is, either, is its own matter."""

    name = "dealt"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        before: List[scheduling.Dealt] = []  # what was asked since the worker last had to forget
        left = _SMALLER
        for number, dealt in enumerate(shelved(asker.plan).dealt):
            one = dealt.first
            if one.case.method not in methods or one.edition not in editions:
                continue
            if not asker.asks_about(one.case.params["graph"], number):
                continue
            dealt = scheduling.usable_of(dealt, asker.claims)
            if not dealt.graphs:
                continue
            way = scheduling.way_of(scheduling.WHOLE, dealt)
            outcomes = {scheduling.WHOLE: _once(asker, dealt, way, None if before else ())}
            before = [*(before if conditions.AFTER in dealt.conditions else ()), dealt]
            fails = scheduling.difference(dealt, way, outcomes[scheduling.WHOLE], asker.claims)
            if fails:
                outcomes.update(_refused(asker, dealt, way, outcomes[scheduling.WHOLE]))
                left_over = _spared(dealt, way, outcomes, asker.claims)
                if left_over is not None:
                    way = left_over
                    outcomes[way.text] = _once(asker, dealt, way, before[:-1])
                    fails = scheduling.difference(dealt, way, outcomes[way.text], asker.claims)
            if fails:
                alone = [scheduling.Way((place,), ()) for place in range(len(dealt.graphs))]
                outcomes.update((way.text, _once(asker, dealt, way)) for way in alone)
                if left and not any(
                    scheduling.difference(dealt, way, outcomes[way.text], asker.claims) for way in alone
                ):
                    left -= 1
                    outcomes.update(_fewer(asker, dealt, way, before[:-1]))
                before = []
            # What is right was judged here; what is not was asked in more ways.
            sound = len(outcomes) == 1
            yield Asked(number, one.edition, outcomes, self.name), {} if sound else None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        dealt = scheduling.usable_of(shelved(plan).dealt[asked.number], claims)
        failing = []
        for text, outcome in asked.outcomes.items():
            if text.startswith(OPTIONS):
                continue
            way = scheduling.way_of(text, dealt)
            told = scheduling.difference(dealt, way, outcome, claims)
            if told and _spared(dealt, way, {**asked.outcomes, scheduling.WHOLE: outcome}, claims) is not None:
                continue
            if told and not way.conditions and len(way.graphs) == 1:
                return {}
            if told:
                failing.append((len(way.graphs) + len(way.conditions), text, told, outcome))
        if not failing:
            return {}
        _, text, told, outcome = min(failing, key=lambda one: one[:2])
        where, _, how = told.partition(": ")
        fault = f"{where}: {scheduling.words(dealt, scheduling.way_of(text, dealt))}: {how}"
        return {_law_of(dealt): LawFinding(asked, fault, outcome)}

    def may_concern(self, law: Law) -> bool:
        return law.name in OF_CONDITIONS

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        return law.name == _law_of(shelved(plan).dealt[asked.number])

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return finding.fault.partition(": ")[0]


def _law_of(dealt: scheduling.Dealt) -> str:
    return f"{dealt.first.case.method}-conditions"


def _once(
    asker: Asker, dealt: scheduling.Dealt, way: scheduling.Way, before: Optional[Sequence[scheduling.Dealt]] = None
) -> Optional[client.Outcome]:
    """What came of a case under conditions; None where the backend is asked no more. `before`: what is to be asked
    before it, where one of its conditions is that it comes after something; None where that has just been asked."""
    if asker.done:
        return None
    after = conditions.AFTER in way.conditions
    if after and before is not None:
        for place, other in enumerate(before):
            _once(asker, other, scheduling.way_of(scheduling.WHOLE, other), None if place else ())
        after = bool(before)
    first = dealt.graphs[way.graphs[0]][0]
    folder = asker.folder
    params = requests.prepare(first, folder).params
    if way.graphs != (0,) or way.conditions:
        listed = "op_list" in asker.claims.features
        params, content = scheduling.request(dealt, way, params, listed, closed)
        params["graph"] = os.path.join(folder, f"graph.{scheduling.form(way)}")
        descriptors.write(params["graph"], content)
    outcome = asker.request(first.case.method, params, after=after)
    return None if outcome is None else requests.without_paths(outcome, asker.worker.folder, folder)


def _fewer(
    asker: Asker, dealt: scheduling.Dealt, way: scheduling.Way, before: Sequence[scheduling.Dealt]
) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """Ways of asking with one condition less each time, that still show a fault, and what came of them."""
    for fewer in scheduling.smaller(way):
        outcome = _once(asker, dealt, fewer, before)
        if scheduling.difference(dealt, fewer, outcome, asker.claims):
            yield fewer.text, outcome
            yield from _fewer(asker, dealt, fewer, before)
            return


def _refused(
    asker: Asker, dealt: scheduling.Dealt, way: scheduling.Way, outcome: Optional[client.Outcome]
) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """What came of asking for the options of a question that is refused, by themselves."""
    if isinstance(outcome, client.Rejected) and dealt.first.case.expect.rejected is None:
        params = requests.prepare(dealt.first, asker.folder).params

        def lay(names: Sequence[str]) -> Mapping[str, Any]:
            return scheduling.request(dealt, scheduling.Way(way.graphs[:1], tuple(names)), params, False, closed)[0]

        yield from refused_by_options(asker, scheduling.of_options(way), lay)


def _spared(
    dealt: scheduling.Dealt, way: scheduling.Way, told: Mapping[str, Optional[client.Outcome]], claims: judge.Claims
) -> Optional[scheduling.Way]:
    refused = refused_of(scheduling.of_options(way), told, claims)
    return scheduling.spared(dealt, way, told.get(scheduling.WHOLE), refused, closed)
