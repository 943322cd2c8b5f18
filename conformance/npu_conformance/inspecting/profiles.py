"""Profiles: where the time went by operator, engine and iteration, and what became slower between two of them.

The tables are known by what their names begin with and their columns by their names, as the field's profiler writes
them: those of a real device are read as well as ours. Times are microseconds.
"""

from __future__ import annotations

import csv
import fnmatch
import io
import math
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import reading
from npu_conformance.inspecting.hints import hints
from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree, TreePlace, json_object, size_of, tree_of
from npu_conformance.observing.timeline import union
from npu_reference.errors import NpuError

__all__ = ["LIMITS", "ProfiledTask", "tables_of", "tasks_of"]

#: A profile is slower than another when its iteration takes so much longer, by the other's.
LIMITS: Mapping[str, float] = {"error": 0.05}

#: Tables that are read, by what their names begin with; others are listed.
_KNOWN = ("op_summary", "op_statistic", "task_time", "step_trace", "aicpu", "communication_statistic")
_TABLE = re.compile(r"(?P<name>[a-z][a-z_]*?)(?:_\d+)*\.csv\Z")
_INFO = re.compile(r"info\.json(?:\.(?P<device>\d+))?\Z")
_PREFIX = "PROF_"
_OUTPUT = "mindstudio_profiler_output"

_MOST_BYTES = 1 << 28  # of one table (assumed: a million operators)
_MOST_ROWS = 1_000_000
_MOST_NAMES = 100_000  # operators told apart; the rest are one, "(others)"
_MOST_STEPS = 1000  # iterations in the answer, and operators
_LARGEST = 1e18  # no time is longer
_UNKNOWN = "N/A"


class _Csv(NamedTuple):
    """A table: which, where, its size, and what is wrong with it."""

    name: str
    path: str
    relative: str
    bytes: int


class ProfiledTask(NamedTuple):
    """A row of op_summary or task_time: what ran where and when."""

    op: str
    type: str
    engine: str
    stream: str
    step: str
    start: float
    duration: float
    wait: float
    row: Mapping[str, str]


#: Columns without which a row says nothing.
_NEEDED: Mapping[str, Tuple[str, ...]] = {
    "op_summary": ("Task Start Time(us)", "Task Duration(us)"),
    "task_time": ("task_start(us)", "task_time(us)"),
}


# -- where they are ----------------------------------------------------------------------------------------------------


def _find(tree: Tree) -> List[str]:
    roots: Dict[str, None] = {}
    for place in tree.places:
        if place.name.startswith(_PREFIX) and {"host", _OUTPUT, "device_0"} & set(place.folders):
            roots.setdefault(tree.at(place.parts))
        elif any(_name_of(name) in _KNOWN for name in place.files):
            roots.setdefault(tree.at(_root(tree, place)))
    return sorted(roots)


def _root(tree: Tree, place: TreePlace) -> Tuple[str, ...]:
    """The folder of the whole profile that tables lie in: the nearest that is named as one is."""
    for length in range(len(place.parts), 0, -1):
        if place.parts[length - 1].startswith(_PREFIX):
            return place.parts[:length]
    if tree.places[0].name.startswith(_PREFIX):
        return ()
    return place.parts[:-1] if place.parts and place.name == _OUTPUT else place.parts


def _name_of(file: str) -> str:
    found = _TABLE.match(file)
    return found["name"].rstrip("_") if found else ""


def tables_of(folder: str) -> Tuple[List[_Csv], List[Tuple[str, Dict[str, Any]]]]:
    """The tables of a profile, and what its ``info.json`` files say, by path."""
    tables: List[_Csv] = []
    infos: List[Tuple[str, Dict[str, Any]]] = []
    tree = tree_of(folder)
    for place in tree.places:
        for name in place.files:
            path = f"{place.path}/{name}"
            relative = "/".join((*place.parts, name))
            if _name_of(name):
                tables.append(_Csv(_name_of(name), path, relative, size_of(path)))
            elif _INFO.match(name):
                infos.append((relative, json_object(path)[0]))
    return tables, infos


# -- reading -----------------------------------------------------------------------------------------------------------


