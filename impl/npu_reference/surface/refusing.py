"""What whoever uses a name that cannot be used here is told: what it is, where in the script, what to use instead."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable, List, NoReturn, Tuple

from npu_reference.errors import NpuError
from npu_reference.surface.declaration import REFUSED, STAR, Name
from npu_reference.surface.lookup import find, names_of, nearest, packages
from npu_reference.surface.modules import MODULES

__all__ = ["MissingName", "NameRefused", "Refused", "attribute_of", "missing", "of_library", "refusal", "where"]


class NameRefused(NpuError, NotImplementedError):
    """A name of the adapter that cannot mean anything on the simulated device, or is not simulated."""


class MissingName(NpuError, AttributeError):
    """A name that neither the adapter nor the simulator has."""


def refusal(name: Name, place: str = "") -> NameRefused:
    """The error of who uses a refused name; ``place`` is the script's line, if it is known."""
    subject = f"{name.dotted} ({place})" if place else name.dotted
    what = f"the adapter has it, and it is not simulated: {name.behaviour}."
    return NameRefused("ADAPTER_NAME", subject, what, name.remedy)


def missing(name: str, module: str = STAR, place: str = "") -> MissingName:
    """The error of who asks a module of the adapter for a name that it does not have."""
    subject = f"{name} ({place})" if place else name
    elsewhere = [entry for entry in find(name) if module not in entry.modules]
    near = nearest(name, module)
    if elsewhere:
        home = elsewhere[0].module
        what = f"{module} does not give it; {home} does."
        return MissingName("ADAPTER_NAME", subject, what, f"Write: from {home} import {name}.")
    remedy = f"Did you mean {near.name}?" if near is not None else "npu-conformance docs npu_bridge lists every name."
    return MissingName("ADAPTER_NAME", subject, f"{module} has no such name that is known here.", remedy)


def where() -> str:
    """``file:line`` of the nearest caller outside this package and the drop-in; empty if there is none."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Installed, the drop-in is inside this package; in a checkout it is beside it.
    ours = tuple(os.path.join(folder, "") for folder in (package, *_beside(package)))
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith("<frozen") and not os.path.abspath(path).startswith(ours):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _beside(package: str) -> List[str]:
    return [os.path.join(os.path.dirname(package), name) for name in packages()]


def of_library(name: str, operator: str) -> Name:
    """What is said of an operator of the adapter's library that no function of the drop-in builds."""
    remedy = "Call a function of npu_ops, npu_aicore_ops or hccl_ops, or TensorFlow's own operators."
    behaviour = f"the operator {operator} of the adapter's library"
    return Name(name, "npu_bridge.helper.helper", "function", REFUSED, behaviour, "scripts in use", remedy=remedy)


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


def attribute_of(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of the drop-in: refused names, modules below, and an error for any other name.

    >>> __getattr__ = attribute_of(__name__)
    """

    def find_attribute(name: str) -> Any:
        entry = names_of(module).get(name)
        if entry is None:
            if name.startswith("__"):
                raise AttributeError(name)  # Python itself asks every module for __path__ and its like
            raise missing(name, module, where())
        if entry.status == REFUSED:
            return Refused(entry)
        if entry.kind == "module" and entry.dotted in MODULES:
            return importlib.import_module(entry.dotted)
        if entry.module != module:
            return getattr(importlib.import_module(entry.module), name)
        raise AttributeError(f"module {module!r} lacks {name!r}, which is declared for it")

    return find_attribute
