"""Random graphs: where their operators are, and of some which dtypes they have."""

from __future__ import annotations

import functools
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.library import twins
from npu_conformance.protocol import client
from npu_conformance.strength.laws import precision_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.graphs import OPERATORS, GraphRequest, Step, draw, request
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, broken_by, undecided, words_of
from npu_conformance.strength.laws.partitions.reading import LawQuestion, facts, read
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, edition_of
from npu_reference.graphs import Graph, graph_from_def

__all__ = [
    "REPEATED", "TOGETHER", "DtypesOfDrawn", "Drawn", "drawn", "faults", "given", "once", "run_mode", "surface",
]  # fmt: skip

#: Of the random graphs: every how many are asked with other names, in a fresh worker, and for dtypes.
_RENAMED, REPEATED, _PRECISE = 4, 4, 6

#: So many random graphs in succession are of one third: among them are some of each of those, in each edition.
TOGETHER = 12

#: One random graph of so many is asked without an operator list, so that the backend's own decides (assumed).
_UNLISTED = 8


class Drawn(LawKind):
    """The partition of a random graph, as it is and with other names; of some once more in a fresh worker."""

    name, method = "graph", "partition"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        for number in range(asker.plan.graphs):
            if not asker.asks(number, TOGETHER):
                continue
            steps, edition = drawn(asker.plan, number), edition_of(editions, number)
            outcomes = {"first": once(asker, steps, number, edition)}
            if number % _RENAMED == 0:
                outcomes["renamed"] = once(asker, steps, number, edition, renamed=True)
            yield Asked(number, edition, outcomes, self.name), None
            if asker.progress is not None:
                asker.progress()

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        return faults(drawn(plan, asked.number), claims, asked)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return f"graph {plan.seed}/{finding.asked.number}"


