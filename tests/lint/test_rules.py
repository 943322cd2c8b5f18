"""Rules explain themselves: their examples hold, and the page made from them is current."""

from __future__ import annotations

import pathlib

import pytest

from npu_conformance.lint.page import main, page
from npu_conformance.lint.registry import LintSettings, rules
from npu_conformance.lint.running import LintTask, check_text
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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("rule", [one for one in rules() if one.fixable], ids=lambda rule: rule.code)
def test_the_replacements_of_a_finding_mend_it(rule, end):
    mended = 0
    for example in rule.wrong:
        text = example.replace("\n", end)
        for finding in spelt(text):
            if finding.code == rule.code and finding.replacements:
                mended += 1
                left = spelt(replaced(text, finding.replacements))
                assert finding[1:5] not in [one[1:5] for one in left]
                assert "E001" not in [one.code for one in left]
    assert mended


def spelt(text):
    """Findings with their replacements."""
    task = LintTask(tuple(rule.code for rule in rules()), LintSettings(), spell=True)
    return check_text("script.py", text.encode("utf-8"), task).findings


def replaced(text, replacements):
    lines = text.splitlines(True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for one in sorted(replacements, reverse=True):
        start, end = starts[one.line - 1] + one.column - 1, starts[one.end_line - 1] + one.end_column - 1
        text = text[:start] + one.text + text[end:]
    return text


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
