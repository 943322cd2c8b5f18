"""Whether a script ended because of a name that is missing: where the adapter has it, or which TensorFlow."""

from __future__ import annotations

import re
import sys
from typing import Optional

from npu_reference import surface
from npu_reference.errors import NpuError
from npu_reference.spelling import nearest

__all__ = ["explain", "version_hint"]

_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_OF_TENSORFLOW = re.compile(r"'tensorflow\b")
#: What some versions of TensorFlow do not have, and scripts for the adapter use: which do.
_VERSIONS = {
    "contrib": "tf.contrib is in TensorFlow 1 only: run this script with TensorFlow 1.15, in Python 3.7.",
    "examples": "tensorflow.examples is in TensorFlow 1 only: run this script with TensorFlow 1.15, in Python 3.7.",
    "estimator": "tf.estimator is in TensorFlow up to 2.15: run this script with one of these, or use NPUEstimator"
    " alone (npu-conformance docs npu_bridge, TensorFlow versions).",
}

_NOT_GIVEN = re.compile(r"cannot import name '?(\w+)'?")


def explain(error: BaseException) -> Optional[NpuError]:
    """The cause of an exception that left a script, if a name of the adapter is behind it; else None.

    A NameError is taken for one of the adapter's only in a script that uses the adapter, and only if the adapter has
    that name or one that is nearly spelt so, and hardly anybody else has.
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


def version_hint(error: BaseException) -> str:
    """Which TensorFlow has what the script missed in this one; empty where that is not why it ended."""
    text = str(error).partition(" (")[0]  # behind it is the path of a file
    if not isinstance(error, (AttributeError, ImportError)) or not _OF_TENSORFLOW.search(text):
        return ""
    if str(getattr(sys.modules.get("tensorflow"), "__version__", "1.")).startswith("1."):
        return ""
    return next((hint for name, hint in _VERSIONS.items() if re.search(rf"[.']{name}\b", text)), "")


def _module(name: str) -> Optional[NpuError]:
    """A module that the adapter does not have; None for a module of others, and for one that is there."""
    if name.partition(".")[0] not in surface.packages() or surface.is_module(name):
        return None
    last = name.rpartition(".")[2]
    same = [module for module in surface.MODULES if module.rpartition(".")[2] == last]
    near = same[0] if same else nearest(surface.canonical(name), surface.MODULES, 0.8)
    otherwise = f"Most scripts need {surface.STAR} only; npu-conformance docs npu_bridge lists all."
    remedy = f"It has {near}." if near else otherwise
    return NpuError("ADAPTER_NAME", name, "the adapter has no such module.", remedy)


def _undefined(name: str) -> Optional[NpuError]:
    """A name that Python does not know; None where it is more likely a slip of the script's own than the adapter's."""
    if any(_unmistakable(entry) for entry in surface.find(name)):
        if name not in surface.star_names():
            return surface.missing(name)
        text = "the adapter has it, and the script has not imported it."
        return NpuError("ADAPTER_NAME", name, text, f"Write: from {surface.STAR} import *.")
    near = surface.nearest(name)
    if near is not None and _unmistakable(near) and near.kind != "module":
        return surface.missing(name)
    return None


def _unmistakable(entry: surface.Name) -> bool:
    """Whether a name is hardly anything else than the adapter's: ``reduce``, ``session`` and ``os`` are not."""
    of_others = entry.kind == "module" and entry.module == surface.STAR
    return not of_others and ("_" in entry.name or entry.name != entry.name.lower())
