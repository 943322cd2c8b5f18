"""Asks a backend in this process: the runner's path from case to judgement, without a worker."""

from __future__ import annotations

from typing import Any

from npu_conformance.backends import base
from npu_conformance.protocol import client
from npu_conformance.strength import hosting
from npu_conformance.strength.hosting import answered, ask

__all__ = ["TENSORFLOW_METHODS", "answered", "ask", "outcome_of"]

#: Methods that need TensorFlow, asked through a worker only.
TENSORFLOW_METHODS = hosting.WORKER_METHODS


def outcome_of(backend: object, method: str, params: Any) -> client.Outcome:
    """What the runner would make of the backend's answer."""
    return hosting.outcome(base.answer(backend, 1, method, params), method)
