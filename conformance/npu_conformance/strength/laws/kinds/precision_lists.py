"""The graphs of precision cases in mixed precision, plain and with a type more on either list."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Collection, Dict, FrozenSet, Iterator, List, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws import precision_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds import random_graphs
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, closed, undecided
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved

__all__ = ["Listed"]

_OP = re.compile(rb'^ *op: *"([^"]*)"', re.MULTILINE)
_MIXLIST = "/home/test/ops_info.json"
_MIXED = "allow_mix_precision"

#: The way of asking beside "first" that is answered by the operator information library.
_LIBRARY = "library"


class Listed(LawKind):
    """The dtypes of every graph of a precision case, plain and with a type more on either list; a list may demand what
    no kernel has. Beside some the operator information library is asked."""

    name, method = "listed", "precision"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        widest = _widest(shelved(asker.plan).listed)
        for number, (path, edition) in enumerate(shelved(asker.plan).listed):
            if edition not in editions or not asker.has_graph(path):
                continue
            if number not in widest and not asker.plan.takes(number):
                continue
            listed = precision_laws.listable(closed(path), asker.plan.seed + number)
            if listed is None:
                continue
            params = _params(path, number, edition)
            outcomes = {"first": asker.method(self.method, params)}
            if number in widest and asker.claims.features.issuperset(("library", "lists")):
                library = {"surface": "session", "edition": edition, "values": {}}
                outcomes[_LIBRARY] = asker.method("library", library)
            for way, (name, _) in precision_laws.LISTS.items():
                text = json.dumps({name: {"to-add": [listed]}})
                values = {**params["values"], "modify_mixlist": _MIXLIST}
                outcomes[way] = asker.method(self.method, {**params, "values": values, "files": {_MIXLIST: text}})
            yield Asked(number, edition, outcomes, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        found: Found = {}
        path, edition = shelved(plan).listed[asked.number]
        graph = closed(path)
        listed = precision_laws.listable(graph, plan.seed + asked.number)
        answers = {}
        for way, outcome in asked.outcomes.items():
            if way == _LIBRARY:
                continue
            if isinstance(outcome, client.Answered):
                answers[way] = precision_laws.Precise(graph, _MIXED, outcome.ok, edition)
            for law, finding in undecided(asked, outcome).items():
                found.setdefault(law, finding)
        for way in precision_laws.LISTS:
            if "first" in answers and way in answers and listed is not None:
                for fault in precision_laws.moved(answers["first"], answers[way], way, listed)[:1]:
                    found.setdefault("precision-lists", LawFinding(asked, f"{way}: {fault}", asked.outcomes[way]))
        library = asked.outcomes.get(_LIBRARY)
        if "first" in answers and isinstance(library, client.Answered):
            for fault in precision_laws.unlike_the_library(answers["first"], library.ok)[:1]:
                found["precision-library"] = LawFinding(asked, fault, asked.outcomes["first"])
        return found

    def may_concern(self, law: Law) -> bool:
        return law.name in ("precision-lists", "precision-answered", "precision-library")

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        return self.may_concern(law) and (law.name != "precision-library" or _LIBRARY in asked.outcomes)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        path, edition = shelved(plan).listed[finding.asked.number]
        return f"{os.path.basename(path)} in {edition}"


def _params(path: str, number: int, edition: str) -> Dict[str, Any]:
    """What is asked without a list: on either surface, and in both run modes, by turns."""
    surface = random_graphs.surface(number, edition)
    mode = (
        {"precision_mode_v2": precision_laws.SECOND[_MIXED]} if surface == "runconfig" else {"precision_mode": _MIXED}
    )
    return {"surface": surface, "edition": edition, "values": {**mode, **random_graphs.run_mode(number)}, "graph": path}


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