def _rows(table: _Csv, flaws: Dict[str, str]) -> Iterator[Tuple[Mapping[str, str], List[Tuple[str, str]]]]:
    """Rows of a table by column, and as pairs, since a column may come twice; ends early where the table is bad."""
    if table.bytes > _MOST_BYTES:
        flaws[table.relative] = f"has more than {_MOST_BYTES >> 20} MiB and is not read"
        return
    try:
        with reading.opened(table.path) as stream:
            reader = csv.reader(_lines(io.TextIOWrapper(stream, "utf-8", "replace", newline="")))
            heads = [head.strip().lstrip("\ufeff") for head in next(reader, [])]
            lacking = [head for head in _NEEDED.get(table.name, ()) if head not in heads]
            if lacking:
                flaws[table.relative] = f"has no column {lacking[0]}: nothing can be told of it"
                return
            for count, cells in enumerate(reader):
                if count >= _MOST_ROWS:
                    flaws[table.relative] = f"has more than {_MOST_ROWS} rows: those are told"
                    return
                if len(cells) != len(heads):
                    if cells:
                        flaws.setdefault(
                            table.relative, f"row {count + 2} has {len(cells)} cells for {len(heads)} columns"
                        )
                    continue
                pairs = [(head, cell.strip()) for head, cell in zip(heads, cells)]
                yield dict(pairs), pairs
    except csv.Error as problem:
        flaws[table.relative] = f"is no CSV: {problem}"
    except (reading.Unfit, OSError, ValueError) as problem:
        flaws[table.relative] = f"cannot be read: {getattr(problem, 'strerror', None) or problem}"


def _lines(stream: Any) -> Iterator[str]:
    """Lines of a bounded length: one without end would be one cell of everything."""
    while True:
        line = stream.readline(1 << 20)
        if not line:
            return
        yield line.replace("\0", "�")


def _number(text: Optional[str]) -> Optional[float]:
    try:
        found = float(text) if text else None
    except ValueError:
        return None
    return found if found is not None and math.isfinite(found) and abs(found) < _LARGEST else None


def _time(text: Optional[str]) -> float:
    found = _number(text)
    return 0.0 if found is None else max(found, 0.0)


def _whole(text: Optional[str]) -> int:
    return int(_time(text))


def tasks_of(tables: Sequence[_Csv], asked: Inspected, flaws: Dict[str, str]) -> Iterator[ProfiledTask]:
    """What ran, of op_summary or else of task_time; only what the filters ask for."""
    summaries = [table for table in tables if table.name == "op_summary"]
    step, op = asked.filters.get("step"), asked.filters.get("op")
    for table in summaries or [table for table in tables if table.name == "task_time"]:
        for row, _ in _rows(table, flaws):
            task = _summed(row) if summaries else _timed(row)
            if task is None or (op and not fnmatch.fnmatchcase(task.op, op)):
                continue
            if step is None or task.step in ("", _UNKNOWN) or _whole(task.step) == step + 1:
                yield task


def _summed(row: Mapping[str, str]) -> Optional[ProfiledTask]:
    start, lasts = _number(row.get("Task Start Time(us)")), _number(row.get("Task Duration(us)"))
    if start is None or lasts is None or lasts < 0:
        return None
    return ProfiledTask(
        row.get("Op Name", ""), row.get("OP Type", ""), row.get("Task Type", ""), row.get("Stream ID", ""),
        row.get("Infer ID", ""), start, lasts, _time(row.get("Task Wait Time(us)")), row,
    )  # fmt: skip


def _timed(row: Mapping[str, str]) -> Optional[ProfiledTask]:
    start, lasts = _number(row.get("task_start(us)")), _number(row.get("task_time(us)"))
    if start is None or lasts is None or lasts < 0:
        return None
    op, engine = row.get("kernel_name", ""), row.get("kernel_type", "")
    return ProfiledTask(op, "", engine, row.get("stream_id", ""), "", start, lasts, 0.0, row)


# -- what lies in one --------------------------------------------------------------------------------------------------


class _Sum:
    """Times of what has one name."""

    __slots__ = ("count", "first", "least", "most", "total", "wait")

    def __init__(self, first: Optional[ProfiledTask]) -> None:
        self.count, self.total, self.least, self.most, self.wait = 0, 0.0, math.inf, 0.0, 0.0
        self.first = first

    def add(self, task: ProfiledTask) -> None:
        self.count += 1
        self.total += task.duration
        self.least, self.most = min(self.least, task.duration), max(self.most, task.duration)
        self.wait += task.wait


def _look(asked: Inspected) -> Dict[str, Any]:
    content = _whole_content(asked)
    return {**content, "operators": content["operators"][:_MOST_STEPS]}


