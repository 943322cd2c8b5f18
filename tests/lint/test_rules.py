"""Rules explain themselves: their examples hold, and the page made from them is current."""

from __future__ import annotations

import pathlib

import pytest

from npu_conformance.lint.page import main, page
from npu_conformance.lint.registry import rules
from tests.lint.reading import answer, codes

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_rule_finds_something_in_its_wrong_examples_and_nothing_in_its_right_ones(rule):
    for example in rule.wrong:
        assert rule.code in [code for _, code in codes(example, "current")], example
    for example in rule.right:
        assert codes(example) == [], example


@pytest.mark.parametrize("rule", [one for one in rules() if one.fixable], ids=lambda rule: rule.code)
def test_what_a_fixable_rule_mends_is_not_found_again(rule):
    changed = [answer(example, mend=True, only=[rule.code]) for example in rule.wrong]
    assert any(one.after is not None for one in changed)
    for one in changed:
        assert one.after is None or not one.findings


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_rule_has_a_summary_of_one_sentence_and_a_module_of_its_own(rule):
    assert rule.summary.endswith(".")
    assert rule.check.__module__.startswith("npu_conformance.lint.rules.")
    assert [one for one in rules() if one.check.__module__ == rule.check.__module__] == [rule]


def test_the_page_of_rules_is_current():
    assert (ROOT / "docs" / "lint.md").read_text(encoding="utf-8") == page(), "run python -m npu_conformance.lint.page"


def test_the_page_is_written_whole(tmp_path):
    assert main([str(tmp_path / "lint.md")]) == 0
    assert (tmp_path / "lint.md").read_text(encoding="utf-8") == page()
