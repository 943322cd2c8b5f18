"""Decides what the report page of a run shows: verdict, areas, requirements, and what to fix in each failure."""

from __future__ import annotations

import shlex
from typing import Any, Dict, List, Mapping, Sequence

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, counts
from npu_conformance.library.library import Library
from npu_conformance.report import causes, summary
from npu_conformance.report.page import render_page

__all__ = ["page", "repeat"]

_SHOWN_DIFFERENCES = 200  # of one case; the rest is in results.jsonl

#: What each status means, for the page's legend.
MEANINGS: Mapping[str, str] = {
    "harness-error": "the suite itself is at fault",
    "protocol-error": "the answer does not follow the protocol",
    "crash": "the worker ended without an answer, twice",
    "timeout": "no answer in time, twice",
    "xpass": "listed as a known failure, but passes or fails otherwise",
    "fail": "the answer is not what the documents demand",
    "overclaim": "the backend claims this and then answers unsupported",
    "unstable": "a repetition in a fresh worker came out differently",
    "blocked": "a case without which this one says nothing did not pass",
    "xfail": "a known failure, as listed",
    "unsupported": "not claimed by the backend; never a pass",
    "pass": "all assertions held",
    "not-run": "no result",
}

_VERBS = {
    "missing": "is missing",
    "unexpected": "should not be there",
    "forbidden": "is forbidden",
}


def repeat(report: Report, record: Record) -> str:
    """The command that asks for this one case again."""
    spec, selection = report.header["backend"]["spec"], report.header["selection"]
    backend = "" if spec == "reference" else f" --backend {shlex.quote(spec)}"
    if record.instance.case.topic == "laws":
        backend += f" --laws {selection.get('laws', 0)} --law-seed {selection.get('law_seed', 0)}"
    return f"npu-conformance run{backend} --edition {record.instance.edition} -k {record.instance.case.id}@"


def page(library: Library, report: Report) -> str:
    """The HTML text.

    Raises:
        NpuError: OUTPUT without jinja2.
    """
    present = {record.result.status for record in report.records}
    found = [_cause_row(library, report, cause) for cause in causes.causes(report.records)]
    return render_page(
        "report.html",
        verdict=report.verdict,
        header=report.header,
        errors=report.errors,
        counts=counts(report.records),
        meanings=MEANINGS,
        areas=summary.areas(report),
        statuses=[status for status in judge.ORDER if status in present],
        rows=[_case_row(group) for group in summary.by_case(report.records)],
        causes=found,
        failures=sum(len(cause["failures"]) for cause in found),
        known=[
            {"id": record.instance.id, "detail": record.result.detail}
            for record in report.records
            if record.result.status == "xfail"
        ],
        requirements=_requirements(library, report),
    )


def _cause_row(library: Library, report: Report, cause: causes.Cause) -> Dict[str, Any]:
    """One probable cause, with everything it made fail, an example first."""
    names = cause.example.instance.case.requirements[:1]
    return {
        "name": cause.name,
        "status": cause.status,
        "sentence": cause.sentence,
        "about": " · ".join(part for part in (cause.family, cause.method) if part),
        "cases": cause.cases,
        "results": cause.results,
        "demands": [(name, library.requirements[name].statement) for name in names],
        "failures": [
            dict(_row(report, failure[0]), where=[record.instance.id for record in failure])
            for failure in cause.failures
        ],
    }


def _case_row(records: Sequence[Record]) -> Dict[str, Any]:
    """One line of the table of cases: the worst status, and each instance with its own."""
    case = records[0].instance.case
    statuses = [record.result.status for record in records]
    return {
        "id": case.id,
        "title": case.title,
        "area": case.area,
        "level": case.level,
        "requirements": case.requirements,
        "status": judge.worst(statuses),
        "statuses": sorted(set(statuses)),
        "instances": [
            {"name": record.instance.id.partition("@")[2], "status": record.result.status} for record in records
        ],
        "details": sorted({record.result.detail for record in records if record.result.status != "pass"}),
    }


def _row(report: Report, record: Record) -> Dict[str, Any]:
    case, result = record.instance.case, record.result
    return {
        "id": record.instance.id,
        "case": case.id,
        "title": case.title,
        "area": case.area,
        "level": case.level,
        "why": case.why,
        "requirements": case.requirements,
        "readings": case.readings,
        "status": result.status,
        "detail": result.detail,
        "signature": result.signature,
        "differences": [
            {"kind": entry.kind, "verb": _VERBS.get(entry.kind, entry.kind), "fact": entry.fact}
            for entry in result.differences[:_SHOWN_DIFFERENCES]
        ],
        "hidden": max(0, len(result.differences) - _SHOWN_DIFFERENCES),
        "first": record.first,
        "repro": repeat(report, record),
    }


def _requirements(library: Library, report: Report) -> List[Dict[str, Any]]:
    """Every requirement the run is about, with its worst status and its cases."""
    statuses = summary.requirement_statuses(report.records)
    cases: Dict[str, List[str]] = {}
    for record in report.records:
        for name in record.instance.case.requirements:
            names = cases.setdefault(name, [])
            if record.instance.case.id not in names:
                names.append(record.instance.case.id)
    return [
        {
            "id": name,
            "status": status,
            "level": library.requirements[name].level,
            "document": library.requirements[name].document,
            "anchor": library.requirements[name].anchor,
            "statement": library.requirements[name].statement,
            "cases": cases[name],
        }
        for name, status in statuses.items()
    ]
