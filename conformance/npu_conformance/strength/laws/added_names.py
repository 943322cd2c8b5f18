"""Names of what conditions add to a graph; no graph of a case has them."""

from __future__ import annotations

import re

__all__ = ["BESIDE", "INSIDE", "LONG", "SCOPE", "SECOND", "stripped"]

#: In the name of an operator that is none of the case's, wherever it stands there.
BESIDE = "zq_beside_"

#: Before names of a case's own operators: of the second of two graphs, in a scope, in a function.
SECOND, SCOPE, LONG, INSIDE = "zq_second/", "zq_scope/", f"zq_long_{'n' * 240}/", "zq_inside/"

_BEFORE = re.compile("|".join((SECOND, SCOPE, LONG, INSIDE)))


def stripped(text: str) -> str:
    """A name, or what holds one, as it is in the case."""
    return _BEFORE.sub("", text) if "zq_" in text else text
