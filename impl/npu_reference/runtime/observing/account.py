"""What a script did, session by session and signature by signature, for whoever tells of it at the end."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.runtime.observing.trace import TracedCopy

__all__ = [
    "Account",
    "Failure",
    "AccountPlace",
    "SessionAccount",
    "SignatureAccount",
    "faced",
    "keeping",
    "opened",
    "planned",
    "ran",
]

#: Sessions and signatures kept; those beyond are only counted. assumed: more than anybody reads of one script.
KEPT_SESSIONS = 100
KEPT_SIGNATURES = 200


class AccountPlace(NamedTuple):
    """A line of the script, or of a module of its own: file, line number from 1, function and text of the line."""

    file: str
    line: int
    function: str
    text: str


class Failure(NamedTuple):
    """What ended a script: class of the exception, code of ours or empty, message, its own lines, innermost first."""

    kind: str
    code: str
    message: str
    places: Tuple[AccountPlace, ...]


class SignatureAccount:
    """One way a session was run.

    Attributes:
        feeds, fetches, targets: names in the script's graph.
        partition: the :class:`npu_reference.partition.Partition` that served it.
        notes: what is to be known of it.
        runs: how often it ran to its end.
        copies: what crossed the borders in its last run.
        bytes: bytes of all runs by direction (``h2d``, ``d2h``, ``d2d``); tensors of unknown size count nothing.
        device_ns: nanoseconds of all runs on the device's clock.
        time: of its last run, as a RunRecord has it; None where no clock is kept.
    """

    def __init__(self, signature: Any, partition: Any, notes: Sequence[str]) -> None:
        self.feeds: Tuple[str, ...] = tuple(signature.feeds)
        self.fetches: Tuple[str, ...] = tuple(signature.fetches)
        self.targets: Tuple[str, ...] = tuple(signature.targets)
        self.partition = partition
        self.notes = tuple(notes)
        self.runs = 0
        self.copies: Tuple[TracedCopy, ...] = ()
        self.bytes: Dict[str, int] = {"h2d": 0, "d2h": 0, "d2d": 0}
        self.device_ns = 0
        self.time: Any = None


class SessionAccount:
    """One session: number in the process from 1, its settings, and its signatures in the order they came.

    ``more`` counts the signatures that are not kept.
    """

    def __init__(self, number: int, settings: Any) -> None:
        self.number = number
        self.settings = settings
        self.signatures: Dict[Any, SignatureAccount] = {}
        self.runs = 0
        self.more = 0


class Account:
    """What happened while it was kept. Thread-safe.

    Attributes:
        more: sessions beyond those kept.
        failure: what ended the script; None while nothing has.
        faced: the faults that were asked for and happened.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: Dict[int, SessionAccount] = {}
        self._signatures = 0
        self.more = 0
        self.failure: Optional[Failure] = None
        self.faced: Set[Any] = set()

    @property
    def sessions(self) -> List[SessionAccount]:
        with self._lock:
            return list(self._sessions.values())

    def opened(self, number: int, settings: Any) -> None:
        with self._lock:
            if len(self._sessions) < KEPT_SESSIONS:
                self._sessions[number] = SessionAccount(number, settings)
            else:
                self.more += 1

    def planned(self, number: int, signature: Any, partition: Any, notes: Sequence[str]) -> None:
        with self._lock:
            session = self._sessions.get(number)
            if session is None:
                return
            if self._signatures >= KEPT_SIGNATURES:
                session.more += 1
                return
            self._signatures += 1
            session.signatures[signature] = SignatureAccount(signature, partition, notes)

    def ran(self, number: int, signature: Any, copies: Sequence[TracedCopy], time: Any = None) -> None:
        with self._lock:
            session = self._sessions.get(number)
            if session is None:
                return
            session.runs += 1
            found = session.signatures.get(signature)
            if found is None:
                return
            found.runs += 1
            found.copies = tuple(copies)
            for copy in copies:
                found.bytes[copy.direction] += copy.bytes or 0
            if time is not None:
                found.device_ns += time.end_ns - time.start_ns
                found.time = time


_KEPT: List[Account] = []


@contextmanager
def keeping(account: Optional[Account] = None) -> Iterator[Account]:
    """Keep an account (a new one, if none is given) of what happens in the block, on every thread.

    Where nobody keeps one, nobody pays for it.
    """
    account = Account() if account is None else account
    _KEPT.append(account)
    try:
        yield account
    finally:
        _KEPT.remove(account)


def opened(number: int, settings: Any) -> None:
    """A session was taken over."""
    for account in _KEPT:
        account.opened(number, settings)


def planned(number: int, signature: Any, partition: Any, notes: Sequence[str]) -> None:
    """A signature of a session was partitioned."""
    for account in _KEPT:
        account.planned(number, signature, partition, notes)


def faced(faults: Iterable[Any]) -> None:
    """Faults that were asked for happen in a run that begins."""
    for account in _KEPT:
        account.faced.update(faults)


def ran(number: int, signature: Any, copies: Sequence[TracedCopy], time: Any = None) -> None:
    """A run of a signature ended well."""
    for account in _KEPT:
        account.ran(number, signature, copies, time)
