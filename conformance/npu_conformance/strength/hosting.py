"""Asks a backend that lives in this process, where no worker is needed to be safe from it."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.backends import base
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client, requests
from npu_conformance.protocol import messages as protocol

__all__ = ["Here", "Panel", "WORKER_METHODS", "answered", "ask", "outcome"]

_NEGATIVE = "not conformant"

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
        return client.UnsupportedOutcome(message["unsupported"]["feature"])
    if "rejected" in message:
        return client.Rejected(message["rejected"])
    return client.Failed(message["error"]["message"])


def ask(backend: object, instance: Instance, folder: str) -> judge.Result:
    """The judgement of one instance; ``folder`` takes the graph of a twin."""
    return answered(backend, instance, folder)[0]


def answered(backend: object, instance: Instance, folder: str) -> Tuple[judge.Result, client.Outcome]:
    """The judgement of one instance, and what it judges; ``folder`` takes the graph of a twin."""
    prepared = requests.prepare(instance, folder)
    message = base.answer(backend, 1, instance.case.method, prepared.params)
    found = requests.read_back(outcome(message, instance.case.method), prepared.twin)
    return judge.judge(instance, found, folder), found


class Panel:
    """Instances asked in this process: their requests, and what the reference answers.

    An answer that is the reference's own needs no judgement, which is what makes a thousand backends bearable.

    Args:
        instances: of methods that need no TensorFlow.
        folder: takes the graphs of twins.
        unasked: the reference is not asked, and every answer judged: for methods that need TensorFlow.
    """

    def __init__(self, instances: Sequence[Instance], folder: str, unasked: bool = False) -> None:
        self.folder = folder
        self._prepared: Dict[str, requests.Prepared] = {}
        for number, one in enumerate(instances):
            place = os.path.join(folder, str(number)) if one.twin else folder
            os.makedirs(place, exist_ok=True)
            self._prepared[one.id] = requests.prepare(one, place)
        self._messages: Dict[str, Mapping[str, Any]] = {}
        self.sound: List[Instance] = list(instances) if unasked else []
        reference = ReferenceBackend()
        for one in () if unasked else instances:
            message = self.message(reference, one)
            if self.judged(one, message).status == "pass":
                self._messages[one.id] = protocol.decode(protocol.encode(message))
                self.sound.append(one)

    def kills(self, backend: object, instance: Instance) -> bool:
        """Whether the case sees a fault of the backend; a mere crash or nonsense is none that it sees."""
        result = self.result(backend, instance)
        return result is not None and judge.sees(result)

    def result(self, backend: object, instance: Instance) -> Optional[judge.Result]:
        """The judgement of what the backend answers; None where it answers as the reference does."""
        message = self.message(backend, instance)
        return None if message == self._messages.get(instance.id) else self.judged(instance, message)

    def failures(self, backend: object, instances: Sequence[Instance]) -> Iterator[Instance]:
        """Instances of level `must` that the backend does not pass, as they are found."""
        for one in instances:
            result = self.result(backend, one)
            if (
                result is not None
                and one.case.level == "must"
                and judge.verdict([(result.status, "must")]) == _NEGATIVE
            ):
                yield one

    def message(self, backend: object, instance: Instance) -> Mapping[str, Any]:
        """The message of the backend's answer to an instance."""
        return base.answer(backend, 1, instance.case.method, dict(self._prepared[instance.id].params))

    def judged(self, instance: Instance, message: Mapping[str, Any]) -> judge.Result:
        """What the runner would say of a message."""
        found = outcome(message, instance.case.method)
        twin = self._prepared[instance.id].twin
        return judge.judge(instance, requests.read_back(found, twin), self.folder)


class Here:
    """A backend of this process where a client of a worker is expected: for the laws."""

    served = 0  # it keeps nothing between requests, so it is never asked to forget

    def __init__(self, backend: object, folder: str) -> None:
        self.backend, self.folder = backend, folder

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *unused: object) -> None:
        pass

    def fresh(self) -> None:
        """There is no worker to be replaced."""

    def known(self, method: str, params: Mapping[str, Any]) -> None:
        """No answer is kept."""

    def request(self, method: str, params: Mapping[str, Any], seconds: float) -> client.Outcome:
        return outcome(base.answer(self.backend, 1, method, dict(params)), method)

    def client(self, spec: str) -> Here:
        """Itself, as the settings of a run give clients."""
        return self
