"""Functions that GEOPs call and that are rewritten for them: copies, for the host may call the same functions."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

__all__ = ["CalledCopies", "calls"]

#: Its function is differentiated when it runs, which is for the function as the graph has it.
_LEAVES_FUNCTION = ("SymbolicGradient",)


class CalledCopies:
    """Those of one rewrite, each function once.

    Args:
        functions: FunctionDefs by name.
        suffix: what the copies' names end in.
        wanted: whether a NodeDef that calls the function of this name is to call a copy.

    Attributes:
        made: FunctionDefs by the name of the function that each is a copy of.
    """

    def __init__(self, functions: Mapping[str, Any], suffix: str, wanted: Callable[[Any, str], bool]) -> None:
        self.made: Dict[str, Any] = {}
        self._functions = functions
        self._suffix = suffix
        self._wanted = wanted

    def call(self, body: Any) -> List[Tuple[str, Any]]:
        """Let a body call copies; answers those made now, each with the name of its original."""
        fresh: List[Tuple[str, Any]] = []
        for node in body.node_def:
            for name, become in calls(node, self._functions):
                if node.op not in _LEAVES_FUNCTION and self._wanted(node, name):
                    if name not in self.made:
                        fresh.append((name, self._copy(name)))
                    become(name + self._suffix)
        return fresh

    def _copy(self, name: str) -> Any:
        original = self._functions[name]
        copy = self.made[name] = type(original)()
        copy.CopyFrom(original)
        copy.signature.name = name + self._suffix
        return copy


def calls(node: Any, functions: Mapping[str, Any]) -> Iterator[Tuple[str, Callable[[str], None]]]:
    """The functions that a NodeDef names: the name of each, and what lets the node name another instead."""
    for key in sorted(node.attr):
        field = node.attr[key].WhichOneof("value")
        held = [node.attr[key].func] if field == "func" else node.attr[key].list.func if field == "list" else ()
        for reference in held:
            if reference.name in functions:
                yield reference.name, partial(setattr, reference, "name")
    if node.op in functions:
        yield node.op, partial(setattr, node, "op")
