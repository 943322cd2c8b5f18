"""Worker protocol 1: its messages, limits and validation, declared in ``schemas/protocol-1.json``."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional

from npu_conformance.protocol import schema

__all__ = [
    "VERSION",
    "MAX_LINE",
    "OUTCOMES",
    "ProtocolFault",
    "methods",
    "encode",
    "decode",
    "request_fault",
    "answer_fault",
    "ok_fault",
]

VERSION = 1

#: Bytes of one line, the newline included, in either direction.
MAX_LINE = 16 << 20

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
        line = json.dumps(message, sort_keys=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolFault(f"not expressible in JSON: {error}") from None
    if len(line) > MAX_LINE:
        raise ProtocolFault(f"the line has {len(line)} bytes, the limit is {MAX_LINE}")
    return line


def decode(line: bytes) -> Dict[str, Any]:
    """The object on one line.

    Raises:
        ProtocolFault: too long, not UTF-8, not JSON, nested too deep, or no object.
    """
    if len(line) > MAX_LINE:
        raise ProtocolFault(f"the line is longer than {MAX_LINE} bytes")
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ProtocolFault(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolFault("not a JSON object")
    return message


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def request_fault(message: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with a request, its parameters included; None when valid. Unknown methods are not a fault."""
    root = _declaration()
    found = schema.fault(message, root["$defs"]["request"], root, "request")
    if found or message["method"] not in root["methods"]:
        return found
    return schema.fault(message["params"], root["methods"][message["method"]]["params"], root, "params")


def answer_fault(message: Mapping[str, Any], method: str, identifier: Optional[int]) -> Optional[str]:
    """What is wrong with the answer to request ``identifier``; None when valid."""
    root = _declaration()
    found = schema.fault(message, root["$defs"]["answer"], root, "answer")
    if found:
        return found
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
    return schema.fault(ok, root["methods"][method]["ok"], root, "ok")
