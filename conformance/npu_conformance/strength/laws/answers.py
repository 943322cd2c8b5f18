"""The file of a report that keeps the answers, compressed together, so that they can be judged again."""

from __future__ import annotations

import itertools
import os
from typing import Iterator, List, Sequence

from npu_conformance.files import output, packing, reading
from npu_conformance.protocol import outcomes as outcome_files
from npu_conformance.strength.laws.kinds import KINDS, random_graphs, run_values
from npu_conformance.strength.laws.plans import Asked, Plan
from npu_reference import strict_json

__all__ = ["FILE", "graphs", "load", "whole", "write"]

#: Where a report keeps the answers.
FILE = "laws.jsonl.xz"
#: Where the first form of reports kept them, each long answer compressed by itself.
_FIRST = "laws.jsonl"

_MAX_UNPACKED = 1 << 30  # assumed: eight times what the answers to as many graphs as are asked at least may take
_MAX_LINE = 256 << 20  # assumed: all answers of one line, which have room together
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
        outcomes = {way: outcome_files.outcome_json(one) for way, one in asked.outcomes.items()}
        lines.append(output.dumps({**told, **kind, "outcomes": outcomes}))
    output.write_bytes(os.path.join(folder, FILE), packing.compressed(lines))


def load(folder: str) -> List[Asked]:
    """The answers that a report keeps.

    Raises:
        ValueError: they cannot be read.
    """
    found = []
    first = not os.path.lexists(os.path.join(folder, FILE))
    path = os.path.join(folder, _FIRST if first else FILE)
    try:
        if not os.path.isfile(path):
            raise ValueError("there is no such file")
        room = packing.Room(_MAX_UNPACKED)
        with reading.opened(path) as stream:
            for line in stream if first else packing.lines(stream, _MAX_UNPACKED, _MAX_LINE):
                entry = strict_json.finite(line.decode("ascii"))
                told = entry["outcomes"].items()
                if first:
                    told = [(way, packing.unpack(body, room)) for way, body in told]
                outcomes = {way: outcome_files.outcome_of(body) for way, body in told}
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
    if runs and not _same(
        runs, filter(lambda one: plan.takes(one // run_values.TOGETHER), range(run_values.runs(plan)))
    ):
        return False
    every = _same([asked.number for asked in answers if asked.kind == "graph"], graphs(plan))
    return every or not any(one.case.method == "partition" for one in plan.instances)


def graphs(plan: Plan) -> Iterator[int]:
    """The numbers of the random graphs that a plan asks about."""
    return filter(lambda number: plan.takes(number // random_graphs.TOGETHER), range(plan.graphs))


def _same(given: Sequence[int], expected: Iterator[int]) -> bool:
    """Whether numbers are those expected, of which there may be any number where somebody forged a plan."""
    return all(one == other for one, other in itertools.zip_longest(given, expected))
