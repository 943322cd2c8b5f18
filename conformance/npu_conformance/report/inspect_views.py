"""Decides what is said of a folder that a run left, in lines and tables: a terminal and a page show the same."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from npu_conformance.report.text_profile import bytes_text, time_text
from npu_reference.printing import counted, listed

__all__ = ["Line", "Table", "View", "views"]

_KEPT = 2000  # rows of a table; --format json has all
_NAMES = 3


class Line(NamedTuple):
    """A sentence with a word before it; ``tone``: plain, good, note or bad."""

    label: str
    text: str
    tone: str = "plain"


class Table(NamedTuple):
    """A table.

    Attributes:
        columns: their headings, the first says what the table is of; numbers: those that hold numbers.
        rows: their cells. shown: how many of them a terminal shows.
        all: how many there are.
    """

    columns: Sequence[str]
    numbers: Sequence[str]
    rows: List[List[str]]
    shown: int
    all: int


class View(NamedTuple):
    """A folder: what it is, its path, what is said of it."""

    kind: str
    folder: str
    lines: List[Line]
    tables: List[Table]


def views(answer: Mapping[str, Any]) -> List[View]:
    """What is said of the folder, or folders, of an answer of `inspect`."""
    if "comparison" in answer:
        return [_view(answer, _COMPARED[answer["kind"]](answer["comparison"]))]
    found = []
    for one in answer.get("folders", [answer]):
        if "error" in one:
            found.append(View(one["kind"], one["folder"], [Line("error", one["error"]["message"], "bad")], []))
        elif "content" in one:
            found.append(_view(one, _SHOWN[one["kind"]](one["content"])))
    return found


def _view(one: Mapping[str, Any], parts: Iterator[Any]) -> View:
    told = list(parts)
    lines = [part for part in told if isinstance(part, Line)]
    return View(one["kind"], one["folder"], lines, [part for part in told if isinstance(part, Table) and part.rows])


def _table(columns: str, rows: Sequence[Sequence[Any]], shown: int, all_: Optional[int] = None) -> Table:
    """A table from its headings, ``|`` between them and ``#`` behind those of numbers."""
    names = columns.split("|")
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows[:_KEPT]]
    heads = [name.rstrip("#") for name in names]
    numbers = [head for head, name in zip(heads, names) if name.endswith("#")]
    return Table(heads, numbers, cells, shown, len(rows) if all_ is None else all_)


def _us(value: Optional[float]) -> str:
    return "" if value is None else time_text(round(value * 1000))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _flaws(rows: Sequence[Mapping[str, str]]) -> Iterator[Line]:
    for row in rows[:_KEPT]:
        yield Line("flaw", f"{row['file']} {row['why']}", "bad")


# -- profiles ----------------------------------------------------------------------------------------------------------


