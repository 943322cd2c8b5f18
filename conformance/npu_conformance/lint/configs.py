"""Which options a script gives to which configuration: the entries of NpuOptimizer, NPURunConfig and its objects."""

from __future__ import annotations

import ast
import difflib
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from npu_conformance.lint.expanding import Round, rounds
from npu_conformance.lint.module import Call, Module, SourcePlace
from npu_conformance.lint.scopes import Path, Scope, dotted
from npu_conformance.lint.signatures import signature_of
from npu_conformance.lint.usage import called, uses
from npu_conformance.lint.values import UNKNOWN, Object, Possible, constant, evaluate, index_of, joined, possible
from npu_reference import surface
from npu_reference.options import CLASSES, OPTIONS
from npu_reference.spelling import like

__all__ = ["FIELDS", "OPTIMIZER", "RUN_CONFIG", "Config", "GivenConfig", "configs", "configuration_class"]

#: The name that an entry of custom_optimizers needs to have (G5).
OPTIMIZER = "NpuOptimizer"
RUN_CONFIG = "NPURunConfig"

#: Fields of an entry of a parameter map that options are written to.
FIELDS = ("b", "i", "f", "s")

#: Fields that such an entry has besides, as every AttrValue.
_OTHER_FIELDS = ("type", "shape", "tensor", "list", "func", "placeholder")

#: Arguments of tf.estimator.RunConfig itself, of all versions: TensorFlow's business, not ours.
RUN_CONFIG_OF_TENSORFLOW = frozenset(
    ["model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
     "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
     "train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute",
     "experimental_max_worker_delay_secs", "session_creation_timeout_secs", "checkpoint_save_graph_def"]
)  # fmt: skip


class GivenConfig(NamedTuple):
    """One option given in one place.

    Attributes:
        name: the option or argument.
        field: the field of the parameter map that is written; empty for an argument, ``?`` for the entry as a whole.
        values: what the value may be.
        key, value: where name and value are written; ``target`` is the whole left side of an assignment.
        text: whether the value is written as a text literal where bytes are needed.
        path: the branches around it.
        copied: whether it is written by way of a loop, function or variable, so that its place is not the only one.
    """

    name: str
    field: str
    values: Possible
    key: Any
    value: Any
    target: Any
    text: bool
    path: Path
    copied: bool


class Config(NamedTuple):
    """One configuration: ``kind`` is OPTIMIZER, a class or a function. ``complete`` says that all options are in sight.

    ``origin`` is where it is made, if that is in sight; ``name`` and ``name_node`` what an entry is called.
    """

    kind: str
    origin: Any
    given: Tuple[GivenConfig, ...]
    complete: bool
    path: Path
    name: Any = OPTIMIZER
    name_node: Any = None

    @property
    def surface(self) -> str:
        return "session" if self.kind == OPTIMIZER else "runconfig"


def configs(module: Module) -> List[Config]:
    """All configurations of a file, in its order."""
    return module.fact("configs", _found)


def _found(module: Module) -> List[Config]:
    found = [*_Entries(module).configs(), *_constructed(module), *_function_options(module)]
    return sorted(found, key=lambda one: min([getattr(g.key, "lineno", 0) for g in one.given] or [one.origin.lineno]))


# -- the parameter map ----------------------------------------------------------------------------------------------
class _Entry:
    """An entry of custom_optimizers in the making."""

    def __init__(self, origin: Any, complete: bool, path: Path) -> None:
        self.origin = origin
        self.complete = complete
        self.path = path
        self.given: List[GivenConfig] = []
        self.names: List[Tuple[Any, Any]] = []  # value, node


