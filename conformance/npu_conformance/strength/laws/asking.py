"""Asks a backend for the partitions of random graphs, and judges its answers by the laws.

Every graph is asked three times: as it is; with other names; and once more in a fresh worker, all graphs in the
opposite order. The answers are kept, so that they can be judged again.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library import twins
from npu_conformance.library.library import Case, Expect, Instance
from npu_conformance.protocol import client, requests
from npu_conformance.protocol import outcomes as outcome_files
from npu_conformance.running.lanes import Settings
from npu_conformance.strength.laws.checks import LAWS, Law, Question, facts, read
from npu_conformance.strength.laws.graphs import OPERATORS, Request, Step, draw, request
from npu_conformance.strength.laws.shrink import shrink
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph, graph_from_def, write_graph

__all__ = ["FILE", "Plan", "instances", "load", "records", "run"]

#: Where a report keeps the answers.
FILE = "laws.jsonl"
_AREA = "partition"
_SECONDS = 10.0  # for one small graph (assumed)
_BAD_ENDINGS = 10  # a backend that crashes or hangs this often is asked no more (assumed)
_SHOWN = 20  # graphs whose faults a record lists
_SHRINKS = 300  # requests spent on making one example small (assumed)
_FRESH_SHRINKS = 40  # of those that need a fresh worker each (assumed)


class Plan(NamedTuple):
    """What is asked: that many graphs of `seed`, in these editions by turns, and where examples of faults are left."""

    graphs: int
    seed: int
    instances: Tuple[Instance, ...]
    folder: str


class Asked(NamedTuple):
    """One graph and what came of it: outcome by way of asking ("first", "renamed", "repeated")."""

    number: int
    edition: str
    outcomes: Mapping[str, Optional[client.Outcome]]


class Finding(NamedTuple):
    """A graph that breaks a law, and how."""

    number: int
    fault: str
    outcome: Optional[client.Outcome]


def instances(editions: Sequence[str] = ()) -> List[Instance]:
    """Every law in each edition, as a case of the area `partition`."""
    chosen = [edition for edition in ("legacy", "current") if not editions or edition in editions]
    return [Instance(_case(law), edition, "") for law in LAWS.values() for edition in chosen]


def _case(law: Law) -> Case:
    return Case(
        id=f"law-{law.name}",
        title=law.title,
        area=_AREA,
        topic="laws",
        requirements=law.requirements,
        readings=(),
        level="must",
        editions=("legacy", "current"),
        method="partition",
        needs=frozenset(law.needs) | {"partition"},
        twins=(),
        control="",
        requires=(),
        cost="fast",
        why="A law holds of every graph, so random ones are asked; a smallest one that breaks it lies in the report.",
        params={},
        expect=Expect((), {}, (), (), (), {}, {}, (), None),
    )


def law_of(instance: Instance) -> Law:
    """The law that an instance of `instances` stands for."""
    return LAWS[instance.case.id[len("law-") :]]


# -- one graph --------------------------------------------------------------------------------------------------------


def _drawn(plan: Plan, number: int) -> List[Step]:
    """The steps of a graph; those that leave placeholders alone get an operator."""
    steps = draw(f"{plan.seed}/{number}")
    return steps if request(steps) is not None else [*steps, Step("unary", (0, 0, 0))]


def _mixed(number: int) -> bool:
    return number % 3 != 0  # full offload is simpler: a third is enough


def _params(asked: Request, number: int, edition: str, claims: judge.Claims) -> Dict[str, Any]:
    params: Dict[str, Any] = {
        "surface": "session",
        "edition": edition,
        "values": {"mix_compile_mode": _mixed(number)},
        "feeds": list(asked.feeds),
        "fetches": list(asked.fetches),
    }
    if "op_list" in claims.features:
        params["op_list"] = OPERATORS
    return params


def _renamed(asked: Request) -> Tuple[Graph, twins.Twin]:
    """The graph with other names, but for what is fed and fetched: their order is that of their names."""
    definition = asked.graph.to_def()
    kept = {name.partition(":")[0] for name in (*asked.feeds, *asked.fetches)}
    names, originals = twins.rename(definition, kept)
    return graph_from_def(definition), twins.Twin("", names, originals)


class _Asker:
    """Asks one backend, in one worker at a time."""

    def __init__(self, plan: Plan, worker: client.Client, claims: judge.Claims) -> None:
        self.plan, self.worker, self.claims = plan, worker, claims
        self.bad = 0

    def once(self, steps: Sequence[Step], number: int, edition: str, renamed: bool = False) -> Optional[client.Outcome]:
        """What came of asking, in the graph's own names; None where the backend is asked no more."""
        if self.bad >= _BAD_ENDINGS:
            return None
        asked = request(steps)
        assert asked is not None
        graph, twin = _renamed(asked) if renamed else (asked.graph, None)
        folder = os.path.join(self.worker.folder, "case")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "graph.pb")
        write_graph(graph, path)
        params = {**_params(asked, number, edition, self.claims), "graph": path}
        outcome: client.Outcome
        if self.worker.served:
            outcome = self.worker.request("reset", {}, _SECONDS)
            if isinstance(outcome, (client.Crashed, client.TimedOut, client.Nonsense)):
                self.worker.fresh()
        outcome = self.worker.request("partition", params, _SECONDS)
        self.bad += isinstance(outcome, (client.Crashed, client.TimedOut, client.Nonsense))
        return requests.read_back(requests.without_paths(outcome, self.worker.folder, folder), twin)

    def way(self, way: str, steps: Sequence[Step], number: int, edition: str) -> Optional[client.Outcome]:
        """One way of asking, for shrinking: "repeated" asks in a fresh worker."""
        if way == "repeated":
            self.worker.fresh()
        return self.once(steps, number, edition, renamed=way == "renamed")


