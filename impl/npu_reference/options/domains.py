"""Which values an option may have: each domain checks one, describes itself, and gives its JSON Schema."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_reference.spelling import did_you_mean

__all__ = [
    "Anything", "Boolean", "Choice", "ConfigObject", "Domain", "Integer", "Path", "Problem", "Text", "echo", "shorten",
    "with_article",
]  # fmt: skip

#: Longest text value, in characters; an ``assumed`` bound that no real value comes near.
LONGEST_TEXT = 1 << 20


class Problem(NamedTuple):
    """Why a value cannot be: an error code of the catalogue, what is wrong, what would be right."""

    code: str
    reason: str
    remedy: str = ""


def echo(value: object, limit: int = 160) -> str:
    """A value as an error shows it: its repr, cut in the middle when long."""
    if isinstance(value, (str, bytes)):
        text = repr(value if len(value) <= 2 * limit else value[:limit])
        length = len(value)
        return text if len(text) <= limit else f"{text[:limit]}… ({length} characters)"
    if isinstance(value, int) and value.bit_length() > 512:
        return f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return with_article(type(value).__name__)


def with_article(word: str) -> str:
    """``an int``, ``a str``."""
    return f"{'an' if word[:1].lower() in 'aeio' else 'a'} {word}"


def shorten(text: str, limit: int = 1000) -> str:
    """A sentence cut in the middle where a value of megabytes got into it."""
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"


class Domain:
    """The values of one option. ``check`` is only asked about values of the right type."""

    #: What a person would write in a table of options.
    def describe(self) -> str:
        raise NotImplementedError

    def check(self, value: Any) -> Optional[Problem]:
        """The reason why ``value`` is outside, or None."""
        raise NotImplementedError

    def doubt(self, value: Any) -> str:
        """A clause about a value that is taken although the documents do not list it; empty for all others."""
        return ""

    def schema(self) -> Dict[str, Any]:
        """JSON Schema of the value."""
        raise NotImplementedError


class Boolean(Domain):
    """True or False."""

    def describe(self) -> str:
        return "True, False"

    def check(self, value: Any) -> Optional[Problem]:
        return None

    def schema(self) -> Dict[str, Any]:
        return {"type": "boolean"}


class Integer(Domain):
    """An integer between two bounds, both inclusive; ``special`` values are allowed besides."""

    def __init__(self, low: Optional[int] = None, high: Optional[int] = None, special: Tuple[int, ...] = ()) -> None:
        self.low = low
        self.high = high
        self.special = special

    def describe(self) -> str:
        if self.low is not None and self.high is not None and self.high - self.low < 6:
            return ", ".join(str(n) for n in range(self.low, self.high + 1))
        parts = [str(n) for n in self.special]
        if self.high is None:
            parts.append("an integer" if self.low is None else f"an integer from {self.low}")
        else:
            parts.append(f"an integer from {self.low} to {self.high}")
        return " or ".join(parts)

    def check(self, value: Any) -> Optional[Problem]:
        if value in self.special:
            return None
        if not -(1 << 63) <= value < 1 << 63:
            return Problem("OPTION_VALUE", f"{echo(value)} does not fit 64 bits.", f"Allowed: {self.describe()}.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return Problem("OPTION_VALUE", f"{echo(value)} is outside its range.", f"Allowed: {self.describe()}.")
        return None

    def schema(self) -> Dict[str, Any]:
        bounded: Dict[str, Any] = {"type": "integer"}
        if self.low is not None:
            bounded["minimum"] = self.low
        if self.high is not None:
            bounded["maximum"] = self.high
        return {"anyOf": [{"enum": list(self.special)}, bounded]} if self.special else bounded


class Choice(Domain):
    """One of some words, in exactly this spelling.

    ``also`` are words that no document lists and real adapters take, each with what it does.
    """

    def __init__(self, *words: str, also: Optional[Mapping[str, str]] = None) -> None:
        self.words = words
        self.also = dict(also or {})

    def describe(self) -> str:
        taken = f"; also taken, with a warning: {', '.join(self.also)}" if self.also else ""
        return ", ".join(self.words) + taken

    def check(self, value: Any) -> Optional[Problem]:
        if value in self.words or value in self.also:
            return None
        hint = did_you_mean(value, self.words, cutoff=0.6)
        remedy = f"{hint} Allowed: {self.describe()}.".lstrip()
        return Problem("OPTION_VALUE", f"{echo(value)} is not one of its values.", remedy)

    def doubt(self, value: Any) -> str:
        what = self.also.get(value)
        return f"{value} is not among the documented values ({', '.join(self.words)}); {what}" if what else ""

    def schema(self) -> Dict[str, Any]:
        return {"type": "string", "enum": [*self.words, *self.also]}


class Text(Domain):
    """A text with a grammar: ``parse`` returns the value's meaning or raises :class:`grammars.GrammarError`."""

    def __init__(
        self,
        summary: str,
        parse: Optional[Callable[[str], object]] = None,
        example: str = "",
        longest: int = LONGEST_TEXT,
    ) -> None:
        self.summary = summary
        self.longest = longest
        self.parse = parse
        self.example = example

    def describe(self) -> str:
        return self.summary

    def check(self, value: Any) -> Optional[Problem]:
        if len(value) > self.longest:
            reason = f"its text has {len(value)} characters."
            return Problem("OPTION_VALUE", reason, f"At most {self.longest} are read.")
        if "\0" in value:
            return Problem("OPTION_VALUE", "its text holds a NUL.", f"Allowed: {self.describe()}.")
        return None

    def schema(self) -> Dict[str, Any]:
        schema: Dict[str, Any] = {"type": "string", "description": self.summary}
        if self.example:
            schema["examples"] = [self.example]
        return schema


