"""Facts of profile files: which kinds were collected, of which operators, where; never a duration.

Tables are known by what their names begin with and columns by their names, as the field's profiler writes them;
whatever else a backend writes is its own business.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.observing.left_files import About, Left, Triples, kind

__all__ = ["METRICS", "profile_facts"]

_TABLE = re.compile(r"(?P<table>[a-z_]+?)(?:_[0-9]+)*\.csv\Z")
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

#: Groups of shares of time (002 § aic_metrics): of whatever runs on the AI Core there is one.
_SHARES = ("PipeUtilization", "ArithmeticUtilization")

#: Two moments that tables write with three digits of a microsecond are one if they are no further apart.
_NEAR = 0.0015
_MORE, _NONE = "\n", "\r\n"  # stand for cells without a column, and columns without a cell: no cell is a line's end
_MOST_CELLS = 2_000_000  # of all tables of an answer that are looked at (assumed)


class _Table(NamedTuple):
    """A table that was found: where its tree lies, which tree, its rows by column, and whether one has other cells."""

    where: str
    tree: str
    name: str
    columns: FrozenSet[str]
    rows: List[Dict[str, str]]
    ragged: bool = False


def _recognises(name: str) -> bool:
    return _IN_TREE.match(name) is not None


@kind("profile", _recognises)
def profile_facts(files: Sequence[Left], about: About) -> Triples:
    """The facts of the profiles among the files that a step or a run left."""
    label = about.label
    found: List[_Table] = []
    room = _MOST_CELLS
    for one in files:
        table = _table(one, room)
        if table is not None:
            found.append(table)
            room -= len(table.rows) * len(table.columns)
    for where in sorted({table.where for table in found}):
        yield "profile", where, f"profile {label} in {where}"
    for what in sorted({_KINDS[table.name] for table in found if table.name in _KINDS and table.rows}):
        yield "profile", what, f"profile {label} collects {what}"
    columns = {column for table in found if table.name == "op_summary" for column in table.columns}
    for group, column in METRICS.items():
        if column in columns:
            yield "profile", group, f"profile {label} metrics {group}"
    yield from _operators(label, found)
    trees: Dict[Tuple[str, str], List[_Table]] = {}
    for table in found:
        trees.setdefault((table.tree, table.name), []).append(table)
    for (tree, name), tables in trees.items():
        if name == "step_trace":
            yield from _steps(label, tables, trees.get((tree, "op_summary"), ()))
    for words in dict.fromkeys(_wrong(found, about)):
        yield "profile_faults", "", f"profile {label} wrong: {words}"


#: What documents have training_trace tell of (002 § profiling_options) -> the column of an iteration that does, and how
#: many first iterations may leave it open: no data is augmented between the first and none before it (msprof).
_TOLD = {"data augmentation": ("Data Aug Bound(us)", 1), "updates": ("Iteration Refresh(us)", 0)}


def _wrong(found: Sequence[_Table], about: About) -> Iterator[str]:
    """How tables contradict themselves, each other, or the step that they are of."""
    for table in found:
        if table.ragged:
            yield f"{table.name} has a row with more or fewer cells than columns"
        for row in table.rows:
            if table.name == "task_time":
                yield from _unequal(row, "kernel_name", "task_stop(us)", "task_start(us)", "task_time(us)")
            elif table.name == "op_summary":
                lasts, works = _number(row.get("Task Duration(us)")), _number(row.get("aicore_time(us)"))
                if lasts is not None and works is not None and works > lasts + _NEAR:
                    yield f"{row.get('Op Name', '')} computes for longer than it lasts"
                for group in _SHARES if row.get("Task Type") == "AI_CORE" else ():
                    if METRICS[group] in table.columns and _number(row.get(METRICS[group])) is None:
                        yield f"{row.get('Op Name', '')} has no {group}"
            elif table.name == "step_trace":
                yield from _iteration(row)
    moments: Dict[str, Dict[str, List[float]]] = {}
    for table in found:
        for name, column, start in (
            ("op_summary", "Op Name", "Task Start Time(us)"),
            ("task_time", "kernel_name", "task_start(us)"),
        ):
            for row in table.rows if table.name == name else ():
                moment = _number(row.get(start))
                if moment is not None:
                    moments.setdefault(name, {}).setdefault(row.get(column, ""), []).append(moment)
    one, other = moments.get("op_summary", {}), moments.get("task_time", {})
    for operator in sorted({*one, *other}) if one and other else ():
        if not _same_moments(one.get(operator, []), other.get(operator, [])):
            yield f"op_summary and task_time do not tell the same begins of {operator}"
    known = one or other
    for task in about.answer.get("tasks", ()) if known else ():
        names = {task.get("node"), *task.get("nodes", ())} - {None}
        if task["kind"] == "kernel" and names and names.isdisjoint(known):
            yield f"no task of {min(names)} is told"


def _same_moments(some: Sequence[float], others: Sequence[float]) -> bool:
    """Whether two tables tell the same moments, each as it rounds them."""
    pairs = zip(sorted(some), sorted(others))
    return len(some) == len(others) and all(abs(one - other) <= _NEAR for one, other in pairs)


def _unequal(row: Mapping[str, str], name: str, last: str, first: str, between: str) -> Iterator[str]:
    end, start, lasts = (_number(row.get(column)) for column in (last, first, between))
    if end is not None and start is not None and lasts is not None and abs(end - start - lasts) > _NEAR:
        yield f"{row.get(name, '')} lasts another time than from its begin to its end"


def _iteration(row: Mapping[str, str]) -> Iterator[str]:
    forward, backward, end, refresh = (
        _number(row.get(column))
        for column in ("FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Refresh(us)")
    )
    order = [moment for moment in (forward, backward, end) if moment is not None]
    if order != sorted(order):
        yield "an iteration does not go from forward to backward to its end"
    if backward is not None and end is not None and refresh is not None and abs(end - backward - refresh) > _NEAR:
        yield "an update does not last from the end of backward to that of the iteration"


def _place(name: str) -> Optional[Tuple[str, str, str]]:
    """Where the tree lies that a table is in, the tree, and the table; None for what is none."""
    *folders, base = name.split("/")
    table = _TABLE.match(base)
    named = folders.index("") if "" in folders else len(folders)
    trees = [place for place, folder in enumerate(folders[:named]) if re.match("PROF_.", folder, re.DOTALL)]
    return ("/".join(folders[: trees[-1]]), folders[trees[-1]], table["table"]) if table and trees else None


def _table(one: Left, room: int) -> Optional[_Table]:
    """The table in a file, of no more than ``room`` cells."""
    place = _place(one.name)
    if place is None:
        return None
    rows: List[Dict[str, str]] = []
    columns: FrozenSet[str] = frozenset()
    ragged = False
    if one.content is not None:
        reader = csv.DictReader(io.StringIO(one.content.decode("utf-8", "replace")), restkey=_MORE, restval=_NONE)
        try:
            columns = frozenset(reader.fieldnames or ())
            most = room // max(len(columns), 1)
            for row in itertools.islice(reader, most):
                ragged = ragged or _MORE in row or _NONE in row.values()
                rows.append({str(key): "" if value is _NONE else str(value) for key, value in row.items()})
        except csv.Error:
            rows = []
    return _Table(*place, columns, rows, ragged)


def _operators(label: str, found: List[_Table]) -> Triples:
    named = {"task_trace": [("op_summary", "Op Name"), ("task_time", "kernel_name")], "aicpu": [("aicpu", "Node")]}
    for what, places in named.items():
        names = {
            row.get(column, "") for table in found for at, column in places if table.name == at for row in table.rows
        }
        for name in sorted(names - {""}):
            yield "profile_operators", name, f"profile {label} {what} of {name}"


def _steps(label: str, tables: Sequence[_Table], summaries: Sequence[_Table]) -> Triples:
    """The facts of all tables of iterations in one tree, beside its tables of operators."""
    starts: List[Tuple[float, str]] = []
    ends: List[Tuple[float, str]] = []
    for row in (row for other in summaries for row in other.rows):
        start, lasts = _number(row.get("Task Start Time(us)")), _number(row.get("Task Duration(us)"))
        if start is not None and lasts is not None:
            starts.append((start, row.get("Op Name", "")))
            ends.append((start + lasts, row.get("Op Name", "")))
    for table in tables:
        yield "profile", "iterations", f"profile {label} iterations {len(table.rows)}"
        if any(_number(row.get("Reduce Start(us)")) is not None for row in table.rows):
            yield "profile", "aggregation", f"profile {label} tells of gradient aggregation"
        for what, (column, free) in _TOLD.items():
            told = column in table.columns and all(_number(row.get(column)) is not None for row in table.rows[free:])
            if table.rows and told:
                yield "profile", what, f"profile {label} tells of {what}"
    rows = [row for table in tables for row in table.rows]
    for name in _near(starts, [_number(row.get("FP Start(us)")) for row in rows]):
        yield "profile_points", "forward", f"profile {label} forward begins with {name}"
    for name in _near(ends, [_number(row.get("BP End(us)")) for row in rows]):
        yield "profile_points", "backward", f"profile {label} backward ends with {name}"
    for row in rows:
        forward, backward = _number(row.get("FP Start(us)")), _number(row.get("BP End(us)"))
        between = _number(row.get("FP to BP Time(us)"))
        if forward is not None and backward is not None and between is not None:
            same = abs(between - (backward - forward)) <= _NEAR
            word = "the time between them" if same else "another time"
            yield "profile_points", "between", f"profile {label} forward and backward take {word}"


def _near(moments: List[Tuple[float, str]], wanted: Sequence[Optional[float]]) -> Iterator[str]:
    """For each moment that is wanted, the names that stand near it, each once; in one walk through both."""
    moments = sorted(moments)
    inside: Counter[str] = Counter()
    first = last = 0
    for moment in sorted(one for one in wanted if one is not None):
        while last < len(moments) and moments[last][0] - moment <= _NEAR:
            inside[moments[last][1]] += 1
            last += 1
        while first < last and moment - moments[first][0] > _NEAR:
            name = moments[first][1]
            inside[name] -= 1
            if not inside[name]:
                del inside[name]
            first += 1
        yield from sorted(inside)


def _number(text: Optional[str]) -> Optional[float]:
    try:
        found = float(text) if text else None
    except ValueError:
        return None
    return found if found is not None and abs(found) < 1e18 else None
