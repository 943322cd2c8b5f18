"""Failures with one cause are told once: a backend with one fault gets a handful of lines, whatever the order."""

from __future__ import annotations

import random
import re
from typing import Any, Tuple

import pytest

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.protocol import schema
from npu_conformance.report import answering, causes, run_page, text
from tests.conformance import all_host

pytestmark = pytest.mark.oldest_at_night


def _difference(kind: str, fact: str, aspect: str) -> judge.Difference:
    return judge.Difference(kind, fact, aspect)


def _failed(*differences: Tuple[str, str, str], status: str = "fail", signature: str = "") -> judge.Result:
    return judge.Result(status, "detail", tuple(_difference(*one) for one in differences), (), signature)


@pytest.fixture(scope="module")
def nothing() -> Tuple[Record, ...]:
    return all_host.records()


def test_a_backend_that_offloads_nothing_has_a_handful_of_causes(nothing: Tuple[Record, ...]) -> None:
    failed = [record for record in nothing if record.result.status == "fail"]
    found = causes.causes(nothing)
    assert len(failed) > 400
    assert len(found) <= 12
    assert (found[0].kind, found[0].aspect) == ("not-offloaded", "where")
    assert sum(one.results for one in found if one.kind == "not-offloaded") > 0.8 * len(failed)


def test_causes_hold_every_failure_once_and_nothing_else(nothing: Tuple[Record, ...]) -> None:
    told = [record.instance.id for cause in causes.causes(nothing) for failure in cause.failures for record in failure]
    assert sorted(told) == sorted(record.instance.id for record in nothing if record.result.status == "fail")


def test_causes_do_not_depend_on_the_order_of_the_records(nothing: Tuple[Record, ...]) -> None:
    shuffled = list(nothing)
    random.Random(7).shuffle(shuffled)
    assert causes.causes(shuffled) == causes.causes(nothing)


def test_the_cause_of_most_cases_comes_first_and_its_name_is_its_own(nothing: Tuple[Record, ...]) -> None:
    found = causes.causes(nothing)
    assert [one.cases for one in found] == sorted((one.cases for one in found), reverse=True)
    assert len({one.name for one in found}) == len(found)


def test_what_is_blocked_by_others_comes_after_them(nothing: Tuple[Record, ...]) -> None:
    most = causes.causes(nothing)[0]
    waiting = {record.instance.id for failure in most.failures for record in failure}
    blocked = [
        record._replace(result=record.result._replace(status="blocked")) if record.instance.id in waiting else record
        for record in nothing
    ]
    found = causes.causes(blocked)
    assert [one.status for one in found[-1:]] == ["blocked"] and "blocked" not in [one.status for one in found[:-1]]


@pytest.mark.parametrize("status", ["pass", "unsupported", "xfail"])
def test_what_leaves_nothing_to_mend_has_no_cause(nothing: Tuple[Record, ...], status: str) -> None:
    settled = [record._replace(result=record.result._replace(status=status)) for record in nothing]
    assert causes.causes(settled) == []


@pytest.mark.parametrize(
    ("result", "symptom"),
    [
        (_failed(("missing", "device a", "placement")), ("not-offloaded", "where")),
        (_failed(("missing", "geop a node a", "geops"), ("unexpected", "host a", "host")), ("not-offloaded", "where")),
        (_failed(("unexpected", "device a", "placement")), ("offloaded", "where")),
        (_failed(("forbidden", "device a", "placement")), ("offloaded", "where")),
        (
            _failed(("missing", "geop a node b", "geops"), ("unexpected", "geop b node b", "geops")),
            ("regrouped", "where"),
        ),
        (_failed(("missing", "device a", "placement"), ("unexpected", "device b", "host")), ("exchanged", "where")),
        (_failed(("missing", "geops 2", "count"), ("unexpected", "geops 1", "count")), ("differs", "count")),
        (_failed(("missing", "cast a:0", "casts")), ("missing", "casts")),
        (_failed(status="timeout", signature="run/timeout"), ("timeout", "")),
        (_failed(signature="run/error"), ("fail", "")),
    ],
)  # fmt: skip
def test_placement_is_one_symptom_and_what_else_differs_its_own(result: judge.Result, symptom: Any) -> None:
    assert causes.symptom(result) == symptom


