"""Finds names of the adapter: those of a module, those of the star import, and the nearest to a misspelt one."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from npu_reference import spelling
from npu_reference.surface.declaration import MIRRORS, STAR, Name
from npu_reference.surface.modules import MODULES
from npu_reference.surface.table import NAMES

__all__ = ["canonical", "find", "is_module", "lookup", "names_of", "nearest", "packages", "star_names"]


def _by_module() -> Dict[str, Dict[str, Name]]:
    table: Dict[str, Dict[str, Name]] = {module: {} for module in MODULES}
    for name in NAMES:
        for module in name.modules:
            table.setdefault(module, {})[name.name] = name
    return table


_BY_MODULE = _by_module()


def canonical(module: str) -> str:
    """The module that ``module`` is another way to: ``npu_bridge.npu_init`` for ``npu_device.compat.v1.npu_init``."""
    for mirror, original in MIRRORS.items():
        if module == mirror or module.startswith(mirror + "."):
            return original + module[len(mirror) :]
    return module


def packages() -> Tuple[str, ...]:
    """The top-level packages of the adapter."""
    return tuple(module for module in MODULES if "." not in module)


def is_module(module: str) -> bool:
    """Whether the adapter has a module or package of this dotted name."""
    return canonical(module) in MODULES


def names_of(module: str) -> Mapping[str, Name]:
    """What a module gives, by name: its own, what it passes on, and the modules in it; empty for no module of ours."""
    return _BY_MODULE.get(canonical(module), {})


def star_names() -> Mapping[str, Name]:
    """What ``from npu_bridge.npu_init import *`` gives, by name."""
    return _BY_MODULE[STAR]


def lookup(dotted: str) -> Optional[Name]:
    """What a dotted name stands for, by whichever module it is reached; None if the adapter has no such name.

    >>> lookup("npu_device.compat.v1.npu_init.npu_ops.dropout").dotted
    'npu_bridge.estimator.npu_ops.dropout'
    """
    # The root of a mirror is a name itself; below it everything is the original's.
    module, _, name = (dotted if dotted in MIRRORS else canonical(dotted)).rpartition(".")
    if module in _BY_MODULE:
        return _BY_MODULE[module].get(name)
    holder = lookup(module) if module else None
    if holder is None:
        return None
    # A module is reached by the name that another one gives it; an object holds the names of the module it is in.
    return names_of(holder.dotted if holder.kind == "module" else holder.module).get(name)


def find(name: str) -> List[Name]:
    """All names of the adapter that are spelt so, those of the star import first."""
    found = [entry for entry in NAMES if entry.name == name]
    return sorted(found, key=lambda entry: (not entry.star, entry.dotted))


def nearest(name: str, module: str = STAR) -> Optional[Name]:
    """The name of a module that was probably meant; None where none is near."""
    names = names_of(module)
    return names.get(spelling.nearest(name, names, 0.75))
