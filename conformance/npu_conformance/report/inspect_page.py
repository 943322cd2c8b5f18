"""Decides what the page of a folder that a run left shows: what a terminal shows, and of a profile its timeline.

The page is one self-contained HTML file; names are escaped, and what a terminal would obey is written out.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from npu_conformance.inspecting import profiles
from npu_conformance.inspecting.registry import Inspected
from npu_conformance.report.inspect_views import View, views
from npu_conformance.report.page import Made, render_page
from npu_reference.printing import printable, shorten

__all__ = ["page"]

#: Kernels drawn: what a browser opens at once (assumed).
_TASKS = 100_000

#: Kinds of folders whose form is this program's own.
_OURS = ("cache", "kernels", "tuning")

#: Engines that have a colour of their own.
_ENGINES = ("AI_CORE", "AI_VECTOR_CORE", "AI_CPU", "HCCL")


def page(answer: Mapping[str, Any], filters: Mapping[str, Any], made: Optional[Made] = None) -> str:
    """The HTML text for an answer of `inspect`, with what was asked of the folder."""
    shown = views(answer)
    data: Dict[str, Any] = {"views": [_json(view) for view in shown], "lanes": [], "words": [], "end": 0, "memory": []}
    if answer["kind"] == "profile" and "content" in answer:
        data.update(_timeline(str(answer["folder"]), filters))
    title = shorten(os.path.basename(os.path.abspath(str(answer["folder"]))))
    return render_page("inspect.html", title=title, made=made, data=data, simulated=_is_simulated(answer))


def _is_simulated(answer: Mapping[str, Any]) -> bool:
    """Whether all that is shown says so; files that no device writes do without saying it."""
    for one in answer.get("folders", [answer]):
        told = one.get("content") or one.get("comparison") or {}
        if not told.get("simulated", one["kind"] in _OURS):
            return False
    return True


def _json(view: View) -> Dict[str, Any]:
    return {
        "kind": view.kind,
        "folder": printable(view.folder),
        "lines": [{"label": printable(one.label), "text": printable(one.text), "tone": one.tone} for one in view.lines],
        "tables": [
            {
                "columns": list(table.columns), "numbers": list(table.numbers), "all": table.all,
                "rows": [[printable(cell) for cell in row] for row in table.rows],
            }
            for table in view.tables
        ],
    }  # fmt: skip


def _timeline(folder: str, filters: Mapping[str, Any]) -> Dict[str, Any]:
    """Kernels as columns of numbers, times in whole nanoseconds since the first began."""
    tables, _ = profiles.tables_of(folder)
    tasks = sorted(profiles.tasks_of(tables, Inspected(folder, filters), {}), key=lambda task: task.start)
    lanes: Dict[Tuple[str, str], int] = {}
    words: Dict[str, int] = {}
    names = ("lane", "start", "length", "name", "kind", "node")
    columns: Dict[str, List[int]] = {name: [] for name in names}
    first = tasks[0].start if tasks else 0.0
    for task in tasks[:_TASKS]:
        engine = task.engine if task.engine in _ENGINES else "other"
        row = (
            lanes.setdefault((printable(task.engine), printable(task.stream)), len(lanes)),
            round((task.start - first) * 1000), round(task.duration * 1000),
            *(words.setdefault(printable(text), len(words)) for text in (task.type or task.op, engine, task.op)),
        )  # fmt: skip
        for name, value in zip(names, row):
            columns[name].append(value)
    end = max((start + length for start, length in zip(columns["start"], columns["length"])), default=0)
    more = max(len(tasks) - _TASKS, 0)
    return {"lanes": [list(lane) for lane in lanes], "words": list(words), "tasks": columns, "end": end, "more": more}
