"""How companies are filled: with whom each has not stood yet."""

from __future__ import annotations

import collections
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.observing.values import unwrapped
from npu_conformance.strength.laws import relations
from npu_conformance.strength.laws.company.member import (
    WORD,
    Member,
    Names,
    about_of,
    bits,
    given_without,
    laid_under,
    size_of,
)
from npu_conformance.strength.laws.company.request import IN_TRAINING, WANTED, Company

__all__ = ["AGAIN", "Beside", "Filling", "MANY"]

#: Those of a company who have stood in none, those who join for whom they have not met, and so many of the first and of
#: the second who are looked at for one place (assumed: nearly every two options meet, in some 350 requests).
_SIZE, _MORE, _WINDOW, AGAIN = 6, 4, 10, 4

#: Who gives more than so many joins nobody, others join him (assumed).
MANY = 6

#: So many companies at last are of those who have met least, and so many stand beside one who is refused, without
#: conditions, which is everybody, and under them (assumed).
_LAST, _CROWD, _FEW = 12, 64, 5


#: After whoever is near, however often those were met.
_LATE = 1 << 30


class Beside:
    """Puts what is refused beside what is accepted, so that every option is refused beside every name and condition.

    First come those whose options documents relate to the one that is refused, since it is there that they decide.
    """

    def __init__(
        self, names: Names, surface: str, conditions: Mapping[str, Member], group: Sequence[Member], own: Set[int]
    ) -> None:
        self._names, self._surface, self._conditions, self._own = names, surface, conditions, own
        self._of: Dict[int, List[Member]] = {}
        for one in group:
            for name in one.each if len(one.given) <= MANY else ():
                self._of.setdefault(name, []).append(one)
        #: Who gives an option and something else that is related to it, without that option.
        self._with: Dict[Tuple[str, int], List[Member]] = {}
        for about in sorted({name for one in group for name in one.given}):
            near = names.mask(relations.related(surface).names({about: None}))
            for one in group:
                if about in one.given and near & one.names and len(one.given) <= MANY:
                    self._keep(one, about, near)
        given = (unwrapped(value) for one in group for value in one.given.values())
        self._words = {value for value in given if isinstance(value, str) and WORD.match(value)}
        self._met: Dict[str, collections.Counter[int]] = {}
        self._kinds: Set[Tuple[Any, ...]] = set()
        self._turns: collections.Counter[Tuple[Any, ...]] = collections.Counter()

    def _keep(self, one: Member, about: str, near: int) -> None:
        kept: Optional[Member] = None
        for name in bits(near & one.names):
            there = self._with.setdefault((about, name), [])
            if len(there) < AGAIN:
                if kept is None:
                    params = {"surface": self._surface, "values": given_without(one.given, about), "files": one.files}
                    kept = self._names.member(one.number, params, refused=True)
                there += [kept] if kept is not None else []

    def companies(self, refused: Member, question: Instance) -> Iterator[Company]:
        """One under every condition that fits; for the first of a kind, and for a word that another option takes, one
        without, where more may stand."""
        about = about_of(question)
        value = unwrapped(question.case.params["values"].get(about))
        kind = (about, type(value), question.case.expect.rejected, question.case.requirements)
        is_new = kind not in self._kinds
        if is_new or (isinstance(value, str) and value in self._words):
            self._kinds.add(kind)
            yield self._company(refused, (), about, _CROWD if is_new else 0)
        self._turns[kind] += 1
        wanted = WANTED if self._turns[kind] % 2 else IN_TRAINING
        joined, conditions = laid_under(refused, self._conditions, len(self._kinds), wanted)
        if conditions:
            yield self._company(joined, conditions, about, _FEW)

    def _company(self, joined: Member, conditions: Tuple[str, ...], about: str, size: int) -> Company:
        """Some whom questions about this option have not met, and all who are near it, those first who met it least; at
        last, of those who are near and are not there, whoever may join."""
        met = self._met.setdefault(about, collections.Counter())
        beside: List[int] = []
        near = self._names.mask(relations.related(self._surface).names({about: joined.given.get(about)}))

        def turn(name: int) -> Tuple[int, int, int]:
            if not near & name:
                return _LATE, bool(met[name]), 0
            return met[name] if size else 0, size_of(near & self._of[name][0].bears), name

        first = sorted(self._of, key=turn)
        for name, most in [*((name, AGAIN) for name in first), *((name, None) for name in first if near & name)]:
            if name & joined.names or (len(beside) >= size and not near & name):
                continue
            one = self._one(name, joined, about, most)
            if one is not None:
                joined = joined.joined(one)
                beside.append(one.number)
        met.update(bits(joined.names))
        return Company((joined.number, *beside), conditions, refused=True)

    def _one(self, name: int, joined: Member, about: str, most: Optional[int]) -> Optional[Member]:
        """Of the first who give a name one that may join, of all where no number is said; the next time another.

        First come those who give the refused option, too, which they give as it is refused: beside all else that
        they give, it may be accepted.
        """
        of = self._of[name]
        for left in self._with.get((about, name), ()) if joined.number in self._own else ():
            if joined.may_join(left):
                return left
        for place, one in enumerate(of[:most]):
            if joined.may_join(one):
                of.append(of.pop(place))
                return one
        return None


