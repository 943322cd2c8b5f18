"""The reference passes every case that runs a graph or a script, and the mutants of running are killed; TensorFlow."""

from __future__ import annotations

import os
import zlib
from typing import Any

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from tests.cases.asking import TENSORFLOW_METHODS, answered, ask
from tests.cases.claiming import judged
from tests.cases.corpus import corpus, mutants
from tests.depth import at_night, share

pytestmark = [pytest.mark.tensorflow, pytest.mark.both_between]

FEATURES = frozenset(ReferenceBackend().hello({"protocol": 1})["capabilities"]["features"])
RUNS = [one for one in corpus().instances() if one.case.method in TENSORFLOW_METHODS and one.case.needs <= FEATURES]
MUTANTS = [name for name, mutant in mutants().items() if "run" in vars(mutant.factory)]

SCOPE = os.environ.get("NPU_TESTS_SCOPE", "")
PART = int(os.environ.get("NPU_TESTS_PART", "0"))

if SCOPE in ("between", "newest"):
    # Whom the cases see is the same in every version: TensorFlow 1 asks the mutants, but for those of TensorFlow 2.
    ASKED = {name for one in RUNS if "tf2" not in one.case.needs for name in one.case.requirements}
    MUTANTS = [name for name in MUTANTS if mutants()[name].requirement not in ASKED]
#: What mutants are asked: every edition, and no twins.
ALL = [one for one in RUNS if not one.twin]

#: Each in one edition, and no twins: for a change the oldest TensorFlow asks the first edition, the newest the last.
ONCE = {one.case.id: one for one in (ALL[::-1] if SCOPE == "oldest" or PART == 2 else ALL)}
RUNS = share(list(ONCE.values()), list(ONCE.values()) if SCOPE == "between" else RUNS)

#: Cases of hundreds of sessions each: for a change one version between runs one of them.
SESSIONS = ["session-uses-mixed", "session-further-uses-mixed", "session-uses-full", "session-further-uses-full"]
VERSION = {"oldest": None, "newest": None, "between": PART if PART == 2 else None}.get(SCOPE, 3)

# For a change the oldest version and those between ask a quarter of the cases each, and the newest the half that they
# do not ask. All of TensorFlow 1 alone is asked by the oldest, all of TensorFlow 2 alone by the newest, and all of
# estimators, which the newest has not, by one between.
if SCOPE:
    parts = {"oldest": (0,), "newest": (2, 3)}.get(SCOPE, (0,) if PART == 1 else (1,))
    alone = {"oldest": "tf1", "newest": "tf2"}.get(SCOPE, "estimator" if PART == 1 else "")
    mine = [
        one for one in RUNS
        if zlib.crc32(one.case.id.encode()) % 4 in parts or alone in one.case.needs or one.case.id in SESSIONS
    ]  # fmt: skip
    RUNS = share(mine, RUNS)


def asked(name: str) -> Any:
    """A parameter; of the long cases only the one of this version is asked for a change."""
    case = name.partition("@")[0]
    return at_night(name) if case in SESSIONS and SESSIONS.index(case) != VERSION else name


@pytest.mark.parametrize("name", [asked(one.id) for one in RUNS])
def test_the_reference_passes(name, tmp_path):
    instance = next(one for one in RUNS if one.id == name)
    result, outcome = answered(ReferenceBackend(), instance, str(tmp_path))
    assert (result.status, result.detail) == ("pass", "")
    less = judged(instance, outcome, instance.case.needs, str(tmp_path))
    assert less.status == "pass", f"with no more than it needs: {less.detail}"


def test_what_is_left_out_here_is_left_out_for_a_feature_of_this_tensorflow():
    missing = {name for one in corpus().instances() for name in one.case.needs - FEATURES}
    assert missing <= {"tf1", "tf2", "keras", "estimator"}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.nightly
def test_the_mutant_of_running_is_killed_by_a_case_that_cites_its_requirement(name, tmp_path):
    mutant = mutants()[name]
    citing = [one for one in ALL if mutant.requirement in one.case.requirements]
    # The edition that most cases are about comes first: the first that kills ends it.
    results = (ask(mutant.factory(), one, str(tmp_path)) for one in sorted(citing, key=lambda one: one.edition))
    assert not citing or any(result.status == "fail" and result.differences for result in results), mutant.fault
