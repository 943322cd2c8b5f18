"""Remembers what a worker has answered, so that laws need not ask what a case has asked.

Cases ask each time: what answers the same question otherwise is found so.
"""

from __future__ import annotations

import hashlib
import json
from typing import Dict, NamedTuple, Optional

__all__ = ["Answers", "Kept"]

#: Methods that are about their parameters alone: nothing runs, and no file is left.
_PURE = frozenset(("options", "partition", "precision"))

#: Bytes of one answer, and of all, that are kept (assumed).
_LARGEST, _MOST = 1 << 17, 1 << 26


class Kept(NamedTuple):
    """The line that was the answer, and the request that it names."""

    identifier: int
    line: bytes


class Answers:
    """Lines that one process of a worker has written, by what it was asked. Where keeping ends, it is asked again.

    Args:
        folder: of the worker. What a question has there, the next one may find changed: it is asked each time.
    """

    def __init__(self, folder: str) -> None:
        self._folder = json.dumps(folder)[1:-1].encode("ascii")
        self._kept: Dict[bytes, Kept] = {}
        self._room = _MOST

    def recall(self, method: str, asked: bytes) -> Optional[Kept]:
        """What was answered to the same question, whatever its number; None where there is nothing.

        Args:
            asked: the line of the request, as :func:`messages.encode` writes it: with its number first.
        """
        key = self._key(method, asked) if self._kept else None
        return None if key is None else self._kept.get(key)

    def keep(self, method: str, asked: bytes, answer: Kept) -> None:
        """Remembers an answer, if there is room."""
        size = len(answer.line)
        key = self._key(method, asked) if size <= min(_LARGEST, self._room) else None
        if key is not None and key not in self._kept:
            self._kept[key] = answer
            self._room -= size

    def clear(self) -> None:
        """Forgets everything: the process is gone."""
        self._kept.clear()
        self._room = _MOST

    def _key(self, method: str, asked: bytes) -> Optional[bytes]:
        if method not in _PURE or self._folder in asked:
            return None
        return hashlib.sha256(asked[asked.index(b",") :]).digest()
