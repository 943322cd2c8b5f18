"""Whether a script ended because of a name of the adapter, and what that name is and where it is found."""

from __future__ import annotations

import re
import sys
from typing import Optional

from npu_reference import surface
from npu_reference.errors import NpuError

__all__ = ["explain"]

_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_NOT_GIVEN = re.compile(r"cannot import name '?(\w+)'?")


def explain(error: BaseException) -> Optional[NpuError]:
    """The cause of an exception that left a script, if a name of the adapter is behind it; else None.

    A NameError is taken for one of the adapter's only in a script that uses the adapter, and only if the adapter has
    that name or one that is nearly spelt so.
    """
    if isinstance(error, ModuleNotFoundError):
        return _module(error.name or "")
    if isinstance(error, ImportError) and error.name and surface.is_module(error.name):
        given = _NOT_GIVEN.search(str(error))
        return surface.missing(given.group(1), error.name) if given else None
    if isinstance(error, NameError) and any(package in sys.modules for package in surface.packages()):
        undefined = _UNDEFINED.search(str(error))
        return _undefined(undefined.group(1)) if undefined else None
    return None


def _module(name: str) -> Optional[NpuError]:
    """A module that the adapter does not have; None for a module of others, and for one that is there."""
    if name.partition(".")[0] not in surface.packages() or surface.is_module(name):
        return None
    last = name.rpartition(".")[2]
    same = [module for module in surface.MODULES if module.rpartition(".")[2] == last]
    remedy = f"It has {same[0]}." if same else f"Most scripts need {surface.STAR} only; docs/npu_bridge.md lists all."
    return NpuError("ADAPTER_NAME", name, "the adapter has no such module.", remedy)


def _undefined(name: str) -> Optional[NpuError]:
    if name in surface.star_names():
        text = "the adapter has it, and the script has not imported it."
        return NpuError("ADAPTER_NAME", name, text, f"Write: from {surface.STAR} import *.")
    if surface.find(name) or surface.nearest(name):
        return surface.missing(name)
    return None
