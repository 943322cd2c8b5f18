"""The file of a report that keeps the answers, long ones compressed, so that they can be judged again."""

from __future__ import annotations

import itertools
import os
from typing import Iterator, List, Sequence

from npu_conformance.files import output, packing
from npu_conformance.protocol import outcomes as outcome_files
from npu_conformance.strength.laws.kinds import KINDS, drawn, of_runs
from npu_conformance.strength.laws.plans import Asked, Plan
from npu_reference import strict_json

__all__ = ["FILE", "graphs", "load", "whole", "write"]

#: Where a report keeps the answers.
FILE = "laws.jsonl"

_MAX_UNPACKED = 1 << 30  # assumed: eight times what the answers to as many graphs as are asked at least may take
_PLAIN = "graph"  # the kind of a line that says none


def write(folder: str, answers: Sequence[Asked]) -> None:
    """Keeps the answers in a folder.

    Raises:
        NpuError: OUTPUT.
    """
    lines = []
    for asked in answers:
        told = {"edition": asked.edition, "number": asked.number}
        kind = {} if asked.kind == _PLAIN else {"kind": asked.kind}
        outcomes = {way: output.dumps(outcome_files.outcome_json(one)) for way, one in sorted(asked.outcomes.items())}
        packed = ", ".join(f"{output.dumps(way)}: {packing.pack(text)}" for way, text in outcomes.items())
        lines.append(f'{output.dumps({**told, **kind})[:-1]}, "outcomes": {{{packed}}}}}')
    output.write_file(os.path.join(folder, FILE), "\n".join(lines) + "\n")


def load(folder: str) -> List[Asked]:
    """The answers that a report keeps.

    Raises:
        ValueError: they cannot be read.
    """
    found = []
    room = packing.Room(_MAX_UNPACKED)
    path = os.path.join(folder, FILE)
    try:
        if not os.path.isfile(path):
            raise ValueError("there is no such file")
        with open(path, encoding="ascii") as stream:
            for line in stream:
                entry = strict_json.finite(line)
                told = {way: packing.unpack(body, room) for way, body in entry["outcomes"].items()}
                outcomes = {way: outcome_files.outcome_of(body) for way, body in told.items()}
                kind = entry.get("kind", _PLAIN)
                if kind not in KINDS or type(entry["number"]) is not int:
                    raise ValueError(f"a line is of no kind that is known: {kind!r}")
                found.append(Asked(entry["number"], entry["edition"], outcomes, kind))
    except (OSError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return found


def whole(plan: Plan, answers: Sequence[Asked]) -> bool:
    """Whether the answers are to all random graphs of the plan, if they are to any."""
    runs = [asked.number for asked in answers if asked.kind == "run"]
    if runs and not _same(runs, filter(lambda one: plan.takes(one // of_runs.TOGETHER), range(of_runs.runs(plan)))):
        return False
    every = _same([asked.number for asked in answers if asked.kind == "graph"], graphs(plan))
    return every or not any(one.case.method == "partition" for one in plan.instances)


def graphs(plan: Plan) -> Iterator[int]:
    """The numbers of the random graphs that a plan asks about."""
    return filter(lambda number: plan.takes(number // drawn.TOGETHER), range(plan.graphs))


def _same(given: Sequence[int], expected: Iterator[int]) -> bool:
    """Whether numbers are those expected, of which there may be any number where somebody forged a plan."""
    return all(one == other for one, other in itertools.zip_longest(given, expected))
