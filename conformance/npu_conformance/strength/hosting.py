"""Asks a backend that lives in this process, where no worker is needed to be safe from it."""

from __future__ import annotations

from typing import Any, Mapping

from npu_conformance.backends import base
from npu_conformance.judging import judge
from npu_conformance.library.library import Instance
from npu_conformance.protocol import client, requests
from npu_conformance.protocol import messages as protocol

__all__ = ["WORKER_METHODS", "ask", "outcome"]

#: Methods that may import TensorFlow, asked through a worker only.
WORKER_METHODS = frozenset({"run"})


def outcome(message: Mapping[str, Any], method: str) -> client.Outcome:
    """What the runner would make of a backend's answer to request 1, had a worker sent it."""
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
    message = base.answer(backend, 1, instance.case.method, prepared.params)
    found = outcome(message, instance.case.method)
    return judge.judge(instance, requests.read_back(found, prepared.twin), folder)
