"""Writes everything a run leaves behind into one folder."""

from __future__ import annotations

import importlib.util
import os

from npu_conformance.files import output
from npu_conformance.judging.records import Report
from npu_conformance.library.library import Library
from npu_conformance.report import junit, results, run_page, summary

__all__ = ["write"]


def write(library: Library, report: Report, folder: str) -> str:
    """Fills ``folder`` with results.jsonl, statement.json, badge.json, junit.xml and report.html.

    Returns:
        Why there is no report.html (the ``report`` extra is not installed), or nothing.
    Raises:
        NpuError: OUTPUT.
    """
    path = os.path.join(folder, output.MARK)
    results.write(report, path)
    with open(path, "rb") as stream:
        content = stream.read()
    statement = summary.statement(library, report, content)
    output.write_file(os.path.join(folder, "statement.json"), output.dumps(statement) + "\n")
    output.write_file(os.path.join(folder, "badge.json"), output.dumps(summary.badge(library, report)) + "\n")
    output.write_file(os.path.join(folder, "junit.xml"), junit.document(library, report))
    if importlib.util.find_spec("jinja2") is None:
        return "report.html needs jinja2: install npu-conformance[report]"
    output.write_file(os.path.join(folder, "report.html"), run_page.page(library, report))
    return ""
