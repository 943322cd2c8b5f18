"""Decides how the device time of a whole script looks in a terminal: the whole, its runs, then where the time goes."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from rich.text import Text

from npu_conformance.report.terminal import Rows, Terminal, line, plain
from npu_conformance.report.text_profile import bytes_text, time_text
from npu_reference.printing import shorten

__all__ = ["profile"]

_REFUSAL = 160  # characters of why other options are refused
_TYPES = 12  # types of kernels, and signatures, shown; --format json has all


def profile(answer: Mapping[str, Any]) -> None:
    """The whole, signatures, engines, types of kernels, the dearest, and what other options change."""
    console = Terminal()
    name = os.path.basename(str(answer["script"]))
    if answer["device"] is None:
        line(console, plain(f"{name}: no run has a known time on the device"), 2)
    else:
        whole = f"{time_text(answer['device_ns'])} in {answer['runs']} runs on a simulated {answer['device']}"
        line(console, plain(f"{name}: {whole}, by its model and not measured"), 2)
    _signatures(console, answer["signatures"])
    if answer["engines"]:
        _path(console, answer["signatures"])
        _engines(console, answer)
        _types(console, answer["types"])
        _dearest(console, answer["dearest"])
    _compared(console, answer["signatures"])


def _signatures(console: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Runs of", "Runs", "Each", "Together", "Copies", "Peak", numbers=("Runs", "Each", "Together", "Peak"))
    for row in rows[:_TYPES]:
        if "reason" in row:
            table.add_row(plain(row["name"]), f"{row['runs']}", "?", "?", "?", "?")
            continue
        copies = f"{row['transfers']['h2d']} in, {row['transfers']['d2h']} out"
        table.add_row(
            plain(row["name"]), f"{row['runs']}", time_text(row["run_ns"]), time_text(row["device_ns"]), copies,
            bytes_text(row["peak"]),
        )  # fmt: skip
    console.print(table)
    if len(rows) > _TYPES:
        line(console, plain(f"{len(rows) - _TYPES} more: --format json"), 2)
    for row in rows[:_TYPES]:
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
    spent = sorted(row["critical_path"]["ns_by_kind"].items(), key=lambda part: (-part[1], part[0]))
    told = ", ".join(f"{kind} {time_text(ns)}" for kind, ns in spent)
    head = Text(f"critical path of {row['name']}: ", style="bold")
    line(console, head + plain(f"{row['critical_path']['tasks']} tasks: {told}"), 2)
    largest = ", ".join(f"{bytes_text(one['bytes'])} {one['tensor']}" for one in row["memory"]["largest"][:3])
    line(console, Text("memory of it: ", style="bold") + plain(f"{bytes_text(row['peak'])} at most; {largest}"), 2)


def _engines(console: Terminal, answer: Mapping[str, Any]) -> None:
    table = Rows("Engine", "Tasks", "Busy", "Share", numbers=("Tasks", "Busy", "Share"))
    for name, row in answer["engines"].items():
        share = 100 * row["busy_ns"] / max(answer["device_ns"], 1)
        table.add_row(name, f"{row['tasks']}", time_text(row["busy_ns"]), f"{share:.1f} %")
    console.print(table)


def _types(console: Terminal, types: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Kernel", "Engine", "Count", "Time", "Launch", "Memory", numbers=("Count", "Time", "Launch", "Memory"))
    for row in types[:_TYPES]:
        table.add_row(
            row["type"], row["engine"], f"{row['count']}", time_text(row["busy_ns"]), time_text(row["launch_ns"]),
            bytes_text(row["hbm_bytes"]),
        )  # fmt: skip
    console.print(table)
    if len(types) > _TYPES:
        line(console, plain(f"{len(types) - _TYPES} types more: --format json"), 2)


def _dearest(console: Terminal, dearest: Sequence[Mapping[str, Any]]) -> None:
    table = Rows("Dearest kernels", "Kernel", "Times", "Together", "Bound by", numbers=("Times", "Together"))
    for row in dearest:
        more = f" (+{len(row['members']) - 1} fused)" if len(row["members"]) > 1 else ""
        table.add_row(plain(row["node"]), row["type"] + more, f"{row['times']}", time_text(row["all_ns"]), row["bound"])
    console.print(table)


def _compared(console: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        for one in row.get("compared", []):
            options = ", ".join(f"{name}={value}" for name, value in one["options"].items())
            if "error" in one:
                told = f"refused: {shorten(one['error']['message'], _REFUSAL)}"
            else:
                change = f"{one['faster']:.2f} times as fast" if one["faster"] else "no time at all"
                told = f"{time_text(one['step_ns'])} a step, {change}; {bytes_text(one['peak'])} at most"
            line(console, Text(f"{row['name']} with {options}: ", style="bold") + plain(told), 2)
