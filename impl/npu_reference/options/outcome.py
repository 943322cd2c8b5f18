"""What a resolution is made of: effective values with their origins, warnings and remarks."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ORIGINS", "WARNING_CODES", "Effective", "Remark", "Warning_"]

#: Where an effective value comes from, in the words of every answer.
ORIGINS = {
    "given": "the caller gave it",
    "default": "the documents' default",
    "environment": "a variable of the given environment",
    "file": "a file that an option names",
    "forced": "a rule set it, whatever was given",
}

#: Every code a warning may carry, with its meaning.
WARNING_CODES = {
    "unknown": "no option has this name; it is ignored (G1)",
    "reserved": "the documents do not list it for this surface (G16)",
    "not_on_surface": "the option does not exist on this surface; it is ignored",
    "not_in_edition": "the option does not exist in this edition; it is ignored",
    "unsupported": "listed but not supported in this edition; it is ignored (G7)",
    "removed": "the option no longer exists in this edition; it is ignored",
    "deprecated": "takes effect, but later versions will remove it (G8)",
    "experimental": "takes effect; not for commercial products",
    "no_effect": "accepted, but without effect in this edition or beside the other options",
    "part_ignored": "a part of the value is ignored, the rest takes effect",
    "undocumented": "no document lists this value, or writes it so; it takes effect, as in real adapters",
    "not_checked": "it names a path, and paths are not looked at here",
    "adjusted": "the value was brought to the nearest one that works",
    "overridden": "another option, or the environment, decides instead",
    "incomplete": "it is meant to be given together with another option",
    "advice": "it takes effect, but the documents advise otherwise",
    "environment": "a variable of the environment has a value that cannot be; it is ignored",
    "file_ineffective": "a file has a value that cannot be; the whole file is ignored",
    "inference_only": "the documents list it for online inference; the graph run mode is training",
    "training_only": "the documents list it for training; the graph run mode is online inference",
}


class Effective(NamedTuple):
    """The value an option takes, one of :data:`ORIGINS`, and the rule that decided, if one did."""

    value: object
    origin: str
    rule: str = ""


class Warning_(NamedTuple):
    """Something accepted that the user should know: option, one of :data:`WARNING_CODES`, one sentence, and the rule
    (requirement or reading) behind it."""

    option: str
    code: str
    message: str
    rule: str = ""

    @property
    def text(self) -> str:
        """The message with the option's name, once."""
        return self.message if self.option in self.message else f"{self.option}: {self.message}"


class Remark(NamedTuple):
    """What the documents say about an option that was given, and nothing has to be done about: option, sentence,
    requirement or reading."""

    option: str
    message: str
    rule: str
