"""Decides which known name a misspelt one probably means."""

from __future__ import annotations

import functools
import heapq
import re
from typing import Dict, Iterable, List, Sequence, Tuple

__all__ = ["did_you_mean", "like", "nearest", "several"]

_FEWEST = 3  # letters of a word that may be misspelt: 10 is no misspelt 1 (assumed)
_LOOKED_AT = 5000  # names compared letter by letter (assumed: a second at most)
_OUTPUT = re.compile(r":\d+\Z")
_LETTERS = 200  # of a word that are compared, the same
_REMEMBERED = 2048  # names of a question that is remembered (assumed: a few megabytes for all that are)


def nearest(word: str, words: Iterable[str], cutoff: float = 0.7) -> str:
    """The one of ``words`` that ``word`` probably means; empty where none is like it.

    The same but for case, hyphens and an output number (``loss:0``), or by its last scopes, whichever of the two has
    more of them (``loss`` for ``tower/loss``, ``import/loss`` for ``loss``); else the only one that goes on behind it
    (``mix_compile``); else the closest spelling. O(words) beside those that are compared by letters.

    Args:
        word: what was written.
        words: what is known, in any order: of those alike the shortest is taken.
        cutoff: how alike spellings have to be, from 0 to 1.
    """
    known = tuple(words)
    if len(known) > _REMEMBERED or len(word) > _LETTERS:
        return _nearest(word, known, cutoff)
    return _nearest_again(word, known, cutoff)


def _nearest(word: str, words: Tuple[str, ...], cutoff: float) -> str:
    wanted = _OUTPUT.sub("", _folded(word.strip()))
    parts = wanted.count("/") + 1
    meant: Dict[str, str] = {}  # by folded spelling, whole and without the scopes that ``word`` leaves out
    whole: Dict[str, str] = {}
    for name in sorted(words, key=lambda name: (len(name), name)):
        folded = _folded(name)
        meant.setdefault("/".join(folded.split("/")[-parts:]), name)
        whole.setdefault(folded, name)
    if wanted in whole or wanted in meant:
        return whole.get(wanted) or meant[wanted]
    # No known name has more parts than the deepest: a word of millions is not put together that often.
    deepest = max((folded.count("/") + 1 for folded in whole), default=0)
    last = wanted.rsplit("/", deepest)[-deepest:] if deepest else []
    for left_out in range(len(last) == parts, len(last)):
        behind = "/".join(last[left_out:])
        if behind in whole:
            return whole[behind]
    meant = {**whole, **meant}
    longer = {name for folded, name in meant.items() if folded.startswith(wanted + "_")} if wanted else set()
    if len(longer) == 1:
        return longer.pop()
    found = like(wanted, list(meant), cutoff) if len(wanted) >= _FEWEST else ""
    return meant[found] if found else ""


_nearest_again = functools.lru_cache(maxsize=256)(_nearest)


def like(word: str, words: Sequence[str], cutoff: float) -> str:
    """The one of ``words`` that is most like ``word`` letter by letter; empty where none is as like as ``cutoff``."""
    from difflib import get_close_matches  # loaded for the rare misspelling only

    compared = [one for one in words if 2 * min(len(one), len(word)) >= cutoff * (len(one) + len(word))]
    if len(compared) > _LOOKED_AT:
        compared = heapq.nsmallest(_LOOKED_AT, compared, key=lambda one: (abs(len(one) - len(word)), one))
    return next(iter(get_close_matches(word[:_LETTERS], compared, 1, cutoff)), "")


def several(word: str, words: Iterable[str], cutoff: float, most: int = 3) -> str:
    """The remedy for a misspelt word where many are alike: the names it may mean, or empty where none is near."""
    left = list(dict.fromkeys(words))
    found: List[str] = []
    while len(found) < most:
        near = nearest(word, left, cutoff)
        if not near:
            break
        found.append(near)
        left.remove(near)
    return f"Did you mean {' or '.join(found)}?" if found else ""


def did_you_mean(word: str, words: Iterable[str], otherwise: str = "", cutoff: float = 0.7) -> str:
    """The remedy for a misspelt word, a sentence: the name it probably means, or ``otherwise`` where none is near."""
    near = nearest(word, words, cutoff)
    return f"Did you mean {near}?" if near else otherwise


def _folded(word: str) -> str:
    return word.replace("-", "_").casefold()
