"""Worker protocol 1: its messages, limits and validation, declared in ``schemas/protocol-1.json``."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Dict, List, Mapping, Optional

from npu_conformance.protocol import schema
from npu_reference import strict_json
from npu_reference.printing import shorten

__all__ = [
    "VERSION", "MAX_LINE", "MAX_NESTING", "MAX_VALUES", "KEPT_BYTES", "HELLO_BYTES", "RUN_BYTES", "kept_bytes",
    "OUTCOMES", "ProtocolFault", "methods", "encode", "decode", "request_fault", "answer_fault", "ok_fault",
]  # fmt: skip

VERSION = 1

#: Bytes of one line, the newline included, in either direction.
MAX_LINE = 16 << 20

#: Objects and arrays within each other, the message itself included. Ours nest eight deep.
MAX_NESTING = 64

#: Bytes of an answer that a report can keep, and of ``hello``, which stands in every file of one (assumed: ten times
#: the largest answer of the reference). What is longer costs its case.
KEPT_BYTES = 4 << 20
HELLO_BYTES = 64 << 10
#: The same of ``run``, whose files and traces are large: that of a run whose threads are dumped has some 5 MiB.
RUN_BYTES = 16 << 20

#: Values of one message, names of members not counted: what a line of small ones takes in memory is bounded by this.
MAX_VALUES = 2_000_000

_SHOWN = 60  # characters of a line that is no answer
_LONGEST_FAULT = 400  # characters of a fault, which quotes what a backend says
_INTEGERS = (-(1 << 63), (1 << 64) - 1)  # what readers of JSON take: 64 bits, signed or not
_DIGITS = 20
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"?')  # without escapes; one that never ends is no JSON, and is looked at once
_FEW = 1 << 20  # bytes of a line too short for too many values
_LARGE = re.compile(rb"[0-9](?:[0-9]{18}|[eE]\+?[0-9]{3})")  # a large integer, a large number
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

#: The members of an answer of which exactly one stands beside ``id``.
OUTCOMES = ("ok", "unsupported", "rejected", "error")


class ProtocolFault(ValueError):
    """A line that is no message of the protocol; the text says why."""


def _declaration() -> Mapping[str, Any]:
    return schema.load("protocol-1")


def methods() -> Mapping[str, Any]:
    """Method -> schemas of its ``params`` and its ``ok``."""
    found: Mapping[str, Any] = _declaration()["methods"]
    return found


def encode(message: Mapping[str, Any]) -> bytes:
    """One line of ASCII JSON with its newline.

    Raises:
        ProtocolFault: the message is no JSON, or its line is longer than :data:`MAX_LINE`.
    """
    try:
        line = _ENCODER.encode(message).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolFault(f"not expressible in JSON: {error}") from None
    if len(line) > MAX_LINE:
        raise ProtocolFault(f"the line has {len(line)} bytes, the limit is {MAX_LINE}")
    if _doubtful(line):
        decode(line)  # what we say can be read by the same rules
    return line


def kept_bytes(method: str) -> int:
    """Bytes of an answer to this method that a report can keep."""
    return {"hello": HELLO_BYTES, "run": RUN_BYTES}.get(method, KEPT_BYTES)


def decode(line: bytes) -> Dict[str, Any]:
    """The object on one line.

    Raises:
        ProtocolFault: too long, not UTF-8, not JSON, no object, nested deeper than :data:`MAX_NESTING`, of more than
            :data:`MAX_VALUES`, with a key twice in one object, or with a number or text that other readers of JSON do
            not take.
    """
    if len(line) > MAX_LINE:
        raise ProtocolFault(f"the line is longer than {MAX_LINE} bytes")
    if len(line) > _FEW and _STRING.sub(b"", _ESCAPE.sub(b"", line)).count(b",") >= MAX_VALUES:
        raise ProtocolFault(f"the line has more than {MAX_VALUES} values")
    doubtful = _doubtful(line)
    try:
        message = (_CAREFUL if doubtful else _PLAIN).decode(line.decode("utf-8"))
    except RecursionError:
        raise ProtocolFault(f"not JSON of this protocol: nested deeper than {MAX_NESTING}") from None
    except strict_json.Repeated as error:
        raise ProtocolFault(f"not JSON of this protocol: {error}") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ProtocolFault(f"not JSON: {shorten(str(error), _LONGEST_FAULT)}{_begin(line)}") from None
    if not isinstance(message, dict):
        raise ProtocolFault("not a JSON object")
    fault = (_surrogate_fault(message) if doubtful else None) or _depth_fault(message)
    if fault:
        raise ProtocolFault(f"not JSON of this protocol: {fault}")
    return message


def _begin(line: bytes) -> str:
    """How a line that is no answer begins: a greeting, a trace and a progress bar are known by it."""
    line = line.rstrip(b"\r\n")
    try:
        shown = repr(line.decode("utf-8")[:_SHOWN])
    except UnicodeDecodeError:
        shown = repr(line[:_SHOWN])[1:]
    return f"; the line begins {shown}" if line else "; the line is empty"


def _doubtful(line: bytes) -> bool:
    """Whether a line may hold what others do not read: most do not, and need no look at each of their values."""
    return _LARGE.search(line) is not None or (b"\\u" in line and _HALF.search(line) is not None)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _integer(text: str) -> int:
    number = int(text) if len(text) <= _DIGITS else None
    if number is None or not _INTEGERS[0] <= number <= _INTEGERS[1]:
        raise ValueError(f"the integer {text[:_DIGITS]}{'…' if len(text) > _DIGITS else ''} has more than 64 bits")
    return number


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_DIGITS]} is beyond what 64 bits hold")
    return number


_ENCODER = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":"))
_PLAIN = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=strict_json.once)
_CAREFUL = json.JSONDecoder(
    parse_constant=_no_constant, parse_int=_integer, parse_float=_real, object_pairs_hook=strict_json.once
)


def _depth_fault(message: Dict[str, Any]) -> Optional[str]:
    """Whether objects and arrays stand deeper within each other than the protocol allows."""
    level: List[Any] = [message]
    for _ in range(MAX_NESTING):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return None
    return f"nested deeper than {MAX_NESTING}"


def _surrogate_fault(message: Dict[str, Any]) -> Optional[str]:
    """Which name or text holds half a character, which other readers of JSON would not take."""
    waiting: List[Any] = [message]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name in value:
                if not name.isascii() and _alone(name):
                    return f"the name {shorten(name, 40)} holds half a character"
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and not value.isascii() and _alone(value):
            return f"the text {shorten(value, 40)} holds half a character"
    return None


def _alone(text: str) -> bool:
    """Whether a text has a surrogate without its other half."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def request_fault(message: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with a request, its parameters included; None when valid. Unknown methods are not a fault."""
    root = _declaration()
    found = schema.fault(message, root["$defs"]["request"], root, "request")
    if not found and message["method"] in root["methods"]:
        found = schema.fault(message["params"], root["methods"][message["method"]]["params"], root, "params")
    return found and shorten(found, _LONGEST_FAULT)


def answer_fault(message: Mapping[str, Any], method: str, identifier: Optional[int]) -> Optional[str]:
    """What is wrong with the answer to request ``identifier``; None when valid."""
    root = _declaration()
    found = schema.fault(message, root["$defs"]["answer"], root, "answer")
    if found:
        return shorten(found, _LONGEST_FAULT)
    if message["id"] != identifier:
        return f"answer.id: {message['id']!r} is not the id of the request, {identifier!r}"
    given = [key for key in OUTCOMES if key in message]
    if len(given) != 1:
        return f"answer: has {' and '.join(given) or 'none'} of {', '.join(OUTCOMES)}; exactly one is required"
    if given == ["ok"]:
        return ok_fault(method, message["ok"])
    return None


def ok_fault(method: str, ok: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with the observation ``ok`` of a method; None when valid."""
    root = _declaration()
    if method not in root["methods"]:
        return None
    found = schema.fault(ok, root["methods"][method]["ok"], root, "ok")
    return found and shorten(found, _LONGEST_FAULT)
