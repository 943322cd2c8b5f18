"""Options in company: what a case says of its options must hold beside options that no document relates to them.

Every accepted question of the option cases of level `must` is asked once more together with several others, whose
options are neither the same nor related (:mod:`relations`), and each case is judged on the common answer by what it
says itself. Companies are filled so that soon every two options have stood in one, and every question under every
condition that no document relates to it. Those that are refused are refused in company, too.
"""

from __future__ import annotations

import collections
import hashlib
import json
import re
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from npu_conformance.judging import judge
from npu_conformance.library.library import Case, Instance, Library
from npu_conformance.observing import observe
from npu_conformance.protocol import client
from npu_conformance.strength.laws import relations
from npu_conformance.strength.laws.checks import Law

__all__ = ["CONDITIONS", "LAWS", "Company", "Fault", "ask", "companies", "drawn", "faults", "members"]

#: Those of a company who have stood in none, those who join for whom they have not met, and so many of the first and of
#: the second who are looked at for one place (assumed: nearly every two options meet, in some 350 requests).
_SIZE, _MORE, _WINDOW, _AGAIN = 6, 4, 10, 4

#: So many stand together who have to meet conditions (assumed).
_ASSEMBLY = 30

#: So many companies of so many show words and numbers beside each other (assumed).
_CROWDS, _CROWD_SIZE = 16, 40

#: What may be one of a few words.
_WORD = re.compile(r"[A-Za-z0-9_]{1,24}\Z")

#: Who gives more than so many joins nobody, others join him (assumed).
_MANY = 6

#: So many companies at last are of those who have met least, and so many stand beside one who is refused, without
#: conditions, which is everybody, and under them (assumed).
_LAST, _CROWD, _FEW = 12, 64, 5

#: Files in the current directory that are called as samples are, of the forms that options name; here none names them.
_UNNAMED = {
    "op_precision.ini": "Softmax=high_precision\n",
    "modify_mixlist.json": '{"black-list": {"to-add": ["Relu"]}}',
    "ops_info.json": '{"white-list": {"to-add": ["Softmax"]}}',
    "customize_dtypes.cfg": "OpType::Relu:InputDtype:float16,OutputDtype:float16\n",
    "fusion_switch.cfg": '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}',
    "op_debug_config.cfg": "op_debug_config = ccec_g,oom\n",
    "aoe_config.json": '{"tune_ops_type": ["MatMul"]}',
}

