"""Runs instances against a backend on several workers, and collects the judgements."""

from __future__ import annotations

import collections
import contextlib
import datetime
import platform
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

import npu_reference
from npu_conformance.judging import judge, known_failures
from npu_conformance.judging.records import Record, Report, blocked, final_verdict
from npu_conformance.library.case import COSTS, Case, Instance
from npu_conformance.library.library import Library
from npu_conformance.protocol import client, schema
from npu_conformance.running import keeping
from npu_conformance.running.lanes import Settings, plain
from npu_conformance.running.seats import Gone, Instances, Part, Seat, Terms, Unit, seat

__all__ = ["run"]

_CHUNK = 24  # instances that one lane takes at a time: neighbours ask about the same graphs (assumed)


class Further(NamedTuple):
    """What is asked beside the cases, by the same lanes; its records are judged with theirs.

    common: what all parts need, sent to each lane once; parts: to be called once each, in any order, in any lane; take:
    called with what each returned; lost: called for one that ended its lane's process twice, with how; records: what
    came of it, once all are through. It takes a function that makes a client of the same backend; fresh: parts that
    begin with a fresh worker; same: the place of the part that asks the same as an instance, where one does. The lane
    that asks the instance does the part next: what its worker has answered need not be asked again.
    """

    common: Any
    parts: Sequence[Part]
    take: Callable[[Any], None]
    lost: Callable[[str], None]
    records: Callable[[Callable[[], client.Client]], List[Record]]
    fresh: Sequence[Part] = ()
    same: Callable[[Instance], Optional[int]] = lambda one: None


class Chain(NamedTuple):
    """What one lane does one after the other."""

    units: Sequence[Unit]


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
    further: Optional[Callable[[judge.Claims], Further]] = None,
    first: Optional[Seat] = None,
    early: Callable[[Instance], bool] = lambda one: False,
) -> Report:
    """Judges a backend.

    Args:
        selection: what was asked for, for the record.
        progress: called after every instance, one call at a time, in the order they finish.
        keep: folder where tensors that came as files are kept, by digest.
        further: takes the backend's claims, and says what to ask beside the cases.
        first: the first lane's place, made beforehand by :func:`seats.seat` with the same SPEC and settings.
        early: whether an instance may be asked while `further` works, since nothing of that is the same.
    Raises:
        NpuError: BACKEND_SPEC or BACKEND_UNAVAILABLE when it does not start at all.
    """
    with contextlib.ExitStack() as stack:
        leading = stack.enter_context(seat(spec, settings) if first is None else first)
        hello = leading.hello()
        claims = judge.Claims.of(hello)
        pairs = list(enumerate(instances))
        work = _Work(Terms(claims, library.fixtures, keep, settings.repeat), progress, len(pairs))
        pool = stack.enter_context(ThreadPoolExecutor(settings.jobs))
        places: List[Seat] = []

        def lane(number: int) -> None:
            # In a thread, whose processes no interruption cuts off while they start: it comes to the main one alone.
            place = seat(spec, settings) if number else leading
            places.append(place)
            work.lane(place, number % 2 == 1)

        try:
            # An interruption may come with the first request already, so handing out the lanes is inside.
            futures = []
            if further is not None and settings.jobs > 1:
                work.begin(_chunks([pair for pair in pairs if early(pair[1])]))
                futures.append(pool.submit(lane, 0))
            beside = further(claims) if further is not None else None
            lanes = max(1, min(settings.jobs, work.complete(pairs, beside)))
            futures += [pool.submit(lane, number) for number in range(len(futures), lanes)]
            for future in futures:
                future.result()
        except BaseException:
            work.end()
            for one in list(places):
                one.abort()
            raise
    found = work.found
    if keep is not None:
        keeping.tidy(found.values(), keep)
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
    if settings.sandbox is not None:
        header["sandbox"] = dict(settings.sandbox)
    return Report(header, tuple(records), tuple(errors), final_verdict(records, errors))


