"""Decides how a name stands in facts that repeat it: a long one once, wherever it stands again by its digest."""

from __future__ import annotations

import hashlib

__all__ = ["brief"]

_LONGEST = 500  # characters of a name that stands as it is: no name of a case has half as many (assumed)
_SHOWN = 100


def brief(name: str) -> str:
    """A name that many facts of one answer may repeat: their size grows with the answer, not with its square."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_SHOWN]}...sha256:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
