"""Decides where a lane works: in this process if it is the only one, else in one of its own, where it asks and judges.

A lane of its own process shares nothing with the others: it keeps its worker, reads its answers, judges them, and
sends records. It hears nothing from a terminal; it ends when whoever started it does, and takes its worker along.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client, process
from npu_conformance.running.lanes import Lane, Settings
from npu_reference.collection import collect_seldom
from npu_reference.errors import NpuError

__all__ = ["Apart", "Gone", "Heard", "InProcessSeat", "Instances", "Part", "Seat", "Terms", "Unit", "seat"]

_FLUSH_SECONDS = 0.1  # records wait for each other so long: a message costs as much as judging a short answer (assumed)
_END_SECONDS = 10.0  # for a lane to end its worker, before it is killed (assumed)

#: Instances by number, which one lane takes together.
Instances = Sequence[Tuple[int, Instance]]

#: Something asked beside the cases: takes what all parts have in common, a worker, and what to call after every
#: question that counts; what it returns goes to whoever made it.
Part = Callable[[Any, client.Client, Callable[[], None]], Any]

#: What a lane takes at a time.
Unit = Union[Instances, Part]

#: Called with the number of an instance and its record, or with nothing after a question beside the cases.
Heard = Callable[[Optional[int], Optional[Record]], None]


class Terms(NamedTuple):
    """What all lanes of a run have in common; ``common``: what parts take."""

    claims: judge.Claims
    fixtures: str
    keep: Optional[str]
    repeat: bool
    common: Any = None


class Shared(NamedTuple):
    """What parts take, told once it is known."""

    common: Any


class Gone(Exception):
    """The process of a lane has ended, or been ended, before it was through; ``ready``: after it had begun."""

    def __init__(self, how: str, ready: bool = False) -> None:
        super().__init__(how)
        self.ready = ready


class _Bench:
    """What a lane does with a unit, wherever it works."""

    def __init__(self, worker: client.Client, terms: Terms) -> None:
        self._worker, self._terms = worker, terms
        self._lane = Lane(worker, terms.claims, terms.fixtures, terms.keep, terms.repeat)

    def share(self, common: Any) -> None:
        self._terms = self._terms._replace(common=common)

    def do(self, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        if callable(unit):
            return unit(self._terms.common, self._worker, lambda: heard(None, None))
        for number, instance in unit:
            if stop.is_set():
                break
            started = time.monotonic()
            record = self._lane.record(instance)
            heard(number, record._replace(seconds=time.monotonic() - started))
        return None


class Seat:
    """Where one lane works. One thread gives it units; :meth:`abort` may come from any."""

    def hello(self) -> Mapping[str, Any]:
        """What the backend claims, from a fresh worker.

        Raises:
            NpuError: BACKEND_UNAVAILABLE.
        """
        raise NotImplementedError

    def begin(self, terms: Terms) -> None:
        """Before the first unit."""
        raise NotImplementedError

    def share(self, common: Any) -> None:
        """What parts take, before the first of them, where it was not known when the lane began."""
        raise NotImplementedError

    def do(self, unit: Unit, heard: Heard) -> Any:
        """Does a unit; what a part returns.

        Raises:
            Gone: the lane's process has ended; what was not heard of has no result.
        """
        raise NotImplementedError

    def renew(self) -> None:
        """After :class:`Gone`: another process for what comes."""
        raise NotImplementedError

    def abort(self) -> None:
        """Ends the worker at once, and lets no other start."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends the worker and removes its folder."""
        raise NotImplementedError

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self.abort()
        self.close()


def seat(spec: str, settings: Settings, early: bool = False) -> Seat:
    """A place for one lane of a run: its own process where there may be others beside it.

    Args:
        early: whether the backend is started at once there, and not when it is first asked.
    Raises:
        NpuError: BACKEND_SPEC or BACKEND_UNAVAILABLE when the command cannot be started at all.
    """
    return Apart(spec, settings, early) if settings.jobs > 1 else InProcessSeat(spec, settings)


