"""Decides what the report page of a run shows: verdict, areas, requirements, and what to fix in each failure."""

from __future__ import annotations

import datetime
import json
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, counts
from npu_conformance.library.library import Library
from npu_conformance.report import causes, failing, summary, unasked
from npu_conformance.report.page import Made, render_page
from npu_reference.printing import clipped, counted, printable

__all__ = ["page"]

_SHOWN_DIFFERENCES = 200  # of one case; the rest is in results.jsonl
_SHOWN_FAILURES = 40  # of one cause in full (assumed); the table of cases has all
_SLOWEST = 15
_LONGEST = 2000  # characters of what a backend says about itself (assumed)

_VERBS = {"missing": "is missing", "unexpected": "should not be there", "forbidden": "is forbidden"}


def page(library: Library, report: Report) -> str:
    """The HTML text; what took how long stands in it to the millisecond, as in junit.xml.

    Raises:
        NpuError: OUTPUT without jinja2.
    """
    present = {record.result.status for record in report.records}
    found = causes.causes(report.records)
    of_case: Dict[str, List[str]] = {}
    for cause in found:
        for failure in cause.failures:
            names = of_case.setdefault(failure[0].instance.case.id, [])
            if cause.name not in names:
                names.append(cause.name)
    rows = [_case_row(group, of_case) for group in summary.by_case(report.records)]
    requirements = _requirements(library, report)
    return render_page(
        "report.html",
        made=Made(failing.run_command(report), str(report.header.get("day", "")), report.header["suite"]["version"]),
        verdict=report.verdict,
        header=report.header,
        errors=report.errors,
        counts=counts(report.records),
        meanings=judge.MEANINGS,
        areas=summary.areas(report),
        statuses=[status for status in judge.ORDER if status in present],
        rows=sorted(rows, key=lambda row: _PLACES[row["status"]]),  # stable: what failed comes first
        causes=[_cause_row(library, report, cause) for cause in found],
        shown_failures=_SHOWN_FAILURES,
        failures=sum(len(cause.failures) for cause in found),
        known=_known_rows(report),
        requirements=requirements,
        documents=_documents(requirements),
        twins=_twins(report),
        slowest=_slowest(report),
        unasked=unasked.reasons(report.records),
        environment=_environment(report),
    )


#: Place of a status in the table of cases: what is to be mended, what was not judged, what passed.
_PLACES: Mapping[str, int] = {
    name: place for place, name in enumerate([name for name in judge.ORDER if name != "pass"] + ["pass"])
}


def _known_rows(report: Report) -> List[Dict[str, Any]]:
    """Every known failure with the days that it may still stand, and what it covers."""
    covered: Dict[str, List[str]] = {}
    for record in report.records:
        if record.known:
            covered.setdefault(record.known, []).append(record.instance.id)
    day = report.header.get("day")
    return [
        {"issue": "", "owner": "", **entry, "left": _left(entry["expires"], day), "cases": covered.get(entry["id"], [])}
        for entry in report.header.get("known_failures", ())
    ]


def _left(expires: str, day: object) -> str:
    """How long a known failure may stand, from the day of the run on."""
    if not isinstance(day, str):
        return ""
    days = (_date(expires) - _date(day)).days
    if days < 0:
        return f"expired {counted(-days, 'day')} before"
    return f"{counted(days, 'day')} left" if days else "last day"


def _date(text: str) -> datetime.date:
    return datetime.datetime.strptime(text, "%Y-%m-%d").date()