def _whole_content(asked: Inspected) -> Dict[str, Any]:
    """What lies in a profile, with every operator."""
    tables, infos = tables_of(asked.folder)
    flaws: Dict[str, str] = {}
    simulated = any(info.get("simulated") is True for _, info in infos)
    sums: Dict[Tuple[str, str, str], _Sum] = {}
    spans: Dict[str, List[Tuple[float, float]]] = {}
    told: Dict[str, int] = {}
    steps: Dict[str, None] = {}
    device = ""
    for task in tasks_of(tables, asked, flaws):
        key = (task.op, task.type, task.engine)
        if key not in sums and len(sums) >= _MOST_NAMES:
            key = ("(others)", "", "")
        sums.setdefault(key, _Sum(task)).add(task)
        spans.setdefault(task.engine, []).append((task.start, task.start + task.duration))
        told[task.engine] = told.get(task.engine, 0) + 1
        if len(steps) < _MOST_ROWS:
            steps.setdefault(task.step)
        device = device or task.row.get("Simulated", "")
    trace = _steps(tables, asked, flaws)
    iterations = max(trace["count"] if trace else 0, len(steps), 1)
    by_engine = {engine: union(parts) for engine, parts in spans.items()}
    together = union([part for parts in by_engine.values() for part in parts])
    wall = together[-1][1] - together[0][0] if together else 0.0
    busy = _length(together)
    operators = _operators(sums, iterations)
    content: Dict[str, Any] = {
        "simulated": simulated or bool(device),
        "device": device or _device(infos),
        "collected": _collected(infos),
        "iterations": iterations,
        "wall_us": _us(wall),
        "busy_us": _us(busy),
        "idle_us": _us(max(wall - busy, 0.0)),
        "engines": [
            {"engine": engine, "tasks": told[engine], "busy_us": _us(length), "share": _share(length, wall)}
            for length, engine in sorted(((_length(parts), name) for name, parts in by_engine.items()), reverse=True)
        ],
        "types": _types(sums) or _statistics(tables, "op_statistic", flaws),
        "operators": operators,
        "operators_in_all": len(operators),
        "steps": trace,
        "communication": _communication(tables, by_engine, flaws),
        "aicpu": _aicpu(tables, asked, flaws),
        "tables": [
            {"name": table.name, "file": table.relative, "bytes": table.bytes, "read": table.name in _KNOWN}
            for table in tables
        ],
        "flaws": [],
    }  # fmt: skip
    if not tables:
        flaws["."] = "no table is in it: it was not collected, or not written to its end"
    content["flaws"] = [{"file": file, "why": why} for file, why in sorted(flaws.items())]
    content["hints"] = hints(content)
    return content


def _us(value: float) -> float:
    return round(value, 3)


