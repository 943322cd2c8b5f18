"""Every planted mistake is found in its line under its code, and nothing else is."""

from __future__ import annotations

import pytest

from npu_conformance.lint.registry import rules
from tests.lint.planted import PLANTED
from tests.lint.reading import findings


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name.replace(" ", "-"))
def test_a_planted_mistake_is_found_and_nothing_else(planted):
    found = [(one.code, one.line) for one in findings(planted.text, planted.edition)]
    assert found == [(planted.code, line) for line in planted.lines]


def test_there_are_sixty_and_every_code_is_among_them_but_those_that_need_files():
    assert len(PLANTED) >= 60
    elsewhere = {"E002", "E003", "E108"}
    assert {one.code for one in PLANTED} == {rule.code for rule in rules() if rule.code[0] != "S"} - elsewhere
