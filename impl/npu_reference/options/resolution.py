"""What resolving options answers: effective values with their origins, errors and warnings."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.outcome import Effective, Remark, Warning_
from npu_reference.options.typed import EffectiveOptions, typed

__all__ = ["Resolution"]


class _Fields(NamedTuple):
    surface: str
    edition: str
    run_mode: int
    effective: Mapping[str, Effective]
    parsed: Mapping[str, Any]
    errors: Tuple[NpuError, ...]
    warnings: Tuple[Warning_, ...]
    notes: Tuple[Remark, ...]
    of_run_config: bool


class Resolution(_Fields):
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

    _typed: Optional[EffectiveOptions] = None

    @property
    def typed(self) -> EffectiveOptions:
        """The same values by subject, each in its own type: what all else reads."""
        if self._typed is None:
            self._typed = typed(
                self.effective,
                self.parsed,
                training=self.run_mode == 1,
                session=self.surface == "session",
                carried=self.of_run_config,
            )
        return self._typed

    @property
    def values(self) -> Mapping[str, object]:
        """Option name to effective value."""
        return {name: effective.value for name, effective in self.effective.items()}

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
