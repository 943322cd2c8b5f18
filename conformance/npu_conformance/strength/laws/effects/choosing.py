"""Which cases are asked under which conditions, so that few questions show all that meets."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from typing import Collection, Dict, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from npu_conformance.library.library import Instance, Library
from npu_conformance.strength.laws.effects.asked import Condition, Kept, question
from npu_conformance.strength.laws.effects.declared import BY_NAME, fitting

__all__ = ["details", "digest", "effects", "questions", "usable"]


def effects(instance: Instance) -> FrozenSet[str]:
    """What a case is about: the options and files of its requirements, each with the method that shows it."""
    found = set()
    for requirement in instance.case.requirements:
        room, subject, *_ = requirement.split(".")
        found.add(f"{instance.case.method} {subject if room in ('session', 'runconfig') else room + '.' + subject}")
    return frozenset(found)


def details(instance: Instance) -> FrozenSet[str]:
    """What of its effects a case is about: a value, a mode, an order; a step that ends in an error is another."""
    ends = any(_ENDS.match(line) for line in instance.case.expect.contains)
    return frozenset(".".join(one.split(".")[1:3]) + ", in an error" * ends for one in instance.case.requirements)


#: How a case says that a step ends in an error.
_ENDS = re.compile(r"ended \S+ [A-Z]")


def usable(library: Library, draw: str = "0") -> List[Instance]:
    """The cases that may be asked under conditions, cheap ones first, and those of a price in an order of a draw."""
    found = [
        one
        for one in library.instances()
        if one.case.method in _METHODS and one.case.level == "must" and not one.twin and not _is_own(one)
    ]
    return sorted(found, key=lambda one: (_price(one), digest(draw, one.id)))


_METHODS = ("compile", "timeline", "run")


def _is_own(one: Instance) -> bool:
    """Whether a run is a script's, or of several ranks: what conditions give it the script may give itself."""
    return one.case.method == "run" and not {"script", "args", "ranks"}.isdisjoint(one.case.params)


def digest(draw: str, text: str) -> bytes:
    """What an order is drawn by."""
    return hashlib.sha256(f"effects/{draw}/{text}".encode()).digest()


class _Fitting(NamedTuple):
    """A case, what it shows, in full and in detail, and the conditions that fit it."""

    instance: Instance
    shown: FrozenSet[str]
    small: FrozenSet[str]
    found: Sequence[Condition]


def questions(library: Library, seed: int = 0, rounds: int = 1) -> List[Kept]:
    """Questions that show every effect under every condition that fits it, and every detail of one under some: few; and
    of the other cases a part that the seed draws, or in rounds after the first all, under what they have not met."""
    fit = [_Fitting(one, effects(one), details(one), fitting(question(one))) for one in usable(library, f"{seed}")]
    hiding = [one for one in fit if one.instance.case.method != "run" and _hiding(one.found)]  # runs are dear
    hid = {one.instance.id for one in hiding}
    plain = [
        one._replace(found=[each for each in one.found if not each.hiding]) if one.instance.id in hid else one
        for one in fit
    ]
    chosen = _few(plain) + _few(hiding, {each for one in hiding for each in _hiding(one.found)})
    met = {(kept.instance.case.id, name) for kept in chosen for name in kept.conditions}
    asked = {kept.instance.case.id for kept in chosen}
    for number in range(rounds):
        for one in _each_once(fit, f"{seed}/{number}"):
            name = one.instance.case.id
            drawn = one.instance.case.method != "run" and digest(f"{seed}", name)[0] % _PART == 0
            if number or (name not in asked and drawn):
                new = {(name, condition.name) for condition in one.found if number or not condition.dear} - met
                laid = _together(one.found, frozenset((name,)), frozenset(), new, f"{seed}/{number}/{name}")
                if number == 0 or any((name, condition) in new for condition in laid):
                    met.update((name, condition) for condition in laid)
                    chosen.append(Kept(one.instance, laid))
    return chosen


