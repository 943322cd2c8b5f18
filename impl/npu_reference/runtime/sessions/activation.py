"""Switches the simulated device on and off in this process: the patched sessions, and who answers to ``npu_bridge``."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import threading
from typing import Any, Optional, Sequence

from npu_reference.errors import NpuError
from npu_reference.place import FOLDER
from npu_reference.runtime.observing.log import Notice, say
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["activate", "deactivate", "dropin_folder"]

_PACKAGE = "npu_bridge"
_LOCK = threading.RLock()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the drop-in ``npu_bridge`` wherever it ships; its submodules are found through the package itself."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[Any]], target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != _PACKAGE:
            return None
        folder = dropin_folder()
        return importlib.util.spec_from_file_location(
            fullname, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )


_FINDER = _Finder()


def dropin_folder() -> str:
    """Where the drop-in package is: inside the installed package, or beside it in a checkout.

    Raises:
        NpuError: INTERNAL, when the installation lacks it.
    """
    package = FOLDER
    for folder in (os.path.join(package, "_dropin", _PACKAGE), os.path.join(os.path.dirname(package), _PACKAGE)):
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return folder
    raise NpuError("INTERNAL", _PACKAGE, "the drop-in package is missing from this installation.", "Install it again.")


def activate() -> None:
    """Switch the simulated device on. Idempotent.

    From now on ``import npu_bridge`` finds the drop-in package, even where a real adapter is installed, and a new
    session whose config names ``NpuOptimizer`` runs its GEOPs on the simulated device.

    Raises:
        NpuError: TENSORFLOW_MISSING.
    """
    tensorflow()
    from npu_reference.runtime.sessions import interception

    with _LOCK:
        interception.install()
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        found = sys.modules.get(_PACKAGE)
        if found is not None and not _is_ours(found):
            place = getattr(found, "__file__", "an unknown place")
            text = f"it has been imported already, from {place}, and stays: activate the simulated device before that."
            say(logging.WARNING, Notice("imported_before", _PACKAGE, text))


def deactivate() -> None:
    """Undo :func:`activate`; sessions already open keep running as they are. Idempotent."""
    from npu_reference.runtime import tf_api

    with _LOCK:
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        if _is_ours(sys.modules.get(_PACKAGE)):
            for name in [name for name in sys.modules if name == _PACKAGE or name.startswith(_PACKAGE + ".")]:
                del sys.modules[name]
        if tf_api.loaded():
            from npu_reference.runtime.sessions import interception

            interception.uninstall()


def _is_ours(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.dirname(os.path.abspath(file)) == dropin_folder()
