"""How JSON inside options is read: strictly, with positions, repeated keys kept, and comments where documented."""

from __future__ import annotations

import json
import re
from typing import Any, List, Match, NamedTuple, NoReturn, Tuple

from npu_reference.options.grammars.scanner import GrammarError, fail

__all__ = ["Pairs", "again", "key_error", "parse_json"]

# Patterns are texts, since few runs read JSON in options, and to compile these takes as long as to read the table.
_COMMENT_OR_STRING = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*'
_INTEGER_DIGITS = 18
#: Half a surrogate pair behind an even number of backslashes: no character, and no file can hold it.
_HALF_PAIR = r"(?<!\\)(?:\\\\)*(\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2}))"
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"


class Pairs(NamedTuple):
    """A JSON object as its pairs in order, so that a repeated key can be seen."""

    pairs: Tuple[Tuple[str, Any], ...]


def parse_json(text: str, *, comments: bool = False) -> Any:
    """The value of a JSON text; objects become :class:`Pairs`.

    Args:
        text: the whole text.
        comments: whether ``//`` comments may stand in it, as in the documents' lists (B21).

    Raises:
        GrammarError: with the position of what is no JSON.
    """
    if "\\u" in text:
        half = re.search(_HALF_PAIR, re.sub(_PAIR, lambda pair: " " * len(pair.group()), text))
        if half is not None:
            fail("it holds half of a surrogate pair.", text, half.start(1), "Write whole characters.")
    bare = re.sub(_COMMENT_OR_STRING, _blank_comment, text) if comments else text
    try:
        return json.loads(
            bare, object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_no_constant
        )
    except json.JSONDecodeError as problem:
        remedy = "Write one JSON value."
        if not comments and text.startswith("/", problem.pos):
            remedy = "JSON has no comments here."
        reason = problem.msg[0].lower() + problem.msg[1:]
        fail(f"this is no JSON: {reason}.", text, problem.pos, remedy)
    except _Refused as problem:
        fail(f"this is no JSON: {problem}.", text, max(text.find(problem.piece), 0), "Write one JSON value.")
    except RecursionError:
        fail("it is nested too deeply.", text, 0, "Write a flat JSON value.")


class _Refused(ValueError):
    def __init__(self, piece: str, why: str) -> None:
        super().__init__(why)
        self.piece = piece


def _blank_comment(match: Match[str]) -> str:
    # Blanks of the same length keep every position what it was.
    return " " * len(match.group()) if match.group().startswith("/") else match.group()


def _pairs(pairs: List[Tuple[str, Any]]) -> Pairs:
    return Pairs(tuple(pairs))


def _integer(digits: str) -> int:
    if len(digits) > _INTEGER_DIGITS:
        raise _Refused(digits, "a number is too large")
    return int(digits)


def _number(digits: str) -> float:
    return float(digits)


def _no_constant(name: str) -> NoReturn:
    raise _Refused(name, f"{name} is no number")


def key_error(reason: str, text: str, path: Tuple[str, ...], remedy: str = "") -> GrammarError:
    """A complaint about a value inside a JSON text, found by the keys that lead to it.

    The position is that of the last key's first mention after those of the keys before it.
    """
    place = ".".join(path)
    return GrammarError(f"{place}: {reason}" if place else reason, text, _mention(text, path), remedy)


def again(text: str, path: Tuple[str, ...]) -> str:
    """Where the last of these keys stands a second time, as errors tell places."""
    first = _mention(text, path)
    return GrammarError("", text, _mention(text, path[-1:], first + 1)).where


def _mention(text: str, path: Tuple[str, ...], position: int = 0) -> int:
    for key in path:
        found = text.find(json.dumps(key, ensure_ascii=False), position)
        position = found if found >= 0 else position
    return position
