"""Turns what ``run`` answers of its runs on the device into facts: launches, copies, memory, whole seconds."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

__all__ = ["MEMBERS", "facts_of", "wanted"]

#: Members of an answer that a backend gives only when asked for; ``run.`` before it is the feature.
MEMBERS = ("timeline", "memory", "transfers")

_SECOND = 10**9
_MEASURES = ("peak", "total", "variables", "constants")

_Triples = Iterator[Tuple[str, str, str]]


def wanted(needs: Any) -> List[str]:
    """The members that a case with these features needs."""
    return [member for member in MEMBERS if f"run.{member}" in needs]


def facts_of(answer: Mapping[str, Any]) -> _Triples:
    """(aspect, subject, text) of a valid answer of ``run``; a run of which nothing is known has no fact."""
    steps = answer.get("timeline", [])
    exchanged = [_exchanges(step or {}) for step in steps]
    for number, step in enumerate(steps):
        if step is None:
            continue
        for name in ("launches", "iterations"):
            if name in step:
                yield "run_launches", str(number), f"run {number} {name} {step[name]}"
        place = step.get("same_as", number)  # tasks stand once for all runs that are alike
        exchanges = exchanged[place] if place < len(steps) else 0
        if exchanges:
            yield "run_exchanges", str(number), f"run {number} exchanges {exchanges}"
        yield "run_elapsed", str(number), f"run {number} elapsed {step['run_ns'] // _SECOND} s"
    for number, copies in enumerate(answer.get("transfers", [])):
        for copy in copies or []:
            tensors = " ".join(sorted(copy.get("tensors", [])))
            text = f"run {number} moved {copy['direction']} {copy['bytes']} {tensors}".rstrip()
            yield "run_moved", str(number), text
    first: Optional[Dict[str, int]] = None
    for number, memory in enumerate(answer.get("memory", [])):
        if memory is None:
            continue
        if first is None:
            first = dict(memory)
            continue
        for name in _MEASURES:
            if name in first and name in memory:
                relation = "less" if memory[name] < first[name] else "equal" if memory[name] == first[name] else "more"
                yield "run_memory", str(number), f"run {number} {name} {relation}"


def _exchanges(step: Mapping[str, Any]) -> int:
    """How many collectives a step tells by itself."""
    return sum(task.get("kind") == "collective" for task in step.get("tasks", ()))
