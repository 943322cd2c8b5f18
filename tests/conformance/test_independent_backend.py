"""An executable written without the suite, in the standard library alone, is judged like any other."""

from __future__ import annotations

import os
import sys

import pytest

from npu_conformance.library import selection
from npu_conformance.running import checkup, runner
from tests.cases.corpus import corpus
from tests.conformance.shelves import BACKENDS

pytestmark = pytest.mark.not_oldest

SPEC = f"exec:{sys.executable} {os.path.join(BACKENDS, 'independent.py')}"


@pytest.fixture(scope="module")
def report() -> runner.Report:
    shelf = corpus()
    instances = selection.select(shelf, areas=["mixed", "in_out_pair"])
    return runner.run(shelf, instances, SPEC, runner.Settings(factor=3.0))


def of_case(report: runner.Report, case: str) -> set:
    return {record.result.status for record in report.records if record.instance.case.id == case}


@pytest.mark.parametrize(
    "case",
    [
        "mixed-pyfunc-stays-on-host",
        "mixed-plain-chain-is-one-geop",
        "mixed-diamond-around-host-is-cut",
        "mixed-chain-splits-at-every-host-operator",
        "full-offload-keeps-the-larger-region",
    ],
)
def test_it_passes_what_it_does_as_the_documents_say_twins_included(report: runner.Report, case: str) -> None:
    assert of_case(report, case) == {"pass"}


def test_it_fails_where_it_does_not(report: runner.Report) -> None:
    assert of_case(report, "batch-norm-with-fifth-output-read") == {"fail"}
    assert report.verdict == "not conformant"


def test_what_it_does_not_claim_is_unsupported(report: runner.Report) -> None:
    statuses = {record.result.status for record in report.records if record.instance.case.area == "in_out_pair"}
    assert statuses == {"unsupported"}


def test_it_speaks_the_protocol_in_every_respect() -> None:
    assert [one for one in checkup.check(SPEC, runner.Settings()) if not one.passed] == []
