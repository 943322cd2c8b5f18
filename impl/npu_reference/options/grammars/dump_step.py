"""Which iterations a ``dump_step`` text names (session.dump_step.grammar, D2 to D6)."""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from npu_reference.options.grammars.scanner import Scanner

__all__ = ["EXAMPLE", "MAX_GROUPS", "Steps", "parse", "write"]

EXAMPLE = "0|3-5|10"
_FORM = f"Write iterations and ranges of them joined by '|', such as {EXAMPLE}."

#: The adapter's own limit (D5).
MAX_GROUPS = 100


class Steps(NamedTuple):
    """Inclusive spans of iterations, as written; overlapping ones mean their union (D4)."""

    spans: Tuple[Tuple[int, int], ...]

    def __contains__(self, step: object) -> bool:
        return isinstance(step, int) and any(first <= step <= last for first, last in self.spans)


def parse(text: str) -> Steps:
    """The iterations of a ``dump_step`` value.

    Raises:
        GrammarError: blanks, signs, empty items, a range that does not rise, or more than 100 groups.
    """
    scanner = Scanner(text, _FORM)
    spans: List[Tuple[int, int]] = []
    while True:
        if len(spans) == MAX_GROUPS:
            scanner.refuse(f"there are more than {MAX_GROUPS} groups.", scanner.position)
        spans.append(_span(scanner))
        if scanner.done:
            return Steps(tuple(spans))
        scanner.take("|", "'|' between groups")


def _span(scanner: Scanner) -> Tuple[int, int]:
    start = scanner.position
    first = scanner.integer("an iteration number")
    if not scanner.at("-"):
        return first, first
    scanner.take("-", "'-'")
    last = scanner.integer("the last iteration of a range")
    if first >= last:
        scanner.refuse(f"the range {first}-{last} does not rise.", start)
    return first, last


def write(steps: Steps) -> str:
    """The text that :func:`parse` reads as ``steps``."""
    return "|".join(str(first) if first == last else f"{first}-{last}" for first, last in steps.spans)
