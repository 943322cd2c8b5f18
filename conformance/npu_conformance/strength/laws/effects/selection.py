"""Which cases are asked under which conditions, so that few questions show all that meets."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from typing import AbstractSet, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.strength.laws.effects.declared import BY_NAME, fitting
from npu_conformance.strength.laws.effects.request import EffectCondition, KeptEffect, question

__all__ = ["details", "digest", "effects", "questions", "usable"]


def effects(instance: Instance) -> FrozenSet[str]:
    """What a case is about: the options and files of its requirements, each with the method that shows it."""
    found = set()
    for requirement in instance.case.requirements:
        room, subject, *_ = requirement.split(".")
        found.add(f"{instance.case.method} {subject if room in ('session', 'runconfig') else room + '.' + subject}")
    return frozenset(found)


def details(instance: Instance, finely: bool = False) -> FrozenSet[str]:
    """What of its effects a case is about: a value, a mode, an order; a step that ends in an error is another. Looked
    at finely, what each surface says is another, and in each edition."""
    more = ", in an error" if any(_ENDS.match(line) for line in instance.case.expect.contains) else ""
    if finely:
        return frozenset(
            f"{'.'.join(one.split('.')[:3])} {instance.edition}{more}" for one in instance.case.requirements
        )
    return frozenset(".".join(one.split(".")[1:3]) + more for one in instance.case.requirements)


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
    """A case, what it shows, in full and in detail, and the conditions that fit it.

    Attributes:
        names: of the conditions; overs: under which names details are asked, each with its conditions.
        price: how dear the question is.
    """

    instance: Instance
    shown: FrozenSet[str]
    small: FrozenSet[str]
    found: Sequence[EffectCondition]
    names: FrozenSet[str]
    overs: Mapping[str, Sequence[str]]
    price: int

    def without(self, *kinds: str) -> _Fitting:
        """The same without the conditions that hide, or shade."""
        found = [one for one in self.found if not any(getattr(one, kind) for kind in kinds)]
        return _fitted(self.instance, self.shown, self.small, found)


def _fitted(
    instance: Instance, shown: FrozenSet[str], small: FrozenSet[str], found: Sequence[EffectCondition]
) -> _Fitting:
    overs: Dict[str, List[str]] = {}
    for one in found:
        if one.over:
            overs.setdefault(one.over, []).append(one.name)
    return _Fitting(instance, shown, small, found, frozenset(one.name for one in found), overs, _price(instance))


def questions(library: Library, seed: int = 0, rounds: int = 1) -> List[KeptEffect]:
    """Questions that show every effect under every condition that fits it, and every detail of one under some: few; and
    of the other cases a part that the seed draws, or in rounds after the first all, under what they have not met."""
    fit = [_fitted(one, effects(one), details(one), fitting(question(one))) for one in usable(library, f"{seed}")]
    runs = [one for one in fit if one.instance.case.method == "run"]  # they are dear: nothing is asked apart of them
    others = [one for one in fit if one.instance.case.method != "run"]
    shaded = [one.without("hiding") for one in others]
    plain = [one.without("hiding", "shading")._replace(small=details(one.instance, finely=True)) for one in others]
    chosen = _few([*plain, *runs])
    chosen += _few(shaded, _names([each for one in shaded for each in one.found if each.shading]))
    chosen += _few(others, _names([each for one in others for each in one.found if each.hiding]), sparse=True)
    met = {(kept.instance.case.id, name) for kept in chosen for name in kept.conditions}
    asked = {kept.instance.case.id for kept in chosen}
    for number in range(rounds):
        for one in _each_once(fit, f"{seed}/{number}"):
            name = one.instance.case.id
            drawn = one.instance.case.method != "run" and digest(f"{seed}", name)[0] % _PART == 0
            if number or (name not in asked and drawn):
                new = {(name, condition.name) for condition in one.found if number or not condition.dear} - met
                gains = {condition: 1 for _, condition in new}
                laid = _together(one.found, gains, f"{seed}/{number}/{name}")
                if number == 0 or any((name, condition) in new for condition in laid):
                    met.update((name, condition) for condition in laid)
                    chosen.append(KeptEffect(one.instance, laid))
    return chosen


def _each_once(fit: Sequence[_Fitting], draw: str) -> List[_Fitting]:
    """Every case in one of its editions."""
    found: Dict[str, _Fitting] = {}
    for one in sorted(fit, key=lambda one: digest(draw, one.instance.id)):
        found.setdefault(one.instance.case.id, one)
    return list(found.values())


def _names(conditions: Iterable[EffectCondition]) -> FrozenSet[str]:
    """The names of conditions, with those that details are asked under of them."""
    return frozenset(name for one in conditions for name in (one.name, one.over) if name)


def _few(fit: Sequence[_Fitting], only: AbstractSet[str] = frozenset(), sparse: bool = False) -> List[KeptEffect]:
    """Few questions that show every effect under every condition that fits it, and every detail of one under some; with
    `only` every effect under these conditions, with no others that show nothing new where they are laid sparsely."""
    left: Dict[str, Set[str]] = {}
    for one in fit:
        for effect in one.shown:
            left.setdefault(effect, set()).update(one.names)
        for detail in one.small:
            left.setdefault(detail, {""}).update(one.overs)
    if only:
        left = {subject: names & only for subject, names in left.items()}
    chosen: List[KeptEffect] = []
    least = float(max((len(one.shown) * len(one.found) for one in fit), default=1))
    while fit:
        most = 0.0
        going = []
        for one in fit:
            gains = _gains(one, left)
            best = (sum(gains.values()) + sum("" in left[detail] for detail in one.small)) / one.price
            if not best:
                continue
            going.append(one)
            if best >= least:
                laid = _together(one.found, gains, one.instance.id, sparse)
                under = {"", *(BY_NAME[name].over for name in laid)}
                new = [(effect, left[effect].intersection(laid)) for effect in one.shown]
                new += [(detail, left[detail] & under) for detail in one.small]
                best = sum(len(names) for _, names in new) / one.price
                if best and best >= least:
                    chosen.append(KeptEffect(one.instance, laid))
                    for subject, names in new:
                        left[subject] -= names
                    continue
            most = max(most, best)
        fit = going
        least = min(least * _LESS, most)
    return chosen


def _gains(one: _Fitting, left: Mapping[str, Set[str]]) -> Dict[str, int]:
    """Of each condition what a question shows under it that is left; none where that is nothing."""
    gains: Dict[str, int] = {}
    for effect in one.shown:
        for name in left[effect] & one.names:
            gains[name] = gains.get(name, 0) + 1
    for detail in one.small:
        for over in left[detail].intersection(one.overs):
            for name in one.overs[over]:
                gains[name] = gains.get(name, 0) + 1
    return gains


#: How much less a question may show in the next round (assumed: few rounds, and nearly as few questions as one by one).
_LESS = 0.5

#: Of the cases that show nothing new one in so many is asked in a run (assumed: what is wrong may show in one alone).
_PART = 48

_LARGE = 4096  # bytes of a graph's text that cost as much as one more program (assumed)


def _price(instance: Instance) -> int:
    """How dear a question is: programs and steps, and what is large."""
    params = instance.case.params
    size = len(params.get("turns") or [{}]) + len(params.get("variants") or ()) + params.get("concurrent", 1)
    size += params.get("steps", 0)
    return size + (2 if "ranks" in params else 0) + os.path.getsize(params["graph"]) // _LARGE


def _together(
    found: Sequence[EffectCondition], gains: Mapping[str, int], draw: str, sparse: bool = False
) -> Tuple[str, ...]:  # fmt: skip
    """Most conditions that may be laid at once: of those of one place the one that shows most that is left.

    Of those that show nothing new one in four is left out, of those under which files lie elsewhere one in two: what is
    wrong may show where another one is not. Where they are laid sparsely, none that shows
    nothing new is laid.
    """
    drawn = dict(zip((one.name for one in found), itertools.cycle(digest("", draw))))
    taken: Set[str] = set()
    kept: Set[str] = set()
    for one in sorted(found, key=lambda each: -gains.get(each.name, 0)):
        out = drawn[one.name] % (2 if one.moves else 4) == 0
        idle = not gains.get(one.name) and (sparse or one.dear or one.shading or out != one.seldom)
        if not idle and taken.isdisjoint(one.places):
            kept.add(one.name)
            taken.update(one.places)
    return tuple(one.name for one in found if one.name in kept)
