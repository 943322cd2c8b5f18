"""Golden-graph regression of a user's own graphs: what was recorded beside a model, and how today's partition moved.

A record is a text file beside the model, one fact a line, made by ``golden update`` and compared by
``golden check``. It keeps how the graph was partitioned (options, feeds, fetches, edition), so that a check
needs nothing but the model; where an operator lies is compared by GEOP membership, never by a GEOP's name.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections import Counter, defaultdict
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.backends.reference import split_fetches
from npu_conformance.files import output
from npu_reference import options as npu_options
from npu_reference.errors import NpuError
from npu_reference.graphs import close_over, load_graph
from npu_reference.partition import partition

__all__ = ["Change", "Question", "Record", "changes", "check", "record_path", "recorded", "observe_model", "update"]

_HEADER = "npu-conformance golden graph 1"

#: Operators named one by one in a change before the rest is counted: what a reader takes in at a glance.
NAMED_MOVES = 20


class Question(NamedTuple):
    """How a model is partitioned; kept in the record."""

    values: Mapping[str, Any]
    surface: str = "session"
    edition: str = "current"
    policy: str = "documented"
    flavour: str = "tf1"
    feeds: Tuple[str, ...] = ()
    fetches: Tuple[str, ...] = ()

    def to_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "values": dict(self.values), "feeds": list(self.feeds), "fetches": list(self.fetches)}


class Place(NamedTuple):
    """Where one operator is: the number of its GEOP, or -1 with the reason and the operator that caused it."""

    geop: int
    reason: str = ""
    via: str = ""


class Record(NamedTuple):
    """What a golden holds: the question, every operator's place, and the counts a reader looks at first."""

    question: Question
    places: Mapping[str, Place]
    counts: Mapping[str, int]


class Change(NamedTuple):
    """One difference in words, e.g. ``dense/MatMul: GEOP 3 -> host, REF_EDGE via Assign``."""

    text: str


def record_path(model: str) -> pathlib.Path:
    """Where the record of `model` stands: beside it."""
    path = pathlib.Path(model)
    if not path.name:
        raise NpuError("GRAPH_FILE", model, "names no file.")
    return path.with_name(path.name + ".golden.txt")


def observe_model(model: str, question: Question) -> Record:
    """Partition `model` as `question` says. Raises NpuError ``GRAPH_*`` and ``OPTION_*``."""
    resolution = npu_options.resolve(question.values, surface=question.surface, edition=question.edition)
    resolution.raise_first()
    graph = load_graph(model)
    if question.feeds or question.fetches:
        tensors, targets = split_fetches(list(question.fetches))
        graph = close_over(graph, list(question.feeds), tensors, targets)
    answer = partition(graph, resolution, policy=question.policy, flavour=question.flavour).to_json()
    places: Dict[str, Place] = {}
    for number, geop in enumerate(answer["geops"], start=1):
        for name in geop["nodes"]:
            places[name] = Place(number)
    for entry in answer["host"]:
        last = entry["witness"][-1]["node"] if entry["witness"] else ""
        places[entry["node"]] = Place(-1, entry["reason"], "" if last == entry["node"] else last)
    directions = Counter(border["direction"] for border in answer["borders"])
    counts = {"geops": len(answer["geops"]), "host operators": len(answer["host"]), "at least": answer["min_geops"]}
    counts.update({f"copies {direction}": count for direction, count in directions.items()})
    return Record(question, places, counts)


def update(model: str, question: Question) -> pathlib.Path:
    """Record the partition of `model`; the file is written whole or not at all. Returns its path."""
    path = record_path(model)
    text = _write(observe_model(model, question))
    output.write_file(str(path), text)
    return path


def check(model: str) -> List[Change]:
    """The differences between the record of `model` and its partition today, in words; empty when there is none.

    Raises NpuError ``GRAPH_FILE`` when there is no such model, ``OUTPUT`` when nothing was recorded, ``CASE_FILE`` when
    the record is damaged.
    """
    before = recorded(model)
    return changes(before, observe_model(model, before.question))


