"""The corpus as data: ids, coverage, readings, controls, goldens and the graphs behind them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npu_conformance.library import inventory
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).resolve().parents[2]
LEDGER = Path(__file__).with_name("ids.txt")


def test_case_ids_are_kebab_case():
    odd = [name for name in corpus().cases if not re.match(r"[a-z0-9]+(-[a-z0-9]+)*\Z", name)]
    assert not odd


def test_every_id_is_in_the_ledger_and_none_is_reused():
    lines = [line for line in LEDGER.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines)), "the ledger is sorted and holds every id once"
    retired = {line.split()[0] for line in lines if line.endswith(" retired")}
    used = {line for line in lines if " " not in line}
    assert not retired & set(corpus().cases), "an id that was given up must not come back"
    assert set(corpus().cases) == used, "add new ids to ids.txt; mark ids given up as 'ID retired'"


def test_every_requirement_has_a_case_or_a_reason_why_not():
    cited = {name for case in corpus().cases.values() for name in case.requirements}
    assert not [one.id for one in corpus().requirements.values() if one.id not in cited and not one.excused]


def test_every_must_has_a_case_of_level_must_in_its_edition_or_a_reason_why_not():
    choices = inventory.choices()
    proven = {
        (name, edition)
        for case in corpus().cases.values()
        if case.level == "must" or case.id in choices
        for name in case.requirements
        for edition in case.editions
    }
    musts = [one for one in corpus().requirements.values() if one.level == "must" and not one.excused]
    assert not [one.id for one in musts if (one.id, one.edition) not in proven]


def test_every_reading_a_case_names_stands_in_the_readings():
    rows = set(re.findall(r"^\| ([A-Z]\d+) \|", (ROOT / "docs" / "readings.md").read_text(encoding="utf-8"), re.M))
    assert not sorted({row for case in corpus().cases.values() for row in case.readings} - rows)


def test_every_refusal_has_a_control_that_is_accepted():
    cases = corpus().cases
    refusals = [case for case in cases.values() if case.expect.rejected is not None]
    assert refusals
    assert not [case.id for case in refusals if not case.control or cases[case.control].expect.rejected is not None]


def test_every_run_says_whether_the_engine_ran():
    silent = []
    for case in corpus().cases.values():
        facts = [line for lines in case.expect.golden.values() for line in lines] + list(case.expect.contains)
        facts = [re.sub(r"^rank \d+ ", "", fact) for fact in facts]
        prints_only = [aspect for aspect, _ in case.expect.observe] == ["output"]
        # Nor would TensorFlow alone refuse what the case is about, or log it with our codes.
        # What only a device leaves says it as well.
        only_ours = ("log ", "dump ", "exception_dump ", "failed ")
        told = case.expect.rejected is not None or any(fact.startswith(only_ours) for fact in facts)
        if case.method == "run" and not (prints_only or told or {"engine ran", "engine absent"} & set(facts)):
            silent.append(case.id)
    assert not silent, "TensorFlow ignores an optimizer it does not know without a word"


def test_titles_begin_with_a_capital_or_an_option_and_have_no_full_stop():
    begins = re.compile(r"[A-Z]|[a-z]+_\w+ ")
    odd = [case.id for case in corpus().cases.values() if case.title.endswith(".") or not begins.match(case.title)]
    assert not odd


def test_the_inventory_is_whole():
    requirements = corpus().requirements
    assert len(requirements) >= 1103
    assert {one.document for one in requirements.values()} == {"000", "001", "002", "003", "004"}
    editions = {"000": "current", "003": "current", "001": "legacy", "002": "legacy", "004": "legacy"}
    assert not [one.id for one in requirements.values() if one.edition != editions[one.document]]