#: What companies stand under, too, where no document relates it to a member: the other run mode, the one that there is
#: anyway, mixed computing, what a launch script sets of one rank of eight, or of one alone, files that nobody names.
CONDITIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "online inference": {"values": {"graph_run_mode": 0}},
    "training that is given": {"values": {"graph_run_mode": 1}},
    "mixed computing": {"values": {"mix_compile_mode": True}},
    "a launched rank": {"env": {"RANK_SIZE": "8", "RANK_ID": "3", "DEVICE_ID": "3", "JOB_ID": "10087"}},
    "a rank alone": {"env": {"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "0", "JOB_ID": "10087"}},
    "a folder of files that nobody names": {"files": _UNNAMED},
}

#: The conditions of one company and of the next, as far as they fit who is there.
_WANTED = (
    ("online inference", "mixed computing", "a launched rank", "a folder of files that nobody names"),
    ("mixed computing", "online inference", "a rank alone", "a folder of files that nobody names"),
)

#: The conditions of every second of a kind that is refused.
_IN_TRAINING = tuple(
    tuple("training that is given" if one == "online inference" else one for one in wanted) for wanted in _WANTED
)

#: Parts of a request that are no member; with a condition goes its place.
_CONDITION, _UNKNOWN, _FIELDS, _ORDER = "condition", "unknown", "fields", "order"

#: The field of the parameter map that a value of Python stands for.
_FIELD_OF = {bool: "b", int: "i", float: "f", str: "s"}

#: A key that no document has.
UNKNOWN_KEY = "no_such_option_of_any_document"

#: The ways of asking in which all parts are there; others name the parts that are.
FIRST, SETTLED = "first", "with the effective values"


class Company(NamedTuple):
    """Questions asked as one.

    members: their places among all members; the first one alone is judged where it is `refused`.
    conditions: of :data:`CONDITIONS`; unknown: whether a key of no document stands among the options; fields: whether
    every value names its field of the parameter map.
    """

    members: Tuple[int, ...]
    conditions: Tuple[str, ...] = ()
    unknown: bool = False
    fields: bool = False
    refused: bool = False

    @property
    def parts(self) -> Tuple[str, ...]:
        """Everything that can be left out: members by number, then what else there is."""
        others = (_UNKNOWN,) * self.unknown + (_FIELDS,) * self.fields + (_ORDER,)
        under = tuple(f"{_CONDITION}{place}" for place in range(len(self.conditions)))
        return tuple(map(str, self.members)) + under + others

    def under(self, parts: Sequence[str]) -> Tuple[str, ...]:
        """The conditions among some parts."""
        return tuple(one for place, one in enumerate(self.conditions) if f"{_CONDITION}{place}" in parts)

    def of(self, members: Sequence[int]) -> Optional[Company]:
        """The company of some members; None without anybody who is judged."""
        left = tuple(one for one in self.members if one in members)
        return self._replace(members=left) if left and (not self.refused or left[0] == self.members[0]) else None


class Fault(NamedTuple):
    """How a company's answer is not what a case says, the law that this breaks, and the answer."""

    law: str
    text: str
    outcome: Optional[client.Outcome]


# -- who may stand beside whom ----------------------------------------------------------------------------------------


def drawn(library: Library, seed: int, rounds: int = 1) -> Tuple[List[Instance], List[Company]]:
    """The questions of a library that a seed puts into companies, and the companies, by places among those.

    With every company goes what cases say of options that nobody gives, and of what a condition gives. In each of
    several rounds there are others.
    """
    chosen = members(library)
    of_its_own = frozenset(name for name, one in library.requirements.items() if one.kind in ("type", "domain"))
    draws = [str(seed), *(f"{seed}/{number}" for number in range(1, rounds))]
    found = [one for draw in draws for one in companies(chosen, draw, of_its_own)]
    there = sorted({number for one in found for number in one.members})
    place = {number: at for at, number in enumerate(there)}
    unset = {
        (condition, *key): one
        for condition in ("", *_OF_CAUSES)
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
        touched = set() if values else set().union(*_touched(case.params))
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


class _Member(NamedTuple):
    """What of a question decides who may stand beside it; sets of names are numbers, a bit for each.

    Several who stand together are one, too. bears: names related to those given; apart: the same without what is
    related to causes; told: names of which a case says more than their default, so that it shows whether they are
    lost; each: the names that are given, one by one.
    """

    number: int
    given: Mapping[str, Any]
    files: Mapping[str, Any]
    names: int
    bears: int
    apart: int
    told: int
    each: Tuple[int, ...]
    texts: str

    def may_join(self, other: _Member) -> bool:
        """Whether no document keeps the two from being asked as one."""
        both = self.names & other.names
        if both and not self._shares(other):
            return False
        if both and self._causes == other._causes:  # which each was asked with: they change nothing for the other
            if self.apart & other.names & ~both and other.apart & self.names & ~both:
                return False
        elif self.bears & other.names and other.bears & self.names:
            return False
        return not (_lacks(other, self.files) or _lacks(self, other.files))

    def _shares(self, other: _Member) -> bool:
        """Whether what both give is the same, of what nothing bears on."""
        both = self.given.keys() & other.given.keys()
        return both <= _CAUSES and all(repr(self.given[name]) == repr(other.given[name]) for name in both)

    @property
    def _causes(self) -> Dict[str, Any]:
        return {name: relations.unwrapped(self.given[name]) for name in _CAUSES if name in self.given}

    def joined(self, other: _Member) -> _Member:
        return _Member(
            self.number,
            {**self.given, **other.given},
            {**self.files, **other.files},
            self.names | other.names,
            self.bears | other.bears,
            self.apart | other.apart,
            self.told | other.told,
            (),
            f"{self.texts}\n{other.texts}",
        )


#: What nothing bears on: two who give the same of it may stand beside each other.
_CAUSES = frozenset(("graph_run_mode", "mix_compile_mode"))

#: Conditions that give such an option, of which cases say what follows.
_OF_CAUSES = tuple(name for name, params in CONDITIONS.items() if _CAUSES & params.get("values", {}).keys())


def _without(given: Mapping[str, Any], *names: str) -> Dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def _lacks(one: _Member, files: Mapping[str, Any]) -> bool:
    """Whether a question may ask for one of these files, which it does not have, or has otherwise."""
    for path, content in files.items():
        if path in one.files:
            if one.files[path] != content:
                return True
        elif path in one.texts or (path.count("/") > 1 and path.rpartition("/")[0] in one.texts):
            return True
    return False


class _Names:
    """The bits of names."""

    def __init__(self) -> None:
        self._bits: Dict[str, int] = {}

    def mask(self, names: Iterable[str]) -> int:
        found = 0
        for name in sorted(names):  # of sets, too, in one order
            found |= 1 << self._bits.setdefault(name, len(self._bits))
        return found

    def member(
        self,
        number: int,
        params: Mapping[str, Any],
        told: Iterable[str] = (),
        refused: bool = False,
        own: str = "",
    ) -> Optional[_Member]:
        """None for what documents relate to everything. Of an option that is refused for its `own` sake only that
        bears on it beside which it is ignored."""
        given = {**params.get("values", {}), **params.get("env", {})}
        related = relations.related(params["surface"], refused).names(_without(given, own))
        ignored: Set[str] = set()
        if own in given:
            ignored = relations.related(params["surface"], own=True).names({own: given[own]})
        related = related | ignored
        if relations.ALL in related:
            return None
        texts = "\n".join(str(relations.unwrapped(value)) for value in given.values())
        shown = self.mask(given.keys() & set(told))
        bears = self.mask(related)
        without_causes = relations.related(params["surface"], refused).names(_without(given, own, *_CAUSES))
        apart = self.mask(without_causes | ignored)
        files, each = params.get("files", {}), tuple(_bits(self.mask(given)))
        return _Member(number, given, files, self.mask(given), bears, apart, shown, each, texts)


def companies(chosen: Sequence[Instance], draw: str, of_its_own: FrozenSet[str]) -> List[Company]:
    """Companies of some members, by their numbers, those that are accepted before those that are refused.

    Args:
        of_its_own: requirements on a type or a domain: what they refuse, no other option lifts.
    """
    names = _Names()
    accepted: Dict[Tuple[str, str], List[_Member]] = {}
    refused: Dict[Tuple[str, str], List[_Member]] = {}
    defaults = _defaults(chosen)
    own: Set[int] = set()
    for number in sorted(range(len(chosen)), key=lambda number: _place(draw, chosen[number].id)):
        one = chosen[number]
        key = (one.case.params["surface"], one.edition)
        told = (name for line in _lines(one) if line not in defaults[key] for name in relations.deciding(line))
        is_refused = one.case.expect.rejected is not None
        if is_refused and _is_of_its_own(one, of_its_own):
            own.add(number)
        member = names.member(number, one.case.params, told, is_refused, _about(one) if number in own else "")
        if member is not None:
            of = refused if is_refused else accepted
            of.setdefault(key, []).append(member)
    found: List[Company] = []
    for key, group in sorted(accepted.items()):
        conditions = _conditions(names, key[0])
        found += _Filling(conditions, key[0] == "session").companies(group)
        found += _crowds(conditions, group)
        found += _assemblies(conditions, group, found)
        beside = _Beside(names, key[0], conditions, group, own)
        for stranger in refused.get(key, ()):
            found += beside.companies(stranger, chosen[stranger.number])
    return found


def _is_of_its_own(one: Instance, kinds: FrozenSet[str]) -> bool:
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


def _conditions(names: _Names, surface: str) -> Dict[str, _Member]:
    """Conditions as members; each has a name of its own, so that everything meets it."""
    found = {}
    for condition, params in CONDITIONS.items():
        member = names.member(_NOBODY, {"surface": surface, **params})
        assert member is not None
        found[condition] = member._replace(names=member.names | names.mask([condition]))
    return found


_NOBODY = -1


def _under(
    member: _Member, conditions: Mapping[str, _Member], number: int, wanted: Sequence[Sequence[str]] = _WANTED
) -> Tuple[_Member, Tuple[str, ...]]:
    """A member under all conditions of a company's turn that it may stand under."""
    there: List[str] = []
    for name in wanted[number % len(wanted)]:
        if member.may_join(conditions[name]):
            member = member.joined(conditions[name])
            there.append(name)
    return member, tuple(there)


def _about(one: Instance) -> str:
    """The option that a question is refused for, where it is one."""
    rejected = one.case.expect.rejected
    return rejected[1].strip("*") if rejected is not None else ""


def _crowds(conditions: Mapping[str, _Member], group: Sequence[_Member]) -> Iterator[Company]:
    """Large companies, in which words and numbers of options meet those of others: first those that have met fewest."""
    names = _Names()
    tokens = {one.number: names.mask(_values_of(one.given)) for one in group if len(one.given) <= _MANY}
    of: Dict[int, List[_Member]] = {}
    for one in group:
        for token in _bits(tokens.get(one.number, 0)):
            of.setdefault(token, []).append(one)
    met = dict.fromkeys(of, 0)
    scenes = ["", *conditions]
    for turn in range(_CROWDS):
        condition = scenes[turn % len(scenes)]
        joined, together = conditions.get(condition), 0
        there: List[int] = []
        waiting = sorted(of, key=lambda token: -bin(met[token]).count("1"))
        while waiting and len(there) < _CROWD_SIZE:
            token = max(waiting, key=lambda one: bin(together & ~met[one]).count("1")) if together else waiting[-1]
            waiting.remove(token)
            for place, one in enumerate(of[token][:_AGAIN] if not token & together else ()):
                if joined is None or joined.may_join(one):
                    of[token].append(of[token].pop(place))
                    joined = one if joined is None else joined.joined(one)
                    there.append(one.number)
                    together |= tokens[one.number]
                    break
        for token in _bits(together):
            met[token] |= together
        yield Company(tuple(sorted(there)), (condition,) * bool(condition))


def _assemblies(
    conditions: Mapping[str, _Member], group: Sequence[_Member], found: Sequence[Company]
) -> Iterator[Company]:
    """Companies in which everybody meets the conditions that he has met in none."""
    met: Dict[int, Set[str]] = {}
    for company in found:
        for number in company.members:
            met.setdefault(number, set()).update(company.conditions)
    lacked: Dict[int, Set[str]] = {}
    waiting: List[_Member] = []
    for one in group:
        # In the next turn it is the same conditions, but another rank.
        there = [_under(one, conditions, turn)[1] for turn in range(len(_WANTED))]
        lacked[one.number] = min((set(under) - met.get(one.number, set()) for under in there), key=len)
        if lacked[one.number]:
            waiting.append(one)
    for turn in range(len(waiting)):
        if not waiting:
            return
        joined, under = _under(waiting[0], conditions, turn)
        numbers: List[int] = []
        left: List[_Member] = []
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
        value = relations.unwrapped(value)
        if isinstance(value, (bool, int)) or (isinstance(value, str) and _WORD.match(value)):
            yield f"{name}={value!r}"


#: After whoever is near, however often those were met.
_LATE = 1 << 30


class _Beside:
    """Puts what is refused beside what is accepted, so that every option is refused beside every name and condition.

    First come those whose options documents relate to the one that is refused, since it is there that they decide.
    """

    def __init__(
        self,
        names: _Names,
        surface: str,
        conditions: Mapping[str, _Member],
        group: Sequence[_Member],
        own: Set[int],
    ) -> None:
        self._names, self._surface, self._conditions, self._own = names, surface, conditions, own
        self._of: Dict[int, List[_Member]] = {}
        for one in group:
            for name in one.each if len(one.given) <= _MANY else ():
                self._of.setdefault(name, []).append(one)
        #: Who gives an option and something else that is related to it, without that option.
        self._with: Dict[Tuple[str, int], List[_Member]] = {}
        for about in sorted({name for one in group for name in one.given}):
            near = names.mask(relations.related(surface).names({about: None}))
            for one in group:
                if about in one.given and near & one.names and len(one.given) <= _MANY:
                    self._keep(one, about, near)
        given = (relations.unwrapped(value) for one in group for value in one.given.values())
        self._words = {value for value in given if isinstance(value, str) and _WORD.match(value)}
        self._met: Dict[str, collections.Counter[int]] = {}
        self._kinds: Set[Tuple[Any, ...]] = set()
        self._turns: collections.Counter[Tuple[Any, ...]] = collections.Counter()

    def _keep(self, one: _Member, about: str, near: int) -> None:
        kept: Optional[_Member] = None
        for name in _bits(near & one.names):
            there = self._with.setdefault((about, name), [])
            if len(there) < _AGAIN:
                if kept is None:
                    params = {"surface": self._surface, "values": _without(one.given, about), "files": one.files}
                    kept = self._names.member(one.number, params, refused=True)
                there += [kept] if kept is not None else []

    def companies(self, refused: _Member, question: Instance) -> Iterator[Company]:
        """One under every condition that fits; for the first of a kind, and for a word that another option takes, one
        without, where more may stand."""
        about = _about(question)
        value = relations.unwrapped(question.case.params["values"].get(about))
        kind = (about, type(value), question.case.expect.rejected, question.case.requirements)
        is_new = kind not in self._kinds
        if is_new or (isinstance(value, str) and value in self._words):
            self._kinds.add(kind)
            yield self._company(refused, (), about, _CROWD if is_new else 0)
        self._turns[kind] += 1
        wanted = _WANTED if self._turns[kind] % 2 else _IN_TRAINING
        joined, conditions = _under(refused, self._conditions, len(self._kinds), wanted)
        if conditions:
            yield self._company(joined, conditions, about, _FEW)

    def _company(self, joined: _Member, conditions: Tuple[str, ...], about: str, size: int) -> Company:
        """Some whom questions about this option have not met, and all who are near it, those first who met it least; at
        last, of those who are near and are not there, whoever may join."""
        met = self._met.setdefault(about, collections.Counter())
        beside: List[int] = []
        near = self._names.mask(relations.related(self._surface).names({about: joined.given.get(about)}))

        def turn(name: int) -> Tuple[int, int, int]:
            if not near & name:
                return _LATE, bool(met[name]), 0
            return met[name] if size else 0, bin(near & self._of[name][0].bears).count("1"), name

        first = sorted(self._of, key=turn)
        for name, most in [*((name, _AGAIN) for name in first), *((name, None) for name in first if near & name)]:
            if len(beside) >= size and not near & name:
                continue
            one = self._one(name, joined, about, most)
            if one is not None:
                joined = joined.joined(one)
                beside.append(one.number)
        met.update(_bits(joined.names))
        return Company((joined.number, *beside), conditions, refused=True)

    def _one(self, name: int, joined: _Member, about: str, most: Optional[int]) -> Optional[_Member]:
        """Of the first who give a name one that may join, of all where no number is said; the next time another.

        First come those who give the refused option, too, which they give as it is refused: beside all else that
        they give, it may be accepted.
        """
        if name & joined.names:
            return None
        of = self._of[name]
        for left in self._with.get((about, name), ()) if joined.number in self._own else ():
            if joined.may_join(left):
                return left
        for place, one in enumerate(of[:most]):
            if joined.may_join(one):
                of.append(of.pop(place))
                return one
        return None


class _Filling:
    """Fills companies so that names meet that have not met before."""

    def __init__(self, conditions: Mapping[str, _Member], of_map: bool) -> None:
        self._conditions, self._of_map = conditions, of_map
        self._met: Dict[int, int] = {}  # what each name that is told has stood beside
        self._beside = {name: 0 for one in conditions.values() for name in _bits(one.names)}  # what was told there

    def companies(self, group: Sequence[_Member]) -> List[Company]:
        found: List[Company] = []
        waiting = list(group)
        of: Dict[int, List[_Member]] = {}
        everyone = 0
        for one in group:
            everyone |= one.names
            for name in _bits(one.names if len(one.given) <= _MANY else 0):
                of.setdefault(name, []).append(one)
            self._met.update(dict.fromkeys(_bits(one.told), 0))
        self._beside.update(dict.fromkeys(_bits(everyone), 0))
        while waiting:
            found.append(self._one(waiting, of, len(found)))
        unmet = {name: everyone & ~met & ~of[name][0].bears for name, met in self._met.items() if name in of}
        for name in sorted(unmet, key=lambda name: -bin(unmet[name]).count("1"))[:_LAST]:
            of[name].append(of[name].pop(0))
            found.append(self._one(of[name][-1:], of, len(found), bare=True))
        return found

    def _one(self, waiting: List[_Member], of: Mapping[int, List[_Member]], number: int, bare: bool = False) -> Company:
        """One company, most of whose members wait no longer; a `bare` one stands under no condition."""
        there = [waiting.pop(0)]
        joined, conditions = (there[0], ()) if bare else _under(there[0], self._conditions, number)
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
        for name in _bits(joined.told):
            self._met[name] |= joined.names
        for name in _bits(joined.names):
            self._beside[name] |= joined.told
        members = tuple(sorted(one.number for one in there))
        return Company(members, conditions, self._of_map and number % 2 == 1, self._of_map and number % 3 == 0)

    def _left(self, joined: _Member) -> Dict[int, int]:
        """Of every name how many are there that it has not stood beside, of the two one told."""
        names, told = joined.names, joined.told
        left = {name: bin(told & ~beside).count("1") for name, beside in self._beside.items()}
        for name, met in self._met.items():
            left[name] += bin(names & ~met).count("1")
        return left

    @staticmethod
    def _best(joined: _Member, waiting: Sequence[_Member], left: Mapping[int, int]) -> Optional[int]:
        """Of the first who wait and may join, the place of the one who meets most that it has not met."""
        best, most, looked = None, -1, 0
        for place, one in enumerate(waiting):
            if len(one.given) <= _MANY and joined.may_join(one):
                new = sum(left[name] for name in one.each)
                if new > most:
                    best, most = place, new
                looked += 1
                if looked == _WINDOW:
                    break
        return best

    @staticmethod
    def _another(joined: _Member, of: Mapping[int, List[_Member]], names: Iterable[int]) -> Optional[_Member]:
        """Somebody who gives the first name that may join; next time others who give it come first."""
        taken = joined.names | joined.bears
        for name in names:
            for place, one in enumerate(of[name][:_AGAIN] if not name & taken else ()):
                if joined.may_join(one):
                    of[name].append(of[name].pop(place))
                    return one
        return None


def _bits(mask: int) -> Iterator[int]:
    """The bits of a set, each as a number of its own."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def _place(draw: str, name: str) -> bytes:
    return hashlib.sha256(f"company/{draw}/{name}".encode()).digest()


# -- asking -----------------------------------------------------------------------------------------------------------


#: Asks for options; None where the backend is asked no more.
Ask = Callable[[Mapping[str, Any]], Optional[client.Outcome]]


def request(company: Company, chosen: Sequence[Instance], parts: Sequence[str], draw: str = "") -> Dict[str, Any]:
    """The parameters of some parts of a company; of a member alone they are those of its case."""
    there = [chosen[number] for number in company.members if str(number) in parts]
    merged: Dict[str, Dict[str, Any]] = {"values": {}, "env": {}, "files": {}}
    for one in reversed(there):  # what is refused is given so, whoever else gives it
        for name, of in merged.items():
            of.update(one.case.params.get(name, {}))
    for condition in company.under(parts):
        for name, more in CONDITIONS[condition].items():
            merged[name].update(more)
    values = merged["values"]
    if _UNKNOWN in parts:
        values[UNKNOWN_KEY] = 7
    if _FIELDS in parts:
        fields = {name: _FIELD_OF.get(type(value)) for name, value in values.items()}
        values = {name: {"field": fields[name], "value": of} if fields[name] else of for name, of in values.items()}
    if _ORDER in parts:
        values = {name: values[name] for name in sorted(values, key=lambda name: _place(draw, name))}
    params = {"surface": there[0].case.params["surface"], "edition": there[0].edition, "values": values}
    for name in ("env", "files"):
        if merged[name] or any(name in one.case.params for one in there):
            params[name] = merged[name]
    return params


def settled(params: Mapping[str, Any], answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The request that gives every value as it took effect."""
    values: Dict[str, Any] = dict(params["values"])
    for name, value in params["values"].items():
        effective = answer["effective"].get(name)
        if effective is not None and effective.get("origin", "given") == "given":
            wrapped = isinstance(value, dict) and set(value) == {"field", "value"}
            values[name] = {**value, "value": effective["value"]} if wrapped else effective["value"]
    return {**params, "values": values}


def ask(
    company: Company, chosen: Sequence[Instance], asker: Ask, claims: judge.Claims, draw: str, small: bool
) -> Tuple[Dict[str, Optional[client.Outcome]], List[Fault]]:
    """What came of asking a company by way of asking, and how it breaks laws.

    All of it is asked, then with the values that took effect where they are others. Where the answer is not what the
    members' cases say, each is asked alone. Who is wrong there is left out, since its own case says so; with `small`
    the rest loses one part after the other as long as somebody is wrong.
    """
    outcomes: Dict[str, Optional[client.Outcome]] = {}
    judged: Dict[str, Wrong] = {}

    def wrong(parts: Sequence[str]) -> bool:
        way = _way(company, parts)
        outcomes[way] = asker(request(company, chosen, parts, draw))
        judged[way] = _wrong(company, chosen, parts, outcomes[way], claims)
        return bool(judged[way])

    if not wrong(company.parts):
        first = outcomes[FIRST]
        params = request(company, chosen, company.parts, draw)
        if isinstance(first, client.Answered) and settled(params, first.ok) != params:
            outcomes[SETTLED] = asker(settled(params, first.ok))
    elif outcomes[FIRST] is not None:
        _make_small(company, wrong, outcomes, small)
    return outcomes, _faults(company, chosen, outcomes, {way: one for way, one in judged.items() if way in outcomes})


def _make_small(
    company: Company, wrong: Callable[[Sequence[str]], bool], outcomes: Dict[str, Optional[client.Outcome]], small: bool
) -> None:
    left = [part for part in company.parts if not part.isdigit() or not wrong([part])]
    if (company.refused and left[0] != company.parts[0]) or not left[0].isdigit():
        return
    if len(left) < len(company.parts) and not wrong(left):
        return
    for part in tuple(left) if small else ():
        fewer = [one for one in left if one != part]
        if len(fewer) < 2 or not fewer[0].isdigit():
            continue
        if wrong(fewer):
            left = fewer
        else:
            del outcomes[_way(company, fewer)]


def _way(company: Company, parts: Sequence[str]) -> str:
    return FIRST if tuple(parts) == company.parts else " ".join(parts)


def _members(parts: Sequence[str]) -> List[int]:
    return [int(part) for part in parts if part.isdigit()]


def _parts(company: Company, way: str) -> Tuple[str, ...]:
    return company.parts if way == FIRST else tuple(way.split(" "))


# -- judging ----------------------------------------------------------------------------------------------------------


#: The members of whom an answer is not what their case says, and what it says instead.
Wrong = Mapping[int, str]


def faults(
    company: Company, chosen: Sequence[Instance], outcomes: Mapping[str, Optional[client.Outcome]], claims: judge.Claims
) -> List[Fault]:
    """How the answers to a company break laws."""
    judged = {
        way: _wrong(company, chosen, _parts(company, way), outcome, claims)
        for way, outcome in outcomes.items()
        if way != SETTLED
    }
    return _faults(company, chosen, outcomes, judged)


def _faults(
    company: Company,
    chosen: Sequence[Instance],
    outcomes: Mapping[str, Optional[client.Outcome]],
    judged: Mapping[str, Wrong],
) -> List[Fault]:
    """What is wrong in the smallest company in which somebody is wrong who is right alone."""
    if not any(judged.values()):
        return _unsettled(outcomes)
    right = {int(way) for way, wrong in judged.items() if way.isdigit() and not wrong}
    for way in sorted(judged, key=lambda way: len(_parts(company, way))):
        parts, outcome = _parts(company, way), outcomes[way]
        blamed = [number for number in judged[way] if outcome is None or right.issuperset(_members(parts))]
        if blamed and not way.isdigit():
            law = next((law for part, law in _LAW_OF.items() if part in parts and way != FIRST), "options-beside")
            words = _words(company, chosen, parts, blamed[0])
            return [Fault(law, f"{words}: {judged[way][blamed[0]]}", outcome)]
    return []


def _unsettled(outcomes: Mapping[str, Optional[client.Outcome]]) -> List[Fault]:
    first, other = outcomes[FIRST], outcomes.get(SETTLED)
    if SETTLED not in outcomes or not isinstance(first, client.Answered):
        return []
    if not isinstance(other, client.Answered):
        words = client.describe(other) if other else "asked no more"
        return [Fault("options-settled", f"{SETTLED}: {words}", other)]
    said, told = _effective(first.ok), _effective(other.ok)
    for fact in sorted(said ^ told)[:1]:
        text = f"{SETTLED}, it says {'no more' if fact in said else 'besides'}: {fact}"
        return [Fault("options-settled", text, other)]
    return []


def _effective(answer: Mapping[str, Any]) -> Set[str]:
    """The lines of a golden about what is effective."""
    effective = answer["effective"].items()
    return {f"effective {name} = {json.dumps(one['value'], sort_keys=True)}" for name, one in effective}


def _words(company: Company, chosen: Sequence[Instance], parts: Sequence[str], wrong: int) -> str:
    """Who is wrong, and beside whom."""

    def named(number: int) -> str:
        params = chosen[number].case.params
        names = ", ".join([*params["values"], *params.get("env", ())])
        return f"{names} ({chosen[number].case.id})" if names else "what is not given"

    others = [named(int(part)) for part in parts if part.isdigit() and int(part) != wrong]
    found = named(wrong) + (f" beside {'; '.join(others)}" if others else "")
    found += "".join(f", in {condition}" for condition in company.under(parts))
    found += ", beside an unknown key" if _UNKNOWN in parts else ""
    found += ", each with its field" if _FIELDS in parts else ""
    return found + (", in another order" if _ORDER in parts else "")


def _wrong(
    company: Company,
    chosen: Sequence[Instance],
    parts: Sequence[str],
    outcome: Optional[client.Outcome],
    claims: judge.Claims,
) -> Wrong:
    """What is wrong with the answer to some parts; of a company with a refused member, with that one alone."""
    there = [number for number in company.members if str(number) in parts]
    judged = there[:1] if company.refused and there[0] == company.members[0] else there
    if outcome is None:
        return dict.fromkeys(judged, "asked no more: it ended too often")
    if isinstance(outcome, client.Answered):
        results = _of_answer(company, chosen, there, judged, company.under(parts), outcome.ok, claims)
    else:
        results = {number: judge.judge(chosen[number], outcome, None, claims) for number in judged}
    return {number: one.detail for number, one in results.items() if one.status not in ("pass", "unsupported")}


def _of_answer(
    company: Company,
    chosen: Sequence[Instance],
    there: Sequence[int],
    judged: Sequence[int],
    conditions: Sequence[str],
    answer: Mapping[str, Any],
    claims: judge.Claims,
) -> Dict[int, judge.Result]:
    """What each case says of a common answer, as far as it is not about the options of others."""
    by_subject: Dict[str, List[observe.Fact]] = {}
    origin: List[observe.Fact] = []
    for fact in observe.observations("options", answer):
        by_subject.setdefault(fact.subject, []).append(fact)
        if fact.aspect == "origins" and not origin:
            origin.append(fact)  # that it tells any decides whether it is asked for some
    surface = chosen[there[0]].case.params["surface"]
    parties = [CONDITIONS[condition] for condition in conditions]
    causes: Dict[str, Set[str]] = {}  # who gives one gives the same as everybody else
    touching: collections.Counter[str] = collections.Counter()
    own: Dict[int, Set[str]] = {}
    for place, params in enumerate([*(chosen[number].case.params for number in there), *parties]):
        given = {**params.get("values", {}), **params.get("env", {})}
        for name in _CAUSES & given.keys():
            causes.setdefault(name, set().union(*_touched({"surface": surface, "values": {name: given[name]}})))
        rest = {"surface": surface, "values": _without(given, *_CAUSES)}
        touched = set().union(*_touched(rest))
        touching.update(touched)
        if place < len(there):
            own[there[place]] = touched
    for of in causes.values():
        touching.update(of)
    found = {}
    for number in judged:
        one = chosen[number]
        given = {**one.case.params["values"], **one.case.params.get("env", {})}
        mine = collections.Counter(own[number])
        for name in causes.keys() & given.keys():
            mine.update(causes[name])
        foreign = {name for name, times in touching.items() if times > mine[name]}.difference(given)
        case, subjects = _narrowed(one.case, one.edition, foreign)
        facts = [
            fact
            for subject in subjects
            for fact in by_subject.get(subject, ())
            if foreign.isdisjoint(relations.deciding(fact.text))
        ]
        if origin and origin[0] not in facts:
            facts += origin
        facts.sort(key=lambda fact: fact.text)
        found[number] = judge.judge_facts(case, one.edition, answer, facts, None, "options" in claims.in_part)
    return found


def _touched(params: Mapping[str, Any]) -> Tuple[Set[str], Set[str]]:
    """The names that are given, and those that they bear on."""
    given = {**params.get("values", {}), **params.get("env", {})}
    return set(given), relations.related(params["surface"]).names(given)


def _narrowed(case: Case, edition: str, foreign: Set[str]) -> Tuple[Case, Set[str]]:
    """A case without what it says of others' options, and the subjects that the rest is about."""
    subjects: Set[str] = set()

    def kept(lines: Sequence[str]) -> Tuple[str, ...]:
        found = [line for line in lines if foreign.isdisjoint(relations.deciding(line))]
        subjects.update(line.split(" ", 2)[1] for line in found)
        return tuple(found)

    expect = case.expect
    observed = tuple(one for one in expect.observe if one[0] == "directives" or one[1] not in foreign)
    subjects.update(subject for _, subject in observed)
    groups = tuple(group for group in expect.any_of if kept(group) == group)
    narrow = expect._replace(
        observe=observed,
        golden={edition: kept(expect.golden.get(edition, ()))},
        contains=kept(expect.contains),
        forbid=kept(expect.forbid),
        any_of=groups,
    )
    return case._replace(expect=narrow), subjects


LAWS = [
    Law("options-unknown", "A key that no document has changes nothing", ("session.table.unlisted_reserved",), (),
        None, "options"),
    Law("options-order", "The order of the keys changes nothing", ("session.table.unlisted_reserved",), (), None,
        "options"),
    Law("options-beside", "Options that no document relates leave each other alone, in a launched rank too",
        ("session.hcom_parallel.default", "runconfig.jit_compile.default"), (), None, "options"),
    Law("options-settled", "An effective value, given, is effective", ("runconfig.hccl_timeout.quantize",), (), None,
        "options"),
]  # fmt: skip

#: The law that a smallest company breaks, by what it cannot do without.
_LAW_OF = {_ORDER: "options-order", _UNKNOWN: "options-unknown"}
