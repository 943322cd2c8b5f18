"""Asks a backend about random graphs, and judges its answers by the laws.

Every graph is asked as it is, every fourth with other names as well, and once more in a fresh worker, in
the opposite order. Of some the dtypes are asked as well, the graphs of the cases are asked once more, options of their
cases in company, and small graphs are run. The answers are kept, so that they can be judged again.
"""

from __future__ import annotations

import functools
import json
import os
import re
import zlib
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library import twins
from npu_conformance.library.library import Case, Expect, Instance, Library
from npu_conformance.protocol import client, requests
from npu_conformance.protocol import outcomes as outcome_files
from npu_conformance.running.lanes import Settings
from npu_conformance.strength.laws import checks, company, conditions, dealing, effects, precise, running
from npu_conformance.strength.laws.checks import Law, Question, facts, read
from npu_conformance.strength.laws.graphs import OPERATORS, Request, Step, draw, request
from npu_conformance.strength.laws.shrink import shrink
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph, close_over, graph_from_def, load_graph, write_graph

__all__ = ["DEFAULT", "FILE", "LAWS", "Plan", "Questions", "instances", "law_of", "load", "records", "run", "whole"]

#: Random graphs of a run that does not say how many (assumed: enough for what is common, in two seconds).
DEFAULT = 200

#: Every law by name, in the order of reports.
LAWS: Mapping[str, Law] = {
    law.name: law
    for law in (
        *checks.LAWS.values(),
        *precise.PRECISION,
        *conditions.LAWS,
        *company.LAWS,
        *effects.EFFECTS,
        *running.RUN,
    )
}

#: Where a report keeps the answers.
FILE = "laws.jsonl"
_SMALL = 3  # companies of options that one part makes small (assumed)
_SECONDS = 10.0  # for one small graph (assumed)
#: So many parts the questions are dealt to, one after the other; what comes of a part depends on none of the others,
#: nor on the worker that it meets (assumed: enough for the processors of one machine).
_PARTS = 8
_BAD_ENDINGS = 2  # a backend that crashes or hangs this often in one part is asked no more in it (assumed)
_SHOWN = 20  # graphs whose faults a record lists
_SHRINKS = 300  # requests spent on making one example small (assumed)
_SMALLER = 10  # questions of one part whose conditions are dropped one by one, once they show a fault (assumed)
_FRESH_SHRINKS = 40  # of those that need a fresh worker each, or a session of TensorFlow (assumed)
_RUN_SECONDS = 60.0  # for a small graph that TensorFlow runs, which may have to be imported first (assumed)


class Shelved(NamedTuple):
    """What is asked of a library beside its cases: graphs with their options, each once; companies of options, and the
    questions they are of; graphs of precision cases with mode and edition; the same with an edition, for lists; cases
    under conditions; those of files and time."""

    case: Tuple[Instance, ...] = ()
    options: Tuple[company.Company, ...] = ()
    members: Tuple[Instance, ...] = ()
    moded: Tuple[Tuple[str, str, str], ...] = ()
    listed: Tuple[Tuple[str, str], ...] = ()
    effects: Tuple[effects.Kept, ...] = ()
    dealt: Tuple[dealing.Dealt, ...] = ()


class Plan(NamedTuple):
    """What is asked: that many graphs of `seed`, in these editions by turns, and where examples of faults are left.

    library: whose graphs and option values are asked about, too.
    """

    graphs: int
    seed: int
    instances: Tuple[Instance, ...]
    folder: str
    library: Union[Library, Shelved, None] = None


class Asked(NamedTuple):
    """One question and what came of it: outcome by way of asking ("first", "renamed", "repeated", …).

    kind: "graph" for the partition of a random graph, "precise" for its dtypes, "moded" for those of a case's graph in
    some mode, "listed" with a type more on a list, "case" for what an instance of a case asks, "dealt" for the same
    under conditions, "options" for a company of options, "effects" for a case of files or time under conditions,
    "run" for the values of a graph; number: of the graph, or the
    place among the instances.
    """

    number: int
    edition: str
    outcomes: Mapping[str, Optional[client.Outcome]]
    kind: str = "graph"

    @property
    def name(self) -> str:
        return f"{'graph' if self.kind == 'graph' else self.kind} {self.number}"


class Finding(NamedTuple):
    """A question that breaks a law, and how; `unread` where the suite could not read the answer, its own fault."""

    asked: Asked
    fault: str
    outcome: Optional[client.Outcome]
    unread: bool = False

    def named(self, plan: Plan) -> str:
        """The question in words."""
        if self.asked.kind in ("run", "options"):
            return f"{self.asked.kind} {plan.seed}/{self.asked.number}"
        if self.asked.kind in ("graph", "precise"):
            return f"graph {plan.seed}/{self.asked.number}"
        if self.asked.kind == "moded":
            path, mode, edition = _shelved(plan).moded[self.asked.number]
            return f"{os.path.basename(path)} with {mode} in {edition}"
        if self.asked.kind == "listed":
            path, edition = _shelved(plan).listed[self.asked.number]
            return f"{os.path.basename(path)} in {edition}"
        if self.asked.kind == "effects":
            return _shelved(plan).effects[self.asked.number].instance.id
        if self.asked.kind == "dealt":
            return self.fault.partition(": ")[0]
        return _shelved(plan).case[self.asked.number].id


def instances(editions: Sequence[str] = ()) -> List[Instance]:
    """Every law in each edition, as a case of the area of its method."""
    chosen = [edition for edition in ("legacy", "current") if not editions or edition in editions]
    return [Instance(_case(law), edition, "") for law in LAWS.values() for edition in chosen]


def apart(one: Instance) -> bool:
    """Whether no question of the laws is the same as an instance of a case: it may be asked before they are known."""
    return one.case.method not in dealing.METHODS


