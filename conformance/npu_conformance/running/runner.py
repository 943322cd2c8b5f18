"""Runs instances against a backend on several workers, and collects the judgements."""

from __future__ import annotations

import datetime
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import npu_reference
from npu_conformance.judging import judge, known_failures
from npu_conformance.judging.records import Record, Report, blocked, final_verdict
from npu_conformance.library.library import Instance, Library
from npu_conformance.protocol import client, schema
from npu_conformance.running.lanes import Lane, Settings

__all__ = ["run"]

#: Asks something beside the cases: takes the backend's claims and what to call after every answer.
Further = Callable[[judge.Claims, Optional[Callable[[Record], None]]], List[Record]]


_DEFAULTS = Settings()


def run(
    library: Library,
    instances: Sequence[Instance],
    spec: str,
    settings: Settings = _DEFAULTS,
    known: Sequence[known_failures.Entry] = (),
    selection: Mapping[str, Any] = {},
    progress: Optional[Callable[[Record], None]] = None,
    keep: Optional[str] = None,
    further: Optional[Further] = None,
) -> Report:
    """Judges a backend.

    Args:
        selection: what was asked for, for the record.
        progress: called after every instance, one call at a time, in the order they finish.
        keep: folder where tensors that came as files are kept, by digest.
        further: what to ask after the cases; its records are judged with theirs.
    Raises:
        NpuError: BACKEND_SPEC or BACKEND_UNAVAILABLE when it does not start at all.
    """
    first = settings.client(spec)
    try:
        hello = first.hello()
    except BaseException:
        first.abort()
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
    if further is not None:
        records += further(claims, progress)
    today = datetime.date.today()
    records, errors = known_failures.apply(known, records, today)
    header: Dict[str, Any] = {
        "kind": "header",
        "schema": schema.header("results"),
        "suite": {"version": npu_reference.__version__, "library": library.digest},
        "backend": {**hello, "spec": spec},
        "platform": {"system": platform.system(), "machine": platform.machine()},
        "selection": dict(selection),
        "instances": len(records),
        "known_failures": [entry.to_json() for entry in known],
    }
    if known:
        header["day"] = today.isoformat()  # by which they expired or not
    return Report(header, tuple(records), tuple(errors), final_verdict(records, errors))


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
