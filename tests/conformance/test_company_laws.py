"""The laws of options in company: an option means the same beside options that no document relates to it.

`strength/laws/company` joins the options of several cases into one request, a company, and judges each case on the
common answer. The first tests hold the companies to what they are for: nearly every two options meet, and options that
are related do not. The others plant faults that the laws must find, and backends without a fault, which must pass.
"""

from __future__ import annotations

import collections
import importlib
import itertools
import os
import random
import subprocess
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Set, Tuple

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.library import explaining
from npu_conformance.library.case import Instance
from npu_conformance.observing.values import unwrapped
from npu_conformance.protocol import client
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import company, relations
from npu_conformance.strength.laws.company.member import Member, Names, about_of, conditions_of
from npu_conformance.strength.laws.company.selection import is_of_its_own
from npu_reference.options.rules import RULES
from npu_reference.options.table import OPTIONS
from tests.cases.corpus import corpus
from tests.conformance.shelves import BACKENDS

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

CLAIMS = judge.Claims.of(ReferenceBackend().hello({}))
Drawn = Tuple[List[Instance], List[company.Company]]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return company.drawn(corpus(), 0)


def faults(
    drawn: Drawn, answer: Callable[[Mapping[str, Any]], client.Outcome], wanted: Callable[[Instance], bool]
) -> Iterator[company.Fault]:
    """How a backend breaks the laws in the companies whose first member is wanted."""
    chosen, companies = drawn
    for number, one in enumerate(companies):
        if wanted(chosen[one.members[0]]):
            yield from company.ask(one, chosen, answer, CLAIMS, str(number), True)[1]


def asked(backend: object) -> Callable[[Mapping[str, Any]], client.Outcome]:
    here = hosting.Here(backend, "/")
    return lambda params: here.request("options", params, 10.0)


def place(one: Instance) -> Tuple[str, str]:
    return one.case.params["surface"], one.edition


def given(one: Instance) -> Set[str]:
    return {*one.case.params["values"], *one.case.params.get("env", ())}


def test_every_question_stands_in_a_company_and_is_judged_there(drawn: Drawn) -> None:
    chosen, companies = drawn
    there = {chosen[number].id for one in companies for number in one.members}
    everything = company.members(corpus())
    left = [one for one in everything if one.case.expect.rejected is None and one.id not in there]
    assert all(one.case.params["values"].get("use_off_line") is False for one in left) and len(left) < 10
    judged = {chosen[one.members[0]].id for one in companies if one.refused}
    alone = [one for one in everything if one.case.expect.rejected is not None and one.id not in judged]
    assert all(one.case.params["values"].get("use_off_line") is False for one in alone) and len(alone) < 10
    accepted = [one for one in companies if not one.refused]
    assert len(accepted) < 800 and len(companies) < 1.1 * len(everything), "the laws take their time"


def test_nearly_every_option_is_told_beside_every_other_that_may_stand_there(drawn: Drawn) -> None:
    chosen, companies = drawn
    names, together = Names(), Member.may_join
    members = [names.member(number, one.case.params) for number, one in enumerate(chosen)]
    accepted = [one for one in members if one is not None and chosen[one.number].case.expect.rejected is None]
    for where in {place(chosen[one.members[0]]) for one in companies}:
        kinds = {(one.names, one.bears): one for one in accepted if place(chosen[one.number]) == where}
        pairs: Set[Tuple[str, str]] = set()
        for one, other in itertools.combinations(kinds.values(), 2):
            if together(one._replace(files={}), other._replace(files={})):
                pairs.update(itertools.product(one.given, other.given))
        met: Set[Tuple[str, str]] = set()
        for company_ in companies:
            if not company_.refused and place(chosen[company_.members[0]]) == where:
                params = [chosen[number].case.params for number in company_.members]
                params += [company.CONDITIONS[condition] for condition in company_.conditions]
                there = {name for each in params for part in ("values", "env") for name in each.get(part, ())}
                met.update(itertools.product(there, there))
        # The documents of legacy have no run configuration: a few cases say so.
        assert len(pairs) > 100 or where == ("runconfig", "legacy"), where
        assert len(pairs & met) > 0.94 * len(pairs) or not pairs, (where, len(pairs & met), len(pairs))