class _Entries:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.entries: Dict[Any, _Entry] = {}

    def configs(self) -> Iterator[Config]:
        text = self.module.source.text
        if "parameter_map" not in text and "custom_optimizers" not in text:
            return
        for store in self.module.stores:
            self._store(store.target, store.value, store.place)
        for call in self.module.calls:
            self._call(call)
        for entry in self.entries.values():
            yield from self._config(entry)

    def _config(self, entry: _Entry) -> Iterator[Config]:
        if not entry.given and not entry.names:
            return
        values = {value if isinstance(value, (str, type(UNKNOWN))) else str(value) for value, _ in entry.names}
        name = next(iter(values)) if len(values) == 1 else (UNKNOWN if values else None)
        node = entry.names[0][1] if entry.names else None
        if not self._is_ours(name, entry):
            return
        yield Config(OPTIMIZER, entry.origin, tuple(entry.given), entry.complete, entry.path, name, node)

    def _is_ours(self, name: Any, entry: _Entry) -> bool:
        if name == OPTIMIZER:
            return True
        if isinstance(name, str):
            return difflib.SequenceMatcher(None, name.lower(), OPTIMIZER.lower()).ratio() > 0.75
        known = any(_resembles_option(one.name) for one in entry.given)
        return self.module.uses_adapter and (known or name is UNKNOWN)

    # what is assigned
    def _store(self, target: Any, value: Any, place: SourcePlace) -> None:
        if isinstance(target, ast.Attribute) and target.attr == "name":
            key = self._key(target.value, place.scope, getattr(target, "lineno", 0), None)
            if (
                key is not None
                and (key in self.entries or key[0] in ("made", "text"))
                and self._is_entry(target.value, place)
            ):
                entry = self._entry(key, target.value, place)
                entry.names.append((evaluate(value, place.scope), value))
            return
        if isinstance(target, ast.Attribute):
            holder = self._slot(target.value, place.scope)
            if holder is not None:
                self._given(holder, target.attr, value, target, place)
        elif isinstance(target, ast.Subscript):
            holder = self._slot(target, place.scope)
            if holder is not None:
                self._given(holder, "?", value, target, place)

    def _call(self, call: Call) -> None:
        node, place = call.node, call.place
        if dotted(node.func) == "setattr" and len(node.args) == 3:
            holder = self._slot(node.args[0], place.scope)
            if holder is not None:
                self._given(holder, node.args[1], node.args[2], node, place, copied=True)
        elif (
            isinstance(node.func, ast.Attribute) and node.func.attr in ("CopyFrom", "MergeFrom") and len(node.args) == 1
        ):
            holder, message = self._slot(node.func.value, place.scope), node.args[0]
            if holder is None or not isinstance(message, ast.Call):
                return
            for word in message.keywords:
                if dotted(message.func).endswith("AttrValue") and word.arg:
                    self._given(holder, word.arg, word.value, node, place, copied=True)
        elif _is_add(node):
            for word in node.keywords:
                if word.arg == "name":
                    entry = self._entry(("made", id(node)), node, place)
                    entry.names.append((evaluate(word.value, place.scope), word.value))

    def _slot(self, node: Any, scope: Scope) -> Optional[Tuple[ast.Subscript, Any]]:
        """The subscript of a parameter map that an expression is, or a name for, and the entry it belongs to."""
        if isinstance(node, ast.Name):
            binding = scope.only(node.id)
            node = binding.value if binding is not None else None
        if not isinstance(node, ast.Subscript):
            return None
        map_: Any = node.value
        if isinstance(map_, ast.Name):
            binding = scope.only(map_.id)
            map_ = binding.value if binding is not None else None
        if isinstance(map_, ast.Attribute) and map_.attr == "parameter_map":
            return node, map_.value
        return None

    def _given(
        self,
        holder: Tuple[ast.Subscript, Any],
        written: Any,
        value: Any,
        target: Any,
        place: SourcePlace,
        copied: bool = False,
    ) -> None:
        """Note an option for every time that the statement is done; ``written`` is the field, or where it is named."""
        subscript, base = holder
        index: Any = index_of(subscript)
        every = list(rounds(self.module, place))
        if every[0].called and self._made_in(base, target, place):
            if isinstance(written, str):
                self._of_each_call(every, holder, written, value, target, place)
            return
        for one in every:
            name = evaluate(index, place.scope, one.values)
            field = written if isinstance(written, str) else evaluate(written, place.scope, one.values)
            if isinstance(name, bytes):
                name = name.decode("utf-8", "replace")
            if not isinstance(name, str) or not isinstance(field, str):
                entry = self._entry_of(base, target, one, place)
                entry.complete = False  # it may be any option
                continue
            seen = possible(value, place.scope, one.values) if value is not None else Possible((), True)
            found = GivenConfig(
                name, field, seen, _where(index, one), _where(value, one, deep=True), target,
                field == "s" and _is_text(value, place.scope, one), one.path, copied or _where(index, one) is not index,
            )  # fmt: skip
            self._entry_of(base, target, one, place).given.append(found)

    def _made_in(self, base: Any, target: Any, place: SourcePlace) -> bool:
        """Whether the entry is made in the function that sets its option: each call then has an entry of its own."""
        key = self._key(base, place.scope, getattr(target, "lineno", 0), None)
        return key in self._origin and self._origin[key][3] is place.scope

    def _of_each_call(
        self,
        every: List[Round],
        holder: Tuple[ast.Subscript, Any],
        field: str,
        value: Any,
        target: Any,
        place: SourcePlace,
    ) -> None:
        """One option whose value is another one in each call."""
        index: Any = index_of(holder[0])
        plain = Round({}, {}, place.path)
        entry = self._entry_of(holder[1], target, plain, place)
        names = {evaluate(index, place.scope, one.values) for one in every}
        name = names.pop() if len(names) == 1 else UNKNOWN
        if not isinstance(name, str):
            entry.complete = False
            return
        seen = joined([possible(value, place.scope, one.values) for one in every])
        only = seen.only is not UNKNOWN
        text = field == "s" and all(_is_text(value, place.scope, one) for one in every)
        entry.given.append(GivenConfig(name, field, seen, index, value, target, text, place.path, not only))

    # which entry
    def _entry_of(self, base: Any, target: Any, one: Round, place: SourcePlace) -> _Entry:
        key = self._key(base, place.scope, getattr(target, "lineno", 0), one)
        return self._entry(key if key is not None else ("free", id(base)), base, place)

    def _entry(self, key: Any, base: Any, place: SourcePlace) -> _Entry:
        if key not in self.entries:
            origin = self._origin.get(key) if key[0] == "made" else None
            if origin is None:
                self.entries[key] = _Entry(base, _is_add(base) and key[0] == "made", place.path)
            else:
                self.entries[key] = _Entry(origin[0], origin[1], origin[2])
        return self.entries[key]

    @property
    def _origin(self) -> Dict[Any, Tuple[Any, bool, Path, Scope]]:
        """Every ``….custom_optimizers.add()`` with whether its entry stays in sight, and its branches."""
        return self.module.fact("entries added", self._added)

    def _added(self, module: Module) -> Dict[Any, Tuple[Any, bool, Path, Scope]]:
        found = {}
        for call in module.calls:
            if _is_add(call.node):
                statement, scope = call.place.statement, call.place.scope
                seen = False
                if isinstance(statement, ast.Assign) and statement.value is call.node and len(statement.targets) == 1:
                    name = statement.targets[0]
                    if isinstance(name, ast.Name):
                        bindings = scope.names.get(name.id, [])
                        same = all(one.path == call.place.path for one in bindings)
                        seen = name.id not in scope.bare and same and name.id not in scope.elsewhere
                found["made", id(call.node)] = (call.node, seen, call.place.path, scope)
        return found

    def _key(self, base: Any, scope: Scope, line: int, one: Optional[Round], depth: int = 0) -> Any:
        if _is_add(base):
            return ("made", id(base))
        if isinstance(base, ast.Name) and depth < 6:
            if one is not None and base.id in one.nodes:
                node, outer = one.nodes[base.id]
                return self._key(node, outer, line, None, depth + 1)
            home, bindings = scope.find(base.id)
            if home is None:
                return ("free", base.id)
            earlier = [b for b in bindings if b.line <= line] if home is scope else list(bindings)
            binding = (earlier or bindings)[-1]
            if binding.value is not None and not isinstance(binding.value, ast.Call):
                inner = self._key(binding.value, home, binding.line, None, depth + 1)
                if inner is not None:
                    return inner
            if _is_add(binding.value):
                return ("made", id(binding.value))
            return ("name", id(binding.node), base.id)
        text = dotted(base)
        if text:
            for store in self.module.stores:
                if dotted(store.target) == text and _is_add(store.value) and store.place.scope is scope:
                    return ("made", id(store.value))
            return ("text", id(scope), text)
        if isinstance(base, ast.Subscript):
            return ("text", id(scope), ast.dump(base))
        return None

    def _is_entry(self, node: Any, place: SourcePlace) -> bool:
        """Whether what is given a ``name`` is an entry of custom_optimizers."""
        key = self._key(node, place.scope, getattr(node, "lineno", 0), None)
        if key is None:
            return False
        return (
            key[0] == "made"
            or key in self.entries
            or "custom_optimizers" in ast.dump(node)
            or (key[0] == "text" and dotted(node).rpartition(".")[2] == "custom_op")
        )


