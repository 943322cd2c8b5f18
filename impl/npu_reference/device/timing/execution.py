"""When every task begins and ends: streams in order, engines one task at a time, ties by the number of the task.

Every engine works through its tasks in the order of their numbers, which is an order in which they can run. So a task
begins at the latest of a few ends, and the whole timeline is a longest path: what makes one task shorter can make no
other one later. A queue that served whoever comes first would not have this property (Graham's anomalies), and an
event loop would find the same times with a heap that this order does without.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from npu_reference.compiler.tasks import Task

__all__ = ["Span", "Timeline", "execute"]


class Span(NamedTuple):
    """One task in time, in nanoseconds from the step's begin.

    ``called``: when its turn in the stream comes; ``start``, ``end``: on the engine. ``held_by``: the task whose end
    decided when it began, or -1; with those of that one, back to the begin, the critical path.
    """

    task: int
    called: int
    start: int
    end: int
    held_by: int


class Timeline(NamedTuple):
    """The spans of all tasks, by number, and the end of the last one."""

    tasks: Tuple[Task, ...]
    spans: Tuple[Span, ...]
    end: int

    def critical_path(self) -> List[int]:
        """Tasks that decided the end, in order of time."""
        if not self.spans:
            return []
        task = max(self.spans, key=lambda span: (span.end, span.task)).task
        path = []
        while task >= 0:
            path.append(task)
            task = self.spans[task].held_by
        return path[::-1]

    def busy(self) -> Dict[str, int]:
        """Nanoseconds in which at least one server of an engine worked."""
        spans: Dict[str, List[Tuple[int, int]]] = {}
        for task, span in zip(self.tasks, self.spans):
            spans.setdefault(task.engine, []).append((span.start, span.end))
        return {engine: _union(found) for engine, found in spans.items()}

    def overlap(self, one: str, other: str) -> int:
        """Nanoseconds in which both engines worked."""
        parts: Dict[str, List[Tuple[int, int]]] = {one: [], other: []}
        for task, span in zip(self.tasks, self.spans):
            if task.engine in parts:
                parts[task.engine].append((span.start, span.end))
        return _union(parts[one]) + _union(parts[other]) - _union(parts[one] + parts[other])

    def alone(self, kind: str, engines: Sequence[str]) -> int:
        """Nanoseconds in which a task of a kind was under way, and none of some engines worked."""
        ones: List[Tuple[int, int]] = []
        others: List[Tuple[int, int]] = []
        for task, span in zip(self.tasks, self.spans):
            if task.kind == kind:
                ones.append((span.start, span.end))
            elif task.engine in engines:
                others.append((span.start, span.end))
        return _union(ones + others) - _union(others)


def execute(tasks: Sequence[Task]) -> Timeline:
    """Run tasks in virtual time. O(tasks + waits)."""
    spans: List[Span] = []
    in_stream: Dict[int, int] = {}  # stream -> its last task
    on_server: Dict[Tuple[str, int], int] = {}  # engine and slot -> its last task
    for number, task in enumerate(tasks):
        called, held_by = 0, -1
        for wait in task.waits:
            if spans[wait].end > called:
                called, held_by = spans[wait].end, wait
        before = in_stream.get(task.stream, -1)
        if before >= 0 and spans[before].end > called:
            called, held_by = spans[before].end, before
        start = called + task.before
        server = on_server.get((task.engine, task.slot), -1)
        if server >= 0 and spans[server].end > start:
            start, held_by = spans[server].end, server
        spans.append(Span(number, called, start, start + task.duration, held_by))
        in_stream[task.stream] = number
        on_server[task.engine, task.slot] = number
    return Timeline(tuple(tasks), tuple(spans), max([span.end for span in spans] or [0]))


def _union(parts: List[Tuple[int, int]]) -> int:
    total, reached = 0, 0
    for start, end in sorted(parts):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
