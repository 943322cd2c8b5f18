"""A second implementation of `options`, from the documents alone: what it does passes, and what it lacks does not."""

from __future__ import annotations

import os
import sys

import pytest

from npu_conformance.library import library, selection
from npu_conformance.running import checkup, runner
from tests.conformance.shelves import BACKENDS

SPEC = f"exec:{sys.executable} {os.path.join(BACKENDS, 'independent_options.py')}"

#: Subjects it does in full: nothing of them may fail it.
DONE = {
    "grid_defaults", "grid_fields", "grid_ranges", "grid_words", "runconfig_table", "runconfig_types", "session_runs",
    "session_table",
}  # fmt: skip


@pytest.fixture(scope="module")
def report() -> runner.Report:
    shelf = library.load()
    topics = {*DONE, "files_mixlist"}
    instances = [one for one in selection.select(shelf, areas=["options"]) if one.case.topic in topics]
    return runner.run(shelf, instances, SPEC, runner.Settings(factor=3.0))


def test_no_case_of_what_it_does_is_too_strict(report: runner.Report) -> None:
    failed = [one.instance for one in report.records if one.result.status == "fail"]
    assert not [one.id for one in failed if one.case.level == "must" and one.case.topic in DONE]


def test_files_that_it_does_not_look_into_fail_it(report: runner.Report) -> None:
    failed = {record.instance.case.topic for record in report.records if record.result.status == "fail"}
    assert "files_mixlist" in failed and report.verdict == "not conformant"


def test_it_speaks_the_protocol_in_every_respect() -> None:
    assert [one for one in checkup.check(SPEC, runner.Settings()) if not one.passed] == []
