"""Says a run as JSON: what ``run`` and ``join`` print with ``--format json``, the causes of failures included."""

from __future__ import annotations

from typing import Any, Dict

from npu_conformance.judging.records import Report
from npu_conformance.library.library import Library
from npu_conformance.report import causes, failing, summary

__all__ = ["answer"]


def answer(library: Library, report: Report) -> Dict[str, Any]:
    """The answer: verdict and counts, and each probable cause with an example and the command that repeats it."""
    found = causes.causes(report.records)
    return {**summary.answer(report), "causes": [_cause(library, report, cause) for cause in found]}


def _cause(library: Library, report: Report, cause: causes.Cause) -> Dict[str, Any]:
    example = cause.example
    told = failing.account(library, report, example)
    return {
        "name": cause.name,
        "status": cause.status,
        "sentence": cause.sentence,
        "remedy": cause.remedy,
        "method": cause.method,
        "family": cause.family,
        "cases": cause.cases,
        "results": cause.results,
        "requirements": [{"id": name, "statement": library.requirements[name].statement} for name in cause.broken],
        "example": {
            "id": example.instance.id,
            "detail": example.result.detail,
            "signature": example.result.signature,
            "repeat": told.repeat,
            "input": told.asked,
            "expected": list(told.expected),
            "came": list(told.came),
        },
    }
