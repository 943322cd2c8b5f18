"""Decides how names from a file are read; how they appear in a message is `printing`'s."""

from __future__ import annotations

import difflib
import heapq
import re
from typing import Dict, Iterable, Optional

from ..printing import shorten

__all__ = ["nearest", "output_number", "shorten"]

# More digits than these are no output of anything; \d would let the digits of other scripts through.
_NUMBER = re.compile(r"[0-9]{1,9}\Z").match


def output_number(text: str) -> Optional[int]:
    """The number in ``name:number``; None where ``text`` is none."""
    return int(text) if _NUMBER(text) else None


_LOOKED_AT = 5000  # names compared letter by letter (assumed: a second at most)


def nearest(text: str, names: Iterable[str]) -> Optional[str]:
    """The name most like ``text``: but for case, by its last parts, or in most letters; None where none is like it.

    Of many names those of about its length are compared. O(names) beside these.
    """
    parts = text.count("/") + 1
    wanted = text.lower()
    ends: Dict[str, str] = {}  # by name in small letters, whole and without the scopes that ``text`` leaves out
    for name in sorted(names, key=lambda name: (len(name), name)):
        folded = name.lower()
        ends.setdefault("/".join(folded.split("/")[-parts:]), name)
        ends.setdefault(folded, name)
    if wanted in ends:
        return ends[wanted]
    slack = 2 + len(text) // 4
    alike = [end for end in ends if abs(len(end) - len(text)) <= slack]
    if len(alike) > _LOOKED_AT:
        alike = heapq.nsmallest(_LOOKED_AT, alike, key=lambda end: (abs(len(end) - len(text)), end))
    near = difflib.get_close_matches(wanted[:200], alike, 1, 0.7)
    return ends[near[0]] if near else None