def _profile(content: Mapping[str, Any]) -> Iterator[Any]:
    where = f" on a simulated {content['device']}, by its model and not measured" if content["simulated"] else ""
    tasks = sum(row["tasks"] for row in content["engines"])
    iterations, wall = counted(content["iterations"], "iteration"), _us(content["wall_us"])
    yield Line("profile", f"{iterations} and {counted(tasks, 'kernel')} in {wall}{where}")
    collected = content["collected"]
    if collected:
        kinds = [key for key in ("training_trace", "task_trace", "aicpu") if collected.get(key) == "on"]
        yield Line("collected", ", ".join([*kinds, *filter(None, [collected.get("aic_metrics", "")])]))
    steps = content["steps"]
    if steps:
        yield Line("iteration", _iteration(steps))
    alone = content["communication"]
    if alone["busy_us"]:
        text = f"{_us(alone['busy_us'])} of collectives, {_us(alone['alone_us'])} of it with nothing computed beside"
        yield Line("communication", text)
    for row in content["hints"]:
        options = ", ".join(row["options"])
        yield Line("hint", f"{row['text']} {row['remedy']} ({options})", "note")
    yield from _flaws(content["flaws"])
    engines = [[row["engine"], row["tasks"], _us(row["busy_us"]), _percent(row["share"])] for row in content["engines"]]
    if engines:
        engines.append(["(idle)", "", _us(content["idle_us"]), _percent(_part(content["idle_us"], content["wall_us"]))])
    yield _table("Engine|Kernels#|Busy#|Share#", engines, 20)
    types = [
        [row["type"], row["engine"], row["count"], _us(row["total_us"]), _us(row["mean_us"]), _percent(row["share"])]
        for row in content["types"]
    ]
    yield _table("Type of operator|Engine|Count#|Time#|Mean#|Share#", types, 12)
    operators = [
        [
            row["op"], row["type"], row["count"], _us(row["iteration_us"]), _us(row["wait_us"]), _percent(row["share"]),
            row["bound"],
        ]
        for row in content["operators"]
    ]  # fmt: skip
    columns = "Operator|Type|Runs#|An iteration#|Waited#|Share#|Bound by"
    yield _table(columns, operators, 15, content["operators_in_all"])
    if steps and steps["count"] > 1:
        rows = [[row["iteration"], *(_us(row[part]) for part in ("iteration_us", *_PARTS))] for row in steps["rows"]]
        yield _table(
            "Iteration#|Time#|Forward, backward#|Update#|Waiting for input#|Collectives#", rows, 8, steps["count"]
        )
    rows = [[row["type"], row["count"], _us(row["total_us"]), _us(row["mean_us"]), _us(row["max_us"])]
            for row in alone["types"]]  # fmt: skip
    yield _table("Collective|Count#|Time#|Mean#|Longest#", rows, 12)
    rows = [[row["op"], row["count"], _us(row["total_us"]), _us(row["dispatch_us"])] for row in content["aicpu"]]
    yield _table("On the AI CPU|Count#|Time#|Dispatch#", rows, 12)


_PARTS = {"forward_backward_us": "forward and backward", "refresh_us": "update", "input_us": "waiting for input",
          "reduce_us": "collectives"}  # fmt: skip


def _iteration(steps: Mapping[str, Any]) -> str:
    means = steps["means"]
    told = [f"{_us(means[part])} {word}" for part, word in _PARTS.items() if means.get(part)]
    spread = f" ({_us(steps['min_us'])} to {_us(steps['max_us'])})" if steps["count"] > 1 else ""
    return f"{_us(means.get('iteration_us', 0.0))} on average{spread}" + (f": {', '.join(told)}" if told else "")


