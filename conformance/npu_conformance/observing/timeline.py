"""Turns the steps of a ``timeline`` answer into facts: orders and counts that documents state, never a duration."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar

from npu_conformance.observing import left_files
from npu_conformance.observing.naming import brief

__all__ = ["BASE", "MEASURES", "WORDS", "BadTimeline", "facts_of", "union"]

#: What the step under the values of a case themselves is called; each variant has its own name.
BASE = "base"

#: What a variant is compared with the base by -> (first word of the fact, words of less, equal and more).
MEASURES: Mapping[str, Tuple[str, Tuple[str, str, str]]] = {
    "speed": ("speed", ("faster", "equal", "slower")),
    **dict.fromkeys(("peak", "total", "variables", "constants"), ("memory", ("less", "equal", "more"))),
}

#: First word of a fact -> its aspect.
WORDS: Mapping[str, str] = {
    "ended": "ended", "after": "ended", "lasted": "lasted", "step": "contradictions",
    "speed": "speed", "launches": "launches", "iterations": "iterations",
    "moved": "moved", "transfers": "transfer_counts", "overlap": "overlap", "apart": "overlap", "beside": "beside",
    "concurrent": "concurrency", "joined": "joined", "streams": "streams", "stream": "stream_nodes",
    "memory": "memory", "fused": "fusions", "ran_on": "ran_on", "reads": "dataset", "receives": "dataset",
    "sends": "dataset", "profile": "profile", "before": "order", "sequence": "sequence",
}  # fmt: skip

_SECOND = 10**9
_AS_FAST = 0.005  # of a step: a device that is measured never takes as long twice (assumed)
_MOST_IN_SEQUENCE = 64  # operators of a step whose order is told (assumed)
_ENGINES = {"aicore": "aicore", "cube": "aicore", "vector": "aicore", "aicpu": "aicpu", "host": "host"}
_KINDS = {"h2d": "h2d", "d2h": "d2h", "collective": "collective", "launch": "host", "send": "h2d"}

_Triples = Iterator[Tuple[str, str, str]]
_Interval = Tuple[int, int]
_Number = TypeVar("_Number", int, float)


class BadTimeline(ValueError):
    """A step of an answer contradicts itself; the text says how."""


class _Task(NamedTuple):
    """A task as facts see it.

    group: ``aicore``, ``aicpu``, ``collective``, ``h2d``, ``d2h``, ``host`` or ``other``; nodes: graph operators that
    it computes; stream, step: numbers that tell streams and concurrent steps apart, None where nothing is said.
    """

    group: str
    nodes: Tuple[str, ...]
    start: int
    end: int
    stream: Optional[int]
    step: Optional[int]


def facts_of(answer: Mapping[str, Any]) -> _Triples:
    """(aspect, subject, text) of a valid ``timeline`` answer; time and facts grow with its tasks.

    Raises:
        BadTimeline: a task ends before it begins.
    """
    base = answer["base"]
    steps = {BASE: base, **{brief(name): step for name, step in answer.get("variants", {}).items()}}
    for name, step in steps.items():
        ended = step.get("rejected")
        yield "ended", name, f"ended {name} {ended['code'] if ended else 'done'}"
        if ended:
            if "after_ns" in ended:
                yield "ended", name, f"after {name} {ended['after_ns'] // _SECOND}"
            continue
        yield from _contradictions(name, step)
        yield from _lasted(name, step)
        yield from _counts(name, step)
        yield from _of_tasks(name, [_task(task, name) for task in step.get("tasks", [])])
        yield from left_files.observed(left_files.left(step.get("files", {})), left_files.About(step, name))[0]
        yield from _tuning(name, step)
        if name != BASE and "rejected" not in base:
            yield from _compared(name, base, step)


def _lasted(name: str, step: Mapping[str, Any]) -> _Triples:
    """Whole seconds of a step that a fault makes late; no other lasts one."""
    seconds = step["step_ns"] // _SECOND
    if seconds:
        yield "lasted", name, f"lasted {name} {seconds}"


def _contradictions(name: str, step: Mapping[str, Any]) -> _Triples:
    """What no step can be, whatever the device: its device computes for longer than all of it takes, needs less memory
    than lies in it, starts more than it is said to start, or copies other bytes than it is said to copy. A step that
    does not tell its iterations may have any number of them."""
    tasks = step.get("tasks", [])
    iterations = step.get("iterations", math.inf)
    found = []
    working = [one for one in tasks if _KINDS.get(one["kind"], "") in ("", "collective") and one["engine"] != "host"]
    if working:
        lasts = max(one["end_ns"] for one in working) - min(one["start_ns"] for one in working)
        times = max(iterations, 1) * len({one.get("step", 0) for one in working})
        if lasts > step["step_ns"] * times:
            found.append("it is shorter than what the device computes in it")
    if "launches" in step and sum(task["kind"] == "launch" for task in tasks) > step["launches"]:
        found.append("it has more launches among its tasks than in their count")
    for direction in ("h2d", "d2h"):
        moved, told = _bytes_of_tasks(tasks, direction), _bytes_of_transfers(step, direction)
        if moved is None or told is None:
            continue
        if moved > told or (moved < told and iterations == 1):  # of a loop some turns may be told alone
            found.append(f"it has other bytes in its {direction} tasks than in its transfers")
    memory = step.get("memory", {})
    parts = memory.get("variables", 0) + memory.get("constants", 0)
    if max(memory.get("peak", 0), parts) > memory.get("total", math.inf):
        found.append("it needs less memory than lies in it at its peak")
    for words in found:
        yield "contradictions", name, f"step {name} contradicts itself: {words}"


def _bytes_of_tasks(tasks: Sequence[Mapping[str, Any]], direction: str) -> Optional[int]:
    """Bytes of all copies among the tasks; None where there are none, or one does not tell its own."""
    copies = [task for task in tasks if task["kind"] == direction]
    return sum(task["bytes"] for task in copies) if copies and all("bytes" in task for task in copies) else None


def _bytes_of_transfers(step: Mapping[str, Any], direction: str) -> Optional[int]:
    """The same of the transfers; what goes to another device is none of the step's own copies."""
    if "transfers" not in step:
        return None
    own = [one for one in step["transfers"] if one["direction"] == direction and "device" not in one]
    return sum(one["bytes"] * one.get("times", 1) for one in own)


