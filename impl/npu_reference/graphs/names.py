"""Decides how names from a file are read; how they appear in a message is `printing`'s."""

from __future__ import annotations

import re
from typing import Optional

from ..printing import shorten

__all__ = ["output_number", "shorten"]

# More digits than these are no output of anything; \d would let the digits of other scripts through.
_NUMBER = re.compile(r"[0-9]{1,9}\Z").match


def output_number(text: str) -> Optional[int]:
    """The number in ``name:number``; None where ``text`` is none."""
    return int(text) if _NUMBER(text) else None
