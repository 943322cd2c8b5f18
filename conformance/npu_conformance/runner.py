"""Runs instances against a backend on several workers, repeats what ended badly, and collects the judgements."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import npu_reference
from npu_reference.errors import NpuError

from . import client, judge, known_failures, requests, schema
from .library import Instance, Library

if TYPE_CHECKING:
    from .laws.asking import Plan

__all__ = ["Lane", "Record", "Report", "Settings", "blocked", "counts", "final_verdict", "run"]

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


_DEFAULTS = Settings()


class Record(NamedTuple):
    """What came of one instance.

    outcome: the answer judged, as the backend gave it; first: class and text of an earlier attempt that ended
    otherwise; known: pattern of the known failure that covers it; seconds: wall time, in no file but junit.xml.
    """

    instance: Instance
    result: judge.Result
    outcome: Optional[client.Outcome]
    first: str
    known: str
    seconds: float


class Report(NamedTuple):
    """A whole run. ``errors``: faults of the known-failures file, each of which makes the verdict negative."""

    header: Mapping[str, Any]
    records: Tuple[Record, ...]
    errors: Tuple[str, ...]
    verdict: str


def counts(records: Sequence[Record]) -> Dict[str, int]:
    """Number of instances by status, the worst first; statuses that do not occur are left out."""
    found = dict.fromkeys(judge.ORDER, 0)
    for record in records:
        found[record.result.status] += 1
    return {status: number for status, number in found.items() if number}


def run(
    library: Library,
    instances: Sequence[Instance],
    spec: str,
    settings: Settings = _DEFAULTS,
    known: Sequence[known_failures.Entry] = (),
    selection: Mapping[str, Any] = {},
    progress: Optional[Callable[[Record], None]] = None,
    keep: Optional[str] = None,
    laws: Optional[Plan] = None,
) -> Report:
    """Judges a backend.

    Args:
        selection: what was asked for, for the record.
        progress: called after every instance, one call at a time, in the order they finish.
        keep: folder where tensors that came as files are kept, by digest.
        laws: what to ask of random graphs, after the cases.
    Raises:
        NpuError: BACKEND_SPEC or BACKEND_UNAVAILABLE when it does not start at all.
    """
    first = settings.client(spec)
    try:
        hello = first.hello()
    except NpuError:
        first.close()
        raise
    claims = judge.Claims.of(hello)
    jobs = max(1, min(settings.jobs, len(instances)))
    shared = _Shared(claims, library.fixtures, keep, settings.repeat, progress)
    lanes = [[pair for pair in enumerate(instances) if pair[0] % jobs == lane] for lane in range(jobs)]
    found: Dict[int, Record] = {}
    workers = [first] + [settings.client(spec) for _ in range(jobs - 1)]
    pool = ThreadPoolExecutor(jobs)
    try:
        # An interruption may come with the first request already, so handing out the lanes is inside.
        futures = [pool.submit(_lane, shared, worker, lane) for worker, lane in zip(workers, lanes)]
        for future in futures:
            found.update(future.result())
    except BaseException:
        shared.stop.set()
        for worker in workers:
            worker.abort()
        raise
    finally:
        pool.shutdown()
        for worker in workers:
            worker.close()  # those whose lane never began
    records = blocked([found[number] for number in range(len(instances))])
    if laws is not None:
        from .laws import asking

        records += asking.run(laws, spec, settings, claims, progress)
    records, errors = known_failures.apply(known, records)
    header = {
        "kind": "header",
        "schema": schema.header("results"),
        "suite": {"version": npu_reference.__version__, "library": library.digest},
        "backend": {"spec": spec, **hello},
        "platform": {"system": platform.system(), "machine": platform.machine()},
        "selection": dict(selection),
        "instances": len(records),
        "known_failures": [entry.to_json() for entry in known],
    }
    return Report(header, tuple(records), tuple(errors), final_verdict(records, errors))


def final_verdict(records: Sequence[Record], errors: Sequence[str]) -> str:
    """The verdict, negative as well for faults of the known-failures file."""
    if errors:
        return "not conformant"
    return judge.verdict([(record.result.status, record.instance.case.level) for record in records])


class _Shared:
    """What the lanes have in common."""

    def __init__(
        self,
        claims: judge.Claims,
        fixtures: str,
        keep: Optional[str],
        repeat: bool,
        progress: Optional[Callable[[Record], None]],
    ) -> None:
        self.claims, self.fixtures, self.keep, self.repeat = claims, fixtures, keep, repeat
        self.stop = threading.Event()
        self._progress, self._lock = progress, threading.Lock()

    def report(self, record: Record) -> None:
        if self._progress is not None:
            with self._lock:
                self._progress(record)


def _lane(shared: _Shared, worker: client.Client, instances: Sequence[Tuple[int, Instance]]) -> Dict[int, Record]:
    """One worker's share, in order."""
    found: Dict[int, Record] = {}
    with worker:
        lane = Lane(worker, shared.claims, shared.fixtures, shared.keep, shared.repeat)
        for number, instance in instances:
            if shared.stop.is_set():
                break
            started = time.monotonic()
            record = lane.record(instance)._replace(seconds=time.monotonic() - started)
            found[number] = record
            shared.report(record)
    return found


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


def blocked(records: Sequence[Record]) -> List[Record]:
    """Failures whose prerequisite did not pass in the same edition say nothing by themselves: `blocked`."""
    passed: Dict[Tuple[str, str], bool] = {}
    for record in records:
        key = (record.instance.case.id, record.instance.edition)
        passed[key] = passed.get(key, True) and record.result.status == "pass"
    found = []
    for record in records:
        missing = [
            name for name in record.instance.case.requires if not passed.get((name, record.instance.edition), True)
        ]
        if missing and record.result.status == "fail":
            detail = f"{missing[0]} did not pass, without which this says nothing ({record.result.detail})"
            record = record._replace(result=record.result._replace(status="blocked", detail=detail))
        found.append(record)
    return found