def _counts(name: str, step: Mapping[str, Any]) -> _Triples:
    if "launches" in step:
        yield "launches", name, f"launches {name} {step['launches']}"
    if "iterations" in step:
        yield "iterations", name, f"iterations {name} {step['iterations']}"
    if "transfers" in step:
        for direction in ("h2d", "d2h"):
            moved = [one for one in step["transfers"] if one["direction"] == direction]
            number = sum(one.get("times", 1) for one in moved)
            yield "transfer_counts", direction, f"transfers {name} {direction} {number}"
            for one in moved:
                times = one.get("times", 1)
                again = "" if times == 1 else f" times {times}"
                yield "moved", direction, f"moved {name} {direction} {one['bytes']}{again}"
    if "device" in step:
        yield "ran_on", name, f"ran_on {name} {step['device']}"
    data = step.get("dataset")
    if data is not None:
        for key in ("reads", "receives"):
            yield "dataset", name, f"{key} {name} {data.get(key, 0)}"
        for device in sorted({one["device"] for one in data.get("sent", [])}):
            yield "dataset", name, f"sends {name} {device}"
    for one in step.get("fusion", []):
        if one["effective"]:
            yield "fusions", one["name"], f"fused {name} {one['section']} {one['name']} {one['effective']}"


def _tuning(name: str, step: Mapping[str, Any]) -> _Triples:
    found = [_RESULT.match(path) for path in step.get("files", {})]
    for where in sorted({match["where"].rstrip("/") or "." for match in found if match}):
        yield "tuning", where, f"tuning {name} in {where}"
    for node in sorted({node for nodes in step.get("tuned", []) for node in nodes}):
        yield "tuned", node, f"tuned {name} {node}"


#: A result file of the tuner.
_RESULT = re.compile(r"(?P<where>(?:[^/]+/)*)aoe_result_[a-z][^/]*\.json\Z")


def _compared(name: str, base: Mapping[str, Any], step: Mapping[str, Any]) -> _Triples:
    before, after = base.get("memory", {}), step.get("memory", {})
    pairs = {"speed": (base["step_ns"], step["step_ns"])}
    pairs.update((key, (before[key], after[key])) for key in MEASURES if key in before and key in after)
    for measure, (one, two) in pairs.items():
        aspect, words = MEASURES[measure]
        relation = words[0] if two < one else words[1] if two == one else words[2]
        between = "" if aspect == measure else f" {measure}"
        yield aspect, name, f"{aspect} {name}{between} {relation}"
        if measure == "speed" and 0 < abs(two - one) <= _AS_FAST * one:
            yield aspect, name, f"{aspect} {name} {words[1]}"


# Tasks


def _task(told: Mapping[str, Any], name: str) -> _Task:
    start, end = told["start_ns"], told["end_ns"]
    if end < start:
        raise BadTimeline(f"task {str(told.get('name', ''))[:80]!r} of step {name[:80]!r} ends before it begins")
    group = _KINDS.get(told["kind"]) or _ENGINES.get(told["engine"], "other")
    nodes = dict.fromkeys([*([told["node"]] if told.get("node") else []), *told.get("nodes", [])])
    return _Task(group, tuple(sorted(nodes)), start, end, told.get("stream"), told.get("step"))