class Anything(Domain):
    """Whatever is given is not looked at."""

    def describe(self) -> str:
        return "not looked at"

    def check(self, value: Any) -> Optional[Problem]:
        return None

    def schema(self) -> Dict[str, Any]:
        return {}


class Path(Domain):
    """The path of a directory or file. ``charset`` is what a component may consist of; empty is anything but NUL.

    ``narrow`` is a charset of which a path beyond it is taken with a warning.
    """

    #: Longest path of the operating system.
    LONGEST = 4096

    def __init__(
        self, kind: str, charset: str = "", read: Optional[Callable[[str], object]] = None, narrow: str = ""
    ) -> None:
        self.kind = kind
        self.charset = charset
        self.read = read
        self.narrow = narrow

    def describe(self) -> str:
        return f"path of a {self.kind}" + (f", its components of {CHARSET_WORDS[self.charset]}" if self.charset else "")

    def check(self, value: Any) -> Optional[Problem]:
        if "\0" in value:
            return Problem("OPTION_VALUE", f"the path {echo(value)} holds a NUL.", f"Give the path of a {self.kind}.")
        if len(value) > self.LONGEST:
            remedy = f"At most {self.LONGEST} characters."
            return Problem("OPTION_VALUE", f"the path {echo(value)} is too long.", remedy)
        component = _odd_component(value, self.charset)
        if component is not None:
            return Problem(
                "OPTION_VALUE",
                f"the path {echo(value)} has a component {echo(component, 60)} with other characters.",
                f"Allowed: {CHARSET_WORDS[self.charset]}.",
            )
        return None

    def doubt(self, value: Any) -> str:
        component = _odd_component(value, self.narrow)
        if component is None:
            return ""
        return (
            f"NPURunConfig refuses a path with {echo(component, 60)}, which has other than {CHARSET_WORDS[self.narrow]}"
        )

    def schema(self) -> Dict[str, Any]:
        return {"type": "string", "description": self.describe(), "maxLength": self.LONGEST}


#: Characters of path components by edition (A3).
CHARSETS = {"legacy": "[a-zA-Z0-9_.\\-\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]*", "current": r"[a-zA-Z0-9_.\-]*"}
CHARSET_WORDS = {
    "legacy": "letters, digits, underscore, hyphen, period and Chinese characters",
    "current": "letters, digits, underscore, hyphen and period",
}


def _odd_component(path: str, charset: str) -> Optional[str]:
    """The first component of a path with characters outside a charset; the separator "/" is in none (B1)."""
    if not charset:
        return None
    allowed = re.compile(CHARSETS[charset])
    return next((component for component in path.split("/") if not allowed.fullmatch(component)), None)


class ConfigObject(Domain):
    """An object of one class.

    As JSON it is its keyword arguments, or ``{"class": name, "arguments": {…}}``. From Python it may also be the
    object itself: its class or a base of it has that name, a version behind it (``…V1``) aside. The arguments of a
    class of ours are looked at by :mod:`npu_reference.options.classes`; those of a ``foreign`` one are not.
    """

    def __init__(self, class_name: str, *, foreign: bool = False) -> None:
        self.class_name = class_name
        self.foreign = foreign

    def describe(self) -> str:
        return f"{with_article(self.class_name)} object"

    def arguments(self, value: Any) -> Dict[str, object]:
        """The keyword arguments of an object already found to be of this class."""
        if not isinstance(value, Mapping):
            known = {} if self.foreign else vars(value)
            return {name: part for name, part in known.items() if not name.startswith("_")}
        return dict(value["arguments"]) if set(value) == {"class", "arguments"} else dict(value)

    def check(self, value: Any) -> Optional[Problem]:
        if not self._has_class(value):
            return Problem("OPTION_TYPE", f"{self._shown(value)} is not {self.describe()}.", f"Give {self.describe()}.")
        return None

    def _has_class(self, value: Any) -> bool:
        if not isinstance(value, Mapping):
            names = [re.sub(r"V[0-9]$", "", kind.__name__) for kind in type(value).__mro__]
            return self.class_name in names and hasattr(value, "__dict__")
        if not all(isinstance(key, str) for key in value):
            return False
        if set(value) == {"class", "arguments"}:
            return value["class"] == self.class_name and isinstance(value["arguments"], Mapping)
        return True

    @staticmethod
    def _shown(value: Any) -> str:
        named = isinstance(value, Mapping) and "class" in value
        return f"an object of {echo(value['class'])}" if named else echo(value)

    def schema(self) -> Dict[str, Any]:
        return {"type": "object", "description": self.describe()}
