"""An answer to `partition` in the terms of the graph it is for."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from npu_conformance.observing import observe
from npu_reference.graphs import Graph

__all__ = ["COPIED", "ENDS", "HOST", "LawQuestion", "LawReading", "VARIABLES", "crossing_name", "facts", "read"]

ENDS = ("_Arg", "_Retval")

#: What a GEOP may hold a copy of, so that nothing crosses.
VARIABLES = ("VariableV2", "VarHandleOp")
COPIED = ("Const", *VARIABLES)
HOST = -1


class LawQuestion(NamedTuple):
    """What was asked: the graph as the pass sees it, the device's operators, and whether computing is mixed.

    ranged: whether in_out_pair is given, of whose ranges no document says that neighbours are one. kept_variables:
    whether variable_placement is Host.
    """

    graph: Graph
    operators: Optional[Mapping[str, Mapping[str, bool]]]
    mixed: bool
    ranged: bool = False
    kept_variables: bool = False


class LawReading(NamedTuple):
    """An answer in the graph's own terms.

    Attributes:
        question: what was asked.
        home: node id to the number of its GEOP, -1 for the host; no entry where the answer has none.
        faults: ways in which the answer does not place every operator once.
        copies: (node, GEOP) of every copy; None where the answer does not tell copies.
        answer: as it came.
    """

    question: LawQuestion
    home: Mapping[int, int]
    faults: Tuple[str, ...]
    copies: Optional[Set[Tuple[int, int]]]
    answer: Mapping[str, Any]

    def name(self, node: int) -> str:
        return self.question.graph.nodes[node].name

    def copied(self, source: int, geop: int) -> bool:
        """Whether a GEOP needs nothing of `source` because it has, or may have, a copy."""
        if geop == HOST:
            return False
        if self.copies is None:
            return self.question.graph.nodes[source].op in COPIED
        return (source, geop) in self.copies


def read(question: LawQuestion, answer: Mapping[str, Any], features: Any = ("copies",)) -> LawReading:
    """The answer, valid against the protocol, in the graph's terms."""
    graph = question.graph
    home: Dict[int, int] = {}
    faults: List[str] = []
    for number, names in enumerate([*(geop["nodes"] for geop in answer["geops"]), _host_names(answer)]):
        place = number if number < len(answer["geops"]) else HOST
        if not names and place != HOST:
            faults.append(f"GEOP {number} is empty")
        for name in names:
            node = graph.index.get(name)
            if node is None:
                if not name.startswith(("_arg_", "_retval_")):
                    faults.append(f"{name} is no operator of the graph")
            elif node in home:
                faults.append(f"{name} is placed twice")
            else:
                home[node] = place
    for node_ in graph.nodes:
        if node_.id not in home:
            if node_.op not in ENDS:
                faults.append(f"{node_.name} ({node_.op}) is neither in a GEOP nor on the host")
            home[node_.id] = HOST
    return LawReading(question, home, tuple(faults), _copies(graph, answer, "copies" in features), answer)


def _host_names(answer: Mapping[str, Any]) -> List[str]:
    return [entry["node"] for entry in answer["host"]]


def _copies(graph: Graph, answer: Mapping[str, Any], told: bool) -> Optional[Set[Tuple[int, int]]]:
    if not told:
        return None
    found = set()
    for number, geop in enumerate(answer["geops"]):
        for copy in geop.get("copies", []):
            name = copy if isinstance(copy, str) else copy["node"]
            if name in graph.index:
                found.add((graph.index[name], number))
    return found


def crossing_name(name: str) -> str:
    """`node:slot` of an argument, a return or a border, whichever way it is written; a feed's own name for an _Arg."""
    shown = observe.tensor_name(name)
    fed = re.fullmatch(r"_arg_(.+)_(\d+)_\d+:0", shown)
    return f"{fed[1]}:{fed[2]}" if fed else shown


def facts(reading: LawReading) -> List[str]:
    """What an answer says, free of GEOP names and of numbers that names decide, for comparing two answers."""
    names = reading.question.graph.nodes
    found = []
    for number, geop in enumerate(reading.answer["geops"]):
        members = sorted(names[node].name for node, home in reading.home.items() if home == number)
        first = members[0] if members else "(empty)"
        found += [f"geop {first} node {name}" for name in members]
        for key in ("args", "rets"):
            found += [f"geop {first} {key} {crossing_name(name)}" for name in geop.get(key, [])]
        found += [f"geop {first} copy {names[node].name}" for node, home in reading.copies or () if home == number]
    for entry in reading.answer["host"]:
        if not entry["node"].startswith(("_arg_", "_retval_")):
            found.append(f"host {entry['node']} because {entry.get('reason')}")
    for border in reading.answer.get("borders", []):
        found.append(f"border {border['direction']} {crossing_name(border['source'])} {border.get('dtype')}")
    found.append(f"min_geops {reading.answer.get('min_geops')}")
    return sorted(found)