def _of_tasks(name: str, tasks: Sequence[_Task]) -> _Triples:
    groups: Dict[str, List[_Task]] = {}
    joined: Set[Tuple[str, str]] = set()
    for task in tasks:
        if task.group != "host":
            groups.setdefault(task.group, []).append(task)
        if len(task.nodes) > 1:
            first = brief(task.nodes[0])
            joined.update((first, node) for node in task.nodes)
    for first, node in joined:
        yield "joined", node, f"joined {name} {first} node {node}"
    order = sorted(groups)
    for group in order:
        number = _most_at_once([(task.start, task.end) for task in groups[group]])
        yield "concurrency", group, f"concurrent {name} {group} {number}"
    for one, other in itertools.permutations(order, 2):
        if max(task.end for task in groups[one]) <= min(task.start for task in groups[other]):
            yield "order", f"{one} {other}", f"before {name} {one} {other}"
    yield from _sequence(name, tasks)
    yield from _concurrent_steps(name, tasks)
    yield from _overlaps(name, {group: groups[group] for group in order})
    yield from _streams(name, {group: groups[group] for group in order})


def _sequence(name: str, tasks: Sequence[_Task]) -> _Triples:
    """Operators in the order in which they begin, from 0; of a step of few alone, where an order says something."""
    begins: Dict[str, int] = {}
    for task in tasks:
        for node in task.nodes:
            begins[node] = min(task.start, begins.get(node, task.start))
    if len(begins) <= _MOST_IN_SEQUENCE:
        for place, node in enumerate(sorted(begins, key=lambda one: (begins[one], one))):
            yield "sequence", node, f"sequence {name} {place} {node}"


def _concurrent_steps(name: str, tasks: Sequence[_Task]) -> _Triples:
    spans: Dict[int, _Interval] = {}
    for task in tasks:
        if task.step is not None and task.group != "host":
            start, end = spans.get(task.step, (task.start, task.end))
            spans[task.step] = (min(start, task.start), max(end, task.end))
    if spans:
        yield "concurrency", "steps", f"concurrent {name} steps {_most_at_once(list(spans.values()))}"


def _most_at_once(spans: Sequence[_Interval]) -> int:
    """How many of them lie over one moment at most; what ends when another begins does not lie beside it."""
    lasting = [span for span in spans if span[1] > span[0]]
    changes = sorted([(start, 1) for start, _ in lasting] + [(end, -1) for _, end in lasting])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _overlaps(name: str, groups: Mapping[str, Sequence[_Task]]) -> _Triples:
    busy = {
        one: union((task.start, task.end) for task in found if task.end > task.start) for one, found in groups.items()
    }
    beside: Set[Tuple[str, str]] = set()
    met: Set[Tuple[str, str]] = set()
    for group, found in groups.items():
        crowded = _crowded(found)
        for position, task in enumerate(found):
            for other in groups:
                if crowded[position] if other == group else _meets(busy[other], task):
                    met.add((min(group, other), max(group, other)))
                    beside.update((node, other) for node in task.nodes)
    for one in groups:
        for other in groups:
            if one < other:
                yield (
                    "overlap",
                    f"{one} {other}",
                    f"{'overlap' if (one, other) in met else 'apart'} {name} {one} {other}",
                )
    for node, other in beside:
        yield "beside", node, f"beside {name} {node} {other}"


def union(spans: Iterable[Tuple[_Number, _Number]]) -> List[Tuple[_Number, _Number]]:
    """Intervals of which none touches another, and that cover the same moments, in order."""
    found: List[Tuple[_Number, _Number]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _meets(busy: Sequence[_Interval], task: _Task) -> bool:
    at = bisect_left(busy, (task.end,)) - 1  # the last that begins before the task ends
    return task.end > task.start and at >= 0 and busy[at][1] > task.start


def _crowded(tasks: Sequence[_Task]) -> List[bool]:
    """For each task, whether another one of these runs beside it."""
    order = sorted((task.start, task.end, position) for position, task in enumerate(tasks) if task.end > task.start)
    found = [False] * len(tasks)
    reached = -1  # the latest end so far
    for place, (start, end, position) in enumerate(order):
        follower = order[place + 1][0] if place + 1 < len(order) else end
        found[position] = start < reached or follower < end
        reached = max(reached, end)
    return found


def _streams(name: str, groups: Mapping[str, Sequence[_Task]]) -> _Triples:
    used = {group: {task.stream for task in found if task.stream is not None} for group, found in groups.items()}
    for one in groups:
        for other in groups:
            if one < other and used[one] and used[other]:
                together = "apart" if used[one].isdisjoint(used[other]) else "shared"
                yield "streams", f"{one} {other}", f"streams {name} {one} {other} {together}"
    nodes: Dict[int, Set[str]] = {}
    for found in groups.values():
        for task in found:
            if task.stream is not None:
                nodes.setdefault(task.stream, set()).update(task.nodes)
    for lying in nodes.values():
        first = brief(min(lying, default=""))
        for node in lying:
            yield "stream_nodes", node, f"stream {name} {first} node {node}"
