"""Every reason, remedy, note and refusal of a partition has its case, and a remedy has a case that shows it help."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import npu_reference.partition as package
from npu_reference.options import adapter_reading
from npu_reference.partition.reasons import REMEDIES, Reason
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

#: Notes that no case can ask for: the documents' options refuse the value that leads there (tests/partition has them).
WITHOUT_A_CASE = {"REPAIRED_CYCLE"}

#: Refusals that no case can ask for: a defect; a policy or flavour that the protocol has no words for; a graph that is
#: refused as it is read (tests/graphs).
ELSEWHERE = {"INTERNAL", "USAGE", "GRAPH_CYCLE"}

SOURCES = [*sorted(Path(package.__file__).parent.rglob("*.py")), Path(adapter_reading.__file__)]


def asserted(case):
    """Every fact or pattern a case asserts."""
    lines = [line for lines in case.expect.golden.values() for line in lines]
    return [*lines, *case.expect.contains]


def test_every_reason_has_a_case():
    told = {match for case in corpus().cases.values() for text in asserted(case) for match in _reasons(text)}
    assert {reason.value for reason in Reason} <= told


def _reasons(text):
    return re.findall(r" because ([A-Z_]+)\Z", text)


REMEDIED = [reason for reason, text in REMEDIES.items() if not text.startswith("None")]


@pytest.mark.parametrize("reason", REMEDIED, ids=lambda reason: reason.value)
def test_a_remedy_puts_the_operator_on_the_device(reason):
    """A case shows the reason, and its control is the same graph or options after the remedy."""
    cases = corpus().cases
    shown = re.compile(rf"host (\S+) because {reason.value}")
    assert any(
        re.fullmatch(rf"(device|geop \S+ node) {re.escape(match.group(1))}", text)
        for case in cases.values()
        if case.control
        for match in map(shown.fullmatch, asserted(case))
        if match
        for text in asserted(cases[case.control])
    )


def literals(*calls):
    """First arguments of calls by these names, constants alone; f-strings as patterns."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in calls:
                yield path.name, node


def constant(node):
    """The text a literal stands for, None for any other expression; Python 3.7 has a class of its own for them."""
    found = node.value if isinstance(node, ast.Constant) else getattr(node, "s", None)
    return found if isinstance(found, str) else None


def test_every_note_has_a_case():
    codes = set()
    for file, call in literals("Note", "_note"):
        code = constant(call.args[0])
        if code is not None:
            codes.add(code)
        else:
            assert file == "documented.py", "a code that is made up is one of documented._DIFFERENCES or _CONSEQUENCE"
    from npu_reference.partition.policies import documented

    codes |= {reason.value for reason, _ in documented._DIFFERENCES}
    # References are cut before anything is repaired.
    codes |= {f"REPAIRED_{code}" for code in documented._CONSEQUENCE if code != "REF"}
    texts = [text for case in corpus().cases.values() for text in asserted(case) if text.startswith("note ")]
    told = {text.split()[1].rstrip("*") for text in texts}
    assert codes - told == WITHOUT_A_CASE


def test_every_refusal_has_a_case():
    codes = {constant(call.args[0]) for _, call in literals("NpuError")} - {None}
    assert "REF_BORDER" in codes
    refused = {
        code
        for case in corpus().cases.values()
        if case.expect.rejected and case.method == "partition"
        for code in case.expect.rejected[0]
    }
    assert codes - ELSEWHERE <= refused


def test_every_text_of_the_adapter_has_a_case():
    patterns = [
        case.expect.rejected[2].strip("*")
        for case in corpus().cases.values()
        if case.expect.rejected and case.params.get("policy") == "adapter"
    ]
    texts = list(_adapter_texts())
    assert len(texts) >= 13
    missing = [text for text in texts if not any(re.fullmatch(text, pattern) for pattern in patterns)]
    assert not missing


def _adapter_texts():
    """The adapter's own words in the sources, as regular expressions: errors without a subject, and of _abort."""
    for _, call in literals("NpuError"):
        if constant(call.args[1]) == "" and constant(call.args[0]) not in ELSEWHERE:
            yield from _texts(call.args[2])
    for _, call in literals("_abort"):
        yield from _texts(call.args[1])


def _texts(node):
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    yield "".join(".*" if constant(part) is None else re.escape(constant(part)) for part in parts)
