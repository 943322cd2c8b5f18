"""Reads the text form of messages as programs write it, several times as fast as the parser of protocol buffers.

What people may write besides (lists, single quotes, separators, unknown fields) or write wrong is left to that parser,
which has the last word: whatever is read here means the same there.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

__all__ = ["fill"]

# A string, a comment, a name, a number, or a sign; between them is white space.
_TOKENS = re.compile(r""""[^"\\\n]*(?:\\.[^"\\\n]*)*"|\#[^\n]*|[A-Za-z_][0-9A-Za-z_+-]*|[0-9+-][0-9A-Za-z_.+-]*|\S""")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_REAL = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?\Z")
_MOST = 4 << 20  # characters: the words of more would take too much memory (assumed)
_BOOLEANS = {"true": True, "false": False}


class _Field(NamedTuple):
    """What is to be done with a field.

    value: makes its value of a token, of a map that of an entry; None where that is a message, whose fields ``table``
    gives. once: what may be there only once, the field or the choice that it belongs to; empty where it is repeated.
    entry: whether it is a map from texts.
    """

    name: str
    repeated: bool
    value: Optional[Callable[[str], Any]]
    once: str
    table: Any
    entry: bool


class _Other(Exception):
    """The text has something that is left to the other parser."""


#: Fields by name, of every type of message met; ``None`` stands for a field that is left to the other parser.
_Table = Dict[str, Optional[_Field]]
_tables: Dict[Any, _Table] = {}


def fill(text: str, message: Any) -> bool:
    """Fills an empty message; False, with some of it filled, where the text is left to the other parser."""
    if len(text) > _MOST:
        return False
    try:
        _fill(_TOKENS.findall(text), message)
    except (_Other, ValueError, TypeError, IndexError, KeyError):
        return False
    return True


def _fill(tokens: List[str], message: Any) -> None:
    if "#" in {token[0] for token in tokens}:
        tokens = [token for token in tokens if token[0] != "#"]
    table = _table_of(message.DESCRIPTOR)
    seen: Set[str] = set()
    outer: List[Tuple[Any, _Table, Set[str], bool]] = []
    at, end = 0, len(tokens)
    while at < end:
        token = tokens[at]
        at += 1
        if token == "}":
            if not outer:
                raise _Other
            message, table, seen, in_entry = outer.pop()
            if in_entry:
                at = _after(tokens, at, "}")
            continue
        field = table.get(token)
        if field is None:
            raise _Other
        if field.once:
            if field.once in seen:
                raise _Other
            seen.add(field.once)
        if field.value is not None and not field.entry:
            at = _after(tokens, at, ":")
            value = field.value(tokens[at])
            at += 1
            if field.repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
            continue
        if tokens[at] == ":":
            at += 1
        at = _after(tokens, at, "{")
        outer.append((message, table, seen, field.entry))
        if field.entry:
            key, at = _key(tokens, at)
            entries = getattr(message, field.name)
            if key in entries:
                raise _Other
            if field.value is not None:
                outer.pop()
                entries[key] = field.value(tokens[_after(tokens, at, ":")])
                at = _after(tokens, at + 2, "}")
                continue
            at = _after(tokens, at + 1 if tokens[at] == ":" else at, "{")
            message = entries[key]
        elif field.repeated:
            message = getattr(message, field.name).add()
        else:
            message = getattr(message, field.name)
            message.SetInParent()
        table, seen = field.table(), set()
    if outer:
        raise _Other


def _after(tokens: List[str], at: int, sign: str) -> int:
    if tokens[at] != sign:
        raise _Other
    return at + 1


def _key(tokens: List[str], at: int) -> Tuple[str, int]:
    """The key of an entry, and where the sign before its value is."""
    if tokens[at] != "key" or tokens[at + 1] != ":" or tokens[at + 3] != "value":
        raise _Other
    return _text(tokens[at + 2]), at + 4


def _table_of(descriptor: Any) -> _Table:
    found = _tables.get(descriptor)
    if found is None:
        found = _tables[descriptor] = {field.name: _field(field) for field in descriptor.fields}
    return found


def _field(field: Any) -> Optional[_Field]:
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    choice = field.containing_oneof
    once = "" if repeated else field.name if choice is None else f"{choice.name} of"
    if field.type != field.TYPE_MESSAGE:
        value = _values(field)
        return None if value is None else _Field(field.name, repeated, value, once, None, False)
    of = field.message_type
    if not (of.has_options and of.GetOptions().map_entry):
        return _Field(field.name, repeated, None, once, lambda: _table_of(of), False)
    key, held = of.fields_by_name["key"], of.fields_by_name["value"]
    if key.type != key.TYPE_STRING or held.type not in (held.TYPE_MESSAGE, held.TYPE_STRING):
        return None
    value = _text if held.type == held.TYPE_STRING else None
    return _Field(field.name, repeated, value, once, lambda: _table_of(held.message_type), True)


def _values(field: Any) -> Optional[Callable[[str], Any]]:
    """What makes the field's value of a token; None where it is of a type that no graph has."""
    if field.type == field.TYPE_STRING:
        return _text
    if field.type == field.TYPE_BYTES:
        return _bytes
    if field.type == field.TYPE_BOOL:
        return _BOOLEANS.__getitem__
    if field.type == field.TYPE_ENUM:
        numbers = {value.name: value.number for value in field.enum_type.values}
        return numbers.__getitem__
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return _real
    whole = (field.CPPTYPE_INT32, field.CPPTYPE_INT64, field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
    return _integer if field.cpp_type in whole else None


def _bytes(token: str) -> bytes:
    if token[0] != '"' or len(token) < 2:
        raise _Other
    if "\\" not in token:
        return token[1:-1].encode("utf-8")
    from google.protobuf import text_encoding

    content: bytes = text_encoding.CUnescape(token[1:-1])
    return content


def _text(token: str) -> str:
    if "\\" not in token and token[0] == '"' and len(token) > 1:
        return token[1:-1]
    return _bytes(token).decode("utf-8")


def _integer(token: str) -> int:
    if not _INTEGER.match(token):
        raise _Other
    return int(token)


def _real(token: str) -> float:
    if not _REAL.match(token):
        raise _Other
    return float(token)
