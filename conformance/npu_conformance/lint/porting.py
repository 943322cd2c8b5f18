"""What a script without the adapter does with TensorFlow, Keras and Horovod, and the words that would port it."""

from __future__ import annotations

import ast
import re
from typing import Any, List, NamedTuple, Optional, Tuple

from npu_conformance.lint.editing import arguments, at, insert_lines, text_of
from npu_conformance.lint.finding import Edit
from npu_conformance.lint.imports import STAR_LINE, import_edit
from npu_conformance.lint.module import Call, Module
from npu_conformance.lint.scopes import dotted
from npu_conformance.lint.usage import troubles
from npu_reference import surface

__all__ = ["Ported", "adapter_import", "added_argument", "argument", "callee", "entry_lines", "free_name", "is_open",
           "known_name", "ports", "prefix_of"]  # fmt: skip

#: TensorFlow's modules to the name that they are known by here.
_PREFIXES = (
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.compat.v1", "tf"),
    ("tensorflow.compat.v2", "tf2"),
    ("tensorflow", "tf"),
    ("tf_keras", "keras"),
    ("keras", "keras"),
    ("horovod.tensorflow.keras", "hvd"),
    ("horovod.tensorflow", "hvd"),
    ("horovod.keras", "hvd"),
)

_TOPS = tuple({prefix.split(".")[0] for prefix, _ in _PREFIXES})

#: What only TensorFlow 2 has: such a script goes to the device by another way.
_VERSION_2 = re.compile(r"GradientTape|@tf\.function|\btf\.function\(|import\s+npu_device|tf\.config\.experimental")


class Ported(NamedTuple):
    """A call, and what is called: ``tf.Session``, ``keras.Sequential``, ``hvd.rank``."""

    name: str
    call: Call


def ports(module: Module) -> List[Ported]:
    """All calls of TensorFlow, Keras and Horovod of a script that does not use the adapter; none of one that does."""
    return module.fact("ports", _ports)


def _ports(module: Module) -> List[Ported]:
    if module.uses_adapter or _VERSION_2.search(module.source.text) or troubles(module):
        return []
    found = []
    for call in module.calls:
        name = known_name(module.resolve(call.node.func, call.place.scope))
        if name:
            found.append(Ported(name, call))
    return found


def known_name(dotted: str) -> str:
    """``tf.Session`` of ``tensorflow.compat.v1.Session``; empty for what is none of the packages'."""
    if not dotted.startswith(_TOPS):
        return ""
    for prefix, short in _PREFIXES:
        if dotted == prefix or dotted.startswith(prefix + "."):
            return short + dotted[len(prefix) :]
    return ""


def prefix_of(node: ast.expr) -> str:
    """How the script calls the module a function is of: ``tf`` of ``tf.Session``; empty for a name by itself."""
    return dotted(node.value) if isinstance(node, ast.Attribute) else ""


def argument(call: ast.Call, name: str, position: int = -1) -> Optional[ast.expr]:
    """An argument by its keyword, or by its place among the positional ones."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    if 0 <= position < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: position + 1]):
        return call.args[position]
    return None


def is_open(call: ast.Call) -> bool:
    """Whether a call spreads arguments of which nothing is known."""
    return any(word.arg is None for word in call.keywords) or any(isinstance(one, ast.Starred) for one in call.args)


def free_name(module: Module, place: Any, wanted: str) -> str:
    """``wanted``, or with ``npu_`` before it where the script has something of that name."""
    taken = place.scope.find(wanted)[0] is not None or wanted in module.scope.names
    return f"npu_{wanted}" if taken else wanted


def entry_lines(config: str, entry: str) -> List[str]:
    """The lines by which document 000 makes a session an NPU session."""
    return [
        f"{entry} = {config}.graph_options.rewrite_options.custom_optimizers.add()",
        f'{entry}.name = "NpuOptimizer"',
        f'{entry}.parameter_map["use_off_line"].b = True',
        f"{config}.graph_options.rewrite_options.remapping = RewriterConfig.OFF",
        f"{config}.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF",
    ]


def adapter_import(module: Module, *names: str) -> List[Edit]:
    """The star import of document 000 behind TensorFlow's own; single imports where it would hide the script's names.

    ``names`` are those that are needed of it.
    """
    taken = set(module.scope.names) - {"tf", "os"}
    lines = [STAR_LINE]
    if taken & set(surface.star_names()):
        lines = [
            "from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig"
            if name == "RewriterConfig"
            else f"from {surface.STAR} import {name}"
            for name in names
            if name not in taken
        ]
    for statement in module.tree.body:
        if _imports_tensorflow(statement):
            edit = insert_lines(module.source, statement, lines, behind=True) or _above(module, statement, lines)
            return [edit] if edit is not None else []
    edits = [import_edit(module, line) for line in lines]
    return [edit for edit in edits if edit is not None][:1]


def _above(module: Module, statement: ast.stmt, lines: List[str]) -> Optional[Edit]:
    """Lines above a line of several statements: what stands behind the import may need them."""
    first = next(one for one in module.tree.body if one.lineno == statement.lineno)
    index = at(module.source, first)
    return None if index is None else Edit(index, index, "".join(line + module.source.newline for line in lines))


def _imports_tensorflow(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return any(alias.name.split(".")[0] in ("tensorflow", "keras", "horovod") for alias in statement.names)
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] in ("tensorflow", "keras")


def added_argument(module: Module, tokens: List[Any], call: ast.Call, text: str) -> Optional[Edit]:
    """The edit that adds an argument behind the others of a call."""
    found = arguments(module.source, tokens, call)
    if found is None:
        return None
    opening, _, ranges = found
    if not ranges:
        return Edit(opening + 1, opening + 1, text)
    return Edit(ranges[-1][1], ranges[-1][1], f", {text}")


def callee(module: Module, tokens: List[Any], call: ast.Call) -> Optional[Tuple[int, int]]:
    """The tokens of what is called, where that is a name with dots."""
    start, found = at(module.source, call.func), arguments(module.source, tokens, call)
    if start is None or found is None:
        return None
    text = text_of(tokens, start, found[0])
    return (start, found[0]) if re.fullmatch(r"[\w.\s]+", text) else None
