"""Decides which instances a run is about: by area, edition, and an expression over ids."""

from __future__ import annotations

import re
from typing import Callable, Iterable, List, Optional, Sequence

from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_reference.errors import NpuError

__all__ = ["select", "expression"]

_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
_MAX_TOKENS = 1000  # bounds the recursion below

_Predicate = Callable[[Instance], bool]


def select(
    library: Library,
    *,
    areas: Sequence[str] = (),
    editions: Sequence[str] = (),
    keyword: str = "",
    more: Sequence[Instance] = (),
    only: Optional[Iterable[str]] = None,
) -> List[Instance]:
    """Instances in the library's order, then those of `more` (laws) that fit as well.

    Args:
        only: ids to which all the rest is narrowed down; None for no such list.
    Raises:
        NpuError: USAGE for an area that does not exist or a malformed expression.
    """
    known = sorted({case.area for case in library.cases.values()})
    for area in areas:
        if area not in known:
            raise NpuError("USAGE", f"--area {area}", "there is no such area", f"Areas are {', '.join(known)}.")
    wanted = expression(keyword) if keyword.strip() else None
    named = None if only is None else frozenset(only)
    return [
        instance
        for instance in [*library.instances(), *more]
        if (not areas or instance.case.area in areas)
        and (not editions or instance.edition in editions)
        and (wanted is None or wanted(instance))
        and (named is None or instance.id in named)
    ]


def expression(text: str) -> _Predicate:
    """The predicate of ``-k``: parts of instance or requirement ids, joined by and, or, not and parentheses.

    Raises:
        NpuError: USAGE.
    """
    tokens = _TOKEN.findall(text)
    if not tokens or len(tokens) > _MAX_TOKENS:
        raise NpuError("USAGE", f"-k {text[:80]!r}", "is empty or too long")
    predicate, rest = _or(tokens, text)
    if rest:
        raise NpuError("USAGE", f"-k {text!r}", f"cannot be read from {rest[0]!r} on")
    return predicate


def _or(tokens: List[str], text: str) -> tuple[_Predicate, List[str]]:
    left, tokens = _and(tokens, text)
    while tokens and tokens[0] == "or":
        right, tokens = _and(tokens[1:], text)
        left = _either(left, right)
    return left, tokens


def _and(tokens: List[str], text: str) -> tuple[_Predicate, List[str]]:
    left, tokens = _not(tokens, text)
    while tokens and tokens[0] == "and":
        right, tokens = _not(tokens[1:], text)
        left = _both(left, right)
    return left, tokens


def _not(tokens: List[str], text: str) -> tuple[_Predicate, List[str]]:
    head: Optional[str] = tokens[0] if tokens else None
    if head == "not":
        inner, rest = _not(tokens[1:], text)
        return (lambda instance: not inner(instance)), rest
    if head == "(":
        inner, rest = _or(tokens[1:], text)
        if not rest or rest[0] != ")":
            raise NpuError("USAGE", f"-k {text!r}", "has an unclosed parenthesis")
        return inner, rest[1:]
    if head is None or head in (")", "and", "or"):
        raise NpuError("USAGE", f"-k {text!r}", f"expects a part of an id before {head or 'its end'!r}")
    part = head
    return (lambda instance: _mentions(instance, part)), tokens[1:]


def _either(left: _Predicate, right: _Predicate) -> _Predicate:
    return lambda instance: left(instance) or right(instance)


def _both(left: _Predicate, right: _Predicate) -> _Predicate:
    return lambda instance: left(instance) and right(instance)


def _mentions(instance: Instance, part: str) -> bool:
    return part in instance.id or any(part in name for name in instance.case.requirements)
