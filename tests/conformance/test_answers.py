"""What a law needs, and a case has asked, is not asked again while the worker lives, where nothing is left behind."""

from __future__ import annotations

from typing import Any, List

import pytest

from npu_conformance.judging import judge
from npu_conformance.protocol import answers, client, messages
from npu_conformance.protocol.answers import Answers, Kept
from npu_conformance.strength.laws import asking
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.plans import PARTS
from tests.cases.corpus import corpus

QUESTION = {"surface": "session", "edition": "current", "values": {"mix_compile_mode": True}}
LINE = Kept(7, b'{"id": 7, "ok": {}}\n')


def asked(params: Any, number: int = 0) -> bytes:
    return messages.encode({"id": number, "method": "options", "params": params})


def test_an_answer_is_recalled_whatever_the_order_of_keys() -> None:
    kept = Answers("/room")
    assert kept.recall("options", asked(QUESTION)) is None
    kept.keep("options", asked(QUESTION, 3), LINE)
    assert kept.recall("options", asked(dict(reversed(list(QUESTION.items()))))) == LINE
    assert kept.recall("options", asked({**QUESTION, "edition": "legacy"})) is None
    line = messages.encode({"id": 0, "method": "partition", "params": QUESTION})
    assert kept.recall("partition", line) is None
    kept.clear()
    assert kept.recall("options", asked(QUESTION)) is None


@pytest.mark.parametrize("method", ["run", "compile", "timeline", "library"])
def test_what_runs_or_leaves_files_is_asked_each_time(method: str) -> None:
    kept = Answers("/room")
    kept.keep(method, asked(QUESTION, 3), LINE)
    assert kept.recall(method, asked(QUESTION)) is None


def test_what_lies_in_the_workers_folder_may_have_changed() -> None:
    kept = Answers("/röom")
    for params in ({**QUESTION, "graph": "/röom/case/graph.pb"}, {"feeds": {"x": {"file": "/röom/feed0"}}}):
        kept.keep("partition", asked(params, 3), LINE)
        assert kept.recall("partition", asked(params)) is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_LARGEST", 20)
    monkeypatch.setattr(answers, "_MOST", 50)
    kept = Answers("/room")
    sizes = [21, 20, 20, 20, 10]
    for number, size in enumerate(sizes):
        kept.keep("options", asked({"number": number}, number), Kept(number, b" " * size))
    found = [kept.recall("options", asked({"number": number})) is not None for number in range(len(sizes))]
    assert found == [False, True, True, False, True]


def test_another_process_is_asked_again() -> None:
    with client.Client("reference") as worker:
        first = worker.request("options", QUESTION, 60)
        assert isinstance(first, client.Answered) and worker.known("options", QUESTION) == first
        worker.fresh()
        assert worker.known("options", QUESTION) is None
        assert worker.request("options", QUESTION, 60) == first


def test_every_question_of_the_laws_about_a_graph_is_of_one_part() -> None:
    paths = sorted({str(one.case.params["graph"]) for one in corpus().instances() if "graph" in one.case.params})
    nobody: Any = None
    plan = asking.Plan(0, 0, (), "")
    parts: List[Asker] = [Asker(plan, nobody, nobody, part) for part in range(PARTS)]
    shares = [[path for path in paths if part.has_graph(path)] for part in parts]
    assert sorted(path for share in shares for path in share) == paths
    assert min(map(len, shares)) > len(paths) // PARTS // 2


def test_a_law_takes_what_a_case_was_answered() -> None:
    claims = judge.Claims(frozenset(("options",)), frozenset(("current",)), frozenset())
    with client.Client("reference") as worker:
        asker = Asker(asking.Plan(0, 0, (), worker.folder), worker, claims)
        first = worker.request("options", QUESTION, 60)
        assert asker.method("options", QUESTION) == first and worker.served == 1
        worker.fresh()
        assert asker.method("options", QUESTION) == first and worker.served == 2  # to forget, and the question
