"""What mutants of precision do to requests and answers: another mode, another library, other dtypes."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, altered, with_values
from npu_reference.errors import NpuError

__all__ = [
    "Edit", "Library", "accepting", "another_library", "answering", "asked", "asking", "bodies", "dtypes", "flags",
    "is_cube", "mode_of", "moved", "only_mode", "refusing", "taking", "without_marks",
]  # fmt: skip

Ask = Callable[[Params], Answer]
Change = Callable[[Params], Params]
Edit = Callable[[Dict[str, Any]], None]
Library = Mapping[str, Any]

#: What an unset mode is called here.
UNSET = "unset"


def mode_of(params: Params) -> str:
    """The precision mode that the request states, whichever option does; ``unset`` without one."""
    for option in ("precision_mode_v2", "precision_mode"):
        value = params["values"].get(option)
        text = value.get("value") if isinstance(value, dict) else value
        if text:
            return str(text)
    return UNSET


def asked(params: Params, modes: Iterable[str], edition: str = "", option: str = "") -> bool:
    """Whether the request states one of the modes, by this option, in this edition."""
    if edition and params["edition"] != edition:
        return False
    return mode_of(params) in set(modes) and (not option or option in params["values"])


def only_mode(params: Params, mode: Optional[str]) -> Params:
    """The request with this mode instead of its own; a word of ``precision_mode_v2`` alone goes there."""
    v2 = mode in ("fp16", "origin", "mixed_float16")
    named = {"precision_mode": None if v2 else mode, "precision_mode_v2": mode if v2 else None}
    changed = with_values(params, **named)
    if mode == "force_fp16" and params["edition"] == "current":
        changed = with_values(changed, graph_run_mode=0)  # A7: else it is refused
    return changed


def _declared(name: str, requirement: str, fault: str, precision: Callable[[Ask, Params], Answer]) -> None:
    """Registers a backend whose ``precision`` is given the reference's and the request."""
    altered(name, requirement, fault, "precision", precision)


def asking(name: str, requirement: str, fault: str, change: Change) -> None:
    """A mutant that hears another request."""
    _declared(name, requirement, fault, lambda ask, params: ask(change(params)))


def taking(
    name: str,
    requirement: str,
    fault: str,
    modes: Iterable[str],
    other: Optional[str],
    when: Callable[[Params], bool] = lambda params: True,
) -> None:
    """A mutant that takes one mode for another; ``other`` None is no mode at all."""
    wrong = tuple(modes)

    def change(params: Params) -> Params:
        return only_mode(params, other) if asked(params, wrong) and when(params) else params

    asking(name, requirement, fault, change)


def answering(
    name: str, requirement: str, fault: str, edit: Edit, when: Callable[[Params], bool] = lambda params: True
) -> None:
    """A mutant whose answer differs in some operators: ``edit`` changes one node of it."""

    def precision(ask: Ask, params: Params) -> Answer:
        answer = copy.deepcopy(ask(params))
        if when(params):
            for node in answer["nodes"]:
                edit(node)
        return answer

    _declared(name, requirement, fault, precision)


def bodies(name: str, requirement: str, fault: str, edit: Edit, when: Callable[[Params], bool]) -> None:
    """A mutant whose answer differs in the operators of functions, which are called function/node."""

    class Faulty(ReferenceBackend):
        def precision(self, params: Params) -> Answer:
            answer = copy.deepcopy(super().precision(params))
            names = set(self.graph(params).functions)
            if when(params):
                for node in answer["nodes"]:
                    function, inside, _ = node["node"].partition("/")
                    if inside and function in names:
                        edit(node)
            return answer

    Faulty.__doc__ = fault
    mutant(name, requirement)(Faulty)


def accepting(name: str, requirement: str, fault: str, codes: Iterable[str], when: Callable[[Params], bool]) -> None:
    """A mutant that answers, with nothing, what is to be refused with one of these codes."""
    forgiven = set(codes)

    def precision(ask: Ask, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.code not in forgiven or not when(params):
                raise
            return {"nodes": [], "casts": [], "warnings": []}

    _declared(name, requirement, fault, precision)


def refusing(name: str, requirement: str, fault: str, code: str, op: str, when: Callable[[Params], bool]) -> None:
    """A mutant that refuses an operator of this type."""

    def precision(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for node in answer["nodes"]:
            if node.get("op") == op and when(params):
                raise NpuError(code, node["node"], fault)
        return answer

    _declared(name, requirement, fault, precision)


def another_library(
    name: str, requirement: str, fault: str, library: Library, when: Callable[[Params], bool] = lambda params: True
) -> None:
    """A mutant whose operator library says something else, in the form of an operator information file."""

    def catalog(ask: Callable[[Params], Any], params: Params) -> Any:
        found = ask(params)
        return found.with_ops_info(json.dumps(library), "mutant") if when(params) else found

    altered(name, requirement, fault, "catalog", catalog)


def without_marks(name: str, requirement: str, fault: str, when: Callable[[Params], bool]) -> None:
    """A mutant that does not see what keep_dtype_scope marks."""
    from npu_reference.graphs import graph_from_def

    def graph(ask: Callable[[Params], Any], params: Params) -> Any:
        found = ask(params)
        if not when(params):
            return found
        definition = found.to_def()
        for node in definition.node:
            node.attr.pop("_keep_dtype", None)
        return graph_from_def(definition)

    altered(name, requirement, fault, "graph", graph)


def flags(**words: str) -> Library:
    """Operators with ``precision_reduce`` true or false, or without the field for any other word."""
    return {
        name: {"precision_reduce": {"flag": word}} if word in ("true", "false") else {} for name, word in words.items()
    }


def dtypes(before: str, after: str, only: Callable[[Mapping[str, Any]], bool], side: str = "both") -> Edit:
    """Changes a dtype of the operators that ``only`` takes, at their inputs, their outputs or both."""
    sides: Tuple[str, ...] = ("inputs", "outputs") if side == "both" else (side,)

    def edit(node: Dict[str, Any]) -> None:
        if only(node):
            for key in sides:
                node[key] = [after if dtype == before else dtype for dtype in node[key]]

    return edit


def is_cube(node: Mapping[str, Any]) -> bool:
    return node.get("engine") == "cube"


Moves = Dict[str, Dict[str, List[str]]]


def moved(params: Params, change: Callable[[Moves], None]) -> Params:
    """The request with the lists of its ``modify_mixlist`` file changed, every array of it there; else as it is."""
    files = dict(params.get("files", {}))
    name = params["values"].get("modify_mixlist")
    if not isinstance(name, str) or not isinstance(files.get(name), str):
        return params
    lines = [line.split("//")[0] for line in files[name].splitlines()]
    try:
        lists: Moves = json.loads("\n".join(lines))
    except ValueError:
        return params
    for colour in ("black-list", "white-list"):
        for move in ("to-remove", "to-add"):
            lists.setdefault(colour, {}).setdefault(move, [])
    change(lists)
    files[name] = json.dumps(lists)
    return {**params, "files": files}
