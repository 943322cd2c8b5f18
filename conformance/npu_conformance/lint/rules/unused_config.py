"""A configuration with an entry for the adapter that nothing ever uses.

Its options reach no session: the session that was meant has no `config`, or another one. Said only of a configuration
that is made in a function, or in a file that makes its sessions itself.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    sess = tf.Session(config=npu_config_proto())
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    sess = tf.Session(config=npu_config_proto(config_proto=config))
"""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, Optional

from npu_conformance.lint.configs import OPTIMIZER, configs
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule

#: Methods by which a configuration is made, not used.
_MAKING = frozenset(["add", "append", "extend", "CopyFrom", "MergeFrom"])

#: What lets a name be read without its being written.
_UNSEEN = ("locals(", "globals(", "exec(", "eval(", "vars(")


@rule("W107", "unused-config")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    entries = [config for config in configs(module) if config.kind == OPTIMIZER and config.origin is not None]
    if not entries or any(word in module.source.text for word in _UNSEEN):
        return
    scopes = {id(call.node): call.place.scope for call in module.calls}
    tree: Optional[_Tree] = None
    for config in entries:
        name, scope = _base(config.origin), scopes.get(id(config.origin))
        if name is None or (scope is not None and scope.bare.get(name.id)):
            continue  # it stands somewhere by itself, as an argument does: it is used
        tree = tree or _Tree(module.tree)
        place = tree.holder(name)
        names = [node for node in tree.names[name.id] if tree.is_below(node, place)]
        made = [node for node in names if isinstance(node.ctx, ast.Store)]
        if len(made) != 1 or not _is_new(made[0], tree.parents) or tree.is_shared(place, name.id):
            continue
        if isinstance(place, ast.Module) and not tree.makes_sessions:
            continue
        if all(_is_making(node, tree.parents) for node in names):
            yield LintReport(made[0], f"Nothing uses {name.id}: its options for {OPTIMIZER} reach no session.")


class _Tree:
    """What one walk over a tree finds: the node above each, the names by their word, and who shares names."""

    def __init__(self, tree: ast.AST) -> None:
        self.parents: Dict[Any, Any] = {}
        self.names: Dict[str, List[ast.Name]] = {}
        self.makes_sessions = False
        self._said: List[Any] = []
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)
            if isinstance(node, ast.Name):
                self.names.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                self.makes_sessions = self.makes_sessions or called.endswith("Session")
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                self._said.append(node)

    def holder(self, node: Any) -> Any:
        """The function, class or module that a node stands in."""
        while node in self.parents and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node = self.parents[node]
        return node

    def is_below(self, node: Any, place: Any) -> bool:
        while node is not None and node is not place:
            node = self.parents.get(node)
        return node is place

    def is_shared(self, place: Any, name: str) -> bool:
        """Whether a function declares the name to be somebody else's, or a class keeps it."""
        if isinstance(place, ast.ClassDef):
            return True
        return any(name in node.names and self.is_below(node, place) for node in self._said)


def _base(node: Any) -> Optional[ast.Name]:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _is_new(node: Any, parents: Dict[Any, Any]) -> bool:
    """Whether a name is given a new ConfigProto, and no other name is."""
    given = parents.get(node)
    if not isinstance(given, ast.Assign) or len(given.targets) != 1 or not isinstance(given.value, ast.Call):
        return False
    function = given.value.func
    return getattr(function, "attr", getattr(function, "id", "")) == "ConfigProto"


def _is_making(node: Any, parents: Dict[Any, Any]) -> bool:
    """Whether a name stands where its configuration is made: assigned, or something below it is."""
    if isinstance(node.ctx, (ast.Store, ast.Del)):
        return True
    above = parents.get(node)
    if not isinstance(above, ast.Attribute):
        return False
    while isinstance(above, (ast.Attribute, ast.Subscript)) and isinstance(above.ctx, ast.Load):
        node, above = above, parents.get(above)
    if isinstance(above, (ast.Attribute, ast.Subscript)):
        return True
    return isinstance(above, ast.Call) and above.func is node and getattr(node, "attr", "") in _MAKING
