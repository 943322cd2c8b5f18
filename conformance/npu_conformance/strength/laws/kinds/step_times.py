"""The steps in time of random graphs that several devices compute, under options that arrange collectives."""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws import timing_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.graphs import Step
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, broken_by, words_of
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, edition_of

__all__ = ["OfSteps", "asked_of", "faults", "steps_of"]

#: Of so many random graphs one is asked for its step (assumed: its kinds of operators are fewer).
_STEP = 5

_TOGETHER = 2  # in succession are of one third: one in each edition


class OfSteps(LawKind):
    """The step of a graph under three sets of options, of which nothing can be refused, and where its operators are."""

    name, method = "step", "timeline"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        for number in range(asker.plan.graphs // _STEP):
            if not asker.asks(number, _TOGETHER):
                continue
            edition, places = edition_of(editions, number), "partition" in asker.claims.features
            outcomes = asked_of(asker, steps_of(asker.plan.seed, number), number, edition, places)
            yield Asked(number, edition, outcomes, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        return faults(steps_of(plan.seed, asked.number), claims, asked)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return f"step {plan.seed}/{finding.asked.number}"


def steps_of(seed: int, number: int) -> Tuple[Step, ...]:
    """What the graph of this number is made of; those that leave placeholders alone get an operator."""
    steps = timing_laws.draw(f"step/{seed}/{number}")
    return steps if timing_laws.timed(steps) is not None else (*steps, Step("unary", (0, 0, 0)))


def asked_of(
    asker: Asker, steps: Sequence[Step], number: int, edition: str, places: bool
) -> Dict[str, Optional[client.Outcome]]:
    """What came of asking for the step of a graph and, with `places`, where its operators are, if any may be on the
    host; None where the backend is asked no more."""
    asked = timing_laws.timed(tuple(steps))
    assert asked is not None
    params = timing_laws.params_of(asked, number, edition, "ranks" in asker.claims.features)
    outcomes = {"first": asker.about("timeline", asked.graph, params)}
    placing = timing_laws.placing(params)
    if places and placing is not None:
        outcomes["placed"] = asker.about("partition", asked.graph, placing)
    return outcomes


def faults(steps: Sequence[Step], claims: judge.Claims, asked: Asked) -> Found:
    """How the steps of one graph break laws, by law."""
    outcome = asked.outcomes.get("first")
    if not isinstance(outcome, client.Answered):
        return {"time-answered": LawFinding(asked, words_of(outcome), outcome)}
    made = timing_laws.timed(tuple(steps))
    assert made is not None
    params = timing_laws.params_of(made, asked.number, asked.edition, "ranks" in claims.features)
    variants: Mapping[str, Mapping[str, Any]] = params["variants"]
    told: Dict[str, Mapping[str, Any]] = {"base": outcome.ok["base"], **outcome.ok.get("variants", {})}
    for name in ("base", *variants):
        if "rejected" in told[name]:
            words = f"{name}: {told[name]['rejected'].get('message', '')}"
            return {"time-answered": LawFinding(asked, words, outcome)}
    values = {"base": params["values"], **{name: {**params["values"], **more} for name, more in variants.items()}}
    placed = asked.outcomes.get("placed")
    answered = timing_laws.TimedAnswer(made, told, values, placed.ok if isinstance(placed, client.Answered) else None)
    return broken_by(asked, answered, outcome, claims, "timeline")
