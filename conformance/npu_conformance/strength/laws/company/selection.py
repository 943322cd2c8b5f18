"""Which questions stand in company, and which companies are asked."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Sequence, Set, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.observing.values import unwrapped
from npu_conformance.strength.laws import relations
from npu_conformance.strength.laws.company.covering import AGAIN, MANY, Beside, Filling
from npu_conformance.strength.laws.company.member import (
    OF_CAUSES,
    WORD,
    Member,
    Names,
    about_of,
    bits,
    conditions_of,
    laid_under,
    size_of,
    touched_by,
)
from npu_conformance.strength.laws.company.request import CONDITIONS, WANTED, Company, place_of

__all__ = ["companies", "drawn", "members"]

#: So many stand together who have to meet conditions (assumed).
_ASSEMBLY = 30

#: So many companies of so many show words and numbers beside each other (assumed).
_CROWDS, _CROWD_SIZE = 16, 40


# -- who may stand beside whom ----------------------------------------------------------------------------------------


def drawn(library: Library, seed: int, rounds: int = 1) -> Tuple[List[Instance], List[Company]]:
    """The questions of a library that a seed puts into companies, and the companies, by places among those.

    With every company goes what cases say of options that nobody gives, and of what a condition gives. In each of
    several rounds there are others.
    """
    chosen = members(library)
    of_its_own = frozenset(name for name, one in library.requirements.items() if one.kind in ("type", "domain"))
    draws = [str(seed), *(f"{seed}/{number}" for number in range(1, rounds))]
    found = [one for draw in draws for one in companies(chosen, draw, of_its_own) if one.members]
    there = sorted({number for one in found for number in one.members})
    place = {number: at for at, number in enumerate(there)}
    unset = {
        (condition, *key): one
        for condition in ("", *OF_CAUSES)
        for key, one in _saying(library, CONDITIONS[condition]["values"] if condition else {}).items()
    }
    more = {key: len(there) + at for at, key in enumerate(unset)}

    def placed(one: Company) -> Company:
        first = chosen[one.members[0]]
        key = (first.case.params["surface"], first.edition)
        also = () if one.refused else tuple((name, *key) for name in ("", *one.conditions) if (name, *key) in more)
        return one._replace(members=(*(place[number] for number in one.members), *(more[name] for name in also)))

    return [*(chosen[number] for number in there), *unset.values()], [placed(one) for one in found]


def members(library: Library) -> List[Instance]:
    """Every question of an option case that must be accepted, or refused, and gives anything."""
    return [one for one in _asked(library) if one.case.params["values"] or one.case.params.get("env")]


def _asked(library: Library) -> Iterator[Instance]:
    for one in library.instances():
        if one.case.method == "options" and one.case.level == "must" and not one.case.expect.ignorable:
            yield one


def _saying(library: Library, values: Mapping[str, Any]) -> Dict[Tuple[str, str], Instance]:
    """What cases say of options that they give nothing about, as one case of each surface and edition.

    Where there are values, what those cases say that give these and nothing else.
    """
    found: Dict[Tuple[str, str], Instance] = {}
    for one in _asked(library):
        case = one.case
        if case.expect.rejected is not None:
            continue
        if values and (case.params["values"] != values or case.params.get("env")):
            continue
        touched = set() if values else set().union(*touched_by(case.params))
        lines = [line for line in _lines(one) if line.startswith("effective ")]
        lines = [line for line in lines if "*" not in line and touched.isdisjoint(relations.deciding(line))]
        key = (case.params["surface"], one.edition)
        if key not in found:
            params = {"surface": case.params["surface"], "values": dict(values)}
            expect = case.expect._replace(observe=(), golden={}, contains=(), forbid=(), any_of=())
            needs = frozenset(("options",))
            found[key] = one._replace(case=case._replace(params=params, needs=needs, expect=expect))
        known = found[key].case
        told = known.expect._replace(contains=tuple(dict.fromkeys((*known.expect.contains, *lines))))
        found[key] = found[key]._replace(case=known._replace(expect=told))
    return found


def companies(chosen: Sequence[Instance], draw: str, of_its_own: FrozenSet[str]) -> List[Company]:
    """Companies of some members, by their numbers, those that are accepted before those that are refused.

    Args:
        of_its_own: requirements on a type or a domain: what they refuse, no other option lifts.
    """
    names = Names()
    accepted: Dict[Tuple[str, str], List[Member]] = {}
    refused: Dict[Tuple[str, str], List[Member]] = {}
    defaults = _defaults(chosen)
    own: Set[int] = set()
    for number in sorted(range(len(chosen)), key=lambda number: place_of(draw, chosen[number].id)):
        one = chosen[number]
        key = (one.case.params["surface"], one.edition)
        told = (name for line in _lines(one) if line not in defaults[key] for name in relations.deciding(line))
        is_refused = one.case.expect.rejected is not None
        if is_refused and is_of_its_own(one, of_its_own):
            own.add(number)
        # What a variable says is refused, where the option that goes before it does not decide.
        as_refused = is_refused and bool(one.case.params["values"])
        member = names.member(number, one.case.params, told, as_refused, about_of(one) if number in own else "")
        if member is not None:
            of = refused if is_refused else accepted
            of.setdefault(key, []).append(member)
    found: List[Company] = []
    for key, group in sorted(accepted.items()):
        conditions = conditions_of(names, key[0])
        found += Filling(conditions, key[0] == "session").companies(group)
        found += _crowds(conditions, group)
        found += _assemblies(conditions, group, found)
        beside = Beside(names, key[0], conditions, group, own)
        for stranger in refused.get(key, ()):
            found += beside.companies(stranger, chosen[stranger.number])
    return found


def is_of_its_own(one: Instance, kinds: FrozenSet[str]) -> bool:
    """Whether a question is refused for what one option is, whatever is given beside it."""
    rejected = one.case.expect.rejected
    codes = rejected[0] if rejected is not None else ()
    return "OPTION_CONFLICT" not in codes or kinds.issuperset(one.case.requirements)


def _lines(one: Instance) -> Iterator[str]:
    """What a case says must be there, origins aside, which a backend need not tell."""
    expect = one.case.expect
    for lines in (expect.golden.get(one.edition, ()), expect.contains):
        yield from (line for line in lines if not line.startswith("origin "))


def _defaults(chosen: Sequence[Instance]) -> Dict[Tuple[str, str], Set[str]]:
    """What cases say of options that they do not give, by surface and edition."""
    found: Dict[Tuple[str, str], Set[str]] = {}
    for one in chosen:
        values = one.case.params["values"]
        there = found.setdefault((one.case.params["surface"], one.edition), set())
        there.update(line for line in _lines(one) if values.keys().isdisjoint(relations.deciding(line)))
    return found


def _crowds(conditions: Mapping[str, Member], group: Sequence[Member]) -> Iterator[Company]:
    """Large companies, in which words and numbers of options meet those of others: first those that have met fewest."""
    names = Names()
    tokens = {one.number: names.mask(_values_of(one.given)) for one in group if len(one.given) <= MANY}
    of: Dict[int, List[Member]] = {}
    for one in group:
        for token in bits(tokens.get(one.number, 0)):
            of.setdefault(token, []).append(one)
    met = dict.fromkeys(of, 0)
    scenes = ["", *conditions]
    for turn in range(_CROWDS):
        condition = scenes[turn % len(scenes)]
        joined, together = conditions.get(condition), 0
        there: List[int] = []
        waiting = sorted(of, key=lambda token: -size_of(met[token]))
        while waiting and len(there) < _CROWD_SIZE:
            token = max(waiting, key=lambda one: size_of(together & ~met[one])) if together else waiting[-1]
            waiting.remove(token)
            for place, one in enumerate(of[token][:AGAIN] if not token & together else ()):
                if joined is None or joined.may_join(one):
                    of[token].append(of[token].pop(place))
                    joined = one if joined is None else joined.joined(one)
                    there.append(one.number)
                    together |= tokens[one.number]
                    break
        for token in bits(together):
            met[token] |= together
        yield Company(tuple(sorted(there)), (condition,) * bool(condition))


def _assemblies(
    conditions: Mapping[str, Member], group: Sequence[Member], found: Sequence[Company]
) -> Iterator[Company]:
    """Companies in which everybody meets the conditions that he has met in none."""
    met: Dict[int, Set[str]] = {}
    for company in found:
        for number in company.members:
            met.setdefault(number, set()).update(company.conditions)
    lacked: Dict[int, Set[str]] = {}
    waiting: List[Member] = []
    for one in group:
        # In the next turn it is the same conditions, but another rank.
        there = [laid_under(one, conditions, turn)[1] for turn in range(len(WANTED))]
        lacked[one.number] = min((set(under) - met.get(one.number, set()) for under in there), key=len)
        if lacked[one.number]:
            waiting.append(one)
    for turn in range(len(waiting)):
        if not waiting:
            return
        joined, under = laid_under(waiting[0], conditions, turn)
        numbers: List[int] = []
        left: List[Member] = []
        for one in waiting:
            fits = one is waiting[0] or (lacked[one.number].issubset(under) and joined.may_join(one))
            if fits and len(numbers) < _ASSEMBLY:
                joined = joined.joined(one)
                numbers.append(one.number)
            else:
                left.append(one)
        waiting = left
        yield Company(tuple(sorted(numbers)), under)


def _values_of(given: Mapping[str, Any]) -> Iterator[str]:
    """Options with the flag, number or word that they are given as."""
    for name, value in given.items():
        value = unwrapped(value)
        if isinstance(value, (bool, int)) or (isinstance(value, str) and WORD.match(value)):
            yield f"{name}={value!r}"
