"""What an expression is worth, where that can be seen without running it: literals, and what is made of them."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.lint.scopes import Scope, dotted

__all__ = ["UNKNOWN", "Object", "Possible", "constant", "evaluate", "index_of", "joined", "possible"]

#: Longest text and sequence that is put together, and how deep names are followed.
_LONGEST = 1 << 16
_DEEPEST = 24
#: Largest whole number that is followed, in bits.
_BITS = 1024


#: A width or precision in a ``%`` directive that would make a long text of anything.
_WIDE = re.compile(r"%[^A-Za-z%]*(\*|\d{4})")


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: What cannot be seen.
UNKNOWN: Any = _Unknown()


class Object(NamedTuple):
    """An object of a configuration class: its name, and arguments of which some may be unknown."""

    class_name: str
    arguments: Tuple[Tuple[str, Any], ...]


class Possible(NamedTuple):
    """What an expression may be worth: the values seen, and whether there may be others."""

    values: Tuple[Any, ...]
    open: bool

    @property
    def only(self) -> Any:
        """The value, where it can be no other; else UNKNOWN."""
        return self.values[0] if len(self.values) == 1 and not self.open else UNKNOWN


#: How calls are read: the call and its scope to a value.
Reader = Callable[[ast.Call, Scope], Any]
Environment = Mapping[str, Any]


def constant(node: Optional[ast.AST]) -> Any:
    """The value of a literal of one token, UNKNOWN for anything else; Python 3.7 has a class for each kind."""
    kind = type(node).__name__
    value = UNKNOWN
    if kind in ("Constant", "NameConstant"):
        value = node.value  # type: ignore[union-attr]
    elif kind in ("Str", "Bytes"):
        value = node.s  # type: ignore[union-attr]
    elif kind == "Num":
        value = node.n  # type: ignore[union-attr]
    # Python itself does not write a number of thousands of digits out.
    return UNKNOWN if isinstance(value, int) and value.bit_length() > _BITS else value


def evaluate(
    node: Optional[ast.AST], scope: Scope, environment: Optional[Environment] = None, reader: Optional[Reader] = None
) -> Any:
    """The one value of an expression, or UNKNOWN."""
    return possible(node, scope, environment, reader).only


def possible(
    node: Optional[ast.AST], scope: Scope, environment: Optional[Environment] = None, reader: Optional[Reader] = None
) -> Possible:
    """What an expression may be worth: ``a if c else b`` is either, a name bound twice each of what it is bound to."""
    return _Evaluation(environment or {}, reader).possible(node, scope, 0)


_NOTHING = Possible((), True)


class _Evaluation:
    def __init__(self, environment: Environment, reader: Optional[Reader]) -> None:
        self.environment = environment
        self.reader = reader

    def possible(self, node: Any, scope: Scope, depth: int) -> Possible:
        if depth > _DEEPEST:
            return _NOTHING
        if isinstance(node, ast.IfExp):
            one, other = self.possible(node.body, scope, depth + 1), self.possible(node.orelse, scope, depth + 1)
            return joined([one, other])
        if isinstance(node, ast.Name) and node.id not in self.environment:
            return self._name(node.id, scope, depth)
        if isinstance(node, ast.Call) and _wraps_text(node) and len(node.args) >= 1:
            inner = self.possible(node.args[0], scope, depth + 1)
            values = tuple(_as_text(value) for value in inner.values)
            return Possible(tuple(v for v in values if v is not UNKNOWN), inner.open or UNKNOWN in values)
        value = self.value(node, scope, depth)
        return _NOTHING if value is UNKNOWN else Possible((value,), False)

    def _name(self, name: str, scope: Scope, depth: int) -> Possible:
        home, bindings = scope.find(name)
        if home is None or not bindings or len(bindings) > 8:
            return _NOTHING
        if any(binding.kind != "assign" or binding.value is None for binding in bindings):
            return _NOTHING
        found = joined([self.possible(binding.value, home, depth + 1) for binding in bindings])
        changeable = any(isinstance(value, (list, dict)) for value in found.values)
        return _NOTHING if changeable and (_changed(name, home) or len(bindings) > 1) else found

    def value(self, node: Any, scope: Scope, depth: int) -> Any:
        literal = constant(node)
        if literal is not UNKNOWN:
            return literal
        handler = _HANDLERS.get(type(node))
        if handler is None or depth > _DEEPEST:
            return UNKNOWN
        try:
            return handler(self, node, scope, depth + 1)
        except (TypeError, ValueError, ArithmeticError, KeyError, IndexError, LookupError, RecursionError):
            return UNKNOWN  # the script would fail here, or does what is not followed

    def one(self, node: Any, scope: Scope, depth: int) -> Any:
        return self.possible(node, scope, depth).only

    def name(self, node: ast.Name, scope: Scope, depth: int) -> Any:
        return self.environment.get(node.id, UNKNOWN)

    def sequence(self, node: Any, scope: Scope, depth: int) -> Any:
        parts = [self.one(part, scope, depth) for part in node.elts]
        if any(part is UNKNOWN for part in parts):
            return UNKNOWN
        return tuple(parts) if isinstance(node, ast.Tuple) else parts

    def dictionary(self, node: ast.Dict, scope: Scope, depth: int) -> Any:
        found: Dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                return UNKNOWN
            one, other = self.one(key, scope, depth), self.one(value, scope, depth)
            if one is UNKNOWN or other is UNKNOWN:
                return UNKNOWN
            found[one] = other
        return found

    def unary(self, node: ast.UnaryOp, scope: Scope, depth: int) -> Any:
        value = self.one(node.operand, scope, depth)
        if value is UNKNOWN or isinstance(value, str):
            return UNKNOWN
        if isinstance(node.op, ast.USub):
            return -value
        return (not value) if isinstance(node.op, ast.Not) else UNKNOWN

    def binary(self, node: ast.BinOp, scope: Scope, depth: int) -> Any:
        left, right = self.one(node.left, scope, depth), self.one(node.right, scope, depth)
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        texts = isinstance(left, (str, bytes)) and type(left) is type(right)
        if isinstance(node.op, ast.Add) and numbers:
            return left + right
        if isinstance(node.op, ast.Add) and texts:
            return left + right if len(left) + len(right) < _LONGEST else UNKNOWN
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            simple = len(left) < _LONGEST and not _WIDE.search(left) and _small(right)
            return left % right if simple else UNKNOWN
        if not numbers:
            return UNKNOWN
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult) and abs(left) < 1 << 64 and abs(right) < 1 << 64:
            return left * right
        if isinstance(node.op, ast.Pow) and 0 <= left < 1 << 16 and 0 <= right <= 64:
            return left**right
        if isinstance(node.op, ast.LShift) and isinstance(left, int) and 0 <= right <= 64:
            return left << right
        return left // right if isinstance(node.op, ast.FloorDiv) else UNKNOWN

    def formatted(self, node: ast.JoinedStr, scope: Scope, depth: int) -> Any:
        parts: List[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.one(part.value, scope, depth)
                plain = part.conversion == -1 and part.format_spec is None
                if value is UNKNOWN or not plain or not isinstance(value, (str, int, float, bool)):
                    return UNKNOWN
                parts.append(str(value))
            else:
                parts.append(constant(part))
        return "".join(parts)

    def subscript(self, node: ast.Subscript, scope: Scope, depth: int) -> Any:
        holder = self.one(node.value, scope, depth)
        key = self.one(index_of(node), scope, depth)
        if holder is UNKNOWN or key is UNKNOWN or not isinstance(holder, (dict, list, tuple)):
            return UNKNOWN
        return holder[key]

    def call(self, node: ast.Call, scope: Scope, depth: int) -> Any:
        if self.reader is not None:
            found = self.reader(node, scope)
            if found is not UNKNOWN:
                return found
        name = dotted(node.func)
        if _wraps_text(node):
            return _as_text(self.one(node.args[0], scope, depth)) if node.args else UNKNOWN
        if name in ("str", "repr", "int", "bool", "float") and len(node.args) == 1 and not node.keywords:
            value = self.one(node.args[0], scope, depth)
            if value is UNKNOWN or scope.find(name)[0] is not None:
                return UNKNOWN
            if name in ("str", "repr"):
                text = str(value) if name == "str" else repr(value)
                return text if len(text) <= _LONGEST and not isinstance(value, (bytes, Object)) else UNKNOWN
            return {"int": int, "bool": bool, "float": float}[name](value)
        if name in ("json.dumps", "dumps") and len(node.args) == 1:
            value = self.one(node.args[0], scope, depth)
            return UNKNOWN if value is UNKNOWN else json.dumps(value)
        if name in _SEQUENCES and node.args and scope.find(name)[0] is None and not node.keywords:
            parts = [self.one(argument, scope, depth) for argument in node.args]
            whole = all(isinstance(part, (list, tuple, dict)) and len(part) < _LONGEST for part in parts)
            return _SEQUENCES[name](*parts) if whole else UNKNOWN
        if name == "dict" and not node.args and scope.find(name)[0] is None:
            return self.keywords(node, scope, depth)
        return self._method(node, scope, depth)

    def keywords(self, node: ast.Call, scope: Scope, depth: int) -> Any:
        values = {word.arg: self.one(word.value, scope, depth) for word in node.keywords if word.arg is not None}
        return UNKNOWN if UNKNOWN in values.values() or len(values) != len(node.keywords) else values

    def _method(self, node: ast.Call, scope: Scope, depth: int) -> Any:
        if not isinstance(node.func, ast.Attribute):
            return UNKNOWN
        method, holder = node.func.attr, self.one(node.func.value, scope, depth)
        if method == "encode" and isinstance(holder, str):
            return holder.encode("utf-8")
        if method == "decode" and isinstance(holder, bytes):
            return holder.decode("utf-8")
        if method in ("strip", "lower", "upper") and isinstance(holder, str) and not node.args:
            return getattr(holder, method)()
        if method == "join" and isinstance(holder, str) and len(node.args) == 1:
            parts = self.one(node.args[0], scope, depth)
            if parts is UNKNOWN or len(holder) * len(parts) + sum(map(len, parts)) > _LONGEST:
                return UNKNOWN
            return holder.join(parts)
        if method == "format" and isinstance(holder, str) and not node.keywords:
            parts = [self.one(argument, scope, depth) for argument in node.args]
            simple = all(isinstance(part, (str, int, float)) for part in parts) and ":" not in holder
            longest = len(holder) + holder.count("{") * max([len(str(part)) for part in parts] or [0])
            return holder.format(*parts) if simple and longest < _LONGEST else UNKNOWN
        if method in ("items", "keys", "values") and isinstance(holder, dict) and not node.args:
            return list(getattr(holder, method)())
        return UNKNOWN


#: Functions of Python that put sequences together anew.
_SEQUENCES: Dict[str, Callable[..., Any]] = {
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "enumerate": lambda *parts: list(enumerate(*parts)),
    "zip": lambda *parts: list(zip(*parts)),
    "reversed": lambda *parts: list(reversed(*parts)),
}


def _small(value: Any) -> bool:
    return isinstance(value, (str, int, float)) or (isinstance(value, tuple) and all(map(_small, value)))


def joined(found: Sequence[Possible]) -> Possible:
    """What one of several expressions may be worth."""
    values: List[Any] = []
    for one in found:
        values += [value for value in one.values if not any(value == v and type(value) is type(v) for v in values)]
    return Possible(tuple(values), any(one.open for one in found))


def _changed(name: str, scope: Scope) -> bool:
    """Whether a list or dict of this name is changed, or handed to whoever may change it."""
    return name in scope.changed or name in scope.module.changed


def _wraps_text(node: ast.Call) -> bool:
    """Whether a call makes bytes of a text or a text of bytes and nothing else: the value is the same to us."""
    return dotted(node.func).rpartition(".")[2] in ("as_bytes", "as_text", "as_str", "as_str_any", "bytes")


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else UNKNOWN


def index_of(node: ast.Subscript) -> ast.AST:
    """What stands between the brackets; until Python 3.8 it is wrapped."""
    inner: Any = node.slice
    return inner.value if type(inner).__name__ == "Index" else inner


_HANDLERS: Dict[Any, Callable[[_Evaluation, Any, Scope, int], Any]] = {
    ast.Name: _Evaluation.name,
    ast.Tuple: _Evaluation.sequence,
    ast.List: _Evaluation.sequence,
    ast.Dict: _Evaluation.dictionary,
    ast.UnaryOp: _Evaluation.unary,
    ast.BinOp: _Evaluation.binary,
    ast.JoinedStr: _Evaluation.formatted,
    ast.Subscript: _Evaluation.subscript,
    ast.Call: _Evaluation.call,
}
