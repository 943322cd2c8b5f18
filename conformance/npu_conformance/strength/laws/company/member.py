"""A question of options as it joins others: what it takes, and what is related to it."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.observing.values import unwrapped
from npu_conformance.strength.laws import relations
from npu_conformance.strength.laws.company.request import CONDITIONS, WANTED

__all__ = [
    "CAUSES", "Member", "Names", "OF_CAUSES", "WORD", "about_of", "bits", "conditions_of", "given_without",
    "laid_under", "size_of", "touched_by",
]  # fmt: skip

#: What may be one of a few words.
WORD = re.compile(r"[A-Za-z0-9_]{1,24}\Z")


class Member(NamedTuple):
    """What of a question decides who may stand beside it; sets of names are numbers, a bit for each.

    Several who stand together are one, too. bears: names related to those given; apart: the same without what is
    related to causes; told: names of which a case says more than their default, so that it shows whether they are
    lost; each: the names that are given, one by one; causes: those of CAUSES among them.
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
    causes: int = 0

    def may_join(self, other: Member) -> bool:
        """Whether no document keeps the two from being asked as one."""
        both = self.names & other.names
        if both and (both & ~self.causes or not self._shares(other)):  # nearly all are told apart by the first
            return False
        if both and self._causes == other._causes:  # which each was asked with: they change nothing for the other
            if self.apart & other.names & ~both and other.apart & self.names & ~both:
                return False
        elif self.bears & other.names and other.bears & self.names:
            return False
        return not ((self.files and _lacks(other, self.files)) or (other.files and _lacks(self, other.files)))

    def _shares(self, other: Member) -> bool:
        """Whether what both give of causes is the same."""
        both = CAUSES & self.given.keys() & other.given.keys()
        return all(repr(self.given[name]) == repr(other.given[name]) for name in both)

    @property
    def _causes(self) -> Dict[str, Any]:
        return {name: unwrapped(self.given[name]) for name in CAUSES if name in self.given}

    def joined(self, other: Member) -> Member:
        return Member(
            self.number,
            {**self.given, **other.given},
            {**self.files, **other.files},
            self.names | other.names,
            self.bears | other.bears,
            self.apart | other.apart,
            self.told | other.told,
            (),
            f"{self.texts}\n{other.texts}",
            self.causes | other.causes,
        )


#: What nothing bears on: two who give the same of it may stand beside each other.
CAUSES = frozenset(("graph_run_mode", "mix_compile_mode"))

#: Conditions that give such an option, of which cases say what follows.
OF_CAUSES = tuple(name for name, params in CONDITIONS.items() if CAUSES & params.get("values", {}).keys())


def given_without(given: Mapping[str, Any], *names: str) -> Dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def _lacks(one: Member, files: Mapping[str, Any]) -> bool:
    """Whether a question may ask for one of these files, which it does not have, or has otherwise."""
    for path, content in files.items():
        if path in one.files:
            if one.files[path] != content:
                return True
        elif path in one.texts or (path.count("/") > 1 and path.rpartition("/")[0] in one.texts):
            return True
    return False


class Names:
    """The bits of names."""

    def __init__(self) -> None:
        self._bits: Dict[str, int] = {}

    def mask(self, names: Iterable[str]) -> int:
        found = 0
        for name in sorted(names):  # of sets, too, in one order
            found |= 1 << self._bits.setdefault(name, len(self._bits))
        return found

    def member(
        self, number: int, params: Mapping[str, Any], told: Iterable[str] = (), refused: bool = False, own: str = ""
    ) -> Optional[Member]:
        """None for what documents relate to everything. Of an option that is refused for its `own` sake only that
        bears on it beside which it is ignored."""
        given = {**params.get("values", {}), **params.get("env", {})}
        related = relations.related(params["surface"], refused).names(given_without(given, own))
        ignored: Set[str] = set()
        if own in given:
            ignored = relations.related(params["surface"], own=True).names({own: given[own]})
        related = related | ignored
        if relations.ALL in related:
            return None
        texts = "\n".join(str(unwrapped(value)) for value in given.values())
        shown = self.mask(given.keys() & set(told))
        bears = self.mask(related)
        without_causes = relations.related(params["surface"], refused).names(given_without(given, own, *CAUSES))
        apart = self.mask(without_causes | ignored)
        files, each = params.get("files", {}), tuple(bits(self.mask(given)))
        causes = self.mask(CAUSES & given.keys())
        return Member(number, given, files, self.mask(given), bears, apart, shown, each, texts, causes)


def conditions_of(names: Names, surface: str) -> Dict[str, Member]:
    """Conditions as members; each has a name of its own, so that everything meets it."""
    found = {}
    for condition, params in CONDITIONS.items():
        member = names.member(_NOBODY, {"surface": surface, **params})
        assert member is not None
        found[condition] = member._replace(names=member.names | names.mask([condition]))
    return found


_NOBODY = -1


def laid_under(
    member: Member, conditions: Mapping[str, Member], number: int, wanted: Sequence[Sequence[str]] = WANTED
) -> Tuple[Member, Tuple[str, ...]]:
    """A member under all conditions of a company's turn that it may stand under."""
    there: List[str] = []
    for name in wanted[number % len(wanted)]:
        if member.may_join(conditions[name]):
            member = member.joined(conditions[name])
            there.append(name)
    return member, tuple(there)


def about_of(one: Instance) -> str:
    """The option that a question is refused for, where it is one."""
    rejected = one.case.expect.rejected
    return rejected[1].strip("*") if rejected is not None else ""


#: How many bits a set has; before Python 3.10 that is counted in its text.
size_of: Callable[[int], int] = getattr(int, "bit_count", lambda mask: bin(mask).count("1"))


def bits(mask: int) -> Iterator[int]:
    """The bits of a set, each as a number of its own."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def touched_by(params: Mapping[str, Any]) -> Tuple[Set[str], Set[str]]:
    """The names that are given, and those that they bear on."""
    given = {**params.get("values", {}), **params.get("env", {})}
    return set(given), relations.related(params["surface"]).names(given)
