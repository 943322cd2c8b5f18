"""What mutants do to requests and answers: small edits of values, graphs and partitions."""

from __future__ import annotations

import copy
import functools
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.options.grammars import GrammarError, in_out_pair

__all__ = [
    "Answer", "Params", "ReferenceBackend", "altered", "everything_on_host", "merged", "scoped_nodes", "script_text",
    "to_device", "to_host", "with_operators", "with_pairs", "with_values", "without_notes", "without_scope",
    "without_scope_in_functions",
]  # fmt: skip

Params = Mapping[str, Any]
Answer = Dict[str, Any]


def altered(name: str, requirement: str, fault: str, method: str, change: Callable[..., Any], **more: Any) -> None:
    """Register a mutant of which one method is ``change``, given the reference's own method and what that is given.

    Args:
        fault: one sentence; more: as of :func:`mutant`.
    """

    def answer(self: ReferenceBackend, *given: Any) -> Any:
        return change(functools.partial(getattr(ReferenceBackend, method), self), *given)

    mutant(name, requirement, **more)(type("Altered", (ReferenceBackend,), {"__doc__": fault, method: answer}))


def with_values(params: Params, **changes: Any) -> Dict[str, Any]:
    """The request with these option values; None takes one out."""
    values = {**params["values"], **changes}
    return {**params, "values": {name: value for name, value in values.items() if value is not None}}


def with_operators(params: Params, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Params:
    """The request with some operators more or less on its operator list; as it is when it brings none."""
    if "op_list" not in params:
        return params
    entries = {name: entry for name, entry in params["op_list"].items() if name not in set(remove)}
    entries.update({name: {"isGray": False, "isHeavy": False} for name in add})
    return {**params, "op_list": entries}


def with_pairs(params: Params, change: Callable[[List[List[List[str]]]], Sequence[Any]]) -> Params:
    """The request with the entries of its ``in_out_pair`` changed; as it is without one, or with one that is refused.

    ``change`` gets ``[[ins, outs], ...]`` and returns the same form; an empty list takes the option out.
    """
    text = params["values"].get("in_out_pair")
    if not isinstance(text, str):
        return params
    try:
        entries = [[list(entry.in_nodes), list(entry.out_nodes)] for entry in in_out_pair.parse(text)]
    except GrammarError:
        return params
    changed = change(entries)
    return with_values(params, in_out_pair=str([list(entry) for entry in changed]) if changed else None)


def script_text(params: Params) -> str:
    """The text of the request's script; empty when it has none."""
    if "script" not in params:
        return ""
    with open(params["script"], encoding="utf-8") as stream:
        return stream.read()


def to_host(answer: Answer, nodes: Iterable[str], reason: str = "NOT_SUPPORTED") -> Answer:
    """The partition with these operators taken out of their GEOPs; a GEOP that is left empty is gone."""
    moved = set(nodes)
    result = copy.deepcopy(answer)
    found = [name for geop in result["geops"] for name in geop["nodes"] if name in moved]
    for geop in result["geops"]:
        geop["nodes"] = [name for name in geop["nodes"] if name not in moved]
    result["geops"] = [geop for geop in result["geops"] if geop["nodes"]]
    result["host"] += [{"node": name, "op": "", "reason": reason} for name in found]
    return result


def to_device(answer: Answer, nodes: Iterable[str]) -> Answer:
    """The partition with these host operators in its first GEOP."""
    moved = set(nodes)
    result = copy.deepcopy(answer)
    found = [entry["node"] for entry in result["host"] if entry["node"] in moved]
    if not found:
        return result
    result["host"] = [entry for entry in result["host"] if entry["node"] not in moved]
    if not result["geops"]:
        result["geops"] = [{"name": "GeOp", "nodes": [], "args": [], "rets": [], "copies": []}]
    result["geops"][0]["nodes"] += found
    return result


def everything_on_host(answer: Answer) -> Answer:
    """The partition with nothing offloaded."""
    return to_host(answer, [name for geop in answer["geops"] for name in geop["nodes"]])


def merged(answer: Answer, groups: Iterable[Iterable[int]]) -> Answer:
    """The partition with each group of GEOPs (indices) made one."""
    result = copy.deepcopy(answer)
    gone = set()
    for group in groups:
        first, *others = sorted(group)
        for other in others:
            for key in ("nodes", "args", "rets", "copies"):
                result["geops"][first].setdefault(key, []).extend(result["geops"][other].get(key, []))
            gone.add(other)
    result["geops"] = [geop for position, geop in enumerate(result["geops"]) if position not in gone]
    return result


def without_notes(answer: Answer, code: str) -> Answer:
    """The partition without the notes of this code."""
    return {**answer, "notes": [note for note in answer.get("notes", []) if note["code"] != code]}


def scoped_nodes(graph: Any) -> List[str]:
    """Names of the operators built inside ``without_npu_compile_scope``."""
    return [node.name for node in graph.nodes if node.attr("_without_npu_compile", False)]


def without_scope(graph: Any, op: str = "") -> Any:
    """The graph with the scope's mark taken off all operators, or off those of type ``op``."""
    from npu_reference.graphs import graph_from_def

    definition = graph.to_def()
    for node in definition.node:
        if op in ("", node.op):
            node.attr.pop("_without_npu_compile", None)
    return graph_from_def(definition)


def without_scope_in_functions(graph: Any) -> Any:
    """The graph with the scope's mark taken off the operators inside its functions."""
    from npu_reference.graphs import graph_from_def

    definition = graph.to_def()
    for function in definition.library.function:
        for node in function.node_def:
            node.attr.pop("_without_npu_compile", None)
    return graph_from_def(definition)
