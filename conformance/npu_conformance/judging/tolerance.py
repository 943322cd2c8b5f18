"""When accepting what should be refused is a matter of reading: the input, spelled otherwise, is a documented value.

The documents list values and show forms; of the text `1` for the number 1, blanks around a word, or a separator too
many they say nothing. Whoever reads such a value as the documented one keeps them, and no `must` fails on it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Iterator, Mapping, Tuple

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging.differences import matches
from npu_conformance.library.case import Case
from npu_conformance.observing import values
from npu_reference.errors import NpuError

__all__ = ["is_left_out", "is_spelling"]

_BLANKS = re.compile(r"\s*([,;:=|])\s*")
_EMPTY_PARTS = re.compile(r"(?<=[=:;,|\[{(])[,;|]+|[,;|]+(?=[:;,|\]})])")
_SIGN_OR_ZEROS = re.compile(r"(?<![\w.+-])\+?0*(?=[0-9])")
_ROUND = str.maketrans("()", "[]")
_AT_THE_END = re.compile(r",(?=\s*[\]}])|(?<=[\[{]),")
_BLANK_WORDS = re.compile(r'"\s*([^"]*?)\s*"')
_NUMERALS = re.compile(r"(?<=\d)_(?=\d)|(?<=\d)\.0+(?![\d.])")
_SINGLE_ENDS = re.compile(r"\[\s*('[^']*')\s*,\s*('[^']*')\s*\]")
#: In a file: one of a list without its brackets, and what names nothing that a document has.
_ALONE = re.compile(r'("(?:to-add|to-remove|tune_ops_name|tune_ops_type|feature)"\s*:\s*)("[^"]*")')
_SWITCHED = re.compile(r"(:\s*)(?:(true)|false)\b")
_NAMELESS = re.compile(r"(?ms)^\s*=.*?$|^\[(?!ByOpType\]|ByNodeName\])[^\]\n]*\].*?(?=^\[|\Z)")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NO_WORD = "no-word-of-any-option"
_TRUTH = {"true": True, "false": False}


def is_spelling(case: Case, edition: str, ok: Mapping[str, Any]) -> bool:
    """Whether an answer accepts an input that would be refused, but is a documented one in another spelling.

    Args:
        case: one of method `options` that expects a refusal.
        ok: the answer; the value in force has to be the given one or the documented one.
    """
    given, effective = case.params["values"], ok.get("effective", {})
    subject = case.expect.rejected[1] if case.expect.rejected is not None else ""
    for name in [option for option in given if option in subject] or list(given):
        plain = values.unwrapped(given[name])
        told = _told(effective, name)
        # Where any text is a value of the option, a number is none of its words.
        any_text = not isinstance(plain, str) and _is_documented(_with(case, name, _NO_WORD), edition)
        if plain in values.NOTHING and _is_left_empty(case, name, told, edition, *values.NOTHING):
            return True
        for read in _readings_of(plain):
            if type(read) is type(plain) and read == given[name]:
                continue  # it is what was given, in its own field
            if any_text and isinstance(read, str):
                continue
            if told is not None and not any(values.same(name, one, told) for one in (plain, read)):
                continue
            if _is_documented(_with(case, name, read), edition):
                return True
    files = case.params.get("files", {})
    in_force = [name for name, value in given.items() if _told(effective, name) in (None, values.unwrapped(value))]
    return any(
        _is_documented({**case.params, "files": {**files, name: tidy}}, edition)
        for name, text in files.items()
        if isinstance(text, str) and any(values.unwrapped(given[option]) == name for option in in_force)
        for tidy in {_tidy(text), _AT_THE_END.sub("", text), _BLANK_WORDS.sub(r'"\1"', text), text.lower(),
                     _ALONE.sub(r"\1[\2]", text), _NAMELESS.sub("", text),
                     _SWITCHED.sub(lambda told: told[1] + ('"on"' if told[2] else '"off"'), text)} - {text}
    )


def is_left_out(case: Case, edition: str, ok: Mapping[str, Any]) -> bool:
    """Whether the option that is at fault is told as if it was not given: no document has a word of a warning.

    Of a backend that cannot tell effective values nobody knows.
    """
    if "effective" in ok.get("unseen", ()):
        return False
    subject = case.expect.rejected[1] if case.expect.rejected is not None else ""
    given, effective = case.params["values"], ok.get("effective", {})
    return any(
        matches(subject, name) and not values.same(name, value, told) and _is_left_empty(case, name, told, edition)
        for name, value, told in ((one, values.unwrapped(given[one]), _told(effective, one)) for one in given)
    )


def _is_left_empty(case: Case, name: str, told: Any, edition: str, *others: Any) -> bool:
    """Whether an option is told as if not given, or as one of others, and without it the question is documented."""
    values_beside = {option: value for option, value in case.params["values"].items() if option != name}
    try:
        answer = ReferenceBackend().options({**case.params, "values": values_beside, "edition": edition})
    except NpuError:
        return False
    default = answer["effective"].get(name, {}).get("value")
    return told is None or told in others or values.same(name, default, told)


def _told(effective: Mapping[str, Any], name: str) -> Any:
    return effective.get(name, {}).get("value")


def _with(case: Case, name: str, value: Any) -> Mapping[str, Any]:
    """The question with another value of an option."""
    return {**case.params, "values": {**case.params["values"], name: value}}


def _is_documented(params: Mapping[str, Any], edition: str) -> bool:
    """Whether the reference takes options, which it refuses when the documents do not have them."""
    try:
        ReferenceBackend().options({**params, "edition": edition})
    except NpuError:
        return False
    return True


def _readings_of(value: Any) -> Iterator[Any]:
    """What a value can be read as, other than itself: of another type, or without what means nothing."""
    if isinstance(value, bool):
        yield from (int(value), str(value), str(int(value)))
    elif isinstance(value, (int, float)):
        yield from (int(value), bool(value)) if value in (0, 1) else (int(value),) if value == int(value) else ()
        yield str(value)
    elif isinstance(value, str):
        yield value  # from another field
        text = _tidy(value)
        yield from _of_text(text)


def _of_text(text: str) -> Tuple[Any, ...]:
    if text.lower() in _TRUTH:
        return text, text.lower(), _TRUTH[text.lower()]
    plain = _SIGN_OR_ZEROS.sub("", text)
    ends = _AT_THE_END.sub("", text.translate(_ROUND)), _SINGLE_ENDS.sub(r"[[\1], [\2]]", text)
    others = (plain, text.lower(), *ends, _NUMERALS.sub("", text))
    return (text, *others, int(plain), bool(int(plain))) if _INTEGER.fullmatch(plain) else (text, *others)


def _tidy(text: str) -> str:
    """A text without blanks around words, empty parts of lists, and forms of digits and letters of other scripts."""
    plain = unicodedata.normalize("NFKC", text)
    lines = (_EMPTY_PARTS.sub("", _BLANKS.sub(r"\1", line.strip())).strip(",;:|") for line in plain.splitlines())
    return "\n".join(lines)
