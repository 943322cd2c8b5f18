"""What is asked for the laws, what came of one question, and how that breaks a law."""

from __future__ import annotations

import zlib
from os.path import basename
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from npu_conformance.library.case import Case, Instance
from npu_conformance.library.library import Library
from npu_conformance.protocol import client
from npu_conformance.strength.laws import company, effects, precision_laws, scheduling

__all__ = [
    "DEFAULT", "PARTS", "THIRDS", "Asked", "LawFinding", "Plan", "Shelved", "drawn_by", "edition_of", "plain",
    "shelved",
]  # fmt: skip

#: Random graphs of a run that does not say how many (assumed: enough for what is common, in two seconds).
DEFAULT = 200

#: So many parts the questions are dealt to, one after the other; what comes of a part depends on none of the others,
#: nor on the worker that it meets (assumed: enough for the processors of one machine).
PARTS = 8


#: A run that is not thorough asks one of so many thirds of the questions (assumed: laws take half of it then).
THIRDS = 3


class Shelved(NamedTuple):
    """What is asked of a library beside its cases: graphs with their options, each once; companies of options, and the
    questions they are of; graphs of precision cases with mode and edition; the same with an edition, for lists; cases
    of files and time under conditions; those of graphs under conditions."""

    case: Tuple[Instance, ...] = ()
    options: Tuple[company.Company, ...] = ()
    members: Tuple[Instance, ...] = ()
    moded: Tuple[Tuple[str, str, str], ...] = ()
    listed: Tuple[Tuple[str, str], ...] = ()
    effects: Tuple[effects.KeptEffect, ...] = ()
    dealt: Tuple[scheduling.Dealt, ...] = ()


class Plan(NamedTuple):
    """What is asked: that many graphs of `seed`, in these editions by turns, and where examples of faults are left.

    library: whose graphs and option values are asked about, too; third: which third of the questions is asked; None for
    all of them.
    """

    graphs: int
    seed: int
    instances: Tuple[Instance, ...]
    folder: str
    library: Union[Library, Shelved, None] = None
    third: Optional[int] = None

    def takes(self, turn: int) -> bool:
        """Whether a question is asked: turns come by threes."""
        return self.third is None or turn % THIRDS == self.third


def drawn_by(law_seed: int, thorough: bool) -> Tuple[int, Optional[int]]:
    """The seed of a plan, and its third. What a thorough run asks by seed n, three others ask by 3n, 3n + 1, 3n + 2."""
    return (law_seed, None) if thorough else (law_seed // THIRDS, law_seed % THIRDS)


class Asked(NamedTuple):
    """One question and what came of it: outcome by way of asking ("first", "renamed", "repeated", …).

    kind: the name of one of :data:`kinds.KINDS`; number: of the graph, or the place among the instances.
    """

    number: int
    edition: str
    outcomes: Mapping[str, Optional[client.Outcome]]
    kind: str = "graph"

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"


class LawFinding(NamedTuple):
    """A question that breaks a law, and how; `unread` where the suite could not read the answer, its own fault."""

    asked: Asked
    fault: str
    outcome: Optional[client.Outcome]
    unread: bool = False


def edition_of(editions: Sequence[str], number: int) -> str:
    """The edition of the graph of this number: editions come by turns."""
    return editions[number % len(editions)]


_SHELVED: Dict[Tuple[str, int, int], Shelved] = {}


def shelved(plan: Plan) -> Shelved:
    """What a plan asks of its library; found once."""
    if plan.library is None or isinstance(plan.library, Shelved):
        return plan.library or Shelved()
    rounds = max(plan.graphs // DEFAULT, 1)
    key = (plan.library.digest, plan.seed, rounds)
    if key not in _SHELVED:
        _SHELVED.clear()
        members, companies = company.drawn(plan.library, plan.seed, rounds)
        paths = _precise_graphs(plan.library)
        graphs = _graphs_of(plan.library)
        _SHELVED[key] = Shelved(
            case=tuple(graphs),
            options=tuple(companies),
            members=tuple(members),
            moded=tuple(_moded_of(paths, graphs)),
            listed=tuple((path, ("legacy", "current")[number % 2]) for number, path in enumerate(paths)),
            effects=(
                *effects.questions(plan.library, plan.seed, rounds),
                *effects.refused(plan.library, f"{plan.seed}"),
            ),
            dealt=tuple(scheduling.deal(plan.library, plan.seed, PARTS, rounds)),
        )
    return _SHELVED[key]


def _graphs_of(library: Library) -> List[Instance]:
    """Each graph with its options once."""
    chosen: Dict[str, Instance] = {}
    for one in library.instances():
        case = one.case
        asked = case.method in scheduling.METHODS and not one.twin and case.expect.rejected is None
        if asked and case.params.get("policy", "documented") == "documented":
            values = sorted(case.params.items(), key=repr)
            chosen.setdefault(repr((case.method, values)), one)
    return list(chosen.values())


def _precise_graphs(library: Library) -> List[str]:
    """The graphs of precision cases."""
    cases = [case for case in library.cases.values() if case.method == "precision"]
    return list(dict.fromkeys(case.params["graph"] for case in cases if "feeds" not in case.params))


def plain(case: Case) -> bool:
    """Whether a precision case says no more than its mode, and where the graph runs."""
    values = {"precision_mode", "graph_run_mode", "mix_compile_mode"}
    said = case.params["values"]
    written = any(isinstance(value, dict) for value in said.values())  # in a field of its own
    return values.issuperset(said) and not written and "ops_info" not in case.params


def _moded_of(paths: Sequence[str], graphs: Sequence[Instance]) -> List[Tuple[str, str, str]]:
    """Every graph of a precision case that says no more than its mode, in every mode, as (path, mode, edition): in each
    edition, or, where both say the same of a mode, in one by turns; but for what is asked of `graphs` as it is."""
    cases = [(one.case, one.edition) for one in graphs if one.case.method == "precision" and plain(one.case)]
    chosen = {case.params["graph"] for case, _ in cases}
    asked = {(case.params["graph"], case.params["values"].get("precision_mode"), edition) for case, edition in cases}
    turns = {path: zlib.crc32(basename(path).encode("utf-8", "surrogateescape")) for path in paths}
    return [
        (path, mode, edition)
        for path in paths
        for edition in precision_laws.MODES
        for place, mode in enumerate(precision_laws.MODES[edition])
        if path in chosen
        and (path, mode, edition) not in asked
        and (mode not in precision_laws.ALIKE or edition == ("legacy", "current")[(turns[path] // PARTS + place) % 2])
    ]
