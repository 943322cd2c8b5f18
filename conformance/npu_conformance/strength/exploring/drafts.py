"""Differences as draft cases: a folder of cases and fixtures, written beside its place and then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from npu_conformance.files import output
from npu_conformance.judging.judge import Claims
from npu_conformance.library import library as shelves
from npu_conformance.library.citing import Citation
from npu_conformance.observing import observe
from npu_conformance.strength.exploring import comparing
from npu_conformance.strength.exploring.questions import ExploreQuestion
from npu_conformance.strength.exploring.searching import Discovery
from npu_conformance.strength.laws import graphs
from npu_reference.errors import NpuError
from npu_reference.graphs import write_graph
from npu_reference.printing import shorten

__all__ = ["MARK", "Draft", "load", "of", "write"]

#: The file of a folder of drafts that says what it is; an earlier one is replaced.
MARK = "explored.json"
_OPERATORS = "operators.json"
_REFUSALS = ["OPTION_VALUE", "OPTION_SYNTAX", "OPTION_TYPE", "OPTION_CONFLICT", "OPTION_FILE"]
_TITLE = 160
_TOPIC = "explored"


class Draft(NamedTuple):
    """A finding with the id of its case and the requirement that bears on it (None: it ended without an answer)."""

    id: str
    finding: Discovery
    citation: Citation

    def to_json(self) -> Dict[str, Any]:
        """The entry of the JSON answer and of the folder's own file."""
        finding = self.finding
        return {
            "case": self.id,
            "method": finding.difference.cause[0],
            "kind": finding.difference.cause[1],
            "about": finding.difference.cause[2],
            "level": finding.difference.level,
            "questions": finding.times,
            "first": finding.first,
            "words": finding.difference.words,
            "requirement": self.citation.requirement,
            "sentence": self.citation.sentence,
        }


def of(findings: Sequence[Discovery]) -> List[Draft]:
    """The drafts of all findings; the same finding has the same id."""
    found = []
    for finding in findings:
        cited = comparing.cite(finding.question, finding.difference)
        if cited is None:
            raise NpuError("INTERNAL", "explore", f"no requirement bears on {finding.difference.cause}")
        digest = hashlib.sha256(repr(finding.difference.cause).encode("utf-8")).hexdigest()[:8]
        found.append(Draft(f"draft-{finding.difference.cause[0]}-{digest}", finding, cited))
    return found


def write(drafts: Sequence[Draft], folder: str, claims: Claims) -> None:
    """Leave the cases of all drafts, their graphs, and a file that tells them, in an empty folder.

    Raises:
        NpuError: OUTPUT; CASE_FILE, which is a defect of ours, when a draft is no valid case.
    """
    for name in ("cases", "golden", "fixtures/graphs"):
        os.makedirs(os.path.join(folder, name))
    by_method: Dict[str, List[Draft]] = {}
    for draft in drafts:
        by_method.setdefault(draft.finding.question.method, []).append(draft)
    for method, some in sorted(by_method.items()):
        os.makedirs(os.path.join(folder, "cases", method))
        head = "# Drafts that npu-conformance explore wrote. The reference says so; read whether the documents do.\n"
        text = head + "\n".join(_case(draft, folder, claims) for draft in some)
        output.write_file(os.path.join(folder, "cases", method, f"{_TOPIC}.toml"), text)
    output.write_file(os.path.join(folder, "fixtures", _OPERATORS), json.dumps(graphs.OPERATORS, sort_keys=True) + "\n")
    output.write_file(os.path.join(folder, MARK), output.dumps([draft.to_json() for draft in drafts]) + "\n")
    if drafts:
        load(folder)


def load(folder: str) -> shelves.Library:
    """The drafts of a folder as a library of their own, to be judged like any other.

    Raises:
        NpuError: CASE_FILE, or USAGE where the folder holds no drafts.
    """
    if not os.path.isfile(os.path.join(folder, MARK)):
        raise NpuError("USAGE", folder, f"holds no drafts: there is no {MARK}", "Name a folder that explore has left.")
    if not os.path.isdir(os.path.join(folder, "cases")) or not os.listdir(os.path.join(folder, "cases")):
        raise NpuError("USAGE", folder, "holds no draft: nothing was found", "")
    places = {key: os.path.join(folder, key) for key in ("cases", "golden", "fixtures")}
    return shelves.load(**places)


def _case(draft: Draft, folder: str, claims: Claims) -> str:
    question, difference = draft.finding.question, draft.finding.difference
    params: Dict[str, Any] = {key: value for key, value in question.params.items() if value != {} or key == "values"}
    if question.steps:
        asked = graphs.request(question.steps)
        assert asked is not None, "it was asked"
        name = f"graphs/{draft.id}.pbtxt"
        write_graph(asked.graph, os.path.join(folder, "fixtures", name))
        params.update(graph=name, feeds=list(asked.feeds), fetches=list(asked.fetches))
        if "op_list" in claims.features:
            params["op_list"] = _OPERATORS
    elif "graph" in params:
        name = f"graphs/{draft.id}{_ending(params['graph'])}"
        shutil.copyfile(params["graph"], os.path.join(folder, "fixtures", name))
        params["graph"] = name
    aspects = {fact.partition(" ")[0] for fact in (*difference.missing, *difference.extra)}
    needs = sorted({one.feature for one in observe.ASPECTS.values() if one.feature and _word(one.name) in aspects})
    lines = {
        "id": draft.id,
        "title": shorten(difference.words, _TITLE),
        "requirements": [draft.citation.requirement],
        "level": difference.level,
        "editions": [question.edition],
        "method": question.method,
        "needs": needs,
        "why": draft.citation.sentence,
        "params": params,
        "expect": _expected(difference, question),
    }
    return "[[case]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in lines.items())


def _ending(path: str) -> str:
    """What says the form of a graph's file."""
    base = os.path.basename(path)
    return base[base.index(".") :]


def _word(aspect: str) -> str:
    """The word that facts of an aspect begin with."""
    return {"directives": "directive", "reasons": "host", "engines": "engine", "lists": "list",
            "impl_modes": "impl_mode", "notices": "notice"}.get(aspect, aspect)  # fmt: skip


def _expected(difference: comparing.Disagreement, question: ExploreQuestion) -> Mapping[str, Any]:
    if difference.cause[1] == "accepted":
        if question.method == "options":
            return {"rejected": {"code": _REFUSALS, "subject": f"*{difference.refused}*"}}
        return {"rejected": {"code": [*_REFUSALS, "RANGE_UNSUPPORTED", "RANGE_SCOPE", "REF_BORDER",
                                      "PRECISION_NO_KERNEL"]}}  # fmt: skip
    found: Dict[str, Any] = {}
    if difference.missing:
        found["contains"] = list(difference.missing)
    if difference.extra:
        found["forbid"] = list(difference.extra)
    return found or {"forbid": ["nothing says so"]}  # an answer, whatever it says


def _toml(value: Any) -> str:
    """A value in TOML on one line; None, which TOML has not, is an empty text: both are unset."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return '""'
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    return "[" + ", ".join(map(_toml, value)) + "]"
