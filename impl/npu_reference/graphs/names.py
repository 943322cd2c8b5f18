"""Decides how names from a file are read and how they appear in a message."""

from __future__ import annotations

import difflib
import heapq
import re
from typing import Iterable, Optional

__all__ = ["nearest", "output_number", "shorten"]

# More digits than these are no output of anything; \d would let the digits of other scripts through.
_NUMBER = re.compile(r"[0-9]{1,9}\Z").match


def output_number(text: str) -> Optional[int]:
    """The number in ``name:number``; None where ``text`` is none."""
    return int(text) if _NUMBER(text) else None


_LOOKED_AT = 5000  # names compared letter by letter (assumed: a second at most)


def nearest(text: str, names: Iterable[str]) -> Optional[str]:
    """The name most like ``text``: but for case, by its last part, or in most letters; None where none is like it.

    Of many names those of about its length are compared. O(names) beside these.
    """
    known = list(names)
    wanted = text.lower()
    for alike in (lambda name: name == wanted, lambda name: name.rpartition("/")[2] == wanted):
        found = [name for name in known if alike(name.lower())]
        if found:
            return min(found, key=lambda name: (len(name), name))
    chosen = [name for name in known if abs(len(name) - len(text)) <= 2 + len(text) // 4]
    chosen += [name for name in known if abs(len(name.rpartition("/")[2]) - len(text)) <= 2 and "/" in name]
    if len(chosen) > _LOOKED_AT:
        chosen = heapq.nsmallest(_LOOKED_AT, chosen, key=lambda name: (abs(len(name) - len(text)), name))
    folded = {name.lower(): name for name in chosen}
    for name in chosen:
        folded.setdefault(name.rpartition("/")[2].lower(), name)
    near = difflib.get_close_matches(wanted[:200], folded, 1, 0.7)
    return folded[near[0]] if near else None


def shorten(text: str, bound: int = 120) -> str:
    """``text`` without control or unencodable characters, its middle left out beyond ``bound`` characters."""
    if len(text) > bound:
        half = (bound - 1) // 2
        text = text[:half] + "…" + text[-half:]
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
