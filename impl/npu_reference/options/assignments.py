"""How the command line writes options: ``name=value``, or ``name.field=value`` where the field matters."""

from __future__ import annotations

import re
from typing import Dict, Iterable, Optional

from npu_reference.errors import NpuError
from npu_reference.options.domains import echo
from npu_reference.options.table import OPTIONS
from npu_reference.spelling import nearest

__all__ = ["parse_assignments"]

_WORDS = {"true": True, "True": True, "false": False, "False": False}
_INTEGER = r"[+-]?[0-9]{1,30}"
_FLOAT = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def parse_assignments(assignments: Iterable[str]) -> Dict[str, object]:
    """Values for :func:`resolve` from ``["k=v", ...]``.

    Text becomes a bool, an int or an object where the option is one and the text can be read so; otherwise it stays
    text, and resolving it says what is wrong. ``k.s=1`` writes the text ``1`` to field ``.s`` whatever the option is.
    A later assignment to the same option wins (G3).

    Raises:
        NpuError: USAGE, for an assignment without a name or ``=``, or an object with a key twice.
    """
    values: Dict[str, object] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            near = nearest(key, OPTIONS)
            more = f"; npu-conformance explain {near} says what it is" if near else ""
            raise NpuError("USAGE", echo(assignment), "this is no assignment.", f"Write {near or 'name'}=value{more}.")
        name, dot, field = key.rpartition(".")
        if dot and field in ("b", "i", "f", "s"):
            values[name] = {"field": field, "value": _read(text, field)}
        else:
            values[key] = _read(text, _field(key))
    return values


def _field(name: str) -> Optional[str]:
    option = OPTIONS.get(name)
    return next(iter(option.facets.values())).field if option is not None else None


def _read(text: str, field: Optional[str]) -> object:
    if field == "b" and text in _WORDS:
        return _WORDS[text]
    if field == "i" and re.fullmatch(_INTEGER, text):
        return int(text)
    if field == "f" and re.fullmatch(_FLOAT, text) and len(text) < 100:
        return float(text)
    if field == "o" and text.lstrip().startswith("{"):
        return _object(text)
    return text


def _object(text: str) -> object:
    from npu_reference import strict_json

    try:
        return strict_json.loads(text)
    except strict_json.Repeated as error:
        raise NpuError("USAGE", echo(text), f"{error}.", "Write it once.") from None
    except (ValueError, RecursionError):
        return text
