"""Laws read every answer that follows the protocol, however little it has to do with the question."""

from __future__ import annotations

import copy
import functools
import random

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.protocol import client, messages, requests
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import asking
from npu_conformance.strength.laws.kinds import KINDS, cases, random_graphs
from tests.cases.corpus import corpus
from tests.depth import share

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

#: What stands in the place of a text, a number, a truth.
_TEXTS = ("", "nowhere", "nowhere:7", "x:-1", "_arg_x_0_0", "float16", "string", "device", "\u4e2d")
_NUMBERS = (-1, 0, 1, 7, 1 << 40, 0.5)


def places(value, path=()):
    """Every place within a value, as (the object or array it stands in, its key)."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(inner):
        yield value, key
        yield from places(one)


def damaged(answer, method, draw):
    """The answer with a few changes, each of which leaves it an answer of the protocol."""
    made = copy.deepcopy(answer)
    for _ in range(4):
        there = list(places(made))
        if not there:
            return made
        before = copy.deepcopy(made)
        holder, key = draw.choice(there)
        way = draw.randrange(3)
        if way == 0:
            del holder[key]
        elif isinstance(holder[key], bool):
            holder[key] = not holder[key]
        elif isinstance(holder[key], str):
            holder[key] = draw.choice(_TEXTS)
        elif isinstance(holder[key], (int, float)):
            holder[key] = draw.choice(_NUMBERS)
        elif holder[key] is None or way == 1:
            holder[key] = type(holder[key])() if holder[key] is not None else draw.choice(_TEXTS)
        elif isinstance(holder[key], list):
            holder[key] = holder[key] + holder[key][:1]
        if messages.ok_fault(method, made):
            made = before
    return made


@functools.lru_cache(maxsize=None)
def plan_and_claims(folder):
    plan = asking.Plan(24, 0, tuple(asking.instances()), folder, corpus())
    return plan, judge.Claims.of(ReferenceBackend().hello({"protocol": 1}))


def asked_of(plan, claims, folder):
    """The questions of one part that need no TensorFlow, with the reference's answers."""
    questions = asking.Questions(plan, claims)
    methods = {name: found - {"run"} for name, found in questions.common.methods.items() if found - {"run"}}
    common = questions.common._replace(methods=methods)
    told = questions.parts[2](common, hosting.Here(ReferenceBackend(), folder), None)
    return questions.common.plan, [asked for asked, _ in told.judged]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("laws"))
    plan, claims = plan_and_claims(folder)
    return (claims, *asked_of(plan, claims, folder))


def method_of(plan, asked):
    laws = [law for law in asking.LAWS.values() if asking.concerns(plan, law.name, asked)]
    return laws[0].method if laws else ""


def test_any_answer_of_the_protocol_can_be_judged(everything):
    claims, plan, answers = everything
    kinds = set()
    for asked in answers:
        method = method_of(plan, asked)
        if not method:
            continue
        kinds.add(asked.kind)
        draw = random.Random(f"{asked.kind}/{asked.number}")
        outcomes = {
            way: client.Answered(damaged(outcome.ok, method if way != "library" else "library", draw))
            if isinstance(outcome, client.Answered) else outcome
            for way, outcome in asked.outcomes.items()
        }  # fmt: skip
        KINDS[asked.kind].faults(plan, claims, asked._replace(outcomes=outcomes))
    assert kinds >= {"graph", "precise", "moded", "listed", "case", "dealt", "options", "effects"}


def test_cases_judge_any_answer_of_the_protocol(tmp_path):
    # What judging raises besides is a fault of the suite, and would end a vendor's run.
    told = {}
    here = hosting.Here(ReferenceBackend(), str(tmp_path))
    for place, one in enumerate(corpus().instances()):
        if place % share(16, 4) or one.case.method == "run":
            continue
        asked = requests.prepare(one, str(tmp_path))
        key = repr((one.case.method, sorted(asked.params.items(), key=repr)))
        if key not in told:
            told[key] = here.request(one.case.method, asked.params, 10.0)
        outcome = told[key]
        if isinstance(outcome, client.Answered):
            draw = random.Random(one.id)
            judge.judge(one, client.Answered(damaged(outcome.ok, one.case.method, draw)))


class Tripping:
    """Reads as a law does, and fails on the way."""

    def __call__(self, *unused):
        raise KeyError("borders")


def test_a_law_that_cannot_be_read_is_the_suites_fault_and_ends_no_run(everything, monkeypatch):
    claims, plan, answers = everything
    for kind in (random_graphs, cases):
        monkeypatch.setattr(kind, "read", Tripping())
    records = {one.instance.id: one.result for one in asking.records(plan, claims, answers)}
    assert records["law-answered@legacy"].status == "harness-error"
    assert "KeyError: 'borders'" in records["law-answered@legacy"].detail
    assert records["law-options-beside@legacy"].status == "pass"


def test_a_part_that_cannot_be_asked_is_the_suites_fault_and_ends_no_run(tmp_path, monkeypatch):
    plan, claims = plan_and_claims(str(tmp_path))
    monkeypatch.setattr(KINDS["effects"], "ask", Tripping())
    questions = asking.Questions(plan, claims)
    here = hosting.Here(ReferenceBackend(), str(tmp_path))
    common = questions.common._replace(methods={"effects": frozenset({"timeline"})})
    questions.take(questions.parts[0](common, here, None))
    records = questions.records(lambda: here)
    assert {one.result.status for one in records} == {"harness-error"}
    assert "KeyError: 'borders'" in records[0].result.detail
