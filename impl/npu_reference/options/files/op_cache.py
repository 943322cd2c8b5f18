"""How large an ``op_cache.ini`` lets the operator cache grow, and how much of it stays (files.op_cache_ini.*)."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.files.lines import Line, key_and_value, lines, refuse

__all__ = ["DEFAULT", "EXAMPLE", "CacheLimits", "is_ratio", "is_size", "parse", "write"]

EXAMPLE = "[op_compiler_cache]\nmax_op_cache_size=500\nremain_cache_size_ratio=80\n"
_SECTION = "[op_compiler_cache]"
_FORM = f"Write {_SECTION}, max_op_cache_size=<MB or -1> and remain_cache_size_ratio=<1 to 100>."
_INTEGER = re.compile(r"-?[0-9]{1,18}")


class CacheLimits(NamedTuple):
    """Size in MB (-1: nothing ages), and the percentage kept when the cache is full."""

    max_op_cache_size: int
    remain_cache_size_ratio: int


#: Document 003 § op_compiler_cache_mode; also what a generated file holds, so that it changes nothing (B8).
DEFAULT = CacheLimits(500, 50)


def is_size(text: str) -> bool:
    """Whether a text is a cache size: a positive number of MB, or -1 (C6)."""
    return bool(_INTEGER.fullmatch(text)) and (int(text) == -1 or int(text) > 0)


def is_ratio(text: str) -> bool:
    """Whether a text is a percentage from 1 to 100."""
    return bool(_INTEGER.fullmatch(text)) and 1 <= int(text) <= 100


def parse(text: str) -> CacheLimits:
    """The limits of a file, which counts only when both are valid (C2).

    Raises:
        GrammarError: no section header, a value missing or invalid, anything else in the file.
    """
    found: Dict[str, int] = {}
    in_section = False
    for line in lines(text):
        if line.text.startswith("["):
            if line.text != _SECTION or in_section:
                refuse(line, f"unexpected section {echo(line.text)}.", _FORM)
            in_section = True
            continue
        if not in_section:
            refuse(line, f"there is no {_SECTION} before this line.", _FORM)
        key, value = _entry(line)
        if key in found:
            refuse(line, f"{key} is given twice.", _FORM)
        found[key] = value
    for key in CacheLimits._fields:
        if key not in found:
            refuse(Line("", len(text), text), f"there is no {key}.", _FORM)
    return CacheLimits(**found)


def _entry(line: Line) -> Tuple[str, int]:
    key, value = key_and_value(line, _FORM)
    if key not in CacheLimits._fields:
        refuse(line, f"there is no key {echo(key)}.", _FORM)
    valid = is_size if key == "max_op_cache_size" else is_ratio
    if not valid(value):
        refuse(line, f"{echo(value)} is no value of {key}.", _FORM, line.text.rindex(value))
    return key, int(value)


def write(limits: CacheLimits) -> str:
    """The text that :func:`parse` reads as ``limits``."""
    return "\n".join([_SECTION, *(f"{key}={value}" for key, value in limits._asdict().items())]) + "\n"
