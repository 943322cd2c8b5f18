"""A dataset whose last batch may be smaller than the others.

Told of scripts that do not use the adapter yet. The device compiles a graph for the sizes of its inputs; batches of one
size are had with `drop_remainder=True`. Where every example has to be seen, in evaluation and prediction, that would
leave some out: choose a batch size that divides their number. Of input that is, or may be, for these this is a hint: it
has no fix, and does not count for the exit status. Names say so (`eval_dataset`, `def test_input_fn`, the branch behind
`if is_training`), and calls of `evaluate` and `predict`.

    # wrong
    import tensorflow as tf
    dataset = tf.data.Dataset.range(10).batch(4)
    # right
    import tensorflow as tf
    dataset = tf.data.Dataset.range(10).batch(4, drop_remainder=True)
    single = tf.data.Dataset.range(10).batch(1)
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterable, Iterator, List, Optional, Pattern

from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Call, Module
from npu_conformance.lint.porting import added_argument, argument, is_open, known_name, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.scopes import Scope
from npu_conformance.lint.values import constant

#: Methods of datasets that make batches, and where ``drop_remainder`` is among their arguments.
_BATCHES = {"batch": 1, "padded_batch": 3}
_CALLS = {"tf.data.experimental.map_and_batch": 3, "tf.contrib.data.map_and_batch": 3}

#: Names that datasets have in scripts: ``assumed``.
_DATASET = re.compile(r"(^|_)(dataset|data_set|ds)(_|s?$)|dataset$", re.IGNORECASE)


@rule("S407", "open-batch", "unsafe", "The examples of the last, smaller batch are left out.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    found = ports(module)
    if not found:
        return
    for call in module.calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or function.attr not in _BATCHES or is_open(call.node):
            continue
        given = argument(call.node, "drop_remainder", _BATCHES[function.attr])
        size = argument(call.node, "batch_size", 0)
        if given is None and size is not None and constant(size) != 1 and _is_dataset(module, function.value, call):
            yield _report(module, call)
    for one in found:
        if one.name not in _CALLS or is_open(one.call.node):
            continue
        if argument(one.call.node, "drop_remainder", _CALLS[one.name]) is None:
            yield _report(module, one.call)


def _report(module: Module, call: Call) -> LintReport:
    why = "The last batch may be smaller, and the device compiles for one size."
    if _may_be_evaluation(module, call):
        return LintReport(
            call.node, f"{why} Every example counts here: let the batch size divide their number.", hint=True
        )
    return LintReport(call.node, f"{why} Add drop_remainder=True.", _fix(module, call.node))


#: Words in names, or beginnings of words, that say what input is for.
_TRAINING = re.compile(r"train|fit$")
_OTHER = re.compile(r"eval|valid|val$|test|dev$|predict|infer|serving$|score$|mode$")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _may_be_evaluation(module: Module, call: Call) -> bool:
    """Whether a dataset is, or may be, evaluated or predicted: the nearest name that says anything of it decides."""
    place = call.place
    targets = [part.id for target in getattr(place.statement, "targets", []) for part in ast.walk(target)
               if isinstance(part, ast.Name)]  # fmt: skip
    if _is_evaluated(module, targets):
        return True
    receiver = [part.id for part in ast.walk(call.node.func) if isinstance(part, ast.Name)]
    for names in (targets, receiver):
        said = _said(names)
        if said is not None:
            return said
    for node, number in reversed(place.path):
        test = module.tests.get(node)
        said = None if test is None else _said_by(test, number)
        if said is not None:
            return said
    scope: Optional[Scope] = place.scope
    while scope is not None:
        name = getattr(scope.node, "name", "")
        parameters = [name for name, found in scope.names.items() if any(one.kind == "parameter" for one in found)]
        if name and _is_evaluated(module, [name]):
            return True
        said = _said([name])
        if said is not None:
            return said
        if _any(_TRAINING, parameters) or _any(_OTHER, parameters):
            return True  # it is told by whoever calls
        scope = scope.parent
    return False


def _any(said: Pattern[str], names: Iterable[str]) -> bool:
    return any(said.match(word.lower()) for name in names for word in _WORDS.findall(name))


def _said(names: List[str]) -> Optional[bool]:
    """Whether names say that something is evaluated, or that it is trained with; None where they say neither."""
    return True if _any(_OTHER, names) else (False if _any(_TRAINING, names) else None)


def _said_by(test: ast.expr, number: int) -> Optional[bool]:
    names = [getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(test)]
    names += [value for value in map(constant, ast.walk(test)) if isinstance(value, str)]
    names = [name for name in names if not name.lower().endswith(("mode", "modekeys"))]
    other = _any(_OTHER, names)
    if other == _any(_TRAINING, names):
        return True if other else None
    turned = isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq))
    return other != (turned != (number == 1))


def _is_evaluated(module: Module, names: List[str]) -> bool:
    """Whether something of these names is handed to who evaluates or predicts."""
    for call in module.calls if names else ():
        function = call.node.func
        if getattr(function, "attr", getattr(function, "id", "")) in ("evaluate", "predict", "EvalSpec"):
            given = [*call.node.args, *(word.value for word in call.node.keywords)]
            if any(isinstance(part, ast.Name) and part.id in names for one in given for part in ast.walk(one)):
                return True
    return False


def _is_dataset(module: Module, node: Any, call: Call, depth: int = 0) -> bool:
    """Whether what ``batch`` is called on is a dataset: made by tf.data, from one, or named as one."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if known_name(module.resolve(node.func, call.place.scope)).startswith("tf.data."):
            return True
        node = node.func.value
    if isinstance(node, ast.Call):
        return known_name(module.resolve(node.func, call.place.scope)).startswith("tf.data.")
    if isinstance(node, ast.Name):
        _, bindings = call.place.scope.find(node.id)
        if depth < 3 and any(one.value is not None and _is_made(module, one.value, call, depth) for one in bindings):
            return True
        return bool(_DATASET.search(node.id)) and not any(one.kind == "import" for one in bindings)
    return isinstance(node, ast.Attribute) and bool(_DATASET.search(node.attr))


def _is_made(module: Module, value: Any, call: Call, depth: int) -> bool:
    return isinstance(value, ast.Call) and _is_dataset(module, value, call, depth + 1)


def _fix(module: Module, node: ast.Call) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        added = added_argument(module, tokens, node, "drop_remainder=True")
        return None if added is None else [added]

    return fix
