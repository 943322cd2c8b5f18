"""Decides what the page of one step shows: a timeline by engine and stream, the memory curve, and the tables.

The page is one self-contained HTML file. Tasks are embedded as columns of numbers, and drawn as far as a pixel tells
them apart, so that a step of 100 000 tasks opens at once.
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Mapping, Optional, Tuple

from npu_conformance.models.profiling import link_uses
from npu_conformance.report.page import Made, render_page

__all__ = ["page", "page_data"]

#: Points of the memory curve kept; between two of them the highest counts (assumed: more than a screen is wide).
_POINTS = 4000

#: Messages on links drawn at most; with more the collectives alone are (assumed: more than anybody looks at).
_USES = 20_000


def page(
    step: Any, answer: Mapping[str, Any], *, title: str, options: Mapping[str, Any], made: Optional[Made] = None
) -> str:
    """The HTML text for a profile and its answer.

    Args:
        step: the :class:`npu_reference.device.timing.Profile`.
        answer: what ``profile --format json`` answers.
        title: what the reader calls the graph.
        options: the effective options that differ from their defaults.
        made: how the page was made; None inside another page.
    """
    return render_page("profile.html", title=title, made=made, data=page_data(step, answer), options=dict(options))


def page_data(step: Any, answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The data the page embeds: lanes (engine and stream), and a column for each fact of a task."""
    kernels, timeline = step.compiled.fused.kernels, step.timeline
    lanes: Dict[Any, int] = {}
    words: Dict[str, int] = {}
    columns: Dict[str, List[Any]] = {name: [] for name in ("lane", "start", "length", "name", "kind", "node", "geop")}
    for task, span in zip(timeline.tasks, timeline.spans):
        kernel = kernels[task.kernel] if task.kernel >= 0 else None
        columns["lane"].append(lanes.setdefault((task.engine, task.stream), len(lanes)))
        columns["start"].append(span.start)
        columns["length"].append(task.duration)
        columns["name"].append(words.setdefault(kernel.type if kernel else task.kind, len(words)))
        columns["kind"].append(words.setdefault(task.kind, len(words)))
        columns["node"].append(kernel.node if kernel else task.name)
        columns["geop"].append(task.geop)
    uses = list(itertools.islice(link_uses(step), _USES + 1))
    for name, _, start, end, message in uses if len(uses) <= _USES else ():
        columns["lane"].append(lanes.setdefault((name, ""), len(lanes)))
        columns["start"].append(start)
        columns["length"].append(end - start)
        columns["name"].append(words.setdefault(f"{message.bytes:,} B", len(words)))
        columns["kind"].append(words.setdefault("link", len(words)))
        columns["node"].append(f"rank {message.src} to {message.dst}, step {message.step}")
        columns["geop"].append(0)
    critical = timeline.critical_path()
    return {
        "lanes": [list(lane) for lane in lanes],
        "words": list(words),
        "tasks": columns,
        "critical": critical,
        "end": timeline.end,
        "memory": _thinned(step.memory.curve()),
        "answer": {**answer, "device": answer["device"]["name"]},
        "parameters": answer["device"]["parameters"],
    }


def _thinned(curve: List[Tuple[int, int]]) -> List[List[int]]:
    """At most so many points, each the highest of its stretch."""
    if len(curve) <= _POINTS:
        return [list(point) for point in curve]
    step = -(-len(curve) // _POINTS)
    stretches = [curve[at : at + step] for at in range(0, len(curve), step)]
    return [[*max(stretch, key=_alive)] for stretch in stretches]


def _alive(point: Tuple[int, int]) -> int:
    return point[1]
