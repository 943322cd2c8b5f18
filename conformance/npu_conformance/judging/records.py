"""What a run found: one record an instance, what the records say together, and the verdict."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import output, packing
from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client

__all__ = ["Record", "Report", "Written", "blocked", "counts", "final_verdict"]


class Written(NamedTuple):
    """What an answer says and the answer itself, as the text that a report has of them.

    tensors: names and bytes of the files that a report keeps beside it; unpacked: bytes of both texts as plain JSON.
    """

    facts: str
    observation: str
    tensors: Tuple[Tuple[str, int], ...] = ()
    unpacked: int = 0

    @classmethod
    def of(
        cls, facts: Sequence[str], observation: Optional[Mapping[str, Any]], tensors: Tuple[Tuple[str, int], ...] = ()
    ) -> Written:
        texts = output.dumps(list(facts)), output.dumps(observation)
        return cls(packing.pack(texts[0]), packing.pack(texts[1]), tensors, sum(map(len, texts)))


class Record(NamedTuple):
    """What came of one instance.

    outcome: the answer judged, as the backend gave it; first: class and text of an earlier attempt that ended
    otherwise; known: pattern of the known failure that covers it; seconds: wall time, in no file but junit.xml.
    written: stands for outcome and the result's facts where another process judged.
    """

    instance: Instance
    result: judge.Result
    outcome: Optional[client.Outcome]
    first: str
    known: str
    seconds: float
    written: Optional[Written] = None


class Report(NamedTuple):
    """A whole run. ``errors``: faults of the known-failures file, each of which makes the verdict negative."""

    header: Mapping[str, Any]
    records: Tuple[Record, ...]
    errors: Tuple[str, ...]
    verdict: str


def counts(records: Sequence[Record]) -> Dict[str, int]:
    """Number of instances by status, the worst first; statuses that do not occur are left out."""
    found = dict.fromkeys(judge.ORDER, 0)
    for record in records:
        found[record.result.status] += 1
    return {status: number for status, number in found.items() if number}


def final_verdict(records: Sequence[Record], errors: Sequence[str]) -> str:
    """The verdict, negative as well for faults of the known-failures file."""
    if errors:
        return "not conformant"
    return judge.verdict([(record.result.status, record.instance.case.level) for record in records])


def blocked(records: Sequence[Record]) -> List[Record]:
    """Failures whose prerequisite did not pass in the same edition say nothing by themselves: `blocked`."""
    passed: Dict[Tuple[str, str], bool] = {}
    for record in records:
        key = (record.instance.case.id, record.instance.edition)
        passed[key] = passed.get(key, True) and record.result.status == "pass"
    found = []
    for record in records:
        missing = [
            name for name in record.instance.case.requires if not passed.get((name, record.instance.edition), True)
        ]
        if missing and record.result.status == "fail":
            detail = f"{missing[0]} did not pass, without which this says nothing ({record.result.detail})"
            record = record._replace(result=record.result._replace(status="blocked", detail=detail))
        found.append(record)
    return found
