"""Asks one worker instance after instance, repeats what ended badly, and judges each answer."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import Any, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.library import Instance
from npu_conformance.protocol import client, requests
from npu_reference.errors import NpuError

__all__ = ["Lane", "Settings"]

_FAILURE_REPEATS = 20  # a lane repeats this many plain failures in a fresh worker, so that a bad backend ends (assumed)
_START_FAILURES = 3  # a lane gives up after this many failed starts in succession (assumed)

_ENDED_BADLY = (client.Crashed, client.TimedOut, client.Nonsense)


class Settings(NamedTuple):
    """How to run.

    jobs: worker processes; factor: on every time limit; env, python: further variables and interpreter of the
    workers; repeat: whether a wrong answer is asked for again in a fresh worker.
    """

    jobs: int = 1
    factor: float = 1.0
    env: Mapping[str, str] = {}
    python: str = ""
    repeat: bool = True

    def client(self, spec: str) -> client.Client:
        return client.Client(spec, factor=self.factor, env=self.env, python=self.python)


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

    def record(self, instance: Instance) -> Record:
        """What came of one instance."""
        lacking = judge.applicable(instance, self.claims)
        if lacking is not None:
            return _plain(instance, "unsupported", f"the backend does not claim {lacking}")
        if self.start_failures >= _START_FAILURES:
            return _plain(instance, "not-run", "the backend does not start any more")
        folder = os.path.join(self.worker.folder, "case")  # one name for all: a path in an answer is the same each time
        try:
            os.makedirs(folder)
            return self._ask(instance, folder)
        except NpuError as error:
            if error.code == "BACKEND_UNAVAILABLE":
                self.start_failures += 1
                return _plain(instance, "not-run", error.message)
            return _plain(instance, "harness-error", str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, instance: Instance, folder: str) -> Record:
        prepared = requests.prepare(instance, folder)
        used = self.worker.served > 0
        outcome = self._once(instance, prepared, reset=used)
        result = self._judged(instance, outcome, prepared)
        if self._repeats(outcome, result, used):
            self.worker.fresh()
            again = self._once(instance, prepared, reset=False)
            second = self._judged(instance, again, prepared)
            if second.status != result.status:
                return self._unstable(instance, (outcome, result), (again, second), folder)
            outcome, result = again, second
        self.start_failures = 0
        return Record(instance, result, self._kept(outcome), "", "", 0.0)

    def _repeats(self, outcome: client.Outcome, result: judge.Result, used: bool) -> bool:
        if isinstance(outcome, _ENDED_BADLY):
            return True
        if result.status == "fail" and used and self.failure_repeats > 0:
            self.failure_repeats -= 1
            return True
        return False

    def _once(self, instance: Instance, prepared: requests.Prepared, reset: bool) -> client.Outcome:
        if reset:
            outcome = self.worker.request("reset", {}, instance.case.seconds)
            if isinstance(outcome, _ENDED_BADLY):
                return outcome
        outcome = self.worker.request(instance.case.method, prepared.params, instance.case.seconds)
        return requests.without_paths(outcome, self.worker.folder, self.fixtures)

    def _judged(self, instance: Instance, outcome: client.Outcome, prepared: requests.Prepared) -> judge.Result:
        return judge.judge(instance, requests.read_back(outcome, prepared.twin), self.worker.folder)

    def _unstable(
        self,
        instance: Instance,
        first: Tuple[client.Outcome, judge.Result],
        second: Tuple[client.Outcome, judge.Result],
        folder: str,
    ) -> Record:
        before = f"{first[1].status}: {first[1].detail}"
        detail = (
            f"{first[1].status} at first, {second[1].status} in a fresh worker: state leaks between requests, or chance"
        )
        result = judge.Result(
            "unstable",
            f"{detail} ({before})",
            first[1].differences,
            second[1].facts,
            f"{instance.case.method}/unstable",
        )
        self.start_failures = 0
        return Record(instance, result, self._kept(second[0]), before, "", 0.0)

    def _kept(self, outcome: client.Outcome) -> client.Outcome:
        """The outcome with tensors that came as files kept by digest, or inline where nothing is kept."""
        if not isinstance(outcome, client.Answered) or "fetches" not in outcome.ok:
            return outcome
        fetches = {name: self._keep(tensor) for name, tensor in outcome.ok["fetches"].items()}
        return client.Answered({**outcome.ok, "fetches": fetches})

    def _keep(self, tensor: Mapping[str, Any]) -> Mapping[str, Any]:
        if "file" not in tensor or self.keep is None:
            return tensor
        path = os.path.join(self.worker.folder, tensor["file"])
        try:
            with open(path, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
            os.makedirs(os.path.join(self.keep, "tensors"), exist_ok=True)
            shutil.copyfile(path, os.path.join(self.keep, "tensors", f"{digest}.bin"))
        except OSError:
            return tensor  # judged a protocol error already
        return {"dtype": tensor["dtype"], "shape": tensor["shape"], "file": f"tensors/{digest}.bin"}


def _plain(instance: Instance, status: str, detail: str) -> Record:
    result = judge.Result(status, detail, (), (), f"{instance.case.method}/{status}")
    return Record(instance, result, None, "", "", 0.0)