def test_every_kind_and_status_has_a_sentence() -> None:
    instance = all_host.SHIPPED.instances()[0]
    kinds = ("missing", "unexpected", "forbidden", "no-alternative", "bound", "compared", "value", "not-finite",
             "accepted", "refused", "code", "subject", "message", "after", "tensor")  # fmt: skip
    results = [_failed((kind, "fact", "aspect")) for kind in kinds]
    results += [_failed(status=status) for status in judge.ORDER if status not in ("pass", "unsupported", "xfail")]
    found = [causes.causes([Record(instance, one, None, "", "", 0.0)])[0] for one in results]
    assert len({one.sentence for one in found}) == len(results)
    named = f"npu-conformance explain {instance.case.requirements[0]}"
    assert all(named in one.remedy for one in found) and len({one.remedy for one in found}) > len(results) / 2


def test_the_terminal_tells_causes_with_sentence_example_and_command(nothing: Any, capsys: Any) -> None:
    text.run(all_host.SHIPPED, all_host.report(nothing), [], "out", False)
    told = capsys.readouterr().out.splitlines()
    assert len(told) < 96  # with what each example asked, in short
    assert all(len(line) <= 80 or line.startswith("  npu-conformance run ") for line in told)
    first = causes.causes(nothing)[0]
    text_told = " ".join(" ".join(told).split())
    statement = all_host.SHIPPED.requirements[first.example.instance.case.requirements[0]].statement
    assert f"fail {first.cases} cases {first.sentence}" in text_told
    assert statement in text_told
    assert f"-k {first.example.instance.case.id}@" in text_told


def test_the_terminal_tells_how_strict_an_example_is_and_which_readings_it_rests_on(nothing: Any, capsys: Any) -> None:
    text.run(all_host.SHIPPED, all_host.report(nothing), [], "out", False)
    told = " ".join(capsys.readouterr().out.split())
    for one in causes.causes(nothing)[: text._CAUSES]:
        assert f"{one.example.instance.id} ({one.example.instance.case.level}" in told
    assert re.search(r" \((must|should); rests on [A-Z]\d+(, [A-Z]\d+)*( and \d+ more)?\): ", told)


def test_the_page_tells_every_cause_before_anything_else(nothing: Any) -> None:
    pytest.importorskip("jinja2")
    page = run_page.page(all_host.SHIPPED, all_host.report(nothing))
    found = causes.causes(nothing)
    assert page.count('<details class="cause"') == len(found)
    assert all(f'id="cause-{one.name}"' in page for one in found)
    assert page.index("What to fix") < page.index("By area")


def test_the_answer_in_json_tells_every_cause_with_what_to_do(nothing: Any) -> None:
    declared = schema.load("run")
    answer = answering.answer(all_host.SHIPPED, all_host.report(nothing))
    assert schema.fault(answer, declared, declared) is None
    found = causes.causes(nothing)
    assert [(one["name"], one["cases"], one["remedy"]) for one in answer["causes"]] == [
        (one.name, one.cases, one.remedy) for one in found
    ]
    first = answer["causes"][0]
    assert first["example"]["repeat"].endswith(f"-k {found[0].example.instance.case.id}@")
    name = found[0].example.instance.case.requirements[0]
    assert first["requirements"] == [{"id": name, "statement": all_host.SHIPPED.requirements[name].statement}]


def test_every_failure_is_looked_at_once_at_most(nothing: Any, monkeypatch: Any) -> None:
    calls = []
    asked = causes.symptom
    monkeypatch.setattr(causes, "symptom", lambda result: calls.append(1) or asked(result))
    causes.causes(nothing)
    assert len(calls) <= len(nothing)


def test_a_cause_is_about_the_option_that_differs_and_its_example_asks_least() -> None:
    wrong = _failed(("missing", "effective hcom_parallel = false", "effective"))
    ids = ("defaults-on-session-legacy@legacy", "session-hcom-parallel-default@legacy")
    asked = [one for one in all_host.SHIPPED.instances() if one.id in ids and not one.twin]
    found = [Record(one, wrong, None, "", "", 0.0) for one in asked]
    assert len(found) == 2
    for records in (found, found[::-1]):
        (cause,) = causes.causes(records)
        assert cause.broken == ("session.hcom_parallel.default",) and "session.hcom_parallel.default" in cause.remedy
        assert cause.example.instance.id == ids[1]
