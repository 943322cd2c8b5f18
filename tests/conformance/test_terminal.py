"""How text reaches a reader: whole names always, folded between words on a terminal, one item a line in a pipe."""

from __future__ import annotations

from typing import Any, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.report.terminal import Rows, Terminal, Text, line
from npu_reference.printing import counted

NAME = "resnet/block_1/" * 8 + "conv"

cells = st.lists(st.text("abc /", min_size=0, max_size=40), min_size=3, max_size=3)


def _table(rows: List[List[str]]) -> Rows:
    table = Rows("Name", "Count", "What it is", numbers=["Count"])
    for row in rows:
        table.add_row(*row)
    return table


def _printed(capsys: Any, table: Rows) -> List[str]:
    Terminal().print(table)
    return capsys.readouterr().out.splitlines()


def test_a_pipe_has_no_width(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = [["relu", "12", "a rather long sentence " * 9], [NAME, "1", "short"]]
    found = [text for text in _printed(capsys, _table(rows)) if text]
    assert [text.split()[0] for text in found] == ["Name", "relu", NAME]
    assert found[1].endswith("sentence")


def test_a_terminal_folds_sentences_and_no_name(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    found = _printed(capsys, _table([["relu", "12", "a rather long sentence about it, and more"]]))
    assert max(map(len, found)) <= 40 and len(found) == 6  # two of them empty, one a rule
    found = _printed(capsys, _table([["relu", "12", NAME]]))
    assert "  " + NAME in found and "relu     12" in found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(cells, min_size=1, max_size=5), st.integers(1, 90))
def test_no_word_is_lost_or_broken_at_any_width(rows: List[List[str]], width: int) -> None:
    console = Terminal()
    console.folds, console.width = True, width
    text = "\n".join("".join(map(str, parts)) for parts in _table(rows).lines(console))
    for row in rows:
        for word in " ".join(row).split():
            assert word in text.split()
    assert sorted(text.replace("─", " ").split()) == sorted(
        word for row in [["Name", "Count", "What it is"], *rows] for cell in row for word in cell.split()
    )


@pytest.mark.parametrize(("columns", "count"), [("30", 2), (None, 1)])
def test_a_line_is_folded_on_a_terminal_alone(capsys: Any, monkeypatch: Any, columns: Any, count: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    line(Terminal(), Text("warning ") + Text("words that are folded between, never within, one"), 2)
    found = capsys.readouterr().out.splitlines()
    assert len(found) == count
    assert all(text.startswith("  ") for text in found[1:])


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    assert [counted(1, word) for word in ("operator", "copy", "pass")] == ["1 operator", "1 copy", "1 pass"]
    assert [counted(2, word) for word in ("day", "more copy", "entry", "pass")] == [
        "2 days", "2 more copies", "2 entries", "2 passes"
    ]  # fmt: skip
    assert counted(0, "GEOP") == "0 GEOPs"
