"""How Python written for TensorFlow 1 is read under TensorFlow 2: its imports, and nothing else, are others."""

from __future__ import annotations

import ast
from typing import Any, Callable, Container, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from npu_reference.notebooks import Notebook

__all__ = ["Names", "Source", "bindings", "chain", "first_name", "read_for"]

#: A dotted name below ``tensorflow``: ``("train", "AdamOptimizer")``.
Names = Tuple[str, ...]

_V1 = "tensorflow.compat.v1"


class Source(NamedTuple):
    """Python ready to be compiled.

    Attributes:
        tree: its syntax tree; line numbers are the file's.
        changed: what was changed, a sentence for the log; empty when nothing was.
        notebook: whose cells it is, if it is one's.
    """

    tree: ast.Module
    changed: str
    notebook: Optional[Notebook] = None


def read_for(
    text: bytes,
    path: str,
    only_v1: Callable[[Names], bool],
    in_v1: Callable[[Names], bool],
    left_out: Callable[[ast.Module], Container[int]] = lambda tree: (),
    where: Callable[[int], str] = "line {}".format,
) -> Source:
    """Parse a file; import ``tensorflow.compat.v1`` in place of ``tensorflow`` where it needs that.

    Args:
        text: the file's bytes; an encoding comment is honoured.
        path: for error messages.
        only_v1: whether a name is one of version 1 only.
        in_v1: whether version 1 has a name, Keras' among them; asked of a file that is changed only.
        left_out: ids of nodes whose names do not decide.
        where: how the sentence names a line.

    Raises:
        SyntaxError: as Python itself would.
    """
    tree = ast.parse(text, path)
    name = first_name(tree, only_v1, left_out(tree))
    if name is None:
        return Source(tree, "")
    changed = [statement for statement in _imports(tree) if _change(statement, in_v1)]
    if not changed:
        return Source(tree, "")
    first = min(changed, key=lambda statement: (statement.lineno, statement.col_offset))
    return Source(
        tree,
        f"{where(first.lineno)} is read as '{_shown(first)}' and TensorFlow 2 behaviour is switched off,"
        f" because the script uses tf.{name}, which TensorFlow 2 has not{' for sessions' * name.startswith('keras.')}.",
    )


def first_name(tree: ast.Module, wanted: Callable[[Names], bool], left_out: Container[int] = ()) -> Optional[str]:
    """The first name, in the order of the lines, that the file takes from ``tensorflow`` and that is wanted."""
    bound = bindings(tree)
    found: List[Tuple[int, int, Names]] = []
    known: Dict[Names, bool] = {}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        for names in _taken(node, bound):
            if names not in known:
                known[names] = wanted(names)
            if known[names]:
                found.append((node.lineno, node.col_offset, names))  # type: ignore[attr-defined]
    return ".".join(min(found)[2]) if found else None


def bindings(tree: ast.Module) -> Dict[str, Names]:
    """What a file calls things of ``tensorflow``, and what those are."""
    return {name: names for statement in _imports(tree) for name, names in _bound(statement)}


def _imports(tree: ast.Module) -> Iterator[Union[ast.Import, ast.ImportFrom]]:
    """Every import statement, those in functions too, since scripts import where they need something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level):
            yield node


def _below(module: Optional[str]) -> Optional[Names]:
    """What stands behind ``tensorflow`` in a module's name; None of another package's, and where a version is named.

    TensorFlow 1 has Keras below ``python``, and scripts take it from there; what later versions have there is a copy
    that nothing else of them uses.
    """
    package, *names = (module or "").split(".")
    if names[:2] == ["python", "keras"]:
        names = names[1:]
    return None if package != "tensorflow" or names[:1] == ["compat"] else tuple(names)


def _bound(statement: Union[ast.Import, ast.ImportFrom]) -> Iterator[Tuple[str, Names]]:
    """What a statement calls something of ``tensorflow``, and what that is."""
    if isinstance(statement, ast.ImportFrom):
        module = _below(statement.module)
        if module is not None:
            yield from ((alias.asname or alias.name, (*module, alias.name)) for alias in statement.names)
        return
    for alias in statement.names:
        names = _below(alias.name)
        if names is not None:
            yield (alias.asname, names) if alias.asname else ("tensorflow", ())


def _taken(node: ast.AST, bound: Dict[str, Names]) -> Iterator[Names]:
    """The names that an expression, or an import of single names, takes from ``tensorflow``."""
    if isinstance(node, ast.ImportFrom):
        yield from (taken for _, taken in _bound(node) if not node.level)
    names = chain(node)
    if names is not None and names[0] in bound:
        yield (*bound[names[0]], *names[1:])


def chain(node: Any) -> Optional[Names]:
    """``("tf", "train", "AdamOptimizer")`` of the expression of that form."""
    names: List[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not names or not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(names))


def _change(statement: Union[ast.Import, ast.ImportFrom], in_v1: Callable[[Names], bool]) -> bool:
    """Let an import take from version 1 what that has, and whether it does now."""
    if isinstance(statement, ast.ImportFrom):
        module = _below(statement.module)
        wanted = [] if module is None else [alias.name for alias in statement.names if alias.name != "*"]
        if module is None or not in_v1(module) or not all(in_v1((*module, name)) for name in wanted):
            return False
        statement.module = ".".join((_V1, *module))
        return True
    changed = False
    for position, alias in enumerate(statement.names):
        names = _below(alias.name)
        # `import tensorflow.nn` binds the whole package: only what has a name of its own can be another.
        if names is None or (names and not alias.asname) or not in_v1(names):
            continue
        other = ast.alias(name=".".join((_V1, *names)), asname=alias.asname or alias.name)
        statement.names[position] = ast.copy_location(other, statement)
        changed = True
    return changed


def _shown(statement: Union[ast.Import, ast.ImportFrom]) -> str:
    """A changed import as a person would write it; of many names the first that was changed."""
    names = [alias for alias in statement.names if isinstance(statement, ast.ImportFrom) or alias.name.startswith(_V1)]
    first = names[0].name + (f" as {names[0].asname}" if names[0].asname else "")
    return f"from {statement.module} import {first}" if isinstance(statement, ast.ImportFrom) else f"import {first}"