def _part(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _profiles(found: Mapping[str, Any]) -> Iterator[Any]:
    times = found["iteration_us"]
    faster = "" if found["faster"] is None else f"{found['faster']:.3g}"
    change = f", {'' if faster == '1' else faster + ' times '}as fast" if faster else ""
    text = f"{_us(times['here'])} here, {_us(times['there'])} in {found['against']}{change}"
    tone = "bad" if found["slower"] else "good" if times["here"] < times["there"] else "plain"
    yield Line("iteration", text, tone)
    for key, where in (("only_here", "here"), ("only_there", found["against"])):
        if found[key]:
            yield Line("operators", f"only {where}: {len(found[key])} ({listed(found[key], _NAMES)})", "note")
    yield from _flaws(found["flaws"])
    for key, name, title in (("engines", "engine", "Engine"), ("types", "type", "Type of operator"),
                             ("operators", "op", "Operator")):  # fmt: skip
        rows = [_changed(row, name) for row in found[key] if abs(row["change_us"]) > 0]
        yield _table(f"{title}|Here#|There#|Change#|Times#", rows, 15 if key == "operators" else 10)
    same = found["operators_compared"] - found["operators_changed"]
    yield Line("unchanged", f"{same} of {counted(found['operators_compared'], 'operator')} that both have")


def _changed(row: Mapping[str, Any], name: str) -> List[str]:
    sign = "+" if row["change_us"] > 0 else "-"
    times = "" if row["times"] is None else f"{row['times']:.3g}"
    return [row[name], _us(row["here_us"]), _us(row["there_us"]), sign + _us(abs(row["change_us"])), times]


# -- what compilation leaves -------------------------------------------------------------------------------------------


def _cache(content: Mapping[str, Any]) -> Iterator[Any]:
    limits = content["limits"]
    whole = f"{content['whole']} of {content['entries_in_all']} can be taken"
    yield Line("cache", f"{counted(content['entries_in_all'], 'entry')}, {bytes_text(content['bytes'])}; {whole}")
    most = limits["max_op_cache_size"]
    size = "no limit, nothing ages" if most == -1 else f"at most {most} MiB"
    full = "" if content["full"] is None else f", {_percent(content['full'])} of it used"
    ratio = "" if most == -1 else f"; {limits['remain_cache_size_ratio']} % stays when it is full"
    made = limits["from"] if limits["from"] != "default" else "the default, as there is no op_cache.ini"
    yield Line("limit", f"{size}{full}{ratio} ({made})")
    if limits["flaw"]:
        yield Line("flaw", f"op_cache.ini: {limits['flaw']}", "bad")
    runs = content["compilations"]
    if runs:
        told = f"{counted(content['hits'], 'kernel')} taken, {content['misses']} compiled"
        yield Line("hits", f"{told}, in {counted(len(runs), 'compilation')}")
    if content["idle"] and most != -1:
        yield Line("idle", f"{counted(content['idle'], 'entry')} not used for half an hour: those go first")
    if content["aside"]:
        yield Line("aside", f"{counted(content['aside'], 'file')} that a writer has not finished", "note")
    if content["other"]:
        yield Line("other", f"{counted(content['other'], 'file')} that are no entries; they are left alone", "note")
    for row in content["entries"]:
        if row["state"] != "whole":
            yield Line(row["state"], f"{row['kernel']}: {row['why']}", "bad")
    rows = [
        [
            _short(row["kernel"]),
            ", ".join(row["operators"][:4]),
            bytes_text(row["bytes"]),
            _age(row["age_s"]),
            row["state"],
        ]
        for row in content["entries"]
    ]
    yield _table("Kernel|Operators|Size#|Unused#|State", rows, 40, content["entries_in_all"])


_DIGEST = re.compile(r"(?<=_)([0-9a-f]{12})[0-9a-f]{52}")


def _short(name: str) -> str:
    """A name with the beginning of its digest, which tells it from others; --format json has all of it."""
    return _DIGEST.sub(r"\1…", name)


def _age(seconds: int) -> str:
    for word, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size}{word}"
    return f"{seconds}s"


def _kernels(content: Mapping[str, Any]) -> Iterator[Any]:
    told = f"{counted(content['kernels_in_all'], 'kernel')}, {bytes_text(content['bytes'])}"
    yield Line("kernels", told)
    if content["left_by"]:
        yield Line("left by", "; ".join(content["left_by"]))
    if content["other"]:
        yield Line("other", f"{counted(content['other'], 'file')} that are of no kernel", "note")
    for row in content["kernels"]:
        if row["flaw"]:
            yield Line("flaw", f"{row['kernel']}{row['flaw']}", "bad")
    rows = [
        [
            _short(row["kernel"]), row["engine"], ", ".join((row.get("nodes") or row["operators"])[:4]),
            " ".join(row["files"]), bytes_text(row["bytes"]), " ".join(row["switches"]),
        ]
        for row in content["kernels"]
    ]  # fmt: skip
    yield _table("Kernel|Engine|Computes|Files|Size#|Compiled with", rows, 40, content["kernels_in_all"])


def _fusions(content: Mapping[str, Any]) -> Iterator[Any]:
    found = len(content["passes"])
    yield Line("fusion", f"{counted(found, 'pass')} in {counted(content['graphs'], 'graph')}")
    hits = sum(row["repository_hit_times"] for row in content["passes"])
    if hits:
        yield Line("repository", f"hit {counted(hits, 'time')}: tuned tiles were used", "good")
    yield from _flaws(content["flaws"])
    rows = [
        [
            row["pass"],
            row["section"],
            row["match_times"],
            row["effect_times"],
            row["repository_hit_times"],
            row["graphs"],
        ]
        for row in content["passes"]
    ]
    yield _table("Pass|Section|Found#|Done#|Repository#|Graphs#", rows, 60)


