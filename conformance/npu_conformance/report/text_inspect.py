"""Decides how a folder that a run left looks in a terminal: lines and tables, or one tensor with its values."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from npu_conformance.report.inspect_views import Table, View, views
from npu_conformance.report.terminal import Rows, Terminal, Text, line, plain

__all__ = ["show"]

_STYLES = {"plain": "bold", "good": "green", "note": "yellow", "bad": "red"}
_LINES = 12  # of one label; --format json has all


def show(answer: Mapping[str, Any]) -> None:
    """What `inspect` answers."""
    console = Terminal()
    if "tensor" in answer:
        _tensor(console, answer["tensor"])
        return
    for number, view in enumerate(views(answer)):
        if number:
            console.print("")
        line(console, Text(f"{view.kind} ", style="bold") + plain(view.folder), 2)
        _view(console, view)


def _view(console: Terminal, view: View) -> None:
    told: Dict[str, int] = {}
    for one in view.lines:
        told[one.label] = told.get(one.label, 0) + 1
        if told[one.label] <= _LINES:
            head = Text(printed(one.label), style=_STYLES[one.tone])
            line(console, head + plain(one.text), 2)
    for label, count in told.items():
        if count > _LINES:
            line(console, plain(f"{label}: {count - _LINES} more, --format json has all"), 2)
    for table in view.tables:
        _table(console, table)


def printed(label: str) -> str:
    """A label as it stands before its sentence."""
    return f"{plain(label).plain}: " if label else ""


def _table(console: Terminal, table: Table) -> None:
    rows = Rows(*table.columns, numbers=table.numbers)
    for row in table.rows[: table.shown]:
        rows.add_row(*(plain(cell) for cell in row))
    console.print(rows)
    if table.all > table.shown:
        line(console, plain(f"{table.all - table.shown} more: --format json has all"), 2)


def _tensor(console: Terminal, row: Mapping[str, Any]) -> None:
    shape = "unknown shape" if row["shape"] is None else str(list(row["shape"]))
    step = "" if row["step"] is None else row["step"]
    line(console, plain(f"{row['op']}:{row['slot']} of step {step}: {row['dtype']} {shape}"), 2)
    told = f"min {_number(row['min'])}, max {_number(row['max'])}, mean {_number(row['mean'])}"
    line(console, plain(f"{told}, {row['nan']} NaN, {row['inf']} infinite"), 2)
    more = "" if row["shape"] is not None and _size(row["shape"]) <= len(row["values"]) else " …"
    line(console, plain(" ".join(row["values"]) + more), 2)
    if "exported" in row:
        line(console, plain(f"written to {row['exported']}"), 2)


def _number(value: Optional[float]) -> str:
    return "" if value is None else f"{value:.4g}"


def _size(shape: Any) -> int:
    size = 1
    for one in shape:
        size *= one
    return size
