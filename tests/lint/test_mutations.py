"""A few of the files that `benchmarks/lint_mutations.py` mutates, always the same: lint takes each of them."""

# ruff: noqa: E501  a row a file
from __future__ import annotations

import pytest
from benchmarks import lint_mutations

from tests.lint.planted import SESSION, STAR
from tests.lint.reading import codes

pytestmark = pytest.mark.oldest_at_night


def test_files_mutated_at_random_end_normally_and_change_no_finding_without_need(tmp_path):
    found = list(lint_mutations.lint(str(tmp_path), "sample", 0, 150, 1))
    assert [(number, kind, fault) for number, kind, fault in found if fault] == []
    assert len(found) == 150 and {kind for _, kind, _ in found} & set(lint_mutations.SAME)


@pytest.mark.parametrize("fault", ["E003", "a line", "other findings"])
def test_the_program_sees_faults(fault, tmp_path, monkeypatch):
    whole = lint_mutations.run

    def run(paths, task, jobs):
        for answer in whole(paths, task, jobs):
            if answer.findings and "plain" in answer.path:
                one = answer.findings[0]
                changed = {
                    "E003": one._replace(code="E003"), "a line": one._replace(line=10**9),
                    "other findings": one._replace(message="other"),
                }[fault]  # fmt: skip
                answer = answer._replace(findings=(changed, *answer.findings[1:]))
            yield answer

    monkeypatch.setattr(lint_mutations, "run", run)
    monkeypatch.setattr(lint_mutations, "sources", lambda: ["from npu_bridge.npu_int import *\n"])
    assert any(fault for _, _, fault in lint_mutations.lint(str(tmp_path), "sample", 0, 20, 1))


#: What mutated files have found: each made lint fail, or never end.
FOUND = {
    "a number of thousands of digits": SESSION + 'custom_op.parameter_map["graph_run_mode"].i = 0x' + "f" * 5000 + "\n",
    "a name that is such a number": SESSION + "custom_op.name = 0x" + "f" * 5000 + "\n",
    "a format of any width": SESSION + 'custom_op.parameter_map["dump_path"].s = "%999999999d" % 1\n',
    "a format of any precision": SESSION + 'custom_op.parameter_map["dump_path"].s = "%.999999999f" % 1\n',
    "texts that double": "x0 = 'a' * 9\nx0 = 'aaaaaaaaaaaaaaaa'\n" + "".join(f"x{n + 1} = x{n} + x{n}\n" for n in range(60)),
    "fields without an end": SESSION + f'custom_op.parameter_map["dump_path"].s = "{"{0}" * 9000}".format("{"a" * 9000}")\n',
    "NUL behind a comment of ours": b"from npu_bridge.npu_init import *  # npu: ignore\n\x00\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND, ids=lambda name: name.replace(" ", "-"))
def test_what_mutations_found_is_taken(name):
    assert "E003" not in [code for _, code in codes(FOUND[name])]


def test_a_comment_silences_its_line_alone_where_lines_end_with_cr():
    text = STAR + "npu_confg_proto()  # npu: ignore\nnpu_confg_proto()\n"
    assert codes(text) == codes(text.replace("\n", "\r")) == [(3, "E202")]
