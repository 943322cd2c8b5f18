"""Reads JSON in which every key of an object stands once: readers do not agree which of two counts."""

from __future__ import annotations

import json
from typing import Any, Dict, Sequence, Tuple

__all__ = ["Repeated", "loads", "once"]


class Repeated(ValueError):
    """A key stands twice in one object; the text says which, a clause."""


def loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        Repeated: a key stands twice in one object.
        ValueError: it is no JSON; RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=once)


def once(pairs: Sequence[Tuple[str, Any]]) -> Dict[str, Any]:
    """An object of its pairs, for ``object_pairs_hook``. Raises :class:`Repeated`."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise Repeated(f"the key {json.dumps(twice[:80])} stands twice in one object")
    return found
