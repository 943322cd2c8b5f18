"""A second implementation of `options`, from the documents alone: no case asks it for more than they say."""

from __future__ import annotations

import importlib
import os
import re
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, Mapping

import pytest

from npu_conformance.judging import judge
from npu_conformance.library import selection
from npu_conformance.library.case import Instance
from npu_conformance.running import checkup, runner
from npu_conformance.strength import hosting
from tests.cases.corpus import corpus
from tests.conformance.shelves import BACKENDS

pytestmark = pytest.mark.not_oldest

SPEC = f"exec:{sys.executable} {os.path.join(BACKENDS, 'independent_options.py')}"

#: `should` cases that ask for our reading of what the documents leave open, where it reads otherwise (G25, G27, G28).
OTHERWISE = {
    "aoe-cfg-unknown-key", "rc-implmode-without-value",
    "severity-jit-compile-as-a-bool", "severity-size-as-a-number",
    "severity-key-of-other-devices", "severity-keywords-of-other-devices",
    "severity-steps-in-more-than-a-hundred-groups",
}  # fmt: skip


@pytest.fixture(scope="module")
def backend() -> Iterator[ModuleType]:
    sys.path.insert(0, BACKENDS)
    try:
        yield importlib.import_module("independent_options")
    finally:
        sys.path.remove(BACKENDS)


@pytest.fixture(scope="module")
def asked(backend: ModuleType) -> List[Instance]:
    hello = backend.hello({})["capabilities"]
    claims = judge.Claims(frozenset(hello["areas"]), frozenset(hello["editions"]), frozenset(hello["features"]))
    instances = selection.select(corpus(), areas=["options"])
    return [one for one in instances if judge.applicable(one, claims) is None]


def _failures(
    backend: ModuleType,
    asked: List[Instance],
    folder: str,
    changed: Callable[[Dict[str, Any]], Mapping[str, Any]] = lambda answer: answer,
) -> List[Instance]:
    found = []
    for one in asked:
        params = {"surface": "session", "edition": one.edition, "values": {}, **one.case.params}
        outcome = hosting.outcome(changed(backend.answer({"id": 1, "method": "options", "params": params})), "options")
        if judge.judge(one, outcome, folder).status != "pass":
            found.append(one)
    return found


def test_it_claims_all_of_options(asked: List[Instance]) -> None:
    others = [one for one in selection.select(corpus(), areas=["options"]) if one.case.method != "options"]
    every = [one for one in selection.select(corpus(), areas=["options"]) if one.case.method == "options"]
    assert len(asked) == len(every) > 2800 and len(others) < 100, "run and partition are other methods"


def test_no_case_asks_for_more_than_the_documents_say(
    backend: ModuleType, asked: List[Instance], tmp_path: Any
) -> None:
    assert {one.case.id for one in _failures(backend, asked, str(tmp_path))} == OTHERWISE


@pytest.mark.nightly
def test_a_backend_that_warns_of_nothing_fails_no_must(
    backend: ModuleType, asked: List[Instance], tmp_path: Any
) -> None:
    def silent(answer: Dict[str, Any]) -> Mapping[str, Any]:
        return {**answer, "ok": {**answer["ok"], "warnings": [], "notes": []}} if "ok" in answer else answer

    failed = _failures(backend, asked, str(tmp_path), silent)
    assert not [one.id for one in failed if one.case.level == "must"] and len(failed) > 150


def test_it_knows_the_documents_alone() -> None:
    for name in ("independent_options.py", "independent_tables.py", "independent_texts.py"):
        with open(os.path.join(BACKENDS, name), encoding="utf-8") as stream:
            text = stream.read()
        imported = set(re.findall(r"^(?:import|from) ([a-z_]+)", text, re.M))
        assert imported <= {"ast", "json", "posixpath", "re", "sys", "independent_tables", "independent_texts"}


def test_a_run_of_it_is_conformant() -> None:
    shelf = corpus()
    topics = {"files_mixlist", "grid_told"}
    instances = [one for one in selection.select(shelf, areas=["options"]) if one.case.topic in topics]
    report = runner.run(shelf, instances, SPEC, runner.Settings(factor=3.0))
    assert report.verdict == "conformant"
    assert {record.result.status for record in report.records} == {"pass"}


def test_it_speaks_the_protocol_in_every_respect() -> None:
    assert [one for one in checkup.check(SPEC, runner.Settings()) if not one.passed] == []