def test_every_question_stands_under_every_condition_that_nothing_relates_to_it(drawn: Drawn) -> None:
    chosen, companies = drawn
    under: Dict[int, Set[str]] = {}
    for one in companies:
        for number in one.members[:1] if one.refused else one.members:
            under.setdefault(number, set()).update(one.conditions)
    names = Names()
    for number, found in under.items():
        case = chosen[number].case
        member = names.member(number, case.params, (), case.expect.rejected is not None)
        conditions = conditions_of(names, case.params["surface"])
        fitting = {
            name
            for name, condition in conditions.items()
            if member and not member.names & condition.names and member.may_join(condition)
        }
        ranks = {name for name in fitting if "rank" in name}
        modes = {name for name in ("online inference", "training that is given") if "online inference" in fitting}
        saying = [{}, *(one["values"] for one in company.CONDITIONS.values() if "values" in one)]  # with a condition
        if case.params["values"] not in saying or case.params.get("env"):
            assert found >= fitting - ranks - {"online inference", "training that is given"}, case.id
            assert all(bool(found & names) == bool(names) for names in (ranks, modes)), case.id


def test_members_of_a_company_are_not_related_and_give_nothing_twice(drawn: Drawn) -> None:
    chosen, companies = drawn
    kinds = {name: one.kind for name, one in corpus().requirements.items()}
    own = frozenset(name for name, kind in kinds.items() if kind in ("type", "domain"))
    for one in companies:
        refused = chosen[one.members[0]] if one.refused else None
        lifted = about_of(refused) if refused and is_of_its_own(refused, own) else ""
        for first, second in itertools.combinations([chosen[number] for number in one.members], 2):
            assert place(first) == place(second)
            params = [dict(one.case.params["values"]) for one in (first, second)]
            for name in given(first) & given(second):
                assert name == lifted or params[0][name] == params[1][name]
            for values in params if refused else ():
                values.pop(lifted, None)
            shared = given(first) & given(second)
            told = [{name: value for name, value in values.items() if name not in shared} for values in params]
            mutual = [
                relations.related(place(each)[0], one.refused).names(values)
                for each, values in zip((first, second), told)
            ]
            assert not (mutual[0] & set(told[1]) and mutual[1] & set(told[0])), (first.id, second.id)


def test_nothing_is_refused_beside_what_makes_it_mean_nothing(drawn: Drawn) -> None:
    """An option of training alone, say, in online inference: nobody need look at what it is."""
    chosen, companies = drawn
    asked = [(chosen[one.members[0]], company.request(one, chosen, one.parts, "0")) for one in companies if one.refused]
    assert len(asked) > 2000
    for refused, params in asked:
        about = about_of(refused)
        beside = {name: value for name, value in params["values"].items() if name not in given(refused)}
        ignoring = relations.related(place(refused)[0], own=True)
        by_it, by_them = ignoring.names({about: params["values"].get(about)}), ignoring.names(beside)
        assert not (by_it & set(beside) and about in by_them), (refused.id, beside)


def test_what_is_refused_meets_most_of_what_documents_relate_to_it(drawn: Drawn) -> None:
    """Each option that is refused stands beside three of four that are related to it and might lift that."""
    chosen, companies = drawn
    known = collections.defaultdict(set)
    for one in chosen:
        if one.case.expect.rejected is None:
            known[place(one)] |= given(one)
    met, possible = set(), set()
    for one in companies:
        if one.refused:
            refused = chosen[one.members[0]]
            about, where = about_of(refused), place(refused)
            asked = {about: unwrapped(refused.case.params["values"].get(about))}
            ignoring = relations.related(where[0], own=True).names(asked)
            near = (relations.related(where[0]).names(asked) - ignoring) & known[where]
            beside = set().union(*(given(chosen[number]) for number in one.members[1:]))
            possible |= {(where, about, name) for name in near - given(refused)}
            met |= {(where, about, name) for name in beside & near}
    assert len(met & possible) >= 0.7 * len(possible), f"{len(met & possible)} of {len(possible)}"