class Filling:
    """Fills companies so that names meet that have not met before."""

    def __init__(self, conditions: Mapping[str, Member], of_map: bool) -> None:
        self._conditions, self._of_map = conditions, of_map
        self._met: Dict[int, int] = {}  # what each name that is told has stood beside
        self._beside = {name: 0 for one in conditions.values() for name in bits(one.names)}  # what was told there

    def companies(self, group: Sequence[Member]) -> List[Company]:
        found: List[Company] = []
        waiting = list(group)
        of: Dict[int, List[Member]] = {}
        everyone = 0
        for one in group:
            everyone |= one.names
            for name in bits(one.names if len(one.given) <= MANY else 0):
                of.setdefault(name, []).append(one)
            self._met.update(dict.fromkeys(bits(one.told), 0))
        self._beside.update(dict.fromkeys(bits(everyone), 0))
        while waiting:
            found.append(self._one(waiting, of, len(found)))
        unmet = {name: everyone & ~met & ~of[name][0].bears for name, met in self._met.items() if name in of}
        for name in sorted(unmet, key=lambda name: -size_of(unmet[name]))[:_LAST]:
            of[name].append(of[name].pop(0))
            found.append(self._one(of[name][-1:], of, len(found), bare=True))
        return found

    def _one(self, waiting: List[Member], of: Mapping[int, List[Member]], number: int, bare: bool = False) -> Company:
        """One company, most of whose members wait no longer; a `bare` one stands under no condition."""
        there = [waiting.pop(0)]
        joined, conditions = (there[0], ()) if bare else laid_under(there[0], self._conditions, number)
        left = self._left(joined)
        while len(there) < _SIZE:
            place = self._best(joined, waiting, left)
            if place is None:
                break
            there.append(waiting.pop(place))
            joined = joined.joined(there[-1])
        left = self._left(joined)
        first = sorted(of, key=lambda name: -left[name])
        while len(there) < _SIZE + _MORE:
            one = self._another(joined, of, [name for name in first if len(there) < _SIZE or left[name]])
            if one is None:
                break
            there.append(one)
            joined = joined.joined(one)
        for name in bits(joined.told):
            self._met[name] |= joined.names
        for name in bits(joined.names):
            self._beside[name] |= joined.told
        members = tuple(sorted(one.number for one in there))
        return Company(members, conditions, self._of_map and number % 2 == 1, self._of_map and number % 3 == 0)

    def _left(self, joined: Member) -> Dict[int, int]:
        """Of every name how many are there that it has not stood beside, of the two one told."""
        names, told = joined.names, joined.told
        left = {name: size_of(told & ~beside) for name, beside in self._beside.items()}
        for name, met in self._met.items():
            left[name] += size_of(names & ~met)
        return left

    @staticmethod
    def _best(joined: Member, waiting: Sequence[Member], left: Mapping[int, int]) -> Optional[int]:
        """Of the first who wait and may join, the place of the one who meets most that it has not met."""
        best, most, looked = None, -1, 0
        for place, one in enumerate(waiting):
            if len(one.given) <= MANY and joined.may_join(one):
                new = sum(left[name] for name in one.each)
                if new > most:
                    best, most = place, new
                looked += 1
                if looked == _WINDOW:
                    break
        return best

    @staticmethod
    def _another(joined: Member, of: Mapping[int, List[Member]], names: Iterable[int]) -> Optional[Member]:
        """Somebody who gives the first name that may join; next time others who give it come first."""
        taken = joined.names | joined.bears
        for name in names:
            for place, one in enumerate(of[name][:AGAIN] if not name & taken else ()):
                if joined.may_join(one):
                    of[name].append(of[name].pop(place))
                    return one
        return None