class DtypesOfDrawn(LawKind):
    """The dtypes of some random graphs, as they are and with other names, in the modes by turns."""

    name, method = "precise", "precision"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        for number in range(0, asker.plan.graphs, _PRECISE):
            if not asker.asks(number, TOGETHER):
                continue
            edition = editions[number // _PRECISE % len(editions)]
            steps, mode = drawn(asker.plan, number), _mode(number, edition)
            ways = ("first", "renamed")
            outcomes = {way: once(asker, steps, number, edition, renamed=way == "renamed", mode=mode) for way in ways}
            yield Asked(number, edition, outcomes, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        found: Found = {}
        answers = {}
        for way, outcome in asked.outcomes.items():
            if isinstance(outcome, client.Answered):
                answers[way] = outcome
            for law, finding in undecided(asked, outcome).items():
                found.setdefault(law, finding)
        asking = request(drawn(plan, asked.number))
        assert asking is not None
        if "first" in answers:
            mode = _mode(asked.number, asked.edition)
            reading = precision_laws.Precise(
                asking.closed, mode, answers["first"].ok, asked.edition, "ops_info" in claims.features
            )
            found.update(broken_by(asked, reading, answers["first"], claims, self.method))
        if len(answers) == 2:
            said, other = (
                set(precision_laws.facts(answers["first"].ok)),
                set(precision_laws.facts(answers["renamed"].ok)),
            )
            for fact in sorted(said ^ other)[:1]:
                words = "no more" if fact in said else "besides"
                found["precision-renaming"] = LawFinding(
                    asked, f"renamed, it says {words}: {fact}", answers["renamed"]
                )  # fmt: skip
        return found

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return f"graph {plan.seed}/{finding.asked.number}"


def drawn(plan: Plan, number: int) -> List[Step]:
    """The steps of a graph; those that leave placeholders alone get an operator."""
    return list(_drawn_of(plan.seed, number))


@functools.lru_cache(maxsize=512)
def _drawn_of(seed: int, number: int) -> List[Step]:
    steps = draw(f"{seed}/{number}")
    return steps if request(steps) is not None else [*steps, Step("unary", (0, 0, 0))]


def _mode(number: int, edition: str) -> str:
    modes = precision_laws.MODES[edition]
    return modes[number // _PRECISE // 2 % len(modes)]


def _mixed(number: int, steps: Sequence[Step]) -> bool:
    """Full offload is simpler: a third is enough. What is on the host may be refused there."""
    made = request(steps)
    ops = {node.op for node in made.graph.nodes} - made.graph.functions.keys() if made is not None else set()
    return number % 3 != 0 or any(step.kept for step in steps) or not ops <= OPERATORS.keys() | {"Placeholder"}


def surface(number: int, edition: str) -> str:
    """Where the options stand; operators are where they are on either surface. No document has NPURunConfig's earlier
    table."""
    return "runconfig" if edition == "current" and number % 4 == 3 else "session"


def run_mode(number: int) -> Dict[str, int]:
    """Online inference by turns: no document makes a division depend on it."""
    return {"graph_run_mode": 0} if number % 5 == 2 else {}


def given(number: int, steps: Sequence[Step]) -> Dict[str, Any]:
    """The options of the random graph of this number."""
    return {**run_mode(number), "mix_compile_mode": _mixed(number, steps)}


def _listed(number: int, claims: judge.Claims) -> bool:
    """Whether a random graph is asked with an operator list; without one the backend's own decides."""
    return "op_list" in claims.features and number % _UNLISTED != _UNLISTED - 1


def _params(
    asked: GraphRequest, steps: Sequence[Step], number: int, edition: str, claims: judge.Claims
) -> Dict[str, Any]:
    params: Dict[str, Any] = {
        "surface": surface(number, edition),
        "edition": edition,
        "values": given(number, steps),
        "feeds": list(asked.feeds),
        "fetches": list(asked.fetches),
    }
    if _listed(number, claims):
        params["op_list"] = OPERATORS
    return params


def _renamed(asked: GraphRequest) -> Tuple[Graph, twins.Twin]:
    """The graph with other names, but for what is fed and fetched: their order is that of their names."""
    definition = asked.graph.to_def()
    kept = {name.partition(":")[0] for name in (*asked.feeds, *asked.fetches)}
    names, originals = twins.rename(definition, kept)
    return graph_from_def(definition), twins.Twin("", names, originals)


def once(
    asker: Asker, steps: Sequence[Step], number: int, edition: str, renamed: bool = False, mode: str = ""
) -> Optional[client.Outcome]:
    """What came of asking about a graph, in its own names; None where the backend is asked no more. With a `mode`, of
    asking for dtypes."""
    if asker.done:
        return None
    asked = request(steps)
    assert asked is not None
    graph, twin = _renamed(asked) if renamed else (asked.graph, None)
    params = _params(asked, steps, number, edition, asker.claims)
    if mode:
        inference = {"graph_run_mode": 0} if mode == "force_fp16" else {}
        params["values"] = {**params["values"], **inference, "precision_mode": mode}
        params["surface"] = "runconfig" if edition == "current" else "session"
        if "ops_info" in asker.claims.features:
            params["ops_info"] = precision_laws.library_of(graph)
    return asker.about("precision" if mode else "partition", graph, params, twin=twin)


def faults(steps: Sequence[Step], claims: judge.Claims, asked: Asked) -> Found:
    """How the answers to one graph break laws, by law."""
    found: Found = {}
    answers: Dict[str, client.Answered] = {}
    for way, outcome in asked.outcomes.items():
        if isinstance(outcome, client.Answered):
            answers[way] = outcome
        else:
            found.setdefault("answered", LawFinding(asked, words_of(outcome), outcome))
    if "first" not in answers:
        return found  # there is nothing to judge, and a law says so
    asking = request(steps)
    assert asking is not None
    listed = OPERATORS if _listed(asked.number, claims) else None
    question = LawQuestion(asking.closed, listed, _mixed(asked.number, steps))
    reading = read(question, answers["first"].ok, claims.features)
    found = {**broken_by(asked, reading, answers["first"], claims, "partition"), **found}
    said = set(facts(reading))
    for law, way in (("renaming", "renamed"), ("repeating", "repeated")):
        if way in answers:
            other = set(facts(read(question, answers[way].ok, claims.features)))
            for fault in _unlike(said, other, way)[:1]:
                found.setdefault(law, LawFinding(asked, fault, answers[way]))
    return found


def _unlike(said: Collection[str], other: Collection[str], way: str) -> List[str]:
    """What the same graph, asked in another way, says no more, then what it says besides."""
    lost = [f"{way}, it says no more: {fact}" for fact in sorted(set(said) - set(other))]
    return lost + [f"{way}, it says: {fact}" for fact in sorted(set(other) - set(said))]
