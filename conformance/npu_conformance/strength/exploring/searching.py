"""Asks a backend and the reference the same questions until time is up, and makes each kind of difference small."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.backends import base
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.files import descriptors, scratch
from npu_conformance.judging.judge import Claims
from npu_conformance.library.library import Library
from npu_conformance.protocol import client, requests
from npu_conformance.running.lanes import Settings
from npu_conformance.strength import hosting
from npu_conformance.strength.exploring import comparing, questions
from npu_conformance.strength.exploring.comparing import Disagreement
from npu_conformance.strength.exploring.questions import ExploreQuestion
from npu_conformance.strength.laws import graphs
from npu_conformance.strength.laws.shrink import shrink
from npu_reference.errors import NpuError

__all__ = ["Exploration", "Discovery", "SearchPlan", "explore"]

_SECONDS = 10.0  # for one question (assumed)
_SHRINKS = 200  # questions spent on making one difference small (assumed)
_SLOW_SHRINKS = 10  # of those that end a worker (assumed)
_BAD_ENDINGS = 5  # of one kind; then the method is asked no more (assumed)
_KEPT = 0.25  # of the time, for making small what was found (assumed)
_KINDS = 100  # of differences: more would say nothing more (assumed)


class SearchPlan(NamedTuple):
    """What is asked: within so many seconds, at most so many questions (0: no bound), of these methods and editions."""

    seconds: float
    seed: int
    methods: Tuple[str, ...] = questions.METHODS
    editions: Tuple[str, ...] = ("legacy", "current")
    most: int = 0


class Discovery(NamedTuple):
    """One cause of differences: how many questions showed it, the first of them by number, and a smallest one."""

    difference: Disagreement
    times: int
    first: int
    question: ExploreQuestion


class Exploration(NamedTuple):
    """What came of it.

    asked: questions; left: of these, those that the backend or the reference did not answer; stopped: methods asked no
    more, since the backend ended too often; claims: of the backend.
    """

    findings: Tuple[Discovery, ...]
    asked: int
    left: int
    stopped: Tuple[str, ...]
    claims: Claims


def explore(
    library: Library,
    spec: str,
    settings: Settings,
    plan: SearchPlan,
    progress: Optional[Callable[[int, int], None]] = None,
    clock: Callable[[], float] = time.monotonic,
) -> Exploration:
    """Ask until time or questions are used up, and make small what was found.

    Once something was found, a quarter of the time is kept for that. Each finding has its share of what is then left,
    and is asked once more whatever the clock.

    Args:
        progress: called after every question with the numbers of questions and of causes.
    Raises:
        NpuError: BACKEND_UNAVAILABLE, or USAGE where the backend claims nothing of what is to be asked.
    """
    given = questions.material(library)
    with settings.client(spec) as worker:
        claims = Claims.of(worker.hello())
        methods = [one for one in plan.methods if one in claims.features]
        editions = [one for one in plan.editions if one in claims.editions]
        if not methods or not editions:
            raise NpuError("USAGE", spec, "claims nothing of what is to be explored", "Explore what its hello claims.")
        given = questions.claimed(given, claims.features, editions)
        methods = [one for one in methods if one != "timeline" or given.steps]
        asker = _Asker(worker, claims, clock)
        found: Dict[Tuple[str, str, str], List[Any]] = {}
        endings: Dict[str, int] = {}
        number = left = 0
        end = clock() + plan.seconds
        while methods and clock() < end - bool(found) * _KEPT * plan.seconds and (not plan.most or number < plan.most):
            question = questions.draw(plan.seed, number, methods, editions, given)
            shown = asker.differences(question)
            left += shown is None
            for difference in shown or ():
                if difference.cause in found:
                    found[difference.cause][1] += 1
                elif len(found) < _KINDS:
                    found[difference.cause] = [difference, 1, number, question]
                if difference.cause[1] == "ended":
                    endings[question.method] = endings.get(question.method, 0) + 1
            number += 1
            methods = [one for one in methods if endings.get(one, 0) < _BAD_ENDINGS]
            if progress is not None:
                progress(number, len(found))
        findings: List[Discovery] = []
        for one in found.values():
            now = clock()
            share = max(end - now, 0) / (len(found) - len(findings))
            findings.append(asker.smallest(Discovery(*one), now + share))
    stopped = tuple(sorted(one for one, count in endings.items() if count >= _BAD_ENDINGS))
    order = {"must": 0, "should": 1}
    findings.sort(key=lambda one: (order[one.difference.level], -one.times, one.difference.cause))
    return Exploration(tuple(findings), number, left, stopped, claims)


class _Asker:
    """Asks both, each question with the same files."""

    def __init__(self, worker: client.Client, claims: Claims, clock: Callable[[], float]) -> None:
        self.worker, self.claims, self.clock = worker, claims, clock
        self.reference = ReferenceBackend()

    def differences(self, question: ExploreQuestion) -> Optional[List[Disagreement]]:
        """The differences of one question; None where there is nothing to compare."""
        params: Dict[str, Any] = {**question.params, "edition": question.edition}
        folder = os.path.join(self.worker.folder, "case")
        ops: Mapping[str, str] = {}
        if question.steps:
            asked = graphs.request(question.steps)
            if asked is None:
                return None
            scratch.folder(folder)
            params.update(graph=os.path.join(folder, "graph.pb"), feeds=list(asked.feeds), fetches=list(asked.fetches))
            descriptors.write(params["graph"], asked.graph.to_def().SerializeToString(deterministic=True))
            ops = {node.name: node.op for node in asked.closed.nodes}
            if "op_list" in self.claims.features:
                params["op_list"] = graphs.OPERATORS
        told: client.Outcome = self.worker.request(question.method, params, _SECONDS)
        if isinstance(told, (client.Crashed, client.TimedOut, client.Nonsense)):
            self.worker.fresh()
        message = base.answer(self.reference, 1, question.method, params)
        ours = hosting.outcome(message, question.method)
        told, ours = (requests.without_paths(one, self.worker.folder, folder) for one in (told, ours))
        if isinstance(told, client.UnsupportedOutcome) or not isinstance(ours, (client.Answered, client.Rejected)):
            return None
        return comparing.differences(question, told, ours, self.claims, ops)

    def shows(self, question: ExploreQuestion, cause: Tuple[str, str, str]) -> Optional[Disagreement]:
        """The difference of this cause that a question shows, if it does."""
        found = self.differences(question) or []
        return next((one for one in found if one.cause == cause), None)

    def smallest(self, finding: Discovery, until: float) -> Discovery:
        """The finding with a smallest question that still shows its cause, or the smallest found until then; one that a
        fresh worker does not show is `unstable`."""
        cause = finding.difference.cause
        self.worker.fresh()
        if self.shows(finding.question, cause) is None:
            unstable = finding.difference._replace(
                cause=(cause[0], "unstable", cause[2]), told=f"once, and not again: {finding.difference.words}"
            )
            return finding._replace(difference=unstable)
        budget = _SLOW_SHRINKS if cause[1] == "ended" else _SHRINKS

        def still(question: ExploreQuestion) -> bool:
            return self.clock() < until and self.shows(question, cause) is not None

        best = _fewest(finding.question, still, budget)
        if best.steps:
            steps = shrink(best.steps, lambda some: still(best._replace(steps=tuple(some))), budget)
            best = _fewest(best._replace(steps=tuple(steps)), still, budget)
        shown = self.shows(best, cause)
        return finding._replace(question=best, difference=shown) if shown is not None else finding


def _fewest(question: ExploreQuestion, still: Callable[[ExploreQuestion], bool], budget: int) -> ExploreQuestion:
    """The question without every entry that it does not need."""
    changed = True
    while changed and budget > 0:
        changed = False
        for candidate in questions.simpler(question):
            budget -= 1
            if still(candidate):
                question, changed = candidate, True
                break
    return question
