"""Decides how a folder that a run left looks in a terminal: its tensors as a table, or where two dumps depart."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from rich.text import Text

from npu_conformance.report.terminal import Rows, Terminal, line, plain

__all__ = ["show"]

_ROWS = 200  # tensors shown; --format json has all
_DEPARTING = 20


def show(answer: Mapping[str, Any]) -> None:
    """What `inspect` answers."""
    console = Terminal()
    if "tensor" in answer:
        _tensor(console, answer["tensor"])
    elif "comparison" in answer:
        _comparison(console, answer)
    else:
        _content(console, answer)


def _content(console: Terminal, answer: Mapping[str, Any]) -> None:
    content = answer["content"]
    rows: List[Mapping[str, Any]] = content["tensors"]
    steps = sorted({row["step"] for row in rows if row["step"] is not None})
    head = f"{answer['folder']}: {_count(len({row['file'] for row in rows}), 'file')}, {_count(len(rows), 'tensor')}"
    head += f", steps {_spans(steps)}" if steps else ""
    head += "; simulated, nothing of it comes from a device" if content["simulated"] and rows else ""
    line(console, plain(head), 2)
    for row in rows:
        for key, word in (("note", "note"), ("tiling", "tiling")):
            if row.get(key):
                line(console, Text(f"{row['op']} {word}: ", style="yellow") + plain(row[key]), 2)
                break
    one_step = len(steps) <= 1
    table = Rows(
        *([] if one_step else ["Step"]), "Tensor", "Type", "Dtype", "Shape", "Min", "Max", "Mean", "NaN", "Inf", "Zero",
        numbers=("Step", "Min", "Max", "Mean", "NaN", "Inf", "Zero"),
    )  # fmt: skip
    for row in rows[:_ROWS]:
        table.add_row(*([] if one_step else [_text(row["step"])]), *_cells(row))
    console.print(table)
    if len(rows) > _ROWS:
        line(console, plain(f"{len(rows) - _ROWS} tensors more: give --step or --op, or --format json"), 2)
    for one in content["overflow"]:
        line(console, Text("overflow ", style="red") + plain(f"step {one['step']}: {one['op']} ({one['acc_type']})"), 2)


def _cells(row: Mapping[str, Any]) -> List[Any]:
    name = f"{row['op']}:{row['slot']}" if row["side"] == "output" else f"{row['op']} <- {row['slot']}"
    bad = Text(str(row["nan"]), style="red") if row["nan"] else ""
    infinite = Text(str(row["inf"]), style="red") if row["inf"] else ""
    zeros = "" if row["zeros"] is None else f"{100 * row['zeros']:.0f} %"
    shape = "?" if row["shape"] is None else "x".join(str(size) for size in row["shape"]) or "scalar"
    return [
        name, row["op_type"], row["dtype"] or "?", shape, _number(row["min"]), _number(row["max"]),
        _number(row["mean"]), bad, infinite, zeros,
    ]  # fmt: skip


def _tensor(console: Terminal, row: Mapping[str, Any]) -> None:
    shape = "unknown shape" if row["shape"] is None else str(list(row["shape"]))
    line(console, plain(f"{row['op']}:{row['slot']} of step {_text(row['step'])}: {row['dtype']} {shape}"), 2)
    told = f"min {_number(row['min'])}, max {_number(row['max'])}, mean {_number(row['mean'])}"
    line(console, plain(f"{told}, {row['nan']} NaN, {row['inf']} infinite"), 2)
    more = "" if row["shape"] is not None and _size(row["shape"]) <= len(row["values"]) else " …"
    line(console, plain(" ".join(row["values"]) + more), 2)
    if "exported" in row:
        line(console, plain(f"written to {row['exported']}"), 2)


def _comparison(console: Terminal, answer: Mapping[str, Any]) -> None:
    found = answer["comparison"]
    limits = found["limits"]
    head = f"{_count(found['compared'], 'tensor')} compared, {found['equal']} equal to the bit, "
    head += f"{len(found['departing'])} depart (cosine below {limits['cosine']:g} or error above {limits['error']:g})"
    line(console, plain(head), 2)
    for key, where in (("only_here", answer["folder"]), ("only_there", found["against"])):
        if found[key]:
            names = ", ".join(found[key][:3]) + (" …" if len(found[key]) > 3 else "")
            line(console, plain(f"only in {where}: {len(found[key])} ({names})"), 2)
    first: Optional[Mapping[str, Any]] = found["first"]
    if first is None:
        line(console, Text("no operator departs", style="green"), 2)
        return
    what = f"{first['op']} ({first['op_type']}), step {_text(first['step'])}: {first['why']}"
    line(console, Text("first to depart: ", style="bold red") + plain(what), 2)
    table = Rows("Departs, in order", "Type", "Why", "Cosine", "Max error", "Relative", "Ulp",
                 numbers=("Cosine", "Max error", "Relative", "Ulp"))  # fmt: skip
    for row in found["departing"][:_DEPARTING]:
        name = f"{row['op']}:{row['slot']}" if row["side"] == "output" else f"{row['op']} <- {row['slot']}"
        table.add_row(
            name, row["op_type"], row["why"], _number(row["cosine"]), _number(row["max_abs"]),
            _number(row["relative"]), _text(row["ulp"]),
        )  # fmt: skip
    console.print(table)
    if len(found["departing"]) > _DEPARTING:
        line(console, plain(f"{len(found['departing']) - _DEPARTING} more: --format json"), 2)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _number(value: Optional[float]) -> str:
    return "" if value is None else f"{value:.4g}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _size(shape: Any) -> int:
    size = 1
    for one in shape:
        size *= one
    return size


def _spans(steps: List[int]) -> str:
    spans: List[List[int]] = []
    for step in steps:
        if spans and step == spans[-1][1] + 1:
            spans[-1][1] = step
        else:
            spans.append([step, step])
    return "|".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)
