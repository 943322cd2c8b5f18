"""What a file holds that rules look at: imports, calls, assignments, blocks, all met in one walk over its tree."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from npu_conformance.lint.scopes import Binding, Path, Scope, dotted
from npu_conformance.lint.source import Source
from npu_reference import surface

__all__ = ["Call", "Import", "Module", "SourcePlace", "Reference", "StoredName"]

_MUTATORS = frozenset(["append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "popitem",
                       "sort", "reverse", "add", "discard"])  # fmt: skip

#: Handlers of these take a module or name that is not there.
_MISSING = frozenset(
    ["ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "Exception", "BaseException"]
)


class SourcePlace(NamedTuple):
    """Where something stands: its statement, the list of statements that one is in, scope and branches."""

    scope: Scope
    path: Path
    statement: ast.stmt
    block: List[ast.stmt]
    guarded: bool


class Call(NamedTuple):
    """A call, and where."""

    node: ast.Call
    place: SourcePlace


class StoredName(NamedTuple):
    """An assignment to something that is no plain name: ``target = value``; of ``a += b`` the value is None."""

    target: ast.expr
    value: Optional[ast.expr]
    place: SourcePlace


class Reference(NamedTuple):
    """A name that is read, with the attributes behind it: ``a.b.c`` is ``node`` with the dotted text."""

    node: ast.expr
    name: ast.Name
    text: str
    place: SourcePlace


class Import(NamedTuple):
    """One alias of an import statement; ``name`` is empty for ``import module``."""

    node: Any
    alias: ast.alias
    module: str
    name: str
    place: SourcePlace


class Module:
    """A file read once; rules ask it for what they need.

    Attributes:
        imports, calls, stores, references, loops, expressions: in the order of the file; ``expressions`` are calls and
            names that stand as a statement of their own.
        stars: modules of which everything is imported.
        local_stars: whether one of them is relative or a file of the project's own.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = source.tree
        self.scope = Scope("module")
        self.imports: List[Import] = []
        self.calls: List[Call] = []
        self.stores: List[StoredName] = []
        self.references: List[Reference] = []
        self.loops: List[Tuple[ast.For, SourcePlace]] = []
        self.withs: List[Tuple[ast.withitem, SourcePlace]] = []
        self.decorators: List[Tuple[ast.expr, SourcePlace]] = []
        self.functions: List[Tuple[Any, Scope, SourcePlace]] = []
        self.stars: List[Import] = []
        #: The condition of every ``if``, by the identity of the statement, as branches name it.
        self.tests: Dict[int, ast.expr] = {}
        #: What rules have worked out together, by the name of the fact.
        self.facts: Dict[str, Any] = {}
        _Walker(self).module(source.tree)
        #: Whether the names of the adapter's star import are all here.
        self.adapter_star = any(surface.canonical(one.module) == surface.STAR for one in self.stars)

    def fact(self, name: str, make: Callable[[Module], Any]) -> Any:
        """A fact several rules need, worked out once."""
        if name not in self.facts:
            self.facts[name] = make(self)
        return self.facts[name]

    @property
    def uses_adapter(self) -> bool:
        """Whether the file imports the adapter, by any way, or names its optimizer."""
        if "adapter" not in self.facts:
            text = self.source.text
            self.facts["adapter"] = "NpuOptimizer" in text or any(
                is_adapter(one.module) or is_adapter(f"{one.module}.{one.name}") for one in self.imports
            )
        return bool(self.facts["adapter"])

    def resolve(self, node: ast.AST, scope: Scope, depth: int = 0) -> str:
        """The dotted name, from its top package on, that an expression of names and dots stands for.

        Empty for what is bound here, has several meanings, or cannot be known. A name that nothing binds is one of the
        adapter's star import where the file has it.
        """
        parts: List[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or depth > 4:
            return ""
        head = self._head(node.id, scope, depth)
        return ".".join([head, *reversed(parts)]) if head else ""

    def _head(self, name: str, scope: Scope, depth: int) -> str:
        home, bindings = scope.find(name)
        if home is None:
            if self.adapter_star and name in surface.star_names():
                entry = surface.star_names()[name]
                return _OUTSIDE.get(name) or f"{surface.STAR}.{entry.name}"
            return ""
        targets = {one.target for one in bindings if one.kind == "import"}
        others = [one for one in bindings if one.kind != "import"]
        if len(targets) == 1 and all(_is_none(one.value) for one in others):
            return next(iter(targets))  # `except ImportError: name = None` leaves its meaning
        if (
            len(bindings) == 1
            and bindings[0].value is not None
            and isinstance(bindings[0].value, (ast.Name, ast.Attribute))
        ):
            return self.resolve(bindings[0].value, home, depth + 1)
        return ""


#: Names of the adapter's star import that are other packages' own.
_OUTSIDE = {
    "tf": "tensorflow",
    "os": "os",
    "RewriterConfig": "tensorflow.core.protobuf.rewriter_config_pb2.RewriterConfig",
    "config_pb2": "tensorflow.core.protobuf.config_pb2",
    "rewriter_config_pb2": "tensorflow.core.protobuf.rewriter_config_pb2",
}


_PACKAGES = frozenset(surface.packages())


def is_adapter(name: str) -> bool:
    """Whether a dotted name lies in a package of the adapter."""
    return name.split(".")[0] in _PACKAGES


def _is_none(value: Optional[ast.expr]) -> bool:
    return type(value) in _LEAVES and getattr(value, "value", 0) is None


class _Walker:
    """One walk: statements in order, expressions below them; what it meets goes into the module's lists."""

    def __init__(self, module: Module) -> None:
        self.out = module
        self.scope = module.scope
        self.path: Path = ()
        self.guards = 0
        self.statement: Any = None
        self.block: List[ast.stmt] = []
        self._place: Optional[SourcePlace] = None
        self._later: List[Tuple[Any, Scope, Path, int]] = []

    def module(self, tree: ast.Module) -> None:
        self.body(tree.body)
        # Bodies of functions are read when all that the module binds is known.
        while self._later:
            node, scope, path, guards = self._later.pop(0)
            self.scope, self.path, self.guards = scope, path, guards
            self.body(node.body)

    # -- statements -----------------------------------------------------------------------------------------------
    def body(self, statements: List[ast.stmt]) -> None:
        before = self.block, self.statement
        self.block = statements
        for statement in statements:
            self.statement = statement
            self._place = None
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                self.children(statement)
            else:
                handler(self, statement)
        self.block, self.statement = before
        self._place = None

    @property
    def place(self) -> SourcePlace:
        if self._place is None:
            self._place = SourcePlace(self.scope, self.path, self.statement, self.block, self.guards > 0)
        return self._place

    def branch(self, statements: List[ast.stmt], node: ast.AST, number: int) -> None:
        before = self.path
        self.path = (*before, (id(node), number))
        self.body(statements)
        self.path = before
        self._place = None

    def if_(self, node: ast.If) -> None:
        self.expression(node.test)
        self.out.tests[id(node)] = node.test
        if _is_main(node.test):
            self.body(node.body)
        else:
            self.branch(node.body, node, 0)
        self.branch(node.orelse, node, 1)

    def for_(self, node: Any) -> None:
        self.expression(node.iter)
        self.target(node.target, None, "loop", node)
        self.out.loops.append((node, self.place))
        self.branch(node.body, node, 0)
        self.body(node.orelse)

    def while_(self, node: ast.While) -> None:
        self.expression(node.test)
        self.branch(node.body, node, 0)
        self.body(node.orelse)

    def with_(self, node: Any) -> None:
        for item in node.items:
            self.expression(item.context_expr)
            self.out.withs.append((item, self.place))
            if item.optional_vars is not None:
                self.target(item.optional_vars, None, "other", node)
        self.body(node.body)

    def try_(self, node: Any) -> None:
        guard = any(_takes_missing(handler.type) for handler in node.handlers)
        self.guards += guard
        self.body(node.body)
        self.guards -= guard
        for number, handler in enumerate(node.handlers):
            if handler.type is not None:
                self.expression(handler.type)
            if handler.name:
                self.scope.bind(handler.name, Binding("other", handler, path=self.path))
            self.guards += guard
            self.branch(handler.body, node, number + 1)
            self.guards -= guard
        self.body(node.orelse)
        self.body(node.finalbody)

    def match_(self, node: Any) -> None:
        self.expression(node.subject)
        for number, case in enumerate(node.cases):
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.scope.bind(name, Binding("other", node, path=self.path))
            self.branch(case.body, node, number)

    def function(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator)
            self.out.decorators.append((decorator, self.place))
        arguments = node.args
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self.expression(default)
        self.scope.bind(node.name, Binding("definition", node, path=self.path))
        scope = Scope("function", self.scope, node)
        self.parameters(arguments, scope)
        _collect_elsewhere(node, scope)
        self.out.functions.append((node, scope, self.place))
        self._later.append((node, scope, self.path, self.guards))

    def parameters(self, arguments: ast.arguments, scope: Scope) -> None:
        every = [*getattr(arguments, "posonlyargs", []), *arguments.args, *arguments.kwonlyargs]
        for one in [*every, arguments.vararg, arguments.kwarg]:
            if one is not None:
                scope.bind(one.arg, Binding("parameter", one))

    def class_(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator)
        for base in node.bases:
            self.expression(base)
        for keyword in node.keywords:
            self.expression(keyword.value)
        self.scope.bind(node.name, Binding("definition", node, path=self.path))
        before = self.scope
        self.scope = Scope("class", before, node)
        self.body(node.body)
        self.scope = before
        self._place = None

    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            self.out.imports.append(Import(node, alias, alias.name, "", self.place))
            target = alias.name if alias.asname else alias.name.split(".")[0]
            name = alias.asname or target
            self.scope.bind(name, Binding("import", node, None, target, self.path, self.guards > 0))

    def import_from(self, node: ast.ImportFrom) -> None:
        module = "." * (node.level or 0) + (node.module or "")
        for alias in node.names:
            found = Import(node, alias, module, alias.name, self.place)
            self.out.imports.append(found)
            if alias.name == "*":
                self.out.stars.append(found)
            else:
                target = f"{module}.{alias.name}"
                binding = Binding("import", node, None, target, self.path, self.guards > 0)
                self.scope.bind(alias.asname or alias.name, binding)

    def assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self.target(target, node.value, "assign", node)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.expression(node.value)
        self.target(node.target, node.value, "assign", node)

    def augmented(self, node: ast.AugAssign) -> None:
        self.expression(node.value)
        self.target(node.target, None, "other", node)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.bind(target.id, Binding("other", node, path=self.path))
            else:
                self.target(target, None, "other", node)

    def elsewhere(self, node: Any) -> None:
        if self.scope.kind == "module":
            return
        for name in node.names:
            self.scope.elsewhere.add(name)

    def expression_statement(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def target(self, target: ast.expr, value: Optional[ast.expr], kind: str, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, Binding(kind, node, value, path=self.path))
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: List[Optional[ast.expr]] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                parts = list(value.elts)
            for one, part in zip(target.elts, parts):
                self.target(one, part, kind if part is not None or kind == "loop" else "other", node)
        elif isinstance(target, ast.Starred):
            self.target(target.value, None, "other", node)
        else:
            self.out.stores.append(StoredName(target, value, self.place))
            if isinstance(target, ast.Subscript):
                name = target.value
                if isinstance(name, ast.Name):
                    self.scope.changed.add(name.id)
                self.expression(target.slice)
                self.expression(target.value)
            elif isinstance(target, ast.Attribute) and not isinstance(target.value, ast.Name):
                self.expression(target.value)  # of `name.attribute = value` the name's value goes nowhere

    # -- expressions ----------------------------------------------------------------------------------------------
    # What reads parts calls the reader of each itself: one frame a level, since expressions may be nested deeply.
    def children(self, node: ast.AST) -> None:
        for name in node._fields:
            if name in _WITHOUT_NAMES:
                continue
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                _reader(value)(self, value)
            elif type(value) is list:
                for child in value:
                    if isinstance(child, ast.AST):
                        _reader(child)(self, child)

    def expression(self, node: Any) -> None:
        _reader(node)(self, node)

    def name(self, node: ast.Name) -> None:
        bare, name = self.scope.bare, node.id
        bare[name] = bare.get(name, 0) + 1
        self.out.references.append(Reference(node, node, name, self._place or self.place))

    def attribute(self, node: ast.Attribute) -> None:
        parts = [node.attr]
        name: Any = node.value
        while type(name) is ast.Attribute:
            parts.append(name.attr)
            name = name.value
        if type(name) is ast.Name:
            parts.append(name.id)
            parts.reverse()
            self.out.references.append(Reference(node, name, ".".join(parts), self._place or self.place))
        else:
            _reader(name)(self, name)

    def call(self, node: ast.Call) -> None:
        self.out.calls.append(Call(node, self._place or self.place))
        function = node.func
        if type(function) is ast.Attribute and type(function.value) is ast.Name and function.attr in _MUTATORS:
            self.scope.changed.add(function.value.id)
        _reader(function)(self, function)
        for argument in node.args:
            _reader(argument)(self, argument)
        for keyword in node.keywords:
            _reader(keyword.value)(self, keyword.value)

    def leaf(self, node: ast.AST) -> None:
        pass

    def lambda_(self, node: ast.Lambda) -> None:
        before = self.scope
        self.scope = Scope("function", before, node)
        self._place = None
        self.parameters(node.args, self.scope)
        self.expression(node.body)
        self.scope = before
        self._place = None

    def named(self, node: Any) -> None:
        self.expression(node.value)
        home = self.scope
        while home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        home.bind(node.target.id, Binding("other", node, path=self.path))

    def comprehension(self, node: Any) -> None:
        before = self.scope
        self.scope = Scope("comprehension", before, node)
        self._place = None
        for generator in node.generators:
            self.expression(generator.iter)
            self.target(generator.target, None, "loop", node)
            for test in generator.ifs:
                self.expression(test)
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            self.expression(node.value)
        else:
            self.expression(node.elt)
        self.scope = before
        self._place = None


def _collect_elsewhere(node: Any, scope: Scope) -> None:
    """Names that a function declares ``global``: known before its body is read, since they may be bound above."""
    for part in node.body:
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            scope.elsewhere.update(part.names)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _takes_missing(kind: Optional[ast.expr]) -> bool:
    if kind is None:
        return True
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(dotted(name).rpartition(".")[2] in _MISSING for name in names)


#: Expressions without parts: constants, under the names that Python 3.7 has for them.
_LEAVES = {type(part.value) for part in ast.parse("1; ''; b''; None; ...").body if isinstance(part, ast.Expr)}
_COMPREHENSIONS = {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}

_STATEMENTS: Dict[Any, Callable[[_Walker, Any], None]] = {
    ast.If: _Walker.if_,
    ast.For: _Walker.for_,
    ast.AsyncFor: _Walker.for_,
    ast.While: _Walker.while_,
    ast.With: _Walker.with_,
    ast.AsyncWith: _Walker.with_,
    ast.Try: _Walker.try_,
    ast.FunctionDef: _Walker.function,
    ast.AsyncFunctionDef: _Walker.function,
    ast.ClassDef: _Walker.class_,
    ast.Import: _Walker.import_,
    ast.ImportFrom: _Walker.import_from,
    ast.Assign: _Walker.assign,
    ast.AnnAssign: _Walker.annotated,
    ast.AugAssign: _Walker.augmented,
    ast.Delete: _Walker.delete,
    ast.Global: _Walker.elsewhere,
    ast.Nonlocal: _Walker.elsewhere,
    ast.Expr: _Walker.expression_statement,
}
#: Fields of expressions in which no name stands.
_WITHOUT_NAMES = frozenset(["ctx", "op", "ops"])

_EXPRESSIONS: Dict[Any, Callable[[_Walker, Any], None]] = {
    ast.Name: _Walker.name,
    ast.Attribute: _Walker.attribute,
    ast.Call: _Walker.call,
    ast.Lambda: _Walker.lambda_,
    **dict.fromkeys(_COMPREHENSIONS, _Walker.comprehension),
    **dict.fromkeys(_LEAVES, _Walker.leaf),
}


def _reader(node: ast.AST) -> Callable[[_Walker, Any], None]:
    """How an expression, or a part of one, is read."""
    return _EXPRESSIONS.get(type(node), _Walker.children)


if hasattr(ast, "NamedExpr"):
    _EXPRESSIONS[ast.NamedExpr] = _Walker.named
for _name, _handler in (("TryStar", _Walker.try_), ("Match", _Walker.match_)):
    if hasattr(ast, _name):
        _STATEMENTS[getattr(ast, _name)] = _handler
