"""Decides how much of what a backend answers a report keeps: where all is too much, the largest answers go first.

What goes costs its case, and says so; which ones go depends on no order in which they come. Without a bound, a backend
would decide how much memory a run takes and how large its report is.
"""

from __future__ import annotations

import bisect
import html
import os
from typing import Dict, Iterable, List, Mapping, NamedTuple, Tuple

from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Written
from npu_conformance.protocol import client, outcomes
from npu_conformance.protocol import messages as protocol

__all__ = ["Store", "bounded", "lessened", "tidy"]

#: Bytes that all answers may take unpacked: so many for each case, and never less than this. Those of the reference
#: take some 10 KiB for each case.
_EACH, _LEAST = 16 << 10, 32 << 20
#: Bytes that what the backend said may take in all files of a report, so that they have less than 64 MB together: laws
#: take 23 MiB more, and what the suite itself says some 15. Those of the reference take 17.
_IN_FILES = 22 << 20


def bounded(record: Record, tensors: Mapping[str, int]) -> Record:
    """The record with answer and facts as the text that a report has of them; without its answer where that is larger
    than the protocol has it.

    Args:
        tensors: names and bytes of the files in which the report keeps tensors of the answer.
    """
    observation = outcomes.outcome_json(record.outcome)
    written = Written.of(record.result.facts, observation, tuple(sorted(tensors.items())))
    found = record._replace(result=record.result._replace(facts=()), outcome=None, written=written)
    most_bytes = protocol.kept_bytes(found.instance.case.method)
    if _weight(found).unpacked <= most_bytes:
        return found
    most = f"{most_bytes >> 10} KiB"
    return lessened(found, f"the answer, its facts and differences take more than {most}, which a report keeps of one")


def lessened(record: Record, fault: str) -> Record:
    """The record of an answer that is not kept, as nonsense of the backend."""
    outcome = client.Nonsense(fault)
    result = judge.judge(record.instance, outcome)
    return bounded(Record(record.instance, result, outcome, "", "", record.seconds), {})


class _Weight(NamedTuple):
    """Bytes that a record takes by what the backend said: with its answer unpacked, and in all files of a report."""

    unpacked: int
    in_files: int


def _weight(record: Record) -> _Weight:
    """Differences and the words that tell of them stand in three files, the words twice in one, nearly all escaped."""
    result, written = record.result, record.written
    if written is None:
        return _Weight(0, 0)
    differences = len(html.escape(output.dumps([list(one) for one in result.differences])))
    words = len(html.escape(output.dumps([result.detail, result.signature, record.first])))
    said = 3 * differences + 4 * words + sum(size for _, size in written.tensors)
    return _Weight(written.unpacked + said, len(written.facts) + len(written.observation) + said)


class Store:
    """The records of a run by number, never more of them than a report may hold.

    Args:
        cases: how many there will be.
    """

    def __init__(self, cases: int) -> None:
        self.records: Dict[int, Record] = {}
        self._most = _Weight(max(_EACH * cases, _LEAST), _IN_FILES)
        self._room = self._share(self._most)
        self._weights: List[Tuple[int, int]] = []  # and numbers of records, the lightest first

    def add(self, number: int, record: Record) -> None:
        """Keeps a record; the largest ones, this or others, lose their answers where there is no room.

        In the end those have theirs that fit beside all that are smaller, whatever came first.
        """
        weight = self._share(_weight(record))
        self.records[number] = record
        bisect.insort(self._weights, (weight, number))
        self._room -= weight
        while self._room < 0:
            weight, largest = self._weights.pop()
            self._room += weight
            most = f"{self._most.in_files >> 20} MiB, or {self._most.unpacked >> 20} MiB unpacked"
            fault = f"all answers take more than {most}, and this is one of the largest: it is not kept"
            self.records[largest] = lessened(self.records[largest], fault)

    def _share(self, weight: _Weight) -> int:
        """One measure of both, so that what goes depends on no order: the larger share of what there is room for."""
        return max(weight.unpacked * self._most.in_files, weight.in_files * self._most.unpacked)


def tidy(records: Iterable[Record], folder: str) -> None:
    """Removes from a report's folder the tensors of answers that it does not keep."""
    kept = {name for record in records if record.written is not None for name, _ in record.written.tensors}
    place = os.path.join(folder, "tensors")
    for name in os.listdir(place) if os.path.isdir(place) else ():
        if f"tensors/{name}" not in kept:
            os.unlink(os.path.join(place, name))