class _Work:
    """What the lanes share: what is left to ask, and what came of the rest."""

    def __init__(self, terms: Terms, progress: Optional[Callable[[Any], None]] = None, cases: int = 0) -> None:
        self.terms, self._progress = terms, progress
        self.beside: Optional[Further] = None
        self.units: Deque[Union[Unit, Chain]] = collections.deque()
        self.store = keeping.Store(cases)
        self.stop = threading.Event()
        self._whole = threading.Event()  # nothing more is added
        self._lock = threading.Lock()
        self._begun: Set[int] = set()  # numbers of instances that were given out before it was whole
        self._again: Set[Any] = set()  # numbers of instances, and parts, that were there when a lane's process ended

    @property
    def found(self) -> Mapping[int, Record]:
        """The records there are, by number of their instance."""
        return self.store.records

    def begin(self, units: Sequence[Instances]) -> None:
        """What may be asked before it is known what else there is."""
        self.units.extend(units)
        self._begun.update(number for unit in units for number, _ in unit)

    def complete(self, pairs: Instances, beside: Optional[Further] = None) -> int:
        """All there is to ask; the number of units that are left of it."""
        with self._lock:
            plain = [unit for unit in self.units if not callable(unit) and not isinstance(unit, Chain)]
            left = {number for unit in plain for number, _ in unit}
            self.beside = beside
            if beside is not None:
                self.terms = self.terms._replace(common=beside.common)
            self.units = _units([pair for pair in pairs if pair[0] in left or pair[0] not in self._begun], beside)
            self._whole.set()
            return len(self.units)

    def end(self) -> None:
        """No lane takes anything more."""
        self.stop.set()
        self._whole.set()

    def heard(self, number: Optional[int], record: Optional[Record]) -> None:
        with self._lock:
            if number is not None and record is not None:
                self.store.add(number, record)
            if self._progress is not None:
                self._progress(record)

    def lane(self, place: Seat, from_the_right: bool = False) -> None:
        """One lane's share: whatever is next, until nothing is left."""
        with place:
            terms = self.terms
            place.begin(terms)
            failures = 0
            while not self.stop.is_set():
                taken = self._next(from_the_right)
                if taken is None:
                    break
                if terms is not self.terms:
                    terms = self.terms
                    place.share(terms.common)
                for unit in taken.units if isinstance(taken, Chain) else (taken,):
                    failures = self._do(place, unit, failures)

    def _next(self, from_the_right: bool) -> Union[Unit, Chain, None]:
        """What comes next, waited for where more may come; nothing at the end."""
        while True:
            whole = self._whole.is_set()
            with self._lock:
                if self.units:
                    return self.units.pop() if from_the_right else self.units.popleft()
            if whole:
                return None
            self._whole.wait()

    def _do(self, place: Seat, unit: Unit, failures: int) -> int:
        """Has a unit done, unless all is to stop; how often the lane's process has failed to start in succession."""
        if self.stop.is_set():
            return failures
        try:
            if failures >= _START_FAILURES:
                raise Gone("it does not start any more")
            done = place.do(unit, self.heard)
            if callable(unit) and self.beside is not None:
                self.beside.take(done)
        except Gone as gone:
            if self.stop.is_set():
                return failures
            failures = 0 if gone.ready else failures + 1
            self._contain(unit, str(gone), failures)
            if failures < _START_FAILURES:
                place.renew()
        return failures

    def _contain(self, unit: Unit, how: str, failures: int) -> None:
        """A lane's process has ended. What it was doing is done once more, everything by itself: what ends another is
        at fault, and costs itself alone."""
        reason = f"the process that judges ended: {how}"
        asked = [unit] if callable(unit) else [number for number, _ in unit if number not in self.found]
        over = set(asked) if failures >= _START_FAILURES else self._again.intersection(asked)
        self._again.update(asked)
        if callable(unit):
            if unit not in over:
                self._add(unit)
            elif self.beside is not None:
                self.beside.lost(reason)
            return
        for number, instance in unit:
            if number in over:
                self.heard(number, plain(instance, "harness-error", reason))
            elif number not in self.found:
                self._add([(number, instance)])

    def _add(self, unit: Unit) -> None:
        with self._lock:
            self.units.append(unit)


#: A lane whose process does not start so often in succession is given up (assumed).
_START_FAILURES = 3


def _units(pairs: Instances, beside: Optional[Further] = None) -> Deque[Union[Unit, Chain]]:
    """Everything to ask. What takes long is at both ends, and what is short in the middle, where the lanes meet: none
    has much left when the others are through. A part comes right behind the short instances that ask the same.

    From the left, what may take longest first, then half of the parts. From the right, what begins with a fresh worker,
    which costs a lane that begins there nothing; what several ranks run, as one unit; then the other parts.
    """
    ranks: List[Tuple[int, Instance]] = []
    long: List[Tuple[int, Instance]] = []
    short: List[Tuple[int, Instance]] = []
    before: Dict[int, List[Tuple[int, Instance]]] = {}
    for number, one in pairs:
        forked = one.case.method == "run" and "ranks" in one.case.params
        of = ranks if forked else long if _length(one.case) > _SHORT else short
        same = beside.same(one) if beside is not None and of is short else None
        (of if same is None else before.setdefault(same, [])).append((number, one))
    long.sort(key=lambda pair: _length(pair[1].case), reverse=True)  # stable: equals stay in order
    found: Deque[Union[Unit, Chain]] = collections.deque([pair] for pair in long)
    parts = [
        Chain((*_chunks(before[place]), part)) if place in before else part
        for place, part in enumerate(beside.parts if beside is not None else ())
    ]
    half = len(parts) // 2
    found.extend([*parts[half:], *_chunks(short), *reversed(parts[:half])])
    found.extend([ranks] if ranks else [])
    found.extend(beside.fresh if beside is not None else ())
    return found


def _chunks(pairs: Instances) -> List[Instances]:
    return [pairs[start : start + _CHUNK] for start in range(0, len(pairs), _CHUNK)]


_SHORT = (COSTS["fast"], False, False)  # of :func:`_length`: neighbours are taken together


def _length(case: Case) -> Tuple[float, ...]:
    """How long a case may take, to be compared with others': what it declares, then what there is to run."""
    return case.seconds, "script" in case.params, case.method == "run"
