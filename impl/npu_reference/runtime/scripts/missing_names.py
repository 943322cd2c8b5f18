"""Whether a script ended because of a name of the adapter, and what that name is and where it is found."""

from __future__ import annotations

import os
import re
import sys
import traceback
from typing import Optional

from npu_reference import surface
from npu_reference.errors import NpuError
from npu_reference.place import FOLDER

__all__ = ["explain"]

_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_NOT_GIVEN = re.compile(r"cannot import name '?(\w+)'?")


def explain(error: BaseException) -> Optional[NpuError]:
    """What to say beside an exception that left a script; None where no name of the adapter is behind it.

    A NameError is taken for one of the adapter's only in a script that uses the adapter, and if the adapter has that
    name or one that is nearly spelt so.
    """
    if isinstance(error, ModuleNotFoundError) and error.name and _top(error.name) in surface.packages():
        module = error.name
        if surface.is_module(module):
            return None
        return NpuError(
            "ADAPTER_NAME", f"{module}{_where(error)}", "the adapter has no such module.", _modules_near(module)
        )
    if isinstance(error, ImportError) and error.name and surface.is_module(error.name):
        given = _NOT_GIVEN.search(str(error))
        return surface.missing(given.group(1), error.name, _place(error)) if given else None
    if isinstance(error, NameError) and _adapter_is_used():
        undefined = _UNDEFINED.search(str(error))
        name = undefined.group(1) if undefined else ""
        if name and (surface.find(name) or surface.nearest(name)):
            return _undefined(name, _place(error))
    return None


def _undefined(name: str, place: str) -> NpuError:
    if name not in surface.star_names():
        return surface.missing(name, surface.STAR, place)
    subject = f"{name} ({place})" if place else name
    text = "the adapter has it, and the script has not imported it."
    return NpuError("ADAPTER_NAME", subject, text, f"Write: from {surface.STAR} import *.")


def _adapter_is_used() -> bool:
    return any(package in sys.modules for package in surface.packages())


def _top(module: str) -> str:
    return module.partition(".")[0]


def _modules_near(module: str) -> str:
    """A module of the adapter whose last part is the same, else the one that the script probably needs."""
    last = module.rpartition(".")[2]
    for known in surface.MODULES:
        if known.rpartition(".")[2] == last:
            return f"It has {known}."
    return f"Names of all modules are in docs/npu_bridge.md; most scripts need {surface.STAR} only."


def _where(error: BaseException) -> str:
    place = _place(error)
    return f" ({place})" if place else ""


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame of the script's own."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if not path.startswith("<frozen") and not os.path.abspath(path).startswith(FOLDER + os.sep):
            place = f"{os.path.basename(path)}:{line}"
    return place
