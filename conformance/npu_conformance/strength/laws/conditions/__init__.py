"""The laws of conditions: what a case of `partition` or `precision` says holds beside what no document relates to it.

A condition changes a request, its options or its graph, in a way of which a requirement or a reading says that it makes
no difference. :mod:`dealing` asks about the graphs of the cases under several at once.
"""

from __future__ import annotations

from npu_conformance.strength.laws.conditions.declared import AFTER, CONDITIONS, FED, LAWS, TEXT, WHOLLY_MIXED
from npu_conformance.strength.laws.conditions.graph_changes import feeds_read_back, names_may_change, prefixed
from npu_conformance.strength.laws.conditions.request import Condition, Request

__all__ = [
    "AFTER",
    "CONDITIONS",
    "Condition",
    "FED",
    "LAWS",
    "Request",
    "TEXT",
    "WHOLLY_MIXED",
    "feeds_read_back",
    "names_may_change",
    "prefixed",
]
