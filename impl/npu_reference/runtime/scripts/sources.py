"""How a script written for TensorFlow 1 is read under TensorFlow 2: its import line, and nothing else, is another."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

__all__ = ["Source", "first_v1_name", "read_for"]


class Source(NamedTuple):
    """A script ready to be compiled.

    Attributes:
        tree: its syntax tree; line numbers are the file's.
        changed: what was changed, a sentence for the log; empty when nothing was.
    """

    tree: ast.Module
    changed: str


def read_for(text: bytes, path: str, exists: Callable[[Tuple[str, ...]], bool]) -> Source:
    """Parse a script; import ``tensorflow.compat.v1`` in place of ``tensorflow`` where it needs that.

    Args:
        text: the file's bytes; an encoding comment is honoured.
        path: for error messages.
        exists: whether a dotted name below ``tensorflow`` is one of version 1 only.

    Raises:
        SyntaxError: as Python itself would.
    """
    tree = ast.parse(text, path)
    name = first_v1_name(tree, exists)
    if name is None:
        return Source(tree, "")
    line = _change_imports(tree)
    return Source(
        tree,
        f"line {line} is read as 'import tensorflow.compat.v1 as tf' and TensorFlow 2 behaviour is switched off,"
        f" because the script uses tf.{name}, which TensorFlow 2 has not.",
    )


def first_v1_name(tree: ast.Module, exists: Callable[[Tuple[str, ...]], bool]) -> Optional[str]:
    """The first name, in the order of the lines, that the script takes from ``tensorflow`` and only version 1 has."""
    aliases = {name for statement in tree.body for name in _aliases(statement)}
    found: List[Tuple[int, int, Tuple[str, ...]]] = []
    known: Dict[Tuple[str, ...], bool] = {}
    for node in ast.walk(tree):
        chain = _chain(node)
        if chain is None or chain[0] not in aliases:
            continue
        names = chain[1:]
        if names not in known:
            known[names] = exists(names)
        if known[names]:
            found.append((node.lineno, node.col_offset, names))  # type: ignore[attr-defined]
    return ".".join(min(found)[2]) if found else None


def _aliases(statement: ast.stmt) -> List[str]:
    """What a statement calls ``tensorflow``, if it imports it."""
    if not isinstance(statement, ast.Import):
        return []
    return [alias.asname or alias.name for alias in statement.names if alias.name == "tensorflow"]


def _chain(node: Any) -> Optional[Tuple[str, ...]]:
    """``("tf", "train", "AdamOptimizer")`` of the expression of that form."""
    names: List[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not names or not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(names))


def _change_imports(tree: ast.Module) -> int:
    """Change every top-level import of tensorflow; the first line changed."""
    first = 0
    for position, statement in enumerate(list(tree.body)):
        aliases = _aliases(statement)
        if not aliases:
            continue
        assert isinstance(statement, ast.Import)
        statement.names = [
            ast.alias(name="tensorflow.compat.v1", asname=alias.asname or alias.name)
            if alias.name == "tensorflow"
            else alias
            for alias in statement.names
        ]
        for alias in statement.names:
            ast.copy_location(alias, statement)
        if not first:
            first = statement.lineno
            call = ast.parse(f"{aliases[0]}.disable_v2_behavior()").body[0]
            for node in ast.walk(call):
                ast.copy_location(node, statement)
            tree.body.insert(position + 1, call)
    return first
