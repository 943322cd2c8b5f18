"""Writes ``junit.xml``: one test case an instance, so that any CI shows the run."""

from __future__ import annotations

import html
import os
import re
import xml.etree.ElementTree as ElementTree
from typing import Dict, FrozenSet, List, Sequence

from npu_conformance.files import reading
from npu_conformance.judging.records import Record, Report
from npu_conformance.library.library import Library
from npu_conformance.report import failing
from npu_reference.errors import NpuError

__all__ = ["document", "seconds", "timeless"]

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML 1.0

# Attributes come in alphabetical order, as Python 3.7 sorts them: every version writes the same text.
_TIME = re.compile(r'(<test(?:suite|case) [^<>]*? time=")[0-9]+\.[0-9]{3}(?=")')

_TAKEN = re.compile(r'<testcase [^<>]*?name="([^"<>]*)" time="([0-9]{1,9}\.[0-9]{3})"')
_MOST_BYTES = 256 << 20  # assumed: a hundred times a run that fails everywhere

_TOLD = 1000  # failures that are told in full, in the order of the report; the others name the command that tells them

_ERRORS = ("harness-error", "protocol-error", "crash", "timeout", "not-run")
_SKIPPED = ("blocked", "xfail", "unsupported")


def document(library: Library, report: Report) -> str:
    """The XML text, one suite an area; what failed says what was asked, what is expected, and how to repeat it."""
    root = ElementTree.Element("testsuites", name="npu-conformance")
    failed = [one.instance.id for one in report.records if one.result.status not in (*_SKIPPED, "pass")]
    told = frozenset(failed[:_TOLD])
    suites: Dict[str, List[Record]] = {}
    for record in report.records:
        suites.setdefault(record.instance.case.area, []).append(record)
    for area in sorted(suites):
        root.append(_suite(library, report, area, suites[area], told))
    if report.errors:
        root.append(_list_errors(report.errors))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def seconds(folder: str) -> Dict[str, float]:
    """Seconds that each instance took, by id, as the run's junit.xml in `folder` says.

    Raises:
        NpuError: OUTPUT when there is none, or it says of nothing how long it took.
    """
    path = os.path.join(folder, "junit.xml")
    try:
        text = reading.content(path, _MOST_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise NpuError("OUTPUT", path, reason, "Name the folder of a report.") from None
    found = {html.unescape(name): float(taken) for name, taken in _TAKEN.findall(text)}
    if not found:
        raise NpuError("OUTPUT", path, "says of no case how long it took", "Name the folder of a report.")
    return found


def _suite(
    library: Library, report: Report, area: str, records: List[Record], told: FrozenSet[str]
) -> ElementTree.Element:
    statuses = [record.result.status for record in records]
    failures = [status for status in statuses if status not in _ERRORS + _SKIPPED + ("pass",)]
    suite = ElementTree.Element(
        "testsuite",
        errors=str(sum(1 for status in statuses if status in _ERRORS)),
        failures=str(len(failures)),
        name=area,
        skipped=str(sum(1 for status in statuses if status in _SKIPPED)),
        tests=str(len(records)),
        time=f"{sum(record.seconds for record in records):.3f}",
    )
    for record in records:
        suite.append(_case(library, report, record, record.instance.id in told))
    return suite


def _case(library: Library, report: Report, record: Record, told: bool) -> ElementTree.Element:
    case, result = record.instance.case, record.result
    element = ElementTree.Element(
        "testcase", classname=f"{case.area}.{case.topic}", name=record.instance.id, time=f"{record.seconds:.3f}"
    )
    properties = ElementTree.SubElement(element, "properties")
    ElementTree.SubElement(properties, "property", name="status", value=result.status)
    for name in case.requirements:
        ElementTree.SubElement(properties, "property", name="requirement", value=name)
    if result.status == "pass":
        return element
    tag = "error" if result.status in _ERRORS else "skipped" if result.status in _SKIPPED else "failure"
    outcome = ElementTree.SubElement(element, tag, message=_line(f"{result.status}: {result.detail}"))
    if tag != "skipped":
        outcome.set("type", _line(result.signature or result.status))
        outcome.text = _legal("\n".join(f"{entry.kind}: {entry.fact}" for entry in result.differences))
        account = f"npu-conformance case {record.instance.id}"
        if told:
            account = failing.text(failing.account(library, report, record))
        ElementTree.SubElement(element, "system-out").text = _legal(account)
    return element


def _list_errors(texts: Sequence[str]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", failures=str(len(texts)), name="known-failures", tests=str(len(texts)))
    for text in texts:
        case = ElementTree.SubElement(suite, "testcase", classname="known-failures", name=_line(text))
        ElementTree.SubElement(case, "failure", message=_line(text), type="known-failures")
    return suite


def _line(text: str) -> str:
    """An attribute's value; how line ends in one are written differs between versions of Python."""
    return _legal(text).replace("\r", " ").replace("\n", " ").replace("\t", " ")


def timeless(text: str) -> str:
    """The XML text without the times, which are all that two runs of the same answers may differ in."""
    return _TIME.sub(r"\1", text)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