# -- judging ----------------------------------------------------------------------------------------------------------


def _faults(steps: Sequence[Step], claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the answers to one graph break laws, by law."""
    found: Dict[str, Finding] = {}

    def broken(law: str, fault: str, outcome: Optional[client.Outcome]) -> None:
        found.setdefault(law, Finding(asked.number, fault, outcome))

    answers = {}
    for way, outcome in asked.outcomes.items():
        if isinstance(outcome, client.Answered):
            answers[way] = outcome
        else:
            broken("answered", client.describe(outcome) if outcome else "asked no more: it ended too often", outcome)
    if "first" not in answers:
        return found  # there is nothing to judge, and a law says so
    drawn = request(steps)
    assert drawn is not None
    question = Question(drawn.closed, OPERATORS if "op_list" in claims.features else None, _mixed(asked.number))
    reading = read(question, answers["first"].ok, claims.features)
    for law in LAWS.values():
        if law.faults is not None and claims.features.issuperset(law.needs):
            for fault in law.faults(reading)[:1]:
                broken(law.name, fault, answers["first"])
    said = set(facts(reading))
    for law_name, way in (("renaming", "renamed"), ("repeating", "repeated")):
        if way in answers:
            other = set(facts(read(question, answers[way].ok, claims.features)))
            for fact in sorted(said - other)[:1]:
                broken(law_name, f"{way}, it says no more: {fact}", answers[way])
            for fact in sorted(other - said)[:1]:
                broken(law_name, f"{way}, it says: {fact}", answers[way])
    return found


def _findings(plan: Plan, claims: judge.Claims, answers: Sequence[Asked]) -> Dict[Tuple[str, str], List[Finding]]:
    """Graphs that break a law, by law and edition."""
    found: Dict[Tuple[str, str], List[Finding]] = {}
    for asked in answers:
        for law, finding in _faults(_drawn(plan, asked.number), claims, asked).items():
            found.setdefault((law, asked.edition), []).append(finding)
    return found


def records(plan: Plan, claims: judge.Claims, answers: Sequence[Asked]) -> List[Record]:
    """A record of every law; the same answers give the same records."""
    made = []
    broken = _findings(plan, claims, answers)
    for instance in plan.instances:
        law = law_of(instance)
        lacking = judge.applicable(instance, claims)
        if lacking is not None:
            made.append(_record(instance, "unsupported", f"the backend does not claim {lacking}"))
            continue
        count = sum(1 for asked in answers if asked.edition == instance.edition)
        found = broken.get((law.name, instance.edition), [])
        if not count:
            made.append(_record(instance, "not-run", "no graph was asked in this edition; ask for more"))
        elif not found:
            made.append(_record(instance, "pass", "", facts=(f"law {law.name} holds of {count} graphs",)))
        else:
            detail = f"broken by {len(found)} of {count} graphs: {found[0].fault}"
            differences = tuple(
                judge.Difference("law", f"graph {plan.seed}/{one.number}: {one.fault}", law.name)
                for one in found[:_SHOWN]
            )
            made.append(_record(instance, "fail", detail, differences))
    return made


def _record(
    instance: Instance,
    status: str,
    detail: str,
    differences: Tuple[judge.Difference, ...] = (),
    facts: Tuple[str, ...] = (),
) -> Record:
    signature = "" if status == "pass" else f"partition/law/{instance.case.id[len('law-') :]}"
    if status in ("unsupported", "not-run"):
        signature = f"partition/{status}"
    return Record(instance, judge.Result(status, detail, differences, facts, signature), None, "", "", 0.0)


# -- running ----------------------------------------------------------------------------------------------------------


def run(
    plan: Plan,
    spec: str,
    settings: Settings,
    claims: judge.Claims,
    progress: Optional[Callable[[Any], None]] = None,
) -> List[Record]:
    """Ask, judge, make examples small, and leave answers and examples in the plan's folder.

    Raises:
        NpuError: BACKEND_UNAVAILABLE, OUTPUT.
    """
    usable = [one for one in plan.instances if judge.applicable(one, claims) is None]
    if not usable:
        return records(plan, claims, [])
    editions = list(dict.fromkeys(one.edition for one in usable))
    with settings.client(spec) as worker:
        asker = _Asker(plan, worker, claims)
        answers = _ask_all(plan, asker, editions, progress)
        asker.bad = 0
        _write(os.path.join(plan.folder, FILE), answers)
        made = records(plan, claims, answers)
        broken = _findings(plan, claims, answers)
        for record in made:
            if record.result.status == "fail":
                law, edition = law_of(record.instance), record.instance.edition
                _example(plan, asker, record, broken[law.name, edition][0].number, claims)
    return made


def _ask_all(
    plan: Plan, asker: _Asker, editions: Sequence[str], progress: Optional[Callable[[Any], None]]
) -> List[Asked]:
    found: Dict[int, Dict[str, Optional[client.Outcome]]] = {}
    edition = {number: editions[number % len(editions)] for number in range(plan.graphs)}
    for number in range(plan.graphs):
        steps = _drawn(plan, number)
        found[number] = {
            "first": asker.once(steps, number, edition[number]),
            "renamed": asker.once(steps, number, edition[number], renamed=True),
        }
        if progress is not None:
            progress(None)
    asker.worker.fresh()
    for number in reversed(range(plan.graphs)):
        found[number]["repeated"] = asker.once(_drawn(plan, number), number, edition[number])
    return [Asked(number, edition[number], found[number]) for number in range(plan.graphs)]


def _example(plan: Plan, asker: _Asker, record: Record, number: int, claims: judge.Claims) -> None:
    """Leave a smallest graph that breaks the law, as .pbtxt with the request that shows it."""
    law, edition = law_of(record.instance), record.instance.edition
    ways = {"renaming": ("first", "renamed"), "repeating": ("first", "repeated")}.get(law.name, ("first",))

    def breaks(steps: Sequence[Step]) -> bool:
        if request(steps) is None:
            return False
        try:
            outcomes = {way: asker.way(way, steps, number, edition) for way in ways}
        except NpuError:
            return False  # the backend does not start any more
        return law.name in _faults(steps, claims, Asked(number, edition, outcomes))

    steps = _drawn(plan, number)
    if breaks(steps):
        steps = shrink(steps, breaks, _FRESH_SHRINKS if law.name == "repeating" else _SHRINKS)
    asker.bad = 0
    name = f"{record.instance.case.id}-{edition}.pbtxt"
    asked = request(steps)
    assert asked is not None
    path = os.path.join(plan.folder, name)
    write_graph(asked.graph, path)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    words = [f"--feed {feed}" for feed in asked.feeds] + [f"--fetch {fetch}" for fetch in asked.fetches]
    head = f"# Breaks the law '{law.name}': {law.title}.\n# Found as graph {plan.seed}/{number}; asked as by:\n"
    mixed = f"-o mix_compile_mode={_mixed(number)}"
    head += f"# npu-conformance partition {name} --edition {edition} {mixed} {' '.join(words)}\n"
    output.write_file(path, head + text)


# -- the file of answers ----------------------------------------------------------------------------------------------


def _write(path: str, answers: Sequence[Asked]) -> None:
    lines = []
    for asked in answers:
        outcomes = {way: outcome_files.outcome_json(outcome) for way, outcome in asked.outcomes.items()}
        lines.append(output.dumps({"number": asked.number, "edition": asked.edition, "outcomes": outcomes}))
    output.write_file(path, "\n".join(lines) + "\n")


def load(folder: str) -> List[Asked]:
    """The answers that a report keeps.

    Raises:
        ValueError: they cannot be read.
    """
    found = []
    path = os.path.join(folder, FILE)
    try:
        if not os.path.isfile(path):
            raise ValueError("there is no such file")
        with open(path, encoding="ascii") as stream:
            for line in stream:
                entry = json.loads(line)
                outcomes = {way: outcome_files.outcome_of(body) for way, body in entry["outcomes"].items()}
                found.append(Asked(entry["number"], entry["edition"], outcomes))
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    return found
