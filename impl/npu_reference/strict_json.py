"""Reads JSON in which every key of an object stands once: readers do not agree which of two counts."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Sequence, Set, Tuple

__all__ = ["Repeated", "finite", "loads", "once"]


class Repeated(ValueError):
    """A key stands twice in one object; the text says which, a clause."""


def loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        Repeated: a key stands twice in one object.
        ValueError: it is no JSON; RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=once)


def finite(text: str) -> Any:
    """The same, of a text whose numbers can be written again: what is no number, or infinite, is no JSON. Raises as
    :func:`loads` does."""
    return json.loads(text, object_pairs_hook=once, parse_constant=_no_constant, parse_float=_finite)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is beyond what 64 bits hold")
    return number


def once(pairs: Sequence[Tuple[str, Any]]) -> Dict[str, Any]:
    """An object of its pairs, for ``object_pairs_hook``. Raises :class:`Repeated`."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: Set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Repeated(f"the key {json.dumps(name[:80])} stands twice in one object")
            seen.add(name)
    return found
