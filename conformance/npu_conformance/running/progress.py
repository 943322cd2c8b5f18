"""Shows on stderr how far a run is: a bar on a terminal, few plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Callable, Iterator

from npu_conformance.files import streams

__all__ = ["bar"]

_COUNTS = 68  # columns of all but the name, at 99999 of 99999
_PLAIN_STEPS = 10  # lines a whole run prints where there is no terminal


@contextlib.contextmanager
def bar(total: int) -> Iterator[Callable[[Any], None]]:
    """A function to call once for each of ``total`` pieces of work."""
    if not sys.stderr.isatty() or streams.is_plain():
        yield _plain(total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("judging"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", style="dim"),
    )
    console = Console(stderr=True)
    room = min(max(console.width - _COUNTS, 0), 60)  # the name is cut, and no count
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("judging", total=total, last="")

        def advance(record: Any) -> None:
            progress.update(task, advance=1, last=_name(record)[:room])

        yield advance


def _plain(total: int) -> Callable[[Any], None]:
    done, begun = 0, time.monotonic()

    def advance(record: Any) -> None:
        nonlocal done
        done += 1
        if done == total or done * _PLAIN_STEPS // total != (done - 1) * _PLAIN_STEPS // total:
            left = (time.monotonic() - begun) / done * (total - done)
            sys.stderr.write(f"judged {done} of {total}{_left(left) if done < total else ''}\n")
            sys.stderr.flush()

    return advance


def _left(seconds: float) -> str:
    """The time left at the speed so far, no finer than it can be known."""
    if seconds < 90:
        return f", about {max(round(seconds), 1)} s left"
    return f", about {round(seconds / 60)} min left" if seconds < 5400 else f", about {seconds / 3600:.1f} h left"


def _name(record: Any) -> str:
    instance = getattr(record, "instance", None)
    return instance.id if instance is not None else str(getattr(record, "name", ""))
