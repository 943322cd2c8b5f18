"""Checks a JSON value against the part of JSON Schema that this project's own schemas use."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

import npu_reference
from npu_conformance.files import resources
from npu_reference import strict_json

__all__ = ["load", "fault", "header", "KEYWORDS"]

#: The keywords understood; a test keeps the schema files to these.
KEYWORDS = frozenset(
    ["type", "const", "enum", "anyOf", "required", "properties", "additionalProperties", "items", "minimum",
     "minLength", "maxLength", "maxItems", "$ref", "$schema", "$id", "$defs", "title", "description", "methods",
     "lines"]
)  # fmt: skip

_TYPES: Mapping[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

_loaded: Dict[str, Dict[str, Any]] = {}


def load(name: str) -> Dict[str, Any]:
    """The schema file ``schemas/<name>.json``."""
    if name not in _loaded:
        with open(os.path.join(resources.schemas(), f"{name}.json"), encoding="utf-8") as stream:
            _loaded[name] = strict_json.loads(stream.read())
    return _loaded[name]


#: Versions of what is no longer written in its first form.
_VERSIONS = {"results": 2}


#: They name their suite, and who judges a report again makes its files as the first did.
_OF_REPORTS = ("results", "statement")


def header(name: str, version: int = 0) -> Dict[str, Any]:
    """The ``schema`` member every JSON of this program carries; of the version now written, unless it is given."""
    found = {"name": f"npu-conformance/{name}", "version": version or _VERSIONS.get(name, 1)}
    return found if name in _OF_REPORTS else {**found, "made_by": f"npu-conformance {npu_reference.__version__}"}


def fault(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: str = "$") -> Optional[str]:
    """What is wrong with ``value``, as ``path: reason``; None when it is valid.

    Args:
        schema: the schema of this value, which nobody changes; a ``$ref`` is looked up in ``root``, or in the schema
            file it names.
    """
    found = _check_of(schema, root)(value)
    return found and f"{path}{found[0]}: {found[1]}"


#: What is wrong with a value, as where below it and why; None when it is valid.
_Fault = Optional[Tuple[str, str]]
_Check = Callable[[Any], _Fault]

#: The check of every schema met, which it keeps alive: no other object can have its id.
_checks: Dict[Tuple[int, int], Tuple[Mapping[str, Any], Mapping[str, Any], _Check]] = {}


def _check_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    key = (id(schema), id(root))
    if key not in _checks:
        _checks[key] = (schema, root, _compiled(schema, root))
    return _checks[key][2]


def _compiled(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    """The check that a schema means: its keywords are looked at once, not for every value."""
    if "$ref" in schema:
        return _reference(schema["$ref"], root)
    if "anyOf" in schema:
        return _alternatives([_compiled(option, root) for option in schema["anyOf"]])
    steps = [make(schema, root) for names, make in _KEYWORDS if any(name in schema for name in names)]
    if len(steps) == 1:
        return steps[0]

    def check(value: Any) -> _Fault:
        for step in steps:
            found = step(value)
            if found:
                return found
        return None

    return check


def _reference(name: str, root: Mapping[str, Any]) -> _Check:
    """Looked up when it is needed: schemas may be recursive."""
    target: List[_Check] = []

    def check(value: Any) -> _Fault:
        if not target:
            file, _, pointer = name.partition("#")
            there: Any = load(file[: -len(".json")]) if file else root
            found: Any = there
            for step in pointer.strip("/").split("/"):
                found = found[step]
            target.append(_check_of(found, there))
        return target[0](value)

    return check


def _alternatives(options: Sequence[_Check]) -> _Check:
    def check(value: Any) -> _Fault:
        found: _Fault = None
        for option in options:
            found = option(value)
            if found is None:
                return None
        return found

    return check


def _const(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    wanted = schema["const"]

    def check(value: Any) -> _Fault:
        if value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
            return "", f"{_shown(value)} is not {_shown(wanted)}"
        return None

    return check


def _enum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    allowed = schema["enum"]

    def check(value: Any) -> _Fault:
        if value not in allowed:
            return "", f"{_shown(value)} is none of {', '.join(_shown(one) for one in allowed)}"
        return None

    return check


def _type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    wanted = schema["type"]
    exact = _exact(wanted)

    def check(value: Any) -> _Fault:
        if type(value) in exact or _is(value, wanted):
            return None
        return "", f"{_shown(value)} is not of type {wanted}"

    return check


def _exact(wanted: Any) -> FrozenSet[type]:
    """The types that JSON's values have where they are of a type."""
    if isinstance(wanted, list):
        return frozenset().union(*(_exact(one) for one in wanted))
    return frozenset({"integer": (int,), "number": (int, float)}.get(wanted) or (_TYPES[wanted],))


def _minimum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    least = schema["minimum"]

    def check(value: Any) -> _Fault:
        return ("", f"{value} is below {least}") if _is(value, "number") and value < least else None

    return check


def _lengths(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    least, most, items = schema.get("minLength", 0), schema.get("maxLength"), schema.get("maxItems")

    def check(value: Any) -> _Fault:
        if isinstance(value, str):
            if len(value) < least:
                return "", "is empty"
            if most is not None and len(value) > most:
                return "", f"has more than {most} characters"
        elif items is not None and isinstance(value, list) and len(value) > items:
            return "", f"has more than {items} items"
        return None

    return check


def _object(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    required = schema.get("required", ())
    properties = {name: _compiled(one, root) for name, one in schema.get("properties", {}).items()}
    given = schema.get("additionalProperties", True)
    others = _compiled(given, root) if isinstance(given, dict) else None

    def check(value: Any) -> _Fault:
        if not isinstance(value, dict):
            return None
        for key in required:
            if key not in value:
                return "", f"has no {key!r}"
        for key, item in value.items():
            test = properties.get(key, others)
            found: _Fault = None
            if test is not None:
                found = test(item)
            elif given is False:
                found = "", "is not known"
            if found:
                return f".{key if len(key) <= 80 else key[:79] + '…'}{found[0]}", found[1]
        return None

    return check


def _items(schema: Mapping[str, Any], root: Mapping[str, Any]) -> _Check:
    test = _compiled(schema["items"], root)

    def check(value: Any) -> _Fault:
        if isinstance(value, list):
            for number, item in enumerate(value):
                found = test(item)
                if found:
                    return f"[{number}]{found[0]}", found[1]
        return None

    return check


#: Keywords, and what makes their check; in the order in which faults are told.
_KEYWORDS: Sequence[Tuple[Sequence[str], Callable[[Mapping[str, Any], Mapping[str, Any]], _Check]]] = (
    (("const",), _const),
    (("enum",), _enum),
    (("type",), _type),
    (("minimum",), _minimum),
    (("minLength", "maxLength", "maxItems"), _lengths),
    (("required", "properties", "additionalProperties"), _object),
    (("items",), _items),
)


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is(value, one) for one in wanted)
    if wanted == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if wanted == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES[wanted])


def _shown(value: Any) -> str:
    if isinstance(value, (list, dict)) and value:
        return "an array" if isinstance(value, list) else "an object"  # whatever lies in it
    text = json.dumps(value[:100] if isinstance(value, str) else value, ensure_ascii=True)
    return text if len(text) <= 80 else text[:77] + "..."
