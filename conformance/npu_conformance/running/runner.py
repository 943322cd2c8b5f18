"""Runs instances against a backend on several workers, and collects the judgements."""

from __future__ import annotations

import collections
import datetime
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import npu_reference
from npu_conformance.judging import judge, known_failures
from npu_conformance.judging.records import Record, Report, blocked, final_verdict
from npu_conformance.library.library import COSTS, Case, Instance, Library
from npu_conformance.protocol import client, schema
from npu_conformance.running.lanes import Lane, Settings

__all__ = ["run"]

_CHUNK = 24  # instances that one lane takes at a time: neighbours ask about the same graphs (assumed)


class Further(NamedTuple):
    """What is asked beside the cases, by the same workers; its records are judged with theirs.

    parts: to be called once each, in any order, with any worker; records: what came of it, once all were called. It
    takes a function that makes a client of the same backend.
    """

    parts: Sequence[Callable[[client.Client], None]]
    records: Callable[[Callable[[], client.Client]], List[Record]]


Progress = Callable[[Any], None]

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
    further: Optional[Callable[[judge.Claims, Progress], Further]] = None,
) -> Report:
    """Judges a backend.

    Args:
        selection: what was asked for, for the record.
        progress: called after every instance, one call at a time, in the order they finish.
        keep: folder where tensors that came as files are kept, by digest.
        further: takes the backend's claims and what to call after every answer, and says what to ask beside the cases.
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
    shared = _Shared(claims, library.fixtures, keep, settings.repeat, progress)
    beside = further(claims, shared.report) if further is not None else None
    units = _units(instances, beside.parts if beside is not None else ())
    jobs = max(1, min(settings.jobs, len(units)))
    found: Dict[int, Record] = {}
    workers = [first] + [settings.client(spec) for _ in range(jobs - 1)]
    pool = ThreadPoolExecutor(jobs)
    try:
        # An interruption may come with the first request already, so handing out the lanes is inside.
        futures = [pool.submit(_lane, shared, worker, units, place % 2 == 1) for place, worker in enumerate(workers)]
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
    if beside is not None:
        records += beside.records(lambda: settings.client(spec))
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


#: What a lane takes at a time: numbered instances, or something beside the cases.
_Unit = Union[Sequence[Tuple[int, Instance]], Callable[[client.Client], None]]


def _units(instances: Sequence[Instance], parts: Sequence[Callable[[client.Client], None]]) -> Deque[_Unit]:
    """Everything to ask. From the left, what may take longest first: no lane begins it when the others are through.

    From the right, what several ranks run, as one unit, and then what is short: a lane that begins there needs
    neither TensorFlow nor a process that ranks are forked from until it meets the others.
    """
    ranks: List[Tuple[int, Instance]] = []
    long: List[Tuple[int, Instance]] = []
    short: List[Tuple[int, Instance]] = []
    for number, one in enumerate(instances):
        forked = one.case.method == "run" and "ranks" in one.case.params
        (ranks if forked else long if _length(one.case) > _SHORT else short).append((number, one))
    long.sort(key=lambda pair: _length(pair[1].case), reverse=True)  # stable: equals stay in order
    found: Deque[_Unit] = collections.deque([pair] for pair in long)
    found.extend(parts)
    found.extend(short[start : start + _CHUNK] for start in range(0, len(short), _CHUNK))
    found.extend([ranks] if ranks else [])
    return found


_SHORT = (COSTS["fast"], False, False)  # of :func:`_length`: neighbours are taken together


def _length(case: Case) -> Tuple[float, ...]:
    """How long a case may take, to be compared with others': what it declares, then what there is to run."""
    return case.seconds, "script" in case.params, case.method == "run"


def _lane(
    shared: _Shared, worker: client.Client, units: Deque[_Unit], from_the_right: bool = False
) -> Dict[int, Record]:
    """One worker's share: whatever is next, until nothing is left."""
    found: Dict[int, Record] = {}
    with worker:
        lane = Lane(worker, shared.claims, shared.fixtures, shared.keep, shared.repeat)
        while not shared.stop.is_set():
            try:
                unit = units.pop() if from_the_right else units.popleft()
            except IndexError:
                break
            if callable(unit):
                unit(worker)
                continue
            for number, instance in unit:
                if shared.stop.is_set():
                    break
                started = time.monotonic()
                record = lane.record(instance)._replace(seconds=time.monotonic() - started)
                found[number] = record
                shared.report(record)
    return found
