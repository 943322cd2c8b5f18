"""A requirement whose text has changed makes its cases suspect, until somebody reads and confirms them again.

Otherwise a case would go on proving what the document no longer says. The tests keep this checkout free of suspect
cases, and say what counts as a change: level, statement and refusal do, white space does not.
"""

from __future__ import annotations

import pytest

from npu_conformance.strength import suspects
from npu_reference.errors import NpuError
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

NAME = "mixed.purpose.host_fallback"


def changed(**fields):
    library = corpus()
    requirement = library.requirements[NAME]._replace(**fields)
    return library._replace(requirements={**library.requirements, NAME: requirement})


def test_no_case_is_suspect():
    hint = "read the cases again, then: python -m npu_conformance.strength.suspects ID"
    assert suspects.suspects(corpus()) == {}, hint


def test_a_changed_statement_makes_its_cases_suspect_until_they_are_confirmed(tmp_path):
    other = changed(statement="Something else is demanded.")
    found = suspects.suspects(other)
    assert list(found) == [NAME] and all(NAME in corpus().cases[name].requirements for name in found[NAME])
    suspects.confirm(other, [NAME], str(tmp_path))
    assert NAME not in suspects.suspects(other, suspects.confirmed(str(tmp_path)))


def test_what_must_be_refused_and_the_level_count_and_white_space_does_not():
    requirement = corpus().requirements[NAME]
    assert list(suspects.suspects(changed(level="may"))) == [NAME]
    assert list(suspects.suspects(changed(negative="it is refused"))) == [NAME]
    assert suspects.suspects(changed(statement=requirement.statement.replace(" ", "\n "))) == {}


def test_what_is_no_requirement_cannot_be_confirmed(tmp_path):
    with pytest.raises(NpuError, match="is no requirement"):
        suspects.confirm(corpus(), ["no.such.requirement"], str(tmp_path))
