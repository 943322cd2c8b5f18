"""Makes a static site of several reports: requirements by backends, each cell leading to cases, causes and inputs.

What the reports state is shown as it stands. Every text of theirs is bounded and escaped, and no name of theirs becomes
the name of a file or an address without being reduced to letters and digits.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import npu_reference
from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.report import causes, comparison, comparison_page, failing, stated, summary
from npu_conformance.report.page import Made, render_page
from npu_reference.errors import NpuError

__all__ = ["MARK", "MOST", "answer", "write"]

#: The file by which a folder is known to be a site of ours.
MARK = "site.json"
#: Reports of one site (assumed).
MOST = 100

_IN_FULL = 40  # failures of one cause that are told in full (assumed)
_ALL_IN_FULL = 400  # failures of one report that are told in full (assumed)
_LISTED = 200  # further failures of one cause, and foreign cases, that are listed (assumed)
_CAUSES = 200  # of one report (assumed)
_COLOURS = {"conformant": "#14723b", "not conformant": "#b3261e", "incomplete": "#8a5a00"}


class SiteEntry(NamedTuple):
    """One report of the site.

    key: of its files, letters and digits; must: (passed, all) requirements of level must; statuses: by requirement;
    change: from the report before it of the same backend, if there is one.
    """

    key: str
    name: str
    version: str
    suite: str
    verdict: str
    counts: Mapping[str, int]
    must: Tuple[int, int]
    statuses: Mapping[str, str]
    other: bool
    change: Mapping[str, Any]


def write(library: Library, folders: Sequence[str], out: str) -> List[SiteEntry]:
    """Fills the folder `out`; the same reports in the same order give the same bytes.

    Args:
        folders: of the reports; those of one backend in order of time.
        out: an empty folder.
    Returns:
        What the site is about: backends in the order in which they come first, the reports of each together.
    Raises:
        NpuError: OUTPUT for a report that cannot be read, or without jinja2; USAGE for too many reports.
    """
    if len(folders) > MOST:
        raise NpuError("USAGE", "npu-conformance site", f"{len(folders)} reports are more than {MOST}", "Give fewer.")
    for name in ("reports", "badges", "changes"):
        os.mkdir(os.path.join(out, name))
    known = stated.instances(library)
    found: Dict[str, List[SiteEntry]] = {}
    before: Dict[str, stated.Stated] = {}
    for number, folder in enumerate(folders, 1):
        read = stated.load(library, known, folder)
        entry = _entry(library, read, number)
        earlier = found.setdefault(read.name, [])
        if earlier:
            entry = entry._replace(change=_change(library, before[read.name], read, earlier[-1], entry, out))
        earlier.append(entry)
        before[read.name] = read
        page = os.path.join(out, "reports", f"{entry.key}.html")
        output.write_file(page, _report_page(library, read, entry))
        output.write_file(os.path.join(out, "badges", f"{entry.key}.svg"), _badge(entry))
    entries = [entry for group in found.values() for entry in group]
    output.write_file(os.path.join(out, "index.html"), _index(library, list(found.values())))
    output.write_file(os.path.join(out, MARK), output.dumps(answer(entries)) + "\n")
    if not os.listdir(os.path.join(out, "changes")):
        os.rmdir(os.path.join(out, "changes"))
    return entries


def answer(entries: Sequence[SiteEntry]) -> Dict[str, Any]:
    """What ``site --format json`` prints, and the site holds as ``site.json``."""
    return {
        "schema": schema.header("site"),
        "reports": [
            {
                "backend": entry.name,
                "version": entry.version,
                "suite": entry.suite,
                "verdict": entry.verdict,
                "counts": dict(entry.counts),
                "must_requirements": {"passed": entry.must[0], "total": entry.must[1]},
                "page": f"reports/{entry.key}.html",
                "badge": f"badges/{entry.key}.svg",
            }
            for entry in entries
        ],
    }


def _entry(library: Library, read: stated.Stated, number: int) -> SiteEntry:
    statuses = summary.requirement_statuses(read.report.records)
    key = re.sub(r"[^a-z0-9]+", "-", read.title.lower()).strip("-")[:40].strip("-")
    return SiteEntry(
        f"{number}-{key}" if key else str(number),
        read.name,
        read.version,
        read.report.header["suite"]["version"],
        read.report.verdict,
        read.counts,
        summary.must(library, read.report.records),
        statuses,
        read.other,
        {},
    )


def _change(
    library: Library, old: stated.Stated, new: stated.Stated, before: SiteEntry, after: SiteEntry, out: str
) -> Mapping[str, Any]:
    """What moved since the report before, and its page."""
    found = comparison.of(library, old, new)
    path = f"changes/{before.key}--{after.key}.html"
    output.write_file(os.path.join(out, path), comparison_page.page(library, found))
    worse = len(found.worse)
    return {"page": path, "worse": worse, "otherwise": len(found.changed) - worse}


def _badge(entry: SiteEntry) -> str:
    """The badge as SVG; widths are estimated, and the text is fitted to them by whoever draws it."""
    label = "npu-conformance"
    message = f"{entry.verdict} {entry.must[0]}/{entry.must[1]}"
    left, right = (10 + 7 * len(text) for text in (label, message))
    title = f"{entry.name} {entry.version}".rstrip()
    colour = _COLOURS[entry.verdict]
    return render_page("badge.svg", left=left, right=right, label=label, message=message, title=title, colour=colour)


def _index(library: Library, groups: Sequence[Sequence[SiteEntry]]) -> str:
    entries = [entry for group in groups for entry in group]
    names = sorted({name for entry in entries for name in entry.statuses})
    rows = []
    for name in names:
        requirement = library.requirements[name]
        statuses = [entry.statuses.get(name, "") for entry in entries]
        rows.append(
            {
                "id": name,
                "statement": requirement.statement,
                "level": requirement.level,
                "document": f"{requirement.document} {requirement.anchor}".rstrip(),
                "cells": [(entry.key, status) for entry, status in zip(entries, statuses)],
                "words": "differs" if len({status for status in statuses if status}) > 1 else "",
                "worst": judge.worst([status for status in statuses if status]),
            }
        )
    present = {status for entry in entries for status in entry.counts}
    return render_page(
        "site_index.html",
        made=Made(),
        groups=groups,
        entries=entries,
        statuses=[status for status in judge.ORDER if status in present],
        meanings=judge.MEANINGS,
        rows=rows,
        suite=npu_reference.__version__,
    )


def _report_page(library: Library, read: stated.Stated, entry: SiteEntry) -> str:
    report = read.report
    found = causes.causes(report.records)
    places: Dict[str, str] = {}
    rows, room = [], _ALL_IN_FULL
    for number, cause in enumerate(found[:_CAUSES], 1):
        full = cause.failures[: min(_IN_FULL, room)]
        room -= len(full)
        for at, failure in enumerate(cause.failures, 1):
            anchor = f"failure-{number}-{at}" if at <= len(full) else f"cause-{number}"
            places.update((record.instance.id, anchor) for record in failure)
        rows.append(_cause(library, read, cause, number, full))
    for cause in found[_CAUSES:]:
        places.update((record.instance.id, "causes") for failure in cause.failures for record in failure)
    present = [status for status in judge.ORDER if status in read.counts]
    return render_page(
        "site_report.html",
        made=Made(),
        entry=entry,
        title=read.title,
        spec=report.header["backend"]["spec"],
        errors=report.errors,
        statuses=present,
        meanings=judge.MEANINGS,
        causes=rows,
        hidden=max(0, len(found) - _CAUSES),
        requirements=_requirements(library, report.records, places),
        foreign=read.foreign[:_LISTED],
        foreign_count=len(read.foreign),
    )


def _cause(
    library: Library, read: stated.Stated, cause: causes.Cause, number: int, full: Sequence[Sequence[Record]]
) -> Dict[str, Any]:
    """One probable cause with what it made fail: some in full, more by their ids."""
    listed = cause.failures[len(full) : len(full) + _LISTED]
    return {
        "anchor": f"cause-{number}",
        "status": cause.status,
        "sentence": cause.sentence,
        "remedy": cause.remedy,
        "about": " · ".join(part for part in (cause.family, cause.method) if part),
        "cases": cause.cases,
        "results": cause.results,
        "failures": [
            {
                "anchor": f"failure-{number}-{at}",
                "title": failure[0].instance.case.title,
                "case": failure[0].instance.case.id,
                "detail": failure[0].result.detail,
                "where": [record.instance.id for record in failure],
                "told": failing.account(library, read.report, failure[0]),
            }
            for at, failure in enumerate(full, 1)
        ],
        "listed": [
            (failure[0].instance.id, failure[0].result.detail, failing.repeat(read.report, failure[0]))
            for failure in listed
        ],
        "hidden": len(cause.failures) - len(full) - len(listed),
    }


def _requirements(library: Library, records: Sequence[Record], places: Mapping[str, str]) -> List[Dict[str, Any]]:
    """Every requirement with its cases; what failed leads to its cause."""
    cases: Dict[str, Dict[str, List[Record]]] = {}
    for record in records:
        for name in record.instance.case.requirements:
            cases.setdefault(name, {}).setdefault(record.instance.case.id, []).append(record)
    statuses = summary.requirement_statuses(records)
    return [
        {
            "id": name,
            "status": status,
            "statement": library.requirements[name].statement,
            "level": library.requirements[name].level,
            "document": f"{library.requirements[name].document} {library.requirements[name].anchor}".rstrip(),
            "cases": [_case(case, found, places) for case, found in cases[name].items()],
        }
        for name, status in statuses.items()
    ]


def _case(case: str, records: Sequence[Record], places: Mapping[str, str]) -> Dict[str, Any]:
    status = judge.worst([record.result.status for record in records])
    worst = next(record for record in records if record.result.status == status)
    detail = "" if status in ("pass", "unsupported") else worst.result.detail
    return {"id": case, "status": status, "place": places.get(worst.instance.id, ""), "detail": detail}