def _each_once(fit: Sequence[_Fitting], draw: str) -> List[_Fitting]:
    """Every case in one of its editions."""
    found: Dict[str, _Fitting] = {}
    for one in sorted(fit, key=lambda one: digest(draw, one.instance.id)):
        found.setdefault(one.instance.case.id, one)
    return list(found.values())


def _hiding(found: Sequence[Condition]) -> List[str]:
    """The names of those that hide others, with those that details are asked under of them."""
    return [name for one in found if one.hiding for name in (one.name, one.over) if name]


def _few(fit: Sequence[_Fitting], only: Collection[str] = ()) -> List[Kept]:
    """Few questions that show every effect under every condition that fits it, and every detail of one under some; with
    `only` every effect under these conditions."""
    left = {(effect, condition.name) for _, shown, _, found in fit for effect in shown for condition in found}
    left.update((detail, name) for _, _, small, found in fit for detail in small for name in _details_under(found))
    left = {one for one in left if not only or one[1] in only}
    chosen: List[Kept] = []
    least = float(max((len(shown) * len(found) for _, shown, _, found in fit), default=1))
    while left:
        most = 0.0
        fit = [entry for entry in fit if _shows(*entry[1:], left)]
        for instance, shown, small, found in fit:
            laid = _together(found, shown, small, left, instance.id, bool(only))
            gained = left.intersection((effect, name) for effect in shown for name in laid)
            under = _details_under([BY_NAME[name] for name in laid])
            gained.update(left.intersection((detail, name) for detail in small for name in under))
            worth = len(gained) / _price(instance)
            if gained and worth >= least:
                left -= gained
                chosen.append(Kept(instance, laid))
            else:
                most = max(most, worth)
        least = min(least * _LESS, most)
    return chosen


#: How much less a question may show in the next round (assumed: few rounds, and nearly as few questions as one by one).
_LESS = 0.5

#: Of the cases that show nothing new one in so many is asked in a run (assumed: what is wrong may show in one alone).
_PART = 24

_LARGE = 4096  # bytes of a graph's text that cost as much as one more program (assumed)


def _price(instance: Instance) -> int:
    """How dear a question is: programs and steps, and what is large."""
    params = instance.case.params
    size = len(params.get("turns") or [{}]) + len(params.get("variants") or ()) + params.get("concurrent", 1)
    size += params.get("steps", 0)
    return size + (2 if "ranks" in params else 0) + os.path.getsize(params["graph"]) // _LARGE


def _shows(
    shown: FrozenSet[str], small: FrozenSet[str], found: Sequence[Condition], left: Set[Tuple[str, str]]
) -> bool:
    """Whether anything is left that a question shows."""
    return any((detail, name) in left for detail in small for name in _details_under(found)) or any(
        (effect, one.name) in left for effect in shown for one in found
    )


def _details_under(found: Sequence[Condition]) -> List[str]:
    """What details are asked under: some condition, and each that is laid over all of them."""
    return ["", *(one.over for one in found if one.over)]


def _together(
    found: Sequence[Condition],
    shown: FrozenSet[str],
    small: FrozenSet[str],
    left: Set[Tuple[str, str]],
    draw: str,
    sparse: bool = False,
) -> Tuple[str, ...]:
    """Most conditions that may be laid at once: of those of one place the one that shows most that is left.

    Of those that show nothing new one in four is left out, of those under which files lie elsewhere one in two: what is
    wrong may show where another one is not. Where they are laid sparsely, none that shows
    nothing new is laid.
    """
    drawn = dict(zip((one.name for one in found), itertools.cycle(digest("", draw))))
    gains = {
        one.name: sum((effect, one.name) in left for effect in shown)
        + sum((detail, one.over) in left for detail in small if one.over)
        for one in found
    }
    taken: Set[str] = set()
    kept: Set[str] = set()
    for one in sorted(found, key=lambda each: -gains[each.name]):
        out = drawn[one.name] % (2 if one.moves else 4) == 0
        idle = not gains[one.name] and (sparse or one.dear or out != one.seldom)
        if not idle and taken.isdisjoint(one.places):
            kept.add(one.name)
            taken.update(one.places)
    return tuple(one.name for one in found if one.name in kept)
