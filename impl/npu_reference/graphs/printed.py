"""Reads the text form as protocol buffers' own printers write it, a field a line; of any other it says so at once.

The parser that comes with protocol buffers takes every text and an age: it is written in Python, and looks at each
token by itself. Nearly all graphs in text form were printed, so each of their lines is matched whole here. What is not
exactly so (several fields on a line, lists, octal numbers, unknown or repeated fields, anything wrong) is left to that
parser, which alone decides what it means and what to say about it.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from .limits import MAX_TEXT_DEPTH, MAX_TEXT_STRING

__all__ = ["read_printed"]

#: One line. Groups: a field's name; what opens a message, a string without escapes, another value, a string with
#: escapes (not too many: the match remembers each of them); the end of a message; a comment.
_LINE = re.compile(
    r"""[ \t]*
    (?:
        (\w+)(?: [ ](\{) | :[ ](?: "([^"\\\n]*)" | ([-+.\w]+) | "([^"\\\n]*(?:\\.[^"\\\n]*){1,1000})" ) )
      | (\})
      | (\#[^\n]*)
    )?
    [ \t]*(?:\r?\n|\Z)""",
    re.VERBOSE | re.ASCII,
)
_OPENS, _STRING, _WORD, _ESCAPED, _CLOSES = 2, 3, 4, 5, 6

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_REAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z")


class _Other(Exception):
    """The text is not of this form."""


class _Field(NamedTuple):
    """How a field is read.

    Attributes:
        repeated: whether it may stand more than once.
        alone: what may stand once: its own name, or that of the choice that it is one of.
        convert: takes the match of a line, and gives the value; None for messages.
        message: descriptor of the message that it holds, if any.
        key, value: of a map.
    """

    repeated: bool
    alone: str
    convert: Optional[Callable[[Any], Any]]
    message: Any = None
    key: Optional[_Field] = None
    value: Optional[_Field] = None


def read_printed(text: str, message: Any) -> Optional[Set[str]]:
    """Fills an empty message from its text form.

    Returns:
        The names of the fields at the top; None where the text is not as printers write it, or ``message`` has no such
        fields: what the message holds then means nothing.
    """
    try:
        return _read(text, message)
    except (_Other, ValueError, TypeError, OverflowError):
        return None


def _read(text: str, message: Any) -> Set[str]:
    match = _LINE.match
    fields = _fields(message.DESCRIPTOR)
    top: Set[str] = set()
    seen = top
    outer: List[Any] = []
    at, end = 0, len(text)
    while at < end:
        line = match(text, at)
        if line is None:
            raise _Other
        at = line.end()
        kind = line.lastindex
        if kind is None or kind > _CLOSES:  # nothing, or a comment
            continue
        if kind == _CLOSES:
            message, fields, seen = outer.pop() if outer else _other()
            continue
        name = line.group(1)
        field = fields.get(name) or _other()
        if not field.repeated:
            if field.alone in seen:
                raise _Other
            seen.add(field.alone)
        elif not outer:
            top.add(name)
        if kind == _OPENS:
            outer.append((message, fields, seen))
            if len(outer) >= MAX_TEXT_DEPTH:
                raise _Other
            if field.key is not None:
                message, fields, at = _entry(getattr(message, name), field, text, at, outer)
            elif field.message is None:
                raise _Other
            else:
                message = getattr(message, name)
                if field.repeated:
                    message = message.add()
                else:
                    message.SetInParent()
                fields = _fields(field.message)
            seen = set()
        elif field.repeated:
            getattr(message, name).append(_value(field, line))
        else:
            setattr(message, name, _value(field, line))
    if outer:
        raise _Other
    return top


def _entry(entries: Any, field: _Field, text: str, at: int, outer: List[Any]) -> Tuple[Any, Dict[str, _Field], int]:
    """The message, fields and place at which reading goes on in an entry of a map, which begins with its key."""
    line = _LINE.match(text, at)
    if line is None or line.group(1) != "key" or field.key is None or field.value is None:
        raise _Other
    key = _value(field.key, line)
    if key in entries:
        raise _Other
    line = _LINE.match(text, line.end())
    if line is None or line.group(1) != "value":
        raise _Other
    if line.lastindex != _OPENS:
        entries[key] = _value(field.value, line)
        return None, {}, line.end()
    if field.value.message is None:
        raise _Other
    outer.append((None, {}, set()))  # behind the value nothing stands but the entry's end
    return entries[key], _fields(field.value.message), line.end()


def _value(field: _Field, line: Any) -> Any:
    if field.convert is None or line.end() - line.start() > MAX_TEXT_STRING:
        raise _Other
    value = field.convert(line)
    if value is None:
        raise _Other
    return value


def _other() -> Any:
    raise _Other


@functools.lru_cache(maxsize=None)
def _fields(descriptor: Any) -> Dict[str, _Field]:
    """The fields of a message by name; those that are left out are read elsewhere."""
    found = {field.name: _field(field) for field in descriptor.fields}
    return {name: field for name, field in found.items() if field is not None}


def _field(field: Any) -> Optional[_Field]:
    alone = "of " + field.containing_oneof.name if field.containing_oneof is not None else field.name
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    if field.type == field.TYPE_MESSAGE:
        inside = field.message_type
        if not (inside.has_options and inside.GetOptions().map_entry):
            return _Field(repeated, alone, None, inside)
        key, value = (_field(inside.fields_by_name[name]) for name in ("key", "value"))
        return None if key is None or value is None else _Field(repeated, alone, None, None, key, value)
    convert = _converter(field)
    return None if convert is None else _Field(repeated, alone, convert)


def _converter(field: Any) -> Optional[Callable[[Any], Any]]:
    """What gives the value on a line, and None for one that is not of this form."""
    if field.type == field.TYPE_STRING:
        return _text
    if field.type == field.TYPE_BYTES:
        return _bytes
    if field.type == field.TYPE_BOOL:
        words: Dict[str, Any] = {"true": True, "false": False}
        return lambda line: words.get(line.group(_WORD))
    if field.type == field.TYPE_ENUM:
        numbers = {value.name: value.number for value in field.enum_type.values}
        return lambda line: numbers.get(line.group(_WORD))
    if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT):  # protobuf 4.24 has no names of C++ types here
        return lambda line: float(line.group(_WORD)) if _REAL.match(line.group(_WORD) or "") else None
    if field.type == field.TYPE_GROUP:
        return None
    return lambda line: int(line.group(_WORD)) if _INTEGER.match(line.group(_WORD) or "") else None


def _bytes(line: Any) -> Optional[bytes]:
    if line.lastindex == _STRING:
        plain: str = line.group(_STRING)
        return plain.encode("utf-8")
    if line.lastindex != _ESCAPED:
        return None
    from google.protobuf import text_encoding

    unescaped: bytes = text_encoding.CUnescape(line.group(_ESCAPED))
    return unescaped


def _text(line: Any) -> Optional[str]:
    if line.lastindex == _STRING:
        plain: str = line.group(_STRING)
        return plain
    escaped = _bytes(line)
    return None if escaped is None else escaped.decode("utf-8")
