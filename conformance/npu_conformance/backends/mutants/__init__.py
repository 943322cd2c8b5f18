"""Named faulty backends: which there are, and how one is made."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Callable, Dict, Mapping, NamedTuple, Tuple

from npu_reference.errors import NpuError

__all__ = ["Mutant", "mutant", "registry", "make"]


class Mutant(NamedTuple):
    """A backend that breaks one requirement.

    name: as in ``mutant:NAME``; requirement: the id it breaks; fault: one sentence, from its docstring;
    factory: makes the backend, in the worker's process. A fault in how options are taken also says which options
    it is about, the surface it shows on (empty for both), and its kind, one of ``fault_kinds.KINDS``.
    """

    name: str
    requirement: str
    fault: str
    factory: Callable[[], object]
    options: Tuple[str, ...] = ()
    surface: str = ""
    kind: str = ""


_REGISTRY: Dict[str, Mutant] = {}


def mutant(
    name: str, requirement: str, *, options: Tuple[str, ...] = (), surface: str = "", kind: str = ""
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Registers a backend class (or a function returning a backend) as the mutant ``name``.

    Its docstring says in one sentence what is wrong with it; the other arguments are those of :class:`Mutant`.
    Modules of the package ``mutants`` use this.
    """

    def register(factory: Callable[[], object]) -> Callable[[], object]:
        fault = (factory.__doc__ or "").strip().splitlines()
        if not fault:
            raise NpuError("CASE_FILE", f"mutant {name}", "has no docstring that says what is wrong with it")
        if name in _REGISTRY:
            raise NpuError("CASE_FILE", f"mutant {name}", "this name is used twice")
        _REGISTRY[name] = Mutant(name, requirement, fault[0], factory, options, surface, kind)
        return factory

    return register


def registry() -> Mapping[str, Mutant]:
    """All mutants by name, sorted; imports the package ``mutants``."""
    package = importlib.import_module("npu_conformance.backends.mutants")
    for module in sorted(info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
        importlib.import_module(module)
    return {name: _REGISTRY[name] for name in sorted(_REGISTRY)}


def make(name: str) -> object:
    """The backend of mutant ``name``.

    Raises:
        NpuError: BACKEND_SPEC when there is none.
    """
    found = registry().get(name)
    if found is None:
        raise NpuError("BACKEND_SPEC", f"mutant:{name}", "there is no mutant of this name")
    return found.factory()