def _resembles_option(name: str) -> bool:
    return name in OPTIONS or bool(like(name, list(OPTIONS), 0.8))


def _is_add(node: Any) -> bool:
    """Whether an expression is ``….custom_optimizers.add()``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add"
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr == "custom_optimizers"
    )


def _where(node: Any, one: Round, deep: bool = False) -> Any:
    """Where a value is written: for a name of the round, there, and not where the name stands."""
    if deep and isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
        inner = _where(node.args[0], one)
        return inner if inner is not node.args[0] else node
    if isinstance(node, ast.Name) and node.id in one.nodes:
        return one.nodes[node.id][0]
    return node


def _is_text(value: Any, scope: Scope, one: Round) -> bool:
    """Whether a value is a text, where the parameter map takes bytes: calls that make bytes of it are told apart."""
    if value is None or isinstance(value, ast.Call):
        name = dotted(value.func) if value is not None else ""
        return name in ("str", "repr") and scope.find(name)[0] is None
    if isinstance(value, ast.Name) and value.id not in one.values:
        home, bindings = scope.find(value.id)
        written = [binding.value for binding in bindings]
        return (
            home is not None
            and bool(written)
            and all(
                part is not None and not isinstance(part, ast.Name) and _is_text(part, home, one) for part in written
            )
        )
    if isinstance(value, ast.IfExp):
        return _is_text(value.body, scope, one) and _is_text(value.orelse, scope, one)
    if isinstance(value, ast.JoinedStr):
        return True
    if isinstance(value, ast.Name):
        return isinstance(one.values[value.id], str)
    if isinstance(value, ast.BinOp):
        return _is_text(value.left, scope, one)
    return isinstance(constant(value), str)


# -- classes ----------------------------------------------------------------------------------------------------------
def configuration_class(module: Module, node: ast.Call, scope: Scope) -> str:
    """``NPURunConfig`` or a class of its objects, if that is what is called; empty for anything else."""
    text = dotted(node.func)
    last = text.rpartition(".")[2]
    if last != RUN_CONFIG and last not in CLASSES:
        # Another name for it: `from … import NPURunConfig as RunConfig`.
        if text not in module.fact("other names", _other_names):
            return ""
        entry = surface.lookup(module.resolve(node.func, scope) or "?")
        return entry.name if entry is not None and (entry.name == RUN_CONFIG or entry.name in CLASSES) else ""
    dotted_name = module.resolve(node.func, scope)
    if dotted_name:
        entry = surface.lookup(dotted_name)
        return entry.name if entry is not None else ""
    unbound = isinstance(node.func, ast.Name) and scope.find(last)[0] is None
    return last if unbound and last == RUN_CONFIG else ""


def _other_names(module: Module) -> FrozenSet[str]:
    """Names under which a file imports the classes, where those are not their own."""
    classes = (RUN_CONFIG, *CLASSES)
    return frozenset(one.alias.asname for one in module.imports if one.name in classes and one.alias.asname)


def read_object(module: Module) -> Any:
    """How values are read where objects of configuration classes may stand."""

    def read(node: ast.Call, scope: Scope) -> Any:
        name = configuration_class(module, node, scope)
        if not name or name == RUN_CONFIG or node.args or any(word.arg is None for word in node.keywords):
            return UNKNOWN
        return Object(name, tuple((word.arg, evaluate(word.value, scope)) for word in node.keywords))  # type: ignore[misc]

    return read


def _constructed(module: Module) -> Iterator[Config]:
    if not module.uses_adapter and RUN_CONFIG not in module.source.text:
        return
    for call in module.calls:
        kind = configuration_class(module, call.node, call.place.scope)
        if kind:
            yield _construction(module, call, kind)


def _construction(module: Module, call: Call, kind: str) -> Config:
    node, place = call.node, call.place
    given: List[GivenConfig] = []
    complete = not node.args
    for word in node.keywords:
        if word.arg is None:
            spread = list(_spread(word.value, place))
            complete = complete and bool(spread)
            given += spread
        elif kind == RUN_CONFIG and word.arg in RUN_CONFIG_OF_TENSORFLOW:
            complete = complete and (word.arg != "session_config" or _is_plain(module, word.value, place.scope))
        else:
            seen = possible(word.value, place.scope, None, read_object(module))
            given.append(GivenConfig(word.arg, "", seen, word, word.value, word, False, place.path, False))
    return Config(kind, node, tuple(given), complete, place.path)


def _function_options(module: Module) -> Iterator[Config]:
    """Calls of the adapter's functions that take options under their names, as set_graph_exec_config does."""
    calls = called(module)
    for use in uses(module):
        call = calls.get(id(use.node))
        taken = signature_of(use.name) if call is not None and use.name.kind == "function" else None
        if call is None or taken is None or not any(name in OPTIONS for name in taken.positional):
            continue
        place = use.place
        pairs: List[Tuple[Any, Any, Any]] = [(word, word.arg, word.value) for word in call.keywords]
        pairs += [(value, name, value) for name, value in zip(taken.positional, call.args)]
        given = [
            GivenConfig(name, "", possible(value, place.scope), key, value, key, False, place.path, False)
            for key, name, value in pairs
            if name in OPTIONS and not isinstance(value, ast.Starred)
        ]
        if given:
            yield Config(use.name.name, call, tuple(given), False, place.path)


def _spread(node: Any, place: SourcePlace) -> Iterator[GivenConfig]:
    """The arguments of ``**options`` where the dict is written out."""
    if isinstance(node, ast.Name):
        binding = place.scope.only(node.id)
        changed = node.id in place.scope.changed or node.id in place.scope.module.changed
        node = None if binding is None or changed else binding.value
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and not node.args:
        pairs: List[Tuple[Any, Any, Any]] = [(word, word.arg, word.value) for word in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = [(key, constant(key), value) for key, value in zip(node.keys, node.values)]
    else:
        return
    for key, name, value in pairs:
        if isinstance(name, str) and name not in RUN_CONFIG_OF_TENSORFLOW:
            yield GivenConfig(name, "", possible(value, place.scope), key, value, key, False, place.path, True)


def _is_plain(module: Module, node: Any, scope: Scope) -> bool:
    """Whether a session_config is in sight and names no NpuOptimizer of its own, whose options would count too."""
    if isinstance(node, ast.Name):
        home, bindings = scope.find(node.id)
        if len(bindings) != 1 or home is None:
            return False
        node = bindings[0].value
    if constant(node) is None:
        return True
    made = isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "ConfigProto"
    return made and "custom_optimizers" not in module.source.text
