"""A request as conditions change it, and what they are."""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Mapping, NamedTuple, Optional, Set, Tuple

from npu_conformance.library.case import Instance

__all__ = ["Condition", "Params", "Request", "listed_ops"]

Params = Dict[str, Any]


class Request(NamedTuple):
    """A question as conditions find it and leave it: parameters, and the graph's definition, which they may change."""

    params: Params
    graph: Any


class Condition(NamedTuple):
    """Something that makes no difference.

    Attributes:
        name: in words, after "asked".
        change: of a request; None where it does not fit this graph after all.
        because: the requirements or readings that say so.
        methods: to which it applies.
        fits: whether no document relates it to what a case asks, as far as its parameters tell.
        group: what it decides; two that decide the same never hold at once.
        against: what it needs as the case has it.
        hides: aspects of an answer that it may change.
        lists: whether it gives an operator list, which not every backend takes.
        ends: whether it adds fetches, which an answer may name as operators.
        gives: the options and variables that it gives.
        surface: the surface that it asks on.
        refusals: whether what is refused is refused under it, too, and for the same operator.
        often: whether every second question that it fits is asked so: it costs nothing, and much is forgotten there.
        refusable: whether a backend may refuse it by itself, and is then asked without it.
        dear: whether it makes the graph, or what is read of it, much larger: few questions are asked so.
    """

    name: str
    change: Callable[[Request], Optional[Request]]
    because: Tuple[str, ...]
    methods: Tuple[str, ...] = ("partition", "precision")
    fits: Callable[[Instance], bool] = lambda one: True
    group: str = ""
    against: str = ""
    hides: FrozenSet[str] = frozenset()
    lists: bool = False
    ends: bool = False
    gives: Mapping[str, Any] = {}
    surface: str = ""
    refusals: bool = False
    often: bool = False
    dear: bool = False
    refusable: bool = False


def listed_ops(graph: Any) -> Set[str]:
    return {node.op for node in [*graph.node, *(node for one in graph.library.function for node in one.node_def)]}
