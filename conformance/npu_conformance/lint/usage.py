"""Which names of the adapter a file imports and uses, and which of them are not what the adapter has."""

from __future__ import annotations

import ast
import difflib
import os
import re
from functools import lru_cache
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Optional

from npu_conformance.lint.module import Import, Module, Reference, SourcePlace, is_adapter
from npu_conformance.lint.scopes import BUILTINS, dotted
from npu_reference import surface
from npu_reference.spelling import nearest

__all__ = ["Trouble", "Use", "troubles", "uses"]

#: Parts of names by which an undefined one is known to be meant for the adapter.
_OURS = re.compile(r"(?:\b|_)npu|NPU|Npu|hccl|LossScale|RewriterConfig|keep_dtype_scope")

#: Packages whose star imports certainly give no name of the adapter.
_OTHERS = frozenset(
    ["tensorflow", "keras", "tf_keras", "tf_slim", "tensorflow_probability", "numpy", "scipy", "math", "cv2", "pylab",
     "matplotlib", "tkinter", "typing", "os", "sys", "time", "six", "ctypes", "torch", "sklearn", "pandas", "absl"]
)  # fmt: skip


#: Objects that have every operator of the adapter's library.
_LIBRARIES = ("gen_npu_ops", "gen_npu_cpu_ops")

#: How many folders above a script are looked into for packages and modules of its project.
_LEVELS = 6


@lru_cache(maxsize=1)
def _library() -> Dict[str, str]:
    from npu_reference.graphs import python_names  # here, since graphs take a tenth of the start

    return python_names()


class Use(NamedTuple):
    """One place where a name of the adapter is used, by whichever way it is reached."""

    name: surface.Name
    node: Any
    place: SourcePlace


class Trouble(NamedTuple):
    """A name that is not as the file takes it to be.

    ``kind`` is ``module`` (there is none), ``name`` (no such name), ``moved`` (in another module), ``undefined``
    (nothing in the file defines it, and it is the adapter's or nearly so). ``right`` is what was probably meant: a
    dotted module, a name, or the module to import from.
    """

    kind: str
    node: Any
    name: str
    module: str
    right: str
    place: SourcePlace
    found: Optional[Import] = None


def uses(module: Module) -> List[Use]:
    """All uses of names that the adapter has, in the order of the file; imports are none."""
    return module.fact("uses", lambda one: _References(one).read()[0])


def troubles(module: Module) -> List[Trouble]:
    """All names of the adapter that are wrong, in the order of the file."""
    return module.fact("troubles", _troubles)


def _troubles(module: Module) -> List[Trouble]:
    found = [*_imported(module), *_References(module).read()[1], *_undefined(module)]
    return sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset))


def own_packages(module: Module) -> FrozenSet[str]:
    """Packages of the adapter's names that the project has itself, beside or around the script: not the adapter's."""
    return _packages_near(os.path.dirname(os.path.abspath(module.source.path)))


@lru_cache(maxsize=4096)
def _packages_near(folder: str) -> FrozenSet[str]:
    found = set()
    for _ in range(_LEVELS):
        found |= {one for one in surface.packages() if os.path.exists(os.path.join(folder, one, "__init__.py"))}
        folder = os.path.dirname(folder)
    return frozenset(found)


def _complete(module: str) -> bool:
    """Whether the table has all names of a module that scripts may use."""
    return surface.canonical(module) not in surface.OPEN


def _is_private(name: str) -> bool:
    """Whether a part of a dotted name says that it is nobody else's business: the table has none of those."""
    return any(part.startswith("_") for part in name.split("."))


# -- imports ---------------------------------------------------------------------------------------
def _imported(module: Module) -> Iterator[Trouble]:
    own = own_packages(module) if any(is_adapter(one.module) for one in module.imports) else frozenset()
    for one in module.imports:
        if not is_adapter(one.module) or not _complete(one.module) or one.place.guarded:
            continue
        if one.module.split(".")[0] in own or _is_private(f"{one.module}.{one.name}"):
            continue
        yield from _one_import(one)


def _one_import(one: Import) -> Iterator[Trouble]:
    elsewhere = [entry for entry in surface.find(one.name) if entry.module not in (one.module, surface.STAR)]
    elsewhere = elsewhere or [entry for entry in surface.find(one.name) if entry.module != one.module]
    if not surface.is_module(one.module):
        holder = surface.lookup(one.module)
        if holder is not None and holder.kind == "object" and one.name in surface.names_of(holder.module):
            yield Trouble("moved", one.node, one.name, one.module, holder.module, one.place, one)
        elif one.name and elsewhere:
            yield Trouble("moved", one.node, one.name, one.module, _likeliest(one.module, elsewhere), one.place, one)
        else:
            near = nearest(surface.canonical(one.module), surface.MODULES, 0.75)
            yield Trouble("module", one.node, one.name, one.module, near, one.place, one)
        return
    if one.name in ("", "*") or surface.is_module(f"{one.module}.{one.name}"):
        return
    if one.name in surface.names_of(one.module):
        return
    if elsewhere:
        yield Trouble("moved", one.node, one.name, one.module, _likeliest(one.module, elsewhere), one.place, one)
    else:
        near_name = surface.nearest(one.name, one.module)
        yield Trouble("name", one.node, one.name, one.module, near_name.name if near_name else "", one.place, one)


def _likeliest(module: str, entries: List[surface.Name]) -> str:
    """The module, of those that have a name, whose own name is nearest to the one written."""
    homes = [entry.module for entry in entries]
    return max(homes, key=lambda home: difflib.SequenceMatcher(None, home, module).ratio())


