"""What `explore` shows in a terminal: a row for every cause of differences, the binding ones first."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from npu_conformance.report.terminal import Rows as _table
from npu_conformance.report.terminal import Terminal as Console
from npu_conformance.report.terminal import Text
from npu_conformance.report.terminal import plain as _plain
from npu_reference.printing import clipped, counted, printable

__all__ = ["drafts", "exploration"]

_WORDS = 240  # of a difference, in a table


def exploration(answer: Mapping[str, Any], folder: str) -> None:
    """The causes, each with the documents' sentence, and where the drafts are."""
    console = Console()
    found: Sequence[Mapping[str, Any]] = answer["findings"]
    if found:
        table = _table("Draft", "Level", "Questions", "What differs", "Requirement", numbers=("Questions",))
        for one in found:
            cells = (one["level"], str(one["questions"]), _short(one["words"]), one["requirement"])
            table.add_row(one["case"], *cells)
        console.print(table)
        console.print()
        for requirement, sentence in sorted({one["requirement"]: one["sentence"] for one in found}.items()):
            console.print(_plain(f"{requirement}: {_short(sentence)}"), soft_wrap=True)
        console.print()
    for method in answer["stopped"]:
        console.print(_plain(f"{method} was asked no more: the backend ended too often."))
    counts = f"{counted(answer['questions'], 'question')} of seed {answer['seed']}, {answer['unanswered']} not answered"
    told = f"{counted(len(found), 'cause')} of differences" if found else "no difference"
    console.print(_plain(f"{counts}: {told}."))
    if found:
        console.print(_plain(f"Drafts: {folder}"), soft_wrap=True)


def _short(text: str) -> str:
    return printable(clipped(text, _WORDS))


def drafts(rows: Sequence[Mapping[str, str]]) -> None:
    """A line a draft, as it came out this time."""
    console = Console()
    for row in rows:
        mark = Text(f"{row['status']:6}", style="green" if row["status"] == "pass" else "red")
        console.print(mark + _plain(f" {row['case']}: {printable(row['words'])}"), soft_wrap=True)
