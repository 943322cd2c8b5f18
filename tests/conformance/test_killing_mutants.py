"""`npu-conformance mutants` says rightly which mutants the suite kills, which stay alive, and which it cannot judge.

The strength of the suite is measured by these answers. A mutant without a fault must stay alive, a mutant whose cases
need TensorFlow is not judged without it, and the table of options and faults must hold every mutant of an option.
"""

from __future__ import annotations

import os

import pytest

from npu_conformance.backends import mutants as mutation
from npu_conformance.backends.mutants import Mutant
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.protocol import schema
from npu_conformance.report import text as render
from npu_conformance.running import lanes
from npu_conformance.strength import fault_table, killing
from tests.cases.corpus import corpus
from tests.conformance.test_cli import inside

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

SHELF = corpus()
OPTIONS = [mutant for mutant in mutation.registry().values() if mutant.kind]


def killed(*mutants):
    return killing.kill(SHELF, mutants, lanes.Settings())


def test_a_mutant_without_a_fault_is_alive():
    found = killed(Mutant("idle", "session.dump_mode.type", "Does nothing wrong.", ReferenceBackend))[0]
    assert found.judged and found.alive and not found.killed_by


def test_a_requirement_without_a_case_leaves_its_mutant_alive_and_says_why():
    bare = next(name for name in SHELF.requirements if name not in killing._areas(SHELF))
    found = killed(Mutant("idle", bare, "Does nothing wrong.", ReferenceBackend))[0]
    assert (found.alive, found.unjudged) == (True, "no case cites the requirement")


def test_without_tensorflow_a_mutant_of_running_is_not_alive(monkeypatch):
    monkeypatch.setattr(killing, "tensorflow_version", lambda: None)
    monkeypatch.setattr(ReferenceBackend, "hello", _without_running(ReferenceBackend.hello))
    name = "session.iterations_per_loop.must_match"
    found = killing._unjudged(Mutant("idle", name, "Does nothing wrong.", ReferenceBackend), SHELF.instances())
    assert found == killing.NEEDS_TENSORFLOW
    assert not killing.Kill(mutation.registry()["one-geop"], (), False, False, found).alive


def _without_running(hello):
    return lambda self, params: {**hello(self, params), "runtime": {"tensorflow": None}}


def test_a_fault_of_one_option_is_killed_by_its_own_cases():
    found = killed(mutation.registry()["options.session.dump_mode.any_type"])[0]
    assert "session-dump-mode-wrong-type" in found.killed_by
    assert all("dump-mode" in name for name in found.killed_by)
    assert (found.specific, found.only, found.alive) == (True, True, False)


def test_every_mutant_of_options_stands_in_the_table():
    rows = fault_table.table(OPTIONS)
    told = {
        name
        for options in rows.values()
        for kinds in options.values()
        for cell in kinds.values()
        for name in cell.mutants
    }
    assert told == {one.name for one in OPTIONS}


def test_areas_choose_the_mutants():
    registry = list(mutation.registry().values())
    chosen = killing.in_area(SHELF, registry, ["options"])
    assert set(OPTIONS) <= set(chosen)
    assert "one-geop" in [one.name for one in killing.in_area(SHELF, registry, ["mixed"])]
    assert not set(OPTIONS) & set(killing.in_area(SHELF, registry, ["mixed"]))


def test_an_area_that_does_not_exist_is_a_usage_error(capsys: pytest.CaptureFixture) -> None:
    done = inside(capsys, "mutants", "--area", "nowhere")
    assert done.status == 2
    assert "there is no such area" in done.err


def test_the_answer_has_a_table_only_of_all_mutants_of_options():
    some = [killing.Kill(one, ("x",), True, True, "") for one in OPTIONS[1:]]
    whole = [killing.Kill(OPTIONS[0], (), False, False, ""), *some]
    assert fault_table.whole(whole, OPTIONS)
    assert not fault_table.whole(some, OPTIONS)
    declared = schema.load("mutants")
    answer = killing.answer(whole, fault_table.answer(whole))
    assert schema.fault(answer, declared, declared) is None
    assert answer["alive"] == [OPTIONS[0].name]
    cells = [
        cell["status"] for options in answer["faults"].values() for kinds in options.values() for cell in kinds.values()
    ]
    assert set(cells) == {"killed", "alive", "not applicable"}


def test_the_table_fits_a_narrow_terminal(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", "80")
    found = [killing.Kill(one, ("x",), True, True, "") for one in OPTIONS]
    render.killing(found)
    render.faults(found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.split()[:1] == ["Option"]]
    assert [head.split()[1:] for head in heads] == [
        ["type", "deft", "used", "dom", "mean", "rule", "prec", "scen", "told"]
    ] * 2
    assert any(line.split()[:2] == ["graph_max_parallel_model_num", "1"] for line in lines)
    assert f"{len(found)} of {len(found)} mutants killed, {len(found)} by a case" in " ".join(lines)
