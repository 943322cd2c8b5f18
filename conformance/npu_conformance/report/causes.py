"""Decides which failures of a run probably have one cause: what went wrong, how, and about which requirements.

Who mends a backend mends causes. A backend that offloads nothing fails hundreds of cases, and has one fault.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library import inventory
from npu_conformance.report import summary

__all__ = ["Cause", "causes", "symptom"]

_PLACED = frozenset(["placement", "geops", "host"])
_ON_DEVICE = re.compile(r"(?:device|geop \S+ node) (\S+)\Z")

#: How operators are placed wrongly -> sentence.
_PLACEMENTS = {
    "not-offloaded": "Operators that belong on the device are on the host",
    "offloaded": "Operators that belong on the host are on the device",
    "regrouped": "Operators are in other GEOPs than they should be",
    "exchanged": "Other operators are on the device than should be",
}

#: Kinds of differences -> sentence; ``differs`` is missing and unexpected at once.
_KINDS = {
    "missing": "Of {aspect}, something is missing",
    "unexpected": "Of {aspect}, something should not be there",
    "differs": "Of {aspect}, something else came than was expected",
    "forbidden": "Of {aspect}, something forbidden is there",
    "no-alternative": "None of the allowed alternatives holds",
    "bound": "Of {aspect}, a number is out of bounds",
    "compared": "Of {aspect}, a variant compares otherwise than it should",
    "value": "Values are out of bounds",
    "not-finite": "Values are NaN or infinite",
    "accepted": "What should be refused is accepted",
    "ignored": "What should be refused is ignored with a warning",
    "spelling": "What should be refused is read as a documented value",
    "unknown": "A number of bytes, or a time, is not told",
    "refused": "What is right is refused",
    "code": "What is wrong is refused with another code",
    "subject": "What is wrong is refused with another subject",
    "unrelated": "Something else is refused than what is wrong",
    "message": "What is wrong is refused with another message",
    "unnamed": "An error does not name what the document says",
    "endless": "What a time limit should end waits for ever",
    "after": "What takes too long is refused at another time",
    "tensor": "A tensor is not what it should be",
}

#: What to do about a status that says by itself what went wrong.
OF_STATUS = {
    "harness-error": "Nothing of the backend is at fault: report it with this run.",
    "protocol-error": "`npu-conformance worker-check` names the line of an answer that is wrong.",
    "crash": "Repeat the example alone: the worker's last words on stderr stand with it.",
    "timeout": "Repeat the example alone with a larger --timeout-factor: what ends then is slow, what does not hangs.",
    "xpass": "Remove the entry from the known failures, or correct its outcome and signature.",
    "overclaim": "Leave the feature out of what hello claims, or answer it.",
    "unstable": "Forget at reset all that earlier requests left; or an answer depends on chance.",
    "not-run": "See first why the worker does not start, or does not answer, any more.",
    "fail": "Answer the request, or refuse it with a code; the error is the backend's own.",
    "blocked": "Mend the case that it waits for first.",
}

#: Statuses that say by themselves what went wrong -> sentence.
_STATUSES = {status: f"{judge.MEANINGS[status][0].upper()}{judge.MEANINGS[status][1:]}" for status in OF_STATUS}
_STATUSES["fail"] = "The backend ends in an error of its own"

#: What to do about a kind of difference.
_OF_KIND = {
    "accepted": "Refuse this, with the code that the example names.",
    "ignored": "Refuse this, with the code that the example names, instead of a warning.",
    "spelling": "Refuse this, with the code that the example names, instead of reading it as another value.",
    "unknown": "Tell the number that the example has.",
    "refused": "Accept this: the documents allow it.",
    "code": "Refuse it as now, with the code that the example names.",
    "subject": "Refuse it as now, and name what the example names.",
    "unrelated": "Refuse it for what the example names.",
    "message": "Refuse it as now, in words as the example has them.",
    "unnamed": "Name it in the code, the subject or the message.",
    "endless": "End the wait when the time limit of the example is over.",
    "after": "Refuse it when the time that the example names is over on the device's clock.",
}

_PLACED_BETTER = (
    "`npu-conformance partition` with the graph and options of the example says where each operator belongs, and why."
)
_OTHERWISE = "Answer what is missing in the example, and not what should not be there."


class Cause(NamedTuple):
    """Failures that look alike.

    status, method: of all of them; kind, aspect: what differs, see :func:`symptom`; family: the first part of their
    requirements' ids; failures: what there is to fix, each the records of one case that differ alike, the plainest
    example first.
    """

    status: str
    method: str
    kind: str
    aspect: str
    family: str
    failures: Tuple[Tuple[Record, ...], ...]

    @property
    def name(self) -> str:
        """What it is called in links: the same in every run that has it."""
        parts = (self.status, self.family, self.method, self.kind, self.aspect)
        return "-".join(part for part in parts if part)

    @property
    def sentence(self) -> str:
        """What went wrong, in words."""
        if self.aspect == "where" and self.kind in _PLACEMENTS:
            return _PLACEMENTS[self.kind]
        if self.kind == self.status or self.kind not in _KINDS:
            return _STATUSES[self.status]
        return _KINDS[self.kind].format(aspect=self.aspect)

    @property
    def remedy(self) -> str:
        """What to do first, in words."""
        if self.aspect == "where" and self.kind in _PLACEMENTS:
            todo = _PLACED_BETTER
        elif self.kind == self.status or self.kind not in _KINDS:
            todo = OF_STATUS[self.status]
        else:
            todo = _OF_KIND.get(self.kind, _OTHERWISE)
        more = (f" `npu-conformance explain {name}` quotes the document, and names its cases." for name in self.broken)
        return todo + "".join(more)

    @property
    def broken(self) -> Tuple[str, ...]:
        """The requirement that its example is about, if it cites any."""
        return _broken(self.example)

    @property
    def example(self) -> Record:
        return self.failures[0][0]

    @property
    def cases(self) -> int:
        return len({failure[0].instance.case.id for failure in self.failures})

    @property
    def results(self) -> int:
        return sum(len(failure) for failure in self.failures)


def causes(records: Sequence[Record]) -> List[Cause]:
    """The causes of whatever failed: that of most cases first, then the worst status first.

    What is blocked by others comes last. They do not depend on the order of the records.
    """
    found: Dict[Tuple[str, str, str, str, str], List[Tuple[Record, ...]]] = {}
    for group in summary.grouped(sorted(records, key=lambda record: record.instance.id)):
        case, result = group[0].instance.case, group[0].result
        if result.status not in judge.SETTLED:
            family = min(case.requirements[:1], default="").split(".")[0]
            kind, aspect = symptom(result)
            key = (result.status, case.method, kind, aspect, family)
            found.setdefault(key, []).append(tuple(group))
    made = [Cause(*key, _plainest_first(failures)) for key, failures in found.items()]
    return sorted(made, key=lambda one: (one.status == "blocked", -one.cases, judge.ORDER.index(one.status), one.name))


def _broken(record: Record) -> Tuple[str, ...]:
    """The requirement that what differs is about, such as that of the option whose value is another; else the first."""
    names = record.instance.case.requirements
    subjects = [entry.fact.split(" ")[1] for entry in record.result.differences if " " in entry.fact]
    about = [name for subject in subjects for name in names if subject in name.split(".")]
    return (*about, *names)[:1]


def symptom(result: judge.Result) -> Tuple[str, str]:
    """(kind, aspect) of what differs.

    Where operators are placed, GEOPs, counts and borders follow: such differences are one symptom, of the aspect
    ``where``. Otherwise it is that of the first difference. Without any it is the status.
    """
    if result.status in _STATUSES and not result.differences:
        return result.status, ""
    placed = _placed(result.differences)
    if placed:
        return placed, "where"
    first = result.differences[0]
    kinds = {entry.kind for entry in result.differences if entry.aspect == first.aspect}
    return ("differs" if {"missing", "unexpected"} <= kinds else first.kind), first.aspect


def _placed(differences: Sequence[judge.Difference]) -> str:
    """How the device's operators differ; empty if they do not."""
    lost: Set[str] = set()
    gained: Set[str] = set()
    for entry in differences:
        found = _ON_DEVICE.match(entry.fact) if entry.aspect in _PLACED else None
        if found and entry.kind == "missing":
            lost.add(found.group(1))
        elif found and entry.kind in ("unexpected", "forbidden"):
            gained.add(found.group(1))
    if not lost and not gained:
        return ""
    if lost == gained:
        return "regrouped"
    return "not-offloaded" if gained <= lost else "offloaded" if lost <= gained else "exchanged"


def _plainest_first(failures: Sequence[Tuple[Record, ...]]) -> Tuple[Tuple[Record, ...], ...]:
    """What must hold first, then what most of them are about, then what asks and differs in little."""
    cited = Counter(_broken(failure[0]) for failure in failures)

    def plainness(failure: Tuple[Record, ...]) -> Tuple[Any, ...]:
        instance, result = failure[0].instance, failure[0].result
        case = instance.case
        much = (len(case.requirements), len(result.differences))
        return case.level != inventory.LEVELS[0], -cited[_broken(failure[0])], much, instance.id

    return tuple(sorted(failures, key=plainness))
