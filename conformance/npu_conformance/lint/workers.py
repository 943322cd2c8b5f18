"""Reads files in processes of their own: one that ends such a process, or never comes to an end, costs itself only."""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import signal
import sys
import time
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Tuple

from npu_reference.collection import no_collection

__all__ = ["CONTEXT", "answers"]

#: How processes are made where that costs next to nothing: even a single file is then read in one. None elsewhere.
CONTEXT = multiprocessing.get_context("fork") if sys.platform.startswith("linux") else None

#: Seconds after which a file is given up; ``assumed``, a thousand times what a large script takes.
LONGEST = 60.0

#: Most files that a process is handed at once.
_MOST = 32

Span = Tuple[int, int]


class _Worker:
    """One process; ``at`` is the number of the file that it reads, which it writes itself."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        context: Any = CONTEXT or multiprocessing.get_context()
        self.pipe, theirs = context.Pipe()
        self.at = context.RawValue("q", -1)
        mine = self.pipe if CONTEXT is not None else None
        self.process = context.Process(target=_work, args=(theirs, mine, self.at, read), daemon=True)
        self.process.start()
        theirs.close()
        self.span: Span = (0, 0)
        self.seen: Tuple[int, float] = (-1, 0.0)

    def hand(self, span: Span, paths: Sequence[str]) -> None:
        self.span, self.at.value = span, span[0]
        self.seen = (span[0], time.monotonic())
        self.pipe.send((span[0], paths[span[0] : span[1]]))

    def is_stuck(self) -> bool:
        """Whether it has been at one file for too long."""
        at, now = self.at.value, time.monotonic()
        if at != self.seen[0]:
            self.seen = (at, now)
        return now - self.seen[1] > LONGEST

    def end(self) -> Optional[int]:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@no_collection()  # many trees are made, and no circles worth looking for
def _work(pipe: Any, theirs: Any, at: Any, read: Callable[[str], Any]) -> None:
    """Reads what it is handed until nobody hands it anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if theirs is not None:
        theirs.close()  # else this process would keep itself from seeing that the other end is gone
    while True:
        try:
            first, paths = pipe.recv()
        except EOFError:
            return
        found = []
        for number, path in enumerate(paths, start=first):
            at.value = number
            found.append(read(path))
        pipe.send(found)


def answers(
    paths: Sequence[str], jobs: int, read: Callable[[str], Any], ended: Callable[[str, str], Any]
) -> Iterator[Any]:
    """``read`` of every path, in their order, from at most ``jobs`` processes.

    Args:
        ended: what is answered for a file that ended its process: given its path and a clause that says how.
    """
    size = max(1, min(_MOST, len(paths) // (jobs * 8) + 1))
    waiting: Deque[Span] = collections.deque(
        (first, min(first + size, len(paths))) for first in range(0, len(paths), size)
    )
    done: Dict[int, Any] = {}
    working: List[_Worker] = []
    idle: List[_Worker] = []
    following = 0
    try:
        while waiting or working:
            while waiting and (idle or len(working) < jobs):
                worker = idle.pop() if idle else _Worker(read)
                working.append(worker)
                _hand(worker, waiting.popleft(), paths)
            ready = multiprocessing.connection.wait([worker.pipe for worker in working], min(1.0, LONGEST / 4))
            for worker in list(working):
                if worker.pipe in ready:
                    try:
                        done.update(enumerate(worker.pipe.recv(), start=worker.span[0]))
                        idle.append(worker)
                    except (EOFError, OSError):
                        number, reason = _lost(worker, waiting, "")
                        done[number] = ended(paths[number], reason)
                elif worker.is_stuck():
                    number, reason = _lost(worker, waiting, f"had not ended after {LONGEST:g} seconds")
                    done[number] = ended(paths[number], reason)
                else:
                    continue
                working.remove(worker)
            while following in done:
                yield done.pop(following)
                following += 1
    finally:
        for worker in [*working, *idle]:
            worker.end()


def _hand(worker: _Worker, span: Span, paths: Sequence[str]) -> None:
    with contextlib.suppress(OSError):  # it has ended, which its pipe tells as well
        worker.hand(span, paths)


def _lost(worker: _Worker, waiting: Deque[Span], reason: str) -> Tuple[int, str]:
    """The number of the file at which a process was, and how that ended; its other files are read again."""
    first, last = worker.span
    code = worker.end()
    number = min(max(worker.at.value, first), last - 1)
    rest = [span for span in ((first, number), (number + 1, last)) if span[0] < span[1]]
    waiting.extendleft(reversed(rest))
    if not reason:
        reason = f"ended with signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
    return number, reason
