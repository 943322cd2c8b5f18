"""Makes a failing list of steps small: drops what is not needed, then lowers what is left (after Zeller's ddmin)."""

from __future__ import annotations

from typing import Callable, Iterator, List, Sequence

from npu_conformance.strength.laws.graphs import KINDS, Step

__all__ = ["shrink"]


def shrink(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], budget: int = 300) -> List[Step]:
    """A small list that still fails.

    Args:
        steps: a list that fails.
        fails: whether a list does; asked at most `budget` times, never twice of one list.
    """
    best = list(steps)
    asked = {tuple(best)}

    def try_(candidate: List[Step]) -> bool:
        nonlocal best, budget
        key = tuple(candidate)
        if not candidate or key in asked or budget <= 0:
            return False
        asked.add(key)
        budget -= 1
        if fails(candidate):
            best = candidate
            return True
        return False

    changed = True
    while changed and budget > 0:
        changed = False
        size = max(1, len(best) // 2)
        while size:
            start = 0
            while start < len(best):
                if try_(best[:start] + best[start + size :]):
                    changed = True
                else:
                    start += size
            size //= 2
        for position in range(len(best)):
            while any(
                try_([*best[:position], simpler, *best[position + 1 :]]) for simpler in list(_simpler(best[position]))
            ):
                changed = True
    return best


def _simpler(step: Step) -> Iterator[Step]:
    """The step with one thing plainer: fewest first."""
    for kind in KINDS[: KINDS.index(step.kind)] if step.kind in KINDS else ():
        if kind in ("unary", "binary", "host", "to_string"):
            yield step._replace(kind=kind)
    if step.kept:
        yield step._replace(kept=False)
    if step.after:
        yield step._replace(after=0)
    for i, number in enumerate(step.picks):
        for lower in sorted({0, number // 2, number - 1}):
            if 0 <= lower < number:
                picks = list(step.picks)
                picks[i] = lower
                yield step._replace(picks=(picks[0], picks[1], picks[2]))