def _share(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole > 0 else 0.0


def _length(parts: Sequence[Tuple[float, float]]) -> float:
    return sum(end - start for start, end in parts)


def _operators(sums: Mapping[Tuple[str, str, str], _Sum], iterations: int) -> List[Dict[str, Any]]:
    """The dearest first."""
    whole = sum(one.total for one in sums.values())
    found = []
    for (op, type_, engine), one in sorted(sums.items(), key=lambda pair: (-pair[1].total, pair[0])):
        row = one.first.row if one.first is not None else {}
        found.append(
            {
                "op": op, "type": type_, "engine": engine, "count": one.count, "total_us": _us(one.total),
                "iteration_us": _us(one.total / iterations), "min_us": _us(one.least), "max_us": _us(one.most),
                "wait_us": _us(one.wait), "share": _share(one.total, whole), "bound": _bound(row),
                "shapes": row.get("Input Shapes", ""), "dtypes": row.get("Input Data Types", ""),
                "state": row.get("OP State", ""),
            }
        )  # fmt: skip
    return found


#: Column of op_summary -> the pipeline that a kernel waits for.
_PIPES = {"mac_ratio": "cube", "vec_ratio": "vector", "mte1_ratio": "mte1", "mte2_ratio": "mte2", "mte3_ratio": "mte3"}


def _bound(row: Mapping[str, str]) -> str:
    """The pipeline that works most of a kernel's time, where the metrics tell."""
    known = [(_time(row[column]), pipe) for column, pipe in _PIPES.items() if _number(row.get(column)) is not None]
    most = max(known, default=(0.0, ""))
    return most[1] if most[0] > 0 else ""


def _types(sums: Mapping[Tuple[str, str, str], _Sum]) -> List[Dict[str, Any]]:
    grouped: Dict[Tuple[str, str], _Sum] = {}
    for (_, type_, engine), one in sums.items():
        if not type_:
            continue
        group = grouped.setdefault((type_, engine), _Sum(None))
        group.count += one.count
        group.total += one.total
        group.least, group.most = min(group.least, one.least), max(group.most, one.most)
    whole = sum(one.total for one in grouped.values())
    return [
        {
            "type": type_, "engine": engine, "count": one.count, "total_us": _us(one.total), "min_us": _us(one.least),
            "mean_us": _us(one.total / one.count), "max_us": _us(one.most), "share": _share(one.total, whole),
        }
        for (type_, engine), one in sorted(grouped.items(), key=lambda pair: (-pair[1].total, pair[0]))
    ]  # fmt: skip


def _statistics(tables: Sequence[_Csv], name: str, flaws: Dict[str, str]) -> List[Dict[str, Any]]:
    found = []
    for table in tables:
        if table.name != name:
            continue
        for row, _ in _rows(table, flaws):
            found.append(
                {
                    "type": row.get("OP Type", ""), "engine": row.get("Core Type", "HCCL"),
                    "count": _whole(row.get("Count")), "total_us": _us(_time(row.get("Total Time(us)"))),
                    "min_us": _us(_time(row.get("Min Time(us)"))), "mean_us": _us(_time(row.get("Avg Time(us)"))),
                    "max_us": _us(_time(row.get("Max Time(us)"))),
                    "share": round(min(_time(row.get("Ratio(%)")), 100.0) / 100, 6),
                }
            )  # fmt: skip
            if len(found) == _MOST_STEPS:
                return found
    return found


#: Column of step_trace -> its part of an iteration.
_PARTS = {
    "Iteration Time(us)": "iteration_us", "FP to BP Time(us)": "forward_backward_us",
    "Iteration Refresh(us)": "refresh_us", "Data Aug Bound(us)": "input_us",
}  # fmt: skip


def _steps(tables: Sequence[_Csv], asked: Inspected, flaws: Dict[str, str]) -> Optional[Dict[str, Any]]:
    """Iterations, each with its parts, and their means; None where no step_trace tells of any."""
    rows: List[Dict[str, Any]] = []
    sums: Dict[str, List[float]] = {}
    count = 0
    for table in tables:
        if table.name != "step_trace":
            continue
        for row, pairs in _rows(table, flaws):
            number = _whole(row.get("Iteration ID"))
            if asked.filters.get("step") is not None and number != asked.filters["step"] + 1:
                continue
            parts = {part: _number(row.get(column)) for column, part in _PARTS.items()}
            parts["reduce_us"] = sum(_time(cell) for head, cell in pairs if head == "Reduce Duration(us)")
            for part, value in parts.items():
                if value is not None:
                    sums.setdefault(part, []).append(max(value, 0.0))
            count += 1
            if len(rows) < _MOST_STEPS:
                told = {part: None if value is None else _us(value) for part, value in parts.items()}
                rows.append({"iteration": number, "model": row.get("Model ID", ""), **told})
    if not count:
        return None
    means = {part: _us(sum(values) / len(values)) for part, values in sums.items()}
    extremes = sums.get("iteration_us", [])
    return {
        "count": count, "means": means, "min_us": _us(min(extremes, default=0.0)),
        "max_us": _us(max(extremes, default=0.0)), "rows": rows,
    }  # fmt: skip


def _communication(
    tables: Sequence[_Csv], by_engine: Mapping[str, List[Tuple[float, float]]], flaws: Dict[str, str]
) -> Dict[str, Any]:
    """Collectives by type, and for how long nothing was computed beside them."""
    reduced = by_engine.get("HCCL", [])
    computed = union(part for engine, parts in by_engine.items() if engine != "HCCL" for part in parts)
    beside = _length(reduced) + _length(computed) - _length(union([*reduced, *computed]))
    types = _statistics(tables, "communication_statistic", flaws)
    return {"types": types, "busy_us": _us(_length(reduced)), "alone_us": _us(max(_length(reduced) - beside, 0.0))}


def _aicpu(tables: Sequence[_Csv], asked: Inspected, flaws: Dict[str, str]) -> List[Dict[str, Any]]:
    sums: Dict[str, List[float]] = {}
    op = asked.filters.get("op")
    for table in tables:
        if table.name != "aicpu":
            continue
        for row, _ in _rows(table, flaws):
            name = row.get("Node", "")
            if (op and not fnmatch.fnmatchcase(name, op)) or (name not in sums and len(sums) >= _MOST_NAMES):
                continue
            into = sums.setdefault(name, [0.0, 0.0, 0.0])
            for at, column in enumerate(("", "Total_time(us)", "Dispatch_time(us)")):
                into[at] += 1 if not column else _time(row.get(column))
    ranked = sorted(sums.items(), key=lambda pair: (-pair[1][1], pair[0]))[:_MOST_STEPS]
    return [{"op": op, "count": int(one[0]), "total_us": _us(one[1]), "dispatch_us": _us(one[2])} for op, one in ranked]


def _device(infos: Sequence[Tuple[str, Mapping[str, Any]]]) -> str:
    for _, info in infos:
        hardware = info.get("hardware")
        name = hardware.get("name") if isinstance(hardware, dict) else info.get("device")
        if isinstance(name, str):
            return name
    return ""


def _collected(infos: Sequence[Tuple[str, Mapping[str, Any]]]) -> Dict[str, Any]:
    """What was asked to be collected, as the device's information says it."""
    for _, info in infos:
        found = {key: info[key] for key in ("training_trace", "task_trace", "aicpu", "aic_metrics") if key in info}
        if found and all(isinstance(value, str) for value in found.values()):
            points = info.get("points")
            return {**found, "points": points if isinstance(points, dict) and len(points) < _MOST_STEPS else {}}
    return {}


# -- two of them -------------------------------------------------------------------------------------------------------


def _compare(asked: Inspected, other: str, limits: Mapping[str, float]) -> Dict[str, Any]:
    """What takes another time than in an earlier profile, by iteration, the largest change first."""
    theirs_folder = _one_profile(other)
    mine, theirs = _whole_content(asked), _whole_content(Inspected(theirs_folder, asked.filters))
    here, there = (_iteration(content) for content in (mine, theirs))
    operators, only_here, only_there = _changes(mine, theirs, "operators", "op")
    types, _, _ = _changes(mine, theirs, "types", "type")
    return {
        "against": other,
        "limits": dict(limits),
        "iteration_us": {"here": here, "there": there},
        "faster": round(there / here, 6) if here > 0 else None,
        "slower": here > there * (1 + limits["error"]),
        "engines": _changes(mine, theirs, "engines", "engine")[0],
        "types": types,
        "operators": operators[:_MOST_STEPS],
        "operators_compared": len(operators),
        "operators_changed": sum(row["change_us"] != 0 for row in operators),
        "simulated": mine["simulated"] and theirs["simulated"],
        "only_here": only_here[:_MOST_STEPS],
        "only_there": only_there[:_MOST_STEPS],
        "flaws": [*mine["flaws"], *theirs["flaws"]],
    }


def _one_profile(folder: str) -> str:
    found = _find(tree_of(folder))
    if len(found) != 1:
        reason = "holds no profile." if not found else f"holds {len(found)} profiles."
        raise NpuError("INSPECT_FOLDER", folder, reason, "Name one folder PROF_…")
    return found[0]


def _iteration(content: Mapping[str, Any]) -> float:
    """How long an iteration takes: as step_trace says, or else from the first task to the last."""
    steps = content["steps"]
    told = steps["means"].get("iteration_us") if steps else None
    return float(told if told else content["wall_us"] / content["iterations"])


def _changes(
    mine: Mapping[str, Any], theirs: Mapping[str, Any], rows: str, name: str
) -> Tuple[List[Dict[str, Any]], List[str], List[str]]:
    mean_here, mean_there = _means(mine, rows, name), _means(theirs, rows, name)
    found: List[Dict[str, Any]] = [
        {
            name: key, "here_us": _us(mean_here[key]), "there_us": _us(mean_there[key]),
            "change_us": _us(mean_here[key] - mean_there[key]),
            "times": round(mean_here[key] / mean_there[key], 6) if mean_there[key] > 0 else None,
        }
        for key in mean_here.keys() & mean_there.keys()
    ]  # fmt: skip
    found.sort(key=lambda row: (-abs(row["change_us"]), row[name]))
    alone = [sorted(one.keys() - two.keys()) for one, two in ((mean_here, mean_there), (mean_there, mean_here))]
    return found, alone[0], alone[1]


def _means(content: Mapping[str, Any], rows: str, name: str) -> Dict[str, float]:
    column = "busy_us" if rows == "engines" else "total_us"
    found: Dict[str, float] = {}
    for row in content[rows]:
        found[row[name]] = found.get(row[name], 0.0) + row[column] / content["iterations"]
    return found


PROFILE = kind(FolderKind("profile", f"{_PREFIX}…/{_OUTPUT}", _find, _look, _compare, LIMITS))
