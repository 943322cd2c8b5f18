"""Keeps one worker: starts its command, and ends it with every process that came of it, however far it went away.

Run by its path, in a process of its own beside each worker: ``python -I -S keeper.py CONTROL STATUS GRACE COMMAND...``
A worker can stop or kill it. It goes on when whoever started it says so or ends; when it is killed the kernel kills the
worker, and what else came of that falls to a suite that adopts as well (:func:`adopt`), which kills it.
On Linux it adopts whatever the worker leaves behind (a daemon that forked twice and has a session of its own as well),
so that "all that came of it" is exact; elsewhere it is the worker's process group. Since it waits for the end of
CONTROL, a suite that was killed leaves no worker either. Standard library only, and little of that: it starts in
milliseconds.

CONTROL: ``s`` asks the worker to end and kills after GRACE seconds; ``k``, or the end of CONTROL, kills; ``d`` asks
how long its threads have waited for a processor. STATUS, lines: ``started PID``, ``failed ERRNO``, ``ended STATUS``
(negative for a signal), ``delay NANOSECONDS``; its end means that nothing is left.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import Iterable, List, Optional

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_END_SECONDS = 5.0  # what cannot be killed for so long (a process stuck in a driver) is left (assumed)


def _prctl(option: int, value: int) -> bool:
    """Asks the kernel for something about this process; whether it does it, which only Linux knows of."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):
        return False


def adopt() -> bool:
    """Makes this process the parent of what its descendants leave behind; elsewhere the process group must do."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants(without: Iterable[int] = ()) -> List[int]:
    """Every process below this one; those that came last stand last. Those of ``without`` are left out with all below
    them."""
    children: dict = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    passed = set(without)
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parent = int(stream.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(name))
    found: List[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = [pid for pid in children.pop(waiting.pop(), []) if pid not in passed]
        found += below
        waiting += below
    return found


def _delay() -> int:
    """Nanoseconds that threads of the worker have been ready to run without a processor."""
    total = 0
    for pid in descendants():
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as stream:
                    total += int(stream.read().split()[1])
        except (OSError, IndexError, ValueError):
            continue
    return total


class _Kept:
    def __init__(self, pid: int, status: int) -> None:
        self.pid, self.status = pid, status
        self.alive = True

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more, and CONTROL has ended as well
            os.write(self.status, text.encode("ascii") + b"\n")

    def reap(self) -> None:
        """Takes note of everything that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid and self.alive:
                self.alive = False
                self.say(f"ended {-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)}")

    def signal(self, number: int) -> List[int]:
        """Signals everything that came of the worker; says what there was."""
        found = descendants()
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        if not found or self.alive:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, number)
        return found

    def end(self, wakes: int) -> None:
        """Kills until nothing is left: what forks while it is killed is found the next time."""
        deadline = time.monotonic() + _END_SECONDS
        while True:
            left = self.signal(signal.SIGKILL)
            self.reap()
            if (not left and not self.alive) or time.monotonic() > deadline:
                return
            _wait([wakes], 0.05)


def _wait(fds: List[int], seconds: Optional[float]) -> List[int]:
    return select.select(fds, [], [], seconds)[0]


def _start(command: List[str]) -> int:
    """The process id of the command in a session of its own; OSError where it cannot be executed."""
    told, tells = os.pipe()  # closed by a successful exec
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            os.execvp(command[0], command)
        except BaseException as error:  # noqa: BLE001  nothing may return from here
            os.write(tells, str(getattr(error, "errno", None) or 0).encode("ascii"))
        finally:
            os._exit(127)
    os.close(tells)
    with os.fdopen(told, "rb") as stream:
        failure = stream.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return pid


def main(argv: List[str]) -> None:
    control, status, grace, command = int(argv[1]), int(argv[2]), float(argv[3]), argv[4:]
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wakes, woken = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    adopt()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
    try:
        kept = _Kept(_start(command), status)
    except OSError as error:
        os.write(status, f"failed {error.errno}\n".encode("ascii"))
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the worker's own ends alone decide when its streams end
        os.dup2(nothing, descriptor)
    kept.say(f"started {kept.pid}")
    deadline = None
    while True:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        ready = _wait([control, wakes], left)
        if wakes in ready:
            os.read(wakes, 512)
            kept.reap()
        told = os.read(control, 1) if control in ready else None
        if told == b"d":
            kept.say(f"delay {_delay()}")
        elif told == b"s" and kept.alive:
            kept.signal(signal.SIGTERM)
            deadline = time.monotonic() + grace
        elif told is not None or (deadline is not None and (not kept.alive or time.monotonic() >= deadline)):
            break
    kept.end(wakes)


if __name__ == "__main__":
    main(sys.argv)