class InProcessSeat(Seat):
    """In this process, for a run of one lane."""

    def __init__(self, spec: str, settings: Settings) -> None:
        self._worker = settings.client(spec)
        self._stop = threading.Event()

    def hello(self) -> Mapping[str, Any]:
        return self._worker.hello()

    def begin(self, terms: Terms) -> None:
        self._bench = _Bench(self._worker, terms)

    def share(self, common: Any) -> None:
        self._bench.share(common)

    def do(self, unit: Unit, heard: Heard) -> Any:
        return self._bench.do(unit, heard, self._stop)

    def abort(self) -> None:
        self._stop.set()
        self._worker.abort()

    def close(self) -> None:
        self._worker.close()


#: Asks for what the backend claims.
_HELLO = "hello"

#: What a lane's process runs. It finds modules where this process does, and sees the same environment.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[3:]
from npu_conformance.running import seats
seats.main(sys.argv[1:3])
"""


class Apart(Seat):
    """In a process of its own, a session of its own, which is told by one pipe and tells by another.

    What goes through the pipes is of ours at both ends, so it is pickled.
    """

    def __init__(self, spec: str, settings: Settings, early: bool = False) -> None:
        client.command(spec, settings.python)  # refuses what cannot be started
        self._spec, self._settings = spec, settings
        self._terms: Optional[Terms] = None
        self._lock = threading.Lock()  # of what is written, which may be given up meanwhile
        self._aborted = False
        self._start()
        self._asked = early
        if early:
            with contextlib.suppress(Gone):  # noticed when the answer is waited for
                self._say(_HELLO)

    def _start(self) -> None:
        from multiprocessing.connection import Connection

        asked, asks = os.pipe()
        heard, tells = os.pipe()
        paths = [os.path.abspath(path) for path in sys.path]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(asked), str(tells), *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(asked, tells),
            )
            process.ours.add(self._process.pid)
        except BaseException as error:
            os.close(asks)
            os.close(heard)
            if isinstance(error, OSError):
                reason = f"no process can be started: {error.strerror or error}"
                raise NpuError("SYSTEM", "npu-conformance run", reason) from None
            raise
        finally:
            os.close(asked)
            os.close(tells)
        self._ready = False
        self._asks, self._heard = Connection(asks, readable=False), Connection(heard, writable=False)
        self._say((self._spec, self._settings))

    def hello(self) -> Mapping[str, Any]:
        try:
            if not self._asked:
                self._say(_HELLO)
            self._asked = False
            claims: Mapping[str, Any] = self._hear(_nothing)
            return claims
        except Gone as gone:
            reason = f"the lane that asks it ended: {gone}"
            raise NpuError("BACKEND_UNAVAILABLE", self._spec, reason) from None

    def begin(self, terms: Terms) -> None:
        self._terms = terms
        with contextlib.suppress(Gone):  # noticed when it is given work
            self._say(terms)

    def share(self, common: Any) -> None:
        assert self._terms is not None
        self._terms = self._terms._replace(common=common)
        with contextlib.suppress(Gone):
            self._say(Shared(common))

    def do(self, unit: Unit, heard: Heard) -> Any:
        self._say(unit)
        instances = {} if callable(unit) else dict(unit)

        def tell(number: Optional[int], told: Any) -> None:
            heard(number, None if number is None else _unfolded(instances[number], told))

        return self._hear(tell)

    def renew(self) -> None:
        self.close()
        if self._aborted:
            raise Gone("stopped")
        self._start()
        if self._terms is not None:
            self.begin(self._terms)

    def abort(self) -> None:
        self._aborted = True
        self._hang_up()

    def close(self) -> None:
        self._hang_up()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its worker's keeper notices
            self._process.wait()
        process.ours.discard(self._process.pid)
        self._heard.close()

    # Inside

    def _hang_up(self) -> None:
        """What it is told ends: so does it."""
        with self._lock:
            self._asks.close()

    def _say(self, message: Any) -> None:
        try:
            with self._lock:
                self._asks.send(message)
        except OSError:  # closed as well
            raise Gone(self._end(), self._ready) from None

    def _hear(self, tell: Callable[[Optional[int], Any], None]) -> Any:
        """What comes of a request; ``tell`` is called for everything told meanwhile."""
        while True:
            try:
                kind, content = self._heard.recv()
            except (EOFError, OSError):
                raise Gone(self._end(), self._ready) from None
            if kind == "told":
                for number, told in content:
                    tell(number, told)
            elif kind == "ready":
                self._ready = True
            elif kind == "refused":
                raise NpuError(*content)
            elif kind == "failed":
                raise RuntimeError(f"a lane failed:\n{content}")
            else:
                return content

    def _end(self) -> str:
        """How the process ended."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        return f"signal {-status}" if status < 0 else f"status {status}"