def _weights(content: Mapping[str, Any]) -> Iterator[Any]:
    owner = "" if content["process"] is None else f" of session {content['session']} of process {content['process']}"
    yield Line("weights", f"{counted(content['files_in_all'], 'file')}, {bytes_text(content['bytes'])}{owner}")
    if content["process"] is not None:
        yield Line("goes", "when the session is closed; a program that was killed leaves it, and it may be removed")
    if content["other"]:
        yield Line("other", f"{counted(content['other'], 'file')} that are no weights", "note")
    for row in content["files"]:
        if row["state"] == "changed":
            yield Line("changed", f"{row['file']}: {row['why']}", "bad")
    rows = [[_short(row["file"]), bytes_text(row["bytes"]), row["state"]] for row in content["files"]]
    yield _table("Weights|Size#|State", rows, 40, content["files_in_all"])


def _tuning(content: Mapping[str, Any]) -> Iterator[Any]:
    asked = content["asked"]
    told = f"{counted(len(content['tuned']), 'product')} of matrices tuned, {content['better']} faster"
    yield Line("tuning", told)
    if asked:
        words = [f"{key}={value if isinstance(value, str) else listed(value, _NAMES)}" for key, value in asked.items()]
        yield Line("asked", ", ".join(words))
    bank = content["bank"]
    if bank is not None and bank["why"]:
        yield Line("bank", f"is not used: {bank['why']}", "bad")
    elif bank is not None:
        yield Line(
            "bank",
            f"{counted(len(bank['tiles']), 'tile')} for {bank['device']}; runs with this work_path use it",
            "good",
        )
    yield from _flaws(content["flaws"])
    rows = [
        [
            listed(row["operators"], _NAMES), _product(row["product"]), _tile(row["tile_before"]), _tile(row["tile"]),
            time_text(row["ns_before"]), time_text(row["ns"]),
        ]
        for row in content["tuned"]
    ]  # fmt: skip
    yield _table("Operators|Product|Tile before|Tile|Before#|After#", rows, 30)
    if bank is not None:
        rows = [[_product(row["product"]), _tile(row["tile"])] for row in bank["tiles"]]
        yield _table("In the bank|Tile", rows, 30)


def _product(gemm: Mapping[str, int]) -> str:
    batch = f"{gemm['batch']}*" if gemm["batch"] > 1 else ""
    return f"{batch}{gemm['m']}x{gemm['k']}x{gemm['n']}"


def _tile(sizes: Sequence[int]) -> str:
    return "x".join(str(size) for size in sizes)


def _library(content: Mapping[str, Any]) -> Iterator[Any]:
    rows: List[List[str]] = []
    for one in content["files"]:
        changed = [len(one["changed"]), len(one["added"]), len(one["removed"])]
        edited = "as built in" if not any(changed) else f"{changed[0]} edited, {changed[1]} added, {changed[2]} removed"
        mode = "may be written" if one["writable"] else "read-only, as installed"
        yield Line("library", f"{one['file']}: {counted(one['operators'], 'operator')}, {edited}; {mode}")
        if one["why"]:
            yield Line("flaw", f"{one['file']}: {one['why']}", "bad")
        yield Line("flags", ", ".join(f"{count} {flag}" for flag, count in one["flags"].items()))
        rows += [[row["op"], "edited", row["what"]] for row in one["changed"]]
        rows += [[op, word, ""] for word in ("added", "removed") for op in one[word]]
    yield _table("Operator|Against the built-in|What", rows, 60)


# -- dumps -------------------------------------------------------------------------------------------------------------


