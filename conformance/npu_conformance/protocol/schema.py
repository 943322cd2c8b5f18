"""Checks a JSON value against the part of JSON Schema that this project's own schemas use."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional

from npu_conformance.files import resources

__all__ = ["load", "fault", "header", "KEYWORDS"]

#: The keywords understood; a test keeps the schema files to these.
KEYWORDS = frozenset(
    ["type", "const", "enum", "anyOf", "required", "properties", "additionalProperties", "items", "minimum",
     "minLength", "maxLength", "maxItems", "$ref", "$schema", "$id", "$defs", "title", "description", "methods",
     "lines"]
)  # fmt: skip

_TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}

_loaded: Dict[str, Dict[str, Any]] = {}


def load(name: str) -> Dict[str, Any]:
    """The schema file ``schemas/<name>.json``."""
    if name not in _loaded:
        with open(os.path.join(resources.schemas(), f"{name}.json"), encoding="utf-8") as stream:
            _loaded[name] = json.load(stream)
    return _loaded[name]


def header(name: str, version: int = 1) -> Dict[str, Any]:
    """The ``schema`` member every JSON of this program carries."""
    return {"name": f"npu-conformance/{name}", "version": version}


def fault(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: str = "$") -> Optional[str]:
    """What is wrong with ``value``, as ``path: reason``; None when it is valid.

    Args:
        schema: the schema of this value; a ``$ref`` is looked up in ``root``, or in the schema file it names.
    """
    if "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")
        root = load(file[: -len(".json")]) if file else root
        target: Any = root
        for step in pointer.strip("/").split("/"):
            target = target[step]
        return fault(value, target, root, path)
    if "anyOf" in schema:
        faults = [fault(value, option, root, path) for option in schema["anyOf"]]
        return None if None in faults else faults[-1]
    if "const" in schema and (value != schema["const"] or isinstance(value, bool) != isinstance(schema["const"], bool)):
        return f"{path}: {_shown(value)} is not {_shown(schema['const'])}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path}: {_shown(value)} is none of {', '.join(_shown(one) for one in schema['enum'])}"
    if "type" in schema and not _is(value, schema["type"]):
        return f"{path}: {_shown(value)} is not of type {schema['type']}"
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        return f"{path}: {value} is below {schema['minimum']}"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        return f"{path}: is empty"
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        return f"{path}: has more than {schema['maxLength']} characters"
    if isinstance(value, list) and len(value) > schema.get("maxItems", len(value)):
        return f"{path}: has more than {schema['maxItems']} items"
    if isinstance(value, dict):
        return _object_fault(value, schema, root, path)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found = fault(item, schema["items"], root, f"{path}[{number}]")
            if found:
                return found
    return None


def _object_fault(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], path: str
) -> Optional[str]:
    for key in schema.get("required", []):
        if key not in value:
            return f"{path}: has no {key!r}"
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for key, item in value.items():
        here = f"{path}.{key if len(key) <= 80 else key[:79] + '…'}"
        if key in properties:
            found = fault(item, properties[key], root, here)
        elif others is False:
            found = f"{here}: is not known"
        elif isinstance(others, dict):
            found = fault(item, others, root, here)
        else:
            found = None
        if found:
            return found
    return None


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
