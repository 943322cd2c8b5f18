"""Wherever a failure is told, it is told with what was asked, what is demanded, what came, and how to ask it again."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any, Tuple

import pytest

from npu_conformance.judging.records import Report
from npu_conformance.library import selection
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.report import answering, failing, junit, run_page, summary
from npu_conformance.report import text as render
from npu_conformance.running import runner
from tests.cases.corpus import corpus
from tests.conformance.shelves import Shelf, judged, spoken

pytestmark = pytest.mark.oldest_at_night

CASE = "range-with-two-ins"
SPEC = "mutant:first-in-only"
REPEAT = f"npu-conformance run --backend {SPEC} --edition legacy -k {CASE}@"
ASKED = ("in_out_pair = ", "Graph fixtures/graphs/", "x = Placeholder() -> ")


@pytest.fixture(scope="module")
def failed() -> Tuple[Library, Report]:
    wanted = selection.select(corpus(), editions=["legacy"], keyword=f"{CASE}@")
    return corpus(), runner.run(corpus(), wanted, SPEC, runner.Settings(factor=3.0), selection={"keyword": CASE})


def sentence(library: Library) -> str:
    return " ".join(library.requirements[library.cases[CASE].requirements[0]].statement.split())


def test_junit_says_it_of_every_failure(failed: Tuple[Library, Report]) -> None:
    library, report = failed
    root = ElementTree.fromstring(junit.document(library, report).split("\n", 1)[1])
    cases = root.findall(".//testcase")
    assert len(cases) == len(report.records) > 2
    for one, record in zip(cases, report.records):
        said = str(one.findtext("system-out"))
        for text in (*ASKED, sentence(library), *(entry.fact for entry in record.result.differences)):
            assert text in said, text
        assert said.splitlines()[-1] == f"Repeat: {REPEAT}"
        assert ("under another name" in said) == (record.instance.twin == "rename")


def test_junit_says_nothing_of_what_passed_or_was_not_asked(shelf: Shelf) -> None:
    report = judged(shelf, spoken("Honest"))
    assert {record.result.status for record in report.records} == {"pass"}
    assert "system-out" not in junit.document(shelf.load(), report)


def test_the_page_says_it(failed: Tuple[Library, Report]) -> None:
    pytest.importorskip("jinja2")
    import html

    library, report = failed
    page = html.unescape(run_page.page(library, report))
    for text in (*ASKED, sentence(library), REPEAT):
        assert text in page, text


def test_the_command_of_a_report_selects_again_what_the_report_says_was_asked() -> None:
    selection = {"areas": ["mixed", "run"], "editions": ["current"], "keyword": "a or 'b'", "shard": "1/2"}
    header = {"selection": {**selection, "laws": 3, "law_seed": 7}, "backend": {"spec": "exec:/a b/worker"}}
    assert failing.run_command(Report(header, (), (), "")) == (
        "npu-conformance run --backend 'exec:/a b/worker' --area mixed --area run --edition current "
        "-k 'a or '\"'\"'b'\"'\"'' --shard 1/2 --laws 3 --law-seed 7"
    )
    assert failing.run_command(Report({"backend": {"spec": "reference"}}, (), (), "")) == "npu-conformance run"


def test_the_text_says_it(failed: Tuple[Library, Report], capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    library, report = failed
    render.run(library, report, summary.areas(report), "out", True)
    said = capsys.readouterr().out
    detail = report.records[0].result.detail
    for text in (*ASKED, sentence(library), detail, REPEAT, "npu-conformance case ID tells all of a case."):
        assert text in said, text


def test_json_says_it_of_every_cause_by_its_schema(failed: Tuple[Library, Report]) -> None:
    library, report = failed
    answer = json.loads(json.dumps(answering.answer(library, report)))
    declared = schema.load("run")
    assert schema.fault(answer, declared, declared) is None
    (cause,) = answer["causes"]
    assert all(text in cause["example"]["input"] for text in ASKED)
    assert cause["example"]["repeat"] == REPEAT and cause["example"]["came"] and cause["example"]["expected"]


def test_an_earlier_answer_without_it_still_follows_the_schema(failed: Tuple[Library, Report]) -> None:
    answer = json.loads(json.dumps(answering.answer(*failed)))
    for name in ("input", "expected", "came"):
        del answer["causes"][0]["example"][name]
    declared = schema.load("run")
    assert schema.fault(answer, declared, declared) is None


def test_what_is_told_is_bounded_whatever_a_case_asks(failed: Tuple[Library, Report]) -> None:
    library, report = failed
    record = report.records[0]
    for case in library.cases.values():
        for edition in case.editions:
            told = failing.account(library, report, record._replace(instance=record.instance._replace(
                case=case, edition=edition, twin="")))  # fmt: skip
            assert len(told.asked) <= 1600 and len(told.expected) <= 21 and len(failing.text(told)) < 12000, case.id
