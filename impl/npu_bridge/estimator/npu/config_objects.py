"""Configuration objects that NPURunConfig takes besides plain options, built from the one declaration of them."""

from __future__ import annotations

import inspect
from typing import Any, Dict

from npu_reference.options.classes import CLASSES, carried_values, construct, named

__all__ = ["ConfigObject", "DumpConfig", "ExperimentalConfig", "MemoryConfig", "ProfilingConfig"]


def _signature(class_name: str) -> inspect.Signature:
    """The constructor as ``help()`` shows it."""
    return inspect.Signature(
        [
            inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=argument.default)
            for argument in CLASSES[class_name]
        ]
    )


class ConfigObject:
    """Arguments of one class, by keyword or in their order, checked when it is constructed (G10); each is an attribute.

    Raises:
        OptionTypeError: an argument that the class does not have, one given twice, or one of the wrong type.
        OptionValueError: a value that is not allowed.
    """

    __signature__: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__signature__ = _signature(cls.__name__)

    def __init__(self, *ordered: Any, **arguments: Any) -> None:
        arguments = named(type(self).__name__, ordered, arguments)
        self.__dict__.update(construct(type(self).__name__, arguments))
        self._given = {name: value for name, value in arguments.items() if value is not None}

    def as_option(self) -> Dict[str, Any]:
        """The object as the option table knows it: its class and the arguments given."""
        return {"class": type(self).__name__, "arguments": dict(self._given)}

    def session_options(self) -> Dict[str, Any]:
        """The session options that the arguments given stand for (A48, A49)."""
        return carried_values(type(self).__name__, self._given)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({arguments})"


class DumpConfig(ConfigObject):
    """Which operators' data is dumped, when, and where to."""


class ProfilingConfig(ConfigObject):
    """Whether a profile is collected, and of what."""


class MemoryConfig(ConfigObject):
    """How the device's memory is cleaned and allocated."""


class ExperimentalConfig(ConfigObject):
    """Extensions for debugging, which may change."""
