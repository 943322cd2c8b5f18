"""How imports of the adapter are mended and added, and where."""

from __future__ import annotations

import ast
from typing import Any, List, Optional

from npu_conformance.lint.editing import at, insert_lines, rename
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.usage import Trouble

__all__ = ["STAR_LINE", "added", "import_edit", "other_module", "renamed"]

#: How document 000 imports the adapter.
STAR_LINE = "from npu_bridge.npu_init import *"


def added(module: Module, line: str) -> Fix:
    """An import goes behind the last import at the top of the file."""

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        edit = import_edit(module, line)
        return None if edit is None else [edit]

    return fix


def import_edit(module: Module, line: str) -> Optional[Edit]:
    """The edit that adds an import: behind the first block of imports, or behind docstring and ``__future__``."""
    last: Optional[ast.stmt] = None
    for position, statement in enumerate(module.tree.body):
        docstring = position == 0 and isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif not docstring and last is not None:
            break
    if last is not None:
        return insert_lines(module.source, last, [line], behind=True)
    for position, statement in enumerate(module.tree.body):
        if position == 0 and isinstance(statement, ast.Expr) and _is_text(statement.value):
            continue
        return insert_lines(module.source, statement, [line])
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(getattr(node, "value", getattr(node, "s", None)), str)


def other_module(module: Module, trouble: Trouble, right: str) -> Optional[Fix]:
    """``from wrong import name`` becomes ``from right import name``, where that is the statement's only name."""
    found = trouble.found
    if found is None or len(found.node.names) != 1:
        return None
    if isinstance(found.node, ast.Import) and not found.alias.asname:
        return None  # its uses spell the module out

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(module.source, found.node)
        if start is None:
            return None
        first = next((i for i in range(start + 1, start + 8) if tokens[i].name == "NAME"), None)
        if first is None:
            return None
        end = first
        while tokens[end].name == "NAME" or tokens[end].src == ".":
            end += 1
        if "".join(token.src for token in tokens[first:end]) != trouble.module:
            return None
        return [Edit(first, end, right)]

    return fix


def renamed(module: Module, trouble: Trouble) -> Optional[Fix]:
    """A misspelt name becomes the right one: where it is imported and everywhere it is used, or in this place."""
    source, old, new = module.source, trouble.name, trouble.right
    found = trouble.found
    if found is None:
        return rename(source, trouble.node, old, new)
    users = [] if found.alias.asname else [one.name for one in module.references if one.name.id == old]

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(source, found.node)
        if start is None:
            return None
        edits, behind = [], False
        for index in range(start, len(tokens)):
            if tokens[index].name == "NEWLINE":
                break
            behind = behind or tokens[index].src == "import"
            if behind and tokens[index].name == "NAME" and tokens[index].src == old:
                edits.append(Edit(index, index + 1, new))
        for user in users:
            index_of_user = at(source, user)
            if index_of_user is None or tokens[index_of_user].src != old:
                return None
            edits.append(Edit(index_of_user, index_of_user + 1, new))
        return edits or None

    return fix
