"""Statements that are written once and done many times: in loops over literals, and in functions called with them."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_conformance.lint.module import Module, SourcePlace
from npu_conformance.lint.scopes import Path, Scope, dotted
from npu_conformance.lint.values import UNKNOWN, constant, evaluate

__all__ = ["Round", "rounds"]

#: Most rounds of one statement that are looked at.
_MOST = 256

_KINDS = {"bool": bool, "int": int, "float": float, "str": str, "bytes": bytes, "list": list, "dict": dict}


class Round(NamedTuple):
    """One time a statement is done: what names are worth, where those values are written, and under which branches.

    ``called`` says that it is done in a function of its own each time.
    """

    values: Dict[str, Any]
    nodes: Dict[str, Tuple[ast.AST, Scope]]
    path: Path
    called: bool = False


def rounds(module: Module, place: SourcePlace) -> Iterator[Round]:
    """Every time that the statement at a place is done, as far as that is written out.

    Without a literal loop around it and a literal call of its function that is one round with nothing known.
    """
    found = [Round({}, {}, place.path)]
    for node, where in module.loops:
        if (id(node), 0) in place.path:
            found = [deeper for one in found for deeper in _loop(node, where, one)][:_MOST]
    function = _function_of(place.scope)
    if function is not None and len(found) == 1 and not found[0].values:
        called = list(_calls(module, function, place))[:_MOST]
        found = called or found
    for one in found:
        reached = _reached(module, one)
        if reached is not None:
            yield reached


def _loop(node: Any, where: SourcePlace, outer: Round) -> List[Round]:
    """One round for each item of a literal; the loop itself is then no branch any more."""
    items = evaluate(node.iter, where.scope, outer.values)
    if isinstance(items, dict):
        items = list(items)
    if not isinstance(items, (list, tuple)) or len(items) > _MOST:
        return [outer]
    written = _written(node.iter, where.scope)
    path = tuple(step for step in outer.path if step != (id(node), 0))
    found = []
    for number, item in enumerate(items):
        values, nodes = dict(outer.values), dict(outer.nodes)
        parts = written[number] if number < len(written) else None
        if not _bind(node.target, item, parts, where.scope, values, nodes):
            return [outer]
        found.append(Round(values, nodes, path))
    return found


def _bind(target: Any, value: Any, node: Any, scope: Scope, values: Dict[str, Any], nodes: Dict[str, Any]) -> bool:
    if isinstance(target, ast.Name):
        values[target.id] = value
        if node is not None:
            nodes[target.id] = (node, scope)
        return True
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (list, tuple)):
        return False
    if len(target.elts) != len(value):
        return False
    parts = (
        node.elts if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(value) else [None] * len(value)
    )
    return all(_bind(t, v, n, scope, values, nodes) for t, v, n in zip(target.elts, value, parts))


def _written(node: Any, scope: Scope) -> List[Any]:
    """The expressions of a literal's items, in order; pairs of ``items()`` as tuples."""
    pairs = False
    if isinstance(node, ast.Call) and dotted(node.func) in ("list", "tuple") and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Call) and dotted(node.func) == "enumerate" and node.args:
        inner = _written(node.args[0], scope)
        return [ast.Tuple(elts=[part, part], ctx=ast.Load()) for part in inner]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "keys"):
        pairs = node.func.attr == "items"
        node = node.func.value
    if isinstance(node, ast.Name):
        binding = scope.only(node.id)
        node = binding.value if binding is not None else None
    if isinstance(node, ast.Dict):
        if pairs:
            return [ast.Tuple(elts=[key, value], ctx=ast.Load()) for key, value in zip(node.keys, node.values) if key]
        return list(node.keys)
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else []


def _function_of(scope: Scope) -> Optional[Scope]:
    return scope if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _calls(module: Module, function: Scope, place: SourcePlace) -> Iterator[Round]:
    """One round for each call of a function, with its arguments as far as they can be seen."""
    node: Any = function.node
    names = [argument.arg for argument in node.args.args]
    if node.args.vararg or node.args.kwarg or not names:
        return
    if names[0] in ("self", "cls"):
        names = names[1:]
    for call in module.calls:
        if dotted(call.node.func).rpartition(".")[2] != node.name or call.place.scope is function:
            continue
        if isinstance(call.node.func, ast.Name):
            binding = call.place.scope.only(node.name)
            if binding is None or binding.node is not node:
                continue
        elif not dotted(call.node.func).startswith(("self.", "cls.")):
            continue
        given = dict(zip(names, call.node.args))
        given.update({word.arg: word.value for word in call.node.keywords if word.arg})
        if any(isinstance(argument, ast.Starred) for argument in call.node.args):
            continue
        scope = call.place.scope
        values = {name: evaluate(value, scope) for name, value in given.items() if name in names}
        known = {name: value for name, value in values.items() if value is not UNKNOWN}
        yield Round(known, {name: (given[name], scope) for name in values}, (*call.place.path, *place.path), True)


def _reached(module: Module, one: Round) -> Optional[Round]:
    """The round without the branches that its values decide; None if they keep it from the statement."""
    if not one.values:
        return one
    path: List[Tuple[int, int]] = []
    for step in one.path:
        test = module.tests.get(step[0])
        truth = None if test is None else _truth(test, one.values)
        if truth is None:
            path.append(step)
        elif truth != (step[1] == 0):
            return None
    return one._replace(path=tuple(path))


def _truth(test: Any, values: Dict[str, Any]) -> Optional[bool]:
    """Whether a condition holds, where the values of a round decide it."""
    if isinstance(test, ast.BoolOp):
        parts = [_truth(part, values) for part in test.values]
        if isinstance(test.op, ast.And):
            return False if False in parts else (None if None in parts else True)
        return True if True in parts else (None if None in parts else False)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, values)
        return None if inner is None else not inner
    if isinstance(test, ast.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2:
        return _is_of(test.args[0], test.args[1], values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, values)
    return None


def _is_of(subject: Any, kinds: Any, values: Dict[str, Any]) -> Optional[bool]:
    if not isinstance(subject, ast.Name) or subject.id not in values:
        return None
    named = [dotted(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
    if any(name not in _KINDS for name in named):
        return None
    return isinstance(values[subject.id], tuple(_KINDS[name] for name in named))


def _compared(test: ast.Compare, values: Dict[str, Any]) -> Optional[bool]:
    left, right, operator = test.left, test.comparators[0], test.ops[0]
    positive = isinstance(operator, (ast.Is, ast.Eq, ast.In))
    if not positive and not isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn)):
        return None
    if isinstance(left, ast.Call) and dotted(left.func) == "type" and len(left.args) == 1:
        subject, kind = left.args[0], dotted(right)
        if not isinstance(subject, ast.Name) or subject.id not in values or kind not in _KINDS:
            return None
        return (type(values[subject.id]) is _KINDS[kind]) == positive
    if not isinstance(left, ast.Name) or left.id not in values:
        return None
    parts = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
    known = [constant(part) for part in parts]
    if any(part is UNKNOWN for part in known):
        return None
    inside = isinstance(operator, (ast.In, ast.NotIn))
    if inside and not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
        return None
    return (values[left.id] in known if inside else values[left.id] == known[0]) == positive
