"""What judging finds of a backend that offloads nothing: hundreds of failures, and one fault."""

from __future__ import annotations

from typing import Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report
from npu_conformance.protocol import client
from tests.cases.corpus import corpus

SHIPPED = corpus()


def records() -> Tuple[Record, ...]:
    """What judging finds of a backend that answers every question for a partition with a graph on the host."""
    found = []
    for instance in SHIPPED.instances():
        wanted = instance.case.expect.golden.get(instance.edition, ())
        nodes = [fact.split()[-1] for fact in wanted if fact.startswith(("device ", "geop ")) and " arg " not in fact]
        if instance.case.method != "partition" or instance.case.expect.rejected or not nodes:
            continue
        answer = {
            "geops": [],
            "host": [{"node": node, "reason": "NO_KERNEL"} for node in sorted(set(nodes))],
            "borders": [],
            "min_geops": 0,
            "notes": [],
        }
        result = judge.judge(instance, client.Answered(answer))
        found.append(Record(instance, result, None, "", "", 0.0))
    return tuple(found)


def report(found: Tuple[Record, ...]) -> Report:
    """A whole run that found these records."""
    header = {
        "backend": {"spec": "exec:worker", "backend": {"name": "all-host", "version": "1"}},
        "suite": {"version": "1"},
        "selection": {},
    }
    return Report(header, found, (), "not conformant")
