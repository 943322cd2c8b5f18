"""``explain`` prints in full what stands behind a word of an answer."""

from __future__ import annotations

import ast
import json
import pathlib
import re
import sys

import pytest

import npu_reference
from npu_conformance import cli
from npu_conformance.backends.mutants import registry
from npu_conformance.judging import judge
from npu_conformance.library import explaining, inventory, library
from npu_conformance.lint.registry import rules
from npu_conformance.observing.observe import ASPECTS
from npu_conformance.protocol import schema
from npu_conformance.report import words
from npu_conformance.strength.laws.table import LAWS
from npu_reference.errors import CATALOGUE, NpuError
from npu_reference.options import OPTIONS
from npu_reference.options.outcome import WARNING_CODES
from npu_reference.partition.policies import documented
from npu_reference.partition.reasons import Reason
from tests.depth import share

pytestmark = pytest.mark.oldest_at_night


@pytest.mark.parametrize("name", ["A19", "G13", "T7"])
def test_a_reading_is_told_with_its_question_and_why(name):
    found = words.explain(name.lower())
    assert (found.kind, found.name) == ("reading", name)
    assert found.cases
    assert len(found.facts) >= 3


def test_every_row_of_the_readings_can_be_explained():
    rows = explaining.readings()
    assert len(rows) > 200
    assert {"A1", "B34", "G20", "S17", "T35", "C12", "P31", "D27", "M27"} <= set(rows)
    assert all(row.heading and row.cells for row in rows.values())
    columns = {tuple(column for column, _ in row.cells) for row in rows.values() if row.name[0] == "G"}
    assert columns <= {("Question", "Reading", "Why"), ("Question", "Reading")}


def test_every_code_and_status_has_its_meaning():
    for code, kind in CATALOGUE.items():
        found = words.explain(code)
        assert (found.kind, found.facts["Meaning"]) == ("error", kind.meaning)
    for code, meaning in WARNING_CODES.items():
        assert words.explain(code).facts["Meaning"] == meaning
    for status, meaning in judge.MEANINGS.items():
        found = words.explain(status if status not in WARNING_CODES else f"status:{status}")
        assert (found.kind, found.facts["Meaning"]) == ("status", meaning)


def test_a_requirement_is_told_with_its_document_and_the_cases_that_see_it():
    found = words.explain("runconfig.hccl_timeout.quantize")
    assert found.kind == "requirement"
    assert found.facts["Sentence"] == inventory.load()[found.name].statement
    assert found.facts["Document"].startswith("003 §")
    assert "rc-hccl-600" in found.cases


def test_an_option_is_told_with_its_readings_and_requirements():
    found = words.explain("HCCL_TIMEOUT")
    assert (found.kind, found.name) == ("option", "hccl_timeout")
    assert found.readings == OPTIONS["hccl_timeout"].readings
    assert "runconfig.hccl_timeout.range" in found.requirements
    assert "session, legacy" in found.facts


