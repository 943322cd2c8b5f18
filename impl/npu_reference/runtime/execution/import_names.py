"""Names that ``import_graph_def`` leaves as they are: it renames what is called as an operator or a scope before it."""

from __future__ import annotations

from typing import Dict, Set

__all__ = ["MARK", "Names"]

#: Stands before the number of a name that is not the user's own.
MARK = "__npu"


class Names:
    """Names of one graph's operators, each given once, none of them a scope of one given before. O(depth) each."""

    def __init__(self) -> None:
        self._taken: Set[str] = set()
        self._copies: Dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """``name`` itself if no operator or scope has it; else with a mark and a number."""
        candidate = name
        while candidate in self._taken:
            self._copies[name] = self._copies.get(name, 1) + 1
            candidate = f"{name}{MARK}{self._copies[name]}"
        scope = candidate
        while scope and scope not in self._taken:
            self._taken.add(scope)
            scope = scope.rpartition("/")[0]
        return candidate
