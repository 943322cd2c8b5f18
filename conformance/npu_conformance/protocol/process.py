"""One worker process: lines to and from it, none of which can block the suite, and its end, which is certain."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import Any, List, Mapping, Optional, Set

from npu_conformance.protocol import keeper
from npu_conformance.protocol import messages as protocol

__all__ = ["Ended", "Late", "Mute", "Process", "adopt", "ours"]

#: Processes that this one has started and that end by themselves: keepers, and lanes with keepers of their own.
ours: Set[int] = set()

_adopting = False

_STDERR_BYTES = 16 << 10  # kept of what a worker logs
_PART = 1 << 16  # read at a time
_DRAINED = 1 << 20  # read at most of what a worker left behind in its pipes
_KEEPER_SECONDS = 10.0  # for the keeper to end, which takes milliseconds, beyond the grace (assumed)
_BASE_SHARE = 0.1  # of a time limit, after which waiting for a processor is measured
_MOST_LOADED = 10.0  # times a limit that a starved worker may take (assumed: a machine loaded tenfold)


class Late(Exception):
    """No line in time."""


class Mute(Exception):
    """The worker closed its output, and nobody knows yet whether it has ended."""


class Ended(Exception):
    """The worker has ended without a line; ``status`` as of subprocess."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Process:
    """A running worker. One thread talks to it; :meth:`kill` may come from any.

    Args:
        command: what to execute.
        folder: its working directory.
        env: its whole environment.
        grace: seconds between being asked to end and being killed.
    Raises:
        OSError: it cannot be executed.
    """

    def __init__(self, command: List[str], folder: str, env: Mapping[str, str], grace: float) -> None:
        self._grace = grace
        asked, self._control = os.pipe()
        self._status, told = os.pipe()
        try:
            words = [sys.executable, "-I", "-S", os.path.abspath(keeper.__file__), str(asked), str(told), str(grace)]
            self._keeper = subprocess.Popen(
                [*words, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=dict(env),
                start_new_session=True,
                pass_fds=(asked, told),
            )
            ours.add(self._keeper.pid)
        except BaseException:
            os.close(self._control)
            os.close(self._status)
            raise
        finally:
            os.close(asked)
            os.close(told)
        pipes = (self._keeper.stdin, self._keeper.stdout, self._keeper.stderr)
        self._in, self._out, self._err = [pipe.fileno() for pipe in pipes if pipe is not None]
        self._waiting = memoryview(b"")  # not yet written
        self._blocked = False  # what is waiting, on the pipe: the selector tells when it can be written
        self._read = bytearray()  # read, and not yet a line
        self._searched = 0  # of that, for a newline
        self._lock = threading.Lock()  # of the control pipe
        self._words = b""  # of STATUS, not yet a line
        self._stderr = b""
        self._delays: List[int] = []
        self._failure: Optional[int] = None
        self._started = self._mute = self._gone = False
        self._worker = 0
        self.status: Optional[int] = None  # of the worker, once it has ended
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._in, self._out, self._err, self._status):
            os.set_blocking(descriptor, False)
        for descriptor in (self._out, self._err, self._status):
            self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while not (self._started or self._gone):
                self._turn(None)
        except BaseException:
            self.close()
            raise
        if self._failure is not None:
            self.close()
            raise OSError(self._failure, os.strerror(self._failure))

    # Talking

    def send(self, data: bytes) -> None:
        """Hands over what is to be written; a worker that does not read blocks nobody."""
        if self._in < 0:
            return
        began = bool(self._waiting)
        self._waiting = memoryview(bytes(self._waiting) + data)
        if not began:
            self._write()  # a pipe takes most requests whole

    def line(self, seconds: float) -> bytes:
        """The next line with its newline; more than the protocol's limit without one where it is longer.

        Raises:
            Late, Mute, Ended: there is none.
        """
        limit = _Limit(self, seconds)
        while True:
            at = self._read.find(b"\n", self._searched, protocol.MAX_LINE)
            self._searched = len(self._read)
            over = self._mute or self.status is not None or self._gone
            if at >= 0 or len(self._read) > protocol.MAX_LINE or (over and self._read):
                return self._taken(at + 1 if at >= 0 else len(self._read))
            if self.status is not None or self._gone:
                raise Ended(-9 if self.status is None else self.status)
            if self._mute:
                raise Mute
            left = limit.left()
            if left <= 0:
                raise Late
            self._turn(left)

    def _taken(self, size: int) -> bytes:
        found = bytes(self._read[:size])
        del self._read[:size]
        self._searched = 0
        return found

    def _forget(self) -> None:
        """What is read from now on is of no interest."""
        del self._read[:]
        self._searched = 0

    def more(self) -> bool:
        """Whether anything lies behind the line that was read last."""
        if not self._read and not self._mute:
            self._take_output()  # without a look at whether it can be read: that costs more than to try
        return bool(self._read)

    def unfinished(self) -> bytes:
        """What has come of the next line, whose end has not."""
        return bytes(self._read[: 1 << 12])

    def close_input(self) -> None:
        """Lets the worker see the end of its input, once everything is written."""
        if self._waiting:
            self._turn(self._grace)
        self._drop_input()

    def wait(self, seconds: float) -> Optional[int]:
        """The status with which the worker ends by itself; None where it does not in time."""
        limit = _Limit(self, seconds)
        while self.status is None and not self._gone:
            self._forget()
            left = limit.left()
            if left <= 0:
                break
            self._turn(left)
        return self.status

    def stderr(self) -> str:
        """The last of what the worker logged."""
        return self._stderr.decode("utf-8", "replace")

    # Ending

    def kill(self) -> None:
        """Kills everything that came of the worker; whoever waits for a line is told that it has ended."""
        self._tell(b"k")

    def _tell(self, word: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):
            os.write(self._control, word)  # one byte, which a pipe takes at once
            if self._keeper.returncode is None:
                self._keeper.send_signal(signal.SIGCONT)  # the worker may have stopped it

    def stop(self) -> None:
        """Asks the worker to end, and kills after the grace everything that came of it."""
        self._tell(b"s" if self.status is None else b"k")
        deadline = time.monotonic() + self._grace + _KEEPER_SECONDS
        while not self._gone and time.monotonic() < deadline:
            self._forget()
            self._turn(max(deadline - time.monotonic(), 0.0))

    def close(self) -> None:
        """Ends everything and gives up the pipes; waits for nobody who may still hold their other ends."""
        self.kill()
        deadline = time.monotonic() + _KEEPER_SECONDS
        while not self._gone and time.monotonic() < deadline:
            self._forget()
            self._turn(max(deadline - time.monotonic(), 0.0))
        if not self._gone:
            self._keeper.kill()
        if self._worker and self.status is None:  # the keeper was killed, by the worker perhaps
            with contextlib.suppress(OSError):
                os.killpg(self._worker, signal.SIGKILL)
        self._keeper.wait()
        ours.discard(self._keeper.pid)
        if self._keeper.returncode != 0:
            _end_adopted()
        self._drop_input()
        self._selector.close()
        for pipe in (self._keeper.stdout, self._keeper.stderr):
            if pipe is not None:
                pipe.close()
        with self._lock:
            control, self._control = self._control, -1
        if control >= 0:
            os.close(control)
            os.close(self._status)

    # Inside

    def _turn(self, seconds: Optional[float]) -> None:
        """Moves what can be moved, once something can or the time is over."""
        for key, _ in self._selector.select(seconds):
            descriptor: Any = key.fd
            if descriptor == self._in:
                self._write()
            elif descriptor == self._out:
                self._take_output()
            elif descriptor == self._err:
                self._take_log()
            else:
                self._take_status()

    def _write(self) -> None:
        """Writes what can be written at once; of the rest the selector tells when."""
        try:
            self._waiting = self._waiting[os.write(self._in, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self._drop_input()  # it does not read any more; that it died is noticed elsewhere
            return
        if bool(self._waiting) != self._blocked:
            self._blocked = not self._blocked
            if self._blocked:
                self._selector.register(self._in, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._in)

    def _drop_input(self) -> None:
        if self._in >= 0:
            if self._blocked:
                self._selector.unregister(self._in)
            self._blocked = False
            self._waiting = memoryview(b"")
            self._in = -1
            if self._keeper.stdin is not None:
                self._keeper.stdin.close()

    def _part(self, descriptor: int) -> Optional[bytes]:
        """What can be read at once; nothing at the end; None where there is nothing now."""
        try:
            return os.read(descriptor, _PART)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _forget_pipe(self, descriptor: int) -> None:
        """Nothing comes from it any more; events already told may name it twice."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _take_output(self) -> None:
        part = self._part(self._out)
        if part:
            if len(self._read) <= protocol.MAX_LINE:
                self._read += part
        elif part is not None:
            self._mute = True
            self._forget_pipe(self._out)

    def _take_log(self) -> None:
        part = self._part(self._err)
        if part:
            self._stderr = (self._stderr + part)[-_STDERR_BYTES:]
        elif part is not None:
            self._forget_pipe(self._err)

    def _take_status(self) -> None:
        part = self._part(self._status)
        if part is None:
            return
        if not part:
            self._gone = True
            self._forget_pipe(self._status)
            return
        *lines, self._words = (self._words + part).split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word == b"started":
                self._started, self._worker = True, int(number)
            elif word == b"failed":
                self._failure = int(number)
            elif word == b"delay":
                self._delays.append(int(number))
            elif word == b"ended":
                self._drain()
                self.status = int(number)

    def _drain(self) -> None:
        """Takes what the worker wrote before it ended."""
        for take, descriptor in ((self._take_output, self._out), (self._take_log, self._err)):
            for _ in range(max(_DRAINED, protocol.MAX_LINE + 1) // _PART + 1):
                if descriptor not in self._selector.get_map() or len(self._read) > protocol.MAX_LINE:
                    break
                if not _ready(descriptor):
                    break
                take()

    def delay(self) -> int:
        """Nanoseconds for which the worker has had to wait for a processor; 0 where nobody knows."""
        del self._delays[:]
        self._tell(b"d")
        until = time.monotonic() + 1.0
        while not self._delays and not self._gone and self.status is None and time.monotonic() < until:
            self._turn(0.05)
        return self._delays[-1] if self._delays else 0


def adopt() -> None:
    """Makes this process, in which nothing but the suite starts others, end what a worker leaves that killed its
    keeper. Where there is no Linux only its process group is found."""
    global _adopting
    _adopting = keeper.adopt()


def _end_adopted() -> None:
    """Kills everything below this process that it has not started itself."""
    deadline = time.monotonic() + _KEEPER_SECONDS
    while _adopting and time.monotonic() < deadline:
        found = keeper.descendants(ours)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with contextlib.suppress(OSError):  # it falls to us once what is between us has ended
                os.waitpid(pid, os.WNOHANG)


class _Limit:
    """What is left of a time limit.

    It counts what worker and suite had of the machine: time in which their threads were ready and other programs had
    the processors is granted again, up to ten times the limit. How long they have waited is asked after the first part
    of it, since that costs the worker's keeper a look at all of its threads, and most answers come sooner.
    """

    def __init__(self, process: Process, seconds: float) -> None:
        self._process = process
        self._seconds = seconds
        self._began = time.monotonic()
        self._base: Optional[int] = None

    def left(self) -> float:
        """Seconds for which nothing has to be decided; none are left where it is 0 or less."""
        now = time.monotonic()
        if self._base is None:
            first = self._began + self._seconds * _BASE_SHARE
            if now < first:
                return first - now
            self._base = self._waited()
            if now >= self._began + self._seconds:  # the suite itself had no processor in all that time
                self._began = now
        deadline = self._began + self._seconds
        if now >= deadline:
            waited = (self._waited() - self._base) / 1e9
            deadline += min(max(waited, 0.0), self._seconds * (_MOST_LOADED - 1))
        return deadline - time.monotonic()

    def _waited(self) -> int:
        return self._process.delay() + _own_delay()


def _own_delay() -> int:
    """Nanoseconds for which this thread has had to wait for a processor; 0 where nobody knows."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as stream:
            return int(stream.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _ready(descriptor: int) -> bool:
    """Whether a descriptor can be read without waiting."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(0))
