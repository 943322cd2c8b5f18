"""Remembers what small files hold: who answers many questions is asked about one graph again and again."""

from __future__ import annotations

import functools
import os
from typing import Any, Sequence, Tuple

from .closing import close_over
from .graph import Graph
from .readers import load_graph, parse_plain

__all__ = ["closed_graph"]

#: Bytes of a file, and graphs, that are remembered (assumed: questions about one graph come together).
_LARGEST, _MOST = 64 << 10, 64

_GZIP_MAGIC = b"\x1f\x8b"


def closed_graph(
    path: Any, feeds: Sequence[str] = (), fetches: Sequence[str] = (), targets: Sequence[str] = ()
) -> Graph:
    """The graph in a file, closed over feeds, fetches and targets where there are any; by what is in the file now.

    The same graph is given to all who ask, which no one can change. Raises as both do.
    """
    given = (tuple(feeds), tuple(fetches), tuple(targets))
    subject = os.fspath(path)
    data = _content(subject) if isinstance(subject, str) and "\0" not in subject else b""
    return _closed(load_graph(path), *given) if not data else _remembered(subject, data, *given)


def _content(path: str) -> bytes:
    """What is in a small plain file; nothing where it is another, or cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return b""
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError:
        return b""
    return b"" if len(data) > _LARGEST or data.startswith(_GZIP_MAGIC) else data


@functools.lru_cache(maxsize=_MOST)
def _remembered(
    subject: str, data: bytes, feeds: Tuple[str, ...], fetches: Tuple[str, ...], targets: Tuple[str, ...]
) -> Graph:
    return _closed(parse_plain(data, subject), feeds, fetches, targets)


def _closed(graph: Graph, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> Graph:
    return close_over(graph, feeds, fetches, targets) if feeds or fetches or targets else graph