def test_relations_cite_what_there_is_and_name_options_that_there_are() -> None:
    shelf, readings = corpus(), explaining.readings()
    variables = {name for one in company.members(shelf) for name in one.case.params.get("env", ())}
    limits = {"max_op_cache_size", "remain_cache_size_ratio"}
    for relation in relations.RELATIONS:
        assert relation.rule in shelf.requirements or relation.rule in readings, relation.rule
        for name in (*relation.those, *relation.others):
            assert name.partition("=")[0] in {*OPTIONS, *variables, *limits, relations.ALL}, name


def test_what_a_rule_of_the_reference_relates_the_table_relates() -> None:
    # A rule may be about one option, or about a value of another that cases of it alone have anyway.
    for rule in RULES:
        for surface in rule.surfaces:
            related = relations.related(surface)
            for first in rule.triggers:
                for second in rule.about:
                    if first != second:
                        assert second in related.names({first: None}), (rule.name, first, second)


@pytest.mark.parametrize("number", range(3))
def test_an_option_that_is_lost_beside_another_is_found_and_both_are_told(drawn: Drawn, number: int) -> None:
    draw = random.Random(f"lost/{number}")
    where = draw.choice([("session", "legacy"), ("session", "current"), ("runconfig", "current")])
    chosen, companies = drawn
    together = [
        (first, second)
        for one in companies
        if not one.refused and place(chosen[one.members[0]]) == where
        for first, second in itertools.permutations([chosen[number] for number in one.members], 2)
        if any(line.startswith("origin ") and line.endswith("= given") for line in first.case.expect.contains)
        and len(first.case.params["values"]) == 1
        and second.case.params["values"]
        and not {"graph_run_mode", "mix_compile_mode"} & set(second.case.params["values"])  # some are conditions
    ]
    first, second = together[draw.randrange(len(together))]
    lost, beside = next(iter(first.case.params["values"])), next(iter(second.case.params["values"]))

    class Losing(ReferenceBackend):
        def options(self, params: Mapping[str, Any]) -> Any:
            values = dict(params["values"])
            if {lost, beside} <= set(values) and (params["surface"], params["edition"]) == where:
                del values[lost]
            return super().options({**params, "values": values})

    found = next(faults(drawn, asked(Losing()), lambda one: place(one) == where))
    assert found.law == "options-beside" and " beside " in found.text
    assert lost in found.text and beside in found.text and found.text.count("; ") == 0, "two are enough"


def test_what_is_taken_beside_another_though_refused_alone_is_found(drawn: Drawn) -> None:
    class Lenient(ReferenceBackend):
        def options(self, params: Mapping[str, Any]) -> Any:
            values = dict(params["values"])
            if "op_debug_level" in values and "op_wait_timeout" in values:
                values["op_wait_timeout"] = 120
            return super().options({**params, "values": values})

    chosen = drawn[0]
    found = list(faults(drawn, asked(Lenient()), lambda one: chosen and one.case.expect.rejected is not None))
    assert found and all("op_wait_timeout" in one.text and "op_debug_level" in one.text for one in found)
    assert any("accepted" in one.text for one in found)


