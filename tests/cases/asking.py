"""Asks a backend in this process: the runner's path from case to judgement, without a worker."""

from __future__ import annotations

from typing import Any

from npu_conformance import client, judge, protocol, requests
from npu_conformance.backends import base
from npu_conformance.library import Instance

__all__ = ["TENSORFLOW_METHODS", "ask", "outcome_of"]

#: Methods that need TensorFlow, asked through a worker only.
TENSORFLOW_METHODS = frozenset({"run"})


def outcome_of(backend: object, method: str, params: Any) -> client.Outcome:
    """What the runner would make of the backend's answer."""
    message = base.answer(backend, 1, method, params)
    fault = protocol.answer_fault(protocol.decode(protocol.encode(message)), method, 1)
    if fault:
        return client.Nonsense(fault)
    if "ok" in message:
        return client.Answered(message["ok"])
    if "unsupported" in message:
        return client.Unsupported(message["unsupported"]["feature"])
    if "rejected" in message:
        return client.Rejected(message["rejected"])
    return client.Failed(message["error"]["message"])


def ask(backend: object, instance: Instance, folder: str) -> judge.Result:
    """The judgement of one instance; ``folder`` takes the graph of a twin."""
    prepared = requests.prepare(instance, folder)
    outcome = outcome_of(backend, instance.case.method, prepared.params)
    return judge.judge(instance, requests.read_back(outcome, prepared.twin), folder)
