"""What a case may rest on: a `must` rests on what the documents demand, and on no choice that they leave open."""

from __future__ import annotations

import sys
from pathlib import Path

from npu_conformance.library import explaining, inventory
from tests.cases.corpus import corpus

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))
try:
    from lawful import LAWFUL
finally:
    sys.path.remove(str(BENCHMARKS))

FORCES = inventory.forces()


def cited_by_a_must() -> set[str]:
    return {name for one in corpus().instances() if one.case.level == "must" for name in one.case.readings}


def test_every_reading_has_a_force_and_every_force_is_of_a_reading():
    assert FORCES.keys() == explaining.readings().keys()


def test_no_must_rests_on_a_choice():
    """A choice that a `must` cites is open: lawful backends choose otherwise and pass, or nothing of it is judged."""
    assert not [name for name in sorted(cited_by_a_must()) if FORCES[name].choice and not FORCES[name].open]


def test_a_reading_that_is_open_names_lawful_backends_or_says_why():
    """test_lawful_backends holds that each of these backends passes every `must`."""
    named = {name: one.open for name, one in FORCES.items() if isinstance(one.open, tuple)}
    assert not [(name, one) for name, backends in named.items() for one in backends if one not in LAWFUL]
    assert not [name for name, one in FORCES.items() if one.open and not one.choice]


def test_a_case_that_rests_on_a_choice_in_one_edition_is_a_should_there_alone():
    of_editions = [name.split("@") for name in inventory.choices() if "@" in name]
    levels = {(one.case.id, one.edition): one.case.level for one in corpus().instances()}
    assert of_editions
    for case, edition in of_editions:
        assert levels[case, edition] == "should"
