"""A dataset whose last batch may be smaller than the others.

Told of scripts that do not use the adapter yet. The device compiles a graph for the sizes of its inputs; batches of one
size are had with `drop_remainder=True`, which `--fix` adds. Where every example has to be seen, as in evaluation,
choose a batch size that divides their number instead.

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
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Call, Module
from npu_conformance.lint.porting import added_argument, argument, is_open, known_name, ports
from npu_conformance.lint.registry import Report, Settings, rule
from npu_conformance.lint.values import constant

#: Methods of datasets that make batches, and where ``drop_remainder`` is among their arguments.
_BATCHES = {"batch": 1, "padded_batch": 3}
_CALLS = {"tf.data.experimental.map_and_batch": 3, "tf.contrib.data.map_and_batch": 3}

#: Names that datasets have in scripts: ``assumed``.
_DATASET = re.compile(r"(^|_)(dataset|data_set|ds)(_|s?$)|dataset$", re.IGNORECASE)


@rule("S407", "open-batch", fixable=True)
def check(module: Module, settings: Settings) -> Iterator[Report]:
    found = ports(module)
    if not found:
        return
    message = "The last batch may be smaller, and the device compiles for one size. Add drop_remainder=True."
    for call in module.calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or function.attr not in _BATCHES or is_open(call.node):
            continue
        given = argument(call.node, "drop_remainder", _BATCHES[function.attr])
        size = argument(call.node, "batch_size", 0)
        if given is None and size is not None and constant(size) != 1 and _is_dataset(module, function.value, call):
            yield Report(call.node, message, _fix(module, call.node))
    for one in found:
        if one.name not in _CALLS or is_open(one.call.node):
            continue
        if argument(one.call.node, "drop_remainder", _CALLS[one.name]) is None:
            yield Report(one.call.node, message, _fix(module, one.call.node))


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
