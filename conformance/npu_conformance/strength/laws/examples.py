"""Leaves a smallest random graph for each law that one broke, as .pbtxt with the request that shows it."""

from __future__ import annotations

import json
import os
from typing import Callable, Mapping, Sequence

from npu_conformance.files import output
from npu_conformance.judging.records import Record
from npu_conformance.strength.laws import run_laws, timing_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.graphs import Step, request
from npu_conformance.strength.laws.kinds import random_graphs, run_values, step_times
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding
from npu_conformance.strength.laws.shrink import shrink
from npu_conformance.strength.laws.table import law_of
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph, write_graph

__all__ = ["FRESH_SHRINKS", "SHOWN", "SHRINKS", "leave"]

SHRINKS = 300  # requests spent on making one example small (assumed)
FRESH_SHRINKS = 40  # of those that need a fresh worker each, or a session of TensorFlow (assumed)

#: The ways of asking that laws about two answers compare.
_WAYS = {"renaming": ("first", "renamed"), "repeating": ("first", "repeated")}


def leave(asker: Asker, record: Record, finding: LawFinding) -> None:
    """An example of a law that a random graph broke, in the folder of the plan.

    Raises:
        NpuError: OUTPUT, BACKEND_UNAVAILABLE.
    """
    _MADE_BY[finding.asked.kind](asker, record, finding)


def _of_graph(asker: Asker, record: Record, finding: LawFinding) -> None:
    law, edition, number = law_of(record.instance), record.instance.edition, finding.asked.number
    ways = _WAYS.get(law.name, ("first",))

    def breaks(steps: Sequence[Step]) -> bool:
        if request(steps) is None:
            return False
        outcomes = {}
        try:
            for way in ways:
                if way == "repeated":
                    asker.worker.fresh()
                outcomes[way] = random_graphs.once(asker, steps, number, edition, renamed=way == "renamed")
        except NpuError:
            return False  # the backend does not start any more
        return law.name in random_graphs.faults(steps, asker.claims, Asked(number, edition, outcomes))

    steps = random_graphs.drawn(asker.plan, number)
    if breaks(steps):
        steps = shrink(steps, breaks, FRESH_SHRINKS if law.name == "repeating" else SHRINKS)
    asker.forgive()
    asked = request(steps)
    assert asked is not None
    words = [f"--feed {feed}" for feed in asked.feeds] + [f"--fetch {fetch}" for fetch in asked.fetches]
    options = [f"-o {name}={value}" for name, value in random_graphs.given(number, steps).items()]
    command = ["--edition", edition, "--surface", random_graphs.surface(number, edition), *options, *words]
    name = _name(record)
    told = [f"Found as graph {asker.plan.seed}/{number}; asked as by:"]
    _write(asker, name, law, asked.graph, [*told, f"npu-conformance partition {name} {' '.join(command)}"])


def _of_run(asker: Asker, record: Record, finding: LawFinding) -> None:
    law, number, edition = law_of(record.instance), finding.asked.number, finding.asked.edition
    ways = list(dict.fromkeys(["first", run_values.way_of(finding.fault)]))

    def breaks(steps: Sequence[Step]) -> bool:
        made = run_laws.program(steps)
        if made is None or not set(ways) <= {"first", *run_laws.ways_of(made)}:
            return False
        try:
            outcomes = {way: run_values.once(asker, way, made, number, edition) for way in ways}
        except NpuError:
            return False  # the backend does not start any more
        return law.name in run_values.faults(made, Asked(number, edition, outcomes, "run"))

    steps = run_laws.draw(f"run/{asker.plan.seed}/{number}")
    if breaks(steps):
        steps = shrink(steps, breaks, FRESH_SHRINKS)
    asker.forgive()
    made = run_laws.program(steps) or run_values.program_of(asker.plan.seed, number)
    told = [f"{way}: {run_laws.words(run_laws.asking(way, made, number, edition))}" for way in ways]
    found = f"Found as run {asker.plan.seed}/{number}; asked for `run` with:"
    _write(asker, _name(record), law, made.graph, [found, *told])


def _of_step(asker: Asker, record: Record, finding: LawFinding) -> None:
    law, number, edition = law_of(record.instance), finding.asked.number, finding.asked.edition

    def breaks(steps: Sequence[Step]) -> bool:
        if timing_laws.timed(tuple(steps)) is None:
            return False
        try:
            outcomes = step_times.asked_of(asker, steps, number, edition, law.name == "time-placed")
        except NpuError:
            return False  # the backend does not start any more
        return law.name in step_times.faults(steps, asker.claims, Asked(number, edition, outcomes, "step"))

    steps = list(step_times.steps_of(asker.plan.seed, number))
    if breaks(steps):
        steps = shrink(steps, breaks, SHRINKS)
    asker.forgive()
    made = timing_laws.timed(tuple(steps))
    assert made is not None
    params = timing_laws.params_of(made, number, edition, "ranks" in asker.claims.features)
    told = json.dumps(params, sort_keys=True)
    found = f"Found as step {asker.plan.seed}/{number}; asked for `timeline` with:"
    _write(asker, _name(record), law, made.graph, [found, told])


def _name(record: Record) -> str:
    return f"{record.instance.case.id}-{record.instance.edition}.pbtxt"


def _write(asker: Asker, name: str, law: Law, graph: Graph, told: Sequence[str]) -> None:
    path = os.path.join(asker.plan.folder, name)
    write_graph(graph, path)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    head = [f"Breaks the law '{law.name}': {law.title}.", *told]
    output.write_file(path, "".join(f"# {line}\n" for line in head) + text)


_MADE_BY: Mapping[str, Callable[[Asker, Record, LawFinding], None]] = {
    random_graphs.Drawn.name: _of_graph,
    run_values.OfRuns.name: _of_run,
    step_times.OfSteps.name: _of_step,
}

#: The kinds of questions whose graphs are drawn, so that no case has them.
SHOWN = frozenset(_MADE_BY)
