"""Whether a given value has the type of its option: field of the parameter map, or Python type."""

from __future__ import annotations

from collections import abc
from contextlib import suppress
from typing import Optional, Tuple

from npu_reference.options.declaration import Facet
from npu_reference.options.domains import Problem, echo, with_article

__all__ = ["FIELD_TYPES", "field_of", "of_earlier", "problem_with", "unwrapped"]

#: Field to the Python type of its values; ``o`` is a configuration object.
FIELD_TYPES = {"b": "bool", "i": "int", "f": "float", "s": "str", "o": "object"}


def unwrapped(raw: object) -> Tuple[object, object]:
    """The field a value names, or None, and the value; UTF-8 bytes become text."""
    field, value = None, raw
    if isinstance(raw, abc.Mapping) and set(raw) == {"field", "value"}:
        field, value = raw["field"], raw["value"]
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            value = value.decode("utf-8")
    return field, value


def field_of(value: object) -> str:
    """The field that holds values of this type. A bool is no int here (G12)."""
    for kind, field in ((bool, "b"), (int, "i"), (float, "f"), (str, "s")):
        if isinstance(value, kind):
            return field
    return "o"


def of_earlier(facet: Facet, field: object, value: object) -> Optional[str]:
    """The text that a value means in the type that an earlier adapter had for its option; None for all others (G27)."""
    if not facet.earlier or field not in (None, facet.earlier) or field_of(value) != facet.earlier:
        return None
    return str(value).lower()


def problem_with(surface: str, name: str, facet: Facet, field: object, value: object) -> Optional[Problem]:
    """Why a value has the wrong type or lies outside the option's domain; None when it is right."""
    if isinstance(value, bytes) or (isinstance(value, str) and not _encodable(value)):
        return Problem("OPTION_TYPE", "its text is not UTF-8.", f"Allowed: {facet.domain.describe()}.")
    actual = field_of(value)
    if field is not None and field != actual:
        return Problem("OPTION_TYPE", f"field {echo(field)} cannot hold {echo(value)}.", "Fields are b, i, f and s.")
    if actual != facet.field:
        return _wrong_type(surface, name, facet, actual, value)
    return facet.domain.check(value)


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _wrong_type(surface: str, name: str, facet: Facet, actual: str, value: object) -> Problem:
    wanted = FIELD_TYPES[facet.field]
    allowed = f"Allowed: {facet.domain.describe()}."
    if facet.field == "s" and actual == "i":
        allowed = f'Write it as text, such as "{echo(value)}". {allowed}'  # T27
    if surface == "session" and facet.field != "o":
        # G2: reading the field's empty value instead would flip behaviour without a word.
        allowed = f'Write parameter_map["{name}"].{facet.field}. {allowed}'
    given = with_article(FIELD_TYPES[actual])
    reason = f"{echo(value)} is {given}, but the option is {with_article(wanted)}."
    return Problem("OPTION_TYPE", reason, allowed)
