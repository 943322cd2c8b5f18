"""Decides how names from a file are read and how they appear in a message."""

from __future__ import annotations

import re
from typing import Optional

__all__ = ["output_number", "shorten"]

# More digits than these are no output of anything; \d would let the digits of other scripts through.
_NUMBER = re.compile(r"[0-9]{1,9}\Z").match


def output_number(text: str) -> Optional[int]:
    """The number in ``name:number``; None where ``text`` is none."""
    return int(text) if _NUMBER(text) else None


def shorten(text: str, bound: int = 120) -> str:
    """``text`` without control or unencodable characters, its middle left out beyond ``bound`` characters."""
    if len(text) > bound:
        half = (bound - 1) // 2
        text = text[:half] + "…" + text[-half:]
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
