"""Every planted mistake is found in its line under its code, and nothing else is."""

from __future__ import annotations

import pytest

from npu_conformance.lint.registry import Settings, rules
from npu_conformance.lint.running import Task, check_text
from tests.lint.planted import PLANTED


def findings(text, edition="current", path="script.py"):
    task = Task(tuple(rule.code for rule in rules()), Settings(edition))
    return check_text(path, text.encode("utf-8"), task).findings


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name.replace(" ", "-"))
def test_a_planted_mistake_is_found_and_nothing_else(planted):
    found = [(one.code, one.line) for one in findings(planted.text, planted.edition)]
    assert found == [(planted.code, line) for line in planted.lines]


def test_there_are_at_least_sixty_and_every_code_but_two_is_among_them():
    assert len(PLANTED) >= 60
    left_out = {"E002", "E108"}  # they need files, and have tests of their own
    expected = {rule.code for rule in rules() if rule.code[0] != "S"} - left_out
    assert {one.code for one in PLANTED if one.code[0] != "S"} == expected
