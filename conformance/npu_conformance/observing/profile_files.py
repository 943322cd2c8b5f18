"""Facts of profile files: which kinds were collected, of which operators, where; never a duration.

Tables are known by what their names begin with and columns by their names, as the field's profiler writes them;
whatever else a backend writes is its own business.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.observing.left_files import About, Left, Triples, kind

__all__ = ["METRICS", "profile_facts"]

_TREE = re.compile(r"(?P<where>(?:[^/]+/)*)(?P<tree>PROF_[^/]+)/(?:.*/)?(?P<table>[a-z_]+?)(?:_[0-9]+)*\.csv\Z")
_IN_TREE = re.compile(r"(?:.*/)?PROF_[^/]+/.+")

#: Table -> the kind of collection it is the result of.
_KINDS = {"step_trace": "training_trace", "task_time": "task_trace", "op_summary": "task_trace", "aicpu": "aicpu"}

#: Group of metrics -> a column that only it has.
METRICS: Mapping[str, str] = {
    "PipeUtilization": "mte2_ratio",
    "ArithmeticUtilization": "mac_fp16_ratio",
    "Memory": "main_mem_read_bw(GB/s)",
    "MemoryL0": "l0a_read_bw(GB/s)",
    "ResourceConflictRatio": "mte2_iq_full_ratio",
}

#: Two moments that tables write with three digits of a microsecond are one if they are no further apart.
_NEAR = 0.0015
_MOST_ROWS = 200000  # of one table that are looked at (assumed)


class _Table(NamedTuple):
    """A table that was found: where its tree lies, which tree, and its rows by column."""

    where: str
    tree: str
    name: str
    columns: FrozenSet[str]
    rows: List[Dict[str, str]]


def _recognises(name: str) -> bool:
    return _IN_TREE.match(name) is not None


@kind("profile", _recognises)
def profile_facts(files: Sequence[Left], about: About) -> Triples:
    """The facts of the profiles among the files that a step or a run left."""
    label = about.label
    found = [table for one in files for table in [_table(one)] if table is not None]
    for where in sorted({table.where for table in found}):
        yield "profile", where, f"profile {label} in {where}"
    for what in sorted({_KINDS[table.name] for table in found if table.name in _KINDS and table.rows}):
        yield "profile", what, f"profile {label} collects {what}"
    columns = {column for table in found if table.name == "op_summary" for column in table.columns}
    for group, column in METRICS.items():
        if column in columns:
            yield "profile", group, f"profile {label} metrics {group}"
    yield from _operators(label, found)
    for table in found:
        if table.name == "step_trace":
            yield from _steps(label, table, found)


def _table(one: Left) -> Optional[_Table]:
    place = _TREE.match(one.name)
    if place is None:
        return None
    rows: List[Dict[str, str]] = []
    columns: FrozenSet[str] = frozenset()
    if one.content is not None:
        reader = csv.DictReader(io.StringIO(one.content.decode("utf-8", "replace")), restval="")
        try:
            for row in reader:
                rows.append({str(key): str(value) for key, value in row.items()})
                if len(rows) >= _MOST_ROWS:
                    break
        except csv.Error:
            rows = []
        columns = frozenset(reader.fieldnames or ())
    return _Table(place["where"].rstrip("/"), place["tree"], place["table"], columns, rows)


def _operators(label: str, found: List[_Table]) -> Triples:
    named = {
        "task_trace": [("op_summary", "Op Name"), ("task_time", "kernel_name")],
        "aicpu": [("aicpu", "Node")],
    }
    for what, places in named.items():
        names = {
            row.get(column, "") for table in found for at, column in places if table.name == at for row in table.rows
        }
        for name in sorted(names - {""}):
            yield "profile_operators", name, f"profile {label} {what} of {name}"


def _steps(label: str, table: _Table, found: List[_Table]) -> Triples:
    starts: List[Tuple[float, str]] = []
    ends: List[Tuple[float, str]] = []
    for other in found:
        if other.name == "op_summary" and other.tree == table.tree:
            for row in other.rows:
                start, lasts = _number(row.get("Task Start Time(us)")), _number(row.get("Task Duration(us)"))
                if start is not None and lasts is not None:
                    starts.append((start, row.get("Op Name", "")))
                    ends.append((start + lasts, row.get("Op Name", "")))
    yield "profile", "iterations", f"profile {label} iterations {len(table.rows)}"
    if any(_number(row.get("Reduce Start(us)")) is not None for row in table.rows):
        yield "profile", "aggregation", f"profile {label} tells of gradient aggregation"
    for row in table.rows:
        forward, backward = _number(row.get("FP Start(us)")), _number(row.get("BP End(us)"))
        for name in _at(starts, forward):
            yield "profile_points", "forward", f"profile {label} forward begins with {name}"
        for name in _at(ends, backward):
            yield "profile_points", "backward", f"profile {label} backward ends with {name}"
        between = _number(row.get("FP to BP Time(us)"))
        if forward is not None and backward is not None and between is not None:
            same = abs(between - (backward - forward)) <= _NEAR
            word = "the time between them" if same else "another time"
            yield "profile_points", "between", f"profile {label} forward and backward take {word}"


def _at(moments: List[Tuple[float, str]], wanted: Optional[float]) -> List[str]:
    if wanted is None:
        return []
    return sorted({name for moment, name in moments if abs(moment - wanted) <= _NEAR})


def _number(text: Optional[str]) -> Optional[float]:
    try:
        found = float(text) if text else None
    except ValueError:
        return None
    return found if found is not None and abs(found) < 1e18 else None
