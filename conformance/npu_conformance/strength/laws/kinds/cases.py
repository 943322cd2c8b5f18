"""What instances of cases ask, as it is: laws hold of what they are answered, too."""

from __future__ import annotations

from typing import Any, Collection, Iterator, Sequence

from npu_conformance.judging import judge
from npu_conformance.library.case import Case
from npu_conformance.protocol import client, requests
from npu_conformance.strength.laws import precision_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, broken_by, closed
from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.partitions.reading import LawQuestion, read
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, plain, shelved
from npu_conformance.strength.laws.table import OF_CONDITIONS
from npu_reference.graphs import Graph

__all__ = ["OfCases"]

#: The attribute of an operator that TensorFlow composed of several.
_TAKEN_APART = "op_names"


class OfCases(LawKind):
    """The graphs of the cases, each with its options once. Whether there is an answer at all is the case's matter."""

    name = "case"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        for number, one in enumerate(shelved(asker.plan).case):
            if one.case.method not in methods or one.edition not in editions:
                continue
            if asker.asks_about(one.case.params["graph"], number) and judge.applicable(one, asker.claims) is None:
                params = requests.prepare(one, asker.worker.folder).params
                if _gives(one.case, asker.claims):
                    params = {**params, "ops_info": precision_laws.library_of(_closed(one.case))}
                yield Asked(number, one.edition, {"first": asker.method(one.case.method, params)}, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        outcome = asked.outcomes.get("first")
        if not isinstance(outcome, client.Answered):
            return {}
        case = shelved(plan).case[asked.number].case
        values = case.params["values"]
        graph = _closed(case)
        if any(_TAKEN_APART in node.attrs for node in graph.nodes):
            return {}  # operators that are taken apart have other names
        reading: Any
        if case.method == "partition":
            mixed = values.get("mix_compile_mode") in (True, {"field": "b", "value": True})
            reading = read(LawQuestion(graph, None, mixed, "in_out_pair" in values), outcome.ok, claims.features)
        else:
            mode = str(values.get("precision_mode", "")) if plain(case) else ""  # a file may say otherwise
            given, customised = _gives(case, claims), "customize_dtypes" in values
            reading = precision_laws.Precise(graph, mode, outcome.ok, asked.edition, given, customised)
        return broken_by(asked, reading, outcome, claims, case.method, on_cases=True)

    def may_concern(self, law: Law) -> bool:
        return law.on_cases and law.name not in OF_CONDITIONS

    def concerns(self, plan: Plan, law: Law, asked: Asked) -> bool:
        return self.may_concern(law) and law.method == shelved(plan).case[asked.number].case.method

    def named(self, plan: Plan, finding: LawFinding) -> str:
        return shelved(plan).case[finding.asked.number].id


def _closed(case: Case) -> Graph:
    params = case.params
    return closed(params["graph"], tuple(params.get("feeds", ())), tuple(params.get("fetches", ())))


def _gives(case: Case, claims: judge.Claims) -> bool:
    """Whether kernels are given: of graphs that are asked without fetches, :class:`Moded` asks so anyway."""
    return case.method == "precision" and plain(case) and "fetches" in case.params and "ops_info" in claims.features
