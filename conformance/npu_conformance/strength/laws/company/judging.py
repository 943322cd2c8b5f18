"""The request of a company, and whether each of it is answered what it says alone."""

from __future__ import annotations

import collections
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from npu_conformance.judging import judge
from npu_conformance.library.case import Case, Instance
from npu_conformance.observing import observe
from npu_conformance.observing.values import same, unwrapped
from npu_conformance.protocol import client
from npu_conformance.strength.laws import relations
from npu_conformance.strength.laws.company.member import CAUSES, given_without, touched_by
from npu_conformance.strength.laws.company.request import (
    CONDITIONS,
    FIELDS,
    FIRST,
    ORDER,
    SETTLED,
    UNKNOWN,
    UNKNOWN_KEYS,
    Company,
    Fault,
    place_of,
    refuses_unknown,
)
from npu_conformance.strength.laws.law import Law

__all__ = ["LAWS", "ask", "faults", "request"]

#: The field of the parameter map that a value of Python stands for.
_FIELD_OF = {bool: "b", int: "i", float: "f", str: "s"}


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
    if UNKNOWN in parts:
        values.update(UNKNOWN_KEYS)
    if FIELDS in parts:
        fields = {name: _FIELD_OF.get(type(value)) for name, value in values.items()}
        values = {name: {"field": fields[name], "value": of} if fields[name] else of for name, of in values.items()}
    if ORDER in parts:
        values = {name: values[name] for name in sorted(values, key=lambda name: place_of(draw, name))}
    params = {"surface": there[0].case.params["surface"], "edition": there[0].edition, "values": values}
    for name in ("env", "files"):
        if merged[name] or any(name in one.case.params for one in there):
            params[name] = merged[name]
    return params


#: Numbers of bytes that are given as texts, and may be told as either.
_SIZES = ("graph_memory_max_size", "variable_memory_max_size")


def settled(params: Mapping[str, Any], answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The request that gives every value as it took effect."""
    values: Dict[str, Any] = dict(params["values"])
    for name, value in params["values"].items():
        effective = answer["effective"].get(name)
        if effective is not None and effective.get("origin", "given") == "given":
            wrapped = isinstance(value, dict) and set(value) == {"field", "value"}
            told = str(effective["value"]) if name in _SIZES else effective["value"]
            plain = unwrapped(value)
            if type(told) is not type(plain) and same(name, plain, told):
                told = plain  # a truth value may be told as a text, but is given as what it is
            values[name] = {**value, "value": told} if wrapped else told
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

    is_wrong = wrong(company.parts)
    if refuses_unknown(outcomes[FIRST]) and UNKNOWN in company.parts:
        known = company._replace(unknown=False)
        if wrong(known.parts) and outcomes[_way(company, known.parts)] is not None:
            _make_small(known, wrong, outcomes, small)
    elif not is_wrong:
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
    first = str(company.members[0])
    if company.refused and first in outcomes and isinstance(outcomes[first], client.Answered):
        return []  # by itself it is not refused: its own case judges that
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
    found += ", beside an unknown key" if UNKNOWN in parts else ""
    found += ", each with its field" if FIELDS in parts else ""
    return found + (", in another order" if ORDER in parts else "")


def _wrong(
    company: Company,
    chosen: Sequence[Instance],
    parts: Sequence[str],
    outcome: Optional[client.Outcome],
    claims: judge.Claims,
) -> Wrong:
    """What is wrong with the answer to some parts; of a company with a refused member, with that one alone."""
    if UNKNOWN in parts and refuses_unknown(outcome):
        return {}  # no document says that such a key is taken
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
        for name in CAUSES & given.keys():
            causes.setdefault(name, set().union(*touched_by({"surface": surface, "values": {name: given[name]}})))
        rest = {"surface": surface, "values": given_without(given, *CAUSES)}
        touched = set().union(*touched_by(rest))
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
_LAW_OF = {ORDER: "options-order", UNKNOWN: "options-unknown"}
