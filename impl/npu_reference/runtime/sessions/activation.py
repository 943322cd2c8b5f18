"""Switches the simulated device on and off in this process: the patched sessions, and who answers to the adapter's
packages (``npu_bridge``, ``hccl``, ``npu_device``)."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import threading
from types import ModuleType
from typing import Any, List, Optional, Sequence

from npu_reference import surface
from npu_reference.errors import NpuError
from npu_reference.place import FOLDER
from npu_reference.runtime.observing.log import Notice, say
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["activate", "deactivate", "dropin_folder"]

_PACKAGES = surface.packages()
_LOCK = threading.RLock()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the drop-in packages wherever they ship; their submodules are found through the packages themselves.

    A module of a mirror, as ``npu_device.compat.v1.npu_init`` is, is the very module that it mirrors. One of which
    nothing is simulated has no file: it is made from the table, whose names it refuses.
    """

    def find_spec(
        self, fullname: str, path: Optional[Sequence[Any]], target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if surface.canonical(fullname) != fullname and _is_ours(fullname.partition(".")[0]):
            return importlib.machinery.ModuleSpec(fullname, _Mirror(), is_package=True)
        if fullname not in _PACKAGES:
            if not surface.is_module(fullname) or _has_file(fullname) or not _is_ours(fullname.partition(".")[0]):
                return None
            package = any(module.startswith(f"{fullname}.") for module in surface.MODULES)
            return importlib.machinery.ModuleSpec(fullname, _OfTable(), is_package=package)
        folder = dropin_folder(fullname)
        return importlib.util.spec_from_file_location(
            fullname, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )


class _Mirror(importlib.abc.Loader):
    """Answers with the module of another name."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        name = surface.canonical(spec.name)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            text = f"No module named {spec.name!r}"
            raise ModuleNotFoundError(text, name=spec.name) from None
        spec.loader_state = module.__spec__  # the import system is about to give the module the spec of the mirror
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


class _OfTable(importlib.abc.Loader):
    """Makes a module of which the table has all there is to say."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = f"{surface.MODULES[module.__name__]}: refused by the table, which says what to use."
        module.__dict__["__getattr__"] = surface.attribute_of(module.__name__)


_FINDER = _Finder()


def dropin_folder(package: str = "npu_bridge") -> str:
    """Where a drop-in package is: inside the installed package, or beside it in a checkout.

    Raises:
        NpuError: INTERNAL, when the installation lacks it.
    """
    for folder in (os.path.join(FOLDER, "_dropin", package), os.path.join(os.path.dirname(FOLDER), package)):
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return folder
    raise NpuError("INTERNAL", package, "the drop-in package is missing from this installation.", "Install it again.")


def activate() -> None:
    """Switch the simulated device on. Idempotent.

    From now on ``import npu_bridge`` finds the drop-in package, as ``hccl`` and ``npu_device`` do, even where a real
    adapter is installed, and a new session whose config names ``NpuOptimizer`` runs its GEOPs on the simulated device.

    Raises:
        NpuError: TENSORFLOW_MISSING.
    """
    tensorflow()
    from npu_reference.runtime.sessions import interception

    with _LOCK:
        interception.install()
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        for package in _PACKAGES:
            found = sys.modules.get(package)
            if found is None or _is_ours(package):
                continue
            place = getattr(found, "__file__", "an unknown place")
            text = f"it has been imported already, from {place}, and stays: activate the simulated device before that."
            say(logging.WARNING, Notice("imported_before", package, text))


def deactivate() -> None:
    """Undo :func:`activate`; sessions already open keep running as they are. Idempotent."""
    from npu_reference.runtime import tf_api

    with _LOCK:
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        for name in _ours():
            del sys.modules[name]
        if tf_api.loaded():
            from npu_reference.runtime.sessions import interception

            interception.uninstall()


def _has_file(module: str) -> bool:
    package, *parts = module.split(".")
    path = os.path.join(dropin_folder(package), *parts)
    return os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py"))


def _is_ours(package: str) -> bool:
    """Whether the package that has been imported under this name is the drop-in."""
    file = getattr(sys.modules.get(package), "__file__", None)
    return file is not None and os.path.dirname(os.path.abspath(file)) == dropin_folder(package)


def _ours() -> List[str]:
    """The modules of the drop-in that have been imported, by all of their names."""
    packages = tuple(package for package in _PACKAGES if _is_ours(package))
    return [name for name in sys.modules if name.partition(".")[0] in packages]
