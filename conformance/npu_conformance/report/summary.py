"""Sums up a run: by area, by requirement, as badge.json, statement.json and the answer of ``run --format json``."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, counts
from npu_conformance.library import inventory
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.report import unasked

__all__ = ["Area", "areas", "by_case", "grouped", "must", "requirement_statuses", "badge", "statement", "answer"]


class Area(NamedTuple):
    """One row of the final table."""

    name: str
    instances: int
    counts: Mapping[str, int]
    requirements: int
    passed: int


def areas(report: Report) -> List[Area]:
    """Rows in alphabetical order; a requirement counts in each area that has a case for it."""
    found: Dict[str, List[Record]] = {}
    for record in report.records:
        found.setdefault(record.instance.case.area, []).append(record)
    rows = []
    for name in sorted(found):
        statuses = requirement_statuses(found[name])
        passed = sum(1 for status in statuses.values() if status == "pass")
        rows.append(Area(name, len(found[name]), counts(found[name]), len(statuses), passed))
    return rows


def grouped(records: Sequence[Record]) -> List[List[Record]]:
    """Records that are the same thing to fix, together: one case, one status, one set of differences."""
    found: Dict[Tuple[Any, ...], List[Record]] = {}
    for record in records:
        result = record.result
        key = (record.instance.case.id, result.status, result.differences or result.detail)
        found.setdefault(key, []).append(record)
    return list(found.values())


def by_case(records: Sequence[Record]) -> List[List[Record]]:
    """The records of each case, in all its editions and twins; cases in order of their first record."""
    found: Dict[str, List[Record]] = {}
    for record in records:
        found.setdefault(record.instance.case.id, []).append(record)
    return list(found.values())


def requirement_statuses(records: Sequence[Record]) -> Mapping[str, str]:
    """Worst status of each requirement over the instances that cite it, in alphabetical order.

    What a backend does not claim counts only where nothing else was judged.
    """
    found: Dict[str, List[str]] = {}
    for record in records:
        for name in record.instance.case.requirements:
            found.setdefault(name, []).append(record.result.status)
    return {name: _worst(found[name]) for name in sorted(found)}


def _worst(statuses: Sequence[str]) -> str:
    claimed = [status for status in statuses if status != "unsupported"]
    return judge.worst(claimed or statuses)


def must(library: Library, records: Sequence[Record]) -> Tuple[int, int]:
    """(passed, all) of the `must` requirements the run is about."""
    statuses = {
        name: status
        for name, status in requirement_statuses(records).items()
        if library.requirements[name].level == inventory.LEVELS[0]
    }
    return sum(1 for status in statuses.values() if status == "pass"), len(statuses)


def badge(library: Library, report: Report) -> Dict[str, Any]:
    """The badge in the form of shields.io's endpoint."""
    passed, total = must(library, report.records)
    good = report.verdict == "conformant"
    return {
        "schemaVersion": 1,
        "label": f"npu-conformance {report.header['suite']['version']}",
        "message": f"{report.verdict} {passed}/{total}",
        "color": "brightgreen" if good else "red" if report.verdict == "not conformant" else "yellow",
    }


def answer(report: Report) -> Dict[str, Any]:
    """What ``run --format json`` prints."""
    return {
        "schema": schema.header("run"),
        "verdict": report.verdict,
        "counts": counts(report.records),
        "errors": list(report.errors),
        "areas": {
            area.name: {
                "instances": area.instances,
                "counts": dict(area.counts),
                "requirements": area.requirements,
                "requirements_passed": area.passed,
            }
            for area in areas(report)
        },
        "unsupported": [
            {"reason": row.text, "instances": row.instances, "areas": dict(row.areas)}
            for row in unasked.reasons(report.records)
        ],
    }


def _cases(library: Library, report: Report) -> int:
    """How many records are of the library's cases: laws come on top."""
    return sum(1 for record in report.records if record.instance.case.id in library.cases)


def statement(library: Library, report: Report, results: bytes) -> Dict[str, Any]:
    """What a vendor may publish: verdict, what was judged by what, and the digest of the evidence.

    Args:
        results: content of results.jsonl.
    """
    passed, total = must(library, report.records)
    statuses = [record.result.status for record in report.records]
    return {
        "schema": schema.header("statement"),
        "verdict": report.verdict,
        "suite": report.header["suite"],
        "backend": report.header["backend"],
        "platform": report.header["platform"],
        "selection": report.header["selection"],
        "whole_suite": (
            _cases(library, report) == len(library.instances())
            and report.header["selection"].get("thorough", True) is True
        ),
        "instances": {
            "total": len(statuses),
            "applicable": len(statuses) - statuses.count("unsupported"),
            "passed": statuses.count("pass"),
        },
        "must_requirements": {"passed": passed, "total": total},
        "counts": counts(report.records),
        "known_failures": report.header["known_failures"],
        "sandbox": report.header.get("sandbox", {"means": "none"}),
        "results_sha256": hashlib.sha256(results).hexdigest(),
    }
