"""The values of small random graphs, each run in several ways."""

from __future__ import annotations

import functools
from typing import Collection, Dict, Iterator, Optional, Sequence

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws import run_laws
from npu_conformance.strength.laws.asker import RUN_SECONDS, Asker
from npu_conformance.strength.laws.graphs import Step
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, words_of
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, edition_of

__all__ = ["TOGETHER", "OfRuns", "faults", "once", "program_of", "runs", "way_of"]

#: Of so many random graphs one is run (assumed: a run takes a hundred times as long).
_RUN = 20

TOGETHER = 2  # in succession are of one third: one in each edition


class OfRuns(LawKind):
    """The values of a graph; a range that would be kept may be refused."""

    name, method = "run", "run"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        for number in range(runs(asker.plan)):
            if not asker.asks(number, TOGETHER):
                continue
            made, edition = program_of(asker.plan.seed, number), edition_of(editions, number)
            outcomes = {way: once(asker, way, made, number, edition) for way in run_laws.ways(made, number)}
            yield Asked(number, edition, outcomes, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        return faults(program_of(plan.seed, asked.number), asked)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return f"run {plan.seed}/{finding.asked.number}"


def runs(plan: Plan) -> int:
    """How many graphs are run."""
    return max(2, plan.graphs // _RUN)


@functools.lru_cache(maxsize=256)
def program_of(seed: int, number: int) -> run_laws.Program:
    """The random graph of this number."""
    steps = run_laws.draw(f"run/{seed}/{number}")
    made = run_laws.program(steps) or run_laws.program([*steps, Step("unary", (0, 0, 0))])
    assert made is not None
    return made


def once(asker: Asker, way: str, made: run_laws.Program, number: int, edition: str) -> Optional[client.Outcome]:
    """What came of running a graph in one way; None where the backend is asked no more."""
    if asker.done:
        return None
    asked = run_laws.asking(way, made, number, edition)
    return asker.about("run", asked.graph, asked.params, RUN_SECONDS, asked.twin)


def faults(made: run_laws.Program, asked: Asked) -> Found:
    """How the values of a graph break laws, by law."""
    found: Found = {}
    answers: Dict[str, client.Answered] = {}
    for way in ("first", *run_laws.WAYS):
        if way not in asked.outcomes:
            continue
        outcome = asked.outcomes[way]
        if isinstance(outcome, client.Answered):
            answers[way] = outcome
        elif not (isinstance(outcome, client.Rejected) and way == "with an operator kept on the host"):
            found.setdefault("run-answered", LawFinding(asked, f"{way}: {words_of(outcome)}", outcome))
    told = {way: outcome.ok for way, outcome in answers.items()}
    for law, fault in run_laws.faults(made, asked.number, asked.edition, told).items():
        found.setdefault(law, LawFinding(asked, fault, answers[way_of(fault)]))
    return found


def way_of(fault: str) -> str:
    """The way of asking that a fault is about, which its words begin with."""
    return next((way for way in run_laws.WAYS if fault.startswith((f"{way}, ", f"{way}: "))), "first")
