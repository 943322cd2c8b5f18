"""Decides how the device time of a whole script looks in a terminal: the whole, its runs, then where the time goes."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from npu_conformance.report.terminal import Rows, Terminal, Text, line, plain
from npu_conformance.report.text_profile import (
    TYPES,
    bytes_text,
    changed,
    engines_table,
    kernel_of,
    spent,
    time_text,
    types_table,
)  # fmt: skip
from npu_reference.printing import counted, shorten

__all__ = ["profile"]

_REFUSAL = 160  # characters of why other options are refused


def profile(answer: Mapping[str, Any]) -> None:
    """The whole, signatures, engines, types of kernels, the dearest, and what other options change."""
    console = Terminal()
    name = os.path.basename(str(answer["script"]))
    if answer["device"] is None:
        line(console, plain(f"{name}: no run has a known time on the device"), 2)
    else:
        whole = f"{time_text(answer['device_ns'])} in {counted(answer['runs'], 'run')}"
        line(console, plain(f"{name}: {whole} on a simulated {answer['device']}, by its model and not measured"), 2)
    _signatures(console, answer["signatures"])
    if answer["engines"]:
        _path(console, answer["signatures"])
        whole = max(answer["device_ns"], 1)
        engines_table(
            console, answer["engines"], {name: row["busy_ns"] / whole for name, row in answer["engines"].items()}
        )
        types_table(console, answer["types"])
        _dearest(console, answer["dearest"])
    _compared(console, answer["signatures"])


def _signatures(console: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Runs of", "Runs", "Each", "Together", "Copies", "Peak", numbers=("Runs", "Each", "Together", "Peak"))
    for row in rows[:TYPES]:
        if "reason" in row:
            table.add_row(plain(row["name"]), f"{row['runs']}", "?", "?", "?", "?")
            continue
        copies = f"{row['transfers']['h2d']} in, {row['transfers']['d2h']} out"
        table.add_row(
            plain(row["name"]), f"{row['runs']}", time_text(row["run_ns"]), time_text(row["device_ns"]), copies,
            bytes_text(row["peak"]),
        )  # fmt: skip
    console.print(table)
    if len(rows) > TYPES:
        line(console, plain(f"{len(rows) - TYPES} more: --format json"), 2)
    for row in rows[:TYPES]:
        if (row.get("pipeline") or {}).get("likely"):
            line(console, plain(f"{row['name']}: {row['pipeline']['says']}"), 2)
        if "reason" in row:
            line(console, Text("no time known: ", style="yellow") + plain(f"{row['name']}: {row['reason']}"), 2)
        elif row["iterations"] > 1:
            told = f"{row['name']}: {row['iterations']} iterations a run, {row['launches']} launches"
            line(console, plain(told), 2)


def _path(console: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    """The critical path of the dearest runs, and the memory they need at most."""
    row = next((row for row in rows if "critical_path" in row), None)
    if row is None:
        return
    head = Text(f"critical path of {row['name']}: ", style="bold")
    line(console, head + plain(spent(row["critical_path"])), 2)
    largest = ", ".join(f"{bytes_text(one['bytes'])} {one['tensor']}" for one in row["memory"]["largest"][:3])
    line(console, Text("memory of it: ", style="bold") + plain(f"{bytes_text(row['peak'])} at most; {largest}"), 2)


def _dearest(console: Terminal, dearest: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Dearest kernels", "Kernel", "Times", "Together", "Bound by", numbers=("Times", "Together"))
    for row in dearest:
        cells = (kernel_of(row), f"{row['times']}", time_text(row["all_ns"]), row["bound"])
        table.add_row(plain(row["node"]), *cells)
    console.print(table)


def _compared(console: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        for one in row.get("compared", []):
            if "error" in one:
                options = ", ".join(f"{name}={value}" for name, value in one["options"].items())
                told = f"refused: {shorten(one['error']['message'], _REFUSAL)}"
            else:
                options, told = changed(one)
            line(console, Text(f"{row['name']} with {options}: ", style="bold") + plain(told), 2)
