"""What whoever uses a name that cannot be used here is told: what it is, where in the script, what to use instead."""

from __future__ import annotations

import difflib
import os
import sys
from typing import Any, NoReturn, Tuple

from npu_reference.errors import NpuError
from npu_reference.surface.declaration import STAR, Name
from npu_reference.surface.lookup import find, nearest

__all__ = ["MissingName", "NameRefused", "Refused", "missing", "refusal", "where"]


class NameRefused(NpuError, NotImplementedError):
    """A name of the adapter that cannot mean anything on the simulated device, or is not simulated."""


class MissingName(NpuError, AttributeError):
    """A name that neither the adapter nor the simulator has."""


def refusal(name: Name, place: str = "") -> NameRefused:
    """The error of who uses a refused name; ``place`` is the script's line, if it is known."""
    subject = f"{name.dotted} ({place})" if place else name.dotted
    return NameRefused("ADAPTER_NAME", subject, f"it is not simulated: {name.behaviour}.", name.remedy)


def missing(name: str, module: str = STAR, place: str = "") -> MissingName:
    """The error of who asks a module of the adapter for a name that it does not have."""
    subject = f"{name} ({place})" if place else name
    elsewhere = [entry for entry in find(name) if module not in entry.modules]
    near = nearest(name, module)
    if elsewhere:
        home = elsewhere[0].module
        what = f"{module} does not give it; {home} does."
        return MissingName("ADAPTER_NAME", subject, what, f"Write: from {home} import {name}.")
    remedy = f"Did you mean {near.name}?" if near is not None else "docs/npu_bridge.md lists every name."
    return MissingName("ADAPTER_NAME", subject, f"{module} has no such name, here or on a device.", remedy)


def where(skipped: Tuple[str, ...] = ()) -> str:
    """``file:line`` of the nearest caller outside this package and the folders given; empty if there is none."""
    ours = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *skipped)
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if not path.startswith(tuple(folder + os.sep for folder in ours)) and not path.startswith("<"):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


class Refused:
    """Stands for a refused name, so that it can be imported: whatever is done with it raises :class:`NameRefused`."""

    def __init__(self, name: Name) -> None:
        self.__dict__["_name"] = name

    def _refuse(self) -> NoReturn:
        raise refusal(self.__dict__["_name"], where())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # pickle, copy, inspect and doctest ask for these of anything
        self._refuse()

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse()

    def __enter__(self) -> Any:
        self._refuse()

    def __exit__(self, *exception: Any) -> None:
        self._refuse()

    def __mro_entries__(self, bases: Tuple[Any, ...]) -> Tuple[type, ...]:
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self.__dict__['_name'].dotted}, which is not simulated>"
