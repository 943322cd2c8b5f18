"""Decides how names from a file are read; how they appear in a message is `printing`'s."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Tuple

from ..printing import shorten

__all__ = ["output_number", "shorten", "split_fetches"]

# More digits than these are no output of anything; \d would let the digits of other scripts through.
_NUMBER = re.compile(r"[0-9]{1,9}\Z").match


def output_number(text: str) -> Optional[int]:
    """The number in ``name:number``; None where ``text`` is none."""
    return int(text) if _NUMBER(text) else None


def split_fetches(names: Sequence[str]) -> Tuple[List[str], List[str]]:
    """Fetches ``name:slot`` and targets (operators to run without a value), as TensorFlow tells them apart."""
    return [name for name in names if ":" in name], [name for name in names if ":" not in name]
