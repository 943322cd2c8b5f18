"""Makes every file of a report again from its judged records, and says which of those that lie there are others."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from npu_conformance.files import output, reading
from npu_conformance.judging.records import Report
from npu_conformance.library.library import Library
from npu_conformance.protocol import client
from npu_conformance.report import junit, results, run_page, summary
from npu_reference import strict_json
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["faults"]

_MAX_BYTES = 1 << 30  # assumed bound of one file of a report
_TENSORS = "tensors"
#: Every report has these; report.html only where jinja2 was at hand.
_ALWAYS = ("badge.json", "junit.xml", "statement.json")


def faults(library: Library, read: results.Read, report: Report) -> List[str]:
    """Every way in which the files beside results.jsonl are not those that its records give.

    Args:
        report: the records as judged now, with the header as it ought to be.
    """
    found: List[str] = []
    makers: Dict[str, Callable[[bytes], Iterator[str]]] = {
        "statement.json": lambda content: _json_faults(content, summary.statement(library, report, _results(read))),
        "badge.json": lambda content: _json_faults(content, summary.badge(library, report)),
        "junit.xml": lambda content: _junit_faults(content, library, report),
        "report.html": lambda content: _page_faults(content, library, report, read.folder),
    }
    names = set(os.listdir(read.folder)) - {output.MARK}
    found += [f"{name}: is missing" for name in _ALWAYS if name not in names]
    for name, make in makers.items():
        if name in names:
            found += [f"{name}: {fault}" for fault in _made_again(os.path.join(read.folder, name), make)]
    digests = read.footer.get("files", {})
    digests = digests if isinstance(digests, dict) else {}
    for name in sorted(digests):
        found += [f"{shorten(str(name))}: {fault}" for fault in _digest_faults(read.folder, str(name), digests[name])]
    kept = _tensors(report)
    known = {*makers, *map(str, digests), *([_TENSORS] if kept else [])}
    found += [f"{shorten(name)}: is no file of this report" for name in sorted(names - known)]
    if _TENSORS in names and kept:
        place = os.path.join(read.folder, _TENSORS)
        if os.path.islink(place) or not os.path.isdir(place):
            return [*found, f"{_TENSORS}: is no folder"]
        beside = sorted(set(os.listdir(place)) - kept)
        found += [f"{_TENSORS}/{shorten(name)}: is no tensor of this report" for name in beside]
    return found


def _made_again(path: str, make: Callable[[bytes], Iterator[str]]) -> List[str]:
    try:
        return list(make(reading.content(path, _MAX_BYTES)))
    except OSError as error:
        return [f"cannot be read: {error.strerror or error}"]
    except NpuError as error:
        return [f"cannot be made again: {error.reason}"]
    except Exception as error:  # noqa: BLE001  a header that says nonsense; the folder does not hold, whatever it is
        return [f"cannot be made again: {type(error).__name__}: {shorten(str(error), 200)}"]


def _results(read: results.Read) -> bytes:
    return reading.content(os.path.join(read.folder, output.MARK), _MAX_BYTES)


def _json_faults(content: bytes, wanted: Mapping[str, Any]) -> Iterator[str]:
    if content == (output.dumps(wanted) + "\n").encode("ascii"):
        return
    try:
        stated = strict_json.loads(content.decode("ascii"))
    except (ValueError, RecursionError) as error:
        yield f"is not JSON: {shorten(str(error))}"
        return
    if not isinstance(stated, dict):
        yield "is no JSON object"
        return
    names = [name for name in sorted({*stated, *wanted}) if name not in stated or name not in wanted]
    names += [
        name for name in sorted(set(stated) & set(wanted)) if output.dumps(stated[name]) != output.dumps(wanted[name])
    ]
    for name in names:
        if name == "results_sha256":
            yield "is about another results.jsonl"
        else:
            yield f"{shorten(name)} is not what comes out"
    if not names:
        yield "is not written as it would be"


def _junit_faults(content: bytes, library: Library, report: Report) -> Iterator[str]:
    if junit.timeless(content.decode("utf-8")) != junit.timeless(junit.document(library, report)):
        yield "is not what comes out"


def _page_faults(content: bytes, library: Library, report: Report, folder: str) -> Iterator[str]:
    if importlib.util.find_spec("jinja2") is None:
        yield "cannot be made again without jinja2: install npu-conformance[report]"
    elif content != run_page.page(library, _timed(report, folder)).encode("utf-8", "backslashreplace"):
        yield "is not what comes out"


def _timed(report: Report, folder: str) -> Report:
    """With what each instance took, which junit.xml alone says."""
    taken = junit.seconds(folder)
    return report._replace(
        records=tuple(one._replace(seconds=taken.get(one.instance.id, 0.0)) for one in report.records)
    )


def _digest_faults(folder: str, name: str, digest: object) -> List[str]:
    """What is wrong with a file that results.jsonl names by its digest."""
    if os.path.basename(name) != name or not results.is_evidence(name):
        return ["is no file that a run leaves"]
    try:
        content = reading.content(os.path.join(folder, name), _MAX_BYTES)
    except (OSError, ValueError) as error:
        return [f"cannot be read: {getattr(error, 'strerror', None) or error}"]
    return [] if hashlib.sha256(content).hexdigest() == digest else ["was changed"]


def _tensors(report: Report) -> set[str]:
    """Names of the files in which tensors of the records' answers are kept."""
    found = set()
    for record in report.records:
        outcome: Optional[client.Outcome] = record.outcome
        if isinstance(outcome, client.Answered) and isinstance(outcome.ok.get("fetches"), dict):
            for tensor in outcome.ok["fetches"].values():
                if isinstance(tensor, dict) and isinstance(tensor.get("file"), str):
                    found.add(os.path.basename(tensor["file"]))
    return found
