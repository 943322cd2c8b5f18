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
from npu_conformance.lint.registry import Report, Settings, rule

#: Methods by which a configuration is made, not used.
_MAKING = frozenset(["add", "append", "extend", "CopyFrom", "MergeFrom"])

#: What lets a name be read without its being written.
_UNSEEN = ("locals(", "globals(", "exec(", "eval(", "vars(")


@rule("W107", "unused-config")
def check(module: Module, settings: Settings) -> Iterator[Report]:
    entries = [config for config in configs(module) if config.kind == OPTIMIZER and config.origin is not None]
    if not entries or any(word in module.source.text for word in _UNSEEN):
        return
    parents = _parents(module.tree)
    for config in entries:
        name = _base(config.origin)
        if name is None:
            continue
        place = _holder(name, parents)
        made = [node for node in _names(place, name.id) if isinstance(node.ctx, ast.Store)]
        if len(made) != 1 or not _is_new(made[0], parents) or _shared(place, name.id):
            continue
        if isinstance(place, ast.Module) and not _makes_sessions(place):
            continue
        if all(_is_making(node, parents) for node in _names(place, name.id)):
            yield Report(made[0], f"Nothing uses {name.id}: its options for {OPTIMIZER} reach no session.")


def _parents(tree: ast.AST) -> Dict[Any, Any]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _base(node: Any) -> Optional[ast.Name]:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _holder(node: Any, parents: Dict[Any, Any]) -> Any:
    while node in parents and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        node = parents[node]
    return node


def _names(place: Any, name: str) -> List[ast.Name]:
    return [node for node in ast.walk(place) if isinstance(node, ast.Name) and node.id == name]


def _is_new(node: Any, parents: Dict[Any, Any]) -> bool:
    """Whether a name is given a new ConfigProto, and no other name is."""
    given = parents.get(node)
    if not isinstance(given, ast.Assign) or len(given.targets) != 1 or not isinstance(given.value, ast.Call):
        return False
    function = given.value.func
    return getattr(function, "attr", getattr(function, "id", "")) == "ConfigProto"


def _shared(place: Any, name: str) -> bool:
    """Whether a function declares the name to be somebody else's, or a class keeps it."""
    if isinstance(place, ast.ClassDef):
        return True
    said = (node for node in ast.walk(place) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return any(name in node.names for node in said)


def _makes_sessions(tree: ast.AST) -> bool:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(getattr(one, "attr", getattr(one, "id", "")).endswith("Session") for one in calls)


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
