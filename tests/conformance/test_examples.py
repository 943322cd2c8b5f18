"""The backends of examples/ conform in what they claim, and are as short as the docs say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from npu_conformance.judging.records import Report
from npu_conformance.library import selection
from npu_conformance.running import checkup, runner
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")
SETTINGS = runner.Settings(factor=3.0, env={"PYTHONPATH": EXAMPLES + os.pathsep + os.pathsep.join(sys.path)})
COMPILER = next((found for found in map(shutil.which, ("c++", "g++", "clang++")) if found), None)


def judged(spec: str, area: str) -> Report:
    shelf = corpus()
    return runner.run(shelf, selection.select(shelf, areas=[area], editions=["current"]), spec, SETTINGS)


def passes_all_it_claims(report: Report, at_least: int) -> None:
    statuses = [record.result.status for record in report.records]
    assert set(statuses) == {"pass", "unsupported"}
    assert statuses.count("pass") >= at_least
    assert report.verdict == "conformant"


def test_the_one_in_python() -> None:
    passes_all_it_claims(judged("py:iterations:Backend", "mixed"), 7)
    assert [one for one in checkup.check("py:iterations:Backend", SETTINGS) if not one.passed] == []


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
def test_the_one_in_cpp_built_with_the_systems_compiler(tmp_path: Any) -> None:
    program = str(tmp_path / "in_out_pair")
    source = os.path.join(EXAMPLES, "in_out_pair.cpp")
    words = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source]
    subprocess.run([str(COMPILER), *words], check=True, timeout=120)
    spec = f"exec:{program}"
    passes_all_it_claims(judged(spec, "in_out_pair"), 22)
    assert [one for one in checkup.check(spec, SETTINGS) if not one.passed] == []


@pytest.mark.parametrize("name", sorted(name for name in os.listdir(EXAMPLES) if name.endswith((".py", ".cpp"))))
def test_each_is_under_200_lines(name: str) -> None:
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as stream:
        assert len(stream.readlines()) < 200
