"""The problem matchers for GitHub and VS Code read what lint prints."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from npu_conformance.lint import rendering
from npu_conformance.lint.finding import Finding
from npu_conformance.lint.registry import rules
from tests.lint.planted import PLANTED
from tests.lint.reading import findings

pytestmark = pytest.mark.not_oldest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = "conformance/npu_conformance/lint/matchers"
GITHUB = json.loads((ROOT / FOLDER / "github.json").read_text(encoding="utf-8"))["problemMatcher"]
VSCODE = json.loads((ROOT / FOLDER / "vscode-tasks.json").read_text(encoding="utf-8"))["tasks"][0]["problemMatcher"]

#: What GitHub's own word for each severity is, and what VS Code makes of the letter of a code, or has without one.
LETTERS = {"E": "error", "W": "warning", "S": "notice"}
NAMES = ["train.py", "a folder/my script.py", "C:\\a b\\train.py", "/x/1:2/train.py", "训练.py"]


def read_by_github(line):
    """(severity, path, line, column, code, message) by each matcher that takes a line."""
    found = []
    for matcher in GITHUB:
        (pattern,) = matcher["pattern"]
        match = re.search(pattern["regexp"], line)
        if match:
            found.append((matcher["severity"], *parts(pattern, match)))
    return found


def read_by_vscode(line):
    pattern = VSCODE["pattern"]
    match = re.search(pattern["regexp"], line)
    if not match:
        return []
    letter = match.group(pattern["severity"])
    severity = LETTERS[letter] if letter in "EW" else {"info": "notice"}[VSCODE["severity"]]
    return [(severity, *parts(pattern, match))]


def parts(pattern, match):
    names = ("file", "line", "column", "code", "message")
    path, line, column, code, message = (match.group(pattern[name]) for name in names)
    return path, int(line), int(column), code, message


def expected(one):
    return [(LETTERS[one.code[0]], one.path, one.line, one.column, one.code, ("hint: " * one.hint) + one.message)]


@pytest.mark.parametrize("end", ["", "\r"], ids=["lf", "crlf"])
@pytest.mark.parametrize("read", [read_by_github, read_by_vscode], ids=["github", "vscode"])
def test_every_finding_of_the_planted_scripts_is_read_as_it_was_meant(read, end):
    seen = set()
    for number, planted in enumerate(PLANTED):
        for one in findings(planted.text, path=NAMES[number % len(NAMES)]):
            seen.add(one.code)
            assert read(rendering.text([one]) + end) == expected(one)
    assert len(seen) > 25


@pytest.mark.parametrize("fixable, unsafe", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("read", [read_by_github, read_by_vscode], ids=["github", "vscode"])
def test_every_code_is_read_by_one_matcher_with_and_without_a_mark(read, fixable, unsafe):
    for rule in rules():
        one = Finding("a b.py", 3, 7, rule.code, "Write a:1:2 E101 [*] b.", fixable, unsafe)
        assert read(rendering.text([one])) == expected(one)


@pytest.mark.parametrize("read", [read_by_github, read_by_vscode], ids=["github", "vscode"])
@pytest.mark.parametrize(
    "line",
    ["1 file read, 1 warning", "1 W101 unknown-option", "train.ipynb:cell 3:2:5 W101 [!] There is no option x.",
     "error[USAGE] x: y", "  File train.py, line 3"],
    ids=["summary", "statistics", "cell", "error", "traceback"],
)  # fmt: skip
def test_what_is_no_line_of_a_file_is_not_read(read, line):
    assert read(line) == []


def test_the_files_are_named_in_the_guide_and_in_the_action():
    guide = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    assert f"{FOLDER}/github.json" in guide and f"{FOLDER}/vscode-tasks.json" in guide
    assert f'"::add-matcher::$NPU_ACTION/{FOLDER}/github.json"' in (ROOT / "action.yml").read_text(encoding="utf-8")


def test_owners_differ_since_a_later_matcher_replaces_one_of_its_name():
    assert len({matcher["owner"] for matcher in GITHUB}) == len(GITHUB) == 3
