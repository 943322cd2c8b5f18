"""Who else learns what a run of the device gave: those who compare one execution of a script with another."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Sequence

__all__ = ["Watcher", "tell", "watching"]

#: Called after every run with the names of its fetches, their values, and the session's Numerics or None.
Watcher = Callable[[Sequence[str], Sequence[Any], Any], None]

_WATCHERS: List[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let a watcher hear of every run in the block, on every thread."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


def tell(names: Sequence[str], values: Sequence[Any], numerics: Any) -> None:
    """Tell all watchers."""
    for watcher in _WATCHERS:
        watcher(names, values, numerics)
