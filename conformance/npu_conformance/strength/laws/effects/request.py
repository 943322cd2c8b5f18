"""A case as conditions look at it, and what they are."""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.protocol import client

__all__ = [
    "Answer", "Back", "EffectCondition", "Fits", "HERE", "KeptEffect", "Lay", "MIXED", "Params", "EffectQuestion",
    "question",
]  # fmt: skip

Params = Dict[str, Any]
Answer = Dict[str, Any]
Fits = Callable[["EffectQuestion"], bool]
Lay = Callable[[Params], Params]
Back = Callable[[Answer], Answer]

#: Where everything lies that conditions name: no case has anything there.
HERE = "company"

#: The condition whose effect is the division's: into how many GEOPs is a choice.
MIXED = "mixed computing"


class EffectQuestion(NamedTuple):
    """A case as conditions look at it.

    Attributes:
        options: every option it gives a value, in whatever turn or variant.
        said: what it asserts, a line each; of what is observed in full the aspect and its subject.
    """

    instance: Instance
    params: Mapping[str, Any]
    options: FrozenSet[str]
    said: str

    @property
    def turns(self) -> Sequence[Mapping[str, Any]]:
        return self.params.get("turns") or [{}]

    @property
    def env(self) -> FrozenSet[str]:
        return frozenset(self.params.get("env", {})).union(*(one.get("env") or {} for one in self.turns))


class EffectCondition(NamedTuple):
    """What is laid over a question.

    Attributes:
        name: as reports show it.
        sources: requirements or readings that say what it does, and so what it leaves alone.
        fits: whether no document relates it to what is asked.
        lay: the question under it.
        back: the answer without it; what it is given may be changed.
        places: of conditions that have a place in common one at most is laid.
        dear: laid only where it shows something new: more is compiled for it, or it hides how things are without it.
        fully: every detail of a case is asked under one of this name; its own, where nothing is said.
        roughly: laid over every option or file, and not over every detail: it costs many questions.
        moves: whether files lie elsewhere than they do by themselves.
        seldom: laid in one question of four where it shows nothing new: it costs more than others do.
        shading: whether others are asked without it, as they are by themselves, and all that it is laid over once more.
        graph: what it changes in the graph's definition.
        hiding: whether it may hide how all others are beside the question: what stands beside it does not count as met.
        spared: whether a backend is asked without it after all, by its answer under all conditions and, if it claims
            that, by its partition in mixed computing: the documents leave open whether it makes a difference.
    """

    name: str
    sources: Tuple[str, ...]
    fits: Fits
    lay: Lay
    back: Back
    places: Tuple[str, ...] = ()
    dear: bool = False
    fully: str = ""
    moves: bool = False
    graph: Optional[Callable[[Any], None]] = None
    roughly: bool = False
    hiding: bool = False
    spared: Optional[Callable[[Optional[client.Outcome], Optional[client.Outcome]], bool]] = None
    seldom: bool = False
    shading: bool = False

    @property
    def over(self) -> str:
        """Under which name every detail is asked; none where details are not."""
        return self.fully or ("" if self.dear or self.roughly else self.name)


class KeptEffect(NamedTuple):
    """A question with the conditions that it is asked under, by name.

    refusals: the cases, each with the fact that tells it here, if the question is of several, which say that something
    is refused.
    """

    instance: Instance
    conditions: Tuple[str, ...]
    refusals: Tuple[Tuple[Instance, str], ...] = ()


def question(instance: Instance) -> EffectQuestion:
    """A case's question as conditions look at it."""
    params, expect = instance.case.params, instance.case.expect
    laid = [params["values"], *(one.get("values") or {} for one in params.get("turns") or ())]
    laid += list((params.get("variants") or {}).values())
    said = [*expect.contains, *expect.forbid, *(line for group in expect.any_of for line in group), *expect.bounds]
    said += [f"{aspect}:{subject}" for aspect, subject in expect.observe]
    said += [f"compare {measure}" for measures in expect.compare.values() for measure in measures]
    return EffectQuestion(instance, params, frozenset(name for one in laid for name in one), "\n".join(said))
