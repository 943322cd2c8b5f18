"""What every name of a file stands for: who binds it where, and what a dotted expression leads to."""

from __future__ import annotations

import ast
import builtins
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

__all__ = ["BUILTINS", "Binding", "Path", "Scope", "dotted"]

#: Names that every module has.
BUILTINS = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__package__", "__loader__", "__path__",
    "__annotations__", "__class__", "__qualname__", "__module__", "WindowsError", "unicode", "xrange", "raw_input",
    "reduce", "basestring", "long", "unichr", "get_ipython",
}  # fmt: skip

#: Where a statement stands: the branches of ``if``, loops and handlers around it, outermost first. A statement whose
#: path begins another's is executed whenever that one is.
Path = Tuple[Tuple[int, int], ...]


class Binding(NamedTuple):
    """One place that gives a name its meaning.

    Attributes:
        kind: ``import``, ``assign``, ``parameter``, ``loop``, ``definition`` or ``other``.
        node: the statement, or the parameter.
        value: of an assignment to the name alone, what is assigned.
        target: of an import, the dotted name imported.
        path: the branches around it.
        guarded: of an import, whether a handler around it takes a missing module or name.
    """

    kind: str
    node: ast.AST
    value: Optional[ast.expr] = None
    target: str = ""
    path: Path = ()
    guarded: bool = False

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)


class Scope:
    """A module, function, class or comprehension, with the names that it binds."""

    def __init__(self, kind: str, parent: Optional[Scope] = None, node: Optional[ast.AST] = None) -> None:
        self.kind = kind
        self.parent = parent
        self.node = node
        self.names: Dict[str, List[Binding]] = {}
        #: Names declared ``global`` or ``nonlocal`` here.
        self.elsewhere: Set[str] = set()
        #: Names that stand somewhere by themselves, not as the beginning of ``name.attribute``: their values escape.
        self.bare: Dict[str, int] = {}
        #: Names whose list or dict is changed after it was made.
        self.changed: Set[str] = set()

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, binding: Binding) -> None:
        home = self.module if name in self.elsewhere else self
        home.names.setdefault(name, []).append(binding)

    def find(self, name: str) -> Tuple[Optional[Scope], List[Binding]]:
        """The scope whose name this is, and all that binds it there; (None, []) for a name that nothing binds.

        Of the scopes around this one a class is left out: it is seen from its own body alone.
        """
        scope: Optional[Scope] = self
        while scope is not None:
            if name in scope.names and name not in scope.elsewhere and (scope is self or scope.kind != "class"):
                return scope, scope.names[name]
            scope = scope.parent
        return None, []

    def only(self, name: str) -> Optional[Binding]:
        """What binds a name, where that is one place alone."""
        _, bindings = self.find(name)
        return bindings[0] if len(bindings) == 1 else None


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of an expression that is only names and dots; empty for any other."""
    if type(node) is ast.Name:
        return node.id
    parts: List[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return ""
    parts.append(node.id)
    parts.reverse()
    return ".".join(parts)
