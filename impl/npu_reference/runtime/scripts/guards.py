"""Which places of a file say nothing about the TensorFlow it is written for: those it chooses by version, or later."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterable, Iterator, List, Set

from npu_reference.runtime.scripts.tf1_sources import Names, bindings, chain

__all__ = ["chosen_by_version", "not_at_import"]

#: What is raised where a version lacks a name. Whoever catches more guards against other things, too.
_LACKING = frozenset(["AttributeError", "ImportError", "ModuleNotFoundError", "NameError"])

#: What of TensorFlow tells its version.
_TELLING = frozenset(["__version__", "VERSION", "executing_eagerly"])

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

#: Methods that run where their class is called.
_MAKING = ("__init__", "__new__", "__call__")


def chosen_by_version(tree: ast.Module) -> Set[int]:
    """Ids of the nodes that run under one version of TensorFlow only, since the file itself takes care of others.

    They stand in a condition on the version or on what TensorFlow has, in what such a condition leaves over by ending
    its block, or beside a handler of the errors that a missing name raises.
    """
    finder = _Finder(bindings(tree))
    finder.learn(tree)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                finder.look(block)
        if isinstance(node, (ast.IfExp, ast.BoolOp)) and finder.asks(getattr(node, "test", node)):
            finder.leave_out([node])
    return finder.left_out


def not_at_import(tree: ast.Module) -> Set[int]:
    """Ids of the nodes that do not run while the file is imported: in functions that nothing calls then, and where the
    file is the script itself."""
    functions: Dict[str, List[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            made = [one for one in node.body if isinstance(one, _FUNCTIONS) and getattr(one, "name", "") in _MAKING]
            functions.setdefault(node.name, []).extend(made)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.setdefault(node.name, []).append(node)
    running: Set[int] = set()
    waiting: List[ast.AST] = [tree]
    while waiting:
        for node in _run(waiting.pop()):
            if id(node) in running:
                continue
            running.add(id(node))
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                waiting.extend(functions.pop(called, ()))
    return {id(node) for node in ast.walk(tree)} - running


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """What runs where a module, or the body of a function, does; of functions in it what runs as they are defined."""
    waiting: List[Any] = [node]
    if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
        waiting = list(node.body)
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, _FUNCTIONS):
            waiting.extend([one.args, *getattr(one, "decorator_list", ())])
        elif not (isinstance(one, ast.If) and _is_main(one.test)):
            waiting.extend(ast.iter_child_nodes(one))
        else:
            waiting.extend(one.orelse)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and getattr(test.left, "id", "") == "__name__"


class _Finder:
    def __init__(self, bound: Dict[str, Names]) -> None:
        self.bound = bound
        self.flags: Set[str] = set()
        self.left_out: Set[int] = set()

    def learn(self, tree: ast.Module) -> None:
        """The names that a version was asked for beforehand: ``TF2 = tf.__version__.startswith("2")``."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and self.asks(node.value):
                self.flags.update(target.id for target in node.targets if isinstance(target, ast.Name))

    def asks(self, test: ast.AST) -> bool:
        """Whether an expression depends on the version of TensorFlow, or on what it has."""
        return any(self._tells(node) for node in ast.walk(test))

    def _tells(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.flags
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr" and node.args:
            return self._is_ours(node.args[0])
        return isinstance(node, ast.Attribute) and node.attr in _TELLING and self._is_ours(node.value)

    def _is_ours(self, node: ast.AST) -> bool:
        root = node.id if isinstance(node, ast.Name) else (chain(node) or ("",))[0]
        return root in self.bound

    def leave_out(self, nodes: Iterable[ast.AST]) -> None:
        """None of these says anything, nor what is in them."""
        self.left_out.update(id(inner) for node in nodes for inner in ast.walk(node))

    def look(self, block: List[ast.stmt]) -> None:
        """Statements that stand one after the other."""
        for position, statement in enumerate(block):
            if isinstance(statement, ast.If) and self.asks(statement.test):
                self.leave_out([statement])
                if any(_ends(branch) for branch in (statement.body, statement.orelse)):
                    self.leave_out(block[position + 1 :])
            elif isinstance(statement, ast.Try) and any(_catches(one) for one in statement.handlers):
                self.leave_out([*statement.body, *statement.handlers, *statement.orelse])


def _ends(block: List[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for names that a version lacks."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _LACKING for kind in kinds)
