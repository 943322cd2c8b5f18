"""The conditions, in the order in which they are laid."""

from __future__ import annotations

from typing import List

from npu_conformance.strength.laws.effects import answers, context, other_options, spellings
from npu_conformance.strength.laws.effects.applicable import accepted, all_of, compiles
from npu_conformance.strength.laws.effects.request import EffectCondition, EffectQuestion, Params

__all__ = ["BY_NAME", "CONDITIONS", "SECOND", "fitting"]

#: In the order in which they are laid; what one gives, those after it leave alone.
CONDITIONS = (*spellings.CONDITIONS, *context.CONDITIONS, *other_options.CONDITIONS)


def _second(params: Params) -> Params:
    """What the question gives is given in the second of two programs, the first of which gives nothing."""
    given = {key: params[key] for key in ("values", "env") if params.get(key)}
    return {**params, "values": {}, "env": {}, "turns": [{}, given]}


#: What is refused is so in a later program, too; nothing else is laid over it.
SECOND = EffectCondition(
    "in the second of two programs",
    ("session.table.unlisted_reserved",),
    all_of(compiles, lambda one: not accepted(one)),
    _second,
    answers.same,
)
BY_NAME = {one.name: one for one in (*CONDITIONS, SECOND)}


#: What runs are asked under: whatever else that changes is left, and leaves values, errors and dumps alone.
_OF_RUNS = frozenset({
    "by NPURunConfig", "by a session", "a cache of its own", "a directory for files of debugging", "weights in files",
    "online inference", "a work path in the environment", "a cache path in the environment", "another home",
    "a folder with files of others", "another order", "white space in files", "files of other options",
    "options of other subjects", "deterministic computing", "defaults that are given", "a launched rank", "tuning",
    "dumps", "a variable, a text, a loop and a call in the graph",
})  # fmt: skip


def fitting(asked: EffectQuestion) -> List[EffectCondition]:
    """The conditions that no document relates to a question."""
    runs = asked.instance.case.method == "run"
    return [one for one in CONDITIONS if (not runs or one.name in _OF_RUNS) and one.fits(asked)]
