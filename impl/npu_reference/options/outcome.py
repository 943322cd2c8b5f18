"""What resolving options answers: effective values with their origins, errors and warnings."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

from npu_reference.errors import NpuError

__all__ = ["ORIGINS", "WARNING_CODES", "Effective", "Remark", "Resolution", "Warning_"]

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


class Resolution:
    """The answer of :func:`npu_reference.options.resolve`; immutable.

    Attributes:
        surface, edition: as asked.
        run_mode: 1 for training, 0 for online inference.
        effective: option name to :class:`Effective`, in table order. An option whose value was refused has its
            default.
        parsed: option name to the meaning of its text, for the effective options that have a grammar or a file.
        errors: :class:`NpuError` of codes OPTION_*, in table order.
        warnings: :class:`Warning_`, in table order.
        notes: :class:`Remark`, in table order.
        of_run_config: whether an NPURunConfig gave them, also where a session carries what it wrote.
    """

    __slots__ = (
        *("_values", "edition", "effective", "errors", "notes", "of_run_config", "parsed", "run_mode", "surface"),
        "warnings",
    )

    def __init__(
        self,
        surface: str,
        edition: str,
        run_mode: int,
        effective: Mapping[str, Effective],
        parsed: Mapping[str, object],
        errors: Tuple[NpuError, ...],
        warnings: Tuple[Warning_, ...],
        notes: Tuple[Remark, ...] = (),
        of_run_config: bool = False,
    ) -> None:
        self.of_run_config = of_run_config or surface == "runconfig"
        self.surface = surface
        self.edition = edition
        self.run_mode = run_mode
        self.effective = effective
        self.parsed = parsed
        self.errors = errors
        self.warnings = warnings
        self.notes = notes
        self._values: Dict[str, object] = {}

    @property
    def values(self) -> Mapping[str, object]:
        """Option name to effective value."""
        if not self._values:
            self._values = {name: effective.value for name, effective in self.effective.items()}
        return self._values

    def raise_first(self) -> Resolution:
        """Raise the first error, if there is one; else the resolution itself."""
        if self.errors:
            raise self.errors[0]
        return self

    def to_json(self) -> Dict[str, object]:
        """The protocol's answer to ``options``, with errors beside it."""
        return {
            "effective": {
                name: {"value": _plain(item.value), "origin": item.origin, "rule": item.rule}
                for name, item in self.effective.items()
            },
            "errors": [error.to_json() for error in self.errors],
            "warnings": [{"option": w.option, "code": w.code, "message": w.message} for w in self.warnings],
            "notes": [{"option": note.option, "message": note.message} for note in self.notes],
        }


def _plain(value: object) -> object:
    """A value as JSON; an object that is none is told by its class."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return {"class": type(value).__name__}