def _documents(requirements: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Each document with how many of its requirements passed."""
    found: Dict[str, Dict[str, Any]] = {}
    for one in requirements:
        row = found.setdefault(one["document"], {"name": one["document"], "passed": 0, "all": 0, "failed": 0})
        row["all"] += 1
        row["passed"] += one["status"] == "pass"
        row["failed"] += one["status"] not in ("pass", "unsupported", "xfail", "not-run")
    return [found[name] for name in sorted(found)]


def _twins(report: Report) -> Dict[str, Any]:
    """How many twins were judged, and those that came out otherwise than what they are twins of."""
    plain = {
        (record.instance.case.id, record.instance.edition): record.result.status
        for record in report.records
        if not record.instance.twin
    }
    judged = [
        record
        for record in report.records
        if record.instance.twin and record.result.status not in ("unsupported", "not-run")
    ]
    other = []
    for record in judged:
        before = plain.get((record.instance.case.id, record.instance.edition))
        if before is not None and before != record.result.status:
            row = {"id": record.instance.id, "case": record.instance.case.id, "before": before}
            other.append({**row, "status": record.result.status, "twin": record.instance.twin})
    return {"judged": len(judged), "other": other[:_SHOWN_DIFFERENCES], "count": len(other)}


def _slowest(report: Report) -> List[Dict[str, Any]]:
    """What took longest, to the millisecond."""
    taken = [(f"{record.seconds:.3f}", record.instance) for record in report.records]
    taken.sort(key=lambda pair: (-float(pair[0]), pair[1].id))
    return [
        {"id": instance.id, "case": instance.case.id, "area": instance.case.area, "seconds": seconds}
        for seconds, instance in taken[:_SLOWEST]
        if float(seconds)
    ]


def _environment(report: Report) -> List[Tuple[str, str]]:
    """What was judged by what, where, and what was left out."""
    header = report.header
    backend = header["backend"]
    able = backend.get("capabilities", {})
    selection = {name: value for name, value in header.get("selection", {}).items() if value not in ("", [])}
    rows = [("Suite", f"npu-conformance {header['suite']['version']}"), ("Cases", header["suite"].get("library", ""))]
    rows += [("Backend", f"{backend['backend']['name']} {backend['backend']['version']}"), ("SPEC", backend["spec"])]
    rows += [(f"Backend: {name}", _told(value)) for name, value in sorted(dict(backend.get("runtime") or {}).items())]
    rows += [(f"Claims: {name}", _told(able[name])) for name in sorted(able)]
    rows += [(f"Suite: {name}", _told(value)) for name, value in sorted(dict(header.get("platform") or {}).items())]
    rows += [(f"Sandbox: {name}", _told(value)) for name, value in sorted(dict(header.get("sandbox") or {}).items())]
    rows += [(f"Selection: {name}", _told(value)) for name, value in sorted(selection.items())]
    return [(printable(name), printable(text)) for name, text in rows if text]


def _told(value: Any) -> str:
    if isinstance(value, list):
        return clipped(", ".join(_told(one) for one in value), _LONGEST)
    return clipped(value if isinstance(value, str) else json.dumps(value, sort_keys=True), _LONGEST)


def _cause_row(library: Library, report: Report, cause: causes.Cause) -> Dict[str, Any]:
    """One probable cause, with everything it made fail, an example first."""
    return {
        "name": cause.name,
        "status": cause.status,
        "sentence": cause.sentence,
        "remedy": cause.remedy,
        "about": " · ".join(part for part in (cause.family, cause.method) if part),
        "cases": cause.cases,
        "results": cause.results,
        "demands": [(name, library.requirements[name].statement) for name in cause.broken],
        "count": len(cause.failures),
        "failures": [
            dict(_row(library, report, failure[0]), where=[record.instance.id for record in failure])
            for failure in cause.failures[:_SHOWN_FAILURES]
        ],
    }


def _case_row(records: Sequence[Record], causes_of: Mapping[str, Sequence[str]]) -> Dict[str, Any]:
    """One line of the table of cases: the worst status, and each instance with its own."""
    case = records[0].instance.case
    statuses = [record.result.status for record in records]
    names: Dict[str, List[str]] = {}
    for record in records:
        names.setdefault(record.result.status, []).append(record.instance.id.partition("@")[2])
    row = {
        "id": case.id,
        "title": case.title,
        "area": case.area,
        "level": case.level,
        "requirements": case.requirements,
        "status": judge.worst(statuses),
        "names": {status: " ".join(found) for status, found in names.items()},
    }
    details = sorted({record.result.detail for record in records if record.result.status != "pass"})
    # What is empty in nearly every row of thousands is left out of it.
    row.update({"details": details} if details else {})
    row.update({"causes": causes_of[case.id]} if case.id in causes_of else {})
    return row


def _row(library: Library, report: Report, record: Record) -> Dict[str, Any]:
    case, result = record.instance.case, record.result
    told = failing.account(library, report, record)
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
        "asked": told.asked,
        "expected": told.expected,
        "repro": told.repeat,
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
