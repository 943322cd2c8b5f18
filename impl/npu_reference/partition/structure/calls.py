"""Which functions a node calls."""

from __future__ import annotations

from typing import Any, List

__all__ = ["called_functions"]


def called_functions(attrs: Any) -> List[str]:
    """Names of the functions in a node's attributes (AttrValue messages by name), sorted by attribute."""
    names = []
    for key in sorted(attrs):
        value = attrs[key]
        field = value.WhichOneof("value")
        if field == "func":
            names.append(value.func.name)
        elif field == "list":
            names.extend(function.name for function in value.list.func)
    return names