@pytest.mark.parametrize("columns", ["80", "120", None])
def test_sentences_are_folded_to_the_width_and_whole_in_a_pipe(capsys, monkeypatch, columns):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        cli.main(["explain", "precision_mode"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  runconfig.precision_mode.default: ") for line in lines)
    if columns:
        assert int(columns) - 20 < max(map(len, lines)) <= int(columns)
    else:
        assert len([line for line in lines if line.startswith("session, current: ") and line.endswith("003")]) == 1


@pytest.mark.parametrize(
    "word, near", [("hcl_timeout", "hccl_timeout"), ("OPTION_VALU", "OPTION_VALUE"), ("unknwon", "unknown")]
)
def test_an_unknown_word_is_answered_with_the_nearest(word, near):
    with pytest.raises(NpuError) as refused:
        words.explain(word)
    assert f"Did you mean {near}" in refused.value.remedy


@pytest.mark.parametrize("word", ["", " ", "\0", "A" * 10000, "../../etc/passwd", "session.", "| A1 |"])
def test_any_word_is_explained_or_refused_in_one_line(word, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["explain", word])
    said = capsys.readouterr()
    assert left.value.code == 2
    assert len(said.err.splitlines()) == 1 and not said.out


@pytest.mark.parametrize("word", ["OPTION_VALUE", "A19", "runconfig.hccl_timeout.quantize", "hccl_timeout", "adjusted"])
def test_the_answer_in_json_is_that_of_its_schema(word, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["explain", word, "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    form = schema.load("explain")
    assert left.value.code == 0
    assert schema.fault(answer, form, form) is None


def test_the_rule_of_every_answer_can_be_explained(capsys):
    with pytest.raises(SystemExit):
        cli.main(["options", "hccl_timeout=600", "iterations_per_loop=x", "nothing=1", "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    for one in [*answer["errors"], *answer["warnings"], *answer["notes"]]:
        for word in (one.get("code", ""), one["rule"], one["requirement"]):
            assert not word or words.explain(word)


#: The functions that make notes, whose first argument is a code.
MAKERS = {"Note", "PrecisionNote", "_note"}
ROOT = pathlib.Path(npu_reference.__file__).parent


def codes_of_notes():
    """Every code of a note that the source of the partition, of precision and of option files can print."""
    for folder in ("partition", "precision"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                called = getattr(node, "func", None)
                if getattr(called, "id", getattr(called, "attr", "")) in MAKERS and node.args:
                    yield from (part.value for part in [node.args[0]] if isinstance(part, ast.Constant))
    tree = ast.parse((ROOT / "catalog" / "entries.py").read_text(encoding="utf-8"))
    form = re.compile(r"(entry|mixlist|customize|op_precision)_(no|un)[a-z_]+")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and form.fullmatch(node.value):
            yield node.value
    yield from (f"REPAIRED_{code}" for code in documented._CONSEQUENCE)


@pytest.mark.skipif(sys.version_info < (3, 8), reason="ast.Constant")
def test_every_code_of_a_note_in_the_source_is_explained_and_no_other():
    found = set(codes_of_notes())
    assert len(found) > 25
    assert found == set(words.NOTES)
    for code in found:
        assert words.explain(code).facts["Meaning"] == words.NOTES[code]


WORDS = {
    "rule": lambda: [rule.code for rule in rules()],
    "reason": lambda: [reason.value for reason in Reason],
    "aspect": lambda: ASPECTS,
    "mutant": lambda: list(registry())[:: share(10, 1)],
    "law": lambda: LAWS,
    "case": lambda: sorted(library.load().cases)[::50],
    "operator": lambda: ["PyFunc", "MatMul", "StringJoin", "MapDataset", "NpuGetFloatStatusV2"],
}


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_that_an_answer_prints_is_explained(kind):
    for word in WORDS[kind]():
        found = words.explain(f"{kind}:{word}")
        assert (found.kind, found.name) == (kind, word) and found.facts
        assert words.explain(word).facts  # of this kind, or of another that has the same word


def test_every_aspect_tells_how_its_facts_read():
    for name in ASPECTS:
        assert words.explain(f"aspect:{name}").facts["Facts"], name


def test_a_word_as_a_report_prints_it_is_explained():
    assert words.explain("law-placed-once").name == "placed-once"
    assert words.explain("rc-hccl-600@current").name == "rc-hccl-600"
    assert words.explain("unknown-option").name == "W101"
    assert words.explain("frame").facts["Remedy"].startswith("Take the operator")


def test_an_operator_is_told_with_its_place_and_what_would_move_it():
    found = words.explain("PyFunc").facts
    assert found["Place"].startswith("the host, NOT_SUPPORTED") and found["Remedy"].startswith("Compute it in Python")
    assert words.explain("MatMul").facts["Engine"] == "cube" and "Remedy" not in words.explain("MatMul").facts
    assert "DATASET" in words.explain("MapDataset").facts["Place"]
    with pytest.raises(NpuError, match=r"Did you mean Conv2D or .* Kinds of words are option, operator, "):
        words.explain("Conv2d_")


def test_every_kind_of_word_is_listed_with_an_example_that_is_explained(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["explain", "--format", "json"])
    listed = json.loads(capsys.readouterr().out)["facts"]
    assert left.value.code == 0
    assert {one["label"] for one in listed} == set(schema.load("explain")["properties"]["kind"]["enum"]) - {"kinds"}
    assert all(words.explain(one["text"].split()[-1]).kind == one["label"] for one in listed)


@pytest.mark.parametrize("word", ["rule:W101", "FRAME", "REWRITTEN", "geops", "rc-hccl-600", "law:reasons"])
def test_words_of_every_kind_are_answered_in_json(word, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["explain", word, "--format", "json"])
    form = schema.load("explain")
    assert left.value.code == 0
    assert schema.fault(json.loads(capsys.readouterr().out), form, form) is None
