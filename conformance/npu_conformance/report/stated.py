"""Reads what a report states as records of the cases at hand; nothing of it is judged again, which `verify` does."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report
from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.report import results
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["Foreign", "Stated", "instances", "load"]

_MOST_RECORDS = 100_000  # assumed: ten times what the suite has
_NAME, _TEXT = 200, 1000  # characters kept of a name and of a sentence (assumed)
_DIFFERENCES = 200  # kept of one record (assumed)


class Foreign(NamedTuple):
    """A record of a case that the suite at hand does not have."""

    id: str
    status: str
    detail: str


class Stated(NamedTuple):
    """A report as it stands.

    report: records in the order of the file, without answers and facts; every text bounded.
    name, version: of the backend; a mutant, which says that it is the reference, has its SPEC as well. counts:
    instances by status, foreign ones included, the worst status first.
    other: whether it was judged by other cases, goldens or requirements than those at hand.
    """

    folder: str
    report: Report
    foreign: Tuple[Foreign, ...]
    name: str
    version: str
    counts: Mapping[str, int]
    other: bool

    @property
    def title(self) -> str:
        """Backend and version, as people name them."""
        return f"{self.name} {self.version}".rstrip()


def instances(library: Library) -> Dict[str, Instance]:
    """Everything a report can be about, by id: the library's instances and those of the laws."""
    return {one.id: one for one in (*library.instances(), *asking.instances())}


def load(library: Library, known: Mapping[str, Instance], folder: str) -> Stated:
    """Reads the report in a folder.

    Args:
        known: :func:`instances` of the library.
    Raises:
        NpuError: OUTPUT, when there is no complete report, or one that contradicts itself or its schema.
    """
    read = results.read(folder, answers=False)
    if len(read.records) > _MOST_RECORDS:
        raise NpuError("OUTPUT", folder, f"has more than {_MOST_RECORDS} records", _NONE)
    _check_form(read, folder)
    backend = read.header["backend"]
    names = [backend["backend"].get(member) for member in ("name", "version")]
    if not (isinstance(backend["spec"], str) and all(isinstance(name, str) for name in names)):
        raise NpuError("OUTPUT", folder, "its header names no backend", _NONE)
    records: List[Record] = []
    foreign: List[Foreign] = []
    counts = dict.fromkeys(judge.ORDER, 0)
    seen = set()
    for line in read.records:
        if line["id"] in seen:
            raise NpuError("OUTPUT", folder, f"{shorten(line['id'], _NAME)} has two records", _NONE)
        seen.add(line["id"])
        counts[line["status"]] += 1
        instance = known.get(line["id"])
        if instance is not None:
            records.append(Record(instance, _result(line), None, shorten(line["first_attempt"], _TEXT), "", 0.0))
        else:
            foreign.append(Foreign(shorten(line["id"], _NAME), line["status"], shorten(line["detail"], _TEXT)))
    verdict = read.footer["verdict"]
    levels = [(line["status"], line["level"]) for line in read.records]
    judged = "not conformant" if read.footer["errors"] else judge.verdict(levels)
    if judged != verdict:
        raise NpuError("OUTPUT", folder, f"states the verdict {verdict!r}, and its records give {judged!r}", _NONE)
    name, spec = shorten(str(names[0]), _NAME) or "unnamed", shorten(backend["spec"], _NAME)
    header = {
        "suite": {"version": shorten(read.header["suite"]["version"], _NAME)},
        "backend": {**backend, "spec": shorten(backend["spec"], _TEXT)},
        "selection": _laws(read.header["selection"], folder),
    }
    errors = tuple(shorten(text, _TEXT) for text in read.footer["errors"][:_DIFFERENCES])
    return Stated(
        folder,
        Report(header, tuple(records), errors, verdict),
        tuple(foreign),
        f"{name} ({spec})" if spec.startswith("mutant:") else name,
        shorten(str(names[1]), _NAME),
        {status: number for status, number in counts.items() if number},
        read.header["suite"]["library"] != library.digest,
    )


_NONE = "It is none that a run has written: npu-conformance verify says all that is wrong."


def _check_form(read: results.Read, folder: str) -> None:
    """NpuError OUTPUT for a line that does not follow the schema."""
    declared = schema.load("results")
    for number, line in enumerate((read.header, *read.records, read.footer), 1):
        fault: Optional[str] = schema.fault(line, declared["lines"][line["kind"]], declared, line["kind"])
        if fault:
            raise NpuError("OUTPUT", f"{folder}, line {number} of its results", shorten(fault, 300), _NONE)
    if not isinstance(read.header["backend"].get("backend"), dict):
        raise NpuError("OUTPUT", folder, "its header names no backend", _NONE)


def _laws(selection: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Of what was selected, what repeating a law needs."""
    found = {name: selection[name] for name in ("laws", "law_seed") if name in selection}
    if not all(type(value) is int and 0 <= value < 1 << 64 for value in found.values()):
        raise NpuError("OUTPUT", folder, "its selection names no laws", _NONE)
    return found


def _result(line: Mapping[str, Any]) -> judge.Result:
    """What a record states, each text bounded."""
    differences = []
    for one in line["differences"][:_DIFFERENCES]:
        kind, fact, aspect = [*one, "", "", ""][:3]
        differences.append(judge.Difference(shorten(kind, _NAME), shorten(fact, _TEXT), shorten(aspect, _NAME)))
    detail, signature = shorten(line["detail"], _TEXT), shorten(line["signature"], _NAME)
    return judge.Result(line["status"], detail, tuple(differences), (), signature)
