"""Which kernel columns remain when one tensor is wanted at a dtype: exactly, at a higher, or at a lower precision."""

from __future__ import annotations

from typing import Dict, List, Sequence

__all__ = ["FLOATS", "REDUCED", "exact", "half", "reduced", "risen"]

#: The dtypes that precision modes move between, higher precision first. float64 is none of them (P17).
FLOATS = ("float32", "bfloat16", "float16")
REDUCED = ("float16", "bfloat16")

#: Larger is lower precision. bfloat16 and float16 are so near that neither replaces the other.
_RANK: Dict[str, int] = {"float32": 100000, "bfloat16": 200000, "float16": 200001}
_FAR = 100


def exact(kinds: Sequence[str], columns: List[int], wanted: str) -> List[int]:
    """The columns with that very dtype; `kinds` is the tensor's dtype by column."""
    return [k for k in columns if kinds[k] == wanted]


def risen(kinds: Sequence[str], columns: List[int], wanted: str) -> List[int]:
    """The exact columns; without any those of higher precision, nearest first."""
    found = exact(kinds, columns, wanted)
    if found or wanted not in _RANK:
        return found
    higher = [k for k in columns if kinds[k] in _RANK and _RANK[wanted] - _RANK[kinds[k]] > _FAR]
    return sorted(higher, key=lambda k: -_RANK[kinds[k]])


def reduced(kinds: Sequence[str], columns: List[int], wanted: str, bfloat16: bool = False) -> List[int]:
    """The columns of lower precision, nearest first; bfloat16, which the chip lacks, only where asked for (A16)."""
    if wanted not in _RANK:
        return []
    lower = [k for k in columns if kinds[k] in _RANK and _RANK[kinds[k]] > _RANK[wanted]]
    return sorted((k for k in lower if bfloat16 or kinds[k] != "bfloat16"), key=lambda k: _RANK[kinds[k]])


def half(kinds: Sequence[str], columns: List[int], bfloat16: bool = False) -> List[int]:
    """The columns of half precision."""
    return [k for k in columns if kinds[k] == "float16" or (bfloat16 and kinds[k] == "bfloat16")]
