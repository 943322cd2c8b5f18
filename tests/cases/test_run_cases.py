"""The reference passes every case that runs a graph or a script, and the mutants of running are killed; TensorFlow."""

from __future__ import annotations

import os

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from tests.cases.asking import TENSORFLOW_METHODS, ask
from tests.cases.corpus import corpus, mutants

FEATURES = frozenset(ReferenceBackend().hello({"protocol": 1})["capabilities"]["features"])
RUNS = [one for one in corpus().instances() if one.case.method in TENSORFLOW_METHODS and one.case.needs <= FEATURES]
MUTANTS = [name for name, mutant in mutants().items() if "run" in vars(mutant.factory)]

if os.environ.get("NPU_TESTS_SCOPE") in ("between", "newest"):
    # Whom the cases see is the same in every version: TensorFlow 1 asks the mutants, but for those of TensorFlow 2.
    ASKED = {name for one in RUNS if "tf2" not in one.case.needs for name in one.case.requirements}
    MUTANTS = [name for name in MUTANTS if mutants()[name].requirement not in ASKED]
if os.environ.get("NPU_TESTS_SCOPE") == "between":
    # Each in one edition, and no twins: the oldest and the newest TensorFlow run them all.
    RUNS = list({one.case.id: one for one in RUNS if not one.twin}.values())


@pytest.mark.parametrize("name", [one.id for one in RUNS])
def test_the_reference_passes(name, tmp_path):
    instance = next(one for one in RUNS if one.id == name)
    result = ask(ReferenceBackend(), instance, str(tmp_path))
    assert result.status == "pass", result.detail


def test_what_is_left_out_here_is_left_out_for_a_feature_of_this_tensorflow():
    missing = {name for one in corpus().instances() for name in one.case.needs - FEATURES}
    assert missing <= {"tf1", "tf2", "keras", "estimator"}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_of_running_is_killed_by_a_case_that_cites_its_requirement(name, tmp_path):
    mutant = mutants()[name]
    citing = [one for one in RUNS if mutant.requirement in one.case.requirements and not one.twin]
    # The edition that most cases are about comes first: the first that kills ends it.
    results = (ask(mutant.factory(), one, str(tmp_path)) for one in sorted(citing, key=lambda one: one.edition))
    assert not citing or any(result.status == "fail" and result.differences for result in results), mutant.fault
