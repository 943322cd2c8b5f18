"""Option errors as Python constructors raise them: TypeError and ValueError that are NpuErrors too (G11)."""

from __future__ import annotations

from npu_reference.errors import NpuError

__all__ = ["OptionTypeError", "OptionValueError", "as_argument_error"]


class OptionTypeError(NpuError, TypeError):
    """An argument has the wrong type, or there is no such argument."""


class OptionValueError(NpuError, ValueError):
    """An argument has the right type, but a value that is not allowed."""


def as_argument_error(error: NpuError) -> NpuError:
    """The same error as the class that Python callers expect of a constructor."""
    kind = OptionTypeError if error.code == "OPTION_TYPE" else OptionValueError
    return kind(error.code, error.subject, error.reason, error.remedy)