def _case(law: Law) -> Case:
    return Case(
        id=f"law-{law.name}",
        title=law.title,
        area=law.area or law.method,
        topic="laws",
        requirements=law.requirements,
        readings=(),
        level="must",
        editions=("legacy", "current"),
        method=law.method,
        needs=frozenset(law.needs) | {law.method},
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


# -- what is asked beside random graphs ------------------------------------------------------------------------------


_SHELVED: Dict[Tuple[str, int, int], Shelved] = {}


def _shelved(plan: Plan) -> Shelved:
    """What a plan asks of its library; found once."""
    if plan.library is None or isinstance(plan.library, Shelved):
        return plan.library or Shelved()
    rounds = max(plan.graphs // DEFAULT, 1)
    key = (plan.library.digest, plan.seed, rounds)
    if key not in _SHELVED:
        _SHELVED.clear()
        members, companies = company.drawn(plan.library, plan.seed, rounds)
        paths = _precise_graphs(plan.library)
        listed = [(path, ("legacy", "current")[number % 2]) for number, path in enumerate(paths)]
        graphs = _graphs_of(plan.library)
        dealt = dealing.deal(plan.library, plan.seed, _PARTS, rounds)
        moded = _moded_of(paths, graphs)
        _SHELVED[key] = Shelved(
            tuple(graphs),
            tuple(companies),
            tuple(members),
            tuple(moded),
            tuple(listed),
            (*effects.questions(plan.library, plan.seed, rounds), *effects.refused(plan.library, f"{plan.seed}")),
            tuple(dealt),
        )
    return _SHELVED[key]


def _graphs_of(library: Library) -> List[Instance]:
    """Each graph with its options once."""
    chosen: Dict[str, Instance] = {}
    for one in library.instances():
        case = one.case
        plain = case.method in dealing.METHODS and not one.twin and case.expect.rejected is None
        if plain and case.params.get("policy", "documented") == "documented":
            values = sorted(case.params.items(), key=repr)
            chosen.setdefault(repr((case.method, values)), one)
    return list(chosen.values())


def _precise_graphs(library: Library) -> List[str]:
    """The graphs of precision cases."""
    cases = [case for case in library.cases.values() if case.method == "precision"]
    return list(dict.fromkeys(case.params["graph"] for case in cases if "feeds" not in case.params))


def _plain(case: Case) -> bool:
    """Whether a precision case says no more than its mode, and where the graph runs."""
    values = {"precision_mode", "graph_run_mode", "mix_compile_mode"}
    return values.issuperset(case.params["values"]) and "ops_info" not in case.params


def _moded_of(paths: Sequence[str], graphs: Sequence[Instance]) -> List[Tuple[str, str, str]]:
    """Every graph of a precision case that says no more than its mode, in every mode, as (path, mode, edition): in each
    edition, or, where both say the same of a mode, in one by turns; but for what is asked of `graphs` as it is."""
    cases = [(one.case, one.edition) for one in graphs if one.case.method == "precision" and _plain(one.case)]
    plain = {case.params["graph"] for case, _ in cases}
    asked = {(case.params["graph"], case.params["values"].get("precision_mode"), edition) for case, edition in cases}
    turns = {path: zlib.crc32(os.path.basename(path).encode("utf-8", "surrogateescape")) for path in paths}
    return [
        (path, mode, edition)
        for path in paths
        for edition in precise.MODES
        for place, mode in enumerate(precise.MODES[edition])
        if path in plain
        and (path, mode, edition) not in asked
        and (mode not in precise.ALIKE or edition == ("legacy", "current")[(turns[path] // _PARTS + place) % 2])
    ]


#: Of the random graphs: every how many are asked with other names, in a fresh worker, and for dtypes; and for how many
#: one is run (assumed: a run takes a hundred times as long).
_RENAMED, _REPEATED, _PRECISE, _RUN = 4, 4, 6, 20

#: One random graph of so many is asked without an operator list, so that the backend's own decides (assumed).
_UNLISTED = 8


def _runs(plan: Plan) -> int:
    return max(2, plan.graphs // _RUN)


@functools.lru_cache(maxsize=256)
def _program_of(seed: int, number: int) -> running.Program:
    steps = running.draw(f"run/{seed}/{number}")
    made = running.program(steps) or running.program([*steps, Step("unary", (0, 0, 0))])
    assert made is not None
    return made


# -- one graph --------------------------------------------------------------------------------------------------------


def _drawn(plan: Plan, number: int) -> List[Step]:
    """The steps of a graph; those that leave placeholders alone get an operator."""
    return list(_drawn_of(plan.seed, number))


@functools.lru_cache(maxsize=512)
def _drawn_of(seed: int, number: int) -> List[Step]:
    steps = draw(f"{seed}/{number}")
    return steps if request(steps) is not None else [*steps, Step("unary", (0, 0, 0))]


def _mixed(number: int) -> bool:
    return number % 3 != 0  # full offload is simpler: a third is enough


def _params(asked: Request, number: int, edition: str, claims: judge.Claims) -> Dict[str, Any]:
    params: Dict[str, Any] = {
        "surface": _surface(number, edition),
        "edition": edition,
        "values": {**_run_mode(number), "mix_compile_mode": _mixed(number)},
        "feeds": list(asked.feeds),
        "fetches": list(asked.fetches),
    }
    if _listed(number, claims):
        params["op_list"] = OPERATORS
    return params


def _surface(number: int, edition: str) -> str:
    """Where the options stand; operators are where they are on either surface. No document has NPURunConfig's earlier
    table."""
    return "runconfig" if edition == "current" and number % 4 == 3 else "session"


def _run_mode(number: int) -> Dict[str, int]:
    """Online inference by turns: no document makes a division depend on it."""
    return {"graph_run_mode": 0} if number % 5 == 2 else {}


def _listed(number: int, claims: judge.Claims) -> bool:
    """Whether a random graph is asked with an operator list; without one the backend's own decides."""
    return "op_list" in claims.features and number % _UNLISTED != _UNLISTED - 1


def _renamed(asked: Request) -> Tuple[Graph, twins.Twin]:
    """The graph with other names, but for what is fed and fetched: their order is that of their names."""
    definition = asked.graph.to_def()
    kept = {name.partition(":")[0] for name in (*asked.feeds, *asked.fetches)}
    names, originals = twins.rename(definition, kept)
    return graph_from_def(definition), twins.Twin("", names, originals)


class _Asker:
    """Asks the questions of one part, or all, in one worker at a time.

    Args:
        part: which part; None for the questions of all.
        progress: called after every random graph.
    """

    def __init__(
        self,
        plan: Plan,
        worker: client.Client,
        claims: judge.Claims,
        part: Optional[int] = None,
        progress: Optional[Callable[[], None]] = None,
    ) -> None:
        self.plan, self.worker, self.claims, self.part, self.progress = plan, worker, claims, part, progress
        self.bad = 0

    def asks(self, number: int) -> bool:
        """Whether the question of this number, of whatever kind, is one of its part."""
        return self.part is None or number % _PARTS == self.part

    def asks_about(self, path: str) -> bool:
        """Whether the questions about this graph of the library are of its part: all are, so that it is read once."""
        return self.asks(dealing.part_of(path, _PARTS))

    def once(
        self, steps: Sequence[Step], number: int, edition: str, renamed: bool = False, mode: str = ""
    ) -> Optional[client.Outcome]:
        """What came of asking, in the graph's own names; None where the backend is asked no more. With a `mode`, of
        asking for dtypes."""
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
        if mode:
            run_mode = {"graph_run_mode": 0} if mode == "force_fp16" else {}
            params["values"] = {**params["values"], **run_mode, "precision_mode": mode}
        outcome = self._asked("precision" if mode else "partition", params)
        if outcome is None:
            return None
        return requests.read_back(requests.without_paths(outcome, self.worker.folder, folder), twin)

    def method(self, method: str, params: Mapping[str, Any]) -> Optional[client.Outcome]:
        """What came of one request; None where the backend is asked no more."""
        if self.bad >= _BAD_ENDINGS:
            return None
        outcome = self._asked(method, params, _RUN_SECONDS if method == "run" else _SECONDS)
        if outcome is None:
            return None
        return requests.without_paths(outcome, self.worker.folder, self.worker.folder)

    def dealt(
        self, dealt: dealing.Dealt, way: dealing.Way, before: Optional[Sequence[dealing.Dealt]] = None
    ) -> Optional[client.Outcome]:
        """What came of a case under conditions; None where the backend is asked no more. `before`: what is to be asked
        before it, where one of its conditions is that it comes after something; None where that has just been asked."""
        if self.bad >= _BAD_ENDINGS:
            return None
        after = conditions.AFTER in way.conditions
        if after and before is not None:
            for place, other in enumerate(before):
                self.dealt(other, dealing.way_of(dealing.WHOLE, other), None if place else ())
            after = bool(before)
        first = dealt.graphs[way.graphs[0]][0]
        folder = os.path.join(self.worker.folder, "case")
        os.makedirs(folder, exist_ok=True)
        params = requests.prepare(first, folder).params
        if way.graphs != (0,) or way.conditions:
            listed = "op_list" in self.claims.features
            params, content = dealing.request(dealt, way, params, listed, _closed)
            params["graph"] = os.path.join(folder, f"graph.{dealing.form(way)}")
            with open(params["graph"], "wb") as file:
                file.write(content)
        outcome = self._asked(first.case.method, params, after=after)
        return None if outcome is None else requests.without_paths(outcome, self.worker.folder, folder)

    def run(self, asked: running.Asking) -> Optional[client.Outcome]:
        """What came of running a graph in one way; None where the backend is asked no more."""
        if self.bad >= _BAD_ENDINGS:
            return None
        folder = os.path.join(self.worker.folder, "case")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "graph.pb")
        write_graph(asked.graph, path)
        outcome = self._asked("run", {**asked.params, "graph": path}, _RUN_SECONDS)
        if outcome is None:
            return None
        return requests.read_back(requests.without_paths(outcome, self.worker.folder, folder), asked.twin)

    def _asked(
        self, method: str, params: Mapping[str, Any], seconds: float = _SECONDS, after: bool = False
    ) -> Optional[client.Outcome]:
        """One request; the worker forgets what was before, unless this comes right `after` it. None where it does not
        start any more."""
        known = self.worker.known(method, params)
        if known is not None:
            return known
        try:
            if self.worker.served and not after:
                outcome = self.worker.request("reset", {}, _SECONDS)
                if isinstance(outcome, (client.Crashed, client.TimedOut, client.Nonsense)):
                    self.worker.fresh()
            outcome = self.worker.request(method, params, seconds)
        except NpuError as error:
            if error.code != "BACKEND_UNAVAILABLE":
                raise
            self.bad = _BAD_ENDINGS
            return None
        self.bad += isinstance(outcome, (client.Crashed, client.TimedOut, client.Nonsense))
        return outcome

    def way(self, way: str, steps: Sequence[Step], number: int, edition: str) -> Optional[client.Outcome]:
        """One way of asking, for shrinking: "repeated" asks in a fresh worker."""
        if way == "repeated":
            self.worker.fresh()
        return self.once(steps, number, edition, renamed=way == "renamed")


#: The attribute of an operator that TensorFlow composed of several.
_TAKEN_APART = "op_names"


# -- judging ----------------------------------------------------------------------------------------------------------


def _of_case(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the answer for the graph of a case breaks laws, by law; whether it answers at all is the case's matter."""
    outcome = asked.outcomes.get("first")
    if not isinstance(outcome, client.Answered):
        return {}
    case = _shelved(plan).case[asked.number].case
    params = case.params
    graph = _closed(params["graph"], tuple(params.get("feeds", ())), tuple(params.get("fetches", ())))
    if any(_TAKEN_APART in node.attrs for node in graph.nodes):
        return {}  # operators that are taken apart have other names
    found: Dict[str, Finding] = {}
    reading: Any
    if case.method == "partition":
        values = case.params["values"]
        mixed = values.get("mix_compile_mode") in (True, {"field": "b", "value": True})
        reading = read(Question(graph, None, mixed, "in_out_pair" in values), outcome.ok, claims.features)
    else:
        values = case.params["values"]
        mode = str(values.get("precision_mode", "")) if _plain(case) else ""  # a file may say otherwise
        reading = precise.Precise(
            graph, mode, outcome.ok, asked.edition, "ops_info" not in params, "customize_dtypes" in values
        )
    for law in LAWS.values():
        if law.on_cases and law.method == case.method and law.faults and claims.features.issuperset(law.needs):
            for fault in law.faults(reading)[:1]:
                found[law.name] = Finding(asked, fault, outcome)
    return found


@functools.lru_cache(maxsize=256)
def _closed(path: str, feeds: Tuple[str, ...], fetches: Tuple[str, ...]) -> Graph:
    graph = load_graph(path)
    named, targets = [name for name in fetches if ":" in name], [name for name in fetches if ":" not in name]
    return close_over(graph, feeds, named, targets) if feeds or fetches else graph


def _of_moded(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the dtypes of a case's graph in another mode break laws, by law; a mode may demand what no kernel has."""
    outcome = asked.outcomes.get("first")
    found: Dict[str, Finding] = {}
    if isinstance(outcome, client.Answered):
        path, mode, _ = _shelved(plan).moded[asked.number]
        reading = precise.Precise(_closed(path, (), ()), mode, outcome.ok, asked.edition)
        for law in precise.PRECISION:
            if law.faults is not None and claims.features.issuperset(law.needs):
                for fault in law.faults(reading)[:1]:
                    found[law.name] = Finding(asked, fault, outcome)
    elif not isinstance(outcome, client.Rejected):
        words = client.describe(outcome) if outcome else "asked no more: it ended too often"
        found["precision-answered"] = Finding(asked, words, outcome)
    return found


def _of_dealt(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How a case's answer under conditions is not what the case says, told of the fewest that were found to do so; what
    the case does not say as it is, either, is its own matter."""
    dealt = dealing.usable_of(_shelved(plan).dealt[asked.number], claims)
    failing = []
    for text, outcome in asked.outcomes.items():
        way = dealing.way_of(text, dealt)
        told = dealing.difference(dealt, way, outcome, claims)
        if told and not way.conditions and len(way.graphs) == 1:
            return {}
        if told:
            failing.append((len(way.graphs) + len(way.conditions), text, told, outcome))
    if not failing:
        return {}
    _, text, told, outcome = min(failing, key=lambda one: one[:2])
    fault = f"{told.partition(': ')[0]}: {dealing.words(dealt, dealing.way_of(text, dealt))}: {told.partition(': ')[2]}"
    return {f"{dealt.first.case.method}-conditions": Finding(asked, fault, outcome)}


def _of_listed(plan: Plan, asked: Asked) -> Dict[str, Finding]:
    """How dtypes go the wrong way when a type is put on a list; a list may demand what no kernel has."""
    found: Dict[str, Finding] = {}
    path, edition = _shelved(plan).listed[asked.number]
    graph = _closed(path, (), ())
    listed = precise.listable(graph, plan.seed + asked.number)
    answers = {}
    for way, outcome in asked.outcomes.items():
        if way == _LIBRARY:
            continue
        if isinstance(outcome, client.Answered):
            answers[way] = precise.Precise(graph, "allow_mix_precision", outcome.ok, edition)
        elif not isinstance(outcome, client.Rejected):
            words = client.describe(outcome) if outcome else "asked no more: it ended too often"
            found.setdefault("precision-answered", Finding(asked, words, outcome))
    for way in precise.LISTS:
        if "first" in answers and way in answers and listed is not None:
            for fault in precise.moved(answers["first"], answers[way], way, listed)[:1]:
                found.setdefault("precision-lists", Finding(asked, f"{way}: {fault}", asked.outcomes[way]))
    library = asked.outcomes.get(_LIBRARY)
    if "first" in answers and isinstance(library, client.Answered):
        for fault in precise.unlike_the_library(answers["first"], library.ok)[:1]:
            found["precision-library"] = Finding(asked, fault, asked.outcomes["first"])
    return found


def _of_options(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the answers to a company of options break laws, by law."""
    there, chosen = _company(plan, claims, asked.number), _shelved(plan).members
    return _by_name(asked, company.faults(there, chosen, asked.outcomes, claims) if there is not None else ())


def _company(plan: Plan, claims: judge.Claims, number: int) -> Optional[company.Company]:
    """A company of options without those who need what the backend does not claim; None where nobody is left."""
    shelved = _shelved(plan)
    one = shelved.options[number]
    return one.of([place for place in one.members if judge.applicable(shelved.members[place], claims) is None])


def _by_name(asked: Asked, found: Iterable[company.Fault]) -> Dict[str, Finding]:
    return {fault.law: Finding(asked, fault.text, fault.outcome) for fault in found}


def _of_precise(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the dtypes of a random graph break laws, by law."""
    found: Dict[str, Finding] = {}
    answers = {}
    for way, outcome in asked.outcomes.items():
        if isinstance(outcome, client.Answered):
            answers[way] = outcome
        elif not isinstance(outcome, client.Rejected):  # a mode may demand what no kernel has
            words = client.describe(outcome) if outcome else "asked no more: it ended too often"
            found.setdefault("precision-answered", Finding(asked, words, outcome))
    drawn = request(_drawn(plan, asked.number))
    assert drawn is not None
    if "first" in answers:
        mode = _mode(asked.number, asked.edition)
        reading = precise.Precise(drawn.closed, mode, answers["first"].ok, asked.edition)
        for law in precise.PRECISION:
            if law.faults is not None and claims.features.issuperset(law.needs):
                for fault in law.faults(reading)[:1]:
                    found[law.name] = Finding(asked, fault, answers["first"])
    if len(answers) == 2:
        said, other = set(precise.facts(answers["first"].ok)), set(precise.facts(answers["renamed"].ok))
        for fact in sorted(said ^ other)[:1]:
            words = "no more" if fact in said else "besides"
            found["precision-renaming"] = Finding(asked, f"renamed, it says {words}: {fact}", answers["renamed"])
    return found


def _of_run(made: running.Program, asked: Asked) -> Dict[str, Finding]:
    """How the values of a graph break laws, by law; a range that would be kept may be refused."""
    found: Dict[str, Finding] = {}
    answers: Dict[str, client.Answered] = {}
    for way in ("first", *running.WAYS):
        if way not in asked.outcomes:
            continue
        outcome = asked.outcomes[way]
        if isinstance(outcome, client.Answered):
            answers[way] = outcome
        elif not (isinstance(outcome, client.Rejected) and way == "with an operator kept on the host"):
            words = client.describe(outcome) if outcome else "asked no more: it ended too often"
            found.setdefault("run-answered", Finding(asked, f"{way}: {words}", outcome))
    told = {way: outcome.ok for way, outcome in answers.items()}
    for law, fault in running.faults(made, asked.number, asked.edition, told).items():
        found.setdefault(law, Finding(asked, fault, answers[_way_of(law, fault)]))
    return found


def _of_effects(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How a case does not hold under conditions: one of them where it does not hold under that alone, or else all."""
    kept = _shelved(plan).effects[asked.number]
    law = next(one.name for one in effects.EFFECTS if one.method == kept.instance.case.method)
    words = f"beside {', '.join(kept.conditions)}: " if kept.conditions else f"asked for {kept.instance.case.method}: "
    alone = asked.outcomes.get(_ALONE)
    if alone is not None and effects.fault(kept._replace(conditions=()), alone, claims):
        return {}  # that is the case's own matter
    for way, outcome in reversed(list(asked.outcomes.items())):
        if outcome is None:
            return {law: Finding(asked, words + "asked no more: it ended too often", None)}
        if way == _ALONE:
            continue
        laid = kept if way == "first" else kept._replace(conditions=(way,))
        fault = effects.fault(laid, outcome, claims)
        if fault:
            return {law: Finding(asked, (words if way == "first" else f"beside {way}: ") + fault, outcome)}
    return {}


def _way_of(law: str, fault: str) -> str:
    """The way of asking that a fault is about, which its words begin with."""
    return next((way for way in running.WAYS if fault.startswith((f"{way}, ", f"{way}: "))), "first")


def _mode(number: int, edition: str) -> str:
    modes = precise.MODES[edition]
    return modes[number // _PRECISE // 2 % len(modes)]


def _faults(steps: Sequence[Step], claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the answers to one graph break laws, by law."""
    found: Dict[str, Finding] = {}

    def broken(law: str, fault: str, outcome: Optional[client.Outcome]) -> None:
        found.setdefault(law, Finding(asked, fault, outcome))

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
    listed = OPERATORS if _listed(asked.number, claims) else None
    question = Question(drawn.closed, listed, _mixed(asked.number))
    reading = read(question, answers["first"].ok, claims.features)
    for law in checks.LAWS.values():
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


def _findings(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    """How the answers to one question break laws, by law."""
    try:
        return _judged(plan, claims, asked)
    except Exception as error:  # noqa: BLE001  whatever an answer does to us may cost its law, not the run
        law = next(law.name for law in LAWS.values() if _concerns(plan, law, asked))
        fault = f"reading the answer ended in {type(error).__name__}: {error}"
        return {law: Finding(asked, fault, asked.outcomes.get("first"), unread=True)}


def _judged(plan: Plan, claims: judge.Claims, asked: Asked) -> Dict[str, Finding]:
    if asked.kind == "graph":
        return _faults(_drawn(plan, asked.number), claims, asked)
    if asked.kind == "precise":
        return _of_precise(plan, claims, asked)
    if asked.kind == "moded":
        return _of_moded(plan, claims, asked)
    if asked.kind == "listed":
        return _of_listed(plan, asked)
    if asked.kind == "effects":
        return _of_effects(plan, claims, asked)
    if asked.kind == "dealt":
        return _of_dealt(plan, claims, asked)
    if asked.kind == "run":
        return _of_run(_program_of(plan.seed, asked.number), asked)
    return _of_case(plan, claims, asked) if asked.kind == "case" else _of_options(plan, claims, asked)


#: Questions that break a law, by law and edition.
Broken = Mapping[Tuple[str, str], List[Finding]]


def _by_law(judged: Iterable[Tuple[Asked, Mapping[str, Finding]]]) -> Broken:
    found: Dict[Tuple[str, str], List[Finding]] = {}
    for asked, broken in judged:
        for law, finding in broken.items():
            found.setdefault((law, asked.edition), []).append(finding)
    return found


def _concerns(plan: Plan, law: Law, asked: Asked) -> bool:
    """Whether the answers to a question are judged by a law."""
    if asked.kind == "dealt":
        return law.name == f"{_shelved(plan).dealt[asked.number].first.case.method}-conditions"
    if law.name in _OF_CONDITIONS:
        return False
    if asked.kind == "case":
        return law.on_cases and _shelved(plan).case[asked.number].case.method == law.method
    if law.name in _OF_EFFECTS or asked.kind == "effects":
        shown = asked.kind == "effects" and _shelved(plan).effects[asked.number].instance.case.method
        return law.name in _OF_EFFECTS and shown == law.method
    if asked.kind == "listed":
        here = ("precision-lists", "precision-answered")
        return law.name in here or (law.name == "precision-library" and _LIBRARY in asked.outcomes)
    return law.method == _METHODS[asked.kind] and law.name not in ("precision-lists", "precision-library")


def _has_answer(asked: Asked) -> bool:
    """Whether the backend said anything to a question, so that a law can hold of it."""
    ended_badly = (client.Crashed, client.TimedOut, client.Nonsense)
    return any(outcome is not None and not isinstance(outcome, ended_badly) for outcome in asked.outcomes.values())


#: The kinds of questions, in the order in which their answers are kept.
_KINDS = ("precise", "moded", "listed", "case", "dealt", "options", "effects", "graph", "run")

_OF_CONDITIONS = frozenset(law.name for law in conditions.LAWS)
_OF_EFFECTS = frozenset(law.name for law in effects.EFFECTS)

#: Kind of question to the method that answers; of cases it is the case's.
_METHODS = {
    "graph": "partition", "precise": "precision", "moded": "precision", "listed": "precision", "options": "options",
    "case": "", "dealt": "", "effects": "", "run": "run",
}  # fmt: skip


#: What a law holds of, by its method.
_OF = {"partition": "graphs", "precision": "graphs", "options": "sets of values", "run": "graphs"}


def records(
    plan: Plan,
    claims: judge.Claims,
    answers: Sequence[Asked],
    broken: Optional[Broken] = None,
) -> List[Record]:
    """A record of every law; the same answers give the same records. `broken`: the findings, where they are known."""
    made = []
    broken = _by_law((asked, _findings(plan, claims, asked)) for asked in answers) if broken is None else broken
    for instance in plan.instances:
        law = law_of(instance)
        lacking = judge.applicable(instance, claims)
        if lacking is not None:
            made.append(_record(instance, "unsupported", f"the backend does not claim {lacking}"))
            continue
        concerned = [asked for asked in answers if asked.edition == instance.edition and _concerns(plan, law, asked)]
        count = sum(1 for asked in concerned if law.name.endswith("answered") or _has_answer(asked))
        found = broken.get((law.name, instance.edition), [])
        of = "cases under conditions" if law.name in _OF_CONDITIONS | _OF_EFFECTS else _OF[law.method]
        if found:
            detail = f"broken by {len(found)} of {len(concerned)} {of}: {found[0].fault}"
            differences = tuple(
                judge.Difference("law", f"{one.named(plan)}: {one.fault}", law.name) for one in found[:_SHOWN]
            )
            status = "harness-error" if all(one.unread for one in found) else "fail"
            made.append(_record(instance, status, detail, differences))
        elif count:
            made.append(_record(instance, "pass", "", facts=(f"law {law.name} holds of {count} {of}",)))
        elif concerned:
            made.append(_record(instance, "not-run", "nothing that was asked had an answer"))
        elif law.name in _OF_CONDITIONS | _OF_EFFECTS:
            made.append(
                _record(instance, "unsupported", "of the cases that the backend claims none is in this edition")
            )
        else:
            made.append(_record(instance, "not-run", "no graph was asked in this edition; ask for more"))
    return made


def _record(
    instance: Instance,
    status: str,
    detail: str,
    differences: Tuple[judge.Difference, ...] = (),
    facts: Tuple[str, ...] = (),
) -> Record:
    method = instance.case.method
    signature = "" if status == "pass" else f"{method}/law/{instance.case.id[len('law-') :]}"
    if status in ("unsupported", "not-run"):
        signature = f"{method}/{status}"
    return Record(instance, judge.Result(status, detail, differences, facts, signature), None, "", "", 0.0)


# -- running ----------------------------------------------------------------------------------------------------------


class Common(NamedTuple):
    """What every part of the questions needs: whatever process asks it."""

    plan: Plan
    claims: judge.Claims
    editions: Tuple[str, ...]
    methods: FrozenSet[str]


class Told(NamedTuple):
    """What came of a part: every question with how its answers break laws, outcomes of graphs asked again, or how the
    suite failed."""

    judged: Sequence[Tuple[Asked, Mapping[str, Finding]]] = ()
    repeated: Mapping[int, Optional[client.Outcome]] = {}
    lost: str = ""


def _ask_part(part: int, common: Common, worker: client.Client, tick: Optional[Callable[[], None]]) -> Told:
    """Asks the questions of one part, and judges each; `tick` is called after every random graph. Of one in which the
    suite fails nothing is told but how."""
    try:
        return _asked_part(part, common, worker, tick)
    except (NpuError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  whatever an answer does to us may cost the laws, not the run
        worker.fresh()
        return Told(lost=f"asking part {part} ended in {type(error).__name__}: {error}")


def _asked_part(part: int, common: Common, worker: client.Client, tick: Optional[Callable[[], None]]) -> Told:
    plan, claims, editions, methods = common
    asker = _Asker(plan, worker, claims, part, tick)
    answers: List[Asked] = []
    if "precision" in methods:
        for ask in (_ask_precise, _ask_moded, _ask_listed):
            answers += ask(plan, asker, editions)
    answers += _ask_shelved(plan, asker, editions, methods)
    answers += _ask_dealt(plan, asker, editions, methods)
    companies = _ask_options(plan, asker, editions) if "options" in methods else []
    if not methods.isdisjoint(one.method for one in effects.EFFECTS):
        answers += _ask_effects(plan, asker, editions, methods)
    if "partition" in methods:
        answers += _ask_all(plan, asker, editions)
    if "run" in methods:
        answers += _ask_runs(plan, asker, editions)
    judged = [(asked, {} if _sound(asked) else _findings(plan, claims, asked)) for asked in answers]
    return Told([*judged, *companies])


def _sound(asked: Asked) -> bool:
    """Whether an answer was judged when it was asked for, and is right: what is not is asked in more ways."""
    return asked.kind == "dealt" and list(asked.outcomes) == [dealing.WHOLE]


def _ask_again(common: Common, worker: client.Client, tick: Optional[Callable[[], None]]) -> Told:
    """Asks some graphs once more, in a fresh worker and the opposite order."""
    if worker.served:
        worker.fresh()
    plan = common.plan
    asker = _Asker(plan, worker, common.claims)
    repeated = {}
    for number in reversed(range(0, plan.graphs, _REPEATED)):
        repeated[number] = asker.once(_drawn(plan, number), number, _edition(common.editions, number))
    return Told(repeated=repeated)


class Questions:
    """All questions of a plan, in parts that any workers may ask in any order and in any process, and what came of
    them."""

    def __init__(self, plan: Plan, claims: judge.Claims) -> None:
        self._plan, self._claims = plan, claims
        usable = [one for one in plan.instances if judge.applicable(one, claims) is None]
        editions = tuple(dict.fromkeys(one.edition for one in usable))
        self._methods = frozenset(one.case.method for one in usable)
        #: What each part takes, of the library no more than is asked.
        self.common = Common(plan._replace(library=_shelved(plan)), claims, editions, self._methods)
        self._told: List[Tuple[Asked, Mapping[str, Finding]]] = []
        self._repeated: Dict[int, Optional[client.Outcome]] = {}
        self._lost = ""
        cases = _shelved(plan).case
        self._parts_of = {one.id: dealing.part_of(one.case.params["graph"], _PARTS) for one in cases}

    def same(self, one: Instance) -> Optional[int]:
        """The place of the part that asks the same as an instance of a case, where one does."""
        return self._parts_of.get(one.id) if self._methods else None

    @property
    def parts(self) -> List[Callable[..., Told]]:
        """What to call, each once with `common`, any worker and what to call after a random graph; then `take` what it
        returns."""
        return [functools.partial(_ask_part, part) for part in range(_PARTS)] if self._methods else []

    @property
    def fresh(self) -> List[Callable[..., Told]]:
        """What to call likewise, and begins with a fresh worker: a lane that has asked nothing yet has one."""
        return [_ask_again] if "partition" in self._methods else []

    def take(self, told: Told) -> None:
        """What came of one part."""
        self._told += told.judged
        self._repeated.update(told.repeated)
        self._lost = self._lost or told.lost

    def lost(self, reason: str) -> None:
        """Of one part nothing can be known, by a fault of the suite."""
        self._lost = reason

    def _all(self) -> List[Tuple[Asked, Mapping[str, Finding]]]:
        """Every question with its answers and how they break laws, by kind and number."""
        order = {kind: place for place, kind in enumerate(_KINDS)}
        found = []
        for asked, broken in sorted(self._told, key=lambda one: (order[one[0].kind], one[0].number)):
            if asked.kind == "graph" and asked.number in self._repeated:
                again = self._repeated[asked.number]
                differs = again != asked.outcomes["first"]
                asked = asked._replace(outcomes={**asked.outcomes, "repeated": again})
                broken = _findings(self._plan, self._claims, asked) if differs else broken
            found.append((asked, broken))
        return found

    def records(self, start: Callable[[], client.Client]) -> List[Record]:
        """The record of every law, once all parts are asked: the answers and examples, made small, lie in the folder.

        Args:
            start: makes the client of a worker, for what an example needs.
        Raises:
            NpuError: BACKEND_UNAVAILABLE, OUTPUT.
        """
        plan, claims = self._plan, self._claims
        if not self._methods:
            return records(plan, claims, [])
        if self._lost:
            return [_record(instance, "harness-error", self._lost) for instance in plan.instances]
        judged = self._all()
        answers, broken = [asked for asked, _ in judged], _by_law(judged)
        _write(os.path.join(plan.folder, FILE), answers)
        made = records(plan, claims, answers, broken)
        examples = list(_to_show(made, broken))
        if examples:
            with start() as worker:
                asker = _Asker(plan, worker, claims)
                for record, finding in examples:
                    if finding.asked.kind == "run":
                        _run_example(plan, asker, record, finding)
                    else:
                        _example(plan, asker, record, finding.asked.number, claims)
        return made


def _to_show(made: Sequence[Record], broken: Broken) -> Iterator[Tuple[Record, Finding]]:
    """Broken laws, each with the first random graph that breaks it: of a case the graph is at hand."""
    for record in made:
        if record.result.status == "fail":
            found = broken[law_of(record.instance).name, record.instance.edition]
            drawn = [one for one in found if one.asked.kind in ("graph", "run")]
            if drawn:
                yield record, drawn[0]


def run(plan: Plan, spec: str, settings: Settings, claims: judge.Claims) -> List[Record]:
    """Asks everything in one worker, judges, and leaves answers and examples in the plan's folder.

    Raises:
        NpuError: BACKEND_UNAVAILABLE, OUTPUT.
    """
    questions = Questions(plan, claims)
    parts = [*questions.parts, *questions.fresh]
    if parts:
        with settings.client(spec) as worker:
            for part in parts:
                questions.take(part(questions.common, worker, None))
    return questions.records(lambda: settings.client(spec))


def whole(plan: Plan, answers: Sequence[Asked]) -> bool:
    """Whether the answers are to all random graphs of the plan, if they are to any."""
    numbers = [asked.number for asked in answers if asked.kind == "graph"]
    if [asked.number for asked in answers if asked.kind == "run"] not in ([], list(range(_runs(plan)))):
        return False
    return numbers == list(range(plan.graphs)) or not any(one.case.method == "partition" for one in plan.instances)


def _ask_shelved(plan: Plan, asker: _Asker, editions: Sequence[str], methods: Any) -> List[Asked]:
    """The graphs of the cases once."""
    found = []
    for number, one in enumerate(_shelved(plan).case):
        if not asker.asks_about(one.case.params["graph"]):
            continue
        if one.case.method in methods and one.edition in editions and judge.applicable(one, asker.claims) is None:
            params = requests.prepare(one, asker.worker.folder).params
            found.append(Asked(number, one.edition, {"first": asker.method(one.case.method, params)}, "case"))
    return found


def _ask_options(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Tuple[Asked, Dict[str, Finding]]]:
    """The companies of options, judged as they are asked; the first that break a law are made small."""
    members = _shelved(plan).members
    ask = functools.partial(asker.method, "options")
    found: List[Tuple[Asked, Dict[str, Finding]]] = []
    small = _SMALL
    for number in filter(asker.asks, range(len(_shelved(plan).options))):
        there = _company(plan, asker.claims, number)
        edition = members[there.members[0]].edition if there is not None else ""
        if there is None or edition not in editions:
            continue
        outcomes, faults = company.ask(there, members, ask, asker.claims, f"{plan.seed}/{number}", small > 0)
        small -= bool(faults)
        asked = Asked(number, edition, outcomes, "options")
        found.append((asked, _by_name(asked, faults)))
    return found


def _ask_dealt(plan: Plan, asker: _Asker, editions: Sequence[str], methods: Any) -> List[Asked]:
    """The cases under conditions; of one that shows a fault, also under fewer, until each of those left is needed."""
    found = []
    before: List[dealing.Dealt] = []  # what was asked since the worker last had to forget
    left = _SMALLER
    for number, dealt in enumerate(_shelved(plan).dealt):
        one = dealt.first
        if (
            one.case.method not in methods
            or one.edition not in editions
            or not asker.asks_about(one.case.params["graph"])
        ):
            continue
        dealt = dealing.usable_of(dealt, asker.claims)
        if not dealt.graphs:
            continue
        way = dealing.way_of(dealing.WHOLE, dealt)
        outcomes = {dealing.WHOLE: asker.dealt(dealt, way, None if before else ())}
        before = [*(before if conditions.AFTER in dealt.conditions else ()), dealt]
        if dealing.difference(dealt, way, outcomes[dealing.WHOLE], asker.claims):
            plain = [dealing.Way((place,), ()) for place in range(len(dealt.graphs))]
            outcomes.update((one.text, asker.dealt(dealt, one)) for one in plain)
            if left and not any(dealing.difference(dealt, one, outcomes[one.text], asker.claims) for one in plain):
                left -= 1
                outcomes.update(_fewer(asker, dealt, way, before[:-1]))
            before = []
        found.append(Asked(number, one.edition, outcomes, "dealt"))
    return found


def _fewer(
    asker: _Asker, dealt: dealing.Dealt, way: dealing.Way, before: Sequence[dealing.Dealt]
) -> Iterator[Tuple[str, Optional[client.Outcome]]]:
    """Ways of asking with one condition less each time, that still show a fault, and what came of them."""
    for fewer in dealing.smaller(way):
        outcome = asker.dealt(dealt, fewer, before)
        if dealing.difference(dealt, fewer, outcome, asker.claims):
            yield fewer.text, outcome
            yield from _fewer(asker, dealt, fewer, before)
            return


#: Cases of one part that do not hold in company and are asked again under each condition alone (assumed).
_TAKEN_ASIDE = 3
_ALONE = "alone"  # the way of asking without conditions


def _ask_effects(plan: Plan, asker: _Asker, editions: Sequence[str], methods: Any) -> List[Asked]:
    """Cases of files and time under conditions; some that do not hold, under each condition alone."""
    found, aside = [], 0
    for number, kept in enumerate(_shelved(plan).effects):
        one = kept.instance
        if not asker.asks_about(one.case.params["graph"]):
            continue
        if one.case.method not in methods or one.edition not in editions or judge.applicable(one, asker.claims):
            continue
        params = requests.prepare(one, asker.worker.folder).params
        asked = effects.asked_for(kept.conditions, params, asker.worker.folder)
        outcomes = {"first": asker.method(one.case.method, asked)}
        first = outcomes["first"]
        if kept.conditions and first is not None and effects.fault(kept, first, asker.claims):
            outcomes[_ALONE] = asker.method(one.case.method, params)
            alone = outcomes[_ALONE]
            holds = alone is not None and not effects.fault(kept._replace(conditions=()), alone, asker.claims)
            if holds and aside < _TAKEN_ASIDE:
                aside += 1
                for name in kept.conditions:
                    outcomes[name] = asker.method(
                        one.case.method, effects.asked_for([name], params, asker.worker.folder)
                    )
        found.append(Asked(number, one.edition, outcomes, "effects"))
    return found


def _ask_moded(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Asked]:
    """The dtypes of every graph of a precision case in every mode."""
    found = []
    for number, (path, mode, edition) in enumerate(_shelved(plan).moded):
        if edition in editions and asker.asks_about(path):
            inference = mode == "force_fp16" or number % 2  # no document restricts the other modes (A7)
            values = {**({"graph_run_mode": 0} if inference else {}), "precision_mode": mode}
            if number % 3 == 0 and mode == ("force_fp16" if inference else "allow_fp32_to_fp16"):
                del values["precision_mode"]  # the default says the same (A6)
            second = precise.SECOND.get(mode, "") if edition == "current" and number % 3 == 1 else ""
            if second:
                values = {"precision_mode_v2": second}
            params = {
                "surface": "runconfig" if second else "session",
                "edition": edition,
                "values": values,
                "graph": path,
            }
            found.append(Asked(number, edition, {"first": asker.method("precision", params)}, "moded"))
    return found


def _ask_listed(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Asked]:
    """The dtypes of every graph of a precision case in mixed precision, plain and with a type more on either list."""
    found = []
    widest = _widest(_shelved(plan).listed)
    for number, (path, edition) in enumerate(_shelved(plan).listed):
        if edition not in editions or not asker.asks_about(path):
            continue
        listed = precise.listable(_closed(path, (), ()), plan.seed + number)
        if listed is None:
            continue
        values = {"precision_mode": "allow_mix_precision", **_run_mode(number)}
        surface = _surface(number, edition)
        if surface == "runconfig":
            values = {"precision_mode_v2": precise.SECOND["allow_mix_precision"], **_run_mode(number)}
        params = {"surface": surface, "edition": edition, "values": values, "graph": path}
        outcomes = {"first": asker.method("precision", params)}
        if number in widest and asker.claims.features.issuperset(("library", "lists")):
            outcomes[_LIBRARY] = asker.method("library", {"surface": "session", "edition": edition, "values": {}})
        for way, (name, _) in precise.LISTS.items():
            text = json.dumps({name: {"to-add": [listed]}})
            more = {"values": {**values, "modify_mixlist": _MIXLIST}, "files": {_MIXLIST: text}}
            outcomes[way] = asker.method("precision", {**params, **more})
        found.append(Asked(number, edition, outcomes, "listed"))
    return found


_OP = re.compile(rb'^ *op: *"([^"]*)"', re.MULTILINE)


@functools.lru_cache(maxsize=4)
def _widest(listed: Tuple[Tuple[str, str], ...]) -> FrozenSet[int]:
    """Of each edition the question whose graph has most types: beside it the library is asked, which is large.

    They are counted in the text, for each part has graphs of its own to read. A graph in binary form counts as none.
    """
    types = []
    for path, _ in listed:
        with open(path, "rb") as file:
            types.append(len(set(_OP.findall(file.read()))))
    of: Dict[str, List[int]] = {}
    for number, (_, edition) in enumerate(listed):
        of.setdefault(edition, []).append(number)
    return frozenset(max(numbers, key=lambda one: (types[one], -one)) for numbers in of.values())


#: The way of asking beside "first" that is answered by the operator information library.
_LIBRARY = "library"
_MIXLIST = "/home/test/ops_info.json"


def _ask_precise(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Asked]:
    """The dtypes of some random graphs, as they are and with other names, in the modes by turns."""
    found = []
    for number in filter(asker.asks, range(0, plan.graphs, _PRECISE)):
        edition = editions[number // _PRECISE % len(editions)]
        steps = _drawn(plan, number)
        outcomes = {
            way: asker.once(steps, number, edition, renamed=way == "renamed", mode=_mode(number, edition))
            for way in ("first", "renamed")
        }
        found.append(Asked(number, edition, outcomes, "precise"))
    return found


def _edition(editions: Sequence[str], number: int) -> str:
    return editions[number % len(editions)]


def _ask_runs(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Asked]:
    """The values of small graphs, each in several ways."""
    found = []
    for number in filter(asker.asks, range(_runs(plan))):
        made, edition = _program_of(plan.seed, number), _edition(editions, number)
        outcomes = {way: asker.run(running.asking(way, made, number, edition)) for way in running.ways(made, number)}
        found.append(Asked(number, edition, outcomes, "run"))
    return found


def _ask_all(plan: Plan, asker: _Asker, editions: Sequence[str]) -> List[Asked]:
    """The partition of the random graphs, as they are and with other names."""
    found = []
    for number in filter(asker.asks, range(plan.graphs)):
        steps, edition = _drawn(plan, number), _edition(editions, number)
        outcomes = {"first": asker.once(steps, number, edition)}
        if number % _RENAMED == 0:
            outcomes["renamed"] = asker.once(steps, number, edition, renamed=True)
        found.append(Asked(number, edition, outcomes))
        if asker.progress is not None:
            asker.progress()
    return found


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
    given = {**_run_mode(number), "mix_compile_mode": _mixed(number)}
    mixed = f"--surface {_surface(number, edition)} " + " ".join(f"-o {name}={value}" for name, value in given.items())
    head += f"# npu-conformance partition {name} --edition {edition} {mixed} {' '.join(words)}\n"
    output.write_file(path, head + text)


def _run_example(plan: Plan, asker: _Asker, record: Record, finding: Finding) -> None:
    """Leave a smallest graph whose values break the law, as .pbtxt with the requests that show it."""
    law, number, edition = law_of(record.instance), finding.asked.number, finding.asked.edition
    ways = list(dict.fromkeys(["first", _way_of(law.name, finding.fault)]))

    def breaks(steps: Sequence[Step]) -> bool:
        made = running.program(steps)
        if made is None or not set(ways) <= {"first", *running.ways_of(made)}:
            return False
        try:
            outcomes = {way: asker.run(running.asking(way, made, number, edition)) for way in ways}
        except NpuError:
            return False  # the backend does not start any more
        return law.name in _of_run(made, Asked(number, edition, outcomes, "run"))

    steps = running.draw(f"run/{plan.seed}/{number}")
    if breaks(steps):
        steps = shrink(steps, breaks, _FRESH_SHRINKS)
    asker.bad = 0
    made = running.program(steps) or _program_of(plan.seed, number)
    name = f"{record.instance.case.id}-{edition}.pbtxt"
    path = os.path.join(plan.folder, name)
    write_graph(made.graph, path)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    head = f"# Breaks the law '{law.name}': {law.title}.\n# Found as run {plan.seed}/{number}; asked for `run` with:\n"
    for way in ways:
        head += f"# {way}: {running.words(running.asking(way, made, number, edition))}\n"
    output.write_file(path, head + text)


# -- the file of answers ----------------------------------------------------------------------------------------------


def _write(path: str, answers: Sequence[Asked]) -> None:
    lines = []
    for asked in answers:
        outcomes = {way: outcome_files.outcome_json(outcome) for way, outcome in asked.outcomes.items()}
        kind = {} if asked.kind == "graph" else {"kind": asked.kind}
        entry = {"number": asked.number, "edition": asked.edition, **kind, "outcomes": outcomes}
        lines.append(output.dumps(entry))
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
                kind = entry.get("kind", "graph")
                if kind not in _METHODS or type(entry["number"]) is not int:
                    raise ValueError(f"a line is of no kind that is known: {kind!r}")
                found.append(Asked(entry["number"], entry["edition"], outcomes, kind))
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    return found
