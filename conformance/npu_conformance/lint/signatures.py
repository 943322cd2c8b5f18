"""Which arguments the adapter's functions and classes take, read from the drop-in's files without importing them."""

from __future__ import annotations

import ast
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from npu_reference import surface
from npu_reference.place import FOLDER

__all__ = ["CallSignature", "signature_of"]


class CallSignature(NamedTuple):
    """Parameters by name, positional ones first; ``required`` of them have to be given."""

    positional: Tuple[str, ...]
    keywords: Tuple[str, ...]
    required: Tuple[str, ...]
    many: bool
    any_keyword: bool


#: Packages that hold what the adapter's names are: the drop-in, and what it is thin over.
_OURS = (*surface.packages(), "npu_reference.")

_KNOWN: Dict[str, Optional[CallSignature]] = {}
_TREES: Dict[str, Optional[ast.Module]] = {}


def signature_of(name: surface.Name) -> Optional[CallSignature]:
    """What a name of the adapter takes when it is called; None where that cannot be read."""
    if name.dotted not in _KNOWN:
        _KNOWN[name.dotted] = _find(name.module, name.name, 0)
    return _KNOWN[name.dotted]


def _find(module: str, name: str, depth: int) -> Optional[CallSignature]:
    tree = _tree(module)
    if tree is None or depth > 3:
        return None
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    if len(found) == 1:
        return _of_definition(found[0], module, depth)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module.startswith(_OURS):
                    return _find(node.module, alias.name, depth + 1)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            named = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found_as = node.value.id if name in named else ""
            if found_as:
                return _find(module, found_as, depth + 1)
    return None


def _of_definition(node: Any, module: str, depth: int) -> Optional[CallSignature]:
    if isinstance(node, ast.FunctionDef):
        return _of_arguments(node.args, 0)
    if not isinstance(node, ast.ClassDef):
        return None
    makers = [part for part in node.body if getattr(part, "name", "") in ("__init__", "__new__")]
    if len(makers) == 1 and isinstance(makers[0], ast.FunctionDef):
        return _of_arguments(makers[0].args, 1)
    if not makers and len(node.bases) == 1 and isinstance(node.bases[0], ast.Name):
        return _find(module, node.bases[0].id, depth + 1)
    return None


def _of_arguments(arguments: ast.arguments, skipped: int) -> CallSignature:
    every = [*getattr(arguments, "posonlyargs", []), *arguments.args]
    positional = tuple(one.arg for one in every[skipped:])
    needed = every[skipped : len(every) - len(arguments.defaults)]
    only = [one.arg for one in arguments.kwonlyargs]
    required = [one.arg for one in needed]
    required += [one for one, default in zip(only, arguments.kw_defaults) if default is None]
    return CallSignature(
        positional, (*positional, *only), tuple(required), arguments.vararg is not None, arguments.kwarg is not None
    )


def _tree(module: str) -> Optional[ast.Module]:
    if module not in _TREES:
        _TREES[module] = _parsed(module.split("."))
    return _TREES[module]


def _parsed(parts: Any) -> Optional[ast.Module]:
    # Installed, the drop-in lies inside the package, where it hides no real adapter; else beside it.
    for root in (os.path.join(FOLDER, "_dropin"), os.path.dirname(FOLDER)):
        for path in (os.path.join(root, *parts) + ".py", os.path.join(root, *parts, "__init__.py")):
            try:
                with open(path, encoding="utf-8") as stream:
                    return ast.parse(stream.read())
            except (OSError, SyntaxError):
                continue
    return None