def _dump(content: Mapping[str, Any]) -> Iterator[Any]:
    rows: Sequence[Mapping[str, Any]] = content["tensors"]
    steps = sorted({row["step"] for row in rows if row["step"] is not None})
    head = f"{counted(len({row['file'] for row in rows}), 'file')}, {counted(len(rows), 'tensor')}"
    head += f", steps {_spans(steps)}" if steps else ""
    head += "; simulated, nothing of it comes from a device" if content["simulated"] and rows else ""
    yield Line("dump", head)
    for op, op_type, _ in dict.fromkeys((row["op"], row["op_type"], row["file"]) for row in rows if _failed(row)):
        yield Line("exception", f"{op} ({op_type}) failed; its outputs are zeros, it did not come to write them", "bad")
    words = ("note", "tiling")
    told = {(row["op"], row["file"], word): str(row[word]) for row in rows for word in words if row.get(word)}
    for (op, _, word), text in told.items():
        yield Line(f"{op} {word}", text, "note")
    for one in content["overflow"]:
        yield Line("overflow", f"step {one['step']}: {one['op']} ({one['acc_type']})", "bad")
    yield from _flaws(content["flaws"])
    step = "" if len(steps) <= 1 else "Step#|"
    cells = [([row["step"]] if step else []) + _tensor(row) for row in rows[:_KEPT]]
    yield _table(f"{step}Tensor|Type|Dtype|Shape|Min#|Max#|Mean#|NaN#|Inf#|Zero#", cells, 200, len(rows))


def _failed(row: Mapping[str, Any]) -> bool:
    return "exception_dump" in row


def _tensor(row: Mapping[str, Any]) -> List[Any]:
    name = f"{row['op']}:{row['slot']}" if row["side"] == "output" else f"{row['op']} <- {row['slot']}"
    zeros = "" if row["zeros"] is None else f"{100 * row['zeros']:.0f} %"
    shape = "?" if row["shape"] is None else "x".join(str(size) for size in row["shape"]) or "scalar"
    ends = [_value(row[key]) for key in ("min", "max", "mean")]
    return [name, row["op_type"], row["dtype"] or "?", shape, *ends, row["nan"] or "", row["inf"] or "", zeros]


def _dumps(found: Mapping[str, Any]) -> Iterator[Any]:
    limits = found["limits"]
    head = f"{counted(found['compared'], 'tensor')} compared, {found['equal']} equal to the bit, "
    head += f"{len(found['departing'])} depart (cosine below {limits['cosine']:g} or error above {limits['error']:g})"
    yield Line("dumps", head)
    for key, where in (("only_here", "here"), ("only_there", found["against"])):
        if found[key]:
            yield Line("operators", f"only {where}: {len(found[key])} ({listed(found[key], _NAMES)})", "note")
    yield from _flaws(found["flaws"])
    first: Optional[Mapping[str, Any]] = found["first"]
    if not found["compared"]:
        yield Line("", "nothing is compared: no tensor is in both", "bad")
        return
    if first is None and found["flaws"]:
        yield Line("", "no operator departs of those that can be read", "note")
        return
    if first is None:
        yield Line("", "no operator departs", "good")
        return
    step = "" if first["step"] is None else first["step"]
    yield Line("first to depart", f"{first['op']} ({first['op_type']}), step {step}: {first['why']}", "bad")
    rows = []
    for row in found["departing"][:_KEPT]:
        name = f"{row['op']}:{row['slot']}" if row["side"] == "output" else f"{row['op']} <- {row['slot']}"
        numbers = [_value(row[key]) for key in ("cosine", "max_abs", "relative")]
        rows.append([name, row["op_type"], row["why"], *numbers, row["ulp"]])
    columns = "Departs, in order|Type|Why|Cosine#|Max error#|Relative#|Ulp#"
    yield _table(columns, rows, 20, len(found["departing"]))


def _value(value: Optional[float]) -> str:
    return "" if value is None else f"{value:.4g}"


def _spans(steps: List[int]) -> str:
    spans: List[List[int]] = []
    for step in steps:
        if spans and step == spans[-1][1] + 1:
            spans[-1][1] = step
        else:
            spans.append([step, step])
    return "|".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)


_Shower = Callable[[Mapping[str, Any]], Iterator[Any]]

_SHOWN: Dict[str, _Shower] = {
    "dump": _dump, "profile": _profile, "cache": _cache, "kernels": _kernels, "fusions": _fusions,
    "weights": _weights, "tuning": _tuning, "library": _library,
}  # fmt: skip
_COMPARED: Dict[str, _Shower] = {"dump": _dumps, "profile": _profiles}
