"""What the options' values look like to a JSON Schema validator; made from the table."""

from __future__ import annotations

from typing import Any, Dict

from npu_reference.options.declaration import Facet
from npu_reference.options.table import OPTIONS

__all__ = ["schema"]

_DIALECT = "http://json-schema.org/draft-07/schema#"


def schema(surface: str = "session", edition: str = "current") -> Dict[str, Any]:
    """JSON Schema (draft 7) of the ``values`` of one surface in one edition.

    It knows types, domains and texts' examples; grammars and rules between options are for
    :func:`npu_reference.options.resolve`. Unknown names are allowed, since they only earn a warning (G1).
    """
    properties = {
        name: _property(option.meaning, option.unit, option.facets[surface, edition])
        for name, option in OPTIONS.items()
        if (surface, edition) in option.facets
    }
    return {
        "$schema": _DIALECT,
        "title": f"Options on the {surface} surface, {edition} edition",
        "type": "object",
        "properties": properties,
    }


#: Values of the type that an earlier adapter had (G27).
_EARLIER = {"b": {"type": "boolean"}, "i": {"type": "integer"}}


def _typed(field: str) -> Dict[str, Any]:
    return {"field": {"const": field}, "value": _EARLIER[field]}


def _property(meaning: str, unit: str, facet: Facet) -> Dict[str, Any]:
    value = facet.domain.schema()
    described: Dict[str, Any] = {"title": meaning}
    if unit:
        described["x-unit"] = unit
    if facet.default is not None:
        described["default"] = facet.default
    if facet.status == "deprecated":
        described["x-deprecated"] = True
    unset = {"type": "null"}
    if not value:
        return described  # any value at all: it is not looked at
    if facet.field == "o":
        return {**described, "anyOf": [value, unset]}
    field = {
        "type": "object",
        "properties": {"field": {"const": facet.field}, "value": value},
        "required": ["field", "value"],
        "additionalProperties": False,
    }
    alternatives = [value, field, unset]
    if facet.earlier:
        alternatives += [_EARLIER[facet.earlier], {**field, "properties": _typed(facet.earlier)}]
    if facet.field == "s":
        alternatives.append({"const": ""})
    return {**described, "anyOf": alternatives}
