"""Decides how much of what a backend answers a report keeps: where all is too much, the largest answers go first.

What goes costs its case, and says so; which ones go depends on no order in which they come. Without a bound, a backend
would decide how much memory a run takes and how large its report is.
"""

from __future__ import annotations

import bisect
import html
import os
from typing import Dict, Iterable, List, Mapping, Tuple

from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Written
from npu_conformance.protocol import client, outcomes
from npu_conformance.protocol import messages as protocol

__all__ = ["Store", "bounded", "lessened", "tidy"]

#: Bytes of a report that all answers may take: so many for each case, and never less than this (assumed: the answers of
#: the reference take a third).
_EACH, _LEAST = 12 << 10, 32 << 20


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
    if _weight(found) <= most_bytes:
        return found
    most = f"{most_bytes >> 10} KiB"
    return lessened(found, f"the answer, its facts and differences take more than {most}, which a report keeps of one")


def lessened(record: Record, fault: str) -> Record:
    """The record of an answer that is not kept, as nonsense of the backend."""
    outcome = client.Nonsense(fault)
    result = judge.judge(record.instance, outcome)
    return bounded(Record(record.instance, result, outcome, "", "", record.seconds), {})


def _weight(record: Record) -> int:
    """Bytes that a record takes in a report by what the backend said: differences stand in two files more, escaped."""
    if record.written is None:
        return 0
    differences = output.dumps([list(one) for one in record.result.differences])
    said = len(record.written.facts) + len(record.written.observation) + 2 * len(html.escape(differences))
    return said + sum(size for _, size in record.written.tensors)


class Store:
    """The records of a run by number, never more of them than a report may hold.

    Args:
        cases: how many there will be.
    """

    def __init__(self, cases: int) -> None:
        self.records: Dict[int, Record] = {}
        self._most = self._room = max(_EACH * cases, _LEAST)
        self._weights: List[Tuple[int, int]] = []  # and numbers of records, the lightest first

    def add(self, number: int, record: Record) -> None:
        """Keeps a record; the largest ones, this or others, lose their answers where there is no room.

        In the end those have theirs that fit beside all that are smaller, whatever came first.
        """
        weight = _weight(record)
        self.records[number] = record
        bisect.insort(self._weights, (weight, number))
        self._room -= weight
        while self._room < 0:
            weight, largest = self._weights.pop()
            self._room += weight
            fault = f"all answers take more than {self._most >> 20} MiB, and this is one of the largest: it is not kept"
            self.records[largest] = lessened(self.records[largest], fault)


def tidy(records: Iterable[Record], folder: str) -> None:
    """Removes from a report's folder the tensors of answers that it does not keep."""
    kept = {name for record in records if record.written is not None for name, _ in record.written.tensors}
    place = os.path.join(folder, "tensors")
    for name in os.listdir(place) if os.path.isdir(place) else ():
        if f"tensors/{name}" not in kept:
            os.unlink(os.path.join(place, name))
