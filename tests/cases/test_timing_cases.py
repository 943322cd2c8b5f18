"""The timing cases: graphs current, every requirement on time and copies proven and broken, or its owner named."""

from __future__ import annotations

import pytest

from npu_conformance.library.case import Instance
from tests.cases.asking import ask
from tests.cases.corpus import corpus, mutants

pytestmark = pytest.mark.not_oldest

#: Requirements on time that are not this area's: what a script calls, and files of a profiler.
ELSEWHERE = ("api.set_split_strategy", "session.profiling_options.")

REQUIREMENTS = [
    one
    for one in corpus().requirements.values()
    if one.observable == "trace/timing" and not one.excused and not one.id.startswith(ELSEWHERE)
]

TIMING = [case for case in corpus().cases.values() if case.area == "timing"]


def test_no_case_says_how_long_a_step_takes():
    """Whole seconds until an error are the documents' own; every other number of a golden counts something."""
    words = {fact.split()[0] for case in TIMING for facts in case.expect.golden.values() for fact in facts}
    assert words <= {
        "after", "apart", "beside", "concurrent", "ended", "fused", "iterations", "launches", "moved", "overlap",
        "ran_on", "sequence", "streams", "transfers",
    }  # fmt: skip


def test_every_case_is_in_the_edition_of_what_it_proves():
    requirements = corpus().requirements
    assert not [
        case.id for case in TIMING for name in case.requirements if requirements[name].edition not in case.editions
    ]


def test_every_requirement_on_time_and_copies_has_a_case_in_its_edition():
    proven = {
        (name, edition) for case in corpus().cases.values() for name in case.requirements for edition in case.editions
    }
    assert len(REQUIREMENTS) > 50
    assert not [one.id for one in REQUIREMENTS if (one.id, one.edition) not in proven]


def test_every_requirement_that_a_case_proves_has_a_mutant():
    broken = {mutant.requirement for mutant in mutants().values()}
    assert not {name for case in TIMING for name in case.requirements} - broken


@pytest.mark.nightly
def test_every_case_fails_on_some_mutant(tmp_path):
    faults = {name: one for name, one in mutants().items() if ".mutants.timing" in one.factory.__module__}
    backends = {name: one.factory() for name, one in faults.items()}
    immortal = []
    for case in TIMING:
        own = [Instance(case, edition, "") for edition in case.editions]
        near = [name for name in backends if faults[name].requirement in case.requirements]
        if not any(ask(backends[name], one, str(tmp_path)).differences for name in near for one in own):
            immortal.append(case.id)
    assert not immortal