def test_what_is_taken_in_the_other_run_mode_though_refused_in_training_is_found(drawn: Drawn) -> None:
    class Lenient(ReferenceBackend):
        def options(self, params: Mapping[str, Any]) -> Any:
            values = dict(params["values"])
            if values.get("graph_run_mode") == 0 and values.get("stream_max_parallel_num") == 1:
                del values["stream_max_parallel_num"]
            return super().options({**params, "values": values})

    found = list(faults(drawn, asked(Lenient()), lambda one: "stream_max_parallel_num" in one.case.params["values"]))
    assert found and all(one.law == "options-beside" for one in found)
    modes = (", in online inference", "graph_run_mode")  # the condition, or a case of that mode beside
    assert not [one.text for one in found if not any(mode in one.text for mode in modes)]


@pytest.mark.parametrize(
    "law, words, name, default, loses",
    [
        ("options-unknown", "an unknown key", "op_wait_timeout", 120, lambda values: company.UNKNOWN_KEY in values),
        ("options-beside", "online inference", "jit_compile", "auto", lambda values: values.get("graph_run_mode") == 0),
        ("options-order", "another order", "jit_compile", "auto", lambda values: list(values).index("jit_compile") > 2),
    ],
)
def test_a_fault_is_told_by_what_it_cannot_do_without(
    drawn: Drawn, law: str, words: str, name: str, default: object, loses: Callable[[Mapping[str, Any]], bool]
) -> None:
    class Losing(ReferenceBackend):
        def options(self, params: Mapping[str, Any]) -> Any:
            values: Any = params["values"]
            if name in values and loses(values):
                values = {**values, name: default}
            return super().options({**params, "values": values})

    found = list(faults(drawn, asked(Losing()), lambda one: one.edition == "current"))
    assert any(one.law == law and words in one.text for one in found)
    assert all(name in one.text for one in found)


def test_what_nobody_gives_keeps_its_default_in_company(drawn: Drawn) -> None:
    class Serving(ReferenceBackend):
        """A rank of several is a parameter server."""

        def options(self, params: Mapping[str, Any]) -> Any:
            answer: Any = super().options(params)
            if params.get("env", {}).get("RANK_SIZE", "1") != "1" and "distribute" in answer["effective"]:
                answer["effective"]["distribute"] = {"value": {"class": "ParameterServerStrategy", "arguments": {}}}
            return answer

    found = next(faults(drawn, asked(Serving()), lambda one: place(one) == ("runconfig", "current")))
    assert "distribute" in found.text and "in a launched rank" in found.text


def test_who_fails_alone_is_no_fault_of_his_company(drawn: Drawn) -> None:
    class Known(ReferenceBackend):
        """Does what its own case says is wrong: it refuses jit_compile."""

        def options(self, params: Mapping[str, Any]) -> Any:
            values: Any = params["values"]
            if "jit_compile" in values:
                values = {**values, "jit_compile": 7}
            return super().options({**params, "values": values})

    assert not list(faults(drawn, asked(Known()), lambda one: place(one) == ("runconfig", "current")))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_reference_holds_its_own_in_every_company(seed: int) -> None:
    made = company.drawn(corpus(), seed)
    assert list(faults(made, asked(ReferenceBackend()), lambda one: True)) == []


def test_a_second_implementation_holds_its_own_in_every_company(drawn: Drawn) -> None:
    sys.path.insert(0, BACKENDS)
    try:
        backend = importlib.import_module("independent_options")
    finally:
        sys.path.remove(BACKENDS)

    def answer(params: Mapping[str, Any]) -> client.Outcome:
        return hosting.outcome(backend.answer({"id": 1, "method": "options", "params": params}), "options")

    assert list(faults(drawn, answer, lambda one: True)) == []


def test_companies_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import hashlib; from npu_conformance.library import library;"
        "from npu_conformance.strength.laws import company;"
        "made = company.drawn(library.load(), 5);"
        "print(hashlib.sha256(repr([(one.id) for one in made[0]] + made[1]).encode()).hexdigest())"
    )
    told = {_run(program, seed) for seed in ("1", "2")}
    assert len(told) == 1


def _run(program: str, seed: str) -> bytes:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    ).stdout
