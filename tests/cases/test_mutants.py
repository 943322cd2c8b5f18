"""The suite sees what it is for: every mutant is killed by a case that cites the requirement it breaks."""

from __future__ import annotations

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from tests.cases.asking import TENSORFLOW_METHODS, ask
from tests.cases.corpus import AREAS, corpus, mutants
from tests.depth import at_night

pytestmark = pytest.mark.not_oldest

PLAIN = [one for one in corpus().instances() if one.case.method not in TENSORFLOW_METHODS and not one.twin]
CITED = {name for one in PLAIN for name in one.case.requirements}


def _method(mutant):
    return next((name for name in ("options", "partition", "run") if name in vars(mutant.factory)), "partition")


HERE = [name for name, mutant in mutants().items() if _method(mutant) != "run"]


def _fails(backend, instance, folder):
    return judge.sees(ask(backend, instance, str(folder)))


def test_every_must_has_a_mutant_or_a_reason_why_not():
    broken = {mutant.requirement for mutant in mutants().values()}
    assert not [
        one.id
        for one in corpus().requirements.values()
        if one.level == "must" and not one.excused and one.id not in broken
    ]


def test_every_mutant_breaks_a_requirement_of_the_inventory_and_says_how():
    assert not [name for name, one in mutants().items() if one.requirement not in corpus().requirements]
    assert not [name for name, one in mutants().items() if not one.fault.endswith(".")]


#: Of a change every fourth one is asked.
ASKED = [at_night(name) if number % 4 else name for number, name in enumerate(HERE)]


@pytest.mark.parametrize("name", ASKED)
def test_the_mutant_is_killed_by_a_case_that_cites_its_requirement(name, tmp_path):
    mutant = mutants()[name]
    citing = [one for one in PLAIN if mutant.requirement in one.case.requirements]
    assert citing
    backend = mutant.factory()
    killer = next((one for one in citing if _fails(backend, one, tmp_path)), None)
    assert killer is not None, f"{name} lives: {mutant.fault}"
    assert not _fails(ReferenceBackend(), killer, tmp_path), "the reference must pass what kills a mutant"


@pytest.mark.nightly
def test_every_case_fails_on_some_mutant_or_is_a_control(tmp_path):
    controls = {case.control for case in corpus().cases.values()}
    backends = {name: mutants()[name].factory() for name in HERE}
    immortal = []
    for case in {one.case.id: one.case for one in PLAIN}.values():
        if case.area not in AREAS or case.id in controls:
            continue
        able = [name for name in HERE if _method(mutants()[name]) == case.method]
        near = sorted(able, key=lambda name: (mutants()[name].requirement not in case.requirements, name))
        own = [one for one in PLAIN if one.case.id == case.id]
        if not any(_fails(backends[name], one, tmp_path) for name in near for one in own):
            immortal.append(case.id)
    assert not immortal


class _Idle:
    """A backend that takes every graph and script, and runs none."""

    def run(self, params):
        return {"fetches": {}, "files": {}, "trace": [], "log": [], "output": ""}


def test_every_case_of_running_fails_on_a_backend_that_runs_nothing(tmp_path):
    runs = [one for one in corpus().instances() if one.case.method in TENSORFLOW_METHODS and not one.twin]
    assert runs
    assert not [one.id for one in runs if ask(_Idle(), one, str(tmp_path)).status != "fail"]