# -- attributes ------------------------------------------------------------------------------------
class _References:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.given = {dotted(store.target) for store in module.stores}
        self.own = own_packages(module) if module.uses_adapter else frozenset()

    def read(self) -> Any:
        """Uses and troubles of every dotted name."""
        if not self.module.uses_adapter:
            return [], []
        return self.module.fact("references read", lambda one: self._read())

    def _read(self) -> Any:
        found: List[Use] = []
        wrong: List[Trouble] = []
        heads: Dict[Any, str] = {}  # what the first part of a name stands for, where that is the adapter's
        for one in self.module.references:
            key = (id(one.place.scope), one.name.id)
            if key not in heads:
                head = self.module.resolve(one.name, one.place.scope)
                heads[key] = head if is_adapter(head) and head.split(".")[0] not in self.own else ""
            if heads[key]:
                self._follow(one, heads[key] + one.text[len(one.name.id) :], found, wrong)
        return found, wrong

    def _follow(self, one: Reference, name: str, found: List[Use], wrong: List[Trouble]) -> None:
        module, library, parts = "", False, name.split(".")
        while parts:
            part = parts.pop(0)
            if not module:
                module = part
                continue
            entry = surface.names_of(module).get(part)
            if entry is not None and entry.kind == "module":
                if not surface.is_module(entry.dotted):
                    return  # TensorFlow's, or Python's own
                module = entry.dotted
            elif entry is not None and entry.kind == "object" and parts:
                module, library = entry.module, entry.name in _LIBRARIES
            elif entry is not None:
                found.append(Use(entry, one.node, one.place))
                return
            elif surface.is_module(f"{module}.{part}"):
                module = f"{module}.{part}"
            elif library and part in _library():
                found.append(Use(surface.of_library(part, _library()[part]), one.node, one.place))
                return
            else:
                self._missing(one, part, module, wrong)
                return

    def _missing(self, one: Reference, name: str, module: str, wrong: List[Trouble]) -> None:
        if one.place.guarded or name.startswith("_") or one.text in self.given or not _complete(module):
            return
        if not surface.is_module(module):
            return  # the import has been told
        if "." not in one.text:
            return  # so has this one
        near = surface.nearest(name, module)
        if near is not None:
            wrong.append(Trouble("name", one.node, name, module, near.name, one.place))
            return
        elsewhere = surface.find(name)
        kind, right = ("moved", elsewhere[0].module) if elsewhere else ("name", "")
        wrong.append(Trouble(kind, one.node, name, module, right, one.place))


# -- undefined names -------------------------------------------------------------------------------
def _undefined(module: Module) -> Iterator[Trouble]:
    text = module.source.text
    if "globals()" in text or "exec(" in text or not (module.adapter_star or _OURS.search(text)):
        return
    stars = [one for one in module.stars if surface.canonical(one.module) != surface.STAR]
    only_ours = module.adapter_star and not stars
    seen: Dict[str, str] = {}
    for one in module.references:
        name = one.name.id
        if name in BUILTINS or len(name) < 4 or one.place.guarded:
            continue
        if one.place.scope.find(name)[0] is not None or (module.adapter_star and name in surface.star_names()):
            continue
        if name not in seen:
            seen[name] = _meant(module, name, stars, only_ours)
        if seen[name]:
            yield Trouble("undefined", one.name, name, "", seen[name], one.place)


def _meant(module: Module, name: str, stars: List[Import], only_ours: bool) -> str:
    """The module or name of the adapter that an undefined name means; empty where it means neither."""
    distinctive = bool(_OURS.search(name))
    if not (only_ours or distinctive) or any(_may_give(module, star, name) for star in stars):
        return ""
    entries = [entry for entry in surface.find(name) if entry.kind != "module"]
    # A word like Config or reduce is the script's own rather than one of a module that nobody here can use.
    entries = [entry for entry in entries if entry.star or distinctive or entry.status != surface.REFUSED]
    if entries:
        return surface.STAR if entries[0].star else entries[0].module
    if not module.uses_adapter:
        return ""
    packages = sorted(one.rpartition(".")[0] for one in surface.MODULES if one.endswith(f".{name}"))
    if packages:
        return packages[0] if distinctive else ""
    near = surface.nearest(name)
    if near is None or (near.kind == "module" and not _OURS.search(near.name)):
        return ""
    alike = difflib.SequenceMatcher(None, name, near.name).ratio()
    return near.name if alike >= (0.75 if distinctive and _OURS.search(near.name) else 0.88) else ""


def _may_give(module: Module, star: Import, name: str) -> bool:
    """Whether another star import may define a name: not if it is another package's, or a file without that word."""
    if star.module.split(".")[0] in _OTHERS:
        return False
    folder = os.path.dirname(os.path.abspath(module.source.path))
    level = len(star.module) - len(star.module.lstrip("."))
    relative = star.module.lstrip(".").replace(".", "/")
    for _ in range(max(level - 1, 0)):
        folder = os.path.dirname(folder)
    for _ in range(1 if level else _LEVELS):
        for path in (f"{relative}.py", f"{relative}/__init__.py"):
            content = _read(os.path.join(folder, path))
            if content is not None:
                return name in content or "import *" in content
        folder = os.path.dirname(folder)
    return True


def _read(path: str) -> Optional[str]:
    try:
        with open(path, "rb") as stream:
            return stream.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return None


def called(module: Module) -> Dict[int, ast.Call]:
    """The call of every callee, by the identity of the callee."""
    return module.fact("called", lambda one: {id(call.node.func): call.node for call in one.calls})
