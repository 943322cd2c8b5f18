"""A kind of question: what is asked, how the answers are judged, and which laws hold of them."""

from __future__ import annotations

import functools
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan
from npu_conformance.strength.laws.table import LAWS, OF_CONDITIONS, OF_EFFECTS
from npu_reference.graphs import Graph, close_over, load_graph

__all__ = [
    "OPTIONS", "Found", "Judged", "LawKind", "broken_by", "closed", "refused_by_options", "refused_of", "undecided",
    "words_of",
]  # fmt: skip

#: How a question breaks laws, by law.
Found = Dict[str, LawFinding]

#: A question with how it breaks laws, or with nothing where that is left to :meth:`Kind.faults`.
Judged = Tuple[Asked, Optional[Mapping[str, LawFinding]]]

#: Laws about some questions alone; the kinds of these say so.
_OF_SOME = OF_CONDITIONS | OF_EFFECTS | {"precision-lists", "precision-library"}


class LawKind:
    """One kind of question.

    Attributes:
        name: as the file of answers has it.
        method: the method that answers; none where it is that of the case.
    """

    name = ""
    method = ""

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        """Asks the asker's part of the questions: those in these editions, about these methods."""
        raise NotImplementedError

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        """How the answers to one question break laws."""
        raise NotImplementedError

    def may_concern(self, law: Law) -> bool:
        """Whether answers to questions of this kind are judged by a law; a kind that no law asks for is not asked."""
        return law.method == self.method and law.name not in _OF_SOME

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        """Whether the answers to this question are judged by a law."""
        return self.may_concern(law)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        """The question in words."""
        raise NotImplementedError


def words_of(outcome: Optional[client.Outcome]) -> str:
    """What came of a question that has no answer."""
    return client.describe(outcome) if outcome else "asked no more: it ended too often"


def undecided(asked: Asked, outcome: Optional[client.Outcome]) -> Found:
    """How a question of dtypes breaks a law by having no answer; it may be refused, since a mode or a list may demand
    what no kernel has."""
    if isinstance(outcome, (client.Answered, client.Rejected)):
        return {}
    return {"precision-answered": LawFinding(asked, words_of(outcome), outcome)}


def broken_by(
    asked: Asked, reading: Any, outcome: client.Outcome, claims: judge.Claims, method: str, on_cases: bool = False
) -> Found:
    """How one answer, as it is read, breaks the laws of a method; with `on_cases` those that hold of cases, too."""
    return {
        law.name: LawFinding(asked, fault, outcome)
        for law in LAWS.values()
        if law.method == method and law.faults is not None and (law.on_cases or not on_cases)
        if claims.features.issuperset(law.needs)
        for fault in law.faults(reading)[:1]
    }


def refused_by_options(
    asker: Asker, conditions: Sequence[str], lay: Callable[[Sequence[str]], Mapping[str, Any]]
) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """The options of a question, as one condition after the other is laid over it, asked for by themselves: refusals by
    condition; what is refused is not laid. Whether it is refused rightly the laws of options say."""
    laid: List[str] = []
    for name in conditions if "options" in asker.claims.features else ():
        outcome, params = None, lay([*laid, name])
        asked = {key: params[key] for key in ("surface", "edition", "env", "files") if key in params}
        told = [one.get("values") or {} for one in params.get("turns") or ()]
        for values in ({}, *told[:_MOST], *list((params.get("variants") or {}).values())[:_MOST]):
            given = {key: one for key, one in {**params["values"], **values}.items() if one is not None}
            if not isinstance(outcome, client.Rejected):
                outcome = asker.method("options", {**asked, "values": given}, kept=False)
        if isinstance(outcome, client.Rejected):
            yield OPTIONS + name, outcome
        else:
            laid.append(name)


#: Before the condition with which options are asked for by themselves; so many turns, and variants, are looked at.
OPTIONS, _MOST = "options ", 4


def refused_of(
    conditions: Sequence[str], told: Mapping[str, Optional[client.Outcome]], claims: judge.Claims
) -> Set[str]:
    """The conditions whose options a backend refuses by themselves; all where it is not asked for options."""
    if "options" not in claims.features:
        return set(conditions)
    return {name for name in conditions if isinstance(told.get(OPTIONS + name), client.Rejected)}


@functools.lru_cache(maxsize=256)
def closed(path: str, feeds: Tuple[str, ...] = (), fetches: Tuple[str, ...] = ()) -> Graph:
    """The graph of a file as the pass sees it."""
    graph = load_graph(path)
    named, targets = [name for name in fetches if ":" in name], [name for name in fetches if ":" not in name]
    return close_over(graph, feeds, named, targets) if feeds or fetches else graph
