"""How mutants of what compilation leaves are made: from changes of requests and of answers."""

from __future__ import annotations

import base64
import copy
import functools
import json
import re
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.reference import ReferenceBackend

__all__ = [
    "Ask", "Fault", "asked", "at_level", "beside", "both", "declare", "each_turn", "given", "other_text", "other_value",
    "places_of", "renamed", "said", "variable", "when", "without",
]  # fmt: skip

Ask = Callable[[Params], Answer]
Fault = Callable[[Ask, Params], Answer]


@functools.lru_cache(maxsize=1024)
def _sound(method: str, request: str) -> Answer:
    """What the reference answers, asked once for all mutants."""
    answer: Answer = getattr(ReferenceBackend(), method)(json.loads(request))
    return answer


def _asking(method: str) -> Ask:
    return lambda params: copy.deepcopy(_sound(method, json.dumps(params, sort_keys=True)))


def declare(method: str, prefix: str, rows: List[Tuple[str, str, Fault]]) -> None:
    for requirement, fault, change in rows:
        number = sum(1 for name in _names if name.startswith(f"{prefix}-{_slug(requirement)}"))
        name = f"{prefix}-{_slug(requirement)}" + (f"-{number + 1}" if number else "")
        _names.append(name)

        def answer(self: Any, params: Params, change: Fault = change) -> Answer:
            return change(_asking(method), params)

        kind = type("Altered", (ReferenceBackend,), {method: answer, "__doc__": fault, "name": f"mutant:{name}"})
        mutant(name, requirement)(kind)


_names: List[str] = []


def _slug(requirement: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", requirement.lower())


def places_of(turn: Dict[str, Any]) -> List[Dict[str, Any]]:
    return [turn[key] for key in ("files", "left") if key in turn]


def each_turn(change: Callable[[Dict[str, Any]], None]) -> Fault:
    """The answer with every turn changed."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for turn in answer["turns"]:
            if "rejected" not in turn:
                change(turn)
        return answer

    return fault


def without(pattern: str) -> Fault:
    """Files whose path matches are not left."""

    def change(turn: Dict[str, Any]) -> None:
        for files in places_of(turn):
            for path in [path for path in files if re.search(pattern, path)]:
                del files[path]

    return each_turn(change)


def renamed(pattern: str, words: str) -> Fault:
    """Files whose path matches have another."""

    def change(turn: Dict[str, Any]) -> None:
        for files in places_of(turn):
            for path in list(files):
                files[re.sub(pattern, words, path)] = files.pop(path)

    return each_turn(change)


def beside(pattern: str, words: str) -> Fault:
    """Beside a file whose path matches, another is left."""

    def change(turn: Dict[str, Any]) -> None:
        for files in places_of(turn):
            for path in [path for path in files if re.search(pattern, path)]:
                files[re.sub(pattern, words, path)] = dict(files[path])

    return each_turn(change)


def said(pattern: str, old: str, new: str) -> Fault:
    """In files whose path matches, a text is another."""

    def change(turn: Dict[str, Any]) -> None:
        for files in places_of(turn):
            for path, content in files.items():
                if re.search(pattern, path) and "b64" in content:
                    text = base64.b64decode(content["b64"]).decode("utf-8")
                    files[path] = {"b64": base64.b64encode(re.sub(old, new, text).encode()).decode("ascii")}

    return each_turn(change)


def asked(change: Callable[[Dict[str, Any]], None]) -> Fault:
    """The request is understood as another."""

    def fault(ask: Ask, params: Params) -> Answer:
        other = copy.deepcopy(dict(params))
        change(other)
        return ask(other)

    return fault


def variable(name: str, value: str = "") -> Fault:
    """A variable of the environment has another value, or none."""

    def change(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            if name in part.get("env", {}):
                del part["env"][name]
                if value:
                    part["env"][name] = value

    return asked(change)


def other_value(name: str, change: Callable[[Any], Any]) -> Fault:
    """An option that is given has another value; None takes it out."""

    def edit(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            if name in part.get("values", {}):
                value = change(part["values"].pop(name))
                if value is not None:
                    part["values"][name] = value

    return asked(edit)


def given(name: str, value: Any) -> Fault:
    """An option has this value unless another is given."""
    return asked(lambda params: params["values"].setdefault(name, value))


def other_text(old: str, new: str) -> Fault:
    """Texts of option files say something else."""

    def edit(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            for path, content in part.get("files", {}).items():
                if isinstance(content, str):
                    part["files"][path] = re.sub(old, new, content)

    return asked(edit)


def when(holds: Callable[[Params], bool], fault: Fault) -> Fault:
    """The fault, for some requests."""
    return lambda ask, params: fault(ask, params) if holds(params) else ask(params)


def at_level(*levels: int) -> Callable[[Params], bool]:
    return lambda params: params["values"].get("op_debug_level") in levels


def both(*faults: Fault) -> Fault:
    def fault(ask: Ask, params: Params) -> Answer:
        for one in faults:
            ask = functools.partial(one, ask)
        return ask(params)

    return fault