def _nothing(number: Optional[int], told: Any) -> None:
    """Nothing is told meanwhile."""


def _folded(record: Record) -> Tuple[Any, ...]:
    """A record as it is sent: without its instance, which is known where it is heard."""
    return record.result, record.written, record.first, record.seconds


def _unfolded(instance: Instance, told: Tuple[Any, ...]) -> Record:
    result, written, first, seconds = told
    return Record(instance, result, None, first, "", seconds, written)


# In the process of a lane


def main(descriptors: Sequence[str]) -> None:
    """Does what is sent until nothing more can come."""
    from multiprocessing.connection import Connection

    collect_seldom()
    process.adopt()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # whoever started it says when it is over
    asked, tells = (int(text) for text in descriptors)
    for descriptor in (asked, tells):
        os.set_inheritable(descriptor, False)
    hears, says = Connection(asked, writable=False), Connection(tells, readable=False)
    try:
        spec, settings = hears.recv()
        worker = settings.client(spec)
    except EOFError:
        return
    with worker:
        stop = threading.Event()
        inbox: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=_listen, args=(hears, inbox, worker, stop), daemon=True).start()
        with contextlib.suppress(BrokenPipeError):
            _work(worker, inbox, says, stop)


_OVER = object()


def _listen(hears: Any, inbox: Any, worker: client.Client, stop: threading.Event) -> None:
    """Takes what is sent while the lane works, so that its end is noticed at once."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            inbox.put(hears.recv())
    stop.set()
    worker.abort()
    inbox.put(_OVER)


def _work(worker: client.Client, inbox: Any, says: Any, stop: threading.Event) -> None:
    bench: Optional[_Bench] = None
    while True:
        message = inbox.get()
        if message is _OVER or stop.is_set():
            return
        try:
            if isinstance(message, Terms):
                bench = _Bench(worker, message)
                says.send(("ready", None))
                continue
            if message == _HELLO:
                says.send(("done", worker.hello()))
                continue
            assert bench is not None
            if isinstance(message, Shared):
                bench.share(message.common)
                continue
            outbox = _Outbox(says)
            done = bench.do(message, outbox, stop)
            outbox.flush()
            says.send(("done", done))
        except NpuError as error:
            says.send(("refused", (error.code, error.subject, error.reason, error.remedy)))
        except OSError:
            raise
        except Exception:  # noqa: BLE001  told where it is waited for
            says.send(("failed", traceback.format_exc()))


class _Outbox:
    """Sends what is heard, several at a time."""

    def __init__(self, says: Any) -> None:
        self._says = says
        self._waiting: List[Any] = []
        self._since = time.monotonic()

    def __call__(self, number: Optional[int], record: Optional[Record]) -> None:
        self._waiting.append((number, None if record is None else _folded(record)))
        if time.monotonic() - self._since >= _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._says.send(("told", self._waiting))
            self._waiting = []
        self._since = time.monotonic()