def recorded(model: str) -> Record:
    """The record beside `model`. Raises NpuError as :func:`check` does."""
    path = record_path(model)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not os.path.exists(model):
            raise NpuError(
                "GRAPH_FILE", model, "there is no such file.", "Name the file that golden update was given."
            ) from None
        raise NpuError(
            "OUTPUT", model, "has no golden beside it.", f"Record one: npu-conformance golden update {model}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a NUL in the name
        raise NpuError("CASE_FILE", str(path), f"cannot be read: {error}.") from None
    return _read(text, str(path))


def changes(before: Record, after: Record) -> List[Change]:
    """What moved between two records, the largest movement first. Linear in the operators.

    GEOPs are matched by their largest overlap, so that a new GEOP in front does not look like a move of all others.
    """
    twin = _matching(before.places, after.places)
    moves: Dict[Tuple[str, str], List[str]] = defaultdict(list)
    for name in sorted(set(before.places) | set(after.places)):
        old, new = before.places.get(name), after.places.get(name)
        if old is None or new is None:
            was, now = ("not in the graph", _words(new)) if old is None else (_words(old), "not in the graph")
        elif old.geop > 0 and new.geop > 0:
            if twin.get(old.geop) == new.geop:
                continue
            was, now = _words(old), _words(new)
        elif old == new:
            continue
        else:
            was, now = _words(old), _words(new)
        moves[was, now].append(name)
    found = []
    for name in sorted(set(before.counts) | set(after.counts)):
        old_count, new_count = before.counts.get(name, 0), after.counts.get(name, 0)
        if old_count != new_count:
            found.append(Change(f"{name}: {old_count} -> {new_count}"))
    whole = Counter(_words(place) for place in before.places.values() if place.geop > 0)
    for (was, now), names in sorted(moves.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(names) > 1 and len(names) == whole.get(was):
            found.append(Change(f"all {len(names)} operators of {was} ({names[0]}, ...): {was} -> {now}"))
            continue
        found.extend(Change(f"{name}: {was} -> {now}") for name in names[:NAMED_MOVES])
        if len(names) > NAMED_MOVES:
            found.append(Change(f"and {len(names) - NAMED_MOVES} more operators: {was} -> {now}"))
    return found


def _words(place: Optional[Place]) -> str:
    if place is None:
        return "not in the graph"
    if place.geop > 0:
        return f"GEOP {place.geop}"
    return f"host, {place.reason}" + (f" via {place.via}" if place.via else "")


def _matching(before: Mapping[str, Place], after: Mapping[str, Place]) -> Dict[int, int]:
    overlap: Counter = Counter()
    for name, old in before.items():
        new = after.get(name)
        if new is not None and old.geop > 0 and new.geop > 0:
            overlap[old.geop, new.geop] += 1
    twin: Dict[int, int] = {}
    taken = set()
    for (old_geop, new_geop), _ in sorted(overlap.items(), key=lambda item: (-item[1], item[0])):
        if old_geop not in twin and new_geop not in taken:
            twin[old_geop] = new_geop
            taken.add(new_geop)
    return twin


def _write(record: Record) -> str:
    """The record's text: a header, the question as JSON, counts, then one operator a line, sorted."""
    lines = [_HEADER, json.dumps(record.question.to_json(), sort_keys=True, ensure_ascii=True)]
    lines += [f"count {name} = {value}" for name, value in sorted(record.counts.items())]
    for name, place in sorted(record.places.items()):
        where = f"geop {place.geop}" if place.geop > 0 else f"host {place.reason} {place.via}".rstrip()
        lines.append(f"node {name} {where}")
    return "\n".join(lines) + "\n"


def _read(text: str, subject: str) -> Record:
    lines = text.splitlines()
    if not lines or lines[0] != _HEADER:
        raise NpuError("CASE_FILE", subject, f"does not begin with {_HEADER!r}.", "Record it again with golden update.")
    try:
        raw = json.loads(lines[1])
        question = Question(**{**raw, "feeds": tuple(raw["feeds"]), "fetches": tuple(raw["fetches"])})
    except (IndexError, ValueError, TypeError, KeyError):
        raise NpuError("CASE_FILE", f"{subject}:2", "does not hold the options of the record as JSON.") from None
    places: Dict[str, Place] = {}
    counts: Dict[str, int] = {}
    for number, line in enumerate(lines[2:], start=3):
        try:
            _fact(line, places, counts)
        except (ValueError, IndexError):
            raise NpuError(
                "CASE_FILE", f"{subject}:{number}", f"{line[:80]!r} is no fact.", "Record it again with golden update."
            ) from None
    return Record(question, places, counts)


def _fact(line: str, places: Dict[str, Place], counts: Dict[str, int]) -> None:
    kind, rest = line.split(" ", 1)
    if kind == "count":
        name, value = rest.rsplit(" = ", 1)
        counts[name] = int(value)
    elif kind == "node":
        words: Sequence[str] = rest.split(" ")
        if words[1] == "geop" and len(words) == 3:
            places[words[0]] = Place(int(words[2]))
        elif words[1] == "host" and len(words) in (3, 4):
            places[words[0]] = Place(-1, *words[2:])
        else:
            raise ValueError(line)
    else:
        raise ValueError(line)
