"""What the constructor of NPURunConfig accepts, for those who call it from Python."""

from __future__ import annotations

from typing import Mapping, Optional

from npu_reference.errors import NpuError
from npu_reference.options.classes import raise_for_python
from npu_reference.options.resolution import Resolution
from npu_reference.options.resolve import resolve
from npu_reference.options.table import OPTIONS
from npu_reference.spelling import did_you_mean

__all__ = ["run_config"]


def run_config(
    arguments: Mapping[str, object],
    *,
    edition: str = "current",
    env: Optional[Mapping[str, str]] = None,
    files: Optional[Mapping[str, object]] = None,
) -> Resolution:
    """Resolve the adapter's own arguments of NPURunConfig; the first error is raised at once (G10).

    Args:
        arguments: keyword arguments, without those that tf.estimator.RunConfig itself has. A configuration object is
            given as ``{"class": name, "arguments": {…}}``.
        edition, env, files: as for :func:`resolve`.

    Raises:
        OptionTypeError: a TypeError; a keyword that does not exist (G17), or a value of the wrong type.
        OptionValueError: a ValueError; a value outside its domain, or in conflict with another.
    """
    for name in arguments:
        if name not in OPTIONS or ("runconfig", edition) not in OPTIONS[name].facets:
            raise_for_python(
                NpuError(
                    "OPTION_TYPE",
                    str(name),
                    f"NPURunConfig has no such argument in the {edition} edition.",
                    _where_else(name),
                )
            )
    resolution = resolve(arguments, surface="runconfig", edition=edition, env=env, files=files)
    if resolution.errors:
        raise_for_python(resolution.errors[0])
    return resolution


def _where_else(name: str) -> str:
    option = OPTIONS.get(name)
    if option is not None and "runconfig" not in option.surfaces:
        return f'It is a session option: parameter_map["{name}"].'
    if option is not None:
        return "The other edition has it."
    return did_you_mean(str(name), [key for key in OPTIONS if "runconfig" in OPTIONS[key].surfaces])
