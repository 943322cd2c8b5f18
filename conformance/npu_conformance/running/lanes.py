"""Asks one worker instance after instance, repeats what ended badly, and judges each answer."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.files import output
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.case import Instance
from npu_conformance.observing import tensors
from npu_conformance.protocol import client, requests
from npu_conformance.protocol import messages as protocol
from npu_conformance.running import keeping
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["Lane", "Settings", "plain", "unstable"]

_FAILURE_REPEATS = 20  # a lane repeats this many plain failures in a fresh worker, so that a bad backend ends (assumed)
_START_FAILURES = 3  # a lane gives up after this many failed starts in succession (assumed)

#: Questions of one method in succession without an answer in time: after so many each is asked once, and for half the
#: time of the one before, and after so many the lane asks that method no more (assumed). A worker that hangs at
#: everything would take hours otherwise.
_HANGS_UNTIL_SHORTER, _HANGS_UNTIL_THE_END = 3, 20
_SHORTEST = 0.125  # of a time limit (assumed)

_LONGEST = 1000  # characters of a reason, and of a worker's last words

_ENDED_BADLY = (client.Crashed, client.TimedOut, client.Nonsense)


class Settings(NamedTuple):
    """How to run.

    jobs: worker processes; factor: on every time limit; env, python: further variables and interpreter of the
    workers; repeat: whether a wrong answer is asked for again in a fresh worker; sandbox: what shuts workers in.
    """

    jobs: int = 1
    factor: float = 1.0
    env: Mapping[str, str] = {}
    python: str = ""
    repeat: bool = True
    sandbox: Optional[Mapping[str, Any]] = None

    def client(self, spec: str) -> client.Client:
        return client.Client(spec, factor=self.factor, env=self.env, python=self.python, sandbox=self.sandbox)


class Lane:
    """Asks one worker, and decides when to ask again in a fresh one.

    Args:
        worker: the client to ask; the caller closes it.
        claims: what the backend says it can do.
        fixtures: the library's folder of fixtures.
        keep: folder where tensors that came as files are kept.
        repeat: whether a wrong answer is asked for again in a fresh worker.
    """

    def __init__(
        self,
        worker: client.Client,
        claims: judge.Claims,
        fixtures: str,
        keep: Optional[str] = None,
        repeat: bool = True,
    ) -> None:
        self.worker, self.claims, self.fixtures, self.keep = worker, claims, fixtures, keep
        self.failure_repeats = _FAILURE_REPEATS if repeat else 0
        self.start_failures = 0
        self.hangs: Dict[str, int] = {}  # by method, in succession

    def record(self, instance: Instance) -> Record:
        """What came of one instance."""
        lacking = judge.applicable(instance, self.claims)
        if lacking is not None:
            return plain(instance, "unsupported", f"the backend does not claim {lacking}")
        if self.start_failures >= _START_FAILURES:
            return plain(instance, "not-run", "the backend does not start any more")
        method = instance.case.method
        if self.hangs.get(method, 0) >= _HANGS_UNTIL_THE_END:
            reason = (
                f"no more of {method} is asked: {_HANGS_UNTIL_THE_END} questions in succession had no answer in time"
            )
            return plain(instance, "not-run", reason)
        try:
            return self._ask(instance, self.worker.room())
        except NpuError as error:
            if error.code == "BACKEND_UNAVAILABLE":
                self.start_failures += 1
                return plain(instance, "not-run", error.message)
            return self._failed(instance, str(error))
        except OSError as error:
            # A full disk, no more files to open, or a backend that fights for its folder: never the report's fault.
            return self._failed(instance, f"the worker's folder cannot be used: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001  whatever an answer does to us may cost its case, not the run
            return self._failed(instance, f"{type(error).__name__}: {error}")

    def _failed(self, instance: Instance, reason: str) -> Record:
        """A fault of the suite, or of the machine: the worker goes as well, for nobody knows what state it is in."""
        self.worker.fresh()
        reason = reason.replace(self.worker.folder, ".").replace(self.fixtures, "fixtures")
        return plain(instance, "harness-error", shorten(reason, _LONGEST))

    def _ask(self, instance: Instance, folder: str) -> Record:
        prepared = requests.prepare(instance, folder)
        used = self.worker.served > 0
        outcome = self._once(instance, prepared, reset=used)
        result = self._judged(instance, outcome, prepared)
        if self._repeats(instance, outcome, result, used):
            self.worker.fresh()
            again = self._once(instance, prepared, reset=False)
            second = self._judged(instance, again, prepared)
            if second.status != result.status:
                self.start_failures = 0
                first = f"{result.status}: {result.detail}"
                found = unstable(instance, first, result.differences, second)
                return self._kept(Record(instance, found, again, first, "", 0.0))
            outcome, result = again, second
        self.start_failures = 0
        hangs = isinstance(outcome, client.TimedOut)
        self.hangs[instance.case.method] = self.hangs.get(instance.case.method, 0) + 1 if hangs else 0
        return self._kept(Record(instance, result, outcome, "", "", 0.0))

    def _repeats(self, instance: Instance, outcome: client.Outcome, result: judge.Result, used: bool) -> bool:
        if isinstance(outcome, _ENDED_BADLY):
            hangs = isinstance(outcome, client.TimedOut)
            return not hangs or self.hangs.get(instance.case.method, 0) < _HANGS_UNTIL_SHORTER
        if result.status == "fail" and used and self.failure_repeats > 0:
            self.failure_repeats -= 1
            return True
        return False

    def _once(self, instance: Instance, prepared: requests.Prepared, reset: bool) -> client.Outcome:
        beyond = max(self.hangs.get(instance.case.method, 0) - _HANGS_UNTIL_SHORTER + 1, 0)
        seconds = instance.case.seconds * max(0.5**beyond, _SHORTEST)
        if reset:
            outcome = self.worker.request("reset", {}, seconds)
            if isinstance(outcome, _ENDED_BADLY):
                return outcome
        outcome = self.worker.request(instance.case.method, prepared.params, seconds)
        return self._sound(requests.without_paths(outcome, self.worker.folder, self.fixtures))

    def _sound(self, outcome: client.Outcome) -> client.Outcome:
        """The outcome; nonsense where a tensor of it is none: what its file was is gone when it is judged again."""
        if isinstance(outcome, (client.Crashed, client.TimedOut)):
            return outcome._replace(stderr=outcome.stderr[-_LONGEST:])
        if isinstance(outcome, client.Answered) and "fetches" in outcome.ok:
            room = protocol.kept_bytes("run")
            for tensor in outcome.ok["fetches"].values():
                try:
                    room -= len(tensors.decode_bytes(tensor, self.worker.folder, room))
                except tensors.BadTensor as error:
                    return client.Nonsense(f"a tensor of the answer {error}")
        return outcome

    def _judged(self, instance: Instance, outcome: client.Outcome, prepared: requests.Prepared) -> judge.Result:
        return judge.judge(instance, requests.read_back(outcome, prepared.twin), self.worker.folder, self.claims)

    def _kept(self, record: Record) -> Record:
        """The record as a report has it, with tensors that came as files kept by digest."""
        outcome = record.outcome
        sizes: Dict[str, int] = {}
        if isinstance(outcome, client.Answered) and "fetches" in outcome.ok:
            fetches = {name: self._keep(tensor, sizes) for name, tensor in outcome.ok["fetches"].items()}
            record = record._replace(outcome=client.Answered({**outcome.ok, "fetches": fetches}))
        return keeping.bounded(record, sizes)

    def _keep(self, tensor: Mapping[str, Any], sizes: Dict[str, int]) -> Mapping[str, Any]:
        if "file" not in tensor or self.keep is None:
            return tensor
        try:
            raw = tensors.decode_bytes(tensor, self.worker.folder)
        except tensors.BadTensor:
            return tensor  # judged a protocol error already
        digest = hashlib.sha256(raw).hexdigest()
        path = os.path.join(self.keep, "tensors", f"{digest}.bin")
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            output.write_bytes(path, raw)
        name = f"tensors/{digest}.bin"
        sizes[name] = len(raw)
        return {"dtype": tensor["dtype"], "shape": tensor["shape"], "file": name}


def unstable(
    instance: Instance, first: str, differences: Tuple[judge.Difference, ...], second: judge.Result
) -> judge.Result:
    """The judgement of an instance that came out otherwise in a fresh worker; ``first``: status and detail before."""
    before = first.partition(":")[0]
    detail = f"{before} at first, {second.status} in a fresh worker: state leaks between requests, or chance ({first})"
    return judge.Result("unstable", detail, differences, second.facts, f"{instance.case.method}/unstable")


def plain(instance: Instance, status: str, detail: str) -> Record:
    """A record of an instance that was not judged by an answer."""
    result = judge.Result(status, detail, (), (), f"{instance.case.method}/{status}")
    return Record(instance, result, None, "", "", 0.0)
