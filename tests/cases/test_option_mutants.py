"""Options and their files: every must is proven and has a fault of its own, every option every kind of fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_conformance.backends.mutants import fault_kinds
from npu_conformance.backends.mutants.options_every import RULES
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.strength import fault_table
from npu_conformance.strength import mutants_page as page
from npu_reference.options import OPTIONS
from tests.cases.asking import ask
from tests.cases.corpus import corpus, mutants

pytestmark = pytest.mark.not_oldest

SHOWN = ("config", "error", "log")
ROOT = Path(__file__).resolve().parents[2]


def test_few_requirements_are_excused_and_each_says_why():
    excused = [
        one
        for one in corpus().requirements.values()
        if one.id.split(".")[0] in ("runconfig", "files") and one.observable in SHOWN and one.excused
    ]
    assert len(excused) <= 11
    assert all(one.excused.strip().endswith(".") for one in excused)


def test_every_option_has_every_kind_of_fault_or_a_reason_why_not():
    rows = fault_table.table(mutants().values())
    listed = {name for name, option in OPTIONS.items() if any(facet.listed for facet in option.facets.values())}
    assert {option for options in rows.values() for option in options} == listed
    assert not fault_table.gaps(rows)


@pytest.mark.parametrize("kind", ["any_type", "wrong_default", "ignored", "skipped_domain", "out_of_scenario"])
def test_a_reason_stands_only_where_no_fault_of_that_kind_can_be_made(kind):
    rows = fault_table.table(mutants().values())
    idle = [
        (surface, option)
        for surface, options in rows.items()
        for option, kinds in options.items()
        if kinds[kind].mutants and fault_kinds.reason_without(surface, option, kind)
    ]
    assert not idle


def test_every_rule_between_options_is_dropped_by_a_mutant_or_has_a_reason():
    dropped = {(surface, rule) for requirement, rule in RULES.items() for surface in _surfaces(requirement)}
    rules = {
        (surface, rule)
        for surface in fault_kinds.EDITIONS
        for option in fault_kinds.facets(surface)
        for rule in fault_kinds.rules_of(surface, option)
    }
    assert rules <= dropped | set(fault_kinds.UNBROKEN)
    assert set(fault_kinds.UNBROKEN) <= rules - dropped, "a reason for what is not, or is broken after all"


def _surfaces(requirement):
    mutant = mutants()[f"options.dropped_rule.{requirement}"]
    return [mutant.surface] if mutant.surface else list(fault_kinds.EDITIONS)


def test_a_mutant_of_one_surface_shows_nothing_on_the_other():
    params = {"surface": "runconfig", "edition": "current", "values": {}, "env": {}, "files": {}}
    mutant = mutants()["options.session.precision_mode.wrong_default"].factory()
    assert mutant.options(params) == ReferenceBackend().options(params)


def test_the_page_of_mutants_is_current():
    written = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    assert written == page.page(), "run python -m npu_conformance.strength.mutants_page"


@pytest.mark.nightly
def test_every_case_of_the_files_fails_on_some_fault_or_is_a_control(tmp_path):
    faults = {name: mutant for name, mutant in mutants().items() if mutant.kind}
    backends = {name: mutant.factory() for name, mutant in faults.items()}
    controls = {case.control for case in corpus().cases.values()}
    immortal = []
    for case in corpus().cases.values():
        if case.area != "options" or not case.topic.startswith("files_") or case.id in controls:
            continue
        own = [Instance(case, edition, "") for edition in case.editions]
        near = sorted(faults, key=lambda name: (faults[name].requirement not in case.requirements, name))
        if not any(judge.sees(ask(backends[name], one, str(tmp_path))) for name in near for one in own):
            immortal.append(case.id)
    assert not immortal
