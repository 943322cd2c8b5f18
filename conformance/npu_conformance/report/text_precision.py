"""Decides how an assignment of precision looks as text: the summary first."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from npu_conformance.report.terminal import Rows, Terminal, Text, line, noted, plain
from npu_conformance.report.text import proposals
from npu_reference.printing import counted

__all__ = ["precision"]

_ROWS = 30  # kinds of operators, casts and changes shown; --all and --format json have every one
_NOTES = 10
_SHORT = {"float16": "fp16", "float32": "fp32", "bfloat16": "bf16", "float64": "fp64"}
_FLOATS = tuple(_SHORT)


def precision(
    answer: Mapping[str, Any],
    warnings: Sequence[Any],
    title: str,
    every: bool,
    proposed: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Summary, kinds of operators (or each operator), casts, warnings, and what other options change."""
    console = Terminal()
    _summary(console, answer, title)
    proposals(console, proposed)
    if every:
        _operators(console, answer["nodes"])
    else:
        _kinds(console, answer["nodes"])
    noted(console, answer["warnings"], len(answer["warnings"]) if every else _NOTES, "warnings; --all tells them")
    noted(console, [{**note, "level": "info"} for note in answer["notes"]])
    for warning in warnings:
        line(console, Text("warning ", style="yellow") + plain(warning.text), 2)
    for other in answer["compared"]:
        _changes(console, answer, other, every)


def _summary(console: Terminal, answer: Mapping[str, Any], title: str) -> None:
    summary, work = answer["summary"], answer["work"]
    what = f": {counted(summary['operators'], 'operator')} on the device, {summary['mode']} ({summary['edition']})"
    line(console, plain(title + what), 2)
    for key in ("engines", "lists", "dtypes", "impl_modes"):
        if summary[key] and not (key == "impl_modes" and set(summary[key]) == {"none"}):
            line(console, Text(f"{key.replace('_', ' ')}: ", style="bold") + plain(_counts(summary[key])), 2)
    kinds = Counter(f"{_short(cast['from'])} to {_short(cast['to'])}" for cast in answer["casts"])
    told = f"{summary['casts']}" + (f" ({_counts(kinds)})" if kinds else "")
    line(console, Text("casts: ", style="bold") + plain(told), 2)
    line(console, Text("work: ", style="bold") + plain(work["told"]), 2)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])))


def _short(dtype: str) -> str:
    return _SHORT.get(dtype, dtype)


def _dtypes(node: Mapping[str, Any]) -> str:
    """The float dtypes in and out, each once: `fp16 > fp32`."""
    sides = []
    for side in (node["inputs"], node["outputs"]):
        floats = dict.fromkeys(_short(dtype) for dtype in side if dtype in _FLOATS)
        sides.append("/".join(floats) or ("-" if not side else "/".join(dict.fromkeys(side))))
    return " > ".join(sides)


def _kind(node: Mapping[str, Any]) -> Tuple[str, str, str, str, str]:
    name = node["op"] if node["kernel"] in ("", node["op"]) else f"{node['op']} ({node['kernel']})"
    return (name, node["engine"], node["list"] or "", _dtypes(node), node["impl_mode"] or "")


def _kinds(console: Terminal, nodes: Sequence[Mapping[str, Any]]) -> None:
    """One row for operators of one type, engine, list and dtypes; those without a kernel are only counted."""
    with_kernel = [node for node in nodes if node["engine"] in ("cube", "vector", "aicpu", "unset")]
    counts = Counter(_kind(node) for node in with_kernel)
    if not counts:
        return
    modes = any(kind[4] for kind in counts)
    columns = ["Operator (kernel)", "Count", "Engine", "List", "In > out", *(["Mode"] if modes else [])]
    table = Rows(*columns, numbers=["Count"])
    order = sorted(counts, key=lambda kind: (_rank(kind[1]), -counts[kind], kind))
    for kind in order[:_ROWS]:
        cells = [kind[0], str(counts[kind]), kind[1], kind[2], kind[3], *([kind[4]] if modes else [])]
        table.add_row(*(plain(cell) for cell in cells))
    console.print(table)
    if len(order) > _ROWS:
        console.print(f"… {len(order) - _ROWS} more kinds; --all tells every operator.", style="dim")


def _rank(engine: str) -> int:
    return ("cube", "unset", "vector", "aicpu").index(engine)


def _operators(console: Terminal, nodes: Sequence[Mapping[str, Any]]) -> None:
    """Two lines an operator on a terminal, one in a pipe."""
    for node in nodes:
        words = [node["engine"], node["list"] or "", node["impl_mode"] or ""]
        name = f"{node['node']}  {node['op']}  {' '.join(word for word in words if word)}"
        tensors = f"{','.join(node['inputs']) or 'nothing'} > {','.join(node['outputs']) or 'nothing'}"
        if not console.folds:
            line(console, plain(f"{name}  {tensors}  {node['why']}"))
            continue
        line(console, plain(name), 4)
        line(console, Text("    " + tensors, style="bold") + plain(f"  {node['why']}"), 6)


def _changes(console: Terminal, answer: Mapping[str, Any], other: Mapping[str, Any], every: bool) -> None:
    """What other options change: the counts beside each other, then kinds of changes."""
    before, after = answer["summary"], other["summary"]
    console.print()
    changed = other["changed"]
    what = f"{before['mode']} to {after['mode']}: {len(changed)} of {counted(before['operators'], 'operator')} changed"
    line(console, Text(what, style="bold"), 2)
    for key in ("engines", "dtypes"):
        line(console, plain(f"{key}: {_moved(before[key], after[key])}"), 2)
    line(console, plain(f"casts: {before['casts']} to {after['casts']}"), 2)
    line(console, plain(f"work: {other['work']['told']}"), 2)
    kinds: Dict[Tuple[str, str, str], List[str]] = {}
    for row in changed:
        kinds.setdefault((row["op"], _state(row["before"]), _state(row["after"])), []).append(row["node"])
    if not kinds:
        return
    table = Rows("Operator", "Count", "Before", "After", "For example", numbers=["Count"])
    order = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    for kind in order if every else order[:_ROWS]:
        table.add_row(plain(kind[0]), str(len(kinds[kind])), kind[1], kind[2], plain(kinds[kind][0]))
    console.print(table)
    if len(order) > _ROWS and not every:
        console.print(f"… {len(order) - _ROWS} more kinds; --all tells them.", style="dim")


def _moved(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    names = dict.fromkeys([*before, *after])
    return ", ".join(
        f"{name} {before.get(name, 0)}" + (f" to {after.get(name, 0)}" if before.get(name) != after.get(name) else "")
        for name in names
    )


def _state(fact: Any) -> str:
    if fact is None:
        return "host"
    mode = f" {fact['impl_mode']}" if fact["impl_mode"] else ""
    taken, _, given = _dtypes(fact).partition(" > ")
    return f"{fact['engine']} {taken if given in (taken, '-') else f'{taken} > {given}'}{mode}"
